//! Viewer files, as Google's trace processor reads them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos::convert::{ConvertOptions, target};
use ichnos::{OpenOptions, Session};
use ichnos_flow::pump;
use ichnos_model::field::{Field, FieldRef};
use ichnos_model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity};
use ichnos_model::meaning::{ClassMap, EventRole, EventRule, Meaning};
use ichnos_model::{Event, Message, Scope, Sink, Visitor, Window};
use ichnos_testing::{TraceProcessor, is_complete_sweep, recorded};
use serde_json::Value as Json;

use crate::random_spans::span_pairs;

/// Returns the directory with examples.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

pub(crate) fn open(path: &Path) -> Session {
    ichnos::open([path], &OpenOptions::default()).unwrap()
}

/// Converts a trace for a viewer. Returns the file path.
pub(crate) fn convert(session: &Session, viewer: &str, directory: &Path) -> PathBuf {
    let path = directory.join(format!("trace.{}", writer(viewer).extensions()[0]));
    let mut options = ConvertOptions::default();
    options.write.existing = ichnos_io::ExistingOutput::Replace;
    let reader = session.reader().unwrap();
    reader.convert(writer(viewer), Some(path.clone()), &options).unwrap();
    path
}

/// Returns a format's writer.
pub(crate) fn writer(format: &str) -> &'static dyn ichnos_io::WriterFactory {
    target(Some(format), Path::new(""), None).unwrap().writer
}

/// Timeline viewers with files that the trace processor reads.
const TIMELINES: [&str; 2] = ["perfetto", "chrome"];

