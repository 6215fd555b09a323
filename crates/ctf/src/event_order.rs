//! Time order of event records in a data stream.

use ichnos_model::clock::ClockValue;
use ichnos_model::message::DamageKind;

use crate::packet_times::is_of_64_bits;

/// Checks that event records are sorted by time and lie within their packet's times. All times are default clock
/// values.
#[derive(Clone, Debug)]
pub(crate) struct EventOrder {
    /// Time of the last event record, or else the packet's begin time, or 0 at the start.
    pub(crate) last: u64,
    /// End time of the packet, if it is known and credible.
    packet_end: u64,
    /// Latest time that passes without further checks.
    latest: u64,
    /// Largest clock value whose time fits in 64 bits.
    most_cycles: u64,
    /// `true` if an event record after its packet's end was already reported, or must not be reported.
    is_late_reported: bool,
}

/// Result for an out-of-order event record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OrderViolation {
    /// Damage to report before the event record.
    pub(crate) damage: Option<DamageKind>,
    /// `true` to deliver the event record at its packet's end, so that one wrong time does not delay all later event
    /// records.
    pub(crate) at_packet_end: bool,
}

impl EventOrder {
    /// Creates the state before the first packet.
    pub(crate) fn new(most_cycles: u64) -> Self {
        Self { last: 0, packet_end: u64::MAX, latest: most_cycles, most_cycles, is_late_reported: false }
    }

    /// Sets the state before a packet is opened.
    pub(crate) fn before_packet(&mut self) {
        self.after_packet();
        self.is_late_reported = false;
    }

    /// Sets the state in a packet that ends at `end`. `is_late_reported`: event records after the end were already
    /// reported.
    pub(crate) fn in_packet(&mut self, end: Option<u64>, is_late_reported: bool) {
        self.packet_end = end.unwrap_or(u64::MAX);
        self.latest = self.packet_end.min(self.most_cycles);
        self.is_late_reported = is_late_reported;
    }

    /// Sets the state after the last event record of a packet.
    pub(crate) fn after_packet(&mut self) {
        (self.packet_end, self.latest) = (u64::MAX, self.most_cycles);
    }

    pub(crate) fn packet_end(&self) -> u64 {
        self.packet_end
    }

    pub(crate) fn is_late_reported(&self) -> bool {
        self.is_late_reported
    }

    /// Returns `true` if the next event record is in order.
    #[inline(always)]
    pub(crate) fn allows(&self, cycles: u64) -> bool {
        self.allows_after(self.last, cycles)
    }

    /// Returns `true` if an event record is in order after the time `last`.
    #[inline(always)]
    pub(crate) fn allows_after(&self, last: u64, cycles: u64) -> bool {
        (last..=self.latest).contains(&cycles)
    }

    /// Records an out-of-order event record. Its time is exact.
    #[cold]
    pub(crate) fn record_out_of_order(&mut self, value: ClockValue) -> OrderViolation {
        let ClockValue { nanoseconds, cycles } = value;
        let has_no_time = cycles > self.most_cycles && !is_of_64_bits(nanoseconds);
        let overflow = DamageKind::TimeOverflow(nanoseconds);
        if cycles > self.packet_end {
            let is_new = !std::mem::replace(&mut self.is_late_reported, true);
            let after = DamageKind::EventAfterPacket { cycles, end: self.packet_end };
            let damage = is_new.then_some(if has_no_time { overflow } else { after });
            return OrderViolation { damage, at_packet_end: true };
        }
        let damage = match std::mem::replace(&mut self.last, cycles) {
            from if from > cycles => Some(DamageKind::ClockBackwards { from, to: cycles }),
            from if has_no_time && from <= self.most_cycles => Some(overflow),
            _ => None,
        };
        OrderViolation { damage, at_packet_end: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out_of_order(order: &mut EventOrder, cycles: u64, nanoseconds: i128) -> (Option<DamageKind>, bool) {
        assert!(!order.allows(cycles));
        let OrderViolation { damage, at_packet_end } =
            order.record_out_of_order(ClockValue { nanoseconds, cycles });
        (damage, at_packet_end)
    }

    #[test]
    fn going_back_is_reported_each_time() {
        let mut order = EventOrder::new(u64::MAX);
        assert!(order.allows(0) && order.allows(5));
        order.last = 5;
        let backwards = |from, to| (Some(DamageKind::ClockBackwards { from, to }), false);
        assert_eq!(out_of_order(&mut order, 3, 3), backwards(5, 3));
        // From here on, events are compared with the earlier time.
        assert!(order.allows(4));
        assert_eq!(out_of_order(&mut order, 2, 2), backwards(3, 2));
    }

    #[test]
    fn event_records_after_their_packet_are_reported_once() {
        let mut order = EventOrder::new(u64::MAX);
        order.in_packet(Some(10), false);
        assert!(order.allows(10));
        let after = DamageKind::EventAfterPacket { cycles: 11, end: 10 };
        assert_eq!(out_of_order(&mut order, 11, 11), (Some(after), true));
        assert_eq!(out_of_order(&mut order, 12, 12), (None, true));
        // Out-of-order events do not affect the order of other events.
        assert!(order.allows(1));
        order.after_packet();
        assert!(order.allows(11) && order.is_late_reported());
        order.before_packet();
        assert!(!order.is_late_reported());
    }

    #[test]
    fn the_first_of_times_beyond_64_bits_is_reported() {
        let mut order = EventOrder::new(100);
        let nanoseconds = i128::from(i64::MAX) + 1;
        let overflow = Some(DamageKind::TimeOverflow(nanoseconds));
        assert_eq!(out_of_order(&mut order, 101, nanoseconds), (overflow.clone(), false));
        assert_eq!(out_of_order(&mut order, 102, nanoseconds), (None, false));
        order.in_packet(Some(50), false);
        assert_eq!(out_of_order(&mut order, 103, nanoseconds), (overflow, true));
    }
}
