//! Shared bytes.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::mapping::Mapping;

/// Maximum size of files that are read instead of mapped. For small files, a mapping costs more than it saves, and the
/// system limits the number of mappings.
const READ_UP_TO: u64 = 64 << 10;

/// File content, mapped or owned. Clones share it.
///
/// Files larger than 64 KiB are mapped. A mapped file may shrink while it is read. After a call to
/// [`handle_bus_errors`](crate::handle_bus_errors), reading continues with zeros, and [`Bytes::lost`] reports them.
/// Without the call, this ends the process on Unix.
#[derive(Clone)]
pub struct Bytes {
    /// Start of the bytes in the data of `storage`, found once so that readers can access them for each event without
    /// cost.
    begin: NonNull<u8>,
    len: usize,
    storage: Arc<Storage>,
}

enum Storage {
    Mapped(Mapping),
    Owned(Vec<u8>),
}

// SAFETY: the bytes are only read, and they belong to `storage`, which both threads keep alive and which is
// itself `Send` and `Sync`.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// Returns the content of a plain file.
    ///
    /// # Errors
    /// Fails if it cannot be opened, is a directory, a pipe or a device, or its reported size exceeds both the address
    /// space and the memory.
    pub fn from_file(path: &Path) -> io::Result<Self> {
        // Check before opening, because opening a pipe may block forever.
        plain(&std::fs::metadata(path)?)?;
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        plain(&metadata)?;
        let len = metadata.len();
        if len > READ_UP_TO {
            // Some file systems do not support mappings, and a process may have no mapping left. Then the file is read.
            if let Ok(mapped) = Mapping::new(&file, path, &metadata) {
                return Ok(Self::from_storage(Storage::Mapped(mapped)));
            }
        }
        let mut bytes = room_for(len)?;
        // Read no more than the initial size: a tracer may write faster than this reads.
        Read::by_ref(&mut file).take(len).read_to_end(&mut bytes)?;
        Ok(Self::from_storage(Storage::Owned(bytes)))
    }

    /// Returns up to `most` bytes from the start of a plain file, to recognize it.
    pub(crate) fn beginning_of_file(path: &Path, most: usize) -> io::Result<Self> {
        plain(&std::fs::metadata(path)?)?;
        let mut bytes = room_for(most as u64)?;
        File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }

    /// Returns the content of an unnamed file of this process.
    pub(crate) fn from_temporary(file: &File) -> io::Result<Self> {
        Ok(Self::from_storage(Storage::Mapped(Mapping::from_temporary(file)?)))
    }

    fn from_storage(storage: Storage) -> Self {
        let storage = Arc::new(storage);
        let all: &[u8] = match &*storage {
            Storage::Mapped(mapped) => mapped,
            Storage::Owned(owned) => owned,
        };
        Self { begin: NonNull::from(all).cast(), len: all.len(), storage }
    }

    /// Returns a part of these bytes, clamped to their length.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let begin = range.start.min(self.len);
        let part = &self[begin..range.end.clamp(begin, self.len)];
        Self { begin: NonNull::from(part).cast(), len: part.len(), storage: Arc::clone(&self.storage) }
    }

    /// Prefetches the bytes around `at` into the processor's caches, without waiting for them. Does nothing if this is
    /// not supported, or beyond the end.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(byte) = self.get(at..) {
            // SAFETY: the instruction is part of every x86-64 processor, has no visible effects, and accepts
            // any address.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(byte.as_ptr().cast())
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    /// Marks these bytes as not needed soon. If they are part of a mapped file, for example an archive member, their
    /// pages are returned to the system after enough parts were released. They are read again on the next access.
    ///
    /// Use it when reading very many members. It costs next to nothing.
    pub fn release(&self) {
        if let Storage::Mapped(mapping) = &*self.storage
            && self.len < mapping.len()
        {
            mapping.release(self.len);
        }
    }

    /// Like [`release`](Self::release), for the first `len` bytes, even if they are a whole file.
    ///
    /// Use it when reading through large files, which would otherwise stay in memory.
    pub fn release_part(&self, len: usize) {
        if let Storage::Mapped(mapping) = &*self.storage {
            mapping.release(len);
        }
    }

    /// Returns the sparse file that contains these bytes, and their offset in it.
    pub(crate) fn sparse_file(&self) -> Option<(File, usize)> {
        let Storage::Mapped(mapping) = &*self.storage else { return None };
        Some((mapping.sparse_file()?, self.begin.addr().get() - mapping.as_ptr().addr()))
    }

    /// Returns the range from the first to the last byte that could not be read and is zero instead, because the file
    /// has shrunk since it was mapped, or its device fails. Empty without losses.
    ///
    /// This costs next to nothing. It does not detect zeros that were not read yet, nor zeros between the end of a
    /// shortened file and the end of that memory page.
    #[must_use]
    pub fn lost(&self) -> Range<usize> {
        let Storage::Mapped(mapping) = &*self.storage else { return 0..0 };
        let lost = mapping.lost();
        if lost.is_empty() {
            return lost;
        }
        let begin = self.begin.addr().get() - mapping.as_ptr().addr();
        let within = |at: usize| at.saturating_sub(begin).min(self.len);
        within(lost.start)..within(lost.end)
    }

    /// Like [`Bytes::lost`], but checks the current file length, and so detects all bytes missing at its end.
    #[must_use]
    pub fn look_for_loss(&self) -> Range<usize> {
        if let Storage::Mapped(mapping) = &*self.storage {
            mapping.look_for_loss();
        }
        self.lost()
    }
}

