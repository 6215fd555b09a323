//! Scanner for event records: finds each record's class, time and location.

mod ahead;

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::sync::Arc;

use ichnos_io::Bytes;
use ichnos_model::clock::ClockValue;
use ichnos_model::cursor::ExcludedClasses;
use ichnos_model::decode::{PacketBits, Position, Slots, UNKNOWN, decode_all};
use ichnos_model::event::{EventCounts, Scopes};
use ichnos_model::field::Skip;
use ichnos_model::message::DamageKind;
use ichnos_model::{DataStream, Event, Window};

use crate::event_class::RecordBody;
use crate::event_header::DecodedHeader;
use crate::event_order::EventOrder;
use crate::overwritten::{SMALLEST, uniform_from};
use crate::packet::{Clocks, EventVisitor};
use crate::packet_reader::{PacketContent, ReadableRange};
use crate::rule::Rule;
use crate::stream_input::StreamRules;

/// Scans event records, packet by packet.
#[derive(Clone, Debug)]
pub(crate) struct EventScanner {
    stream: Arc<DataStream>,
    rules: Arc<StreamRules>,
    /// Available packet bytes.
    data: Bytes,
    /// End of the packet's content in bits.
    content: u64,
    /// Saved values that other fields depend on.
    slots: Vec<Cell<i128>>,
    pub(crate) clocks: Clocks,
    other_clocks: Vec<(u16, u64)>,
    /// Position of the next event record.
    at: Position,
    /// Bit at which scanning stops: the end of the packet's content or data, or the next check that the file still has
    /// its bytes. 0 outside packets.
    end: u64,
    /// Scope positions for the packet and for the last scanned event record.
    begins: [Position; 6],
    /// Bit and damage of the event record at `begins[2]`.
    broken: Option<Box<(u64, DamageKind)>>,
    event_class: usize,
    event_clock: Option<ClockValue>,
    /// Default clock value after the common context.
    common_cycles: Option<u64>,
    /// Default clock value before the event record, or 0 without a default clock.
    clock_before: u64,
    /// Time in nanoseconds at value 0 of a 1 GHz default clock. Most clocks have 1 GHz, and then times need only an
    /// addition.
    nanoseconds_at_zero: Option<i128>,
    /// Start of the scannable range, and the default clock value there.
    range_begin: Option<(Position, u64)>,
    /// Byte from which the rest of the content is all 0 or all 0xff, if already searched.
    uniform_from: Option<usize>,
    pub(crate) order: EventOrder,
}

/// Scope positions after an event record header, and the record's end.
struct EventLayout {
    specific_context: Position,
    payload: Position,
    end: Position,
}

impl EventScanner {
    /// Creates a scanner outside packets for a data stream.
    pub(crate) fn new(stream: &Arc<DataStream>, rules: &Arc<StreamRules>) -> Self {
        let clock = stream.clock().filter(|clock| clock.frequency == 1_000_000_000);
        Self {
            slots: vec![Cell::new(UNKNOWN); stream.plans().slots],
            clocks: Clocks::for_trace(&stream.trace.class),
            nanoseconds_at_zero: clock.map(|clock| clock.nanoseconds(0)),
            order: EventOrder::new(rules.most_cycles),
            stream: Arc::clone(stream),
            rules: Arc::clone(rules),
            data: Bytes::default(),
            content: 0,
            other_clocks: Vec::new(),
            at: Position::default(),
            end: 0,
            begins: [Position::default(); 6],
            broken: None,
            event_class: 0,
            event_clock: None,
            common_cycles: None,
            clock_before: 0,
            range_begin: None,
            uniform_from: None,
        }
    }

    /// Returns the state for decoding packet headers and contexts.
    pub(crate) fn decode_state(&mut self) -> (&Slots, &mut Clocks) {
        (&self.slots, &mut self.clocks)
    }

    /// Enters an opened packet. [`Self::scan_up_to`] must be called before scanning.
    pub(crate) fn enter_packet(&mut self, content: PacketContent) {
        let PacketContent { data, end, begins: [header, context, first_event] } = content;
        (self.data, self.content, self.at, self.end) = (data, end, first_event, 0);
        (self.begins[0], self.begins[1]) = (header, context);
        (self.broken, self.range_begin, self.uniform_from) = (None, None, None);
    }

