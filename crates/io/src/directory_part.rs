//! Directories that several processes fill, each with separate files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::replacement::{ExistingOutput, ListWritten, plain_files, sync_directory, sync_names};

/// Number of attempts if a directory disappears because another process has deleted its last file.
const ATTEMPTS: u32 = 10;

/// Test for paths.
type PathTest = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Files in a directory that one of several processes writes, by relative path.
#[derive(Clone)]
pub struct DirectoryPart {
    /// Returns `true` for files in this part, including files from an earlier run.
    pub is_own: PathTest,
    /// File that appears last. If it exists, the part is complete.
    pub last: PathBuf,
}

impl std::fmt::Debug for DirectoryPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectoryPart").field("last", &self.last).finish_non_exhaustive()
    }
}

/// A part that is moved into a directory when it is complete.
pub(crate) struct PartPlacement {
    pub(crate) target: PathBuf,
    pub(crate) part: DirectoryPart,
    pub(crate) existing: ExistingOutput,
    pub(crate) list: ListWritten,
}

/// Error in [`io::Error`]: a directory already contains the part, which must not be replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the directory already has this part: `{}`", .0.display())]
pub struct ExistingPart(PathBuf);

impl std::fmt::Debug for PartPlacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartPlacement").field("target", &self.target).finish_non_exhaustive()
    }
}

impl PartPlacement {
    /// Returns the files from an earlier run.
    ///
    /// # Errors
    /// Fails if the part is complete and must not be replaced, or there is anything that the processes cannot have
    /// written.
    pub(crate) fn old_files(&self) -> io::Result<BTreeSet<PathBuf>> {
        let files = repeat_if_missing(|| match fs::symlink_metadata(&self.target) {
            Ok(_) => (self.list)(&self.target),
            Err(_) => Ok(Vec::new()),
        })?;
        let own: BTreeSet<PathBuf> = files.into_iter().filter(|path| (self.part.is_own)(path)).collect();
        if self.existing == ExistingOutput::Refuse && own.contains(&self.part.last) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, ExistingPart(self.part.last.clone())));
        }
        Ok(own)
    }

    /// Moves all files in `current` into the directory, with the last file last, and deletes the files from an earlier
    /// run. If it is interrupted, the last file is missing.
    ///
    /// # Errors
    /// See [`old_files`](Self::old_files). Also fails if a file cannot be moved.
    pub(crate) fn place(&self, current: &Path) -> io::Result<()> {
        sync_directory(current)?;
        let old = self.old_files()?;
        let last = &self.part.last;
        let mut new: BTreeSet<PathBuf> = plain_files(current)?.into_iter().collect();
        let has_last = new.remove(last);
        if old.contains(last) {
            fs::remove_file(self.target.join(last)).or_else(ignore_missing)?;
            sync_names(&self.target, [last.as_path()])?;
        }
        // A file replaces the file with the same name in one step, so that no row is missing if a process does this
        // twice at the same time.
        for file in &new {
            self.take(current, file)?;
        }
        for file in old.iter().filter(|file| !new.contains(*file) && *file != last) {
            fs::remove_file(self.target.join(file)).or_else(ignore_missing)?;
            if let Some(parent) = file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                // Only an empty directory is removed.
                let _ = fs::remove_dir(self.target.join(parent));
            }
        }
        sync_names(&self.target, new.iter().map(PathBuf::as_path))?;
        if has_last {
            self.take(current, last)?;
            sync_names(&self.target, [last.as_path()])?;
        }
        fs::remove_dir_all(current)
    }

    /// Moves a file into the directory.
    fn take(&self, current: &Path, file: &Path) -> io::Result<()> {
        let target = self.target.join(file);
        repeat_if_missing(|| {
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::rename(current.join(file), &target)
        })
    }
}

