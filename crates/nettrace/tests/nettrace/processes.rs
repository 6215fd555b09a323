//! Process names from version 6 events.

use ichnos_model::{OpenedTrace, Window};
use ichnos_nettrace::{NettraceFile, NettraceOptions};
use serde_json::{Value, json};

use crate::builder::{Bytes, Event, File, Form, Metadata, kind};
use crate::converted::Converted;
use crate::reading::{read, read_window};
use crate::support::{bytes_of, find};

const EXISTING: u32 = 1;
const CREATE: u32 = 2;
const EXIT: u32 = 3;
const SAMPLE: u32 = 4;

/// Creates a file with threads of these processes, with indexes from 1 on.
fn file(processes: &[u64]) -> File {
    let mut file = File::new(Form::V6);
    let system =
        |id, name| Metadata { provider: "Universal.System".to_owned(), ..Metadata::new(id, name, []) };
    file.metadata(&[
        system(EXISTING, "ExistingProcess"),
        system(CREATE, "ProcessCreate"),
        system(EXIT, "ProcessExit"),
        Metadata::new(SAMPLE, "Sample", []),
    ]);
    let threads = (1..).zip(processes).map(|(index, process)| {
        Bytes::new().sized(Bytes::new().var(index).u8(2).var(*process).u8(3).var(100 + index))
    });
    file.block(kind::THREAD, &Bytes::new().all(threads).0);
    file
}

fn named(name: &str) -> Bytes {
    Bytes::new().var(5).u16(name.len() as u16).raw(name.as_bytes()).u16(7).raw(b"Unknown")
}

/// Creates events of one thread: kind, time, and name.
fn events(thread: u64, events: &[(u32, u64, &str)]) -> Vec<Event> {
    let event = |((kind, time, name), sequence): (&(u32, u64, &str), u32)| {
        let event = Event::new(*kind, thread, sequence, *time);
        if matches!(*kind, EXISTING | CREATE) { event.with(named(name)) } else { event }
    };
    events.iter().zip(1..).map(event).collect()
}

/// Returns the time and the process name of each event.
fn names(read: &crate::reading::Read) -> Vec<(u64, Option<String>)> {
    let name = |name: Value| name.as_str().map(str::to_owned);
    read.times().into_iter().zip(read.context("process_name").into_iter().map(name)).collect()
}

#[test]
fn names_hold_from_one_to_the_next() {
    let all = [
        (SAMPLE, 5, "init"),
        (EXISTING, 10, "init"),
        (SAMPLE, 15, "init"),
        (CREATE, 20, "shell"),
        (SAMPLE, 25, "shell"),
        (EXIT, 30, "shell"),
        // Late events also have the name.
        (SAMPLE, 31, "shell"),
        // The id is reused.
        (CREATE, 40, "editor"),
        (SAMPLE, 45, "editor"),
    ];
    let mut one = file(&[9]);
    one.events(true, &events(1, &all));
    let expected: Vec<_> = all.iter().map(|(_, time, name)| (*time, Some((*name).to_owned()))).collect();
    let bytes = one.end();
    assert_eq!(names(&read(&bytes)), expected);

    // Every window gives the same names, and so does reading from a sequence point.
    let mut parts = file(&[9]);
    for (index, event) in events(1, &all).into_iter().enumerate() {
        parts.sequence_point(event.time - 1, 0, &[(1, index as u32)]);
        parts.events(true, &[event]);
    }
    let opened = NettraceFile::open("parts", parts.end().into(), &NettraceOptions::default()).unwrap();
    assert_eq!(names(&read_window(&opened, Window::default())), expected);
    let clock = opened.data_streams()[0].clock().unwrap().clone();
    for begin in 0..all.len() {
        for end in begin..all.len() {
            let [first, last] = [begin, end].map(|index| Some(clock.nanoseconds(all[index].1)));
            let window = Window { begin: first, end: last };
            assert_eq!(names(&read_window(&opened, window)), expected[begin..=end], "{begin} {end}");
        }
    }
}

