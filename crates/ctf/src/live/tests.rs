//! Order and growth, with packets of one byte fields.

use ichnos_model::cursor::MessageKind;
use ichnos_testing::Random;

use super::*;
use crate::test_stream::{HEAD, METADATA, PacketFields, packet};

const MORE: &str = "event { name = more; id = 2; fields := struct { u8 value; }; };\n";

fn reader(streams: u64) -> LiveReader {
    let mut reader = LiveReader::new(CtfOptions::default());
    reader.begin_trace(0, "live");
    reader.add_metadata(0, METADATA.as_bytes());
    (1..=streams).for_each(|stream| reader.begin_stream(stream, 0, &format!("s{stream}")));
    reader
}

fn fields(begin: u8, end: u8, sequence: u8) -> PacketFields {
    PacketFields { begin, end, sequence, discarded: 0 }
}

/// Returns all messages that are ready, with what follows them.
fn ready(reader: &mut LiveReader) -> (Vec<String>, LivePoll) {
    let mut messages = Vec::new();
    loop {
        match reader.poll() {
            LivePoll::Message(head) => {
                let message = reader.current().expect("a message");
                let stream = message.stream().map_or("-", |stream| &stream.name);
                let time = head.nanoseconds().map_or("now".to_owned(), |time| time.to_string());
                let what = match message {
                    Message::Event(event) => event.name().to_owned(),
                    Message::DiscardedPackets(loss) => format!("{} packets lost", loss.count.unwrap_or(0)),
                    Message::Damage(damage) => damage.to_string(),
                    _ => format!("{:?}", head.kind),
                };
                messages.push(format!("{stream} {time} {what}"));
            }
            poll => return (messages, poll),
        }
    }
}

#[track_caller]
fn expect(reader: &mut LiveReader, expected: &[&str], then: &LivePoll) {
    let (messages, poll) = ready(reader);
    assert_eq!(messages, expected);
    assert_eq!(poll, *then);
}

#[test]
fn messages_wait_for_all_data_streams() {
    let mut reader = reader(2);
    expect(&mut reader, &[], &LivePoll::Pending(None));
    reader.add_packet(1, 0, packet(fields(10, 20, 0), &[0, 11, 1]));
    expect(&mut reader, &["live/s1 now StreamBegin"], &LivePoll::Pending(None));
    reader.set_inactive(2, 0, 15);
    let until = ["live/s1 10 PacketBegin", "live/s1 11 number"];
    expect(&mut reader, &until, &LivePoll::Pending(Some(15)));
    reader.add_packet(2, 0, packet(fields(16, 17, 0), &[0, 16, 1]));
    let other =
        ["live/s2 now StreamBegin", "live/s2 16 PacketBegin", "live/s2 16 number", "live/s2 17 PacketEnd"];
    expect(&mut reader, &other, &LivePoll::Pending(Some(17)));
    reader.end_stream(2);
    let rest = ["live/s2 now StreamEnd", "live/s1 20 PacketEnd"];
    expect(&mut reader, &rest, &LivePoll::Pending(Some(20)));
    reader.end();
    expect(&mut reader, &["live/s1 now StreamEnd"], &LivePoll::End);
    expect(&mut reader, &[], &LivePoll::End);
}

/// A new data stream can have earlier messages than the promised time. They come at once.
#[test]
fn data_streams_begin_at_any_time() {
    let mut reader = reader(1);
    reader.set_inactive(1, 0, 50);
    expect(&mut reader, &[], &LivePoll::Pending(Some(50)));
    reader.begin_stream(2, 0, "s2");
    // Known again: nothing changes.
    reader.begin_stream(2, 0, "s2");
    expect(&mut reader, &[], &LivePoll::Pending(Some(50)));
    reader.add_packet(2, 0, packet(fields(10, 20, 0), &[]));
    let messages = ["live/s2 now StreamBegin", "live/s2 10 PacketBegin", "live/s2 20 PacketEnd"];
    expect(&mut reader, &messages, &LivePoll::Pending(Some(50)));
}

