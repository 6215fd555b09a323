//! Writing records into a buffer.

use core::fmt;

use super::argument::{Argument, Meaning, Value, kind};
use super::record::{CONTROL, LOG_RECORD, MAX_RECORD_WORDS, RECORD_HEADER, Record};
use super::severity::Severity;
use super::text::{Name, Text, reference};
use super::word::{Word, load_short, words_for};

/// The longest text that a record can have, in bytes: a reference has 15 bits for the length.
pub const MAX_TEXT: usize = 32_767;

/// Why something cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// There is no room in the buffer.
    BufferFull {
        /// Bytes that are needed.
        needed: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// A name or a string is longer than [`MAX_TEXT`].
    TextTooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The record would be longer than [`MAX_RECORD_WORDS`].
    RecordTooLong {
        /// Its size in words.
        words: usize,
    },
    /// What is to be copied or changed is no record, or not one that can be read.
    Unreadable,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BufferFull { needed, left } => {
                write!(f, "the buffer is full: {needed} bytes are needed, {left} are left")
            }
            Self::TextTooLong { length } => {
                write!(f, "a text of {length} bytes; a record takes texts of at most {MAX_TEXT}")
            }
            Self::RecordTooLong { words } => {
                write!(f, "a record of {words} words; it can have at most {MAX_RECORD_WORDS}")
            }
            Self::Unreadable => f.write_str("there is no record that can be read"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Size in words of an argument of these.
#[inline(always)]
const fn argument_words(name: usize, value: &Value<'_>) -> usize {
    let value = match value {
        Value::Text(text) => words_for(text.len()),
        Value::Bool(_) | Value::Null => 0,
        _ => 1,
    };
    1 + words_for(name) + value
}

/// Whether texts of these lengths can be written at all.
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

/// Writes records one after the other into a buffer.
///
/// Nothing is allocated. What does not fit is an error, and then the buffer is as it was.
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
    /// How many bytes are records.
    written: usize,
}

impl<'b> Encoder<'b> {
    /// Writes from the beginning of the buffer on.
    #[inline]
    #[must_use]
    pub const fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, written: 0 }
    }

    /// The records that were finished.
    #[inline]
    #[must_use]
    pub fn written(&self) -> &[u8] {
        self.buffer.get(..self.written).unwrap_or_default()
    }

    /// How many bytes of the buffer are left.
    #[inline]
    #[must_use]
    pub const fn left(&self) -> usize {
        self.buffer.len() - self.written
    }

    /// Forgets what was written, to begin again at the beginning.
    #[inline]
    pub const fn clear(&mut self) {
        self.written = 0;
    }

    /// Begins a record. It counts once it is [finished](RecordEncoder::finish); until then, what lies
    /// behind [`Encoder::written`] is a draft.
    ///
    /// # Errors
    /// If there is no room for its header and its timestamp.
    #[inline(always)]
    pub fn begin(&mut self, timestamp: i64, severity: u8) -> Result<RecordEncoder<'_>, EncodeError> {
        let left = self.left();
        let Self { buffer, written } = self;
        let words = buffer.get_mut(*written..).unwrap_or_default().as_chunks_mut::<8>().0;
        let limit = words.len().min(MAX_RECORD_WORDS);
        let words = words.get_mut(..limit).unwrap_or_default();
        let [_, second, ..] = words else {
            return Err(EncodeError::BufferFull { needed: RECORD_HEADER * 8, left });
        };
        *second = timestamp.to_le_bytes();
        let header = LOG_RECORD | u64::from(severity) << 56;
        Ok(RecordEncoder { words, used: RECORD_HEADER, left, header, written })
    }

    /// Writes a record as it was read: the same bytes, if it broke no rule.
    ///
    /// # Errors
    /// If there is no room for it, or one of its arguments cannot be read.
    pub fn record(&mut self, record: &Record<'_>) -> Result<(), EncodeError> {
        record.validate().map_err(|_| EncodeError::Unreadable)?;
        // It is no longer than it was.
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

    /// Writes what a program has to say, with its arguments in the order in which the Rust library of
    /// Fuchsia writes them.
    ///
    /// # Errors
    /// If there is no room for all of it.
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

/// A record that is being written. Dropping it unfinished leaves it out.
#[derive(Debug)]
pub struct RecordEncoder<'e> {
    /// The room that there is, at most that of a record.
    words: &'e mut [Word],
    /// How much of it is used, in words.
    used: usize,
    /// Bytes that were left when the record began.
    left: usize,
    header: u64,
    written: &'e mut usize,
}

