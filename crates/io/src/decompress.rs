//! Compressed data, recognized by its first bytes and unpacked within limits.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::rc::Rc;

use crate::store::Store;
use crate::{Bytes, IoError, ScanStep, TreeOptions};

/// Maximum memory for the dictionary of an xz stream in bytes.
const XZ_MEMORY: u64 = 512 << 20;

/// Packing of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
    Zip,
    Tar,
}

impl Packing {
    /// Recognizes the first bytes of a file; [`HEAD`] of them are enough.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        let zstd_frame = matches!(head.first_chunk(), Some([0x28, 0xb5, 0x2f, 0xfd]));
        let zstd_skippable = matches!(head.first_chunk(), Some([0x50..=0x5f, 0x2a, 0x4d, 0x18]));
        if head.starts_with(&[0x1f, 0x8b, 0x08]) {
            Some(Self::Gzip)
        } else if zstd_frame || zstd_skippable {
            Some(Self::Zstd)
        } else if head.starts_with(b"\xfd7zXZ\0") {
            Some(Self::Xz)
        } else if head.starts_with(b"BZh") && head.get(4..10) == Some(&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59]) {
            Some(Self::Bzip2)
        } else if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            Some(Self::Zip)
        } else if is_tar(head) {
            Some(Self::Tar)
        } else {
            None
        }
    }

    /// Returns `true` for compressed data of one file, which can be unpacked.
    pub(crate) fn is_of_one_file(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd | Self::Xz)
    }

    /// Returns its name for display.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip data",
            Self::Zstd => "Zstandard data",
            Self::Xz => "xz data",
            Self::Bzip2 => "bzip2 data",
            Self::Zip => "a zip archive",
            Self::Tar => "a tar archive",
        }
    }
}

/// Number of bytes that [`Packing::of`] needs.
pub(crate) const HEAD: usize = 512;

/// Recognizes a tar archive by the checksum of its first header block; the word "ustar" is newer than the
/// format.
fn is_tar(head: &[u8]) -> bool {
    let Some(block) = head.get(..512) else { return false };
    let digits: Vec<u8> = block[148..156].iter().copied().filter(u8::is_ascii_digit).collect();
    let only_octal = block[148..156].iter().all(|b| matches!(b, b'0'..=b'7' | b' ' | 0));
    if digits.is_empty() || !only_octal {
        return false;
    }
    let stored = digits.iter().fold(0u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(i, byte)| if (148..156).contains(&i) { u32::from(b' ') } else { u32::from(*byte) })
        .sum();
    sum == stored
}

/// Counts the unpacked bytes of one tree, and the packed bytes they come from.
pub(crate) struct UnpackBudget<'a> {
    pub(crate) path: &'a str,
    pub(crate) options: &'a TreeOptions,
    used: u64,
    /// Number of these bytes in memory.
    in_memory: u64,
    /// Size of the archive or compressed file, as far as read; `None` without packing.
    packed: Option<u64>,
    /// Number of packed bytes that were read, and their total, if known.
    arrived: u64,
    total: Option<u64>,
}

impl<'a> UnpackBudget<'a> {
    pub(crate) fn new(path: &'a str, options: &'a TreeOptions, packed: Option<u64>) -> Self {
        Self {
            path,
            options,
            used: 0,
            in_memory: 0,
            packed,
            arrived: 0,
            total: packed.filter(|size| *size > 0),
        }
    }

    /// Returns the packed size.
    pub(crate) fn packed(&self) -> Option<u64> {
        self.packed
    }

    /// Records the number of packed bytes read so far.
    pub(crate) fn arrived(&mut self, packed: Option<u64>) {
        self.packed = self.packed.max(packed);
        self.arrived = self.arrived.max(packed.unwrap_or(0));
    }

    /// Returns the number of bytes that may still be kept in memory.
    pub(crate) fn in_memory(&self) -> u64 {
        self.options.memory_bytes.saturating_sub(self.in_memory)
    }

    /// Records that this number of bytes stays in memory.
    pub(crate) fn keep_in_memory(&mut self, bytes: u64) {
        self.in_memory = self.in_memory.saturating_add(bytes);
    }

    /// Returns the directory of temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.options.temp_dir.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Makes the error of a temporary file.
    pub(crate) fn temporary_failed(&self, source: io::Error) -> IoError {
        IoError::Temporary {
            path: self.path.to_owned(),
            directory: self.temporary().to_string_lossy().into_owned(),
            source,
        }
    }

    /// Makes the error of missing memory for this number of bytes.
    pub(crate) fn no_memory(&self, bytes: u64) -> IoError {
        IoError::Memory { path: self.path.to_owned(), bytes }
    }

