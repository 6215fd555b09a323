//! Clock of a recording.

use std::time::{Duration, SystemTime};

use super::clock_reading::{is_tsc_reliable, monotonic, tsc};

/// Time for which the counter is compared with the system's clock at first.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Which clock a recording uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ClockSource {
    /// The monotonic clock of the system, in nanoseconds.
    #[default]
    Monotonic,
    /// The time stamp counter of the processor if the kernel uses it, too, and otherwise the monotonic clock. It takes
    /// a third of the time. The recording takes 10 ms to start, and corrects the frequency in its metadata when it
    /// finishes.
    Fastest,
}

/// Clock of a recording.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordingClock {
    is_counter: bool,
    /// Nanoseconds of the monotonic clock when the recording began.
    begin: u64,
    /// Time of the system at cycle 0 of the counter, or at `begin`, since the Unix epoch.
    epoch: Duration,
    /// Counter at `begin`.
    counter: u64,
    frequency: u64,
}

impl RecordingClock {
    pub(super) fn new(source: ClockSource) -> Self {
        let is_counter = source == ClockSource::Fastest && is_tsc_reliable();
        let (begin, counter, system) = simultaneous();
        let epoch = system.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut frequency = 1_000_000_000;
        if is_counter {
            std::thread::sleep(CALIBRATION);
            let (end, last, _) = simultaneous();
            let cycles = u128::from(last.saturating_sub(counter)) * 1_000_000_000;
            let nanoseconds = u128::from(end.saturating_sub(begin).max(1));
            frequency = u64::try_from(cycles / nanoseconds).unwrap_or(u64::MAX).max(1);
        }
        Self { is_counter, begin, epoch, counter, frequency }
    }

    /// Returns the time in cycles since the recording began.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        if self.is_counter {
            return tsc().saturating_sub(self.counter);
        }
        monotonic().saturating_sub(self.begin)
    }

    /// Returns the number of cycles per second.
    pub(super) fn frequency(&self) -> u64 {
        self.frequency
    }

    /// Returns the number of cycles in a duration.
    pub(super) fn cycles(&self, duration: Duration) -> u64 {
        u64::try_from(duration.as_nanos() * u128::from(self.frequency) / 1_000_000_000).unwrap_or(u64::MAX)
    }

    /// Returns the name of the clock.
    pub(super) fn name(&self) -> &'static str {
        if self.is_counter { "tsc" } else { "monotonic" }
    }

    /// Returns the time of cycle 0: seconds since the Unix epoch, and further cycles.
    pub(super) fn epoch(&self) -> (i64, u64) {
        let cycles = u128::from(self.epoch.subsec_nanos()) * u128::from(self.frequency) / 1_000_000_000;
        (self.epoch.as_secs().cast_signed(), u64::try_from(cycles).unwrap_or(0))
    }
}

/// Reads all clocks at the same time: the tightest of several readings.
fn simultaneous() -> (u64, u64, SystemTime) {
    let read = || {
        let before = monotonic();
        let counter = tsc();
        let system = SystemTime::now();
        let between = monotonic() - before;
        (between, before + between / 2, counter, system)
    };
    let mut best = read();
    for _ in 0..15 {
        let next = read();
        if next.0 < best.0 {
            best = next;
        }
    }
    (best.1, best.2, best.3)
}
