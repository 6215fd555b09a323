//! Log records: a header, a timestamp, and arguments.

use super::argument::{Argument, Arguments, Meaning, Value, size_words};
use super::error::{LogError, Rule};
use super::severity::Severity;
use super::text::Text;
use super::word::{RECORD_HEADER, Word, load};

/// Log record type, in bits 0 to 3 of the header.
pub(crate) const LOG_RECORD: u64 = 9;

/// Maximum record size in words. The header has 12 bits for it.
pub const MAX_RECORD_WORDS: usize = 4095;

/// Tag bit for control records.
pub(crate) const CONTROL: u32 = 1 << 31;

/// A structured log record that borrows its bytes.
///
/// Its content is read on demand. [`Record::read`] only reads header and size, and [`Record::arguments`] reads each
/// argument in turn. [`Record::validate`] checks that all are readable. [`Record::check`] reports broken rules.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    words: &'a [Word],
    header: u64,
    timestamp: i64,
    offset: u64,
}

impl<'a> Record<'a> {
    /// Reads the record at the start of `bytes`, and returns the bytes after it. `offset` is its byte offset in the
    /// input, for errors.
    ///
    /// # Errors
    /// If the header, the timestamp or bytes after them are missing.
    #[inline]
    pub fn read(bytes: &'a [u8], offset: u64) -> Result<(Self, &'a [u8]), LogError> {
        let (words, _) = bytes.as_chunks::<8>();
        if let [header, timestamp, ..] = words {
            let (header, timestamp) = (load(header), load(timestamp) as i64);
            let size = size_words(header);
            if header & 0xf == LOG_RECORD
                && size >= RECORD_HEADER
                && let Some(words) = words.get(..size)
                && let Some(rest) = bytes.get(size * 8..)
            {
                return Ok((Self { words, header, timestamp, offset }, rest));
            }
        }
        Err(Self::problem(bytes, offset))
    }

    /// Returns the error for `bytes` that do not start with a record.
    #[cold]
    fn problem(bytes: &[u8], offset: u64) -> LogError {
        let found = bytes.len() as u64;
        let Some((header, rest)) = bytes.split_first_chunk::<8>() else {
            return LogError::new(Rule::RecordHeaderTruncated, offset, offset, 8, found);
        };
        let header = load(header);
        let size = size_words(header) as u64;
        if header & 0xf != LOG_RECORD {
            LogError::new(Rule::RecordType, offset, offset, LOG_RECORD, header & 0xf)
        } else if rest.len() < 8 {
            LogError::new(Rule::TimestampTruncated, offset, offset + 8, 8, rest.len() as u64)
        } else if size < RECORD_HEADER as u64 {
            LogError::new(Rule::RecordSizeMinimum, offset, offset, RECORD_HEADER as u64, size)
        } else {
            LogError::new(Rule::RecordTruncated, offset, offset, size * 8, found)
        }
    }

    /// Returns the bytes of the record.
    #[inline]
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.words.as_flattened()
    }

    /// Returns the byte offset of the record in the input.
    #[inline]
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the size in 8-byte words, 2 to 4,095.
    #[inline]
    #[must_use]
    pub const fn size_words(&self) -> usize {
        self.words.len()
    }

    /// Returns the header as a number.
    #[inline]
    #[must_use]
    pub const fn header(&self) -> u64 {
        self.header
    }

    /// Returns the time of writing in nanoseconds.
    ///
    /// Records do not name the clock. Before Fuchsia's API level 24 it is the monotonic clock, since then the boot
    /// clock, which includes suspended time.
    #[inline]
    #[must_use]
    pub const fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// Returns the severity number. Any number is valid.
    #[inline]
    #[must_use]
    pub const fn raw_severity(&self) -> u8 {
        (self.header >> 56) as u8
    }

    /// Returns the named severity of the number.
    #[inline]
    #[must_use]
    pub const fn severity(&self) -> Severity {
        Severity::from_raw(self.raw_severity())
    }

    /// Returns bits 16 to 47 of the header.
    #[inline]
    pub(crate) const fn tag_bits(&self) -> u32 {
        (self.header >> 16) as u32
    }

    /// Returns the reserved bits 48 to 55 of the header.
    #[inline]
    pub(crate) const fn reserved_bits(&self) -> u8 {
        (self.header >> 48) as u8
    }

    /// Returns the number of the component that wrote the record (bits 16 to 46 of the header, newer form). An earlier
    /// [control record](Record::control) names the component. 0 if missing.
    #[inline]
    #[must_use]
    pub const fn tag(&self) -> u32 {
        self.tag_bits() & !CONTROL
    }

    /// Returns `true` if the record is about the stream and not from a component (bit 47 of the header, newer form).
    #[inline]
    #[must_use]
    pub const fn is_control(&self) -> bool {
        self.tag_bits() & CONTROL != 0
    }

    /// Returns the arguments in order, including duplicates.
    #[inline(always)]
    #[must_use]
    pub fn arguments(&self) -> Arguments<'a> {
        Arguments::new(self.words, self.offset)
    }

    /// Reads all arguments.
    ///
    /// # Errors
    /// If an argument is unreadable.
    #[inline]
    pub fn validate(&self) -> Result<(), LogError> {
        self.arguments().try_for_each(|argument| argument.map(drop))
    }

    /// Returns the values of the readable arguments with a meaning.
    #[must_use]
    pub fn known(&self) -> KnownArguments<'a> {
        let mut known = KnownArguments::default();
        for argument in self.arguments().map_while(Result::ok) {
            known.add(&argument);
        }
        known
    }
}

/// Record arguments with a [meaning](Meaning). If a meaning repeats, the last argument wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownArguments<'a> {
    /// Process koid.
    pub pid: Option<u64>,
    /// Thread koid.
    pub tid: Option<u64>,
    /// Source file.
    pub file: Option<Text<'a>>,
    /// Line in the source file.
    pub line: Option<u64>,
    /// Number of records dropped before this one, as the sum of all counts.
    pub dropped: u64,
    /// Log message.
    pub message: Option<Text<'a>>,
}

impl<'a> KnownArguments<'a> {
    /// Adds an argument.
    #[inline]
    pub fn add(&mut self, argument: &Argument<'a>) {
        match (argument.meaning(), argument.value) {
            (Meaning::Pid, Value::Unsigned(pid)) => self.pid = Some(pid),
            (Meaning::Tid, Value::Unsigned(tid)) => self.tid = Some(tid),
            (Meaning::Line, Value::Unsigned(line)) => self.line = Some(line),
            (Meaning::Dropped, Value::Unsigned(count)) => self.dropped = self.dropped.saturating_add(count),
            (Meaning::File, Value::Text(file)) => self.file = Some(file),
            (Meaning::Message, Value::Text(message)) => self.message = Some(message),
            _ => {}
        }
    }
}
