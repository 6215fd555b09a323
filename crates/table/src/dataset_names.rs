//! Names of the directories and files of a dataset.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use ichnos_io::{foreign_file, plain_files};

use crate::fingerprint::Fingerprint;
use crate::side_tables::SIDE_TABLES;

/// Maximum length of the name of an event record class in the name of its directory, in bytes.
const MOST_BYTES: usize = 200;

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
        let mut name: String =
            event.chars().flat_map(|c| std::iter::repeat_n(plain(c), c.len_utf8())).collect();
        let hash = format!("-{:016x}", Fingerprint::new().with(event.as_bytes()).hash());
        if name.len() > MOST_BYTES {
            name.truncate(MOST_BYTES);
            name.push_str(&hash);
        }
        let owner = self.taken.entry(name.to_lowercase()).or_insert_with(|| event.to_owned());
        if owner != event {
            name.push_str(&hash);
        }
        // A name without a character would be the missing value for some programs.
        format!("event={}", if name.is_empty() { "_" } else { &name })
    }
}

/// Returns the name of a file.
pub(crate) fn file_name(fingerprint: u64, part: usize) -> String {
    format!("part-{fingerprint:016x}-{part}.parquet")
}

/// Lists the files in a directory if it can be a dataset.
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
    let [directory, file] = names[..] else { return false };
    let is_table = directory.starts_with("event=") || SIDE_TABLES.contains(&directory);
    is_table && file.starts_with("part-") && file.ends_with(".parquet") && has_magic(&root.join(path))
}

fn has_magic(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"PAR1"
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
}
