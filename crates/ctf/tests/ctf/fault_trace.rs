//! A trace with many packets, known locations of all layers, and its damage.
//!
//! It shares no code with the reader. The expected output and the invisible damage follow from the written bytes.

use ichnos_testing::Random;

/// CTF 1.8 with all possible packet fields.
const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 16; align = 8; } := u16;
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 64; align = 8; } := u64;
typealias integer { size = 64; align = 8; map = clock.c.value; } := ts;
trace {
    major = 1; minor = 8; byte_order = le;
    uuid = "1c40571a-7f0e-4a21-9d53-6b0a7cf2e581";
    packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; u64 stream_instance_id; };
};
clock { name = c; freq = 1000000000; };
stream {
    id = 5;
    packet.context := struct {
        u64 packet_size; u64 content_size; ts timestamp_begin; ts timestamp_end;
        u64 events_discarded; u64 packet_seq_num;
    };
    event.header := struct { u16 id; ts timestamp; };
};
event { name = tick; id = 1; stream_id = 5; fields := struct { u32 packet; u32 index; u32 check; }; };
event { name = note; id = 2; stream_id = 5; fields := struct { u32 packet; u32 index; u32 check; string text; }; };
"#;

const UUID: [u8; 16] =
    [0x1c, 0x40, 0x57, 0x1a, 0x7f, 0x0e, 0x4a, 0x21, 0x9d, 0x53, 0x6b, 0x0a, 0x7c, 0xf2, 0xe5, 0x81];

/// Data stream id.
pub const STREAM: u64 = 7;

/// Size in bytes of a packet header and context, with and without a UUID.
const HEAD: usize = 80;
const SHORT_HEAD: usize = HEAD - UUID.len();

/// Size in bytes of an event record header, and of the numbers after it.
const EVENT_HEADER: usize = 10;
const NUMBERS: usize = 12;

/// Event text. Its bytes cannot turn an id into another event record class's id.
const TEXT: &[u8] = b"@@@@@@@@\0";

/// Chooses the layer and the kind of damage.
pub fn choose(random: &mut Random) -> (FaultLayer, FaultKind) {
    (random.pick(&FaultLayer::ALL), random.pick(&FaultKind::ALL))
}

/// Returns the number that identifies a written event.
pub fn check(packet: u32, index: u32) -> u32 {
    let mixed = (u64::from(packet) << 32 | u64::from(index)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32 ^ 0x5bd1_e995
}

/// Layer to damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultLayer {
    Magic,
    Uuid,
    ClassId,
    StreamId,
    Total,
    Content,
    Begin,
    End,
    Discarded,
    Sequence,
    EventId,
    EventTime,
    Numbers,
    Text,
    Padding,
    Packet,
}

impl FaultLayer {
    pub const ALL: [Self; 16] = [
        Self::Magic,
        Self::Uuid,
        Self::ClassId,
        Self::StreamId,
        Self::Total,
        Self::Content,
        Self::Begin,
        Self::End,
        Self::Discarded,
        Self::Sequence,
        Self::EventId,
        Self::EventTime,
        Self::Numbers,
        Self::Text,
        Self::Padding,
        Self::Packet,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::Magic => "header: magic number",
            Self::Uuid => "header: UUID",
            Self::ClassId => "header: data stream class id",
            Self::StreamId => "header: data stream id",
            Self::Total => "context: total size",
            Self::Content => "context: content size",
            Self::Begin => "context: begin time",
            Self::End => "context: end time",
            Self::Discarded => "context: discarded events",
            Self::Sequence => "context: sequence number",
            Self::EventId => "event header: class id",
            Self::EventTime => "event header: time",
            Self::Numbers => "payload: numbers",
            Self::Text => "payload: text",
            Self::Padding => "padding",
            Self::Packet => "whole packet",
        }
    }
}

/// Kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    Flip,
    Cut,
    Insert,
    Zero,
    Duplicate,
    Reorder,
}

