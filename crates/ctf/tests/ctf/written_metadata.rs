//! Metadata that is read, written in a dialect and read again says the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ichnos_ctf::metadata::{
    self, Dialect, MetadataOptions, Unsupported, add_auxiliary_streams, write_metadata,
};
use ichnos_model::{Limits, TraceClass};

use crate::comparable::comparable;
use crate::support::traces;

/// Metadata that says something in a way that only release candidates of its dialect had: what is written is equal in
/// meaning, but not in all that the class keeps.
const CANDIDATES: [&str; 1] = ["real/tracecompass/CTF2-7.0-debug-info"];

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

/// Writes a class and reads what was written. It is the same text when it is written once more.
pub fn through(trace: &TraceClass, dialect: Dialect) -> Result<TraceClass, Vec<Unsupported>> {
    let written = write_metadata(trace, dialect, &Limits::default())?;
    let mut options = MetadataOptions::default();
    let (mut again, found) = read(written.text.as_bytes()).unwrap();
    assert_eq!(found, dialect);
    if let Some(environment) = &written.environment {
        let problems = add_auxiliary_streams(&mut again, &[environment.as_bytes()], &mut options);
        assert!(problems.is_empty(), "{problems:?}");
    }
    let twice = write_metadata(&again, dialect, &Limits::default()).unwrap();
    assert_eq!(twice.text, written.text);
    assert_eq!(twice.environment, written.environment);
    Ok(again)
}

/// All metadata that was recorded and can be read, by name.
fn recorded() -> Option<Vec<(String, TraceClass, Dialect)>> {
    let root = traces()?.join("ctf");
    let mut files = Vec::new();
    metadata_files(&root, &mut files);
    let one = |file: PathBuf| {
        let name = file.parent()?.strip_prefix(&root).ok()?.display().to_string();
        let (trace, dialect) = read(&fs::read(&file).ok()?)?;
        Some((name, trace, dialect))
    };
    Some(files.into_iter().filter_map(one).collect())
}

#[test]
fn every_recorded_metadata_in_its_dialect() {
    let Some(recorded) = recorded() else {
        eprintln!("skipped: the recorded traces are not there");
        return;
    };
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, trace, dialect) in recorded {
        *count.entry(dialect.name()).or_default() += 1;
        let again = match through(&trace, dialect) {
            Ok(again) => again,
            Err(unsupported) => panic!("{name}: {}", unsupported[0]),
        };
        if CANDIDATES.contains(&&*name) {
            assert_ne!(again, trace, "{name}: no longer an exception");
            assert_eq!(comparable(&again), comparable(&trace), "{name}");
        } else {
            assert_eq!(again, trace, "{name}");
        }
    }
    println!("{count:?}");
    assert!(count["ctf1.8"] > 200 && count["spec2"] > 130, "{count:?}");
}

#[test]
fn every_recorded_metadata_in_all_dialects() {
    let Some(recorded) = recorded() else {
        eprintln!("skipped: the recorded traces are not there");
        return;
    };
    let mut count: BTreeMap<(&str, &str), [usize; 2]> = BTreeMap::new();
    for (name, trace, dialect) in recorded {
        for other in Dialect::ALL {
            let [written, refused] = count.entry((dialect.name(), other.name())).or_default();
            match through(&trace, other) {
                Ok(again) => {
                    *written += 1;
                    assert_eq!(comparable(&again), comparable(&trace), "{name} in {other}");
                }
                Err(unsupported) => {
                    *refused += 1;
                    println!("{name} in {other}: {}", unsupported[0]);
                }
            }
        }
    }
    for ((from, to), [written, refused]) in &count {
        println!("{from} in {to}: {written} written, {refused} refused");
    }
    // What CTF 1.8 says, the later dialects but PROP-1.0 can say; the rest depends on which constructs are used.
    for to in ["ctf1.8", "prop2", "spec2"] {
        assert_eq!(count[&("ctf1.8", to)][1], 0, "{to}");
    }
    assert_eq!(count[&("spec2", "spec2")][1], 0);
    for (from, to, least) in
        [("ctf1.8", "prop1", 110), ("spec2", "ctf1.8", 95), ("spec2", "prop1", 95), ("spec2", "prop2", 100)]
    {
        assert!(count[&(from, to)][0] >= least, "{from} in {to}");
    }
}
