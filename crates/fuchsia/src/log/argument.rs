//! Arguments: named values.

use core::fmt;

use super::error::{LogError, Rule};
use super::text::{INLINE, Name, Text, length_of};
use super::word::{RECORD_HEADER, Word, is_plain, is_plain_word, load, padding_bits, words_for};

/// Argument types, in bits 0 to 3 of the header.
pub(crate) mod kind {
    pub(crate) const NULL: u8 = 0;
    pub(crate) const SIGNED: u8 = 3;
    pub(crate) const UNSIGNED: u8 = 4;
    pub(crate) const FLOAT: u8 = 5;
    pub(crate) const TEXT: u8 = 6;
    pub(crate) const BOOL: u8 = 9;
}

/// Argument name for the message.
const MESSAGE: &[u8] = b"message";

/// Size of a record or an argument in words, from its header.
#[inline(always)]
pub(crate) const fn size_words(header: u64) -> usize {
    (header >> 4 & 0xfff) as usize
}

/// The value of an argument.
// With the C layout, all values start at the same position and move in one piece.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[non_exhaustive]
pub enum Value<'a> {
    /// No value: the reserved type 0. Fuchsia's own reader reads it as the unsigned value 1.
    Null,
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text(Text<'a>),
    /// A boolean.
    Bool(bool),
}

impl Value<'_> {
    /// Returns the argument type for this value (bits 0 to 3 of the header).
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Null => kind::NULL,
            Self::Signed(_) => kind::SIGNED,
            Self::Unsigned(_) => kind::UNSIGNED,
            Self::Float(_) => kind::FLOAT,
            Self::Text(_) => kind::TEXT,
            Self::Bool(_) => kind::BOOL,
        }
    }
}

/// Writes numbers in decimal and strings unquoted. Invalid UTF-8 becomes U+FFFD.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Signed(value) => fmt::Display::fmt(value, f),
            Self::Unsigned(value) => fmt::Display::fmt(value, f),
            Self::Float(value) => fmt::Display::fmt(value, f),
            Self::Text(value) => fmt::Display::fmt(value, f),
            Self::Bool(value) => fmt::Display::fmt(value, f),
        }
    }
}

impl From<i64> for Value<'_> {
    #[inline]
    fn from(value: i64) -> Self {
        Self::Signed(value)
    }
}

impl From<u64> for Value<'_> {
    #[inline]
    fn from(value: u64) -> Self {
        Self::Unsigned(value)
    }
}

impl From<f64> for Value<'_> {
    #[inline]
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Value<'_> {
    #[inline]
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    #[inline]
    fn from(value: &'a str) -> Self {
        Self::Text(value.into())
    }
}

impl<'a> From<Text<'a>> for Value<'a> {
    #[inline]
    fn from(value: Text<'a>) -> Self {
        Self::Text(value)
    }
}

/// Meaning of an argument in Fuchsia logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Meaning {
    /// `pid`, unsigned: process koid.
    Pid,
    /// `tid`, unsigned: thread koid.
    Tid,
    /// `tag`, a string. May be repeated.
    Tag,
    /// `message`, a string: the message, or the format string of a printf record.
    Message,
    /// `file`, a string: source file.
    File,
    /// `line`, unsigned: line in the source file.
    Line,
    /// `num_dropped` (Rust) or `dropped_logs` (C++), unsigned: number of records dropped before this one.
    Dropped,
    /// No special meaning: an unknown name, or a known name with an unexpected type.
    Other,
}

/// An argument of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Argument<'a> {
    /// Argument name.
    pub name: Name<'a>,
    /// Argument value.
    pub value: Value<'a>,
    /// Offset in the record in words.
    word: u16,
}

impl<'a> Argument<'a> {
    /// Returns the meaning of the argument.
    #[inline(always)]
    #[must_use]
    pub fn meaning(&self) -> Meaning {
        let name = self.name;
        match self.value {
            Value::Unsigned(_) => match name.len() {
                3 if name.is("pid") => Meaning::Pid,
                3 if name.is("tid") => Meaning::Tid,
                4 if name.is("line") => Meaning::Line,
                11 if name.is("num_dropped") => Meaning::Dropped,
                12 if name.is("dropped_logs") => Meaning::Dropped,
                _ => Meaning::Other,
            },
            Value::Text(_) => match name.len() {
                7 if name.is("message") => Meaning::Message,
                3 if name.is("tag") => Meaning::Tag,
                4 if name.is("file") => Meaning::File,
                _ => Meaning::Other,
            },
            _ => Meaning::Other,
        }
    }

