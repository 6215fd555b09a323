//! The cursor that reads a data stream.

use std::cell::Cell;
use std::sync::Arc;

use ichnos_io::Bytes;
use ichnos_model::walk::{DecodeErrorKind, PacketBits, Position, UNKNOWN};
use ichnos_model::{
    Checkpoint, ClockValue, Cursor, Damage, DamageKind, DataStream, Discarded, Event, EventCounts,
    FastCursor, Head, Message, MessageKind, Packet, Scopes, Window,
};

use crate::loss::Loss;
use crate::packet::{Clocks, EventVisitor, PacketInfo};
use crate::packet_check::PacketCheck;
use crate::packet_entry::PacketEntry;
use crate::packet_times::{PacketTimes, is_of_64_bits};
use crate::quirks::Quirk;
use crate::rule::Rule;
use crate::stream_input::{StreamInput, StreamRules};

impl StreamInput {
    /// A cursor over what is in the window.
    #[must_use]
    pub fn cursor(self: &Arc<Self>, window: Window) -> CtfCursor {
        let goes_on = Clocks::of(&self.stream.trace.class).go_on;
        let begin = window.begin.filter(|_| !goes_on);
        self.cursor_at(window, begin.map_or(0, |begin| self.first_packet(begin)))
    }

    /// A cursor over what is in the window, from the packet with this index on.
    pub(crate) fn cursor_at(self: &Arc<Self>, window: Window, first: usize) -> CtfCursor {
        let stream = &self.stream;
        let clocks = Clocks::of(&stream.trace.class);
        CtfCursor {
            input: Arc::clone(self),
            window,
            has_window: window.begin.is_some() || window.end.is_some(),
            rules: Arc::clone(&self.rules),
            slots: vec![Cell::new(UNKNOWN); stream.plans().slots],
            clocks,
            other_clocks: Vec::new(),
            phase: Phase::Begin,
            packet: first,
            data: Bytes::default(),
            content: 0,
            opened: Box::default(),
            at: Position::default(),
            end: 0,
            begins: [Position::default(); 6],
            broken: None,
            common_cycles: None,
            event_class: 0,
            event_clock: None,
            last_event: 0,
            last_time: u64::MAX,
            latest: u64::MAX,
            is_late_reported: false,
            held_time: None,
            reported_time: None,
            is_in_time: false,
            nanoseconds_at_zero: stream
                .clock()
                .filter(|clock| clock.frequency == 1_000_000_000)
                .map(|clock| clock.nanoseconds(0)),
            clock_before: 0,
            is_late: false,
            lost_files: self.lost_files(),
            damage: None,
            discarded: None,
            current: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Begin,
    BeforePacket,
    /// Reports what could not be read before a packet, one after the other.
    DamageBefore(usize),
    OpenPacket,
    /// Reports what is wrong with a packet, one after the other.
    CheckPacket(u8),
    DiscardedEvents,
    DiscardedPackets,
    PacketBegin,
    Events,
    /// After damage within a packet: its end may be missing, too.
    BrokenPacket,
    /// The current event is delivered after a message about it.
    HeldEvent,
    PacketEnd,
    Rest(usize),
    End,
    Done,
}

impl Phase {
    /// A number of its own for each phase.
    pub(crate) fn number(self) -> u64 {
        let (kind, which) = match self {
            Self::Begin => (0, 0),
            Self::BeforePacket => (1, 0),
            Self::DamageBefore(which) => (2, which),
            Self::OpenPacket => (3, 0),
            Self::CheckPacket(which) => (4, which.into()),
            Self::DiscardedEvents => (5, 0),
            Self::DiscardedPackets => (6, 0),
            Self::PacketBegin => (7, 0),
            Self::Events => (8, 0),
            Self::BrokenPacket => (9, 0),
            Self::HeldEvent => (10, 0),
            Self::PacketEnd => (11, 0),
            Self::Rest(which) => (12, which),
            Self::End => (13, 0),
            Self::Done => (14, 0),
        };
        (which as u64) << 8 | kind
    }
}

/// What is known of the current packet.
#[derive(Debug, Default)]
pub(crate) struct OpenedPacket {
    info: PacketInfo,
    pub(crate) times: PacketTimes,
    /// When it begins and ends, as it is delivered.
    begin: Option<ClockValue>,
    end: Option<ClockValue>,
}

/// Reads a data stream, one message after the other.
// What events do not need is in boxes: of a thousand cursors, the rest is to fit into the processor's
// caches.
#[derive(Debug)]
pub struct CtfCursor {
    pub(crate) input: Arc<StreamInput>,
    pub(crate) window: Window,
    pub(crate) has_window: bool,
    pub(crate) rules: Arc<StreamRules>,
    pub(crate) slots: Vec<Cell<i128>>,
    pub(crate) clocks: Clocks,
    pub(crate) other_clocks: Vec<(u16, u64)>,
    pub(crate) phase: Phase,
    /// Index of the current packet, or of the next one before the first.
    pub(crate) packet: usize,
    /// The bytes of the current packet, as far as they are there.
    pub(crate) data: Bytes,
    /// End of its content in bits.
    pub(crate) content: u64,
    pub(crate) opened: Box<OpenedPacket>,
    /// Where the next event record begins.
    pub(crate) at: Position,
    /// Where it is to be asked whether the bytes are still there, at last where the content of the
    /// current packet ends, or before that its data.
    pub(crate) end: u64,
    pub(crate) begins: [Position; 6],
    /// What is wrong with the event record at `begins[2]`, and at which bit.
    pub(crate) broken: Option<Box<(u64, DamageKind)>>,
    /// Value of the default clock behind the common context of the current event.
    pub(crate) common_cycles: Option<u64>,
    pub(crate) event_class: usize,
    pub(crate) event_clock: Option<ClockValue>,
    /// Time of the last event in cycles, or of the beginning of its packet; 0 if nothing was before.
    pub(crate) last_event: u64,
    /// When the packet ends, if that is known and to be believed.
    last_time: u64,
    /// Events above this one need a closer look.
    pub(crate) latest: u64,
    /// Whether an event of the packet was after its end.
    pub(crate) is_late_reported: bool,
    /// The time of the event that is held.
    held_time: Option<i128>,
    /// The time of the current message, unless it is an event that comes when it says.
    reported_time: Option<i128>,
    /// Whether it is such an event.
    is_in_time: bool,
    /// Time of value 0 of a default clock of 1 GHz, as most are: then no event needs arithmetic.
    pub(crate) nanoseconds_at_zero: Option<i128>,
    /// Value of the default clock before the current event; 0 if there is none.
    pub(crate) clock_before: u64,
    /// Whether the last event came after the window.
    pub(crate) is_late: bool,
    /// Files of which it was reported that they have lost bytes.
    pub(crate) lost_files: Vec<u32>,
    damage: Option<Box<Damage>>,
    discarded: Option<Box<Loss>>,
    current: Option<MessageKind>,
}

impl CtfCursor {
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

    fn report(&mut self, kind: MessageKind, nanoseconds: Option<i128>) -> bool {
        self.current = Some(kind);
        (self.is_in_time, self.reported_time) = (false, nanoseconds);
        true
    }

    fn report_damage(&mut self, damage: Damage) -> bool {
        self.damage = Some(Box::new(Damage { stream: Some(self.input.stream.name.to_string()), ..damage }));
        let now = self.clocks.value().map(|now| now.min(self.last_time));
        let time = self.input.clock_value(now).map(|value| value.nanoseconds);
        self.report(MessageKind::Damage, time)
    }

    /// Reports what is wrong with an event, which follows at a time.
    #[cold]
    fn hold_event(&mut self, kind: DamageKind, time: i128) -> bool {
        self.phase = Phase::HeldEvent;
        self.held_time = Some(time);
        let damage = self.damage_at(self.begins[2].bit, kind);
        self.report_damage(Damage { skipped: 0, ..damage })
    }

    /// Damage at a bit of the current packet that reaches to the end of its content.
    fn damage_at(&self, bit: u64, kind: DamageKind) -> Damage {
        let entry = self.entry();
        let content = self.bits().end();
        Damage {
            file: self.input.files[entry.file as usize].name.to_string(),
            stream: None,
            bit: entry.offset * 8 + bit,
            kind,
            skipped: content.saturating_sub(bit),
        }
    }

    /// The damage of the current packet if the end of its file cuts it off.
    fn cut_off(&self) -> Option<Damage> {
        let file = self.input.files.get(self.entry().file as usize)?;
        self.entry().cut_off(&file.name, file.bytes.len() as u64)
    }

    /// Whether no event from the next packet on can be in the window.
    fn is_past_window(&self) -> bool {
        let Some(end) = self.window.end else { return false };
        // Where packets do not say when they begin, or not the truth, the events before must do.
        let begin = self.input.begin_of(self.packet);
        let begin = begin.filter(|_| !self.has_quirk(Quirk::BarectfEventBeforePacket));
        let Some(begin) = begin else { return self.is_late && self.ended_after(end) };
        begin > end && self.entry_is_true()
    }

    /// Whether the packet before ended after a time, as far as it says when: one event alone, whose
    /// time may be wrong, does not tell that all later packets are after it.
    fn ended_after(&self, time: i128) -> bool {
        let before = self.packet.checked_sub(1).and_then(|before| self.input.packets.get(before));
        let end = before.and_then(|before| self.input.clock_value(before.end()));
        end.is_none_or(|end| end.nanoseconds > time)
    }

    /// Whether the packet says what its entry says, as far as it can be read.
    fn entry_is_true(&self) -> bool {
        let Some(file) = self.input.files.get(self.entry().file as usize) else { return true };
        let data = file.bytes.get(self.entry().offset as usize..).unwrap_or_default();
        let decoded = self.input.decoder().decode(data, &self.slots, &mut self.clocks.clone());
        self.clocks.go_on || decoded.map_or(true, |info| self.entry().says(&info))
    }

    pub(crate) fn has_quirk(&self, quirk: Quirk) -> bool {
        self.rules.quirks.contains(&quirk)
    }

    pub(crate) fn open_packet(&mut self) -> Result<(), Damage> {
        let input = Arc::clone(&self.input);
        let entry = &input.packets[self.packet];
        let file = &input.files[entry.file as usize].bytes;
        let begin = entry.offset as usize;
        // What the packet says may be wrong: another one begins behind what the entry says.
        self.data = file.slice(begin..begin + entry.available(file.len() as u64) as usize);
        self.content = self.data.len() as u64 * 8;
        let data = &self.data;
        (self.last_time, self.latest, self.is_late_reported) = (u64::MAX, self.rules.most_cycles, false);
        match input.decoder().decode(data, &self.slots, &mut self.clocks) {
            // Only an untrue index says otherwise than the packet itself.
            Ok(info) if info.class != input.stream.class_index => {
                let classes = &input.stream.trace.class.data_streams;
                let id = classes.get(info.class).map_or(0, |class| class.id);
                Err(self.damage_at(0, Rule::OtherDataStream { class: id }.into()))
            }
            Ok(info) => {
                if let Some(total) = info.total {
                    self.data = self.data.slice(0..usize::try_from(total / 8).unwrap_or(usize::MAX));
                }
                let times = PacketTimes::of(&input, self.packet, &info);
                if let Some(begin) = times.begin.filter(|_| times.begin != info.begin) {
                    self.clocks.set_default(begin);
                }
                self.last_time = times.last.unwrap_or(u64::MAX);
                self.latest = self.last_time.min(self.rules.most_cycles);
                self.is_late_reported = times.are_mended;
                self.opened.times = times;
                self.content = info.content.unwrap_or(self.data.len() as u64 * 8);
                self.opened.info = info;
                self.begins[0] = info.begins[0];
                self.begins[1] = info.begins[1];
                self.at = info.begins[2];
                self.look_ahead();
                self.opened.begin = input.clock_value(times.begin);
                self.opened.end = input.clock_value(times.end);
                Ok(())
            }
            Err(error) => Err(self.damage_at(error.bit, error.kind)),
        }
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
        let mut header = EventVisitor::new(&mut clocks);
        plan.walk(bits, &mut at, &self.slots, self.rules.limits, &mut header).ok()?;
        clocks.value()
    }

    /// Reports the event record that was got past; false if it is not in the window.
    #[inline(always)]
    pub(crate) fn report_event(&mut self) -> bool {
        if let Some(ClockValue { nanoseconds, cycles: to }) = self.event_clock {
            if self.has_window && !self.is_wanted(nanoseconds) {
                return false;
            }
            if to > self.latest {
                return self.report_late_event(nanoseconds, to);
            }
            let from = std::mem::replace(&mut self.last_event, to);
            if from > to {
                return self.hold_event(DamageKind::ClockBackwards { from, to }, nanoseconds);
            }
        }
        (self.current, self.is_in_time) = (Some(MessageKind::Event), true);
        true
    }

    /// Whether an event of this time is in the window.
    fn is_wanted(&mut self, nanoseconds: i128) -> bool {
        if self.window.begin.is_some_and(|begin| nanoseconds < begin) {
            return false;
        }
        // Only this event: a clock that is wrong here may be right again later.
        self.is_late = self.window.end.is_some_and(|end| nanoseconds > end);
        !self.is_late
    }

    /// Reports an event that may be later than its packet or than all times of 64 bits. The former
    /// comes at the end of its packet, lest one wrong time holds up all later events.
    #[cold]
    fn report_late_event(&mut self, nanoseconds: i128, cycles: u64) -> bool {
        let end = self.last_time;
        let has_no_time = cycles > self.rules.most_cycles && !is_of_64_bits(nanoseconds);
        if cycles > end {
            let time = self.input.clock_value(Some(end)).map_or(nanoseconds, |value| value.nanoseconds);
            if std::mem::replace(&mut self.is_late_reported, true) {
                return self.report(MessageKind::Event, Some(time));
            }
            let after = DamageKind::EventAfterPacket { cycles, end };
            return self
                .hold_event(if has_no_time { DamageKind::TimeOverflow(nanoseconds) } else { after }, time);
        }
        match std::mem::replace(&mut self.last_event, cycles) {
            from if from > cycles => {
                self.hold_event(DamageKind::ClockBackwards { from, to: cycles }, nanoseconds)
            }
            from if has_no_time && from <= self.rules.most_cycles => {
                self.hold_event(DamageKind::TimeOverflow(nanoseconds), nanoseconds)
            }
            _ => self.report(MessageKind::Event, Some(nanoseconds)),
        }
    }

    /// Reports what comes next where that is anything but one more event record; false where there is
    /// nothing to report: more event records may follow, or nothing at all.
    #[inline(never)]
    pub(crate) fn next(&mut self) -> bool {
        loop {
            match self.phase {
                Phase::Begin => {
                    self.phase = Phase::BeforePacket;
                    return self.report(MessageKind::StreamBegin, None);
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
                    self.phase = Phase::DamageBefore(0);
                }
                Phase::DamageBefore(which) => {
                    let Some(damage) = self.entry().damage_before().get(which).cloned() else {
                        self.phase = Phase::OpenPacket;
                        continue;
                    };
                    self.phase = Phase::DamageBefore(which + 1);
                    return self.report_damage(damage);
                }
                Phase::OpenPacket => {
                    let opened = self.open_packet();
                    match self.unless_lost(opened) {
                        Ok(()) => self.phase = Phase::CheckPacket(0),
                        Err(damage) => {
                            self.packet += 1;
                            self.phase = Phase::BeforePacket;
                            if let Some(damage) = damage {
                                return self.report_damage(damage);
                            }
                        }
                    }
                }
                Phase::CheckPacket(from) => {
                    let check = PacketCheck {
                        stream: &self.input.stream,
                        entry: self.entry(),
                        before: self.input.packet_before(self.packet),
                        info: Some(&self.opened.info).filter(|_| !self.clocks.go_on),
                        may_lack_end: self.has_quirk(Quirk::LttngCrashPacketEnd),
                    };
                    let Some((number, kind)) = check.first_flaw(from) else {
                        self.phase = Phase::DiscardedEvents;
                        continue;
                    };
                    self.phase = Phase::CheckPacket(number + 1);
                    return self.report_damage(Damage { skipped: 0, ..self.damage_at(0, kind) });
                }
                Phase::DiscardedEvents => {
                    self.phase = Phase::DiscardedPackets;
                    self.discarded =
                        self.discarded_events().filter(|loss| self.is_in_window(loss)).map(Box::new);
                    if let Some(loss) = &self.discarded {
                        let time = loss.range.map(|(begin, _)| begin.nanoseconds);
                        return self.report(MessageKind::DiscardedEvents, time);
                    }
                }
                Phase::DiscardedPackets => {
                    self.phase = Phase::PacketBegin;
                    self.discarded =
                        self.discarded_packets().filter(|loss| self.is_in_window(loss)).map(Box::new);
                    if let Some(loss) = &self.discarded {
                        let time = loss.range.map(|(begin, _)| begin.nanoseconds);
                        return self.report(MessageKind::DiscardedPackets, time);
                    }
                }
                Phase::PacketBegin => {
                    self.phase = Phase::Events;
                    if !self.has_quirk(Quirk::BarectfEventBeforePacket) {
                        // No event may be earlier.
                        let end = self.opened.times.end.unwrap_or(u64::MAX).min(self.rules.most_cycles);
                        let begin = self.opened.times.begin.filter(|begin| *begin <= end);
                        self.last_event = self.last_event.max(begin.unwrap_or(0));
                    } else if let (Some(begin), Some(first)) =
                        (self.opened.times.begin, self.first_event_clock())
                        && first < begin
                    {
                        self.opened.begin = self.input.clock_value(Some(first));
                        self.input.applied_quirks.note(Quirk::BarectfEventBeforePacket);
                    }
                    let time = self.opened.begin.map(|begin| begin.nanoseconds);
                    return self.report(MessageKind::PacketBegin, time);
                }
                Phase::Events if self.is_packet_lost() => {
                    self.phase = Phase::PacketEnd;
                    if let Some(damage) = self.lost_of_events() {
                        return self.report_damage(damage);
                    }
                }
                Phase::Events if self.broken.is_none() && self.end < self.bits().end() => {
                    self.look_ahead();
                    return false;
                }
                Phase::Events => match self.broken.take().map(|broken| *broken) {
                    None => {
                        self.phase = Phase::PacketEnd;
                        if let Some(damage) = self.cut_off() {
                            return self.report_damage(damage);
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
                            return self.report_damage(Damage { skipped, ..damage });
                        }
                        self.phase = Phase::BrokenPacket;
                        let damage = self.damage_at(bit, kind);
                        return self.report_damage(damage);
                    }
                },
                Phase::BrokenPacket => {
                    self.phase = Phase::PacketEnd;
                    if let Some(damage) = self.cut_off() {
                        return self.report_damage(damage);
                    }
                }
                Phase::HeldEvent => {
                    self.phase = Phase::Events;
                    return self.report(MessageKind::Event, self.held_time);
                }
                Phase::PacketEnd => {
                    self.phase = Phase::BeforePacket;
                    self.clocks.end_packet();
                    let now = self.clocks.value();
                    if let (Some(end), Some(now)) = (self.opened.times.end, now) {
                        let crashed = self.has_quirk(Quirk::LttngCrashPacketEnd)
                            && end == 0
                            && self.opened.times.begin.is_some_and(|begin| begin != 0);
                        let early = self.has_quirk(Quirk::LttngEventAfterPacket) && end < now;
                        if crashed || early {
                            self.opened.end = self.input.clock_value(Some(now));
                            let quirk = if crashed {
                                Quirk::LttngCrashPacketEnd
                            } else {
                                Quirk::LttngEventAfterPacket
                            };
                            self.input.applied_quirks.note(quirk);
                        } else {
                            let last = if self.opened.times.are_mended { self.last_event } else { 0 };
                            let end = end.max(last);
                            self.opened.end = self.input.clock_value(Some(end));
                            self.clocks.set_default(end);
                        }
                    }
                    (self.last_time, self.latest) = (u64::MAX, self.rules.most_cycles);
                    if self.entry().is_misplaced() {
                        // What follows may be earlier or later: that was reported.
                        self.last_event = 0;
                    }
                    let time = self.opened.end.map(|end| end.nanoseconds);
                    return self.report(MessageKind::PacketEnd, time);
                }
                Phase::Rest(i) => {
                    let Some(damage) = self.input.rest.get(i).cloned() else {
                        self.phase = Phase::End;
                        continue;
                    };
                    self.phase = Phase::Rest(i + 1);
                    return self.report_damage(damage);
                }
                Phase::End => {
                    if let Some(damage) = self.lost_of_files() {
                        return self.report_damage(damage);
                    }
                    self.phase = Phase::Done;
                    return self.report(MessageKind::StreamEnd, None);
                }
                Phase::Done => {
                    self.current = None;
                    return false;
                }
            }
        }
    }
}

impl CtfCursor {
    /// Moves on to what is no event; whether there is a message, None if events may follow.
    #[inline(never)]
    fn move_on_otherwise(&mut self) -> Option<bool> {
        // The packet is left only when its end has been delivered.
        if self.current == Some(MessageKind::PacketEnd) {
            self.packet += 1;
        }
        let has_message = self.next();
        (has_message || self.phase == Phase::Done).then_some(has_message)
    }

    /// Whether the current message is an event record that comes when it says.
    pub(crate) fn is_event_on_time(&self) -> bool {
        self.is_in_time
    }

    /// The time of the current message.
    #[inline(always)]
    fn time(&self) -> Option<i128> {
        match self.event_clock {
            Some(value) if self.is_in_time => Some(value.nanoseconds),
            _ => self.other_time(),
        }
    }

    #[inline(never)]
    fn other_time(&self) -> Option<i128> {
        self.reported_time.filter(|_| !self.is_in_time)
    }
}

impl Cursor for CtfCursor {
    #[inline(always)]
    fn advance(&mut self) -> bool {
        loop {
            if self.phase == Phase::Events && self.next_event() {
                if self.report_event() {
                    return true;
                }
                continue;
            }
            if let Some(is_there) = self.move_on_otherwise() {
                return is_there;
            }
        }
    }

    #[inline(always)]
    fn current(&self) -> Option<Message<'_>> {
        if self.current == Some(MessageKind::Event) {
            return Some(Message::Event(self.current_event()));
        }
        self.other_message()
    }

    #[inline(always)]
    fn head(&self) -> Option<Head> {
        Some(match self.current? {
            MessageKind::Event => Head::event(self.event_class, self.time()),
            kind => Head::new(kind, self.time()),
        })
    }
}

impl FastCursor for CtfCursor {
    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        if self.phase != Phase::Events || self.has_window {
            return 0;
        }
        // The event before needs lengths and selectors that are overwritten now.
        self.current = None;
        self.pass_plain_events(most, counts)
    }