#[test]
fn losses_lie_between_packets_that_arrive_alone() {
    let mut reader = reader(1);
    reader.add_packet(1, 0, packet(fields(10, 20, 0), &[0, 11, 1]));
    ready(&mut reader);
    let place = LostPacket { offset: 100, bytes: 50, class_id: 0, end: 30 };
    reader.lose_packet(1, place, "cleared".to_owned());
    let lost = "- 20 live/s1: byte 100: a packet of 50 bytes was not received: cleared; skipped 50 bytes";
    // The message comes at the time that was reached.
    let (messages, poll) = ready(&mut reader);
    assert_eq!(messages, [lost.replace(" 20 ", " 30 ")]);
    assert_eq!(poll, LivePoll::Pending(Some(30)));
    let second = PacketFields { discarded: 5, ..fields(40, 50, 2) };
    reader.add_packet(1, 150, packet(second, &[0, 41, 1]));
    let (messages, _) = ready(&mut reader);
    let expected = ["20 DiscardedEvents", "20 1 packets lost", "40 PacketBegin", "41 number", "50 PacketEnd"];
    assert_eq!(messages, expected.map(|message| format!("live/s1 {message}")));
    let consumed = reader.take_consumed().into_iter();
    let (losses, packets): (Vec<_>, Vec<_>) = consumed.partition(|(_, bytes)| *bytes == LostPacket::MEMORY);
    assert_eq!((losses.len(), packets.iter().map(|(_, bytes)| bytes).sum()), (1, 24));
}

/// One data stream does not arrive: the others go on after a time, and its own messages are late.
#[test]
fn silent_data_streams_are_passed() {
    let mut reader = reader(3);
    reader.set_inactive(2, 0, 5);
    reader.set_inactive(3, 0, 200);
    reader.add_packet(1, 0, packet(fields(10, 20, 0), &[0, 11, 1]));
    ready(&mut reader);
    assert!(reader.pass_silent(Duration::from_secs(60)).is_empty());
    assert_eq!(reader.pass_silent(Duration::ZERO), ["live/s2"]);
    let events = ["live/s1 10 PacketBegin", "live/s1 11 number", "live/s1 20 PacketEnd"];
    expect(&mut reader, &events, &LivePoll::Pending(Some(20)));
    // A beacon that moves nothing changes nothing.
    reader.set_inactive(2, 0, 5);
    reader.add_packet(1, 0, packet(fields(30, 40, 1), &[]));
    expect(&mut reader, &["live/s1 30 PacketBegin", "live/s1 40 PacketEnd"], &LivePoll::Pending(Some(40)));
    reader.set_inactive(2, 0, 45);
    reader.add_packet(1, 0, packet(fields(50, 60, 2), &[]));
    expect(&mut reader, &[], &LivePoll::Pending(Some(45)));
    assert_eq!(reader.pass_silent(Duration::ZERO), ["live/s2"]);
    ready(&mut reader);
    // Late, and waited for again.
    reader.add_packet(2, 0, packet(fields(46, 47, 0), &[]));
    let late = ["live/s2 now StreamBegin", "live/s2 46 PacketBegin", "live/s2 47 PacketEnd"];
    expect(&mut reader, &late, &LivePoll::Pending(Some(60)));
    reader.add_packet(1, 0, packet(fields(70, 80, 3), &[]));
    expect(&mut reader, &[], &LivePoll::Pending(Some(60)));
    assert_eq!(reader.pass_silent(Duration::ZERO), ["live/s2"]);
    reader.end();
    assert!(matches!(ready(&mut reader).1, LivePoll::End));
}

/// The relay daemon sends packets of other data streams.
#[test]
fn packets_of_another_data_stream() {
    let (head, _) = METADATA.split_once("stream {").unwrap();
    let mut metadata = head.replace("u8 zero;", "u8 stream_id; u8 stream_instance_id;");
    for id in 0..2 {
        metadata += &format!(
            "stream {{ id = {id}; packet.context := struct {{ time timestamp_begin; time timestamp_end; }};
             event.header := struct {{ u8 id; time timestamp; }}; }};
             event {{ name = e{id}; id = 0; stream_id = {id}; fields := struct {{ u8 value; }}; }};\n"
        );
    }
    let mut reader = LiveReader::new(CtfOptions::default());
    reader.begin_trace(0, "live");
    reader.add_metadata(0, metadata.as_bytes());
    reader.begin_stream(1, 0, "s");
    for (number, (class, id)) in [(0, 7), (1, 7), (0, 8), (0, 7)].into_iter().enumerate() {
        let begin = 10 * number as u8;
        reader.add_packet(1, 100 * number as u64, vec![class, id, begin, begin + 5, 0, begin + 1, 1]);
    }
    let expected = |id, at| {
        format!(
            "live/s: byte {at}: expected a packet of data stream 7 of class 0, found one of {id}; skipped 7 bytes"
        )
    };
    let (messages, _) = ready(&mut reader);
    let wrong = |message: &&String| message.contains("expected a packet");
    let damage: Vec<&str> =
        messages.iter().filter(wrong).filter_map(|text| text.splitn(3, ' ').nth(2)).collect();
    assert_eq!(
        damage,
        [expected("data stream 7 of class 1", 100), expected("data stream 8 of class 0", 200)]
    );
    assert_eq!(messages.iter().filter(|message| message.ends_with(" e0")).count(), 2, "{messages:?}");
    assert!(!messages.iter().any(|message| message.ends_with(" e1")), "{messages:?}");
}

