//! Blocks that look overwritten, and packets with impossibly late begin times. Only data that is certainly wrong must
//! be dropped, regardless of the part of the trace that is read.

use ichnos_ctf::trace::CtfTrace;
use ichnos_model::message::Damage;
use ichnos_model::{OpenedTrace as _, Window};
use ichnos_testing::is_complete_sweep;

use crate::reading::{MessageReport, all, observed, trace};
use crate::support::quick;

const BLOCK: usize = 4096;

/// Size of a packet context in bytes.
const HEAD: usize = 32;

/// Returns metadata for events with timestamps of this size in bits, after a 16-bit id if there is an id.
fn metadata(bits: u32, id: &str, events: &str) -> String {
    format!(
        "/* CTF 1.8 */
        typealias integer {{ size = 8; }} := u8;
        typealias integer {{ size = 16; align = 8; }} := u16;
        typealias integer {{ size = 64; align = 8; }} := u64;
        typealias integer {{ size = 64; align = 8; map = clock.c.value; }} := time;
        typealias integer {{ size = {bits}; align = 8; map = clock.c.value; }} := stamp;
        trace {{ major = 1; minor = 8; byte_order = le; }};
        clock {{ name = c; freq = 1000000000; }};
        stream {{
            packet.context := struct {{
                time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size;
            }};
            event.header := struct {{ {id} stamp timestamp; }};
        }};
        {events}"
    )
}

/// Returns a packet with these events.
fn packet(begin: u64, end: u64, events: &[u8]) -> Vec<u8> {
    let bits = 8 * (HEAD + events.len()) as u64;
    let context = [begin, end, bits, bits].map(u64::to_le_bytes).concat();
    [&context, events].concat()
}

fn open(metadata: &str, bytes: &[u8]) -> CtfTrace {
    trace(metadata.as_bytes(), &[("s", bytes)])
}

/// Returns the event times in a list of messages.
fn times_in(messages: &[MessageReport]) -> Vec<i128> {
    let time = |message: &MessageReport| match message {
        MessageReport::Event(event) => event.nanoseconds,
        _ => None,
    };
    messages.iter().filter_map(time).collect()
}

/// Returns the damage as displayed.
fn damage_in(messages: &[MessageReport]) -> Vec<String> {
    let damage = |message: &MessageReport| match message {
        MessageReport::Damage(Damage { kind, .. }) => Some(kind.to_string()),
        _ => None,
    };
    messages.iter().filter_map(damage).collect()
}

/// Returns all event times and the damage. Checks that windows have the same events.
fn read(trace: &CtfTrace) -> (Vec<i128>, Vec<String>) {
    let messages = observed(trace);
    let times = times_in(&messages);
    let points = (0..4).filter_map(|part| times.get(part * times.len() / 4).copied());
    for point in points {
        for window in [Window { begin: Some(point), end: None }, Window { begin: None, end: Some(point) }] {
            let is_in = |time: &i128| {
                window.begin.is_none_or(|begin| *time >= begin) && window.end.is_none_or(|end| *time <= end)
            };
            let found: Vec<MessageReport> = trace.cursors(window).into_iter().flat_map(all).collect();
            let expected: Vec<i128> = times.iter().copied().filter(is_in).collect();
            assert!(times_in(&found) == expected, "{window:?}");
        }
    }
    (times, damage_in(&messages))
}

const SMALL_EVENT: &str = "event { name = tick; fields := struct { u8 values[15]; }; };";

#[test]
fn blocks_of_periodic_events_are_read() {
    let metadata = metadata(8, "", SMALL_EVENT);
    let count = (4 * BLOCK - HEAD) / 16;
    let event = |i: usize| [&[(16 * i) as u8][..], &[7; 15]].concat();
    let events: Vec<u8> = (0..count).flat_map(event).collect();
    let bytes = packet(0, 16 * count as u64, &events);
    assert_eq!(bytes[BLOCK..2 * BLOCK], bytes[2 * BLOCK..3 * BLOCK]);
    let expected: Vec<i128> = (0..count as i128).map(|i| 16 * i).collect();
    assert_eq!(read(&open(&metadata, &bytes)), (expected, vec![]));
}

