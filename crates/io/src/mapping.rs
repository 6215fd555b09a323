//! Mapped files.

use std::fs::{File, Metadata};
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::Mmap;

#[cfg(unix)]
use crate::bus_error::Guard;

/// A file in memory, as long as it was when it was mapped.
#[derive(Debug)]
pub(crate) struct Mapping {
    // Before `bytes`: what is unmapped must not be guarded any more.
    #[cfg(unix)]
    guard: Guard,
    bytes: Mmap,
    /// Where the file is, to ask for its length and its holes; None: no other process can reach it.
    place: Option<(PathBuf, Identity)>,
    /// Whether it takes less room than it is long.
    is_sparse: bool,
    /// Bytes that were looked at since their pages were given back last.
    looked_at: AtomicUsize,
}

impl Mapping {
    /// Maps all of `file`, which is at `path`.
    pub(crate) fn new(file: &File, path: &Path, metadata: &Metadata) -> io::Result<Self> {
        Self::at(file, Some((path.to_owned(), identity(metadata))), is_sparse(metadata))
    }

    /// Maps all of a file of this process that has no name.
    pub(crate) fn of_temporary(file: &File) -> io::Result<Self> {
        Self::at(file, None, false)
    }

    fn at(file: &File, place: Option<(PathBuf, Identity)>, is_sparse: bool) -> io::Result<Self> {
        // SAFETY: the mapping is private and only ever read, through `&[u8]`. Soundness asks that
        // nothing changes the bytes meanwhile. No process can promise that for another one; all
        // readers of this workspace therefore check what they load each time, keep no assumption
        // about bytes that they looked at before, and never read beyond the length taken here. Pages
        // that go away are replaced by zeros where the program asks for that, see `bus_error`; else reading them
        // ends the process.
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

    /// Gives pages back to the system once enough bytes of the file were looked at.
    pub(crate) fn release(&self, bytes: usize) {
        /// What is around these bytes counts, too: what is read at once, and headers in archives.
        const LEAST: usize = 1 << 10;
        const ENOUGH: usize = 8 << 20;
        let bytes = bytes.max(LEAST);
        if self.looked_at.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) < ENOUGH {
            return;
        }
        self.looked_at.store(0, Ordering::Relaxed);
        #[cfg(unix)]
        {
            // SAFETY: no byte is changed by it. The mapping is of a file and was never written to, so that
            // a page that is given back is read from the file again when it is looked at next; the pages
            // that `bus_error` has put in the place of lost ones are zeros before and after.
            let _ = unsafe { self.bytes.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// The file, to ask where its holes are. None: it has none, or there is another file in its place.
    pub(crate) fn sparse_file(&self) -> Option<File> {
        let (path, known) = self.place.as_ref().filter(|_| self.is_sparse)?;
        let file = File::open(path).ok()?;
        (identity(&file.metadata().ok()?) == *known).then_some(file)
    }

    /// The bytes that were found missing, from the first to the last one; zeros are in their place.
    pub(crate) fn lost(&self) -> Range<usize> {
        #[cfg(unix)]
        return self.guard.lost(self.bytes.len());
        // Where the system does not let mapped files become shorter.
        #[cfg(not(unix))]
        return 0..0;
    }

    /// Asks the system whether the file has become shorter.
    ///
    /// Zeros behind its end cause no fault up to the end of the page, so that [`Mapping::lost`]
    /// alone does not know of them.
    pub(crate) fn look_for_loss(&self) {
        let Some((path, known)) = &self.place else { return };
        let Ok(metadata) = std::fs::metadata(path) else { return };
        // What was put in the place of the file is another one: this one is still there.
        if identity(&metadata) != *known {
            return;
        }
        let len = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        #[cfg(unix)]
        if len < self.bytes.len() {
            self.guard.lose(len..self.bytes.len());
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

/// What makes a file the same one, whatever it is called.
#[cfg(unix)]
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(unix)]
fn is_sparse(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    // Blocks of 512 bytes, whatever those of the file system are.
    metadata.blocks().saturating_mul(512) < metadata.len()
}

#[cfg(not(unix))]
fn is_sparse(_: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
type Identity = ();

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::testing::Directory;

    /// A mapped file of this many pages of ones.
    fn mapped(directory: &Directory, pages: usize) -> (Mapping, File) {
        crate::handle_bus_errors().unwrap();
        let path = directory.join("file");
        std::fs::write(&path, vec![1; pages * page_size()]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mapping = Mapping::new(&file, &path, &file.metadata().unwrap()).unwrap();
        (mapping, file)
    }

    fn page_size() -> usize {
        // SAFETY: it only asks.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap()
    }

    #[test]
    fn a_file_that_becomes_shorter_is_zeros_from_there_on() {
        let directory = Directory::new("shorter");
        let (mapping, file) = mapped(&directory, 40);
        let page = page_size();
        assert!(mapping.lost().is_empty());
        file.set_len(10 * page as u64 + 100).unwrap();
        // In the last page that is there, it is not noticed.
        assert_eq!(mapping[10 * page + 99..][..2], [1, 0]);
        assert!(mapping.lost().is_empty());
        assert_eq!(mapping[20 * page + 5], 0);
        assert_eq!(mapping.lost(), 20 * page..21 * page);
        // One byte of each page, from the end on and from the beginning on.
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
        let directory = Directory::new("threads");
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
        let directory = Directory::new("replaced");
        let (mapping, _file) = mapped(&directory, 20);
        std::fs::write(directory.join("new"), b"short").unwrap();
        std::fs::rename(directory.join("new"), directory.join("file")).unwrap();
        mapping.look_for_loss();
        assert!(mapping.lost().is_empty() && mapping.iter().all(|byte| *byte == 1));
    }

    /// Places in the registry are used again, without what was there before.
    #[test]
    fn many_mappings_one_after_the_other() {
        let directory = Directory::new("many");
        for _ in 0..100 {
            let (one, file) = mapped(&directory, 20);
            let other = Directory::new("other");
            let (other, _other) = mapped(&other, 20);
            assert!(one.lost().is_empty());
            file.set_len(0).unwrap();
            assert_eq!(one[0], 0);
            assert_eq!((one.lost().start, other.lost().is_empty()), (0, true));
            assert!(other.iter().all(|byte| *byte == 1));
        }
    }
}
