//! Rate and lag of live input.

use std::io::IsTerminal as _;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ichnos::export::text::{count, grouped};
use ichnos::model::locks::IgnorePoison as _;
use ichnos::{LiveCounts, PassCounts};

use super::console::Console;
use crate::args::Progress;
use crate::output::status_line;

/// Time between two updates on a terminal, and between two lines.
const REDRAW: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_secs(5);

/// Display of the rate and the lag, on the last line of the terminal or as lines. It disappears when dropped.
pub(crate) struct LiveProgress {
    end: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl LiveProgress {
    /// Starts to show the counts. Returns `None` if nothing should be shown.
    pub(crate) fn start(counts: Arc<LiveCounts>, console: Console) -> Option<Self> {
        let is_line = match console.progress() {
            Progress::Never => return None,
            Progress::Auto if !std::io::stderr().is_terminal() => return None,
            Progress::Auto => true,
            Progress::Plain => false,
        };
        let end = Arc::<(Mutex<bool>, Condvar)>::default();
        let ended = Arc::clone(&end);
        let show = move || {
            let mut rate = EventRate { since: Instant::now(), events: 0 };
            let (is_over, changed) = &*ended;
            loop {
                let pause = if is_line { REDRAW } else { PAUSE };
                let wait = changed.wait_timeout_while(is_over.lock().ignore_poison(), pause, |over| !*over);
                if *wait.ignore_poison().0 {
                    return;
                }
                let counted = counts.counts();
                let text = describe(&counted, rate.next(counted.events), lag(&counts));
                if is_line { status_line::show(&text) } else { console.print(&text) }
            }
        };
        // Without a thread, nothing is shown.
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(show).ok()?;
        Some(Self { end, thread: Some(thread) })
    }
}

impl Drop for LiveProgress {
    fn drop(&mut self) {
        let (is_over, changed) = &*self.end;
        *is_over.lock().ignore_poison() = true;
        changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // `drop` cannot return the error.
            let _ = thread.join();
        }
        status_line::hide();
    }
}

/// Number of events a second since the last update.
struct EventRate {
    since: Instant,
    events: u64,
}

impl EventRate {
    fn next(&mut self, events: u64) -> f64 {
        let seconds = self.since.elapsed().as_secs_f64().max(1e-3);
        let new = events.saturating_sub(self.events);
        *self = Self { since: Instant::now(), events };
        new as f64 / seconds
    }
}

/// Returns how far the inputs are behind the wall clock, in seconds.
fn lag(counts: &LiveCounts) -> Option<f64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let behind = i128::try_from(now).ok()?.saturating_sub(i128::from(counts.reached()?));
    Some(behind.max(0) as f64 / 1e9)
}

fn describe(counts: &PassCounts, rate: f64, lag: Option<f64>) -> String {
    let mut text = format!("{}, {} per second", count(counts.events, "event"), grouped(rate.round() as u64));
    match lag {
        Some(lag) if lag < 60.0 => text.push_str(&format!(", {lag:.1} s behind")),
        Some(lag) => text.push_str(&format!(", {} behind", count((lag / 60.0) as u64, "minute"))),
        None => {}
    }
    for (number, what) in [
        (counts.late_events, "late"),
        (counts.discarded_events, "lost"),
        (counts.discarded_packets, "packets lost"),
    ] {
        if number > 0 {
            text.push_str(&format!(", {} {what}", grouped(number)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let mut counts = PassCounts::default();
        counts.events = 1_234;
        assert_eq!(describe(&counts, 99.6, Some(0.25)), "1,234 events, 100 per second, 0.2 s behind");
        (counts.late_events, counts.discarded_events) = (2, 3_000);
        let text = describe(&counts, 0.0, Some(150.0));
        assert_eq!(text, "1,234 events, 0 per second, 2 minutes behind, 2 late, 3,000 lost");
        assert_eq!(describe(&PassCounts::default(), 0.0, None), "0 events, 0 per second");
    }
}