    /// Leaves the packet.
    pub(crate) fn leave_packet(&mut self) {
        self.end = 0;
    }

    /// Extends the scannable range, and removes lost bytes from the packet.
    pub(crate) fn scan_up_to(&mut self, readable: ReadableRange) {
        if let Some(from) = readable.lost_from {
            self.data = self.data.slice(0..usize::try_from(from / 8).unwrap_or(usize::MAX));
            self.uniform_from = None;
        }
        self.range_begin = Some((self.at, self.clock_cycles()));
        self.end = readable.end.min(self.content_end());
    }

    /// Makes the whole packet scannable, without checks for lost bytes.
    pub(crate) fn scan_to_end(&mut self) {
        self.end = self.content_end();
    }

    /// Returns the default clock value in cycles. Without a default clock it is 0, which is harmless because such
    /// events have no time.
    fn clock_cycles(&self) -> u64 {
        self.clocks.value().unwrap_or(0)
    }

    /// Returns `true` if the packet continues after the scannable range.
    pub(crate) fn has_more(&self) -> bool {
        self.end < self.content_end()
    }

    /// Returns the bit where the packet's content ends, or its data if it is shorter.
    pub(crate) fn content_end(&self) -> u64 {
        self.bits().end()
    }

    /// Returns the number of available packet bits.
    pub(crate) fn data_bits(&self) -> u64 {
        self.data.len() as u64 * 8
    }

