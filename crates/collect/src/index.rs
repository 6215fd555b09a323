//! Which task has which reports, and where.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ichnos_io::{Collect, TaskKey};
use memchr::memmem::Finder;
use redb::{ReadOnlyDatabase, ReadableDatabase, ReadableTable, TableDefinition};

use crate::pieces::{END, Pieces};
use crate::sums::{self, Sum};
use crate::{CollectError, directory, files};

/// The segments that the index has: how many bytes and reports of each.
pub(crate) const SEGMENTS: TableDefinition<'_, u32, (u64, u64)> = TableDefinition::new("segments");

/// How many reports a task has, and when the first and the last one came.
pub(crate) const TASKS: TableDefinition<'_, &[u8], (u64, u64, u64)> = TableDefinition::new("tasks");

/// Where the reports of a task begin in a segment, and their lengths.
pub(crate) const REPORTS: TableDefinition<'_, TaskInSegment, Places> = TableDefinition::new("reports");

type TaskInSegment = (&'static [u8], u32);
type Places = Vec<(u64, u32)>;

/// How much memory the database may take to keep pages.
pub(crate) const CACHE: usize = 32 << 20;

/// How often, and after which time, it is tried to open the index that somebody else has open at the moment.
pub(crate) const ATTEMPTS: u32 = 100;
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// A task whose reports were collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Task {
    /// What distinguishes it from others.
    pub key: TaskKey,
    /// How many reports it has, duplicates included.
    pub reports: u64,
    /// When the first one was written, in milliseconds since 1970.
    pub first: u64,
    /// When the last one was written, in milliseconds since 1970.
    pub last: u64,
}

/// Where a report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Location {
    /// The number of the segment.
    pub segment: u32,
    /// Where it begins in the segment, in bytes.
    pub offset: u64,
    /// Its length in bytes, with the empty line at its end.
    pub length: u32,
}

/// Which task has which reports in a directory, and where: of all that was there when this was opened.
///
/// A collector may write to the directory meanwhile. It puts reports into the index when their segment is closed;
/// those that are not in it yet are looked for in the segments by [`open`](Self::open), as are all of them if there
/// is no index.
pub struct Index {
    directory: PathBuf,
    /// None if there is no index, or it cannot be used.
    database: Option<ReadOnlyDatabase>,
    /// What is not in the index.
    rest: Contents,
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Index {
    /// Reads the index of a directory. `collect` is of the [format](crate::format_of) of its reports.
    ///
    /// # Errors
    /// If it is no directory that a collector has made, or it cannot be read.
    pub fn open(directory: &Path, collect: &Collect) -> Result<Self, CollectError> {
        crate::format_of(directory)?;
        let mut database = open_database(&directory::index(directory));
        let segments = directory::segments(directory)?;
        let mut known = BTreeMap::new();
        if let Some(opened) = &database {
            match covered(opened) {
                Ok(covered) => known = covered,
                // A damaged index is as good as none.
                Err(_) => database = None,
            }
        }
        // Segments that are gone or were changed are still in the index, until it is made again.
        let length = |number| {
            std::fs::metadata(directory::segment(directory, number)).map_or(u64::MAX, |status| status.len())
        };
        if known.iter().any(|(number, known)| length(*number) != *known) {
            (database, known) = (None, BTreeMap::new());
        }
        let mut rest = Contents::default();
        for number in segments.into_iter().filter(|number| !known.contains_key(number)) {
            // Nothing is added of one that was removed meanwhile.
            rest.add(directory, number, collect)?;
        }
        Ok(Self { directory: directory.to_owned(), database, rest })
    }

    /// The tasks, in the order of their keys.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn tasks(&self) -> Result<Vec<Task>, CollectError> {
        let mut tasks: BTreeMap<TaskKey, Task> = BTreeMap::new();
        if let Some(database) = &self.database {
            let read = || -> Result<(), redb::Error> {
                let table = database.begin_read()?.open_table(TASKS)?;
                for entry in table.iter()? {
                    let (key, value) = entry?;
                    let (reports, first, last) = value.value();
                    if let Some(key) = TaskKey::new(key.value()) {
                        tasks.insert(key, Task { key, reports, first, last });
                    }
                }
                Ok(())
            };
            let mut read = read;
            read().map_err(|error| self.error(error))?;
        }
        for (key, found) in &self.rest.tasks {
            let task = tasks.entry(*key).or_insert(found.task);
            if *task != found.task {
                *task = joined(*task, found.task);
            }
        }
        Ok(tasks.into_values().collect())
    }