#[test]
fn packets_have_their_numbers_and_places() {
    let mut reader = reader(1);
    let first = packet(fields(10, 20, 0), &[0, 11, 1]);
    let size = first.len() as u64;
    reader.add_packet(1, 4096, first);
    // An unknown event record class.
    reader.add_packet(1, 4096 + size, packet(fields(30, 40, 1), &[9, 31, 1]));
    reader.end();
    let (mut numbers, mut damage) = (Vec::new(), Vec::new());
    while let LivePoll::Message(head) = reader.poll() {
        match reader.current().unwrap() {
            Message::PacketBegin(packet) => numbers.push(packet.index),
            Message::PacketEnd(packet) => numbers.push(packet.index),
            Message::Damage(found) => damage.push((head.kind, found.bit, found.stream.clone())),
            _ => {}
        }
    }
    assert_eq!(numbers, [Some(0), Some(0), Some(1), Some(1)]);
    let [(kind, bit, stream)] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!((*kind, stream.as_deref()), (MessageKind::Damage, Some("live/s1")));
    let first_event = 4096 + size + HEAD as u64;
    assert!((first_event..first_event + 3).contains(&(bit / 8)), "{bit}");
}

#[test]
fn metadata_arrives_in_parts() {
    let mut incomplete = 0;
    for cut in (0..METADATA.len()).step_by(7) {
        let (begin, end) = METADATA.split_at(cut);
        let mut reader = LiveReader::new(CtfOptions::default());
        reader.begin_trace(0, "");
        reader.add_metadata(0, begin.as_bytes());
        reader.begin_stream(1, 0, "s");
        reader.add_packet(1, 0, packet(fields(10, 20, 0), &[0, 11, 1]));
        if !ready(&mut reader).0.is_empty() {
            // The part is complete, but lacks classes.
            continue;
        }
        incomplete += 1;
        assert!(reader.metadata_problem().is_some());
        reader.add_metadata(0, end.as_bytes());
        reader.end();
        let whole =
            ["s now StreamBegin", "s 10 PacketBegin", "s 11 number", "s 20 PacketEnd", "s now StreamEnd"];
        expect(&mut reader, &whole, &LivePoll::End);
    }
    assert!(incomplete > 50);
}

#[test]
fn metadata_grows() {
    let mut reader = reader(2);
    reader.add_packet(1, 0, packet(fields(10, 20, 0), &[0, 11, 1]));
    reader.set_inactive(2, 0, 100);
    let (messages, _) = ready(&mut reader);
    assert_eq!(messages.len(), 4);
    reader.add_metadata(0, MORE.as_bytes());
    reader.add_packet(1, 12, packet(fields(30, 40, 2), &[2, 31, 1]));
    let grown = [
        "live/s1 now StreamEnd",
        "live/s1 now StreamBegin",
        "live/s1 20 1 packets lost",
        "live/s1 30 PacketBegin",
        "live/s1 31 more",
        "live/s1 40 PacketEnd",
    ];
    expect(&mut reader, &grown, &LivePoll::Pending(Some(40)));
    // Metadata that describes nothing new for the data stream.
    reader.add_metadata(0, b"env { a = 1; };\n");
    reader.add_packet(1, 24, packet(fields(50, 60, 3), &[2, 51, 1]));
    let same = ["live/s1 50 PacketBegin", "live/s1 51 more", "live/s1 60 PacketEnd"];
    expect(&mut reader, &same, &LivePoll::Pending(Some(60)));
}

#[test]
fn metadata_that_stays_unreadable() {
    let mut reader = LiveReader::new(CtfOptions::default());
    reader.begin_trace(0, "a");
    reader.begin_stream(1, 0, "s");
    reader.add_packet(1, 0, packet(fields(10, 20, 0), &[]));
    expect(&mut reader, &[], &LivePoll::Pending(None));
    assert_eq!(reader.metadata_problem().unwrap(), "a: no metadata has arrived");
    reader.add_metadata(0, b"nonsense");
    expect(&mut reader, &[], &LivePoll::Pending(None));
    assert!(reader.metadata_problem().unwrap().starts_with("a/metadata:1:"));
    // Another trace is not affected.
    reader.begin_trace(1, "b");
    reader.add_metadata(1, METADATA.as_bytes());
    reader.begin_stream(2, 1, "s");
    reader.add_packet(2, 0, packet(fields(10, 20, 0), &[]));
    reader.end();
    let (messages, poll) = ready(&mut reader);
    assert_eq!(messages.len(), 4, "{messages:?}");
    assert!(matches!(poll, LivePoll::Failed(error) if error.starts_with("a/metadata:1:")));
}

