//! .NET files that grow, read once from their start.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ichnos_io::{Bytes, FilePrint, Tree, TreeOptions};
use ichnos_model::DataStream;
use ichnos_model::live::{LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::message::Message;

use super::follow_error::FollowError;
use super::input_state::InputState;
use super::known_stream::FollowedFile;
use super::spooled_pipe::SpooledPipe;
use crate::OpenOptions;
use crate::nettrace::{LiveNettrace, LiveState, NettraceOptions};

/// Start of .NET files.
const MAGIC: &[u8] = b"Nettrace";

/// Number of bytes by which compressed files are recognized.
const PACKED_START: u64 = 10;

/// Number of bytes to read at a time.
const STEP: usize = 256 << 10;

/// Time without growth after which a flush of the runtime is complete, so that its events are delivered.
const FLUSH_END: Duration = Duration::from_millis(300);

/// Time between two looks at a file without its start, and at a compressed file.
const LOOK: Duration = Duration::from_millis(20);

/// Returns `true` if the file at a path is a .NET file, or is read as one in any case. A file without a start can become one.
pub(super) fn is_nettrace(path: &Path, options: &OpenOptions) -> bool {
    match FileStart::read(path, &options.tree()) {
        Some(FileStart::Plain | FileStart::Packed) => true,
        Some(FileStart::Other) => false,
        None => options.format.as_deref() == Some("nettrace"),
    }
}

/// Returns `true` if a path is to become a .NET file by its name. What it becomes is decided by the content.
pub(super) fn will_be_nettrace(path: &Path, options: &OpenOptions) -> bool {
    let is_named = path.extension().is_some_and(|extension| extension == "nettrace");
    is_named && !path.is_dir() && FileStart::read(path, &options.tree()).is_none()
}

/// Kind of a file by its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileStart {
    /// .NET file.
    Plain,
    /// Compressed .NET file.
    Packed,
    Other,
}

impl FileStart {
    /// Reads the start of a file. Returns `None` if it is too short.
    pub(super) fn read(path: &Path, options: &TreeOptions) -> Option<Self> {
        let mut beginning = Vec::new();
        File::open(path).and_then(|file| file.take(PACKED_START).read_to_end(&mut beginning)).ok()?;
        if beginning.starts_with(MAGIC) {
            return Some(Self::Plain);
        }
        if !Tree::is_packed(&beginning) {
            return (beginning.len() as u64 == PACKED_START).then_some(Self::Other);
        }
        let mut options = options.clone();
        options.beginning = Some(MAGIC.len() as u64);
        match unpacked(path, &options).ok()? {
            Some(bytes) if bytes.len() < MAGIC.len() => None,
            Some(bytes) if bytes.starts_with(MAGIC) => Some(Self::Packed),
            _ => Some(Self::Other),
        }
    }
}

/// Unpacks a compressed file, as far as it is there. Returns `None` for an archive with several files.
fn unpacked(path: &Path, options: &TreeOptions) -> io::Result<Option<Bytes>> {
    let tree = Tree::open_with(path, options).map_err(io::Error::other)?;
    match tree.entries.as_slice() {
        [entry] => entry.read().map(Some),
        _ => Ok(None),
    }
}

/// Returns `true` if another file has the path. A file can have no name any more, or a new one.
fn has_other(path: &Path, opened: &Metadata) -> bool {
    let other = path.metadata().ok().map(|found| FollowedFile::new(&found));
    let other = other.filter(FollowedFile::is_identified);
    other.is_some_and(|other| other.identity() != FollowedFile::new(opened).identity())
}

/// Content of a growing file.
enum NettraceContent {
    /// The file does not exist yet.
    Missing,
    Plain(File),
    /// A compressed file, which is unpacked again when it has changed.
    Packed {
        /// Keeps the number of the file from being used for another one.
        file: File,
        state: InputState,
        looked: Instant,
    },
}

/// The first and the last bytes that were read, to notice that a file has other content now.
#[derive(Debug, Default)]
struct ReadBytes {
    count: usize,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl ReadBytes {
    fn add(&mut self, bytes: &[u8]) {
        self.count += bytes.len();
        let most = FilePrint::part_length(usize::MAX);
        let missing = most.saturating_sub(self.first.len());
        self.first.extend_from_slice(bytes.get(..missing).unwrap_or(bytes));
        self.last.extend_from_slice(bytes);
        self.last.drain(..self.last.len().saturating_sub(most));
    }

    /// Returns `true` if the file still begins with these bytes.
    fn are_in(&self, file: &mut File) -> io::Result<bool> {
        let (mut first, mut last) = (vec![0; self.first.len()], vec![0; self.last.len()]);
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut first)?;
        file.seek(SeekFrom::Start((self.count - last.len()) as u64))?;
        file.read_exact(&mut last)?;
        Ok(first == self.first && last == self.last)
    }
}

