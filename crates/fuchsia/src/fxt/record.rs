//! Records with any type.

#[cfg(feature = "reader")]
use super::argument::Arguments;
use super::content::{RecordContent, bits};
use super::error::{FxtError, Rule};
use super::event::{EventRecord, KINDS};
use super::metadata::{Initialization, MetadataRecord};
use super::object::{Blob, KernelObject, LargeBlob, LogMessage, UserspaceObject};
use super::profiler::Profiler;
use super::scheduling::Scheduling;
use super::table_entry::{StringRecord, ThreadRecord};

/// Record types, in bits 0 to 3 of the header ("Record Types" of the document).
pub(crate) mod kind {
    pub(crate) const METADATA: u64 = 0;
    pub(crate) const INITIALIZATION: u64 = 1;
    pub(crate) const STRING: u64 = 2;
    pub(crate) const THREAD: u64 = 3;
    pub(crate) const EVENT: u64 = 4;
    pub(crate) const BLOB: u64 = 5;
    pub(crate) const USERSPACE_OBJECT: u64 = 6;
    pub(crate) const KERNEL_OBJECT: u64 = 7;
    pub(crate) const SCHEDULING: u64 = 8;
    pub(crate) const LOG: u64 = 9;
    pub(crate) const PROFILER: u64 = 10;
    pub(crate) const LARGE: u64 = 15;
}

/// Maximum size of a normal (not large) record in words.
pub const MAX_RECORD_WORDS: usize = 4095;

