//! Gets past event records, one after the other, and finds out what they are of and where they lie.

use ichnos_model::walk::{PacketBits, Position, walk_all};
use ichnos_model::{ClockValue, DamageKind, EventCounts, Skip};

use crate::event_class::Body;
use crate::event_header::DecodedHeader;
use crate::packet::EventVisitor;
use crate::rule::Rule;
use crate::stream::CtfCursor;

/// Where the scopes of an event record behind its header begin, and where it ends.
struct LaidOut {
    specific_context: Position,
    payload: Position,
    end: Position,
}

impl CtfCursor {
    /// Gets past one event record; false at the end of the packet, or if it is broken: then
    /// `broken` says how.
    #[inline(always)]
    pub(crate) fn next_event(&mut self) -> bool {
        let begin = self.at;
        if begin.bit >= self.end {
            // A packet without event record classes, or one whose data is all there.
            return false;
        }
        self.begins[2] = begin;
        let before = self.clocks.value();
        self.clock_before = before.unwrap_or_default();
        match self.quick_header(begin, self.clock_before) {
            Some(header) => self.event_behind(begin, header, before.is_some()),
            None => self.event_with_any_header(begin),
        }
    }

    /// Gets past an event record that begins at a position and has this header.
    #[inline(always)]
    fn event_behind(&mut self, begin: Position, header: DecodedHeader, has_clock: bool) -> bool {
        if has_clock {
            self.clocks.set_default(header.cycles);
        }
        let Some(body) = self.rules.records.by_id.get(header.id) else {
            return self.is_unknown(header.end, header.id.into());
        };
        self.event_class = body.class;
        if !self.rules.records.other_clocks.is_empty() {
            self.clocks.others(&self.rules.records.other_clocks, &mut self.other_clocks);
        }
        self.begins[3] = header.end;
        let Some(LaidOut { specific_context, payload, end }) = self.laid_out(body, header.end) else {
            return self.walked_event(begin, header.end, body.has_roles);
        };
        (self.begins[4], self.begins[5], self.at) = (specific_context, payload, end);
        self.is_past_event(begin, has_clock.then_some(header.cycles))
    }