    /// Records that this number of further bytes was unpacked.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), IoError> {
        self.allows(bytes)?;
        let before = self.used / SAID_EVERY;
        self.used = self.used.saturating_add(bytes);
        if self.used / SAID_EVERY != before {
            let step = ScanStep::Unpacked { unpacked: self.used, packed: self.arrived, total: self.total };
            self.options.progress.report(step);
        }
        Ok(())
    }

    /// Checks that this number of further bytes is allowed.
    pub(crate) fn allows(&self, bytes: u64) -> Result<(), IoError> {
        let limits = &self.options.limits;
        let used = self.used.saturating_add(bytes);
        if used > limits.decompressed_bytes {
            return Err(self.exceeded());
        }
        match self.packed.map(|packed| (packed, limits.unpacked(packed))) {
            Some((packed, limit)) if used > limit => {
                Err(IoError::Ratio { path: self.path.to_owned(), packed, limit })
            }
            _ => Ok(()),
        }
    }

    fn exceeded(&self) -> IoError {
        IoError::Limit {
            path: self.path.to_owned(),
            what: "the number of unpacked bytes",
            name: "decompressed_bytes",
            limit: self.options.limits.decompressed_bytes,
        }
    }

    /// Makes the error of unreadable data.
    pub(crate) fn damaged(&self, what: &'static str, problem: impl ToString) -> IoError {
        IoError::Damaged { path: self.path.to_owned(), what, problem: problem.to_string() }
    }
}

/// Interval of progress reports, in unpacked bytes.
const SAID_EVERY: u64 = 1 << 20;

/// Unpacked data.
pub(crate) struct Unpacked {
    pub(crate) bytes: Bytes,
    /// Reason why data is missing, if any.
    pub(crate) problem: Option<String>,
    /// `true` if there may be more data that was not requested.
    pub(crate) goes_on: bool,
}

/// Unpacks all of `reader`, or the first `beginning` bytes. Truncated or damaged data is returned as far as
/// it can be unpacked, with the problem.
pub(crate) fn unpack(
    packing: Packing,
    reader: impl Read,
    beginning: Option<u64>,
    budget: &mut UnpackBudget<'_>,
) -> Result<Unpacked, IoError> {
    let (counter, arrived) = (Rc::new(Cell::new(0u64)), Rc::new(Cell::new(0u64)));
    let reader = Counting { reader, counter: Rc::clone(&arrived) };
    let mut reader = BufReader::with_capacity(256 << 10, reader);
    let mut store = Store::default();
    let most = beginning.unwrap_or(u64::MAX);
    // If reading fails, the decoder reports it.
    if let (Packing::Zstd, Ok(head)) = (packing, reader.fill_buf())
        && let Ok(Some(size)) = zstd::zstd_safe::get_frame_content_size(head)
    {
        store.expect(size.min(most), budget);
    }
    let reader = Counting { reader, counter: Rc::clone(&counter) };
    // Arrived bytes are a better measure than consumed ones: the first data may be zeros.
    let consumed = || Some(arrived.get());
    let error = store.read_counting(decoder(packing, reader, budget)?.take(most), budget, consumed)?;
    let (what, end) = (packing.name(), counter.get());
    let problem = error.map(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            format!("the file is truncated at byte {end}, within the {what}")
        }
        _ => format!("the {what} cannot be unpacked after byte {end} of the file: {error}"),
    });
    match problem {
        Some(problem) if store.is_empty() => Err(budget.damaged(what, problem)),
        Some(problem) => Ok(Unpacked {
            bytes: store.finish(budget)?,
            problem: Some(format!("{problem}; everything before is read")),
            goes_on: false,
        }),
        None => {
            // Checking for more data is not worth the effort.
            let goes_on = store.len() == most;
            Ok(Unpacked { bytes: store.finish(budget)?, problem: None, goes_on })
        }
    }
}

/// Returns a decoder of compressed data.
pub(crate) fn decoder<'r>(
    packing: Packing,
    reader: impl BufRead + 'r,
    budget: &UnpackBudget<'_>,
) -> Result<Box<dyn Read + 'r>, IoError> {
    Ok(match packing {
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        Packing::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(reader);
            Box::new(decoder.map_err(|error| IoError::system(budget.path, "file", error))?)
        }
        Packing::Xz => {
            let flags = liblzma::stream::CONCATENATED;
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, flags)
                .map_err(|error| budget.damaged(packing.name(), error))?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(reader, stream))
        }
        Packing::Bzip2 | Packing::Zip | Packing::Tar => {
            return Err(IoError::Unsupported { path: budget.path.to_owned(), what: packing.name() });
        }
    })
}

/// Returns the size of the unpacked data modulo 2^32, if compressed data contains it. If the data consists of
/// several parts, it is the size of one of them.
pub(crate) fn said_size(packing: Packing, bytes: &[u8]) -> Option<u32> {
    match packing {
        Packing::Gzip => bytes.last_chunk().map(|size| u32::from_le_bytes(*size)),
        Packing::Zstd => {
            zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten().map(|size| size as u32)
        }
        _ => None,
    }
}

/// Counts the bytes read from a reader.
pub(crate) struct Counting<R> {
    pub(crate) reader: R,
    pub(crate) counter: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.counter.set(self.counter.get() + count as u64);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counting<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.counter.set(self.counter.get() + amount as u64);
        self.reader.consume(amount);
    }
}
