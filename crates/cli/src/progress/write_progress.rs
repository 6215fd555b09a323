//! Progress of writing traces.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ichnos::export::text::{count, size};
use ichnos::model::IgnorePoison as _;
use ichnos::{PassNote, PassObserver};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args;
use crate::output::charset;
use crate::progress::read_progress::{PATIENCE, PAUSE};
use crate::progress::{Damages, Report};

/// Shows the amounts read and written, and collects damage. Can be used by several threads.
pub(crate) struct WriteProgress {
    /// `None` to show nothing.
    shown: Option<Mutex<ShownProgress>>,
    /// `true` if events are counted: otherwise, packets may be copied without reading their events.
    counts_events: bool,
    damages: Mutex<Damages>,
    most_damages: u64,
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
        let shown = ShownProgress::new(when, total, data_on_terminal, report).map(Mutex::new);
        Self { shown, counts_events: false, damages: Mutex::default(), most_damages: u64::MAX }
    }

    /// Counts the events that are read.
    pub(crate) fn count_events(self, counts_events: bool) -> Self {
        Self { counts_events, ..self }
    }

    /// Limits the number of damaged places to list.
    pub(crate) fn limit_damage(self, most_damages: u64) -> Self {
        Self { most_damages, ..self }
    }

    /// Forgets the damage so far, to write everything again.
    pub(crate) fn forget_damage(&self) {
        *self.damages.lock().ignore_poison() = Damages::default();
    }

    /// Clears the display and returns the damage.
    pub(crate) fn finish(self) -> Damages {
        self.damages.into_inner().ignore_poison()
    }

    fn change(&self, change: impl FnOnce(&mut ShownProgress)) {
        if let Some(shown) = &self.shown {
            let mut shown = shown.lock().ignore_poison();
            change(&mut shown);
            shown.show();
        }
    }
}

impl PassObserver for WriteProgress {
    fn progress(&self, _: Option<i128>, events: u64) {
        if self.counts_events {
            self.change(|shown| shown.events += events);
        }
    }

    fn written(&self, bytes: u64) {
        self.change(|shown| shown.written += bytes);
    }

    fn note(&self, note: PassNote) {
        if let PassNote::Damage(damage) = note {
            self.damages.lock().ignore_poison().add(&damage, self.most_damages);
        }
    }
}

impl ShownProgress {
    /// Returns `None` to show nothing.
    fn new(when: args::Progress, total: Option<u64>, data_on_terminal: bool, report: Report) -> Option<Self> {
        let kind = match when {
            args::Progress::Never => return None,
            args::Progress::Auto if !std::io::stderr().is_terminal() || data_on_terminal => return None,
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
        Some(Self { kind, total, events: 0, written: 0, next })
    }

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
