//! Recorded CTF traces, written in each dialect and read again.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichnos_testing::{is_complete_sweep, is_like_another, is_turn};
use serde_json::Value;

use crate::support::{Directory, Run, ichnos, recorded};

/// Returns all directories with metadata, with their names below `ctf/real`.
fn recorded_traces() -> Option<Vec<(String, PathBuf)>> {
    fn find(directory: &Path, found: &mut Vec<PathBuf>) {
        let mut items: Vec<PathBuf> =
            std::fs::read_dir(directory).unwrap().map(|item| item.unwrap().path()).collect();
        items.sort();
        for path in items {
            if path.is_dir() {
                find(&path, found);
            } else if path.file_name() == Some(OsStr::new("metadata")) {
                found.push(directory.to_owned());
            }
        }
    }
    let root = recorded("ctf/real")?;
    let mut found = Vec::new();
    find(&root, &mut found);
    let name = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    Some(found.into_iter().map(|path| (name(&path), path)).collect())
}

fn run(verb: &str, options: &[&str], path: &Path) -> Run {
    let arguments = [OsStr::new(verb)].into_iter().chain(options.iter().map(OsStr::new));
    let run = ichnos(arguments.chain([path.as_os_str()]));
    assert!(!run.err.contains("panicked"), "{}: {}", path.display(), run.err);
    run
}

fn convert(from: &Path, to: &Path, options: &[&str]) -> Run {
    run("convert", &[&["-q", "--force", "-o", to.to_str().unwrap(), "--to=ctf"], options].concat(), from)
}

/// Removes members of an object.
fn remove(value: Option<&mut Value>, names: &[&str]) {
    if let Some(Value::Object(object)) = value {
        names.iter().for_each(|name| drop(object.remove(*name)));
    }
}

/// Properties to compare in a trace's messages.
#[derive(Clone, Copy)]
struct Compared<'a> {
    dialect: &'a str,
    /// `true` if packets must equal the source's packets.
    packets: bool,
}

impl Compared<'_> {
    /// Returns the messages in a trace as JSON, without properties that must differ: place, dialect, and everything
    /// that the dialect cannot express.
    fn messages(self, path: &Path) -> Vec<Message> {
        let options: &[&str] =
            if self.packets { &["-q", "-fjsonl", "--packets"] } else { &["-q", "-fjsonl"] };
        let printed = run("cat", options, path).out;
        printed.lines().filter_map(|line| self.message(line)).collect()
    }

    fn message(self, line: &str) -> Option<Message> {
        let is_changed = || ["\"other_clocks\":"].iter().chain(&FRAMES).any(|name| line.contains(name));
        if line.starts_with("{\"type\":\"event\",") && !is_changed() {
            return Some(Message::Line(line.to_owned()));
        }
        self.normal(serde_json::from_str(line).unwrap()).map(Message::Value)
    }

    fn normal(self, mut message: Value) -> Option<Value> {
        match message["type"].as_str().unwrap() {
            "stream-begin" => {
                // Data streams without an id are named after their files.
                remove(Some(&mut message), &["name"]);
                remove(message.get_mut("trace"), &["path", "format", "name", "uuid_of", "implied_namespace"]);
                // If packets lack the data stream id, written packets may contain it: 0.
                message.as_object_mut().unwrap().entry("id").or_insert(Value::from(0));
                // In the same dialect, classes are compared by the output of `schema`.
                remove(message.get_mut("class"), &["fields"]);
                if let Some(Value::Object(clock)) = message.get_mut("clock") {
                    // SPEC-2.0 has arbitrary unique identifiers in place of UUIDs.
                    if let Some(uuid) = clock.remove("uuid") {
                        clock.insert("uid".to_owned(), uuid);
                    }
                    // A clock has an id or a name, and the precision may be missing or 0.
                    ["id", "name", "precision"].iter().for_each(|name| drop(clock.remove(*name)));
                }
                if self.dialect.starts_with("prop") {
                    remove(message.get_mut("trace"), &["uid", "namespace"]);
                    remove(message.get_mut("clock"), &["uid", "accuracy", "origin"]);
                }
                if self.dialect == "prop1" {
                    // Every data stream knows every clock, even clocks that are never updated.
                    remove(Some(&mut message), &["other_clocks"]);
                    // Its name also comes from the environment.
                    remove(message.get_mut("trace"), &["environment", "label", "implied_namespace"]);
                    remove(message.get_mut("clock"), &["description"]);
                }
                if self.dialect.starts_with("ctf1.8") {
                    remove(message.get_mut("trace"), &["uid", "namespace", "attributes"]);
                    // The trace name becomes an environment entry.
                    remove(message["trace"].get_mut("environment"), &["trace_name"]);
                    remove(message.get_mut("clock"), &["attributes", "accuracy"]);
                    remove(message.get_mut("class"), &["namespace", "name", "uid", "attributes"]);
                }
            }
            "event-class" => remove(Some(&mut message), &["attributes", "namespace", "uid", "fields"]),
            // In PROP-1.0, every data stream knows every clock, even clocks that are never updated.
            "event" if self.dialect == "prop1" => remove(Some(&mut message), &["other_clocks"]),
            // Damaged events are skipped.
            "damage" => return None,
            "packet-begin" | "packet-end" => {
                remove(Some(&mut message), &["content_bits", "total_bits"]);
                remove(message.get_mut("context"), &["packet_size", "content_size"]);
                // The UUID is an array of bytes or a BLOB.
                remove(message.get_mut("header"), &["uuid"]);
            }
            "discarded-events" if !self.packets => remove(Some(&mut message), &["begin", "end"]),
            _ => {}
        }
        Some(message)
    }
}

