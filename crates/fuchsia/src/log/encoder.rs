//! Writes records into a buffer.

use core::fmt;

use super::argument::{Argument, Meaning, Value, kind};
use super::record::{CONTROL, LOG_RECORD, MAX_RECORD_WORDS, Record};
use super::severity::Severity;
use super::text::{Name, reference};
use super::word::{RECORD_HEADER, Word, words_for, write_stream};

/// Maximum length of a text in bytes. A reference has 15 bits for the length.
pub const MAX_TEXT: usize = 32_767;

/// Error when writing a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer is full.
    BufferFull {
        /// Number of bytes needed.
        needed: usize,
        /// Number of bytes left.
        left: usize,
    },
    /// A name or a string exceeds [`MAX_TEXT`].
    TextTooLong {
        /// Length in bytes.
        length: usize,
    },
    /// The record would exceed [`MAX_RECORD_WORDS`].
    RecordTooLong {
        /// Size in words.
        words: usize,
    },
    /// The input is not a readable record.
    Unreadable,
    /// The record has the maximum number of arguments (15 in traces).
    TooManyArguments,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BufferFull { needed, left } => {
                write!(f, "the buffer is full: {needed} bytes are needed, {left} are left")
            }
            Self::TextTooLong { length } => {
                write!(f, "the text has {length} bytes; the maximum is {MAX_TEXT}")
            }
            Self::RecordTooLong { words } => {
                write!(f, "the record has {words} words; the maximum is {MAX_RECORD_WORDS}")
            }
            Self::Unreadable => f.write_str("not a readable record"),
            Self::TooManyArguments => f.write_str("the record has the maximum number of arguments"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Returns the size in words of an argument with this name length and value.
#[inline(always)]
const fn argument_words(name: usize, value: &Value<'_>) -> usize {
    let value = match value {
        Value::Text(text) => words_for(text.len()),
        Value::Bool(_) | Value::Null => 0,
        _ => 1,
    };
    1 + words_for(name) + value
}

/// Checks name and text lengths of an argument.
#[inline(always)]
const fn check_texts(name: usize, value: &Value<'_>) -> Result<(), EncodeError> {
    if name > MAX_TEXT {
        return Err(EncodeError::TextTooLong { length: name });
    }
    match value {
        Value::Text(text) if text.len() > MAX_TEXT => Err(EncodeError::TextTooLong { length: text.len() }),
        _ => Ok(()),
    }
}

/// Writes consecutive records into a buffer.
///
/// Allocates nothing. Returns an error and leaves the buffer unchanged if a record does not fit, has more than 4,095
/// words, or has a text longer than [`MAX_TEXT`].
///
/// ```
/// use ichnos_fuchsia::log::{Encoder, Record, Severity};
///
/// let mut buffer = [0; 256];
/// let mut encoder = Encoder::new(&mut buffer);
/// let mut record = encoder.begin(72, Severity::Info.raw())?;
/// record.argument("pid", 1u64)?;
/// record.argument("message", "hello")?;
/// record.finish();
/// let (record, rest) = Record::read(encoder.written(), 0)?;
/// assert_eq!(record.known().message.unwrap(), "hello");
/// assert!(rest.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Encoder<'b> {
    buffer: &'b mut [u8],
    /// Bytes used by finished records.
    written: usize,
}

