//! Mapped files.

use std::fs::{File, Metadata};
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::Mmap;

#[cfg(unix)]
use crate::bus_error::Guard;

/// A mapped file, with its length at the time of mapping.
#[derive(Debug)]
pub(crate) struct Mapping {
    // Declared before `bytes`, because an unmapped range must no longer be guarded.
    #[cfg(unix)]
    guard: Guard,
    bytes: Mmap,
    /// File path, to query its length and its holes; `None` if no other process can access the file.
    place: Option<(PathBuf, FileIdentity)>,
    /// `true` if it takes less space than its length.
    is_sparse: bool,
    /// Bytes read since pages were last returned to the system.
    looked_at: AtomicUsize,
}

impl Mapping {
    /// Maps all of `file` at `path`.
    pub(crate) fn new(file: &File, path: &Path, metadata: &Metadata) -> io::Result<Self> {
        Self::at(file, Some((path.to_owned(), identity(metadata))), is_sparse(metadata))
    }

    /// Maps all of an unnamed file of this process.
    pub(crate) fn from_temporary(file: &File) -> io::Result<Self> {
        Self::at(file, None, false)
    }

    fn at(file: &File, place: Option<(PathBuf, FileIdentity)>, is_sparse: bool) -> io::Result<Self> {
        // SAFETY: the mapping is private and only read, through `&[u8]`. Soundness requires that nothing changes the
        // bytes meanwhile, which no process can promise for another process. Therefore, all readers in this workspace
        // check loaded values each time, keep no assumptions about bytes they read before, and never read beyond the
        // length taken here. Lost pages are replaced by zeros if the program asks for that, see `bus_error`. Otherwise,
        // reading them ends the process.
        let bytes = unsafe { Mmap::map(file) }?;
        Ok(Self {
            #[cfg(unix)]
            guard: Guard::new(&bytes),
            bytes,
            place,
            is_sparse,
            looked_at: AtomicUsize::new(0),
        })
    }

