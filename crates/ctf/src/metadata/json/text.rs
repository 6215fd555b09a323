//! JSON texts with the position of every value and property name.
//!
//! Common JSON libraries drop information that this reader needs: positions, duplicate names, integers above 64 bits,
//! and the record separators in text sequences (RFC 7464).

use std::rc::Rc;

use ichnos_json::read::{Error, ErrorKind, Reader};
use ichnos_model::class::Value;
use ichnos_model::memory::{allocated, size};
use ichnos_model::trace::{Diagnostic, Limits, TextPosition};

use crate::metadata::{Problems, memory};

/// Byte before each text in a text sequence (RFC 7464, section 2.2).
pub(super) const RECORD_SEPARATOR: u8 = 0x1e;

/// Hard depth limit, regardless of the configured limits. Dropping more deeply nested values could exhaust a small
/// stack.
const DEEPEST: usize = 1024;

/// JSON value with its position.
#[derive(Clone, Debug)]
pub(super) struct JsonNode {
    /// Position of its first byte.
    pub(super) position: TextPosition,
    /// Name of the property with this value, for messages.
    pub(super) property: Option<Rc<str>>,
    /// JSON value.
    pub(super) json: Json,
}

/// A JSON value.
#[derive(Clone, Debug)]
pub(super) enum Json {
    Null,
    Boolean(bool),
    /// Number without fraction and exponent that fits 128 bits.
    Integer(i128),
    /// Number without fraction and exponent that exceeds 128 bits, as written.
    BigInteger(String),
    /// Number with a fraction or an exponent, as written.
    Number(String),
    Text(String),
    Array(Vec<JsonNode>),
    Object(Vec<Property>),
}

/// Object property. An object keeps all its properties, even with duplicate names.
#[derive(Clone, Debug)]
pub(super) struct Property {
    /// Property name.
    pub(super) name: Rc<str>,
    /// Position of the quote before the name.
    pub(super) name_position: TextPosition,
    /// Property value.
    pub(super) value: JsonNode,
}

impl JsonNode {
    /// Describes the value for messages, for example "the string `x`".
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

    /// Returns a string's text.
    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.json {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns an object's first property with this name.
    pub(super) fn get(&self, name: &str) -> Option<&JsonNode> {
        match &self.json {
            Json::Object(properties) => {
                properties.iter().find(|property| *property.name == *name).map(|property| &property.value)
            }
            _ => None,
        }
    }

    /// Returns the value without positions.
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

/// Shortens a text to about one line, for messages.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        // A character starts there.
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns the maximum JSON depth for the field class depth in `limits`. Each nested structure adds an object in an
/// object in an array.
fn json_depth(limits: &Limits) -> usize {
    (limits.depth as usize).saturating_mul(4).saturating_add(16).min(DEEPEST)
}

/// Array or object being read.
enum JsonContainer {
    Array(TextPosition, Vec<JsonNode>),
    Object(TextPosition, Vec<Property>, (Rc<str>, TextPosition)),
}

/// Reads a sequence of JSON values.
pub(super) struct Parser<'t> {
    text: &'t [u8],
    /// Reader for the text up to its end or the next record separator.
    reader: Reader<'t, [u8]>,
    lines: LineCounter,
    depth: usize,
    /// Previous property names, because most names occur often.
    names: Vec<Option<Rc<str>>>,
    /// Memory of the values read since [`Parser::release`].
    charged: u64,
}

/// Converts offsets to lines and columns.
#[derive(Default)]
struct LineCounter {
    /// End of the text whose line breaks are counted.
    offset: usize,
    /// Number of line breaks before `offset`.
    breaks: u32,
    line_start: usize,
}

impl LineCounter {
    /// Returns the line and column of an offset.
    fn position(&mut self, text: &[u8], offset: usize) -> TextPosition {
        if offset < self.line_start {
            *self = Self::default();
        }
        // Offsets are always within the text.
        let passed = text.get(self.offset..offset).unwrap_or_default();
        for at in memchr::memchr_iter(b'\n', passed) {
            self.breaks = self.breaks.saturating_add(1);
            self.line_start = self.offset + at + 1;
        }
        self.offset = self.offset.max(offset);
        let column = u32::try_from(offset - self.line_start).unwrap_or(u32::MAX).saturating_add(1);
        TextPosition { line: self.breaks.saturating_add(1), column, offset: offset as u64 }
    }
}

/// Memory of a value, and of a property without its value. Equal names share their text.
const NODE: u64 = size::<JsonNode>() as u64;
const PROPERTY: u64 = (size::<Property>() - size::<JsonNode>()) as u64;

/// Memory of a list without its values.
const LIST: u64 = 16;

/// Number of property names kept for sharing.
const NAMES: usize = 64;

/// Reason why a value cannot be read. `None` if it was already reported.
type ParseFailure = Option<Box<Diagnostic>>;

fn report(failure: ParseFailure, problems: &mut Problems) {
    if let Some(failure) = failure {
        problems.add(*failure);
    }
}

impl<'t> Parser<'t> {
    /// Creates a parser at the start of `text`.
    pub(super) fn new(text: &'t [u8], limits: &Limits) -> Self {
        let mut reader = Reader::new(text);
        if text.starts_with(b"\xef\xbb\xbf") {
            // Byte order mark: JSON forbids writing it and allows ignoring it.
            reader.seek(3);
        }
        Self {
            text,
            reader,
            lines: LineCounter::default(),
            depth: json_depth(limits),
            names: vec![None; NAMES],
            charged: 0,
        }
    }

