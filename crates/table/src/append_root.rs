//! Datasets with several runs. The directory of each run appears when it is complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ichnos_io::foreign_file;

/// Prefix of run directories.
const PREFIX: &str = "trace=";

/// Maximum run name length in bytes.
const MOST_BYTES: usize = 200;

/// Returns `true` for a run directory name.
pub(crate) fn is_run(directory: &str) -> bool {
    directory.strip_prefix(PREFIX).is_some_and(is_name)
}

/// Returns `true` for a name that is equal in queries and in directory names.
fn is_name(name: &str) -> bool {
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"_.-".contains(&c);
    !name.is_empty() && name.len() <= MOST_BYTES && name.bytes().all(is_plain)
}

/// Dataset directory to which a run is added. A new directory is removed again if it is still empty at the end.
#[derive(Debug)]
pub(crate) struct AppendRoot {
    path: PathBuf,
    is_new: bool,
}

impl AppendRoot {
    /// Opens the directory, or creates it.
    ///
    /// # Errors
    /// If it contains anything but run directories, or cannot be created.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let is_new = match fs::create_dir(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        for item in fs::read_dir(path)? {
            let name = item?.file_name();
            let name = name.to_string_lossy();
            // Incomplete runs have names that start with a dot.
            if !name.starts_with('.') && !is_run(&name) {
                let why = "traces are added only to a dataset of directories `trace=NAME`";
                return Err(foreign_file(Path::new(&*name), why));
            }
        }
        Ok(Self { path: path.to_owned(), is_new })
    }

    /// Returns the directory of a run.
    ///
    /// # Errors
    /// If the name is longer than 200 bytes, or has characters other than ASCII letters, digits, `_`, `.` and `-`.
    pub(crate) fn run(&self, name: &str) -> io::Result<PathBuf> {
        if is_name(name) {
            return Ok(self.path.join(format!("{PREFIX}{name}")));
        }
        let message = format!(
            "expected a name of up to {MOST_BYTES} letters, digits, `_`, `.` and `-` for the directory of the trace, \
            found `{name}`"
        );
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }
}

impl Drop for AppendRoot {
    fn drop(&mut self) {
        if self.is_new {
            // Fails if the directory has content.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
