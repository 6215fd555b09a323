//! Adds closed segments to the index.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use ichnos_io::CollectSettings;
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use crate::directory::CollectorDirectory;
use crate::index::{ATTEMPTS, CACHE, IndexContents, PAUSE, REPORTS, SEGMENTS, TASKS};
use crate::shared::CollectorState;
use crate::{CollectError, Notice, directory};

/// Adds closed segments to the index.
#[derive(Debug)]
pub(crate) struct Indexer {
    directory: PathBuf,
    /// The collector's directory. If set, its path must still lead to it.
    opened: Option<Arc<CollectorDirectory>>,
    collect: CollectSettings,
}

impl Indexer {
    pub(crate) fn new(directory: &Path, collect: CollectSettings) -> Self {
        Self { directory: directory.to_owned(), opened: None, collect }
    }

    /// Restricts writing to the time while the path leads to this directory.
    pub(crate) fn only_in(self, directory: &Arc<CollectorDirectory>) -> Self {
        Self { opened: Some(Arc::clone(directory)), ..self }
    }

    fn check(&self) -> Result<(), CollectError> {
        self.opened.as_ref().map_or(Ok(()), |directory| directory.check())
    }

    /// Adds segments to the index as they are closed, until the sender is gone. `behind` contains the segments that are
    /// missing or outdated in the index.
    pub(crate) fn run(
        &self,
        mut behind: BTreeSet<u32>,
        closed: &Receiver<u32>,
        shared: &Arc<CollectorState>,
    ) {
        let mut waiting = BTreeSet::new();
        let mut tasks = shared.counters.tasks.get();
        while let Ok(number) = closed.recv() {
            // Retry segments that failed before.
            waiting.insert(number);
            waiting.extend(closed.try_iter());
            let result = if behind.is_empty() {
                self.add(&mut waiting, &mut tasks)
            } else {
                behind.append(&mut waiting);
                self.catch_up(&behind, &mut tasks).map(|()| behind.clear())
            };
            shared.counters.tasks.set(tasks);
            if let Err(error) = result {
                shared.notice(&Notice::Index { error: error.to_string() });
            }
        }
    }

    /// Returns the segments whose current content is not in the index. They may not have been closed properly.
    pub(crate) fn unknown(&self, all: &BTreeSet<u32>) -> BTreeSet<u32> {
        match self.missing(all) {
            Ok(Some(missing)) => missing,
            Ok(None) | Err(_) => all.clone(),
        }
    }

    /// Adds missing segments to the index. Rebuilds the index if it contradicts the segments. `closed` contains all
    /// segments. Sets `tasks` to the number of tasks.
    pub(crate) fn catch_up(&self, closed: &BTreeSet<u32>, tasks: &mut u64) -> Result<(), CollectError> {
        match self.missing(closed) {
            Ok(Some(mut missing)) => self.add(&mut missing, tasks),
            // Another process keeps the index open for long. The index is not damaged.
            Err(CollectError::Index { path, error })
                if matches!(*error, redb::Error::DatabaseAlreadyOpen) =>
            {
                Err(CollectError::Index { path, error })
            }
            // A damaged index can be rebuilt.
            Ok(None) | Err(_) => self.rebuild(closed, tasks),
        }
    }

