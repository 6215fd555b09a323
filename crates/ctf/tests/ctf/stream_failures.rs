//! Faults in a data stream. Each must be reported at its location, and reading must continue with the rest and all
//! other data streams.

use ichnos_ctf::rule::Rule;
use ichnos_ctf::trace::{CtfOptions, open};
use ichnos_model::clock::ClockArithmetic;
use ichnos_model::cursor::StreamCursor;
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::{Cursor, Message, OpenedTrace, Window};

use crate::reading::{MessageReport, all, trace, tree};
use ichnos_testing::encoder::{Encoder, Order};

const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 64; align = 8; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u8 stream_id; }; };
clock { name = near; freq = 1000000000; offset_s = 100; };
clock { name = far; freq = 1000000000; offset_s = 9223372036; };
clock { name = early; freq = 1000000000; offset_s = -9223372037; };
typealias integer { size = 64; align = 8; map = clock.near.value; } := near_t;
typealias integer { size = 64; align = 8; map = clock.far.value; } := far_t;
typealias integer { size = 64; align = 8; map = clock.early.value; } := early_t;
stream { id = 0; packet.context := struct { u64 packet_size; near_t timestamp_begin; near_t timestamp_end; u64 packet_seq_num; };
    event.header := struct { u8 id; near_t timestamp; }; };
stream { id = 1; packet.context := struct { u64 packet_size; far_t timestamp_begin; far_t timestamp_end; u64 packet_seq_num; };
    event.header := struct { u8 id; far_t timestamp; }; };
stream { id = 2; packet.context := struct { u64 packet_size; early_t timestamp_begin; early_t timestamp_end; u64 packet_seq_num; };
    event.header := struct { u8 id; early_t timestamp; }; };
event { name = a; id = 1; stream_id = 0; fields := struct { u8 n; }; };
event { name = b; id = 1; stream_id = 1; fields := struct { u8 n; }; };
event { name = c; id = 1; stream_id = 2; fields := struct { u8 n; }; };
"#;

/// Returns a packet with events from ids and times.
fn packet(class: u8, sequence: u64, begin: u64, end: u64, events: &[(u8, u64)]) -> Vec<u8> {
    let mut e = Encoder::default();
    e.int(0xc1fc_1fc1, 32, Order::Le).raw(&[class]);
    let size = 5 + 32 + events.len() as u64 * 10;
    for number in [size * 8, begin, end, sequence] {
        e.int(number.into(), 64, Order::Le);
    }
    for (id, time) in events {
        e.raw(&[*id]).int((*time).into(), 64, Order::Le).raw(&[7]);
    }
    e.bytes
}

fn good(class: u8, sequence: u64) -> Vec<u8> {
    let begin = 1000 * (sequence + 1);
    packet(class, sequence, begin, begin + 900, &[(1, begin + 1), (1, begin + 2), (1, begin + 3)])
}

/// Returns times and damage of a trace whose only clock has 3 Hz, in Babeltrace's or exact arithmetic.
fn damage_of_a_slow_clock(arithmetic: ClockArithmetic, stream: &[u8]) -> (Vec<i128>, Vec<String>) {
    let metadata = METADATA.replace("freq = 1000000000; offset_s = 100;", "freq = 3; offset_s = 0;");
    let mut options = CtfOptions::default();
    options.clock_arithmetic = arithmetic;
    let files = tree(&[("metadata", metadata.as_bytes()), ("slow", stream)]);
    let trace = open(&[&files], &options).traces.remove(0);
    let (mut times, mut damages) = (Vec::new(), Vec::new());
    for observed in trace.cursors(Window::default()).into_iter().flat_map(all) {
        match observed {
            MessageReport::Event(event) => times.extend(event.nanoseconds),
            MessageReport::Damage(damage) => damages.push(damage.kind.to_string()),
            _ => {}
        }
    }
    (times, damages)
}

/// Returns the event times of each data stream in cycles, and the damage.
fn read(files: &[(&str, &[u8])]) -> (Vec<Vec<u64>>, Vec<Damage>) {
    let trace = trace(METADATA.as_bytes(), files);
    let (mut times, mut damages) = (Vec::new(), Vec::new());
    for cursor in trace.cursors(Window::default()) {
        let observed = all(cursor);
        times.push(
            observed
                .iter()
                .filter_map(
                    |observed| if let MessageReport::Event(event) = observed { event.cycles } else { None },
                )
                .collect(),
        );
        damages.extend(observed.into_iter().filter_map(|observed| {
            if let MessageReport::Damage(damage) = observed { Some(damage) } else { None }
        }));
    }
    (times, damages)
}

