//! A program with known events, `App.cs`: its emitted events must be read. Uses recorded files, and files that .NET
//! runtimes record during the test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichnos_model::Message;

use crate::comparison::OwnEvent;
use crate::support::{Opened, Shown, find};

/// Settings of the program.
#[derive(Clone, Copy)]
struct Workload {
    /// Number of events emitted by each thread.
    events: i128,
    threads: i128,
    /// `true` if its provider with dynamic events and the runtime's were also recorded.
    is_all: bool,
}

/// Returns fields in a short form: numbers and texts.
fn short(fields: &[(String, Shown)]) -> Vec<(&str, String)> {
    let short = |value: &Shown| match value {
        Shown::Integer(integer) => integer.value.to_string(),
        Shown::Text(text) => text.clone(),
        Shown::Boolean(value) => value.to_string(),
        Shown::Real(value, _) => value.to_string(),
        Shown::Guid(value) => value.to_string(),
        other => format!("{other:?}"),
    };
    fields.iter().map(|(name, value)| (&**name, short(value))).collect()
}

/// Compares the events in a file with those that the program emits.
fn check(name: &str, opened: &Opened, workload: Workload) {
    let mut own: BTreeMap<String, Vec<OwnEvent>> = BTreeMap::new();
    opened.each(|message| match message {
        Message::Event(event) => {
            own.entry(event.name().to_owned()).or_default().push(OwnEvent::new(opened, event));
        }
        Message::DiscardedEvents(_) => panic!("{name}: events are lost"),
        Message::Damage(damage) => panic!("{name}: {damage}"),
        _ => {}
    });
    let count: usize = own.values().map(Vec::len).sum();
    println!(
        "{name}: {count} events of {} kinds, {} of counters",
        own.len(),
        own.get("Toolkit-Test/EventCounters").map_or(0, Vec::len)
    );
    let all = |event: &str| own.get(event).map_or(&[][..], |events| events);
    let values = |event: &str| -> Vec<Vec<(&str, String)>> {
        all(event).iter().map(|event| short(&event.fields)).collect()
    };
    let row = |row: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        row.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
    };

    assert_eq!(values("Toolkit-Test/NoArgs"), [row(&[])], "{name}");
    let [types] = all("Toolkit-Test/AllTypes") else { panic!("{name}: one event of all types") };
    let date = types.field("dt").and_then(Shown::integer).and_then(|date| date.date);
    assert_eq!(date, Some(1_709_210_096_789_000_000), "{name}");
    let mut others = short(&types.fields);
    others.retain(|field| field.0 != "dt");
    let expected = [
        ("b", "true"),
        ("u8", "255"),
        ("i8", "-128"),
        ("c", "Z"),
        ("i16", "-32768"),
        ("u16", "65535"),
        ("i32", "-2147483648"),
        ("u32", "4294967295"),
        ("i64", "-9223372036854775808"),
        ("u64", "18446744073709551615"),
        ("f", "1.5"),
        ("d", "3.141592653589793"),
        ("g", "00112233-4455-6677-8899-aabbccddeeff"),
        ("p", "4660"),
        ("e", "5"),
        ("s", "end"),
    ];
    assert_eq!(others, row(&expected), "{name}");
    let texts = values("Toolkit-Test/Unicode");
    // Files do not distinguish an empty text from null.
    let expected = ["h\u{e9}llo \u{4e16}\u{754c} \u{1f600}", "", ""].map(|text| row(&[("s", text)]));
    assert_eq!(texts, expected, "{name}");
    let [blob] = all("Toolkit-Test/Blob") else { panic!("{name}: one event with bytes") };
    let bytes = [&300u32.to_le_bytes()[..], &[0; 300]].concat();
    assert_eq!(blob.fields, [("payload".to_owned(), Shown::Blob(bytes))], "{name}");

    let begins: Vec<_> =
        (0..20).map(|id: i32| vec![("id", id.to_string()), ("url", format!("/api/{id}"))]).collect();
    let ends: Vec<_> =
        (0..20).map(|id: i32| vec![("id", id.to_string()), ("status", "200".to_owned())]).collect();
    assert_eq!(values("Toolkit-Test/RequestStart"), begins, "{name}");
    assert_eq!(values("Toolkit-Test/RequestStop"), ends, "{name}");

    // Events emitted by each thread of the program.
    let mut by_thread: BTreeMap<u64, Vec<&OwnEvent>> = BTreeMap::new();
    let of_threads = all("Toolkit-Test/Text").iter().chain(all("Toolkit-Test/Tick"));
    let mut inner = Vec::new();
    for event in of_threads {
        match event.field("s").and_then(Shown::text) {
            Some("inner") => inner.push(short(&event.fields)),
            _ => by_thread.entry(event.thread).or_default().push(event),
        }
    }
    let expected: Vec<_> = [0, 5, 10, 15]
        .iter()
        .map(|n: &i32| vec![("s", "inner".to_owned()), ("n", n.to_string()), ("big", "1".to_owned())])
        .collect();
    assert_eq!(inner, expected, "{name}");
    assert_eq!(by_thread.len() as i128, workload.threads, "{name}");
    let mut threads: Vec<i128> = Vec::new();
    for events in by_thread.values_mut() {
        // Stable sort by time.
        events.sort_by_key(|event| event.ticks);
        // Some events contain the thread's number.
        let number = events.iter().find_map(|event| match event.field("n")?.integer()?.value {
            4 => Some(event.field("big")?.integer()?.value / 4),
            _ => None,
        });
        let number = number.expect("the number of the thread");
        threads.push(number);
        let values: Vec<_> = events.iter().map(|event| short(&event.fields)).collect();
        let expected: Vec<_> = (0..workload.events)
            .map(|n| match n % 4 {
                0 => vec![
                    ("s", format!("message number {}", n & 63)),
                    ("n", n.to_string()),
                    ("big", (n * number).to_string()),
                ],
                _ => vec![("n", n.to_string())],
            })
            .collect();
        assert!(values == expected, "{name}: the events of thread {number}");
    }
    threads.sort_unstable();
    assert_eq!(threads, (0..workload.threads).collect::<Vec<_>>(), "{name}");

    if !workload.is_all {
        return;
    }
    assert_eq!(values("Toolkit-SelfDescribing/Plain"), [row(&[("a", "1"), ("b", "p")])], "{name}");
    // EventSource refuses fields of two events at run time.
    assert_eq!(all("Toolkit-SelfDescribing/EventSourceMessage").len(), 2, "{name}");
    assert_eq!(values("Toolkit-Dynamic/Simple"), [row(&[("Id", "7"), ("Name", "seven")])], "{name}");
    assert_eq!(values("Toolkit-Dynamic/OpStart"), [row(&[("K", "v")])], "{name}");
    assert_eq!(values("Toolkit-Dynamic/NoData"), [row(&[])], "{name}");
    let [nested] = all("Toolkit-Dynamic/Nested") else { panic!("{name}: one nested event") };
    let [(_, Shown::Blob(bytes))] = &nested.fields[..] else { panic!("{name}: {nested:?}") };
    assert_eq!(bytes.len(), 34, "{name}");
    // The counter is written once a second, if the program runs that long.
    for event in all("Toolkit-Test/EventCounters") {
        let Some(payload) = event.field("Payload") else { panic!("{name}: {event:?}") };
        assert_eq!(payload.member("Name").and_then(Shown::text), Some("queue-length"), "{name}");
        let count = payload.member("Count").and_then(Shown::integer).expect("a number").value;
        let mean = if count == 0 { 0.0 } else { 6.0 };
        assert_eq!(payload.member("Mean"), Some(&Shown::Real(mean, false)), "{name}");
    }
}

