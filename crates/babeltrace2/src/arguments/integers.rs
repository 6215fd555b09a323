//! Integers as option arguments.

/// Parses a decimal integer with an optional sign after white space. Numbers out of range become the nearest integer.
pub(crate) fn parse_integer(text: &str) -> Option<i64> {
    let (number, rest) = leading_integer(text)?;
    rest.is_empty().then_some(number)
}

/// Returns the integer at the start of a text, and the text after it.
pub(crate) fn leading_integer(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}');
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at_checked(end)?;
    if digits.is_empty() {
        return None;
    }
    let number = digits.bytes().fold(0_i64, |number, digit| {
        let digit = i64::from(digit.wrapping_sub(b'0'));
        let number = number.saturating_mul(10);
        if is_negative { number.saturating_sub(digit) } else { number.saturating_add(digit) }
    });
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        let cases = [
            ("0", Some(0)),
            (" \t-12", Some(-12)),
            ("+5", Some(5)),
            ("99999999999999999999", Some(i64::MAX)),
            ("-99999999999999999999", Some(i64::MIN)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("", None),
            ("-", None),
            ("5 ", None),
            ("0x5", None),
            ("--5", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_integer(text), expected, "{text}");
        }
        assert_eq!(leading_integer("80ab"), Some((80, "ab")));
    }
}
