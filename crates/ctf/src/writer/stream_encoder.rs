//! Encoder for a data stream's packets.

mod mirrored;
mod output_state;

use std::io;
use std::sync::Arc;

use ichnos_io::{EncodedPacket, OutputBlock, Worker, WorkerFlow};
use ichnos_model::class::Role;
use ichnos_model::clock::{ClockArithmetic, ClockValue};
use ichnos_model::event::Packet;
use ichnos_model::lower::{LossKind, PacketLosses};
use ichnos_model::message::DamageKind;
use ichnos_model::{Event, Message, Window};

use super::class_encoding::{ChangedTexts, ClassEncoding, EncodedRecord, WrittenTime};
use super::class_set::ClassSet;
use super::context_cache::ContextCache;
use super::encoder_config::{EncoderConfig, HeaderConfig, WriteRule};
use super::event_times::EventTimestamps;
use super::index_file::RecordedTimes;
use super::packets::{OpenPacket, Packets};
use super::repair::PacketRepair;
use super::role_values::RoleValues;
use super::untimed::{TimeSource, UntimedEvents};
use super::usage::ExcessElements;
use super::written_digest::WrittenDigest;
use crate::packet::update_clock;

pub(super) use mirrored::{PacketRange, begin_in_window, close_unended};
pub(super) use output_state::OutputState;

/// Output block size in bytes, if there is that much data.
const BLOCK: usize = 1 << 20;

/// Packet size in bytes without a source packet.
const PACKET: u64 = 256 << 10;

/// Loss for the time of an out-of-order event.
const LATE_EVENT: &str = "time before earlier events: used the time of the last event";

/// Maximum number of lanes for a data stream whose events are not sorted by time.
const MOST_LANES: usize = 16;

/// Encodes a data stream's messages.
#[derive(Debug)]
pub(super) struct StreamEncoder {
    pub(super) config: Arc<EncoderConfig>,
    /// Packet header values.
    pub(super) header: HeaderConfig,
    /// Time range to write.
    pub(super) window: Window,
    classes: Vec<Option<ClassEncoding>>,
    /// Packets by lane. There is one lane, unless events are out of order.
    pub(super) lanes: Vec<Packets>,
    blocks: Vec<OutputBlock>,
    lengths: Vec<Option<i128>>,
    contexts: ContextCache,
    packet_losses: PacketLosses,
    repair: PacketRepair,
    untimed: UntimedEvents,
    /// Digest of the written events, if it is compared with the output.
    pub(super) digest: Option<Box<WrittenDigest>>,
    pub(super) most_elements: ExcessElements,
    /// Classes with written events.
    written: ClassSet,
    /// Number of events moved to further data streams because they are out of order.
    moved_events: u64,
    /// `true` if packets were copied.
    has_copies: bool,
    /// `true` if a source packet lacks a counterpart in the output.
    has_unwritten_packets: bool,
    times: EventTimestamps,
}

/// Place of an event in the output.
#[derive(Clone, Copy)]
struct EventTarget {
    lane: usize,
    /// Event record class index.
    class: usize,
    /// Written time.
    cycles: Option<u64>,
    /// Clock value after the first timestamp.
    first: Option<u64>,
    /// `true` if all timestamps have the written time.
    is_changed: bool,
}

/// Limits that an event exceeds in a packet.
struct ExceededLimits {
    /// `true` if the packet has its maximum size.
    is_full: bool,
    /// `true` if timestamps have too few bits for the time.
    wraps: bool,
    /// `true` if the packet's end timestamp has too few bits.
    lacks_end: bool,
    /// `true` if the time is wrong. After a packet that starts at a wrong time, later packets would get wrong times,
    /// too.
    is_wrong: bool,
}

