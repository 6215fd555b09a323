//! Reading progress.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ichnos::export::text::count;
use ichnos::{LiveCounts, Session};

use super::console::Console;
use super::live_progress::LiveProgress;
use super::meter::Meter;
use crate::args::limits::Limits;

/// Number of messages between two clock checks.
const STRIDE: u32 = 1 << 14;

/// Display of the reading position on the timeline.
pub(crate) struct ReadProgress {
    /// `None` to show nothing.
    meter: Option<Meter>,
    /// Display for live input, in place of the meter.
    _live: Option<LiveProgress>,
    begin: i128,
    end: i128,
    /// Trace time at the last update.
    now: i128,
    started: Instant,
    until_look: u32,
    events: u64,
    /// Number of damaged places that can still be reported.
    damages_left: u64,
}

impl ReadProgress {
    /// Creates a display. `data_on_terminal` is `true` if the terminal also shows data.
    pub(crate) fn new(session: &Session, data_on_terminal: bool, console: Console) -> Self {
        let mut range: Option<(i128, i128)> = None;
        for trace in session.traces() {
            trace.for_each_stream(&mut |stream| {
                if let Some((begin, end)) = stream.time_range {
                    let (first, last) = range.unwrap_or((begin, end));
                    range = Some((first.min(begin), last.max(end)));
                }
            });
        }
        let (begin, end) = range.unwrap_or_default();
        let template = "{bar:40} {percent:>3} %  {msg}  {eta} left";
        Self {
            meter: Meter::new(template, data_on_terminal, console),
            _live: None,
            begin,
            now: begin,
            end,
            started: Instant::now(),
            until_look: STRIDE,
            events: 0,
            damages_left: Limits::default().report.damage,
        }
    }

    /// Creates a display for live input.
    pub(crate) fn live(counts: Arc<LiveCounts>, console: Console) -> Self {
        Self {
            meter: None,
            _live: LiveProgress::start(counts, console),
            begin: 0,
            now: 0,
            end: 0,
            started: Instant::now(),
            until_look: STRIDE,
            events: 0,
            damages_left: Limits::default().report.damage,
        }
    }

    /// Limits the number of damaged places to print.
    pub(crate) fn limit_damage(&mut self, most: u64) {
        self.damages_left = most;
    }

    /// Prints a damaged place.
    pub(crate) fn damage(&mut self, line: &str, console: Console) {
        if let Some(left) = self.damages_left.checked_sub(1) {
            self.damages_left = left;
            match &self.meter {
                Some(meter) => meter.suspend(|| console.warning(line)),
                None => console.warning(line),
            }
        }
    }

    /// Adds `events` events, up to a message at a trace time.
    #[inline]
    pub(crate) fn step(&mut self, events: u32, nanoseconds: impl FnOnce() -> Option<i128>) {
        self.events += u64::from(events);
        self.until_look = self.until_look.saturating_sub(events.max(1));
        if self.until_look == 0 {
            self.until_look = STRIDE;
            self.add(nanoseconds(), 0);
        }
    }

    /// Adds `events` events, up to a trace time.
    #[cold]
    pub(crate) fn add(&mut self, nanoseconds: Option<i128>, events: u64) {
        self.events += events;
        let Self { meter: Some(meter), begin, end, now, events, .. } = self else { return };
        meter.show(|| {
            // Messages without a time keep the previous time.
            *now = nanoseconds.unwrap_or(*now);
            let whole = end.saturating_sub(*begin);
            let done = now.saturating_sub(*begin);
            let permille = match whole > 0 {
                true => done.clamp(0, whole).saturating_mul(1000).checked_div(whole).unwrap_or(0),
                false => 0,
            };
            (u64::try_from(permille).ok(), count(*events, "event"))
        });
    }

    /// Clears the bar, and returns the elapsed time.
    pub(crate) fn finish(self) -> Duration {
        self.started.elapsed()
    }
}
