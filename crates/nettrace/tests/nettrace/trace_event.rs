//! Compares every event of recorded files with TraceEvent itself.
//!
//! This needs .NET runtimes. Without them, its stored output is compared (`dumps.rs`, `baselines.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use ichnos_analysis::{
    CPU_TIME, StackCollector, StackFormat, StackFrames, StackOptions, StackRoots, StackWeight,
    UNMANAGED_CODE_TIME,
};
use ichnos_flow::{Merge, pump};
use ichnos_model::class::Uuid;
use ichnos_model::{Message, OpenedTrace as _, Window};
use ichnos_testing::TraceEventLibrary;
use serde_json::Value;

use crate::baselines::OF_WINDOWS;
use crate::comparison::{
    Comparison, EventDifference, OwnEvent, differences, milliseconds, with_names_of_types,
};
use crate::differences::DIFFERENCES;
use crate::reference::{Element, element};
use crate::support::{Opened, bytes_of, find};
use crate::workload::runtimes;

/// Difference outside of fields.
struct HeadDifference {
    member: &'static str,
    /// Returns `true` if it explains the reference's value.
    is_reason: fn(&OwnEvent, &Value) -> bool,
    reason: &'static str,
}

const fn difference(
    member: &'static str,
    is_reason: fn(&OwnEvent, &Value) -> bool,
    reason: &'static str,
) -> HeadDifference {
    HeadDifference { member, is_reason, reason }
}

const HEAD_DIFFERENCES: &[HeadDifference] = &[
    difference(
        "id",
        |own, id| own.name == "GCDynamicEvent" && id.as_u64().is_some_and(|id| id > 65_000),
        "it numbers the collector's own events itself",
    ),
    difference(
        "op",
        |own, opcode| own.name == "ThreadSample" && *opcode == 1,
        "its table of events has another one than the file, which has none",
    ),
    difference(
        "op",
        |own, opcode| OF_WINDOWS.contains(&&*own.name) && *opcode == 0,
        "its table of events does not have the event",
    ),
    difference(
        "rel",
        |own, related| own.head.is_netperf && own.related_activity.is_none() && related.is_string(),
        "it takes what is in memory for that of version 3, which is all zeros in the file",
    ),
    difference(
        "op",
        |own, opcode| {
            let implied = if own.name.ends_with("Start") { 1 } else { 2 };
            let is_implied = own.name.ends_with("Start") || own.name.ends_with("Stop");
            is_implied && own.head.opcode == 0 && *opcode == implied
        },
        "names imply an opcode before .NET 5; here it is a role",
    ),
    difference(
        "op",
        |own, opcode| own.name == "PinPlugAtGCTime" && own.head.opcode == 44 && *opcode == 45,
        "its table of events has another opcode than the manifest of the runtime",
    ),
    difference(
        "cpu",
        |own, processor| own.head.is_of_other_thread && *processor == 0,
        "it drops the processor of events that another thread wrote",
    ),
    difference(
        "st",
        |own, stack| stack.is_null() && own.provider == RUNDOWN,
        "it drops the stacks of rundown events",
    ),
    difference(
        "st",
        |own, stack| {
            let ids = [140, 141, 142, 143, 144, 190];
            stack.is_null() && own.provider == RUNTIME && ids.contains(&own.head.event_id)
        },
        "it drops the stacks of events about methods",
    ),
    difference(
        "lvl",
        |own, level| own.head.level.is_none() && *level == 0,
        "it has level 0 where the file has none",
    ),
    difference(
        "cpu",
        |own, processor| own.head.processor.is_none() && *processor == 0,
        "it has processor 0 where the file has none",
    ),
    difference(
        "kw",
        |own, keywords| keywords.as_u64() == Some(own.head.keywords | 0xf000_0000_0000),
        "it shows the bits of sessions",
    ),
];

const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";
const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

/// Returns the path of a file, decompressed if necessary.
pub fn unpacked(traces: &Path, name: &str, directory: &Path) -> std::path::PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, &*bytes_of(&find(traces, name))).unwrap();
    path
}

