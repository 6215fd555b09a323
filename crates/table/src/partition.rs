//! Partitions: directories for the hours or days of events.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Maximum number of partitions with an open file, for each table. The least recently used file is completed.
const MOST_OPEN: usize = 256;

/// Directory value of rows without a time, as in Hive.
const NO_TIME: &str = "__HIVE_DEFAULT_PARTITION__";

/// Names of the directory columns.
pub(crate) const COLUMNS: [&str; 2] = ["date", "hour"];

const SECOND: i64 = 1_000_000_000;

/// Length of partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartitionUnit {
    /// Hours in UTC: `date=2026-11-30/hour=05`.
    Hour,
    /// Days in UTC: `date=2026-11-30`.
    Day,
}

/// Partition of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Partition {
    /// Length.
    pub unit: PartitionUnit,
    /// Number of whole units since 1970. `None` for rows without a time.
    pub number: Option<i64>,
}

impl PartitionUnit {
    /// Returns the unit with a name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "hour" => Some(Self::Hour),
            "day" => Some(Self::Day),
            _ => None,
        }
    }

    /// Returns the partition of a time in nanoseconds since 1970.
    pub(crate) fn partition(self, time: Option<i64>) -> Partition {
        let length = match self {
            Self::Hour => 3_600 * SECOND,
            Self::Day => 86_400 * SECOND,
        };
        Partition { unit: self, number: time.map(|time| time.div_euclid(length)) }
    }
}

impl Partition {
    /// Returns the directories.
    pub(crate) fn directories(self) -> String {
        let [date, hour] = COLUMNS;
        let (day, of_hour) = match (self.unit, self.number) {
            (PartitionUnit::Day, None) => return format!("{date}={NO_TIME}"),
            (PartitionUnit::Hour, None) => return format!("{date}={NO_TIME}/{hour}={NO_TIME}"),
            (PartitionUnit::Day, Some(day)) => (day, String::new()),
            (PartitionUnit::Hour, Some(number)) => {
                (number.div_euclid(24), format!("/{hour}={:02}", number.rem_euclid(24)))
            }
        };
        let (year, month, day) = civil(day);
        format!("{date}={year:04}-{month:02}-{day:02}{of_hour}")
    }
}

/// Returns `true` for the name of a directory of partitions.
pub(crate) fn is_partition(name: &str) -> bool {
    let value = COLUMNS.iter().find_map(|column| name.strip_prefix(column)?.strip_prefix('='));
    value.is_some_and(|value| {
        value == NO_TIME
            || !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    })
}

/// Returns the year, the month and the day of a number of days since 1970, in the Gregorian calendar. Times of 64 bits
/// are within the years 1677 to 2262.
fn civil(days: i64) -> (i64, i64, i64) {
    // Eras of 400 years start on 1 March, so that the leap day is the last day of a year.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * era + year + next, month, day)
}

/// Partitions with an open file, by table. The last one was used last.
#[derive(Debug)]
pub(crate) struct OpenPartitions<T> {
    by_table: HashMap<u64, VecDeque<T>>,
}

impl<T> Default for OpenPartitions<T> {
    fn default() -> Self {
        Self { by_table: HashMap::new() }
    }
}

impl<T: Copy + Eq + Hash> OpenPartitions<T> {
    /// Records the use of a partition's file. Returns a partition whose file should be completed.
    pub(crate) fn used(&mut self, table: u64, partition: T) -> Option<T> {
        let open = self.by_table.entry(table).or_default();
        if open.back() == Some(&partition) {
            return None;
        }
        open.retain(|known| *known != partition);
        open.push_back(partition);
        if open.len() > MOST_OPEN { open.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_dates() {
        let hour = |time| PartitionUnit::Hour.partition(time).directories();
        let day = |time| PartitionUnit::Day.partition(time).directories();
        assert_eq!(hour(Some(0)), "date=1970-01-01/hour=00");
        assert_eq!(hour(Some(-1)), "date=1969-12-31/hour=23");
        assert_eq!(day(Some(1_709_164_799 * SECOND + 999_999_999)), "date=2024-02-28");
        assert_eq!(hour(Some(1_709_164_800 * SECOND)), "date=2024-02-29/hour=00");
        assert_eq!(day(Some(i64::MAX)), "date=2262-04-11");
        assert_eq!(day(Some(i64::MIN)), "date=1677-09-21");
        assert_eq!(day(None), "date=__HIVE_DEFAULT_PARTITION__");
        for time in [None, Some(0), Some(i64::MIN)] {
            for unit in [PartitionUnit::Hour, PartitionUnit::Day] {
                assert!(unit.partition(time).directories().split('/').all(is_partition));
            }
        }
        assert!(!is_partition("date=") && !is_partition("hour=x") && !is_partition("dates=1"));
    }

    #[test]
    fn the_least_recently_used_is_completed() {
        let mut open = OpenPartitions::default();
        assert!((0..MOST_OPEN).all(|number| open.used(1, number).is_none()));
        assert_eq!((open.used(1, 0), open.used(2, 0)), (None, None));
        assert_eq!(open.used(1, MOST_OPEN), Some(1));
        assert_eq!(open.used(1, 1), Some(2));
    }
}