/// Reads a bad stream next to a good stream, which must not be affected.
fn beside(class: u8, bad: &[u8]) -> (Vec<u64>, Vec<DamageKind>) {
    let whole: Vec<u8> = (0..3).flat_map(|n| good(0, n)).collect();
    let (mut times, damages) = read(&[("a_good", &whole), ("bad", bad)]);
    assert_eq!(times.len(), 2);
    // Streams are sorted by class, and then by file.
    assert!(class > 0 || times[0] == [1001, 1002, 1003, 2001, 2002, 2003, 3001, 3002, 3003]);
    assert_eq!(times[0].len(), 9);
    assert!(damages.iter().all(|damage| damage.file.ends_with("bad")), "{damages:?}");
    (times.remove(1), damages.into_iter().map(|damage| damage.kind).collect())
}

/// 2^63 - 1 nanoseconds are 9223372036.854775807 seconds.
const LAST: u64 = 854_775_807;

#[test]
fn times_beyond_64_bits() {
    // A data stream's clock exceeds this in the second packet, which must be reported once.
    let near = LAST - 2000;
    let stream = [
        packet(1, 0, near, near + 10, &[(1, near + 1), (1, near + 2)]),
        packet(1, 1, LAST - 1, LAST + 10, &[(1, LAST - 1), (1, LAST), (1, LAST + 1), (1, LAST + 2)]),
        packet(1, 2, LAST + 20, LAST + 30, &[(1, LAST + 25)]),
    ]
    .concat();
    let (times, kinds) = beside(1, &stream);
    assert_eq!(times, [near + 1, near + 2, LAST - 1, LAST, LAST + 1, LAST + 2, LAST + 25]);
    assert_eq!(kinds, [DamageKind::TimeOverflow(i128::from(i64::MAX) + 1)]);
    // All events are beyond it.
    let (times, kinds) = beside(1, &packet(1, 0, 1 << 40, 1 << 41, &[(1, 1 << 40), (1, (1 << 40) + 1)]));
    assert_eq!(times, [1 << 40, (1 << 40) + 1]);
    assert_eq!(kinds, [DamageKind::TimeOverflow(9_223_372_036_000_000_000 + (1 << 40))]);
    // Below the first 64-bit time.
    let (times, kinds) = beside(2, &good(2, 0));
    assert_eq!(times, [1001, 1002, 1003]);
    assert_eq!(kinds, [DamageKind::TimeOverflow(-9_223_372_037_000_000_000 + 1001)]);
    // A single wrong time among good times is an error, not the end of time.
    let odd = packet(0, 0, 1000, 1900, &[(1, 1001), (1, u64::MAX), (1, 1003)]);
    let (times, kinds) = beside(0, &[odd, good(0, 1)].concat());
    assert_eq!(times, [1001, u64::MAX, 1003, 2001, 2002, 2003]);
    assert_eq!(kinds, [DamageKind::TimeOverflow(i128::from(u64::MAX) + 100_000_000_000)]);
}

#[test]
fn an_unknown_event_record_class() {
    let odd = packet(0, 1, 2000, 2900, &[(1, 2001), (9, 2002), (1, 2003)]);
    let (times, kinds) = beside(0, &[good(0, 0), odd, good(0, 2)].concat());
    assert_eq!(times, [1001, 1002, 1003, 2001, 3001, 3002, 3003]);
    assert_eq!(kinds, [Rule::EventRecordClass { data_stream_class: 0, id: 9 }.into()]);
}

