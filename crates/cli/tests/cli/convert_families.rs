//! Traces of every other family that are written as CTF and read again.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::support::{Directory, Run, ichnos, recorded, root};

/// Larger files take too long in tests.
const MOST_BYTES: u64 = 800_000;

/// All files below a directory that could be traces.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut items: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|item| item.unwrap().path()).collect();
    items.sort();
    for path in items {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_trace = [".nettrace", ".netperf", ".zst", ".json", ".txt", ".bin", ".reports", ".log"]
            .iter()
            .any(|end| name.ends_with(end));
        if path.is_dir() {
            files(&path, found);
        } else if is_trace && path.metadata().unwrap().len() <= MOST_BYTES {
            found.push(path);
        }
    }
}

/// Traces of a family: those of the examples, and those that were recorded.
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

/// What the table of losses says that events may differ by.
#[derive(Default)]
struct Named {
    /// Old and new names of members.
    renamed: BTreeMap<String, BTreeSet<String>>,
    /// What is in the resource is in the common context.
    resource: bool,
    /// A member with the whole message was added.
    message: bool,
    /// Values that are not exactly the same, and why.
    rounded: BTreeSet<String>,
    losses_of_packets: bool,
    /// How many events could not be written.
    dropped: u64,
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
                "moved" if what == "resource -> common context" => named.resource = true,
                "lowered" if what == "message that is more than a field -> a member" => named.message = true,
                "rounded" => drop(named.rounded.insert(what.to_owned())),
                "dropped" if what == "loss of packets" => named.losses_of_packets = true,
                "dropped" if what.contains("cannot be written") => {
                    named.dropped += loss["count"].as_u64().unwrap();
                }
                _ => {}
            }
        }
        named
    }

    /// A text with the names that members had.
    fn with_old_names(&self, text: &str) -> String {
        let pairs = self.renamed.iter().flat_map(|(old, all)| all.iter().map(move |new| (old, new)));
        pairs.fold(text.to_owned(), |text, (old, new)| text.replace(&format!("{new}="), &format!("{old}=")))
    }

    /// Whether a member was renamed to another one.
    fn is_new_name(&self, old: &str, new: &str) -> bool {
        old == new || self.renamed.get(old).is_some_and(|names| names.contains(new))
    }

    /// Whether a value is the same. That is so for an object if all its members are, in their order.
    fn is_same(&self, old: &Value, new: &Value) -> bool {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => self.are_same(old, new),
            (Value::Array(old), Value::Array(new)) => {
                old.len() == new.len() && old.iter().zip(new).all(|(old, new)| self.is_same(old, new))
            }
            // Text that is not valid in its encoding, and text in UTF-8 after it was replaced.
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
        // An optional member that is absent is nothing, whether it is shown or not.
        let is_there = |(_, value): &(&String, &Value)| !value.is_null();
        // Of members with the same name, which then have names of their own, only the last one was parsed.
        let is_known = |new: &str| old.keys().any(|old| self.is_new_name(old, new));
        new.iter().filter(is_there).all(|(name, _)| is_known(name))
            && old.iter().filter(is_there).all(|(name, value)| {
                new.iter().any(|(new_name, new)| self.is_new_name(name, new_name) && self.is_same(value, new))
            })
    }

    /// Whether an event of what was written is that of the source.
    fn is_same_event(&self, old: &Value, new: &Value) -> bool {
        if ["ts", "cycles", "name", "log_level", "id"].iter().any(|name| old.get(name) != new.get(name)) {
            return false;
        }
        let empty = Map::new();
        ["common_context", "specific_context", "payload"].iter().all(|scope| {
            let members =
                |event: &Value| event.get(scope).and_then(Value::as_object).unwrap_or(&empty).clone();
            let (old, mut new) = (members(old), members(new));
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

/// The messages of a trace by their type.
fn messages(path: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut messages: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in run(&["cat", "-q", "-fjsonl"], path).out.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        messages.entry(message["type"].as_str().unwrap().to_owned()).or_default().push(message);
    }
    for list in messages.values_mut() {
        // Which of those of the same time comes first depends on the data streams.
        list.sort_by_cached_key(|message| {
            (message.get("ts").and_then(Value::as_i64), message["name"].to_string())
        });
    }
    messages
}

/// Whether all events of one list are in the other one, where those of the same time and name may be in any order.
fn difference(named: &Named, old: &[Value], new: &[Value]) -> Option<String> {
    if old.len() as u64 != new.len() as u64 + named.dropped {
        return Some(format!("{} events, then {}", old.len(), new.len()));
    }
    let key = |event: &Value| (event.get("ts").cloned(), event["name"].to_string());
    let mut at = 0;
    while at < new.len() && named.dropped == 0 {
        let count = new[at..].iter().take_while(|event| key(event) == key(&new[at])).count();
        let mut left: Vec<&Value> = new[at..at + count].iter().collect();
        for event in &old[at..at + count] {
            match left.iter().position(|new| named.is_same_event(event, new)) {
                Some(found) => drop(left.remove(found)),
                None => return Some(format!("event {at}:\n  {event}\n  {}", new[at])),
            }
        }
        at += count;
    }
    None
}

/// How many events were lost, as far as their number is known.
fn discarded(messages: &BTreeMap<String, Vec<Value>>) -> u64 {
    let lost = messages.get("discarded-events").into_iter().flatten();
    lost.filter_map(|message| message["count"].as_u64()).sum()
}

/// What viewers print of a trace, without the name of the trace.
fn views(path: &Path, is_task: bool) -> Vec<String> {
    let mut views = vec![run(&["cat", "-q", "-flog"], path).out];
    if is_task {
        let list = run(&["task", "list", "-q", "--json"], path).out;
        let tasks: Value = serde_json::from_str(&list).unwrap_or_default();
        let id = |task: &Value| task["task"].as_str().or(task["id"].as_str()).map(str::to_owned);
        let ids: Vec<String> = tasks["tasks"].as_array().into_iter().flatten().filter_map(id).collect();
        for id in ids.iter().take(4) {
            views.push(run(&["task", "graph", "-q", "--format=json", id], path).out);
        }
        views.push(list);
    }
    views.iter().map(|view| view.replace(path.to_str().unwrap(), "PATH")).collect()
}

/// Traces of which something differs for a reason: the end of the path, the reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// Writes traces in SPEC-2.0 and CTF 1.8 and compares what is read.
fn compare(traces: &[PathBuf], least: usize) {
    let directory = Directory::new("families");
    let mut different = Vec::new();
    let mut compared = 0;
    for path in traces {
        let old = messages(path);
        if old.is_empty() {
            continue;
        }
        let is_task = old
            .get("event-class")
            .into_iter()
            .flatten()
            .any(|class| class["meanings"].to_string().contains("\"task-id\""));
        for dialect in ["spec2", "ctf1.8"] {
            let output = directory.join("trace");
            let out = output.to_str().unwrap();
            let option = format!("--to-dialect={dialect}");
            let converted = run(&["convert", "-q", "--to=ctf", &option, "--json", "-o", out], path);
            if !output.exists() {
                different.push(format!("{} in {dialect}: {}", path.display(), converted.err));
                continue;
            }
            let named = Named::new(&converted.json()["losses"]);
            let new = messages(&output);
            let events =
                |messages: &BTreeMap<String, Vec<Value>>| messages.get("event").cloned().unwrap_or_default();
            let mut problem = difference(&named, &events(&old), &events(&new));
            if new.contains_key("damage") {
                problem = Some(format!("what is written is damaged: {}", new["damage"][0]));
            }
            if discarded(&old) != discarded(&new) {
                problem = Some(format!("{} events lost, then {}", discarded(&old), discarded(&new)));
            }
            if old.contains_key("discarded-packets") && !named.losses_of_packets {
                problem = Some("losses of packets are not in the table".to_owned());
            }
            if problem.is_none() {
                let (old, new) = (views(path, is_task), views(&output, is_task));
                for (old, new) in old.iter().zip(&new) {
                    let new = named.with_old_names(new);
                    // Data streams whose events are not in order of time are several, which are merged.
                    let sorted = |text: &str| {
                        let mut lines: Vec<&str> = text.lines().collect();
                        lines.sort_unstable();
                        lines.join("\n")
                    };
                    let (old, new) = (sorted(old), sorted(&new));
                    let pair = old.lines().zip(new.lines()).find(|(old, new)| old != new);
                    let count = (old.lines().count(), new.lines().count());
                    if pair.is_some() || count.0 != count.1 {
                        problem = Some(format!("views: {count:?} lines, {pair:?}"));
                    }
                }
            }
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

#[test]
fn fuchsia_logs() {
    compare(&traces(&["hello-fuchsia/boot.log"], "fuchsia/vectors"), 2);
}

#[test]
fn xtrace_reports() {
    compare(&traces(&["hello-xtrace/proxy.reports", "one-request"], "xtrace/brown"), 4);
}

#[test]
fn nettrace() {
    compare(&traces(&["hello-dotnet/hello.nettrace.zst"], "nettrace"), 2);
}
