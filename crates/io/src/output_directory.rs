//! Directories that appear when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::directory_part::{DirectoryPart, PartPlacement};
use crate::replacement::{
    Deletable, ExistingOutput, ListWritten, foreign_file, is_empty_file, place_directory, place_file,
    recover_replacement, replace_directory, replace_file,
};
use crate::temporary::{beside, create_directory};

/// A directory that is written under a temporary name and renamed when it is complete.
///
/// Until then, the existing content stays in place. If it is dropped before, everything written is removed.
#[derive(Debug)]
pub struct OutputDirectory {
    /// Current directory of the files.
    current: PathBuf,
    /// Final directory; `None` if it is the current directory.
    target: Option<PathBuf>,
    /// Target content that is replaced.
    replaces: Option<Deletable>,
    /// Treatment of a file at the path.
    existing: ExistingOutput,
    /// Placement of the files, if the target also contains files from other processes.
    part: Option<PartPlacement>,
    /// Lock of the current directory, until it is dropped.
    _lock: Option<File>,
}

impl OutputDirectory {
    /// Creates a directory. The path must be unused or an empty directory, or with [`ExistingOutput::Replace`] a
    /// directory in which `list` knows all files. If a killed process has left a replacement unfinished, it is
    /// completed or undone first.
    ///
    /// # Errors
    /// Fails for anything else, or if no directory can be created next to it.
    pub fn create(path: &Path, existing: ExistingOutput, list: &ListWritten) -> io::Result<Self> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir()) {
            let message = "expected the name of a directory to write, found a file";
            return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
        }
        Self::create_or_file(path, existing, list)
    }

    /// Creates a directory that can become a file, with [`finish_as_file`](Self::finish_as_file). In addition to what
    /// [`create`](Self::create) accepts, the path can be an empty file, or with [`ExistingOutput::Replace`] any file.
    ///
    /// # Errors
    /// Fails for anything else, or if no directory can be created next to it.
    pub fn create_or_file(path: &Path, existing: ExistingOutput, list: &ListWritten) -> io::Result<Self> {
        // Replace the target of a symbolic link, not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        recover_replacement(&target, list)?;
        let mut replaces = None;
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() => {
                let message = "expected the name of a new directory, found a symbolic link to nothing";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
            }
            Ok(metadata) if metadata.is_file() => {
                if existing == ExistingOutput::Refuse && metadata.len() > 0 {
                    let message = "the file exists and is not empty";
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
                }
            }
            Ok(metadata) if !metadata.is_dir() => {
                let message =
                    "expected the name of a directory or file to write, found a pipe, device or socket";
                return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
            }
            Ok(_) if is_empty(&target)? => {}
            Ok(_) if existing == ExistingOutput::Refuse => {
                let message = "the directory exists and is not empty";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
            }
            Ok(_) => {
                replaces = Some(Deletable::list_complete(&target, list).map_err(|error| {
                    io::Error::new(error.kind(), format!("the directory is not replaced: {error}"))
                })?);
            }
            Err(_) => {}
        }
        let (current, lock) = create_directory(&target)?;
        Ok(Self { current, target: Some(target), replaces, existing, part: None, _lock: lock })
    }

    /// Creates a directory whose files are moved to a path when they are complete, next to files from other processes.
    /// The path may be unused. `list` lists the files that the processes can have written. With
    /// [`ExistingOutput::Replace`], files in this part are replaced. Otherwise, they are only replaced if its last file
    /// is missing.
    ///
    /// # Errors
    /// Fails for anything else, or if no directory can be created next to it.
    pub fn create_part(
        path: &Path,
        existing: ExistingOutput,
        list: &ListWritten,
        part: DirectoryPart,
    ) -> io::Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::symlink_metadata(&target).is_ok_and(|metadata| !metadata.is_dir()) {
            let message = "expected the name of a directory to write, found a file";
            return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
        }
        let list = Arc::clone(list);
        let placement = PartPlacement { target: target.clone(), part, existing, list };
        placement.old_files()?;
        let (current, lock) = create_directory(&target)?;
        let part = Some(placement);
        Ok(Self { current, target: Some(target), replaces: None, existing, part, _lock: lock })
    }

    /// Creates a directory with its files in place from the start, to be read while it is written. It appears with some
    /// files, so that it is never seen without them.
    ///
    /// # Errors
    /// Fails if there is anything but an empty directory, or it cannot be created.
    pub fn create_live(path: &Path, files: &[(PathBuf, Vec<u8>)]) -> io::Result<Self> {
        let mut directory = if path.is_dir() {
            // The directory may not be replaceable.
            if !is_empty(path)? {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the directory is not empty"));
            }
            let existing = ExistingOutput::Refuse;
            let current = path.to_owned();
            Self { current, target: None, replaces: None, existing, part: None, _lock: None }
        } else {
            Self::create(
                path,
                ExistingOutput::Refuse,
                &(Arc::new(|path: &Path| Err(foreign_file(path, "it is not empty"))) as ListWritten),
            )?
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

    /// Returns the current directory of the files.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.current
    }

    /// Creates a new file, and its parent directories.
    ///
    /// # Errors
    /// Fails if it cannot be created.
    pub fn create_file(&self, relative: &Path) -> io::Result<File> {
        let path = self.current.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        OpenOptions::new().append(true).create_new(true).open(path)
    }

    /// Writes a file that appears when it is complete, and replaces an existing file.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn write_file(&self, relative: &Path, bytes: &[u8]) -> io::Result<()> {
        let path = self.current.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let temporary = beside(&path);
        fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, &path)).inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        })
    }

    /// Renames the directory to its final name, or moves its files next to those of other processes. Returns the path.
    ///
    /// # Errors
    /// Fails if that is not possible. The old content is then restored.
    pub fn finish(mut self) -> io::Result<PathBuf> {
        let Some(target) = self.target.take() else { return Ok(self.current.clone()) };
        let result = match (&self.part, &self.replaces) {
            (Some(part), _) => part.place(&self.current),
            (None, Some(old)) => replace_directory(&self.current, &target, old),
            (None, None) if self.may_replace_file(&target) => replace_file(&self.current, &target),
            (None, None) => place_directory(&self.current, &target),
        };
        if result.is_err() {
            let _ = fs::remove_dir_all(&self.current);
        }
        result.map(|()| target)
    }

    /// Moves one file to the path instead of the directory, removes the others, and returns the path. If there is a
    /// directory at the path, it stays a directory, as with [`finish`](Self::finish).
    ///
    /// # Errors
    /// Fails if that is not possible. The old content then stays.
    pub fn finish_as_file(mut self, relative: &Path) -> io::Result<PathBuf> {
        let Some(target) = self.target.take_if(|target| !target.is_dir()) else { return self.finish() };
        let result = place_file(&self.current.join(relative), &target, self.existing);
        let removed = fs::remove_dir_all(&self.current);
        result.and(removed).map(|()| target)
    }

    /// Returns `true` if there is a file at the path that may be replaced.
    fn may_replace_file(&self, target: &Path) -> bool {
        let is_file = fs::symlink_metadata(target).is_ok_and(|metadata| metadata.is_file());
        is_file && (self.existing == ExistingOutput::Replace || is_empty_file(target))
    }
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
    use crate::testing::TestDirectory;

    fn names(directory: &Path) -> Vec<String> {
        let item = |item: io::Result<fs::DirEntry>| item.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(item).collect();
        names.sort();
        names
    }

    fn nothing() -> ListWritten {
        Arc::new(|path| Err(foreign_file(path, "nothing is known")))
    }

    #[test]
    fn what_is_not_known_stays() {
        let root = TestDirectory::new("output-directory-foreign");
        let path = root.join("t");
        fs::create_dir_all(path.join("a")).unwrap();
        fs::write(path.join("a/b"), b"old").unwrap();
        let known: ListWritten = Arc::new(|_| Ok(vec!["a/b".into()]));
        let replace = |known: &ListWritten| OutputDirectory::create(&path, ExistingOutput::Replace, known);
        let refused = |known: &ListWritten| replace(known).unwrap_err().to_string();
        assert!(refused(&nothing()).contains("nothing is known"));
        fs::write(path.join("notes"), b"mine").unwrap();
        assert!(refused(&known).contains("`notes`"), "{}", refused(&known));
        fs::remove_file(path.join("notes")).unwrap();
        // Files that appear or change while the output is written.
        for (file, named) in [("a/c", "`a/c`"), ("a/b", "`a/b`")] {
            let directory = replace(&known).unwrap();
            directory.write_file(Path::new("new"), b"new").unwrap();
            fs::write(path.join(file), b"mine").unwrap();
            let error = directory.finish().unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
            assert_eq!(names(&root.join(".")), ["t"]);
            assert_eq!(fs::read(path.join(file)).unwrap(), b"mine");
            let _ = fs::remove_file(path.join("a/c"));
        }
        // Nothing existed when writing began.
        fs::remove_dir_all(&path).unwrap();
        let directory = OutputDirectory::create(&path, ExistingOutput::Refuse, &known).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("x"), b"mine").unwrap();
        assert!(directory.finish().unwrap_err().to_string().contains("in the meantime"));
        assert_eq!((names(&root.join(".")), names(&path)), (vec!["t".into()], vec!["x".into()]));
    }

    #[test]
    fn interrupted_replacements_are_completed_or_undone() {
        let root = TestDirectory::new("output-directory-recovered");
        let path = root.join("t");
        let replaced = root.join(".t.replaced");
        let known: ListWritten = Arc::new(crate::replacement::plain_files);
        let write = |path: &Path| {
            fs::create_dir_all(path).unwrap();
            fs::write(path.join("metadata"), b"x").unwrap();
        };
        // Killed between both renames: the directory is put back.
        write(&replaced);
        assert_eq!(crate::interrupted_replacement(&path), Some(replaced.clone()));
        assert!(OutputDirectory::create(&path, ExistingOutput::Refuse, &known).is_err());
        assert_eq!(names(&root.join(".")), ["t"]);
        // Killed before or after the exchange: the old directory is deleted, if all its files are known.
        write(&replaced);
        assert_eq!(crate::interrupted_replacement(&path), None);
        let error =
            OutputDirectory::create(&path, ExistingOutput::Replace, &nothing()).unwrap_err().to_string();
        assert!(error.contains(".t.replaced"), "{error}");
        drop(OutputDirectory::create(&path, ExistingOutput::Replace, &known).unwrap());
        assert_eq!(names(&root.join(".")), ["t"]);
    }

    #[test]
    fn appears_when_finished_and_replaces() {
        let root = TestDirectory::new("output-directory");
        let path = root.join("t");
        let known: ListWritten = Arc::new(|_| Ok(vec!["a/b".into()]));
        for round in 0..2 {
            let existing = if round == 1 { ExistingOutput::Replace } else { ExistingOutput::Refuse };
            let directory = OutputDirectory::create(&path, existing, &known).unwrap();
            directory.write_file(Path::new("a/b"), &[round]).unwrap();
            assert_eq!(path.exists(), round == 1);
            assert_eq!(directory.finish().unwrap(), path);
            assert_eq!(fs::read(path.join("a/b")).unwrap(), [round]);
            assert_eq!(names(&root.join(".")), ["t"]);
        }
        let error = OutputDirectory::create(&path, ExistingOutput::Refuse, &known).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(OutputDirectory::create(&path.join("a/b"), ExistingOutput::Replace, &known).is_err());
    }

    #[test]
    fn becomes_a_file() {
        let root = TestDirectory::new("output-directory-file");
        let path = root.join("t");
        let create = |existing| OutputDirectory::create_or_file(&path, existing, &nothing());
        let write = |existing, bytes: &[u8]| {
            let directory = create(existing).unwrap();
            directory.write_file(Path::new("a/b"), bytes).unwrap();
            directory.write_file(Path::new("c"), b"other").unwrap();
            directory
        };
        let file = Path::new("a/b");
        assert_eq!(write(ExistingOutput::Refuse, b"1").finish_as_file(file).unwrap(), path);
        assert_eq!((names(&root.join(".")), fs::read(&path).unwrap()), (vec!["t".into()], b"1".to_vec()));
        assert_eq!(create(ExistingOutput::Refuse).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        write(ExistingOutput::Replace, b"2").finish_as_file(file).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        // A directory replaces the file, and stays a directory.
        write(ExistingOutput::Replace, b"3").finish().unwrap();
        assert_eq!((names(&root.join(".")), names(&path)), (vec!["t".into()], vec!["a".into(), "c".into()]));
        fs::remove_dir_all(&path).unwrap();
        fs::create_dir(&path).unwrap();
        write(ExistingOutput::Refuse, b"4").finish_as_file(file).unwrap();
        assert_eq!(fs::read(path.join("a/b")).unwrap(), b"4");
        fs::remove_dir_all(&path).unwrap();
        // A file that appears in the meantime stays.
        for as_file in [false, true] {
            let directory = write(ExistingOutput::Refuse, b"5");
            fs::write(&path, b"mine").unwrap();
            let finished = if as_file { directory.finish_as_file(file) } else { directory.finish() };
            finished.unwrap_err();
            assert_eq!(
                (names(&root.join(".")), fs::read(&path).unwrap()),
                (vec!["t".into()], b"mine".to_vec())
            );
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn leaves_nothing_when_dropped() {
        let root = TestDirectory::new("output-directory-dropped");
        let directory = OutputDirectory::create(&root.join("t"), ExistingOutput::Refuse, &nothing()).unwrap();
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