    /// Returns the byte offset of the argument in its record.
    #[inline]
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.word as usize * 8
    }

    /// Returns the byte offset of the value in its record. A boolean is bit 32 of the header, in byte 4.
    #[inline]
    #[must_use]
    pub const fn value_offset(&self) -> usize {
        match self.value {
            Value::Bool(_) => self.offset() + 4,
            _ => self.offset() + 8 + words_for(self.name.len()) * 8,
        }
    }

    /// Reads the argument at the start of `words` and its size in words, and reports each broken rule. Returns `None`
    /// if the argument is unreadable.
    #[cold]
    #[inline(never)]
    fn examine(
        words: &'a [Word],
        position: ArgumentPosition<'_>,
        report: &mut dyn FnMut(LogError),
    ) -> Option<(Self, usize)> {
        let (header, behind) = words.split_first()?;
        let header = load(header);
        let mut report = |rule: Rule, at: u64, expected: u64, found: u64| {
            let begin = position.offset;
            report(LogError::new(rule, begin, begin + u64::from(position.word) * 8 + at, expected, found));
            !rule.is_fatal()
        };
        let (size, name_length) = examine_header(header, words.len(), &mut report)?;
        let (name_words, value_words) = behind.get(..size - 1)?.split_at_checked(words_for(name_length))?;
        let text = examine_name(name_words, name_length, &mut report)?;
        let word = name_words.first().map_or(0, load) & !padding_bits(name_length.min(8));
        let name = Name::read(text, (header >> 16) as u16, word);
        let number = value_words.first().map_or(0, load);
        let value = match (header & 0xf) as u8 {
            kind::SIGNED => Value::Signed(number as i64),
            kind::UNSIGNED => Value::Unsigned(number),
            kind::FLOAT => Value::Float(f64::from_bits(number)),
            kind::BOOL => Value::Bool(header >> 32 & 1 == 1),
            kind::TEXT => {
                let is_message = || text == MESSAGE && !position.follows_message();
                let at = 8 + name_words.len() as u64 * 8;
                Value::Text(examine_text(value_words, (header >> 32) as u16, is_message, at, &mut report)?)
            }
            _ => Value::Null,
        };
        Some((Self { name, value, word: position.word }, size))
    }

    /// Reads the argument with this header and the words `own` if it is valid and plain ASCII, as nearly all arguments
    /// are.
    #[inline(always)]
    fn read_plain(header: u64, own: &'a [Word], word: u16) -> Option<Self> {
        let reference = (header >> 16) as u16;
        let length = usize::from(reference & !INLINE);
        if let [first, value_words @ ..] = own
            && reference >= INLINE
            && let 1..=8 = length
        {
            // Most names fit into one word.
            let name_word = load(first);
            if !is_plain_word(name_word, length) {
                return None;
            }
            let name = Name::read(first.get(..length)?, reference, name_word);
            return Some(Self { name, value: plain_value(header, value_words)?, word });
        }
        Self::read_long(header, own, word)
    }

    /// [`Argument::read_plain`] for names that are empty or longer than a word.
    #[inline(never)]
    fn read_long(header: u64, own: &'a [Word], word: u16) -> Option<Self> {
        let reference = (header >> 16) as u16;
        let length = length_of(reference)?;
        let (name_words, value_words) = own.split_at_checked(words_for(length))?;
        if !is_plain(name_words, length) {
            return None;
        }
        let first = name_words.first().map_or(0, load);
        let name = Name::read(name_words.as_flattened().get(..length)?, reference, first);
        Some(Self { name, value: plain_value(header, value_words)?, word })
    }
}

/// Reports a broken rule with the offset in the argument, the expected value and the found value. Returns `false` if
/// the argument is unreadable as a result.
type ReportBroken<'r> = dyn FnMut(Rule, u64, u64, u64) -> bool + 'r;