    /// Returns the current position.
    pub(super) fn position(&mut self) -> TextPosition {
        self.position_of(self.reader.offset())
    }

    fn position_of(&mut self, offset: usize) -> TextPosition {
        self.lines.position(self.text, offset)
    }

    /// Skips white space.
    pub(super) fn skip_space(&mut self) {
        self.reader.peek();
    }

    /// Returns `true` if only white space is left before the end or the next record separator.
    pub(super) fn at_end(&mut self) -> bool {
        self.reader.peek().is_none()
    }

    /// Moves past the next record separator without checking the skipped bytes. Returns `false` at the end of the text.
    pub(super) fn next_record(&mut self) -> bool {
        let offset = self.reader.offset();
        let rest = self.text.get(offset..).unwrap_or_default();
        let Some(separator) = memchr::memchr(RECORD_SEPARATOR, rest) else {
            self.read_from(self.text.len(), self.text.len());
            return false;
        };
        let begin = offset + separator + 1;
        self.read_from(begin, begin);
        self.stop_at_separator();
        true
    }

    /// Stops reading at the next record separator, if any.
    pub(super) fn stop_at_separator(&mut self) {
        let offset = self.reader.offset();
        let rest = self.text.get(offset..).unwrap_or_default();
        let end = memchr::memchr(RECORD_SEPARATOR, rest).map_or(self.text.len(), |length| offset + length);
        self.read_from(offset, end);
    }

    /// Continues at an offset, up to an end.
    fn read_from(&mut self, offset: usize, end: usize) {
        self.reader = Reader::new(self.text.get(..end).unwrap_or(self.text));
        self.reader.seek(offset);
    }

    fn failure(&mut self, offset: usize, message: impl Into<String>) -> ParseFailure {
        Some(Box::new(Diagnostic::error(self.position_of(offset), message)))
    }

    /// Returns the failure for an unexpected byte at the current position.
    fn unexpected(&mut self, expected: &str) -> ParseFailure {
        self.reader.peek();
        self.unexpected_at(self.reader.offset(), expected)
    }

    fn unexpected_at(&mut self, offset: usize, expected: &str) -> ParseFailure {
        let found = match self.reader.text().get(offset) {
            None => "the end of the text".to_owned(),
            Some(byte @ 0x21..=0x7e) => format!("`{}`", char::from(*byte)),
            Some(byte) => format!("the byte 0x{byte:02x}"),
        };
        let error = Diagnostic::error(self.position_of(offset), "the text is not valid JSON");
        Some(Box::new(error.expected(expected, found)))
    }

