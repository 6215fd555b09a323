//! Puts segments that are closed into the index.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use ichnos_io::Collect;
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use crate::index::{ATTEMPTS, CACHE, Contents, PAUSE, REPORTS, SEGMENTS, TASKS};
use crate::shared::Shared;
use crate::{CollectError, Notice, directory};

/// Puts segments that are closed into the index.
#[derive(Debug)]
pub(crate) struct Indexer {
    directory: PathBuf,
    collect: Collect,
}

impl Indexer {
    pub(crate) fn new(directory: &Path, collect: Collect) -> Self {
        Self { directory: directory.to_owned(), collect }
    }

    /// Puts segments into the index as soon as somebody names them, until nobody does any more.
    pub(crate) fn run(&self, closed: &Receiver<u32>, shared: &Arc<Shared>) {
        let mut waiting = BTreeSet::new();
        while let Ok(number) = closed.recv() {
            // Those that could not be put there before come along.
            waiting.insert(number);
            waiting.extend(closed.try_iter());
            match self.add(&waiting) {
                Ok(tasks) => {
                    waiting.clear();
                    shared.counters.tasks.set(tasks);
                }
                Err(error) => shared.notice(&Notice::Index { error: error.to_string() }),
            }
        }
    }

    /// The segments that the index does not have as they are: they may not have been closed properly.
    pub(crate) fn unknown(&self, all: &[u32]) -> Vec<u32> {
        match self.missing(all) {
            Ok(Some(missing)) => missing.into_iter().collect(),
            Ok(None) | Err(_) => all.to_vec(),
        }
    }

    /// Puts segments into the index that are not there yet; makes it again if it does not fit the segments. `closed`
    /// are all segments, in order. How many tasks there are then.
    pub(crate) fn catch_up(&self, closed: &[u32]) -> Result<u64, CollectError> {
        match self.missing(closed) {
            Ok(Some(missing)) => self.add(&missing),
            // A damaged index is no loss.
            Ok(None) | Err(_) => self.rebuild(closed),
        }
    }

    /// Makes the index again of all segments.
    pub(crate) fn rebuild(&self, closed: &[u32]) -> Result<u64, CollectError> {
        let path = directory::index(&self.directory);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CollectError::File { path, error }),
            _ => self.add(&closed.iter().copied().collect()),
        }
    }

    /// The segments that are not in the index; None if it has segments that are not there.
    fn missing(&self, closed: &[u32]) -> Result<Option<BTreeSet<u32>>, CollectError> {
        let mut missing: BTreeSet<u32> = closed.iter().copied().collect();
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

    /// Puts segments into the index; how many tasks there are then.
    fn add(&self, segments: &BTreeSet<u32>) -> Result<u64, CollectError> {
        let database = self.open().map_err(|error| self.error(error))?;
        let mut tasks = count(&database).unwrap_or_default();
        for number in segments {
            let mut contents = Contents::default();
            contents.add(&self.directory, *number, &self.collect)?;
            tasks = write(&database, *number, &contents).map_err(|error| self.error(error))?;
        }
        // Nobody else can open it as long as it is open here.
        database.close().map_err(|error| self.error(error.into()))?;
        Ok(tasks)
    }

    fn open(&self) -> Result<Database, redb::Error> {
        let path = directory::index(&self.directory);
        let mut attempts = ATTEMPTS;
        loop {
            match redb::Builder::new().set_cache_size(CACHE).create(&path) {
                // Somebody reads it.
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

/// Puts a segment into the index: all of it, or nothing. How many tasks there are then.
fn write(database: &Database, number: u32, contents: &Contents) -> Result<u64, redb::Error> {
    let writing = database.begin_write()?;
    let count;
    {
        let mut segments = writing.open_table(SEGMENTS)?;
        let is_there = segments.insert(number, (contents.length, contents.reports))?.is_some();
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
