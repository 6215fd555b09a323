//! Reports the progress, losses and damage of a pass.

use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard};

use ichnos::model::locks::IgnorePoison as _;
use ichnos::model::{Message, Sink};
use ichnos::{PassNote, PassObserver};

use crate::progress::{Console, ReadProgress, damage};

/// Sink that only shows progress.
pub(crate) struct ProgressSink<'p>(pub(crate) &'p mut ReadProgress);

impl Sink for ProgressSink<'_> {
    fn message(&mut self, _: &Message<'_>) -> io::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn step(&mut self, message: &Message<'_>, _: u32) -> io::Result<()> {
        self.0.step(0, || message.nanoseconds());
        Ok(())
    }
}

/// Observer that reports the progress and the notes of a pass.
pub(crate) struct Follower {
    progress: Mutex<ReadProgress>,
    console: Console,
    /// `true` to report losses that the output does not contain.
    reports_losses: bool,
}

impl Follower {
    pub(crate) fn new(progress: ReadProgress, console: Console, reports_losses: bool) -> Self {
        Self { progress: Mutex::new(progress), console, reports_losses }
    }

    fn progress(&self) -> MutexGuard<'_, ReadProgress> {
        self.progress.lock().ignore_poison()
    }

    /// Returns the progress display after the pass.
    pub(crate) fn into_progress(self) -> ReadProgress {
        self.progress.into_inner().ignore_poison()
    }
}

impl PassObserver for Follower {
    fn progress(&self, nanoseconds: Option<i128>, events: u64) {
        self.progress().add(nanoseconds, events);
    }

    fn note(&self, note: PassNote) {
        match note {
            PassNote::Damage(damage) => self.progress().damage(&damage::line(&damage), self.console),
            PassNote::Loss { stream, is_packets, count } if self.reports_losses => {
                let number = count.map_or("an unknown number of".to_owned(), |number| number.to_string());
                let what = if is_packets { "packets" } else { "events" };
                self.console
                    .note(&format!("the tracer discarded {number} {what} in the data stream {stream}"));
            }
            PassNote::OneThread(error) => self.console.note(&format!(
                "the system refuses further threads ({error}): reading continues with one \
                thread"
            )),
            _ => {}
        }
    }
}