    /// Returns pages to the system after enough bytes of the file were read.
    pub(crate) fn release(&self, bytes: usize) {
        /// Minimum count per call. It accounts for neighboring bytes: bytes read together, and archive headers.
        const LEAST: usize = 1 << 10;
        const ENOUGH: usize = 8 << 20;
        let bytes = bytes.max(LEAST);
        if self.looked_at.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) < ENOUGH {
            return;
        }
        self.looked_at.store(0, Ordering::Relaxed);
        #[cfg(unix)]
        {
            // SAFETY: no byte changes. The mapping is of a file and was never written to, so a returned page is read
            // from the file again on the next access. Lost pages that `bus_error` replaced are zeros before and after.
            let _ = unsafe { self.bytes.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// Opens the file to query its holes. `None` if it has no holes, or another file is at its path.
    pub(crate) fn sparse_file(&self) -> Option<File> {
        let (path, known) = self.place.as_ref().filter(|_| self.is_sparse)?;
        let file = File::open(path).ok()?;
        (identity(&file.metadata().ok()?) == *known).then_some(file)
    }

    /// Returns the range from the first to the last byte found missing. Missing bytes are read as zeros.
    pub(crate) fn lost(&self) -> Range<usize> {
        #[cfg(unix)]
        return self.guard.lost(self.bytes.len());
        // Other systems do not let mapped files shrink.
        #[cfg(not(unix))]
        return 0..0;
    }

    /// Checks if the file has shrunk.
    ///
    /// Zeros between the end of the file and the end of its last page do not cause a fault, so [`Mapping::lost`] alone
    /// does not detect them.
    pub(crate) fn look_for_loss(&self) {
        let Some((path, known)) = &self.place else { return };
        let Ok(metadata) = std::fs::metadata(path) else { return };
        // Another file at the path does not matter: the mapped file still exists.
        if identity(&metadata) != *known {
            return;
        }
        let len = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        #[cfg(unix)]
        if len < self.bytes.len() {
            self.guard.record_loss(len..self.bytes.len());
        }
        #[cfg(not(unix))]
        let _ = len;
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// File identity, independent of its name.
#[cfg(unix)]
type FileIdentity = (u64, u64);

#[cfg(unix)]
fn identity(metadata: &Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(unix)]
fn is_sparse(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    // The unit is 512 bytes, independent of the file system's block size.
    metadata.blocks().saturating_mul(512) < metadata.len()
}

#[cfg(not(unix))]
fn is_sparse(_: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
type FileIdentity = ();

#[cfg(not(unix))]
fn identity(_: &Metadata) -> FileIdentity {}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::testing::TestDirectory;

    /// Maps a file with `pages` pages of ones.
    fn mapped(directory: &TestDirectory, pages: usize) -> (Mapping, File) {
        crate::handle_bus_errors().unwrap();
        let path = directory.join("file");
        std::fs::write(&path, vec![1; pages * page_size()]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mapping = Mapping::new(&file, &path, &file.metadata().unwrap()).unwrap();
        (mapping, file)
    }

    fn page_size() -> usize {
        // SAFETY: the call has no side effects.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap()
    }

    #[test]
    fn a_file_that_becomes_shorter_is_zeros_from_there_on() {
        let directory = TestDirectory::new("shorter");
        let (mapping, file) = mapped(&directory, 40);
        let page = page_size();
        assert!(mapping.lost().is_empty());
        file.set_len(10 * page as u64 + 100).unwrap();
        // Within the last existing page, the loss is not noticed.
        assert_eq!(mapping[10 * page + 99..][..2], [1, 0]);
        assert!(mapping.lost().is_empty());
        assert_eq!(mapping[20 * page + 5], 0);
        assert_eq!(mapping.lost(), 20 * page..21 * page);
        // Read one byte of each page, from the end and from the start.
        let ones = mapping.iter().rev().step_by(page).filter(|byte| **byte == 1).count();
        assert_eq!(ones, 10);
        assert!(mapping[..10 * page].iter().all(|byte| *byte == 1));
        assert!(mapping[10 * page + 100..].iter().all(|byte| *byte == 0));
        assert_eq!(mapping.lost(), 11 * page..40 * page);
        mapping.look_for_loss();
        assert_eq!(mapping.lost(), 10 * page + 100..40 * page);
        // Zeros stay zeros.
        file.set_len(40 * page as u64).unwrap();
        drop(file);
        std::fs::write(directory.join("file"), vec![2; 40 * page]).unwrap();
        assert_eq!(mapping[30 * page], 0);
    }

    #[test]
    fn other_threads_see_it_too() {
        let directory = TestDirectory::new("threads");
        let (mapping, file) = mapped(&directory, 1000);
        file.set_len(0).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    assert!(mapping.iter().all(|byte| *byte == 0));
                    assert_eq!(mapping.lost(), 0..mapping.len());
                });
            }
        });
    }

    #[test]
    fn a_file_that_was_replaced_is_still_there() {
        let directory = TestDirectory::new("replaced");
        let (mapping, _file) = mapped(&directory, 20);
        std::fs::write(directory.join("new"), b"short").unwrap();
        std::fs::rename(directory.join("new"), directory.join("file")).unwrap();
        mapping.look_for_loss();
        assert!(mapping.lost().is_empty() && mapping.iter().all(|byte| *byte == 1));
    }

    /// Registry entries are reused without their previous state.
    #[test]
    fn many_mappings_one_after_the_other() {
        let directory = TestDirectory::new("many");
        for _ in 0..100 {
            let (one, file) = mapped(&directory, 20);
            let other = TestDirectory::new("other");
            let (other, _other) = mapped(&other, 20);
            assert!(one.lost().is_empty());
            file.set_len(0).unwrap();
            assert_eq!(one[0], 0);
            assert_eq!((one.lost().start, other.lost().is_empty()), (0, true));
            assert!(other.iter().all(|byte| *byte == 1));
        }
    }
}
