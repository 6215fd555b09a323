//! Points in time in human notation. All forms that `babeltrace2` accepts are valid.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

use ichnos_export::text::{self, date_time};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

use crate::ClockOffset;

const BILLION: i128 = 1_000_000_000;

/// A point in time, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimePoint {
    /// Nanoseconds since the clock's origin.
    Nanoseconds(i128),
    /// Nanoseconds after the start of the trace.
    FromStart(i128),
    /// Nanoseconds before the end of the trace.
    BeforeEnd(i128),
    /// A date and a time of day in the selected time zone.
    Civil(DateTime),
    /// A time on the day when the trace starts, in the selected time zone.
    OfDay(Time),
}

/// Accepted notations, for error messages.
pub const NOTATIONS: &str = "\
a time is one of: `2026-05-22 13:45:10.25` (seconds and fraction can be omitted; also \
with `T`, `Z` or an offset as in RFC 3339), `2026-05-22`, `13:45[:10[.25]]` (on the day \
the trace begins), `1779457510.25` (seconds from the clock's origin, may be negative), \
`@1779457510250000000` (nanoseconds), `+3s` (after the start of the trace; units: ns, us, ms, \
s, min, h), `-3s` (before the end of the trace; always with a unit)";

/// Error for an invalid time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeError(String);

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {NOTATIONS}", self.0)
    }
}

impl std::error::Error for TimeError {}

impl FromStr for TimePoint {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let text = text.trim();
        if let Some(nanoseconds) = text.strip_prefix('@') {
            let digits = nanoseconds.strip_prefix('-').unwrap_or(nanoseconds);
            let value = nanoseconds.parse().ok().filter(|_| is_digits(digits));
            return value
                .map(Self::Nanoseconds)
                .ok_or_else(|| TimeError(format!("`{text}`: expected a whole number after `@`")));
        }
        if let Some(duration) = text.strip_prefix('+') {
            return duration_from(duration)
                .map(Self::FromStart)
                .ok_or_else(|| TimeError(format!("`{text}`: expected a duration such as 1.5s after `+`")));
        }
        if let Some(nanoseconds) = seconds_from(text) {
            return Ok(Self::Nanoseconds(nanoseconds));
        }
        // Without a unit, the time is before the clock's origin.
        if let Some(duration) = text.strip_prefix('-').and_then(duration_from) {
            return Ok(Self::BeforeEnd(duration));
        }
        if let Some(time) = time_from(text) {
            return time.map(Self::OfDay);
        }
        if let Some(date) = text.get(..10).and_then(date_from) {
            let (date, rest) = (date?, &text[10..]);
            if rest.is_empty() {
                return Ok(Self::Civil(date.to_datetime(Time::midnight())));
            }
            if let Some(rest) = rest.strip_prefix([' ', 'T', 't']) {
                let rest = rest.trim();
                if let Some(time) = time_from(rest) {
                    return Ok(Self::Civil(date.to_datetime(time?)));
                }
                if let Ok(instant) = text.parse::<Timestamp>() {
                    return Ok(Self::Nanoseconds(instant.as_nanosecond()));
                }
            }
        }
        Err(TimeError(format!("`{text}` is not a time")))
    }
}

impl TimePoint {
    /// Converts the point to nanoseconds since the clock's origin. `start` and `end` are the bounds of the trace.
    ///
    /// # Errors
    /// If the point depends on an unknown bound, or is out of range.
    pub fn resolve(self, gmt: bool, start: Option<i128>, end: Option<i128>) -> Result<i128, String> {
        let start =
            || start.ok_or("the start of the trace is unknown, so only times with a date or in seconds work");
        match self {
            Self::Nanoseconds(nanoseconds) => Ok(nanoseconds),
            Self::FromStart(duration) => {
                start()?.checked_add(duration).ok_or_else(|| "the time is out of range".to_owned())
            }
            Self::BeforeEnd(duration) => end
                .ok_or("the end of the trace is unknown, so only times with a date or in seconds work")?
                .checked_sub(duration)
                .ok_or_else(|| "the time is out of range".to_owned()),
            Self::Civil(date_time) => instant(date_time, &zone(gmt)),
            Self::OfDay(time) => {
                let begin = Timestamp::from_nanosecond(start()?).map_err(|error| {
                    format!("the begin time of the trace is not a calendar date: {error}")
                })?;
                let zone = zone(gmt);
                instant(begin.to_zoned(zone.clone()).date().to_datetime(time), &zone)
            }
        }
    }
}

/// Function that prints a warning and help.
type Warn = Box<dyn Fn(&str, &str) + Send + Sync>;

/// Function that prints the warning about the time zone.
static WARN: OnceLock<Warn> = OnceLock::new();

/// Sets the function that prints the warning about the time zone.
pub fn warn_of_zone_by(warn: impl Fn(&str, &str) + Send + Sync + 'static) {
    let _ = WARN.set(Box::new(warn));
}

/// Returns the time zone for reading times. Warns once if TZ names an unknown zone.
fn zone(gmt: bool) -> TimeZone {
    if !gmt {
        warn_of_zone();
    }
    text::zone(gmt)
}

