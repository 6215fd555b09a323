//! Reads files as text.

use ichnos_flow::{DamageCursor, Merge, pump};
use ichnos_jsonl::{JsonLines, JsonLinesOptions};
use ichnos_model::cursor::{BoxedCursor, MessageKind, StreamCursor};
use ichnos_model::field::Skip;
use ichnos_model::{Cursor, Message, OpenedTrace, Window};
use ichnos_nettrace::{NettraceFile, NettraceOptions};
use serde_json::Value;

use crate::support::Opened;
use crate::writing::rewrite_unsorted;

/// Results of reading.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Read {
    pub(crate) events: Vec<Value>,
    /// Number and times of missing events.
    pub(crate) lost: Vec<Value>,
    pub(crate) damage: Vec<Value>,
    /// Faults in payloads that are longer than their fields.
    pub(crate) longer: Vec<Value>,
    pub(crate) classes: Vec<Value>,
    /// Properties of the trace.
    pub(crate) trace: Value,
}

impl Read {
    pub(crate) fn names(&self) -> Vec<&str> {
        self.events.iter().map(|event| event["name"].as_str().unwrap()).collect()
    }

    /// Returns a payload member of all events.
    pub(crate) fn payload(&self, member: &str) -> Vec<Value> {
        self.events.iter().map(|event| event["payload"][member].clone()).collect()
    }

    /// Returns a context member of all events. Null if it is absent.
    pub(crate) fn context(&self, member: &str) -> Vec<Value> {
        self.events.iter().map(|event| event["common_context"][member].clone()).collect()
    }

    /// Returns the number of missing events.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.iter().map(|lost| lost["count"].as_u64().unwrap_or(0)).sum()
    }

    pub(crate) fn times(&self) -> Vec<u64> {
        self.events.iter().map(|event| event["cycles"].as_u64().unwrap()).collect()
    }
}

/// Reads a whole file. Also writes an undamaged file again, and checks that its events are the same.
pub(crate) fn read(bytes: &[u8]) -> Read {
    let read = read_with(bytes, &NettraceOptions::default());
    if read.damage.is_empty() && read.longer.is_empty() {
        let opened = Opened::of_bytes("file", bytes.to_vec().into(), &NettraceOptions::default());
        let written = read_with(&rewrite_unsorted(&opened), &NettraceOptions::default());
        let (mut found, mut expected) = (events(&written), events(&read));
        if !read.times().is_sorted() {
            // A file that breaks its promises is written in another order.
            let key = |event: &Value| (event["cycles"].as_u64(), event.to_string());
            found.sort_by_key(key);
            expected.sort_by_key(key);
        }
        assert_eq!(found, expected);
        assert_eq!(written.lost(), read.lost());
    }
    read
}

/// Returns events without numbers that depend on table order.
fn events(read: &Read) -> Vec<Value> {
    let mut events = read.events.clone();
    for event in &mut events {
        event.as_object_mut().unwrap().remove("id");
        if let Some(stack) = event["common_context"].get_mut("stack") {
            *stack = (!stack.is_null()).into();
        }
    }
    events
}

/// Reads a whole file, and reports all faults.
pub(crate) fn check(bytes: &[u8]) -> Read {
    let mut options = NettraceOptions::default();
    options.check = true;
    read_with(bytes, &options)
}

/// Reads a whole file in file order.
pub(crate) fn read_unsorted(bytes: &[u8]) -> Read {
    let mut options = NettraceOptions::default();
    options.unsorted = true;
    read_with(bytes, &options)
}

pub(crate) fn read_with(bytes: &[u8], options: &NettraceOptions) -> Read {
    let file = NettraceFile::open("file", bytes.to_vec().into(), options).unwrap();
    read_window(&file, Window::default())
}

/// Returns a file as JSON Lines.
pub(crate) fn lines(bytes: &[u8]) -> String {
    let file = NettraceFile::open("file", bytes.to_vec().into(), &NettraceOptions::default()).unwrap();
    lines_of(&file, Window::default())
}

fn lines_of(file: &NettraceFile, window: Window) -> String {
    let mut cursors: Vec<BoxedCursor> = vec![DamageCursor::new(file.damage().to_vec()).boxed()];
    cursors.extend(file.cursors(window));
    let mut text = Vec::new();
    let mut sink = JsonLines::new(&mut text, JsonLinesOptions::default());
    pump(&mut Merge::new(cursors), &mut sink).unwrap();
    drop(sink);
    String::from_utf8(text).unwrap()
}

pub(crate) fn read_window(file: &NettraceFile, window: Window) -> Read {
    let mut read = Read::default();
    for line in lines_of(file, window).lines() {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        match value["type"].as_str().unwrap() {
            "event-class" => read.classes.push(value),
            "stream-begin" => read.trace = value["trace"].clone(),
            "event" => read.events.push(value),
            "damage" if value["message"].as_str().unwrap().contains("than the fields of") => {
                read.longer.push(value)
            }
            "damage" => read.damage.push(value),
            kind if kind.starts_with("discarded") => read.lost.push(value),
            _ => {}
        }
    }
    read
}

/// Reads all events, and visits all their fields. Returns the number of events.
pub(crate) fn count(file: &NettraceFile) -> usize {
    let mut events = 0;
    for mut cursor in file.cursors(Window::default()) {
        while cursor.next_head().is_some() {
            if let Some(Message::Event(event)) = cursor.current() {
                events += 1;
                event.visit_all(&mut Skip).unwrap();
            }
        }
    }
    events
}

/// Returns the times and classes of a cursor's events.
pub(crate) fn heads(cursor: &mut BoxedCursor) -> Vec<(i128, Option<usize>)> {
    let mut heads = Vec::new();
    let mut head = cursor.head();
    if head.is_none() {
        head = cursor.next_head();
    }
    while let Some(found) = head {
        if found.kind == MessageKind::Event {
            heads.push((found.nanoseconds().unwrap(), found.class_index()));
        }
        head = cursor.next_head();
    }
    heads
}
