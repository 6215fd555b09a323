//! Writes records into a buffer.

use super::argument::ArgumentValue;
use super::content::INLINE;
use super::event::EventKind;
use super::metadata::{Initialization, MAGIC};
use super::record::{MAX_RECORD_WORDS, kind as record_kind};
use super::reference::{StringRef, ThreadRef};
use super::table_entry::{StringRecord, ThreadRecord};
use crate::log::word::{Word, words_for, write_stream};
use crate::log::{EncodeError, MAX_TEXT};

/// Maximum number of arguments in a record. The header has 4 bits for the count.
pub const MAX_ARGUMENTS: usize = 15;

/// Maximum length of a provider name in bytes. The record has 8 bits for the length.
const MAX_NAME: usize = 255;

/// Returns the header bits for a string reference. An inline string has its length there.
#[inline(always)]
const fn reference(string: StringRef<'_>) -> u64 {
    match string {
        StringRef::Index(index) => index as u64 & !INLINE,
        StringRef::Inline([]) => 0,
        StringRef::Inline(text) => INLINE | text.len() as u64,
    }
}

/// Returns the inline bytes of a string.
#[inline(always)]
const fn inline(string: StringRef<'_>) -> &[u8] {
    match string {
        StringRef::Index(_) => &[],
        StringRef::Inline(text) => text,
    }
}

#[inline(always)]
const fn check_text(length: usize) -> Result<(), EncodeError> {
    if length > MAX_TEXT { Err(EncodeError::TextTooLong { length }) } else { Ok(()) }
}

/// Returns the size of an argument in words. Strings must have at most [`MAX_TEXT`] bytes.
#[inline(always)]
pub(crate) const fn argument_words(name: StringRef<'_>, value: &ArgumentValue<'_>) -> usize {
    let value = match value {
        ArgumentValue::Null
        | ArgumentValue::Int32(_)
        | ArgumentValue::Uint32(_)
        | ArgumentValue::Boolean(_) => 0,
        ArgumentValue::String(string) => words_for(inline(*string).len()),
        ArgumentValue::Blob(bytes) | ArgumentValue::Unknown { bytes, .. } => words_for(bytes.len()),
        _ => 1,
    };
    1 + words_for(inline(name).len()) + value
}

/// Writes an argument into `room`, which must have its exact size.
#[inline(always)]
pub(crate) fn write_argument(room: &mut [Word], name: StringRef<'_>, value: ArgumentValue<'_>) {
    let low = match value {
        ArgumentValue::Int32(value) => u64::from(value as u32),
        ArgumentValue::Uint32(value) => value.into(),
        ArgumentValue::Boolean(value) => value.into(),
        ArgumentValue::String(string) => reference(string),
        ArgumentValue::Blob(bytes) => bytes.len() as u64 & 0xffff_ffff,
        ArgumentValue::Unknown { low, .. } => low.into(),
        _ => 0,
    };
    let size = room.len() as u64;
    let header = u64::from(value.kind() & 0xf) | size << 4 | reference(name) << 16 | low << 32;
    let Some((first, room)) = room.split_first_mut() else { return };
    *first = header.to_le_bytes();
    let (name_room, room) = room.split_at_mut(words_for(inline(name).len()).min(room.len()));
    write_stream(name_room, inline(name));
    let word = match value {
        ArgumentValue::Int64(value) => value as u64,
        ArgumentValue::Uint64(value) | ArgumentValue::Pointer(value) | ArgumentValue::Koid(value) => value,
        ArgumentValue::Double(value) => value.to_bits(),
        ArgumentValue::String(string) => return write_stream(room, inline(string)),
        ArgumentValue::Blob(bytes) | ArgumentValue::Unknown { bytes, .. } => {
            return write_stream(room, bytes);
        }
        _ => return,
    };
    if let [only] = room {
        *only = word.to_le_bytes();
    }
}

/// Writes consecutive records into a buffer.
///
/// Allocates nothing. Returns an error and leaves [`written`](Self::written) unchanged if a record does not fit, has
/// more than 4,095 words, or has a text longer than [`MAX_TEXT`]. String indexes are reduced to their lower 15 bits (0
/// is the empty string), unknown argument types to their lower 4 bits.
///
/// ```
/// use ichnos_fuchsia::fxt::{ArgumentValue, EventKind, Record, Records, StringRecord, StringRef, ThreadRef};
/// use ichnos_fuchsia::fxt::RecordWriter;
///
/// let mut buffer = [0; 256];
/// let mut writer = RecordWriter::new(&mut buffer);
/// writer.magic()?;
/// writer.string(&StringRecord { index: 1, string: b"gfx" })?;
/// let names = [StringRef::Index(1), StringRef::Inline(b"Present")];
/// let thread = ThreadRef::Inline { process: 5, thread: 6 };
/// let mut event = writer.begin_event(EventKind::FlowBegin { id: 7 }, 1_000, thread, names)?;
/// event.argument(StringRef::Inline(b"frame"), ArgumentValue::Uint32(8))?;
/// event.finish();
/// let records: Vec<_> = Records::new(writer.written()).map(|found| found.unwrap().record).collect();
/// assert!(matches!(records[2], Record::Event(event) if event.ticks == 1_000 && event.arguments.count_left() == 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordWriter<'b> {
    buffer: &'b mut [u8],
    /// Bytes used by finished records.
    written: usize,
}