impl FaultKind {
    pub const ALL: [Self; 6] =
        [Self::Flip, Self::Cut, Self::Insert, Self::Zero, Self::Duplicate, Self::Reorder];

    pub fn title(self) -> &'static str {
        match self {
            Self::Flip => "flip",
            Self::Cut => "cut",
            Self::Insert => "insert",
            Self::Zero => "zero",
            Self::Duplicate => "duplicate",
            Self::Reorder => "reorder",
        }
    }
}

/// Written packet: its location, and its events' locations.
#[derive(Clone, Debug)]
pub struct WrittenPacket {
    pub bytes: Vec<u8>,
    /// Event offsets. The first event is a text.
    pub events: Vec<usize>,
    /// Content end.
    pub content: usize,
    /// Size of its header and context in bytes.
    head: usize,
}

/// Returns the begin time of packet `n`.
fn begin_of(n: usize) -> u64 {
    5_000_000_000 + n as u64 * 1000
}

fn end_of(n: usize) -> u64 {
    begin_of(n) + 900
}

fn time_of(n: usize, index: usize) -> u64 {
    begin_of(n) + 100 * (index as u64 + 1)
}

impl WrittenPacket {
    fn new(n: usize, head: usize) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend(0xc1fc_1fc1u32.to_le_bytes());
        bytes.extend(&UUID[..head - SHORT_HEAD]);
        bytes.extend(5u32.to_le_bytes());
        bytes.extend(STREAM.to_le_bytes());
        // Events are discarded now and then.
        for number in [0, 0, begin_of(n), end_of(n), (n / 5) as u64, n as u64] {
            bytes.extend(number.to_le_bytes());
        }
        let mut events = Vec::new();
        for index in 0..3 + n % 3 {
            events.push(bytes.len());
            let is_text = index == 0;
            bytes.extend(if is_text { 2u16 } else { 1 }.to_le_bytes());
            bytes.extend(time_of(n, index).to_le_bytes());
            for number in [n as u32, index as u32, check(n as u32, index as u32)] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(if is_text { TEXT } else { &[] });
        }
        let content = bytes.len();
        // Most packets have the same size.
        bytes.resize(256 + if n % 4 == 3 { 8 * (n % 13) } else { 0 }, 0);
        let total = bytes.len() as u64 * 8;
        bytes[head - 48..head - 40].copy_from_slice(&total.to_le_bytes());
        bytes[head - 40..head - 32].copy_from_slice(&(content as u64 * 8).to_le_bytes());
        Self { bytes, events, content, head }
    }

    /// Returns a layer's location.
    pub fn range(&self, layer: FaultLayer) -> std::ops::Range<usize> {
        // From the middle of the packet, so that there are times around it.
        let (event, head) = (self.events[1], self.head);
        match layer {
            FaultLayer::Magic => 0..4,
            FaultLayer::Uuid => 4..head - 60,
            FaultLayer::ClassId => head - 60..head - 56,
            FaultLayer::StreamId => head - 56..head - 48,
            FaultLayer::Total => head - 48..head - 40,
            FaultLayer::Content => head - 40..head - 32,
            FaultLayer::Begin => head - 32..head - 24,
            FaultLayer::End => head - 24..head - 16,
            FaultLayer::Discarded => head - 16..head - 8,
            FaultLayer::Sequence => head - 8..head,
            FaultLayer::EventId => event..event + 2,
            FaultLayer::EventTime => event + 2..event + EVENT_HEADER,
            FaultLayer::Numbers => event + EVENT_HEADER..event + EVENT_HEADER + NUMBERS,
            FaultLayer::Text => {
                // The end of the text determines its length.
                let begin = self.events[0] + EVENT_HEADER + NUMBERS;
                begin..begin + TEXT.len() - 1
            }
            FaultLayer::Padding => self.content..self.bytes.len(),
            FaultLayer::Packet => 0..self.bytes.len(),
        }
    }

    /// Returns the number in a layer, or 0 for longer layers.
    fn number(&self, layer: FaultLayer) -> u64 {
        let mut bytes = [0; 8];
        let range = self.range(layer);
        if range.len() <= 8 {
            bytes[..range.len()].copy_from_slice(&self.bytes[range]);
        }
        u64::from_le_bytes(bytes)
    }
}

