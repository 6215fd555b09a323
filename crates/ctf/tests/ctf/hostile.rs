//! Invalid data streams and metadata. Each must cause a clear error or reported damage, readable parts must be read,
//! and time and memory must stay bounded.

use ichnos_ctf::rule::Rule;
use ichnos_ctf::trace::{CtfOptions, open};
use ichnos_io::{IoLimits, Tree};
use ichnos_model::cursor::MessageKind;
use ichnos_model::message::DamageKind;
use ichnos_model::{OpenedTrace, Window};

use crate::nested_classes::{doubled_prop1, doubled_spec2, spec2};
use crate::reading::{MessageReport, all, damage, events, observed, opened, packets, refusal, trace, tree};
use crate::support::quick;
use ichnos_testing::encoder::{Encoder, Order};

/// CTF 1.8 with ids, sizes, times, counters, and events with a number or a text.
const SMALL: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 64; align = 8; } := u64;
typealias integer { size = 64; align = 8; map = clock.c.value; } := ts;
trace {
    major = 1; minor = 8; byte_order = le;
    uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
    packet.header := struct { u32 magic; u8 uuid[16]; u8 stream_id; u8 stream_instance_id; };
};
clock { name = c; freq = 1000000000; };
stream {
    id = 1;
    packet.context := struct {
        u64 packet_size; u64 content_size; ts timestamp_begin; ts timestamp_end;
        u64 events_discarded; u64 packet_seq_num;
    };
    event.header := struct { u8 id; ts timestamp; };
};
stream {
    id = 2;
    packet.context := struct { u64 packet_size; u64 content_size; ts timestamp_begin; ts timestamp_end; };
    event.header := struct { u8 id; ts timestamp; };
};
event { name = number; id = 0; stream_id = 1; fields := struct { u32 n; }; };
event { name = text; id = 1; stream_id = 1; fields := struct { string t; u8 length; u8 bytes[length]; }; };
event { name = other; id = 0; stream_id = 2; fields := struct { u8 n; }; };
"#;

/// A packet for [`SMALL`].
#[derive(Clone)]
struct SmallPacket {
    magic: i128,
    uuid: u8,
    class: u8,
    instance: u8,
    begin: u64,
    end: u64,
    discarded: u64,
    sequence: u64,
    /// Event id and time. The id selects a number, a text or an unknown class.
    events: Vec<(u8, u64)>,
    padding: usize,
}

/// Bit offsets of the sizes in a packet.
const TOTAL: u64 = (4 + 16 + 2) * 8;
const CONTENT: u64 = TOTAL + 64;

impl SmallPacket {
    fn new(sequence: u64, begin: u64) -> Self {
        Self {
            magic: 0xc1fc_1fc1,
            uuid: 0,
            class: 1,
            instance: 0,
            begin,
            end: begin + 90,
            discarded: 0,
            sequence,
            events: vec![(0, begin + 1), (1, begin + 2), (0, begin + 3)],
            padding: 5,
        }
    }

    fn encoder(&self) -> Encoder {
        let mut e = Encoder::default();
        e.int(self.magic, 32, Order::Le);
        e.raw(&[self.uuid, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, self.class, self.instance]);
        e.int(0, 128, Order::Le);
        for value in [self.begin, self.end] {
            e.int(value.into(), 64, Order::Le);
        }
        if self.class == 1 {
            e.int(self.discarded.into(), 64, Order::Le).int(self.sequence.into(), 64, Order::Le);
        }
        for (id, time) in &self.events {
            e.raw(&[*id]).int((*time).into(), 64, Order::Le);
            match (self.class, id) {
                (1, 0) => e.int(77, 32, Order::Le),
                (1, 1) => e.raw(b"text\0\x03abc"),
                _ => e.raw(&[7]),
            };
        }
        let content = e.at;
        e.raw(&vec![0; self.padding]);
        let total = e.at;
        e.patch(TOTAL, total, 64, Order::Le);
        e.patch(CONTENT, content, 64, Order::Le);
        e
    }

    fn bytes(&self) -> Vec<u8> {
        self.encoder().bytes
    }

