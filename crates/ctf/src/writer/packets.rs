//! Packets in an output data stream file.

use ichnos_io::EncodedPacket;
use ichnos_model::class::Role;
use ichnos_model::plan::align;

use super::added_counter::AddedCounters;
use super::bit_writer::BitWriter;
use super::empty_elements::EmptyElements;
use super::encoder_config::{EncoderConfig, HeaderConfig};
use super::frame;
use super::placed::{PlacedField, patch_role, put_placed};
use super::written_digest::DigestEvent;

/// Packets in a file.
#[derive(Debug, Default)]
pub(super) struct Packets {
    pub(super) out: BitWriter,
    pub(super) open: Option<OpenPacket>,
    pub(super) encoded: Vec<EncodedPacket>,
    pub(super) events: u64,
    pub(super) copied_packets: u64,
    /// Number of events dropped at packet ends, and number of dropped packets.
    pub(super) cut_events: u64,
    pub(super) cut_packets: u64,
    /// Packet sequence number, if the source lacks packets.
    pub(super) sequence: u64,
    pub(super) discarded: u64,
    /// Counters in fields that source packets lack.
    pub(super) added: AddedCounters,
    /// Default clock value at the last packet's end.
    pub(super) end: u64,
    /// Default clock value at the latest event.
    pub(super) last_event: u64,
    pub(super) has_packets: bool,
    /// Number of packets without a source packet.
    pub(super) inserted: u64,
    /// Counted events in the open packet that may be dropped when it ends.
    pub(super) uncertain: Vec<DigestEvent>,
}

/// Packet being encoded.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenPacket {
    pub(super) placed: Vec<PlacedField>,
    /// Header and context, as the start for further packets.
    pub(super) head: Vec<u8>,
    pub(super) head_bits: u64,
    pub(super) begin: u64,
    /// Default clock value after the last event.
    pub(super) now: u64,
    pub(super) source_end: Option<u64>,
    pub(super) events: u64,
    /// Zero-size array elements in the packet, and in its header and context.
    pub(super) elements: EmptyElements,
    pub(super) head_elements: EmptyElements,
    /// Maximum content size in bits that fits its size fields.
    pub(super) most_bits: u64,
    /// Latest possible event time, see [`PacketRepair`](super::repair::PacketRepair).
    pub(super) latest: u64,
    /// `true` if the source's end time is credible.
    pub(super) has_end: bool,
    /// Size in the source including the padding at its end, if the padding is kept.
    pub(super) total: u64,
    /// `true` to keep the source's start time, regardless of the first event.
    pub(super) has_begin: bool,
    /// `true` if the reader corrected the times in the source packet.
    pub(super) is_corrected: bool,
    /// `true` if its events so far are in order, between its start and its end.
    pub(super) has_right_times: bool,
    /// `true` if its content can end within a byte.
    pub(super) ends_in_byte: bool,
    /// Bits up to the last event that ends at a byte boundary, and number of events up to there.
    pub(super) whole: Option<(u64, u64)>,
}

impl OpenPacket {
    /// Returns the end time to write without an end message, because the source's end is wrong or its packet is
    /// damaged.
    pub(super) fn end_without_message(&self) -> Option<u64> {
        self.is_corrected.then(|| self.end_behind_events(self.source_end.unwrap_or(0)))
    }

    /// Returns the end time, or the last event's time if it is later. Wrong event times do not change a credible end
    /// time.
    pub(super) fn end_behind_events(&self, end: u64) -> u64 {
        if self.has_right_times || end < self.begin { end.max(self.now) } else { end }
    }

    /// Returns `true` if a field with the end time has a different value.
    pub(super) fn has_other_end(&self, end: Option<u64>) -> bool {
        let mut ends = self.placed.iter().filter(|placed| placed.role == Role::PacketEndTimestamp);
        ends.any(|placed| end.is_some_and(|end| !placed.has_lower_bits_of(end)))
    }

    /// Moves the packet's start to a default clock value, before its first event.
    pub(super) fn begin_at(&mut self, out: &mut BitWriter, cycles: u64) {
        (self.begin, self.now) = (cycles, cycles);
        patch_role(&self.placed, Role::Timestamp, out, cycles);
    }