/// Returns the argument size in words and the name length in bytes. `words` are left in the record.
fn examine_header(header: u64, words: usize, report: &mut ReportBroken<'_>) -> Option<(usize, usize)> {
    let kind = (header & 0xf) as u8;
    match kind {
        kind::NULL => report(Rule::ArgumentTypeNull, 0, 0, kind.into()),
        1 | 2 | 7 | 8 => report(Rule::ArgumentTypeReserved, 0, 0, kind.into()),
        10.. => report(Rule::ArgumentTypeUnknown, 0, 0, kind.into()),
        _ => true,
    }
    .then_some(())?;
    let size = size_words(header);
    if size == 0 {
        report(Rule::ArgumentSizeMinimum, 0, 1, 0);
        return None;
    }
    if size > words {
        report(Rule::ArgumentBeyondRecord, 0, words as u64, size as u64);
        return None;
    }
    let reference = (header >> 16) as u16;
    let Some(name_length) = length_of(reference) else {
        report(Rule::NameRefReserved, 2, 0, reference.into());
        return None;
    };
    let value_reference = (header >> 32) as u16;
    let (value_words, reserved) = match kind {
        kind::TEXT => match length_of(value_reference) {
            Some(length) => (words_for(length), header >> 48),
            None => {
                report(Rule::ValueRefReserved, 4, 0, value_reference.into());
                return None;
            }
        },
        kind::BOOL => (0, header >> 33),
        kind::NULL => (0, header >> 32),
        _ => (1, header >> 32),
    };
    let needed = 1 + words_for(name_length) + value_words;
    if needed != size {
        report(Rule::ArgumentSize, 0, needed as u64, size as u64);
        return None;
    }
    if reserved != 0 {
        report(Rule::ArgumentReserved, 4, 0, reserved);
    }
    Some((size, name_length))
}

/// Returns the name bytes if they are valid UTF-8.
fn examine_name<'a>(words: &'a [Word], length: usize, report: &mut ReportBroken<'_>) -> Option<&'a [u8]> {
    let name = words.as_flattened().get(..length)?;
    if let Err(error) = core::str::from_utf8(name) {
        let byte = error.valid_up_to();
        report(Rule::NameUtf8, 8 + byte as u64, 0, name.get(byte).copied().unwrap_or(0).into());
        return None;
    }
    let padding = padding(words, length);
    if padding != 0 {
        report(Rule::NamePadding, 8 + length as u64, 0, padding);
    }
    Some(name)
}

/// Returns the string value at an offset in the argument. Messages have their own rule.
fn examine_text<'a>(
    words: &'a [Word],
    reference: u16,
    is_message: impl FnOnce() -> bool,
    at: u64,
    report: &mut ReportBroken<'_>,
) -> Option<Text<'a>> {
    let length = length_of(reference)?;
    let bytes = words.as_flattened().get(..length)?;
    if let Err(error) = core::str::from_utf8(bytes) {
        let byte = error.valid_up_to();
        let found = bytes.get(byte).copied().unwrap_or(0);
        let rule = if is_message() { Rule::MessageUtf8 } else { Rule::ValueUtf8 };
        report(rule, at + byte as u64, 0, found.into()).then_some(())?;
    }
    let padding = padding(words, length);
    if padding != 0 {
        report(Rule::ValuePadding, at + length as u64, 0, padding);
    }
    Some(Text::read(bytes, reference))
}

/// Reads the value of an argument from its last words if it is valid and plain ASCII.
#[inline(always)]
fn plain_value(header: u64, words: &[Word]) -> Option<Value<'_>> {
    let kind = (header & 0xf) as u8;
    if let ([number], true) = (words, header >> 32 == 0) {
        let number = load(number);
        if kind == kind::UNSIGNED {
            return Some(Value::Unsigned(number));
        } else if kind == kind::SIGNED {
            return Some(Value::Signed(number as i64));
        } else if kind == kind::FLOAT {
            return Some(Value::Float(f64::from_bits(number)));
        }
    }
    if kind == kind::TEXT {
        let reference = (header >> 32) as u16;
        let length = length_of(reference)?;
        let is_right = header >> 48 == 0 && words.len() == words_for(length) && is_plain(words, length);
        return is_right.then_some(Value::Text(Text::read(words.as_flattened().get(..length)?, reference)));
    }
    let is_right = kind == kind::BOOL && header >> 33 == 0 && words.is_empty();
    is_right.then_some(Value::Bool(header >> 32 == 1))
}

