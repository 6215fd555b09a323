//! Traces in every other format, written as CTF and read again.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Instant;

use ichnos_testing::is_turn;
use serde_json::{Map, Value};

use crate::support::{Directory, Run, command, ichnos, recorded, root};

/// Larger files take too long in tests. They are used if `ICHNOS_LARGE_TRACES` is set.
const MOST_BYTES: u64 = 800_000;

/// Returns all files below a directory. Files that are not traces are skipped when opened.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    let is_wanted = |path: &Path| {
        std::env::var_os("ICHNOS_LARGE_TRACES").is_some() || path.metadata().unwrap().len() <= MOST_BYTES
    };
    let mut items: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|item| item.unwrap().path()).collect();
    items.sort();
    for path in items {
        if path.is_dir() {
            files(&path, found);
        } else if is_wanted(&path) {
            found.push(path);
        }
    }
}

/// Returns the traces of a format: examples and recorded traces.
fn traces(examples: &[&str], directory: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = examples.iter().map(|path| root().join("examples").join(path)).collect();
    if let Some(recorded) = recorded(directory) {
        files(&recorded, &mut found);
    }
    found
}

fn run(arguments: &[&str], path: &Path) -> Run {
    let run = ichnos(arguments.iter().map(OsStr::new).chain([path.as_os_str()]));
    assert!(!run.err.contains("panicked"), "{}: {}", path.display(), run.err);
    run
}

/// Lines printed by the command, without keeping all of them in memory.
struct Lines {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Lines {
    fn of(arguments: &[&str], path: &Path) -> Self {
        let mut command = command();
        command.args(arguments).arg(path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }
}

impl Iterator for Lines {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut line = Vec::new();
        if self.out.read_until(b'\n', &mut line).unwrap() == 0 {
            return None;
        }
        line.pop_if(|last| *last == b'\n');
        Some(String::from_utf8(line).unwrap())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // The command may not be finished.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Differences that the loss table allows.
#[derive(Clone, Default)]
struct Named {
    /// Old and new member names.
    renamed: BTreeMap<String, BTreeSet<String>>,
    /// New event record class ids, by class name (as JSON) and old id.
    ids: BTreeMap<(String, String), String>,
    /// `true` if resource members moved to the common context.
    resource: bool,
    /// `true` if specific context members moved to payloads.
    context: bool,
    /// `true` if a member with the whole message was added.
    message: bool,
    /// Values that are not exact, with the reason.
    rounded: BTreeSet<String>,
    losses_of_packets: bool,
    /// Number of events that could not be written.
    dropped: u64,
    /// Line ends that are not written: damage in the source, and losses of unknown size.
    unwritten: Vec<String>,
}

impl Named {
    fn new(losses: &Value) -> Self {
        let mut named = Self::default();
        for loss in losses.as_array().unwrap() {
            let [kind, field, what] = ["kind", "field", "what"].map(|name| loss[name].as_str().unwrap());
            match kind {
                "renamed" if !field.is_empty() => {
                    let (old, new) = what.split_once("` -> `").unwrap();
                    let old = old.trim_start_matches('`').to_owned();
                    let new = new.trim_end_matches('`').to_owned();
                    named.renamed.entry(old).or_default().insert(new);
                }
                "renamed" if what.starts_with("id ") => {
                    let (old, new) = what["id ".len()..].split_once(" -> ").unwrap();
                    named.ids.insert((loss["class"].to_string(), old.to_owned()), new.to_owned());
                }
                "moved" if what == "specific context -> payload" => named.context = true,
                "moved" if what == "resource -> common context" => named.resource = true,
                "lowered" if what == "message of several fields -> a member" => named.message = true,
                "rounded" => drop(named.rounded.insert(what.to_owned())),
                "dropped" if what == "record of discarded packets" => named.losses_of_packets = true,
                "dropped" if what.starts_with("damaged data: ") => {
                    named.unwritten.push(what["damaged data: ".len()..].to_owned());
                }
                "dropped" if what == "record of an unknown number of discarded events" => {
                    named.unwritten.push("unknown number of events in the data stream PATH".to_owned());
                }
                "dropped" if what.contains("cannot be written") => {
                    named.dropped += loss["count"].as_u64().unwrap();
                }
                _ => {}
            }
        }
        named
    }

