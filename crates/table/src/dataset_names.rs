//! Directory and file names in a dataset.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ichnos_io::{DirectoryPart, Shard, foreign_file, plain_files};
use parquet::file::metadata::ParquetMetaDataReader;

use crate::append_root::is_run;
use crate::common_columns::COLUMNS_FILE;
use crate::fingerprint::Fingerprint;
use crate::otel_columns::{LOGS, TRACES};
use crate::partition::{Partition, is_partition};
use crate::side_tables::SIDE_TABLES;

/// Maximum length of a class name in a directory name, in bytes, with escaped bytes.
const MOST_BYTES: usize = 200;

/// Table whose file appears last, because it lists the files with events.
const LAST_TABLE: &str = "_classes";

/// Prefix of the writer's name in a file footer.
pub(crate) const CREATOR: &str = "ichnos version ";

/// Directory names for event record classes.
#[derive(Debug, Default)]
pub(crate) struct DatasetNames {
    /// Exact class name by directory name in lower case, because some file systems do not distinguish case.
    taken: HashMap<String, String>,
}

impl DatasetNames {
    /// Returns the directory for the event record class with this name.
    pub(crate) fn directory(&mut self, event: &str) -> String {
        let (mut name, is_whole) = escaped(event);
        if name.is_empty() {
            // Some programs read an empty name as a missing value.
            name.push('_');
        }
        if is_whole && self.take(&name, event) {
            return format!("event={name}");
        }
        let hash = Fingerprint::new().with(event.as_bytes()).hash();
        let hashed = format!("{name}-{hash:016x}");
        // Ends, because the number of taken names is finite.
        let mut candidates =
            std::iter::once(hashed.clone()).chain((2_u64..).map(|number| format!("{hashed}-{number}")));
        let found = candidates.find(|candidate| self.take(candidate, event)).unwrap_or(hashed);
        format!("event={found}")
    }

    /// Returns `true` if the class has this directory name already, or if the name was free and is now taken.
    fn take(&mut self, name: &str, event: &str) -> bool {
        self.taken.entry(name.to_lowercase()).or_insert_with(|| event.to_owned()) == event
    }
}

/// Returns the name with `%` and two hexadecimal digits for each unusual byte, as programs expect in directory names.
/// `false` if it is too long and was cut.
fn escaped(event: &str) -> (String, bool) {
    let mut name = String::new();
    for byte in event.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if name.len() + if is_plain { 1 } else { 3 } > MOST_BYTES {
            return (name, false);
        }
        match is_plain {
            true => name.push(char::from(byte)),
            false => name += &format!("%{byte:02X}"),
        }
    }
    (name, true)
}

/// Returns the file name for events.
pub(crate) fn file_name(fingerprint: u64, part: usize, shard: Option<Shard>) -> String {
    format!("part-{fingerprint:016x}-{part}{}.parquet", suffix(shard))
}

/// Returns the file name for a side table, which has only one file.
pub(crate) fn side_file(shard: Option<Shard>) -> String {
    format!("part-0{}.parquet", suffix(shard))
}

/// Returns the path of a file in OpenTelemetry's layout.
pub(crate) fn otel_file(table: &str, partition: Option<Partition>, part: usize) -> String {
    let directories = partition.map_or_else(String::new, |partition| format!("{}/", partition.directories()));
    format!("{table}/{directories}part-{part}.parquet")
}

fn suffix(shard: Option<Shard>) -> String {
    shard.map_or_else(String::new, |shard| format!("-{}-of-{}", shard.index(), shard.count()))
}

/// Lists the files in a directory if it may be a dataset. Some files may be deleted already.
pub(crate) fn written_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let files = plain_files(directory)?;
    for path in &files {
        if parse(path).is_none() || !is_written_by_us(&directory.join(path))? {
            return Err(foreign(path));
        }
    }
    Ok(files)
}

/// Lists the files in a directory if a shard can be added to it.
pub(crate) fn files_of_shards(directory: &Path, own: Shard) -> io::Result<Vec<PathBuf>> {
    let files = plain_files(directory)?;
    for path in &files {
        let problem = match parse(path) {
            None => return Err(foreign(path)),
            Some(None) => "it belongs to a dataset that was not written in shards",
            Some(Some(shard)) if shard.count() != own.count() => {
                "it belongs to a dataset with another number of shards"
            }
            // Other programs' files are never deleted. Reading very many footers would take long.
            Some(Some(shard)) if shard == own && !is_written_by_us(&directory.join(path))? => {
                return Err(foreign(path));
            }
            Some(Some(_)) => continue,
        };
        return Err(foreign_file(path, problem));
    }
    Ok(files)
}

/// Returns the files of a shard.
pub(crate) fn files_of(shard: Shard) -> DirectoryPart {
    DirectoryPart {
        is_own: Arc::new(move |path| parse(path) == Some(Some(shard))),
        last: Path::new(LAST_TABLE).join(side_file(Some(shard))),
    }
}

fn foreign(path: &Path) -> io::Error {
    foreign_file(path, "it is not a file of an event dataset")
}