#[test]
fn times_that_go_backwards() {
    let backwards = |from, to| DamageKind::ClockBackwards { from, to };
    let odd = |events: &[(u8, u64)]| [good(0, 0), packet(0, 1, 2000, 2900, events), good(0, 2)].concat();
    // Between events, before the packet, and after it.
    let (times, kinds) = beside(0, &odd(&[(1, 2005), (1, 2003), (1, 2004)]));
    assert_eq!(times, [1001, 1002, 1003, 2005, 2003, 2004, 3001, 3002, 3003]);
    assert_eq!(kinds, [backwards(2005, 2003)]);
    let (times, kinds) = beside(0, &odd(&[(1, 1999), (1, 2003)]));
    assert_eq!(times, [1001, 1002, 1003, 1999, 2003, 3001, 3002, 3003]);
    assert_eq!(kinds, [backwards(2000, 1999)]);
    let (times, kinds) = beside(0, &odd(&[(1, 2901), (1, 2902), (1, 2003)]));
    assert_eq!(times, [1001, 1002, 1003, 2901, 2902, 2003, 3001, 3002, 3003]);
    assert_eq!(kinds, [DamageKind::EventAfterPacket { cycles: 2901, end: 2900 }]);
    // A packet that ends after the next packet's begin.
    let long = packet(0, 1, 2000, 1 << 50, &[(1, 2001)]);
    let (times, kinds) = beside(0, &[good(0, 0), long, good(0, 2)].concat());
    assert_eq!(times, [1001, 1002, 1003, 2001, 3001, 3002, 3003]);
    assert_eq!(kinds, [Rule::EndAfterNext { end: 1 << 50, next: 3000 }.into()]);
    // A packet that begins long after its successors: it keeps its place.
    for begin in [0, 1500, 1 << 50] {
        let odd = packet(0, 3, begin, 4900, &[(1, 4001)]);
        let stream = [good(0, 0), good(0, 1), good(0, 2), odd, good(0, 4)].concat();
        let (times, kinds) = beside(0, &stream);
        assert_eq!(times[9..], [4001, 5001, 5002, 5003], "{begin}");
        assert_eq!(kinds, [Rule::Misplaced { begin }.into()]);
    }
    // Packets in the wrong places are sorted by time.
    let (times, kinds) = beside(0, &[good(0, 0), good(0, 2), good(0, 1), good(0, 3)].concat());
    assert!(times.is_sorted() && times.len() == 12);
    assert!(matches!(&kinds[..], [DamageKind::Rule(rule)] if rule.name == "packet-order"), "{kinds:?}");
}

#[test]
fn packets_that_are_there_twice() {
    let (times, kinds) = beside(0, &[good(0, 0), good(0, 1), good(0, 1), good(0, 2)].concat());
    assert!(times.is_sorted() && times.len() == 9);
    assert_eq!(kinds, [Rule::Copy(good(0, 0).len() as u64).into()]);
    // In another file, they belong to another snapshot.
    let (_, damages) = read(&[("one", &good(0, 0)), ("two", &good(0, 0))]);
    assert_eq!(damages, []);
}

/// Packets without an end and a sequence number can have the same bytes. The second packet is a copy only if the clock
/// moves within them.
#[test]
fn packets_of_the_same_bytes() {
    let metadata = METADATA
        .replace("near_t timestamp_end; u64 packet_seq_num;", "")
        .replace("u8 stream_id;", "u8 stream_id; u8 stream_instance_id;");
    let packet = |begin: u64, times: &[u64]| {
        let mut bytes = packet(0, 0, begin, 0, &times.iter().map(|time| (1, *time)).collect::<Vec<_>>());
        bytes.drain(21..37);
        bytes.insert(5, 1);
        let size = bytes.len() as u64 * 8;
        bytes[6..14].copy_from_slice(&size.to_le_bytes());
        bytes
    };
    let read = |files: &[&[u8]]| {
        let names = ["one", "two"];
        let streams: Vec<(&str, &[u8])> = names.into_iter().zip(files.iter().copied()).collect();
        let trace = trace(metadata.as_bytes(), &streams);
        let observed: Vec<MessageReport> =
            trace.cursors(Window::default()).into_iter().flat_map(all).collect();
        let damages = observed.iter().filter(|observed| matches!(observed, MessageReport::Damage(_))).count();
        let events = observed.iter().filter(|observed| matches!(observed, MessageReport::Event(_))).count();
        (events, damages, trace.streams().iter().map(|summary| summary.repeated_packets).sum::<u64>())
    };
    let still = packet(5, &[5, 5]);
    let moving = packet(5, &[5, 6]);
    let empty = packet(5, &[]);
    let end = packet(9, &[9]);
    assert_eq!(read(&[&[&still[..], &still, &still, &end].concat()]), (7, 0, 0));
    assert_eq!(read(&[&[&empty[..], &empty, &still, &end].concat()]), (3, 0, 0));
    assert_eq!(read(&[&[&moving[..], &moving, &moving, &end].concat()]), (3, 2, 0));
    assert_eq!(read(&[&[&still[..], &still, &moving, &moving, &end].concat()]), (7, 1, 0));
    // In another file, they belong to another snapshot, as far as this can be seen.
    assert_eq!(read(&[&[&moving[..], &end].concat(), &[&moving[..], &end].concat()]), (4, 0, 1));
}