    /// Returns a text with the old member names.
    fn with_old_names(&self, text: &str) -> String {
        let pairs = self.renamed.iter().flat_map(|(old, all)| all.iter().map(move |new| (old, new)));
        pairs.fold(text.to_owned(), |text, (old, new)| text.replace(&format!("{new}="), &format!("{old}=")))
    }

    /// Returns `true` if a member was renamed so.
    fn is_new_name(&self, old: &str, new: &str) -> bool {
        old == new || self.renamed.get(old).is_some_and(|names| names.contains(new))
    }

    /// Returns `true` if two values are the same. For objects, all members must be the same, in order.
    fn is_same(&self, old: &Value, new: &Value) -> bool {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => self.are_same(old, new),
            (Value::Array(old), Value::Array(new)) => {
                old.len() == new.len() && old.iter().zip(new).all(|(old, new)| self.is_same(old, new))
            }
            // Text that is invalid in its encoding, and its replacement in UTF-8.
            (Value::Object(_), Value::String(text)) => {
                old.get("$bytes").is_some() && text.contains('\u{fffd}') && !self.rounded.is_empty()
            }
            _ => old == new,
        }
    }

    fn are_same(&self, old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
        if let (Some(old), Some(new)) = (old.get("$bytes"), new.get("$bytes")) {
            return old == new;
        }
        // A missing optional member equals null.
        let is_there = |(_, value): &(&String, &Value)| !value.is_null();
        // If several members had the same name, they have different names now, and only the last was parsed.
        let is_known = |new: &str| old.keys().any(|old| self.is_new_name(old, new));
        new.iter().filter(is_there).all(|(name, _)| is_known(name))
            && old.iter().filter(is_there).all(|(name, value)| {
                new.iter().any(|(new_name, new)| self.is_new_name(name, new_name) && self.is_same(value, new))
            })
    }

    /// Returns `true` if a written event equals the source's event.
    fn is_same_event(&self, old: &Event, new: &Event) -> bool {
        if ["ts", "cycles", "name", "log_level"].iter().any(|name| old.member(name) != new.member(name)) {
            return false;
        }
        let of_class = |name: &str| old.member(name).unwrap_or_default().to_owned();
        let id = self.ids.get(&(of_class("name"), of_class("id")));
        if id.map_or(old.member("id"), |id| Some(id)) != new.member("id") {
            return false;
        }
        let is_joined = self.context && new.member("specific_context").is_none();
        ["common_context", "specific_context", "payload"].iter().all(|scope| {
            if is_joined && *scope == "specific_context" {
                return true;
            }
            let context = old.member("specific_context").filter(|_| is_joined && *scope == "payload");
            let (old, new) = (old.member(scope), new.member(scope));
            if old == new && context.is_none() {
                return true;
            }
            let members = |text: Option<&str>| -> Map<String, Value> {
                text.map(|text| serde_json::from_str(text).unwrap()).unwrap_or_default()
            };
            let (mut old, mut new) = (members(old), members(new));
            old.extend(members(context));
            if self.resource && *scope == "common_context" {
                new.retain(|name, _| old.keys().any(|old| self.is_new_name(old, name)));
            }
            if self.message && *scope == "payload" {
                new.retain(|name, _| !name.starts_with("log_message"));
            }
            self.are_same(&old, &new)
        })
    }
}

/// Event line in JSON Lines.
struct Event {
    line: String,
    time: Option<i64>,
    /// Member name and value positions.
    members: OnceCell<Vec<[usize; 4]>>,
}

impl Event {
    fn new(line: String) -> Self {
        let mut event = Self { line, time: None, members: OnceCell::new() };
        event.time = event.member("ts").and_then(|time| time.parse().ok());
        event
    }