impl<'b> Encoder<'b> {
    /// Creates an encoder for the buffer.
    #[inline]
    #[must_use]
    pub const fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, written: 0 }
    }

    /// Returns the finished records.
    #[inline]
    #[must_use]
    pub fn written(&self) -> &[u8] {
        // Only bytes of the buffer count as written.
        self.buffer.get(..self.written).unwrap_or_default()
    }

    /// Returns the number of bytes left in the buffer.
    #[inline]
    #[must_use]
    pub const fn left(&self) -> usize {
        self.buffer.len() - self.written
    }

    /// Discards all records and starts again at the beginning.
    #[inline]
    pub const fn clear(&mut self) {
        self.written = 0;
    }

    /// Starts a record. [`Encoder::written`] contains it only after it is [finished](RecordEncoder::finish).
    ///
    /// # Errors
    /// If its header and timestamp do not fit.
    #[inline(always)]
    pub fn begin(&mut self, timestamp: i64, severity: u8) -> Result<RecordEncoder<'_>, EncodeError> {
        let left = self.left();
        let Self { buffer, written } = self;
        // Only bytes of the buffer count as written.
        let words = buffer.get_mut(*written..).unwrap_or_default().as_chunks_mut::<8>().0;
        let limit = words.len().min(MAX_RECORD_WORDS);
        // The limit is at most the number of words.
        let words = words.get_mut(..limit).unwrap_or_default();
        let [_, second, ..] = words else {
            return Err(EncodeError::BufferFull { needed: RECORD_HEADER * 8, left });
        };
        *second = timestamp.to_le_bytes();
        let header = LOG_RECORD | u64::from(severity) << 56;
        Ok(RecordEncoder { words, used: RECORD_HEADER, left, header, written })
    }

    /// Copies a record. A valid record is copied byte for byte.
    ///
    /// # Errors
    /// If it does not fit, or an argument is unreadable.
    pub fn record(&mut self, record: &Record<'_>) -> Result<(), EncodeError> {
        record.validate().map_err(|_| EncodeError::Unreadable)?;
        // The copy cannot be longer.
        let left = self.left();
        if left < record.as_bytes().len() {
            return Err(EncodeError::BufferFull { needed: record.as_bytes().len(), left });
        }
        let mut copy = self.begin(record.timestamp(), record.raw_severity())?;
        copy.header |= u64::from(record.tag_bits()) << 16;
        for argument in record.arguments().map_while(Result::ok) {
            copy.argument(argument.name, argument.value)?;
        }
        copy.finish();
        Ok(())
    }

    /// Writes a log event, with arguments ordered as in Fuchsia's Rust library.
    ///
    /// # Errors
    /// If the event does not fit.
    pub fn event(&mut self, event: &Event<'_>) -> Result<(), EncodeError> {
        let mut words = RECORD_HEADER;
        event.each(|name, value| {
            check_texts(name.len(), &value)?;
            words += argument_words(name.len(), &value);
            Ok(())
        })?;
        if words > MAX_RECORD_WORDS {
            return Err(EncodeError::RecordTooLong { words });
        }
        let left = self.left();
        if words * 8 > left {
            return Err(EncodeError::BufferFull { needed: words * 8, left });
        }
        let mut record = self.begin(event.timestamp, event.severity)?;
        event.each(|name, value| record.argument(name, value))?;
        record.finish();
        Ok(())
    }
}

/// An unfinished record. Dropping it discards the record.
#[derive(Debug)]
pub struct RecordEncoder<'e> {
    /// Space for the record, up to the maximum record size.
    words: &'e mut [Word],
    /// Number of words used.
    used: usize,
    /// Bytes left in the buffer before this record.
    left: usize,
    header: u64,
    written: &'e mut usize,
}

