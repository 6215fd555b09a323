//! Directories that appear when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A directory that is written under another name and gets its own when it is complete.
///
/// Until then what was at its place stays there. If it is dropped before, all that was written goes away.
#[derive(Debug)]
pub struct OutputDirectory {
    /// Where files are written now.
    current: PathBuf,
    /// Where they are in the end; None: where they are now.
    target: Option<PathBuf>,
}

impl OutputDirectory {
    /// A directory at a path where there is nothing, an empty directory, or one that is `replaceable`.
    ///
    /// # Errors
    /// If there is something else, or if no directory can be created beside it.
    pub fn create(path: &Path, replaceable: impl FnOnce(&Path) -> bool) -> io::Result<Self> {
        // What a symbolic link points to is replaced, not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::symlink_metadata(&target) {
            Ok(metadata) if !metadata.is_dir() => {
                let message = "expected the name of a directory to write, found a file";
                return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
            }
            Ok(_) if !is_empty(&target)? && !replaceable(&target) => {
                let message = "the directory is not empty, and is not a trace that could be replaced";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
            }
            _ => {}
        }
        let mut attempts = 0;
        loop {
            let current = crate::output::beside(&target);
            match fs::create_dir(&current) {
                Ok(()) => return Ok(Self { current, target: Some(target) }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < 100 => attempts += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// A directory whose files are at their place from the beginning on: for what is read while it is written. It
    /// appears with some files, so that it is never seen without them.
    ///
    /// # Errors
    /// If there is something that is no empty directory, or if it cannot be created.
    pub fn create_live(path: &Path, files: &[(PathBuf, Vec<u8>)]) -> io::Result<Self> {
        let mut directory = if path.is_dir() {
            // It may be one that cannot be replaced.
            if !is_empty(path)? {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the directory is not empty"));
            }
            Self { current: path.to_owned(), target: None }
        } else {
            Self::create(path, |_| false)?
        };
        for (relative, bytes) in files {
            directory.write_file(relative, bytes)?;
        }
        if let Some(target) = &directory.target {
            fs::rename(&directory.current, target)?;
            directory.current.clone_from(target);
            directory.target = None;
        }
        Ok(directory)
    }

    /// Where files are to be written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.current
    }

    /// Creates a file that there is not, and the directories around it.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create_file(&self, relative: &Path) -> io::Result<File> {
        let path = self.current.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        OpenOptions::new().append(true).create_new(true).open(path)
    }

    /// Writes a file that appears when it is complete, in place of one that there is.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_file(&self, relative: &Path, bytes: &[u8]) -> io::Result<()> {
        let path = self.current.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let temporary = crate::output::beside(&path);
        fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, &path)).inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        })
    }

    /// Gives the directory its name; gives its path.
    ///
    /// # Errors
    /// If that is not possible: then what was there is there again.
    pub fn finish(mut self) -> io::Result<PathBuf> {
        let Some(target) = self.target.take() else { return Ok(self.current.clone()) };
        let result = replace(&self.current, &target);
        if result.is_err() {
            let _ = fs::remove_dir_all(&self.current);
        }
        result.map(|()| target)
    }
}

/// Puts a directory at the place of another one, which is removed.
fn replace(current: &Path, target: &Path) -> io::Result<()> {
    // This replaces an empty directory, too.
    match fs::rename(current, target) {
        Err(_) if target.is_dir() => {}
        result => return result,
    }
    let old = crate::output::beside(target);
    fs::rename(target, &old)?;
    if let Err(error) = fs::rename(current, target) {
        // Nothing better can be done if this fails, too.
        let _ = fs::rename(&old, target);
        return Err(error);
    }
    fs::remove_dir_all(&old)
}

fn is_empty(path: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(path)?.next().is_none())
}

impl Drop for OutputDirectory {
    fn drop(&mut self) {
        if self.target.is_some() {
            let _ = fs::remove_dir_all(&self.current);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Directory;

    fn names(directory: &Path) -> Vec<String> {
        let item = |item: io::Result<fs::DirEntry>| item.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(item).collect();
        names.sort();
        names
    }

    #[test]
    fn appears_when_finished_and_replaces() {
        let root = Directory::new("output-directory");
        let path = root.join("t");
        for round in 0..2 {
            let directory = OutputDirectory::create(&path, |_| round == 1).unwrap();
            directory.write_file(Path::new("a/b"), &[round]).unwrap();
            assert_eq!(path.exists(), round == 1);
            assert_eq!(directory.finish().unwrap(), path);
            assert_eq!(fs::read(path.join("a/b")).unwrap(), [round]);
            assert_eq!(names(&root.join(".")), ["t"]);
        }
        let error = OutputDirectory::create(&path, |_| false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(OutputDirectory::create(&path.join("a/b"), |_| true).is_err());
    }

    #[test]
    fn leaves_nothing_when_dropped() {
        let root = Directory::new("output-directory-dropped");
        let directory = OutputDirectory::create(&root.join("t"), |_| false).unwrap();
        directory.create_file(Path::new("x")).unwrap();
        assert_eq!(names(&root.join(".")).len(), 1);
        drop(directory);
        assert!(names(&root.join(".")).is_empty());
        let files = [(PathBuf::from("m"), b"m".to_vec())];
        let live = OutputDirectory::create_live(&root.join("live"), &files).unwrap();
        assert_eq!(names(&root.join(".")), ["live"]);
        live.create_file(Path::new("x")).unwrap();
        drop(live);
        assert_eq!(names(&root.join("live")), ["m", "x"]);
        assert!(OutputDirectory::create_live(&root.join("live"), &files).is_err());
        fs::create_dir(root.join("empty")).unwrap();
        drop(OutputDirectory::create_live(&root.join("empty"), &files).unwrap());
        assert_eq!(names(&root.join("empty")), ["m"]);
    }
}