/// A damaged place.
#[derive(Clone, Debug)]
pub struct DamagedPlace {
    /// The damaged packets and their neighbors.
    pub packets: std::ops::Range<usize>,
    /// Packets with changed bytes.
    pub hit: Vec<usize>,
    /// `true` if it can be detected.
    pub is_visible: bool,
    /// Byte range in the damaged file, inside or next to which it is reported.
    pub bytes: std::ops::Range<u64>,
}

/// A damaged file.
pub struct Damaged {
    pub bytes: Vec<u8>,
    pub places: Vec<DamagedPlace>,
}

/// A trace with a single data stream.
pub struct FaultTrace {
    pub metadata: String,
    pub packets: Vec<WrittenPacket>,
}

impl FaultTrace {
    pub fn new(count: usize) -> Self {
        let packets = (0..count).map(|n| WrittenPacket::new(n, HEAD)).collect();
        Self { metadata: METADATA.to_owned(), packets }
    }

    /// Creates a trace without a UUID.
    pub fn without_uuid(count: usize) -> Self {
        let line = METADATA.lines().find(|line| line.contains("uuid = ")).unwrap();
        let metadata = METADATA.replace(line, "").replace("u8 uuid[16]; ", "");
        let packets = (0..count).map(|n| WrittenPacket::new(n, SHORT_HEAD)).collect();
        Self { metadata, packets }
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.packets.iter().flat_map(|packet| packet.bytes.iter().copied()).collect()
    }

    /// Returns packet number and index of each event in the undamaged packets.
    pub fn spared(&self, is_hit: &[bool]) -> Vec<(u32, u32)> {
        let spared = self.packets.iter().enumerate().filter(|(n, _)| !is_hit[*n]);
        spared.flat_map(|(n, packet)| (0..packet.events.len() as u32).map(move |i| (n as u32, i))).collect()
    }

    /// Returns the index entries that LTTng would have written.
    pub fn index(&self) -> Vec<[u64; 9]> {
        let mut offset = 0;
        let entry = |(n, packet): (usize, &WrittenPacket)| {
            let begin = offset;
            offset += packet.bytes.len() as u64;
            let bits = |bytes: usize| bytes as u64 * 8;
            let counters = [(n / 5) as u64, 5, STREAM, n as u64];
            let [discarded, class, stream, sequence] = counters;
            let (total, content) = (bits(packet.bytes.len()), bits(packet.content));
            [begin, total, content, begin_of(n), end_of(n), discarded, class, stream, sequence]
        };
        self.packets.iter().enumerate().map(entry).collect()
    }

    /// Returns the bytes of an index with these entries.
    pub fn index_bytes(entries: &[[u64; 9]]) -> Vec<u8> {
        let mut bytes: Vec<u8> = [0xc1f1_dcc1u32, 1, 1, 72].iter().flat_map(|n| n.to_be_bytes()).collect();
        bytes.extend(entries.iter().flatten().flat_map(|n| n.to_be_bytes()));
        bytes
    }

    /// Damages `count` packets that are not adjacent. `chosen` chooses layer and kind.
    pub fn damaged(
        &self,
        count: usize,
        seed: u64,
        mut chosen: impl FnMut(&mut Random) -> (FaultLayer, FaultKind),
    ) -> Damaged {
        let mut random = Random::new(seed);
        let stride = (self.packets.len() - 2 * APART) / count;
        assert!(stride >= APART, "{count} packets cannot be damaged apart from each other");
        let mut injector = FaultInjector::new(self);
        for i in 0..count {
            // If a change is impossible, or changes nothing, another place is tried.
            for _ in 0..200 {
                let n = APART + i * stride + random.index(stride - APART + 1);
                let (layer, kind) = chosen(&mut random);
                if injector.damage(n, layer, kind, &mut random) {
                    break;
                }
            }
        }
        injector.damaged()
    }

