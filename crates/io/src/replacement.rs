//! Moves complete outputs to their path: durably, and so that either the old or the new output exists at any time.
//!
//! Replacing a directory takes two names, as no system call removes a directory with files. In the meantime, the
//! directory `.NAME.replaced` is next to it:
//!
//! | existing directory | content | action of a later run |
//! |---|---|---|
//! | only `.NAME.replaced` | the old directory: the system cannot exchange names, and the process was killed in between | moves it back |
//! | both | a directory to be deleted | deletes it, if it contains only trace files |

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::temporary::beside_for_old;

/// Treatment of an existing output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExistingOutput {
    /// An error, unless it is an empty file or an empty directory.
    #[default]
    Refuse,
    /// Replaced: a file, or a directory with only files that a writer can have written.
    Replace,
}

/// Lists the files in a directory, by relative path, if a writer can have written all of them. Otherwise, the error
/// names another file.
pub type ListWritten = Arc<dyn Fn(&Path) -> io::Result<Vec<PathBuf>> + Send + Sync>;

/// Files and directories below a directory.
#[derive(Debug, Default)]
pub(crate) struct DirectoryContent {
    /// Files, by relative path.
    pub(crate) files: Vec<PathBuf>,
    /// Directories, by relative path. Each comes after its parent.
    pub(crate) directories: Vec<PathBuf>,
}

impl DirectoryContent {
    /// Lists a directory without following links.
    pub(crate) fn list(root: &Path) -> io::Result<Self> {
        let mut content = Self::default();
        let mut next = vec![PathBuf::new()];
        while let Some(directory) = next.pop() {
            for item in fs::read_dir(root.join(&directory))? {
                let item = item?;
                let path = directory.join(item.file_name());
                let kind = item.file_type()?;
                if kind.is_dir() {
                    content.directories.push(path.clone());
                    next.push(path);
                } else if kind.is_file() {
                    content.files.push(path);
                } else {
                    return Err(foreign_file(&path, "it is neither a file nor a directory"));
                }
            }
        }
        Ok(content)
    }
}

/// Returns the paths of all files in a directory, at any depth, without following links.
///
/// # Errors
/// Fails if it cannot be read, or contains a link, a pipe or anything else that is neither a file nor a directory.
pub fn plain_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    DirectoryContent::list(directory).map(|content| content.files)
}

/// Creates the [`ListWritten`] error for a file that no writer can have written.
#[must_use]
pub fn foreign_file(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("it contains `{}`: {why}", path.display()))
}

/// Files in a directory that may be deleted.
#[derive(Debug)]
pub(crate) struct Deletable {
    /// Paths, sizes and modification times.
    files: BTreeSet<(PathBuf, u64, Option<SystemTime>)>,
}

impl Deletable {
    /// Lists the files in a directory that a writer can have written.
    ///
    /// # Errors
    /// Fails if there is anything else.
    pub(crate) fn list(root: &Path, list: &ListWritten) -> io::Result<Self> {
        let written: BTreeSet<PathBuf> = list(root)?.into_iter().collect();
        let content = DirectoryContent::list(root)?;
        if let Some(other) = content.files.iter().find(|path| !written.contains(*path)) {
            return Err(foreign_file(other, "not a trace file"));
        }
        Ok(Self { files: states(root, written)? })
    }

    /// Like [`list`](Self::list), for a complete directory, which does not contain empty directories.
    pub(crate) fn list_complete(root: &Path, list: &ListWritten) -> io::Result<Self> {
        let deletable = Self::list(root, list)?;
        let used: BTreeSet<&Path> =
            deletable.files.iter().flat_map(|(file, ..)| file.ancestors().skip(1)).collect();
        match DirectoryContent::list(root)?
            .directories
            .iter()
            .find(|directory| !used.contains(directory.as_path()))
        {
            Some(other) => Err(foreign_file(other, "an empty directory is not part of a trace")),
            None => Ok(deletable),
        }
    }

