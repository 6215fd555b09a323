//! Packets created one-to-one from source packets.

use super::{LATE_EVENT, StreamEncoder};
use crate::writer::added_counter::width_of;
use crate::writer::bit_writer::BitWriter;
use crate::writer::empty_elements::{CountingEncoder, EmptyElements};
use crate::writer::encoder_config::{EncoderConfig, WriteRule};
use crate::writer::field_encoder::FieldEncoder;
use crate::writer::frame;
use crate::writer::packets::{OpenPacket, Packets};
use crate::writer::placed::{PlacedField, ends_in_byte, most_bits, patch_role, put_placed};
use crate::writer::role_values::RoleValues;
use ichnos_model::class::{ByteOrder, DataStreamClass, FieldClass, FieldKind, Role};
use ichnos_model::clock::ClockValue;
use ichnos_model::event::Packet;
use ichnos_model::lower::{LossKind, PacketLosses};
use ichnos_model::message::Discarded;
use ichnos_model::{DataStream, Event, Scope, Window};
use std::sync::Arc;

/// Losses caused by known tracer bugs in packet times.
const CORRECTED_BEGIN: &str = "packet begin time after the first event: used that event's time";
const CORRECTED_END: &str = "packet end time before the last event: used that event's time";

/// Loss for a size or an id that the reader has corrected.
const WRONG_HEAD: &str = "impossible size or id: used the value that fits the neighboring packets";

/// Loss for a time that the reader has corrected.
const DAMAGED_TIME: &str = "time of a damaged packet: used a time between the neighboring packets";

impl StreamEncoder {
    /// Returns `true` if a packet's header and times allow copying it as a whole.
    pub(in crate::writer) fn can_copy(&self, packet: &Packet<'_>) -> bool {
        let (config, window) = (&*self.config, self.window);
        let is_within = |time: Option<ClockValue>| {
            let Some(time) = time else { return window == Window::default() };
            window.begin.is_none_or(|begin| time.nanoseconds >= begin)
                && window.end.is_none_or(|end| time.nanoseconds <= end)
        };
        // LTTng writes such times for packets that were open during a crash: their end is unknown.
        let has_no_end = packet.begin.zip(packet.end).is_some_and(|(begin, end)| end.cycles < begin.cycles);
        config.has(WriteRule::CopyPackets)
            && !self.header.is_common
            && self.lanes[0].inserted == 0
            && self.lanes[0].open.is_none()
            && is_whole(packet)
            && !config.clock.depends_on_ends()
            && is_within(packet.begin)
            && is_within(packet.end)
            && !packet.has_corrected_times
            && !packet.has_corrected_head
            && (!has_no_end || window.end.is_none())
    }

    /// Returns a packet header before and after replacing values, if its size stays the same as in the source.
    pub(super) fn changed_header(&mut self, packet: &Packet<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
        let config = Arc::clone(&self.config);
        let end = packet.scopes.begins().get(Scope::PacketContext as usize)?.bit;
        let replaced = self.header.replaced;
        let mut encode = |roles: RoleValues| {
            let mut out = BitWriter::default();
            let mut encoder = FieldEncoder::new(&mut out, &config, roles, None, &mut self.lengths);
            // If header values change, their bits differ, so the headers are not copied.
            let mut losses = PacketLosses::default();
            config.lowered.visit_packet(packet, Scope::PacketHeader, &mut encoder, &mut losses).ok()?;
            let is_encoded = encoder.error.is_none();
            (is_encoded && out.at() == end).then(|| out.take())
        };
        Some((encode(RoleValues::default())?, encode(replaced)?))
    }

