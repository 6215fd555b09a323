//! Integers in JSON, for readers that parse every number as binary64.

use std::borrow::Cow;

use ichnos_json::read::Reader;

/// Representation of integers in JSON.
///
/// Readers such as JavaScript and jq 1.6 keep only 53 bits of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Integers {
    /// Numbers with all digits.
    #[default]
    Number,
    /// Numbers from -(2^53 - 1) to 2^53 - 1, which every reader keeps. Other integers are digit strings.
    Auto,
    /// Digit strings for all integers, so that an object member always has the same type.
    String,
}

/// Largest integer that binary64 can hold together with both neighbors: 2^53 - 1.
const SAFE: u64 = (1 << 53) - 1;

impl Integers {
    /// Returns `true` if an integer becomes a string. `digits` are without a sign.
    fn quotes(self, digits: &[u8]) -> bool {
        match self {
            Self::Number => false,
            Self::String => true,
            Self::Auto => {
                let text = std::str::from_utf8(digits).ok();
                text.and_then(|digits| digits.parse().ok()).is_none_or(|value: u64| value > SAFE)
            }
        }
    }
}

/// Converts the integers of a JSON text to this representation. Strings and numbers with a fraction or exponent do
/// not change.
#[must_use]
pub fn with_integers(json: &str, integers: Integers) -> Cow<'_, str> {
    if integers == Integers::Number {
        return Cow::Borrowed(json);
    }
    let mut out = Vec::with_capacity(json.len() + json.len() / 8);
    push(&mut out, json.as_bytes(), integers);
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Appends a JSON text with its integers in this representation.
pub(crate) fn push(out: &mut Vec<u8>, json: &[u8], integers: Integers) {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'-' | b'0'..=b'9')) {
        let (before, from) = rest.split_at(at);
        out.extend_from_slice(before);
        let is_string = from.first() == Some(&b'"');
        // A truncated end stays unchanged.
        let length = Reader::new(from).skip_relaxed(0).map_or(from.len(), <[u8]>::len);
        let (token, behind) = from.split_at_checked(length).unwrap_or((from, &[]));
        let digits = token.strip_prefix(b"-").unwrap_or(token);
        if !is_string && digits.iter().all(u8::is_ascii_digit) && integers.quotes(digits) {
            out.push(b'"');
            out.extend_from_slice(token);
            out.push(b'"');
        } else {
            out.extend_from_slice(token);
        }
        rest = behind;
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_integers_that_readers_would_round_or_all_of_them() {
        let json = r#"{"a":1,"12":-9007199254740991,"b":[9007199254740992,-9007199254740992,1.5,1e300,-0],"c":
            "9007199254740993 \" 5 \\","d":"\\","e":18446744073709551615,"f":340282366920938463463374607431768211455,
            "g":123456789012345678.0,"h":{"$int":"9007199254740993"},"i":null}"#;
        assert!(matches!(with_integers(json, Integers::Number), Cow::Borrowed(same) if same == json));
        let large = ["9007199254740992,", "-9007199254740992,", "18446744073709551615,"];
        let wide = "340282366920938463463374607431768211455,";
        let quote = |json: &str, number: &str| {
            let digits = number.strip_suffix(',').unwrap_or(number);
            let lead = [":", "[", ","].iter().find(|lead| json.contains(&format!("{lead}{number}"))).unwrap();
            json.replace(
                &format!("{lead}{number}"),
                &format!("{lead}\"{digits}\"{}", &number[digits.len()..]),
            )
        };
        let auto = large.iter().chain([&wide]).fold(json.to_owned(), |json, number| quote(&json, number));
        assert_eq!(with_integers(json, Integers::Auto), auto);
        let all = ["1,", "-9007199254740991,", "-0"].iter().fold(auto, |json, number| quote(&json, number));
        assert_eq!(with_integers(json, Integers::String), all);
        // Truncated JSON must not be lost.
        for cut in 0..json.len() {
            let text = with_integers(&json[..cut], Integers::String);
            assert_eq!(text.replace('"', ""), json[..cut].replace('"', ""));
        }
    }
}
