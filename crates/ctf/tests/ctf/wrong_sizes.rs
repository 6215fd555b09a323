//! Packets with a wrong content size. Their events show where the content ends.

use ichnos_model::message::Damage;
use ichnos_model::{OpenedTrace as _, Window};

use crate::reading::{MessageReport, all, trace};
use crate::support::quick;

const METADATA: &str = "/* CTF 1.8 */
    typealias integer { size = 8; } := u8;
    typealias integer { size = 32; align = 8; } := u32;
    typealias integer { size = 64; align = 8; } := u64;
    typealias integer { size = 64; align = 8; map = clock.c.value; } := time;
    typealias integer { size = 16; align = 8; map = clock.c.value; } := stamp;
    trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; };
    clock { name = c; freq = 1000000000; };
    stream {
        packet.context := struct { time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size; };
        event.header := struct { u8 id; stamp timestamp; };
    };
    event { name = tick; id = 0; fields := struct { u8 value; }; };";

/// Size in bytes of a packet header and context without a magic number.
const HEAD: usize = 32;

/// Offset of the content size in a packet without a magic number.
const CONTENT: usize = 16;

/// Returns a packet with events at these times, followed by padding.
fn packet(times: [u64; 3], padding: &[u8]) -> Vec<u8> {
    let events = times.iter().flat_map(|time| [&[0], &(*time as u16).to_le_bytes()[..], &[7]].concat());
    let events: Vec<u8> = events.collect();
    let content = 8 * (HEAD + events.len()) as u64;
    let total = content + 8 * padding.len() as u64;
    [&[times[0], times[2], content, total].map(u64::to_le_bytes).concat()[..], &events, padding].concat()
}

/// Returns all event times, and the number of damages.
fn read(metadata: &str, stream: &[u8]) -> (Vec<u64>, usize) {
    let trace = trace(metadata.as_bytes(), &[("s", stream)]);
    let (mut times, mut damages) = (Vec::new(), trace.damage().len());
    for message in trace.cursors(Window::default()).into_iter().flat_map(all) {
        match message {
            MessageReport::Event(event) => times.extend(event.cycles),
            MessageReport::Damage(Damage { .. }) => damages += 1,
            _ => {}
        }
    }
    (times, damages)
}

/// The padding is zeros, or earlier events.
#[test]
fn events_end_the_content() {
    let before = [[0, 10, 0, 7], [0, 11, 0, 7]].concat();
    for padding in [&[0; 100][..], &[0; 3], &[0xff; 100], &before] {
        let packets = [[100, 200, 300], [400, 400, 500], [700, 800, 900]].map(|times| packet(times, padding));
        let total = 8 * packets[0].len() as u64;
        let expected = vec![100, 200, 300, 400, 400, 500, 700, 800, 900];
        let without = METADATA.replace("packet.header := struct { u32 magic; };", "");
        for has_magic in [false, true] {
            let (metadata, magic) = match has_magic {
                true => (METADATA, &0xc1fc_1fc1_u32.to_le_bytes()[..]),
                false => (&*without, &[][..]),
            };
            let marked = |packet: &[u8]| {
                let mut bytes = [magic, packet].concat();
                let bits = 8 * magic.len() as u64;
                for at in [CONTENT, CONTENT + 8].map(|at| at + magic.len()) {
                    let number = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
                    let number = if number > total { number } else { number + bits };
                    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
                }
                bytes
            };
            let whole = packets.iter().flat_map(|packet| marked(packet)).collect::<Vec<_>>();
            assert_eq!(read(metadata, &whole), (expected.clone(), 0));
            for wrong in 0..packets.len() {
                for content in [0, total + 64, u64::MAX] {
                    let mut packets = packets.clone();
                    packets[wrong][CONTENT..CONTENT + 8].copy_from_slice(&content.to_le_bytes());
                    let stream = packets.iter().flat_map(|packet| marked(packet)).collect::<Vec<_>>();
                    let what = format!("{padding:?} {has_magic} {wrong} {content}");
                    assert_eq!(read(metadata, &stream), (expected.clone(), 1), "{what}");
                }
            }
        }
    }
}