impl<'b> RecordWriter<'b> {
    /// Creates a writer for the buffer.
    #[inline]
    #[must_use]
    pub const fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, written: 0 }
    }

    /// Returns the finished records.
    #[inline]
    #[must_use]
    pub fn written(&self) -> &[u8] {
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

    /// Reserves room for a record with this size.
    #[inline(always)]
    fn room(&mut self, words: usize) -> Result<&mut [Word], EncodeError> {
        if words > MAX_RECORD_WORDS {
            return Err(EncodeError::RecordTooLong { words });
        }
        let left = self.left();
        let rest = self.buffer.get_mut(self.written..).unwrap_or_default();
        match rest.as_chunks_mut::<8>().0.get_mut(..words) {
            Some(room) => {
                self.written += words * 8;
                Ok(room)
            }
            None => Err(EncodeError::BufferFull { needed: words * 8, left }),
        }
    }

    /// Writes a record from words and the bytes after them. `header` lacks the size.
    #[inline(always)]
    fn record(&mut self, header: u64, words: &[u64], stream: &[u8]) -> Result<(), EncodeError> {
        let size = 1 + words.len() + words_for(stream.len());
        let room = self.room(size)?;
        let (first, rest) = room.split_at_mut(1 + words.len());
        let words = core::iter::once(header | (size as u64) << 4).chain(words.iter().copied());
        first.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
        write_stream(rest, stream);
        Ok(())
    }

    /// Writes the magic number record, which starts a file.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn magic(&mut self) -> Result<(), EncodeError> {
        self.record(MAGIC & !0xfff0, &[], &[])
    }

    /// Writes a provider name with at most 255 bytes. The following records belong to this provider.
    ///
    /// # Errors
    /// If the name is too long, or the record does not fit.
    pub fn provider(&mut self, id: u32, name: &[u8]) -> Result<(), EncodeError> {
        if name.len() > MAX_NAME {
            return Err(EncodeError::TextTooLong { length: name.len() });
        }
        let header = record_kind::METADATA | 1 << 16 | u64::from(id) << 20 | (name.len() as u64) << 52;
        self.record(header, &[], name)
    }

    /// Starts a section: the following records belong to this provider.
    ///
    /// # Errors
    /// If the record does not fit.
    pub fn section(&mut self, provider: u32) -> Result<(), EncodeError> {
        self.record(record_kind::METADATA | 2 << 16 | u64::from(provider) << 20, &[], &[])
    }

    /// Writes a provider event: [`BUFFER_FULL`](super::BUFFER_FULL), or another 4-bit number.
    ///
    /// # Errors
    /// If the record does not fit.
    pub fn provider_event(&mut self, provider: u32, event: u8) -> Result<(), EncodeError> {
        let header = record_kind::METADATA | 3 << 16 | u64::from(provider) << 20;
        self.record(header | u64::from(event & 0xf) << 52, &[], &[])
    }

    /// Writes the provider clock, in two words, or in four with a base time.
    ///
    /// # Errors
    /// If the record does not fit.
    pub fn initialization(&mut self, clock: &Initialization) -> Result<(), EncodeError> {
        match clock.base {
            None => self.record(record_kind::INITIALIZATION, &[clock.ticks_per_second], &[]),
            Some(base) => {
                let words = [clock.ticks_per_second, base.ticks, base.unix_nanoseconds];
                self.record(record_kind::INITIALIZATION, &words, &[])
            }
        }
    }

    /// Registers a string with an index from 1 to 32,767. Readers ignore index 0.
    ///
    /// # Errors
    /// If it is too long, or the record does not fit.
    #[inline]
    pub fn string(&mut self, entry: &StringRecord<'_>) -> Result<(), EncodeError> {
        check_text(entry.string.len())?;
        let index = u64::from(entry.index) & !INLINE;
        let header = record_kind::STRING | index << 16 | (entry.string.len() as u64) << 32;
        self.record(header, &[], entry.string)
    }

    /// Registers a thread with an index from 1 to 255. Readers ignore index 0.
    ///
    /// # Errors
    /// If the record does not fit.
    #[inline]
    pub fn thread(&mut self, entry: &ThreadRecord) -> Result<(), EncodeError> {
        let header = record_kind::THREAD | u64::from(entry.index) << 16;
        self.record(header, &[entry.process, entry.thread], &[])
    }

    /// Starts an event with a category and a name.
    ///
    /// [`RecordWriter::written`] contains the event only after it is [finished](EventRecordWriter::finish).
    ///
    /// # Errors
    /// If a name is too long, or the event does not fit.
    #[inline(always)]
    pub fn begin_event(
        &mut self,
        kind: EventKind,
        ticks: u64,
        thread: ThreadRef,
        [category, name]: [StringRef<'_>; 2],
    ) -> Result<EventRecordWriter<'_>, EncodeError> {
        check_text(inline(category).len())?;
        check_text(inline(name).len())?;
        let left = self.left();
        let Self { buffer, written } = self;
        let words = buffer.get_mut(*written..).unwrap_or_default().as_chunks_mut::<8>().0;
        // Always leaves room for the word after the arguments.
        let last = usize::from(kind.word().is_some());
        let most = words.len().min(MAX_RECORD_WORDS).saturating_sub(last);
        let words = words.get_mut(..most + last).unwrap_or_default();
        let header = record_kind::EVENT
            | u64::from(kind.number()) << 16
            | reference(category) << 32
            | reference(name) << 48;
        let mut event = EventRecordWriter { words, most, used: 1, left, header, count: 0, kind, written };
        event.words([ticks])?;
        match thread {
            // Index 0 marks an inline thread.
            ThreadRef::Index(index) if index != 0 => event.header |= u64::from(index) << 24,
            ThreadRef::Index(_) => event.words([0, 0])?,
            ThreadRef::Inline { process, thread } => event.words([process, thread])?,
        }
        event.stream(inline(category))?;
        event.stream(inline(name))?;
        Ok(event)
    }
}

