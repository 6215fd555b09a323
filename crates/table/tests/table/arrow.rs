//! Arrow IPC has the rows of datasets.

use std::fs::File;

use arrow_ipc::reader::{FileReader, StreamReader};
use ichnos::convert::ConvertOptions;
use ichnos::prelude::*;
use ichnos::{Pass, Selection};
use ichnos_table::{ArrowIpcWriter, BatchOutput, ParquetWriter, Projection, TableOptions};

use crate::dataset::{Row, read, rows};
use crate::examples::example;

#[test]
fn streams_and_files_have_the_rows_of_a_dataset() {
    let directory = tempfile::tempdir().unwrap();
    let [stream, file, dataset] =
        ["stream.arrows", "file.arrow", "dataset"].map(|name| directory.path().join(name));
    let session = ichnos::open([example("hello-ctf2/trace")], &OpenOptions::default()).unwrap();
    let reader = session.reader().unwrap();
    let mut options = ConvertOptions::default();
    options.pass = Pass::new(Selection::default().events(|name| name == "sample"));
    reader.convert(&ArrowIpcWriter, Some(stream.clone()), &options).unwrap();
    reader.convert(&ArrowIpcWriter, Some(file.clone()), &options).unwrap();
    reader.convert(&ParquetWriter, Some(dataset.clone()), &options).unwrap();
    let batches = StreamReader::try_new(File::open(&stream).unwrap(), None).unwrap();
    let found: Vec<Row> = batches.flat_map(|batch| rows(&batch.unwrap())).collect();
    let batches = FileReader::try_new(File::open(&file).unwrap(), None).unwrap();
    let in_file: Vec<Row> = batches.flat_map(|batch| rows(&batch.unwrap())).collect();
    assert_eq!(in_file, found);
    let expected: Vec<Row> =
        read(&dataset).iter().filter(|file| file.is_event()).flat_map(|file| file.rows()).collect();
    assert_eq!(found, expected);
    assert!(!found.is_empty());
}

#[test]
fn a_stream_has_one_schema() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stream.arrows");
    let session = ichnos::open([example("hello-lttng/trace")], &OpenOptions::default()).unwrap();
    let reader = session.reader().unwrap();
    let written = reader.convert(&ArrowIpcWriter, Some(path.clone()), &ConvertOptions::default());
    let error = written.unwrap_err().to_string();
    assert!(error.starts_with("`hello:") && error.contains("one schema"), "{error}");
    assert!(!path.exists());
}

#[test]
fn unwanted_columns_are_not_there() {
    let session = ichnos::open([example("hello-lttng/trace")], &OpenOptions::default()).unwrap();
    let reader = session.reader().unwrap();
    let streams: Vec<_> = session.traces().iter().flat_map(|trace| trace.data_streams()).collect();
    let names = |wanted: &[&str]| {
        let mut names: Vec<Vec<String>> = Vec::new();
        let mut events = 0;
        let take = |batch: ichnos_table::TableBatch| {
            events += batch.batch.num_rows();
            names.push(batch.batch.schema().fields().iter().map(|field| field.name().clone()).collect());
            Ok(())
        };
        let output = BatchOutput::new(
            &streams,
            TableOptions::default().with_columns(Projection::named(wanted.iter().copied())),
            take,
        );
        let summary = reader.pass().write(&output).unwrap();
        drop(output);
        assert_eq!(summary.counts.events, events as u64);
        names.sort();
        names.dedup();
        names
    };
    assert_eq!(names(&["ts"]), [["ts"]]);
    // The column of a meaning does not need that of its field.
    assert_eq!(names(&["process"]).last().unwrap(), &["process"]);
    assert_eq!(names(&["ts", "ctx.vpid"]).last().unwrap(), &["ts", "ctx.vpid"]);
}
