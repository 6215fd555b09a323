//! Datasets of very many classes: memory is that of their rows, and files are completed early.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use ichnos::io::WriteOptions;
use ichnos::model::{EventRecordClass, FieldClass, FieldValue, Member, RecordTrace, Scope};
use ichnos_testing::PrivateMemory;
use serde_json::json;

use crate::dataset::{read, side};
use crate::hostile::{made, nanoseconds, try_write};

/// Environment variable with the path for [`writes_many_classes`].
const PATH: &str = "ICHNOS_TEST_WRITES_CLASSES_TO";

const CLASSES: u64 = 4_000;

/// Makes a trace in which events of these classes take turns, with this number of integers each.
fn turns(classes: u64, members: u64, events: u64) -> RecordTrace {
    let member = |i: u64| Member::new(format!("f{i}"), FieldClass::unsigned(64));
    let class = |i: u64| EventRecordClass::new(format!("e{i}"), (0..members).map(member));
    made(nanoseconds(), (0..classes).map(class), move |number, record| {
        record.set_cycles(number);
        record.set_class(usize::try_from(number % classes).unwrap());
        record.values.begin(Scope::Payload);
        (0..members).for_each(|i| record.values.push(FieldValue::Unsigned(number + i)));
        number < events
    })
}

/// Not a test, but the program started by the test below.
#[test]
#[ignore = "a program that another test starts"]
fn writes_many_classes() {
    let Some(path) = std::env::var_os(PATH) else { return };
    try_write(&turns(CLASSES, 2, 3 * CLASSES), Path::new(&path), &WriteOptions::default()).unwrap();
}

#[test]
fn memory_of_many_classes_is_that_of_their_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("d");
    let memory = PrivateMemory::of_children(std::process::id());
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["many_classes::writes_many_classes", "--exact", "--ignored", "--test-threads=1"])
        .env(PATH, &path)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    // 33 KiB for a class if each had an encoder.
    assert!(memory.peak() < 80 << 20, "{} bytes", memory.peak());
    let classes = side(&read(&path), "_classes/");
    assert_eq!(classes.len() as u64, CLASSES);
    assert!(classes.iter().all(|class| class["rows"] == json!(3)));
}

#[test]
fn files_of_many_columns_are_completed_early() {
    // Encoders of 100 classes with 600 columns would take more than 100 MiB between row groups.
    let (classes, events) = (100, 100 * 120);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("d");
    try_write(&turns(classes, 600, events), &path, &WriteOptions::default()).unwrap();
    let mut times: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    let files = read(&path);
    for file in files.iter().filter(|file| file.is_event()) {
        let own: Vec<i64> = file.rows().iter().map(|row| row["ts"].as_i64().unwrap()).collect();
        assert!(own.is_sorted() && !own.is_empty(), "{}", file.path);
        times.entry(file.key(ichnos_table::EVENT_KEY)).or_default().extend(own);
    }
    assert_eq!(times.len() as u64, classes);
    for (class, times) in &mut times {
        times.sort_unstable();
        let first: i64 = class[1..].parse().unwrap();
        let expected = (0..120).map(|round| first + round * i64::try_from(classes).unwrap());
        assert!(times.iter().copied().eq(expected), "{class}");
    }
    let classes = side(&files, "_classes/");
    assert!(classes.len() > 100 && classes.iter().all(|class| class["sorted"] == json!(true)));
}
