//! Packets in the parts of a split data stream. Each part contains the source packets with its events, with sequence
//! numbers and counters for the part's losses.

use ichnos_io::EncodedPacket;
use ichnos_model::class::{DataStreamClass, Role, Uuid};
use ichnos_model::event::Packet;
use ichnos_model::lower::LossKind;
use ichnos_model::{Message, TraceClass, Window};

use super::added_counter::{AddedCounters, width_of};
use super::encoder_config::EncoderConfig;
use super::packets::{OpenPacket, Packets};
use super::placed::PlacedField;
use super::source_frame::AddedFields;
use super::stream_encoder::{PacketRange, StreamEncoder, begin_in_window};
use crate::packet::Counter;

/// Source packet used to create the packets of all parts.
#[derive(Debug)]
pub(super) struct PacketTemplate {
    open: OpenPacket,
    /// Packet header and context.
    head: Vec<u8>,
    pub(super) range: PacketRange,
    /// Range without an unreliable end.
    known_range: PacketRange,
    has_late_events: bool,
    /// Packet hash, if the digest is compared with the output.
    hash: Option<u64>,
}

/// Last counter values in a part's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketCounters {
    pub(super) discarded: Option<u64>,
    pub(super) sequence: Option<u64>,
    pub(super) has_packets: bool,
}

/// Losses before a part's next packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartLosses {
    events: u64,
    packets: u64,
    /// `true` if an unknown number of events was discarded before the first packet.
    is_unknown: bool,
}

/// Packet counter field widths in bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterWidths {
    discarded: u64,
    sequence: u64,
}

/// Facts about the packets around a source packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketContext {
    pub(super) widths: CounterWidths,
    /// Default clock value at the end of the previous packet.
    pub(super) end_before: Option<u64>,
    /// Previous packet's sequence number.
    pub(super) sequence_before: Option<u64>,
}

impl PartLosses {
    pub(super) fn add(&mut self, message: &Message<'_>) {
        match message {
            Message::DiscardedEvents(discarded) => match discarded.count {
                Some(count) => self.events = self.events.saturating_add(count),
                None => self.is_unknown = true,
            },
            Message::DiscardedPackets(discarded) => {
                self.packets = self.packets.saturating_add(discarded.count.unwrap_or(0));
            }
            _ => {}
        }
    }

    /// Returns the known number of lost events.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// Returns `true` if the size of the loss is known.
    pub(super) fn are_counted(&self) -> bool {
        self.events > 0 || self.packets > 0
    }
}

impl PacketContext {
    /// Moves to the packet after this packet.
    pub(super) fn pass(&mut self, packet: &Packet<'_>) {
        self.end_before = packet.end.map(|end| end.cycles).or(self.end_before);
        self.sequence_before = packet.sequence_number;
    }
}

impl CounterWidths {
    /// Returns the widths for a data stream class. Added fields have 64 bits.
    pub(super) fn for_class(trace: &TraceClass, class: &DataStreamClass, added: AddedFields) -> Self {
        let width = |role| if added.has(role) { 64 } else { width_of(trace, class, role).unwrap_or(64) };
        Self { discarded: width(Role::DiscardedEventCounter), sequence: width(Role::PacketSequenceNumber) }
    }
}

/// Returns how much a counter with this width grew, as readers compute it.
fn grown(before: u64, now: u64, width: u64) -> Option<u64> {
    let counter = |value| Counter { value, width };
    counter(now).since(counter(before))
}

fn masked(value: u64, width: u64) -> u64 {
    if width >= 64 { value } else { value & ((1 << width) - 1) }
}

impl PacketCounters {
    /// Returns the values before a part's first packet. `own` contains its source packet's values. `counts_anew`: the
    /// part counts losses from 0.
    fn before(
        own: (Option<u64>, Option<u64>),
        losses: &PartLosses,
        widths: CounterWidths,
        counts_anew: bool,
    ) -> Self {
        let before = |own: u64| masked(own.wrapping_sub(losses.events), widths.discarded);
        let from_zero = counts_anew && !losses.is_unknown;
        let number = |own: u64| own.wrapping_sub(1).wrapping_sub(losses.packets);
        Self {
            discarded: own.0.map(|own| if from_zero { 0 } else { before(own) }),
            sequence: own.1.map(|own| masked(number(own), widths.sequence)),
            has_packets: true,
        }
    }

    pub(super) fn is_new(&self) -> bool {
        !self.has_packets
    }

    /// Stores a packet's counters.
    pub(super) fn record(&mut self, packet: &EncodedPacket) {
        self.has_packets = true;
        if self.discarded.is_some() {
            self.discarded = Some(packet.discarded);
        }
        if self.sequence.is_some() {
            self.sequence = Some(packet.sequence);
        }
    }

