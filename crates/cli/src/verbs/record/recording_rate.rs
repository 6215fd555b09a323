//! Rate of a recording, on standard error.

use std::time::{Duration, Instant};

use ichnos::export::text::size;

use crate::progress::{Console, Meter};

/// Time over which a rate is measured.
const PERIOD: Duration = Duration::from_secs(1);

/// Display of the duration, the size and the rate.
pub(super) struct RecordingRate {
    /// `None` to show nothing.
    meter: Option<Meter>,
    start: Instant,
    /// Time and size at the start of the current period.
    mark: (Instant, u64),
    /// Bytes per second in the previous period.
    rate: u64,
}

impl RecordingRate {
    /// Creates a display. `is_on_standard_output` is `true` if the recording goes to standard output.
    pub(super) fn new(is_on_standard_output: bool, console: Console) -> Self {
        let start = Instant::now();
        let meter = Meter::new("{spinner} {msg}", is_on_standard_output, console);
        Self { meter, start, mark: (start, 0), rate: 0 }
    }

    /// Shows the size until now. `is_ending` is `true` during the rundown.
    pub(super) fn show(&mut self, length: u64, is_ending: bool) {
        let Some(meter) = &mut self.meter else { return };
        let (begin, before) = self.mark;
        let elapsed = begin.elapsed();
        if elapsed >= PERIOD {
            self.rate = (length.saturating_sub(before) as f64 / elapsed.as_secs_f64()) as u64;
            self.mark = (Instant::now(), length);
        }
        let (seconds, rate) = (self.start.elapsed().as_secs(), self.rate);
        meter.show(|| (None, message(seconds, length, rate, is_ending)));
    }
}

fn message(seconds: u64, length: u64, rate: u64, is_ending: bool) -> String {
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let end = if is_ending { ": the process lists its methods" } else { "; Ctrl-C ends the recording" };
    format!("{minutes:02}:{seconds:02}  {}, {}/s{end}", size(length), size(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(message(75, 3 << 20, 2048, false), "01:15  3.0 MiB, 2.0 KiB/s; Ctrl-C ends the recording");
        assert!(message(0, 0, 0, true).ends_with(": the process lists its methods"));
    }
}
