//! Notifications of the system about changed files.

use std::collections::HashSet;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::{Errno, retry_on_intr};

/// Maximum number of watched files and directories. Changes of others are noticed at the next look.
const MOST_WATCHED: usize = 1024;

/// Watches files and directories. Some changes are not noticed, for example in network file systems and of files that are
/// written through memory.
#[derive(Debug)]
pub(super) struct FileWatch {
    inotify: OwnedFd,
    watched: HashSet<PathBuf>,
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
        Some(Self { inotify, watched: HashSet::new() })
    }

    /// Watches the files and directories at these paths, all directories below, and the places where missing files appear.
    pub(super) fn watch(&mut self, paths: &[PathBuf]) {
        let appearing = WatchFlags::CREATE | WatchFlags::MOVED_TO;
        let changing = appearing | WatchFlags::MODIFY | WatchFlags::MOVED_FROM | WatchFlags::DELETE;
        for path in paths {
            // A file that replaces another has no watch yet.
            let is_directory = path.is_dir();
            if !is_directory {
                self.watched.remove(path);
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                self.add(parent.unwrap_or(Path::new(".")), appearing);
                self.add(path, WatchFlags::MODIFY | WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF);
                continue;
            }
            let mut left = vec![path.clone()];
            while let Some(directory) = left.pop() {
                self.add(&directory, changing);
                if self.watched.len() >= MOST_WATCHED {
                    return;
                }
                let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
                let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
                left.extend(entries.filter(is_directory).map(|entry| entry.path()));
            }
        }
    }

    fn add(&mut self, path: &Path, flags: WatchFlags) {
        // A watch of a removed directory ends, and another directory can have its path. The next look notices it.
        if self.watched.len() < MOST_WATCHED
            && !self.watched.contains(path)
            && inotify::add_watch(&self.inotify, path, flags | WatchFlags::MASK_ADD).is_ok()
        {
            self.watched.insert(path.to_owned());
        }
    }

    /// Waits until something has changed, the bell rings, or the time is over.
    pub(super) fn wait(&self, time: Duration, bell: &WatchBell) {
        let mut waiting = [PollFd::new(&self.inotify, PollFlags::IN), PollFd::new(&bell.0, PollFlags::IN)];
        let time = Timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        // Without a result, the files are looked at too early.
        let _ = retry_on_intr(|| poll(&mut waiting, Some(&time)));
        self.discard();
    }

    /// Removes waiting notifications.
    fn discard(&self) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        loop {
            match rustix::io::read(&self.inotify, &mut buffer) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}
