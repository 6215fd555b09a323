//! Trace block: properties of the whole trace.

use std::fmt;

use crate::Version;
use crate::wire::{Wire, push_property};

/// Trace block contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceBlock {
    /// UTC date and time at clock value `sync_ticks`, with a resolution of one millisecond.
    pub sync_time: SystemTime,
    /// Clock value at that time.
    pub sync_ticks: u64,
    /// Ticks per second.
    pub frequency: u64,
    /// Pointer size in bytes: 4 or 8.
    pub pointer_size: u32,
    /// Traced process, if there is exactly one.
    pub process_id: Option<u64>,
    /// Number of processors in the machine.
    pub processors: Option<u64>,
    /// Requested time between two call stack samples, in nanoseconds.
    pub sampling_interval: Option<u64>,
    /// Other properties (version 6).
    pub properties: Vec<(String, String)>,
}

/// Date and time as in the Windows structure `SYSTEMTIME`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SystemTime {
    pub year: u16,
    pub month: u16,
    pub day_of_week: u16,
    pub day: u16,
    pub hour: u16,
    pub minute: u16,
    pub second: u16,
    pub millisecond: u16,
}

impl fmt::Display for SystemTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second, millisecond, .. } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millisecond:03}")
    }
}

impl SystemTime {
    /// Reads 16 bytes.
    pub(crate) fn read(wire: &mut Wire<'_>) -> Option<Self> {
        Some(Self {
            year: wire.u16()?,
            month: wire.u16()?,
            day_of_week: wire.u16()?,
            day: wire.u16()?,
            hour: wire.u16()?,
            minute: wire.u16()?,
            second: wire.u16()?,
            millisecond: wire.u16()?,
        })
    }

    /// Converts milliseconds since 1970 to a date and time. Returns `None` before 1601 or after 9999, which tools
    /// cannot read.
    pub(crate) fn from_milliseconds(milliseconds: i128) -> Option<Self> {
        const DAY: i128 = 86_400_000;
        let days = i64::try_from(milliseconds.div_euclid(DAY)).ok()?;
        let in_day = u32::try_from(milliseconds.rem_euclid(DAY)).ok()?;
        // Days of the proleptic Gregorian calendar, in years that start in March, in eras of 400 years.
        let days = days.checked_add(719_468)?;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let of_years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * of_years + of_years / 4 - of_years / 100);
        let months = (5 * of_year + 2) / 153;
        let (day, month) =
            (of_year - (153 * months + 2) / 5 + 1, if months < 10 { months + 3 } else { months - 9 });
        let year = of_years + 400 * era + i64::from(month <= 2);
        if !(1601..=9999).contains(&year) {
            return None;
        }
        let part = |value: i64| u16::try_from(value).unwrap_or(0);
        let time = |value: u32| u16::try_from(value).unwrap_or(0);
        Some(Self {
            year: part(year),
            month: part(month),
            // 1970 started on a Thursday.
            day_of_week: part((days - 719_468 + 4).rem_euclid(7)),
            day: part(day),
            hour: time(in_day / 3_600_000),
            minute: time(in_day / 60_000 % 60),
            second: time(in_day / 1_000 % 60),
            millisecond: time(in_day % 1_000),
        })
    }

    /// Returns `true` if the date exists.
    #[must_use]
    pub fn is_valid(self) -> bool {
        let is_leap_year =
            self.year.is_multiple_of(4) && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days = match self.month {
            2 => 28 + u16::from(is_leap_year),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        self.since_unix_epoch().is_some()
            && self.day <= days
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.millisecond < 1_000
    }

    /// Returns 100 ns units since 1601, or `None` if the date is invalid.
    pub(crate) fn file_time(self) -> Option<i64> {
        const UNIX_EPOCH: i128 = 116_444_736_000_000_000;
        if !self.is_valid() {
            return None;
        }
        i64::try_from(self.since_unix_epoch()? / 100 + UNIX_EPOCH).ok()
    }

    /// Returns nanoseconds since 1970, or `None` without a year, a month or a day. Other parts are added even if the
    /// date does not [exist](Self::is_valid), except more than 1,999 milliseconds. Runtimes have written such
    /// milliseconds, and the rest of the date was correct.
    #[must_use]
    pub fn since_unix_epoch(self) -> Option<i128> {
        let (year, month, day) = (i64::from(self.year), i64::from(self.month), i64::from(self.day));
        if !(1601..=30827).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        // Days of the proleptic Gregorian calendar, in years that start in March.
        let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let days =
            365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 1 - 719_468;
        let millisecond = if self.millisecond < 2_000 { self.millisecond } else { 0 };
        let [hour, minute, second] = [self.hour, self.minute, self.second].map(i64::from);
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
        Some(i128::from(seconds) * 1_000_000_000 + i128::from(millisecond) * 1_000_000)
    }
}

