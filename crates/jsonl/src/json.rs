//! JSON, one value after the other, in place (RFC 8259).
//!
//! Numbers are kept as digits, so no integer and no fraction is rounded; strings without escapes are
//! borrowed. Only [`Json::value`] allocates.

use std::borrow::Cow;

use ichnos_model::Value;

/// Maximum nesting of arrays and objects.
pub(crate) const MOST_NESTED: u32 = 128;

/// Maximum number of values of a line read as a whole, each of up to 64 bytes of memory and two of text.
pub(crate) const MOST_VALUES: u64 = 1 << 20;

/// Reason why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Offset in the line in bytes.
    pub(crate) at: usize,
    pub(crate) expected: Cow<'static, str>,
}

pub(crate) type Parsed<T> = Result<T, Fault>;

/// Reads JSON.
#[derive(Clone, Debug)]
pub(crate) struct Json<'a> {
    text: &'a str,
    pub(crate) at: usize,
}

/// A string as written, without its quotation marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quoted<'a> {
    pub(crate) raw: &'a str,
    has_escapes: bool,
}

impl<'a> Json<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Length of the whole text in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the text since `begin`.
    pub(crate) fn since(&self, begin: usize) -> &'a str {
        self.text.get(begin..self.at).unwrap_or_default()
    }

    pub(crate) fn fault<T>(&self, expected: impl Into<Cow<'static, str>>) -> Parsed<T> {
        Err(Fault { at: self.at, expected: expected.into() })
    }

    /// Returns the next byte that is not blank.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Reads the next byte if it is this one. Returns `true` if so.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, name: &'static str) -> Parsed<()> {
        if self.take(byte) { Ok(()) } else { self.fault(name) }
    }

    /// Checks that only blanks follow.
    pub(crate) fn end(&mut self) -> Parsed<()> {
        if self.peek().is_none() { Ok(()) } else { self.fault("the end of the line") }
    }

    /// Moves to the next member of an open object. Returns its name, or `None` at the end of the object.
    #[inline]
    pub(crate) fn key(&mut self, is_first: &mut bool) -> Parsed<Option<Quoted<'a>>> {
        if self.take(b'}') {
            return Ok(None);
        }
        if !std::mem::replace(is_first, false) {
            self.expect(b',', "a comma or the end of the object")?;
        }
        let key = self.string()?;
        self.expect(b':', "a colon")?;
        Ok(Some(key))
    }

    /// Moves to the next element of an open array. Returns `false` at the end of the array.
    #[inline]
    pub(crate) fn element(&mut self, is_first: &mut bool) -> Parsed<bool> {
        if self.take(b']') {
            return Ok(false);
        }
        if !std::mem::replace(is_first, false) {
            self.expect(b',', "a comma or the end of the array")?;
        }
        Ok(true)
    }

    pub(crate) fn string(&mut self) -> Parsed<Quoted<'a>> {
        self.expect(b'"', "a string")?;
        let begin = self.at;
        let mut has_escapes = false;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'"') => {
                    let raw = self.since(begin);
                    self.at += 1;
                    return Ok(Quoted { raw, has_escapes });
                }
                Some(b'\\') => {
                    has_escapes = true;
                    self.escape()?;
                }
                Some(0..0x20) => return self.fault("an escaped control character"),
                Some(_) => self.at += 1,
                None => return self.fault("the end of a string"),
            }
        }
    }

    /// Reads an escape. Returns its character.
    fn escape(&mut self) -> Parsed<char> {
        let begin = self.at;
        self.at += 1;
        let Some(byte) = self.text.as_bytes().get(self.at) else { return self.fault("an escape") };
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut unit = self.hex_digits()?;
                if let 0xd800..0xdc00 = unit
                    && self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\u"))
                {
                    self.at += 2;
                    let low = self.hex_digits()?;
                    if (0xdc00..0xe000).contains(&low) {
                        unit = 0x10000 + ((unit - 0xd800) << 10 | (low - 0xdc00));
                    }
                }
                match char::from_u32(unit) {
                    Some(c) => c,
                    None => {
                        self.at = begin;
                        return self.fault("both halves of a surrogate pair");
                    }
                }
            }
            _ => {
                self.at = begin;
                return self.fault("an escape of JSON");
            }
        })
    }

    fn hex_digits(&mut self) -> Parsed<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).unwrap_or_default();
        let value =
            digits.iter().try_fold(0u32, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?));
        match value.filter(|_| digits.len() == 4) {
            Some(value) => {
                self.at += 4;
                Ok(value)
            }
            None => self.fault("four hexadecimal digits"),
        }
    }

    /// Reads a number. Returns its text.
    #[inline]
    pub(crate) fn number(&mut self) -> Parsed<&'a str> {
        self.peek();
        let begin = self.at;
        let bytes = self.text.as_bytes();
        let digits = |at: &mut usize| {
            let from = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            *at > from
        };
        let mut at = begin + usize::from(bytes.get(begin) == Some(&b'-'));
        let is_zero = bytes.get(at) == Some(&b'0');
        let first = at;
        if !digits(&mut at) || is_zero && at > first + 1 {
            return self.fault("a value");
        }
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            if !digits(&mut at) {
                self.at = at;
                return self.fault("a digit");
            }
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            if !digits(&mut at) {
                self.at = at;
                return self.fault("a digit");
            }
        }
        self.at = at;
        Ok(self.since(begin))
    }

    /// Reads the next value if it is this literal. Returns `true` if so.
    pub(crate) fn literal(&mut self, literal: &str) -> bool {
        self.peek();
        let is_it = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(literal));
        self.at += if is_it { literal.len() } else { 0 };
        is_it
    }

    /// Reads a value. Returns its text.
    pub(crate) fn skip(&mut self) -> Parsed<&'a str> {
        self.peek();
        let begin = self.at;
        self.skip_nested(MOST_NESTED)?;
        Ok(self.since(begin))
    }

    fn skip_nested(&mut self, depth: u32) -> Parsed<()> {
        let mut is_first = true;
        match self.peek() {
            Some(b'{') => {
                let Some(depth) = depth.checked_sub(1) else { return self.fault("fewer nested values") };
                self.at += 1;
                while self.key(&mut is_first)?.is_some() {
                    self.skip_nested(depth)?;
                }
            }
            Some(b'[') => {
                let Some(depth) = depth.checked_sub(1) else { return self.fault("fewer nested values") };
                self.at += 1;
                while self.element(&mut is_first)? {
                    self.skip_nested(depth)?;
                }
            }
            Some(b'"') => {
                self.string()?;
            }
            Some(b't' | b'f' | b'n') => {
                if !self.literal("true") && !self.literal("false") && !self.literal("null") {
                    return self.fault("a value");
                }
            }
            _ => {
                self.number()?;
            }
        }
        Ok(())
    }

    /// Reads a value as a whole, for the few lines that describe something.
    pub(crate) fn value(&mut self) -> Parsed<Value> {
        self.value_within(&mut { MOST_VALUES })
    }

    /// Reads a value that consists of at most `left` values, and subtracts their number.
    pub(crate) fn value_within(&mut self, left: &mut u64) -> Parsed<Value> {
        self.nested_value(MOST_NESTED, left)
    }

    fn nested_value(&mut self, depth: u32, left: &mut u64) -> Parsed<Value> {
        let mut is_first = true;
        let Some(fewer) = left.checked_sub(1) else { return self.fault("fewer values") };
        *left = fewer;
        Ok(match self.peek() {
            Some(b'{') => {
                let Some(depth) = depth.checked_sub(1) else { return self.fault("fewer nested values") };
                self.at += 1;
                let mut members = Vec::new();
                while let Some(key) = self.key(&mut is_first)? {
                    members.push((key.text().into_owned(), self.nested_value(depth, left)?));
                }
                Value::Map(members)
            }
            Some(b'[') => {
                let Some(depth) = depth.checked_sub(1) else { return self.fault("fewer nested values") };
                self.at += 1;
                let mut elements = Vec::new();
                while self.element(&mut is_first)? {
                    elements.push(self.nested_value(depth, left)?);
                }
                Value::Array(elements)
            }
            Some(b'"') => Value::Text(self.string()?.text().into_owned()),
            _ if self.literal("true") => Value::Boolean(true),
            _ if self.literal("false") => Value::Boolean(false),
            _ if self.literal("null") => Value::Null,
            _ => {
                let number = self.number()?;
                match number.parse() {
                    // Kept as written, also "-0".
                    Ok(integer) if number != "-0" => Value::Integer(integer),
                    _ => Value::Number(number.to_owned()),
                }
            }
        })
    }
}

