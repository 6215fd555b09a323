//! Encodes the packets of a data stream.

use std::io;
use std::sync::Arc;

use ichnos_io::{EncodedBlock, EncodedPacket, Encoder};
use ichnos_model::lower::{Loss, LossKind, PacketLosses};
use ichnos_model::{
    BitField, ByteOrder, DataStream, Discarded, Event, FieldClass, Message, Packet, Role, Scope, Window,
};

use super::bit_writer::BitWriter;
use super::class_encoding::{ChangedTexts, ClassEncoding};
use super::field_encoder::{FieldEncoder, RoleValues};
use super::frame;
use super::index_file::SaidTimes;
use super::packets::{OpenPacket, Packets};
use super::placed::{Layout, Placed, most_bits, says_both_sizes};
use super::repair::Repair;
use super::stream_rules::StreamRules;

/// What is given out at once, in bytes, if there is as much.
const BLOCK: usize = 1 << 20;

/// How large a packet gets that is not made of another one, in bytes.
const PACKET: u64 = 256 << 10;

/// Most lanes of a data stream whose events are not in order of time.
const MOST_LANES: usize = 16;

/// Encodes the messages of a data stream.
#[derive(Debug)]
pub(super) struct StreamEncoder {
    rules: Arc<StreamRules>,
    classes: Vec<Option<ClassEncoding>>,
    /// By lane: one, unless events are not in order.
    lanes: Vec<Packets>,
    blocks: Vec<EncodedBlock>,
    lengths: Vec<Option<i128>>,
    packet_losses: PacketLosses,
    repair: Repair,
}

impl StreamEncoder {
    pub(super) fn new(rules: Arc<StreamRules>) -> Self {
        let repair = Repair::new(&rules.stream);
        Self {
            rules,
            classes: Vec::new(),
            lanes: vec![Packets::default()],
            blocks: Vec::new(),
            lengths: Vec::new(),
            packet_losses: PacketLosses::default(),
            repair,
        }
    }

    fn lose(&self, kind: LossKind, class: &str, field: &str, what: &str) {
        let loss = Loss { kind, class: class.to_owned(), field: field.to_owned(), what: what.to_owned() };
        self.rules.lowered.lose(loss, 1);
    }

    /// How the class of an event is encoded; notes it when it is met for the first time.
    fn class(&mut self, event: &Event<'_>) -> io::Result<Option<usize>> {
        let Some(index) = event.class_index() else { return Ok(None) };
        if let Some(Some(_)) = self.classes.get(index) {
            return Ok(Some(index));
        }
        let lowered = self.rules.lowered.event(event).map_err(io::Error::other)?;
        let Some(lowered) = lowered else { return Ok(None) };
        let class = ClassEncoding::new(lowered, event, &self.rules)?;
        if self.classes.len() <= index {
            self.classes.resize_with(index + 1, || None);
        }
        self.classes[index] = Some(class);
        Ok(Some(index))
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let Some(class) = self.class(event)? else {
            self.lose(LossKind::Dropped, event.name(), "", "event of an unknown class");
            return Ok(());
        };
        let cycles = event.clock.map(|clock| clock.cycles);
        let lane = if self.rules.mirrors { 0 } else { self.lane(cycles, event.name()) };
        let cycles = match (self.rules.mirrors, cycles) {
            (false, Some(cycles)) => Some(cycles.max(self.lanes[lane].end)),
            (true, Some(cycles)) if self.rules.repairs => Some(self.possible_time(cycles, event.name())),
            _ => cycles,
        };
        self.make_room(lane, cycles)?;
        let rules = Arc::clone(&self.rules);
        let mut is_split = false;
        loop {
            let packets = &mut self.lanes[lane];
            let Some(OpenPacket { most_bits, now, events, .. }) = packets.open else {
                self.lose_event(event, "its packet cannot be written");
                return Ok(());
            };
            let Some(Some(class)) = self.classes.get_mut(class) else { return Ok(()) };
            let begin = packets.out.at();
            let mut texts = ChangedTexts::default();
            if !(rules.mirrors && class.copy_event(&mut packets.out, event)) {
                match class.encode_event(&mut packets.out, &mut self.lengths, &rules, event, cycles) {
                    Ok(changed) => texts = changed,
                    Err(problem) => {
                        packets.out.go_back(begin);
                        if rules.must_fit {
                            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
                        }
                        self.lose_event(event, &problem);
                        return Ok(());
                    }
                }
            }
            if packets.out.at() <= most_bits {
                self.lose_texts(event.name(), texts);
                break;
            }
            packets.out.go_back(begin);
            if is_split || events == 0 || rules.mirrors && !rules.can_split(now, cycles) {
                self.lose_event(event, "a packet with it would be too large for the fields of its size");
                return Ok(());
            }
            let end = cycles.unwrap_or(now).max(now);
            self.lanes[lane].split(end, cycles, self.repair.left_out);
            is_split = true;
        }
        let packets = &mut self.lanes[lane];
        let Some(open) = &mut packets.open else { return Ok(()) };
        open.events += 1;
        packets.events += 1;
        if packets.out.at() % 8 == 0 {
            open.whole = Some((packets.out.at(), open.events));
        }
        if let Some(cycles) = cycles {
            open.now = cycles;
            packets.end = packets.end.max(cycles);
        }
        Ok(())
    }