fn repeat_if_missing<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut attempts = 1;
    loop {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempts < ATTEMPTS => attempts += 1,
            result => return result,
        }
    }
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OutputDirectory;
    use crate::testing::TestDirectory;

    fn create(path: &Path, name: &str, existing: ExistingOutput) -> io::Result<OutputDirectory> {
        let own = format!("-{name}");
        let part = DirectoryPart {
            is_own: Arc::new(move |path| path.to_string_lossy().ends_with(&own)),
            last: format!("last/of-{name}").into(),
        };
        let list: ListWritten = Arc::new(|directory| {
            let files = plain_files(directory)?;
            match files.iter().find(|file| file.starts_with("foreign")) {
                Some(file) => Err(crate::foreign_file(file, "it is foreign")),
                None => Ok(files),
            }
        });
        OutputDirectory::create_part(path, existing, &list, part)
    }

    fn write(
        path: &Path,
        name: &str,
        existing: ExistingOutput,
        files: &[(&str, &[u8])],
    ) -> io::Result<PathBuf> {
        let directory = create(path, name, existing)?;
        for (file, bytes) in files {
            directory.write_file(Path::new(file), bytes)?;
        }
        directory.finish()
    }

    fn content(root: &Path) -> Vec<(String, Vec<u8>)> {
        let files = plain_files(root).unwrap();
        let mut all: Vec<_> = files
            .into_iter()
            .map(|file| (file.to_str().unwrap().to_owned(), fs::read(root.join(file)).unwrap()))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn each_process_has_its_own_files() {
        let root = TestDirectory::new("directory-part");
        let path = root.join("t");
        write(&path, "a", ExistingOutput::Refuse, &[("x/1-a", b"1"), ("y/2-a", b"2"), ("last/of-a", b"")])
            .unwrap();
        write(&path, "b", ExistingOutput::Refuse, &[("x/1-b", b"3"), ("last/of-b", b"")]).unwrap();
        let error = write(&path, "b", ExistingOutput::Refuse, &[("x/1-b", b"4")]).unwrap_err();
        assert!(error.to_string().contains("`last/of-b`"), "{error}");
        // Only its own files are replaced, and a directory without files disappears.
        write(&path, "a", ExistingOutput::Replace, &[("x/1-a", b"5"), ("last/of-a", b"")]).unwrap();
        let file = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
        assert_eq!(
            content(&path),
            [file("last/of-a", b""), file("last/of-b", b""), file("x/1-a", b"5"), file("x/1-b", b"3")]
        );
        assert!(!path.join("y").exists());
        assert_eq!(fs::read_dir(root.join(".")).unwrap().count(), 1);
    }

    #[test]
    fn an_incomplete_part_is_replaced() {
        let root = TestDirectory::new("directory-part-incomplete");
        let path = root.join("t");
        // From a process that was killed before its last file.
        fs::create_dir_all(path.join("x")).unwrap();
        fs::write(path.join("x/9-a"), b"9").unwrap();
        write(&path, "a", ExistingOutput::Refuse, &[("x/1-a", b"1"), ("last/of-a", b"")]).unwrap();
        let names: Vec<String> = content(&path).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["last/of-a", "x/1-a"]);
    }

    #[test]
    fn foreign_files_are_errors() {
        let root = TestDirectory::new("directory-part-foreign");
        let path = root.join("t");
        let directory = create(&path, "a", ExistingOutput::Replace).unwrap();
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("foreign"), b"mine").unwrap();
        directory.write_file(Path::new("last/of-a"), b"").unwrap();
        assert!(directory.finish().unwrap_err().to_string().contains("`foreign`"));
        assert!(create(&path, "a", ExistingOutput::Replace).is_err());
        assert_eq!(content(&path).len(), 1);
        assert_eq!(fs::read_dir(root.join(".")).unwrap().count(), 1);
        // A file instead of the directory.
        fs::write(root.join("f"), b"x").unwrap();
        assert!(create(&root.join("f"), "a", ExistingOutput::Replace).is_err());
    }
}
