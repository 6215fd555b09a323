//! Progress of writing traces.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::progress::{PATIENCE, PAUSE};
use crate::report::Report;
use crate::style::{count, size};
use crate::{args, charset};

/// Number of events examined before they are counted.
const STRIDE: u32 = 1 << 14;

/// Shows the amounts read and written; the display disappears when dropped. Can be used by several threads.
pub(crate) struct WriteProgress(Option<Mutex<ShownProgress>>);

/// Counts the events examined by a thread.
pub(crate) struct EventCounter<'p> {
    progress: &'p WriteProgress,
    count: u32,
}

impl EventCounter<'_> {
    #[inline]
    pub(crate) fn step(&mut self) {
        self.count += 1;
        if self.count == STRIDE {
            self.count = 0;
            self.progress.change(|shown| shown.events += u64::from(STRIDE));
        }
    }
}

enum WriteDisplay {
    Bar(ProgressBar),
    Plain(Report),
}

struct ShownProgress {
    kind: WriteDisplay,
    /// Approximate number of bytes to write, if known.
    total: Option<u64>,
    events: u64,
    written: u64,
    /// Time until progress is shown.
    next: Instant,
}

impl WriteProgress {
    /// `total` is the approximate number of bytes to write; `data_on_terminal` if data are printed where a
    /// bar would be.
    pub(crate) fn new(
        when: args::Progress,
        total: Option<u64>,
        data_on_terminal: bool,
        report: Report,
    ) -> Self {
        let kind = match when {
            args::Progress::Never => return Self(None),
            args::Progress::Auto if !std::io::stderr().is_terminal() || data_on_terminal => {
                return Self(None);
            }
            args::Progress::Auto => {
                let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::hidden());
                let template =
                    if total.is_some() { "{bar:40} {percent:>3} %  {msg}" } else { "{spinner} {msg}" };
                if let Ok(style) = ProgressStyle::with_template(template) {
                    bar.set_style(charset::of_progress(style));
                }
                WriteDisplay::Bar(bar)
            }
            args::Progress::Plain => WriteDisplay::Plain(report),
        };
        let next = Instant::now() + PATIENCE;
        Self(Some(Mutex::new(ShownProgress { kind, total, events: 0, written: 0, next })))
    }

    /// Returns an event counter for a thread.
    pub(crate) fn counter(&self) -> EventCounter<'_> {
        EventCounter { progress: self, count: 0 }
    }

    /// Sets the total number of bytes written.
    pub(crate) fn written(&self, bytes: u64) {
        // Threads report in any order.
        self.change(|shown| shown.written = shown.written.max(bytes));
    }

    fn change(&self, change: impl FnOnce(&mut ShownProgress)) {
        if let Some(shown) = &self.0 {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut shown);
            shown.show();
        }
    }
}

impl ShownProgress {
    fn show(&mut self) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let message = message(self.events, self.written);
        // The exact length of the output is unknown.
        let permille = self.total.map(|total| {
            let done = u128::from(self.written) * 1000 / u128::from(total.max(1));
            u64::try_from(done.min(999)).unwrap_or_default()
        });
        match &self.kind {
            WriteDisplay::Bar(bar) => {
                if bar.is_hidden() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                match permille {
                    Some(permille) => bar.set_position(permille),
                    None => bar.tick(),
                }
                bar.set_message(message);
                self.next = now + Duration::from_millis(100);
            }
            WriteDisplay::Plain(report) => {
                report.answer(&match permille {
                    Some(permille) => format!("{}.{} %, {message}", permille / 10, permille % 10),
                    None => message,
                });
                self.next = now + PAUSE;
            }
        }
    }
}

impl Drop for ShownProgress {
    fn drop(&mut self) {
        if let WriteDisplay::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }
}

fn message(events: u64, written: u64) -> String {
    match events {
        0 => format!("{} written", size(written)),
        events => format!("{} read, {} written", count(events, "event"), size(written)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(message(1_000, 0), format!("1,000 events read, {} written", size(0)));
        assert_eq!(message(0, 3 << 20), format!("{} written", size(3 << 20)));
    }
}