/// Members of packets, as texts to search for.
const FRAMES: [&str; 4] = ["\"header\":", "\"context\":", "\"sequence_number\":", "\"discarded_counter\":"];

/// Message of a trace. Most events are the same lines of text, and comparing text costs a fraction of parsing it.
enum Message {
    /// Event without members that a comparison removes.
    Line(String),
    Value(Value),
}

impl Message {
    fn value(&self) -> Option<&Value> {
        match self {
            Self::Line(_) => None,
            Self::Value(value) => Some(value),
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Line(line) => serde_json::from_str(line).unwrap(),
            Self::Value(value) => value.clone(),
        }
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Line(one), Self::Line(other)) if one == other => true,
            (Self::Value(one), Self::Value(other)) => one == other,
            _ => self.to_value() == other.to_value(),
        }
    }
}

/// Removes packet headers and contexts that the source lacks.
fn without_frames(source: &[Message], written: &mut [Message]) {
    let has_any =
        |name: &str| source.iter().filter_map(Message::value).any(|message| message.get(name).is_some());
    if !has_any("header") && !has_any("context") {
        let names = ["header", "context", "sequence_number", "discarded_counter"];
        for message in written {
            if let Message::Value(value) = message {
                remove(Some(value), &names);
            }
        }
    }
}

/// Returns the first difference between two message lists.
fn difference(one: &[Message], other: &[Message]) -> Option<String> {
    if one == other {
        return None;
    }
    let at = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let shown = |list: &[Message]| {
        let mut text = list.get(at).map_or("nothing".to_owned(), |message| message.to_value().to_string());
        text.truncate(text.char_indices().nth(1500).map_or(text.len(), |(end, _)| end));
        text
    };
    Some(format!(
        "{} and {} messages, number {at} differs:\n  {}\n  {}",
        one.len(),
        other.len(),
        shown(one),
        shown(other)
    ))
}

/// Traces that must differ: name, dialects, reason.
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[
    (
        "babeltrace/1/succeed/lttng-event-after-packet",
        &["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"],
        "times that the tracer is known to get wrong are written corrected, so that no reader has to know it",
    ),
    (
        "babeltrace/2/succeed/lttng-event-after-packet",
        &["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"],
        "times that the tracer is known to get wrong are written corrected, so that no reader has to know it",
    ),
    (
        "tracecompass/CTF2-7.0-barectf-event-before-packet",
        &["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"],
        "times that the tracer is known to get wrong are written corrected, so that no reader has to know it",
    ),
    (
        "barectf/assembled/counter-clock__dst-er-features__ts",
        &["prop2", "spec2"],
        "a packet that does not say when it begins is made to say it: there, clocks do not go on from the one before",
    ),
    (
        "barectf/assembled/counter-clock__dst-packet-features__end-ts",
        &["prop2", "spec2"],
        "a packet that does not say when it begins is made to say it: there, clocks do not go on from the one before",
    ),
    (
        "barectf/assembled/counter-clock__dst-packet-features__end-ts-multi",
        &["prop2", "spec2"],
        "a packet that does not say when it begins is made to say it: there, clocks do not go on from the one before",
    ),
    (
        "ctf2/session-rot/vm/rot-20261120T203341+0000/ust/uid/0/64-bit",
        &["ctf1.8", "ctf1.8-packetized"],
        "members of packet contexts have other names: in CTF 1.8, names say what they are",
    ),
    (
        "tracecompass/CTF2-7.0-debug-info",
        &["ctf1.8", "ctf1.8-packetized"],
        "that the clock of the tracer counts from the Unix epoch is known in CTF 1.8 only",
    ),
    (
        "babeltrace/1/succeed/barectf-event-before-packet",
        &["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"],
        "times that the tracer is known to get wrong are written corrected, so that no reader has to know it",
    ),
    (
        "babeltrace/2/fail/empty-event-record",
        &["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"],
        "all that there is is damaged: no packet is written where the source has none",
    ),
    (
        "babeltrace/1/succeed/lttng-crash",
        &["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"],
        "times that the tracer is known to get wrong are written corrected, so that no reader has to know it",
    ),
];