    /// The keys of all tasks, each once.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn keys(&self) -> Result<Vec<TaskKey>, CollectError> {
        let mut keys: Vec<TaskKey> = self.rest.tasks.keys().copied().collect();
        if let Some(database) = &self.database {
            let mut read = || -> Result<(), redb::Error> {
                let table = database.begin_read()?.open_table(TASKS)?;
                for entry in table.iter()? {
                    keys.extend(TaskKey::new(entry?.0.value()));
                }
                Ok(())
            };
            read().map_err(|error| self.error(error))?;
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// Returns `true` if the directory has no files that the index does not cover, such as those of damaged reports.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        directory::is_plain(&self.directory).unwrap_or_default()
    }

    /// Where the reports of a task are, in the order in which they were written. Empty if there is no such task.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn reports_of(&self, task: &TaskKey) -> Result<Vec<Location>, CollectError> {
        let mut locations = Vec::new();
        if let Some(database) = &self.database {
            let mut read = || -> Result<(), redb::Error> {
                let table = database.begin_read()?.open_table(REPORTS)?;
                for entry in table.range((task.as_bytes(), 0)..=(task.as_bytes(), u32::MAX))? {
                    let (key, value) = entry?;
                    let segment = key.value().1;
                    let places = value.value().into_iter();
                    locations.extend(places.map(|(offset, length)| Location { segment, offset, length }));
                }
                Ok(())
            };
            read().map_err(|error| self.error(error))?;
        }
        if let Some(found) = self.rest.tasks.get(task) {
            locations.extend_from_slice(&found.locations);
        }
        locations.sort_unstable();
        Ok(locations)
    }

    /// Locations of the reports that contain one of these texts. All segments are read.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn reports_with(&self, texts: &[impl AsRef<[u8]>]) -> Result<Vec<Location>, CollectError> {
        let finders: Vec<Finder<'_>> = texts.iter().map(|text| Finder::new(text.as_ref())).collect();
        let mut locations = Vec::new();
        for segment in directory::segments(&self.directory)? {
            let path = directory::segment(&self.directory, segment);
            let mut read = || -> io::Result<()> {
                let file = match ichnos_io::open_linked(&path) {
                    // Closed segments may be removed at any time.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                    result => result?,
                };
                let end = file.metadata()?.len();
                let mut pieces = Pieces::new(file, 0, end)?;
                while let Some(piece) = pieces.next_piece()? {
                    let is_whole = piece.text.ends_with(END);
                    if is_whole && finders.iter().any(|finder| finder.find(piece.text).is_some()) {
                        let Ok(length) = u32::try_from(piece.text.len()) else { continue };
                        locations.push(Location { segment, offset: piece.offset, length });
                    }
                }
                Ok(())
            };
            read().map_err(CollectError::at(&path))?;
        }
        Ok(locations)
    }

    /// Reads reports, one behind the other: together they are a text of the format.
    ///
    /// # Errors
    /// If a segment cannot be read, or is shorter than it was.
    pub fn read(&self, locations: &[Location]) -> Result<Vec<u8>, CollectError> {
        let mut text = Vec::new();
        let mut open: Option<(u32, File)> = None;
        for location in locations {
            let path = directory::segment(&self.directory, location.segment);
            let mut read = || -> io::Result<()> {
                if open.as_ref().is_none_or(|(number, _)| *number != location.segment) {
                    open = Some((location.segment, ichnos_io::open_linked(&path)?));
                }
                let Some((_, file)) = &mut open else { return Ok(()) };
                file.seek(SeekFrom::Start(location.offset))?;
                let length = u64::from(location.length);
                match file.take(length).read_to_end(&mut text)? as u64 == length {
                    true => Ok(()),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                }
            };
            read().map_err(CollectError::at(&path))?;
        }
        Ok(text)
    }

    /// How many reports had to be looked for in segments, because the index does not have them.
    #[must_use]
    pub fn reports_without_index(&self) -> u64 {
        self.rest.reports
    }

    fn error(&self, error: redb::Error) -> CollectError {
        CollectError::Index { path: directory::index(&self.directory), error: Box::new(error) }
    }
}