pub(crate) fn processor(test: &str) -> Option<TraceProcessor> {
    TraceProcessor::find(test, Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// Directory with recorded kernel traces.
const KERNELS: &str = "ctf/real/tracecompass";

/// Returns the rows of each query, in order. The trace processor starts once.
pub(crate) fn all_rows(processor: &TraceProcessor, trace: &Path, queries: &[&str]) -> Vec<Vec<String>> {
    let separated: Vec<&str> = queries.iter().flat_map(|query| [*query, "select 'next' as query"]).collect();
    let output = processor.query(trace, &separated);
    let mut lines = output.lines();
    let rows = queries.iter().map(|_| {
        let own = lines.by_ref().take_while(|row| *row != r#"{"query":"next"}"#);
        let mut own: Vec<String> = own.map(str::to_owned).collect();
        own.sort();
        own
    });
    rows.collect()
}

/// Query for errors that the trace processor counts.
pub(crate) const ERRORS: &str = "select name, value from stats where value > 0 and severity = 'error'";

/// The trace processor finds the same slices, threads, counters and flows in a Fuchsia trace and in its conversions.
#[test]
fn the_trace_processor_reads_the_same_of_fxt() {
    const SCHEDULING: &str = "select s.ts, s.dur, s.cpu, t.tid from sched s join thread t using (utid)";
    const BOUNDS: &str = "select start_ts from trace_bounds";
    const QUERIES: [&str; 4] = [
        // Chrome's format lacks another place for scheduling.
        "select ts, dur, name, depth from slice where dur > 0 and (category is null or category != 'scheduling')",
        "select tid, pid, t.name, p.name as process from thread t join process p using (upid) where tid > 0 and tid != pid and pid > 0",
        "select c.ts, c.value from counter c join counter_track t on t.id = c.track_id where t.type not like 'perf%'",
        // FXT flows start and end at the enclosing slices, ours at the events.
        "select count(*) as n from flow",
    ];
    let Some(processor) = processor("the_trace_processor_reads_the_same_of_fxt") else { return };
    let directory = tempfile::tempdir().unwrap();
    let original = examples().join("hello-fxt/frames.fxt");
    let session = open(&original);
    let mut wanted = all_rows(&processor, &original, &[&QUERIES[..], &[SCHEDULING, BOUNDS]].concat());
    let begin = |rows: Option<Vec<String>>| -> i64 {
        serde_json::from_str::<Json>(&rows.unwrap().concat()).unwrap()["start_ts"].as_i64().unwrap()
    };
    let wanted_begin = begin(wanted.pop());
    assert!(wanted_begin > 0);
    for viewer in TIMELINES {
        let path = convert(&session, viewer, directory.path());
        let queries = [&QUERIES[..], &[SCHEDULING, BOUNDS, ERRORS]].concat();
        let mut found = all_rows(&processor, &path, &queries);
        assert_eq!(found.pop().unwrap(), [""; 0], "{viewer}");
        // Records without a time, which the trace processor does not show, must not extend the timeline.
        assert!(begin(found.pop()) >= wanted_begin, "{viewer}");
        let scheduling = found.pop().unwrap();
        if viewer == "perfetto" {
            assert_eq!(scheduling, wanted[QUERIES.len()]);
            assert!(!scheduling.is_empty());
        }
        for ((query, found), wanted) in QUERIES.iter().zip(found).zip(&wanted) {
            assert!(!wanted.is_empty(), "{query}");
            assert_eq!(found, *wanted, "{viewer}: {query}");
        }
    }
}

/// Interrupt handlers are nested on their processor. If a map makes the processor the key, an interrupt during a soft
/// interrupt has the same key, and the spans stay the same.
#[test]
fn spans_with_equal_keys_equal_nested_spans() {
    const SLICES: &str = "select name, ts, dur from slice where dur > 0 and category = 'irq'";
    let test = "spans_with_equal_keys_equal_nested_spans";
    let Some(root) = recorded(KERNELS) else { return };
    let mut options = OpenOptions::default();
    options.read.class_map = Some(ClassMap::new(|class, stream| {
        let name = class.name.clone().unwrap_or_default();
        let name = name.trim_start_matches("irq_");
        if ["handler_entry", "handler_exit", "softirq_entry", "softirq_exit"].contains(&name) {
            let rule = EventRule::new(class.role).with("packet.cpu_id", Meaning::PairKey);
            assert_eq!(rule.apply(class, stream), [0; 0], "{name}");
        }
    }));
    let directory = tempfile::tempdir().unwrap();
    for name in ["bug446190", "synctraces/scp_dest"] {
        let path = root.join(name);
        let sessions = [open(&path), ichnos::open([&path], &options).unwrap()];
        let [nested, keyed] = sessions.each_ref().map(|session| {
            let pairs = span_pairs(session);
            (
                pairs.latencies().count(),
                pairs.latencies().mean(),
                pairs.slowest().iter().map(|pair| pair.begin).max(),
            )
        });
        assert_eq!(keyed, nested, "{name}");
        let Some(processor) = processor(test).filter(|_| name != "bug446190") else { continue };
        for viewer in TIMELINES {
            let [nested, keyed] = sessions.each_ref().map(|session| {
                let path = convert(session, viewer, directory.path());
                all_rows(&processor, &path, &[SLICES]).pop().unwrap()
            });
            assert!(nested.len() > 5_000);
            let different = keyed.iter().zip(&nested).find(|(keyed, nested)| keyed != nested);
            assert_eq!(different, None, "{viewer}");
            assert_eq!(keyed.len(), nested.len(), "{viewer}");
        }
    }
}

/// Threads' processes from LTTng kernel events, and the times of all events.
#[derive(Default)]
struct ListedProcesses {
    processes: BTreeMap<u64, u64>,
    /// Last thread names.
    names: BTreeMap<u64, String>,
    times: Vec<i128>,
}

impl Sink for ListedProcesses {
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<std::ops::ControlFlow<()>> {
        if let Message::Event(event) = message {
            let number = |name| event.field(name).unwrap().as_u64().unwrap();
            self.times.extend(event.nanoseconds());
            for [thread, name] in [
                ["prev_tid", "prev_comm"],
                ["next_tid", "next_comm"],
                ["child_tid", "child_comm"],
                // Without the scope, these names would be the running thread.
                ["payload.tid", "payload.comm"],
                ["payload.tid", "name"],
            ] {
                let name = event.field(name).and_then(|name| Some(name.as_str()?.to_owned()));
                if let (Some(thread), Some(name)) = (event.field(thread), name) {
                    self.names.insert(thread.as_u64().unwrap(), name);
                }
            }
            match event.class.name.as_deref() {
                Some("lttng_statedump_process_state") => {
                    self.processes.insert(number("payload.tid"), number("payload.pid"));
                }
                Some("sched_process_fork") => {
                    self.processes.insert(number("child_tid"), number("child_pid"));
                }
                _ => {}
            }
        }
        Ok(std::ops::ControlFlow::Continue(()))
    }
}

/// Threads in kernel traces belong to the process known from a state dump or a fork, even threads that run earlier, or
/// in a later time range.
#[test]
fn threads_of_kernels_are_in_their_processes() {
    const THREADS: &str =
        "select tid, pid, p.name as process from thread left join process p using (upid) where tid > 0";
    let test = "threads_of_kernels_are_in_their_processes";
    let Some(processor) = processor(test) else { return };
    let Some(root) = recorded(KERNELS) else { return };
    let directory = tempfile::tempdir().unwrap();
    for (name, least) in [("many-threads", 8000), ("bug446190", 25)] {
        let session = open(&root.join(name));
        let mut listed = ListedProcesses::default();
        pump(&mut session.cursor(Window::default()).unwrap(), &mut listed).unwrap();
        let ListedProcesses { processes, names, times } = listed;
        let later = Window { begin: Some(times[times.len() / 2]), end: None };
        // The later range of the smaller trace is enough.
        let ranges = if name == "many-threads" && !is_complete_sweep() { 1 } else { 2 };
        for (window, least) in [(Window::default(), least), (later, 20)].into_iter().take(ranges) {
            let path = directory.path().join("threads.pftrace");
            let mut options = ConvertOptions::default();
            options.write.existing = ichnos_io::ExistingOutput::Replace;
            let reader = session.reader_of(window, |_| true).unwrap();
            reader.convert(writer("perfetto"), Some(path.clone()), &options).unwrap();
            let [threads, errors] = all_rows(&processor, &path, &[THREADS, ERRORS]).try_into().unwrap();
            assert_eq!(errors, [""; 0], "{name}");
            let (mut known, mut named) = (0, 0);
            for row in &threads {
                let row: Json = serde_json::from_str(row).unwrap();
                let wanted = processes.get(&row["tid"].as_u64().unwrap());
                assert_eq!(row["pid"].as_u64(), wanted.copied(), "{name}: {row}");
                known += usize::from(wanted.is_some());
                named += usize::from(row["process"].is_string());
                // Threads may have been renamed before the range.
                if let (Some(process), None) = (wanted, window.begin) {
                    // The trace processor takes text after a space for arguments.
                    let program = |name: &str| name.split(' ').next().map(str::to_owned);
                    let wanted = names.get(process).and_then(|name| program(name));
                    assert_eq!(row["process"].as_str().and_then(program), wanted, "{name}: {row}");
                }
            }
            assert!(known >= least, "{name}: {known} of {}", threads.len());
            assert_eq!(named, known, "{name}");
        }
    }
}

/// Kernel traces from two hosts are two machines in one file. Each has the threads and the scheduling of its own file.
#[test]
fn traces_of_two_hosts_are_two_machines() {
    const THREADS: &str = "select tid, name from thread where machine_id";
    const SCHEDULING: &str =
        "select s.ts, s.dur, t.tid from sched s join thread t using (utid) where t.machine_id";
    let test = "traces_of_two_hosts_are_two_machines";
    let Some(processor) = processor(test) else { return };
    let Some(root) = recorded(KERNELS) else { return };
    let path = root.join("synctraces");
    let directory = tempfile::tempdir().unwrap();
    let rows = |path: &Path, machines: u32| -> Vec<Vec<Vec<String>>> {
        let queries = (0..machines)
            .flat_map(|machine| [THREADS, SCHEDULING].map(|query| format!("{query} = {machine}")));
        let queries: Vec<String> = queries.chain([ERRORS.to_owned()]).collect();
        let file = convert(&open(path), "perfetto", directory.path());
        let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
        let mut rows = all_rows(&processor, &file, &queries);
        assert_eq!(rows.pop().unwrap(), [""; 0]);
        assert!(rows.iter().all(|rows| rows.len() > 10), "{path:?}: {rows:?}");
        rows.chunks(2).map(<[Vec<String>]>::to_vec).collect()
    };
    let mut alone = ["scp_dest", "scp_src"].map(|name| rows(&path.join(name), 1)).concat();
    let mut together = rows(&path, 2);
    alone.sort();
    together.sort();
    assert!(together == alone);
}

/// Log lines: Android priority, message and thread of each event with the log role and a message.
#[derive(Default)]
struct LogLines(Vec<String>);

impl Sink for LogLines {
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<std::ops::ControlFlow<()>> {
        if let Message::Event(event) = message
            && let Some(role) = event.class.log.as_deref()
            && let Some(text) = message_of(event, role)
        {
            let number = |meaning| event.get(&FieldRef::for_meaning(event, meaning)?)?.as_i64();
            let level = match role.severity {
                LogSeverity::Constant(number) => role.scale.level(number),
                _ => number(Meaning::Severity).map_or(LogLevel::Info, |number| role.scale.level(number)),
            };
            let levels = [
                LogLevel::Trace,
                LogLevel::Debug,
                LogLevel::Info,
                LogLevel::Warn,
                LogLevel::Error,
                LogLevel::Fatal,
            ];
            let priority = 2 + levels.iter().position(|of| *of == level).unwrap();
            // 0 means that the thread is unknown.
            let row = serde_json::json!([priority, text, number(Meaning::Thread).unwrap_or(0)]);
            self.0.push(row.to_string());
        }
        Ok(std::ops::ControlFlow::Continue(()))
    }
}

fn message_of(event: &Event<'_>, role: &LogRole) -> Option<String> {
    if let Some(text) = role.text {
        let mut rendered = String::new();
        (text.write)(event, &mut rendered).unwrap();
        return Some(rendered);
    }
    Some(event.get(&FieldRef::for_meaning(event, Meaning::Message)?)?.as_str()?.to_owned())
}

/// Messages are also lines in Perfetto's log, even if the trace's clock lacks dates.
#[test]
fn messages_are_log_lines() {
    const LINES: &str =
        "select l.prio, l.msg, l.ts, l.tag, t.tid from android_logs l left join thread t using (utid)";
    let Some(processor) = processor("messages_are_log_lines") else { return };
    let directory = tempfile::tempdir().unwrap();
    let dated = directory.path().join("dated.jsonl");
    std::fs::write(&dated, DATED_LOG).unwrap();
    let mut options = OpenOptions::default();
    options.read.class_map = Some(log_map());
    let sessions = [open(&examples().join("hello-fuchsia")), ichnos::open([&dated], &options).unwrap()];
    for (session, first) in sessions.into_iter().zip([None, Some("1700000000000000000")]) {
        let mut lines = LogLines::default();
        pump(&mut session.cursor(Window::default()).unwrap(), &mut lines).unwrap();
        let path = convert(&session, "perfetto", directory.path());
        let mut rows = all_rows(&processor, &path, &[LINES, ERRORS]);
        assert_eq!(rows.pop().unwrap(), [""; 0]);
        let rows: Vec<Json> =
            rows.pop().unwrap().iter().map(|row| serde_json::from_str(row).unwrap()).collect();
        let found =
            rows.iter().map(|row| serde_json::json!([row["prio"], row["msg"], row["tid"]]).to_string());
        let mut found: Vec<String> = found.collect();
        found.sort();
        lines.0.sort();
        assert!(found.len() > 1);
        assert_eq!(found, lines.0);
        if let Some(first) = first {
            assert_eq!(rows.iter().filter_map(|row| row["ts"].as_str()).min(), Some(first));
        }
        assert!(rows.iter().all(|row| row["tag"].as_str().is_some_and(|tag| !tag.is_empty())));
    }
}

/// Events as LTTng records them for Python.
const DATED_LOG: &str = r#"{"ts":1700000000000000000,"name":"lttng_python:event","payload":{"pid":7,"tid":8,"level":30,"msg":"cache is full"}}
{"ts":1700000000000001000,"name":"lttng_python:event","payload":{"pid":7,"tid":9,"level":10,"msg":"näher\n"}}
{"ts":1700000000000002000,"name":"other","payload":{"pid":7,"tid":9}}
"#;

/// Returns a map that makes these events log lines.
fn log_map() -> ClassMap {
    const SCALE: LevelScale =
        LevelScale(&[LevelStep::new(10, LogLevel::Debug), LevelStep::new(30, LogLevel::Warn)]);
    ClassMap::new(|class, stream| {
        let rule =
            EventRule::new(EventRole::Instant).with("pid", Meaning::Process).with("tid", Meaning::Thread);
        let is_log = class.name.as_deref() == Some("lttng_python:event");
        let rule = match is_log {
            true => rule.with("level", Meaning::Severity).with("msg", Meaning::Message),
            false => rule,
        };
        assert_eq!(rule.apply(class, stream), [0; 0]);
        if is_log {
            class.log = Some(Arc::new(LogRole::new(LogSeverity::Member, SCALE)));
        }
    })
}

/// Event count by name, and count, minimum and maximum of integers by field name.
#[derive(Default)]
struct Counts {
    events: BTreeMap<String, i64>,
    integers: BTreeMap<String, (i64, i64, i64)>,
    /// Also count slice ends.
    ends: bool,
}

impl Sink for Counts {
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<std::ops::ControlFlow<()>> {
        if let Message::Event(event) = message {
            self.event(event);
        }
        Ok(std::ops::ControlFlow::Continue(()))
    }
}

impl Counts {
    fn event(&mut self, event: &Event<'_>) {
        // The end of a slice is not a slice itself.
        if event.class.role == EventRole::End && !self.ends {
            return;
        }
        let name = event.category_and_name().1;
        // A slice is named after its start.
        let display = event.class.display.as_deref().and_then(|display| display.name.as_deref());
        let without = name.strip_suffix("Begin").or_else(|| name.strip_suffix("Start"));
        let without = without.filter(|_| event.class.role == EventRole::Begin);
        let own = own_name(event);
        let name = own.as_deref().or(display).or(without).unwrap_or(name);
        *self.events.entry(name.to_owned()).or_default() += 1;
        let mut visitor = Integers { event: name, counts: self };
        event.visit(Scope::Payload, &mut visitor).unwrap();
    }
}

/// Returns the event name that a field contains.
pub(crate) fn own_name(event: &Event<'_>) -> Option<String> {
    let path = event.class.display.as_deref()?.name_field.as_ref()?;
    Some(event.field(path)?.as_str()?.to_owned())
}

struct Integers<'c> {
    event: &'c str,
    counts: &'c mut Counts,
}

impl Integers<'_> {
    fn add(&mut self, field: Field<'_>, value: i64) {
        let is_plain = field.class().mappings().is_none();
        if let Some(name) = field.name().filter(|_| is_plain) {
            let place = self.counts.integers.entry(format!("{} debug.{name}", self.event));
            let (count, least, greatest) = place.or_insert((0, i64::MAX, i64::MIN));
            (*count, *least, *greatest) = (*count + 1, value.min(*least), value.max(*greatest));
        }
    }
}

impl Visitor for Integers<'_> {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.add(field, value as i64);
    }

    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.add(field, value);
    }
}