/// Events of a growing .NET file.
pub(super) struct NettraceFeed {
    name: String,
    options: NettraceOptions,
    tree: TreeOptions,
    live: LiveNettrace,
    path: PathBuf,
    content: NettraceContent,
    read: ReadBytes,
    /// Time of the modification before the last read.
    modified: Option<SystemTime>,
    /// `true` if another file at the path is not read, because another feed reads it.
    keeps_file: bool,
    /// Last time at which the file had grown.
    grown: Instant,
    pipe: Option<SpooledPipe>,
    is_stopped: bool,
    /// `true` if the file has other content now, which is read after the rest of the former content.
    is_replaced: bool,
    problem: Option<String>,
}

impl NettraceFeed {
    /// Waits for the start of a file, and returns its trace. `name` is for display.
    pub(super) fn open(
        path: &Path,
        name: &str,
        pipe: Option<SpooledPipe>,
        options: &OpenOptions,
        live: &LiveOptions,
    ) -> Result<LiveTrace, FollowError> {
        let mut feed = Self::new(path, name, options);
        feed.pipe = pipe;
        let stream = loop {
            if let Some(stream) = feed.begin() {
                break stream;
            }
            if let Some(problem) = feed.failure() {
                return Err(FollowError::Nettrace { path: name.to_owned(), problem });
            }
            if live.is_stopped() {
                return Err(FollowError::Stopped);
            }
            std::thread::sleep(LOOK);
        };
        Ok(LiveTrace::new("nettrace", name, stream, Box::new(feed), live.clone()))
    }

    /// Creates the feed of a file. `name` is for display.
    pub(super) fn new(path: &Path, name: &str, options: &OpenOptions) -> Self {
        let (tree, options) = (options.tree(), NettraceOptions::from(&options.reading_at(name)));
        Self {
            live: LiveNettrace::new(name, &options, Vec::new()),
            name: name.to_owned(),
            options,
            tree,
            path: path.to_owned(),
            content: NettraceContent::Missing,
            read: ReadBytes::default(),
            modified: None,
            keeps_file: false,
            grown: Instant::now(),
            pipe: None,
            is_stopped: false,
            is_replaced: false,
            problem: None,
        }
    }

    /// Keeps the file. Others with its path are not read.
    pub(super) fn keep_file(&mut self) {
        self.keeps_file = true;
    }

    /// Sets the path after the file got another name.
    pub(super) fn set_path(&mut self, path: &Path) {
        if self.path != path {
            path.clone_into(&mut self.path);
        }
    }

    /// Reads the start of the file. Returns the data stream, if it is there.
    fn begin(&mut self) -> Option<Arc<DataStream>> {
        while self.live.stream().is_none() && self.receive() {
            self.live.open();
        }
        if self.live.stream().is_none() && self.has_ended() {
            self.live.finish();
            self.live.open();
        }
        self.live.stream().map(Arc::clone)
    }

    /// Returns `true` if the file has not grown for some time, and all events were delivered.
    pub(super) fn is_quiet(&self) -> bool {
        self.grown.elapsed() >= FLUSH_END && !self.live.has_waiting()
    }

    /// Reads what was appended. Returns `false` if nothing was.
    fn receive(&mut self) -> bool {
        if self.is_replaced {
            return false;
        }
        match self.try_receive() {
            Ok(0) => false,
            Ok(_) => {
                self.grown = Instant::now();
                true
            }
            Err(error) => {
                self.problem.get_or_insert(error.to_string());
                false
            }
        }
    }

    fn try_receive(&mut self) -> io::Result<usize> {
        if matches!(self.content, NettraceContent::Missing) {
            match FileStart::read(&self.path, &self.tree) {
                Some(FileStart::Packed) => {
                    let (file, state) = (File::open(&self.path)?, InputState::new([]));
                    self.content = NettraceContent::Packed { file, state, looked: self.grown };
                }
                // It is refused later.
                Some(_) => self.content = NettraceContent::Plain(File::open(&self.path)?),
                None => return Ok(0),
            }
        }
        match &self.content {
            NettraceContent::Packed { .. } => self.receive_packed(),
            _ => self.receive_plain(),
        }
    }

