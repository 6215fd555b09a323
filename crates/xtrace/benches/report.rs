//! Cost of reading reports as text, as JSON and as ichnos events, and of writing them.
//!
//! `cargo bench -p ichnos-xtrace --bench report`
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ichnos_io::{
    Bytes, Entry, Format, Lane, ReadOptions, Tree, WriteOptions, WriteSource, WriteTarget, WriterFactory,
};
use ichnos_model::cursor::StreamCursor;
use ichnos_model::{Message, OpenedTrace, Window};
use ichnos_xtrace::report::{JsonReports, LineBuffer, Part, ReportWriter, Reports};
use ichnos_xtrace::{Edge, Metadata, OpId, TaskId, XTrace, XTraceWriter};

/// Number of reports to read at once.
const REPORTS: u64 = 10_000;

/// Reports similar to a recorded system: 12 lines, about 370 bytes.
fn reports(are_escaped: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for index in 1..=REPORTS {
        let metadata = Metadata::new(TaskId::from([7; 8]), OpId::from(index.to_be_bytes()));
        let mut report = ReportWriter::new(&mut text, &metadata.validate().unwrap());
        if are_escaped {
            report.line("Text", "two\nlines");
        }
        report.display("HRT", 791_539_302_861_438 + index);
        report.line("Host", "manny");
        report.line("ThreadID", "12");
        report.line("Agent", "ProtobufRpcEngine");
        report.edge(&Edge::next(OpId::from((index - 1).to_be_bytes())));
        report.line("ProcessID", "8201@manny");
        report.timestamp_millis(1_384_989_801_451 + index);
        report.line("ThreadName", "Thread-3");
        report.line("Source", "ProtobufRpcEngine.java:184");
        report.line("Class", "org.apache.hadoop.ipc.RPC");
        report.line("Label", "RPC Client invoking remote method getFileInfo");
        text.push(b'\n');
    }
    text
}

/// The same reports as JSON, in the layout of servers.
fn json(text: &[u8]) -> Vec<u8> {
    let mut json = b"[{\"id\":\"0707070707070707\",\"reports\":[".to_vec();
    for (index, part) in Reports::new(text).enumerate() {
        let Part::Report(report) = part else { panic!("{part:?}") };
        json.extend_from_slice(if index == 0 { b"{" } else { b",\n{" });
        for line in report.lines() {
            let [key, value] = [line.key, line.value].map(|text| String::from_utf8(text.to_vec()).unwrap());
            json.extend_from_slice(format!("\"{key}\":[\"{value}\"],").as_bytes());
        }
        json.extend_from_slice(b"\"version\":\"X-Trace Report ver 1.0\"}");
    }
    json.extend_from_slice(b"]}]");
    json
}

fn parse(text: &[u8]) -> usize {
    let mut sum = 0;
    for part in Reports::new(text) {
        if let Part::Report(report) = part {
            sum += report.lines().map(|line| line.key.len() ^ line.value.len()).sum::<usize>();
        }
    }
    sum
}

fn read(text: &[u8]) -> usize {
    let (mut sum, mut lines) = (0, LineBuffer::default());
    for part in Reports::new(text) {
        if let Part::Report(report) = part {
            lines.read(&report);
            sum += lines.lines().map(|line| line.key.len() ^ line.value.len()).sum::<usize>();
        }
    }
    sum
}

fn read_json(json: &[u8]) -> usize {
    let (mut sum, mut lines, mut reports) = (0, LineBuffer::default(), JsonReports::new());
    while let Some(report) = reports.next(json, &mut lines) {
        report.unwrap();
        sum += lines.lines().map(|line| line.key.len() ^ line.value.len()).sum::<usize>();
    }
    sum
}

/// Returns the number of events in a file.
fn events(bytes: &Bytes) -> u64 {
    let entries = vec![Entry::from_bytes("a.reports", bytes.clone())];
    let tree = Tree { name: "a.reports".to_owned(), entries, problems: Vec::new() };
    let opened = XTrace.open(&[&tree], &ReadOptions::default());
    let mut sum = 0;
    for mut cursor in opened.traces[0].cursors(Window::default()) {
        while cursor.next_head().is_some() {
            sum += u64::from(matches!(cursor.current(), Some(Message::Event(_))));
        }
    }
    sum
}

/// Returns the size of the reports in bytes when written in a dialect.
fn written(trace: &dyn OpenedTrace, dialect: &str) -> u64 {
    let source = WriteSource {
        trace: trace.trace().clone(),
        format: trace.format(),
        has_dynamic_classes: trace.has_dynamic_classes(),
        streams: trace.data_streams(),
    };
    let mut options = WriteOptions::default();
    options.dialect = Some(dialect.to_owned());
    let output = XTraceWriter.create(WriteTarget::Nowhere, vec![source], &options).unwrap();
    let mut worker = output.worker(Lane::All);
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.next_head().is_some() {
            let Some(message) = cursor.current() else { continue };
            worker.message(&message).unwrap();
            while let Some(block) = worker.take() {
                output.join(block).unwrap();
            }
        }
    }
    worker.finish().unwrap();
    while let Some(block) = worker.take() {
        output.join(block).unwrap();
    }
    drop(worker);
    output.finish().unwrap().bytes
}

fn write(criterion: &mut Criterion) {
    let entries = vec![Entry::from_bytes("a.reports", reports(false))];
    let tree = Tree { name: "a.reports".to_owned(), entries, problems: Vec::new() };
    let opened = XTrace.open(&[&tree], &ReadOptions::default());
    let mut group = criterion.benchmark_group("reports, read and written");
    group.throughput(Throughput::Elements(REPORTS));
    for dialect in ["text", "json"] {
        group.bench_function(dialect, |bencher| {
            bencher.iter(|| written(black_box(&*opened.traces[0]), dialect));
        });
    }
    group.finish();
}

fn report(criterion: &mut Criterion) {
    for (name, text) in [("plain", reports(false)), ("escaped", reports(true))] {
        let json = json(&reports(false));
        let mut group = criterion.benchmark_group(format!("reports, {name}"));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("parse", |bencher| bencher.iter(|| parse(black_box(&text))));
        group.bench_function("read into a buffer", |bencher| bencher.iter(|| read(black_box(&text))));
        let bytes = Bytes::from(text.clone());
        assert_eq!(events(&bytes), REPORTS);
        group.bench_function("events", |bencher| bencher.iter(|| events(black_box(&bytes))));
        if name == "plain" {
            let bytes = Bytes::from(json.clone());
            assert_eq!((read_json(&json), events(&bytes)), (parse(&text), REPORTS));
            group.throughput(Throughput::Bytes(json.len() as u64));
            group.bench_function(BenchmarkId::from_parameter("JSON"), |bencher| {
                bencher.iter(|| read_json(black_box(&json)));
            });
            group.bench_function("JSON, events", |bencher| bencher.iter(|| events(black_box(&bytes))));
        }
        group.finish();
    }
}

criterion_group!(benches, report, write);
criterion_main!(benches);