    fn bits(&self) -> PacketBits<'_> {
        PacketBits { data: &self.data, content: self.content }
    }

    /// Returns the position of the next event record.
    pub(crate) fn at(&self) -> Position {
        self.at
    }

    /// Moves to a bit of the packet, and sets the default clock to `cycles`.
    pub(crate) fn go_to(&mut self, bit: u64, cycles: u64) {
        self.at = Position::at(bit);
        self.clocks.set_default(cycles);
    }

    /// Returns the first bit of the scannable range, and the default clock value there.
    pub(crate) fn range_begin(&self) -> Option<(u64, u64)> {
        self.range_begin.map(|(at, cycles)| (at.bit, cycles))
    }

    /// Restores the first bit of the scannable range and its clock value when scanning resumes.
    pub(crate) fn set_range_begin(&mut self, (bit, cycles): (u64, u64)) {
        self.range_begin = Some((Position::at(bit), cycles));
    }

    /// Returns the position of the last scanned event record.
    pub(crate) fn event_begin(&self) -> Position {
        self.begins[2]
    }

    /// Default clock value before the last scanned event record, or 0 without a default clock.
    pub(crate) fn clock_before(&self) -> u64 {
        self.clock_before
    }

    /// Class index of the last scanned event record.
    #[inline(always)]
    pub(crate) fn event_class(&self) -> usize {
        self.event_class
    }

    /// Time of the last scanned event record.
    #[inline(always)]
    pub(crate) fn event_clock(&self) -> Option<ClockValue> {
        self.event_clock
    }

    /// Returns `true` if the data stream has clocks other than the default clock.
    pub(crate) fn has_other_clocks(&self) -> bool {
        !self.rules.records.other_clocks.is_empty()
    }

    /// Returns the last scanned event record.
    #[inline]
    pub(crate) fn event(&self) -> Event<'_> {
        let stream = &*self.stream;
        let plans = &stream.plans().event_records[self.event_class];
        let scopes = self.scopes().with_end(self.at.bit);
        let event = Event::new(stream, plans, self.event_clock.as_ref(), scopes);
        event.with_other_clocks(&self.other_clocks)
    }

    /// Returns the scopes of the packet and the last scanned event record.
    pub(crate) fn scopes(&self) -> Scopes<'_> {
        Scopes::new(self.bits(), &self.begins, &self.slots, &self.rules.limits)
    }

    /// Prefetches the current event record and its successor, which is read right afterwards.
    pub(crate) fn prefetch(&self) {
        let (begin, end) = ((self.begins[2].bit / 8) as usize, (self.at.bit / 8) as usize);
        for at in [begin, begin + 64, end, end + 64, end + 128] {
            self.data.prefetch(at);
        }
    }

    fn clock_value(&self, cycles: Option<u64>) -> Option<ClockValue> {
        self.rules.clock_value(self.stream.clock(), cycles)
    }

    /// Returns the default clock value after the next event record's header.
    pub(crate) fn next_time(&self) -> Option<u64> {
        self.next_time_after(self.clocks.value()?)
    }

    /// Returns the default clock value after the next event record's header, if the clock is `now` before it.
    fn next_time_after(&self, now: u64) -> Option<u64> {
        let plan = self.stream.plans().event_record_header.as_ref()?;
        let mut at = self.at;
        if at.bit >= self.content_end() {
            return None;
        }
        let mut clocks = self.clocks.clone();
        clocks.set_default(now);
        let mut header = EventVisitor::new(&mut clocks);
        plan.decode(self.bits(), &mut at, &self.slots, self.rules.limits, &mut header).ok()?;
        clocks.value()
    }

    /// Returns how many clock values the next event record's timestamp can distinguish. `None`: the timestamp records
    /// the full clock value.
    fn reach(&self) -> Option<u64> {
        let low = self.next_time_after(0)?;
        self.next_time_after(low.checked_add(1)?)?.checked_sub(low).filter(|reach| *reach > 0)
    }

    /// Returns `true` if the next event record is broken.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Marks the next event record as broken from its first bit on, because its bytes were overwritten.
    pub(crate) fn break_here(&mut self, kind: DamageKind) {
        self.begins[2] = self.at;
        self.clock_before = self.clock_cycles();
        self.end = self.at.bit;
        self.record_broken(self.at.bit, kind);
    }

    /// Marks the last scanned event record as broken.
    pub(crate) fn break_last(&mut self, kind: DamageKind) {
        self.at = self.begins[2];
        self.clocks.set_default(self.clock_before);
        self.break_here(kind);
    }

    /// Returns `true` if the content from the last scanned event record on is all 0 or all 0xff, and long enough to
    /// prove something.
    #[cold]
    pub(crate) fn is_uniform_from_last(&mut self) -> bool {
        let (begin, end) = ((self.begins[2].bit / 8) as usize, self.content_end().div_ceil(8) as usize);
        // The content of a scanned packet is within the data.
        let content = self.data.get(..end).unwrap_or_default();
        let from = *self.uniform_from.get_or_insert_with(|| uniform_from(content));
        begin >= from && end.saturating_sub(begin) >= SMALLEST
    }

    /// Returns the damage of the next event record and its bit, if it is broken. Moves back to the start of this
    /// record, because its time may be as wrong as the rest.
    pub(crate) fn take_broken(&mut self) -> Option<(u64, DamageKind)> {
        let broken = self.broken.take()?;
        self.at = self.begins[2];
        self.clocks.set_default(self.clock_before);
        Some(*broken)
    }

    /// Scans the next event record. Returns `false` at the end of the scannable range, or if the event record is
    /// broken. In that case [`Self::take_broken`] returns the damage.
    #[inline(always)]
    pub(crate) fn next_event(&mut self) -> bool {
        let begin = self.at;
        if begin.bit >= self.end {
            // The packet has no event record classes, or its data is complete.
            return false;
        }
        self.begins[2] = begin;
        let before = self.clocks.value();
        self.clock_before = before.unwrap_or(0);
        match self.quick_header(begin, self.clock_before) {
            Some(header) => self.event_behind(begin, header, before.is_some()),
            None => self.event_with_any_header(begin),
        }
    }

    /// Scans an event record that begins at a position and has this header.
    #[inline(always)]
    fn event_behind(&mut self, begin: Position, header: DecodedHeader, has_clock: bool) -> bool {
        if has_clock {
            self.clocks.set_default(header.cycles);
        }
        let Some(body) = self.rules.records.by_id.get(header.id) else {
            return self.record_unknown(header.end, header.id.into());
        };
        self.event_class = body.class;
        if !self.rules.records.other_clocks.is_empty() {
            self.clocks.others(&self.rules.records.other_clocks, &mut self.other_clocks);
        }
        self.begins[3] = header.end;
        let Some(EventLayout { specific_context, payload, end }) = self.layout(body, header.end) else {
            return self.decoded_event(begin, header.end, body.has_roles);
        };
        (self.begins[4], self.begins[5], self.at) = (specific_context, payload, end);
        self.record_event(begin, has_clock.then_some(header.cycles))
    }

    /// Scans an event record with an uncommon header.
    #[inline(never)]
    fn event_with_any_header(&mut self, begin: Position) -> bool {
        let header =
            self.rules.records.big_header.as_ref().and_then(|header| {
                header.decode(&self.data, self.end, begin, &self.slots, self.clock_before)
            });
        if let Some(header) = header {
            return self.event_behind(begin, header, self.clocks.value().is_some());
        }
        let Some((id, end)) = self.any_header(begin) else { return false };
        let cycles = self.clock_cycles();
        match u64::try_from(id) {
            Ok(id) => {
                let header = DecodedHeader { id, end, cycles };
                self.event_behind(begin, header, self.clocks.value().is_some())
            }
            Err(_) => self.event_with_wide_id(begin, id, end),
        }
    }

    /// Scans an event record with an id above 64 bits. Its header ends at `end`.
    #[cold]
    #[inline(never)]
    fn event_with_wide_id(&mut self, begin: Position, id: u128, end: Position) -> bool {
        let Some(RecordBody { class, has_roles, .. }) = self.rules.records.by_wide_id.get(&id).copied()
        else {
            return self.record_unknown(end, id);
        };
        self.event_class = class;
        self.clocks.others(&self.rules.records.other_clocks, &mut self.other_clocks);
        self.decoded_event(begin, end, has_roles)
    }

    /// Scans an event record by decoding its scopes after the header, which ends at `at`.
    #[inline(never)]
    fn decoded_event(&mut self, begin: Position, at: Position, has_roles: bool) -> bool {
        self.at = at;
        let cycles = self.clocks.value();
        if !self.body(has_roles) {
            return false;
        }
        let in_common = self.rules.records.time_in_common;
        self.record_event(begin, if in_common { self.common_cycles } else { cycles })
    }

    /// Records the time of a scanned event record. Returns `false` if the event record has a size of 0 bits.
    #[inline(always)]
    fn record_event(&mut self, begin: Position, cycles: Option<u64>) -> bool {
        if self.at.bit == begin.bit {
            return self.record_broken(begin.bit, DamageKind::EmptyEventRecord);
        }
        self.event_clock = match (cycles, self.nanoseconds_at_zero) {
            (Some(cycles), Some(zero)) => Some(ClockValue { nanoseconds: zero + i128::from(cycles), cycles }),
            _ => self.clock_value(cycles),
        };
        true
    }

    /// Skips and counts event records that are in order, if all times are selected. See
    /// [`ichnos_model::Cursor::skip_events`].
    pub(crate) fn skip_plain_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        let skipped = Cell::new(0);
        let mut first = None;
        self.skip_while(
            |_, _| skipped.get() < most,
            |class, cycles| {
                counts.add_class(Some(class));
                if skipped.get() == 0 {
                    first = cycles;
                }
                skipped.set(skipped.get() + 1);
            },
        );
        let skipped = skipped.get();
        for cycles in [first, first.map(|_| self.order.last)] {
            if let Some(value) = self.clock_value(cycles) {
                counts.add_time(value.nanoseconds);
            }
        }
        skipped
    }

    /// Skips event records that are in order, and appends their times. See [`ichnos_model::Cursor::skip_times`].
    pub(crate) fn skip_times(&mut self, most: u32, times: &mut Vec<i64>) {
        let stream = Arc::clone(&self.stream);
        let Some(clock) = stream.clock() else { return };
        match self.nanoseconds_at_zero {
            Some(zero) => self.skip_times_by(most, times, |cycles| zero + i128::from(cycles)),
            None => {
                let arithmetic = self.rules.clock_arithmetic;
                self.skip_times_by(most, times, |cycles| clock.nanoseconds_in(arithmetic, cycles));
            }
        }
    }

    /// Skips event records as [`Self::skip_times`] does, with the conversion of clock values to nanoseconds.
    #[inline(always)]
    fn skip_times_by(&mut self, most: u32, times: &mut Vec<i64>, nanoseconds: impl Fn(u64) -> i128) {
        let left = Cell::new(most);
        let time = Cell::new(0);
        self.skip_while(
            |_, cycles| {
                let next = cycles.and_then(|cycles| i64::try_from(nanoseconds(cycles)).ok());
                next.is_some_and(|next| {
                    time.set(next);
                    left.get() > 0
                })
            },
            |_, _| {
                times.push(time.get());
                left.set(left.get() - 1);
            },
        );
    }

    /// Skips event records with these classes, up to the first other record. Stops at records that are out of order or
    /// whose default clock value is outside the range.
    #[inline(never)]
    pub(crate) fn skip_excluded(&mut self, classes: &ExcludedClasses, times: &RangeInclusive<u64>) {
        self.skip_while(
            |class, cycles| classes.has(class) && cycles.is_none_or(|cycles| times.contains(&cycles)),
            |_, _| {},
        );
    }

    /// Skips event records with a common header that are in order, while `wants` accepts class and time.
    #[inline(always)]
    fn skip_while(
        &mut self,
        wants: impl Fn(usize, Option<u64>) -> bool,
        mut note: impl FnMut(usize, Option<u64>),
    ) {
        let before = self.clocks.value();
        let (mut at, mut now) = (self.at, before.unwrap_or(0));
        let mut last = self.order.last;
        while at.bit < self.end {
            let Some(header) = self.quick_header(at, now) else { break };
            let Some(body) = self.rules.records.by_id.get(header.id) else { break };
            let cycles = before.map(|_| header.cycles);
            if !wants(body.class, cycles) {
                break;
            }
            let Some(EventLayout { end, .. }) = self.layout(body, header.end) else { break };
            let is_in_order = self.order.allows_after(last, header.cycles);
            if end.bit == at.bit || !is_in_order && before.is_some() {
                break;
            }
            note(body.class, cycles);
            last = cycles.unwrap_or(last);
            (at, now) = (end, header.cycles);
        }
        self.at = at;
        self.order.last = last;
        self.clocks.set_default(now);
    }

    /// Returns the default clock values inside a window. `None` if comparing clock values is not enough.
    pub(crate) fn range_of(&self, window: Window) -> Option<RangeInclusive<u64>> {
        let Window { begin, end } = window;
        let is_in_all = begin.is_none() && end.is_none() || self.stream.clock().is_none();
        if is_in_all {
            return Some(0..=u64::MAX);
        }
        let zero = self.nanoseconds_at_zero?;
        let cycles = |time: i128| time.saturating_sub(zero).clamp(0, u64::MAX.into()) as u64;
        Some(begin.map_or(0, cycles)..=end.map_or(u64::MAX, cycles))
    }

    /// Records the damage of a broken event record.
    #[cold]
    #[inline(never)]
    fn record_broken(&mut self, bit: u64, kind: DamageKind) -> bool {
        self.broken = Some(Box::new((bit, kind)));
        false
    }

    /// Records an event record with an unknown class, whose header ends at a position.
    #[cold]
    #[inline(never)]
    fn record_unknown(&mut self, at: Position, id: u128) -> bool {
        self.at = at;
        let kind = self.rules.records.unknown(self.stream.class().id, id);
        self.record_broken(self.at.bit, kind)
    }

    /// Decodes a common event record header. `now` is the default clock value before it.
    #[inline(always)]
    fn quick_header(&self, begin: Position, now: u64) -> Option<DecodedHeader> {
        self.rules.records.little_header.as_ref()?.decode(&self.data, self.end, begin, &self.slots, now)
    }

    /// Decodes any event record header. Returns its id and its end, or `None` if it is broken.
    fn any_header(&mut self, begin: Position) -> Option<(u128, Position)> {
        let bits = PacketBits { data: &self.data, content: self.content };
        let mut header = EventVisitor::new(&mut self.clocks);
        let limits = self.rules.limits;
        let plan = self.stream.plans().event_record_header.as_ref();
        let mut at = begin;
        let result = plan.map_or(Ok(()), |plan| plan.decode(bits, &mut at, &self.slots, limits, &mut header));
        let id = header.class_id.unwrap_or(self.rules.records.implied_id);
        let wide = header.wide_id;
        self.at = at;
        if let Err(error) = result {
            self.record_broken(error.bit, error.kind.into());
            return None;
        }
        if let Some((bits, bit)) = wide {
            self.record_broken(bit, Rule::WideId(bits).into());
            return None;
        }
        Some((id, at))
    }

    /// Returns the scope positions after an event record header, if their layout is fixed.
    #[inline(always)]
    fn layout(&self, body: &RecordBody, at: Position) -> Option<EventLayout> {
        let layout = body.layout.as_ref()?;
        let after = |bits: u32| at.at_byte(at.bit + u64::from(bits));
        if !at.bit.is_multiple_of(8) || after(layout.size.unwrap_or(layout.payload)).bit > self.end {
            return None;
        }
        Some(EventLayout {
            specific_context: after(layout.specific_context),
            payload: after(layout.payload),
            end: match layout.size {
                Some(size) => after(size),
                None => at.at_byte(self.end_of_payload(body.class, after(layout.payload).bit)?),
            },
        })
    }

    /// Returns the bit after a payload that begins at bit `begin`, if the class alone determines it.
    #[inline(never)]
    fn end_of_payload(&self, class: usize, begin: u64) -> Option<u64> {
        let plans = self.stream.plans().event_records.get(class)?;
        plans.payload.as_ref()?.end(self.bits().bytes(), begin, &self.slots)
    }

    /// Scans the scopes after an event record header. Returns `false` if they are broken.
    #[inline(never)]
    fn body(&mut self, has_roles: bool) -> bool {
        if has_roles || self.rules.records.common_has_roles {
            return self.body_with_roles();
        }
        let bits = PacketBits { data: &self.data, content: self.content };
        let plans = self.stream.plans();
        let Some(event_plans) = plans.event_records.get(self.event_class) else { return false };
        let scopes = [&plans.common_context, &event_plans.specific_context, &event_plans.payload];
        let begins = &mut self.begins;
        let result = decode_all(
            scopes.map(Option::as_ref),
            bits,
            &mut self.at,
            &self.slots,
            self.rules.limits,
            &mut Skip,
            |scope, at| begins[3 + scope] = at,
        );
        match result {
            Ok(()) => true,
            Err(error) => self.record_broken(error.bit, error.kind.into()),
        }
    }

    /// Scans the scopes after a header, if their fields update clocks.
    #[inline(never)]
    fn body_with_roles(&mut self) -> bool {
        let bits = PacketBits { data: &self.data, content: self.content };
        let plans = self.stream.plans();
        let Some(event_plans) = plans.event_records.get(self.event_class) else { return false };
        let scopes = [&plans.common_context, &event_plans.specific_context, &event_plans.payload];
        let mut broken = None;
        for (scope, plan) in (3..).zip(scopes) {
            self.begins[scope] = self.at;
            let Some(plan) = plan else { continue };
            let mut visitor = EventVisitor::new(&mut self.clocks);
            if let Err(error) = plan.decode(bits, &mut self.at, &self.slots, self.rules.limits, &mut visitor)
            {
                broken = Some(error);
                break;
            }
            if scope == 3 && self.rules.records.time_in_common {
                self.common_cycles = self.clocks.value();
                self.clocks.others(&self.rules.records.other_clocks, &mut self.other_clocks);
            }
        }
        broken.is_none_or(|error| self.record_broken(error.bit, error.kind.into()))
    }
}

