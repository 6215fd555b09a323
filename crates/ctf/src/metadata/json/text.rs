//! JSON texts with the position of every value and of every property name.
//!
//! The usual JSON libraries lose information that this reader needs: positions, duplicate names, integers of
//! more than 64 bits, and the record separators of text sequences (RFC 7464).

use std::rc::Rc;

use ichnos_model::memory::{allocated, size};
use ichnos_model::{Diagnostic, Limits, TextPosition, Value};

use crate::metadata::{Problems, memory};

/// Byte that begins each text of a text sequence (RFC 7464, section 2.2).
pub(super) const RECORD_SEPARATOR: u8 = 0x1e;

/// Hard limit of the depth, regardless of the configured limits: more deeply nested values could not be
/// dropped without exhausting a small stack.
const DEEPEST: usize = 1024;

/// A value and its position.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Position of its first byte.
    pub(super) position: TextPosition,
    /// Name of the property with this value, for messages.
    pub(super) property: Option<Rc<str>>,
    /// The value itself.
    pub(super) json: Json,
}

/// A JSON value.
#[derive(Clone, Debug)]
pub(super) enum Json {
    Null,
    Boolean(bool),
    /// Number without fraction and exponent that fits 128 bits.
    Integer(i128),
    /// Such a number that does not fit, as written.
    BigInteger(String),
    /// Number with a fraction or an exponent, as written.
    Number(String),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<Property>),
}

/// Property of an object. An object keeps all of them, even those of the same name.
#[derive(Clone, Debug)]
pub(super) struct Property {
    /// Name of the property.
    pub(super) name: Rc<str>,
    /// Position of the quote before the name.
    pub(super) name_position: TextPosition,
    /// Value of the property.
    pub(super) value: Node,
}

impl Node {
    /// Describes the value for messages, for instance "the string `x`".
    pub(super) fn describe(&self) -> String {
        match &self.json {
            Json::Null => "null".to_owned(),
            Json::Boolean(value) => value.to_string(),
            Json::Integer(value) => format!("the integer {value}"),
            Json::BigInteger(text) => format!("the integer {}", shortened(text)),
            Json::Number(text) => format!("the number {}", shortened(text)),
            Json::Text(text) => format!("the string `{}`", shortened(text)),
            Json::Array(_) => "an array".to_owned(),
            Json::Object(_) => "an object".to_owned(),
        }
    }

    /// Returns the text of a string.
    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.json {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the first property of this name of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        match &self.json {
            Json::Object(properties) => {
                properties.iter().find(|property| *property.name == *name).map(|property| &property.value)
            }
            _ => None,
        }
    }

    /// Returns the same value without positions.
    pub(super) fn to_value(&self) -> Value {
        match &self.json {
            Json::Null => Value::Null,
            Json::Boolean(value) => Value::Boolean(*value),
            Json::Integer(value) => Value::Integer(*value),
            Json::BigInteger(text) | Json::Number(text) => Value::Number(text.clone()),
            Json::Text(text) => Value::Text(text.clone()),
            Json::Array(values) => Value::Array(values.iter().map(Self::to_value).collect()),
            Json::Object(properties) => Value::Map(
                properties
                    .iter()
                    .map(|property| (property.name.to_string(), property.value.to_value()))
                    .collect(),
            ),
        }
    }
}

/// Shortens a text to about a line, for messages.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns the maximum depth of JSON for the depth of field classes in `limits`: a structure in a structure
/// is an object in an object in an array.
fn json_depth(limits: &Limits) -> usize {
    (limits.depth as usize).saturating_mul(4).saturating_add(16).min(DEEPEST)
}

/// An array or object that is being read.
enum Open {
    Array(TextPosition, Vec<Node>),
    Object(TextPosition, Vec<Property>, (Rc<str>, TextPosition)),
}

/// Reads JSON values one after the other.
pub(super) struct Parser<'t> {
    text: &'t [u8],
    /// End of reading: the end of the text, or the next record separator.
    end: usize,
    offset: usize,
    line: u32,
    line_start: usize,
    depth: usize,
    /// Some names of properties found before: most names are repeated often.
    names: Vec<Option<Rc<str>>>,
    /// Memory of the values that were read since [`Parser::release`].
    charged: u64,
}