/// Warns once if TZ names an unknown time zone. Must be called before local times are printed.
pub fn warn_of_zone() {
    static WARNED: OnceLock<()> = OnceLock::new();
    WARNED.get_or_init(|| {
        if let (Some(warn), Some(name)) = (WARN.get(), std::env::var_os("TZ"))
            && text::system_zone().is_none()
        {
            warn(
                &format!("TZ: unknown time zone `{}`, so times are in UTC", name.to_string_lossy()),
                "time zones are named as in `Europe/Berlin`, or described as in `CET-1CEST,M3.5.0,M10.5.0/3`",
            );
        }
    });
}

fn instant(date_time: DateTime, zone: &TimeZone) -> Result<i128, String> {
    let zoned =
        date_time.to_zoned(zone.clone()).map_err(|error| format!("the time is out of range: {error}"))?;
    Ok(zoned.timestamp().as_nanosecond())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses `YYYY-MM-DD`. Returns `None` for other forms.
fn date_from(text: &str) -> Option<Result<Date, TimeError>> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let widths = [(year, 4), (month, 2), (day, 2)];
    if parts.next().is_some() || !widths.iter().all(|(part, width)| part.len() == *width && is_digits(part)) {
        return None;
    }
    let date = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    Some(date.map_err(|_| TimeError(format!("`{text}` is not a calendar date"))))
}

/// Parses `hh:mm[:ss[.n]]`. Returns `None` for other forms.
fn time_from(text: &str) -> Option<Result<Time, TimeError>> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, fraction_from(fraction)?),
        None => (text, 0),
    };
    let parts: Vec<&str> = whole.split(':').collect();
    let two_digits = parts.iter().all(|part| part.len() == 2 && is_digits(part));
    if !two_digits || !(2..=3).contains(&parts.len()) || (parts.len() == 2 && text.contains('.')) {
        return None;
    }
    let number = |index: usize| parts.get(index).and_then(|part| part.parse::<i8>().ok()).unwrap_or(0);
    let time = Time::new(number(0), number(1), number(2), fraction);
    Some(time.map_err(|_| TimeError(format!("`{text}` is not a time of day"))))
}

/// Parses up to nine decimals as nanoseconds.
fn fraction_from(digits: &str) -> Option<i32> {
    if digits.len() > 9 || !is_digits(digits) {
        return None;
    }
    format!("{digits:0<9}").parse().ok()
}

/// Parses `[-]s[.n]` as nanoseconds.
fn seconds_from(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, fraction_from(fraction)?),
        None => (digits, 0),
    };
    if !is_digits(whole) || whole.len() > 20 {
        return None;
    }
    let value = whole.parse::<i128>().ok()? * BILLION + i128::from(fraction);
    Some(if negative { -value } else { value })
}

/// Parses a duration, in nanoseconds.
///
/// # Errors
/// If the text is not a duration.
pub fn length_from(text: &str) -> Result<i128, String> {
    duration_from(text).ok_or_else(|| "expected a duration, for example 16ms".to_owned())
}

/// Parses `1.5s`, `2min30s` or `3` (seconds) as nanoseconds.
fn duration_from(text: &str) -> Option<i128> {
    if let Some(nanoseconds) = seconds_from(text) {
        return (!text.starts_with('-')).then_some(nanoseconds);
    }
    let mut rest = text;
    let mut total = 0i128;
    while !rest.is_empty() {
        let unit = rest.find(|c: char| c.is_ascii_alphabetic() || c == 'µ')?;
        let (number, tail) = rest.split_at(unit);
        let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (name, next) = tail.split_at(end);
        let scale: i128 = match name.trim() {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => BILLION,
            "m" | "min" => 60 * BILLION,
            "h" => 3600 * BILLION,
            _ => return None,
        };
        let number = number.trim();
        if number.starts_with('-') {
            return None;
        }
        // In billionths of the unit, so that 0.1ms is exact.
        total = total.checked_add(seconds_from(number)?.checked_mul(scale)? / BILLION)?;
        rest = next;
    }
    (!text.is_empty()).then_some(total)
}

/// A clock offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// Nanoseconds to add to the clock's times.
    Duration(i128),
    /// Time when the clock was 0, in nanoseconds since 1970.
    Origin(i128),
}

impl Offset {
    /// Returns the offset for the clocks at a path.
    pub fn for_path(self, path: &Path) -> ClockOffset {
        match self {
            Self::Duration(duration) => ClockOffset::new(path, duration),
            Self::Origin(origin) => ClockOffset::new(path, origin).of_origin(),
        }
    }
}

/// Parses a clock offset: `-3s`, `+3s`, `3s`, or any time.
///
/// # Errors
/// If the text is neither a duration nor a time.
pub fn clock_offset_from(text: &str) -> Result<Offset, String> {
    if let Some(duration) = text.trim().strip_prefix('-').and_then(duration_from) {
        return Ok(Offset::Duration(-duration));
    }
    if let Some(duration) = duration_from(text.trim()) {
        return Ok(Offset::Duration(duration));
    }
    match text.parse::<TimePoint>().map_err(|error| error.to_string())? {
        TimePoint::FromStart(duration) => Ok(Offset::Duration(duration)),
        point => point.resolve(false, None, None).map(Offset::Origin),
    }
}

