//! Datasets with very many classes: memory is limited by their rows, and files are completed early.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use ichnos::flow::{Merge, pump};
use ichnos::io::{Lane, Output, Worker, WriteOptions, WriteSource, WriteTarget, WriterFactory};
use ichnos::model::Scope;
use ichnos::model::class::{EventRecordClass, FieldClass, Member};
use ichnos::model::field::FieldValue;
use ichnos::model::source::RecordTrace;
use ichnos::prelude::*;
use ichnos_table::ParquetWriter;
use ichnos_testing::PrivateMemory;
use serde_json::json;

use crate::dataset::{read, side};
use crate::hostile::{made, nanoseconds, try_write};

/// Environment variable with the path for [`writes_many_classes`].
const PATH: &str = "ICHNOS_TEST_WRITES_CLASSES_TO";

const CLASSES: u64 = 1_500;

/// Creates a trace in which events of these classes take turns. Each event has this number of integers.
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

/// Not a test: the program started by the test below.
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
    let memory = PrivateMemory::for_children(std::process::id());
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["many_classes::writes_many_classes", "--exact", "--ignored", "--test-threads=1"])
        .env(PATH, &path)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    // It would be 45 MiB if each file had an encoder.
    assert!(memory.peak() < 32 << 20, "{} bytes", memory.peak());
    let classes = side(&read(&path), "_classes/");
    assert_eq!(classes.len() as u64, CLASSES);
    assert!(classes.iter().all(|class| class["rows"] == json!(3)));
}

/// Passes messages to a worker, which makes batches of all rows after this number of events.
struct FlushingSink<'o> {
    output: &'o dyn Output,
    worker: Box<dyn Worker + Send>,
    every: u64,
    events: u64,
}

impl FlushingSink<'_> {
    fn join(&mut self) -> io::Result<()> {
        while let Some(block) = self.worker.take() {
            self.output.join(block)?;
        }
        Ok(())
    }
}

impl Sink for FlushingSink<'_> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        self.worker.message(message)?;
        self.events += u64::from(matches!(message, Message::Event(_)));
        if self.events.is_multiple_of(self.every) {
            self.worker.flush()?;
            self.join()?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.worker.finish()?;
        self.join()
    }
}

#[test]
fn files_of_many_columns_are_completed_early() {
    // 31 encoders with 1,100 columns and without dictionaries take more than 64 MiB.
    let (classes, rounds) = (32, 32);
    // The last events belong to classes whose files are already complete.
    let trace = turns(classes, 1_100, classes * rounds + 4);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("d");
    let source = WriteSource {
        trace: Arc::clone(trace.trace()),
        format: "made",
        has_dynamic_classes: false,
        streams: trace.data_streams(),
    };
    let target = WriteTarget::Complete(path.clone());
    let output = ParquetWriter.create(target, vec![source], &WriteOptions::default()).unwrap();
    let worker = output.worker(Lane::All);
    let mut sink = FlushingSink { output: &*output, worker, every: classes * rounds, events: 0 };
    pump(&mut Merge::new(trace.cursors(Window::default())), &mut sink).unwrap();
    sink.finish().unwrap();
    drop(sink);
    output.finish().unwrap();
    let mut times: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    let files = read(&path);
    for file in files.iter().filter(|file| file.is_event()) {
        let own =
            file.batches.iter().flat_map(|batch| batch["ts"].as_primitive::<Int64Type>().values().to_vec());
        let own: Vec<i64> = own.collect();
        assert!(own.is_sorted() && !own.is_empty(), "{}", file.path);
        times.entry(file.key(ichnos_table::EVENT_KEY)).or_default().extend(own);
    }
    assert_eq!(times.len() as u64, classes);
    for (class, times) in &mut times {
        times.sort_unstable();
        let first: u64 = class[1..].parse().unwrap();
        let expected =
            (0..rounds + u64::from(first < 4)).map(|round| i64::try_from(first + round * classes).unwrap());
        assert!(times.iter().copied().eq(expected), "{class}");
    }
    let written = side(&files, "_classes/");
    assert_eq!(written.len() as u64, classes + 4);
    assert!(written.iter().all(|class| class["sorted"] == json!(true)));
}
