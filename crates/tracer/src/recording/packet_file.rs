//! File of packets in memory.
//!
//! All of the file is valid at each instant: its packets follow each other without gaps, and the last one reaches to
//! the end of the file, with padding after its events. A reader that opens the file, also after the program was killed,
//! finds all events that were stored before.
//!
//! Nothing here takes memory from the allocator or gives it back, because a signal handler that interrupts the allocator
//! can record. So files have names in a directory that is open, and errors have no text.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::SystemTime;

use libc::c_int;
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, fallocate, openat, renameat, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::earlier_file::EarlierFile;
use super::file_limit::check_file_size;
use super::file_name::FileName;

/// Operation of `fcntl` that sets the signal about a lease, in Linux.
const F_SETSIG: c_int = 10;

/// How often room is reserved if signals interrupt that. Some systems begin from scratch.
const TRIES: usize = 32;

/// What is written where room cannot be reserved. The stack of a signal handler can be small.
static ZEROS: [u8; 16 << 10] = [0; 16 << 10];

/// A file that one thread at a time writes.
#[derive(Debug)]
pub(super) struct PacketFile {
    map: MmapRaw,
    file: File,
    name: FileName,
}

impl PacketFile {
    /// Creates a file with room for some bytes on the disk. It is hidden, so that nobody reads it, until
    /// [`publish`](Self::publish).
    pub(super) fn create(directory: BorrowedFd<'_>, name: FileName, size: usize) -> io::Result<Self> {
        let mut file = open_hidden(directory, name, OFlags::CREATE | OFlags::EXCL)?;
        let mut create = || {
            reserve(&mut file, size)?;
            // Without faults later, which take as long as dozens of events.
            MmapOptions::new().len(size).populate().map_raw(&file)
        };
        match create() {
            Ok(map) => Ok(Self { map, file, name }),
            Err(error) => {
                // The first error counts.
                let _ = unlinkat(directory, name.hidden(), AtFlags::empty());
                Err(error)
            }
        }
    }

    /// Takes an earlier file for other packets. It is hidden and full of zeros, as a new file. If that is impossible,
    /// because it is another file now or another program may still read it, it is removed.
    pub(super) fn reuse(
        earlier: &EarlierFile,
        directory: BorrowedFd<'_>,
        name: FileName,
    ) -> io::Result<Self> {
        #[cfg(test)]
        let _step = steps::step();
        let result = renameat(directory, earlier.name.shown(), directory, name.hidden())
            .map_err(io::Error::from)
            .and_then(|()| Self::open_earlier(earlier, directory, name));
        if result.is_err() {
            // It has one of these names. The first error counts.
            let remove = |name| unlinkat(directory, name, AtFlags::empty());
            let _ = remove(name.hidden()).or_else(|_| remove(earlier.name.shown()));
        }
        result
    }

    /// Opens an earlier file that is hidden under a new name.
    fn open_earlier(earlier: &EarlierFile, directory: BorrowedFd<'_>, name: FileName) -> io::Result<Self> {
        // A link is not followed, and a pipe does not wait.
        let mut file = open_hidden(directory, name, OFlags::NOFOLLOW | OFlags::NONBLOCK)?;
        if !earlier.is(&file.metadata()?) || is_open_elsewhere(&file) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let size = usize::try_from(earlier.size).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // A part of it may have been given back to the disk.
        reserve(&mut file, size)?;
        let map = MmapOptions::new().len(size).populate().map_raw(&file)?;
        let mut reused = Self { map, file, name };
        // Readers search for packets in the padding, too.
        reused.bytes(0, size).unwrap_or_default().fill(0);
        Ok(reused)
    }

    /// Gives the file its name.
    pub(super) fn publish(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        #[cfg(test)]
        let _step = steps::step();
        Ok(renameat(directory, self.name.hidden(), directory, self.name.shown())?)
    }

    /// Closes the full file.
    pub(super) fn close(self) -> EarlierFile {
        self.touch();
        let size = self.len() as u64;
        EarlierFile::new(self.name, size, self.file.metadata().ok().as_ref())
    }

    pub(super) fn name(&self) -> FileName {
        self.name
    }

