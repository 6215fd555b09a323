//! Gets past event records, one after the other, and finds out what they are of and where they lie.

use ichnos_model::walk::{PacketBits, Position, walk_all};
use ichnos_model::{ClockValue, DamageKind, Skip};

use crate::packet::EventVisitor;
use crate::stream::StreamCursor;

impl StreamCursor {
    /// Gets past one event record; false at the end of the packet, or if it is broken: then
    /// `broken` says how.
    #[inline(always)]
    pub(crate) fn next_event(&mut self) -> bool {
        let begin = self.at;
        if begin.bit >= self.end {
            // A packet without event record classes, or one whose data is all there.
            return false;
        }
        if let Some(now) = self.clocks.value() {
            self.clock_before = Some(now);
        }
        self.begins[2] = begin;
        let Some((id, at)) = self.header(begin) else { return false };
        let Some(class) = self.records.by_id.get(id) else {
            self.at = at;
            let kind = self.records.unknown(self.input.stream.class().id, id);
            return self.is_broken(at.bit, kind);
        };
        self.event_class = class;
        let mut cycles = self.clocks.value();
        if self.records.has_other_clocks {
            self.clocks.others(&mut self.other_clocks);
        }
        self.begins[3] = at;
        match self.end_of_laid_out(at) {
            Some(end) => self.at = end,
            None => {
                self.at = at;
                if !self.body() {
                    return false;
                }
                if self.records.time_in_common {
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
        self.broken = Some(Box::new((bit, kind)));
        false
    }

    /// The id of the class that an event record header says, and where the header ends. None if it is
    /// broken.
    #[inline(always)]
    fn header(&mut self, begin: Position) -> Option<(u64, Position)> {
        match self.quick_header::<false>(begin) {
            None => self.other_header(begin),
            found => found,
        }
    }

    /// The same where the header is not of the commonest kind.
    #[inline(never)]
    fn other_header(&mut self, begin: Position) -> Option<(u64, Position)> {
        self.quick_header::<true>(begin).or_else(|| self.any_header(begin))
    }

    /// The same if it is of a shape that need not be walked over, and of this byte order.
    #[inline(always)]
    fn quick_header<const BIG: bool>(&mut self, begin: Position) -> Option<(u64, Position)> {
        let header = self.records.header.as_ref()?;
        let (id, at) = header.decode::<BIG>(&self.data, self.end, begin, &self.slots, &mut self.clocks)?;
        Some((id.unwrap_or(self.records.implied_id), at))
    }

    fn any_header(&mut self, begin: Position) -> Option<(u64, Position)> {
        let bits = PacketBits { data: &self.data, content: self.content };
        let mut header = EventVisitor { clocks: &mut self.clocks, class_id: None };
        let limits = self.input.limits;
        let plan = self.input.stream.plans().event_record_header.as_ref();
        let mut at = begin;
        let result = plan.map_or(Ok(()), |plan| plan.walk(bits, &mut at, &self.slots, limits, &mut header));
        let id = header.class_id;
        self.at = at;
        if let Err(error) = result {
            self.is_broken(error.bit, error.kind.into());
            return None;
        }
        Some((id.unwrap_or(self.records.implied_id), at))
    }

    /// Where the scopes end that are behind the event record header which ends at a position, if they lie
    /// where they always do.
    #[inline(always)]
    fn end_of_laid_out(&mut self, at: Position) -> Option<Position> {
        let layout = self.records.bodies.get(self.event_class)?.layout.as_ref()?;
        let left = self.end.saturating_sub(at.bit);
        if !at.bit.is_multiple_of(8) || layout.size.unwrap_or(layout.payload) > left {
            return None;
        }
        let after = |bits: u64| at.at_byte(at.bit + bits);
        self.begins[4] = after(layout.specific_context);
        self.begins[5] = after(layout.payload);
        match layout.size {
            Some(size) => Some(after(size)),
            None => Some(at.at_byte(self.end_of_payload(at.bit + layout.payload)?)),
        }
    }

    /// The bit behind a payload that begins at bit `begin`, if it is easily told.
    #[inline(never)]
    fn end_of_payload(&self, begin: u64) -> Option<u64> {
        let plans = self.input.stream.plans().event_records.get(self.event_class)?;
        plans.payload.as_ref()?.end(self.bits().bytes(), begin, &self.slots)
    }

    /// Gets past the scopes behind an event record header; false if they are broken.
    #[inline(never)]
    fn body(&mut self) -> bool {
        let has_roles = self.records.bodies.get(self.event_class).is_some_and(|body| body.has_roles);
        if has_roles || self.records.common_has_roles {
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
            input.limits,
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
            let mut visitor = EventVisitor { clocks: &mut self.clocks, class_id: None };
            if let Err(error) = plan.walk(bits, &mut self.at, &self.slots, input.limits, &mut visitor) {
                broken = Some(error);
                break;
            }
            if scope == 3 && self.records.time_in_common {
                self.common_cycles = self.clocks.value();
                self.clocks.others(&mut self.other_clocks);
            }
        }
        broken.is_none_or(|error| self.is_broken(error.bit, error.kind.into()))
    }
}