    fn lose_texts(&self, name: &str, texts: ChangedTexts) {
        let lose = |kind, what: &str, count| {
            let (class, field, what) = (name.to_owned(), "payload".to_owned(), what.to_owned());
            self.rules.lowered.lose(Loss { kind, class, field, what }, count);
        };
        if texts.cut > 0 {
            lose(LossKind::Dropped, "rest of a text behind U+0000", texts.cut);
        }
        if texts.replaced > 0 {
            lose(LossKind::Rounded, "bytes that are not UTF-8: question marks", texts.replaced);
        }
    }

    fn lose_event(&self, event: &Event<'_>, problem: &str) {
        let what = format!("event that cannot be written: {problem}");
        self.lose(LossKind::Dropped, event.name(), "", &what);
    }

    /// The lane whose last event is no later than an event.
    fn lane(&mut self, cycles: Option<u64>, name: &str) -> usize {
        let Some(cycles) = cycles else { return 0 };
        if let Some(lane) = self.lanes.iter().position(|packets| packets.end <= cycles) {
            return lane;
        }
        if self.lanes.len() < MOST_LANES {
            self.lanes.push(Packets::default());
            return self.lanes.len() - 1;
        }
        self.lose(
            LossKind::Rounded,
            name,
            "",
            "time before that of earlier events: the time of the last one",
        );
        0
    }

    /// Has a packet open in which there is room for an event of a time.
    fn make_room(&mut self, lane: usize, cycles: Option<u64>) -> io::Result<()> {
        let rules = Arc::clone(&self.rules);
        let packets = &mut self.lanes[lane];
        let most = rules.packet_size.or((!rules.mirrors).then_some(PACKET));
        if let (true, Some(open), Some(cycles)) = (rules.clock.adds_begin, &mut packets.open, cycles)
            && open.events == 0
        {
            (open.begin, open.now) = (cycles, cycles);
            for placed in open.placed.iter().filter(|placed| placed.role == Role::Timestamp) {
                placed.patch(&mut packets.out, cycles);
            }
        }
        if let Some(open) = &packets.open {
            let at = packets.out.at();
            // One that says its total length only has to end at a byte.
            let can_end = at % 8 == 0 || open.says_both;
            let is_full = most.is_some_and(|most| at / 8 >= most) && open.events > 0 && can_end;
            let wraps = rules.mirrors
                && rules.has_gaps
                && rules.timestamp.bits < 64
                && cycles.is_some_and(|cycles| cycles.wrapping_sub(open.now) >> rules.timestamp.bits != 0);
            if (is_full || wraps) && rules.mirrors && !rules.can_split(open.now, cycles) {
                if wraps {
                    let what = "time: bits that the event record header has no room for";
                    self.lose(LossKind::Rounded, "", "", what);
                }
            } else if is_full || wraps {
                let end = if wraps && !is_full { open.now } else { cycles.unwrap_or(open.now).max(open.now) };
                if rules.mirrors {
                    self.lanes[lane].split(end, cycles, self.repair.left_out);
                } else {
                    let end = open.now;
                    self.lanes[lane].close_own(end);
                    self.collect(false);
                }
            }
        }
        if self.lanes[lane].open.is_none() && !rules.mirrors {
            let begin = cycles.unwrap_or(0).max(self.lanes[lane].end);
            self.lanes[lane].open_own(&rules, lane, begin);
        }
        Ok(())
    }

