//! Compressed data, recognized by its first bytes and unpacked within limits.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use crate::store::Store;
use crate::unpack_budget::UnpackBudget;
use crate::{Bytes, IoError};

/// Maximum dictionary memory for an xz stream in bytes.
const XZ_MEMORY: u64 = 512 << 20;

ichnos_model::named_enum! {
    /// Packing of data: archive or compression format.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Packing {
        Gzip = "gzip data",
        Zstd = "Zstandard data",
        Xz = "xz data",
        Bzip2 = "bzip2 data",
        Zip = "a zip archive",
        Tar = "a tar archive",
    }
}

impl Packing {
    /// Recognizes the first bytes of a file. [`HEAD`] bytes are enough.
    pub(crate) fn from_head(head: &[u8]) -> Option<Self> {
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

    /// Returns `true` for single-file compression, which can be unpacked.
    pub(crate) fn is_of_one_file(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd | Self::Xz | Self::Bzip2)
    }
}

/// Number of bytes that [`Packing::from_head`] needs.
pub(crate) const HEAD: usize = 512;

/// Recognizes a tar archive by the checksum of its first header block. The word "ustar" is newer than the format.
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

/// Unpacked data.
pub(crate) struct UnpackedData {
    pub(crate) bytes: Bytes,
    /// Reason why data is missing, if any.
    pub(crate) problem: Option<String>,
    /// `true` if there may be more data that was not requested.
    pub(crate) goes_on: bool,
}

/// Unpacks all of `reader`, or the first `beginning` bytes. Truncated or damaged data is unpacked as far as possible,
/// and returned with the problem.
pub(crate) fn unpack(
    packing: Packing,
    reader: impl Read,
    beginning: Option<u64>,
    budget: &mut UnpackBudget<'_>,
) -> Result<UnpackedData, IoError> {
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
    // Arrived bytes are a better measure than consumed bytes: the data may start with zeros.
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
        Some(problem) => Ok(UnpackedData {
            bytes: store.finish(budget)?,
            problem: Some(format!("{problem}; everything before is read")),
            goes_on: false,
        }),
        None => {
            // Checking for more data is not worth the effort.
            let goes_on = store.len() == most;
            Ok(UnpackedData { bytes: store.finish(budget)?, problem: None, goes_on })
        }
    }
}

/// Unpacks at most `size` bytes of Zstandard data in memory. Returns `None` if the data are damaged.
#[must_use]
pub fn unpack_zstd(bytes: &[u8], size: u64) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    zstd::stream::read::Decoder::with_buffer(bytes).ok()?.take(size).read_to_end(&mut unpacked).ok()?;
    Some(unpacked)
}

/// Returns a decoder for compressed data.
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
        Packing::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(reader)),
        Packing::Zip | Packing::Tar => {
            return Err(IoError::Unsupported { path: budget.path.to_owned(), what: packing.name() });
        }
    })
}

/// Returns the unpacked size modulo 2^32, if the compressed data contains it. If the data consists of several parts, it
/// is the size of a single part.
pub(crate) fn recorded_size(packing: Packing, bytes: &[u8]) -> Option<u32> {
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