/// A packet with an impossible size gets the previous packet's size, if the next packet begins there.
#[test]
fn packets_with_an_impossible_size() {
    let taken = 8 * (5 + 32);
    let short = |length| Rule::PacketTooShort { what: "a total length", length, taken };
    for (total, rule) in [(0, short(0)), (8, short(8)), (u64::MAX, Rule::PartialByte(u64::MAX))] {
        let mut wrong = good(0, 1);
        wrong[5..13].copy_from_slice(&total.to_le_bytes());
        let (times, kinds) = beside(0, &[good(0, 0), wrong.clone(), good(0, 2)].concat());
        assert_eq!(times, [1001, 1002, 1003, 2001, 2002, 2003, 3001, 3002, 3003], "{total}");
        assert_eq!(kinds, [rule.into()]);
        // Bytes are missing in it.
        wrong.remove(40);
        let (times, kinds) = beside(0, &[good(0, 0), wrong, good(0, 2)].concat());
        assert_eq!((times, kinds.len()), (vec![1001, 1002, 1003, 3001, 3002, 3003], 1), "{total}");
    }
}

/// A ring buffer's newest packet may be open: its tracer has not written its end.
#[test]
fn a_ring_buffer_with_an_open_packet() {
    let mut open = good(0, 5);
    open[21..29].fill(0);
    let (times, kinds) = beside(0, &[good(0, 4), open, good(0, 2), good(0, 3)].concat());
    assert_eq!(times, [3001, 3002, 3003, 4001, 4002, 4003, 5001, 5002, 5003, 6001, 6002, 6003]);
    let is_of_order = |kind: &DamageKind| format!("{kind:?}").contains("Misplaced");
    assert!(!kinds.iter().any(is_of_order), "{kinds:?}");
}

/// A single wrong time does not make a ring buffer, if the sequence numbers are in order.
#[test]
fn a_wrong_begin_makes_no_ring() {
    let mut first = good(0, 0);
    first[13..21].copy_from_slice(&u64::from(u32::MAX).to_le_bytes());
    let (times, kinds) = beside(0, &[first, good(0, 1), good(0, 2)].concat());
    assert_eq!(times, [1001, 1002, 1003, 2001, 2002, 2003, 3001, 3002, 3003]);
    assert!(!kinds.is_empty());
}

/// Consecutive packets with wrong sizes do not contain each other, and do not indicate missing packets.
#[test]
fn packets_with_impossible_sizes_in_a_row() {
    let padded = |sequence: u64, total: u64| {
        let mut bytes = good(0, sequence);
        let content = bytes.len() as u64 * 8;
        bytes[5..13].copy_from_slice(&total.to_le_bytes());
        bytes.splice(13..13, content.wrapping_add(64).to_le_bytes());
        bytes.resize(4096, 0);
        bytes
    };
    let metadata = METADATA.replace("u64 packet_size;", "u64 packet_size; u64 content_size;");
    for totals in [[8 * 4096, 0, 0, 8 * 4096], [0; 4]] {
        let stream: Vec<u8> = (0..4).flat_map(|number| padded(number, totals[number as usize])).collect();
        let trace = trace(metadata.as_bytes(), &[("stream", &stream)]);
        let (mut events, mut damages) = (0, Vec::new());
        for observed in trace.cursors(Window::default()).into_iter().flat_map(all) {
            match observed {
                MessageReport::Event(_) => events += 1,
                MessageReport::Damage(damage) => damages.push(damage.kind),
                other => assert!(!format!("{other:?}").contains("Discarded"), "{other:?}"),
            }
        }
        assert_eq!(events, 12, "{totals:?}");
        let too_long = Rule::ContentBeyondTotal { content: 8 * (37 + 8 + 30), total: 0 };
        let wrong = totals.iter().filter(|total| **total == 0).count();
        assert_eq!(damages, vec![too_long.into(); wrong], "{totals:?}");
    }
}

/// The search for the end of a packet with an impossible size stops at the next packet, whatever it is.
#[test]
fn very_many_packets_with_an_impossible_size() {
    let count = 10_000;
    let uuid = "uuid = \"00010203-0405-0607-0809-0a0b0c0d0e0f\";";
    let metadata = METADATA.replace("minor = 8;", &format!("minor = 8; {uuid}"));
    let metadata = metadata.replace("u32 magic;", "u32 magic; u8 uuid[16];");
    let with_uuid = |sequence: u64, uuid: [u8; 16], total: u64| {
        let mut bytes = packet(0, sequence, 1000 * sequence, 1000 * sequence + 900, &[]);
        bytes[5..13].copy_from_slice(&total.to_le_bytes());
        bytes.splice(4..4, uuid);
        bytes
    };
    let own = std::array::from_fn(|at| at as u8);
    let mut stream = Vec::new();
    for number in 0..count {
        stream.extend(with_uuid(2 * number, (u128::from(number) + (1 << 64)).to_le_bytes(), 8 * 53));
        stream.extend(with_uuid(2 * number + 1, own, 0));
    }
    let trace = trace(metadata.as_bytes(), &[("stream", &stream)]);
    assert_eq!(trace.streams[0].packets.len() as u64, 2 * count);
}