    /// Returns a member's text.
    fn member(&self, name: &str) -> Option<&str> {
        let members = self.members.get_or_init(|| members(&self.line));
        let found = members.iter().find(|member| &self.line[member[0]..member[1]] == name)?;
        Some(&self.line[found[2]..found[3]])
    }
}

/// Returns the positions of member names and values in an object. This takes a small part of the parsing time, and most
/// members have equal text.
fn members(object: &str) -> Vec<[usize; 4]> {
    let bytes = object.as_bytes();
    let mut found = Vec::new();
    let (mut depth, mut at, mut begin, mut name) = (0, 0, 1, [0; 2]);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b':' if depth == 1 && name == [0; 2] => {
                name = [begin + 1, at - 1];
                begin = at + 1;
            }
            b'{' | b'[' => depth += 1,
            b',' | b'}' if depth == 1 => {
                found.push([name[0], name[1], begin, at]);
                (begin, name) = (at + 1, [0; 2]);
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    found
}

/// Messages in a trace: events, and other messages by type.
struct Messages {
    lines: Lines,
    others: BTreeMap<String, Vec<Value>>,
    events: u64,
}

impl Messages {
    fn of(path: &Path) -> Self {
        let lines = Lines::of(&["cat", "-q", "-fjsonl"], path);
        Self { lines, others: BTreeMap::new(), events: 0 }
    }

    /// Number of lost events, as far as known.
    fn discarded(&self) -> u64 {
        let lost = self.others.get("discarded-events").into_iter().flatten();
        lost.filter_map(|message| message["count"].as_u64()).sum()
    }
}

impl Iterator for Messages {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            let line = self.lines.next()?;
            if line.starts_with("{\"type\":\"event\",") {
                self.events += 1;
                return Some(Event::new(line));
            }
            let message: Value = serde_json::from_str(&line).unwrap();
            self.others.entry(message["type"].as_str().unwrap().to_owned()).or_default().push(message);
        }
    }
}

/// Returns the next events with the same time.
fn of_one_time(events: &mut Peekable<impl Iterator<Item = Event>>) -> Vec<Event> {
    let Some(first) = events.next() else { return Vec::new() };
    let time = first.time;
    let mut group = vec![first];
    while let Some(event) = events.next_if(|event| event.time == time) {
        group.push(event);
    }
    group
}

/// Returns the differences between two event sequences sorted by time. Events at the same time may have any order,
/// because it depends on the data streams.
fn difference(
    named: &Named,
    old: impl Iterator<Item = Event>,
    new: impl Iterator<Item = Event>,
) -> Option<String> {
    let (mut old, mut new) = (old.peekable(), new.peekable());
    let mut dropped = named.dropped;
    loop {
        let group = of_one_time(&mut old);
        if group.is_empty() {
            return new.next().map(|event| format!("a new event: {}", event.line));
        }
        let mut left = match new.peek() {
            Some(event) if event.time == group[0].time => of_one_time(&mut new),
            _ => Vec::new(),
        };
        for event in group {
            match left.iter().position(|new| named.is_same_event(&event, new)) {
                Some(found) => drop(left.remove(found)),
                None if dropped > 0 => dropped -= 1,
                None => {
                    let new = left.first().map_or("nothing", |event| &event.line);
                    return Some(format!("\n  {}\n  {new}", event.line));
                }
            }
        }
        if let Some(event) = left.first() {
            return Some(format!("a new event: {}", event.line));
        }
    }
}

/// Returns the differences between the events in two traces, and the number of events.
fn compare_events(named: &Named, old: &Path, new: &Path) -> (Option<String>, u64) {
    let (mut source, mut written) = (Messages::of(old), Messages::of(new));
    let mut last = None;
    let mut is_in_order = true;
    let in_order = source.by_ref().inspect(|event| {
        is_in_order &= last <= event.time;
        last = event.time;
    });
    let mut found = difference(named, in_order, written.by_ref());
    let rest = source.by_ref().any(|event| std::mem::replace(&mut last, event.time) > event.time);
    if found.is_some() && (!is_in_order || rest) {
        let all = |path: &Path| {
            let mut events: Vec<Event> = Messages::of(path).collect();
            events.sort_by_key(|event| event.time);
            events.into_iter()
        };
        found = difference(named, all(old), all(new));
    }
    source.by_ref().for_each(drop);
    written.by_ref().for_each(drop);
    if let Some(damage) = written.others.get("damage") {
        found = Some(format!("what is written is damaged: {}", damage[0]));
    }
    let lost = (source.discarded(), written.discarded());
    if lost.0 != lost.1 {
        found = Some(format!("{} events lost, then {}", lost.0, lost.1));
    }
    if source.others.contains_key("discarded-packets") && !named.losses_of_packets {
        found = Some("losses of packets are not in the table".to_owned());
    }
    let count = source.events;
    (found, count)
}

/// Returns the differences between the lines printed for two traces, ignoring their order: data streams that are not
/// sorted by time are split and merged.
fn compare_lines(named: &Named, arguments: &[&str], old: &Path, new: &Path) -> Option<String> {
    let old = || {
        let is_written = |line: &String| !named.unwritten.iter().any(|end| line.ends_with(end));
        Lines::of(arguments, old).map(|line| without_path(line, old)).filter(is_written)
    };
    let new = || {
        let lines = Lines::of(arguments, new).map(|line| without_path(line, new));
        lines.map(|line| if named.renamed.is_empty() { line } else { named.with_old_names(&line) })
    };
    if old().eq(new()) {
        return None;
    }
    let sorted = |mut lines: Vec<String>| {
        lines.sort_unstable();
        lines
    };
    let (old, new) = (sorted(old().collect()), sorted(new().collect()));
    let pair = old.iter().zip(&new).find(|(old, new)| old != new);
    let count = (old.len(), new.len());
    (pair.is_some() || count.0 != count.1).then(|| format!("{arguments:?}: {count:?} lines, {pair:?}"))
}

/// Returns a line without the trace path, and without a data stream name that comes from a file.
fn without_path(line: String, path: &Path) -> String {
    let path = path.to_str().unwrap();
    let Some(begin) = line.find(path) else { return line };
    let before = &line[..begin];
    let rest = &line[begin + path.len()..];
    let rest = if before.ends_with(" in the data stream ") {
        &rest[rest.find(" [").unwrap_or(rest.len())..]
    } else {
        rest
    };
    format!("{before}PATH{}", rest.replace(path, "PATH"))
}

/// Returns the first task identifiers in a trace.
fn tasks(path: &Path) -> Vec<String> {
    let list = run(&["task", "list", "-q", "--json"], path).out;
    let tasks: Value = serde_json::from_str(&list).unwrap_or_default();
    let id = |task: &Value| task["task"].as_str().or(task["id"].as_str()).map(str::to_owned);
    tasks["tasks"].as_array().into_iter().flatten().filter_map(id).take(4).collect()
}

/// Traces with justified differences: end of the path, reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("vectors/fxt_event_13_args.bin", "a null becomes a structure without members, and is shown as one"),
    ("vectors/fxt_kobj_nonutf8.bin", TIMELESS),
    ("vectors/fxt_large_blob_fmt1.bin", TIMELESS),
    ("vectors/fxt_unknown_type14.bin", TIMELESS),
];