    /// Opens a packet that is created from a source packet.
    pub(in crate::writer) fn open_mirrored(&mut self, packet: &Packet<'_>) {
        let config = Arc::clone(&self.config);
        self.close_without_end(&config);
        let packets = &mut self.lanes[0];
        packets.out.begin_packet();
        let before = packets.end;
        if !config.repairs() && packet.begin.is_some_and(|begin| config.clock.goes_back(begin.cycles, before))
        {
            return self.drop_packet(
                "it starts before the end of the previous packet, and its clock cannot express this \
                in this dialect",
            );
        }
        let mut head = match self.put_head(packet, &config) {
            Ok(head) => head,
            Err(problem) => return self.drop_packet(&problem),
        };
        let (bytes, head_bits) = (self.lanes[0].out.packet().to_vec(), self.lanes[0].out.at());
        let (has_right_times, latest) = self.source_times(packet, &config);
        self.move_start(packet, &mut head, &config);
        let PacketHead { placed, elements, begin } = head;
        let packets = &mut self.lanes[0];
        packets.has_packets = true;
        if let Some(digest) = &mut self.digest {
            packets.uncertain.drain(..).for_each(|event| digest.add(event));
            digest.begin_packet(&config, packet);
        }
        // Without the content end, padding would be read as events.
        let keeps_size =
            is_whole(packet) && config.has(WriteRule::KeepPackets) && ends_in_byte(&placed, true);
        let mut open = OpenPacket {
            head: bytes,
            head_bits,
            begin,
            now: begin,
            source_end: cycles(packet.end),
            most_bits: most_bits(&placed),
            total: if keeps_size { packet.total_length } else { 0 },
            has_begin: config.has(WriteRule::KeepPackets) && packet.begin.is_some(),
            is_corrected: packet.has_corrected_times,
            ends_in_byte: ends_in_byte(&placed, config.has(WriteRule::DelimitPackets)),
            elements,
            head_elements: elements,
            latest,
            has_right_times,
            placed,
            ..OpenPacket::default()
        };
        if config.repairs() {
            self.repair_head(packet, &mut open, &config);
        }
        let packets = &mut self.lanes[0];
        if packets.inserted > 0 {
            let numbers = open.placed.iter_mut().filter(|placed| placed.role == Role::PacketSequenceNumber);
            for placed in numbers {
                placed.value = placed.value.wrapping_add(packets.inserted);
                placed.patch(&mut packets.out, placed.value);
            }
        }
        packets.open = Some(open);
    }

    /// Closes an open packet whose end was lost to damage.
    pub(super) fn close_without_end(&mut self, config: &EncoderConfig) {
        match self.lanes[0].open.take() {
            Some(open) if config.repairs() => self.close_repaired(open),
            Some(open) => close_unended(&mut self.lanes[0], open, config),
            None => {}
        }
    }

    /// Writes a packet's header and context. Returns the problem if they cannot be written.
    fn put_head(&mut self, packet: &Packet<'_>, config: &EncoderConfig) -> Result<PacketHead, String> {
        // An event after the previous packet's end may be later than this packet's start.
        let raises = packet.has_late_events && config.timestamp.are_whole();
        let earliest = if raises { self.lanes[0].last_event } else { 0 };
        // Timestamp fields can have other sizes than before. An unreadable time does not move the clock.
        let time = cycles(packet.begin).or(config.default_clock.map(|_| 0));
        self.record_moved_start(time.is_some_and(|time| time < earliest), false);
        let begin = cycles(packet.begin).unwrap_or(0).max(earliest);
        let mut head = PacketHead { placed: Vec::new(), elements: EmptyElements::default(), begin };
        self.put_source_fields(packet, time.map(|time| time.max(earliest)), &mut head, config)?;
        self.put_added_fields(packet, &mut head, config);
        if self.lanes[0].out.at() > most_bits(&head.placed) {
            return Err("its header and context are too large for its size fields".to_owned());
        }
        if head.elements.excess > config.limits.zero_size_elements {
            return Err("more zero-size array elements than readers accept".to_owned());
        }
        self.most_elements.of_head = self.most_elements.of_head.max(head.elements.excess);
        Ok(head)
    }