#[test]
fn blocks_whose_times_jump_are_not_read() {
    let metadata = metadata(16, "", "event { name = tick; fields := struct { u8 values[14]; }; };");
    let count = (4 * BLOCK - HEAD) / 16;
    let event = |i: usize| [&(3 * i as u16).to_le_bytes()[..], &i.to_le_bytes(), &[7; 6]].concat();
    let events: Vec<u8> = (0..count).flat_map(event).collect();
    let whole = packet(0, 3 * count as u64, &events);
    let zeros = [0; BLOCK];
    let cases = [("a copy of the 4,096 bytes before", &whole[BLOCK..2 * BLOCK]), ("zeros", &zeros[..])];
    for (found, content) in cases {
        let mut bytes = whole.clone();
        bytes[2 * BLOCK..3 * BLOCK].copy_from_slice(content);
        let expected: Vec<i128> = (0..(2 * BLOCK - HEAD) as i128 / 16).map(|i| 3 * i).collect();
        let (times, damage) = read(&open(&metadata, &bytes));
        assert_eq!((times, damage.len()), (expected, 1));
        assert!(damage[0].contains(found), "{damage:?}");
    }
}

/// The times in a block take more than half a timestamp's range, so that a step to a wrong time is not larger.
#[test]
fn blocks_whose_times_jump_less_than_a_block_takes_are_not_read() {
    let metadata = metadata(16, "", "event { name = tick; fields := struct { u8 values[14]; }; };");
    let count = (4 * BLOCK - HEAD) / 16;
    let event = |i: usize| [&((200 * i) as u16).to_le_bytes()[..], &i.to_le_bytes(), &[7; 6]].concat();
    let events: Vec<u8> = (0..count).flat_map(event).collect();
    let whole = packet(0, 200 * count as u64, &events);
    let zeros = [0; BLOCK];
    for content in [&whole[BLOCK..2 * BLOCK], &zeros[..]] {
        let mut bytes = whole.clone();
        bytes[2 * BLOCK..3 * BLOCK].copy_from_slice(content);
        let expected: Vec<i128> = (0..(2 * BLOCK - HEAD) as i128 / 16).map(|i| 200 * i).collect();
        let (times, damage) = read(&open(&metadata, &bytes));
        assert_eq!((times, damage.len()), (expected, 1), "{damage:?}");
    }
}

/// A slow clock: many events have the same time, and after a wrap, the bytes of the first times are zeros. Ticks can be
/// anywhere in a block. A complete sweep tries more places.
#[test]
fn blocks_of_events_at_one_time_are_read() {
    let metadata = metadata(8, "", SMALL_EVENT);
    let count = (8 * BLOCK - HEAD) / 16;
    let step = if is_complete_sweep() { 37 } else { 111 };
    for phase in (0..512).step_by(step).chain([258]) {
        let time = |i: usize| 64 * ((i + phase) / 512);
        let event = |i: usize| [&[time(i) as u8][..], &[0; 15]].concat();
        let events: Vec<u8> = (0..count).flat_map(event).collect();
        let bytes = packet(0, 400, &events);
        let expected: Vec<i128> = (0..count).map(|i| time(i) as i128).collect();
        assert_eq!(read(&open(&metadata, &bytes)), (expected, vec![]), "{phase}");
    }
}

/// Events that each fill a block, with the previous event's time.
#[test]
fn large_events_at_one_time_are_read() {
    let metadata = metadata(64, "", "event { name = page; fields := struct { u8 values[4088]; }; };");
    let times = [100, 200, 200, 300, 300, 400];
    let events: Vec<u8> =
        times.iter().flat_map(|time: &u64| [&time.to_le_bytes()[..], &[7; BLOCK - 8]].concat()).collect();
    let expected = times.iter().map(|time| i128::from(*time)).collect();
    assert_eq!(read(&open(&metadata, &packet(1, 900, &events))), (expected, vec![]));
}

/// A block of repetitive events equals the previous block, even if events begin elsewhere in it.
#[test]
fn equal_events_at_one_time_are_read() {
    let metadata = metadata(64, "", "event { name = tick; fields := struct { u64 values[2]; }; };");
    let count = (4 * BLOCK - HEAD) / 24;
    let events = [[5, 0, 0, 0, 0, 0, 0, 0]; 3].concat().repeat(count);
    assert_eq!(read(&open(&metadata, &packet(1, 9, &events))), (vec![5; count], vec![]));
}

