//! A data stream of a CTF trace: its files, its packets, and the cursor that reads them.

use std::cell::Cell;
use std::sync::Arc;

use ichnos_io::Bytes;
use ichnos_model::plan::Plan;
use ichnos_model::walk::{DecodeErrorKind, PacketBits, Position, UNKNOWN, WalkLimits};
use ichnos_model::{
    ClockArithmetic, ClockValue, Cursor, Damage, DamageKind, DataStream, Discarded, Event, Head, Message,
    MessageKind, Packet, Place, Role, Roles, Scopes, Skip, StreamSummary, Window,
};

use crate::event_class::{Body, EventRecordClasses};
use crate::event_header::EventHeader;
use crate::index::cut_off;
use crate::packet::{Clocks, EventVisitor, PacketDecoder, PacketInfo};
use crate::packet_entry::PacketEntry;
use crate::quirks::Quirk;

/// A file of a data stream.
#[derive(Clone, Debug)]
pub struct StreamFile {
    /// Its path in the trace.
    pub name: String,
    /// Its bytes.
    pub bytes: Bytes,
}

/// A data stream and where it lies.
#[derive(Debug)]
pub struct StreamInput {
    /// The stream.
    pub stream: Arc<DataStream>,
    /// Its files.
    pub files: Vec<StreamFile>,
    /// Its packets in the order they are read.
    pub packets: Vec<PacketEntry>,
    /// What could not be read at the ends of its files.
    pub rest: Vec<Damage>,
    /// Faults of the tracer to take into account.
    pub quirks: Vec<Quirk>,
    /// Limits of decoding.
    pub limits: WalkLimits,
    /// How cycles become nanoseconds.
    pub clock_arithmetic: ClockArithmetic,
}

impl StreamInput {
    /// The value of the default clock.
    pub(crate) fn clock_value(&self, cycles: Option<u64>) -> Option<ClockValue> {
        let cycles = cycles?;
        let nanoseconds = self.stream.clock()?.nanoseconds_in(self.clock_arithmetic, cycles);
        Some(ClockValue { nanoseconds, cycles })
    }

    /// Time at which a packet begins, in nanoseconds.
    pub(crate) fn begin_of(&self, packet: usize) -> Option<i128> {
        Some(self.clock_value(self.packets.get(packet)?.begin())?.nanoseconds)
    }

    /// The first packet that can have events at `begin` or later.
    fn first_packet(&self, begin: i128) -> usize {
        let is_before =
            |cycles| self.clock_value(cycles).is_some_and(|value: ClockValue| value.nanoseconds < begin);
        // Packets begin in order, and event times never go back: what is before the last packet
        // that begins too early ends too early - if it says so, too.
        let last = self.packets.partition_point(|packet| is_before(packet.begin())).saturating_sub(1);
        let ends_before = |packet: &PacketEntry| packet.end().is_none() || is_before(packet.end());
        self.packets[..last].iter().position(|packet| !ends_before(packet)).unwrap_or(last)
    }

    /// First and last time that packets tell, in nanoseconds.
    #[must_use]
    pub fn time_range(&self) -> Option<(i128, i128)> {
        let times = || {
            self.packets.iter().flat_map(|packet| {
                // An end before the begin is none.
                [packet.begin(), packet.end().filter(|end| packet.begin().is_none_or(|begin| begin <= *end))]
                    .map(|cycles| self.clock_value(cycles).map(|value| value.nanoseconds))
            })
        };
        Some((times().flatten().min()?, times().flatten().max()?))
    }

    /// Size of the file that a packet is in.
    pub(crate) fn file_size(&self, packet: &PacketEntry) -> u64 {
        self.files.get(packet.file as usize).map_or(0, |file| file.bytes.len() as u64)
    }