    /// Adds skipped events to its counters.
    pub(super) fn count_left_out(&mut self, left_out: u64) {
        for placed in self.placed.iter_mut().filter(|placed| placed.role == Role::DiscardedEventCounter) {
            placed.value = placed.value.wrapping_add(left_out);
        }
    }

    /// Overwrites its counters with their current values.
    pub(super) fn patch_counters(&self, out: &mut BitWriter) {
        let counters = self.placed.iter().filter(|placed| placed.role == Role::DiscardedEventCounter);
        counters.for_each(|placed| placed.patch(out, placed.value));
    }
}

impl Packets {
    /// Opens a packet without a source packet.
    pub(super) fn open_own(&mut self, config: &EncoderConfig, header: HeaderConfig, lane: usize, begin: u64) {
        let trace = config.lowered.trace();
        let has_clock = trace
            .class
            .data_streams
            .get(config.stream.class_index)
            .is_some_and(|class| class.default_clock.is_some());
        let out = &mut self.out;
        let mut placed = Vec::new();
        out.begin_packet();
        frame::put_packet_header(out, header.uuid, header.class_id, header.stream_id | lane as u64);
        let mut put = |role, value| put_placed(out, &mut placed, role, value);
        put(Role::PacketTotalLength, 0);
        put(Role::PacketContentLength, 0);
        if has_clock {
            put(Role::Timestamp, begin);
            put(Role::PacketEndTimestamp, begin);
        }
        put(Role::DiscardedEventCounter, self.discarded);
        put(Role::PacketSequenceNumber, self.sequence);
        self.has_packets = true;
        let most_bits = u64::MAX;
        let ends_in_byte = true;
        self.open =
            Some(OpenPacket { placed, begin, now: begin, most_bits, ends_in_byte, ..OpenPacket::default() });
    }

    /// Ends the open packet, which is created from a source packet, and starts a packet with the same context.
    /// `left_out` is the number of events missing before its end, in addition to those counted by the source.
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
            elements: open.head_elements,
            head_elements: open.head_elements,
            most_bits: open.most_bits,
            latest: open.latest,
            has_end: open.has_end,
            total: 0,
            has_begin: false,
            is_corrected: open.is_corrected,
            has_right_times: open.has_right_times,
            ends_in_byte: open.ends_in_byte,
            whole: None,
        };
        open.total = 0;
        open.count_left_out(left_out);
        open.patch_counters(&mut self.out);
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
                    // Its initial number is the previous packet's number.
                    placed.value = placed.value.wrapping_add(1);
                    placed.patch(out, placed.value);
                }
                Role::DiscardedEventCounter => placed.patch(out, placed.value),
                _ => {}
            }
        }
        self.open = Some(next);
    }

    /// Drops an open packet without a source packet if it lacks events. It begins at the time of an event that was not
    /// written.
    pub(super) fn drop_empty_own(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.events == 0) {
            self.out.go_back(0);
            self.open = None;
            self.has_packets = self.sequence > 0;
        }
    }

    pub(super) fn close_own(&mut self, end: u64) {
        let Some(open) = self.open.take() else { return };
        self.end = self.end.max(end);
        self.close(open, Some(end));
        self.sequence += 1;
    }

    /// Drops the events at the end of a packet without both size fields, if it ends within a byte. In this case both
    /// sizes are equal, and the rest of the byte could be read as events. Returns `false` if the whole packet must be
    /// dropped.
    fn end_at_byte(&mut self, open: &OpenPacket) -> bool {
        if self.out.at() % 8 == 0 {
            return true;
        }
        let head = (open.head_bits % 8 == 0).then_some((open.head_bits, 0));
        let whole = open.whole.or(head);
        let (bits, events) = whole.unwrap_or_default();
        self.uncertain.clear();
        self.out.go_back(bits);
        self.cut_events += open.events - events;
        self.cut_packets += u64::from(whole.is_none());
        self.events -= open.events - events;
        whole.is_some()
    }

    /// Ends a packet. `end` replaces the time that is already written.
    pub(super) fn close(&mut self, open: OpenPacket, end: Option<u64>) {
        if !open.ends_in_byte && !self.end_at_byte(&open) {
            self.out.go_back(0);
            return;
        }
        let out = &mut self.out;
        let content = out.at();
        let total = align(content, 8).unwrap_or(content).max(open.total);
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