/// Memory of a value, and of a property without its value: uses of a name share its counters.
const NODE: u64 = size::<Node>() as u64;
const PROPERTY: u64 = (size::<Property>() - size::<Node>()) as u64;

/// Memory of a list without its values.
const LIST: u64 = 16;

/// Number of property names that are kept to be shared.
const NAMES: usize = 64;

/// Reason why a value cannot be read; `None` if it was already reported.
type Failure = Option<Box<Diagnostic>>;

impl<'t> Parser<'t> {
    /// Creates a parser at the beginning of `text`.
    pub(super) fn new(text: &'t [u8], limits: &Limits) -> Self {
        let mut parser = Self {
            text,
            end: text.len(),
            offset: 0,
            line: 1,
            line_start: 0,
            depth: json_depth(limits),
            names: vec![None; NAMES],
            charged: 0,
        };
        if text.starts_with(b"\xef\xbb\xbf") {
            // A byte order mark: JSON forbids writing one and allows ignoring it.
            parser.offset = 3;
        }
        parser
    }

    /// Returns the current position.
    pub(super) fn position(&self) -> TextPosition {
        let column = self.offset.saturating_sub(self.line_start) + 1;
        TextPosition {
            line: self.line,
            column: u32::try_from(column).unwrap_or(u32::MAX),
            offset: self.offset as u64,
        }
    }

    fn peek(&self) -> Option<u8> {
        if self.offset < self.end { self.text.get(self.offset).copied() } else { None }
    }

