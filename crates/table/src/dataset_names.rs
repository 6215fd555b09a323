//! Names of the directories and files of a dataset.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use ichnos_io::{foreign_file, plain_files};
use parquet::file::metadata::ParquetMetaDataReader;

use crate::append_root::is_run;
use crate::fingerprint::Fingerprint;
use crate::side_tables::SIDE_TABLES;

/// Maximum length of the name of an event record class in the name of its directory, in bytes.
const MOST_BYTES: usize = 200;

/// Name of the only file of a table without events.
pub(crate) const SIDE_FILE: &str = "part-0.parquet";

/// Beginning of the name of the program that wrote a file, in its footer.
pub(crate) const CREATOR: &str = "ichnos version ";

/// Directories of event record classes.
#[derive(Debug, Default)]
pub(crate) struct DatasetNames {
    /// The exact name for each name of a directory in lower case, since some file systems do not distinguish case.
    taken: HashMap<String, String>,
}

impl DatasetNames {
    /// Returns the directory for an event record class of this name.
    pub(crate) fn directory(&mut self, event: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
        let plain = event.chars().flat_map(|c| std::iter::repeat_n(plain(c), c.len_utf8()));
        let mut name: String = plain.take(MOST_BYTES).collect();
        if name.is_empty() {
            // A name without a character would be the missing value for some programs.
            name.push('_');
        }
        if event.len() <= MOST_BYTES && self.take(&name, event) {
            return format!("event={name}");
        }
        let hash = Fingerprint::new().with(event.as_bytes()).hash();
        let hashed = format!("{name}-{hash:016x}");
        // Ends, as the names in use are finite.
        let mut candidates =
            std::iter::once(hashed.clone()).chain((2_u64..).map(|number| format!("{hashed}-{number}")));
        let found = candidates.find(|candidate| self.take(candidate, event)).unwrap_or(hashed);
        format!("event={found}")
    }

    /// Returns `true` if the event record class has this name of a directory, or gets it as no other one has it.
    fn take(&mut self, name: &str, event: &str) -> bool {
        self.taken.entry(name.to_lowercase()).or_insert_with(|| event.to_owned()) == event
    }
}

/// Returns the name of a file.
pub(crate) fn file_name(fingerprint: u64, part: usize) -> String {
    format!("part-{fingerprint:016x}-{part}.parquet")
}

/// Lists the files in a directory if it can be a dataset, of which some files can be deleted already.
pub(crate) fn written_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let files = plain_files(directory)?;
    match files.iter().find(|path| !is_ours(directory, path)) {
        Some(path) => Err(foreign_file(path, "it is not a file of a dataset of events")),
        None => Ok(files),
    }
}

fn is_ours(root: &Path, path: &Path) -> bool {
    let names: Vec<&str> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let (directory, file) = match names[..] {
        [directory, file] => (directory, file),
        [run, directory, file] if is_run(run) => (directory, file),
        _ => return false,
    };
    let has_name = match directory.strip_prefix("event=") {
        Some(_) => is_file_name(file),
        None => SIDE_TABLES.contains(&directory) && file == SIDE_FILE,
    };
    has_name && is_written_by_us(&root.join(path))
}

/// Returns `true` for names that [`file_name`] makes.
fn is_file_name(name: &str) -> bool {
    let parts = name.strip_prefix("part-").and_then(|name| name.strip_suffix(".parquet")?.split_once('-'));
    parts.is_some_and(|(hash, part)| {
        let is_hash = hash.len() == 16 && hash.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        is_hash && !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit())
    })
}

/// Returns `true` if the footer of a file of Parquet says that this program wrote it. Keys would not: other programs
/// keep them in files that they make of ours.
fn is_written_by_us(path: &Path) -> bool {
    let metadata = File::open(path).ok().and_then(|file| {
        // Only the footer is read.
        ParquetMetaDataReader::new().parse_and_finish(&file).ok()
    });
    let creator = metadata.as_ref().and_then(|metadata| metadata.file_metadata().created_by());
    creator.is_some_and(|creator| creator.starts_with(CREATOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_directories() {
        let mut names = DatasetNames::default();
        assert_eq!(names.directory("sched_switch"), "event=sched_switch");
        assert_eq!(names.directory("my app:täg/1"), "event=my_app_t__g_1");
        assert_eq!(names.directory("sched_switch"), "event=sched_switch");
        assert_eq!(names.directory(""), "event=_");
        assert_eq!(names.directory("../../etc"), "event=.._.._etc");
        let long = names.directory(&"x".repeat(300));
        assert_eq!(long.len(), "event=".len() + 200 + 17);
        assert_eq!(names.directory(&"x".repeat(300)), long);
        assert_ne!(names.directory(&"x".repeat(301)), long);
    }

    #[test]
    fn colliding_names_end_in_a_hash() {
        let mut names = DatasetNames::default();
        assert_eq!(names.directory("a:b"), "event=a_b");
        let second = names.directory("a b");
        assert!(second.starts_with("event=a_b-") && second.len() == "event=a_b-".len() + 16, "{second}");
        assert_eq!(names.directory("a b"), second);
        // Some file systems do not distinguish case.
        let third = names.directory("A_B");
        assert!(third.starts_with("event=A_B-"), "{third}");
        assert_eq!(names.directory("a:b"), "event=a_b");
    }

    #[test]
    fn no_two_classes_have_a_directory() {
        let mut names = DatasetNames::default();
        assert_eq!(names.directory("_"), "event=_");
        assert_ne!(names.directory(""), "event=_");
        // A class that has the name another one gets.
        assert_eq!(names.directory("a b"), "event=a_b");
        let second = names.directory("a:b");
        let taken = second.strip_prefix("event=").unwrap_or_default();
        assert_ne!(names.directory(taken), second);
        assert_eq!(names.directory("a:b"), second);
    }

    #[test]
    fn names_of_files_have_a_hash_and_a_number() {
        assert!(is_file_name(&file_name(u64::MAX, 12)) && is_file_name(&file_name(0, 0)));
        for name in ["part-0.parquet", "part-0123456789abcdef.parquet", "part-0123456789abcdeF-0.parquet"] {
            assert!(!is_file_name(name), "{name}");
        }
    }
}