/// Checks the runtime's events about the program.
fn check_runtime(name: &str, opened: &Opened) {
    let (mut booms, mut samples, mut collections, mut with_stack) = (Vec::new(), 0, 0, 0);
    opened.each(|message| {
        let Message::Event(event) = message else { return };
        let own = OwnEvent::new(opened, event);
        with_stack += u64::from(event.field("context.stack").is_some());
        match &*own.name {
            "ExceptionThrown" => {
                let message = own.field("ExceptionMessage").and_then(Shown::text).unwrap();
                booms.extend(message.starts_with("boom ").then(|| message.to_owned()));
            }
            "ThreadSample" => samples += 1,
            "GCStart" => {
                let reason =
                    own.field("Reason").and_then(Shown::integer).and_then(|reason| reason.name.clone());
                collections += u64::from(reason.as_deref() == Some("Induced"));
            }
            _ => {}
        }
    });
    assert_eq!(booms, ["boom 0", "boom 1", "boom 2", "boom 3", "boom 4"], "{name}");
    assert_eq!(collections, 1, "{name}");
    assert!(samples > 50, "{name}: {samples} samples");
    assert!(with_stack > samples, "{name}: {with_stack} events with stacks");
}

#[test]
fn recorded_files_have_what_the_program_emitted() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    for (name, events, is_all) in [
        ("net10.0-small.nettrace", 100, true),
        ("net3.1.2-small.nettrace", 100, true),
        ("net10.0-small-streaming.nettrace", 100, true),
        ("net10.0-custom-only-norundown.nettrace", 100, true),
        ("net10.0-nostacks.nettrace", 100, true),
        ("net3.1.23-custom-only.nettrace", 100, true),
        ("net10.0-ipc-collect4-nostack.nettrace", 3_000, false),
        ("net10.0-ipc-netperfV3.netperf", 3_000, false),
    ] {
        let opened = Opened::new(&find(&traces, name));
        check(name, &opened, Workload { events, threads: 2, is_all });
        if name.contains("small") {
            check_runtime(name, &opened);
        }
    }
}