/// Time stands still, but the events in a copy begin elsewhere than in the previous block.
#[test]
fn copies_at_one_time_are_not_read() {
    let metadata = metadata(64, "u16 id;", TEXT_EVENT);
    let event = |number: usize| {
        let n = 20 + number * number % 37;
        [&[0, 0][..], &7_u64.to_le_bytes(), &(n as u16).to_le_bytes(), &vec![number as u8; n]].concat()
    };
    let (mut events, mut ends) = (Vec::new(), Vec::new());
    for number in 0..400 {
        events.extend(event(number));
        ends.push(HEAD + events.len());
    }
    let mut bytes = packet(1, 9, &events);
    let whole = ends.iter().filter(|end| **end <= 2 * BLOCK).count();
    assert!(!ends.contains(&(2 * BLOCK)));
    let (before, copy) = bytes.split_at_mut(2 * BLOCK);
    copy[..BLOCK].copy_from_slice(&before[BLOCK..]);
    let (times, damage) = read(&open(&metadata, &bytes));
    assert_eq!((times, damage.len()), (vec![7; whole], 1), "{damage:?}");
}

const TEXT_EVENT: &str = "event { name = text; id = 0; fields := struct { u16 n; u8 values[n]; }; };";

/// Returns a text that ends with zeros, up to `before` bytes before the end of the third block.
fn text_with_zeros(head: &[u8], before: usize) -> Vec<u8> {
    let n = 3 * BLOCK - before - HEAD - head.len() - 2;
    let letters = 2 * BLOCK - HEAD - head.len() - 2;
    [head, &(n as u16).to_le_bytes(), &vec![5; letters], &vec![0; n - letters]].concat()
}

/// An event record's id is zero, and occupies the last two bytes of a zero block.
#[test]
fn headers_that_begin_in_a_block_of_zeros_are_read() {
    let metadata = metadata(64, "u16 id;", TEXT_EVENT);
    let head = |time: u64| [&[0, 0][..], &time.to_le_bytes()].concat();
    let small = |time: u64| [&head(time)[..], &[3, 0, b'a', b'b', b'c']].concat();
    let events = [text_with_zeros(&head(2), 2), small(261), small(270)].concat();
    assert_eq!(read(&open(&metadata, &packet(1, 300, &events))), (vec![2, 261, 270], vec![]));
}

/// An event that ends with zeros is complete, but the file ends inside the next event.
#[test]
fn an_event_before_the_end_of_a_file_is_read() {
    let metadata = metadata(64, "u16 id;", TEXT_EVENT);
    let head = |time: u64| [&[0, 0][..], &time.to_le_bytes()].concat();
    let events = [text_with_zeros(&head(2), 0), vec![0; 100], head(9), vec![100, 0], vec![5; 100]].concat();
    let n = (3 * BLOCK - HEAD - 12 + 100) as u16;
    let mut events = events;
    events[10..12].copy_from_slice(&n.to_le_bytes());
    let bytes = packet(1, 300, &events);
    let messages = observed(&open(&metadata, &bytes[..bytes.len() - 50]));
    assert_eq!(times_in(&messages), [2]);
}

/// A valid copy is followed by overwritten zeros, and an event record lies in both.
#[test]
fn a_block_after_a_copy_is_looked_at() {
    let metadata = metadata(8, "", "event { name = tick; fields := struct { u8 values[63]; }; };");
    // Because of the packet head, no event record begins with a block.
    let count = (6 * BLOCK - HEAD) / 64;
    let event = |i: usize| [&[(100 + 4 * i) as u8][..], &[7; 63]].concat();
    let events: Vec<u8> = (0..count).flat_map(event).collect();
    let mut bytes = packet(0, 100 + 4 * count as u64, &events);
    assert_eq!(bytes[BLOCK..2 * BLOCK], bytes[2 * BLOCK..3 * BLOCK]);
    bytes[3 * BLOCK..4 * BLOCK].fill(0);
    let (times, damage) = read(&open(&metadata, &bytes));
    let whole: Vec<i128> = (0..(3 * BLOCK - HEAD) as i128 / 64).map(|i| 100 + 4 * i).collect();
    assert_eq!((times, damage.len()), (whole, 1), "{damage:?}");
}

/// A time's two high bytes are zeros, and so are the 6,000 bytes after it.
#[test]
fn headers_that_end_in_a_block_of_zeros_are_read() {
    let metadata = metadata(
        64,
        "u16 id;",
        "event { name = text; id = 0; fields := struct { u16 n; u8 values[n]; }; };
         event { name = buffer; id = 16; fields := struct { u8 values[6000]; }; };",
    );
    let n = 2 * BLOCK - 8 - HEAD - 12;
    let events = [
        &[0, 0, 2, 0, 0, 0, 0, 0, 0, 0][..],
        &(n as u16).to_le_bytes(),
        &vec![5; n],
        &[16, 0, 5, 1, 0, 0, 0, 0, 0, 0],
        &[0; 6000],
        &[16, 0, 9, 1, 0, 0, 0, 0, 0, 0],
        &[1; 6000],
    ]
    .concat();
    let times = vec![2, 256 + 5, 256 + 9];
    assert_eq!(read(&open(&metadata, &packet(1, 300, &events))), (times, vec![]));
}