impl<'a> Quoted<'a> {
    /// Returns the text.
    pub(crate) fn text(self) -> Cow<'a, str> {
        if !self.has_escapes {
            return Cow::Borrowed(self.raw);
        }
        let mut text = String::with_capacity(self.raw.len());
        self.push_to(&mut text);
        Cow::Owned(text)
    }

    /// Appends the text.
    pub(crate) fn push_to(self, out: &mut String) {
        let mut json = Json::new(self.raw);
        loop {
            let begin = json.at;
            let rest = self.raw.as_bytes().get(begin..).unwrap_or_default();
            json.at = memchr::memchr(b'\\', rest).map_or(self.raw.len(), |at| begin + at);
            out.push_str(json.since(begin));
            if json.at == self.raw.len() {
                return;
            }
            // They were read before without errors.
            let Ok(c) = json.escape() else { return };
            out.push(c);
        }
    }

    /// Returns `true` if it is this text.
    #[inline]
    pub(crate) fn is(self, text: &str) -> bool {
        if self.has_escapes { self.text() == text } else { self.raw == text }
    }

    /// Returns the text, if it has no escapes.
    #[inline]
    pub(crate) fn plain(self) -> Option<&'a str> {
        (!self.has_escapes).then_some(self.raw)
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    fn parse(text: &str) -> Parsed<Value> {
        let mut json = Json::new(text);
        let value = json.value()?;
        json.end()?;
        Ok(value)
    }

    fn of(value: &serde_json::Value) -> Value {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Boolean(*value),
            serde_json::Value::Number(number) => {
                let text = number.to_string();
                match text.parse() {
                    Ok(integer) if text != "-0" => Value::Integer(integer),
                    _ => Value::Number(text),
                }
            }
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(elements) => Value::Array(elements.iter().map(of).collect()),
            serde_json::Value::Object(members) => {
                Value::Map(members.iter().map(|(name, value)| (name.clone(), of(value))).collect())
            }
        }
    }

    /// Compared with another parser.
    #[test]
    fn accepts_and_reads_what_another_parser_does() {
        const PARTS: [&str; 30] = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\\",
            "\"a\"",
            "\"b\":",
            "null",
            "true",
            "fals",
            "e",
            "0",
            "1",
            "-",
            "1.5",
            "e5",
            "E-1",
            ".",
            " ",
            "\\u00e9",
            "\\ud83d",
            "\\ude00",
            "é",
            "\t",
            "18446744073709551616",
            "\"\\n\"",
            "\"\\/\\b\"",
        ];
        let mut accepted = 0;
        cases(20_000, |random| {
            let mut text = String::new();
            for _ in 0..random.index(12) + 1 {
                text.push_str(PARTS[random.index(PARTS.len())]);
            }
            let expected: Result<serde_json::Value, _> = serde_json::from_str(&text);
            let mut skipped = Json::new(&text);
            let is_skipped = skipped.skip().is_ok() && skipped.end().is_ok();
            assert_eq!(is_skipped, expected.is_ok(), "{text:?} {expected:?}");
            match (parse(&text), expected) {
                (Ok(found), Ok(expected)) => {
                    accepted += 1;
                    // The other one keeps the last of duplicate members, and writes exponents in its own way.
                    let is_simple = !text.contains("\"b\":") && !text.contains(['e', 'E']);
                    assert!(!is_simple || found == of(&expected), "{text:?}: {found:?}");
                }
                (Err(_), Err(_)) => {}
                (found, expected) => panic!("{text:?}: {found:?}, {expected:?}"),
            }
        });
        assert!(accepted > 100 || std::env::var_os("ICHNOS_SEED").is_some(), "{accepted}");
    }

    #[test]
    fn nesting_ends() {
        let nested = |depth: usize| parse(&("[".repeat(depth) + &"]".repeat(depth)));
        assert!(nested(MOST_NESTED as usize).is_ok());
        assert!(nested(MOST_NESTED as usize + 1).is_err());
    }

    #[test]
    fn values_of_a_line_are_bounded() {
        let list = |count: u64| parse(&format!("[{}0]", "0,".repeat(count as usize - 2)));
        assert!(list(MOST_VALUES).is_ok());
        assert!(list(MOST_VALUES + 1).is_err());
    }
}