    /// Writes the fields from a source packet's header and context, and the ids that its header lacks.
    fn put_source_fields(
        &mut self,
        packet: &Packet<'_>,
        begin: Option<u64>,
        head: &mut PacketHead,
        config: &EncoderConfig,
    ) -> Result<(), String> {
        let header = self.header;
        if header.is_common {
            let out = &mut self.lanes[0].out;
            frame::put_packet_header(out, header.uuid, header.class_id, header.stream_id);
        }
        let stream_id = config.stream.id.and_then(|id| u64::try_from(id).ok());
        let (mut changed_times, mut corrected_times) = (0, 0);
        for scope in [Scope::PacketHeader, Scope::PacketContext] {
            let is_header = scope == Scope::PacketHeader;
            if is_header && header.is_common {
                continue;
            }
            let out = &mut self.lanes[0].out;
            if !is_header && config.adds_to_context() {
                out.align(config.lowered_context().map_or(8, FieldClass::alignment));
            }
            let roles = match is_header {
                true => header_values(header.replaced, stream_id, packet, config),
                false => context_values(begin, packet),
            };
            let mut encoder =
                FieldEncoder::new(out, config, roles, Some(&mut head.placed), &mut self.lengths);
            let mut counting = CountingEncoder::new(&mut encoder, &mut head.elements);
            let visited = config.lowered.visit_packet(packet, scope, &mut counting, &mut self.packet_losses);
            changed_times += encoder.changed_times;
            corrected_times += encoder.corrected_times;
            if let Some(error) = encoder.error.take() {
                return Err(error.to_string());
            }
            visited.map_err(|error| error.to_string())?;
            let added = [
                (Role::DataStreamClassId, header.class_id),
                (Role::DataStreamId, stream_id.unwrap_or(header.stream_id)),
            ];
            for (_, id) in added.into_iter().filter(|(role, _)| is_header && config.added.has(*role)) {
                out.align(8);
                out.put(id, 64, ByteOrder::LittleEndian);
            }
        }
        if corrected_times > 0 && !config.repairs() {
            self.record_loss(LossKind::Rounded, "", Scope::PacketContext.short_name(), CORRECTED_BEGIN);
        }
        if changed_times > 0 && !config.repairs() {
            // The reader knows times that fit between the neighboring packets.
            self.record_loss(LossKind::Rounded, "", Scope::PacketContext.short_name(), DAMAGED_TIME);
        }
        Ok(())
    }

    /// Writes the sizes, counters and times that a source packet's context lacks.
    fn put_added_fields(&mut self, packet: &Packet<'_>, head: &mut PacketHead, config: &EncoderConfig) {
        let packets = &mut self.lanes[0];
        let width = |role| width_of(&config.stream.trace.class, config.stream.class(), role).unwrap_or(1);
        for role in config.added.in_scope(Scope::PacketContext) {
            let counters = &mut packets.added;
            let own = |counter: Option<u64>| counter.filter(|_| !config.recounted.has(role));
            let value = match role {
                Role::DiscardedEventCounter => {
                    counters.discarded.discarded(own(packet.discarded_counter), width(role))
                }
                Role::PacketSequenceNumber => {
                    counters.sequence.sequence(own(packet.sequence_number), width(role))
                }
                // Sizes are not known yet.
                _ => 0,
            };
            put_placed(&mut packets.out, &mut head.placed, role, value);
        }
        if !config.clock.adds_begin {
            return;
        }
        // The packet starts at the time of its first event, if any.
        let end = cycles(packet.end);
        let latest = end.filter(|end| *end >= head.begin).unwrap_or(u64::MAX);
        head.begin = head.begin.max(packets.end).min(latest);
        put_placed(&mut packets.out, &mut head.placed, Role::Timestamp, head.begin);
        if config.clock.adds_end {
            let end = end.unwrap_or(head.begin);
            put_placed(&mut packets.out, &mut head.placed, Role::PacketEndTimestamp, end);
        }
    }

    /// Returns `true` if the source's packet times are credible, and the latest possible event time.
    fn source_times(&self, packet: &Packet<'_>, config: &EncoderConfig) -> (bool, u64) {
        let begin = cycles(packet.begin).unwrap_or(0);
        // For other formats and repaired traces, the events determine the end.
        if config.repairs() || !config.frame.is_ctf {
            return (true, u64::MAX);
        }
        // For tracers with known bugs, the reader determines the end when the packet ends.
        let known_end = cycles(packet.end).filter(|end| !packet.has_corrected_times || begin <= *end);
        let is_before_next = |end: u64| self.repair.next_begin().is_none_or(|next| end <= next);
        let has_right_times = known_end.is_none_or(|end| begin <= end && is_before_next(end));
        // Events can be after its end if the tracer is known for this.
        (has_right_times, known_end.filter(|_| !packet.has_late_events).unwrap_or(u64::MAX))
    }

