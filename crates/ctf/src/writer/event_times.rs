//! Timestamps in an event record with several timestamps.

use ichnos_model::class::{FieldKind, Role};
use ichnos_model::field::{Field, Wide};
use ichnos_model::{Event, Scope, Visitor};

use super::role_values::is_of_other_clock;
use crate::packet::update_clock;

/// Default clock values in an event record, in order. Each timestamp field advances the clock, and the last field sets
/// it to the event time.
#[derive(Debug, Default)]
pub(super) struct EventTimestamps {
    /// Value and bits of each written field.
    fields: Vec<(u64, u64)>,
    /// Clock value after each field.
    pub(super) clocks: Vec<u64>,
}

impl EventTimestamps {
    /// Reads an event's timestamps at a time. `writes_whole`: fields with room for the full time get the full time.
    pub(super) fn read(
        &mut self,
        event: &Event<'_>,
        scope: Scope,
        default_clock: Option<u16>,
        cycles: u64,
        writes_whole: bool,
    ) {
        self.clear();
        let mut collector = TimeCollector { fields: &mut self.fields, default_clock, writes_whole };
        // A delivered event can be visited.
        let _ = event.visit(scope, &mut collector);
        self.clocks.resize(self.fields.len(), cycles);
        // The previous event can be later than in the source, but not later than the first timestamp. So this computes
        // the latest possible values from the last timestamp backwards.
        let mut next = cycles;
        for ((value, bits), clock) in self.fields.iter_mut().zip(&mut self.clocks).rev() {
            let mask = u64::MAX >> (64 - (*bits & BITS).clamp(1, 64));
            let behind = next.wrapping_sub(*value) & mask;
            next = if behind <= next { next - behind } else { *value & mask };
            *clock = next;
            if *bits & WHOLE != 0 {
                let groups = u64::from(64 - next.leading_zeros()).div_ceil(7);
                (*value, *bits) = (next, (groups * 7).max(*bits & BITS).max(7));
            }
        }
    }

    /// Clears the timestamps, because the event is written with another time.
    pub(super) fn clear(&mut self) {
        self.fields.clear();
        self.clocks.clear();
    }

    /// Returns the clock value after the first field.
    pub(super) fn first(&self) -> Option<u64> {
        self.clocks.first().copied()
    }

    /// Returns the event time that a reader decodes after a clock value.
    pub(super) fn read_after(&self, now: u64) -> u64 {
        self.fields.iter().fold(now, |now, (value, bits)| update_clock(now, *value, *bits))
    }
}

/// Flag for fields that get the full time, next to their bits in the source.
const WHOLE: u64 = 1 << 63;
const BITS: u64 = WHOLE - 1;

struct TimeCollector<'c> {
    fields: &'c mut Vec<(u64, u64)>,
    default_clock: Option<u16>,
    writes_whole: bool,
}

impl Visitor for TimeCollector<'_> {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        let roles = field.node().roles;
        if !roles.has(Role::Timestamp) || is_of_other_clock(roles, self.default_clock) {
            return;
        }
        let is_variable = matches!(field.class().kind, FieldKind::VariableLength { .. });
        let whole = if is_variable && self.writes_whole { WHOLE } else { 0 };
        self.fields.push((value, field.length | whole));
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        if let Some(value) = value.as_u128().and_then(|value| u64::try_from(value).ok()) {
            self.unsigned(field.with_length(64), value);
        }
    }
}
