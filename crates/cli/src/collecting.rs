//! Reads the selected events of a session into a sink that evaluates all of them.

use std::io;
use std::ops::ControlFlow;

use ichnos::export::text::count;
use ichnos::model::{Damage, Message, Sink, Window};
use ichnos::{Pass, PassEnd, PassHandler, Session};

use crate::damage;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::progress::Progress;
use crate::report::Report;
use crate::selection::Selection;

/// Reader that passes events to a sink.
pub(crate) struct Collecting<S> {
    pub(crate) sink: S,
    pub(crate) selection: Selection,
    pub(crate) strict: bool,
    /// Number of selected events.
    pub(crate) events: u64,
}

impl<S: Sink> Collecting<S> {
    /// Creates a reader before anything is read.
    pub(crate) fn new(sink: S, selection: Selection, strict: bool) -> Self {
        Self { sink, selection, strict, events: 0 }
    }

    /// Reads a window completely; returns `None` if interrupted, else `true` if something is damaged.
    pub(crate) fn run(
        &mut self,
        session: &Session,
        window: Window,
        progress: Progress,
        report: Report,
    ) -> Result<Option<bool>, Failure> {
        let reader = self.selection.reader(session, window)?;
        let pass = Pass::new(self.selection.selected.clone()).strict(self.strict).stop(interrupt::flag());
        let pass = if session.is_live() { pass.live() } else { pass };
        let mut events = Events { sink: &mut self.sink, progress, report };
        let summary = pass.run(&reader, &mut events)?;
        events.progress.finish();
        self.events = summary.counts.events;
        match summary.end {
            PassEnd::Refused(damage) => return Err(damage::refused(&damage)),
            PassEnd::Interrupted if !session.is_live() => return Ok(None),
            _ => {}
        }
        let lost = summary.counts.discarded_events;
        if lost > 0 {
            report.note(&format!("the tracer discarded {}", count(lost, "event")));
        }
        Ok(Some(summary.counts.damages > 0))
    }
}

/// Passes events to a sink.
struct Events<'s, S> {
    sink: &'s mut S,
    progress: Progress,
    report: Report,
}

impl<S: Sink> PassHandler for Events<'_, S> {
    #[inline]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(_) => self.sink.message(message),
            _ => Ok(ControlFlow::Continue(())),
        }
    }

    fn damage(&mut self, damage: &Damage) -> bool {
        self.progress.damage(&damage::line(damage), self.report);
        false
    }

    fn step(&mut self, message: &Message<'_>, events: u32) {
        self.progress.step(events, || message.nanoseconds());
    }
}

/// Returns the exit code of a verb after reading everything.
pub(crate) fn exit(is_damaged: bool, is_empty: bool) -> Exit {
    match (is_damaged, is_empty) {
        (true, _) => Exit::Damaged,
        (_, true) => Exit::Nothing,
        _ => Exit::Success,
    }
}