    /// Moves a packet's start into the window and after the previous packet.
    fn move_start(&mut self, packet: &Packet<'_>, head: &mut PacketHead, config: &EncoderConfig) {
        let packets = &mut self.lanes[0];
        let range = PacketRange::of_start(packet);
        if let Some(wanted) = begin_in_window(config, self.window, range, head.begin) {
            head.begin = wanted;
            patch_role(&head.placed, Role::Timestamp, &mut packets.out, wanted);
        }
        if !config.frame.is_ctf && head.begin < packets.end {
            head.begin = packets.end;
            patch_role(&head.placed, Role::Timestamp, &mut packets.out, packets.end);
            self.record_moved_start(false, true);
        }
    }

    /// Makes a packet's header and context values consistent.
    fn repair_head(&mut self, packet: &Packet<'_>, open: &mut OpenPacket, config: &EncoderConfig) {
        let packets = &mut self.lanes[0];
        let changes = self.repair.begin(packets.end, open, &config.clock, packet.has_late_events);
        for placed in &open.placed {
            placed.patch(&mut packets.out, placed.value);
        }
        let wrong_head = packet.has_corrected_head.then_some(WRONG_HEAD);
        for what in changes.into_iter().chain(wrong_head) {
            config.lowered.record_loss(LossKind::Rounded, "", "packet.context", what);
        }
    }

    /// Records that a packet starts later than in the source, because it started before the last event or the previous
    /// packet's end.
    pub(in crate::writer) fn record_moved_start(&self, is_before_event: bool, is_before_end: bool) {
        let losses = [
            (
                is_before_event,
                "begin time before the last event of the previous packet: used that event's time",
            ),
            (is_before_end, "packet begin time before the previous packet's end: used that end"),
        ];
        for (_, what) in losses.into_iter().filter(|(is_lost, _)| *is_lost) {
            self.record_loss(LossKind::Rounded, "", "packet.context", what);
        }
    }

    /// Drops the open packet.
    pub(super) fn drop_packet(&mut self, problem: &str) {
        self.lanes[0].out.go_back(0);
        let what = format!("packet that cannot be written: {problem}");
        self.record_loss(LossKind::Dropped, "", "packet.context", &what);
    }

    /// Ends a packet that is created from a source packet, with the source's start and end.
    pub(in crate::writer) fn close_mirrored(&mut self, packet: PacketRange) {
        let config = Arc::clone(&self.config);
        let packets = &mut self.lanes[0];
        let Some(open) = packets.open.take() else { return };
        let (mut end, mut is_changed, mut is_corrected) = (None, false, false);
        if config.repairs() {
            self.close_repaired(open);
            return;
        }
        let window = self.window;
        let is_before = packet.end.zip(window.begin).is_some_and(|(end, begin)| end.nanoseconds < begin);
        let is_behind = packet.begin.zip(window.end).is_some_and(|(begin, end)| begin.nanoseconds > end);
        if open.events == 0 && (is_before || is_behind) {
            // The packet is completely outside the window.
            packets.out.go_back(0);
            return;
        }
        if let Some(last) = cycles_at(&config.stream, window.end)
            && packet.end.is_some_and(|end| end.cycles > last)
        {
            end = Some(last.max(open.now));
        } else if packets.inserted > 0 || open.is_corrected {
            end = packet.end.map(|end| open.end_behind_events(end.cycles));
            is_corrected = config.has(WriteRule::KeepPackets) && open.is_corrected && open.has_other_end(end);
        } else if !config.frame.is_ctf && config.default_clock.is_some() {
            end = Some(packet.end.map_or(open.now, |end| end.cycles.max(open.now)));
        } else if config.clock.depends_on_ends() {
            // A damaged packet's recorded end may be later than the next packet's begin.
            end = packet.end.map(|end| end.cycles.max(open.now));
            is_changed = open.has_other_end(end);
        }
        // The next packet cannot begin earlier.
        let recorded = end.or(packet.end.map(|end| end.cycles)).unwrap_or(0);
        packets.end = packets.end.max(recorded);
        packets.close(open, end);
        for (_, what) in
            [(is_changed, DAMAGED_TIME), (is_corrected, CORRECTED_END)].iter().filter(|(is, _)| *is)
        {
            self.record_loss(LossKind::Rounded, "", Scope::PacketContext.short_name(), what);
        }
    }

