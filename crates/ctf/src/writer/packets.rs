//! The packets of a data stream file that is written.

use ichnos_io::EncodedPacket;
use ichnos_model::plan::align;
use ichnos_model::{BitField, ByteOrder, Role};

use super::bit_writer::BitWriter;
use super::frame;
use super::placed::{Layout, Placed};
use super::stream_rules::StreamRules;

/// Packets of one file.
#[derive(Debug, Default)]
pub(super) struct Packets {
    pub(super) out: BitWriter,
    pub(super) open: Option<OpenPacket>,
    pub(super) encoded: Vec<EncodedPacket>,
    pub(super) events: u64,
    pub(super) copied_packets: u64,
    /// Events that were left out at the ends of packets, and packets that were left out.
    pub(super) cut_events: u64,
    pub(super) cut_packets: u64,
    /// Number of the packet, where there are none in the source.
    pub(super) sequence: u64,
    pub(super) discarded: u64,
    /// Value of the default clock at the end of the last packet.
    pub(super) end: u64,
    pub(super) has_packets: bool,
    /// How many packets there are more than in the source.
    pub(super) inserted: u64,
}

/// A packet that is being encoded.
#[derive(Debug, Default)]
pub(super) struct OpenPacket {
    pub(super) placed: Vec<Placed>,
    /// Its header and context, to begin further packets with.
    pub(super) head: Vec<u8>,
    pub(super) head_bits: u64,
    pub(super) begin: u64,
    /// Value of the default clock behind the last event.
    pub(super) now: u64,
    pub(super) source_end: Option<u64>,
    pub(super) events: u64,
    /// How many bits its content can have, so that the fields of its size can say that.
    pub(super) most_bits: u64,
    /// No event can be later; see [`Repair`](super::repair::Repair).
    pub(super) latest: u64,
    /// Whether the end of the source can be right.
    pub(super) has_end: bool,
    /// Whether it says both of its sizes.
    pub(super) says_both: bool,
    /// Behind the last event that ends a byte: the bits up to there, and how many events these are.
    pub(super) whole: Option<(u64, u64)>,
}

impl OpenPacket {
    /// Has its counters say that more events are missing.
    pub(super) fn count_left_out(&mut self, left_out: u64) {
        for placed in self.placed.iter_mut().filter(|placed| placed.role == Role::DiscardedEventCounter) {
            placed.value = placed.value.wrapping_add(left_out);
        }
    }
}

impl Packets {
    /// Opens a packet where the source has none.
    pub(super) fn open_own(&mut self, rules: &StreamRules, lane: usize, begin: u64) {
        let trace = rules.lowered.trace();
        let has_clock = trace
            .class
            .data_streams
            .get(rules.stream.class_index)
            .is_some_and(|class| class.default_clock.is_some());
        let header = rules.header;
        let out = &mut self.out;
        let mut placed = Vec::new();
        out.begin_packet();
        let order = ByteOrder::LittleEndian;
        let bits = BitField::new(64, order, 8);
        frame::put_packet_header(out, header.uuid, header.class_id, header.stream_id | lane as u64);
        let mut put = |out: &mut BitWriter, role, value| {
            placed.push(Placed { role, at: out.at(), layout: Layout::Bits(bits), value });
            out.put(value, 64, order);
        };
        put(out, Role::PacketTotalLength, 0);
        put(out, Role::PacketContentLength, 0);
        if has_clock {
            put(out, Role::Timestamp, begin);
            put(out, Role::PacketEndTimestamp, begin);
        }
        put(out, Role::DiscardedEventCounter, self.discarded);
        put(out, Role::PacketSequenceNumber, self.sequence);
        self.has_packets = true;
        let most_bits = u64::MAX;
        let says_both = true;
        self.open =
            Some(OpenPacket { placed, begin, now: begin, most_bits, says_both, ..OpenPacket::default() });
    }

    /// Ends the open packet, which is made of one of the source, and begins another one with the same context.
    /// `left_out`: how many events more than the source says are missing before its end.
    pub(super) fn split(&mut self, end: u64, begin: Option<u64>, left_out: u64) {
        let Some(mut open) = self.open.take() else { return };
        let (head, head_bits, placed) = (open.head.clone(), open.head_bits, open.placed.clone());
        let mut next = OpenPacket {
            begin: begin.unwrap_or(open.begin),
            now: begin.unwrap_or(open.now),
            source_end: open.source_end,
            head,
            head_bits,
            placed,
            events: 0,
            most_bits: open.most_bits,
            latest: open.latest,
            has_end: open.has_end,
            says_both: open.says_both,
            whole: None,
        };
        open.count_left_out(left_out);
        for placed in open.placed.iter().filter(|placed| placed.role == Role::DiscardedEventCounter) {
            placed.patch(&mut self.out, placed.value);
        }
        self.close(open, Some(end));
        self.inserted += 1;
        let out = &mut self.out;
        out.begin_packet();
        out.bytes(&next.head);
        out.go_back(next.head_bits);
        for placed in &mut next.placed {
            match placed.role {
                Role::Timestamp => placed.patch(out, next.begin),
                Role::PacketSequenceNumber => {
                    // It has the number of the packet before.
                    placed.value = placed.value.wrapping_add(1);
                    placed.patch(out, placed.value);
                }
                Role::DiscardedEventCounter => placed.patch(out, placed.value),
                _ => {}
            }
        }
        self.open = Some(next);
    }

    pub(super) fn close_own(&mut self, end: u64) {
        let Some(open) = self.open.take() else { return };
        self.end = self.end.max(end);
        self.close(open, Some(end));
        self.sequence += 1;
    }

    /// Leaves out the events at the end of a packet that does not say both of its sizes, if that is within a byte: then
    /// both are the same, and the rest of the byte could be read as events. False: all of the packet is to be left out.
    fn end_at_byte(&mut self, open: &OpenPacket) -> bool {
        if self.out.at() % 8 == 0 {
            return true;
        }
        let head = (open.head_bits % 8 == 0).then_some((open.head_bits, 0));
        let whole = open.whole.or(head);
        let (bits, events) = whole.unwrap_or_default();
        self.out.go_back(bits);
        self.cut_events += open.events - events;
        self.cut_packets += u64::from(whole.is_none());
        self.events -= open.events - events;
        whole.is_some()
    }

    /// Ends a packet; `end`: another time than the one that is written already.
    pub(super) fn close(&mut self, open: OpenPacket, end: Option<u64>) {
        if !open.says_both && !self.end_at_byte(&open) {
            self.out.go_back(0);
            return;
        }
        let out = &mut self.out;
        let content = out.at();
        let total = align(content, 8).unwrap_or(content);
        out.pad_to(total);
        let mut encoded = EncodedPacket {
            total,
            content,
            begin: open.begin,
            end: end.or(open.source_end).unwrap_or(open.now),
            discarded: 0,
            sequence: u64::MAX,
        };
        for placed in &open.placed {
            match placed.role {
                Role::PacketTotalLength | Role::PacketContentLength => {
                    let is_total = placed.role == Role::PacketTotalLength;
                    let size = if is_total { total } else { content };
                    placed.patch(out, size);
                }
                Role::PacketEndTimestamp => {
                    if let Some(end) = end {
                        placed.patch(out, end);
                    }
                }
                Role::DiscardedEventCounter => encoded.discarded = placed.value,
                Role::PacketSequenceNumber => encoded.sequence = placed.value,
                _ => {}
            }
        }
        self.encoded.push(encoded);
    }
}
