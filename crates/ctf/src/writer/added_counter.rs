//! Packet counters in added fields, for dialects that lack a place for the source's counters.

use std::sync::Arc;

use ichnos_model::TraceClass;
use ichnos_model::class::{DataStreamClass, FieldClass, FieldKind, Role};

use crate::packet::Counter;

/// A data stream's counter that is always present, although the source's counter can be missing. It grows like the
/// source's counter if both its values are known, so readers see the same losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AddedCounter {
    has_begun: bool,
    /// Source counter in the previous packet, if any.
    before: Option<Counter>,
    value: u64,
    /// Losses before the next packet that only the writer knows.
    lost: u64,
}

/// Both counters of a data stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AddedCounters {
    pub(super) discarded: AddedCounter,
    pub(super) sequence: AddedCounter,
}

impl AddedCounter {
    /// Adds losses before the next packet.
    pub(super) fn lose(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count);
    }

    /// Returns the snapshot of discarded event records for a packet. Its own snapshot has `width` bits.
    pub(super) fn discarded(&mut self, own: Option<u64>, width: u64) -> u64 {
        let own = own.map(|value| Counter { value, width });
        let grown = match (self.before, own) {
            // A counter that was reset has counted from 0 since.
            (Some(before), Some(now)) => now.since(before).unwrap_or(now.value),
            (None, Some(now)) if !self.has_begun => now.value,
            _ => 0,
        };
        self.advance(own, grown)
    }

    /// Returns the sequence number for a packet. Its own number has `width` bits.
    pub(super) fn sequence(&mut self, own: Option<u64>, width: u64) -> u64 {
        let own = own.map(|value| Counter { value, width });
        let grown = match (self.before, own) {
            (Some(before), Some(now)) => {
                now.since(before).unwrap_or_else(|| now.value.wrapping_sub(before.value))
            }
            (None, Some(now)) if !self.has_begun => now.value,
            _ => u64::from(self.has_begun),
        };
        self.advance(own, grown)
    }

    fn advance(&mut self, own: Option<Counter>, grown: u64) -> u64 {
        self.has_begun = true;
        self.before = own;
        self.value = self.value.wrapping_add(grown).wrapping_add(std::mem::take(&mut self.lost));
        self.value
    }
}

/// Returns the maximum width in bits of the packet context fields with a role, or else of the packet header fields.
/// Variable-length fields count as 64. `None`: the field is missing.
pub(super) fn width_of(trace: &TraceClass, class: &DataStreamClass, role: Role) -> Option<u64> {
    let longest = |root: &Arc<FieldClass>| {
        let mut most = 0;
        root.exists(&mut |class| {
            if class.roles.has(role) {
                let is_variable = matches!(class.kind, FieldKind::VariableLength { .. });
                most = most.max(if is_variable { 64 } else { class.bits().map_or(0, |bits| bits.length) });
            }
            false
        });
        (most > 0).then_some(most.min(64))
    };
    [&class.packet_context, &trace.packet_header].into_iter().flatten().find_map(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_grow_by_what_is_known() {
        let mut counter = AddedCounter::default();
        let own = [Some(250), Some(2), None, Some(9), Some(11), None];
        assert_eq!(own.map(|own| counter.discarded(own, 8)), [250, 258, 258, 258, 260, 260]);
        let mut counter = AddedCounter::default();
        let own = [None, Some(4), Some(6), None, None, Some(0)];
        assert_eq!(own.map(|own| counter.sequence(own, 8)), [0, 1, 3, 4, 5, 6]);
    }

    #[test]
    fn known_losses_are_counted() {
        let (mut discarded, mut sequence) = (AddedCounter::default(), AddedCounter::default());
        let found = [0, 2, 0, 1].map(|lost| {
            discarded.lose(lost);
            sequence.lose(lost);
            (discarded.discarded(None, 64), sequence.sequence(None, 64))
        });
        assert_eq!(found, [(0, 0), (2, 3), (2, 4), (3, 6)]);
    }
}
