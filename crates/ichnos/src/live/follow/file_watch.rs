//! Notifications of the system about changed files.

use std::collections::HashMap;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::{Errno, retry_on_intr};

use super::known_stream::FollowedFile;

/// Maximum number of watched files and directories. Changes of others are noticed at the next look.
const MOST_WATCHED: usize = 1024;

/// Watches files and directories. Some changes are not noticed, for example in network file systems and of files that are
/// written through memory.
#[derive(Debug)]
pub(super) struct FileWatch {
    inotify: OwnedFd,
    /// Paths of the watches by their number. A path can have several: its former file is still written.
    paths: HashMap<i32, PathBuf>,
    directories: HashMap<PathBuf, WatchedDirectory>,
    /// `true` if notifications were taken from the queue before a wait.
    has_news: bool,
}

#[derive(Clone, Copy, Debug)]
struct WatchedDirectory {
    /// Number of the watch.
    number: i32,
    /// Device and number. A removed directory keeps its watch while a file that was in it is open.
    identity: (u64, u64),
}

/// Ends the wait of a [`FileWatch`].
#[derive(Debug)]
pub(super) struct WatchBell(OwnedFd);

impl WatchBell {
    /// Creates a bell. Returns `None` if the system refuses it.
    pub(super) fn new() -> Option<Self> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok().map(Self)
    }

    pub(super) fn ring(&self) {
        // It fails only if it has rung already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

impl FileWatch {
    /// Creates a watch of nothing. Returns `None` if the system refuses it.
    pub(super) fn new() -> Option<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        Some(Self { inotify, paths: HashMap::new(), directories: HashMap::new(), has_news: false })
    }

    /// Watches the files and directories at these paths, all directories below, and the places where missing files appear.
    pub(super) fn watch(&mut self, paths: &[PathBuf]) {
        // A directory that was removed and created again needs another watch.
        self.has_news |= self.take_notifications();
        let appearing = WatchFlags::CREATE | WatchFlags::MOVED_TO;
        let changing = appearing
            | WatchFlags::MODIFY
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        for path in paths {
            if !path.is_dir() {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                self.add_directory(parent.unwrap_or(Path::new(".")), appearing | WatchFlags::MOVE_SELF);
                // A file that replaces another has no watch yet.
                self.add(path, WatchFlags::MODIFY | WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF);
                continue;
            }
            let mut left = vec![path.clone()];
            while let Some(directory) = left.pop() {
                self.add_directory(&directory, changing);
                if self.paths.len() >= MOST_WATCHED {
                    return;
                }
                let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
                let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
                left.extend(entries.filter(is_directory).map(|entry| entry.path()));
            }
        }
    }

    fn add_directory(&mut self, path: &Path, flags: WatchFlags) {
        let Ok(found) = fs::metadata(path) else { return };
        let identity = FollowedFile::new(&found).identity();
        if let Some(known) = self.directories.get(path).copied() {
            if known.identity == identity {
                return;
            }
            self.end(known.number);
        }
        if let Some(number) = self.add(path, flags) {
            self.directories.insert(path.to_owned(), WatchedDirectory { number, identity });
        }
    }

    fn add(&mut self, path: &Path, flags: WatchFlags) -> Option<i32> {
        if self.paths.len() >= MOST_WATCHED {
            return None;
        }
        let number = inotify::add_watch(&self.inotify, path, flags | WatchFlags::MASK_ADD).ok()?;
        self.paths.insert(number, path.to_owned());
        Some(number)
    }

    /// Waits until something has changed, the bell rings, or the time is over. Returns `true` if something has changed.
    pub(super) fn wait(&mut self, time: Duration, bell: Option<&WatchBell>) -> bool {
        if !std::mem::take(&mut self.has_news) {
            let mut waiting = vec![PollFd::new(&self.inotify, PollFlags::IN)];
            waiting.extend(bell.map(|bell| PollFd::new(&bell.0, PollFlags::IN)));
            let time = Timespec {
                tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: time.subsec_nanos().into(),
            };
            // Without a result, the files are looked at too early.
            let _ = retry_on_intr(|| poll(&mut waiting, Some(&time)));
            return self.take_notifications();
        }
        self.take_notifications();
        true
    }

    /// Takes all waiting notifications. Returns `true` if there were any.
    fn take_notifications(&mut self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let (mut ended, mut moved, mut has_lost, mut has_any) = (Vec::new(), Vec::new(), false, false);
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    has_any = true;
                    let flags = event.events();
                    has_lost |= flags.contains(ReadFlags::QUEUE_OVERFLOW);
                    if flags.contains(ReadFlags::IGNORED) {
                        ended.push(event.wd());
                    } else if flags.contains(ReadFlags::MOVE_SELF) {
                        moved.push(event.wd());
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        moved.into_iter().for_each(|number| self.forget_moved(number));
        ended.into_iter().for_each(|number| self.forget(number));
        if has_lost {
            // The next additions find the watches that are left.
            self.paths.clear();
            self.directories.clear();
        }
        has_any
    }

    /// Ends the watches of a directory that was moved, and of those below. A file that was moved may still be written.
    fn forget_moved(&mut self, number: i32) {
        let Some(path) = self.paths.get(&number).filter(|path| self.directories.contains_key(*path)) else {
            return;
        };
        let path = path.clone();
        let is_below = |(below, _): &(&PathBuf, &WatchedDirectory)| below.starts_with(&path);
        let all: Vec<i32> =
            self.directories.iter().filter(is_below).map(|(_, watched)| watched.number).collect();
        all.into_iter().for_each(|number| self.end(number));
    }

    fn end(&mut self, number: i32) {
        // It can have ended meanwhile.
        let _ = inotify::remove_watch(&self.inotify, number);
        self.forget(number);
    }

    fn forget(&mut self, number: i32) {
        if let Some(path) = self.paths.remove(&number)
            && self.directories.get(&path).is_some_and(|watched| watched.number == number)
        {
            self.directories.remove(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_return_are_watched() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        let below = root.join("below");
        fs::create_dir_all(&below).unwrap();
        let paths = [root.clone()];
        let mut watch = FileWatch::new().unwrap();
        let long = Duration::from_secs(20);
        watch.watch(&paths);
        assert!(!watch.wait(Duration::ZERO, None));
        for round in 0..3 {
            fs::write(below.join("file"), "text").unwrap();
            assert!(watch.wait(long, None), "{round}");
            // An open file keeps its directory alive.
            let _open = fs::File::open(below.join("file")).unwrap();
            if round == 1 {
                fs::rename(&root, directory.path().join("moved")).unwrap();
            } else {
                fs::remove_dir_all(&root).unwrap();
            }
            fs::create_dir_all(&below).unwrap();
            watch.watch(&paths);
            // What happened before is told once, and the end of a watch, too.
            while watch.wait(Duration::ZERO, None) {}
            assert_eq!((watch.paths.len(), watch.directories.len()), (2, 2), "{round}");
        }
    }
}