/// Parses a time, or a distance from the origin, in nanoseconds: `-3s`, `+3s`, `3s`, or any time.
///
/// # Errors
/// If the text is neither a duration nor a time.
pub fn offset_from(text: &str) -> Result<i128, String> {
    clock_offset_from(text).map(|(Offset::Duration(offset) | Offset::Origin(offset))| offset)
}

/// Parses `BEGIN,END`, with or without brackets.
///
/// # Errors
/// If one of the times is invalid.
pub fn range_from(text: &str) -> Result<(TimePoint, TimePoint), String> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let Some((begin, end)) = inner.split_once(',') else {
        return Err(format!("expected two times with a comma between them, found `{text}`"));
    };
    let point = |text: &str| text.parse::<TimePoint>().map_err(|error| error.to_string());
    Ok((point(begin)?, point(end)?))
}

/// Formats a date and a time of day for display.
pub fn show(nanoseconds: i128, gmt: bool) -> String {
    if !gmt {
        warn_of_zone();
    }
    date_time(nanoseconds, gmt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str) -> i128 {
        // 2020-02-29 23:30:00 UTC.
        let start = 1_583_019_000 * BILLION;
        text.parse::<TimePoint>().unwrap().resolve(true, Some(start), Some(start + 100 * BILLION)).unwrap()
    }

    #[test]
    fn reads_what_babeltrace_reads() {
        assert_eq!(resolve("2020-02-29 23:30"), 1_583_019_000 * BILLION);
        assert_eq!(resolve("2020-02-29 23:30:01"), 1_583_019_001 * BILLION);
        assert_eq!(resolve("2020-02-29 23:30:01.5"), 1_583_019_001 * BILLION + BILLION / 2);
        assert_eq!(resolve("2020-02-29"), 1_582_934_400 * BILLION);
        assert_eq!(resolve("23:30"), 1_583_019_000 * BILLION);
        assert_eq!(resolve("00:00:00.000000001"), 1_582_934_400 * BILLION + 1);
        assert_eq!(resolve("5"), 5 * BILLION);
        assert_eq!(resolve("5.2"), 5_200_000_000);
        assert_eq!(resolve("-5.2"), -5_200_000_000);
        assert_eq!(resolve("18446744073709551615"), 18_446_744_073_709_551_615 * BILLION);
    }

    #[test]
    fn reads_more() {
        assert_eq!(resolve("2020-02-29T23:30:00Z"), 1_583_019_000 * BILLION);
        assert_eq!(resolve("2020-03-01T00:30:00+01:00"), 1_583_019_000 * BILLION);
        assert_eq!(resolve("@12"), 12);
        assert_eq!(resolve("@-12"), -12);
        let start = 1_583_019_000 * BILLION;
        assert_eq!(resolve("+3s"), start + 3 * BILLION);
        assert_eq!(resolve("+3"), start + 3 * BILLION);
        assert_eq!(resolve("+0.1ms"), start + 100_000);
        assert_eq!(resolve("+1min30.5s"), start + 90_500_000_000);
        assert_eq!(resolve("+2h"), start + 7200 * BILLION);
        let end = start + 100 * BILLION;
        assert_eq!(resolve("-5s"), end - 5 * BILLION);
        assert_eq!(resolve("-200ms"), end - 200_000_000);
        assert_eq!(resolve("-1m"), end - 60 * BILLION);
        assert_eq!(resolve("-1min0.5s"), end - 60_500_000_000);
        // Without a unit, the time is before the clock's origin, as in Babeltrace.
        assert_eq!(resolve("-5"), -5 * BILLION);
    }

    #[test]
    fn refuses_the_rest() {
        let texts = "|x|1:2|25:00|2020-02-30|2020-02-29 7:00|23:30.5|5.|.5|5.1234567890|@1.5|@+1|+|+-1s|+3 parsecs|\
            2020-02-29x|--5|-|--5s|-+5s|-5 parsecs|é2020-02-29";
        for text in texts.split('|') {
            let error = text.parse::<TimePoint>().unwrap_err().to_string();
            assert!(error.contains("a time is one of"), "{text}: {error}");
        }
    }

    #[test]
    fn reads_ranges() {
        let both = Ok((TimePoint::Nanoseconds(BILLION), TimePoint::Nanoseconds(2 * BILLION)));
        assert_eq!(range_from("1,2"), both);
        assert_eq!(range_from("[1,2]"), both);
        let last = Ok((TimePoint::BeforeEnd(5 * BILLION), TimePoint::BeforeEnd(BILLION)));
        assert_eq!(range_from("-5s,-1s"), last);
        assert!(range_from("1").is_err());
        assert!(range_from("1,x").is_err());
    }

    #[test]
    fn needs_a_start_for_some() {
        for text in ["+1s", "12:00", "-1s"] {
            assert!(text.parse::<TimePoint>().unwrap().resolve(true, None, None).is_err());
        }
        assert!("-1s".parse::<TimePoint>().unwrap().resolve(true, None, Some(i128::MIN)).is_err());
    }
}