impl TraceBlock {
    /// Reads the block's content. Returns `None` if it is incomplete.
    #[must_use]
    pub fn read(content: &[u8], version: Version) -> Option<Self> {
        let mut wire = Wire::new(content);
        let sync_time = SystemTime::read(&mut wire)?;
        let (sync_ticks, frequency, pointer_size) = (wire.u64()?, wire.u64()?, wire.u32()?);
        let mut trace = Self { sync_time, sync_ticks, frequency, pointer_size, ..Self::default() };
        if !matches!(version, Version::V6(_)) {
            // 0 stands for an unknown number.
            let mut number = || Some(Some(u64::from(wire.u32()?)).filter(|number| *number != 0));
            trace.process_id = number()?;
            trace.processors = number()?;
            trace.sampling_interval = number()?;
            return Some(trace);
        }
        for _ in 0..wire.u32()? {
            let (key, value) = (wire.string()?, wire.string()?);
            let number = value.parse().ok().filter(|number| *number != 0);
            match &*key {
                "ProcessId" if number.is_some() => trace.process_id = number,
                "HardwareThreadCount" if number.is_some() => trace.processors = number,
                "ExpectedCPUSamplingRate" if number.is_some() => trace.sampling_interval = number,
                _ => push_property(&mut trace.properties, (key, value)),
            }
        }
        Some(trace)
    }

    /// Returns `true` for 4-byte pointers.
    #[must_use]
    pub fn has_short_pointers(&self) -> bool {
        self.pointer_size == 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let time = |year, month, day, hour, millisecond| {
            SystemTime { year, month, day, hour, millisecond, ..SystemTime::default() }.since_unix_epoch()
        };
        assert_eq!(time(1970, 1, 1, 0, 0), Some(0));
        assert_eq!(time(2000, 3, 1, 1, 5), Some(951_872_400_005_000_000));
        assert_eq!(time(2024, 2, 29, 0, 1000), Some(1_709_164_801_000_000_000));
        assert_eq!(time(1601, 1, 1, 0, 0), Some(-11_644_473_600_000_000_000));
        assert_eq!((time(2024, 13, 1, 0, 0), time(0, 1, 1, 0, 0)), (None, None));
        assert_eq!(time(2024, 2, 29, 0, 65_535), time(2024, 2, 29, 0, 0));
    }

    #[test]
    fn dates_that_do_not_exist() {
        let is_valid = |year, month, day, second, millisecond| {
            SystemTime { year, month, day, second, millisecond, ..SystemTime::default() }.is_valid()
        };
        assert!(
            is_valid(2024, 2, 29, 59, 999) && is_valid(2000, 2, 29, 0, 0) && is_valid(2026, 12, 31, 0, 0)
        );
        let wrong = [
            (2023, 2, 29, 0, 0),
            (1900, 2, 29, 0, 0),
            (2024, 2, 30, 0, 0),
            (2024, 4, 31, 0, 0),
            (2024, 1, 1, 60, 0),
            (2024, 1, 1, 0, 1_000),
            (2024, 1, 1, 0, 65_535),
            (2024, 0, 1, 0, 0),
        ];
        for (year, month, day, second, millisecond) in wrong {
            assert!(!is_valid(year, month, day, second, millisecond), "{year}-{month}-{day}");
        }
    }

    #[test]
    fn dates_of_milliseconds() {
        let date = SystemTime::from_milliseconds(1_714_979_289_010).unwrap();
        let SystemTime { year, month, day_of_week, day, hour, minute, second, millisecond } = date;
        assert_eq!((year, month, day_of_week, day), (2024, 5, 1, 6));
        assert_eq!((hour, minute, second, millisecond), (7, 8, 9, 10));
        for days in -130_000..2_900_000i128 {
            let milliseconds = days * 86_400_000 + 977 * days.rem_euclid(80_000);
            let date = SystemTime::from_milliseconds(milliseconds);
            if let Some(date) = date {
                assert_eq!(date.since_unix_epoch(), Some(milliseconds * 1_000_000), "{date:?}");
            }
        }
        assert_eq!(SystemTime::from_milliseconds(-11_644_473_600_001), None);
        assert_eq!(SystemTime::from_milliseconds(i128::MAX), None);
    }
}