    /// Converts a JSON reader error. `begin` is the token's offset.
    fn failure_of(&mut self, begin: usize, Error { offset, kind }: Error) -> ParseFailure {
        match kind {
            ErrorKind::ControlCharacter(control) => {
                let message = format!("a string must escape the control character 0x{control:02x}");
                self.failure(offset, message)
            }
            ErrorKind::UnclosedString => self.failure(begin, "a string lacks its closing quote"),
            ErrorKind::InvalidUtf8 => self.failure(offset, "a string is not valid UTF-8"),
            ErrorKind::LoneSurrogate(unit) => {
                self.failure(offset, format!("`\\u{unit:04x}` is an unpaired surrogate"))
            }
            ErrorKind::LeadingZero => self.failure(offset, "a number has needless leading zeros"),
            kind => self.unexpected_at(offset, kind.expected()),
        }
    }

    /// Reads the next value. Trailing commas are reported as warnings. Not recursive, because the input determines the
    /// nesting depth.
    pub(super) fn value(&mut self, problems: &mut Problems) -> Option<JsonNode> {
        self.read_value(problems).map_err(|failure| report(failure, problems)).ok()
    }

    /// Releases the memory of all values read so far, which must have been dropped.
    pub(super) fn release(&mut self, problems: &mut Problems) {
        problems.release(std::mem::take(&mut self.charged));
    }

    /// Counts a value's memory.
    fn charge(&mut self, bytes: u64, problems: &mut Problems) -> Result<(), ParseFailure> {
        if problems.charge(bytes, self.position()) {
            self.charged = self.charged.saturating_add(bytes);
            return Ok(());
        }
        Err(None)
    }

    fn too_deep(&mut self) -> ParseFailure {
        let message = format!("values nest deeper than {} levels, the limit", self.depth);
        let failure = self.failure(self.reader.offset(), message);
        failure.map(|failure| Box::new(failure.limit("depth")))
    }

    fn read_value(&mut self, problems: &mut Problems) -> Result<JsonNode, ParseFailure> {
        let mut stack: Vec<JsonContainer> = Vec::new();
        loop {
            let first = self.reader.peek();
            let position = self.position();
            let mut node = match first {
                Some(b'[' | b'{') if stack.len() >= self.depth => return Err(self.too_deep()),
                Some(b'[') => {
                    self.reader.take(b'[');
                    if self.reader.take(b']') {
                        JsonNode { position, property: None, json: Json::Array(Vec::new()) }
                    } else {
                        stack.push(JsonContainer::Array(position, Vec::new()));
                        continue;
                    }
                }
                Some(b'{') => {
                    self.reader.take(b'{');
                    if self.reader.take(b'}') {
                        JsonNode { position, property: None, json: Json::Object(Vec::new()) }
                    } else {
                        let name = self.name("a property name or `}`", problems)?;
                        stack.push(JsonContainer::Object(position, Vec::new(), name));
                        continue;
                    }
                }
                _ => JsonNode { position, property: None, json: self.scalar(first)? },
            };
            self.charge(NODE + memory_of_scalar(&node.json), problems)?;
            // The value ends its enclosing values as long as closing brackets follow.
            loop {
                self.skip_space();
                match stack.pop() {
                    None => return Ok(node),
                    Some(JsonContainer::Array(position, mut values)) => {
                        push(&mut values, node);
                        if self.separator(b']', problems)? {
                            stack.push(JsonContainer::Array(position, values));
                            break;
                        }
                        fit(&mut values);
                        self.charge(NODE + LIST, problems)?;
                        node = JsonNode { position, property: None, json: Json::Array(values) };
                    }
                    Some(JsonContainer::Object(position, mut properties, (name, name_position))) => {
                        self.charge(PROPERTY, problems)?;
                        node.property = Some(name.clone());
                        push(&mut properties, Property { name, name_position, value: node });
                        if self.separator(b'}', problems)? {
                            let name = self.name("a property name", problems)?;
                            stack.push(JsonContainer::Object(position, properties, name));
                            break;
                        }
                        fit(&mut properties);
                        self.charge(NODE + LIST, problems)?;
                        node = JsonNode { position, property: None, json: Json::Object(properties) };
                    }
                }
            }
        }
    }