const SLICES: &str =
    "select name, count(*) as n from slice where category != 'cause' or category is null group by name";
const INTEGERS: &str = "select s.name || ' ' || a.flat_key as key, count(*) as n, min(a.int_value) as least,
    max(a.int_value) as greatest from slice s join args a using (arg_set_id) where a.int_value is not null group by 1";

#[test]
fn every_event_and_integer_of_other_formats_arrives() {
    let Some(processor) = processor("every_event_and_integer_of_other_formats_arrives") else { return };
    let directory = tempfile::tempdir().unwrap();
    let paths =
        ["hello-lttng", "hello-ctf2", "hello-dotnet/hello.nettrace.zst", "hello-jsonl", "hello-xtrace"];
    for example in paths {
        let session = open(&examples().join(example));
        let mut counts = Counts::default();
        pump(&mut session.cursor(Window::default()).unwrap(), &mut counts).unwrap();
        assert!(!counts.events.is_empty(), "{example}");
        for viewer in TIMELINES {
            let path = convert(&session, viewer, directory.path());
            let mut found = all_rows(&processor, &path, &[SLICES, INTEGERS]);
            let integers = found.pop().unwrap();
            let found = found.pop().unwrap();
            let found: BTreeMap<String, i64> = found
                .iter()
                .map(|row| {
                    let row: Json = serde_json::from_str(row).unwrap();
                    (row["name"].as_str().unwrap().to_owned(), row["n"].as_i64().unwrap())
                })
                .collect();
            let mut wanted = counts.events.clone();
            if viewer == "perfetto" {
                // The trace processor in these tests cannot read samples on unknown processors. `perfetto_samples.rs`
                // checks them.
                wanted.remove("ThreadSample");
            }
            assert_eq!(found, wanted, "{example} for {viewer}");
            if viewer == "chrome" {
                // Large integers are texts.
                continue;
            }
            let found: BTreeMap<String, (i64, i64, i64)> = integers
                .iter()
                .map(|row| {
                    let row: Json = serde_json::from_str(row).unwrap();
                    let number = |name: &str| row[name].as_i64().unwrap();
                    let values = (number("n"), number("least"), number("greatest"));
                    (row["key"].as_str().unwrap().to_owned(), values)
                })
                .collect();
            for (key, values) in &counts.integers {
                // Structure members have longer keys.
                if let Some(found) = found.get(key) {
                    assert_eq!(found, values, "{example}: {key}");
                }
            }
            let both = counts.integers.keys().filter(|key| found.contains_key(*key)).count();
            assert!(2 * both >= counts.integers.len(), "{example}: {both} of {:?}", counts.integers.keys());
        }
    }
}