/// A record that borrows its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// Trace or provider metadata.
    Metadata(MetadataRecord<'a>),
    /// Provider clock.
    Initialization(Initialization),
    /// String table entry.
    String(StringRecord<'a>),
    /// Thread table entry.
    Thread(ThreadRecord),
    /// Event.
    Event(EventRecord<'a>),
    /// Binary data.
    Blob(Blob<'a>),
    /// Userspace object name.
    UserspaceObject(UserspaceObject<'a>),
    /// Kernel object name.
    KernelObject(KernelObject<'a>),
    /// Thread scheduling on a processor.
    Scheduling(Scheduling<'a>),
    /// Log message.
    Log(LogMessage<'a>),
    /// Call stack sample, or a module.
    Profiler(Profiler<'a>),
    /// Binary data of any size.
    LargeBlob(LargeBlob<'a>),
    /// A record with an unknown type or subtype.
    Unknown(UnknownRecord<'a>),
}

/// A record with an unknown type or subtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRecord<'a> {
    /// All bytes, including the header.
    pub bytes: &'a [u8],
}

impl UnknownRecord<'_> {
    /// Returns the header.
    #[must_use]
    pub fn header(&self) -> u64 {
        self.bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// Returns the record type (bits 0 to 3 of the header).
    #[must_use]
    pub fn kind(&self) -> u8 {
        bits(self.header(), 0, 3) as u8
    }
}

/// Returns the record size in words, from its header.
#[inline(always)]
pub(crate) const fn size_words(header: u64) -> u64 {
    if bits(header, 0, 3) == kind::LARGE { bits(header, 4, 35) } else { bits(header, 4, 15) }
}

/// Minimum size of each record type in words, over its known subtypes.
const MINIMUM_WORDS: [u8; 16] = [1, 2, 1, 3, 2, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 3];

/// Returns the minimum record size in words for this header.
pub(crate) const fn minimum_words(header: u64) -> u64 {
    match bits(header, 0, 3) {
        kind::INITIALIZATION | kind::USERSPACE_OBJECT | kind::KERNEL_OBJECT | kind::LOG => 2,
        // Unknown subtypes can have any size.
        kind::EVENT if bits(header, 16, 19) < KINDS as u64 => 2,
        kind::SCHEDULING if bits(header, 60, 63) <= 2 => 2,
        kind::PROFILER if bits(header, 16, 19) <= 2 => 2,
        kind::LARGE if bits(header, 36, 39) == 0 && bits(header, 40, 43) <= 1 => 3,
        kind::THREAD => 3,
        _ => 1,
    }
}

/// Returns the reserved header bits for this record type. They must be 0 according to the document.
pub(crate) const fn reserved_bits(header: u64) -> u64 {
    const fn from(bit: u32) -> u64 {
        u64::MAX << bit
    }
    match bits(header, 0, 3) {
        kind::METADATA => match bits(header, 16, 19) {
            1 => from(60),
            2 => from(52),
            3 => from(56),
            _ => 0,
        },
        kind::INITIALIZATION => from(16),
        kind::STRING => from(48) | 1 << 47 | 1 << 31,
        kind::THREAD => from(24),
        kind::BLOB => from(56) | 1 << 47,
        kind::USERSPACE_OBJECT | kind::KERNEL_OBJECT => from(44),
        kind::SCHEDULING => match bits(header, 60, 63) {
            1 => from(40) & !from(60),
            2 => from(36) & !from(60),
            _ => 0,
        },
        kind::LOG => from(40) | 1 << 31,
        kind::PROFILER => match bits(header, 16, 19) {
            0 => from(60),
            1 => from(47),
            // The document reserves the flags of backtraces, but Fuchsia's library reads them.
            _ => 0,
        },
        kind::LARGE => from(44),
        _ => 0,
    }
}

impl<'a> Record<'a> {
    /// Returns the bytes of the record at the start of `input`. `offset` is its position in the file.
    ///
    /// # Errors
    /// If the header is truncated or its size is impossible. The end of the record is then unknown.
    #[inline(always)]
    pub fn frame(input: &'a [u8], offset: u64) -> Result<&'a [u8], FxtError> {
        let Some(header) = input.first_chunk() else {
            return Err(FxtError::new(Rule::RecordHeaderTruncated, offset, 8, input.len() as u64));
        };
        let header = u64::from_le_bytes(*header);
        let size = size_words(header);
        // Ignores subtypes at first: most records have a known subtype.
        if size < u64::from(MINIMUM_WORDS[(header & 0xf) as usize]) && size < minimum_words(header) {
            return Err(FxtError::new(Rule::RecordSizeMinimum, offset, minimum_words(header), size));
        }
        let bytes = usize::try_from(size * 8).ok().and_then(|size| input.get(..size));
        bytes.ok_or_else(|| FxtError::new(Rule::RecordTruncated, offset, size * 8, input.len() as u64))
    }

    /// Reads a record from its bytes, as returned by [`Record::frame`]. `offset` is its position in the file.
    ///
    /// # Errors
    /// If the content does not fit the size. The record can be skipped.
    #[inline(always)]
    pub fn read(frame: &'a [u8], offset: u64) -> Result<Self, FxtError> {
        Self::read_all(frame, offset).map(|(record, _)| record)
    }

    /// Like [`Record::read`], but also returns the bytes after the known content.
    #[inline(always)]
    pub(super) fn read_all(frame: &'a [u8], offset: u64) -> Result<(Self, RecordContent<'a>), FxtError> {
        let mut content = RecordContent::new(frame, offset);
        let header = content.word()?;
        let rest = &mut content;
        // Most records are events.
        if bits(header, 0, 3) == kind::EVENT
            && let Some(event) = EventRecord::read(header, rest)?
        {
            return Ok((Self::Event(event), content));
        }
        let record = match bits(header, 0, 3) {
            kind::STRING => Some(Self::String(StringRecord::read(header, rest)?)),
            kind::THREAD => Some(Self::Thread(ThreadRecord::read(header, rest)?)),
            kind::METADATA => MetadataRecord::read(header, rest)?.map(Self::Metadata),
            kind::INITIALIZATION => Some(Self::Initialization(Initialization::read(rest)?)),
            kind::BLOB => Some(Self::Blob(Blob::read(header, rest)?)),
            kind::USERSPACE_OBJECT => Some(Self::UserspaceObject(UserspaceObject::read(header, rest)?)),
            kind::KERNEL_OBJECT => Some(Self::KernelObject(KernelObject::read(header, rest)?)),
            kind::SCHEDULING => Scheduling::read(header, rest)?.map(Self::Scheduling),
            kind::LOG => Some(Self::Log(LogMessage::read(header, rest)?)),
            kind::PROFILER => Profiler::read(header, rest)?.map(Self::Profiler),
            kind::LARGE => LargeBlob::read(header, rest)?.map(Self::LargeBlob),
            _ => None,
        };
        Ok(match record {
            Some(record) => (record, content),
            None => (Self::Unknown(UnknownRecord { bytes: frame }), RecordContent::new(&[], offset)),
        })
    }

    /// Returns the arguments, or `None` if the record type lacks arguments.
    #[cfg(feature = "reader")]
    #[inline(always)]
    pub(super) fn arguments(&self) -> Option<Arguments<'a>> {
        Some(match self {
            Self::Event(event) => event.arguments,
            Self::UserspaceObject(object) => object.arguments,
            Self::KernelObject(object) => object.arguments,
            Self::Scheduling(Scheduling::Switch(switch)) => switch.arguments,
            Self::Scheduling(Scheduling::Wakeup(wakeup)) => wakeup.arguments,
            Self::LargeBlob(blob) => blob.metadata?.arguments,
            _ => return None,
        })
    }
}
