//! Streams that are still arriving: the messages are those of the finished file, whatever the chunks are.

use ichnos_export::{Pretty, PrettyOptions};
use ichnos_model::{Message, OpenedTrace, Sink, Window};
use ichnos_nettrace::{LiveNettrace, LiveState, NettraceFile, NettraceOptions};
use ichnos_testing::{Random, cases, private_memory};

use crate::builder::{Bytes, Event, File, Form, Metadata, field, kind};
use crate::order::random_file;
use crate::truncated::recorded;

/// Returns a message as text.
fn text(message: &Message<'_>) -> String {
    match message {
        Message::Event(event) => {
            let mut text = Vec::new();
            let mut pretty = Pretty::new(&mut text, PrettyOptions::default());
            let _ = pretty.message(message).unwrap();
            pretty.flush().unwrap();
            drop(pretty);
            let text = String::from_utf8(text).unwrap().trim_end().to_owned();
            format!("{text} {:?}", event.class.log_level)
        }
        Message::StreamBegin(_) => "begin".to_owned(),
        Message::StreamEnd(_) => "end".to_owned(),
        Message::DiscardedEvents(discarded) => format!("discarded {:?}", discarded.count),
        Message::Damage(damage) => damage.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Returns the messages of a whole file.
fn whole(bytes: &[u8]) -> Option<Vec<String>> {
    let file = NettraceFile::open("file", bytes.to_vec().into(), &NettraceOptions::default()).ok()?;
    let mut lines = Vec::new();
    for mut cursor in file.cursors(Window::default()) {
        while cursor.advance() {
            lines.push(text(&cursor.current().unwrap()));
        }
    }
    Some(lines)
}

/// Returns the messages of a stream in chunks.
fn arriving(bytes: &[u8], mut chunk: impl FnMut() -> usize) -> Vec<String> {
    let mut live = LiveNettrace::new("file", &NettraceOptions::default(), Vec::new());
    let mut lines = Vec::new();
    let mut rest = bytes;
    loop {
        match live.advance() {
            LiveState::Message => lines.push(text(&live.current().unwrap())),
            LiveState::Waiting if rest.is_empty() => live.finish(),
            LiveState::Waiting => {
                let (next, behind) = rest.split_at(chunk().clamp(1, rest.len()));
                live.feed(next);
                rest = behind;
            }
            LiveState::End => {
                assert_eq!(live.advance(), LiveState::End);
                return lines;
            }
        }
    }
}

#[track_caller]
fn assert_same(found: &[String], expected: &[String], what: &str) {
    let first = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let at = first.unwrap_or(found.len().min(expected.len()));
    assert_eq!(found.get(at), expected.get(at), "{what}: message {at} of {}", expected.len());
}

#[test]
fn recorded_files_in_chunks() {
    for name in [
        "runtime/net10.0-small.nettrace",
        "runtime/net10.0-small-streaming.nettrace",
        "runtime/net10.0-drops.nettrace",
        "runtime/net10.0-nostacks.nettrace",
        "runtime/net3.1.2-small.nettrace",
        "perfview/eventpipe-dotnetcore3.0-win-x64-objver4.nettrace",
        "perfview/eventpipe-dotnetcore5.0-win-x64-arraytypes.nettrace",
        "runtime/perl-cpu-v6.nettrace",
    ] {
        let Some(bytes) = recorded(name) else { return };
        let bytes = &bytes[..bytes.len().min(1 << 20)];
        let expected = whole(bytes).unwrap();
        assert!(expected.len() > 100, "{name}: {}", expected.len());
        let mut random = Random::new(bytes.len() as u64);
        for size in [100_000, 4_096, 301] {
            let found = arriving(bytes, || 1 + random.index(size));
            // The reader of files knows the end of a block that is cut off before it reads the block.
            let is_end = |line: &&String| line.starts_with("file: ");
            let parts = |lines: &[String]| -> (Vec<String>, Vec<String>) {
                lines.iter().cloned().partition(|line| is_end(&line))
            };
            let ((found_end, found), (expected_end, expected)) = (parts(&found), parts(&expected));
            assert_same(&found, &expected, &format!("{name} in chunks of {size}"));
            assert_eq!(found_end, expected_end, "{name} in chunks of {size}");
        }
    }
}

/// Addresses have the names that methods loaded so far have, and at the end those of the whole file.
#[test]
fn names_that_have_arrived() {
    let Some(bytes) = recorded("runtime/net10.0-small.nettrace") else { return };
    let file = NettraceFile::open("file", bytes.clone().into(), &NettraceOptions::default()).unwrap();
    let mut live = LiveNettrace::new("file", &NettraceOptions::default(), Vec::new());
    let mut rest = &bytes[..];
    loop {
        match live.advance() {
            LiveState::Message => {}
            LiveState::Waiting if rest.is_empty() => live.finish(),
            LiveState::Waiting => {
                let (next, behind) = rest.split_at(rest.len().min(100_000));
                live.feed(next);
                rest = behind;
            }
            LiveState::End => break,
        }
    }
    let (found, expected) = (live.stream().unwrap().trace.symbols(), file.trace().symbols());
    assert!(expected.len() > 100, "{}", expected.len());
    // The last names can be indexed later.
    let begin = std::time::Instant::now();
    let mut found = found;
    while found.len() < expected.len() && begin.elapsed() < std::time::Duration::from_secs(60) {
        std::thread::sleep(std::time::Duration::from_millis(1));
        found = live.stream().unwrap().trace.symbols();
    }
    let names = |symbols: &ichnos_model::stack::Symbols| -> Vec<String> {
        symbols.iter().map(|(space, symbol)| format!("{space} {symbol:?}")).collect()
    };
    assert_eq!(names(&found), names(&expected));
}

#[test]
fn random_files_in_chunks() {
    cases(300, |random| {
        let form = if random.is_one_in(2) { Form::V4 } else { Form::V6 };
        let file = random_file(random, form, 0).bytes;
        let expected = whole(&file).unwrap();
        let size = 1 + random.index(400);
        assert_same(&arriving(&file, || 1 + random.index(size)), &expected, "random file");
    });
}

/// Version 6: labels that override metadata, processes that share stacks, names of processes, ids that are used again.
#[test]
fn version_6_in_chunks() {
    let mut found_stacks = 0;
    cases(200, |random| {
        let bytes = random_machine(random);
        let expected = whole(&bytes).unwrap();
        assert!(expected.iter().any(|line| line.contains("process_name")), "{expected:?}");
        found_stacks += expected.iter().filter(|line| line.contains("stack = ")).count();
        let size = 1 + random.index(600);
        assert_same(&arriving(&bytes, || 1 + random.index(size)), &expected, "version 6");
    });
    assert!(found_stacks > 1_000, "{found_stacks}");
}

/// Metadata id of [`add_number`].
const NUMBER: u32 = 2;

/// Adds the metadata of an event with a number.
fn add_number(file: &mut File, name: &str) {
    file.metadata(&[Metadata::new(NUMBER, name, [field(Form::V6, 9, "number")])]);
}

/// Adds six threads in three processes.
fn add_threads(file: &mut File) {
    let rows = (1..=6u64).map(|thread| {
        Bytes::new().sized(Bytes::new().var(thread).u8(2).var(10 + thread / 3).u8(3).var(100 + thread))
    });
    file.block(kind::THREAD, &Bytes::new().all(rows).0);
}

/// Creates a version 6 file of a machine with several processes, whose names come first.
fn random_machine(random: &mut Random) -> Vec<u8> {
    const NAME: u32 = 1;
    let mut file = File::new(Form::V6);
    let mut name = Metadata::new(NAME, "ExistingProcess", []);
    name.provider = "Universal.System".to_owned();
    file.metadata(&[name]);
    add_number(&mut file, "Number");
    add_threads(&mut file);
    let (mut sequences, mut time) = ([0u32; 7], 1);
    let mut next = |thread: u64| {
        sequences[thread as usize] += 1;
        time += 1;
        (sequences[thread as usize], time)
    };
    let names: Vec<Event> = [1u64, 3, 6]
        .map(|thread| {
            let (sequence, time) = next(thread);
            let text = format!("program-{thread}");
            let payload = Bytes::new().var(5).u16(text.len() as u16).raw(text.as_bytes()).u16(0);
            Event::new(NAME, thread, sequence, time).with(payload)
        })
        .into();
    file.events(true, &names);
    for segment in 0..1 + random.below(4) {
        let first = 1 + random.below(5) as u32;
        file.stacks(first, &[&[0x1000 + segment, 0x2000], &[u64::MAX - 8, 0x3000], &[]]);
        // An opcode, a level, and a text.
        let labels = Bytes::new().u32(1).u32(3).u8(0x80 | 7).u8(1 + random.below(2) as u8);
        let labels = labels.u8(0x80 | 9).u8(1 + random.below(5) as u8).u8(0x80 | 5).text("name").text("text");
        file.block(kind::LABEL_LIST, &labels.0);
        for _ in 0..1 + random.below(3) {
            let events: Vec<Event> = (0..1 + random.below(20))
                .map(|_| {
                    let thread = 1 + random.below(6);
                    let (sequence, time) = next(thread);
                    Event {
                        stack: if random.is_one_in(4) { 0 } else { first + random.below(3) as u32 },
                        labels: random.below(4) as u32,
                        ..Event::new(NUMBER, thread, sequence, time).with(Bytes::new().u32(time as u32))
                    }
                })
                .collect();
            file.events(random.is_one_in(2), &events);
        }
        let flags = random.below(4) as u32;
        let (_, time) = next(0);
        file.sequence_point(time, flags, &[]);
        if flags & 1 != 0 {
            add_threads(&mut file);
        }
        if flags & 2 != 0 {
            add_number(&mut file, &format!("Number{segment}"));
        }
    }
    file.end()
}

/// The same events are found.
#[test]
fn damaged_files_in_chunks() {
    let files = [Form::V4, Form::V6].map(|form| random_file(&mut Random::new(1), form, 9).bytes);
    cases(400, |random| {
        let mut bytes = files[random.index(2)].clone();
        for _ in 0..=random.below(3) {
            let at = 100 + random.index(bytes.len() - 100);
            match random.below(3) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes.truncate(at),
                _ => drop(bytes.drain(at..bytes.len().min(at + 1 + random.index(9)))),
            }
            if bytes.len() < 200 {
                return;
            }
        }
        let size = 1 + random.index(300);
        let found = arriving(&bytes, || 1 + random.index(size));
        // A damaged start is refused: only files are read without it.
        if let Some(expected) = whole(&bytes).filter(|_| !found.is_empty()) {
            // Damaged events promise that nothing earlier follows.
            let events = |lines: &[String]| {
                let mut events: Vec<_> = lines.iter().filter(|line| line.starts_with('[')).cloned().collect();
                events.sort_unstable();
                events
            };
            assert_same(&events(&found), &events(&expected), "damaged file");
        }
    });
}

fn number(sequence: u32, time: u64) -> Event {
    Event::new(1, 7, sequence, time).with(Bytes::new().u32(sequence))
}

/// Returns the messages until more bytes are needed, without the start of the data stream.
fn ready(live: &mut LiveNettrace) -> Vec<u64> {
    let mut times = Vec::new();
    loop {
        match live.advance() {
            LiveState::Message => {
                if let Some(Message::Event(event)) = live.current() {
                    times.push(event.clock.unwrap().cycles);
                }
            }
            LiveState::Waiting | LiveState::End => return times,
        }
    }
}

#[test]
fn events_wait_for_a_promise_or_for_the_caller() {
    let mut file = File::new(Form::V4);
    file.metadata(&[Metadata::new(1, "Number", [field(Form::V4, 9, "number")])]);
    let mut parts = vec![std::mem::take(&mut file.bytes)];
    let mut length = parts[0].len();
    let mut part = |events: &[Event]| {
        // The alignment depends on the position in the file.
        file.bytes = vec![0; length];
        file.events(true, events);
        let part = file.bytes.split_off(length);
        length += part.len();
        part
    };
    parts.push(part(&[number(1, 1_010).sorted(), number(2, 1_030)]));
    parts.push(part(&[number(3, 1_020).sorted(), number(4, 1_040)]));
    parts.push(part(&[number(5, 1_035)]));
    let mut live = LiveNettrace::new("file", &NettraceOptions::default(), Vec::new());
    let feed = |live: &mut LiveNettrace, number: usize| {
        live.feed(&parts[number]);
        ready(live)
    };
    assert_eq!((feed(&mut live, 0), live.bound(), live.has_waiting()), (vec![], None, false));
    assert_eq!(feed(&mut live, 1), Vec::<u64>::new());
    let clock = live.stream().unwrap().clock().unwrap().clone();
    assert_eq!((live.bound(), live.has_waiting()), (Some(clock.nanoseconds(1_010)), true));
    assert_eq!(feed(&mut live, 2), [1_010]);
    assert_eq!(live.bound(), Some(clock.nanoseconds(1_020)));
    live.release_waiting();
    assert_eq!((ready(&mut live), live.late()), (vec![1_020, 1_030, 1_040], 0));
    assert!(!live.has_waiting());
    assert_eq!(feed(&mut live, 3), Vec::<u64>::new());
    live.finish();
    assert_eq!((ready(&mut live), live.late()), (vec![1_035], 1));
    assert_eq!(live.advance(), LiveState::End);
}

#[test]
fn version_3_is_refused() {
    let mut file = File::new(Form::V3);
    file.metadata(&[Metadata::new(1, "Number", [field(Form::V3, 9, "number")])]);
    let mut live = LiveNettrace::new("file", &NettraceOptions::default(), Vec::new());
    live.feed(&file.end());
    assert_eq!(live.advance(), LiveState::End);
    assert!(live.refusal().unwrap().to_string().contains("only streams of versions 4 to 6"));
}

/// What was read is removed.
#[test]
fn memory_does_not_grow_with_the_stream() {
    let mut file = File::new(Form::V4);
    file.metadata(&[Metadata::new(1, "Number", [field(Form::V4, 9, "number")])]);
    let mut live = LiveNettrace::new("file", &NettraceOptions::default(), Vec::new());
    let (mut length, mut sequence, mut events) = (0, 0, 0);
    let before = private_memory(std::process::id()).unwrap();
    for _ in 0..20_000 {
        let new: Vec<Event> = (0..50)
            .map(|i| {
                sequence += 1;
                let event = number(sequence, u64::from(sequence));
                if i == 0 { event.sorted() } else { event }
            })
            .collect();
        file.events(false, &new);
        live.feed(&file.bytes[length..]);
        length = file.bytes.len();
        if length > 1 << 20 {
            let aligned = length % 4;
            file.bytes = vec![0; aligned];
            length = aligned;
        }
        events += ready(&mut live).len();
    }
    assert_eq!(events, 1_000_000 - 50);
    let grown = private_memory(std::process::id()).unwrap().saturating_sub(before);
    assert!(grown < 32 << 20, "{grown} bytes");
}
