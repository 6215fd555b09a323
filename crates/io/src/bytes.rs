//! Bytes that are cheap to hand around.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

/// Files up to this size are read: a mapping costs more than it saves, and the system only grants
/// a limited number of them.
const READ_UP_TO: u64 = 64 << 10;

/// Bytes of a file, mapped or owned. Clones share them.
///
/// See the [crate] on mapped files that become shorter while they are read.
#[derive(Clone)]
pub struct Bytes {
    storage: Arc<Storage>,
    range: Range<usize>,
}

enum Storage {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    /// The content of a plain file.
    ///
    /// # Errors
    /// If it cannot be opened, or is a folder, a pipe or a device.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        // Before it is opened: to open a pipe may wait forever.
        plain(&std::fs::metadata(path)?)?;
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        plain(&metadata)?;
        let len = metadata.len();
        if len > READ_UP_TO {
            // SAFETY: the mapping is private and only ever read, through `&[u8]`. Soundness asks
            // that nobody changes the bytes meanwhile. No process can promise that for another
            // one; all readers of this workspace therefore check what they load each time, keep
            // no assumption about bytes that they looked at before, and never read beyond the
            // length taken here. What remains is the SIGBUS that the documentation tells about.
            let mapped = unsafe { Mmap::map(&file) };
            // Some file systems cannot map, and a process may have no mapping left: then read.
            if let Ok(mapped) = mapped {
                let range = 0..mapped.len();
                return Ok(Self { storage: Arc::new(Storage::Mapped(mapped)), range });
            }
        }
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
        // Not more than the file had: a tracer may be writing faster than this reads.
        Read::by_ref(&mut file).take(len).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }

    /// A part of these bytes; what lies beyond their end is left out.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let len = self.len();
        let begin = range.start.min(len);
        let end = range.end.clamp(begin, len);
        Self { storage: Arc::clone(&self.storage), range: self.range.start + begin..self.range.start + end }
    }
}

fn plain(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let found = if metadata.is_dir() { "a folder" } else { crate::tree::special(metadata.file_type()) };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("expected a plain file, found {found}")))
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let all: &[u8] = match &*self.storage {
            Storage::Mapped(mapped) => mapped,
            Storage::Owned(owned) => owned,
        };
        &all[self.range.clone()]
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { storage: Arc::new(Storage::Owned(bytes)), range }
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &*self.storage {
            Storage::Mapped(_) => "mapped",
            Storage::Owned(_) => "owned",
        };
        write!(f, "Bytes({kind}, {} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn maps_large_and_reads_small_files() {
        let folder = Folder::new("bytes");
        let large: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        std::fs::write(folder.join("large"), &large).unwrap();
        std::fs::write(folder.join("empty"), b"").unwrap();
        let bytes = Bytes::of_file(&folder.join("large")).unwrap();
        assert_eq!(&*bytes, &large[..]);
        assert!(format!("{bytes:?}").contains("mapped"));
        let part = bytes.slice(10..20).slice(5..100);
        assert_eq!(&*part, &large[15..20]);
        assert!(bytes.slice(300_000..300_001).is_empty());
        assert!(Bytes::of_file(&folder.join("empty")).unwrap().is_empty());
        assert!(Bytes::of_file(folder.path()).unwrap_err().to_string().contains("a folder"));
    }

    #[test]
    fn is_send_and_sync() {
        fn check<T: Send + Sync>() {}
        check::<Bytes>();
    }
}