fn is_exception(name: &str, dialect: &str) -> bool {
    EXCEPTIONS.iter().any(|(known, dialects, _)| *known == name && dialects.contains(&dialect))
}

/// Larger traces, in bytes, take minutes in a debug build. They are compared only if `ICHNOS_LARGE_TRACES` is set.
const LARGE: u64 = 400_000;

fn is_large(trace: &Path) -> bool {
    let items = std::fs::read_dir(trace).into_iter().flatten().flatten();
    let size: u64 = items.filter_map(|item| item.metadata().ok()).map(|metadata| metadata.len()).sum();
    size > LARGE && std::env::var_os("ICHNOS_LARGE_TRACES").is_none()
}

/// Selection among the recorded traces that do not resemble smaller ones.
#[derive(Clone, Copy)]
enum RecordedSet {
    /// Each trace with both packet sizes, except traces with a single construct, which have few events.
    BothSizes,
    /// Each trace with one packet size.
    OneSize,
    /// Each trace with one packet size. Traces with a single construct take turns, because other tests encode each
    /// construct in this dialect.
    Turns(usize),
}

impl RecordedSet {
    fn has(self, name: &str, number: usize) -> bool {
        let is_in_turn = match self {
            Self::BothSizes | Self::OneSize => true,
            Self::Turns(turn) => !name.starts_with("barectf/") || is_turn(number, turn, 3),
        };
        is_in_turn && !is_like_another(name)
    }

    /// Returns the packet sizes for a trace.
    fn sizes(self, name: &str, number: usize) -> Vec<Option<&'static str>> {
        let mut sizes = vec![None, Some("--packet-size=1000")];
        let has_both = matches!(self, Self::BothSizes) && !name.starts_with("barectf/");
        if !has_both && !is_complete_sweep() {
            sizes.remove(number / 3 % 2);
        }
        sizes
    }

    /// Returns a lower bound for the number of conversions.
    fn minimum(self) -> usize {
        match self {
            _ if is_complete_sweep() => 150,
            Self::BothSizes => 120,
            Self::OneSize => 80,
            Self::Turns(_) => 50,
        }
    }
}

/// Writes recorded traces in a dialect, with the original packets and with others, and compares the messages.
fn in_dialect(dialect: &str, set: RecordedSet) {
    let Some(traces) = recorded_traces() else { return };
    let directory = Directory::new("convert");
    let mut different = BTreeMap::new();
    let mut written = 0;
    let small = traces.into_iter().filter(|(_, path)| !is_large(path)).enumerate();
    for (number, (name, path)) in small.filter(|(number, (name, _))| set.has(name, *number)) {
        for size in set.sizes(&name, number) {
            let compared = Compared { dialect, packets: size.is_none() };
            let expected = compared.messages(&path);
            if expected.is_empty() {
                continue;
            }
            let output = directory.join("trace");
            let dialect_option = format!("--to-dialect={dialect}");
            let options: Vec<&str> = [&*dialect_option].into_iter().chain(size).collect();
            let run = convert(&path, &output, &options);
            let problem = if !output.join("metadata").exists() {
                Some(format!("exit code {}: {}", run.code, run.err))
            } else {
                let mut messages = compared.messages(&output);
                without_frames(&expected, &mut messages);
                let found = difference(&expected, &messages);
                found.or_else(|| {
                    let check = |path: &Path| self::run("check", &["-q"], path);
                    let after = check(&output);
                    // Problems that did not prevent reading the original stay.
                    (after.code != 0 && check(&path).code == 0)
                        .then(|| format!("check: {} {}", after.out, after.err))
                })
            };
            if let Some(problem) = problem {
                eprintln!("{dialect}: {name} {}: {problem}", size.unwrap_or_default());
                different.insert(format!("{name} {}", size.unwrap_or_default()), problem);
            }
            written += 1;
            let _ = std::fs::remove_dir_all(&output);
        }
    }
    eprintln!("{dialect}: {written} traces written, {} differ", different.len());
    different.retain(|name, _| !is_exception(name.split(' ').next().unwrap(), dialect));
    let list: Vec<String> =
        different.into_iter().map(|(name, problem)| format!("{name}: {problem}")).collect();
    assert!(list.is_empty(), "{}", list.join("\n"));
    assert!(written > set.minimum(), "{written}");
}

