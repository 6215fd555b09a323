//! Times: nanoseconds, or RFC 3339 dates.

use ichnos_json::read::Reader;
use jiff::civil::Date;

use crate::fault::{LineFault, ParseResult};

const BILLION: i128 = 1_000_000_000;

/// Reads a time in nanoseconds: an integer, a string of digits, or a date.
pub(crate) fn read(json: &mut Reader<'_>) -> ParseResult<i128> {
    let is_string = json.peek() == Some(b'"');
    let at = json.offset();
    let found = if is_string {
        json.string()?.plain().and_then(|text| text.parse().ok().or_else(|| date(text)))
    } else {
        json.number()?.parse().ok()
    };
    // Far beyond any clock, but small enough that additions cannot overflow.
    let found = found.filter(|time: &i128| time.unsigned_abs() < 1 << 120);
    found.ok_or(LineFault { at, expected: "a time: nanoseconds as an integer, or a date of RFC 3339".into() })
}

/// Converts an RFC 3339 date to nanoseconds since the Unix epoch.
pub(crate) fn date(text: &str) -> Option<i128> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| {
        let digits = bytes.get(from..to)?;
        digits.iter().all(u8::is_ascii_digit).then_some(())?;
        text.get(from..to)?.parse::<i128>().ok()
    };
    let is = |at: usize, expected: &[u8]| bytes.get(at).is_some_and(|byte| expected.contains(byte));
    if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":")) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let day =
        Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut fraction = 0;
    if is(at, b".") {
        let begin = at + 1;
        at = begin;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        // Digits after nanoseconds are dropped.
        let kept = at.min(begin + 9);
        fraction = number(begin, kept)? * 10i128.pow(u32::try_from(9 - (kept - begin)).ok()?);
        if at == begin {
            return None;
        }
    }
    let offset = match bytes.get(at)? {
        b'Z' | b'z' if bytes.len() == at + 1 => 0,
        sign @ (b'+' | b'-') if bytes.len() == at + 6 && is(at + 3, b":") => {
            let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = hours * 3600 + minutes * 60;
            if *sign == b'+' { offset } else { -offset }
        }
        _ => return None,
    };
    let midnight = day.duration_since(Date::constant(1970, 1, 1)).as_secs();
    Some((i128::from(midnight) + hour * 3600 + minute * 60 + second - offset) * BILLION + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00.000000001Z", Some(1)),
            ("1969-12-31T23:59:59.5z", Some(-500_000_000)),
            ("2000-02-29T12:00:00+01:00", Some(951_822_000 * BILLION)),
            ("2019-08-16T12:08:20.948091100Z", Some(1_565_957_300_948_091_100)),
            ("2019-08-16 12:08:20.9480911009-00:30", Some(1_565_959_100_948_091_100)),
            ("0000-01-01T00:00:00Z", Some(-62_167_219_200 * BILLION)),
            ("9999-12-31T23:59:59Z", Some(253_402_300_799 * BILLION)),
            ("2001-02-29T12:00:00Z", None),
            ("2000-13-01T12:00:00Z", None),
            ("2000-01-01T24:00:00Z", None),
            ("2000-01-01T12:00:00", None),
            ("2000-01-01T12:00:00.Z", None),
            ("2000-01-01T12:00:00ZZ", None),
            ("2000-01-01T12:00:00+0100", None),
            ("+000-01-01T12:00:00Z", None),
            ("", None),
        ] {
            assert_eq!(date(text), expected, "{text}");
        }
    }
}
