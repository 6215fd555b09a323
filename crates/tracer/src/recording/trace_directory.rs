//! What all threads of a recording share.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags, open, unlinkat};

use super::earlier_file::EarlierFile;
use super::file_name::FileName;
use super::metadata_file::MetadataFile;
use super::packet_file::PacketFile;
use super::recording_clock::RecordingClock;
use super::recording_options::{RecordingOptions, SizeLimit};
use super::thread_name::THREAD_NAME;
use crate::description::EventDescription;

/// Smallest and first file of a thread. The next ones are twice as large each, up to the size in the options.
const FIRST_FILE: usize = 256 << 10;

/// Shortest time between two tries to describe a class.
const CLASS_RETRY: Duration = Duration::from_millis(100);

/// The directory of a recording, and what all of its threads share.
#[derive(Debug)]
pub(super) struct TraceDirectory {
    pub(super) path: PathBuf,
    /// Files have names below it, which need no memory.
    descriptor: OwnedFd,
    pub(super) options: RecordingOptions,
    pub(super) clock: RecordingClock,
    /// Number of the recording in this process.
    pub(super) number: u16,
    /// Process that began the recording.
    pub(super) process: u32,
    /// Id of the class for thread names.
    pub(super) name_class: u16,
    metadata: Mutex<MetadataFile>,
    /// Time when classes are described again after that was impossible.
    class_retry: AtomicU64,
    /// Bytes of all files.
    bytes: AtomicU64,
}

impl TraceDirectory {
    pub(super) fn create(options: RecordingOptions, number: u16) -> io::Result<Self> {
        let path = options.directory.clone();
        fs::create_dir_all(&path)?;
        let descriptor = open(&path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let clock = RecordingClock::new(options.clock);
        let mut metadata = MetadataFile::create(&path, &clock)?;
        let name_class = metadata.add(&THREAD_NAME)?;
        Ok(Self {
            path,
            descriptor,
            options,
            clock,
            number,
            process: std::process::id(),
            name_class,
            metadata: Mutex::new(metadata),
            class_retry: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Returns the metadata, also after a panic of another thread, which leaves it as it was.
    pub(super) fn metadata(&self) -> MutexGuard<'_, MetadataFile> {
        self.metadata.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Describes a class. Returns its id, or `None` if that is impossible now, for example because the disk is full.
    pub(super) fn add_class(&self, class: &EventDescription<'_>) -> Option<u16> {
        let now = self.clock.now();
        if now < self.class_retry.load(Ordering::Relaxed) {
            return None;
        }
        let added = self.metadata().add(class);
        if added.is_err() {
            self.class_retry.store(now.saturating_add(self.clock.cycles(CLASS_RETRY)), Ordering::Relaxed);
        }
        added.ok()
    }

    /// Returns the size of a thread's next file, which has room for some bytes, if there were so many files before.
    pub(super) fn file_size(&self, files: u32, needed: usize) -> usize {
        let doubled = FIRST_FILE.checked_shl(files.min(16)).unwrap_or(usize::MAX);
        self.whole_pages(doubled, needed)
    }

    fn whole_pages(&self, size: usize, needed: usize) -> usize {
        size.min(self.options.file_size).max(needed).next_multiple_of(4096)
    }

    /// Creates a hidden file for packets of a thread, unless there is too much data already. If there is no room for it, a
    /// small file may fit.
    pub(super) fn create_file(&self, name: FileName, size: usize, needed: usize) -> Option<PacketFile> {
        [size, self.whole_pages(FIRST_FILE, needed)].into_iter().find_map(|size| self.try_file(name, size))
    }

    fn try_file(&self, name: FileName, size: usize) -> Option<PacketFile> {
        let before = self.bytes.fetch_add(size as u64, Ordering::Relaxed);
        let is_too_much = matches!(self.options.limit, SizeLimit::First(most) if before + size as u64 > most);
        let file = (!is_too_much).then(|| PacketFile::create(self.descriptor(), name, size).ok()).flatten();
        if file.is_none() {
            self.bytes.fetch_sub(size as u64, Ordering::Relaxed);
        }
        file
    }

    /// Takes an earlier file for other packets, or removes it.
    pub(super) fn reuse_file(&self, earlier: &EarlierFile, name: FileName) -> Option<PacketFile> {
        let file = PacketFile::reuse(earlier, self.descriptor(), name).ok();
        if file.is_none() {
            self.shrink_file(earlier.size);
        }
        file
    }

    /// Counts the bytes that were cut off a file.
    pub(super) fn shrink_file(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Removes a file with a name in the directory.
    pub(super) fn remove_file(&self, name: &CStr, size: u64) {
        if unlinkat(&self.descriptor, name, AtFlags::empty()).is_ok() {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
        }
    }
}
