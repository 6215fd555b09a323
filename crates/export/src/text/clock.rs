//! Times for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

const BILLION: i128 = 1_000_000_000;

/// Formats nanoseconds since the Unix epoch as date, time of day and time zone: UTC if `gmt`, otherwise the system
/// time zone. Times beyond the calendar are formatted as [`seconds`].
#[must_use]
pub fn date_time(nanoseconds: i128, gmt: bool) -> String {
    let fraction = nanoseconds.rem_euclid(BILLION);
    let zone = if gmt { TimeZone::UTC } else { TimeZone::system() };
    match Timestamp::from_nanosecond(nanoseconds) {
        Ok(instant) => {
            let zoned = instant.to_zoned(zone);
            format!("{}.{fraction:09} {}", zoned.strftime("%Y-%m-%d %H:%M:%S"), zoned.strftime("%Z"))
        }
        Err(_) => seconds(nanoseconds),
    }
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
    fn times() {
        assert_eq!(date_time(1_583_019_000 * BILLION + 7, true), "2020-02-29 23:30:00.000000007 UTC");
        assert_eq!(date_time(-1, true), "1969-12-31 23:59:59.999999999 UTC");
        assert_eq!(seconds(-1), "-0.000000001");
        assert_eq!(date_time(i128::MAX, true), seconds(i128::MAX));
    }
}