    /// Encodes the packet with other sizes.
    fn sized(&self, total: u64, content: u64) -> Vec<u8> {
        let mut e = self.encoder();
        e.patch(TOTAL, total, 64, Order::Le);
        e.patch(CONTENT, content, 64, Order::Le);
        e.bytes
    }
}

/// Returns all reports for a stream of [`SMALL`], and the number of damages outside data streams.
fn read(stream: &[u8]) -> (Vec<MessageReport>, usize) {
    let trace = trace(SMALL.as_bytes(), &[("stream", stream)]);
    // Summaries must also work.
    assert_eq!(trace.streams().len(), trace.streams.len());
    (observed(&trace), trace.damage().len())
}

fn times(observed: &[MessageReport]) -> Vec<u64> {
    events(observed).iter().map(|event| event.cycles.unwrap()).collect()
}

#[test]
fn an_empty_stream() {
    let (observed, outside) = read(&[]);
    assert!(observed.is_empty());
    assert_eq!(outside, 0);
}

#[test]
fn metadata_that_is_none() {
    for text in [&b""[..], b" \n", b"\0", b"/* CTF 1.8 */", b"[", b"\x1e", b"{}", b"\xff\xfe", b"[\"CTF 2\"]"]
    {
        let opened = opened(text, &[("stream", &SmallPacket::new(0, 0).bytes())]);
        assert_eq!(opened.traces.len() + opened.errors.len(), 1, "{text:?}");
        assert!(opened.errors.iter().all(|error| !error.diagnostics.is_empty()), "{text:?}");
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for name in ["directory/metadata", "dangling"] {
        std::fs::create_dir_all(directory.join(name)).unwrap();
    }
    std::fs::write(directory.join("directory/stream"), SmallPacket::new(0, 0).bytes()).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", directory.join("dangling/metadata")).unwrap();
    let read = |name: &str| {
        let tree = Tree::open(&directory.join(name), &IoLimits::default()).unwrap();
        open(&[&tree], &CtfOptions::default())
    };
    let directory = read("directory");
    assert!(directory.traces.is_empty());
    let dangling = read("dangling");
    assert!(dangling.traces.is_empty());
    #[cfg(unix)]
    assert!(dangling.errors[0].to_string().contains("cannot be read"), "{}", dangling.errors[0]);
}

#[test]
fn a_wrong_magic_number() {
    let bad = SmallPacket { magic: 0x1234_5678, ..SmallPacket::new(0, 100) };
    let [bad, good] = [bad.bytes(), SmallPacket::new(1, 200).bytes()];
    for stream in [[bad.clone(), good.clone()].concat(), [good.clone(), bad.clone()].concat()] {
        let (observed, outside) = read(&stream);
        assert_eq!(times(&observed), [201, 202, 203]);
        assert_eq!(damage(&observed).len(), 1);
        assert_eq!(damage(&observed)[0].kind, Rule::Magic(0x1234_5678).into());
        assert_eq!(damage(&observed)[0].skipped, bad.len() as u64 * 8);
        assert_eq!(outside, 0);
    }
    let (observed, outside) = read(&bad);
    assert_eq!((observed.len(), outside), (0, 1));
}

#[test]
fn cut_off_at_every_byte() {
    let packets = [
        SmallPacket::new(0, 100),
        SmallPacket { padding: 0, ..SmallPacket::new(1, 200) },
        SmallPacket::new(2, 300),
    ];
    let packets: Vec<Vec<u8>> = packets.iter().map(SmallPacket::bytes).collect();
    let ends: Vec<usize> = (1..=3).map(|n| packets[..n].iter().map(Vec::len).sum()).collect();
    let whole: Vec<u8> = packets.concat();
    let (complete, _) = read(&whole);
    assert_eq!(damage(&complete).len(), 0);
    let all = times(&complete);
    assert_eq!(all.len(), 9);
    for cut in 0..whole.len() {
        let (observed, outside) = read(&whole[..cut]);
        let found = times(&observed);
        assert_eq!(found, all[..found.len()], "{cut}");
        // Complete packets are read. The truncated packet is read up to the last complete event.
        let whole_packets = ends.iter().filter(|end| **end <= cut).count();
        let begin = if whole_packets == 0 { 0 } else { ends[whole_packets - 1] };
        let first_event = 4 + 16 + 2 + 6 * 8;
        let of_cut = [13, 13 + 18, 13 + 18 + 13].iter().filter(|end| begin + first_event + **end <= cut);
        assert_eq!(found.len(), whole_packets * 3 + of_cut.count(), "{cut}");
        let expected = usize::from(cut != begin);
        assert_eq!(damage(&observed).len() + outside, expected, "{cut}: {:#?}", damage(&observed));
        let begun =
            observed.iter().filter(|observed| matches!(observed, MessageReport::PacketBegin(_))).count();
        let ended = observed.iter().filter(|observed| matches!(observed, MessageReport::PacketEnd)).count();
        assert_eq!(begun, ended, "{cut}");
    }
}

#[test]
fn sizes_that_cannot_be() {
    let good = SmallPacket::new(1, 200).bytes();
    let odd = SmallPacket::new(0, 100);
    let size = odd.bytes().len() as u64 * 8;
    // The next packet must be found with all sizes.
    for (total, content, events_of_odd) in [
        (1 << 60, 1 << 60, 3),
        (1 << 60, size - 40, 3),
        (u64::MAX - 7, u64::MAX - 7, 3),
        (2 * size, size - 40, 3),
        (size + 80, size - 40, 3),
        (size + 80, size + 80, 3),
        (u64::MAX, u64::MAX, 0),
        (size, size + 8, 3),
        (0, 0, 0),
        (0, size, 0),
        (8, 8, 0),
        (size + 1, size, 0),
    ] {
        let stream = [odd.sized(total, content), good.clone()].concat();
        let (observed, outside) = read(&stream);
        let mut expected = [101, 102, 103][..events_of_odd].to_vec();
        let found = times(&observed);
        assert_eq!(found[..events_of_odd], expected, "{total} {content}");
        assert_eq!(found[found.len() - 3..], [201, 202, 203], "{total} {content}");
        assert_eq!(outside, 0);
        // If both sizes are wrong, padding is also read as events.
        let padding = content > total.min(size) && total != size && events_of_odd > 0;
        if !padding {
            expected.extend([201, 202, 203]);
            assert_eq!(found, expected, "{total} {content}");
        }
        let most = if padding { 2 } else { 1 };
        assert!((1..=most).contains(&damage(&observed).len()), "{total} {content}: {:#?}", damage(&observed));
    }
}

#[test]
fn clocks_of_no_frequency() {
    let texts = [
        "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; }; clock { name = c; freq = 0; }; stream { };",
        r#"["CTF 2",{"fragment":"trace-class"},{"fragment":"data-stream-clock-class","name":"c","freq":0}]"#,
        r#"[{"type":"preamble","version":2},{"type":"trace-class"},{"type":"clock-class","name":"c","frequency":0},
            {"type":"data-stream-class"}]"#,
        "\u{1e}{\"type\":\"preamble\",\"version\":2}\n\u{1e}{\"type\":\"clock-class\",\"id\":\"c\",\"frequency\":0}\n\u{1e}{\"type\":\"data-stream-class\"}\n",
    ];
    for text in texts {
        assert!(!refusal(text.as_bytes()).is_empty());
    }
}