    /// Returns an event's time, or the previous event's time if most other events contradict it.
    pub(super) fn possible_time(&mut self, event: &Event<'_>, cycles: u64) -> u64 {
        let latest = self.repair.times.latest(event);
        let Some(open) = &self.lanes[0].open else { return cycles };
        let now = open.now;
        if cycles == now || (now..=latest.min(open.latest)).contains(&cycles) {
            return cycles;
        }
        self.record_loss(
            LossKind::Rounded,
            event.name(),
            "",
            "impossible time: used the time of the previous event",
        );
        now
    }

    /// Returns an event's time, or the previous event's time if the source's packets are out of order.
    pub(super) fn time_in_order(&mut self, cycles: u64, name: &str) -> u64 {
        let packets = &mut self.lanes[0];
        let Some(open) = &mut packets.open else { return cycles };
        if cycles >= open.now {
            return cycles;
        }
        if open.events == 0 && cycles >= packets.end {
            open.begin_at(&mut packets.out, cycles);
            return cycles;
        }
        let now = open.now;
        self.record_loss(LossKind::Rounded, name, "", LATE_EVENT);
        now
    }

    /// Ends a packet with consistent values.
    pub(super) fn close_repaired(&mut self, mut open: OpenPacket) {
        let packets = &mut self.lanes[0];
        let end = open.source_end.filter(|_| open.has_end).unwrap_or(open.now).max(open.now);
        open.count_left_out(self.repair.left_out);
        open.patch_counters(&mut packets.out);
        packets.end = end;
        packets.close(open, Some(end));
    }

    /// Counts a loss for the next packet, if its counter counts anew.
    pub(in crate::writer) fn count_loss(&mut self, role: Role, discarded: &Discarded<'_>) {
        if !self.config.recounted_with_losses.has(role) {
            return;
        }
        let added = &mut self.lanes[0].added;
        let counter =
            if role == Role::PacketSequenceNumber { &mut added.sequence } else { &mut added.discarded };
        counter.lose(discarded.count.unwrap_or(1));
    }

    /// Writes lost events from a source without packets. Readers see the loss between two packets.
    pub(in crate::writer) fn discarded_events(&mut self, discarded: &Discarded<'_>) {
        if self.config.frame.mirrors {
            // The counters in its packets show the loss.
            if !self.config.frame.is_ctf && !has_counter(self.config.stream.class()) {
                let what = "discarded events: packets do not count them";
                self.record_loss(LossKind::Dropped, "", "", what);
            }
            return;
        }
        let Some(count) = discarded.count else {
            return self.record_loss(
                LossKind::Dropped,
                "",
                "",
                "record of an unknown number of discarded events",
            );
        };
        if discarded.thread.is_some() {
            self.record_loss(LossKind::Dropped, "", "", "thread of discarded events");
        }
        discarded.begin.iter().for_each(|begin| self.set_leading(self.nearest(*begin).0));
        self.give_up_leading();
        let last = self.lanes[0].open.as_ref().map_or(self.lanes[0].end, |open| open.now);
        let begin = discarded.begin.map_or(last, |begin| self.nearest(begin).0).max(last);
        let end = discarded.end.map_or(begin, |end| self.nearest(end).0).max(begin);
        if self.lanes[0].open.is_none() && !self.lanes[0].has_packets {
            // The first packet shows the counter before the loss.
            self.lanes[0].open_own(&self.config, self.header, 0, begin);
        }
        self.lanes[0].close_own(begin);
        self.lanes[0].discarded = self.lanes[0].discarded.wrapping_add(count);
        self.lanes[0].open_own(&self.config, self.header, 0, begin);
        self.lanes[0].close_own(end);
    }
}