    /// Deletes a directory if it has not changed since it was listed.
    fn delete(&self, root: &Path) -> io::Result<()> {
        let content = DirectoryContent::list(root)?;
        if let Some(other) = self.difference(root, &content.files)? {
            return Err(foreign_file(&other, "it has changed in the meantime"));
        }
        delete(root, content)
    }

    /// Finds a new or changed file.
    fn difference(&self, root: &Path, files: &[PathBuf]) -> io::Result<Option<PathBuf>> {
        let now = states(root, files.iter().cloned())?;
        Ok(now.into_iter().find(|file| !self.files.contains(file)).map(|(path, ..)| path))
    }
}

fn states(
    root: &Path,
    files: impl IntoIterator<Item = PathBuf>,
) -> io::Result<BTreeSet<(PathBuf, u64, Option<SystemTime>)>> {
    let state = |path: PathBuf| {
        let metadata = fs::symlink_metadata(root.join(&path))?;
        Ok((path, metadata.len(), metadata.modified().ok()))
    };
    files.into_iter().map(state).collect()
}

/// Deletes files and directories. Metadata is last, so that an incomplete directory can be recognized if the process is
/// killed.
fn delete(root: &Path, mut content: DirectoryContent) -> io::Result<()> {
    let is_description = |path: &Path| path.file_name().is_some_and(|name| name == "metadata");
    content.files.sort_by_key(|path| is_description(path));
    for file in &content.files {
        fs::remove_file(root.join(file))?;
    }
    for directory in content.directories.iter().rev() {
        fs::remove_dir(root.join(directory))?;
    }
    fs::remove_dir(root)
}

/// Temporary name for a directory that is being replaced.
fn replaced_name(target: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".replaced");
    target.with_file_name(name)
}

/// Returns the directory that a killed process was replacing, if it is missing from its path.
#[must_use]
pub fn interrupted_replacement(path: &Path) -> Option<PathBuf> {
    let replaced = replaced_name(path);
    (path.file_name().is_some() && fs::symlink_metadata(path).is_err() && replaced.is_dir())
        .then_some(replaced)
}

/// Completes or undoes a directory replacement that a killed process began.
///
/// # Errors
/// Fails if the remaining directory cannot be moved or deleted.
pub fn recover_replacement(target: &Path, list: &ListWritten) -> io::Result<()> {
    let replaced = replaced_name(target);
    if !fs::symlink_metadata(&replaced).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    if fs::symlink_metadata(target).is_err() {
        fs::rename(&replaced, target)?;
        return sync_parent(target);
    }
    let delete = || Deletable::list(&replaced, list)?.delete(&replaced);
    delete().map_err(|error| {
        let message = format!("an interrupted replacement left {}: {error}", replaced.display());
        io::Error::new(error.kind(), message)
    })
}

/// Moves a complete directory to a path that is unused or an empty directory.
pub(crate) fn place_directory(current: &Path, target: &Path) -> io::Result<()> {
    sync_directory(current)?;
    fs::rename(current, target).map_err(|error| match target.is_dir() {
        true => {
            io::Error::new(io::ErrorKind::AlreadyExists, "something else was written there in the meantime")
        }
        false => error,
    })?;
    sync_parent(target)
}

/// Replaces an old directory by a complete directory, and deletes the old one.
pub(crate) fn replace_directory(current: &Path, target: &Path, old: &Deletable) -> io::Result<()> {
    sync_directory(current)?;
    // Check again at the last moment, since writing can take long.
    if let Some(changed) = old.difference(target, &plain_files(target)?)? {
        return Err(foreign_file(&changed, "it has changed in the meantime"));
    }
    let replaced = replaced_name(target);
    fs::rename(current, &replaced)?;
    match exchange(&replaced, target) {
        Ok(()) => {}
        Err(error) if is_unsupported(&error) => {
            fs::rename(&replaced, current)?;
            fs::rename(target, &replaced)?;
            if let Err(error) = fs::rename(current, target) {
                // If this also fails, a later run does it.
                let _ = fs::rename(&replaced, target);
                return Err(error);
            }
        }
        Err(error) => {
            let _ = fs::rename(&replaced, current);
            return Err(error);
        }
    }
    sync_parent(target)?;
    old.delete(&replaced)
}

