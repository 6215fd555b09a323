//! Stores records before another receiver acknowledges them.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::directory::{self, CollectorDirectory};
use crate::record_file::{self, RecordFile};
use crate::statistics::SharedCounter;
use crate::{CollectError, Notice, files};

/// Maximum number of records that wait to be written.
const WAITING: usize = 1 << 10;

/// Kind of record. Each kind has its own files.
#[derive(Clone, Copy, Debug)]
pub struct RecordKind {
    /// Extension of the numbered files.
    pub extension: &'static str,
    /// Returns the length of the whole records at the beginning of a file. It is called with any bytes.
    pub whole: fn(file: &[u8]) -> usize,
}

/// Options for a [`RecordStore`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordStoreOptions {
    /// Size at which another file follows, in bytes.
    pub file_bytes: u64,
    /// Age at which another file follows.
    pub file_age: Duration,
    /// Number of bytes that are flushed together.
    pub flush_bytes: usize,
}

impl Default for RecordStoreOptions {
    fn default() -> Self {
        Self { file_bytes: 64 << 20, file_age: Duration::from_secs(3_600), flush_bytes: 4 << 20 }
    }
}

/// Counts of a [`RecordStore`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordStoreStatistics {
    /// Number of records on the disk.
    pub records: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of flushes.
    pub flushes: u64,
    /// Number of records that could not be written.
    pub not_written: u64,
}

/// Counters shared by the threads of a store.
#[derive(Debug, Default)]
struct StoreCounters {
    records: SharedCounter,
    bytes: SharedCounter,
    flushes: SharedCounter,
    not_written: SharedCounter,
}

/// Appends records to the files of a directory. Records that arrive at the same time are flushed together.
#[derive(Debug)]
pub struct RecordStore {
    records: Option<SyncSender<PendingRecord>>,
    counters: Arc<StoreCounters>,
    thread: Option<JoinHandle<()>>,
}

/// A record that is not on the disk.
#[derive(Debug)]
struct PendingRecord {
    kind: usize,
    bytes: Vec<u8>,
    /// Receives `true` when the record is on the disk, and `false` if it cannot be written.
    done: SyncSender<bool>,
}

impl RecordStore {
    /// Opens a directory for records of a format, and moves unfinished records away. Creates the directory if it is
    /// missing. A thread calls `notify` with messages for people.
    ///
    /// # Errors
    /// If the directory cannot be written, or belongs to another format or another collector.
    pub fn open(
        path: &Path,
        format: &str,
        kinds: &[RecordKind],
        options: RecordStoreOptions,
        notify: impl Fn(&Notice) + Send + 'static,
    ) -> Result<Self, CollectError> {
        let directory = CollectorDirectory::open(path, format)?;
        for kind in kinds {
            if let Some(notice) = recover(path, kind)? {
                notify(&notice);
            }
        }
        let counters = Arc::<StoreCounters>::default();
        let kinds = kinds.iter().map(|kind| (*kind, None)).collect();
        let notify = Box::new(notify);
        let writer = RecordWriter {
            directory,
            kinds,
            options,
            counters: Arc::clone(&counters),
            notify,
            is_failing: false,
        };
        let (records, waiting) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("store-write".to_owned());
        let thread = thread.spawn(move || writer.run(&waiting)).map_err(CollectError::Thread)?;
        Ok(Self { records: Some(records), counters, thread: Some(thread) })
    }