#[cfg(test)]
mod tests {
    use ichnos_model::decode::DecodeErrorKind;

    use super::*;
    use crate::test_stream::{HEAD, PacketFields, packet, stream};

    /// Creates a scanner in a packet with these event records and `zeros` padding bytes. The clock is 5 after the
    /// context. The plan decodes headers near the end of the data.
    fn scanner(events: &[u8], zeros: usize) -> EventScanner {
        let input = stream(packet(PacketFields { begin: 5, end: 99, sequence: 0, discarded: 0 }, &[]));
        let mut scanner = EventScanner::new(&input.stream, &input.rules);
        scanner.clocks.choose_default(Some(0));
        scanner.clocks.set_default(5);
        let data = [&[0; HEAD], events, &vec![0; zeros]].concat();
        let end = 8 * (HEAD + events.len()) as u64;
        let begins = [0, 8, 8 * HEAD as u64].map(Position::at);
        assert!(!scanner.next_event() && !scanner.has_more());
        scanner.enter_packet(PacketContent { data: data.into(), end, begins });
        assert!(!scanner.next_event() && scanner.has_more());
        scanner.scan_up_to(ReadableRange { end, lost_from: None });
        scanner
    }

    /// Class, time, and byte positions of the event record and its successor, relative to the end of the packet
    /// context.
    fn scanned(scanner: &mut EventScanner) -> Option<(usize, i128, usize, usize)> {
        let has_event = scanner.next_event();
        let byte = |at: Position| (at.bit / 8) as usize - HEAD;
        has_event.then(|| {
            let time = scanner.event_clock().unwrap().nanoseconds;
            (scanner.event_class(), time, byte(scanner.event_begin()), byte(scanner.at()))
        })
    }