/// Replaces a file by a complete directory. If the process is killed in between, the file stays next to the path, under
/// a name that starts with a dot.
pub(crate) fn replace_file(current: &Path, target: &Path) -> io::Result<()> {
    sync_directory(current)?;
    match exchange(current, target) {
        // The file now has the previous name of the directory.
        Ok(()) if fs::symlink_metadata(current)?.is_file() => fs::remove_file(current)?,
        // Something else appeared there in the meantime, and stays.
        Ok(()) => {
            exchange(current, target)?;
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "something else was written there in the meantime",
            ));
        }
        Err(error) if is_unsupported(&error) => {
            let old = beside_for_old(target);
            fs::rename(target, &old)?;
            if let Err(error) = fs::rename(current, target) {
                fs::rename(&old, target)?;
                return Err(error);
            }
            fs::remove_file(&old)?;
        }
        Err(error) => return Err(error),
    }
    sync_parent(target)
}

/// Moves a complete file to a path.
pub(crate) fn place_file(current: &Path, target: &Path, existing: ExistingOutput) -> io::Result<()> {
    tolerate_unsupported(File::open(current)?.sync_all())?;
    match existing {
        ExistingOutput::Refuse if !is_empty_file(target) => {
            rename_new(current, target).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    io::Error::new(error.kind(), "something else was written there in the meantime")
                }
                _ => error,
            })?;
        }
        _ => fs::rename(current, target)?,
    }
    sync_parent(target)
}

pub(crate) fn is_empty_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}

/// Renames a file, but never to an existing name.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rename_with(from, to, Rename::New) {
        Err(error) if is_unsupported(&error) => {}
        result => return result,
    }
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Without both calls, at least keep a visible file.
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Exchanges two names atomically.
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    rename_with(a, b, Rename::Exchange)
}

#[derive(Clone, Copy)]
enum Rename {
    New,
    Exchange,
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_with(from: &Path, to: &Path, how: Rename) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let flags = match how {
        Rename::New => RenameFlags::NOREPLACE,
        Rename::Exchange => RenameFlags::EXCHANGE,
    };
    Ok(renameat_with(CWD, from, CWD, to, flags)?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename_with(_: &Path, _: &Path, _: Rename) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns `true` if the system or the file system does not support a call.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
}

fn tolerate_unsupported(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if is_unsupported(&error) => Ok(()),
        result => result,
    }
}

/// Maximum number of files that are synchronized one by one. For more files, synchronizing the whole file system is
/// faster.
const SINGLE_FILES: usize = 32;

/// Waits until a directory with its content is on disk.
pub(crate) fn sync_directory(root: &Path) -> io::Result<()> {
    let content = DirectoryContent::list(root)?;
    if content.files.len() > SINGLE_FILES && sync_file_system(root).is_ok() {
        return Ok(());
    }
    let directories = content.directories.iter().map(PathBuf::as_path).chain([Path::new("")]);
    for path in content.files.iter().map(PathBuf::as_path).chain(directories) {
        tolerate_unsupported(File::open(root.join(path))?.sync_all())?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn sync_file_system(root: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(root)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Waits until the names of files in a directory, given by relative path, are on disk.
pub(crate) fn sync_names<'p>(root: &Path, files: impl IntoIterator<Item = &'p Path>) -> io::Result<()> {
    let directories: BTreeSet<&Path> = files.into_iter().flat_map(|file| file.ancestors().skip(1)).collect();
    if directories.len() > SINGLE_FILES && sync_file_system(root).is_ok() {
        return Ok(());
    }
    directories.iter().try_for_each(|path| sync_names_in(&root.join(path)))?;
    sync_parent(root)
}

/// Waits until the name of a file or directory is on disk.
fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync_names_in(parent)
}

/// Waits until the names in a directory are on disk.
fn sync_names_in(directory: &Path) -> io::Result<()> {
    match File::open(directory) {
        Ok(directory) => tolerate_unsupported(directory.sync_all()),
        // The directory can be written but not read.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}