/// Difficult fields: arrays with elements of several kinds, names and texts with quotes and control characters, numbers
/// that JSON cannot represent exactly, missing values.
const HARD: &str = r#"{"ts":1700000000123456789,"name":"a\"b\u0001","payload":{"mixed":[1,"two",{"x":[null,true]},[[],[2.5]]],"k\"\n":"\u0000\ud83d\ude00</script>"}}
{"ts":1700000000123456790,"name":"b","payload":{"big":18446744073709551615,"low":-9223372036854775808,"exact":9007199254740992,"object":{}}}
"#;

/// Viewers keep what they encoded of the last common context. The events of JSON Lines are values, of which nothing is
/// kept.
#[test]
fn common_contexts_of_bytes_and_of_values_look_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let of_bytes = open(&examples().join("hello-lttng"));
    let of_values = open(&convert(&of_bytes, "jsonl", directory.path()));
    for viewer in ["perfetto", "chrome", "firefox", "otlp"] {
        let read = |session| std::fs::read(convert(session, viewer, directory.path())).unwrap();
        assert!(read(&of_bytes) == read(&of_values), "{viewer}");
    }
}

/// Returns the trace events in Chrome's JSON, without track names and flows.
fn chrome_events(path: &Path) -> Vec<Json> {
    let file: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let events = file["traceEvents"].as_array().unwrap().iter();
    let is_event = |event: &&Json| event["ph"] != "M" && event["cat"] != "cause" && event["cat"] != "losses";
    events.filter(is_event).cloned().collect()
}