    /// The bytes of a packet header as it is and as it is to be, if both take the same number of bits as the one
    /// that is there.
    fn changed_header(&mut self, packet: &Packet<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
        let rules = Arc::clone(&self.rules);
        let end = packet.scopes.begins.get(Scope::PacketContext as usize)?.bit;
        let mut encode = |roles: RoleValues| {
            let mut out = BitWriter::default();
            let mut encoder = FieldEncoder::new(&mut out, &rules, roles, None, &mut self.lengths);
            // Headers whose values change take other bits, and are not copied.
            let mut losses = PacketLosses::default();
            rules.lowered.visit_packet(packet, Scope::PacketHeader, &mut encoder, &mut losses).ok()?;
            let is_encoded = encoder.error.is_none();
            (is_encoded && out.at() == end).then(|| out.take())
        };
        Some((encode(RoleValues::default())?, encode(rules.header.replaced)?))
    }

    /// Opens a packet that is made of one of the source.
    fn open_mirrored(&mut self, packet: &Packet<'_>) {
        let rules = Arc::clone(&self.rules);
        let packets = &mut self.lanes[0];
        if let Some(open) = packets.open.take() {
            // Its end was lost in damage.
            if rules.repairs {
                self.close_repaired(open);
            } else {
                packets.close(open, None);
            }
        }
        let packets = &mut self.lanes[0];
        packets.out.begin_packet();
        let mut placed = Vec::new();
        let begins_with = |scope| match scope {
            Scope::PacketContext if rules.clock.adds_begin => {
                rules.lowered_context().map_or(8, FieldClass::alignment)
            }
            _ => 1,
        };
        let header = rules.header;
        let cycles = |value: Option<ichnos_model::ClockValue>| value.map(|value| value.cycles);
        // Fields of times can have other sizes than before. A time that cannot be read does not move the clock.
        let begin = cycles(packet.begin).or(rules.default_clock.map(|_| 0));
        let end = cycles(packet.end);
        let times = RoleValues {
            whole_timestamp: begin,
            whole_end_timestamp: end.filter(|_| rules.clock.goes_on.source),
            ..RoleValues::default()
        };
        if header.is_common {
            frame::put_packet_header(&mut packets.out, header.uuid, header.class_id, header.stream_id);
        }
        for scope in [Scope::PacketHeader, Scope::PacketContext] {
            let is_header = scope == Scope::PacketHeader;
            if is_header && header.is_common {
                continue;
            }
            packets.out.align(begins_with(scope));
            let roles = if is_header { header.replaced } else { times };
            let mut encoder =
                FieldEncoder::new(&mut packets.out, &rules, roles, Some(&mut placed), &mut self.lengths);
            let visited = rules.lowered.visit_packet(packet, scope, &mut encoder, &mut self.packet_losses);
            let problem = encoder.error.take().map(|error| error.to_string());
            let problem = problem.or_else(|| visited.err().map(|error| error.to_string()));
            if let Some(problem) = problem {
                self.lose_packet(&problem);
                return;
            }
        }
        let packets = &mut self.lanes[0];
        let mut begin = cycles(packet.begin).unwrap_or(0);
        if rules.clock.adds_begin {
            // It is that of the first event, if there is one.
            begin = begin.max(packets.end).min(cycles(packet.end).unwrap_or(u64::MAX));
            packets.out.align(8);
            let bits = BitField::new(64, ByteOrder::LittleEndian, 8);
            let at = packets.out.at();
            packets.out.put_field(begin, bits);
            placed.push(Placed { role: Role::Timestamp, at, layout: Layout::Bits(bits), value: begin });
            if rules.clock.adds_end {
                let (at, value) = (packets.out.at(), end.unwrap_or(begin));
                packets.out.put_field(value, bits);
                placed.push(Placed { role: Role::PacketEndTimestamp, at, layout: Layout::Bits(bits), value });
            }
        }
        let head_bits = packets.out.at();
        let most_bits = most_bits(&placed);
        if head_bits > most_bits {
            self.lose_packet("its header and context are too large for the fields of its size");
            return;
        }
        let head = packets.out.packet().to_vec();
        if let Some(first) = window_cycles(&rules.stream, rules.window.begin)
            && packet.begin.is_some_and(|begin| begin.cycles < first)
        {
            // It may end before, and have events behind its end.
            let wanted = packet.end.map_or(first, |end| first.min(end.cycles.max(begin)));
            // A few bits may not be enough to say that: then it begins where it began.
            if rules.clock.can_begin(wanted, begin, rules.timestamp) {
                begin = wanted;
                for placed in placed.iter().filter(|placed| placed.role == Role::Timestamp) {
                    placed.patch(&mut packets.out, begin);
                }
            }
        }
        packets.has_packets = true;
        let source_end = cycles(packet.end);
        let mut open = OpenPacket {
            head,
            head_bits,
            begin,
            now: begin,
            source_end,
            most_bits,
            says_both: says_both_sizes(&placed),
            placed,
            ..OpenPacket::default()
        };
        if rules.repairs {
            let changes = self.repair.begin(packets.end, &mut open, packet.has_late_events);
            for placed in &open.placed {
                placed.patch(&mut packets.out, placed.value);
            }
            for what in changes {
                let field = "packet.context".to_owned();
                let loss =
                    Loss { kind: LossKind::Rounded, class: String::new(), field, what: what.to_owned() };
                rules.lowered.lose(loss, 1);
            }
        }
        if packets.inserted > 0 {
            let numbers = open.placed.iter_mut().filter(|placed| placed.role == Role::PacketSequenceNumber);
            for placed in numbers {
                placed.value = placed.value.wrapping_add(packets.inserted);
                placed.patch(&mut packets.out, placed.value);
            }
        }
        packets.open = Some(open);
    }