    fn prefetch(&self) {
        // The event that comes next, and the one behind it, which is looked at right after.
        let (begin, end) = ((self.begins[2].bit / 8) as usize, (self.at.bit / 8) as usize);
        for at in [begin, begin + 64, end, end + 64, end + 128] {
            self.data.prefetch(at);
        }
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        Some(self.place_in_stream())
    }
}

impl CtfCursor {
    /// The current message where it is no event record.
    #[inline(never)]
    fn other_message(&self) -> Option<Message<'_>> {
        let stream = &*self.input.stream;
        let discarded = || {
            let Loss { count, range } = **self.discarded.as_ref()?;
            let (begin, end) = range.unzip();
            Some(Discarded { stream, count, begin, end })
        };
        Some(match self.current? {
            MessageKind::StreamBegin => Message::StreamBegin(stream),
            MessageKind::StreamEnd => Message::StreamEnd(stream),
            MessageKind::PacketBegin => Message::PacketBegin(self.current_packet()),
            MessageKind::PacketEnd => Message::PacketEnd(self.current_packet()),
            MessageKind::DiscardedEvents => Message::DiscardedEvents(discarded()?),
            MessageKind::DiscardedPackets => Message::DiscardedPackets(discarded()?),
            MessageKind::Damage => Message::Damage(self.damage.as_ref()?),
            _ => return None,
        })
    }

    #[inline]
    fn current_event(&self) -> Event<'_> {
        let stream = &*self.input.stream;
        let plans = &stream.plans().event_records[self.event_class];
        let event = Event::new(stream, plans, self.event_clock.as_ref(), self.scopes());
        event.with_other_clocks(&self.other_clocks)
    }

    fn scopes(&self) -> Scopes<'_> {
        Scopes::new(self.bits(), &self.begins, &self.slots, &self.rules.limits)
    }

    fn current_packet(&self) -> Packet<'_> {
        let data = self.data.len() as u64 * 8;
        let info = &self.opened.info;
        let (total, content) = (info.total.unwrap_or(data), info.content.unwrap_or(data));
        Packet::new(&self.input.stream, total, content, self.scopes())
            .with_times(self.opened.begin, self.opened.end)
            .with_counters(
                info.sequence.map(|counter| counter.value),
                info.discarded.map(|counter| counter.value),
            )
    }
}
