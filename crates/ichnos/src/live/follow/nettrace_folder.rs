//! .NET files in directories, which are read once from their start.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ichnos_io::TreeOptions;
use ichnos_model::class::{DataStreamClass, TraceClass};
use ichnos_model::cursor::Head;
use ichnos_model::live::{LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::message::Message;
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Trace};

use super::follow_error::FollowError;
use super::follow_options::FollowOptions;
use super::held_files::GRACE;
use super::known_stream::FollowedFile;
use super::nettrace_feed::{FileStart, NettraceFeed};
use crate::OpenOptions;

/// Maximum number of files that are read at the same time.
const MOST_READ: usize = 1024;

/// Maximum number of files to look at.
const MOST_SEEN: usize = 100_000;

/// Returns `true` if there is a .NET file below one of the directories.
pub(super) fn has_nettrace(directories: &[PathBuf], options: &OpenOptions) -> bool {
    let options = options.tree();
    let mut found = false;
    for directory in directories {
        for_each_file(directory, &mut |path| {
            found |= matches!(FileStart::read(path, &options), Some(FileStart::Plain | FileStart::Packed));
            !found
        });
    }
    found
}

/// Visits all files below a directory in the order of their names, until `visit` returns `false`. Links are not followed.
/// A file instead of a directory is visited itself.
fn for_each_file(directory: &Path, visit: &mut dyn FnMut(&Path) -> bool) {
    if directory.is_file() {
        visit(directory);
        return;
    }
    let (mut left, mut seen) = (vec![directory.to_owned()], 0);
    while let Some(directory) = left.pop() {
        let mut entries: Vec<_> = fs::read_dir(&directory).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            seen += 1;
            if seen > MOST_SEEN || kind.is_file() && !visit(&entry.path()) {
                return;
            }
            if kind.is_dir() {
                left.push(entry.path());
            }
        }
    }
}

/// Returns the wall clock time, in nanoseconds from the Unix epoch.
fn now() -> Option<i128> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i128::try_from(since.as_nanos()).ok()
}

/// Feed of all .NET files below directories.
pub(super) struct NettraceFolder {
    directories: Vec<PathBuf>,
    options: OpenOptions,
    tree: TreeOptions,
    interval: Duration,
    /// Last time at which the directories were searched.
    searched: Option<Instant>,
    /// Files that are read or are no .NET files, as far as they are still there.
    known: HashSet<FileKey>,
    files: Vec<FolderFile>,
    /// Index of the file with the current message.
    current: Option<usize>,
    /// Set if there is a .NET file.
    has_files: Arc<AtomicBool>,
    is_stopped: bool,
    /// Files that ended because of an error.
    problems: Vec<String>,
}

/// Identity of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum FileKey {
    /// Device and number, which stay if the file gets another name.
    Number(u64, u64),
    /// Path of a file in a system without numbers, and of a file that is not kept open.
    Path(PathBuf),
}

impl FileKey {
    fn new(path: &Path) -> Option<Self> {
        let found = FollowedFile::new(&path.metadata().ok()?);
        let (device, number) = found.identity();
        Some(if found.is_identified() { Self::Number(device, number) } else { Self::Path(path.to_owned()) })
    }
}

struct FolderFile {
    key: FileKey,
    /// Last time at which it was found.
    found: Instant,
    name: String,
    feed: NettraceFeed,
    state: FileState,
    /// Last time at which it was asked for messages.
    polled: Instant,
}

impl FolderFile {
    /// Asks for the next message. Returns the error that ended the file.
    fn poll(&mut self) -> Option<String> {
        self.polled = Instant::now();
        let (state, error) = match self.feed.poll() {
            LivePoll::Message(head) => (FileState::Message(head), None),
            LivePoll::Pending(until) => (FileState::Pending(until), None),
            LivePoll::Failed(error) => (FileState::End, Some(format!("{}: {error}", self.name))),
            _ => (FileState::End, None),
        };
        self.state = state;
        error
    }
}

/// What a file delivers next.
#[derive(Clone, Copy, Debug)]
enum FileState {
    Message(Head),
    /// Nothing is ready. No message before this time will come.
    Pending(Option<i128>),
    End,
}

impl NettraceFolder {
    /// Returns the trace of all .NET files below directories. Sets `has_files` when there is one.
    pub(super) fn open(
        directories: &[PathBuf],
        options: &OpenOptions,
        follow: &FollowOptions,
        has_files: Arc<AtomicBool>,
        live: &LiveOptions,
    ) -> Result<LiveTrace, FollowError> {
        let name = directories.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        let class = TraceClass::new("", [], [DataStreamClass::new(None, [])]);
        let trace = Trace::new(class, &*name, &Limits::default()).ok();
        let stream = trace.and_then(|trace| DataStream::new(Arc::new(trace), 0, None, ""));
        let stream = Arc::new(stream.ok_or(FollowError::Stopped)?);
        let feed = Self {
            directories: directories.to_vec(),
            options: options.clone(),
            tree: options.tree(),
            interval: follow.interval,
            searched: None,
            known: HashSet::new(),
            files: Vec::new(),
            current: None,
            has_files,
            is_stopped: false,
            problems: Vec::new(),
        };
        Ok(LiveTrace::new("nettrace", name, stream, Box::new(feed), live.clone()))
    }