    /// What its packets tell.
    #[must_use]
    pub fn summary(&self) -> StreamSummary {
        let mut summary = StreamSummary {
            stream: Arc::clone(&self.stream),
            files: self.files.iter().map(|file| file.name.clone()).collect(),
            packets: self.packets.len() as u64,
            bytes: 0,
            padding: 0,
            time_range: self.time_range(),
            discarded_events: 0,
            discarded_before: false,
            discarded_packets: 0,
            damage: Vec::new(),
        };
        let mut before: Option<&PacketEntry> = None;
        for packet in &self.packets {
            summary.bytes += packet.available(self.file_size(packet));
            if let (Some(total), Some(content)) = (packet.total(), packet.content()) {
                summary.padding = summary.padding.saturating_add(total.saturating_sub(content) / 8);
            }
            summary.damage.extend(packet.damage.as_deref().cloned());
            if let Some(file) = self.files.get(packet.file as usize) {
                summary.damage.extend(cut_off(&file.name, packet, file.bytes.len() as u64));
            }
            match discarded_events(before, packet) {
                Some(Some(count)) => {
                    summary.discarded_events = summary.discarded_events.saturating_add(count);
                }
                Some(None) => summary.discarded_before = true,
                None => {}
            }
            let packets = discarded_packets(before, packet).unwrap_or(0);
            summary.discarded_packets = summary.discarded_packets.saturating_add(packets);
            before = Some(packet);
        }
        summary.damage.extend(self.rest.iter().cloned());
        summary
    }

    /// A cursor over what is in the window.
    #[must_use]
    pub fn cursor(self: &Arc<Self>, window: Window) -> StreamCursor {
        let clocks = Clocks::of(&self.stream.trace.class);
        let begin = window.begin.filter(|_| !clocks.go_on);
        let first = begin.map_or(0, |begin| self.first_packet(begin));
        let stream = &self.stream;
        let plans = stream.plans();
        let classes = &stream.class().event_records;
        let by_id = classes.iter().enumerate().map(|(i, class)| (class.id, i as u32)).collect();
        let common = plans.common_context.as_ref();
        let bodies = plans.event_records.iter().map(|plans| Body::new(common, plans)).collect();
        let default_clock = stream.class().default_clock;
        let has_default_time = |plan: &Option<Plan>| {
            let is_default = |roles: Roles| roles.clock.is_none() || roles.clock == default_clock;
            let mut roles = plan.iter().flat_map(Plan::nodes).map(|node| node.roles);
            roles.any(|roles| roles.has(Role::Timestamp) && is_default(roles))
        };
        StreamCursor {
            input: Arc::clone(self),
            window,
            header: plans.event_record_header.as_ref().and_then(EventHeader::new),
            by_id: EventRecordClasses::new(by_id),
            only_class: (classes.len() == 1).then(|| classes[0].id),
            common_has_roles: plans
                .common_context
                .as_ref()
                .is_some_and(|plan| plan.nodes().any(|node| !node.roles.is_empty())),
            time_in_common: !has_default_time(&plans.event_record_header)
                && has_default_time(&plans.common_context),
            bodies,
            slots: vec![Cell::new(UNKNOWN); plans.slots],
            clocks,
            has_other_clocks: stream.trace.class.clocks.len() > 1,
            other_clocks: Vec::new(),
            phase: Phase::Begin,
            packet: first,
            data: Bytes::default(),
            content: 0,
            info: PacketInfo::default(),
            packet_begin: None,
            packet_end: None,
            at: Position::default(),
            end: 0,
            begins: [Position::default(); 6],
            broken: None,
            common_cycles: None,
            event_class: 0,
            event_clock: None,
            last_event: None,
            nanoseconds_at_zero: stream
                .clock()
                .filter(|clock| clock.frequency == 1_000_000_000)
                .map(|clock| clock.nanoseconds(0)),
            clock_before: None,
            is_late: false,
            lost_files: self.lost_files(),
            damage: None,
            discarded: None,
            current: None,
        }
    }
}

/// The event records that were discarded between the end of the packet before and the end of this
/// one, by the snapshots of the counter. Within: None if nobody knows how many.
fn discarded_events(before: Option<&PacketEntry>, packet: &PacketEntry) -> Option<Option<u64>> {
    let now = packet.discarded()?;
    let count = match before.and_then(|before| before.discarded()) {
        // A counter that was set back has counted from 0 since.
        Some(before) => Some(now.since(before).unwrap_or(now.value)),
        None => (now.value == 0).then_some(0),
    };
    (count != Some(0)).then_some(count)
}