#[test]
fn recorded_traces_in_spec2() {
    in_dialect("spec2", RecordedSet::BothSizes);
}

#[test]
fn recorded_traces_in_prop2() {
    in_dialect("prop2", RecordedSet::Turns(0));
}

#[test]
fn recorded_traces_in_prop1() {
    in_dialect("prop1", RecordedSet::Turns(1));
}

#[test]
fn recorded_traces_in_ctf18() {
    in_dialect("ctf1.8", RecordedSet::OneSize);
}

#[test]
fn recorded_traces_in_ctf18_with_metadata_in_packets() {
    in_dialect("ctf1.8-packetized", RecordedSet::Turns(2));
}

/// Returns the output of `babeltrace2` for a trace. `None` if it rejects the trace.
fn babeltrace2(trace: &Path) -> Option<Vec<u8>> {
    let output = Command::new("babeltrace2")
        .args(["--clock-gmt", "--clock-date"])
        .arg(trace)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    output.status.success().then_some(output.stdout)
}

fn first_line_that_differs(one: &[u8], other: &[u8]) -> String {
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().map(str::to_owned).collect::<Vec<_>>();
    let (one, other) = (lines(one), lines(other));
    let at = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    let shown = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
    format!("{} and {} lines, {}:\n  {}\n  {}", one.len(), other.len(), at + 1, shown(&one), shown(&other))
}

/// Traces with empty strings. Babeltrace 2.0.4 prints an earlier string in their place, and the packet boundaries
/// decide which string. `ichnos cat` prints the conversion like the original.
const MISREAD: &[&str] = &["tracecompass/bug446190"];

/// `babeltrace2` prints a conversion to CTF 1.8 like the original.
#[test]
fn babeltrace2_prints_ctf18_like_the_original() {
    if Command::new("babeltrace2").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: `babeltrace2` is not installed");
        return;
    }
    let Some(traces) = recorded_traces() else { return };
    let directory = Directory::new("convert-babeltrace2");
    let mut different = Vec::new();
    let mut compared = 0;
    let different_traces = traces.into_iter().filter(|(name, _)| !is_like_another(name));
    for (number, (name, path)) in different_traces.enumerate() {
        let Some(expected) = babeltrace2(&path) else { continue };
        let all_options = [
            &["--to-dialect=ctf1.8"][..],
            &["--to-dialect=ctf1.8-packetized"],
            &["--to-dialect=ctf1.8", "--packet-size=3000"],
        ];
        // Each trace in CTF 1.8, and in one of the other ways.
        let chosen = all_options.into_iter().enumerate();
        for (_, options) in chosen.filter(|(way, _)| *way == 0 || is_turn(number, way - 1, 2)) {
            let output = directory.join("trace");
            let run = convert(&path, &output, options);
            if options.len() > 1 && MISREAD.contains(&&*name) {
                continue;
            }
            match babeltrace2(&output) {
                Some(found) if found == expected => {}
                Some(found) => different
                    .push(format!("{name} {options:?}: {}", first_line_that_differs(&expected, &found))),
                None => different.push(format!("{name} {options:?}: refused; {}", run.err)),
            }
            compared += 1;
            let _ = std::fs::remove_dir_all(&output);
        }
    }
    eprintln!("compared {compared} texts");
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared > if is_complete_sweep() { 200 } else { 130 }, "{compared}");
}