/// Returns the shard that wrote a file, or `Some(None)` for a dataset without shards. Returns `None` for other files.
fn parse(path: &Path) -> Option<Option<Shard>> {
    let mut names: Vec<&str> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    if let [of_table @ .., file] = &names[..]
        && let [directories @ .., _] = of_table
    {
        // The directories of partitions are between the directory of the table and the file.
        let partitions = of_table.iter().rev().take_while(|name| is_partition(name)).count();
        let kept = of_table.len() - partitions.min(directories.len()).min(2);
        let file = *file;
        names.truncate(kept);
        names.push(file);
    }
    let (directory, file) = match names[..] {
        [file] => return (file == COLUMNS_FILE).then_some(None),
        [directory, file] => (directory, file),
        [run, directory, file] if is_run(run) => (directory, file),
        _ => return None,
    };
    let name = file.strip_prefix("part-")?.strip_suffix(".parquet")?;
    if [TRACES, LOGS].contains(&directory) {
        return number(name).map(|_| None);
    }
    let (name, shard) = match name.split_once("-of-") {
        None => (name, None),
        Some((name, count)) => {
            let (name, index) = name.rsplit_once('-')?;
            (name, Some(Shard::new(number(index)?, number(count)?)?))
        }
    };
    let is_known = match directory.strip_prefix("event=") {
        Some(_) => is_table_name(name),
        None => SIDE_TABLES.contains(&directory) && name == "0",
    };
    is_known.then_some(shard)
}

/// Parses a number without leading zeros.
fn number(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|number: &u32| number.to_string() == digits)
}

/// Returns `true` for a hash and a number.
fn is_table_name(name: &str) -> bool {
    name.split_once('-').is_some_and(|(hash, part)| {
        let is_hash = hash.len() == 16 && hash.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        is_hash && !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit())
    })
}

/// Returns `true` if the footer of a Parquet file names this program. Metadata keys prove nothing, because other
/// programs copy them from our files.
fn is_written_by_us(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        file => file.ok(),
    };
    // Reads only the footer.
    let metadata = file.and_then(|file| ParquetMetaDataReader::new().parse_and_finish(&file).ok());
    let creator = metadata.as_ref().and_then(|metadata| metadata.file_metadata().created_by());
    Ok(creator.is_some_and(|creator| creator.starts_with(CREATOR)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_directories() {
        let mut names = DatasetNames::default();
        assert_eq!(names.directory("sched_switch"), "event=sched_switch");
        assert_eq!(names.directory("my app:täg/1"), "event=my%20app%3At%C3%A4g%2F1");
        assert_eq!(names.directory("sched_switch"), "event=sched_switch");
        assert_eq!(names.directory(""), "event=_");
        assert_eq!(names.directory("../../etc"), "event=..%2F..%2Fetc");
        assert_eq!(names.directory("50%"), "event=50%25");
        let long = names.directory(&"x".repeat(300));
        assert_eq!(long.len(), "event=".len() + 200 + 17);
        assert_eq!(names.directory(&"x".repeat(300)), long);
        assert_ne!(names.directory(&"x".repeat(301)), long);
        // Escapes are not cut.
        let long = names.directory(&format!("{}:y", "x".repeat(198)));
        assert!(long.starts_with(&format!("event={}-", "x".repeat(198))), "{long}");
    }

    #[test]
    fn colliding_names_end_in_a_hash() {
        let mut names = DatasetNames::default();
        assert_eq!(names.directory("a:b"), "event=a%3Ab");
        // Some file systems do not distinguish case.
        let second = names.directory("A:b");
        assert!(second.starts_with("event=A%3Ab-") && second.len() == "event=A%3Ab-".len() + 16, "{second}");
        assert_eq!(names.directory("A:b"), second);
        assert_eq!(names.directory("a:b"), "event=a%3Ab");
    }

    #[test]
    fn no_two_classes_have_a_directory() {
        let mut names = DatasetNames::default();
        assert_eq!(names.directory("_"), "event=_");
        assert_ne!(names.directory(""), "event=_");
        // A class whose real name another class has received.
        assert_eq!(names.directory("ab"), "event=ab");
        let second = names.directory("Ab");
        let taken = second.strip_prefix("event=").unwrap_or_default();
        assert_ne!(names.directory(taken), second);
        assert_eq!(names.directory("Ab"), second);
    }

    #[test]
    fn names_of_files_say_their_shard() {
        let shard = Shard::new(2, 30);
        for shard in [None, shard, Shard::new(1, 1)] {
            for number in [0, 12] {
                let name = file_name(u64::MAX, number, shard);
                assert_eq!(parse(&Path::new("event=a").join(&name)), Some(shard), "{name}");
                assert_eq!(parse(&Path::new("_streams").join(name)), None);
            }
            for table in SIDE_TABLES {
                assert_eq!(parse(&Path::new(table).join(side_file(shard))), Some(shard));
            }
            assert_eq!(parse(&Path::new("event=a").join(side_file(shard))), None);
            assert_eq!(parse(Path::new(&side_file(shard))), None);
        }
        assert_eq!(parse(Path::new(COLUMNS_FILE)), Some(None));
        assert_eq!(parse(&Path::new("event=a").join(COLUMNS_FILE)), None);
        for name in [
            "part-0123456789abcdef.parquet",
            "part-0123456789abcdeF-0.parquet",
            "part-0123456789abcdef-0-3-of-2.parquet",
            "part-0123456789abcdef-0-0-of-2.parquet",
            "part-0123456789abcdef-0-01-of-2.parquet",
            "part-0123456789abcdef-1-of-2.parquet",
            "part-0123456789abcdef-0-1-of-.parquet",
        ] {
            assert_eq!(parse(&Path::new("event=a").join(name)), None, "{name}");
        }
        let files = files_of(Shard::new(2, 30).unwrap());
        assert_eq!(files.last, Path::new("_classes/part-0-2-of-30.parquet"));
        assert!((files.is_own)(&files.last) && !(files.is_own)(Path::new("_classes/part-0-3-of-30.parquet")));
    }
}