/// How many packets are missing between two that follow each other, by sequence numbers.
fn discarded_packets(before: Option<&PacketEntry>, packet: &PacketEntry) -> Option<u64> {
    let missing = packet.sequence()?.since(before?.sequence()?)?.checked_sub(1)?;
    (missing > 0).then_some(missing)
}

/// What a tracer discarded, and between which times if that is known.
#[derive(Clone, Copy, Debug)]
struct Loss {
    /// None: unknown.
    count: Option<u64>,
    range: Option<(ClockValue, ClockValue)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Begin,
    /// Before a packet: tells what could not be read before it.
    BeforePacket,
    OpenPacket,
    /// Whether the packet is what the index says, and whether its times can be.
    CheckIndex,
    CheckTimes,
    DiscardedEvents,
    DiscardedPackets,
    PacketBegin,
    Events,
    /// After damage within a packet: its end may be missing, too.
    BrokenPacket,
    /// The current event is lent after a message about it.
    HeldEvent,
    PacketEnd,
    Rest(usize),
    End,
    Done,
}

impl Phase {
    /// A number of its own for each phase; that of [`Phase::Rest`] does not say which one.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Begin => 0,
            Self::BeforePacket => 1,
            Self::OpenPacket => 2,
            Self::CheckIndex => 3,
            Self::CheckTimes => 4,
            Self::DiscardedEvents => 5,
            Self::DiscardedPackets => 6,
            Self::PacketBegin => 7,
            Self::Events => 8,
            Self::BrokenPacket => 9,
            Self::HeldEvent => 10,
            Self::PacketEnd => 11,
            Self::Rest(_) => 12,
            Self::End => 13,
            Self::Done => 14,
        }
    }
}

/// Reads a data stream, one message after the other.
#[derive(Debug)]
pub struct StreamCursor {
    pub(crate) input: Arc<StreamInput>,
    window: Window,
    header: Option<EventHeader>,
    by_id: EventRecordClasses,
    only_class: Option<u64>,
    common_has_roles: bool,
    /// The time of event records is in their common contexts: PROP-1.0 allows it.
    time_in_common: bool,
    /// By index of the event record class.
    bodies: Vec<Body>,
    slots: Vec<Cell<i128>>,
    clocks: Clocks,
    has_other_clocks: bool,
    other_clocks: Vec<(u16, u64)>,
    pub(crate) phase: Phase,
    /// Index of the current packet, or of the next one before the first.
    pub(crate) packet: usize,
    /// The bytes of the current packet, as far as they are there.
    pub(crate) data: Bytes,
    /// End of its content in bits.
    content: u64,
    info: PacketInfo,
    packet_begin: Option<ClockValue>,
    packet_end: Option<ClockValue>,
    /// Where the next event record begins.
    pub(crate) at: Position,
    /// Where it is to be asked whether the bytes are still there, at last where the content of the
    /// current packet ends, or before that its data.
    pub(crate) end: u64,
    pub(crate) begins: [Position; 6],
    /// What is wrong with the event record at `begins[2]`, and at which bit.
    pub(crate) broken: Option<(u64, DamageKind)>,
    /// Value of the default clock behind the common context of the current event.
    common_cycles: Option<u64>,
    event_class: usize,
    event_clock: Option<ClockValue>,
    pub(crate) last_event: Option<u64>,
    /// Time of value 0 of a default clock of 1 GHz, as most are: then no event needs arithmetic.
    nanoseconds_at_zero: Option<i128>,
    /// Value of the default clock before the current event.
    clock_before: Option<u64>,
    /// Whether an event came after the window.
    is_late: bool,
    /// Files of which it was told that they have lost bytes.
    pub(crate) lost_files: Vec<u32>,
    damage: Option<Damage>,
    discarded: Option<Loss>,
    current: Option<MessageKind>,
}