    const EVENTS: [u8; 14] = [0, 6, 42, 1, 7, 2, b'a', b'b', b'c', 0, 0, 8, 43, 0];

    #[test]
    fn events_follow_each_other() {
        for zeros in [0, 100] {
            let mut scanner = scanner(&EVENTS[..13], zeros);
            assert_eq!(scanned(&mut scanner), Some((0, 6, 0, 3)));
            assert_eq!(scanner.clock_before(), 5);
            assert_eq!(scanned(&mut scanner), Some((1, 7, 3, 10)));
            let event = scanner.event();
            assert_eq!(event.class.name.as_deref(), Some("text"));
            assert_eq!(scanned(&mut scanner), Some((0, 8, 10, 13)));
            assert_eq!(scanned(&mut scanner), None);
            assert!(!scanner.is_broken() && !scanner.has_more());
            scanner.leave_packet();
            assert!(!scanner.next_event());
        }
    }

    #[test]
    fn broken_events_are_as_if_they_were_not_scanned() {
        for zeros in [0, 100] {
            // Only one header byte is left.
            let mut scanner = scanner(&EVENTS, zeros);
            assert_eq!((0..3).filter(|_| scanner.next_event()).count(), 3);
            let (at, clock) = (scanner.at(), scanner.clocks.value());
            assert!(!scanner.next_event() && scanner.is_broken());
            let (bit, kind) = scanner.take_broken().unwrap();
            assert_eq!(bit, 8 * (HEAD as u64 + 14));
            assert!(matches!(kind, DamageKind::Field(DecodeErrorKind::BeyondContent { .. })), "{kind:?}");
            assert_eq!((scanner.at(), scanner.clocks.value()), (at, clock));
            assert!(!scanner.is_broken() && scanner.take_broken().is_none());
            // Damage in a packet does not affect the next packet.
            scanner.break_here(DamageKind::EmptyEventRecord);
            let begins = [0, 8, 8 * HEAD as u64].map(Position::at);
            scanner.enter_packet(PacketContent { data: scanner.data.clone(), end: scanner.content, begins });
            assert!(!scanner.is_broken());
        }
    }