    /// Returns the number of bytes in memory.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns some bytes.
    #[inline]
    pub(super) fn bytes(&mut self, from: usize, to: usize) -> Option<&mut [u8]> {
        let length = to.checked_sub(from).filter(|_| to <= self.map.len())?;
        // SAFETY: the range is within the mapping, which lives as long as `self`. Nobody else in this process has the
        // mapping, and `self` is borrowed exclusively. Like all mappings of files, it relies on other processes not to
        // write to the file or truncate it.
        Some(unsafe { std::slice::from_raw_parts_mut(self.map.as_mut_ptr().add(from), length) })
    }

    /// Stores a number after everything that was written before.
    #[inline]
    pub(super) fn store_u32(&mut self, at: usize, value: u32) {
        #[cfg(test)]
        let _step = steps::step();
        if at % 4 == 0 && at.saturating_add(4) <= self.map.len() {
            // SAFETY: the number is within the mapping, which begins at a page, and is aligned. Only atomic stores of
            // the same size, and none at the same time, access it while it can be read by other processes.
            let number = unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(at).cast()) };
            number.store(value.to_le(), Ordering::Release);
        }
    }

    /// Stores a number after everything that was written before.
    #[inline]
    pub(super) fn store_u64(&mut self, at: usize, value: u64) {
        #[cfg(test)]
        let _step = steps::step();
        if at % 8 == 0 && at.saturating_add(8) <= self.map.len() {
            // SAFETY: as in `store_u32`.
            let number = unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(at).cast()) };
            number.store(value.to_le(), Ordering::Release);
        }
    }

    /// Tells programs that follow the file that it has changed: stores to memory do not.
    pub(super) fn touch(&self) {
        // It is only a hint.
        let _ = self.file.set_modified(SystemTime::now());
    }

    /// Ends the file at a byte. It must not be written after that.
    pub(super) fn truncate(self, length: usize) {
        let Self { map, file, .. } = self;
        drop(map);
        #[cfg(test)]
        let _step = steps::step();
        // Then the padding stays.
        let _ = file.set_len(length as u64);
        let _ = file.set_modified(SystemTime::now());
    }
}

/// Returns `true` if a file may have been opened by others: then the kernel gives no lease on it.
fn is_open_elsewhere(file: &File) -> bool {
    let descriptor = file.as_raw_fd();
    // SAFETY: these operations have a number as argument, and the descriptor is open.
    let call =
        |operation: c_int, argument: c_int| unsafe { libc::fcntl(descriptor, operation, argument) } == -1;
    // Whoever opens the file meanwhile causes a signal. The one that is sent by default ends the program.
    call(F_SETSIG, libc::SIGURG)
        || call(libc::F_SETLEASE, libc::F_WRLCK)
        || call(libc::F_SETLEASE, libc::F_UNLCK)
}

/// Opens a hidden file in a directory.
fn open_hidden(directory: BorrowedFd<'_>, name: FileName, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
    let open = || openat(directory, name.hidden(), flags, Mode::from_raw_mode(0o666));
    Ok(retry_on_intr(open)?.into())
}

/// Reserves room on the disk: a store to memory without room would kill the process.
fn reserve(file: &mut File, size: usize) -> io::Result<()> {
    check_file_size(size as u64)?;
    let reserve = || fallocate(&*file, FallocateFlags::empty(), 0, size as u64);
    let interrupted = Err(Errno::INTR);
    match (0..TRIES).map(|_| reserve()).find(|result| *result != interrupted).unwrap_or(interrupted) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let mut left = size;
            while left > 0 {
                let part = ZEROS.get(..left).unwrap_or(&ZEROS);
                file.write_all(part)?;
                left -= part.len();
            }
            Ok(())
        }
        result => Ok(result?),
    }
}

#[cfg(test)]
pub(super) mod steps {
    //! Stores, before and after which a test looks at the files.

    use std::cell::RefCell;

    thread_local! {
        pub(in crate::recording) static LOOK: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
    }

    /// A store.
    pub(super) struct Step;

    pub(super) fn step() -> Step {
        look();
        Step
    }

    impl Drop for Step {
        fn drop(&mut self) {
            look();
        }
    }

    /// Calls the function of the test. It can set another function for the stores that it causes itself.
    fn look() {
        if let Some(mut look) = LOOK.take() {
            look();
            LOOK.set(Some(look));
        }
    }
}
