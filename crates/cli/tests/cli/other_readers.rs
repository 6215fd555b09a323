//! Reference readers for formats other than CTF: TraceEvent reads .NET files, the trace processor reads FXT and
//! Perfetto files, and `opentelemetry-proto` reads OTLP.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use ichnos_testing::{TraceEventLibrary, TraceProcessor, find_python};
use serde_json::Value;

use crate::support::{Directory, ichnos, text};

/// Checks that other programs can read a trace's conversions. If there are many traces, `number` selects one of the
/// formats.
pub fn check(name: &str, source: &Path, number: Option<usize>) {
    let directory = Directory::new("other-readers");
    let checks: [fn(&str, &Path, &Directory); 5] = [
        |name, source, directory| dotnet(name, source, "4", directory),
        |name, source, directory| dotnet(name, source, "6", directory),
        |name, source, directory| viewer(name, source, "fxt", directory),
        |name, source, directory| viewer(name, source, "perfetto", directory),
        otlp,
    ];
    match number {
        Some(number) => checks[number % checks.len()](name, source, &directory),
        None => checks.iter().for_each(|check| check(name, source, &directory)),
    }
}

fn convert(source: &Path, format: &str, dialect: &[&str], to: &Path) {
    let words = ["convert", "-q", "--to", format, "--force", text(source), "-o", text(to)];
    ichnos(words.iter().chain(dialect).copied()).expect(0, &[]);
}

/// Event as a reader shows it: time in ticks, thread, name and fields.
struct SeenEvent {
    ticks: u64,
    thread: u32,
    name: String,
    fields: BTreeMap<String, Value>,
}

impl SeenEvent {
    fn key(&self) -> (u64, u32, &str) {
        (self.ticks, self.thread, &self.name)
    }

    /// Returns the members of an event's only, unnamed field. ichnos shows them as event fields.
    fn outer_fields(&self) -> Option<BTreeMap<String, Value>> {
        let outer = self.fields.get("value").filter(|_| self.fields.len() == 1)?;
        outer.is_object().then(|| fields(outer))
    }
}

/// TraceEvent shows the written ticks, threads, names and fields, and can evaluate every field.
fn dotnet(name: &str, source: &Path, dialect: &str, directory: &Directory) {
    let Some(library) = TraceEventLibrary::find(name) else { return };
    let file = directory.join("out.nettrace");
    convert(source, "nettrace", &["--to-dialect", dialect], &file);
    let dump = library.dump(&file, &directory.join("rows")).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(dump.error, "", "{name} {dialect}");
    let mut theirs: Vec<SeenEvent> = dump.rows.lines().map(of_trace_event).collect();
    let lines = ichnos(["cat", "-q", "-f", "jsonl", text(&file)]).expect(0, &[]).out;
    let lines = lines.lines().filter(|line| line.contains("\"type\":\"event\""));
    let mut ours: Vec<SeenEvent> = lines.map(of_ichnos).collect();
    assert_eq!(theirs.len(), ours.len(), "{name} {dialect}: numbers of events");
    // TraceEvent has its own names and fields for runtime events.
    let is_written = |event: &SeenEvent| !event.name.starts_with("Microsoft-");
    for events in [&mut ours, &mut theirs] {
        events.sort_by_key(|event| (event.ticks, event.thread));
    }
    let times =
        |events: &[SeenEvent]| events.iter().map(|event| (event.ticks, event.thread)).collect::<Vec<_>>();
    assert_eq!(times(&theirs), times(&ours), "{name} {dialect}: ticks and threads");
    for events in [&mut ours, &mut theirs] {
        events.retain(is_written);
        events.sort_by(|a, b| a.key().cmp(&b.key()));
    }
    assert_eq!(theirs.len(), ours.len(), "{name} {dialect}: numbers of events that are not of the runtime");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!(is_named(&ours.name, &theirs.name), "{name} {dialect}: {:?} {:?}", theirs.key(), ours.key());
        // TraceEvent does not show a payload without a description.
        let is_undescribed = ours.fields.len() == 1
            && ours.fields.get("payload").is_some_and(|value| value.get("$blob").is_some());
        if is_undescribed && theirs.fields.is_empty() {
            continue;
        }
        let theirs = theirs.outer_fields().unwrap_or_else(|| theirs.fields.clone());
        let names = |fields: &BTreeMap<String, Value>| fields.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&theirs), names(&ours.fields), "{name} {dialect}: {}: fields", ours.name);
        for (field, value) in &ours.fields {
            let shown = &theirs[field];
            assert!(
                is_same(value, shown),
                "{name} {dialect}: {}: {field}: {value}, shown {shown}",
                ours.name
            );
        }
    }
}