    /// Returns `true` if readers derive these losses from a packet with the source's counter values.
    pub(super) fn allow(
        &self,
        own: (Option<u64>, Option<u64>),
        losses: &PartLosses,
        around: PacketContext,
    ) -> bool {
        let widths = around.widths;
        self.discarded
            .zip(own.0)
            .is_none_or(|(before, own)| grown(before, own, widths.discarded).unwrap_or(own) == losses.events)
            && self.sequence.zip(own.1).is_none_or(|(before, own)| {
                let growth = |before| grown(before, own, widths.sequence);
                let grown = growth(before);
                // Source packets can have equal numbers, and numbers can go back.
                let can_repeat = around.sequence_before == Some(own);
                let can_go_back = around.sequence_before.is_some_and(|before| growth(before).is_none());
                (can_repeat || grown != Some(0))
                    && (can_go_back || grown.is_some())
                    && grown.map_or(0, |grown| grown.saturating_sub(1)) == losses.packets
            })
    }

    /// Returns the next packet's counter values: the source's values, if they match the losses.
    fn next(
        &self,
        own: (Option<u64>, Option<u64>),
        losses: &PartLosses,
        around: PacketContext,
    ) -> (Option<u64>, Option<u64>) {
        let alone = |discarded, sequence| Self { discarded, sequence, has_packets: true };
        let discarded = own.0.map(|own| match self.discarded {
            Some(before) if !alone(self.discarded, None).allow((Some(own), None), losses, around) => {
                masked(before.wrapping_add(losses.events), around.widths.discarded)
            }
            _ => own,
        });
        let sequence = own.1.map(|own| match self.sequence {
            Some(before) if !alone(None, self.sequence).allow((None, Some(own)), losses, around) => {
                masked(before.wrapping_add(1).wrapping_add(losses.packets), around.widths.sequence)
            }
            _ => own,
        });
        (discarded, sequence)
    }
}

/// Returns the value of the first field with a role.
fn value_of(placed: &[PlacedField], role: Role) -> Option<u64> {
    placed.iter().find(|placed| placed.role == role).map(|placed| placed.value)
}

impl PacketTemplate {
    /// Encodes a packet's header and context. Returns `None` and records a loss, if they cannot be written. `added`
    /// contains the counters in fields that source packets lack.
    pub(super) fn encode(
        encoder: &mut StreamEncoder,
        packet: &Packet<'_>,
        around: PacketContext,
        added: &mut AddedCounters,
    ) -> Option<Self> {
        let goes_on = encoder.config.clock.goes_on.output;
        let end = around.end_before.filter(|_| goes_on && !encoder.config.clock.adds_begin).unwrap_or(0);
        let own = Packets { end, added: *added, ..Packets::default() };
        let lanes = std::mem::replace(&mut encoder.lanes, vec![own]);
        let (header, window) = (encoder.header, encoder.window);
        // Each part has its own header.
        encoder.header = encoder.config.header;
        encoder.header.replaced.uuid = encoder.header.uuid;
        encoder.window = Window::default();
        encoder.open_mirrored(packet);
        (encoder.header, encoder.window) = (header, window);
        let packets = std::mem::replace(&mut encoder.lanes, lanes).pop()?;
        *added = packets.added;
        let head = packets.out.packet().to_vec();
        let open = packets.open?;
        let range = PacketRange { begin: packet.begin, end: packet.end };
        let known_range = PacketRange::of_start(packet);
        let hash = encoder.digest.as_ref().map(|digest| digest.packet);
        Some(Self { open, head, range, known_range, has_late_events: packet.has_late_events, hash })
    }

    /// Begins the packet in the encoder's current part. `counts_anew`: the part counts losses from 0.
    pub(super) fn open(
        &self,
        encoder: &mut StreamEncoder,
        uuid: Option<Uuid>,
        (counters, losses): (&mut PacketCounters, &mut PartLosses),
        around: PacketContext,
        counts_anew: bool,
    ) {
        let config = std::sync::Arc::clone(&encoder.config);
        let elements = &mut encoder.most_elements;
        elements.of_head = elements.of_head.max(self.open.head_elements.excess);
        let packets = &mut encoder.lanes[0];
        if let (Some(digest), Some(hash)) = (&mut encoder.digest, self.hash) {
            packets.uncertain.drain(..).for_each(|event| digest.add(event));
            digest.packet = hash;
        }
        let begin = self.start_time(encoder, &config);
        let open = OpenPacket { begin, now: begin, ..self.open.clone() };
        let own = (
            value_of(&open.placed, Role::DiscardedEventCounter),
            value_of(&open.placed, Role::PacketSequenceNumber),
        );
        if counters.is_new() {
            *counters = PacketCounters::before(own, losses, around.widths, counts_anew);
            if losses.events > 0 && own.0.is_some() || losses.packets > 0 && own.1.is_some() {
                let wanted = around.end_before.unwrap_or(begin);
                self.put_empty(encoder, uuid, counters, wanted, begin);
            }
        }
        let (discarded, sequence) = counters.next(own, losses, around);
        if let Some(now) = discarded {
            let recorded = counters.discarded.and_then(|before| grown(before, now, around.widths.discarded));
            let recorded = recorded.unwrap_or(now).min(losses.events);
            if let Some(digest) = &mut encoder.digest {
                digest.add_discarded(recorded);
            }
            // A narrow counter may be too small for the loss.
            if recorded < losses.events {
                let what = "discarded events: more than their counter can count";
                config.lowered.record_losses(LossKind::Dropped, "", "", what, losses.events - recorded);
            }
        }
        let packets = &mut encoder.lanes[0];
        let open = self.begin(packets, open, uuid, (discarded, sequence));
        (counters.discarded, counters.sequence) = (discarded, sequence);
        *losses = PartLosses::default();
        packets.has_packets = true;
        packets.open = Some(open);
    }