impl StreamEncoder {
    pub(super) fn new(config: Arc<EncoderConfig>) -> Self {
        let repair = PacketRepair::new(&config.stream);
        let digest = config.digest.as_ref().map(|all| Box::new(WrittenDigest::new(all)));
        Self {
            digest,
            header: config.header,
            window: config.window,
            config,
            classes: Vec::new(),
            lanes: vec![Packets::default()],
            blocks: Vec::new(),
            lengths: Vec::new(),
            contexts: ContextCache::default(),
            packet_losses: PacketLosses::default(),
            repair,
            untimed: UntimedEvents::default(),
            most_elements: ExcessElements::default(),
            written: ClassSet::default(),
            moved_events: 0,
            has_copies: false,
            has_unwritten_packets: false,
            times: EventTimestamps::default(),
        }
    }

    pub(super) fn record_loss(&self, kind: LossKind, class: &str, field: &str, what: &str) {
        self.config.lowered.record_loss(kind, class, field, what);
    }

    /// Returns an event's class index. Creates the encoding at the first event.
    fn class(&mut self, event: &Event<'_>) -> io::Result<Option<usize>> {
        let Some(index) = event.class_index() else { return Ok(None) };
        if let Some(Some(_)) = self.classes.get(index) {
            return Ok(Some(index));
        }
        let lowered = self.config.lowered.event(event).map_err(io::Error::other)?;
        let Some(lowered) = lowered else { return Ok(None) };
        let class = ClassEncoding::new(lowered, event, &self.config);
        if self.classes.len() <= index {
            self.classes.resize_with(index + 1, || None);
        }
        self.classes[index] = Some(class);
        Ok(Some(index))
    }

