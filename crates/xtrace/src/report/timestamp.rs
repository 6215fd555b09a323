//! Report times.

/// Upper limit for numbers in each unit, and nanoseconds per unit: seconds, milliseconds, microseconds, nanoseconds.
/// Each limit is in the year 5138 in its unit, and in 1973 in the next unit.
const UNITS: [(u64, u64); 4] = [
    (100_000_000_000, 1_000_000_000),
    (100_000_000_000_000, 1_000_000),
    (100_000_000_000_000_000, 1_000),
    (u64::MAX, 1),
];

/// Parses the value of the key `Timestamp`. Returns nanoseconds since 1970, or `None` if it is not a number or exceeds
/// 64 bits.
///
/// The original libraries write seconds, with milliseconds or more digits after a point. Later libraries write
/// milliseconds as an integer. The magnitude determines the unit, with or without a point: seconds below
/// 10<sup>11</sup>, milliseconds below 10<sup>14</sup>, microseconds below 10<sup>17</sup>, nanoseconds from there on.
/// Brackets after the number (`VALUE[LABEL]`) contain a label, which is ignored. Digits beyond nanoseconds are cut.
///
/// ```
/// use ichnos_xtrace::report::parse_timestamp;
///
/// assert_eq!(parse_timestamp(b"1364280059.495"), Some(1_364_280_059_495_000_000));
/// assert_eq!(parse_timestamp(b"1384989800278"), Some(1_384_989_800_278_000_000));
/// assert_eq!(parse_timestamp(b"1364280059.495[sent]"), Some(1_364_280_059_495_000_000));
/// assert_eq!(parse_timestamp(b"yesterday"), None);
/// ```
#[must_use]
pub fn parse_timestamp(value: &[u8]) -> Option<u64> {
    let number = match value {
        [before @ .., b']'] => before.get(..memchr::memchr(b'[', before)?)?,
        number => number,
    };
    let number = number.trim_ascii();
    let (whole, fraction) = match memchr::memchr(b'.', number) {
        Some(point) => (number.get(..point)?, number.get(point + 1..)?),
        None => (number, &b""[..]),
    };
    if whole.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let whole = whole.iter().try_fold(0u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })?;
    let (_, unit) = UNITS.into_iter().find(|(limit, _)| whole < *limit)?;
    let mut nanoseconds = whole.checked_mul(unit)?;
    let mut unit = unit;
    for digit in fraction {
        unit /= 10;
        if unit == 0 {
            break;
        }
        nanoseconds = nanoseconds.checked_add(u64::from(digit - b'0') * unit)?;
    }
    Some(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notations() {
        let texts = [
            ("0", Some(0)),
            ("1", Some(1_000_000_000)),
            ("1364280059.4", Some(1_364_280_059_400_000_000)),
            ("1364280059.", Some(1_364_280_059_000_000_000)),
            ("1364280059.12345", Some(1_364_280_059_123_450_000)),
            ("1364280059.1234567899", Some(1_364_280_059_123_456_789)),
            ("1384989800278.5", Some(1_384_989_800_278_500_000)),
            ("1384989800278123", Some(1_384_989_800_278_123_000)),
            ("1384989800278123456", Some(1_384_989_800_278_123_456)),
            ("1384989800278123456.9", Some(1_384_989_800_278_123_456)),
            ("99999999999.9", None),
            ("18446744073709551615", None),
            ("18446744073709551614", Some(u64::MAX - 1)),
            ("18446744073709551616", None),
            ("12 [ end ]", Some(12_000_000_000)),
            ("12]", None),
            ("", None),
            (".5", None),
            ("-1", None),
            ("+1", None),
            ("1e9", None),
            ("1.5.5", None),
            ("1.x", None),
            ("[1]", None),
        ];
        for (text, expected) in texts {
            assert_eq!(parse_timestamp(text.as_bytes()), expected, "{text}");
        }
    }
}