/// Packets with a class that the metadata lacks are not read as another class, even if it is the only class.
#[test]
fn packets_of_a_class_that_the_metadata_lacks() {
    let class_begin = METADATA.find("stream { id = 1;").unwrap();
    let class_end = METADATA.find("event { name = a;").unwrap();
    let mut metadata = format!("{}{}", &METADATA[..class_begin], &METADATA[class_end..]);
    metadata.truncate(metadata.find("event { name = b;").unwrap());
    let times = |packets: &[Vec<u8>]| {
        let trace = trace(metadata.as_bytes(), &[("good", &good(0, 9)), ("stream", &packets.concat())]);
        let observed = trace.cursors(Window::default()).into_iter().flat_map(all);
        let times = observed.filter_map(|observed| match observed {
            MessageReport::Event(event) => event.cycles.filter(|time| *time < 9000),
            _ => None,
        });
        times.collect::<Vec<_>>()
    };
    assert!(times(&[good(7, 0), good(7, 1), good(7, 2)]).is_empty());
    assert_eq!(
        times(&[good(0, 0), good(7, 0), good(0, 1), good(7, 1)]),
        [1001, 1002, 1003, 2001, 2002, 2003]
    );
    assert_eq!(times(&[good(0, 0), good(7, 1), good(7, 2)]), [1001, 1002, 1003]);
    // A single wrong id.
    assert_eq!(times(&[good(0, 0), good(7, 1), good(0, 2)]).len(), 9);
    assert_eq!(times(&[good(7, 0), good(0, 1)]).len(), 6);
    assert_eq!(times(&[good(0, 0), good(7, 1)]).len(), 6);
}

/// If two files both contain packets from two data streams, the packets stay as they are, even if their numbers restart
/// or wrap.
#[test]
fn files_of_several_data_streams() {
    let metadata = METADATA.replace("u8 stream_id;", "u8 stream_id; u8 stream_instance_id;");
    let packet = |instance: u8, sequence: u64, first: u64| {
        let mut bytes = packet(0, sequence, first, first + 900, &[(1, first + 1), (1, first + 2)]);
        bytes.insert(5, instance);
        let size = bytes.len() as u64 * 8;
        bytes[6..14].copy_from_slice(&size.to_le_bytes());
        bytes
    };
    // In this file, each packet has the number after the previous packet, which belongs to the other data stream.
    let file = |first: u64| -> Vec<u8> {
        (0..20u64).flat_map(|n| packet(1 + (n % 2) as u8, n, first + 1000 * n)).collect()
    };
    for second in [1_000_500, 9_000_000] {
        let trace = trace(metadata.as_bytes(), &[("a", &file(1_000_000)), ("b", &file(second))]);
        let packets: Vec<_> = trace.streams.iter().map(|stream| stream.packets.len()).collect();
        assert_eq!(packets, [20, 20], "{second}");
    }
    // A single packet from another data stream with its number in a file from another time is not a duplicate.
    let one = [packet(1, 0, 1000), packet(2, 1, 2000), packet(1, 2, 3000)].concat();
    let two = [packet(2, 0, 1_001_500), packet(2, 1, 1_002_500)].concat();
    let trace = trace(metadata.as_bytes(), &[("a", &one), ("b", &two)]);
    let packets: Vec<_> = trace.streams.iter().map(|stream| stream.packets.len()).collect();
    assert_eq!(packets, [2, 3]);
}