    /// Rebuilds the index from all segments.
    pub(crate) fn rebuild(&self, closed: &BTreeSet<u32>, tasks: &mut u64) -> Result<(), CollectError> {
        self.check()?;
        let path = directory::index(&self.directory);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CollectError::File { path, error }),
            _ => self.add(&mut closed.clone(), tasks),
        }
    }

    /// Returns the segments that are missing in the index, or `None` if the index has segments that do not exist.
    fn missing(&self, closed: &BTreeSet<u32>) -> Result<Option<BTreeSet<u32>>, CollectError> {
        self.check()?;
        let mut missing = closed.clone();
        if !directory::index(&self.directory).exists() {
            return Ok(Some(missing));
        }
        let mut is_old = false;
        let mut read = || -> Result<(), redb::Error> {
            let database = self.open()?;
            let reading = database.begin_read()?;
            for entry in reading.open_table(SEGMENTS)?.iter()? {
                let (number, value) = entry?;
                let path = directory::segment(&self.directory, number.value());
                let length = fs::metadata(path).map_or(0, |status| status.len());
                is_old |= !missing.remove(&number.value()) || value.value().0 != length;
            }
            Ok(())
        };
        read().map_err(|error| self.error(error))?;
        Ok((!is_old).then_some(missing))
    }

    /// Adds segments to the index. Removes indexed and deleted segments from `waiting`. Sets `tasks` to the number of
    /// tasks.
    ///
    /// # Errors
    /// If the index cannot be written, or some segments cannot be read. The others are in the index.
    fn add(&self, waiting: &mut BTreeSet<u32>, tasks: &mut u64) -> Result<(), CollectError> {
        self.check()?;
        let database = self.open().map_err(|error| self.error(error))?;
        // The number is only shown, so an unreadable index counts as empty.
        *tasks = count(&database).unwrap_or_default();
        let mut failed = None;
        for number in waiting.clone() {
            let mut contents = IndexContents::default();
            match contents.add(&self.directory, number, &self.collect) {
                Ok(true) => {
                    *tasks = write(&database, number, &contents).map_err(|error| self.error(error))?;
                }
                Ok(false) => {}
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            }
            waiting.remove(&number);
        }
        // Other processes cannot open it while it is open here.
        database.close().map_err(|error| self.error(error.into()))?;
        failed.map_or(Ok(()), Err)
    }

    fn open(&self) -> Result<Database, redb::Error> {
        let path = directory::index(&self.directory);
        let mut attempts = ATTEMPTS;
        loop {
            let mut options = OpenOptions::new();
            let file =
                ichnos_io::open_plain(options.read(true).write(true).create(true).truncate(false), &path);
            let file = file.map_err(redb::StorageError::Io)?;
            let database = redb::backends::FileBackend::new(file)
                .and_then(|backend| redb::Builder::new().set_cache_size(CACHE).create_with_backend(backend));
            match database {
                // Another process is reading it.
                Err(redb::DatabaseError::DatabaseAlreadyOpen) if attempts > 0 => {
                    attempts -= 1;
                    std::thread::sleep(PAUSE);
                }
                result => return Ok(result?),
            }
        }
    }

    fn error(&self, error: redb::Error) -> CollectError {
        CollectError::Index { path: directory::index(&self.directory), error: Box::new(error) }
    }
}

fn count(database: &Database) -> Result<u64, redb::Error> {
    Ok(database.begin_read()?.open_table(TASKS)?.len()?)
}