/// `cat` prints a conversion to SPEC-2.0 like the original.
#[test]
fn spec2_prints_like_the_original() {
    let Some(traces) = recorded_traces() else { return };
    let directory = Directory::new("convert-pretty");
    let mut different = Vec::new();
    let mut compared = 0;
    for (name, path) in traces.into_iter().filter(|(name, _)| !is_like_another(name)) {
        let printed = |path: &Path| run("cat", &["-q", "--clock-gmt", "--clock-date"], path).out;
        let output = directory.join("trace");
        convert(&path, &output, &[]);
        if output.exists() {
            let (expected, found) = (printed(&path), printed(&output));
            if expected != found {
                let first = first_line_that_differs(expected.as_bytes(), found.as_bytes());
                different.push(format!("{name}: {first}"));
            }
            compared += 1;
            let _ = std::fs::remove_dir_all(&output);
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared > 80, "{compared}");
}

/// Returns a trace's dialect from the output of `info`, with the name that `convert` uses.
fn dialect_of(info: &Value) -> Option<&'static str> {
    let dialect = info["traces"][0]["dialect"].as_str()?;
    let known = [("CTF 1.8", "ctf1.8"), ("SPEC-2.0", "spec2"), ("PROP-2.0", "prop2"), ("PROP-1.0", "prop1")];
    known.into_iter().find(|(title, _)| dialect.contains(title)).map(|(_, name)| name)
}

/// Removes declaration places.
fn without_places(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("declared_at");
            object.values_mut().for_each(without_places);
        }
        Value::Array(items) => items.iter_mut().for_each(without_places),
        _ => {}
    }
}

/// Traces that are not copied byte for byte, with the reason.
const COPIED_OTHERWISE: &[(&str, &str)] = &[
    ("lttng-ust/tracefile-rot/ust/uid/0/64-bit", "the rotated files of a data stream become one"),
    ("tracecompass/CTF2-7.0-debug-info", "the metadata uses the vocabulary of a release candidate"),
];

/// Without changes and in the same dialect, the data stream bytes are the same, and the metadata is equivalent.
#[test]
fn unchanged_traces_are_copied() {
    let Some(traces) = recorded_traces() else { return };
    let directory = Directory::new("convert-copied");
    let mut different = Vec::new();
    let (mut copied, mut others) = (0, Vec::new());
    for (name, path) in traces {
        // Smaller traces have lost events and several data streams, too.
        if is_like_another(&name) || is_large(&path) && !is_complete_sweep() {
            continue;
        }
        // Damaged events are skipped.
        if COPIED_OTHERWISE.iter().any(|(known, _)| *known == name) {
            continue;
        }
        if run("check", &["-q"], &path).code != 0 {
            continue;
        }
        let info = run("info", &["-q", "--json"], &path).json();
        let Some(dialect) = dialect_of(&info) else {
            others.push(name);
            continue;
        };
        let output = directory.join("trace");
        convert(&path, &output, &[&format!("--to-dialect={dialect}")]);
        let files = |path: &Path| -> Vec<Vec<u8>> {
            let items = std::fs::read_dir(path).unwrap().map(|item| item.unwrap());
            let data = items.filter(|item| {
                let name = item.file_name();
                let name = name.to_string_lossy();
                item.path().is_file() && name != "metadata" && !name.starts_with('.')
            });
            let mut data: Vec<Vec<u8>> = data.map(|item| std::fs::read(item.path()).unwrap()).collect();
            data.retain(|bytes| !bytes.is_empty());
            data.sort();
            data
        };
        let (expected, found) = (files(&path), files(&output));
        // Wrong packet times from tracers are corrected. Everything else stays, including sizes.
        let quirks = info["traces"][0]["quirks"].to_string();
        let is_corrected =
            ["after-packet", "before-packet", "crash"].iter().any(|quirk| quirks.contains(quirk));
        let lengths = |files: &[Vec<u8>]| files.iter().map(Vec::len).sum::<usize>();
        let is_same = expected == found || is_corrected && lengths(&expected) == lengths(&found);
        if !is_same {
            let sizes = |files: &[Vec<u8>]| files.iter().map(Vec::len).collect::<Vec<_>>();
            different.push(format!("{name}: {:?} {:?}", sizes(&expected), sizes(&found)));
        }
        let schema = |path: &Path| {
            let mut schema = run("schema", &["-q", "--json"], path).json();
            remove(schema.get_mut("traces").and_then(|traces| traces.get_mut(0)), &["path", "name"]);
            without_places(&mut schema);
            schema
        };
        let (expected, found) = (schema(&path), schema(&output));
        if expected != found {
            different.push(format!("{name}: metadata"));
        }
        copied += 1;
        let _ = std::fs::remove_dir_all(&output);
    }
    eprintln!("{copied} traces; in other dialects: {others:?}");
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(copied > 80, "{copied}");
}