    /// Skips white space; newlines occur only there, because strings must escape theirs.
    pub(super) fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' => self.offset += 1,
                b'\n' => {
                    self.offset += 1;
                    self.line = self.line.saturating_add(1);
                    self.line_start = self.offset;
                }
                _ => return,
            }
        }
    }

    /// Returns `true` if only white space is left before the end or the next record separator.
    pub(super) fn at_end(&mut self) -> bool {
        self.skip_space();
        self.peek().is_none()
    }

    /// Moves to the text after the next record separator without checking the skipped bytes. Returns `false`
    /// if there is none.
    pub(super) fn next_record(&mut self) -> bool {
        self.end = self.text.len();
        while let Some(byte) = self.peek() {
            self.offset += 1;
            match byte {
                b'\n' => {
                    self.line = self.line.saturating_add(1);
                    self.line_start = self.offset;
                }
                RECORD_SEPARATOR => {
                    let rest = self.text.get(self.offset..).unwrap_or_default();
                    let length = rest.iter().position(|byte| *byte == RECORD_SEPARATOR);
                    self.end = self.offset + length.unwrap_or(rest.len());
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    /// Stops reading at the next record separator from here on, if any.
    pub(super) fn stop_at_separator(&mut self) {
        let rest = self.text.get(self.offset..).unwrap_or_default();
        if let Some(length) = rest.iter().position(|byte| *byte == RECORD_SEPARATOR) {
            self.end = self.offset + length;
        }
    }

    fn failure(&self, message: impl Into<String>) -> Failure {
        Some(Box::new(Diagnostic::error(self.position(), message)))
    }

    fn unexpected(&self, expected: &str) -> Failure {
        let found = match self.peek() {
            None => "the end of the text".to_owned(),
            Some(byte @ 0x21..=0x7e) => format!("`{}`", char::from(byte)),
            Some(byte) => format!("the byte 0x{byte:02x}"),
        };
        let error = Diagnostic::error(self.position(), "the text is not valid JSON");
        Some(Box::new(error.expected(expected, found)))
    }

    /// Reads the next value; trailing commas are reported as warnings. Not recursive: the input determines
    /// the depth of nesting.
    pub(super) fn value(&mut self, problems: &mut Problems) -> Option<Node> {
        match self.read_value(problems) {
            Ok(node) => Some(node),
            Err(failure) => {
                if let Some(failure) = failure {
                    problems.add(*failure);
                }
                None
            }
        }
    }

    /// Frees the memory of all values that were read up to now, which have been dropped.
    pub(super) fn release(&mut self, problems: &mut Problems) {
        problems.release(std::mem::take(&mut self.charged));
    }

    /// Counts the memory of a value.
    fn charge(&mut self, bytes: u64, problems: &mut Problems) -> Result<(), Failure> {
        if problems.charge(bytes, self.position()) {
            self.charged = self.charged.saturating_add(bytes);
            return Ok(());
        }
        Err(None)
    }

    fn read_value(&mut self, problems: &mut Problems) -> Result<Node, Failure> {
        let mut stack: Vec<Open> = Vec::new();
        loop {
            self.skip_space();
            let position = self.position();
            let byte = self.peek();
            let mut node = match byte {
                Some(b'[' | b'{') if stack.len() >= self.depth => {
                    let message = format!("values nest deeper than {} levels, the limit", self.depth);
                    return Err(self.failure(message).map(|failure| Box::new(failure.limit("depth"))));
                }
                Some(b'[') => {
                    self.offset += 1;
                    self.skip_space();
                    if self.peek() == Some(b']') {
                        self.offset += 1;
                        Node { position, property: None, json: Json::Array(Vec::new()) }
                    } else {
                        stack.push(Open::Array(position, Vec::new()));
                        continue;
                    }
                }
                Some(b'{') => {
                    self.offset += 1;
                    self.skip_space();
                    if self.peek() == Some(b'}') {
                        self.offset += 1;
                        Node { position, property: None, json: Json::Object(Vec::new()) }
                    } else {
                        let name = self.name("a property name or `}`", problems)?;
                        stack.push(Open::Object(position, Vec::new(), name));
                        continue;
                    }
                }
                Some(b'"') => Node { position, property: None, json: Json::Text(self.string()?) },
                Some(b'-' | b'0'..=b'9') => Node { position, property: None, json: self.number()? },
                Some(b't') => self.word(position, "true", Json::Boolean(true))?,
                Some(b'f') => self.word(position, "false", Json::Boolean(false))?,
                Some(b'n') => self.word(position, "null", Json::Null)?,
                _ => return Err(self.unexpected("a value")),
            };
            let text = match &node.json {
                Json::Text(text) | Json::Number(text) | Json::BigInteger(text) => memory::of_text(text),
                _ => 0,
            };
            self.charge(NODE + text, problems)?;
            // The value ends its enclosing values as long as closing brackets follow.
            loop {
                self.skip_space();
                match stack.pop() {
                    None => return Ok(node),
                    Some(Open::Array(position, mut values)) => {
                        push(&mut values, node);
                        match self.separator(b']', "`,` or `]`", problems)? {
                            true => {
                                fit(&mut values);
                                self.charge(NODE + LIST, problems)?;
                                node = Node { position, property: None, json: Json::Array(values) };
                            }
                            false => {
                                stack.push(Open::Array(position, values));
                                break;
                            }
                        }
                    }
                    Some(Open::Object(position, mut properties, (name, name_position))) => {
                        self.charge(PROPERTY, problems)?;
                        node.property = Some(name.clone());
                        push(&mut properties, Property { name, name_position, value: node });
                        match self.separator(b'}', "`,` or `}`", problems)? {
                            true => {
                                fit(&mut properties);
                                self.charge(NODE + LIST, problems)?;
                                node = Node { position, property: None, json: Json::Object(properties) };
                            }
                            false => {
                                let name = self.name("a property name", problems)?;
                                stack.push(Open::Object(position, properties, name));
                                break;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Reads a comma (`false`) or the closing bracket (`true`); a trailing comma is a warning.
    fn separator(&mut self, close: u8, expected: &str, problems: &mut Problems) -> Result<bool, Failure> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.offset += 1;
                Ok(true)
            }
            Some(b',') => {
                let comma = self.position();
                self.offset += 1;
                self.skip_space();
                if self.peek() == Some(close) {
                    self.offset += 1;
                    problems
                        .warning(comma, format!("a comma before `{}` is not valid JSON", char::from(close)));
                    return Ok(true);
                }
                Ok(false)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    fn name(&mut self, expected: &str, problems: &mut Problems) -> Result<(Rc<str>, TextPosition), Failure> {
        self.skip_space();
        let position = self.position();
        if self.peek() != Some(b'"') {
            return Err(self.unexpected(expected));
        }
        let name = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("`:`"));
        }
        self.offset += 1;
        let bytes = name.as_bytes();
        let ends = bytes.first().zip(bytes.last()).map_or(0, |(a, b)| usize::from(*a) + 7 * usize::from(*b));
        let slot = (ends + 31 * bytes.len()) % NAMES;
        if let Some(Some(known)) = self.names.get(slot)
            && **known == *name
        {
            return Ok((Rc::clone(known), position));
        }
        self.charge(allocated(name.len() + 2 * size::<usize>()), problems)?;
        let name: Rc<str> = name.into();
        if let Some(known) = self.names.get_mut(slot) {
            *known = Some(Rc::clone(&name));
        }
        Ok((name, position))
    }

    fn word(&mut self, position: TextPosition, word: &str, json: Json) -> Result<Node, Failure> {
        let rest = self.text.get(self.offset..self.end).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(self.unexpected("a value"));
        }
        self.offset += word.len();
        if self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric()) {
            return Err(self.unexpected("a value"));
        }
        Ok(Node { position, property: None, json })
    }

    fn digits(&mut self) -> Result<(), Failure> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.unexpected("a digit"));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.offset += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Json, Failure> {
        let position = self.position();
        let start = self.offset;
        if self.peek() == Some(b'-') {
            self.offset += 1;
        }
        let first = self.peek();
        let digits = self.offset;
        self.digits()?;
        if first == Some(b'0') && self.offset - digits > 1 {
            let message = "a number has needless leading zeros";
            return Err(Some(Box::new(Diagnostic::error(position, message))));
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.offset += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.offset += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.offset += 1;
            }
            self.digits()?;
        }
        let written = self.text.get(start..self.offset).unwrap_or_default();
        let written = String::from_utf8_lossy(written).into_owned();
        Ok(match written.parse() {
            Ok(integer) if whole => Json::Integer(integer),
            _ if whole => Json::BigInteger(written),
            _ => Json::Number(written),
        })
    }

    /// Reads a string; the parser is at its opening quote.
    fn string(&mut self) -> Result<String, Failure> {
        let opening = self.position();
        self.offset += 1;
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let run = self.text.get(self.offset..self.end).unwrap_or_default();
            let length =
                run.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(run.len());
            let run = run.get(..length).unwrap_or_default();
            if let Err(error) = std::str::from_utf8(run) {
                self.offset += error.valid_up_to();
                return Err(self.failure("a string is not valid UTF-8"));
            }
            bytes.extend_from_slice(run);
            self.offset += length;
            match self.peek() {
                Some(b'"') => {
                    self.offset += 1;
                    return match String::from_utf8(bytes) {
                        Ok(text) => Ok(text),
                        Err(_) => Err(self.failure("a string is not valid UTF-8")),
                    };
                }
                Some(b'\\') => {
                    let character = self.escape()?;
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(control) => {
                    let message = format!("a string must escape the control character 0x{control:02x}");
                    return Err(self.failure(message));
                }
                None => {
                    return Err(Some(Box::new(Diagnostic::error(opening, "a string has no closing quote"))));
                }
            }
        }
    }

    /// Reads the character of an escape sequence; the parser is at its backslash.
    fn escape(&mut self) -> Result<char, Failure> {
        let backslash = self.position();
        self.offset += 1;
        let byte = self.peek();
        let simple = match byte {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.offset += 1;
                let unit = self.hexadecimal()?;
                let code = match unit {
                    0xd800..=0xdbff
                        if self.text.get(self.offset..self.end).unwrap_or_default().starts_with(b"\\u") =>
                    {
                        self.offset += 2;
                        match self.hexadecimal()? {
                            low @ 0xdc00..=0xdfff => 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00),
                            _ => unit,
                        }
                    }
                    _ => unit,
                };
                // Remaining surrogates are no characters.
                return char::from_u32(code).ok_or_else(|| {
                    let message = format!("`\\u{unit:04x}` is an unpaired surrogate");
                    Some(Box::new(Diagnostic::error(backslash, message)))
                });
            }
            _ => return Err(self.unexpected("one of `\"\\/bfnrtu` after a backslash")),
        };
        self.offset += 1;
        Ok(simple)
    }

    fn hexadecimal(&mut self) -> Result<u32, Failure> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Err(self.unexpected("a hexadecimal digit")) };
            unit = unit * 16 + digit;
            self.offset += 1;
        }
        Ok(unit)
    }
}

