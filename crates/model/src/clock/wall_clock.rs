//! Integers that count from a known date.

use std::num::NonZeroU64;

const BILLION: i128 = 1_000_000_000;

/// Epoch and unit of an integer wall clock time.
///
/// ```
/// use ichnos_model::clock::WallClock;
///
/// // 1970-01-01 00:00:01.5 as Windows counts.
/// let time = 116_444_736_000_000_000 + 15_000_000;
/// assert_eq!(WallClock::FILETIME.nanoseconds(time), Some(1_500_000_000));
/// assert_eq!(WallClock::UNIX_SECONDS.nanoseconds(-1), Some(-1_000_000_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WallClock {
    epoch_seconds: i64,
    /// Not 0, to prevent divisions by 0. It also makes an optional clock equally small.
    frequency: NonZeroU64,
}

impl WallClock {
    /// 100 ns since 1601-01-01 00:00 UTC: Windows `FILETIME` (MS-DTYP, 2.3.3), also .NET's `DateTime.ToFileTimeUtc`.
    pub const FILETIME: Self = Self::from_parts(-11_644_473_600, 10_000_000);

    /// 100 ns since 0001-01-01 00:00 in the Gregorian calendar: .NET `DateTime.Ticks`.
    pub const DOTNET_TICKS: Self = Self::from_parts(-62_135_596_800, 10_000_000);

    /// Seconds since the Unix epoch.
    pub const UNIX_SECONDS: Self = Self::from_parts(0, 1);

    /// Nanoseconds since the Unix epoch.
    pub const UNIX_NANOSECONDS: Self = Self::from_parts(0, 1_000_000_000);

    /// Creates a clock whose frequency must not be 0.
    const fn from_parts(epoch_seconds: i64, frequency: u64) -> Self {
        Self { epoch_seconds, frequency: NonZeroU64::MIN.saturating_add(frequency.saturating_sub(1)) }
    }

    /// Creates a clock whose 0 is this many seconds after the Unix epoch. The frequency is in counts per second. `None`
    /// if the frequency is 0.
    #[must_use]
    pub const fn new(epoch_seconds: i64, frequency: u64) -> Option<Self> {
        match NonZeroU64::new(frequency) {
            Some(frequency) => Some(Self { epoch_seconds, frequency }),
            None => None,
        }
    }

    /// Returns the epoch, in seconds since the Unix epoch.
    #[must_use]
    pub const fn epoch_seconds(self) -> i64 {
        self.epoch_seconds
    }

    /// Returns the frequency in counts per second.
    #[must_use]
    pub const fn frequency(self) -> u64 {
        self.frequency.get()
    }

    /// Converts a value to nanoseconds since the Unix epoch, rounded towards the past. `None` if the result does not
    /// fit; values with up to 64 bits always fit.
    #[must_use]
    pub fn nanoseconds(self, value: i128) -> Option<i128> {
        let frequency = i128::from(self.frequency.get());
        let seconds = value.div_euclid(frequency).checked_add(self.epoch_seconds.into())?;
        let rest = value.rem_euclid(frequency) * BILLION / frequency;
        seconds.checked_mul(BILLION)?.checked_add(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_never_overflow() {
        let clock = |epoch, frequency| WallClock::new(epoch, frequency).unwrap();
        assert_eq!(WallClock::new(0, 0), None);
        assert_eq!(WallClock::FILETIME, clock(-11_644_473_600, 10_000_000));
        assert_eq!(WallClock::UNIX_SECONDS, clock(0, 1));
        assert_eq!(WallClock::FILETIME.nanoseconds(0), Some(-11_644_473_600 * BILLION));
        assert_eq!(WallClock::FILETIME.nanoseconds(-1), Some(-11_644_473_600 * BILLION - 100));
        assert_eq!(WallClock::UNIX_NANOSECONDS.nanoseconds(i64::MIN.into()), Some(i64::MIN.into()));
        // A third of a second, positive and negative.
        assert_eq!(clock(10, 3).nanoseconds(1), Some(10_333_333_333));
        assert_eq!(clock(0, 3).nanoseconds(-1), Some(-333_333_334));
        assert_eq!(clock(0, u64::MAX).nanoseconds((u64::MAX - 1).into()), Some(999_999_999));
        for epoch in [i64::MIN, 0, i64::MAX] {
            for frequency in [1, 7, u64::MAX] {
                let clock = clock(epoch, frequency);
                for value in [i64::MIN.into(), u64::MAX.into()] {
                    assert!(clock.nanoseconds(value).is_some());
                }
                for value in [i128::MIN, i128::MAX] {
                    // Any result, but no panic.
                    let _ = clock.nanoseconds(value);
                }
            }
        }
        assert_eq!(WallClock::UNIX_SECONDS.nanoseconds(i128::MAX), None);
    }
}
