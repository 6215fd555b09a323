//! Clocks of timestamps.

/// Clock of the timestamps of a [`Logger`](super::Logger).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogClock {
    /// Monotonic time, which may stop while the system is suspended: the clock of Fuchsia before API level
    /// 24, and of LTTng.
    #[default]
    Monotonic,
    /// Time since the system booted, including suspended time, on systems with such a clock (Linux, Android);
    /// otherwise monotonic time.
    Boot,
}

impl LogClock {
    /// Returns the time in nanoseconds.
    #[cfg(unix)]
    #[inline]
    pub(super) fn now(self) -> i64 {
        use rustix::time::{ClockId, clock_gettime};
        let id = match self {
            Self::Monotonic => ClockId::Monotonic,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Self::Boot => ClockId::Boottime,
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            Self::Boot => ClockId::Monotonic,
        };
        let time = clock_gettime(id);
        // `tv_nsec` is narrower on some systems.
        #[allow(clippy::useless_conversion)]
        time.tv_sec.saturating_mul(1_000_000_000).saturating_add(i64::from(time.tv_nsec))
    }

    /// Returns the time in nanoseconds since the first call.
    #[cfg(not(unix))]
    pub(super) fn now(self) -> i64 {
        static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        let first = FIRST.get_or_init(std::time::Instant::now);
        i64::try_from(first.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }
}