/// Lists up to this length grow by one: most are short, and there can be millions.
const SHORT: usize = 8;

fn push<T>(list: &mut Vec<T>, value: T) {
    if list.len() == list.capacity() && list.len() < SHORT {
        list.reserve_exact(1);
    }
    list.push(value);
}

/// Frees the unused capacity of a list.
fn fit<T>(list: &mut Vec<T>) {
    if list.len() > SHORT {
        list.shrink_to_fit();
    }
}

/// Reads the only value of a text; anything after it is an error.
pub(super) fn single_value(text: &[u8], limits: &Limits, problems: &mut Problems) -> Option<Node> {
    if text.len() as u64 > limits.metadata_bytes {
        let message = format!("the text is longer than {} bytes, the limit", limits.metadata_bytes);
        problems.limit(TextPosition::default(), "metadata_bytes", message);
        return None;
    }
    let mut parser = Parser::new(text, limits);
    let node = parser.value(problems)?;
    if !parser.at_end()
        && let Some(unexpected) = parser.unexpected("the end of the text")
    {
        problems.add(*unexpected);
    }
    Some(node)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> (Option<Node>, Vec<String>) {
        let limits = Limits::default();
        let mut problems = Problems::new(&limits);
        let node = single_value(text, &limits, &mut problems);
        (node, problems.into_diagnostics().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn values_and_names_have_places() {
        let (node, problems) = read(b"{\n  \"a\": [1, \"x\"],\n\t\"a\": null}");
        assert!(problems.is_empty(), "{problems:?}");
        let Json::Object(properties) = node.unwrap().json else { panic!("no object") };
        let positions: Vec<String> =
            properties.iter().map(|p| format!("{} {}", p.name_position, p.value.position)).collect();
        assert_eq!(positions, ["2:3 2:8", "3:2 3:7"]);
    }

    #[test]
    fn integers_are_exact() {
        for text in ["0", "-1", "340282366920938463463374607431768211456", "1.0", "1e3"] {
            let (node, problems) = read(text.as_bytes());
            assert!(problems.is_empty(), "{problems:?}");
            match (text, node.unwrap().json) {
                ("0", Json::Integer(0)) | ("-1", Json::Integer(-1)) => {}
                (_, Json::BigInteger(kept) | Json::Number(kept)) => assert_eq!(kept, text),
                (_, other) => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn escapes_are_read() {
        let (node, _) = read(br#""\u00e9\ud83d\ude00\n\/""#);
        assert_eq!(node.unwrap().as_text(), Some("\u{e9}\u{1f600}\n/"));
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        for (text, expected) in [
            (&b"[1,\n 01]"[..], "2:2: error: a number has needless leading zeros"),
            (b"[1 2]", "1:4: error: the text is not valid JSON (expected `,` or `]`, found `2`)"),
            (b"{\"a\" 1}", "1:6: error: the text is not valid JSON (expected `:`, found `1`)"),
            (b"\"a\nb\"", "1:3: error: a string must escape the control character 0x0a"),
            (b"\"\\ud800x\"", "1:2: error: `\\ud800` is an unpaired surrogate"),
            (b"[\"\xff\"]", "1:3: error: a string is not valid UTF-8"),
            (b"[\"abc", "1:2: error: a string has no closing quote"),
            (b"[1] 2", "1:5: error: the text is not valid JSON (expected the end of the text, found `2`)"),
            (b"nul", "1:1: error: the text is not valid JSON (expected a value, found `n`)"),
            (b"", "1:1: error: the text is not valid JSON (expected a value, found the end of the text)"),
        ] {
            assert_eq!(read(text).1, [expected]);
        }
    }

    #[test]
    fn trailing_commas_are_warnings() {
        let (node, problems) = read(b"[1,\n{\"a\": 2,},]");
        assert!(node.is_some());
        assert_eq!(problems.len(), 2);
        assert!(problems.iter().all(|problem| problem.contains("warning: a comma before")), "{problems:?}");
    }

    #[test]
    fn deep_nesting_is_refused() {
        for text in ["[".repeat(10_000), "{\"a\":".repeat(10_000)] {
            let (_, problems) = read(text.as_bytes());
            assert_eq!(problems.len(), 1);
            assert!(problems[0].contains("values nest deeper than 272 levels"), "{problems:?}");
        }
    }
}
