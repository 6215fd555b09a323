//! Writing progress.

use std::sync::Mutex;

use ichnos::export::text::{count, size};
use ichnos::model::locks::IgnorePoison as _;
use ichnos::{PassNote, PassObserver};

use super::console::Console;
use super::damage::Damages;
use super::meter::Meter;

/// Display of the amounts read and written, and list of damage. Several threads can use it.
pub(crate) struct WriteProgress {
    /// `None` to show nothing.
    shown: Option<Mutex<WrittenAmount>>,
    /// `true` to count events. Otherwise, packets can be copied without reading their events.
    counts_events: bool,
    damages: Mutex<Damages>,
    most_damages: u64,
}

/// Amounts read and written.
struct WrittenAmount {
    meter: Meter,
    /// Approximate number of bytes to write, if known.
    total: Option<u64>,
    events: u64,
    written: u64,
}

impl WriteProgress {
    /// Creates a display. `total` is the approximate number of bytes to write. `data_on_terminal` is `true` if the
    /// terminal also shows data.
    pub(crate) fn new(total: Option<u64>, data_on_terminal: bool, console: Console) -> Self {
        let template = if total.is_some() { "{bar:40} {percent:>3} %  {msg}" } else { "{spinner} {msg}" };
        let meter = Meter::new(template, data_on_terminal, console);
        let shown = meter.map(|meter| Mutex::new(WrittenAmount { meter, total, events: 0, written: 0 }));
        Self { shown, counts_events: false, damages: Mutex::default(), most_damages: u64::MAX }
    }

    /// Counts the read events if `counts_events` is set.
    pub(crate) fn count_events(self, counts_events: bool) -> Self {
        Self { counts_events, ..self }
    }

    /// Limits the number of damaged places to list.
    pub(crate) fn limit_damage(self, most_damages: u64) -> Self {
        Self { most_damages, ..self }
    }

    /// Clears the damage list before everything is written again.
    pub(crate) fn forget_damage(&self) {
        *self.damages.lock().ignore_poison() = Damages::default();
    }

    /// Clears the display and returns the damage.
    pub(crate) fn finish(self) -> Damages {
        self.damages.into_inner().ignore_poison()
    }

    fn change(&self, change: impl FnOnce(&mut WrittenAmount)) {
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

impl WrittenAmount {
    fn show(&mut self) {
        let Self { meter, total, events, written } = self;
        meter.show(|| {
            // The exact output size is unknown.
            let permille = total.map(|total| {
                let done = u128::from(*written) * 1000 / u128::from(total.max(1));
                u64::try_from(done.min(999)).unwrap_or_default()
            });
            (permille, message(*events, *written))
        });
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
