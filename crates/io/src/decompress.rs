//! Compressed data, recognised by its first bytes, unpacked within limits.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use crate::{IoError, IoLimits};

/// What the dictionary of an xz stream may take.
const XZ_MEMORY: u64 = 512 << 20;

/// How data are packed.
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
    /// Recognises the first bytes of a file; [`HEAD`] of them are enough.
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

    /// What a person calls it.
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

/// How many bytes [`Packing::of`] looks at.
pub(crate) const HEAD: usize = 512;

/// A tar archive begins with a header block whose checksum is right; the word "ustar" is newer
/// than the format.
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

/// How many bytes one tree has become so far, and out of how many.
pub(crate) struct Budget<'a> {
    pub(crate) path: &'a str,
    pub(crate) limits: &'a IoLimits,
    used: u64,
    /// Size of the archive or compressed file, as far as it was read; None: nothing is packed.
    packed: Option<u64>,
}

impl<'a> Budget<'a> {
    pub(crate) fn new(path: &'a str, limits: &'a IoLimits, packed: Option<u64>) -> Self {
        Self { path, limits, used: 0, packed }
    }

    /// Size of what was packed.
    pub(crate) fn packed(&self) -> Option<u64> {
        self.packed
    }

    /// Reads all of `reader`. An error of the reader after the first byte is returned as text beside
    /// what could be read.
    pub(crate) fn read(&mut self, reader: impl Read) -> Result<(Vec<u8>, Option<io::Error>), IoError> {
        self.read_counting(reader, || None)
    }

    /// Reads all of `reader`, which unpacks what it counts in `consumed`.
    fn read_counting(
        &mut self,
        mut reader: impl Read,
        consumed: impl Fn() -> Option<u64>,
    ) -> Result<(Vec<u8>, Option<io::Error>), IoError> {
        const STEP: u64 = 64 << 10;
        let mut bytes = Vec::new();
        loop {
            let before = bytes.len() as u64;
            let result = reader.by_ref().take(STEP).read_to_end(&mut bytes);
            let grown = bytes.len() as u64 - before;
            self.packed = self.packed.max(consumed());
            self.allows(grown)?;
            self.used = self.used.saturating_add(grown);
            match result {
                Err(error) => return Ok((bytes, Some(error))),
                Ok(_) if grown < STEP => return Ok((bytes, None)),
                Ok(_) => {}
            }
        }
    }

    /// Whether so many bytes more may come.
    pub(crate) fn allows(&self, bytes: u64) -> Result<(), IoError> {
        let used = self.used.saturating_add(bytes);
        if used > self.limits.decompressed_bytes {
            return Err(self.exceeded());
        }
        match self.packed.map(|packed| (packed, self.limits.unpacked(packed))) {
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
            limit: self.limits.decompressed_bytes,
        }
    }
}

/// Unpacks all of `reader`. Data that end early or break off are returned as far as they go, with
/// what is wrong.
pub(crate) fn unpack(
    packing: Packing,
    reader: impl Read,
    budget: &mut Budget<'_>,
) -> Result<(Vec<u8>, Option<String>), IoError> {
    let (counter, arrived) = (Rc::new(Cell::new(0u64)), Rc::new(Cell::new(0u64)));
    let reader = Counting { reader, counter: Rc::clone(&arrived) };
    let reader = BufReader::with_capacity(256 << 10, reader);
    let reader = Counting { reader, counter: Rc::clone(&counter) };
    // What has come is a better measure than what is used of it: what comes first may be zeros.
    let consumed = || Some(arrived.get());
    let (bytes, error) = match packing {
        Packing::Gzip => budget.read_counting(flate2::bufread::MultiGzDecoder::new(reader), consumed)?,
        Packing::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(reader)
                .map_err(|error| IoError::system(budget.path, "file", error))?;
            budget.read_counting(decoder, consumed)?
        }
        Packing::Xz => {
            let flags = liblzma::stream::CONCATENATED;
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, flags).map_err(|error| {
                IoError::Damaged {
                    path: budget.path.to_owned(),
                    what: packing.name(),
                    problem: error.to_string(),
                }
            })?;
            budget.read_counting(liblzma::bufread::XzDecoder::new_stream(reader, stream), consumed)?
        }
        Packing::Bzip2 | Packing::Zip | Packing::Tar => {
            return Err(IoError::Unsupported { path: budget.path.to_owned(), what: packing.name() });
        }
    };
    match error {
        Some(error) if bytes.is_empty() => Err(IoError::Damaged {
            path: budget.path.to_owned(),
            what: packing.name(),
            problem: error.to_string(),
        }),
        Some(error) => {
            let problem = format!(
                "the {} cannot be unpacked beyond byte {} ({error}); what comes before is read",
                packing.name(),
                counter.get()
            );
            Ok((bytes, Some(problem)))
        }
        None => Ok((bytes, None)),
    }
}

/// Counts what is taken from a reader.
struct Counting<R> {
    reader: R,
    counter: Rc<Cell<u64>>,
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
