//! Temporary directory that other users cannot read.

use std::fs::{self, DirEntry, File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

/// Start of the directory names.
const PREFIX: &str = "ichnos-view-";

/// File that a running process keeps locked. Directories without it are not ours.
const LOCK: &str = ".ichnos-view.lock";

/// Age below which a directory is never abandoned: its process may not have locked it yet.
const MINIMUM_AGE: Duration = Duration::from_secs(60);

/// Temporary directory of this process, with mode 700. Dropping it removes it and all files in it.
///
/// A killed process leaves its directory behind. The next directory that the same user creates in the same place removes it:
/// the lock of a file in it ends with its process.
#[derive(Debug)]
pub struct PrivateDirectory {
    directory: TempDir,
    _lock: File,
}

impl PrivateDirectory {
    /// Creates a directory in `parent`, and removes those that killed processes of this user left there.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create_in(parent: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let directory = builder.tempdir_in(parent)?;
        let lock = create(&directory.path().join(LOCK))?;
        // Without locks in the file system, nobody else can lock it either, and so nobody removes it.
        let _ = lock.try_lock();
        remove_abandoned(parent, directory.path());
        Ok(Self { directory, _lock: lock })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Creates a file in it, with mode 600.
    ///
    /// # Errors
    /// If there is such a file, or it cannot be created.
    pub fn create(&self, name: &str) -> io::Result<File> {
        create(&self.path().join(name))
    }

    /// Gives a file in it mode 600.
    ///
    /// # Errors
    /// If the file does not exist.
    pub fn restrict(&self, name: &str) -> io::Result<()> {
        let path = self.path().join(name);
        #[cfg(unix)]
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        #[cfg(not(unix))]
        fs::metadata(&path)?;
        Ok(())
    }
}

/// Creates a file that other users cannot read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Removes the directories in `parent` whose processes are gone. `own` belongs to this user.
fn remove_abandoned(parent: &Path, own: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_abandoned(&entry, own) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns `true` for a directory of the same user whose process is gone.
fn is_abandoned(entry: &DirEntry, own: &Path) -> bool {
    // Links are not followed.
    let (Ok(other), Ok(own)) = (entry.metadata(), fs::symlink_metadata(own)) else { return false };
    let age = other.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
    if !other.is_dir() || !has_same_owner(&other, &own) || age.is_none_or(|age| age < MINIMUM_AGE) {
        return false;
    }
    OpenOptions::new().write(true).open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

/// Returns `true` if two files belong to the same user.
fn has_same_owner(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        a.uid() == b.uid()
    }
    #[cfg(not(unix))]
    {
        let _ = (a, b);
        true
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Creates a directory as a killed process would have left it, an hour ago.
    fn abandoned(parent: &Path, name: &str) {
        let path = parent.join(name);
        fs::create_dir(&path).unwrap();
        drop(create(&path.join(LOCK)).unwrap());
        fs::write(path.join("trace"), "secret").unwrap();
        let hour_ago = SystemTime::now() - Duration::from_secs(3_600);
        File::open(&path).unwrap().set_modified(hour_ago).unwrap();
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
        drop(directory);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn directories_of_killed_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        let running = PrivateDirectory::create_in(parent).unwrap();
        let hour_ago = SystemTime::now() - Duration::from_secs(3_600);
        File::open(running.path()).unwrap().set_modified(hour_ago).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        abandoned(elsewhere.path(), "ichnos-view-target");
        symlink(elsewhere.path().join("ichnos-view-target"), parent.join("ichnos-view-link")).unwrap();
        abandoned(parent, "ichnos-view-killed");
        abandoned(parent, "something-else");
        // A directory of the user, who happens to call it so.
        fs::create_dir(parent.join("ichnos-view-notes")).unwrap();
        File::open(parent.join("ichnos-view-notes")).unwrap().set_modified(hour_ago).unwrap();
        let own = PrivateDirectory::create_in(parent).unwrap();
        assert!(!parent.join("ichnos-view-killed").exists());
        for kept in ["ichnos-view-link", "something-else", "ichnos-view-notes"] {
            assert!(parent.join(kept).exists(), "{kept}");
        }
        assert!(running.path().exists() && own.path().exists());
        assert!(elsewhere.path().join("ichnos-view-target/trace").exists());
    }
}