/// Returns `true` if TraceEvent shows this name. It adds an opcode name, as in `frame:begin/Start`, and capitalizes the
/// first letter.
fn is_named(ours: &str, theirs: &str) -> bool {
    const OPCODES: [&str; 11] = [
        "",
        "Start",
        "Stop",
        "DCStart",
        "DCStop",
        "Extension",
        "Reply",
        "Resume",
        "Suspend",
        "Send",
        "Receive",
    ];
    let opcode = theirs.to_lowercase().strip_prefix(&ours.to_lowercase()).map(str::to_owned);
    opcode.is_some_and(|opcode| OPCODES.iter().any(|known| known.eq_ignore_ascii_case(&opcode)))
}

/// Returns `true` if TraceEvent shows this value. Its floating-point numbers start with `f` or `d`, and its byte arrays
/// are hexadecimal.
fn is_same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(number), Value::String(text)) => {
            let double = |text: &str| text.parse().ok() == number.as_f64();
            let single = |text: &str| text.parse::<f32>().ok() == number.as_f64().map(|number| number as f32);
            text.strip_prefix('d').is_some_and(double) || text.strip_prefix('f').is_some_and(single)
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| is_same(ours, theirs))
        }
        (Value::Array(bytes), Value::Object(shown)) => {
            let digits = bytes.iter().map(|byte| byte.as_u64().map(|byte| format!("{byte:02x}")));
            digits.collect::<Option<String>>().as_deref() == shown.get("bytes").and_then(Value::as_str)
        }
        (Value::Object(float), Value::String(text)) => {
            float.get("$float").and_then(Value::as_str).is_some_and(|float| text.get(1..) == Some(float))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            let is_shown = |(name, value): (&String, &Value)| {
                theirs.get(name).is_some_and(|shown| is_same(value, shown))
            };
            ours.len() == theirs.len() && ours.iter().all(is_shown)
        }
        // TraceEvent's dates have seven digits, ours nine.
        (Value::String(ours), Value::String(theirs)) => {
            ours == theirs || ours.ends_with("00Z") && ours.replace("00Z", "Z") == *theirs
        }
        (ours, theirs) => ours == theirs,
    }
}

fn fields(of: &Value) -> BTreeMap<String, Value> {
    let fields = of.as_object().into_iter().flatten();
    // TraceEvent shows an unnamed field as `value`.
    let name = |name: &str| if name.is_empty() { "value".to_owned() } else { name.to_owned() };
    fields.map(|(field, value)| (name(field), value.clone())).collect()
}

/// Returns a name without slashes: TraceEvent inserts one before an opcode, as in `Work/Start`.
fn plain_name(name: &str) -> String {
    name.replace('/', "")
}

fn of_trace_event(row: &str) -> SeenEvent {
    let row: Value = serde_json::from_str(row).unwrap();
    let member = |name: &str| row[name].as_str().unwrap().to_owned();
    SeenEvent {
        ticks: row["q"].as_u64().unwrap(),
        // Thread numbers are signed 32-bit numbers.
        thread: row["tid"].as_i64().unwrap() as u32,
        name: plain_name(&format!("{}/{}", member("p"), member("n"))),
        fields: fields(&row["f"]),
    }
}

fn of_ichnos(line: &str) -> SeenEvent {
    let event: Value = serde_json::from_str(line).unwrap();
    SeenEvent {
        ticks: event["cycles"].as_u64().unwrap(),
        thread: event["common_context"]["thread"].as_u64().unwrap() as u32,
        name: plain_name(event["name"].as_str().unwrap()),
        fields: fields(&event["payload"]),
    }
}

/// The trace processor imports the file without an error.
fn viewer(name: &str, source: &Path, format: &str, directory: &Directory) {
    const ERRORS: &str = "select name, value from stats where value > 0 and severity = 'error'";
    let Some(processor) = TraceProcessor::find(name, Path::new(env!("CARGO_TARGET_TMPDIR"))) else { return };
    let file = directory.join("viewed");
    convert(source, format, &[], &file);
    let errors = processor.query(&file, &[ERRORS]);
    assert_eq!(errors, "", "{name}: {format}");
}

/// OpenTelemetry's own messages represent the complete file.
fn otlp(name: &str, source: &Path, directory: &Directory) {
    let Some(python) = find_python(name, "opentelemetry.proto.trace.v1.trace_pb2") else { return };
    let (script, file) = (directory.join("otlp.py"), directory.join("all.jsonl"));
    fs::write(&script, include_str!("../../../ichnos/tests/ichnos/otlp.py")).unwrap();
    convert(source, "otlp", &[], &file);
    let run = Command::new(&python).arg(&script).arg(&file).output().unwrap();
    assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
    let has_events = ichnos(["cat", "-q", "--max-events", "1", text(source)]).out.lines().next().is_some();
    assert_eq!(run.stdout.is_empty(), !has_events, "{name}: otlp");
}