/// Reserves memory. A sparse file can have any length, so too little memory is an error instead of an abort.
fn room_for(len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let reserved = bytes.try_reserve_exact(usize::try_from(len).unwrap_or(usize::MAX));
    reserved.map_err(|_| {
        let message = format!("not enough memory to hold {len} bytes");
        io::Error::new(io::ErrorKind::OutOfMemory, message)
    })?;
    Ok(bytes)
}

fn plain(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let found =
        if metadata.is_dir() { "a directory" } else { crate::plain_file::special(metadata.file_type()) };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("expected a plain file, found {found}")))
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `begin` and `len` were taken from a slice of the data in `storage`, which neither moves nor changes.
        // A mapping stays in place, and nothing can reach the vector to let it grow. Both live as long as `self` keeps
        // `storage`.
        unsafe { std::slice::from_raw_parts(self.begin.as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from_storage(Storage::Owned(bytes))
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
    use crate::testing::TestDirectory;

    #[test]
    fn maps_large_and_reads_small_files() {
        let directory = TestDirectory::new("bytes");
        let large: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        std::fs::write(directory.join("large"), &large).unwrap();
        std::fs::write(directory.join("empty"), b"").unwrap();
        let bytes = Bytes::from_file(&directory.join("large")).unwrap();
        assert_eq!(&*bytes, &large[..]);
        assert!(format!("{bytes:?}").contains("mapped"));
        let part = bytes.slice(10..20).slice(5..100);
        assert_eq!(&*part, &large[15..20]);
        assert!(bytes.slice(300_000..300_001).is_empty());
        assert!(Bytes::from_file(&directory.join("empty")).unwrap().is_empty());
        assert!(Bytes::from_file(directory.path()).unwrap_err().to_string().contains("a directory"));
    }

    #[test]
    fn a_length_beyond_all_memory_is_an_error() {
        for len in [1 << 62, u64::MAX] {
            assert_eq!(room_for(len).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        }
    }

    /// Also runs under Miri.
    #[test]
    fn parts_of_owned_bytes_live_on() {
        let bytes = Bytes::from((0..100).collect::<Vec<u8>>());
        let part = bytes.slice(10..20);
        drop(bytes);
        let empty = part.slice(10..30);
        let part = std::thread::spawn(move || part.clone().slice(1..3)).join().unwrap();
        assert_eq!((&*part, &*empty), (&[11, 12][..], &[][..]));
        assert!(part.look_for_loss().is_empty() && Bytes::default().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn parts_know_what_is_lost_of_them() {
        crate::handle_bus_errors().unwrap();
        let directory = TestDirectory::new("lost");
        let path = directory.join("file");
        std::fs::write(&path, vec![1; 200_000]).unwrap();
        let bytes = Bytes::from_file(&path).unwrap();
        let (early, late) = (bytes.slice(0..100_000), bytes.slice(90_000..150_000));
        assert!(bytes.look_for_loss().is_empty());
        File::options().write(true).open(&path).unwrap().set_len(100_010).unwrap();
        assert_eq!((late[10_010], late[50_000]), (0, 0));
        assert_eq!((early.lost().is_empty(), bytes.lost().is_empty()), (true, false));
        assert_eq!(late.look_for_loss(), 10_010..60_000);
        assert_eq!(bytes.lost(), 100_010..200_000);
        assert!(early.lost().is_empty());
        assert!(Bytes::from(vec![1]).look_for_loss().is_empty());
    }

    #[test]
    fn released_bytes_are_still_there() {
        crate::handle_bus_errors().unwrap();
        let directory = TestDirectory::new("released");
        let path = directory.join("file");
        std::fs::write(&path, vec![7; 40 << 20]).unwrap();
        let bytes = Bytes::from_file(&path).unwrap();
        for i in 0..40 {
            let part = bytes.slice(i << 20..(i + 1) << 20);
            assert!(part.iter().all(|byte| *byte == 7));
            part.release();
        }
        assert!(bytes.iter().all(|byte| *byte == 7) && bytes.look_for_loss().is_empty());
        bytes.release();
        Bytes::from(vec![1]).release();
    }

    #[test]
    fn is_send_and_sync() {
        fn check<T: Send + Sync>() {}
        check::<Bytes>();
    }
}