    /// Damages all packets in some ranges, each in several ways.
    pub fn damaged_ranges(&self, ranges: &[std::ops::Range<usize>], seed: u64) -> Damaged {
        let mut random = Random::new(seed);
        let mut injector = FaultInjector::new(self);
        for n in ranges.iter().cloned().flatten() {
            for _ in 0..1 + random.index(3) {
                let (layer, kind) = choose(&mut random);
                // Swapped packets are skipped, because their places would have to be tracked.
                if (layer, kind) != (FaultLayer::Packet, FaultKind::Reorder) {
                    injector.damage(n, layer, kind, &mut random);
                }
            }
        }
        injector.damaged()
    }
}

/// Minimum number of packets from one damaged place to the next, so that they do not share neighbors.
const APART: usize = 5;

/// A trace being damaged.
struct FaultInjector<'a> {
    written: &'a [WrittenPacket],
    packets: Vec<Vec<u8>>,
    places: Vec<DamagedPlace>,
}

impl<'a> FaultInjector<'a> {
    fn new(trace: &'a FaultTrace) -> Self {
        let packets = trace.packets.iter().map(|packet| packet.bytes.clone()).collect();
        Self { written: &trace.packets, packets, places: Vec::new() }
    }

    /// Returns the damaged file. Adjacent places are merged.
    fn damaged(mut self) -> Damaged {
        let mut ends = vec![0u64];
        for packet in &self.packets {
            ends.push(ends[ends.len() - 1] + packet.len() as u64);
        }
        self.places.sort_by_key(|place| place.packets.start);
        let mut places: Vec<DamagedPlace> = Vec::new();
        for place in self.places {
            match places.last_mut().filter(|last| last.packets.end > place.packets.start) {
                Some(last) => {
                    last.packets.end = last.packets.end.max(place.packets.end);
                    last.hit.extend(place.hit);
                    last.is_visible |= place.is_visible;
                }
                None => places.push(place),
            }
        }
        for place in &mut places {
            place.bytes = ends[place.packets.start]..ends[place.packets.end] + 1;
        }
        Damaged { bytes: self.packets.concat(), places }
    }

    /// Damages packet `n`. Returns `false` if nothing changes.
    fn damage(&mut self, n: usize, layer: FaultLayer, kind: FaultKind, random: &mut Random) -> bool {
        let Some((hit, is_visible)) = self.change(n, layer, kind, random) else { return false };
        self.places.push(DamagedPlace { packets: n - 1..n + 3, hit, is_visible, bytes: 0..0 });
        true
    }

