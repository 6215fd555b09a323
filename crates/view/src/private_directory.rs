//! Temporary directory that other users cannot read.

use std::fs::{self, DirEntry, File, OpenOptions};
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::cache::is_own;

/// Start of the directory names.
const PREFIX: &str = "ichnos-view-";

/// File that a running process keeps locked. Directories without it belong to something else.
const LOCK: &str = ".ichnos-view.lock";

/// Name of that file until it is locked.
const UNLOCKED: &str = ".ichnos-view.new";

/// Temporary directory of this process, with mode 700. Dropping it removes it and all its files.
///
/// A killed process leaves its directory behind. [`remove_abandoned`](Self::remove_abandoned) removes it, because the
/// lock of its file ends with the process.
#[derive(Debug)]
pub struct PrivateDirectory {
    directory: TempDir,
    _lock: File,
}

impl PrivateDirectory {
    /// Creates a directory in `parent`.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create_in(parent: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let directory = builder.tempdir_in(parent)?;
        let unlocked = directory.path().join(UNLOCKED);
        let lock = create(&unlocked)?;
        // Without file system locks, no other process can lock the file either, so nobody removes the directory.
        let _ = lock.try_lock();
        // The file gets its name after it is locked. So an unlocked file always means that its process is gone.
        fs::rename(unlocked, directory.path().join(LOCK))?;
        Ok(Self { directory, _lock: lock })
    }

    /// Removes the directories that killed processes of this user left in `parent`.
    pub fn remove_abandoned(parent: &Path) {
        let Ok(entries) = fs::read_dir(parent) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_abandoned(&entry) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Creates a file in the directory, with mode 600.
    ///
    /// # Errors
    /// If the file exists, or cannot be created.
    pub fn create(&self, name: &str) -> io::Result<File> {
        create(&self.path().join(name))
    }

    /// Sets the mode of a file in the directory to 600. Of a directory, sets its mode and all modes below it: 700 for
    /// directories, 600 for files.
    ///
    /// # Errors
    /// If the file does not exist.
    pub fn restrict(&self, name: &str) -> io::Result<()> {
        restrict(&self.path().join(name))
    }
}

fn restrict(path: &Path) -> io::Result<()> {
    // Links are not followed.
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_symlink() {
        return Ok(());
    }
    #[cfg(unix)]
    {
        let mode = if kind.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    }
    if kind.is_dir() {
        for entry in fs::read_dir(path)? {
            restrict(&entry?.path())?;
        }
    }
    Ok(())
}

/// Creates a file that other users cannot read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns `true` for a directory of this user whose process is gone.
fn is_abandoned(entry: &DirEntry) -> bool {
    // Links are not followed.
    let is_own_directory = entry.metadata().is_ok_and(|found| found.is_dir() && is_own(&found));
    let lock = || OpenOptions::new().write(true).open(entry.path().join(LOCK));
    is_own_directory && lock().is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Creates a directory as a killed process leaves it.
    fn abandoned(parent: &Path, name: &str) {
        let path = parent.join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        drop(create(&path.join(LOCK)).unwrap());
        fs::write(path.join("trace"), "secret").unwrap();
    }

    #[test]
    fn other_users_see_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let directory = PrivateDirectory::create_in(parent.path()).unwrap();
        drop(directory.create("trace").unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(directory.path()), mode(&directory.path().join("trace"))), (0o700, 0o600));
        assert!(directory.create("trace").is_err());
        fs::write(directory.path().join("public"), "").unwrap();
        directory.restrict("public").unwrap();
        assert_eq!(mode(&directory.path().join("public")), 0o600);
        let trace = directory.path().join("trace directory");
        fs::create_dir_all(trace.join("index")).unwrap();
        fs::write(trace.join("index/stream"), "").unwrap();
        directory.restrict("trace directory").unwrap();
        let modes = ["", "index", "index/stream"].map(|name| mode(&trace.join(name)));
        assert_eq!(modes, [0o700, 0o700, 0o600]);
        drop(directory);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn directories_of_killed_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        let running = PrivateDirectory::create_in(parent).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        abandoned(elsewhere.path(), "ichnos-view-target");
        symlink(elsewhere.path().join("ichnos-view-target"), parent.join("ichnos-view-link")).unwrap();
        abandoned(parent, "ichnos-view-killed");
        abandoned(parent, "something-else");
        // A directory that the user gave such a name.
        fs::create_dir(parent.join("ichnos-view-notes")).unwrap();
        // A directory that another process is creating now.
        abandoned(parent, "ichnos-view-new");
        fs::rename(parent.join("ichnos-view-new").join(LOCK), parent.join("ichnos-view-new").join(UNLOCKED))
            .unwrap();
        PrivateDirectory::remove_abandoned(parent);
        assert!(!parent.join("ichnos-view-killed").exists());
        for kept in ["ichnos-view-link", "something-else", "ichnos-view-notes", "ichnos-view-new"] {
            assert!(parent.join(kept).exists(), "{kept}");
        }
        assert!(running.path().exists());
        assert!(elsewhere.path().join("ichnos-view-target/trace").exists());
    }

    /// A directory must never be removed while its process runs, however early another process looks.
    #[test]
    fn new_directories_are_not_abandoned() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    PrivateDirectory::remove_abandoned(parent);
                }
            });
            let created: Vec<_> = (0..200).map(|_| PrivateDirectory::create_in(parent)).collect();
            is_over.store(true, Ordering::Relaxed);
            for directory in created {
                assert!(directory.unwrap().path().join(LOCK).exists());
            }
        });
    }
}
