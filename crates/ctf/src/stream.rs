//! The cursor that reads a data stream.

use std::cell::Cell;
use std::sync::Arc;

use ichnos_io::Bytes;
use ichnos_model::walk::{DecodeErrorKind, PacketBits, Position, UNKNOWN};
use ichnos_model::{
    Checkpoint, ClockValue, Cursor, Damage, DamageKind, DataStream, Discarded, Event, EventCounts,
    FastCursor, Head, Message, Packet, Scopes, Window,
};

use crate::loss::Loss;
use crate::message_queue::{MessageQueue, Pending, TimedMessage};
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
            state: State::Begin,
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
            nanoseconds_at_zero: stream
                .clock()
                .filter(|clock| clock.frequency == 1_000_000_000)
                .map(|clock| clock.nanoseconds(0)),
            clock_before: 0,
            is_late: false,
            lost_files: self.lost_files(),
            queue: MessageQueue::default(),
            current: Current::Nothing,
        }
    }
}

/// What a cursor does when its queue is empty and the open packet has no more event records to scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Begin,
    /// How many of the damages before the next packet were queued.
    BeforePacket(usize),
    /// Event records are scanned.
    InPacket,
    /// The end of the packet was queued.
    AfterPacket,
    /// How many of the damages behind all packets were queued.
    AfterPackets(usize),
    /// What may be left of the data stream is not read, as the window ends before.
    AfterWindow,
    Done,
}

impl State {
    /// Two numbers of its own for each state.
    pub(crate) fn numbers(self) -> (u64, u64) {
        let (kind, which) = match self {
            Self::Begin => (0, 0),
            Self::BeforePacket(which) => (1, which),
            Self::InPacket => (2, 0),
            Self::AfterPacket => (3, 0),
            Self::AfterPackets(which) => (4, which),
            Self::AfterWindow => (5, 0),
            Self::Done => (6, 0),
        };
        (kind, which as u64)
    }
}

