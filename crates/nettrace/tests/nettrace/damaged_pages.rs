//! Recorded files with lost storage pages must not produce events that the whole file lacks.

use std::collections::HashMap;

use ichnos_model::{Message, OpenedTrace as _, Scope, Window};
use ichnos_nettrace::{NettraceFile, NettraceOptions};

use crate::builder::{Bytes, Event, File, Form, Metadata, block_header, field, kind, rows};
use crate::reading::check;
use crate::support::fields;
use crate::truncated::recorded;

/// Time, thread and name of an event.
type EventKey = (u64, i128, String);

/// Counts the events in a file.
fn events(bytes: &[u8]) -> HashMap<EventKey, usize> {
    let mut events = HashMap::new();
    // The trace block may be lost.
    let Ok(file) = NettraceFile::open("file", bytes.to_vec().into(), &NettraceOptions::default()) else {
        return events;
    };
    for mut cursor in file.cursors(Window::default()) {
        while cursor.advance() {
            if let Some(Message::Event(event)) = cursor.current() {
                let context = fields(&event, Scope::CommonContext);
                let thread = context.iter().find(|(name, _)| name == "thread");
                let thread = thread.and_then(|(_, value)| value.integer()).map_or(0, |value| value.value);
                let key = (event.clock.unwrap().cycles, thread, event.name().to_owned());
                *events.entry(key).or_default() += 1;
            }
        }
    }
    events
}

/// Returns the events that the whole file lacks. Metadata may be lost, and so may threads in version 6.
fn made_up(whole: &HashMap<EventKey, usize>, found: &HashMap<EventKey, usize>) -> Vec<EventKey> {
    let mut times: HashMap<u64, usize> = HashMap::new();
    for ((time, _, _), count) in whole {
        *times.entry(*time).or_default() += count;
    }
    let is_known = |(key, count): &(&EventKey, &usize)| {
        let of_time = || times.get(&key.0).is_some_and(|all| *count <= all);
        whole.get(key).is_some_and(|all| *count <= all) || key.2 == "unknown event" && of_time()
    };
    found.iter().filter(|event| !is_known(event)).map(|(key, _)| key.clone()).collect()
}

/// Replaces a page by zeros, by ones or by the previous page.
fn without_page(bytes: &[u8], page: usize, kind: usize) -> Vec<u8> {
    const PAGE: usize = 4096;
    let mut damaged = bytes.to_vec();
    let range = page * PAGE..bytes.len().min((page + 1) * PAGE);
    match kind {
        0 => damaged[range].fill(0),
        1 => damaged[range].fill(0xff),
        _ => damaged.copy_within((page - 1) * PAGE..(page - 1) * PAGE + range.len(), page * PAGE),
    }
    damaged
}

#[test]
fn lost_pages_are_no_events() {
    let names = [
        "runtime/net10.0-custom-only-norundown.nettrace",
        "runtime/net10.0-nostacks.nettrace",
        "runtime/perl-cpu-v6.nettrace",
        "runtime/net3.1.23-custom-only.nettrace",
    ];
    let mut failures = Vec::new();
    for name in names {
        let Some(bytes) = recorded(name) else { return };
        let whole = events(&bytes);
        let pages = bytes.len().div_ceil(4096);
        for page in (1..pages).step_by(1 + pages / 20) {
            for kind in 0..3 {
                let found = events(&without_page(&bytes, page, kind));
                let others = made_up(&whole, &found);
                if !others.is_empty() {
                    failures.push((name, page, kind, others.len(), others[0].clone()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures: {failures:#?}", failures.len());
}

/// If the rest of a block is zeros, only the events before it are read.
#[test]
fn zeros_at_the_end_of_a_block_are_no_events() {
    let mut file = File::new(Form::V4);
    file.metadata(&[Metadata::new(1, "Number", [field(Form::V4, 12, "number")])]);
    let number = |number: u64| {
        let event = Event::new(1, 7, number as u32 + 1, 1_000 + number);
        event.with(Bytes::new().u64(0x0101_0101_0101_0101))
    };
    let begin = file.bytes.len();
    file.events(true, &(0..500).map(number).collect::<Vec<_>>());
    let mut bytes = file.end();
    let end = bytes.len() - 2;
    let zeros = begin + 1_500;
    bytes[zeros..end].fill(0);
    let read = check(&bytes);
    let expected = (zeros - begin - 60) / 10;
    assert!(read.events.len() <= expected && read.events.len() + 60 > expected, "{}", read.events.len());
    assert!(read.payload("number").iter().all(|number| *number == 0x0101_0101_0101_0101_u64));
    let text = read.damage[0]["message"].as_str().unwrap();
    assert!(text.contains("expected events, found sectors of one value"), "{text}");
}

/// Empty events at the same time are valid events.
#[test]
fn empty_events_at_the_same_time_are_events() {
    let mut file = File::new(Form::V4);
    file.metadata(&[Metadata::new(1, "Empty", [])]);
    file.events(true, &(0..20).map(|number| Event::new(1, 7, number + 1, 1_000)).collect::<Vec<_>>());
    let read = check(&file.end());
    assert_eq!((read.events.len(), read.damage.len()), (20, 0));
}

/// An unknown id and a time after the header's last time are faults of the producer if all rows have their sizes. A
/// large payload of zeros is not lost storage.
#[test]
fn few_odd_rows_of_a_whole_block_are_events() {
    for (odd_id, late) in [(None, 1), (Some(7), 0), (None, 0)] {
        let mut file = File::new(Form::V4);
        file.metadata(&[Metadata::new(1, "Any", [])]);
        let event = |number: u32| {
            let event = Event::new(1, 7, number + 1, 1_000 + u64::from(number));
            let metadata = if odd_id == Some(number) { 99 } else { 1 };
            let payload = if number == 5 { vec![0; 1_200] } else { vec![1; 20] };
            Event { metadata, payload, ..event }
        };
        let all: Vec<Event> = (0..20).map(event).collect();
        let header = block_header(true, (1_000, 1_019 - late), 0);
        file.block(kind::EVENT, &header.raw(&rows(Form::V4, true, &all).0).0);
        let found = events(&file.end());
        assert_eq!(found.values().sum::<usize>(), 20, "{odd_id:?}, {late}: {found:?}");
    }
}