    /// Changes bytes in packet `n`. Records the damaged packets, and if the change can be detected.
    fn change(
        &mut self,
        n: usize,
        layer: FaultLayer,
        kind: FaultKind,
        random: &mut Random,
    ) -> Option<(Vec<usize>, bool)> {
        let written = &self.written[n];
        let range = written.range(layer);
        let is_whole = (n..n + 2).all(|n| self.packets[n].len() == self.written[n].bytes.len());
        if range.is_empty() || (!is_whole && layer != FaultLayer::Packet) {
            return None;
        }
        let packets = &mut self.packets;
        if layer == FaultLayer::Packet {
            return match kind {
                // Covered by the other layers.
                FaultKind::Flip => None,
                FaultKind::Cut => {
                    packets[n].clear();
                    Some((vec![n], true))
                }
                FaultKind::Insert => {
                    let noise = (0..1 + random.index(300)).map(|_| random.byte());
                    let noise: Vec<u8> = noise.collect();
                    packets[n].splice(0..0, noise);
                    Some((Vec::new(), true))
                }
                FaultKind::Zero => {
                    packets[n].fill(0);
                    Some((vec![n], true))
                }
                FaultKind::Duplicate => {
                    packets[n].extend_from_within(..);
                    Some((Vec::new(), true))
                }
                FaultKind::Reorder => {
                    packets.swap(n, n + 1);
                    Some((Vec::new(), true))
                }
            };
        }
        let length = range.len();
        match kind {
            FaultKind::Flip => packets[n][range.start + random.index(length)] ^= 1 << random.index(8),
            FaultKind::Zero => packets[n][range].fill(0),
            FaultKind::Cut => {
                let some = 1 + random.index(length);
                let from = range.start + random.index(length - some + 1);
                packets[n].drain(from..from + some);
                return Some((vec![n], true));
            }
            FaultKind::Insert => {
                let noise: Vec<u8> = (0..1 + random.index(16)).map(|_| random.byte()).collect();
                let at = range.start + random.index(length);
                packets[n].splice(at..at, noise);
                return Some((vec![n], true));
            }
            FaultKind::Duplicate => {
                let copy = packets[n][range.clone()].to_vec();
                packets[n].splice(range.end..range.end, copy);
                return Some((vec![n], true));
            }
            FaultKind::Reorder if range.start >= written.head => {
                // Swaps it with the next event's time.
                let step = written.events[2] - written.events[1];
                if layer == FaultLayer::Text || layer == FaultLayer::Padding {
                    return None;
                }
                range.for_each(|at| packets[n].swap(at, at + step));
            }
            FaultKind::Reorder => {
                let other = packets[n + 1][range.clone()].to_vec();
                let own = packets[n][range.clone()].to_vec();
                packets[n][range.clone()].copy_from_slice(&other);
                packets[n + 1][range].copy_from_slice(&own);
            }
        }
        let hit: Vec<usize> = (n..n + 2).filter(|n| packets[*n] != self.written[*n].bytes).collect();
        if hit.is_empty() {
            return None;
        }
        let is_visible = hit.iter().any(|hit| self.is_visible(*hit, layer));
        Some((hit, is_visible))
    }

    /// Returns `true` if a change to a layer in packet `n` can be detected, although its size is unchanged.
    fn is_visible(&self, n: usize, layer: FaultLayer) -> bool {
        let packets = &self.packets;
        let now = |n: usize| {
            let written = self.written[n].clone();
            let is_whole = packets[n].len() == written.bytes.len();
            if is_whole { WrittenPacket { bytes: packets[n].clone(), ..written } } else { written }
        };
        let value = now(n).number(layer);
        match layer {
            FaultLayer::Magic
            | FaultLayer::Uuid
            | FaultLayer::ClassId
            | FaultLayer::StreamId
            | FaultLayer::Total => true,
            FaultLayer::Sequence | FaultLayer::EventId => true,
            // Missing complete events do not leave a trace.
            FaultLayer::Content => !self.written[n].events.iter().any(|event| *event as u64 * 8 == value),
            // A time or counter that fits its neighbors may be right.
            FaultLayer::Begin => {
                let before = now(n - 1).number(FaultLayer::End);
                !(before..=time_of(n, 0)).contains(&value)
            }
            FaultLayer::End => {
                let last = time_of(n, self.written[n].events.len() - 1);
                let next = now(n + 1).number(FaultLayer::Begin);
                !(last..=next).contains(&value)
            }
            FaultLayer::Discarded => {
                let around = now(n - 1).number(layer)..=now(n + 1).number(layer);
                !around.contains(&value)
            }
            FaultLayer::EventTime => {
                let next = self.written[n].events[2] + 2;
                let next = u64::from_le_bytes(packets[n][next..next + 8].try_into().unwrap());
                ![time_of(n, 0), value, next].is_sorted()
            }
            // A text ends at its first zero.
            FaultLayer::Text => {
                let range = self.written[n].range(layer);
                packets[n][range].contains(&0)
            }
            FaultLayer::Numbers | FaultLayer::Padding | FaultLayer::Packet => false,
        }
    }
}