/// Header and context of a packet being written.
struct PacketHead {
    placed: Vec<PlacedField>,
    elements: EmptyElements,
    /// Default clock value at the packet's start.
    begin: u64,
}

/// Returns the values that replace a source packet's header values.
fn header_values(
    mut values: RoleValues,
    stream_id: Option<u64>,
    packet: &Packet<'_>,
    config: &EncoderConfig,
) -> RoleValues {
    if packet.has_corrected_head {
        let class_id = u64::try_from(config.stream.class().id).ok();
        values.data_stream_class_id = values.data_stream_class_id.or(class_id);
        values.data_stream_id = values.data_stream_id.or(stream_id);
    }
    values
}

/// Returns the values that replace a source packet's context values. The packet starts at the clock value `begin`.
fn context_values(begin: Option<u64>, packet: &Packet<'_>) -> RoleValues {
    // Packets from some tracers may all begin later than recorded. Other corrections are known.
    let begins_by_bug =
        packet.has_corrected_times && (!packet.has_late_events || begin != cycles(packet.begin));
    RoleValues {
        whole_timestamp: begin,
        whole_end_timestamp: cycles(packet.end),
        timestamp: begin.filter(|_| begins_by_bug),
        ..RoleValues::default()
    }
}

fn cycles(time: Option<ClockValue>) -> Option<u64> {
    time.map(|time| time.cycles)
}

/// Returns `true` if all the packet's data exists. A truncated packet's size is not credible.
fn is_whole(packet: &Packet<'_>) -> bool {
    packet.scopes.bits.data.len() as u64 * 8 == packet.total_length
}

/// Ends a packet that the source does not end.
pub(in crate::writer) fn close_unended(packets: &mut Packets, open: OpenPacket, config: &EncoderConfig) {
    let now = open.now;
    packets.end = packets.end.max(now);
    // The end in a CTF packet is right, except with known tracer bugs.
    let end = match !config.frame.is_ctf && config.default_clock.is_some() {
        true => Some(now),
        false => open.end_without_message(),
    };
    packets.close(open, end);
}

/// Returns `true` if packet contexts count discarded events.
pub(super) fn has_counter(class: &DataStreamClass) -> bool {
    let root = class.packet_context.as_deref().map(|root| &root.kind);
    let Some(FieldKind::Structure { members, .. }) = root else { return false };
    members.iter().any(|member| member.class.roles.has(Role::DiscardedEventCounter))
}

/// Begin and end of a source packet.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::writer) struct PacketRange {
    pub(in crate::writer) begin: Option<ClockValue>,
    pub(in crate::writer) end: Option<ClockValue>,
}

impl PacketRange {
    /// Returns the range of a packet that starts. Its end is unknown if it could be later than recorded.
    pub(in crate::writer) fn of_start(packet: &Packet<'_>) -> Self {
        let (begin, end) = (packet.begin, packet.end.filter(|_| !packet.has_late_events));
        Self { begin, end: end.filter(|end| begin.is_none_or(|begin| begin.cycles <= end.cycles)) }
    }
}

/// Returns the clock value at which a packet with these times begins instead of `before`, if a window cuts it.
pub(in crate::writer) fn begin_in_window(
    config: &EncoderConfig,
    window: Window,
    range: PacketRange,
    before: u64,
) -> Option<u64> {
    let first = cycles_at(&config.stream, window.begin)?;
    range.begin.filter(|begin| begin.cycles < first)?;
    // It may end before the window, and contain events after its end.
    let wanted = range.end.map_or(first, |end| first.min(end.cycles.max(before)));
    // A narrow timestamp may be too short. In this case, the begin is unchanged.
    config.clock.can_begin(wanted, before, config.timestamp).then_some(wanted)
}

/// Returns the default clock value that a clock shows at a time, which can be between two values.
fn cycles_at(stream: &DataStream, time: Option<i128>) -> Option<u64> {
    let clock = stream.clock()?;
    let time = time?;
    // The clock is monotonic, so bisection finds the value.
    let (mut low, mut high) = (0u64, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if clock.nanoseconds(middle) >= time {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let is_behind = clock.nanoseconds(low) > time;
    Some(low.saturating_sub(is_behind.into()))
}