#[test]
fn duplicate_ids() {
    let prop2 = |more: &str| {
        format!(
            r#"[{{"type":"preamble","version":2}},{{"type":"trace-class"}},{{"type":"data-stream-class"}}{more}]"#
        )
    };
    let texts = [
        "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size = 8; } stream_id; }; }; stream { id = 1; }; stream { id = 1; };".to_owned(),
        "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; }; stream { event.header := struct { integer { size = 8; } id; }; }; event { id = 1; name = a; }; event { id = 1; name = b; };".to_owned(),
        r#"["CTF 2",{"fragment":"trace-class"},{"fragment":"data-stream-class"},{"fragment":"data-stream-class"}]"#.to_owned(),
        r#"["CTF 2",{"fragment":"trace-class"},{"fragment":"data-stream-class"},{"fragment":"event-record-class"},{"fragment":"event-record-class"}]"#.to_owned(),
        prop2(r#",{"type":"data-stream-class"}"#),
        prop2(r#",{"type":"event-record-class"},{"type":"event-record-class"}"#),
        spec2("") + "\u{1e}{\"type\":\"event-record-class\"}\n",
        spec2("") + "\u{1e}{\"type\":\"data-stream-class\"}\n",
    ];
    for text in texts {
        // Event records with an ambiguous id are not read, all others are.
        let is_of_events = text.contains("event {") || text.matches("event-record-class").count() > 1;
        if is_of_events {
            let opened = opened(text.as_bytes(), &[]);
            let problems: Vec<String> =
                opened.traces[0].diagnostics().iter().map(ToString::to_string).collect();
            assert!(
                problems.iter().any(|problem| problem.contains("duplicate event record class id")),
                "{text}"
            );
        } else {
            assert!(!refusal(text.as_bytes()).is_empty(), "{text}");
        }
    }
}

#[test]
fn an_unknown_event_record_class() {
    let mut odd = SmallPacket::new(0, 100);
    odd.events = vec![(0, 101), (9, 102), (0, 103)];
    let good = SmallPacket::new(1, 200).bytes();
    let (observed, _) = read(&[odd.bytes(), good.clone()].concat());
    assert_eq!(times(&observed), [101, 201, 202, 203]);
    assert_eq!(damage(&observed).len(), 1);
    assert_eq!(damage(&observed)[0].kind, Rule::EventRecordClass { data_stream_class: 1, id: 9 }.into());
    assert_eq!(packets(&observed).len(), 2);
    // If the packet is also truncated, both are reported.
    let bytes = odd.bytes();
    let (observed, _) = read(&bytes[..bytes.len() - 1]);
    assert_eq!(times(&observed), [101]);
    let kinds: Vec<_> = damage(&observed).iter().map(|damage| damage.kind.clone()).collect();
    assert!(
        matches!(&kinds[..], [DamageKind::Rule(rule), DamageKind::CutOff { .. }] if rule.name == "event-record-class"),
        "{kinds:?}"
    );
}

#[test]
fn several_data_streams_in_a_file() {
    let mut stream = Vec::new();
    for n in 0..3 {
        stream.extend(SmallPacket::new(n, 100 * (n + 1)).bytes());
        let other = SmallPacket {
            class: 2,
            events: vec![(0, 100 * (n + 1) + 7)],
            ..SmallPacket::new(0, 100 * (n + 1))
        };
        stream.extend(other.bytes());
        stream.extend(SmallPacket { instance: 5, ..SmallPacket::new(n, 1000 * (n + 1)) }.bytes());
    }
    let trace = trace(SMALL.as_bytes(), &[("stream", &stream)]);
    let all: Vec<Vec<u64>> =
        trace.cursors(Window::default()).into_iter().map(|cursor| times(&all(cursor))).collect();
    assert_eq!(
        all,
        [
            vec![101, 102, 103, 201, 202, 203, 301, 302, 303],
            vec![1001, 1002, 1003, 2001, 2002, 2003, 3001, 3002, 3003],
            vec![107, 207, 307],
        ]
    );
    assert!(trace.streams().iter().all(|stream| stream.damage.is_empty() && stream.packets == 3));
    // A packet with an unknown class.
    let (observed, _) = read(
        &[SmallPacket { class: 3, ..SmallPacket::new(0, 100) }.bytes(), SmallPacket::new(1, 200).bytes()]
            .concat(),
    );
    assert_eq!(times(&observed), [201, 202, 203]);
    assert_eq!(damage(&observed)[0].kind, Rule::DataStreamClass(3).into());
}

#[test]
fn a_foreign_uuid() {
    let foreign = |n: u64| SmallPacket { uuid: 99, ..SmallPacket::new(n, 100 * (n + 1)) }.bytes();
    let (observed, _) = read(&[foreign(0), foreign(1)].concat());
    assert_eq!(times(&observed), [101, 102, 103, 201, 202, 203]);
    assert_eq!(damage(&observed).len(), 1);
    assert_eq!(damage(&observed)[0].kind.rule().unwrap().name, "packet-uuid");
    // After bytes that are not a packet.
    let bad = SmallPacket { magic: 1, ..SmallPacket::new(0, 100) }.bytes();
    let (observed, outside) = read(&[bad.clone(), foreign(1), foreign(2)].concat());
    assert_eq!(times(&observed), [201, 202, 203, 301, 302, 303]);
    assert_eq!(outside, 0);
    // Packets with the right UUID are preferred.
    let (observed, _) = read(&[bad, foreign(1), SmallPacket::new(2, 300).bytes()].concat());
    assert_eq!(times(&observed), [301, 302, 303]);
}

#[test]
fn a_clock_that_goes_backwards() {
    let mut odd = SmallPacket::new(0, 100);
    odd.events = vec![(0, 105), (0, 103), (0, 104), (0, u64::MAX), (0, 0)];
    let (observed, _) = read(&odd.bytes());
    assert_eq!(times(&observed), [105, 103, 104, u64::MAX, 0]);
    let kinds: Vec<_> =
        damage(&observed).iter().map(|damage| (damage.kind.clone(), damage.skipped)).collect();
    assert_eq!(
        kinds,
        [
            (DamageKind::ClockBackwards { from: 105, to: 103 }, 0),
            (DamageKind::TimeOverflow(u64::MAX.into()), 0),
            // The previous event does not count, because it is after the packet's end.
            (DamageKind::ClockBackwards { from: 104, to: 0 }, 0),
        ]
    );
}

#[test]
fn counters_that_wrap_or_go_backwards() {
    let mut stream = Vec::new();
    for (n, discarded, sequence) in [(1, u64::MAX - 1, u64::MAX), (2, 3, 1), (3, 1, 0), (4, 0, 5), (5, 9, 4)]
    {
        stream.extend(SmallPacket { discarded, ..SmallPacket::new(sequence, n * 100) }.bytes());
    }
    let trace = trace(SMALL.as_bytes(), &[("stream", &stream)]);
    let observed = observed(&trace);
    let lost: Vec<_> = observed
        .iter()
        .filter_map(|observed| match observed {
            MessageReport::DiscardedEvents(count) => Some(("events", *count)),
            MessageReport::DiscardedPackets(count) => Some(("packets", *count)),
            _ => None,
        })
        .collect();
    assert_eq!(
        lost,
        [
            ("events", None),
            ("events", Some(5)),
            ("packets", Some(1)),
            // A counter that goes back was reset.
            ("events", Some(1)),
            ("packets", Some(4)),
            ("events", Some(9)),
        ]
    );
    let summary = &trace.streams()[0];
    assert_eq!((summary.discarded_events, summary.discarded_packets), (15, 5));
}

/// A packet index as LTTng writes it.
struct IndexEntries(Vec<[u64; 9]>);

impl IndexEntries {
    fn of(packets: &[SmallPacket]) -> Self {
        let mut offset = 0;
        let entry = |packet: &SmallPacket| {
            let encoder = packet.encoder();
            let total = encoder.at;
            let begin = offset;
            offset += total / 8;
            [
                begin,
                total,
                total - packet.padding as u64 * 8,
                packet.begin,
                packet.end,
                packet.discarded,
                packet.class.into(),
                packet.instance.into(),
                packet.sequence,
            ]
        };
        Self(packets.iter().map(entry).collect())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = [0xc1f1_dcc1u32, 1, 1, 72].iter().flat_map(|n| n.to_be_bytes()).collect();
        bytes.extend(self.0.iter().flatten().flat_map(|n| n.to_be_bytes()));
        bytes
    }
}

#[test]
fn indexes_of_lttng() {
    let packets: Vec<SmallPacket> = (0..4).map(|n| SmallPacket::new(n, 100 * (n + 1))).collect();
    let stream: Vec<u8> = packets.iter().flat_map(SmallPacket::bytes).collect();
    let mixed: Vec<SmallPacket> = packets
        .iter()
        .enumerate()
        .map(|(i, packet)| SmallPacket { uuid: 9 * u8::from(i == 2), ..packet.clone() })
        .collect();
    let foreign: Vec<u8> = mixed.iter().flat_map(SmallPacket::bytes).collect();
    let read = |stream: &[u8], index: &[u8], use_it: bool| {
        let files = [("metadata", SMALL.as_bytes()), ("stream", stream), ("index/stream.idx", index)];
        let mut options = CtfOptions::default();
        options.lttng_index = use_it;
        let opened = open(&[&tree(&files)], &options);
        let trace = &opened.traces[0];
        (observed(trace), format!("{:?}", trace.damage()), trace.streams().len())
    };
    let mut indexes = vec![IndexEntries::of(&packets).bytes(), Vec::new(), vec![0; 16], vec![0xff; 300]];
    let good = IndexEntries::of(&packets).bytes();
    indexes.extend((0..good.len()).step_by(7).map(|cut| good[..cut].to_vec()));
    // Outdated indexes with fewer and with more packets.
    indexes.push(IndexEntries::of(&packets[..3]).bytes());
    indexes.push(IndexEntries::of(&[&packets[..], &[SmallPacket::new(9, 900)]].concat()).bytes());
    // Changes each number in each entry.
    for entry in 0..4 {
        for field in 0..9 {
            for value in [0, 1, 2, 8, u64::MAX, 1 << 63] {
                let mut index = IndexEntries::of(&packets);
                index.0[entry][field] = value;
                indexes.push(index.bytes());
                let mut index = IndexEntries::of(&packets);
                index.0[entry][field] ^= value;
                indexes.push(index.bytes());
            }
        }
    }
    // Two packets in a single entry, and wrong but consistent sizes.
    let mut index = IndexEntries::of(&packets);
    index.0[1][1] += index.0[2][1];
    index.0.remove(2);
    indexes.push(index.bytes());
    let mut index = IndexEntries::of(&packets);
    index.0[1][1] -= 8;
    index.0[2][0] -= 1;
    index.0[2][1] += 8;
    indexes.push(index.bytes());
    for stream in [&stream[..], &foreign, &stream[..stream.len() - 3]] {
        let without = read(stream, &[], false);
        for index in &indexes {
            assert_eq!(read(stream, index, true), without, "{index:?}");
        }
    }
}

#[test]
fn every_byte_of_a_stream_is_another_one() {
    let packets: Vec<u8> = (0..3).flat_map(|n| SmallPacket::new(n, 100 * (n + 1)).bytes()).collect();
    quick("flips", || {
        for at in 0..packets.len() {
            for flip in [0x01, 0x80, 0xff, 0x10] {
                let mut stream = packets.clone();
                stream[at] ^= flip;
                let (observed, outside) = read(&stream);
                // At most one packet is lost.
                let hit = (at / (packets.len() / 3)) as u64;
                let spared: Vec<u64> = (0..3).filter(|n| *n != hit).map(|n| 100 * (n + 1)).collect();
                let expected: Vec<u64> = spared.iter().flat_map(|n| [n + 1, n + 2, n + 3]).collect();
                let found: Vec<u64> =
                    times(&observed).into_iter().filter(|time| expected.contains(time)).collect();
                assert_eq!(found, expected, "byte {at}: {:#?}", damage(&observed));
                assert!(damage(&observed).len() + outside <= 12, "byte {at}");
            }
        }
    });
}

#[test]
fn every_byte_of_metadata_is_another_one() {
    let stream: Vec<u8> = SmallPacket::new(0, 100).bytes();
    let prop1 = doubled_prop1(2);
    let spec2 = doubled_spec2(2);
    for text in [SMALL, &prop1, &spec2] {
        quick("flips", || {
            for at in 0..text.len() {
                for flip in [0x01, 0x20, 0xff] {
                    let mut text = text.as_bytes().to_vec();
                    text[at] ^= flip;
                    let opened = opened(&text, &[("stream", &stream)]);
                    assert!(opened.errors.iter().all(|error| !error.to_string().is_empty()));
                    for trace in &opened.traces {
                        observed(trace);
                        trace.streams();
                    }
                }
                let opened = opened(&text.as_bytes()[..at], &[("stream", &stream)]);
                opened.traces.iter().for_each(|trace| drop(observed(trace)));
            }
        });
    }
}

/// Searching for packets at wrong sizes must take linear time. All of these would take minutes if each packet caused a
/// search of the rest.
#[test]
fn a_file_of_lies() {
    const COUNT: u64 = 20_000;
    let small = SmallPacket { class: 2, events: Vec::new(), padding: 0, ..SmallPacket::new(0, 0) }.bytes();
    let size = small.len() as u64 * 8;
    let packet = |n: u64, total: u64| {
        let mut bytes = small.clone();
        for (at, value) in [(22, total), (30, size), (38, n * 100), (46, n * 100 + 90)] {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    };
    type Lie<'a> = &'a dyn Fn(u64) -> Vec<u8>;
    let lies: [(&str, Lie<'_>); 5] = [
        ("beyond the file", &|n| packet(n, 1 << 40)),
        ("a byte between packets", &|n| [packet(n, size), vec![0]].concat()),
        ("into the next packet", &|n| packet(n, size + 16)),
        ("each of another recording", &|n| {
            let mut bytes = packet(n, size + 16);
            bytes[4..12].copy_from_slice(&(n + 1).to_le_bytes());
            bytes
        }),
        ("backwards", &|n| packet(COUNT - n, size)),
    ];
    for (what, lie) in lies {
        let stream: Vec<u8> = (0..COUNT).flat_map(lie).collect();
        let (packets, damages) = quick(what, || {
            let trace = trace(SMALL.as_bytes(), &[("stream", &stream)]);
            let (mut packets, mut damages) = (0, 0);
            for mut cursor in trace.cursors(Window::default()) {
                while let Some(head) = cursor.next_head() {
                    packets += u64::from(head.kind == MessageKind::PacketBegin);
                    damages += u64::from(head.kind == MessageKind::Damage);
                }
            }
            (packets, damages)
        });
        assert!(packets >= COUNT / 2 && damages >= COUNT / 2, "{what}: {packets} packets, {damages} damages");
    }
}

/// Every possible packet has an unterminated text in its context.
#[test]
fn a_file_of_magic_numbers() {
    let metadata = r#"/* CTF 1.8 */
        trace { major = 1; minor = 8; byte_order = be;
            packet.header := struct { integer { size = 32; align = 8; } magic; }; };
        stream { packet.context := struct { string host; integer { size = 16; align = 8; } packet_size; }; };
        event { fields := struct { integer { size = 8; } a; }; };"#;
    let magic = [0xc1, 0xfc, 0x1f, 0xc1];
    let packet = [&magic[..], b"host\0", &(14u16 * 8).to_be_bytes(), &[1, 2, 3]].concat();
    let stream = [magic.repeat(1 << 18), vec![0], packet.clone(), packet].concat();
    let trace = quick("magic numbers", || trace(metadata.as_bytes(), &[("stream", &stream)]));
    let observed = observed(&trace);
    assert_eq!(events(&observed).len(), 6);
    assert_eq!(damage(&observed).len() + trace.damage().len(), 1);
}

/// All packets begin at the same time, and could be copies of all others.
#[test]
fn a_file_of_copies() {
    const COUNT: u32 = 10_000;
    let metadata = r#"/* CTF 1.8 */
        typealias integer { size = 8; map = clock.c.value; } := time;
        trace { major = 1; minor = 8; byte_order = le; };
        clock { name = c; };
        stream { packet.context := struct {
            time timestamp_begin; time timestamp_end; integer { size = 8; } packet_size; }; };
        event { fields := struct { integer { size = 32; align = 8; } a; }; };"#;
    let packet = |value: u32| [&[1, 2, 7 * 8], &value.to_le_bytes()[..]].concat();
    for (what, distinct) in [("equal packets", 1), ("packets that differ", COUNT), ("pairs", COUNT / 2)] {
        let stream: Vec<u8> = (0..COUNT).flat_map(|n| packet(n % distinct)).collect();
        let (events, copies) = quick(what, || {
            let trace = trace(metadata.as_bytes(), &[("stream", &stream)]);
            let observed = observed(&trace);
            let copies = damage(&observed)
                .into_iter()
                .filter(|one| one.kind.rule().is_some_and(|rule| rule.name == "packet-copy"));
            (events(&observed).len(), copies.count())
        });
        assert_eq!((events, copies), (distinct as usize, (COUNT - distinct) as usize), "{what}");
    }
}