impl StreamCursor {
    /// The stream that it reads.
    #[must_use]
    pub fn stream(&self) -> &Arc<DataStream> {
        &self.input.stream
    }

    pub(crate) fn entry(&self) -> &PacketEntry {
        &self.input.packets[self.packet]
    }

    pub(crate) fn bits(&self) -> PacketBits<'_> {
        PacketBits { data: &self.data, content: self.content }
    }

    fn tell(&mut self, kind: MessageKind, nanoseconds: Option<i128>) -> Option<Head> {
        self.current = Some(kind);
        Some(Head { nanoseconds, kind })
    }

    fn tell_damage(&mut self, damage: Damage) -> Option<Head> {
        self.damage = Some(Damage { stream: Some(self.input.stream.name.clone()), ..damage });
        let time = self.input.clock_value(self.clocks.value()).map(|value| value.nanoseconds);
        self.tell(MessageKind::Damage, time)
    }

    /// Damage at a bit of the current packet that reaches to the end of its content.
    fn damage_at(&self, bit: u64, kind: DamageKind) -> Damage {
        let entry = self.entry();
        let content = self.bits().end();
        Damage {
            file: self.input.files[entry.file as usize].name.clone(),
            stream: None,
            bit: entry.offset * 8 + bit,
            kind,
            skipped: content.saturating_sub(bit),
        }
    }

    /// The damage of the current packet if the end of its file cuts it off.
    fn cut_off(&self) -> Option<Damage> {
        let file = self.input.files.get(self.entry().file as usize)?;
        cut_off(&file.name, self.entry(), file.bytes.len() as u64)
    }

    /// Whether no event from the next packet on can be in the window.
    fn is_past_window(&self) -> bool {
        let Some(end) = self.window.end else { return false };
        // Where packets do not say when they begin, or not the truth, the events before must do.
        let begin = self.input.begin_of(self.packet);
        let begin = begin.filter(|_| !self.has_quirk(Quirk::BarectfEventBeforePacket));
        begin.map_or(self.is_late, |begin| begin > end)
    }

    fn has_quirk(&self, quirk: Quirk) -> bool {
        self.input.quirks.contains(&quirk)
    }

    fn open_packet(&mut self) -> Result<(), Damage> {
        let input = Arc::clone(&self.input);
        let trace = &input.stream.trace;
        let decoder = PacketDecoder { class: &trace.class, plans: &trace.plans, limits: input.limits };
        let entry = &input.packets[self.packet];
        let file = &input.files[entry.file as usize].bytes;
        let begin = entry.offset as usize;
        // Not only what the entry says: an index of the tracer may be false.
        self.data = file.slice(begin..file.len());
        self.content = self.data.len() as u64 * 8;
        let data = &self.data;
        match decoder.decode(data, &self.slots, &mut self.clocks) {
            // Only an untrue index says otherwise than the packet itself.
            Ok(info) if info.class != input.stream.class_index => {
                let id = trace.class.data_streams.get(info.class).map_or(0, |class| class.id);
                Err(self.damage_at(0, DamageKind::OtherDataStream { class: id }))
            }
            Ok(info) => {
                if let Some(total) = info.total {
                    self.data = self.data.slice(0..usize::try_from(total / 8).unwrap_or(usize::MAX));
                }
                self.content = info.content.unwrap_or(self.data.len() as u64 * 8);
                self.info = info;
                self.begins[0] = info.begins[0];
                self.begins[1] = info.begins[1];
                self.at = info.begins[2];
                self.look_ahead();
                self.packet_begin = input.clock_value(info.begin);
                self.packet_end = input.clock_value(info.end);
                Ok(())
            }
            Err(error) => Err(self.damage_at(error.bit, error.kind)),
        }
    }

    /// Whether the loss, or a part of it, was at a wanted time.
    fn is_in_window(&self, loss: &Loss) -> bool {
        let Some((begin, end)) = loss.range else { return true };
        self.window.begin.is_none_or(|wanted| end.nanoseconds >= wanted)
            && self.window.end.is_none_or(|wanted| begin.nanoseconds <= wanted)
    }

    /// The packet before the current one.
    fn packet_before(&self) -> Option<&PacketEntry> {
        self.input.packets.get(self.packet.checked_sub(1)?)
    }

    /// What was discarded before or in the current packet.
    fn discarded_events(&self) -> Option<Loss> {
        let before = self.packet_before();
        let count = discarded_events(before, self.entry())?;
        // What was lost before anything is known has no other beginning than this packet's.
        let begin = match before.filter(|before| before.discarded().is_some()) {
            Some(before) => before.end(),
            None => self.info.begin,
        };
        Some(self.loss(count, begin, self.info.end))
    }

    /// The packets that are missing before the current one, by sequence numbers.
    fn discarded_packets(&self) -> Option<Loss> {
        let before = self.packet_before();
        let count = discarded_packets(before, self.entry())?;
        Some(self.loss(Some(count), before?.end(), self.info.begin))
    }

    fn loss(&self, count: Option<u64>, begin: Option<u64>, end: Option<u64>) -> Loss {
        let value = |cycles| self.input.clock_value(cycles);
        // Both times or none: half a range says nothing, nor does one that ends before it begins.
        let range = value(begin).zip(value(end)).filter(|(begin, end)| begin.cycles <= end.cycles);
        Loss { count, range }
    }

    /// Time of the first event record of the packet, to mend the time at which it begins.
    fn first_event_clock(&self) -> Option<u64> {
        let plan = self.input.stream.plans().event_record_header.as_ref()?;
        let bits = self.bits();
        let mut at = self.at;
        if at.bit >= bits.end() {
            return None;
        }
        let mut clocks = self.clocks.clone();
        let mut header = EventVisitor { clocks: &mut clocks, class_id: None };
        plan.walk(bits, &mut at, &self.slots, self.input.limits, &mut header).ok()?;
        clocks.value()
    }

    /// Gets past one event record; false at the end of the packet, or if it is broken: then
    /// `broken` says how.
    #[inline]
    fn next_event(&mut self) -> bool {
        let begin = self.at;
        if begin.bit >= self.end {
            // A packet without event record classes, or one whose data is all there.
            return false;
        }
        self.clock_before = self.clocks.value();
        self.begins[2] = begin;
        let Some(id) = self.header() else { return false };
        let Some(class) = self.by_id.get(id) else {
            let data_stream_class = self.input.stream.class().id;
            return self.is_broken(self.at.bit, DamageKind::EventRecordClass { data_stream_class, id });
        };
        self.event_class = class;
        let mut cycles = self.clocks.value();
        if self.has_other_clocks {
            self.clocks.others(&mut self.other_clocks);
        }
        let at = self.at.bit;
        self.begins[3] = self.at;
        let layout = self.bodies.get(class).and_then(|body| body.layout);
        match layout.filter(|layout| at.is_multiple_of(8) && layout.size <= self.end.saturating_sub(at)) {
            Some(layout) => {
                let after = |bits: u64| Position { bit: at + bits, open_byte: None };
                self.begins[4] = after(layout.specific_context);
                self.begins[5] = after(layout.payload);
                self.at = after(layout.size);
            }
            None => {
                if !self.body() {
                    return false;
                }
                if self.time_in_common {
                    cycles = self.common_cycles;
                }
            }
        }
        if self.at.bit == begin.bit {
            return self.is_broken(begin.bit, DamageKind::EmptyEventRecord);
        }
        self.event_clock = match (cycles, self.nanoseconds_at_zero) {
            (Some(cycles), Some(zero)) => Some(ClockValue { nanoseconds: zero + i128::from(cycles), cycles }),
            _ => self.input.clock_value(cycles),
        };
        true
    }

    /// Goes back to where a broken event record begins: what it says of the time may be as wrong as the
    /// rest.
    pub(crate) fn forget_event(&mut self) {
        self.at = self.begins[2];
        if let Some(before) = self.clock_before {
            self.clocks.set_default(before);
        }
    }

    /// Notes how an event record is broken.
    #[cold]
    #[inline(never)]
    fn is_broken(&mut self, bit: u64, kind: DamageKind) -> bool {
        self.broken = Some((bit, kind));
        false
    }

    /// Gets past an event record header; gives the id of the class.
    #[inline]
    fn header(&mut self) -> Option<u64> {
        let bits = PacketBits { data: &self.data, content: self.content };
        let fast = self.header.as_ref();
        let fast = fast.and_then(|header| header.decode(bits, &mut self.at, &self.slots, &mut self.clocks));
        match fast {
            Some(id) => Some(id.or(self.only_class).unwrap_or(0)),
            None => self.any_header(),
        }
    }

    #[inline(never)]
    fn any_header(&mut self) -> Option<u64> {
        let bits = PacketBits { data: &self.data, content: self.content };
        let mut header = EventVisitor { clocks: &mut self.clocks, class_id: None };
        let limits = self.input.limits;
        let plan = self.input.stream.plans().event_record_header.as_ref();
        let result =
            plan.map_or(Ok(()), |plan| plan.walk(bits, &mut self.at, &self.slots, limits, &mut header));
        let id = header.class_id;
        if let Err(error) = result {
            self.is_broken(error.bit, error.kind.into());
            return None;
        }
        Some(id.or(self.only_class).unwrap_or(0))
    }

    /// Gets past the scopes behind an event record header; false if they are broken.
    #[inline(never)]
    fn body(&mut self) -> bool {
        let bits = PacketBits { data: &self.data, content: self.content };
        let input = &*self.input;
        let plans = input.stream.plans();
        let Some(event_plans) = plans.event_records.get(self.event_class) else { return false };
        let has_roles = self.bodies.get(self.event_class).is_some_and(|body| body.has_roles);
        let scopes = [
            (3, &plans.common_context, self.common_has_roles),
            (4, &event_plans.specific_context, has_roles),
            (5, &event_plans.payload, has_roles),
        ];
        let mut at = self.at;
        let mut broken = None;
        for (scope, plan, has_roles) in scopes {
            self.begins[scope] = at;
            let Some(plan) = plan else { continue };
            let result = if has_roles {
                let mut visitor = EventVisitor { clocks: &mut self.clocks, class_id: None };
                plan.walk(bits, &mut at, &self.slots, input.limits, &mut visitor)
            } else {
                plan.walk(bits, &mut at, &self.slots, input.limits, &mut Skip)
            };
            if let Err(error) = result {
                broken = Some(error);
                break;
            }
            if scope == 3 && self.time_in_common {
                self.common_cycles = self.clocks.value();
                self.clocks.others(&mut self.other_clocks);
            }
        }
        self.at = at;
        broken.is_none_or(|error| self.is_broken(error.bit, error.kind.into()))
    }

    /// Tells the event record that was got past, if it is in the window.
    #[inline]
    fn tell_event(&mut self) -> Option<Head> {
        let time = self.event_clock.map(|value| value.nanoseconds);
        if let Some(ClockValue { nanoseconds, cycles: to }) = self.event_clock {
            if self.window.begin.is_some_and(|begin| nanoseconds < begin) {
                return None;
            }
            if self.window.end.is_some_and(|end| nanoseconds > end) {
                // Only this event: a clock that is wrong here may be right again later.
                self.is_late = true;
                return None;
            }
            if let Some(from) = self.last_event.replace(to).filter(|from| *from > to) {
                self.phase = Phase::HeldEvent;
                let mut damage = self.damage_at(self.begins[2].bit, DamageKind::ClockBackwards { from, to });
                damage.skipped = 0;
                return self.tell_damage(damage);
            }
        }
        self.tell(MessageKind::Event, time)
    }

    /// What comes next where that is anything but one more event record.
    #[inline(never)]
    fn next(&mut self) -> Option<Head> {
        loop {
            match self.phase {
                Phase::Begin => {
                    self.phase = Phase::BeforePacket;
                    return self.tell(MessageKind::StreamBegin, None);
                }
                Phase::BeforePacket => {
                    if self.packet >= self.input.packets.len() {
                        self.phase = Phase::Rest(0);
                        continue;
                    }
                    if self.is_past_window() {
                        self.phase = Phase::End;
                        continue;
                    }
                    self.phase = Phase::OpenPacket;
                    if let Some(damage) = self.entry().damage.clone() {
                        return self.tell_damage(*damage);
                    }
                }
                Phase::OpenPacket => {
                    let opened = self.open_packet();
                    match self.unless_lost(opened) {
                        Ok(()) => self.phase = Phase::CheckIndex,
                        Err(damage) => {
                            self.packet += 1;
                            self.phase = Phase::BeforePacket;
                            if let Some(damage) = damage {
                                return self.tell_damage(damage);
                            }
                        }
                    }
                }
                Phase::CheckIndex => {
                    self.phase = Phase::CheckTimes;
                    if !self.clocks.go_on && !self.entry().says(&self.info) {
                        return self
                            .tell_damage(Damage { skipped: 0, ..self.damage_at(0, DamageKind::FalseIndex) });
                    }
                }
                Phase::CheckTimes => {
                    self.phase = Phase::DiscardedEvents;
                    let crashed = |end| self.has_quirk(Quirk::LttngCrashPacketEnd) && end == 0;
                    if let (Some(begin), Some(end)) = (self.info.begin, self.info.end)
                        && begin > end
                        && !crashed(end)
                    {
                        let damage = self.damage_at(0, DamageKind::EndBeforeBegin { begin, end });
                        return self.tell_damage(Damage { skipped: 0, ..damage });
                    }
                }
                Phase::DiscardedEvents => {
                    self.phase = Phase::DiscardedPackets;
                    self.discarded = self.discarded_events().filter(|loss| self.is_in_window(loss));
                    if let Some(loss) = self.discarded {
                        let time = loss.range.map(|(begin, _)| begin.nanoseconds);
                        return self.tell(MessageKind::DiscardedEvents, time);
                    }
                }
                Phase::DiscardedPackets => {
                    self.phase = Phase::PacketBegin;
                    self.discarded = self.discarded_packets().filter(|loss| self.is_in_window(loss));
                    if let Some(loss) = self.discarded {
                        let time = loss.range.map(|(begin, _)| begin.nanoseconds);
                        return self.tell(MessageKind::DiscardedPackets, time);
                    }
                }
                Phase::PacketBegin => {
                    self.phase = Phase::Events;
                    if self.has_quirk(Quirk::BarectfEventBeforePacket)
                        && let (Some(begin), Some(first)) = (self.info.begin, self.first_event_clock())
                        && first < begin
                    {
                        self.packet_begin = self.input.clock_value(Some(first));
                    }
                    let time = self.packet_begin.map(|begin| begin.nanoseconds);
                    return self.tell(MessageKind::PacketBegin, time);
                }
                Phase::Events if self.is_packet_lost() => {
                    self.phase = Phase::PacketEnd;
                    if let Some(damage) = self.lost_of_events() {
                        return self.tell_damage(damage);
                    }
                }
                Phase::Events if self.broken.is_none() && self.end < self.bits().end() => {
                    self.look_ahead();
                    return None;
                }
                Phase::Events => match self.broken.take() {
                    None => {
                        self.phase = Phase::PacketEnd;
                        if let Some(damage) = self.cut_off() {
                            return self.tell_damage(damage);
                        }
                    }
                    Some((bit, kind)) => {
                        self.forget_event();
                        let missing = matches!(kind, DamageKind::Field(DecodeErrorKind::BeyondData { .. }));
                        if let (true, Some(damage)) = (missing, self.cut_off()) {
                            // The data ends within an event record: that is all that is wrong.
                            self.phase = Phase::PacketEnd;
                            let begin = self.entry().offset * 8 + self.at.bit;
                            let skipped = damage.bit.saturating_sub(begin);
                            return self.tell_damage(Damage { skipped, ..damage });
                        }
                        self.phase = Phase::BrokenPacket;
                        let damage = self.damage_at(bit, kind);
                        return self.tell_damage(damage);
                    }
                },
                Phase::BrokenPacket => {
                    self.phase = Phase::PacketEnd;
                    if let Some(damage) = self.cut_off() {
                        return self.tell_damage(damage);
                    }
                }
                Phase::HeldEvent => {
                    self.phase = Phase::Events;
                    return self.tell(MessageKind::Event, self.event_clock.map(|value| value.nanoseconds));
                }
                Phase::PacketEnd => {
                    self.phase = Phase::BeforePacket;
                    let now = self.clocks.value();
                    if let (Some(end), Some(now)) = (self.info.end, now) {
                        let crashed = self.has_quirk(Quirk::LttngCrashPacketEnd)
                            && end == 0
                            && self.info.begin.is_some_and(|begin| begin != 0);
                        let early = self.has_quirk(Quirk::LttngEventAfterPacket) && end < now;
                        if crashed || early {
                            self.packet_end = self.input.clock_value(Some(now));
                        } else {
                            self.clocks.set_default(end);
                        }
                    }
                    let time = self.packet_end.map(|end| end.nanoseconds);
                    return self.tell(MessageKind::PacketEnd, time);
                }
                Phase::Rest(i) => {
                    let Some(damage) = self.input.rest.get(i).cloned() else {
                        self.phase = Phase::End;
                        continue;
                    };
                    self.phase = Phase::Rest(i + 1);
                    return self.tell_damage(damage);
                }
                Phase::End => {
                    if let Some(damage) = self.lost_of_files() {
                        return self.tell_damage(damage);
                    }
                    self.phase = Phase::Done;
                    return self.tell(MessageKind::StreamEnd, None);
                }
                Phase::Done => {
                    self.current = None;
                    return None;
                }
            }
        }
    }
}