/// PROP-1.0 clocks continue from packet to packet. Corrected packets and their data streams must keep their times.
#[test]
fn corrected_packets_of_clocks_that_go_on() {
    let int = |name: &str, size: u32| {
        format!(r#"{{"name":"{name}","field-type":{{"field-type":"int","size":{size}}}}}"#)
    };
    let tag = |name: &str, scope: &str, path: &str, more: &str| {
        format!(r#"{{"tag":"{name}","path":{{"scope":"{scope}","path":[{path}]}}{more}}}"#)
    };
    let clock = r#","data-stream-clock-class-name":"c""#;
    let (header, context) = ("trace-packet-header", "data-stream-packet-context");
    let now = "update-data-stream-clock-now";
    let metadata = format!(
        r#"["CTF 2",{{"fragment":"data-stream-clock-class","name":"c","freq":1000000000}},
        {{"fragment":"trace-class","default-byte-order":"le",
            "packet-header-field-type":{{"field-type":"struct","fields":[{},{}]}},"tags":[{},{}]}},
        {{"fragment":"data-stream-class","packet-context-field-type":{{"field-type":"struct","fields":[{}]}},
            "event-record-context-field-type":{{"field-type":"int","size":16}},"tags":[{}]}},
        {{"fragment":"event-record-class"}}]"#,
        int("magic", 32),
        int("stream", 8),
        tag("magic", header, r#""magic""#, ""),
        tag("data-stream-id", header, r#""stream""#, ""),
        [int("total", 32), int("number", 32), int("begin", 16), int("end", 16)].join(","),
        [
            tag("packet-total-size", context, r#""total""#, ""),
            tag("packet-sequence-number", context, r#""number""#, ""),
            tag(now, context, r#""begin""#, clock),
            tag("update-data-stream-clock-after-packet", context, r#""end""#, clock),
            tag(now, "data-stream-event-record-context", "", clock),
        ]
        .join(","),
    );
    let packet = |stream: u8, number: i128, begin: i128, total: i128| {
        let mut e = Encoder::default();
        e.int(0xc1fc_1fc1, 32, Order::Le).raw(&[stream]).int(total, 32, Order::Le).int(number, 32, Order::Le);
        for time in [begin, begin + 900, begin + 1] {
            e.int(time, 16, Order::Le);
        }
        e.bytes
    };
    let whole = 8 * 19;
    let read = |files: &[(&str, &[u8])]| {
        let trace = trace(metadata.as_bytes(), files);
        let (mut times, mut damages) = (Vec::new(), Vec::new());
        for observed in trace.cursors(Window::default()).into_iter().flat_map(all) {
            match observed {
                MessageReport::Event(event) => times.extend(event.cycles),
                MessageReport::Damage(damage) => damages.push(damage.kind),
                _ => {}
            }
        }
        (times, damages)
    };
    let two = [packet(2, 0, 1500, whole), packet(2, 1, 2500, whole)].concat();
    let wrong_id = [packet(1, 0, 1000, whole), packet(2, 1, 2000, whole), packet(1, 2, 3000, whole)].concat();
    let (times, kinds) = read(&[("one", &wrong_id), ("two", &two)]);
    assert_eq!(kinds, [Rule::DataStream { found: 2, expected: 1 }.into()]);
    assert_eq!(times, [1001, 2001, 3001, 1501, 2501]);
    let wrong_size = [packet(1, 0, 1000, whole), packet(1, 1, 2000, 0), packet(1, 2, 3000, whole)].concat();
    let (times, kinds) = read(&[("one", &wrong_size), ("two", &two)]);
    let short = Rule::PacketTooShort { what: "a total length", length: 0, taken: 8 * 17 };
    assert_eq!(kinds, [short.into()]);
    assert_eq!(times, [1001, 2001, 3001, 1501, 2501]);
}

/// A packet with another data stream's id, which already has its number, belongs to the packets next to it.
#[test]
fn packets_with_the_id_of_another_data_stream() {
    let metadata = METADATA.replace("u8 stream_id;", "u8 stream_id; u8 stream_instance_id;");
    let packet = |instance: u8, sequence: u64, first: u64| {
        let mut bytes = packet(0, sequence, first, first + 900, &[(1, first + 1), (1, first + 2)]);
        bytes.insert(5, instance);
        let size = bytes.len() as u64 * 8;
        bytes[6..14].copy_from_slice(&size.to_le_bytes());
        bytes
    };
    let one = [packet(1, 0, 1000), packet(2, 1, 2000), packet(1, 2, 3000)].concat();
    let two = [packet(2, 0, 1500), packet(2, 1, 2500)].concat();
    let trace = trace(metadata.as_bytes(), &[("one", &one), ("two", &two)]);
    let read = trace.cursors(Window::default()).into_iter().map(|cursor| {
        let (mut times, mut damages) = (Vec::new(), Vec::new());
        for observed in all(cursor) {
            match observed {
                MessageReport::Event(event) => times.extend(event.cycles),
                MessageReport::Damage(damage) => damages.push(damage.kind),
                _ => {}
            }
        }
        (times, damages)
    });
    let wrong = Rule::DataStream { found: 2, expected: 1 };
    let expected = [
        (vec![1001, 1002, 2001, 2002, 3001, 3002], vec![wrong.into()]),
        (vec![1501, 1502, 2501, 2502], vec![]),
    ];
    assert_eq!(read.collect::<Vec<_>>(), expected);
}

/// Without a magic number, consecutive packets show where they begin.
#[test]
fn packets_without_a_magic_number() {
    let metadata = METADATA.replace("u32 magic; ", "");
    let without = |bytes: Vec<u8>| bytes[4..].to_vec();
    let packets: Vec<Vec<u8>> = (0..3)
        .map(|n| {
            let mut bytes = without(good(0, n));
            let size = bytes.len() as u64 * 8;
            bytes[1..9].copy_from_slice(&size.to_le_bytes());
            bytes
        })
        .collect();
    let read = |stream: &[u8]| {
        let trace = trace(metadata.as_bytes(), &[("stream", stream)]);
        let observed: Vec<MessageReport> =
            trace.cursors(Window::default()).into_iter().flat_map(all).collect();
        let events = observed.iter().filter(|observed| matches!(observed, MessageReport::Event(_))).count();
        (
            events,
            observed.iter().filter(|observed| matches!(observed, MessageReport::Damage(_))).count()
                + trace.damage().len(),
        )
    };
    assert_eq!(read(&packets.concat()), (9, 0));
    let mut lie = packets.clone();
    lie[1][1..9].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let (events, damages) = read(&lie.concat());
    assert!(events == 9 && damages > 0, "{events} {damages}");
    lie[1][1..9].copy_from_slice(&0u64.to_le_bytes());
    assert_eq!(read(&lie.concat()), (9, 1));
    // The first packet's size is unknown.
    lie[0][1..9].copy_from_slice(&0u64.to_le_bytes());
    lie[1] = packets[1].clone();
    assert_eq!(read(&lie.concat()), (6, 1));
}

/// A killed tracer had begun a packet in the padding of the last one, but had not ended the last one before it.
#[test]
fn a_begun_packet_in_the_padding_is_not_damage() {
    let metadata = METADATA.replace("u64 packet_size;", "u64 content_size; u64 packet_size;");
    let with_sizes = |mut bytes: Vec<u8>, total: usize| {
        let [content, total] = [bytes.len() + 8, total].map(|size| (8 * size as u64).to_le_bytes());
        bytes.splice(5..13, [content, total].concat());
        bytes
    };
    let read = |packets: &[Vec<u8>]| {
        let stream = packets.concat();
        let trace = trace(metadata.as_bytes(), &[("stream", &stream)]);
        let observed: Vec<MessageReport> =
            trace.cursors(Window::default()).into_iter().flat_map(all).collect();
        let events = observed.iter().filter(|observed| matches!(observed, MessageReport::Event(_))).count();
        let damages = observed.iter().filter(|observed| matches!(observed, MessageReport::Damage(_))).count();
        (events, damages + trace.damage().len())
    };
    let size = good(0, 0).len() + 8;
    for before in [0, 2] {
        let first: Vec<_> = (0..before).map(|n| with_sizes(good(0, n), size)).collect();
        let last = with_sizes(good(0, before), size + 200);
        let events = 3 * (before as usize + 1);
        let begun =
            |events: &[(u8, u64)], total| with_sizes(packet(0, before + 1, 9000, 9000, events), total);
        let with_rest = |mut rest: Vec<u8>| {
            rest.resize(200, 0);
            read(&[&first[..], &[last.clone(), rest]].concat())
        };
        assert_eq!(with_rest(Vec::new()), (events, 0));
        assert_eq!(with_rest(begun(&[], 200)), (events, 0));
        // Other packets there show that the size of the last one is wrong.
        let (found, damages) = with_rest(begun(&[], 150));
        assert!(found == events && damages > 0, "{found} {damages}");
        assert_eq!(with_rest(begun(&[(1, 9000)], 200)), (events + 1, 1));
    }
}

/// Without sequence numbers, a size that leads to a packet may be right. If it is larger than all others, the packet is
/// searched for others.
#[test]
fn packets_without_a_sequence_number() {
    let metadata = METADATA.replace(" u64 packet_seq_num;", "");
    let mut packets: Vec<Vec<u8>> = (0..5)
        .map(|n| {
            let mut bytes = good(0, n);
            bytes.drain(29..37);
            let size = bytes.len() as u64 * 8;
            bytes[5..13].copy_from_slice(&size.to_le_bytes());
            bytes
        })
        .collect();
    let size = packets[0].len() as u64 * 8;
    packets[1][5..13].copy_from_slice(&(2 * size).to_le_bytes());
    packets[3][5..13].copy_from_slice(&(2 * size).to_le_bytes());
    let trace = trace(metadata.as_bytes(), &[("stream", &packets.concat())]);
    let observed: Vec<MessageReport> = trace.cursors(Window::default()).into_iter().flat_map(all).collect();
    let events = observed.iter().filter(|observed| matches!(observed, MessageReport::Event(_))).count();
    let within = DamageKind::PacketWithin { total: 2 * size, available: size };
    let damages: Vec<&DamageKind> = observed
        .iter()
        .filter_map(
            |observed| if let MessageReport::Damage(damage) = observed { Some(&damage.kind) } else { None },
        )
        .collect();
    assert_eq!((events, damages.iter().filter(|kind| ***kind == within).count()), (15, 2), "{damages:?}");
}

/// A cursor that starts in the middle continues like a cursor that arrived there.
#[test]
fn reading_from_the_middle() {
    let stream = [
        good(0, 0),
        packet(0, 1, 2000, 2900, &[(1, 2901), (1, 2902), (1, 2003)]),
        packet(0, 2, 3000, 1 << 50, &[(1, 3001), (1, u64::MAX), (1, 3005)]),
        packet(0, 3, 10, 4900, &[(1, 4001), (9, 4002)]),
        good(0, 4),
        good(0, 6),
        good(0, 5),
        good(0, 7),
    ]
    .concat();
    let trace = trace(METADATA.as_bytes(), &[("stream", &stream)]);
    let rest = |cursor: &mut dyn StreamCursor| {
        let mut rest = Vec::new();
        loop {
            rest.push(match cursor.current() {
                Some(Message::Event(event)) => format!("event {:?}", event.clock),
                Some(Message::Damage(damage)) => damage.to_string(),
                Some(Message::PacketBegin(packet)) => format!("begin {:?} {:?}", packet.begin, packet.end),
                Some(Message::PacketEnd(packet)) => format!("end {:?} {:?}", packet.begin, packet.end),
                other => format!("{:?}", other.is_some()),
            });
            if !cursor.advance() {
                return rest;
            }
        }
    };
    let mut same = 0;
    for begin in 100_000_000_900..100_000_010_000i128 {
        let window = Window::default();
        let mut from = trace.cursor_from(0, window, begin).unwrap();
        let mut through = trace.cursors(window).remove(0);
        while through.next_head().is_some_and(|head| head.nanoseconds().is_none_or(|time| time < begin)) {}
        if from.head().is_some() && from.checkpoint() == through.checkpoint() {
            assert_eq!(rest(&mut from), rest(&mut through), "{begin}");
            same += 1;
        }
    }
    assert!(same > 1000, "{same}");
}

/// A packet is truncated anywhere, even inside its context, which then seems to continue with the next packet's start.
#[test]
fn a_packet_that_is_cut_off_takes_nothing_of_the_next_one() {
    let bad = good(0, 1);
    for events in [0, 3, 30] {
        let events: Vec<(u8, u64)> = (0..events).map(|n| (1, 3001 + n)).collect();
        let next = packet(0, 2, 3000, 3900, &events);
        let expected: Vec<u64> = events.iter().map(|(_, time)| *time).chain([4001, 4002, 4003]).collect();
        for length in 1..bad.len() {
            let bytes = [&good(0, 0), &bad[..length], &next, &good(0, 3)].map(|part| part.to_vec()).concat();
            let (times, damages) = read(&[("bad", &bytes)]);
            assert_eq!(times[0][..3], [1001, 1002, 1003], "{length}");
            assert!(times[0].ends_with(&expected), "{length}: {:?}", times[0]);
            assert!(!damages.is_empty(), "{length}");
            // The file's last packet, too.
            let bytes = [&good(0, 0), &bad[..length], &good(0, 3)].map(|part| part.to_vec()).concat();
            let (times, _) = read(&[("bad", &bytes)]);
            assert!(times[0].ends_with(&[4001, 4002, 4003]), "{length}: {:?}", times[0]);
        }
    }
}

#[test]
fn damage_has_one_time_in_both_arithmetics() {
    // The last value before 2^63 nanoseconds is 27670116110.
    let last = 27_670_116_110;
    let stream = packet(0, 0, last - 9, last + 9, &[(1, last), (1, last + 1), (1, last + 2)]);
    let (exact_times, exact) = damage_of_a_slow_clock(ClockArithmetic::Exact, &stream);
    let (double_times, double) = damage_of_a_slow_clock(ClockArithmetic::Double, &stream);
    let text = "the time of an event, 9223372037000000000 nanoseconds from the clock's origin, does not fit in 64 bits";
    assert_eq!(exact, [text]);
    assert_eq!(exact, double);
    assert_eq!(exact_times[1], 9_223_372_037_000_000_000);
    assert_ne!(exact_times, double_times);
}