impl RecordEncoder<'_> {
    /// Sets the tag, the 31-bit number of the component that writes the record (newer form).
    #[inline]
    pub const fn set_tag(&mut self, tag: u32) {
        let bits = (!CONTROL as u64) << 16;
        self.header = self.header & !bits | (tag as u64) << 16 & bits;
    }

    /// Makes this a control record or an ordinary record (newer form).
    #[inline]
    pub const fn set_control(&mut self, is_control: bool) {
        let bit = (CONTROL as u64) << 16;
        self.header = if is_control { self.header | bit } else { self.header & !bit };
    }

    /// Replaces the severity number.
    #[inline]
    pub const fn set_severity(&mut self, severity: u8) {
        self.header = self.header << 8 >> 8 | (severity as u64) << 56;
    }

    /// Returns the number of 8-byte words that can still be appended.
    #[inline]
    #[must_use]
    pub const fn words_left(&self) -> usize {
        self.words.len() - self.used
    }

    /// Appends an argument.
    ///
    /// # Errors
    /// If a text is too long, or the argument does not fit in the record or the buffer. The record is then unchanged
    /// and can take other arguments.
    #[inline(always)]
    pub fn argument<'n, 'v>(
        &mut self,
        name: impl Into<Name<'n>>,
        value: impl Into<Value<'v>>,
    ) -> Result<(), EncodeError> {
        let (name, value) = (name.into(), value.into());
        check_texts(name.len(), &value)?;
        let size = argument_words(name.len(), &value);
        let Some((room, _)) =
            self.words.get_mut(self.used..).and_then(|words| words.split_at_mut_checked(size))
        else {
            return Err(self.full(size));
        };
        write_argument(room, name, value);
        self.used += size;
        Ok(())
    }

    /// Formats a text directly into the record. If a `Display` implementation fails, the text ends there.
    ///
    /// # Errors
    /// As for [`RecordEncoder::argument`].
    #[inline]
    pub fn formatted<'a>(
        &mut self,
        name: impl Into<Name<'a>>,
        text: fmt::Arguments<'_>,
    ) -> Result<(), EncodeError> {
        let name = name.into();
        if let Some(text) = text.as_str() {
            return self.argument(name, text);
        }
        check_texts(name.len(), &Value::Null)?;
        let before = argument_words(name.len(), &Value::Null);
        // Without room, writing fails below.
        let room = self.words.get_mut(self.used..).unwrap_or_default();
        let Some((head, room)) = room.split_at_mut_checked(before) else {
            return Err(self.full(before));
        };
        let room = room.as_flattened_mut();
        let mut writer = InPlaceWriter { room, length: 0 };
        // The text simply ends at a formatting error.
        let _ = fmt::write(&mut writer, text);
        let length = writer.length;
        let size = before + words_for(length);
        if length > MAX_TEXT {
            return Err(EncodeError::TextTooLong { length });
        }
        let Some(padding) = room.get_mut(length..words_for(length) * 8) else {
            return Err(self.full(size));
        };
        padding.fill(0);
        let reference = u64::from(reference(length));
        write_name(head, name, u64::from(kind::TEXT) | (size as u64) << 4 | reference << 32);
        self.used += size;
        Ok(())
    }

    /// Returns the error for `more` additional words.
    #[cold]
    fn full(&self, more: usize) -> EncodeError {
        let words = self.used + more;
        if words > MAX_RECORD_WORDS {
            EncodeError::RecordTooLong { words }
        } else {
            EncodeError::BufferFull { needed: words * 8, left: self.left }
        }
    }

    /// Ends the record and writes its size.
    #[inline(always)]
    pub fn finish(self) {
        if let Some(header) = self.words.first_mut() {
            *header = (self.header | (self.used as u64) << 4).to_le_bytes();
            *self.written += self.used * 8;
        }
    }
}

/// Writes an argument into `room`, which must have its exact size.
#[inline(always)]
fn write_argument(room: &mut [Word], name: Name<'_>, value: Value<'_>) {
    let size = room.len() as u64;
    let upper = match value {
        Value::Text(text) => u64::from(text.reference()),
        Value::Bool(value) => u64::from(value),
        _ => 0,
    };
    let kind = u64::from(value.kind());
    let (head, value_room) = room.split_at_mut((1 + words_for(name.len())).min(room.len()));
    write_name(head, name, kind | size << 4 | upper << 32);
    let number = match value {
        Value::Text(text) => return write_stream(value_room, text.as_bytes()),
        Value::Signed(value) => value as u64,
        Value::Unsigned(value) => value,
        Value::Float(value) => value.to_bits(),
        Value::Bool(_) | Value::Null => return,
    };
    if let [only] = value_room {
        *only = number.to_le_bytes();
    }
}

/// Writes the argument name and header. `header` lacks only the name reference.
#[inline(always)]
fn write_name(room: &mut [Word], name: Name<'_>, header: u64) {
    let Some((first, room)) = room.split_first_mut() else { return };
    *first = (header | u64::from(name.text().reference()) << 16).to_le_bytes();
    match room {
        // The most frequent case.
        [only] => *only = name.word().to_le_bytes(),
        _ => write_stream(room, name.text().as_bytes()),
    }
}

/// Writes a text in place, and counts the bytes that do not fit.
struct InPlaceWriter<'r> {
    room: &'r mut [u8],
    length: usize,
}