    /// Leaves out the packet that is begun.
    fn lose_packet(&mut self, problem: &str) {
        self.lanes[0].out.go_back(0);
        let what = format!("packet that cannot be written: {problem}");
        self.lose(LossKind::Dropped, "", "packet.context", &what);
    }

    fn close_mirrored(&mut self, packet: &Packet<'_>) {
        let rules = Arc::clone(&self.rules);
        let packets = &mut self.lanes[0];
        let Some(open) = packets.open.take() else { return };
        let mut end = None;
        if rules.repairs {
            self.close_repaired(open);
            return;
        }
        let window = &rules.window;
        let is_before = packet.end.zip(window.begin).is_some_and(|(end, begin)| end.nanoseconds < begin);
        let is_behind = packet.begin.zip(window.end).is_some_and(|(begin, end)| begin.nanoseconds > end);
        if open.events == 0 && (is_before || is_behind) {
            // Nothing of it is in the window.
            packets.out.go_back(0);
            return;
        }
        if let Some(last) = window_cycles(&rules.stream, rules.window.end)
            && packet.end.is_some_and(|end| end.cycles > last)
        {
            end = Some(last.max(open.now));
        } else if packets.inserted > 0 {
            end = packet.end.map(|end| end.cycles.max(open.now));
        }
        // The next one cannot begin before.
        let said = end.or(packet.end.map(|end| end.cycles)).unwrap_or(0);
        packets.end = packets.end.max(said);
        packets.close(open, end);
    }

    /// The time of an event, or that of the event before if it cannot be.
    fn possible_time(&mut self, cycles: u64, name: &str) -> u64 {
        let Some(open) = &self.lanes[0].open else { return cycles };
        if cycles >= open.now && cycles <= open.latest {
            return cycles;
        }
        let now = open.now;
        self.lose(LossKind::Rounded, name, "", "time that cannot be: that of the event before");
        now
    }

