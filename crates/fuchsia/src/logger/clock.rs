//! Clocks for timestamps.

/// Timestamp clock of a [`Logger`](super::Logger).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogClock {
    /// Monotonic time, which can stop while the system is suspended. Fuchsia before API level 24 and LTTng use this
    /// clock.
    #[default]
    Monotonic,
    /// Time since system boot, including suspended time. Systems other than Linux and Android lack such a clock and use
    /// monotonic time.
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
