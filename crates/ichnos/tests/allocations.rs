//! Reading, merging and writing an event does not allocate. This is a separate test binary because it needs a counting
//! allocator.
#![cfg(all(feature = "ctf", feature = "fuchsia-log", feature = "xtrace"))]
// Test helpers may panic like tests.
#![allow(clippy::unwrap_used)]

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use dhat::HeapStats;
use ichnos::export::{
    Csv, CsvColumns, CsvOptions, Details, DetailsOptions, JsonTime, Log, LogForm, LogOptions, Null, Pretty,
    PrettyOptions, TextWriter,
};
use ichnos::prelude::*;
use ichnos_jsonl::{JsonLines, JsonLinesOptions};

#[global_allocator]
static COUNTING: dhat::Alloc = dhat::Alloc;

/// Output that discards text.
struct Nowhere;

impl TextWriter for Nowhere {
    fn write_text(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        text.clear();
        Ok(())
    }

    fn flush_text(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns an LTTng trace with two data streams, a log, and reports, each with repeated records.
fn inputs(directory: &Path) -> [PathBuf; 3] {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let log = std::fs::read(examples.join("hello-fuchsia/boot.log")).unwrap();
    let long = directory.join("long.log");
    std::fs::write(&long, log.repeat(50)).unwrap();
    let reports = std::fs::read(examples.join("hello-xtrace/proxy.reports")).unwrap();
    let many = directory.join("many.reports");
    std::fs::write(&many, [&reports[..], b"\n"].concat().repeat(50)).unwrap();
    [examples.join("hello-lttng"), long, many]
}

/// Sink that evaluates expressions for each event.
struct Selecting(Vec<ichnos::Selector>);

impl Selecting {
    /// Creates expressions for each scope and each kind of field.
    fn new(path: &Path) -> Self {
        let session = ichnos::open([path], &OpenOptions::default()).unwrap();
        let time = |_: &str| Ok(0);
        let all = [
            "event == \"*\" && time >= @0",
            "number % 3 == 1 || text =~ \"^hello \\d+\" && len(samples) >= 0 && first_two[-1] == 2",
            "mood in [\"BUSY\", \"CALM\"] && ctx.procname == \"h*o\" && vtid in [1, 2, 11296] || 5 in samples",
            "message =~ \"a\" && level >= info && process != 5 || bytes > 1400 || Agent == \"proxy\"",
        ];
        let filters = all.into_iter().filter_map(|text| session.filter(&text.parse().unwrap(), &time).ok());
        let all: Vec<_> = filters.map(|filter| filter.selector()).collect();
        assert!(all.len() >= 2, "{}", path.display());
        Self(all)
    }
}

impl Sink for Selecting {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if let Message::Event(event) = message {
            for selector in &mut self.0 {
                std::hint::black_box(selector.selects(event));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns the number of events in a trace, and the number of memory allocations while the second half was read and
/// passed to a sink. All classes are known after the first half.
fn allocations(path: &Path, sink: &mut dyn Sink) -> (u64, u64) {
    let session = ichnos::open([path], &OpenOptions::default()).unwrap();
    let mut all = 0;
    session.cursor(Window::default()).unwrap().drain_all(&mut |message| {
        all += u64::from(matches!(message, Message::Event(_)));
        ControlFlow::Continue(())
    });
    let (mut events, mut before, mut allocated) = (0, 0, 0);
    session.cursor(Window::default()).unwrap().drain_all(&mut |message| {
        let is_event = matches!(message, Message::Event(_));
        events += u64::from(is_event);
        // From one event to the end of the next event, including everything read in between.
        let is_between_events = is_event && events > all / 2 + 1;
        if is_between_events {
            allocated += HeapStats::get().total_blocks - before;
        }
        before = HeapStats::get().total_blocks;
        let flow = sink.message(message).unwrap();
        if is_event && events > all / 2 {
            allocated += HeapStats::get().total_blocks - before;
        }
        before = HeapStats::get().total_blocks;
        flow
    });
    sink.finish().unwrap();
    (all, allocated)
}

#[test]
fn nothing_is_allocated_for_an_event() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let directory = tempfile::tempdir().unwrap();
    let mut json = LogOptions::default();
    json.form = LogForm::Json;
    for path in inputs(directory.path()) {
        let sinks: [(&str, Box<dyn Sink>); 7] = [
            ("filter", Box::new(Selecting::new(&path))),
            ("null", Box::new(Null::new())),
            ("pretty", Box::new(Pretty::new(Nowhere, PrettyOptions::default()).warnings_to(io::sink()))),
            ("details", Box::new(Details::new(Nowhere, DetailsOptions::default()).warnings_to(io::sink()))),
            ("jsonl", Box::new(JsonLines::new(Nowhere, JsonLinesOptions::default()))),
            ("log", Box::new(Log::new(Nowhere, LogOptions::default()))),
            ("log-json", Box::new(Log::new(Nowhere, json.clone()))),
        ];
        let session = ichnos::open([&path], &OpenOptions::default()).unwrap();
        let mut columns = CsvColumns::new(JsonTime::Both);
        for trace in session.traces() {
            // Dynamic classes are found only by reading.
            for mut cursor in trace.cursors(Window::default()) {
                while cursor.next_head().is_some() {}
            }
            for (index, stream) in trace.trace().class.data_streams.iter().enumerate() {
                columns.add_stream(stream);
                trace.trace().event_records(index).for_each(|record| columns.add(&record));
            }
        }
        let mut table = CsvOptions::default();
        table.columns = columns.columns().unwrap().into();
        let csv: (&str, Box<dyn Sink>) = ("csv", Box::new(Csv::new(Nowhere, table)));
        for (name, mut sink) in sinks.into_iter().chain([csv]) {
            let (events, allocated) = allocations(&path, sink.as_mut());
            assert!(events > 100, "{}: {events} events", path.display());
            assert_eq!(allocated, 0, "{}, {name}, {events} events", path.display());
        }
    }
}