    /// Reads a comma (`true`) or the closing bracket (`false`). A trailing comma is a warning.
    fn separator(&mut self, close: u8, problems: &mut Problems) -> Result<bool, ParseFailure> {
        let begin = self.reader.offset();
        let next = match close {
            b'}' => self.reader.member(&mut false),
            _ => self.reader.element(&mut false),
        };
        if !next.map_err(|error| self.failure_of(begin, error))? {
            return Ok(false);
        }
        let comma = self.reader.offset() - 1;
        if self.reader.take(close) {
            let comma = self.position_of(comma);
            problems.warning(comma, format!("a comma before `{}` is not valid JSON", char::from(close)));
            return Ok(false);
        }
        Ok(true)
    }

    fn name(
        &mut self,
        expected: &str,
        problems: &mut Problems,
    ) -> Result<(Rc<str>, TextPosition), ParseFailure> {
        if self.reader.peek() != Some(b'"') {
            return Err(self.unexpected(expected));
        }
        let begin = self.reader.offset();
        let position = self.position();
        let name = self.reader.name().map_err(|error| self.failure_of(begin, error))?.text();
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

    /// Reads a value that is neither an array nor an object.
    fn scalar(&mut self, first: Option<u8>) -> Result<Json, ParseFailure> {
        let begin = self.reader.offset();
        let read = match first {
            Some(b'"') => self.reader.string().map(|text| Json::Text(text.text().into_owned())),
            _ if self.reader.literal("true") => Ok(Json::Boolean(true)),
            _ if self.reader.literal("false") => Ok(Json::Boolean(false)),
            _ if self.reader.literal("null") => Ok(Json::Null),
            _ => self.reader.number().map(|digits| match digits.parse() {
                Ok(integer) => Json::Integer(integer),
                Err(_) if digits.contains(['.', 'e', 'E']) => Json::Number(digits.to_owned()),
                Err(_) => Json::BigInteger(digits.to_owned()),
            }),
        };
        read.map_err(|error| self.failure_of(begin, error))
    }
}

/// Lists up to this length grow by one, because there can be millions of lists, and most are short.
const SHORT: usize = 8;

fn push<T>(list: &mut Vec<T>, value: T) {
    if list.len() == list.capacity() && list.len() < SHORT {
        list.reserve_exact(1);
    }
    list.push(value);
}

/// Frees a list's unused capacity.
fn fit<T>(list: &mut Vec<T>) {
    if list.len() > SHORT {
        list.shrink_to_fit();
    }
}

/// Reads the only value in a text. Anything after it is an error.
pub(super) fn single_value(text: &[u8], limits: &Limits, problems: &mut Problems) -> Option<JsonNode> {
    let mut parser = Parser::of_text(text, limits, problems)?;
    let node = parser.value(problems)?;
    parser.expect_end(problems);
    Some(node)
}

/// Reads the fragment array of a text. The end may be missing if the producer is still running or was interrupted. In
/// this case, returns the complete fragments with a warning, because fragments never change after they are written
/// (CTF2-PROP-2.0, "Metadata stream").
pub(super) fn fragments(text: &[u8], limits: &Limits, problems: &mut Problems) -> Option<JsonNode> {
    let mut parser = Parser::of_text(text, limits, problems)?;
    parser.skip_space();
    let position = parser.position();
    let mut elements = Vec::new();
    if !parser.reader.take(b'[') || parser.reader.take(b']') {
        parser.reader.seek(position.offset as usize);
        return parser.value(problems).inspect(|_| parser.expect_end(problems));
    }
    loop {
        if parser.at_end() {
            parser.warn_of_open_array(elements.len(), 0, problems);
            break;
        }
        let begin = parser.reader.offset();
        match parser.read_value(problems) {
            Ok(element) => push(&mut elements, element),
            Err(Some(failure)) if parser.is_cut_off(begin, failure.position) => {
                let rest = parser.reader.text().len() - begin;
                parser.reader.seek(begin);
                parser.warn_of_open_array(elements.len(), rest, problems);
                break;
            }
            Err(failure) => {
                report(failure, problems);
                return None;
            }
        }
        if parser.at_end() {
            continue;
        }
        if !parser.separator(b']', problems).map_err(|failure| report(failure, problems)).ok()? {
            parser.expect_end(problems);
            break;
        }
    }
    fit(&mut elements);
    Some(JsonNode { position, property: None, json: Json::Array(elements) })
}

/// Returns the offset of a text's last token, or of its end, if its first value is incomplete.
fn incomplete_token(text: &[u8]) -> Option<usize> {
    let (mut depth, mut token, mut in_string, mut is_escaped) = (0usize, 0, false, false);
    for (offset, byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !in_string {
            return None;
        }
        if !in_string
            && matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"' | b' ' | b'\n' | b'\t' | b'\r')
        {
            token = offset + 1;
        }
    }
    Some(token)
}

impl<'t> Parser<'t> {
    /// Creates a parser at the start of a text, unless the text is too long.
    fn of_text(text: &'t [u8], limits: &Limits, problems: &mut Problems) -> Option<Self> {
        if text.len() as u64 > limits.metadata_bytes {
            let message = format!("the text is longer than {} bytes, the limit", limits.metadata_bytes);
            problems.limit(TextPosition::default(), "metadata_bytes", message);
            return None;
        }
        Some(Self::new(text, limits))
    }

