//! .NET files that grow, read once from their start.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ichnos_io::ReadOptions;
use ichnos_model::live::{LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::message::Message;

use super::follow_error::FollowError;
use super::known_stream::FollowedFile;
use super::spooled_pipe::SpooledPipe;
use crate::nettrace::{LiveNettrace, LiveState, NettraceOptions};

/// Start of .NET files.
const MAGIC: &[u8] = b"Nettrace";

/// Number of bytes to read at a time.
const STEP: usize = 256 << 10;

/// Time without growth after which a flush of the runtime is complete, so that its events are delivered.
const FLUSH_END: Duration = Duration::from_millis(300);

/// Time between two looks at a file without its start.
const LOOK: Duration = Duration::from_millis(20);

/// Returns `true` if the file at a path is a .NET file, or will be one.
pub(super) fn is_nettrace(path: &Path) -> bool {
    let mut beginning = [0; MAGIC.len()];
    match File::open(path).and_then(|mut file| file.read_exact(&mut beginning)) {
        Ok(()) => beginning == MAGIC,
        Err(_) => path.extension().is_some_and(|extension| extension == "nettrace"),
    }
}

/// Returns `true` if a path names another file than the opened one.
fn is_other(path: &Path, file: &File) -> io::Result<bool> {
    // It can have no name any more, or a new one.
    let Ok(found) = path.metadata() else { return Ok(false) };
    let [found, opened] = [found, file.metadata()?].map(|metadata| FollowedFile::new(&metadata));
    Ok(found.is_identified() && found.identity() != opened.identity())
}

/// Events of a growing .NET file.
pub(super) struct NettraceFeed {
    live: LiveNettrace,
    path: PathBuf,
    file: Option<File>,
    /// Number of bytes that were read.
    read: u64,
    /// Last time at which the file had grown.
    grown: Instant,
    pipe: Option<SpooledPipe>,
    is_stopped: bool,
    problem: Option<String>,
}

impl NettraceFeed {
    /// Waits for the start of a file, and returns its trace. `name` is for display.
    pub(super) fn open(
        path: &Path,
        name: &str,
        pipe: Option<SpooledPipe>,
        options: &ReadOptions,
        live: &LiveOptions,
    ) -> Result<LiveTrace, FollowError> {
        let reader = LiveNettrace::new(name, &NettraceOptions::from(options), Vec::new());
        let mut feed = Self {
            live: reader,
            path: path.to_owned(),
            file: None,
            read: 0,
            grown: Instant::now(),
            pipe,
            is_stopped: false,
            problem: None,
        };
        let stream = loop {
            if let Some(stream) = feed.live.stream() {
                break Arc::clone(stream);
            }
            if let Some(problem) = feed.failure() {
                return Err(FollowError::Nettrace { path: name.to_owned(), problem });
            }
            if live.is_stopped() {
                return Err(FollowError::Stopped);
            }
            if !feed.receive() {
                if feed.has_ended() {
                    feed.live.finish();
                } else {
                    std::thread::sleep(LOOK);
                }
            }
            feed.live.open();
        };
        Ok(LiveTrace::new("nettrace", name, stream, Box::new(feed), live.clone()))
    }

    /// Reads what was appended. Returns `false` if nothing was.
    fn receive(&mut self) -> bool {
        match self.try_receive() {
            Ok(0) => false,
            Ok(length) => {
                self.read += length as u64;
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
        let file = match &mut self.file {
            Some(file) => file,
            None => match File::open(&self.path) {
                Ok(file) => self.file.insert(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
                Err(error) => return Err(error),
            },
        };
        let mut buffer = vec![0; STEP];
        let length = file.read(&mut buffer)?;
        if length == 0 && file.metadata()?.len() < self.read {
            return Err(io::Error::other("the file was truncated"));
        }
        if length == 0 && is_other(&self.path, file)? {
            return Err(io::Error::other("another file has its path now, and is not followed"));
        }
        self.live.feed(buffer.get(..length).unwrap_or_default());
        Ok(length)
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
}

impl LiveFeed for NettraceFeed {
    fn poll(&mut self) -> LivePoll {
        loop {
            match self.live.advance() {
                LiveState::Message => match self.live.head() {
                    Some(head) => return LivePoll::Message(head),
                    None => continue,
                },
                LiveState::End => return self.failure().map_or(LivePoll::End, LivePoll::Failed),
                LiveState::Waiting => {}
            }
            // Asked first: what was appended before is then read.
            let has_ended = self.has_ended();
            if self.receive() {
                continue;
            }
            if has_ended {
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