impl RecordEncoder<'_> {
    /// Sets the number of the component that writes it (newer form); 31 bits.
    #[inline]
    pub const fn set_tag(&mut self, tag: u32) {
        let bits = (!CONTROL as u64) << 16;
        self.header = self.header & !bits | (tag as u64) << 16 & bits;
    }

    /// Makes it a control record, or an ordinary one (newer form).
    #[inline]
    pub const fn set_control(&mut self, is_control: bool) {
        let bit = (CONTROL as u64) << 16;
        self.header = if is_control { self.header | bit } else { self.header & !bit };
    }

    /// Sets the number of its severity, in place of the one that it began with.
    #[inline]
    pub const fn set_severity(&mut self, severity: u8) {
        self.header = self.header << 8 >> 8 | (severity as u64) << 56;
    }

    /// How many words of 8 bytes can be appended to it.
    #[inline]
    #[must_use]
    pub const fn words_left(&self) -> usize {
        self.words.len() - self.used
    }

    /// Appends an argument.
    ///
    /// # Errors
    /// If a text is too long, or there is no room for it in the record or in the buffer. The record
    /// is then as it was before, and more can be appended to it.
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

    /// Appends a text that is made now, at its place in the record. A `Display` that fails ends the text
    /// there.
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
        let room = self.words.get_mut(self.used..).unwrap_or_default();
        let Some((head, room)) = room.split_at_mut_checked(before) else {
            return Err(self.full(before));
        };
        let room = room.as_flattened_mut();
        let mut writer = TextWriter { room, length: 0 };
        // What fails on its own has no more to say.
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

    /// Why this many words more do not fit.
    #[cold]
    fn full(&self, more: usize) -> EncodeError {
        let words = self.used + more;
        if words > MAX_RECORD_WORDS {
            EncodeError::RecordTooLong { words }
        } else {
            EncodeError::BufferFull { needed: words * 8, left: self.left }
        }
    }

    /// Ends the record: its size is known now.
    #[inline(always)]
    pub fn finish(self) {
        if let Some(header) = self.words.first_mut() {
            *header = (self.header | (self.used as u64) << 4).to_le_bytes();
            *self.written += self.used * 8;
        }
    }
}

/// Writes an argument into as many words as it takes.
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
        Value::Text(text) => return write_text(value_room, text),
        Value::Signed(value) => value as u64,
        Value::Unsigned(value) => value,
        Value::Float(value) => value.to_bits(),
        Value::Bool(_) | Value::Null => return,
    };
    if let [only] = value_room {
        *only = number.to_le_bytes();
    }
}

/// Writes the header of an argument, which lacks nothing but the reference to the name, and the name.
#[inline(always)]
fn write_name(room: &mut [Word], name: Name<'_>, header: u64) {
    let Some((first, room)) = room.split_first_mut() else { return };
    *first = (header | u64::from(name.text().reference()) << 16).to_le_bytes();
    match room {
        // The most usual case.
        [only] => *only = name.word().to_le_bytes(),
        _ => write_text(room, name.text()),
    }
}

/// Takes a text that is made at its place, and counts what does not fit any more.
struct TextWriter<'r> {
    room: &'r mut [u8],
    length: usize,
}

impl fmt::Write for TextWriter<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        if let Some(room) = self.room.get_mut(self.length..end) {
            room.copy_from_slice(text.as_bytes());
        }
        self.length = end;
        // There is no end to what some can say.
        if end > MAX_TEXT { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Writes a text, and zeros behind it, into as many words as it takes.
#[inline(always)]
fn write_text(room: &mut [Word], text: Text<'_>) {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let (whole, last) = room.split_at_mut(words.len().min(room.len()));
    if let (4.., Some(words)) = (whole.len(), words.get(..whole.len())) {
        whole.copy_from_slice(words);
    } else {
        for (to, from) in whole.iter_mut().zip(words) {
            *to = *from;
        }
    }
    if let [last] = last {
        *last = load_short(rest).to_le_bytes();
    }
}

/// What a program has to say, to be written as a record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'a> {
    /// When, in nanoseconds.
    pub timestamp: i64,
    /// The number of its severity.
    pub severity: u8,
    /// The koid of the process.
    pub pid: u64,
    /// The koid of the thread.
    pub tid: u64,
    /// How many records were dropped before; not written if 0.
    pub dropped: u64,
    /// The source file, of which the part behind the last `../` is written: from severity ERROR on, or
    /// with [`Event::always_file_and_line`].
    pub file: Option<&'a str>,
    /// The line in the source file; written as the file is.
    pub line: Option<u64>,
    /// Whether file and line are written whatever the severity.
    pub always_file_and_line: bool,
    /// The part of the program that says it: the first tag.
    pub target: Option<&'a str>,
    /// The message.
    pub message: Option<&'a str>,
    /// Pairs of names and values.
    pub arguments: &'a [(&'a str, Value<'a>)],
    /// Tags.
    pub tags: &'a [&'a str],
}

impl Event<'_> {
    /// Hands over each argument, in the order in which they are written.
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

    /// Hands over each argument that is written before the message.
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

/// Adds to the count of dropped records of the record that the first `length` bytes of `buffer` are,
/// in its place, and says the new length: an argument `num_dropped` grows (up to 2^64 - 1), or is
/// appended.
///
/// # Errors
/// If those bytes are no record that can be read, or there is no room in the record or the buffer. The
/// buffer is then as it was.
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
