//! Reads the selected events of a session into a collector that evaluates all of them.

use ichnos::export::text::count;
use ichnos::model::{Sink, Window};
use ichnos::{CollectorOutput, Pass, PassEnd, Session};

use crate::exit::{Exit, Failure};
use crate::progress::{Console, Follower, ReadProgress, damage, interrupt};
use crate::select::Selection;

/// Collector after reading.
pub(crate) struct Collected<S> {
    pub(crate) collector: S,
    /// Number of selected events.
    pub(crate) events: u64,
    /// `true` if the input is damaged.
    pub(crate) is_damaged: bool,
}

/// Reads a window completely; returns `None` if interrupted.
pub(crate) fn read<S: Sink + Send + 'static>(
    collector: S,
    session: &Session,
    (selection, window): (&Selection, Window),
    strict: bool,
    progress: ReadProgress,
    console: Console,
) -> Result<Option<Collected<S>>, Failure> {
    let reader = selection.reader(session, window)?;
    let pass = Pass::new(selection.selected.clone()).strict(strict).stop(interrupt::flag());
    let pass = if session.is_live() { pass.live() } else { pass };
    let output = CollectorOutput::new(collector);
    let follower = Follower::new(progress, console, false);
    let summary = reader.pass().with(pass).observer(&follower).write(&output)?;
    follower.into_progress().finish();
    match summary.end {
        PassEnd::Refused(damage) => return Err(damage::refused(&damage)),
        PassEnd::Interrupted if !session.is_live() => return Ok(None),
        _ => {}
    }
    let lost = summary.counts.discarded_events;
    if lost > 0 {
        console.note(&format!("the tracer discarded {}", count(lost, "event")));
    }
    let (events, is_damaged) = (summary.counts.events, summary.counts.damages > 0);
    Ok(output.into_collector().map(|collector| Collected { collector, events, is_damaged }))
}

/// Returns the exit code of a verb after reading everything.
pub(crate) fn exit(is_damaged: bool, is_empty: bool) -> Exit {
    match (is_damaged, is_empty) {
        (true, _) => Exit::Damaged,
        (_, true) => Exit::Nothing,
        _ => Exit::Success,
    }
}