    fn receive_plain(&mut self) -> io::Result<usize> {
        let NettraceContent::Plain(file) = &mut self.content else { return Ok(0) };
        let found = file.metadata()?;
        let length = usize::try_from(found.len()).unwrap_or(usize::MAX);
        let is_touched = std::mem::replace(&mut self.modified, found.modified().ok()) != self.modified;
        if length == self.read.count {
            // Other content can have the same length.
            self.is_replaced = if is_touched && length > 0 && !self.read.are_in(file)? {
                true
            } else {
                self.pipe.is_none() && !self.keeps_file && has_other(&self.path, &found)
            };
            return Ok(0);
        }
        if length < self.read.count || !self.read.are_in(file)? {
            self.is_replaced = true;
            return Ok(0);
        }
        let mut buffer = vec![0; STEP.min(length - self.read.count)];
        let length = file.read(&mut buffer)?;
        self.take(buffer.get(..length).unwrap_or_default());
        Ok(length)
    }

    fn receive_packed(&mut self) -> io::Result<usize> {
        let NettraceContent::Packed { file, state, looked } = &mut self.content else { return Ok(0) };
        if !self.is_stopped && looked.elapsed() < LOOK && self.read.count > 0 {
            return Ok(0);
        }
        *looked = Instant::now();
        // What was unpacked of a removed file stays.
        let is_gone = self.read.count > 0 && !self.path.exists();
        if is_gone || self.keeps_file && has_other(&self.path, &file.metadata()?) {
            return Ok(0);
        }
        let now = InputState::new([&self.path]);
        if std::mem::replace(state, now) == now {
            return Ok(0);
        }
        let bytes = match unpacked(&self.path, &self.tree) {
            Ok(Some(bytes)) => bytes,
            Err(error) if self.is_stopped => return Err(error),
            // Nothing can be unpacked yet.
            _ => return Ok(0),
        };
        let former = bytes.get(self.read.count.saturating_sub(self.read.last.len())..self.read.count);
        if !bytes.starts_with(&self.read.first) || former != Some(&self.read.last) {
            self.is_replaced = true;
            return Ok(0);
        }
        let new = bytes.get(self.read.count..).unwrap_or_default();
        self.take(new);
        Ok(new.len())
    }

    /// Passes bytes to the reader.
    fn take(&mut self, bytes: &[u8]) {
        self.read.add(bytes);
        self.live.feed(bytes);
    }

    /// Begins with the other content of the file.
    fn begin_again(&mut self) {
        self.live = LiveNettrace::new(&self.name, &self.options, Vec::new());
        (self.content, self.read, self.is_replaced) = (NettraceContent::Missing, ReadBytes::default(), false);
        self.modified = None;
    }

    /// Returns `true` if nothing more is appended.
    fn has_ended(&self) -> bool {
        self.is_stopped || self.problem.is_some() || self.pipe.as_ref().is_some_and(|pipe| pipe.end()())
    }

    /// Returns why it ended early.
    fn failure(&self) -> Option<String> {
        let refusal = self.live.refusal().map(ToString::to_string);
        let pipe = || Some(self.pipe.as_ref()?.take_error()?.to_string());
        refusal.or_else(|| self.problem.clone()).or_else(pipe)
    }

    /// Ends, or goes on with the other content of the file.
    fn end(&mut self) -> Option<LivePoll> {
        if self.is_replaced && self.problem.is_none() {
            self.begin_again();
            return None;
        }
        let is_empty = self.read.count == 0 && self.problem.is_none();
        Some(self.failure().filter(|_| !is_empty).map_or(LivePoll::End, LivePoll::Failed))
    }
}

impl LiveFeed for NettraceFeed {
    fn poll(&mut self) -> LivePoll {
        loop {
            match self.live.advance() {
                LiveState::Message => match self.live.head() {
                    Some(head) => return LivePoll::Message(head),
                    None => continue,
                },
                LiveState::End => match self.end() {
                    Some(end) => return end,
                    None => continue,
                },
                LiveState::Waiting => {}
            }
            // Asked first: what was appended before is then read.
            let has_ended = self.has_ended();
            if self.receive() {
                continue;
            }
            if has_ended || self.is_replaced {
                self.live.finish();
            } else if self.live.has_waiting() && self.grown.elapsed() >= FLUSH_END {
                self.live.release_waiting();
            } else {
                return LivePoll::Pending(self.live.bound());
            }
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        self.live.current()
    }

    fn stop(&mut self) {
        self.is_stopped = true;
    }
}