    /// Ends a packet, and has it say what can be true.
    fn close_repaired(&mut self, mut open: OpenPacket) {
        let packets = &mut self.lanes[0];
        let end = open.source_end.filter(|_| open.has_end).unwrap_or(open.now).max(open.now);
        open.count_left_out(self.repair.left_out);
        for placed in open.placed.iter().filter(|placed| placed.role == Role::DiscardedEventCounter) {
            placed.patch(&mut packets.out, placed.value);
        }
        packets.end = end;
        packets.close(open, Some(end));
    }

    /// Takes a loss of events where the source has no packets: between two packets of the output.
    fn discarded_events(&mut self, discarded: &Discarded<'_>) {
        if self.rules.mirrors {
            // The counters of its packets say it.
            return;
        }
        let Some(count) = discarded.count else {
            return self.lose(LossKind::Dropped, "", "", "loss of an unknown number of events");
        };
        if discarded.thread.is_some() {
            self.lose(LossKind::Dropped, "", "", "thread of discarded events");
        }
        let last = self.lanes[0].open.as_ref().map_or(self.lanes[0].end, |open| open.now);
        let begin = discarded.begin.map_or(last, |begin| begin.cycles).max(last);
        let end = discarded.end.map_or(begin, |end| end.cycles).max(begin);
        if self.lanes[0].open.is_none() && !self.lanes[0].has_packets {
            // The first packet shows what the counter was before.
            self.lanes[0].open_own(&self.rules, 0, begin);
        }
        self.lanes[0].close_own(begin);
        self.lanes[0].discarded = self.lanes[0].discarded.wrapping_add(count);
        self.lanes[0].open_own(&self.rules, 0, begin);
        self.lanes[0].close_own(end);
    }

    /// Moves what is complete into blocks.
    fn collect(&mut self, is_end: bool) {
        let lose = |count: u64, what: &str| {
            let (kind, class, field) = (LossKind::Dropped, String::new(), String::new());
            if count > 0 {
                self.rules.lowered.lose(Loss { kind, class, field, what: what.to_owned() }, count);
            }
        };
        for packets in &mut self.lanes {
            let (events, cut) = (&mut packets.cut_events, &mut packets.cut_packets);
            lose(
                std::mem::take(events),
                "events behind the last whole byte of a packet that does not say both of its sizes",
            );
            lose(std::mem::take(cut), "packets that end within a byte, and do not say both of their sizes");
        }
        for (lane, packets) in self.lanes.iter_mut().enumerate() {
            let is_due = is_end || self.rules.is_live || packets.out.len() >= BLOCK;
            if packets.open.is_some() || packets.encoded.is_empty() || !is_due {
                continue;
            }
            self.blocks.push(EncodedBlock {
                stream: self.rules.number,
                part: lane,
                bytes: packets.out.take(),
                packets: std::mem::take(&mut packets.encoded),
                events: std::mem::take(&mut packets.events),
                copied_packets: std::mem::take(&mut packets.copied_packets),
            });
        }
    }
}

impl Encoder for StreamEncoder {
    fn message(&mut self, message: &Message<'_>) -> io::Result<()> {
        match message {
            Message::Event(event) => return self.event(event),
            Message::PacketBegin(packet) if self.rules.mirrors => self.open_mirrored(packet),
            Message::PacketEnd(packet) if self.rules.mirrors => self.close_mirrored(packet),
            Message::DiscardedEvents(discarded) => self.discarded_events(discarded),
            Message::DiscardedPackets(_) if !self.rules.mirrors => {
                self.lose(LossKind::Dropped, "", "", "loss of packets");
            }
            Message::Damage(damage) => {
                // Which ones is said by those who read them.
                let kind = if damage.skipped > 0 { LossKind::Dropped } else { LossKind::Rounded };
                if !self.rules.repairs {
                    let what = format!("damaged data: {}", damage.kind);
                    self.lose(LossKind::Dropped, "", "", &what);
                } else if kind == LossKind::Dropped {
                    self.repair.skipped(self.lanes[0].open.is_some());
                    self.lose(kind, "", "", "data that cannot be read");
                }
            }
            _ => {}
        }
        self.collect(false);
        Ok(())
    }