impl fmt::Write for InPlaceWriter<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        if let Some(room) = self.room.get_mut(self.length..end) {
            room.copy_from_slice(text.as_bytes());
        }
        self.length = end;
        // Stop endless output.
        if end > MAX_TEXT { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Content of a log event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'a> {
    /// Time in nanoseconds.
    pub timestamp: i64,
    /// Severity number.
    pub severity: u8,
    /// Process koid.
    pub pid: u64,
    /// Thread koid.
    pub tid: u64,
    /// Number of records dropped before this event. 0 is not written.
    pub dropped: u64,
    /// Source file, written without everything up to the last `../`. Written for severity ERROR and above, or with
    /// [`Event::always_file_and_line`].
    pub file: Option<&'a str>,
    /// Line in the source file, written together with the file.
    pub line: Option<u64>,
    /// `true` to write file and line for every severity.
    pub always_file_and_line: bool,
    /// Part of the program that logs. It becomes the first tag.
    pub target: Option<&'a str>,
    /// The message.
    pub message: Option<&'a str>,
    /// Names and values.
    pub arguments: &'a [(&'a str, Value<'a>)],
    /// Tags.
    pub tags: &'a [&'a str],
}

impl Event<'_> {
    /// Calls `take` with each argument in writing order.
    #[inline(always)]
    fn each(
        &self,
        mut take: impl FnMut(Name<'_>, Value<'_>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.each_before_message(&mut take)?;
        if let Some(message) = self.message {
            take("message".into(), message.into())?;
        }
        for (name, value) in self.arguments {
            take((*name).into(), *value)?;
        }
        for tag in self.tags {
            take("tag".into(), (*tag).into())?;
        }
        Ok(())
    }

    /// Calls `take` with each argument before the message.
    #[inline(always)]
    pub(crate) fn each_before_message(
        &self,
        mut take: impl FnMut(Name<'_>, Value<'_>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        take("pid".into(), self.pid.into())?;
        take("tid".into(), self.tid.into())?;
        if self.dropped > 0 {
            take("num_dropped".into(), self.dropped.into())?;
        }
        if self.always_file_and_line || self.severity >= Severity::Error.raw() {
            if let Some(file) = self.file {
                let file = file.rsplit("../").next().unwrap_or(file);
                take("file".into(), file.into())?;
            }
            if let Some(line) = self.line {
                take("line".into(), line.into())?;
            }
        }
        if let Some(target) = self.target {
            take("tag".into(), target.into())?;
        }
        Ok(())
    }
}

/// Adds `count` to the number of dropped records in the record `buffer[..length]`, and returns the new length.
///
/// An existing `num_dropped` argument is increased (up to 2^64 - 1). Otherwise the argument is appended.
///
/// # Errors
/// If the bytes are not one readable record, or the record or the buffer is full. The buffer is then unchanged.
pub fn add_dropped_count(buffer: &mut [u8], length: usize, count: u64) -> Result<usize, EncodeError> {
    let bytes = buffer.get(..length).ok_or(EncodeError::Unreadable)?;
    let (record, rest) = Record::read(bytes, 0).map_err(|_| EncodeError::Unreadable)?;
    if !rest.is_empty() || record.validate().is_err() {
        return Err(EncodeError::Unreadable);
    }
    let is_count =
        |argument: &Argument<'_>| argument.meaning() == Meaning::Dropped && argument.name.is("num_dropped");
    if let Some(argument) = record.arguments().map_while(Result::ok).find(is_count) {
        if let Value::Unsigned(before) = argument.value
            && let Some(place) = buffer.get_mut(argument.value_offset()..)
            && let Some(place) = place.first_chunk_mut::<8>()
        {
            *place = before.saturating_add(count).to_le_bytes();
        }
        return Ok(length);
    }

    let (header, name, value) = (record.header(), Name::from("num_dropped"), Value::Unsigned(count));
    let more = argument_words(name.len(), &value);
    let words = record.size_words() + more;
    if words > MAX_RECORD_WORDS {
        return Err(EncodeError::RecordTooLong { words });
    }
    let left = buffer.len();
    let Some(room) = buffer.get_mut(..words * 8) else {
        return Err(EncodeError::BufferFull { needed: words * 8, left });
    };
    if let Some(room) = room.get_mut(length..) {
        write_argument(room.as_chunks_mut::<8>().0, name, value);
    }
    if let Some(first) = room.first_chunk_mut::<8>() {
        *first = (header & !0xfff0 | (words as u64) << 4).to_le_bytes();
    }
    Ok(words * 8)
}