/// An unfinished event. Dropping it discards the event.
#[derive(Debug)]
pub struct EventRecordWriter<'e> {
    /// Space for the record, up to the maximum record size.
    words: &'e mut [Word],
    /// Maximum number of words, without the last word if the type has one.
    most: usize,
    /// Number of words used.
    used: usize,
    /// Bytes left in the buffer before this record.
    left: usize,
    header: u64,
    count: usize,
    kind: EventKind,
    written: &'e mut usize,
}

impl EventRecordWriter<'_> {
    #[inline(always)]
    fn room(&mut self, size: usize) -> Result<&mut [Word], EncodeError> {
        let end = self.used + size;
        if end > self.most {
            return Err(self.full(size));
        }
        let begin = core::mem::replace(&mut self.used, end);
        Ok(self.words.get_mut(begin..end).unwrap_or_default())
    }

    #[inline(always)]
    fn words<const COUNT: usize>(&mut self, words: [u64; COUNT]) -> Result<(), EncodeError> {
        let room = self.room(COUNT)?;
        room.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
        Ok(())
    }

    #[inline(always)]
    fn stream(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        if !bytes.is_empty() {
            write_stream(self.room(words_for(bytes.len()))?, bytes);
        }
        Ok(())
    }

    /// Returns the error for `more` additional words.
    #[cold]
    fn full(&self, more: usize) -> EncodeError {
        let words = self.used + more + usize::from(self.kind.word().is_some());
        if words > MAX_RECORD_WORDS {
            EncodeError::RecordTooLong { words }
        } else {
            EncodeError::BufferFull { needed: words * 8, left: self.left }
        }
    }

    /// Appends an argument.
    ///
    /// # Errors
    /// If the event has [`MAX_ARGUMENTS`] already, a string is too long, or the argument does not fit in the record or
    /// the buffer. The event is then unchanged.
    #[inline(always)]
    pub fn argument(&mut self, name: StringRef<'_>, value: ArgumentValue<'_>) -> Result<(), EncodeError> {
        check_text(inline(name).len())?;
        if let ArgumentValue::String(string) = value {
            check_text(inline(string).len())?;
        }
        if self.count == MAX_ARGUMENTS {
            return Err(EncodeError::TooManyArguments);
        }
        let room = self.room(argument_words(name, &value))?;
        write_argument(room, name, value);
        self.count += 1;
        Ok(())
    }

    /// Ends the event and writes its header.
    #[inline(always)]
    pub fn finish(mut self) {
        if let Some(word) = self.kind.word() {
            if let Some(place) = self.words.get_mut(self.used) {
                *place = word.to_le_bytes();
            }
            self.used += 1;
        }
        if let Some(first) = self.words.first_mut() {
            *first = (self.header | (self.used as u64) << 4 | (self.count as u64) << 20).to_le_bytes();
            *self.written += self.used * 8;
        }
    }
}
