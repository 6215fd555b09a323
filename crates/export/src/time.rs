//! Clock values for display and in JSON.

use std::io::Write;

use ichnos_model::class::IntegerProperties;
use ichnos_model::clock::{ClockClass, ClockOrigin, ClockValue};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::block::ShortText;
use crate::number;
use crate::recent_number::RecentNumber;
use crate::text;

const BILLION: i128 = 1_000_000_000;

/// Format of clock values.
#[derive(Clone, Debug)]
pub(crate) struct ClockDisplay {
    /// `true` for seconds since the origin, `false` for a time of day.
    pub(crate) seconds: bool,
    /// `true` to include the date.
    pub(crate) date: bool,
    /// Time zone for times of day.
    pub(crate) zone: TimeZone,
    /// Second of `text`.
    second: i64,
    /// Text for date and time of day in that second, with the decimal point.
    text: Option<ShortText>,
}

impl ClockDisplay {
    pub(crate) fn new(seconds: bool, date: bool, gmt: bool) -> Self {
        let zone = text::zone(gmt);
        Self { seconds, date, zone, second: i64::MIN, text: None }
    }

    /// Appends a clock value.
    pub(crate) fn push(&mut self, out: &mut Vec<u8>, value: Option<&ClockValue>) {
        match value {
            None => out.extend_from_slice(b"??:??:??.?????????"),
            Some(value) => match i64::try_from(value.nanoseconds) {
                Ok(nanoseconds) if nanoseconds >= 0 && !self.seconds => {
                    self.push_clock(out, nanoseconds / 1_000_000_000, (nanoseconds % 1_000_000_000) as u32);
                }
                _ => self.push_any(out, value.nanoseconds),
            },
        }
    }

    /// Appends a time in seconds, or a time beyond 64 bits. Times before the origin are always seconds with their
    /// sign. (babeltrace2 does this only for the first such time, and shows the magnitude of the others as a time of
    /// day.)
    #[cold]
    fn push_any(&mut self, out: &mut Vec<u8>, nanoseconds: i128) {
        let is_negative = nanoseconds < 0;
        let magnitude = nanoseconds.unsigned_abs() as i128;
        let (second, rest) = (magnitude / BILLION, (magnitude % BILLION) as u32);
        if !self.seconds
            && !is_negative
            && let Ok(second) = i64::try_from(second)
        {
            return self.push_clock(out, second, rest);
        }
        if is_negative {
            out.push(b'-');
        }
        number::push_integer(out, second);
        out.push(b'.');
        number::push_nanoseconds(out, rest);
    }

    /// Appends date and time of day, formatted only when the second changes.
    #[inline]
    fn push_clock(&mut self, out: &mut Vec<u8>, second: i64, nanoseconds: u32) {
        match &self.text {
            Some(text) if second == self.second => text.push(out),
            _ => {
                let text = self.make_text(second);
                out.extend_from_slice(&text);
                (self.second, self.text) = (second, Some(ShortText::new(&text)));
            }
        }
        number::push_nanoseconds(out, nanoseconds);
    }

    /// Returns date and time of day of a second since the Unix epoch, with the decimal point.
    #[cold]
    pub(crate) fn make_text(&self, second: i64) -> Vec<u8> {
        let mut made = Vec::new();
        let text = &mut made;
        let Ok(timestamp) = Timestamp::from_second(second) else {
            // Beyond the calendar range.
            number::push_signed(text, second);
            text.push(b'.');
            return made;
        };
        let civil = self.zone.to_datetime(timestamp);
        let date = if self.date { format_args!("{} ", civil.date()) } else { format_args!("") };
        // Writing to memory cannot fail.
        let _ = write!(text, "{date}{}.", civil.time());
        made
    }
}

/// Format of times since the Unix epoch in JSON. Times of other clocks are always nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonTime {
    /// Nanoseconds.
    #[default]
    Nanoseconds,
    /// String in RFC 3339 format in UTC, with nanoseconds: `2019-08-16T12:08:20.948091100Z`.
    Iso,
    /// Nanoseconds, and such a string in another member.
    Both,
}

/// Formats nanoseconds since the Unix epoch as RFC 3339, in UTC and with nanoseconds. Returns `None` outside the
/// years 0 to 9999.
#[must_use]
pub fn rfc3339(nanoseconds: i128) -> Option<String> {
    let mut out = Vec::new();
    Iso::default().push(&mut out, nanoseconds).then(|| String::from_utf8_lossy(&out).into_owned())
}