    fn copy_packet(&mut self, packet: &Packet<'_>) -> io::Result<bool> {
        let rules = &*self.rules;
        let is_within = |time: Option<ichnos_model::ClockValue>| {
            let Some(time) = time else { return rules.window == Window::default() };
            rules.window.begin.is_none_or(|begin| time.nanoseconds >= begin)
                && rules.window.end.is_none_or(|end| time.nanoseconds <= end)
        };
        let (has_index, default_clock) = (rules.has_index, rules.default_clock);
        let packets = &mut self.lanes[0];
        let bytes = packet.scopes.bits.data;
        // LTTng says so of packets that were open when it crashed: when they end is not known yet.
        let has_no_end = packet.begin.zip(packet.end).is_some_and(|(begin, end)| end.cycles < begin.cycles);
        let is_whole = bytes.len() as u64 * 8 == packet.total_length;
        if !rules.copies_packets
            || rules.header.is_common
            || packets.inserted > 0
            || packets.open.is_some()
            || !is_whole
            || !is_within(packet.begin)
            || !is_within(packet.end)
            || ((has_no_end || packet.has_late_events) && rules.window.end.is_some())
        {
            return Ok(false);
        }
        let changed = match rules.header.replaced == RoleValues::default() {
            true => None,
            false => match self.changed_header(packet) {
                Some(changed) => Some(changed),
                None => return Ok(false),
            },
        };
        let packets = &mut self.lanes[0];
        packets.out.begin_packet();
        packets.out.bytes(bytes);
        if let Some((from, to)) = changed
            && !packets.out.change(&from, &to)
        {
            packets.out.go_back(0);
            return Ok(false);
        }
        let times = if has_index { SaidTimes::of(packet, default_clock) } else { SaidTimes::default() };
        packets.encoded.push(EncodedPacket {
            total: packet.total_length,
            content: packet.content_length,
            begin: times.begin,
            end: times.end,
            discarded: packet.discarded_counter.unwrap_or(0),
            sequence: packet.sequence_number.unwrap_or(u64::MAX),
        });
        packets.copied_packets += 1;
        packets.has_packets = true;
        self.collect(false);
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.rules.mirrors {
            for lane in 0..self.lanes.len() {
                if let Some(open) = self.lanes[lane].open.as_ref().filter(|open| open.events > 0) {
                    let end = open.now;
                    self.lanes[lane].close_own(end);
                }
            }
        }
        self.collect(true);
        Ok(())
    }

    fn look_ahead(&mut self, next: Option<&Packet<'_>>) {
        self.repair.look_ahead(next);
    }

    fn take(&mut self) -> Option<EncodedBlock> {
        (!self.blocks.is_empty()).then(|| self.blocks.remove(0))
    }

    fn finish(&mut self) -> io::Result<Vec<EncodedBlock>> {
        for lane in 0..self.lanes.len() {
            if self.rules.mirrors {
                match self.lanes[lane].open.take() {
                    Some(open) if self.rules.repairs => self.close_repaired(open),
                    Some(open) => self.lanes[lane].close(open, None),
                    None => {}
                }
            } else if let Some(open) = &self.lanes[lane].open {
                let end = open.now;
                self.lanes[lane].close_own(end);
            }
        }
        self.collect(true);
        for (index, class) in self.classes.iter().enumerate() {
            if let Some(class) = class {
                self.rules.lowered.add_losses(&class.lowered, index, &class.losses);
            }
        }
        self.rules.lowered.add_packet_losses(self.rules.stream.class_index, &self.packet_losses);
        Ok(std::mem::take(&mut self.blocks))
    }
}

/// The first or last value of the default clock that is in a window.
fn window_cycles(stream: &DataStream, time: Option<i128>) -> Option<u64> {
    let clock = stream.clock()?;
    let time = time?;
    // The clock is monotonous: the value is found by halving.
    let (mut low, mut high) = (0u64, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if clock.nanoseconds(middle) >= time {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}