/// Which message a cursor is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Current {
    Nothing,
    /// The event record that was scanned last, at its own time.
    Event,
    /// That of the queue.
    Queued,
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
    pub(crate) state: State,
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
    /// Time of value 0 of a default clock of 1 GHz, as most are: then no event needs arithmetic.
    pub(crate) nanoseconds_at_zero: Option<i128>,
    /// Value of the default clock before the current event; 0 if there is none.
    pub(crate) clock_before: u64,
    /// Whether the last event came after the window.
    pub(crate) is_late: bool,
    /// Files of which it was reported that they have lost bytes.
    pub(crate) lost_files: Vec<u32>,
    pub(crate) queue: MessageQueue,
    pub(crate) current: Current,
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

    /// Queues damage, at the time that has come.
    fn queue_damage(&mut self, damage: Damage) {
        let damage = Damage { stream: Some(self.input.stream.name.to_string()), ..damage };
        let now = self.clocks.value().map(|now| now.min(self.last_time));
        let time = self.input.clock_value(now).map(|value| value.nanoseconds);
        self.queue.push(Pending::Damage(Box::new(damage)), time);
    }

    /// Queues what is wrong with the event record that was scanned last, and then this at a time.
    #[cold]
    fn queue_event(&mut self, wrong: Option<DamageKind>, time: i128) {
        if let Some(kind) = wrong {
            let damage = self.damage_at(self.begins[2].bit, kind);
            self.queue_damage(Damage { skipped: 0, ..damage });
        }
        self.queue.push(Pending::Event, Some(time));
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

    /// Whether there is a message of the event record that was scanned last; none if it is not in the window.
    #[inline(always)]
    pub(crate) fn report_event(&mut self) -> bool {
        if let Some(ClockValue { nanoseconds, cycles: to }) = self.event_clock {
            if self.has_window && !self.is_wanted(nanoseconds) {
                return false;
            }
            let from = self.last_event;
            if to > self.latest || from > to {
                return self.report_wrong_time(nanoseconds, to);
            }
            self.last_event = to;
        }
        self.current = Current::Event;
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

    /// Queues an event that may be later than its packet, than all times of 64 bits, or earlier than the one
    /// before, and makes what comes first of it the current message. One that is later than its packet comes at
    /// the end of the packet, so that one wrong time does not hold up all later events.
    #[cold]
    fn report_wrong_time(&mut self, nanoseconds: i128, cycles: u64) -> bool {
        let end = self.last_time;
        let has_no_time = cycles > self.rules.most_cycles && !is_of_64_bits(nanoseconds);
        let (wrong, time) = if cycles > end {
            let time = self.input.clock_value(Some(end)).map_or(nanoseconds, |value| value.nanoseconds);
            let after = DamageKind::EventAfterPacket { cycles, end };
            let wrong = if has_no_time { DamageKind::TimeOverflow(nanoseconds) } else { after };
            ((!std::mem::replace(&mut self.is_late_reported, true)).then_some(wrong), time)
        } else {
            let wrong = match std::mem::replace(&mut self.last_event, cycles) {
                from if from > cycles => Some(DamageKind::ClockBackwards { from, to: cycles }),
                from if has_no_time && from <= self.rules.most_cycles => {
                    Some(DamageKind::TimeOverflow(nanoseconds))
                }
                _ => None,
            };
            (wrong, nanoseconds)
        };
        self.queue_event(wrong, time);
        self.deliver_queued()
    }

    /// Makes the next message of the queue the current one, if there is one.
    pub(crate) fn deliver_queued(&mut self) -> bool {
        let has_message = self.queue.advance();
        self.current = if has_message { Current::Queued } else { Current::Nothing };
        has_message
    }

    /// Moves to what is no event on time; whether there is a message, None if event records may follow.
    #[inline(never)]
    fn advance_otherwise(&mut self) -> Option<bool> {
        loop {
            if self.deliver_queued() {
                return Some(true);
            }
            match self.state {
                State::Begin => {
                    self.state = State::BeforePacket(0);
                    self.queue.push(Pending::StreamBegin, None);
                }
                State::BeforePacket(0) if self.packet >= self.input.packets.len() => {
                    self.state = State::AfterPackets(0);
                }
                State::BeforePacket(0) if self.is_past_window() => self.state = State::AfterWindow,
                State::BeforePacket(which) => match self.entry().damage_before().get(which).cloned() {
                    Some(damage) => {
                        self.state = State::BeforePacket(which + 1);
                        self.queue_damage(damage);
                    }
                    None => self.enter_packet(),
                },
                State::InPacket if self.is_packet_lost() || self.broken.is_some() => self.leave_packet(),
                State::InPacket if self.end < self.bits().end() => {
                    self.look_ahead();
                    return None;
                }
                State::InPacket => self.leave_packet(),
                State::AfterPacket => {
                    self.packet += 1;
                    self.state = State::BeforePacket(0);
                }
                State::AfterPackets(which) => match self.input.rest.get(which).cloned() {
                    Some(damage) => {
                        self.state = State::AfterPackets(which + 1);
                        self.queue_damage(damage);
                    }
                    None => self.queue_stream_end(),
                },
                State::AfterWindow => self.queue_stream_end(),
                State::Done => return Some(false),
            }
        }
    }

    /// Opens the next packet and queues what comes before its first event record; or what is wrong with it.
    fn enter_packet(&mut self) {
        let opened = self.open_packet();
        match self.unless_lost(opened) {
            Ok(()) => {
                self.queue_flaws();
                self.queue_losses();
                self.queue_packet_begin();
            }
            Err(damage) => self.skip_packet(damage),
        }
    }

    /// Queues why the packet cannot be read, if that is to be reported, and goes to the next one.
    pub(crate) fn skip_packet(&mut self, damage: Option<Damage>) {
        if let Some(damage) = damage {
            self.queue_damage(damage);
        }
        self.packet += 1;
        (self.state, self.end) = (State::BeforePacket(0), 0);
    }

    /// Queues what is wrong with the packet as a whole.
    fn queue_flaws(&mut self) {
        let check = PacketCheck {
            stream: &self.input.stream,
            entry: self.entry(),
            before: self.input.packet_before(self.packet),
            info: Some(&self.opened.info).filter(|_| !self.clocks.go_on),
            may_lack_end: self.has_quirk(Quirk::LttngCrashPacketEnd),
        };
        // Nearly all packets have none: this allocates nothing then.
        let flaws: Vec<DamageKind> = check.flaws().collect();
        for kind in flaws {
            self.queue_damage(Damage { skipped: 0, ..self.damage_at(0, kind) });
        }
    }

    /// Queues what was discarded before or in the packet.
    fn queue_losses(&mut self) {
        let time = |loss: &Loss| loss.range.map(|(begin, _)| begin.nanoseconds);
        if let Some(loss) = self.discarded_events().filter(|loss| self.is_in_window(loss)) {
            self.queue.push(Pending::DiscardedEvents(Box::new(loss)), time(&loss));
        }
        if let Some(loss) = self.discarded_packets().filter(|loss| self.is_in_window(loss)) {
            self.queue.push(Pending::DiscardedPackets(Box::new(loss)), time(&loss));
        }
    }

    /// Queues the beginning of the packet; its event records are scanned from here on.
    pub(crate) fn queue_packet_begin(&mut self) {
        self.state = State::InPacket;
        if !self.has_quirk(Quirk::BarectfEventBeforePacket) {
            // No event may be earlier.
            let end = self.opened.times.end.unwrap_or(u64::MAX).min(self.rules.most_cycles);
            let begin = self.opened.times.begin.filter(|begin| *begin <= end);
            self.last_event = self.last_event.max(begin.unwrap_or(0));
        } else if let (Some(begin), Some(first)) = (self.opened.times.begin, self.first_event_clock())
            && first < begin
        {
            self.opened.begin = self.input.clock_value(Some(first));
            self.input.applied_quirks.note(Quirk::BarectfEventBeforePacket);
        }
        let time = self.opened.begin.map(|begin| begin.nanoseconds);
        self.queue.push(Pending::PacketBegin, time);
    }

    /// Queues what is wrong behind the last event record that can be read, and the end of the packet.
    fn leave_packet(&mut self) {
        if self.is_packet_lost() {
            if let Some(damage) = self.lost_of_events() {
                self.queue_damage(damage);
            }
            return self.queue_packet_end();
        }
        if let Some((bit, kind)) = self.broken.take().map(|broken| *broken) {
            self.forget_event();
            let missing = matches!(kind, DamageKind::Field(DecodeErrorKind::BeyondData { .. }));
            if let (true, Some(damage)) = (missing, self.cut_off()) {
                // The data ends within an event record: that is all that is wrong.
                let begin = self.entry().offset * 8 + self.at.bit;
                let skipped = damage.bit.saturating_sub(begin);
                self.queue_damage(Damage { skipped, ..damage });
                return self.queue_packet_end();
            }
            self.queue_damage(self.damage_at(bit, kind));
        }
        if let Some(damage) = self.cut_off() {
            self.queue_damage(damage);
        }
        self.queue_packet_end();
    }

    /// Queues the end of the packet; no more of its event records are scanned.
    pub(crate) fn queue_packet_end(&mut self) {
        self.state = State::AfterPacket;
        self.end = 0;
        self.clocks.end_packet();
        let now = self.clocks.value();
        if let (Some(end), Some(now)) = (self.opened.times.end, now) {
            let crashed = self.has_quirk(Quirk::LttngCrashPacketEnd)
                && end == 0
                && self.opened.times.begin.is_some_and(|begin| begin != 0);
            let early = self.has_quirk(Quirk::LttngEventAfterPacket) && end < now;
            if crashed || early {
                self.opened.end = self.input.clock_value(Some(now));
                let quirk = if crashed { Quirk::LttngCrashPacketEnd } else { Quirk::LttngEventAfterPacket };
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
        self.queue.push(Pending::PacketEnd, time);
    }

    /// Queues what was not reported yet of files that have lost bytes, and the end of the data stream.
    fn queue_stream_end(&mut self) {
        self.state = State::Done;
        while let Some(damage) = self.lost_of_files() {
            self.queue_damage(damage);
        }
        self.queue.push(Pending::StreamEnd, None);
    }
}

impl Cursor for CtfCursor {
    #[inline(always)]
    fn advance(&mut self) -> bool {
        loop {
            // No packet has event records to scan before it is entered and after it is left.
            if self.queue.is_empty() && self.next_event() {
                if self.report_event() {
                    return true;
                }
                continue;
            }
            if let Some(has_message) = self.advance_otherwise() {
                return has_message;
            }
        }
    }

    #[inline(always)]
    fn current(&self) -> Option<Message<'_>> {
        if self.current == Current::Event {
            return Some(Message::Event(self.current_event()));
        }
        self.queued_message()
    }

    #[inline(always)]
    fn head(&self) -> Option<Head> {
        if self.current == Current::Event {
            return Some(Head::event(self.event_class, self.event_clock.map(|value| value.nanoseconds)));
        }
        self.queued_head()
    }
}

impl FastCursor for CtfCursor {
    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        if !self.queue.is_empty() || self.has_window {
            return 0;
        }
        // The event before needs lengths and selectors that are overwritten now.
        self.current = Current::Nothing;
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
    /// The message of the queue, if that is the current one.
    fn queued(&self) -> Option<&TimedMessage> {
        self.queue.current().filter(|_| self.current == Current::Queued)
    }

    #[inline(never)]
    fn queued_head(&self) -> Option<Head> {
        let TimedMessage { message, nanoseconds } = self.queued()?;
        Some(match message {
            Pending::Event => Head::event(self.event_class, *nanoseconds),
            message => Head::new(message.kind(), *nanoseconds),
        })
    }

    #[inline(never)]
    fn queued_message(&self) -> Option<Message<'_>> {
        let stream = &*self.input.stream;
        let discarded = |loss: &Loss| {
            let (begin, end) = loss.range.unzip();
            Discarded { stream, count: loss.count, begin, end }
        };
        Some(match &self.queued()?.message {
            Pending::StreamBegin => Message::StreamBegin(stream),
            Pending::StreamEnd => Message::StreamEnd(stream),
            Pending::PacketBegin => Message::PacketBegin(self.current_packet()),
            Pending::PacketEnd => Message::PacketEnd(self.current_packet()),
            Pending::Event => Message::Event(self.current_event()),
            Pending::DiscardedEvents(loss) => Message::DiscardedEvents(discarded(loss)),
            Pending::DiscardedPackets(loss) => Message::DiscardedPackets(discarded(loss)),
            Pending::Damage(damage) => Message::Damage(damage),
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