/// Appends the date of an integer value as RFC 3339. Returns `false` if it is not a date, or outside the years 0 to
/// 9999.
pub(crate) fn push_date(out: &mut Vec<u8>, integer: Option<&IntegerProperties>, value: i128) -> bool {
    let clock = integer.and_then(IntegerProperties::date_clock);
    clock.is_some_and(|clock| push_nanoseconds_as_date(out, clock.nanoseconds(value)))
}

#[cold]
fn push_nanoseconds_as_date(out: &mut Vec<u8>, nanoseconds: Option<i128>) -> bool {
    nanoseconds.is_some_and(|nanoseconds| Iso::default().push(out, nanoseconds))
}

/// RFC 3339 formatter.
#[derive(Debug, Default)]
struct Iso {
    /// Second with its text and decimal point.
    second: Option<(i64, ShortText)>,
}

impl Iso {
    /// Appends a time in nanoseconds since the Unix epoch. Returns `false` outside the years 0 to 9999.
    fn push(&mut self, out: &mut Vec<u8>, nanoseconds: i128) -> bool {
        let Ok(second) = i64::try_from(nanoseconds.div_euclid(BILLION)) else { return false };
        match &self.second {
            Some((known, text)) if *known == second => text.push(out),
            _ => {
                // Unlike times for any zone, UTC times reach to the last day of 9999.
                let epoch = jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0);
                let civil = epoch.checked_add(SignedDuration::from_secs(second));
                let Some(civil) = civil.ok().filter(|civil| civil.year() >= 0) else { return false };
                let begin = out.len();
                // Writing to memory cannot fail.
                let _ = write!(out, "{civil}.");
                self.second = Some((second, ShortText::new(out.get(begin..).unwrap_or_default())));
            }
        }
        number::push_nanoseconds(out, nanoseconds.rem_euclid(BILLION) as u32);
        out.push(b'Z');
        true
    }
}

/// Writer of clock times as JSON object members.
#[derive(Debug)]
pub struct TimeWriter {
    form: JsonTime,
    iso: Iso,
    number: RecentNumber,
}

impl TimeWriter {
    /// Creates a writer for the times of a clock. Dates are written only if the clock has them.
    #[must_use]
    pub fn new(form: JsonTime, clock: Option<&ClockClass>) -> Self {
        Self::of_dates(if has_dates(clock) { form } else { JsonTime::Nanoseconds })
    }

    /// Creates a writer for clocks with dates.
    pub(crate) fn of_dates(form: JsonTime) -> Self {
        Self { form, iso: Iso::default(), number: RecentNumber::new(b"") }
    }

    /// Returns `true` if times are plain numbers.
    #[inline]
    #[must_use]
    pub fn is_number(&self) -> bool {
        self.form == JsonTime::Nanoseconds
    }

    /// Appends the value of the time member, followed by the member `time` if both are enabled.
    #[inline]
    pub fn push(&mut self, out: &mut Vec<u8>, nanoseconds: i128) {
        if self.is_number() {
            self.number.push(out, nanoseconds);
        } else {
            self.push_with_date(out, nanoseconds);
        }
    }

    /// Appends only the time: as a date without quotes if dates are enabled and the time has one.
    #[inline]
    pub(crate) fn push_bare(&mut self, out: &mut Vec<u8>, nanoseconds: i128) {
        if self.is_number() || !self.iso.push(out, nanoseconds) {
            self.number.push(out, nanoseconds);
        }
    }

    #[inline(never)]
    fn push_with_date(&mut self, out: &mut Vec<u8>, nanoseconds: i128) {
        let begin = out.len();
        if self.form == JsonTime::Iso {
            out.push(b'"');
            if self.iso.push(out, nanoseconds) {
                return out.push(b'"');
            }
            out.truncate(begin);
        }
        number::push_integer(out, nanoseconds);
        if self.form == JsonTime::Both {
            let end = out.len();
            out.extend_from_slice(b",\"time\":\"");
            if self.iso.push(out, nanoseconds) {
                return out.push(b'"');
            }
            out.truncate(end);
        }
    }
}

/// Returns `true` if the times of a clock have dates.
pub fn has_dates(clock: Option<&ClockClass>) -> bool {
    clock.is_some_and(|clock| clock.origin == ClockOrigin::UnixEpoch)
}

