//! Index: locates each task's reports.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ichnos_io::{CollectSettings, TaskKey};
use memchr::memmem::Finder;
use redb::{ReadOnlyDatabase, ReadableDatabase, ReadableTable, TableDefinition};

use crate::pieces::{END, Pieces};
use crate::sums::{self, Sum};
use crate::{CollectError, directory, files};

/// Indexed segments: size in bytes, and number of reports.
pub(crate) const SEGMENTS: TableDefinition<'_, u32, (u64, u64)> = TableDefinition::new("segments");

/// Number of reports of a task, and the times of its first and last report.
pub(crate) const TASKS: TableDefinition<'_, &[u8], (u64, u64, u64)> = TableDefinition::new("tasks");

/// Offsets and lengths for a task's reports in a segment.
pub(crate) const REPORTS: TableDefinition<'_, TaskInSegment, ReportPlaces> = TableDefinition::new("reports");

type TaskInSegment = (&'static [u8], u32);
type ReportPlaces = Vec<(u64, u32)>;

/// Page cache size for the database, in bytes.
pub(crate) const CACHE: usize = 32 << 20;

/// Number of attempts to open an index that another process uses, and the pause between them.
pub(crate) const ATTEMPTS: u32 = 100;
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// A task with collected reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Task {
    /// Task identifier.
    pub key: TaskKey,
    /// Number of reports, including duplicates.
    pub reports: u64,
    /// Time at which the first report was written, in milliseconds since 1970.
    pub first: u64,
    /// Time at which the last report was written, in milliseconds since 1970.
    pub last: u64,
}

/// Report location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Location {
    /// Number of the segment.
    pub segment: u32,
    /// Offset in the segment, in bytes.
    pub offset: u64,
    /// Length in bytes, including the empty line after the report.
    pub length: u32,
}

/// Index of a directory: locates each task's reports. It shows the directory as it was when opened.
///
/// A collector may write to the directory at the same time. It indexes reports when their segment is closed.
/// [`open`](Self::open) searches the segments for reports that are not indexed yet. Without an index, it searches all
/// segments.
pub struct Index {
    directory: PathBuf,
    /// `None` if the index is missing or cannot be used.
    database: Option<ReadOnlyDatabase>,
    /// Reports that are missing in the index.
    rest: IndexContents,
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Index {
    /// Reads a directory's index. `collect` has the rules of the [format](crate::format_of).
    ///
    /// # Errors
    /// If no collector made the directory, or it cannot be read.
    pub fn open(directory: &Path, collect: &CollectSettings) -> Result<Self, CollectError> {
        crate::format_of(directory)?;
        let mut database = open_database(&directory::index(directory));
        let segments = directory::segments(directory)?;
        let mut known = BTreeMap::new();
        if let Some(opened) = &database {
            match covered(opened) {
                Ok(covered) => known = covered,
                // A damaged index is ignored.
                Err(_) => database = None,
            }
        }
        // Removed or changed segments stay in the index until it is rebuilt.
        let length = |number| {
            std::fs::metadata(directory::segment(directory, number)).map_or(u64::MAX, |status| status.len())
        };
        if known.iter().any(|(number, known)| length(*number) != *known) {
            (database, known) = (None, BTreeMap::new());
        }
        let mut rest = IndexContents::default();
        for number in segments.into_iter().filter(|number| !known.contains_key(number)) {
            // Segments removed in the meantime add nothing.
            rest.add(directory, number, collect)?;
        }
        Ok(Self { directory: directory.to_owned(), database, rest })
    }

    /// Returns the tasks, sorted by key.
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

    /// Returns all distinct task keys.
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

    /// Returns `true` if the index covers all files in the directory. Files with damaged data are not covered.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        // An unreadable directory may contain other files.
        directory::is_plain(&self.directory).unwrap_or_default()
    }

    /// Returns the locations of a task's reports, in the order of writing. An unknown task has no locations.
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

    /// Returns the locations of reports that contain at least one of these texts. Reads all segments.
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

    /// Reads reports and concatenates them to one text.
    ///
    /// # Errors
    /// If a segment cannot be read, or was truncated.
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

    /// Returns the number of reports found outside the index, by reading segments.
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

/// Opens the database. Returns `None` if it is missing or unusable.
fn open_database(path: &Path) -> Option<ReadOnlyDatabase> {
    // Links are ignored.
    files::open(path).ok()?;
    for _ in 0..ATTEMPTS {
        match redb::Builder::new().set_cache_size(CACHE).open_read_only(path) {
            Ok(database) => return Some(database),
            // The collector is using the database for a moment.
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => std::thread::sleep(PAUSE),
            Err(_) => return None,
        }
    }
    None
}

/// Returns the indexed segments and their lengths.
fn covered(database: &ReadOnlyDatabase) -> Result<BTreeMap<u32, u64>, redb::Error> {
    let table = database.begin_read()?.open_table(SEGMENTS)?;
    let mut covered = BTreeMap::new();
    for entry in table.iter()? {
        let (number, value) = entry?;
        covered.insert(number.value(), value.value().0);
    }
    Ok(covered)
}

/// Tasks in some segments.
#[derive(Debug, Default)]
pub(crate) struct IndexContents {
    pub(crate) tasks: BTreeMap<TaskKey, SegmentTask>,
    pub(crate) reports: u64,
    /// Last segment's end offset.
    pub(crate) length: u64,
}

/// One task in some segments.
#[derive(Debug)]
pub(crate) struct SegmentTask {
    pub(crate) task: Task,
    pub(crate) locations: Vec<Location>,
}

impl IndexContents {
    /// Reads a segment. Returns `false` if it is missing: closed segments may be removed at any time.
    pub(crate) fn add(
        &mut self,
        directory: &Path,
        number: u32,
        collect: &CollectSettings,
    ) -> Result<bool, CollectError> {
        let path = directory::segment(directory, number);
        match ichnos_io::open_linked(&path) {
            Ok(file) => self.read(file, directory, number, collect).map_err(CollectError::at(&path))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(CollectError::File { path, error }),
        }
        Ok(true)
    }

    fn read(
        &mut self,
        file: File,
        directory: &Path,
        number: u32,
        collect: &CollectSettings,
    ) -> io::Result<()> {
        let status = file.metadata()?;
        // Reports after the last checksum, for example in an open segment, get the file's modification time.
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
                // The collector is still writing this segment.
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
                    self.tasks.insert(key, SegmentTask { task: one, locations: vec![location] });
                }
            }
        }
        Ok(())
    }
}