const TIMELESS: &str = "an event without a time gets the value 0 of the clock, as the losses say";

/// Writes examples in SPEC-2.0 and CTF 1.8, and each recorded trace in one of them, and compares the results.
fn compare(traces: &[PathBuf], least: usize) {
    let directory = Directory::new("families");
    let mut different = Vec::new();
    let mut compared = 0;
    let examples = root().join("examples");
    for (number, path) in traces.iter().enumerate() {
        let Some(classes) = meanings(path) else { continue };
        let has = |meaning: &str| classes.contains(&format!("\"{meaning}\""));
        let tasks = if has("task-id") { tasks(path) } else { Vec::new() };
        let dialects = ["spec2", "ctf1.8"].into_iter().enumerate();
        let is_wanted = |turn| path.starts_with(&examples) || is_turn(number, turn, 2);
        for (_, dialect) in dialects.filter(|(turn, _)| is_wanted(*turn)) {
            let begin = Instant::now();
            let output = directory.join("trace");
            let out = output.to_str().unwrap();
            let option = format!("--to-dialect={dialect}");
            let converted =
                run(&["convert", "-q", "--to=ctf", &option, "--json", "--force", "-o", out], path);
            if !output.exists() {
                different.push(format!("{} in {dialect}: {}", path.display(), converted.err));
                continue;
            }
            let named = Named::new(&converted.json()["losses"]);
            let (mut problem, events) = compare_events(&named, path, &output);
            let mut views = vec![vec!["cat", "-q", "-flog"]];
            if has("stack") {
                views.push(vec!["stacks", "-q", "--color=never"]);
            }
            if has("task-id") {
                views.push(vec!["task", "list", "-q", "--json"]);
                let graph = |id| vec!["task", "graph", "-q", "--format=json", id];
                views.extend(tasks.iter().map(|id| graph(id)));
            }
            for view in views {
                problem = problem.or_else(|| compare_lines(&named, &view, path, &output));
            }
            let seconds = begin.elapsed().as_secs_f64();
            eprintln!("{dialect}: {} events, {seconds:.1} s: {}", events, path.display());
            if let Some(problem) = problem {
                different.push(format!("{} in {dialect}: {problem}", path.display()));
            }
            compared += 1;
            std::fs::remove_dir_all(&output).unwrap();
        }
    }
    eprintln!("{compared} traces written");
    different.retain(|text| !EXCEPTIONS.iter().any(|(name, _)| text.contains(name)));
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared >= least, "{compared}");
}