    #[test]
    fn an_unknown_class_breaks_an_event() {
        for zeros in [0, 100] {
            let mut scanner = scanner(&[9, 6, 42], zeros);
            assert!(!scanner.next_event());
            let unknown = Rule::EventRecordClass { data_stream_class: 0, id: 9 }.into();
            assert_eq!(scanner.take_broken(), Some((8 * (HEAD as u64 + 2), unknown)));
            assert_eq!(scanner.clocks.value(), Some(5));
        }
    }

    #[test]
    fn scanning_stops_where_it_has_to_be_looked_again() {
        let mut scanner = scanner(&EVENTS[..13], 0);
        let here = scanner.at().bit;
        scanner.scan_up_to(ReadableRange { end: here + 8, lost_from: None });
        assert!(scanner.next_event() && !scanner.next_event() && scanner.has_more());
        // Nothing is available after a lost byte.
        scanner.scan_up_to(ReadableRange { end: u64::MAX, lost_from: Some(here + 8 * 10) });
        assert!(scanner.next_event() && !scanner.next_event() && !scanner.has_more());
        assert_eq!(scanner.data_bits(), here + 8 * 10);
    }

    #[test]
    fn plain_events_are_skipped_and_counted() {
        // The fourth event is earlier than the third.
        let mut scanner = scanner(&[&EVENTS[..13], &[0, 7, 44]].concat(), 100);
        let mut counts = EventCounts::default();
        assert_eq!(scanner.skip_plain_events(2, &mut counts), 2);
        assert_eq!((scanner.order.last, scanner.clocks.value()), (7, Some(7)));
        // An 8-bit clock that gets smaller has wrapped.
        scanner.order.in_packet(Some(99), false);
        assert_eq!(scanner.skip_plain_events(9, &mut counts), 1);
        assert_eq!(scanner.order.last, 8);
        assert_eq!(scanned(&mut scanner), Some((0, 256 + 7, 13, 16)));
        assert!(!scanner.order.allows(256 + 7));
    }
}
