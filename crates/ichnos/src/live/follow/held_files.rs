//! Open files, so that what was written just before they were renamed or removed can still be read.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::known_stream::FollowedFile;

/// Maximum number of open files.
const MOST_HELD: usize = 256;

/// Maximum number of files in a search for renamed files.
const MOST_FILES: usize = 100_000;

/// Time for which a file is read after it was renamed or removed. Its writer may go on for some time.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// Files that are followed.
#[derive(Debug, Default)]
pub(super) struct HeldFiles {
    files: HashMap<(u64, u64), HeldFile>,
}

#[derive(Debug)]
struct HeldFile {
    path: PathBuf,
    file: File,
    /// Number of bytes at the last look.
    bytes: u64,
    /// Since when the file is gone from the followed paths.
    gone: Option<Instant>,
}

/// A file that is gone from the followed paths.
pub(super) struct GoneFile {
    pub(super) path: PathBuf,
    pub(super) followed: FollowedFile,
    /// The file, at its start.
    pub(super) file: File,
    /// `true` if it is not read again.
    pub(super) is_last: bool,
}

impl HeldFiles {
    /// Keeps a file open that was found at a path.
    pub(super) fn hold(&mut self, path: &Path, found: &FollowedFile) {
        if let Some(held) = self.files.get_mut(&found.identity()) {
            (held.bytes, held.gone) = (found.bytes(), None);
            if held.path != path {
                path.clone_into(&mut held.path);
            }
            return;
        }
        if self.files.len() >= MOST_HELD || !found.is_identified() {
            return;
        }
        let Ok(file) = File::open(path) else { return };
        let is_same =
            file.metadata().is_ok_and(|opened| FollowedFile::new(&opened).identity() == found.identity());
        if is_same {
            let held = HeldFile { path: path.to_owned(), file, bytes: found.bytes(), gone: None };
            self.files.insert(found.identity(), held);
        }
    }

    /// Returns the files that are gone from all paths, and have grown since the last look or are not read again. If
    /// `is_end`, no file is read again.
    pub(super) fn take_gone(&mut self, paths: &[PathBuf], is_end: bool) -> Vec<GoneFile> {
        let is_moved = |(key, held): (&(u64, u64), &HeldFile)| {
            let found = fs::metadata(&held.path).ok();
            found.is_none_or(|found| FollowedFile::new(&found).identity() != *key).then_some(*key)
        };
        let moved: Vec<_> = self.files.iter().filter_map(is_moved).collect();
        if moved.is_empty() {
            return Vec::new();
        }
        let present = identities(paths);
        let mut all = Vec::new();
        for key in moved.into_iter().filter(|key| !present.contains(key)) {
            let Some(held) = self.files.get_mut(&key) else { continue };
            let since = *held.gone.get_or_insert_with(Instant::now);
            let is_last = is_end || since.elapsed() >= GRACE;
            let bytes = held.file.metadata().map_or(0, |found| found.len());
            if (bytes > held.bytes || is_last)
                && let Ok(file) = restarted(&held.file)
            {
                held.bytes = bytes;
                let followed = FollowedFile::of_identity(key, bytes);
                all.push(GoneFile { path: held.path.clone(), followed, file, is_last });
            }
            if is_last {
                self.files.remove(&key);
            }
        }
        all
    }
}

/// Returns the file at its start.
fn restarted(file: &File) -> io::Result<File> {
    let mut file = file.try_clone()?;
    file.rewind()?;
    Ok(file)
}

/// Returns the identities of all files below some paths. Links are not followed.
fn identities(paths: &[PathBuf]) -> HashSet<(u64, u64)> {
    let mut found = HashSet::new();
    let mut left: Vec<PathBuf> = paths.to_vec();
    while let Some(path) = left.pop() {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path()).filter(|path| !path.is_symlink()));
        } else {
            found.insert(FollowedFile::new(&metadata).identity());
        }
        if found.len().saturating_add(left.len()) > MOST_FILES {
            break;
        }
    }
    found
}