/// Returns the member meanings in all event record classes with events. `None` if the trace is empty.
fn meanings(path: &Path) -> Option<String> {
    let mut messages = Messages::of(path);
    messages.by_ref().for_each(drop);
    let classes = messages.others.get("event-class").into_iter().flatten();
    let meanings = classes.map(|class| class["meanings"].to_string()).collect();
    (messages.events > 0 || !messages.others.is_empty()).then_some(meanings)
}

#[test]
fn fuchsia_logs() {
    compare(&traces(&["hello-fuchsia/boot.log"], "fuchsia"), 2);
}

#[test]
fn xtrace_reports() {
    compare(&traces(&["hello-xtrace/proxy.reports", "one-request/trace/shop.reports"], "xtrace"), 4);
}

#[test]
fn nettrace() {
    compare(&traces(&["hello-dotnet/hello.nettrace.zst"], "nettrace"), 2);
}

/// The output in each dialect passes a strict check.
#[test]
fn examples_are_valid_in_all_dialects() {
    let directory = Directory::new("valid-dialects");
    let examples = [
        "hello-ctf2",
        "hello-dotnet/hello.nettrace.zst",
        "hello-fuchsia",
        "hello-jsonl",
        "hello-xtrace",
        "hello-lttng",
    ];
    for (number, example) in examples.into_iter().enumerate() {
        let source = root().join("examples").join(example);
        for dialect in ["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"] {
            let out = directory.join(format!("{number}-{dialect}"));
            let (source, path) = (source.to_str().unwrap(), out.to_str().unwrap());
            ichnos(["convert", "--index", "--to-dialect", dialect, source, "--force", "-o", path])
                .expect(0, &[]);
            ichnos(["check", "--strict", path]).expect(0, &[]);
        }
    }
}
