//! How far the writing of traces is, for people who wait.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::progress::{PATIENCE, PAUSE};
use crate::report::Report;
use crate::style::{count, size};
use crate::{args, charset};

/// Events that are looked at before they are counted.
const STRIDE: u32 = 1 << 14;

/// Shows how much was read and written; what it shows goes away with it. Several threads can use it.
pub(crate) struct WriteProgress(Option<Mutex<Shown>>);

/// Counts the events that a thread looks at.
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

enum Kind {
    Bar(ProgressBar),
    Plain(Report),
}

struct Shown {
    kind: Kind,
    /// About how many bytes will be written, if that is known.
    total: Option<u64>,
    events: u64,
    written: u64,
    /// Nothing is shown before.
    next: Instant,
}

impl WriteProgress {
    /// `total`: about how many bytes will be written; `data_on_terminal`: data are printed where a bar would be.
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
                Kind::Bar(bar)
            }
            args::Progress::Plain => Kind::Plain(report),
        };
        let next = Instant::now() + PATIENCE;
        Self(Some(Mutex::new(Shown { kind, total, events: 0, written: 0, next })))
    }

    /// What a thread counts the events with that it looks at.
    pub(crate) fn counter(&self) -> EventCounter<'_> {
        EventCounter { progress: self, count: 0 }
    }

    /// This many bytes were written in all.
    pub(crate) fn written(&self, bytes: u64) {
        // Threads say it in any order.
        self.change(|shown| shown.written = shown.written.max(bytes));
    }

    fn change(&self, change: impl FnOnce(&mut Shown)) {
        if let Some(shown) = &self.0 {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut shown);
            shown.show();
        }
    }
}

impl Shown {
    fn show(&mut self) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let message = message(self.events, self.written);
        // How long the output gets is not known exactly.
        let permille = self.total.map(|total| {
            let done = u128::from(self.written) * 1000 / u128::from(total.max(1));
            u64::try_from(done.min(999)).unwrap_or_default()
        });
        match &self.kind {
            Kind::Bar(bar) => {
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
            Kind::Plain(report) => {
                report.answer(&match permille {
                    Some(permille) => format!("{}.{} %, {message}", permille / 10, permille % 10),
                    None => message,
                });
                self.next = now + PAUSE;
            }
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Kind::Bar(bar) = &self.kind {
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
