//! Object names, BLOBs and log messages ("Userspace object record", "Kernel object record", "BLOB record", "Large BLOB
//! record" and "Log record" of the document).

use super::argument::Arguments;
use super::content::{RecordContent, bits};
use super::error::FxtError;
use super::reference::{ProcessRef, StringRef, ThreadRef};

/// Name of a userspace object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserspaceObject<'a> {
    /// Object address.
    pub pointer: u64,
    /// Process.
    pub process: ProcessRef,
    /// Name.
    pub name: StringRef<'a>,
    /// Arguments.
    pub arguments: Arguments<'a>,
}

impl<'a> UserspaceObject<'a> {
    pub(super) fn read(header: u64, content: &mut RecordContent<'a>) -> Result<Self, FxtError> {
        let pointer = content.word()?;
        let process = content.process(bits(header, 16, 23))?;
        let name = content.string(bits(header, 24, 39))?;
        let arguments = Arguments::take(content, bits(header, 40, 43))?;
        Ok(Self { pointer, process, name, arguments })
    }
}

/// Name of a kernel object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelObject<'a> {
    /// Kernel object id.
    pub koid: u64,
    /// Object type: a `ZX_OBJ_TYPE_...` constant.
    pub kind: u8,
    /// Name, not always UTF-8.
    pub name: StringRef<'a>,
    /// Arguments.
    pub arguments: Arguments<'a>,
}

/// Kernel object type for processes: `ZX_OBJ_TYPE_PROCESS`.
pub const PROCESS: u8 = 1;

/// Kernel object type for threads: `ZX_OBJ_TYPE_THREAD`.
pub const THREAD: u8 = 2;

impl<'a> KernelObject<'a> {
    pub(super) fn read(header: u64, content: &mut RecordContent<'a>) -> Result<Self, FxtError> {
        let koid = content.word()?;
        let name = content.string(bits(header, 24, 39))?;
        let arguments = Arguments::take(content, bits(header, 40, 43))?;
        Ok(Self { koid, kind: bits(header, 16, 23) as u8, name, arguments })
    }
}

/// A log message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogMessage<'a> {
    /// Time in ticks.
    pub ticks: u64,
    /// Thread.
    pub thread: ThreadRef,
    /// Message, usually UTF-8.
    pub message: &'a [u8],
}

impl<'a> LogMessage<'a> {
    pub(super) fn read(header: u64, content: &mut RecordContent<'a>) -> Result<Self, FxtError> {
        let ticks = content.word()?;
        let thread = content.thread(bits(header, 32, 39))?;
        let message = content.stream(bits(header, 16, 30))?;
        Ok(Self { ticks, thread, message })
    }
}

/// Binary data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blob<'a> {
    /// Name, the same for all parts of one BLOB.
    pub name: StringRef<'a>,
    /// Type: 1 for data, 2 for last branch records, 3 for a Perfetto trace.
    pub kind: u8,
    /// Data.
    pub data: &'a [u8],
}

impl<'a> Blob<'a> {
    pub(super) fn read(header: u64, content: &mut RecordContent<'a>) -> Result<Self, FxtError> {
        let name = content.string(bits(header, 16, 31))?;
        let data = content.stream(bits(header, 32, 46))?;
        Ok(Self { name, kind: bits(header, 48, 55) as u8, data })
    }
}

/// Binary data of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargeBlob<'a> {
    /// Category.
    pub category: StringRef<'a>,
    /// Name.
    pub name: StringRef<'a>,
    /// Time, thread and arguments, in format 0.
    pub metadata: Option<BlobMetadata<'a>>,
    /// Data.
    pub data: &'a [u8],
    /// Byte offset of the size word in the input. The data follows it.
    pub size_offset: u64,
}

/// Time, thread and arguments for a large BLOB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobMetadata<'a> {
    /// Time in ticks.
    pub ticks: u64,
    /// Thread.
    pub thread: ThreadRef,
    /// Arguments.
    pub arguments: Arguments<'a>,
}

impl<'a> LargeBlob<'a> {
    /// Reads a large BLOB from the record content. Returns `None` if the record type or the BLOB format is unknown.
    pub(super) fn read(header: u64, content: &mut RecordContent<'a>) -> Result<Option<Self>, FxtError> {
        let has_metadata = match (bits(header, 36, 39), bits(header, 40, 43)) {
            (0, 0) => true,
            (0, 1) => false,
            _ => return Ok(None),
        };
        let format = content.word()?;
        let category = content.string(bits(format, 0, 15))?;
        let name = content.string(bits(format, 16, 31))?;
        let metadata = if has_metadata {
            let ticks = content.word()?;
            let thread = content.thread(bits(format, 36, 43))?;
            let arguments = Arguments::take(content, bits(format, 32, 35))?;
            Some(BlobMetadata { ticks, thread, arguments })
        } else {
            None
        };
        let size_offset = content.offset();
        let size = content.word()?;
        let data = content.stream(size)?;
        Ok(Some(Self { category, name, metadata, data, size_offset }))
    }
}