    /// Finds new .NET files.
    fn search(&mut self) {
        self.searched = Some(Instant::now());
        let Self { directories, options, tree, known, files, is_stopped, .. } = self;
        let mut present = HashSet::new();
        for directory in directories {
            for_each_file(directory, &mut |path| {
                let Some(key) = FileKey::new(path) else { return true };
                if known.contains(&key) {
                    if let Some(file) = files.iter_mut().find(|file| file.key == key) {
                        file.feed.set_path(path);
                        file.found = Instant::now();
                    }
                    present.insert(key);
                    return true;
                }
                let other = FileKey::Path(path.to_owned());
                if known.contains(&other) {
                    present.insert(other);
                    return true;
                }
                let Some(start) = FileStart::read(path, tree) else { return true };
                if start == FileStart::Other {
                    known.insert(other.clone());
                    present.insert(other);
                } else if files.len() < MOST_READ {
                    known.insert(key.clone());
                    let name = path.to_string_lossy().into_owned();
                    let mut feed = NettraceFeed::new(path, &name, options);
                    if !matches!(key, FileKey::Path(_)) {
                        feed.keep_file();
                    }
                    if *is_stopped {
                        feed.stop();
                    }
                    let (state, found) = (FileState::Pending(None), Instant::now());
                    files.push(FolderFile { key, found, name, feed, state, polled: found });
                }
                true
            });
        }
        // Files that are gone are read for some time, because their writers may go on.
        for file in files {
            if file.found.elapsed() >= GRACE {
                file.feed.stop();
            }
            present.insert(file.key.clone());
        }
        *known = present;
        self.has_files.fetch_or(!self.files.is_empty(), Ordering::Relaxed);
    }

    /// Returns the file with the earliest message that no other file can precede, or the time up to which nothing comes.
    fn earliest(&self) -> Result<usize, Option<i128>> {
        let mut least: Option<(Option<i128>, usize)> = None;
        let mut bound: Option<Option<i128>> = None;
        for (index, file) in self.files.iter().enumerate() {
            match file.state {
                FileState::Message(head) => {
                    let time = head.nanoseconds();
                    if least.is_none_or(|(known, _)| time < known) {
                        least = Some((time, index));
                    }
                }
                // Its next events come later than those that the others have now.
                FileState::Pending(_) if file.feed.is_quiet() => {}
                FileState::Pending(until) => bound = Some(bound.map_or(until, |known| known.min(until))),
                FileState::End => {}
            }
        }
        match (least, bound) {
            (Some((time, index)), Some(bound)) if time <= bound => Ok(index),
            (Some((_, index)), None) => Ok(index),
            (_, bound) => Err(bound.flatten()),
        }
    }
}

impl LiveFeed for NettraceFolder {
    fn poll(&mut self) -> LivePoll {
        if self.searched.is_none_or(|searched| searched.elapsed() >= self.interval) {
            self.search();
        }
        let current = self.current.take();
        for (index, file) in self.files.iter_mut().enumerate() {
            // There can be many quiet files.
            let rests = file.feed.is_quiet() && file.polled.elapsed() < self.interval && !self.is_stopped;
            let is_asked = matches!(file.state, FileState::Pending(_)) && !rests;
            if is_asked || current == Some(index) {
                self.problems.extend(file.poll());
            }
        }
        self.files.retain(|file| !matches!(file.state, FileState::End));
        if self.files.is_empty() && self.is_stopped {
            let problems = std::mem::take(&mut self.problems);
            return if problems.is_empty() { LivePoll::End } else { LivePoll::Failed(problems.join("; ")) };
        }
        match self.earliest() {
            Ok(index) => {
                self.current = Some(index);
                match self.files.get(index).map(|file| file.state) {
                    Some(FileState::Message(head)) => LivePoll::Message(head),
                    _ => LivePoll::Pending(None),
                }
            }
            // Others do not wait for files that are quiet or missing.
            Err(_) if self.files.iter().all(|file| file.feed.is_quiet()) => LivePoll::Pending(now()),
            Err(bound) => LivePoll::Pending(bound),
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        self.files.get(self.current?)?.feed.current()
    }

    fn stop(&mut self) {
        self.search();
        self.is_stopped = true;
        self.files.iter_mut().for_each(|file| file.feed.stop());
    }
}