    /// Reports text after the last value.
    fn expect_end(&mut self, problems: &mut Problems) {
        if !self.at_end()
            && let Some(unexpected) = self.unexpected("the end of the text")
        {
            problems.add(*unexpected);
        }
    }

    /// Reads the next value. An incomplete last value is ignored with a warning, because its producer is still running
    /// or was interrupted.
    pub(super) fn value_or_cut_off(&mut self, problems: &mut Problems) -> Option<JsonNode> {
        let begin = self.reader.offset();
        match self.read_value(problems) {
            Ok(node) => Some(node),
            Err(Some(failure))
                if self.reader.text().len() == self.text.len()
                    && self.is_cut_off(begin, failure.position) =>
            {
                let length = self.text.len() - begin;
                let message = format!(
                    "an incomplete fragment is ignored, because its producer is still running or was interrupted: \
                     the metadata ends after {length} of its bytes"
                );
                let position = self.position_of(begin);
                problems.warning(position, message);
                None
            }
            Err(failure) => {
                report(failure, problems);
                None
            }
        }
    }

    /// Returns `true` if the value at `begin` could not be read only because it is incomplete.
    fn is_cut_off(&self, begin: usize, failure: TextPosition) -> bool {
        let token = self.text.get(begin..).and_then(incomplete_token);
        token.is_some_and(|token| failure.offset >= (begin + token) as u64)
    }

    /// Reports an unterminated fragment array, with `count` elements before an incomplete element of `rest` bytes.
    fn warn_of_open_array(&mut self, count: usize, rest: usize, problems: &mut Problems) {
        let rest = match rest {
            0 => String::new(),
            rest => format!(", without the last {rest} bytes, an incomplete fragment"),
        };
        let message = format!(
            "the array of fragments lacks its end, because its producer is still running or was interrupted: \
            its {count} complete elements are read{rest}"
        );
        let position = self.position();
        problems.warning(position, message);
    }
}

/// Returns the memory of a scalar's text, in bytes.
fn memory_of_scalar(json: &Json) -> u64 {
    match json {
        Json::Text(text) | Json::Number(text) | Json::BigInteger(text) => memory::of_text(text),
        _ => 0,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> (Option<JsonNode>, Vec<String>) {
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
            (b"[\"abc", "1:2: error: a string lacks its closing quote"),
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
