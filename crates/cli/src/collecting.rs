//! Reads the selected events of a session into a sink that evaluates all of them.

use std::io;
use std::ops::ControlFlow;

use ichnos::Session;
use ichnos::model::{Damage, Message, Sink, Window};

use crate::damage;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::progress::Progress;
use crate::report::Report;
use crate::selection::Selection;
use crate::style::count;

/// Reader that passes events to a sink.
pub(crate) struct Collecting<S> {
    pub(crate) sink: S,
    pub(crate) selection: Selection,
    pub(crate) strict: bool,
    /// Number of selected events.
    pub(crate) events: u64,
    damages: u64,
    /// Number of events discarded by the tracer.
    lost: u64,
    /// Damage that ended the pass.
    refused: Option<String>,
}

impl<S: Sink> Collecting<S> {
    /// Creates a reader before anything is read.
    pub(crate) fn new(sink: S, selection: Selection, strict: bool) -> Self {
        Self { sink, selection, strict, events: 0, damages: 0, lost: 0, refused: None }
    }

    /// Reads a window completely; returns `None` if interrupted, else `true` if something is damaged.
    pub(crate) fn run(
        &mut self,
        session: &Session,
        window: Window,
        mut progress: Progress,
        report: Report,
    ) -> Result<Option<bool>, Failure> {
        self.read(session, window, &mut progress, report)?;
        progress.finish();
        if let Some(line) = self.refused.take() {
            return Err(Failure::new(line)
                .help("without --strict, reading resumes at the next readable packet or record"));
        }
        if interrupt::is_requested() && !session.is_live() {
            return Ok(None);
        }
        if self.lost > 0 {
            report.note(&format!("the tracer discarded {}", count(self.lost, "event")));
        }
        Ok(Some(self.damages > 0))
    }

    fn read(
        &mut self,
        session: &Session,
        window: Window,
        progress: &mut Progress,
        report: Report,
    ) -> Result<(), Failure> {
        let reader = self.selection.reader(session, window)?;
        let mut failed = Ok(());
        reader.cursor().drain_all(&mut |message| match self.take(message, progress, report) {
            Ok(flow) => flow,
            Err(error) => {
                failed = Err(error);
                ControlFlow::Break(())
            }
        });
        Ok(failed?)
    }

    #[inline]
    fn take(
        &mut self,
        message: &Message<'_>,
        progress: &mut Progress,
        report: Report,
    ) -> io::Result<ControlFlow<()>> {
        if interrupt::is_requested() {
            return Ok(ControlFlow::Break(()));
        }
        if !self.selection.wants(message) {
            return Ok(ControlFlow::Continue(()));
        }
        match message {
            Message::Event(_) => {
                self.events += 1;
                progress.step(1, || message.nanoseconds());
                return self.sink.message(message);
            }
            Message::DiscardedEvents(discarded) => {
                self.lost = self.lost.saturating_add(discarded.count.unwrap_or_default());
            }
            Message::Damage(found) => {
                let found: &Damage = found;
                if self.strict {
                    self.refused = Some(damage::line(found));
                    return Ok(ControlFlow::Break(()));
                }
                self.damages += 1;
                progress.damage(&damage::line(found), report);
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
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