/// Adds a whole segment to the index in one transaction. Returns the number of tasks.
fn write(database: &Database, number: u32, contents: &IndexContents) -> Result<u64, redb::Error> {
    let writing = database.begin_write()?;
    let count;
    {
        let mut segments = writing.open_table(SEGMENTS)?;
        let new = (contents.length, contents.reports);
        let known = segments.insert(number, new)?.map(|known| known.value());
        let is_there = known.is_some();
        if known.is_some_and(|known| known != new) {
            // The segment was indexed before it was closed, so the index must be rebuilt.
            return Err(redb::Error::Corrupted(format!("segment {number} has changed")));
        }
        let mut tasks = writing.open_table(TASKS)?;
        let mut reports = writing.open_table(REPORTS)?;
        if !is_there {
            for (key, found) in &contents.tasks {
                let key = key.as_bytes();
                let task = &found.task;
                let known = tasks.get(key)?.map(|known| known.value());
                let new = match known {
                    Some((count, first, last)) => {
                        (count.saturating_add(task.reports), first.min(task.first), last.max(task.last))
                    }
                    None => (task.reports, task.first, task.last),
                };
                tasks.insert(key, new)?;
                let places = found.locations.iter().map(|location| (location.offset, location.length));
                reports.insert((key, number), places.collect::<Vec<_>>())?;
            }
        }
        count = tasks.len()?;
    }
    writing.commit()?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use ichnos_io::TaskKey;

    use super::*;
    use crate::pieces::END;
    use crate::segment::Segment;
    use crate::{CollectorOptions, Index};

    /// Uses the whole report as the task key.
    fn store(report: &[u8], buffer: &mut Vec<u8>) -> Result<TaskKey, &'static str> {
        buffer.extend_from_slice(report.trim_ascii_end());
        buffer.extend_from_slice(END);
        TaskKey::new(report.trim_ascii_end()).ok_or("too long")
    }

    const COLLECT: CollectSettings = CollectSettings::new(1, 100, store);

    struct IndexerCase {
        directory: tempfile::TempDir,
        indexer: Indexer,
        shared: Arc<CollectorState>,
        notices: Arc<Mutex<Vec<String>>>,
    }

    impl IndexerCase {
        /// Creates segments with one report each, all of different tasks.
        fn new(segments: u32) -> Self {
            let directory = tempfile::tempdir().unwrap();
            fs::write(directory.path().join("collection"), "ichnos collection 1\nformat: test\n").unwrap();
            let notices = Arc::new(Mutex::new(Vec::new()));
            let says = Arc::clone(&notices);
            let notify = move |notice: &Notice| says.lock().unwrap().push(notice.to_string());
            let shared = CollectorState::new(CollectorOptions::new(&COLLECT), COLLECT, Box::new(notify));
            for number in 1..=segments {
                let report = format!("{number}\n\n");
                let mut segment = Segment::create(directory.path(), number).unwrap();
                segment.write(report.as_bytes()).unwrap();
                segment.flush(report.as_bytes(), 1).unwrap();
                segment.close().unwrap();
            }
            let indexer = Indexer::new(directory.path(), COLLECT);
            Self { directory, indexer, shared: Arc::new(shared), notices }
        }

        /// Runs the indexer for closed segments. Returns its notices.
        fn run(&self, behind: &[u32], closed: &[u32]) -> Vec<String> {
            let (close, receiver) = channel();
            closed.iter().for_each(|number| close.send(*number).unwrap());
            drop(close);
            self.indexer.run(behind.iter().copied().collect(), &receiver, &self.shared);
            std::mem::take(&mut self.notices.lock().unwrap())
        }

        fn remove(&self, number: u32) {
            fs::remove_file(directory::segment(self.directory.path(), number)).unwrap();
        }

        /// Returns the number of tasks, and the number of reports outside the index.
        fn tasks(&self) -> (usize, u64) {
            let index = Index::open(self.directory.path(), &COLLECT).unwrap();
            (index.tasks().unwrap().len(), index.reports_without_index())
        }
    }

    #[test]
    fn one_that_was_removed_before_it_is_there() {
        let case = IndexerCase::new(4);
        case.remove(2);
        assert!(case.run(&[], &[1, 2, 3]).is_empty());
        assert_eq!((case.tasks(), case.shared.counters.tasks.get()), ((3, 1), 2));
        assert!(case.run(&[], &[4]).is_empty());
        assert_eq!((case.tasks(), case.shared.counters.tasks.get()), ((3, 0), 3));
        let mut tasks = 0;
        case.indexer.rebuild(&(1..=4).collect(), &mut tasks).unwrap();
        assert_eq!((case.tasks(), tasks), ((3, 0), 3));
        assert!(crate::recovery::recover(case.directory.path(), 2, &COLLECT).unwrap().is_none());
    }

    /// An unreadable segment is indexed later than the others.
    #[test]
    fn one_that_cannot_be_read() {
        let case = IndexerCase::new(3);
        let sums = directory::sums(case.directory.path(), 2);
        fs::rename(&sums, sums.with_extension("away")).unwrap();
        fs::create_dir(&sums).unwrap();
        let mut waiting = (1..=3).collect();
        let mut tasks = 0;
        assert!(case.indexer.add(&mut waiting, &mut tasks).is_err());
        assert_eq!((waiting.iter().copied().collect::<Vec<_>>(), tasks), (vec![2], 2));
        fs::remove_dir(&sums).unwrap();
        case.indexer.add(&mut waiting, &mut tasks).unwrap();
        assert_eq!((waiting.len(), tasks, case.tasks()), (0, 3, (3, 0)));
    }

    /// While somebody reads the index for long, it does not change. Missing segments are added later.
    #[test]
    fn somebody_reads_for_long() {
        let case = IndexerCase::new(4);
        assert!(case.run(&[], &[1, 2]).is_empty());
        let path = directory::index(case.directory.path());
        let before = fs::read(&path).unwrap();
        let reader = Index::open(case.directory.path(), &COLLECT).unwrap();
        let all = (1..=3).collect();
        let mut tasks = 0;
        let error = case.indexer.catch_up(&all, &mut tasks).unwrap_err();
        assert!(
            matches!(&error, CollectError::Index { error, .. } if matches!(**error, redb::Error::DatabaseAlreadyOpen)),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(case.run(&[1, 2, 3], &[4]).len(), 1);
        assert_eq!(case.tasks(), (4, 2));
        drop(reader);
        assert!(case.run(&[1, 2, 3], &[4]).is_empty());
        assert_eq!((case.tasks(), case.shared.counters.tasks.get()), ((4, 0), 4));
    }
}