    /// Gets past an event record whose header is not of the commonest kind.
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
        let cycles = self.clocks.value().unwrap_or_default();
        match u64::try_from(id) {
            Ok(id) => {
                let header = DecodedHeader { id, end, cycles };
                self.event_behind(begin, header, self.clocks.value().is_some())
            }
            Err(_) => self.event_with_wide_id(begin, id, end),
        }
    }

    /// Gets past an event record whose id, more than 64 bits, its header says, which ends at a position.
    #[cold]
    #[inline(never)]
    fn event_with_wide_id(&mut self, begin: Position, id: u128, end: Position) -> bool {
        let Some(Body { class, has_roles, .. }) = self.rules.records.by_wide_id.get(&id).copied() else {
            return self.is_unknown(end, id);
        };
        self.event_class = class;
        self.clocks.others(&self.rules.records.other_clocks, &mut self.other_clocks);
        self.walked_event(begin, end, has_roles)
    }

    /// Gets past an event record where the scopes behind the header, which ends at `at`, have to be walked over.
    #[inline(never)]
    fn walked_event(&mut self, begin: Position, at: Position, has_roles: bool) -> bool {
        self.at = at;
        let cycles = self.clocks.value();
        if !self.body(has_roles) {
            return false;
        }
        let in_common = self.rules.records.time_in_common;
        self.is_past_event(begin, if in_common { self.common_cycles } else { cycles })
    }

    /// Notes the time of an event record that was got past; false if it has no bits.
    #[inline(always)]
    fn is_past_event(&mut self, begin: Position, cycles: Option<u64>) -> bool {
        if self.at.bit == begin.bit {
            return self.is_broken(begin.bit, DamageKind::EmptyEventRecord);
        }
        self.event_clock = match (cycles, self.nanoseconds_at_zero) {
            (Some(cycles), Some(zero)) => Some(ClockValue { nanoseconds: zero + i128::from(cycles), cycles }),
            _ => self.input.clock_value(cycles),
        };
        true
    }

    /// See [`ichnos_model::Cursor::skip_events`]: gets past those that `report_event` would report at their own
    /// times, if there is no window.
    pub(crate) fn pass_plain_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        let before = self.clocks.value();
        let (mut at, mut now) = (self.at, before.unwrap_or_default());
        let mut last = self.last_event;
        let (mut passed, mut first) = (0, None);
        while passed < most && at.bit < self.end {
            let Some(header) = self.quick_header(at, now) else { break };
            let Some(body) = self.rules.records.by_id.get(header.id) else { break };
            let Some(LaidOut { end, .. }) = self.laid_out(body, header.end) else { break };
            let is_in_order = (last..=self.latest).contains(&header.cycles);
            if end.bit == at.bit || !is_in_order && before.is_some() {
                break;
            }
            counts.add_class(Some(body.class));
            if before.is_some() {
                last = header.cycles;
                first.get_or_insert(last);
            }
            (at, now) = (end, header.cycles);
            passed += 1;
        }
        self.at = at;
        self.last_event = last;
        self.clocks.set_default(now);
        for cycles in [first, first.map(|_| last)] {
            if let Some(value) = self.input.clock_value(cycles) {
                counts.add_time(value.nanoseconds);
            }
        }
        passed
    }

    /// Goes back to where a broken event record begins: what it says of the time may be as wrong as the
    /// rest.
    pub(crate) fn forget_event(&mut self) {
        self.at = self.begins[2];
        self.clocks.set_default(self.clock_before);
    }

    /// Notes how an event record is broken.
    #[cold]
    #[inline(never)]
    fn is_broken(&mut self, bit: u64, kind: DamageKind) -> bool {
        self.broken = Some(Box::new((bit, kind)));
        false
    }

    /// Notes that the event record whose header ends at a position is of no class.
    #[cold]
    #[inline(never)]
    fn is_unknown(&mut self, at: Position, id: u128) -> bool {
        self.at = at;
        let kind = self.rules.records.unknown(self.input.stream.class().id, id);
        self.is_broken(self.at.bit, kind)
    }

    /// What the event record header at a position says, if it is of the commonest kind; `now` is the value
    /// of the default clock before.
    #[inline(always)]
    fn quick_header(&self, begin: Position, now: u64) -> Option<DecodedHeader> {
        self.rules.records.little_header.as_ref()?.decode(&self.data, self.end, begin, &self.slots, now)
    }

    /// The id that an event record header says, of whatever kind it is, and where it ends. None if it
    /// is broken.
    fn any_header(&mut self, begin: Position) -> Option<(u128, Position)> {
        let bits = PacketBits { data: &self.data, content: self.content };
        let mut header = EventVisitor::new(&mut self.clocks);
        let limits = self.rules.limits;
        let plan = self.input.stream.plans().event_record_header.as_ref();
        let mut at = begin;
        let result = plan.map_or(Ok(()), |plan| plan.walk(bits, &mut at, &self.slots, limits, &mut header));
        let id = header.class_id.unwrap_or(self.rules.records.implied_id);
        let wide = header.wide_id;
        self.at = at;
        if let Err(error) = result {
            self.is_broken(error.bit, error.kind.into());
            return None;
        }
        if let Some((bits, bit)) = wide {
            self.is_broken(bit, Rule::WideId(bits).into());
            return None;
        }
        Some((id, at))
    }

    /// Where the scopes are that are behind the event record header which ends at a position, if they
    /// lie where they always do.
    #[inline(always)]
    fn laid_out(&self, body: &Body, at: Position) -> Option<LaidOut> {
        let layout = body.layout.as_ref()?;
        let after = |bits: u32| at.at_byte(at.bit + u64::from(bits));
        if !at.bit.is_multiple_of(8) || after(layout.size.unwrap_or(layout.payload)).bit > self.end {
            return None;
        }
        Some(LaidOut {
            specific_context: after(layout.specific_context),
            payload: after(layout.payload),
            end: match layout.size {
                Some(size) => after(size),
                None => at.at_byte(self.end_of_payload(body.class, after(layout.payload).bit)?),
            },
        })
    }

    /// The bit behind a payload of this class that begins at bit `begin`, if it is easily known.
    #[inline(never)]
    fn end_of_payload(&self, class: usize, begin: u64) -> Option<u64> {
        let plans = self.input.stream.plans().event_records.get(class)?;
        plans.payload.as_ref()?.end(self.bits().bytes(), begin, &self.slots)
    }

    /// Gets past the scopes behind an event record header; false if they are broken.
    #[inline(never)]
    fn body(&mut self, has_roles: bool) -> bool {
        if has_roles || self.rules.records.common_has_roles {
            return self.body_with_roles();
        }
        let bits = PacketBits { data: &self.data, content: self.content };
        let input = &*self.input;
        let plans = input.stream.plans();
        let Some(event_plans) = plans.event_records.get(self.event_class) else { return false };
        let scopes = [&plans.common_context, &event_plans.specific_context, &event_plans.payload];
        let begins = &mut self.begins;
        let result = walk_all(
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
            Err(error) => self.is_broken(error.bit, error.kind.into()),
        }
    }

    /// The same where fields bring clocks up to date.
    #[inline(never)]
    fn body_with_roles(&mut self) -> bool {
        let bits = PacketBits { data: &self.data, content: self.content };
        let input = &*self.input;
        let plans = input.stream.plans();
        let Some(event_plans) = plans.event_records.get(self.event_class) else { return false };
        let scopes = [&plans.common_context, &event_plans.specific_context, &event_plans.payload];
        let mut broken = None;
        for (scope, plan) in (3..).zip(scopes) {
            self.begins[scope] = self.at;
            let Some(plan) = plan else { continue };
            let mut visitor = EventVisitor::new(&mut self.clocks);
            if let Err(error) = plan.walk(bits, &mut self.at, &self.slots, self.rules.limits, &mut visitor) {
                broken = Some(error);
                break;
            }
            if scope == 3 && self.rules.records.time_in_common {
                self.common_cycles = self.clocks.value();
                self.clocks.others(&self.rules.records.other_clocks, &mut self.other_clocks);
            }
        }
        broken.is_none_or(|error| self.is_broken(error.bit, error.kind.into()))
    }
}