/// Returns the padding bits that differ from 0.
fn padding(words: &[Word], length: usize) -> u64 {
    words.last().map_or(0, |word| load(word) & padding_bits(length))
}

/// Position of an argument.
#[derive(Clone, Copy)]
struct ArgumentPosition<'r> {
    /// Words of the record.
    record: &'r [Word],
    /// Byte offset of the record in the input.
    offset: u64,
    /// Offset of the argument in the record in words.
    word: u16,
}

impl ArgumentPosition<'_> {
    /// Returns `true` if a message precedes the argument.
    fn follows_message(self) -> bool {
        // All earlier arguments have been read, so their sizes are valid.
        let mut words = self.record.get(RECORD_HEADER..).unwrap_or_default();
        let end = words.len() - (usize::from(self.word).saturating_sub(RECORD_HEADER)).min(words.len());
        while words.len() > end
            && let [header, name, ..] = words
        {
            let header = load(header);
            let (reference, kind) = ((header >> 16) as u16, (header & 0xf) as u8);
            // A shorter name is a different name.
            let bytes = name.get(..MESSAGE.len()).unwrap_or_default();
            if kind == kind::TEXT && length_of(reference) == Some(MESSAGE.len()) && bytes == MESSAGE {
                return true;
            }
            // An argument that exceeds the record is the last one.
            words = words.get(size_words(header).max(1)..).unwrap_or_default();
        }
        false
    }
}

/// Iterator over the arguments of a record. It ends with an error at the first unreadable argument.
#[derive(Clone, Debug)]
pub struct Arguments<'a> {
    /// Words of the record.
    record: &'a [Word],
    /// Byte offset of the record in the input.
    offset: u64,
    /// Unread words.
    words: &'a [Word],
}

impl<'a> Arguments<'a> {
    #[inline(always)]
    pub(crate) fn new(record: &'a [Word], offset: u64) -> Self {
        // A record without words after its header has no arguments.
        Self { record, offset, words: record.get(RECORD_HEADER..).unwrap_or_default() }
    }

    /// Returns the offset of the next argument in the record in words.
    #[inline(always)]
    fn word(&self) -> u16 {
        // A record has at most 4,095 words.
        (self.record.len() - self.words.len()) as u16
    }

    /// Returns `true` after the last argument or an unreadable argument.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.words.is_empty()
    }

    /// Like `next`, but returns `None` for an unusual argument.
    #[inline(always)]
    pub(crate) fn next_plain(&mut self) -> Option<Argument<'a>> {
        let (header, behind) = self.words.split_first()?;
        let header = load(header);
        let (own, rest) = behind.split_at_checked(size_words(header).wrapping_sub(1))?;
        let argument = Argument::read_plain(header, own, self.word())?;
        self.words = rest;
        Some(argument)
    }

    /// Like `next`, but reports each broken rule.
    pub(crate) fn next_examined(&mut self, report: &mut dyn FnMut(LogError)) -> Option<Argument<'a>> {
        let position = ArgumentPosition { record: self.record, offset: self.offset, word: self.word() };
        let Some((argument, size)) = Argument::examine(self.words, position, report) else {
            self.words = &[];
            return None;
        };
        // The argument was read from these words.
        self.words = self.words.get(size..).unwrap_or_default();
        Some(argument)
    }

    /// Returns the next argument, which is unusual, and the words after it.
    ///
    /// Takes the iterator by value so that it can stay in registers.
    #[cold]
    #[inline(never)]
    fn next_unusual(mut self) -> (Option<Result<Argument<'a>, LogError>>, &'a [Word]) {
        let mut broken = None;
        let mut note = |error: LogError| broken = Some(error);
        match self.next_examined(&mut note) {
            Some(argument) => (Some(Ok(argument)), self.words),
            None => (broken.map(Err), &[]),
        }
    }
}

impl<'a> Iterator for Arguments<'a> {
    type Item = Result<Argument<'a>, LogError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(argument) = self.next_plain() {
            return Some(Ok(argument));
        } else if self.is_at_end() {
            return None;
        }
        let (next, words) = Self { ..*self }.next_unusual();
        self.words = words;
        next
    }
}

impl core::iter::FusedIterator for Arguments<'_> {}