/// Events before the end of one process do not belong to the next process with the same id. Unnamed processes stay
/// unnamed.
#[test]
fn processes_without_names() {
    let mut file = file(&[9, 1 << 40, 3]);
    file.events(
        true,
        &events(1, &[(SAMPLE, 1, ""), (EXIT, 2, ""), (SAMPLE, 3, ""), (CREATE, 4, "next"), (SAMPLE, 5, "")]),
    );
    // The maximum number of bits of a process id.
    file.events(true, &events(2, &[(SAMPLE, 6, ""), (CREATE, 7, "wide")]));
    let mut cut = Event::new(CREATE, 3, 1, 8).with(Bytes::new().var(5).u16(400).raw(b"cut"));
    file.events(true, &[cut.clone()]);
    cut = Event::new(CREATE, 3, 2, 9).with(named(""));
    file.events(true, &[cut, Event::new(SAMPLE, 3, 3, 10), Event::new(SAMPLE, 77, 1, 11)]);
    let found = names(&read(&file.end()));
    let name = |index: usize| found[index].1.as_deref();
    assert_eq!(found.len(), 11, "{found:?}");
    assert_eq!([0, 1, 2, 3, 4].map(name), [None, None, None, Some("next"), Some("next")]);
    assert_eq!([5, 6].map(name), [Some("wide"); 2]);
    assert_eq!([7, 8, 9, 10].map(name), [None; 4]);
}

/// If a file does not name processes, its events lack this member.
#[test]
fn files_without_names() {
    let mut file = File::new(Form::V6);
    file.metadata(&[Metadata::new(1, "ProcessCreate", [])]).threads(&[(1, 11, "")]);
    file.events(true, &[Event::new(1, 1, 1, 1).with(named("other"))]);
    assert_eq!(read(&file.end()).context("process_name"), [json!(null)]);
}

#[test]
fn a_recorded_process_has_its_name() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    let bytes = bytes_of(&find(&traces, "perl-cpu-v6.nettrace"));
    let read = read(&bytes);
    let (processes, names) = (read.context("process"), read.context("process_name"));
    let named = processes.iter().zip(&names).filter(|(process, _)| **process == json!(32_636));
    let mut count = 0;
    for (_, name) in named {
        assert_eq!(name, "perl");
        count += 1;
    }
    assert_eq!(count, names.iter().filter(|name| !name.is_null()).count());
    assert!(count > 500, "{count} of {}", names.len());
}

/// Version 4 events have the file's process. An event's own process is a field, or a loss.
#[test]
fn other_processes_of_converted_events_are_listed() {
    let class = |attributes: &str| {
        format!(
            r#"{{"type":"stream-begin","stream":0,"trace":{{"environment":{{"process_id":100}}}}}}
{{"type":"event-class","stream":0,"id":1,"name":"Tests/event","meanings":{{"payload":{{"pid":"process"}}}},{attributes}"fields":{{"payload":{{"type":"structure","members":[{{"name":"pid","class":{{"type":"integer","length":64,"signed":true}}}}]}}}}}}
{{"type":"event","stream":0,"ts":1,"id":1,"payload":{{"pid":100}}}}
{{"type":"event","stream":0,"ts":2,"id":1,"payload":{{"pid":200}}}}
{{"type":"event","stream":0,"ts":3,"id":1,"payload":{{"pid":-1}}}}
"#
        )
    };
    let of_format = r#""attributes":{"nettrace":{"provider":"Tests","event-id":1}},"#;
    for (attributes, listed) in [("", (0, 0)), (of_format, (1, 1))] {
        let converted = Converted::of(&class(attributes), "4");
        let count = |what: &str| converted.count(what);
        let found = (count("process, thread name or labels"), count("negative process"));
        assert_eq!(found, listed, "{:?}", converted.losses);
    }
}