/// Returns the directory of .NET runtimes: `ICHNOS_DOTNET`. Missing runtimes are downloaded, about 240 MB, so the
/// variable must be set explicitly.
pub fn runtimes(test: &str) -> Option<(PathBuf, PathBuf)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tools = std::env::var_os("ICHNOS_TOOLS")
        .map_or_else(|| root.join("../shared/tools"), PathBuf::from)
        .join("dotnet");
    let Some(directory) = std::env::var_os("ICHNOS_DOTNET").map(PathBuf::from) else {
        println!("skipped: {test}: ICHNOS_DOTNET names no directory for runtimes");
        return None;
    };
    if !tools.is_dir() {
        println!("skipped: {test}: no tools in {}", tools.display());
        return None;
    }
    let status = Command::new(tools.join("get-runtime.sh")).arg(&directory).status();
    if !status.is_ok_and(|status| status.success()) {
        println!("skipped: {test}: the runtimes cannot be downloaded");
        return None;
    }
    Some((tools, directory))
}

/// Records the program with a runtime, and compares the events.
fn record(tools: &Path, runtimes: &Path, runtime: &str, workload: Workload) {
    let output = tempfile::tempdir().unwrap();
    let path = output.path().join(format!("{runtime}.nettrace"));
    let mut command = Command::new(tools.join("record.sh"));
    command.arg(runtimes).arg(runtime).arg(&path);
    command.args([workload.events, workload.threads, 1_500, 5].map(|number| number.to_string()));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{runtime}: {}", String::from_utf8_lossy(&output.stderr));
    let opened = Opened::new(&path);
    check(runtime, &opened, workload);
    check_runtime(runtime, &opened);
}

#[test]
fn runtimes_record_what_the_program_emits() {
    let Some((tools, directory)) = runtimes("runtimes_record_what_the_program_emits") else { return };
    for runtime in ["31", "10"] {
        record(&tools, &directory, runtime, Workload { events: 2_000, threads: 3, is_all: true });
    }
}