impl Cursor for StreamCursor {
    fn advance(&mut self) -> Option<Head> {
        loop {
            if self.phase == Phase::Events && self.next_event() {
                match self.tell_event() {
                    Some(head) => return Some(head),
                    None => continue,
                }
            }
            // The packet is left only when its end has been lent.
            if self.current == Some(MessageKind::PacketEnd) {
                self.packet += 1;
            }
            let head = self.next();
            // At the beginning of a packet's events there is nothing to tell.
            if head.is_some() || self.phase == Phase::Done {
                return head;
            }
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        let stream = &*self.input.stream;
        let discarded = || {
            let Loss { count, range } = self.discarded?;
            let (begin, end) = range.unzip();
            Some(Discarded { stream, count, begin, end })
        };
        Some(match self.current? {
            MessageKind::StreamBegin => Message::StreamBegin(stream),
            MessageKind::StreamEnd => Message::StreamEnd(stream),
            MessageKind::PacketBegin => Message::PacketBegin(self.current_packet()),
            MessageKind::PacketEnd => Message::PacketEnd(self.current_packet()),
            MessageKind::Event => Message::Event(Event {
                stream,
                class: &stream.class().event_records[self.event_class],
                plans: &stream.plans().event_records[self.event_class],
                clock: self.event_clock,
                other_clocks: &self.other_clocks,
                scopes: self.scopes(),
            }),
            MessageKind::DiscardedEvents => Message::DiscardedEvents(discarded()?),
            MessageKind::DiscardedPackets => Message::DiscardedPackets(discarded()?),
            MessageKind::Damage => Message::Damage(self.damage.as_ref()?),
            _ => return None,
        })
    }

    fn place(&self) -> Option<Place> {
        Some(self.place_in_stream())
    }
}

impl StreamCursor {
    fn scopes(&self) -> Scopes<'_> {
        Scopes { bits: self.bits(), begins: &self.begins, slots: &self.slots, limits: &self.input.limits }
    }

    fn current_packet(&self) -> Packet<'_> {
        let data = self.data.len() as u64 * 8;
        Packet {
            stream: &self.input.stream,
            begin: self.packet_begin,
            end: self.packet_end,
            sequence_number: self.info.sequence.map(|counter| counter.value),
            discarded_counter: self.info.discarded.map(|counter| counter.value),
            total_length: self.info.total.unwrap_or(data),
            content_length: self.info.content.unwrap_or(data),
            scopes: self.scopes(),
        }
    }
}