/// Damage without a time before the first event leaves the origin at the date of the first event. Parts of a split
/// trace do not start earlier than their events.
#[test]
fn the_origin_is_the_first_date_whatever_comes_before() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    std::fs::create_dir(&trace).unwrap();
    for file in std::fs::read_dir(examples().join("hello-lttng/trace/ust/uid/65534/64-bit")).unwrap() {
        let file = file.unwrap().path();
        if file.is_dir() {
            continue;
        }
        std::fs::copy(&file, trace.join(file.file_name().unwrap())).unwrap();
    }
    std::fs::write(trace.join("broken"), [7; 200]).unwrap();
    let session = open(&trace);
    let path = convert(&session, "chrome", directory.path());
    let text = std::fs::read_to_string(&path).unwrap();
    let json: Json = serde_json::from_str(&text).unwrap();
    let origin: u64 = json["otherData"]["origin_ns"].as_str().unwrap().parse().unwrap();
    assert!(origin > 1_700_000_000_000_000_000, "{origin}");
    assert!(text.contains("\"damage\""), "no damage");
}

#[test]
fn chrome_json_is_json() {
    let directory = tempfile::tempdir().unwrap();
    let hard = directory.path().join("hard.jsonl");
    std::fs::write(&hard, HARD).unwrap();
    let session = open(&hard);
    let events = chrome_events(&convert(&session, "chrome", directory.path()));
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["name"], "a\"b\u{1}");
    // Times start at the second of the first event.
    assert_eq!(events[0]["ts"].to_string(), "123456.789");
    assert_eq!(events[0]["args"]["mixed"].as_array().unwrap().len(), 4);
    assert_eq!(events[0]["args"]["k\"\n"], "\0\u{1f600}</script>");
    assert_eq!(events[1]["args"]["big"], "18446744073709551615");
    assert_eq!(events[1]["args"]["low"], "-9223372036854775808");
    assert_eq!(events[1]["args"]["exact"], 9_007_199_254_740_992_u64);
    for example in
        ["hello-lttng", "hello-ctf2", "hello-dotnet/hello.nettrace.zst", "hello-fuchsia", "hello-xtrace"]
    {
        let session = open(&examples().join(example));
        let mut counts = Counts { ends: true, ..Counts::default() };
        pump(&mut session.cursor(Window::default()).unwrap(), &mut counts).unwrap();
        let events = chrome_events(&convert(&session, "chrome", directory.path()));
        assert_eq!(events.len() as i64, counts.events.values().sum::<i64>(), "{example}");
    }
}