/// Tracers write events just before their packet's first time, and just after its last time.
#[test]
fn events_beside_the_times_of_their_packet() {
    let metadata = METADATA.replace("typealias integer { size = 16;", "typealias integer { size = 64;");
    let packet = |times: [u64; 3], bounds: [u64; 2]| {
        let events = times.iter().flat_map(|time| [&[0], &time.to_le_bytes()[..], &[7]].concat());
        let events: Vec<u8> = events.collect();
        let total = 8 * (4 + HEAD + events.len()) as u64;
        let head = [bounds[0], bounds[1], total, total].map(u64::to_le_bytes).concat();
        [&0xc1fc_1fc1_u32.to_le_bytes()[..], &head, &events].concat()
    };
    let mut packets = [[100, 150, 200], [300, 350, 400], [500, 550, 600]]
        .map(|times| packet(times, [times[0] + 1, times[2] - 2]));
    packets[1][4 + CONTENT..4 + CONTENT + 8].copy_from_slice(&0_u64.to_le_bytes());
    let (times, _) = read(&metadata, &packets.concat());
    assert_eq!(times, [100, 150, 200, 300, 350, 400, 500, 550, 600]);
}

/// Equal events without times are events, not bytes that an earlier packet left in the buffer.
#[test]
fn equal_events_without_times_are_kept() {
    let metadata = METADATA
        .replace("event.header := struct { u8 id; stamp timestamp; };", "event.header := struct { u8 id; };");
    let packet = |begin: u64| {
        let events = [0, 7].repeat(50);
        let total = 8 * (4 + HEAD + events.len()) as u64;
        let head = [begin, begin + 50, total, total].map(u64::to_le_bytes).concat();
        [&0xc1fc_1fc1_u32.to_le_bytes()[..], &head, &events].concat()
    };
    let mut packets = [100, 200, 300].map(packet);
    packets[1][4 + CONTENT..4 + CONTENT + 8].copy_from_slice(&0_u64.to_le_bytes());
    let trace = trace(metadata.as_bytes(), &[("s", &packets.concat())]);
    let observed = trace.cursors(Window::default()).into_iter().flat_map(all);
    assert_eq!(observed.filter(|observed| matches!(observed, MessageReport::Event(_))).count(), 150);
}

/// Without a magic number, packets are found through their successors, whatever is wrong with a packet.
#[test]
fn packets_are_found_by_those_after_them() {
    let metadata = METADATA.replace("packet.header := struct { u32 magic; };", "");
    let packets = [[100, 200, 300], [400, 400, 500], [700, 800, 900], [1000, 1100, 1200]]
        .map(|times| packet(times, &[0; 40]));
    for wrong in 0..4 {
        for total in [0, 8 << 20, 7, u64::MAX, 16 * packets[0].len() as u64] {
            let mut packets = packets.clone();
            packets[wrong][CONTENT + 8..HEAD].copy_from_slice(&total.to_le_bytes());
            let (times, damages) = read(&metadata, &packets.concat());
            let all = [100, 200, 300, 400, 400, 500, 700, 800, 900, 1000, 1100, 1200];
            let others: Vec<u64> = (0..12).filter(|at| at / 3 != wrong).map(|at| all[at]).collect();
            assert!(times == all || times == others, "{wrong} {total}: {times:?}");
            assert_eq!(damages, 1, "{wrong} {total}");
        }
    }
}

/// The padding is left over from an earlier packet, and time stands still.
#[test]
fn bytes_of_the_packet_before_are_padding() {
    let metadata = METADATA.replace("packet.header := struct { u32 magic; };", "");
    let first = packet([100, 100, 100], &[]);
    let mut second = packet([100, 100, 100], &[]);
    // An event with another value, followed by the first packet's events.
    second[HEAD + 3] = 9;
    second[CONTENT..CONTENT + 8].copy_from_slice(&0_u64.to_le_bytes());
    let (times, damages) = read(&metadata, &[first, second].concat());
    assert_eq!((times, damages), (vec![100; 4], 1));
}

/// Each candidate packet's context seems to contain a text that continues to the end of the file.
#[test]
fn a_text_without_an_end_is_not_read_again_and_again() {
    let metadata = METADATA.replace("packet.header := struct { u32 magic; };", "");
    let metadata = metadata.replace("u64 packet_size; };", "u64 packet_size; string name; };");
    let stream = [[0; 8], [9, 0, 0, 0, 0, 0, 0, 0], [0; 8], [0; 8]].concat();
    let stream = [&stream[..], &[0], &vec![b'a'; 4 << 20]].concat();
    let (times, damages) = quick("packets without a magic number", || read(&metadata, &stream));
    assert_eq!((times, damages), (vec![], 1));
}