    pub(super) fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let Some(class) = self.class(event)? else {
            self.record_loss(LossKind::Dropped, event.name(), "", "event of an unknown class");
            return Ok(());
        };
        let (lane, cycles, source) = self.lane_and_time(event);
        let first = self.first_time(event, cycles);
        if let (Some(open), Some(cycles)) = (&mut self.lanes[lane].open, cycles) {
            open.has_right_times &= (open.now..=open.latest).contains(&cycles) || !self.config.frame.mirrors;
        }
        let (is_changed, mut cycles) = self.make_room(lane, cycles, first);
        let config = &self.config;
        if !config.timestamp.are_there
            && config.clock.adds_begin
            && let Some(open) = &self.lanes[lane].open
            && cycles.is_some_and(|cycles| cycles != open.now)
        {
            // Damaged packets may not allow their begin, the only known time.
            cycles = Some(open.now);
            self.record_loss(LossKind::Rounded, event.name(), "", "time: used the packet's time");
        }
        let place = EventTarget { lane, class, cycles, first, is_changed };
        let Some(encoded) = self.put_event(event, place)? else { return Ok(()) };
        self.written.insert(class);
        self.record_changed_texts(event.name(), encoded.texts);
        let packets = &mut self.lanes[lane];
        let Some(open) = &mut packets.open else { return Ok(()) };
        open.events += 1;
        packets.events += 1;
        if packets.out.at() % 8 == 0 {
            open.whole = Some((packets.out.at(), open.events));
        }
        if let Some(cycles) = cycles {
            open.now = cycles;
            if open.has_right_times || !self.config.frame.mirrors {
                packets.end = packets.end.max(cycles);
            }
            packets.last_event = packets.last_event.max(cycles);
            if let Some(source) = source {
                self.untimed.record(source, class, encoded.timestamp_bit);
            }
            if matches!(source, None | Some(TimeSource::Nearest)) {
                self.untimed.record_timed(cycles);
            }
        }
        let waits = source == Some(TimeSource::Next) && encoded.timestamp_bit.is_some();
        self.record_written((lane, class), event, cycles, waits);
        Ok(())
    }

    /// Returns an event's lane, its written time, and the time's source if the event lacks one.
    #[inline]
    fn lane_and_time(&mut self, event: &Event<'_>) -> (usize, Option<u64>, Option<TimeSource>) {
        let (cycles, source) = self.time(event);
        if !self.config.frame.mirrors {
            let lane = self.lane(cycles, event.name());
            return (lane, cycles.map(|cycles| cycles.max(self.lanes[lane].end)), source);
        }
        let cycles = cycles.map(|cycles| match (self.config.repairs(), self.config.frame.is_ctf) {
            (true, _) => self.possible_time(event, cycles),
            (false, false) => self.time_in_order(cycles, event.name()),
            (false, true) => cycles,
        });
        (0, cycles, source)
    }

    /// Writes an event into a lane's open packet, or into a further packet with the same context. Returns `None` if the
    /// event is dropped.
    #[inline]
    fn put_event(&mut self, event: &Event<'_>, place: EventTarget) -> io::Result<Option<EncodedRecord>> {
        let config = Arc::clone(&self.config);
        let EventTarget { lane, class, cycles, first, is_changed } = place;
        let mut is_split = false;
        loop {
            let packets = &mut self.lanes[lane];
            let Some(OpenPacket { most_bits, now, events, mut elements, .. }) = packets.open else {
                self.record_lost_event(event, "its packet cannot be written");
                return Ok(None);
            };
            let Some(Some(class)) = self.classes.get_mut(class) else { return Ok(None) };
            let begin = packets.out.at();
            let mut encoded = EncodedRecord::default();
            if is_changed || !(config.frame.mirrors && class.copy_event(&mut packets.out, event)) {
                let time = WrittenTime { cycles, fields: &self.times.clocks, is_changed };
                let (out, before) = (&mut packets.out, (&mut self.lengths, &mut self.contexts));
                match class.encode_event(out, before, &config, event, time, &mut elements) {
                    Ok(done) => encoded = done,
                    Err(problem) => {
                        packets.out.go_back(begin);
                        return self.reject(lane, event, problem);
                    }
                }
            }
            let most_elements = config.limits.zero_size_elements;
            let has_too_many = elements.excess > most_elements;
            if packets.out.at() <= most_bits && !has_too_many {
                if let Some(open) = &mut packets.open {
                    open.elements = elements;
                }
                self.most_elements.of_packet = self.most_elements.of_packet.max(elements.excess);
                return Ok(Some(encoded));
            }
            packets.out.go_back(begin);
            if is_split || events == 0 || config.frame.mirrors && !config.can_split(now, first) {
                let problem = match has_too_many {
                    true => {
                        format!("more than {most_elements} zero-size array elements, the reader limit")
                    }
                    false => "a packet with it would be too large for its size fields".to_owned(),
                };
                return self.reject(lane, event, problem);
            }
            let end = first.unwrap_or(now).max(now);
            if config.frame.mirrors {
                self.lanes[lane].split(end, first, self.repair.left_out);
            } else {
                self.lanes[lane].close_own(now);
                self.lanes[lane].open_own(&config, self.header, lane, end);
            }
            is_split = true;
        }
    }

    /// Drops an event that cannot be written.
    #[cold]
    fn reject(
        &mut self,
        lane: usize,
        event: &Event<'_>,
        problem: String,
    ) -> io::Result<Option<EncodedRecord>> {
        if !self.config.frame.mirrors {
            self.lanes[lane].drop_empty_own();
        }
        if self.config.has(WriteRule::MustFit) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        self.record_lost_event(event, &problem);
        Ok(None)
    }

    /// Counts an encoded event, if the digest is compared with the output. `waits`: its time is still unknown.
    fn record_written(
        &mut self,
        (lane, class): (usize, usize),
        event: &Event<'_>,
        cycles: Option<u64>,
        waits: bool,
    ) {
        let (Some(digest), Some(Some(encoding))) = (&mut self.digest, self.classes.get(class)) else {
            return;
        };
        let written = digest.event(&self.config, (class, encoding), event, cycles);
        if waits {
            return digest.hold(written);
        }
        let packets = &mut self.lanes[lane];
        if packets.open.as_ref().is_some_and(|open| open.ends_in_byte) {
            return digest.add(written);
        }
        packets.uncertain.push(written);
        if packets.out.at() % 8 == 0 {
            packets.uncertain.drain(..).for_each(|event| digest.add(event));
        }
    }

    /// Returns an event's written time, and the time's source if the event lacks one.
    #[inline]
    fn time(&mut self, event: &Event<'_>) -> (Option<u64>, Option<TimeSource>) {
        if self.config.default_clock.is_none() {
            return (None, None);
        }
        let Some(clock) = event.clock else {
            let now = self.lanes[0].open.as_ref().filter(|_| self.config.frame.mirrors).map(|open| open.now);
            let (time, source) = self.untimed.time(now, self.lanes[0].end);
            return (Some(time), Some(source));
        };
        if self.config.frame.mirrors && self.config.frame.is_ctf {
            return (Some(clock.cycles), None);
        }
        let (cycles, is_exact) = self.nearest(*clock);
        self.set_leading(cycles);
        (Some(cycles), (!is_exact).then_some(TimeSource::Nearest))
    }

    /// Returns the clock value closest to a time, and `true` if it is exact. Times from other sources can be outside
    /// the clock's range, or between two values.
    #[inline]
    fn nearest(&self, time: ClockValue) -> (u64, bool) {
        let cycles = time.cycles.min(self.repair.most_cycles());
        let Some(clock) = self.config.stream.clock() else { return (cycles, true) };
        let is = |arithmetic| clock.nanoseconds_in(arithmetic, cycles) == time.nanoseconds;
        let is_exact = is(ClockArithmetic::Exact) || is(ClockArithmetic::Double);
        // Cycles cannot be negative.
        let is_early = !is_exact && time.nanoseconds < clock.nanoseconds(0);
        (if is_early { 0 } else { cycles }, is_exact)
    }

    /// Returns the packet with times that the clock can represent. Times in other formats may lie between clock values.
    pub(super) fn with_possible_times<'p>(&self, packet: &Packet<'p>) -> Packet<'p> {
        let mut packet = *packet;
        packet.begin = self.possible(packet.begin, "packet begin time");
        // A change is counted at the packet's end.
        packet.end = packet.end.map(|end| self.nearest_value(end).0);
        packet
    }

    /// Returns the start and end times for a packet that ends.
    pub(super) fn possible_range(&self, packet: &Packet<'_>) -> PacketRange {
        PacketRange {
            begin: packet.begin.map(|begin| self.nearest_value(begin).0),
            end: self.possible(packet.end, "packet end time"),
        }
    }

    /// Returns the closest time that the clock can represent. Records a loss if it is inexact.
    fn possible(&self, time: Option<ClockValue>, what: &str) -> Option<ClockValue> {
        let (value, is_exact) = self.nearest_value(time?);
        if !is_exact {
            let what = format!("{what} that the clock cannot represent: used the nearest time");
            self.record_loss(LossKind::Rounded, "", "packet.context", &what);
        }
        Some(value)
    }

    fn nearest_value(&self, time: ClockValue) -> (ClockValue, bool) {
        if self.config.frame.is_ctf {
            return (time, true);
        }
        let (cycles, is_exact) = self.nearest(time);
        (ClockValue { cycles, ..time }, is_exact)
    }

    /// Keeps events unchanged that wait for the first time.
    fn give_up_leading(&mut self) {
        self.untimed.give_up();
        if let Some(digest) = &mut self.digest {
            digest.release(None);
        }
    }

    /// Sets the time of the open packet's events that wait for the first time.
    #[inline]
    fn set_leading(&mut self, cycles: u64) {
        let packets = &mut self.lanes[0];
        if self.untimed.has_leading()
            && let Some(open) = &mut packets.open
        {
            packets.end = packets.end.max(cycles);
            self.untimed.set_leading(&mut packets.out, open, packets.end);
            if let Some(digest) = &mut self.digest {
                digest.release(Some(packets.end));
            }
        }
    }

    fn record_changed_texts(&self, name: &str, texts: ChangedTexts) {
        let record =
            |kind, what, count| self.config.lowered.record_losses(kind, name, "payload", what, count);
        if texts.cut > 0 {
            record(LossKind::Dropped, "rest of a text after U+0000", texts.cut);
        }
        if texts.replaced > 0 {
            record(LossKind::Rounded, "bytes that are not UTF-8: question marks", texts.replaced);
        }
    }

    fn record_lost_event(&self, event: &Event<'_>, problem: &str) {
        let what = format!("event that cannot be written: {problem}");
        self.record_loss(LossKind::Dropped, event.name(), "", &what);
    }

    /// Returns a lane whose last event is not later than this event.
    fn lane(&mut self, cycles: Option<u64>, name: &str) -> usize {
        let Some(cycles) = cycles else { return 0 };
        if let Some(lane) = self.lanes.iter().position(|packets| packets.end <= cycles) {
            self.moved_events += u64::from(lane > 0);
            return lane;
        }
        if self.lanes.len() < MOST_LANES {
            self.moved_events += 1;
            self.lanes.push(Packets::default());
            return self.lanes.len() - 1;
        }
        self.record_loss(LossKind::Rounded, name, "", LATE_EVENT);
        0
    }

    /// Returns the clock value after an event's first timestamp. A packet with the event cannot begin later.
    #[inline]
    fn first_time(&mut self, event: &Event<'_>, cycles: Option<u64>) -> Option<u64> {
        let config = &*self.config;
        if !config.timestamp.are_several || !config.frame.mirrors {
            if config.timestamp.bits < 64 && config.frame.mirrors && config.has(WriteRule::TimeGaps) {
                self.read_after_gap(event, cycles);
            }
            return cycles;
        }
        // If the written event time differs, all its timestamps get that time.
        match cycles.filter(|cycles| event.clock.is_some_and(|clock| clock.cycles == *cycles)) {
            Some(time) => {
                let has_gaps = config.has(WriteRule::TimeGaps);
                self.times.read(event, config.timestamp.scope, config.default_clock, time, has_gaps);
            }
            None => self.times.clear(),
        }
        self.times.first().or(cycles)
    }

    /// Reads an event's only timestamp, if the shortest timestamp has too few bits for the time since the last event.
    /// Its own timestamp can be longer.
    #[inline]
    fn read_after_gap(&mut self, event: &Event<'_>, cycles: Option<u64>) {
        self.times.clear();
        let Some(now) = self.lanes[0].open.as_ref().map(|open| open.now) else { return };
        let Some(time) = cycles.filter(|cycles| *cycles >= now && self.has_no_room(now, *cycles)) else {
            return;
        };
        if event.clock.is_some_and(|clock| clock.cycles == time) {
            let config = &*self.config;
            self.times.read(event, config.timestamp.scope, config.default_clock, time, true);
        }
    }

    /// Returns `true` if a reader would decode a different time for the event after this clock value.
    fn wraps(&self, now: u64, cycles: u64) -> bool {
        self.read_after(now, cycles, false) != cycles
    }

    /// Returns the time that a reader decodes after a clock value. `is_changed`: all timestamps have that time.
    fn read_after(&self, now: u64, cycles: u64, is_changed: bool) -> u64 {
        match self.times.first() {
            Some(_) if !is_changed => self.times.read_after(now),
            _ => update_clock(now, cycles, self.config.timestamp.bits),
        }
    }

    /// Returns `true` if the shortest timestamp has too few bits for the time after this clock value.
    fn has_no_room(&self, now: u64, cycles: u64) -> bool {
        let bits = self.config.timestamp.bits;
        bits < 64 && cycles.wrapping_sub(now) >> bits != 0
    }

    /// Ensures that an open packet has room for an event. `first` is the clock value after the event's first timestamp.
    /// Returns `true` if all its timestamps must have the event time, and the time that a reader decodes.
    fn make_room(&mut self, lane: usize, mut cycles: Option<u64>, first: Option<u64>) -> (bool, Option<u64>) {
        let config = Arc::clone(&self.config);
        self.begin_at_event(lane, cycles, first);
        let mut is_changed = self.begins_within_event(lane, cycles, first);
        if let Some(open) = &self.lanes[lane].open {
            let (now, begin) = (open.now, if is_changed { cycles } else { first });
            let exceeded = self.exceeded_limits(lane, open, cycles, is_changed);
            let ExceededLimits { is_full, wraps, lacks_end, is_wrong } = exceeded;
            if (is_full || wraps) && config.frame.mirrors && (is_wrong || !config.can_split(now, begin)) {
                if lacks_end {
                    cycles = Some(now);
                    let what = "time after the last possible end of its packet: used the previous time";
                    self.record_loss(LossKind::Rounded, "", "", what);
                } else if wraps {
                    cycles = cycles.map(|cycles| self.read_after(now, cycles, is_changed));
                    let what = "time: bits without room in the event record header";
                    self.record_loss(LossKind::Rounded, "", "", what);
                }
            } else if is_full || wraps {
                let end = if wraps && !is_full { now } else { begin.unwrap_or(now).max(now) };
                if config.frame.mirrors {
                    self.lanes[lane].split(end, begin, self.repair.left_out);
                    is_changed |= !is_changed
                        && config.has(WriteRule::TimeGaps)
                        && begin.zip(cycles).is_some_and(|(begin, cycles)| self.wraps(begin, cycles));
                } else {
                    self.give_up_leading();
                    self.lanes[lane].close_own(now);
                    self.collect(false);
                }
            }
        }
        if is_changed {
            let what = "timestamps before the last timestamp: used the event's time";
            self.record_loss(LossKind::Rounded, "", self.config.timestamp.scope.short_name(), what);
        }
        if self.lanes[lane].open.is_none() && !config.frame.mirrors {
            let begin = cycles.unwrap_or(0).max(self.lanes[lane].end);
            self.lanes[lane].open_own(&config, self.header, lane, begin);
        }
        (is_changed, cycles)
    }

    /// Moves a packet's start to the first timestamp of its first event, if the source packet lacks a start time.
    #[inline]
    fn begin_at_event(&mut self, lane: usize, cycles: Option<u64>, first: Option<u64>) {
        let config = &*self.config;
        let packets = &mut self.lanes[lane];
        if let (true, Some(open), Some(first)) = (config.clock.adds_begin, &mut packets.open, first)
            && open.events == 0
            && !open.has_begin
            && (open.has_right_times || config.repairs())
        {
            // A packet cannot begin before the previous packet's end for an event with several timestamps.
            let begin = if first == cycles.unwrap_or(first) { first } else { first.max(packets.end) };
            open.begin_at(&mut packets.out, begin);
        }
    }

    /// Returns `true` if a packet starts between two timestamps of an event, and cannot start at its first timestamp.
    #[inline]
    fn begins_within_event(&mut self, lane: usize, cycles: Option<u64>, first: Option<u64>) -> bool {
        let config = &*self.config;
        let (true, Some(open), Some(cycles), Some(first)) =
            (config.frame.mirrors, &self.lanes[lane].open, cycles, first)
        else {
            return false;
        };
        let is_within = config.has(WriteRule::TimeGaps)
            && self.times.first().is_some()
            && first < open.now
            && self.wraps(open.now, cycles);
        if !is_within {
            return false;
        }
        let packets = &mut self.lanes[lane];
        let can_begin = !config.repairs()
            && packets.end <= first
            && config.clock.can_begin(first, packets.end, config.timestamp);
        match &mut packets.open {
            Some(open) if open.events == 0 && can_begin => {
                open.begin_at(&mut packets.out, first);
                false
            }
            _ => true,
        }
    }

    /// Returns the limits that an event exceeds in a lane's open packet.
    #[inline]
    fn exceeded_limits(
        &self,
        lane: usize,
        open: &OpenPacket,
        cycles: Option<u64>,
        is_changed: bool,
    ) -> ExceededLimits {
        let config = &*self.config;
        let most = config.packet_size.or((!config.frame.mirrors).then_some(PACKET));
        let at = self.lanes[lane].out.at();
        // Otherwise, wrong event times would become packet times.
        let can_end = (at % 8 == 0 || open.ends_in_byte) && (open.has_right_times || !config.frame.mirrors);
        let is_full = most.is_some_and(|most| at / 8 >= most) && open.events > 0 && can_end;
        let lacks_bits = config.frame.mirrors
            && config.has(WriteRule::TimeGaps)
            && cycles.is_some_and(|cycles| match is_changed {
                true => self.has_no_room(open.now, cycles),
                false => self.wraps(open.now, cycles),
            });
        let lacks_end = config.repairs()
            && config.frame.mirrors
            && cycles.is_some_and(|cycles| config.clock.lacks_room_for_end(open.begin, cycles));
        let wraps = lacks_bits || lacks_end;
        let is_wrong = wraps
            && !config.repairs()
            && !cycles.is_some_and(|cycles| (open.now..=open.latest).contains(&cycles));
        ExceededLimits { is_full, wraps, lacks_end, is_wrong }
    }

    fn flow(&self) -> WorkerFlow {
        if self.blocks.is_empty() { WorkerFlow::Continue } else { WorkerFlow::Block }
    }

    /// Moves complete packets into blocks.
    pub(super) fn collect(&mut self, is_end: bool) {
        for packets in &mut self.lanes {
            for (count, what) in [
                (
                    &mut packets.cut_events,
                    "events after the last whole byte of a packet without both size fields",
                ),
                (&mut packets.cut_packets, "packets that end within a byte, without both size fields"),
            ] {
                let count = std::mem::take(count);
                self.config.lowered.record_losses(LossKind::Dropped, "", "", what, count);
            }
        }
        for (lane, packets) in self.lanes.iter_mut().enumerate() {
            let is_due = is_end || self.config.has(WriteRule::Live) || packets.out.len() >= BLOCK;
            if packets.open.is_some() || packets.encoded.is_empty() || !is_due {
                continue;
            }
            self.blocks.push(OutputBlock {
                stream: self.config.output.number,
                part: lane,
                bytes: packets.out.take(),
                packets: std::mem::take(&mut packets.encoded),
                events: std::mem::take(&mut packets.events),
                copied_packets: std::mem::take(&mut packets.copied_packets),
                data: None,
            });
        }
    }
}

