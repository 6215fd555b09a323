//! Progress of reading.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use ichnos::Session;
use ichnos::export::text::count;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args;
use crate::args::limits::Limits;
use crate::output::charset;
use crate::progress::Report;

/// Time until progress is shown.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two lines of plain progress.
pub(crate) const PAUSE: Duration = Duration::from_secs(5);
/// Number of messages between two looks at the clock.
const STRIDE: u32 = 1 << 14;

enum ProgressDisplay {
    None,
    Bar(ProgressBar),
    Plain(Report),
}

/// Shows the progress on the timeline.
pub(crate) struct Progress {
    kind: ProgressDisplay,
    begin: i128,
    end: i128,
    /// Time of the traces at the last update.
    now: i128,
    started: Instant,
    next: Instant,
    until_look: u32,
    events: u64,
    /// Number of damaged places that may still be reported.
    damages_left: u64,
}

impl Progress {
    /// `data_on_terminal` if data are printed where a bar would be.
    pub(crate) fn new(
        when: args::Progress,
        session: &Session,
        data_on_terminal: bool,
        report: Report,
    ) -> Self {
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
        let kind = match when {
            args::Progress::Never => ProgressDisplay::None,
            args::Progress::Auto if !std::io::stderr().is_terminal() || data_on_terminal => {
                ProgressDisplay::None
            }
            args::Progress::Auto => {
                let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::hidden());
                if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}  {eta} left")
                {
                    bar.set_style(charset::of_progress(style));
                }
                ProgressDisplay::Bar(bar)
            }
            args::Progress::Plain => ProgressDisplay::Plain(report),
        };
        let started = Instant::now();
        Self {
            kind,
            begin,
            now: begin,
            end,
            started,
            next: started + PATIENCE,
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
    pub(crate) fn damage(&mut self, line: &str, report: Report) {
        if let Some(left) = self.damages_left.checked_sub(1) {
            self.damages_left = left;
            self.suspend(|| report.warning(line));
        }
    }

    /// Adds a message at a time of the traces, with `events` events since the last one.
    #[inline]
    pub(crate) fn step(&mut self, events: u32, nanoseconds: impl FnOnce() -> Option<i128>) {
        self.events += u64::from(events);
        self.until_look = self.until_look.saturating_sub(events.max(1));
        if self.until_look == 0 {
            self.until_look = STRIDE;
            self.add(nanoseconds(), 0);
        }
    }

    /// Adds this many events, up to this time of the traces.
    #[cold]
    pub(crate) fn add(&mut self, nanoseconds: Option<i128>, events: u64) {
        self.events += events;
        let now = Instant::now();
        if now < self.next {
            return;
        }
        // Messages without a time keep the previous one.
        self.now = nanoseconds.unwrap_or(self.now);
        let whole = self.end.saturating_sub(self.begin);
        let done = self.now.saturating_sub(self.begin);
        let permille = if whole > 0 {
            done.clamp(0, whole).saturating_mul(1000).checked_div(whole).unwrap_or(0)
        } else {
            0
        };
        let message = count(self.events, "event");
        match &self.kind {
            ProgressDisplay::None => {}
            ProgressDisplay::Bar(bar) => {
                if bar.is_hidden() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_position(permille as u64);
                bar.set_message(message);
                self.next = now + Duration::from_millis(100);
            }
            ProgressDisplay::Plain(report) => {
                report.answer(&format!("{}.{} %, {message}", permille / 10, permille % 10));
                self.next = now + PAUSE;
            }
        }
    }

    /// Prints something other than progress.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        match &self.kind {
            ProgressDisplay::Bar(bar) if !bar.is_hidden() => bar.suspend(print),
            _ => print(),
        }
    }

    /// Clears the bar; returns the elapsed time.
    pub(crate) fn finish(self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let ProgressDisplay::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }
}
