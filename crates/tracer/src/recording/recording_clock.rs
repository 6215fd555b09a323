//! Clock of a recording.

use std::time::{Duration, SystemTime};

use super::clock_reading::{is_tsc_reliable, monotonic, tsc};

/// Time for which the counter is compared with the system's clock at first.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Number of readings that tell how fine the clock is.
const READINGS: u32 = 256;

/// Which clock a recording uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ClockSource {
    /// The monotonic clock of the system, in nanoseconds.
    #[default]
    Monotonic,
    /// The time stamp counter of the processor if the kernel uses it, too, and otherwise the monotonic clock. It takes
    /// a third of the time. The recording takes 20 ms to start, in which it measures the frequency. The measured
    /// frequency is wrong by some millionths: after an hour, times can be wrong by some milliseconds.
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
    /// Smallest difference of two readings, in cycles.
    precision: Option<u64>,
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
        let mut clock = Self { is_counter, begin, epoch, counter, frequency, precision: None };
        clock.precision = clock.smallest_difference();
        clock
    }

    /// Returns the smallest positive difference of successive readings in cycles, if there is one.
    fn smallest_difference(&self) -> Option<u64> {
        let mut before = self.now();
        let differences = (0..READINGS).filter_map(|_| {
            let now = self.now();
            now.checked_sub(std::mem::replace(&mut before, now)).filter(|difference| *difference > 0)
        });
        differences.min()
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

    /// Returns the smallest difference of two readings, in cycles.
    pub(super) fn precision(&self) -> Option<u64> {
        self.precision
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