impl Worker for StreamEncoder {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        match message {
            Message::Event(event) => {
                self.event(event)?;
                return Ok(self.flow());
            }
            Message::PacketBegin(packet) if self.config.frame.mirrors => {
                let packet = self.with_possible_times(packet);
                self.open_mirrored(&packet);
            }
            // Without size fields, a data stream is a single packet, which may lack all other fields.
            Message::PacketBegin(packet) => {
                let is_first = !std::mem::replace(&mut self.has_unwritten_packets, true);
                if !is_first || packet.begin.is_some() || packet.sequence_number.is_some() {
                    let what = "begin and end times of a packet without a context";
                    self.record_loss(LossKind::Dropped, "", "packet", what);
                }
            }
            Message::PacketEnd(packet) if self.config.frame.mirrors => {
                let range = self.possible_range(packet);
                self.close_mirrored(range);
            }
            Message::DiscardedEvents(discarded) => {
                self.count_loss(Role::DiscardedEventCounter, discarded);
                self.discarded_events(discarded);
                if let Some(digest) = &mut self.digest {
                    digest.add_discarded(discarded.count.unwrap_or(0));
                }
            }
            Message::DiscardedPackets(discarded) if self.config.frame.mirrors => {
                self.count_loss(Role::PacketSequenceNumber, discarded);
            }
            Message::DiscardedPackets(_) => {
                self.record_loss(LossKind::Dropped, "", "", "record of discarded packets");
            }
            Message::Damage(damage) => {
                // A copied packet after the damage also contains it.
                if let Some(digest) = &mut self.digest {
                    digest.add_damage();
                }
                // The reader reports the details.
                let kind = if damage.skipped > 0 { LossKind::Dropped } else { LossKind::Rounded };
                if !self.config.repairs() {
                    let what = format!("damaged data: {}", damage.kind);
                    self.record_loss(LossKind::Dropped, "", "", &what);
                    if let (LossKind::Rounded, Some(digest)) = (kind, &mut self.digest) {
                        // Wrong times and numbers stay in the output.
                        digest.add_damage();
                    }
                } else if kind == LossKind::Dropped {
                    self.repair.skipped(self.lanes[0].open.is_some());
                    self.record_loss(kind, "", "", "unreadable data");
                } else if matches!(damage.kind, DamageKind::UnknownMember { .. }) {
                    self.record_loss(LossKind::Dropped, "", "", &format!("damaged data: {}", damage.kind));
                }
            }
            _ => {}
        }
        self.collect(false);
        Ok(self.flow())
    }

    fn copy_packet(&mut self, packet: &Packet<'_>) -> io::Result<bool> {
        if !self.can_copy(packet) {
            return Ok(false);
        }
        let bytes = packet.scopes.bits.data;
        let changed = match self.header.replaced == RoleValues::default() {
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
        let times = match self.config.has(WriteRule::Index) {
            true => RecordedTimes::from_packet(packet, self.config.default_clock),
            false => RecordedTimes::default(),
        };
        packets.encoded.push(EncodedPacket {
            total: packet.total_length,
            content: packet.content_length,
            begin: times.begin,
            end: times.end,
            discarded: packet.discarded_counter.unwrap_or(0),
            sequence: packet.sequence_number.unwrap_or(u64::MAX),
        });
        packets.copied_packets += 1;
        self.has_copies = true;
        packets.has_packets = true;
        packets.end = packets.end.max(packet.end.map_or(0, |end| end.cycles));
        self.collect(false);
        Ok(true)
    }

    fn copied_message(&mut self, message: &Message<'_>) {
        if let Message::Event(event) = message {
            let Ok(Some(class)) = self.class(event) else { return };
            let (Some(digest), Some(Some(encoding))) = (&mut self.digest, self.classes.get(class)) else {
                return;
            };
            let cycles = event.clock.map(|clock| clock.cycles);
            let written = digest.event(&self.config, (class, encoding), event, cycles);
            return digest.add(written);
        }
        let Some(digest) = &mut self.digest else { return };
        match message {
            Message::PacketBegin(packet) => digest.begin_packet(&self.config, packet),
            Message::DiscardedEvents(discarded) => digest.add_discarded(discarded.count.unwrap_or(0)),
            Message::Damage(_) => digest.add_damage(),
            _ => {}
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.config.frame.mirrors {
            self.give_up_leading();
            for packets in &mut self.lanes {
                if let Some(open) = packets.open.as_ref().filter(|open| open.events > 0) {
                    let end = open.now;
                    packets.close_own(end);
                }
            }
        }
        self.collect(true);
        Ok(())
    }

    fn wants_survey(&self) -> bool {
        self.config.repairs() && self.config.frame.mirrors && self.config.default_clock.is_some()
    }

    fn survey(&mut self, message: &Message<'_>) {
        self.repair.times.add(message);
    }

    fn look_ahead(&mut self, next: Option<&Packet<'_>>) {
        self.repair.look_ahead(next);
    }

    fn take(&mut self) -> Option<OutputBlock> {
        (!self.blocks.is_empty()).then(|| self.blocks.remove(0))
    }

    fn finish(&mut self) -> io::Result<()> {
        let config = Arc::clone(&self.config);
        if config.frame.mirrors {
            self.close_without_end(&config);
        }
        for packets in &mut self.lanes {
            let end = packets.open.as_ref().map_or(0, |open| open.now);
            packets.close_own(end);
        }
        self.collect(true);
        let usage = Arc::clone(&self.config.usage);
        self.end_output(&usage);
        for (index, class) in self.classes.iter().enumerate() {
            let Some(class) = class else { continue };
            self.config.lowered.add_losses(&class.lowered, index, &class.losses);
            let name = class.lowered.class().name.as_deref().unwrap_or_default();
            for (what, count) in self.untimed.losses(index) {
                self.config.lowered.record_losses(LossKind::Rounded, name, "", what, count);
            }
        }
        self.config.lowered.add_packet_losses(self.config.stream.class_index, &self.packet_losses);
        Ok(())
    }
}
