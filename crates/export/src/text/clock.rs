//! Times for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

const BILLION: i128 = 1_000_000_000;

/// Formats nanoseconds since the Unix epoch as date, time of day and time zone: UTC if `gmt`, otherwise the system
/// time zone. Times beyond the calendar are formatted as [`seconds`].
#[must_use]
pub fn date_time(nanoseconds: i128, gmt: bool) -> String {
    let fraction = nanoseconds.rem_euclid(BILLION);
    match Timestamp::from_nanosecond(nanoseconds) {
        Ok(instant) => {
            let zoned = instant.to_zoned(zone(gmt));
            format!("{}.{fraction:09} {}", zoned.strftime("%Y-%m-%d %H:%M:%S"), zoned.strftime("%Z"))
        }
        Err(_) => seconds(nanoseconds),
    }
}

/// Date in the calendar: year, month from 1, day from 1.
pub type CalendarDate = (i16, i8, i8);

/// Returns the date of a time in nanoseconds since the Unix epoch: in UTC if `gmt`, otherwise in the system time zone.
/// Returns `None` beyond the calendar.
#[must_use]
pub fn calendar_date(nanoseconds: i128, gmt: bool) -> Option<CalendarDate> {
    let date = Timestamp::from_nanosecond(nanoseconds).ok()?.to_zoned(zone(gmt)).date();
    Some((date.year(), date.month(), date.day()))
}

/// Returns the nanoseconds since the Unix epoch at a time of day (hour, minute, second, nanosecond) on a date: in UTC if
/// `gmt`, otherwise in the system time zone. Returns `None` if there is no such date or time.
#[must_use]
pub fn calendar_nanoseconds(date: CalendarDate, time: (i8, i8, i8, i32), gmt: bool) -> Option<i128> {
    let date = jiff::civil::Date::new(date.0, date.1, date.2).ok()?;
    let time = jiff::civil::Time::new(time.0, time.1, time.2, time.3).ok()?;
    Some(date.to_datetime(time).to_zoned(zone(gmt)).ok()?.timestamp().as_nanosecond())
}

/// Returns UTC if `gmt`, otherwise the system time zone. If that is unknown, its times are in UTC.
#[must_use]
pub fn zone(gmt: bool) -> TimeZone {
    if gmt { TimeZone::UTC } else { system_zone().unwrap_or_else(TimeZone::system) }
}

/// Returns the system time zone. Returns `None` if it is unknown, for example because of its name in the variable `TZ`.
#[must_use]
pub fn system_zone() -> Option<TimeZone> {
    TimeZone::try_system().ok().or_else(|| posix_zone(&std::env::var("TZ").ok()?))
}

/// Returns the zone with a name like `posix/Europe/Berlin`: the C library's name for a zone without leap seconds.
fn posix_zone(name: &str) -> Option<TimeZone> {
    let name = name.strip_prefix(':').unwrap_or(name).strip_prefix("posix/")?;
    TimeZone::get(name).ok()
}

/// Formats nanoseconds as seconds with nine decimals.
#[must_use]
pub fn seconds(nanoseconds: i128) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let magnitude = nanoseconds.unsigned_abs();
    let (whole, fraction) = (magnitude / BILLION as u128, magnitude % BILLION as u128);
    format!("{sign}{whole}.{fraction:09}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_without_leap_seconds_have_names() {
        for name in ["posix/Europe/Berlin", ":posix/Europe/Berlin"] {
            assert_eq!(posix_zone(name).unwrap().iana_name(), Some("Europe/Berlin"));
        }
        assert_eq!((posix_zone("Europe/Berlin"), posix_zone("posix/Nowhere")), (None, None));
    }

    #[test]
    fn times() {
        assert_eq!(date_time(1_583_019_000 * BILLION + 7, true), "2020-02-29 23:30:00.000000007 UTC");
        assert_eq!(date_time(-1, true), "1969-12-31 23:59:59.999999999 UTC");
        assert_eq!(seconds(-1), "-0.000000001");
        assert_eq!(date_time(i128::MAX, true), seconds(i128::MAX));
        assert_eq!(calendar_date(1_583_019_000 * BILLION, true), Some((2020, 2, 29)));
        assert_eq!(calendar_date(i128::MAX, true), None);
        let noon = |date| calendar_nanoseconds(date, (23, 30, 0, 7), true);
        assert_eq!(noon((2020, 2, 29)), Some(1_583_019_000 * BILLION + 7));
        assert_eq!(noon((2020, 2, 30)), None);
        assert_eq!(calendar_nanoseconds((2020, 2, 29), (24, 0, 0, 0), true), None);
    }
}