/// Formats a duration in a suitable unit with three decimals, for example `1.638 s`.
#[must_use]
pub fn duration(nanoseconds: i128) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let time = nanoseconds.unsigned_abs();
    let of =
        |unit: u128, name: &str| format!("{sign}{}.{:03} {name}", time / unit, time % unit / (unit / 1_000));
    match time {
        0..1_000 => format!("{sign}{time} ns"),
        1_000..1_000_000 => of(1_000, "µs"),
        1_000_000..1_000_000_000 => of(1_000_000, "ms"),
        _ => of(1_000_000_000, "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(display: &mut ClockDisplay, nanoseconds: i128) -> String {
        let mut out = Vec::new();
        display.push(&mut out, Some(&ClockValue { nanoseconds, cycles: 0 }));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_of_day() {
        let mut gmt = ClockDisplay::new(false, false, true);
        assert_eq!(shown(&mut gmt, 0), "00:00:00.000000000");
        assert_eq!(shown(&mut gmt, 1_565_957_300_948_091_100), "12:08:20.948091100");
        assert_eq!(shown(&mut gmt, 1_565_957_300_948_091_101), "12:08:20.948091101");
        let mut dated = ClockDisplay::new(false, true, true);
        assert_eq!(shown(&mut dated, 1_565_957_300_948_091_100), "2019-08-16 12:08:20.948091100");
        let mut out = Vec::new();
        dated.push(&mut out, None);
        assert_eq!(out, b"??:??:??.?????????");
    }

    #[test]
    fn local_time_follows_its_zone() {
        let mut display = ClockDisplay::new(false, true, true);
        display.zone = TimeZone::fixed(jiff::tz::offset(-5));
        assert_eq!(shown(&mut display, 3_600_000_000_000), "1969-12-31 20:00:00.000000000");
    }

    #[test]
    fn seconds_and_values_before_the_origin() {
        let mut seconds = ClockDisplay::new(true, false, true);
        assert_eq!(shown(&mut seconds, 1_500_000_000), "1.500000000");
        assert_eq!(shown(&mut seconds, -1_500_000_000), "-1.500000000");
        assert_eq!(shown(&mut seconds, -1), "-0.000000001");
        assert_eq!(shown(&mut seconds, i128::from(u64::MAX) * 1000), "18446744073709.551615000");
        let mut gmt = ClockDisplay::new(false, false, true);
        assert_eq!(shown(&mut gmt, -1_500_000_000), "-1.500000000");
        assert_eq!(shown(&mut gmt, -1_500_000_000), "-1.500000000");
        assert_eq!(shown(&mut gmt, 0), "00:00:00.000000000");
    }

    #[test]
    fn times_of_rfc_3339() {
        for (nanoseconds, expected) in [
            (0, Some("1970-01-01T00:00:00.000000000Z")),
            (1_565_957_300_948_091_100, Some("2019-08-16T12:08:20.948091100Z")),
            (-1, Some("1969-12-31T23:59:59.999999999Z")),
            (253_402_300_799_999_999_999, Some("9999-12-31T23:59:59.999999999Z")),
            (253_402_300_800_000_000_000, None),
            (-62_167_219_200_000_000_000, Some("0000-01-01T00:00:00.000000000Z")),
            (-62_167_219_200_000_000_001, None),
            (i128::MAX, None),
            (i128::MIN, None),
        ] {
            assert_eq!(rfc3339(nanoseconds).as_deref(), expected);
        }
        let clock = ClockClass { origin: ClockOrigin::UnixEpoch, ..ClockClass::new("c", 1) };
        let show = |form, clock: &ClockClass, times: [i128; 2]| {
            let mut writer = TimeWriter::new(form, Some(clock));
            times.map(|time| {
                let mut out = Vec::new();
                writer.push(&mut out, time);
                String::from_utf8(out).unwrap()
            })
        };
        let iso = r#""1970-01-01T00:00:01.000000002Z""#;
        let both = r#"1000000002,"time":"1970-01-01T00:00:01.000000002Z""#;
        let times = [1_000_000_002, i128::MAX];
        assert_eq!(show(JsonTime::Nanoseconds, &clock, times)[0], "1000000002");
        assert_eq!(show(JsonTime::Iso, &clock, times), [iso.to_owned(), i128::MAX.to_string()]);
        assert_eq!(show(JsonTime::Both, &clock, times), [both.to_owned(), i128::MAX.to_string()]);
        assert_eq!(show(JsonTime::Both, &ClockClass::new("c", 1), times)[0], "1000000002");
    }
}