    /// Returns the packet's start time in the current part.
    fn start_time(&self, encoder: &StreamEncoder, config: &EncoderConfig) -> u64 {
        let packets = &encoder.lanes[0];
        let mut begin = self.open.begin;
        let raises = self.has_late_events && config.timestamp.are_whole();
        let is_early = raises && begin < packets.last_event;
        if is_early {
            begin = packets.last_event;
        }
        if config.clock.adds_begin {
            let end = self.range.end.map(|end| end.cycles);
            let latest = end.filter(|end| !self.open.is_corrected || *end >= begin);
            begin = begin.max(packets.end).min(latest.unwrap_or(u64::MAX));
        }
        begin = begin_in_window(config, encoder.window, self.known_range, begin).unwrap_or(begin);
        let is_late = !config.frame.is_ctf && begin < packets.end;
        encoder.record_moved_start(is_early, is_late);
        if is_late { packets.end } else { begin }
    }

    /// Writes an empty packet before a part's first packet, which starts at `next`, because readers only see losses
    /// between two packets. The empty packet starts at the time `wanted`, if possible.
    fn put_empty(
        &self,
        encoder: &mut StreamEncoder,
        uuid: Option<Uuid>,
        counters: &PacketCounters,
        wanted: u64,
        next: u64,
    ) {
        let config = &*encoder.config;
        let packets = &mut encoder.lanes[0];
        let first = begin_in_window(config, encoder.window, self.known_range, 0).unwrap_or(0);
        let wanted = wanted.max(first).max(packets.end).min(next);
        let can_begin = config.clock.can_begin(wanted, packets.end, config.timestamp);
        let begin = if can_begin { wanted } else { next };
        let empty = OpenPacket { begin, now: begin, source_end: Some(begin), total: 0, ..self.open.clone() };
        let empty = self.begin(packets, empty, uuid, (counters.discarded, counters.sequence));
        packets.close(empty, Some(begin));
        packets.end = packets.end.max(begin);
    }

    /// Writes the start of a packet.
    fn begin(
        &self,
        packets: &mut Packets,
        mut open: OpenPacket,
        uuid: Option<Uuid>,
        (discarded, sequence): (Option<u64>, Option<u64>),
    ) -> OpenPacket {
        let out = &mut packets.out;
        out.begin_packet();
        out.bytes(&self.head);
        out.go_back(open.head_bits);
        let mut uuid = uuid.into_iter().flat_map(Uuid::into_bytes);
        for placed in &mut open.placed {
            let value = match placed.role {
                Role::Timestamp if open.begin != self.open.begin => Some(open.begin),
                Role::DiscardedEventCounter => discarded,
                Role::PacketSequenceNumber => sequence,
                Role::MetadataStreamUuid => uuid.next().map(u64::from),
                _ => None,
            };
            if let Some(value) = value
                && (value != placed.value || placed.role == Role::Timestamp)
            {
                placed.value = value;
                placed.patch(out, value);
            }
        }
        // Further packets with the same context start with the same bytes.
        open.head.clear();
        open.head.extend_from_slice(out.packet());
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AROUND: PacketContext = PacketContext {
        widths: CounterWidths { discarded: 64, sequence: 32 },
        end_before: None,
        sequence_before: Some(8),
    };

    fn next(before: (u64, u64), own: (u64, u64), events: u64, packets: u64) -> (u64, u64) {
        let counters =
            PacketCounters { discarded: Some(before.0), sequence: Some(before.1), has_packets: true };
        let losses = PartLosses { events, packets, is_unknown: false };
        let (discarded, sequence) = counters.next((Some(own.0), Some(own.1)), &losses, AROUND);
        (discarded.unwrap(), sequence.unwrap())
    }

    #[test]
    fn packets_say_the_losses_of_their_part() {
        // Same as in the source.
        assert_eq!(next((4, 1), (4, 2), 0, 0), (4, 2));
        assert_eq!(next((4, 1), (7, 5), 3, 3), (7, 5));
        // Losses in between belong to other parts.
        assert_eq!(next((4, 1), (7, 5), 0, 0), (4, 2));
        assert_eq!(next((0, 1), (7, 5), 2, 1), (2, 3));
        // A counter that was reset has counted from 0 since.
        assert_eq!(next((9, 1), (3, 2), 3, 0), (3, 2));
        // The previous packet's number is not repeated, unless the source repeats it.
        assert_eq!(next((0, 8), (0, 8), 0, 0), (0, 8));
        assert_eq!(next((0, 5), (0, 5), 0, 0), (0, 6));
        assert_eq!(next((0, u64::from(u32::MAX)), (0, 7), 0, 0), (0, 0));
    }
}
