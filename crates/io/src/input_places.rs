//! Input files and directories, to keep outputs away from them.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::entry::number_of_names;
use crate::{FileId, Tree};

/// Input files and directories.
#[derive(Clone, Debug, Default)]
pub struct InputPlaces {
    /// Opened files and directories, without links in their paths.
    opened: BTreeSet<PathBuf>,
    /// Directories with input files, without links in their paths.
    directories: BTreeSet<PathBuf>,
    /// Targets of symbolic links in the input.
    linked: BTreeSet<PathBuf>,
}

/// Reason why an output cannot be written at a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutputConflict {
    /// The output is an input file or directory.
    #[error("{}: the output is part of the input", .0.display())]
    IsInput(PathBuf),
    /// The output is a directory that contains an input file or directory.
    #[error("{}: the output contains the input {}", output.display(), input.display())]
    Contains {
        /// Output path.
        output: PathBuf,
        /// Input path.
        input: PathBuf,
    },
    /// The output is in an input directory, and would be read as part of it.
    #[error("{}: the output is in the input {}", output.display(), directory.display())]
    IsInside {
        /// Output path.
        output: PathBuf,
        /// Directory path.
        directory: PathBuf,
    },
}

impl InputPlaces {
    /// Adds an input file or directory.
    pub fn add(&mut self, path: &Path) {
        self.opened.extend(fs::canonicalize(path));
    }

    /// Adds all places of another input.
    pub fn extend(&mut self, other: Self) {
        self.opened.extend(other.opened);
        self.directories.extend(other.directories);
        self.linked.extend(other.linked);
    }

    /// Adds the files of a tree opened at a path.
    pub fn add_tree(&mut self, path: &Path, tree: &Tree) {
        self.add(path);
        if !path.is_dir() {
            return;
        }
        let mut last = None;
        for (directory, path, is_link) in tree.entries.iter().filter_map(|entry| entry.place()) {
            if last != Some(directory) {
                self.directories.extend(fs::canonicalize(directory));
                last = Some(directory);
            }
            if is_link {
                self.linked.extend(fs::canonicalize(path));
            }
        }
    }

    /// Checks that an output can be written at a path. `is_read` returns `true` if a new file or directory in an input
    /// directory would be read together with it.
    ///
    /// # Errors
    /// Fails if the output is an input, contains an input, or would be read as part of an input.
    pub fn check(&self, output: &Path, is_read: impl Fn(&Path) -> bool) -> Result<(), OutputConflict> {
        let found = fs::metadata(output).ok();
        if found.as_ref().is_some_and(|found| !found.is_file() && !found.is_dir()) {
            // A pipe or a device.
            return Ok(());
        }
        let Some(place) = real(output) else { return Ok(()) };
        let shown = || output.to_owned();
        let all = || self.opened.iter().chain(&self.directories).chain(&self.linked);
        if let Some(found) = found {
            let id = FileId::from_path(&place);
            let is_same = |path: &PathBuf| *path == place || id.is_some() && FileId::from_path(path) == id;
            let is_listed = || place.parent().is_some_and(|parent| self.directories.contains(parent));
            if all().any(is_same) || found.is_file() && (is_listed() || self.has_link_to(&found, id)) {
                return Err(OutputConflict::IsInput(shown()));
            }
            if found.is_dir()
                && let Some(input) =
                    all().find(|path| path.ancestors().skip(1).any(|above| is_same(&above.to_owned())))
            {
                return Err(OutputConflict::Contains { output: shown(), input: input.clone() });
            }
        }
        let Some(parent) = place.parent() else { return Ok(()) };
        let ids: HashSet<FileId> =
            all().filter(|path| path.is_dir()).filter_map(|path| FileId::from_path(path)).collect();
        let is_input = |above: &&Path| {
            self.opened.contains(*above)
                || self.directories.contains(*above)
                || FileId::from_path(above).is_some_and(|id| ids.contains(&id))
        };
        match parent.ancestors().find(is_input) {
            Some(directory) if is_read(parent) => {
                Err(OutputConflict::IsInside { output: shown(), directory: directory.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Returns `true` if a file with several names has another name in the input.
    fn has_link_to(&self, file: &fs::Metadata, id: Option<FileId>) -> bool {
        if number_of_names(file) < 2 || id.is_none() {
            return false;
        }
        let files = |directory: &PathBuf| fs::read_dir(directory).into_iter().flatten().flatten();
        let mut files = self.directories.iter().flat_map(files);
        files.any(|file| FileId::from_path(&file.path()) == id)
    }
}

/// Path without links. The last name may be new.
fn real(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().or_else(|| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Some(fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()?.join(path.file_name()?))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::TreeOptions;
    use crate::testing::TestDirectory;

    #[test]
    fn outputs_are_kept_apart() {
        let root = TestDirectory::new("input-places");
        fs::create_dir_all(root.join("t/sub")).unwrap();
        fs::create_dir_all(root.join("elsewhere")).unwrap();
        fs::create_dir_all(root.join("empty")).unwrap();
        for file in ["t/metadata", "t/sub/chan", "elsewhere/chan", "alone", "other"] {
            fs::write(root.join(file), b"x").unwrap();
        }
        symlink(root.join("elsewhere"), root.join("t/link")).unwrap();
        symlink(root.join("alone"), root.join("t/linked")).unwrap();
        symlink(root.join("t"), root.join("name-of-t")).unwrap();
        fs::hard_link(root.join("t/sub/chan"), root.join("hard")).unwrap();
        let mut places = InputPlaces::default();
        let path = root.join("name-of-t");
        let options = TreeOptions { follow_links: true, ..TreeOptions::default() };
        places.add_tree(&path, &Tree::open_with(&path, &options).unwrap());
        let check = |path: &str| places.check(&root.join(path), |_| true);
        let kind = |path: &str| match check(path) {
            Ok(()) => "",
            Err(OutputConflict::IsInput(_)) => "is",
            Err(OutputConflict::Contains { .. }) => "contains",
            Err(OutputConflict::IsInside { .. }) => "inside",
        };
        for (path, expected) in [
            ("t", "is"),
            ("name-of-t", "is"),
            ("t/metadata", "is"),
            ("hard", "is"),
            ("alone", "is"),
            ("elsewhere", "is"),
            (".", "contains"),
            ("t/new", "inside"),
            ("t/sub/new", "inside"),
            ("name-of-t/new", "inside"),
            ("elsewhere/new", "inside"),
            ("t/new/deeper", ""),
            ("empty", ""),
            ("other", ""),
            ("new", ""),
            ("sub/../t/new", ""),
            ("empty/../t/new", "inside"),
        ] {
            assert_eq!(kind(path), expected, "{path}");
        }
        assert_eq!(places.check(&root.join("t/new"), |_| false), Ok(()));
        assert_eq!(places.check(Path::new("/dev/null"), |_| true), Ok(()));
    }
}