    /// Appends a record of the kind with this index, and waits until it is on the disk. Returns `false` if it cannot be
    /// written. The reason is a [`Notice`].
    #[must_use]
    pub fn append(&self, kind: usize, bytes: Vec<u8>) -> bool {
        let (done, is_done) = sync_channel(1);
        let sent = self.records.as_ref().map(|records| records.send(PendingRecord { kind, bytes, done }));
        matches!(sent, Some(Ok(()))) && is_done.recv().unwrap_or(false)
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn statistics(&self) -> RecordStoreStatistics {
        let StoreCounters { records, bytes, flushes, not_written } = &*self.counters;
        RecordStoreStatistics {
            records: records.get(),
            bytes: bytes.get(),
            flushes: flushes.get(),
            not_written: not_written.get(),
        }
    }

    /// Returns `false` after an error has ended the thread.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

/// Waits until all records are written.
impl Drop for RecordStore {
    fn drop(&mut self) {
        self.records = None;
        if let Some(thread) = self.thread.take() {
            // `drop` cannot return the error.
            let _ = thread.join();
        }
    }
}

/// Writes records to the disk.
struct RecordWriter {
    directory: CollectorDirectory,
    /// Kinds with their open files.
    kinds: Vec<(RecordKind, Option<RecordFile>)>,
    options: RecordStoreOptions,
    counters: Arc<StoreCounters>,
    notify: Box<dyn Fn(&Notice) + Send>,
    is_failing: bool,
}

impl RecordWriter {
    /// Writes until the store is dropped.
    fn run(mut self, waiting: &Receiver<PendingRecord>) {
        while let Ok(first) = waiting.recv() {
            let mut bytes = first.bytes.len();
            let mut batch = vec![first];
            while bytes < self.options.flush_bytes
                && let Ok(next) = waiting.try_recv()
            {
                bytes += next.bytes.len();
                batch.push(next);
            }
            for kind in 0..self.kinds.len() {
                let of_kind: Vec<_> = batch.iter().filter(|record| record.kind == kind).collect();
                if !of_kind.is_empty() {
                    self.write(kind, &of_kind);
                }
            }
        }
    }

    /// Writes records of a kind, and reports the result.
    fn write(&mut self, kind: usize, records: &[&PendingRecord]) {
        let written = self.try_write(kind, records);
        let is_written = written.is_ok();
        match written {
            Ok(()) => {
                self.counters.records.add(records.len() as u64);
                self.counters.bytes.add(records.iter().map(|record| record.bytes.len() as u64).sum());
                self.counters.flushes.add(1);
                if std::mem::take(&mut self.is_failing) {
                    (self.notify)(&Notice::WritesAgain);
                }
            }
            Err(error) => {
                self.counters.not_written.add(records.len() as u64);
                if !std::mem::replace(&mut self.is_failing, true) {
                    (self.notify)(&Notice::CannotWrite { error: error.to_string() });
                }
            }
        }
        // A receiver may be gone.
        for record in records {
            let _ = record.done.send(is_written);
        }
    }

    fn try_write(&mut self, kind: usize, records: &[&PendingRecord]) -> Result<(), CollectError> {
        let Some((kind, open)) = self.kinds.get_mut(kind) else { return Ok(()) };
        if self.is_failing || open.is_none() {
            // Other processes do not write to this directory, but they may write to its replacement.
            self.directory.check()?;
        }
        let file = match open {
            Some(file) => file,
            None => {
                let path = self.directory.path();
                let number = directory::next_number(path)?;
                let new = RecordFile::create(path, number, kind.extension);
                open.insert(new.map_err(CollectError::at(path))?)
            }
        };
        let path = file.path.clone();
        if let Err(error) = file.append(records.iter().map(|record| &*record.bytes)) {
            // The file was moved with its directory, which may come back, or alone. If alone, the next attempt creates
            // another file.
            if !file.is_in_place().unwrap_or(true) {
                self.directory.check()?;
                *open = None;
            }
            return Err(CollectError::File { path, error });
        }
        if file.is_full(self.options.file_bytes, self.options.file_age) {
            *open = None;
        }
        Ok(())
    }
}

/// Moves an unfinished record at the end of the last file of a kind to another file. Earlier files were complete when the
/// last one was created.
fn recover(directory: &Path, kind: &RecordKind) -> Result<Option<Notice>, CollectError> {
    let numbers = directory::numbers(directory, |extension| extension == kind.extension)?;
    let Some(number) = numbers.last() else { return Ok(None) };
    let path = record_file::path(directory, *number, kind.extension);
    let name = kind.extension.rsplit_once('.').map_or(kind.extension, |(name, _)| name);
    let damaged = record_file::path(directory, *number, &format!("{name}.damaged"));
    move_end(directory, &path, damaged, kind.whole).map_err(CollectError::at(&path))
}

/// Moves the end of a file to another file.
fn move_end(
    directory: &Path,
    path: &Path,
    damaged: PathBuf,
    whole: fn(&[u8]) -> usize,
) -> io::Result<Option<Notice>> {
    // A complete file may be a link, so it is only read.
    let mut content = Vec::new();
    ichnos_io::open_linked(path)?.read_to_end(&mut content)?;
    let end = whole(&content).min(content.len());
    let rest = content.get(end..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(None);
    }
    let mut copy = files::replace(&damaged)?;
    copy.write_all(rest)?;
    copy.sync_all()?;
    directory::sync_directory(directory)?;
    let file = ichnos_io::open_plain(OpenOptions::new().write(true), path)?;
    file.set_len(end as u64)?;
    file.sync_all()?;
    Ok(Some(Notice::Unfinished { path: path.to_owned(), bytes: rest.len() as u64, damaged }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use super::*;

    /// Lines.
    const LINES: RecordKind = RecordKind {
        extension: "lines.requests",
        whole: |file| memchr::memrchr(b'\n', file).map_or(0, |end| end + 1),
    };

    fn open(path: &Path, options: RecordStoreOptions) -> (RecordStore, Arc<Mutex<Vec<String>>>) {
        let notices = Arc::<Mutex<Vec<String>>>::default();
        let told = Arc::clone(&notices);
        let notify = move |notice: &Notice| told.lock().unwrap().push(notice.to_string());
        (RecordStore::open(path, "lines", &[LINES], options, notify).unwrap(), notices)
    }

    #[test]
    fn unfinished_records_are_moved_away() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let (store, _) = open(path, RecordStoreOptions::default());
        assert!(store.append(0, b"one\n".to_vec()) && store.append(0, b"two\n".to_vec()));
        assert!(RecordStore::open(path, "lines", &[LINES], RecordStoreOptions::default(), |_| {}).is_err());
        assert_eq!((store.statistics().records, store.statistics().bytes), (2, 8));
        drop(store);
        let file = path.join("00000001.lines.requests");
        assert_eq!(fs::read(&file).unwrap(), b"one\ntwo\n");
        fs::write(&file, "one\ntwo\nthr").unwrap();
        let (store, notices) = open(path, RecordStoreOptions::default());
        assert!(store.append(0, b"four\n".to_vec()));
        assert!(notices.lock().unwrap()[0].contains("moved 3 bytes"), "{notices:?}");
        assert_eq!(fs::read(&file).unwrap(), b"one\ntwo\n");
        assert_eq!(fs::read(path.join("00000001.lines.damaged")).unwrap(), b"thr");
        assert_eq!(fs::read(path.join("00000002.lines.requests")).unwrap(), b"four\n");
        drop(store);
        assert!(open(path, RecordStoreOptions::default()).1.lock().unwrap().is_empty());
    }

    #[test]
    fn full_and_moved_files_are_followed_by_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new");
        let options = RecordStoreOptions { file_bytes: 6, ..RecordStoreOptions::default() };
        let (store, notices) = open(&path, options);
        for record in ["one\n", "two\n", "three\n", "x\n"] {
            assert!(store.append(0, record.as_bytes().to_vec()));
        }
        let file = |number: u32| path.join(format!("{number:08}.lines.requests"));
        let texts = [1, 2, 3].map(|number| fs::read_to_string(file(number)).unwrap());
        assert_eq!(texts, ["one\ntwo\n", "three\n", "x\n"]);
        // A removed file would lose the next record.
        fs::remove_file(file(3)).unwrap();
        assert!(!store.append(0, b"y\n".to_vec()));
        assert!(store.append(0, b"z\n".to_vec()));
        assert_eq!(fs::read(file(3)).unwrap(), b"z\n");
        let notices = notices.lock().unwrap();
        assert!(notices[0].contains("moved, replaced or removed") && notices.len() == 2, "{notices:?}");
        assert_eq!(store.statistics().not_written, 1);
    }

    /// Records of several threads are flushed together.
    #[test]
    fn flushes_are_shared() {
        let directory = tempfile::tempdir().unwrap();
        let (store, _) = open(directory.path(), RecordStoreOptions::default());
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let store = &store;
                scope.spawn(move || {
                    for number in 0..50 {
                        assert!(store.append(0, format!("{thread} {number}\n").into_bytes()));
                    }
                });
            }
        });
        let statistics = store.statistics();
        assert!(statistics.records == 400 && statistics.flushes <= 400, "{statistics:?}");
        let text = fs::read_to_string(directory.path().join("00000001.lines.requests")).unwrap();
        assert_eq!(text.lines().count(), 400);
    }
}
