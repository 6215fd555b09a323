//! Packets that arrive one by one have the same messages as their files.

use std::collections::BTreeMap;

use ichnos_ctf::live::LiveReader;
use ichnos_ctf::trace::{CtfOptions, CtfTrace, open};
use ichnos_io::{IoLimits, Tree};
use ichnos_model::cursor::StreamCursor as _;
use ichnos_model::live::LivePoll;
use ichnos_model::{Cursor as _, Message, OpenedTrace as _, Window};
use ichnos_testing::Random;

use crate::support::traces;

/// Messages by data stream.
type Messages = BTreeMap<String, Vec<String>>;

/// Describes a message with all its data. Equal bytes mean equal values.
fn describe(message: &Message<'_>) -> String {
    match message {
        Message::Event(event) => {
            let [_, _, begin, ..] = event.scopes.begins();
            let bits = event.size_in_bits().unwrap_or(0);
            let bytes = (begin.bit / 8) as usize..(begin.bit + bits).div_ceil(8) as usize;
            let bytes = event.scopes.bits.bytes().get(bytes);
            format!("{:?} {} {:?} {bytes:?}", event.clock, event.name(), event.class_index())
        }
        Message::PacketBegin(packet) | Message::PacketEnd(packet) => format!(
            "packet {:?} {:?} {:?} {:?} {:?} {} {}",
            packet.begin,
            packet.end,
            packet.sequence_number,
            packet.index,
            packet.discarded_counter,
            packet.total_length,
            packet.content_length
        ),
        Message::DiscardedEvents(loss) | Message::DiscardedPackets(loss) => {
            format!("lost {:?} {:?} {:?}", loss.count, loss.begin, loss.end)
        }
        Message::StreamBegin(stream) | Message::StreamEnd(stream) => {
            format!("stream {:?} {:?}", stream.class().id, stream.id)
        }
        other => format!("{other:?}"),
    }
}

/// Returns the messages of a trace's files. `None` if some are damaged, or belong to data streams in several files.
fn read(trace: &CtfTrace) -> Option<Messages> {
    let mut messages = Messages::new();
    for stream in &trace.streams {
        let is_plain = stream.files.len() == 1 && stream.packets.iter().all(|packet| !packet.is_misplaced());
        if !is_plain || !stream.summary().damage.is_empty() {
            return None;
        }
        let found = messages.entry(stream.stream.name.to_string()).or_default();
        let mut cursor = stream.cursor(Window::default());
        while let Some(head) = cursor.next_head() {
            let message = cursor.current().unwrap();
            if matches!(message, Message::Damage(_)) {
                return None;
            }
            found.push(format!("{:?} {}", head.nanoseconds(), describe(&message)));
        }
    }
    trace.damage().is_empty().then_some(messages)
}

/// Passes on what is ready.
fn take(reader: &mut LiveReader, messages: &mut Messages, latest: &mut Option<i128>) -> LivePoll {
    loop {
        match reader.poll() {
            LivePoll::Message(head) => {
                let message = reader.current().unwrap();
                let stream = message.stream().unwrap();
                let found = messages.entry(stream.name.to_string()).or_default();
                found.push(format!("{:?} {}", head.nanoseconds(), describe(&message)));
                if let Some(time) = head.nanoseconds() {
                    assert!(Some(time) >= *latest, "{time} after {latest:?}");
                    *latest = Some(time);
                }
            }
            LivePoll::Pending(until) => {
                // A promise that is kept: later messages are later.
                *latest = (*latest).max(until);
                return LivePoll::Pending(until);
            }
            poll => return poll,
        }
    }
}

/// Reads a trace packet by packet, in a random order of its data streams.
fn read_live(trace: &CtfTrace, metadata: &[u8], random: &mut Random) -> Messages {
    let mut reader = LiveReader::new(CtfOptions::default());
    let (mut messages, mut latest) = (Messages::new(), None);
    reader.begin_trace(0, "");
    reader.add_metadata(0, metadata);
    for (key, stream) in (0..).zip(&trace.streams) {
        reader.begin_stream(key, 0, &stream.stream.name);
    }
    let mut next: Vec<(usize, usize)> = (0..trace.streams.len()).map(|stream| (stream, 0)).collect();
    while !next.is_empty() {
        let at = random.below(next.len() as u64) as usize;
        let (index, number) = next[at];
        let stream = &trace.streams[index];
        if let Some(packet) = stream.packets.get(number) {
            let bytes = &stream.files[0].bytes;
            let begin = packet.offset as usize;
            let end = begin + packet.available(bytes.len() as u64) as usize;
            reader.add_packet(index as u64, packet.offset, bytes[begin..end].to_vec());
            next[at].1 += 1;
        } else {
            reader.end_stream(index as u64);
            next.swap_remove(at);
        }
        let poll = take(&mut reader, &mut messages, &mut latest);
        assert!(matches!(poll, LivePoll::Pending(_)), "{poll:?}");
    }
    reader.end();
    let poll = take(&mut reader, &mut messages, &mut latest);
    assert_eq!(poll, LivePoll::End, "{}", trace.path());
    messages
}

#[test]
fn packets_that_arrive_alone_read_like_files() {
    let Some(traces) = traces() else { return };
    let mut random = Random::new(561);
    let (mut compared, mut skipped) = (0, 0);
    for directory in ["lttng-ust", "lttng-live-relayd", "lttng-kernel", "babeltrace", "ctf2"] {
        let Ok(tree) = Tree::open(&traces.join("ctf/real").join(directory), &IoLimits::default()) else {
            eprintln!("skipped: no {directory}");
            continue;
        };
        let mut options = CtfOptions::default();
        options.lttng_index = false;
        for trace in &open(&[&tree], &options).traces {
            let path = format!("{}/metadata", trace.path());
            let bytes: usize = trace.streams.iter().map(|stream| stream.files[0].bytes.len()).sum();
            let Ok(metadata) = std::fs::read(&path) else { continue };
            if bytes > 4 << 20 {
                continue;
            }
            let Some(expected) = read(trace) else {
                skipped += 1;
                continue;
            };
            // A trace without a clock has no order among its data streams.
            if trace.trace().class.data_streams.iter().any(|class| class.default_clock.is_none()) {
                continue;
            }
            let found = read_live(trace, &metadata, &mut random);
            for (stream, expected) in expected {
                assert_eq!(found.get(&stream), Some(&expected), "{path} {stream}");
            }
            compared += 1;
        }
    }
    eprintln!("{compared} traces compared, {skipped} damaged or in several files");
    assert!(compared > 10);
}
