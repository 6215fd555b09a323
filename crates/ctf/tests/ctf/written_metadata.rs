//! Metadata that is read, written in a dialect and read again says the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ichnos_ctf::metadata::{self, Dialect, MetadataOptions, write_metadata};
use ichnos_model::{Limits, TraceClass};

use crate::support::traces;

fn metadata_files(directory: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            metadata_files(&path, files);
        } else if path.file_name().is_some_and(|name| name == "metadata") {
            files.push(path);
        }
    }
}

fn read(text: &[u8]) -> Option<(TraceClass, Dialect)> {
    metadata::parse(text, &MetadataOptions::default()).ok().map(|read| (read.trace, read.dialect))
}

#[test]
fn every_recorded_metadata_in_its_dialect() {
    let Some(traces) = traces() else {
        eprintln!("skipped: the recorded traces are not there");
        return;
    };
    let root = traces.join("ctf");
    let mut files = Vec::new();
    metadata_files(&root, &mut files);
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        let name = file.parent().unwrap().strip_prefix(&root).unwrap().display().to_string();
        let Some((trace, dialect)) = read(&fs::read(&file).unwrap()) else { continue };
        *count.entry(dialect.name()).or_default() += 1;
        match write_metadata(&trace, dialect, &Limits::default()) {
            Err(unsupported) => {
                for it in unsupported {
                    println!("REFUSED {name}: {it}");
                }
            }
            Ok(written) => {
                let again = read(written.text.as_bytes()).unwrap().0;
                if again != trace {
                    println!("DIFFERS {name}");
                }
                let text = write_metadata(&again, dialect, &Limits::default()).unwrap().text;
                assert_eq!(text, written.text, "{name}");
            }
        }
    }
    println!("{count:?}");
}