/// Formats a field value like the reference.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => match text.strip_prefix(['f', 'd']) {
            Some(number) if number.parse::<f64>().is_ok() => number.to_owned(),
            _ => text.clone(),
        },
        Value::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        Value::Array(elements) => format!("[{}]", elements.iter().map(shown).collect::<Vec<_>>().join(",")),
        Value::Object(members) => match (members.get("enum"), members.get("bytes")) {
            (Some(Value::String(name)), _) => name.clone(),
            (_, Some(Value::String(bytes))) => bytes.clone(),
            _ => within(value),
        },
        _ => value.to_string(),
    }
}

/// Formats an inner value, in which texts have quotes.
fn within(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.contains_key("enum") && !members.contains_key("bytes") => {
            let members: Vec<_> =
                members.iter().map(|(name, value)| format!("\"{name}\":{}", within(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::String(text) if shown(value) == *text => format!("\"{text}\""),
        Value::Bool(value) => value.to_string(),
        _ => shown(value),
    }
}

/// Returns the event as an element, as in the text output.
fn as_element(opened: &Opened, dumped: &Value) -> Element {
    let mut event = Element { name: "Event".to_owned(), ..Element::default() };
    let ticks = i128::from(dumped["q"].as_i64().unwrap()) - i128::from(opened.block.sync_ticks);
    let text = |name: &str| dumped[name].as_str().map(str::to_owned);
    let without_dashes = |name: &str| text(name).map(|id| id.replace('-', ""));
    let head = [
        ("MSec", Some(milliseconds(ticks, opened.block.frequency))),
        ("PID", Some(dumped["pid"].to_string())),
        ("TID", Some(dumped["tid"].to_string())),
        ("EventName", text("n")),
        ("ProviderName", text("p")),
        ("ActivityID", without_dashes("act")),
        ("RelatedActivityID", without_dashes("rel")),
    ];
    let pairs = head.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    event.attributes.extend(pairs);
    if let Some(xml) = dumped["xml"].as_str() {
        let written = element(xml);
        let is_head = |name: &str| event.attributes.iter().any(|attribute| attribute.0 == name);
        let fields =
            written.attributes.iter().filter(|attribute| !is_head(&attribute.0) && attribute.0 != "PName");
        let fields: Vec<_> = fields.cloned().collect();
        event.attributes.extend(fields);
        event.children = written.children;
        return event;
    }
    let mut fields = &dumped["f"];
    // Self-describing events: one unnamed field has all fields.
    if let Value::Object(inner) = &fields[""]
        && inner.get("enum").is_none()
    {
        fields = &fields[""];
    }
    let fields = fields.as_object().unwrap();
    // The reference derives this from the file's path.
    let file = |name: &str| fields.get(name)?.as_str()?.rsplit('/').next();
    assert!(
        fields.get("ModuleILFileName").is_none_or(|name| name.as_str() == file("ModuleILPath")),
        "{fields:?}"
    );
    let fields = fields.iter().filter(|field| field.0 != "ModuleILFileName");
    event.attributes.extend(fields.map(|(name, value)| (name.clone(), shown(value))));
    for pair in dumped["il"].as_array().into_iter().flatten() {
        event.arrows.push((pair[0].as_i64().unwrap(), pair[1].as_i64().unwrap()));
    }
    event
}

/// Compares an event's properties outside of fields.
fn compare_head(own: &OwnEvent, dumped: &Value, found: &mut EventDifference, met: &mut BTreeSet<usize>) {
    let head = &own.head;
    let stack: Vec<Value> = head.stack.iter().map(|address| (*address).into()).collect();
    let stack = if stack.is_empty() { Value::Null } else { stack.into() };
    let guid = |id: Option<Uuid>| id.map_or(Value::Null, |id| id.to_string().into());
    let members: [(&str, Value); 9] = [
        ("id", (head.event_id as i64).into()),
        ("ver", (head.version as i64).into()),
        ("lvl", head.level.map_or(Value::Null, |level| (level as i64).into())),
        ("kw", head.keywords.into()),
        ("op", (head.opcode as i64).into()),
        ("cpu", head.processor.map_or(Value::Null, Value::from)),
        ("act", guid(own.activity)),
        ("rel", guid(own.related_activity)),
        ("st", stack),
    ];
    for (member, value) in members {
        let expected = &dumped[member];
        if value == *expected {
            found.values += 1;
            continue;
        }
        let reason = HEAD_DIFFERENCES
            .iter()
            .position(|difference| difference.member == member && (difference.is_reason)(own, expected));
        match reason {
            Some(index) => drop(met.insert(index)),
            None => {
                let short = |value: &Value| match value {
                    Value::Array(frames) => format!("{} frames", frames.len()),
                    value => value.to_string(),
                };
                let (value, expected) = (short(&value), short(expected));
                let text = format!("{}/{}: {member}: {value} instead of {expected}", own.provider, own.name);
                found.unexplained.push(text);
            }
        }
    }
}

/// Returns the events that the reference reads in a file.
pub fn dump(tools: &Path, runtimes: &Path, path: &Path) -> Vec<Value> {
    dump_with_lost(tools, runtimes, path).0
}

/// Returns the events that the reference reads in a file, and the number of lost events.
pub fn dump_with_lost(tools: &Path, runtimes: &Path, path: &Path) -> (Vec<Value>, u64) {
    let dump = TraceEventLibrary::new(tools, runtimes).dump(path, &path.with_extension("jsonl")).unwrap();
    (dump.rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), dump.lost)
}

/// Compares files. Returns the known differences that occurred, outside of fields and in fields.
fn compare(test: &str, names: &[&str]) -> Option<(BTreeSet<usize>, BTreeSet<usize>)> {
    let (Some(traces), Some((tools, runtimes))) = (ichnos_testing::recorded("nettrace"), runtimes(test))
    else {
        return None;
    };
    let directory = tempfile::tempdir().unwrap();
    let (mut unexplained, mut all, mut explained) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for name in names {
        let path = unpacked(&traces, name, directory.path());
        let dumped = dump(&tools, &runtimes, &path);
        let opened = Opened::new(&path);
        let mut own = Vec::new();
        opened.each(|message| {
            if let Message::Event(event) = message {
                own.push(OwnEvent::new(&opened, event));
            }
        });
        let own = with_names_of_types(own);
        let mut comparison = Comparison::default();
        let mut met = BTreeSet::new();
        let mut by_time: BTreeMap<i128, Vec<&Value>> = BTreeMap::new();
        for event in &dumped {
            let ticks = i128::from(event["q"].as_i64().unwrap()) - i128::from(opened.block.sync_ticks);
            by_time.entry(ticks).or_default().push(event);
        }
        let mut missing = 0u64;
        for event in &own {
            let Some(left) = by_time.get_mut(&event.ticks).filter(|left| !left.is_empty()) else {
                missing += 1;
                continue;
            };
            let candidates = left.iter().map(|dumped| {
                let mut found = differences(event, &as_element(&opened, dumped));
                let mut reasons = BTreeSet::new();
                compare_head(event, dumped, &mut found, &mut reasons);
                (found, reasons)
            });
            let best = candidates.enumerate().min_by_key(|(_, (found, _))| found.unexplained.len());
            let (index, (found, reasons)) = best.unwrap();
            left.remove(index);
            met.extend(reasons);
            comparison.note(found);
        }
        assert!(by_time.values().all(Vec::is_empty), "{name}: events that only the reference has");
        // The reference drops waiting events at the end of a truncated file.
        let is_cut = name.contains("truncated");
        assert!(missing == 0 || is_cut, "{name}: {missing} events that the reference does not have");
        for index in &met {
            println!("  {}: {}", HEAD_DIFFERENCES[*index].member, HEAD_DIFFERENCES[*index].reason);
        }
        println!("{name}: {} events with {} values are the same", comparison.events, comparison.values);
        for (what, count) in comparison.unexplained {
            unexplained.push(format!("{name}: {count} times {what}"));
        }
        explained.extend(comparison.explained.into_keys());
        all.extend(met);
    }
    assert!(unexplained.is_empty(), "differences:\n{}", unexplained.join("\n"));
    Some((all, explained))
}

/// All files except one with 6 million events, whose text would have gigabytes.
#[test]
fn files_as_the_reference_reads_them() {
    let test = "files_as_the_reference_reads_them";
    let met = compare(
        test,
        &[
            "net10.0-custom-only-norundown.nettrace",
            "net10.0-nostacks.nettrace",
            "net10.0-small.nettrace",
            "net10.0-small-streaming.nettrace",
            "net10.0-ipc-collect4-nostack.nettrace",
            "net3.1.2-small.nettrace",
            "net3.1.23-custom-only.nettrace",
            "perl-cpu-v6.nettrace",
            "eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf",
            "eventpipe-dotnetcore5.0-win-x64-arraytypes.nettrace",
            "eventpipe-dotnetcore6.0-win-x64-executioncheckpoints.nettrace",
            "dotnet-5.0-SampleProfiler-single-thread.golden.nettrace",
            "mixed_managed_external_samples.nettrace",
            "net10.0-drops.nettrace",
            "net10.0-ipc-netperfV3.netperf",
            "eventpipe-dotnetcore2.1-linux-x64-objver3.netperf",
            "eventpipe-dotnetcore3.0-win-x64-objver4.nettrace",
        ],
    );
    let Some((met, explained)) = met else { return };
    for (index, difference) in DIFFERENCES.iter().enumerate().filter(|(_, difference)| difference.is_live) {
        assert!(explained.contains(&index), "{}: {}: not met", difference.field, difference.reason);
    }
    for (index, difference) in HEAD_DIFFERENCES.iter().enumerate() {
        assert!(met.contains(&index), "{}: {}: not met", difference.member, difference.reason);
    }
}

#[test]
fn a_file_that_is_cut_as_the_reference_reads_it() {
    compare("a_file_that_is_cut_as_the_reference_reads_it", &["net10.0-killed-truncated.nettrace"]);
}

/// Returns the milliseconds that threads spent in each state frame of a speedscope profile.
fn states(profile: &Value, unit: f64) -> BTreeMap<String, f64> {
    let frames = &profile["shared"]["frames"];
    let name = |frame: &Value| frames[frame.as_u64().unwrap() as usize]["name"].as_str().unwrap().to_owned();
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for thread in profile["profiles"].as_array().unwrap() {
        // The reference writes the start and the end of frames, but we write samples.
        let mut open: Vec<(String, f64)> = Vec::new();
        for event in thread["events"].as_array().into_iter().flatten() {
            let at = event["at"].as_f64().unwrap();
            match event["type"].as_str() {
                Some("O") => open.push((name(&event["frame"]), at)),
                _ => {
                    let (name, begin) = open.pop().unwrap();
                    *sums.entry(name).or_default() += (at - begin) * unit;
                }
            }
        }
        let samples = thread["samples"].as_array().into_iter().flatten();
        for (sample, weight) in samples.zip(thread["weights"].as_array().into_iter().flatten()) {
            if let Some(innermost) = sample.as_array().unwrap().last() {
                *sums.entry(name(innermost)).or_default() += weight.as_f64().unwrap() * unit;
            }
        }
    }
    sums.retain(|name, _| [CPU_TIME, UNMANAGED_CODE_TIME].contains(&&**name));
    sums
}

/// Processor time and other times equal the reference's times for the samples.
#[test]
fn time_on_the_processor_is_that_of_the_reference() {
    let test = "time_on_the_processor_is_that_of_the_reference";
    let (Some(traces), Some((tools, runtimes))) = (ichnos_testing::recorded("nettrace"), runtimes(test))
    else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let path = unpacked(&traces, "mixed_managed_external_samples.nettrace", directory.path());
    let output = directory.path().join("reference");
    let mut command = Command::new("bash");
    command.arg(tools.join("traceevent/dump.sh")).arg("--stacks").args([&*runtimes, &*path, &*output]);
    let result = command.output().unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let json = |text: &[u8]| -> Value { serde_json::from_slice(text).unwrap() };
    let expected = json(&std::fs::read(output.with_extension("speedscope.json")).unwrap());
    let opened = Opened::new(&path);
    let mut options = StackOptions::default();
    options.weight = StackWeight::Time;
    options.frames = StackFrames::Managed;
    (options.with_states, options.with_times) = (true, true);
    let mut collector = StackCollector::new(options);
    pump(&mut Merge::new(opened.file.cursors(Window::default())), &mut collector).unwrap();
    let profile = collector.finish();
    assert!(profile.has_states());
    let mut own = Vec::new();
    profile.write(StackFormat::Speedscope, StackRoots::None, &mut own).unwrap();
    let (own, expected) = (states(&json(&own), 1e-6), states(&expected, 1.0));
    println!("{own:?}, {expected:?}");
    assert_eq!(own.len(), 2);
    for (name, time) in own {
        assert!((time - expected[&name]).abs() < 0.01, "{name}: {time}");
    }
}