fn joined(one: Task, other: Task) -> Task {
    Task {
        key: one.key,
        reports: one.reports.saturating_add(other.reports),
        first: one.first.min(other.first),
        last: one.last.max(other.last),
    }
}

/// Opens the database; None if there is none that can be used.
fn open_database(path: &Path) -> Option<ReadOnlyDatabase> {
    // A link is as good as none.
    files::open(path).ok()?;
    for _ in 0..ATTEMPTS {
        match redb::Builder::new().set_cache_size(CACHE).open_read_only(path) {
            Ok(database) => return Some(database),
            // The collector has it for a moment.
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => std::thread::sleep(PAUSE),
            Err(_) => return None,
        }
    }
    None
}

/// The segments that the database has, with their lengths.
fn covered(database: &ReadOnlyDatabase) -> Result<BTreeMap<u32, u64>, redb::Error> {
    let table = database.begin_read()?.open_table(SEGMENTS)?;
    let mut covered = BTreeMap::new();
    for entry in table.iter()? {
        let (number, value) = entry?;
        covered.insert(number.value(), value.value().0);
    }
    Ok(covered)
}

/// The tasks of some segments.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) tasks: BTreeMap<TaskKey, Found>,
    pub(crate) reports: u64,
    /// Where the last segment ended.
    pub(crate) length: u64,
}

/// A task of some segments.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) task: Task,
    pub(crate) locations: Vec<Location>,
}

impl Contents {
    /// Reads a segment; false if it is not there: closed segments may be removed at any time.
    pub(crate) fn add(
        &mut self,
        directory: &Path,
        number: u32,
        collect: &Collect,
    ) -> Result<bool, CollectError> {
        let path = directory::segment(directory, number);
        match ichnos_io::open_linked(&path) {
            Ok(file) => self.read(file, directory, number, collect).map_err(CollectError::at(&path))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(CollectError::File { path, error }),
        }
        Ok(true)
    }

    fn read(&mut self, file: File, directory: &Path, number: u32, collect: &Collect) -> io::Result<()> {
        let status = file.metadata()?;
        // Behind the last checksum, for instance in a segment that is being written: the time of the file.
        let modified =
            status.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let modified = modified.unwrap_or_default().as_millis().try_into().unwrap_or(u64::MAX);
        let mut pieces = Pieces::new(file, 0, status.len())?;
        let sums = sums::read(&directory::sums(directory, number))?;
        let mut sums = sums.iter().peekable();
        let mut stored = Vec::new();
        self.length = 0;
        while let Some(piece) = pieces.next_piece()? {
            self.length = piece.offset + piece.text.len() as u64;
            stored.clear();
            let Ok(key) = (collect.store)(piece.text, &mut stored) else { continue };
            if !piece.text.ends_with(END) {
                // The collector is writing it.
                continue;
            }
            while sums.next_if(|sum| sum.end() <= piece.offset).is_some() {}
            let time = sums.peek().map_or(modified, |sum: &&Sum| sum.time);
            let Ok(length) = u32::try_from(piece.text.len()) else { continue };
            let location = Location { segment: number, offset: piece.offset, length };
            let one = Task { key, reports: 1, first: time, last: time };
            self.reports += 1;
            match self.tasks.get_mut(&key) {
                Some(found) => {
                    found.task = joined(found.task, one);
                    found.locations.push(location);
                }
                None => {
                    self.tasks.insert(key, Found { task: one, locations: vec![location] });
                }
            }
        }
        Ok(())
    }
}