/// A few zeros at the end of a packet prove nothing.
#[test]
fn a_last_event_of_zeros_is_read() {
    let metadata = metadata(64, "", "event { name = tick; fields := struct { u64 value; }; };");
    let event = |time: u64| [time.to_le_bytes(), [0; 8]].concat();
    let bytes = packet(10, 30, &[event(11), event(12), event(0)].concat());
    let messages = observed(&open(&metadata, &bytes));
    assert_eq!(times_in(&messages), [11, 12, 0]);
    assert_eq!(damage_in(&messages).len(), 1);
    // These are 32 zeros.
    let bytes = packet(10, 30, &[event(11), event(12), event(0), event(0)].concat());
    let messages = observed(&open(&metadata, &bytes));
    assert_eq!(times_in(&messages), [11, 12]);
    assert!(damage_in(&messages)[0].contains("zeros"), "{:?}", damage_in(&messages));
}

/// Each of very many events is after the packet's end and followed by equal bytes, except the last event.
#[test]
fn the_end_of_a_packet_is_looked_at_once() {
    let metadata = metadata(8, "", "event { name = tick; fields := struct {}; };");
    let bytes = packet(0, 5, &[&[0x80][..], &[0; 400_000], &[1]].concat());
    let trace = open(&metadata, &bytes);
    let messages = quick("the end of a packet", || {
        trace.cursors(Window::default()).into_iter().flat_map(all).collect::<Vec<_>>()
    });
    assert_eq!(times_in(&messages).len(), 400_002);
}

#[test]
fn a_late_begin_hides_no_events() {
    let metadata = metadata(16, "", "event { name = tick; fields := struct { u8 value; }; };");
    let events = |times: &[u16]| -> Vec<u8> {
        times.iter().flat_map(|time| [&time.to_le_bytes()[..], &[7]].concat()).collect()
    };
    let times: Vec<u16> = (10..=20).map(|i| 100 * i).collect();
    // Such a begin can be after the packet's end, which is also reported.
    for (begin, reports) in [(1_800, 1), (2_500, 2)] {
        let bytes = [packet(0, 500, &events(&[100, 400])), packet(begin, 2_000, &events(&times))].concat();
        let trace = open(&metadata, &bytes);
        let (found, damage) = read(&trace);
        let expected: Vec<i128> =
            [100, 400].into_iter().chain(times.iter().map(|t| i128::from(*t))).collect();
        assert_eq!((found, damage.len()), (expected, reports), "{damage:?}");
        assert_eq!(trace.streams[0].time_range(), Some((0, 2_000)));
        // Also if the last event before the window's end is much earlier.
        let window = Window { begin: None, end: Some(1_050) };
        let found: Vec<MessageReport> = trace.cursors(window).into_iter().flat_map(all).collect();
        assert_eq!(times_in(&found), [100, 400, 1_000]);
    }
}

/// The eight letters before the data are not the packet's begin.
#[test]
fn packets_after_a_text_have_their_own_times() {
    let metadata = "/* CTF 1.8 */
        typealias integer { size = 8; } := u8;
        typealias integer { size = 64; align = 8; map = clock.c.value; } := time;
        typealias integer { size = 16; align = 8; map = clock.c.value; } := stamp;
        trace { major = 1; minor = 8; byte_order = le; };
        clock { name = c; freq = 1000000000; };
        stream {
            packet.context := struct { time timestamp_begin; };
            event.header := struct { u8 id; stamp timestamp; };
        };
        event { name = tick; id = 0; fields := struct { u8 value; }; };";
    let events = [0, 0xe9, 3, 7, 0, 0xea, 3, 8];
    let bytes = [b"*** Booting ***\n", &1_000_u64.to_le_bytes()[..], &events].concat();
    let trace = open(metadata, &bytes);
    assert_eq!(trace.streams[0].packets[0].begin(), Some(1_000));
    assert_eq!(trace.streams[0].time_range(), Some((1_000, 1_000)));
    assert_eq!(read(&trace), (vec![1_001, 1_002], vec![]));
}