#[test]
fn unreadable_metadata_of_a_trace_without_packets() {
    for ends_first in [false, true] {
        let mut reader = LiveReader::new(CtfOptions::default());
        reader.begin_trace(0, "a");
        reader.add_metadata(0, b"nonsense");
        if ends_first {
            reader.end_trace(0);
        }
        expect(&mut reader, &[], &LivePoll::Pending(None));
        reader.end();
        assert!(matches!(reader.poll(), LivePoll::Failed(error) if error.starts_with("a/metadata:1:")));
    }
}

#[test]
fn metadata_in_too_many_parts() {
    let mut options = CtfOptions::default();
    options.limits.metadata_bytes = METADATA.len() as u64 + 10;
    let mut reader = LiveReader::new(options);
    reader.begin_trace(0, "a");
    reader.add_metadata(0, METADATA.as_bytes());
    reader.add_metadata(0, MORE.as_bytes());
    assert!(matches!(reader.poll(), LivePoll::Failed(error) if error.contains("the limit")));
}

/// Many traces together are limited like a single one.
#[test]
fn metadata_of_too_many_traces() {
    let mut options = CtfOptions::default();
    options.limits.metadata_bytes = 3 * METADATA.len() as u64;
    let mut reader = LiveReader::new(options);
    for trace in 0..10 {
        reader.begin_trace(trace, "a");
        reader.add_metadata(trace, METADATA.as_bytes());
        // Ended traces do not count.
        if trace < 3 {
            reader.end_trace(trace);
        }
        assert!(trace == 6 || !matches!(reader.poll(), LivePoll::Failed(_)), "{trace}");
        if trace == 6 {
            break;
        }
    }
    assert!(matches!(reader.poll(), LivePoll::Failed(error) if error.contains("of all traces")));
}

#[test]
fn traces_are_dropped_after_their_data_streams() {
    let mut reader = reader(1);
    reader.end_trace(0);
    reader.add_packet(1, 0, packet(fields(10, 20, 0), &[]));
    ready(&mut reader);
    assert_eq!(reader.traces.len(), 1);
    reader.end_stream(1);
    expect(&mut reader, &["live/s1 now StreamEnd"], &LivePoll::Pending(Some(20)));
    assert!(reader.traces.is_empty() && reader.streams.is_empty() && reader.waiting.is_empty());
    // Keys that are unknown.
    reader.add_packet(1, 0, vec![1]);
    reader.begin_stream(7, 7, "s");
    reader.add_metadata(7, b"x");
    reader.end_stream(7);
    expect(&mut reader, &[], &LivePoll::Pending(Some(20)));
}

/// Whatever arrives, in whatever order: it ends, and each data stream begins and ends in turn.
#[test]
fn nonsense_is_damage() {
    let mut random = Random::new(56);
    for _ in 0..300 {
        let mut reader = LiveReader::new(CtfOptions::default());
        let mut depth = 0i32;
        for _ in 0..random.below(60) {
            let stream = random.below(4);
            match random.below(9) {
                0 => reader.begin_trace(random.below(2), "t"),
                1 => reader.add_metadata(random.below(2), METADATA.as_bytes()),
                2 => reader.add_metadata(random.below(2), MORE.as_bytes()),
                3 => reader.begin_stream(stream, random.below(2), "s"),
                4 => reader.set_inactive(stream, random.below(2).into(), random.below(300)),
                5 => reader.end_stream(stream),
                6 => {
                    let bytes = (0..random.below(40)).map(|_| random.below(256) as u8).collect();
                    reader.add_packet(stream, random.below(u64::MAX), bytes);
                }
                _ => {
                    let [begin, end, sequence] = [(); 3].map(|()| random.below(256) as u8);
                    let mut bytes = packet(fields(begin, end, sequence), &[0, begin, 1, 2, end, 7]);
                    if random.below(3) == 0 {
                        let at = random.below(bytes.len() as u64) as usize;
                        bytes[at] = random.below(256) as u8;
                    }
                    reader.add_packet(stream, 0, bytes);
                }
            }
            for _ in 0..random.below(8) {
                if let LivePoll::Message(head) = reader.poll() {
                    depth += i32::from(head.kind == MessageKind::StreamBegin);
                    depth -= i32::from(head.kind == MessageKind::StreamEnd);
                    assert!(reader.current().is_some());
                }
            }
        }
        reader.end();
        let (messages, poll) = ready(&mut reader);
        for message in &messages {
            depth += i32::from(message.ends_with("StreamBegin")) - i32::from(message.ends_with("StreamEnd"));
        }
        assert!(matches!(poll, LivePoll::End | LivePoll::Failed(_)), "{poll:?}");
        assert_eq!(depth, 0);
    }
}
