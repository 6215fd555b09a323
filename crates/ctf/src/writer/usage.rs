//! A trace's use of reader limits.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ichnos_model::TraceClass;
use ichnos_model::decode::DecodeLimits;
use ichnos_model::event::Cost;
use ichnos_model::trace::Limits;

use crate::data_limits::DataLimits;

/// A trace's use of reader limits.
#[derive(Debug, Default)]
pub(super) struct LimitUsage(Mutex<UsageCounts>);

#[derive(Debug, Default)]
struct UsageCounts {
    bytes: u64,
    packets: u64,
    /// Event record classes with events: data stream class id and event record class id.
    event_records: HashSet<(u64, u128)>,
    /// Ids of data stream classes with copied packets. Any of their event record classes can have events.
    copied: HashSet<u64>,
    elements: ExcessElements,
}

/// Maximum excess of zero-size array elements in a packet over the number of bits before them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExcessElements {
    /// Maximum in a packet header and context.
    pub(super) of_head: u64,
    /// Maximum in a packet.
    pub(super) of_packet: u64,
}

impl LimitUsage {
    fn lock(&self) -> MutexGuard<'_, UsageCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds packets. Returns their new total number.
    pub(super) fn add_packets(&self, bytes: u64, packets: u64) -> u64 {
        let mut used = self.lock();
        used.bytes = used.bytes.saturating_add(bytes);
        used.packets = used.packets.saturating_add(packets);
        used.packets
    }

    /// Adds an encoder's output for a data stream class: events with some classes, and copied packets.
    pub(super) fn add_events(
        &self,
        stream_class: u64,
        event_records: impl Iterator<Item = u128>,
        is_copied: bool,
        elements: ExcessElements,
    ) {
        let mut used = self.lock();
        used.event_records.extend(event_records.map(|id| (stream_class, id)));
        if is_copied {
            used.copied.insert(stream_class);
        }
        let most = &mut used.elements;
        most.of_head = most.of_head.max(elements.of_head);
        most.of_packet = most.of_packet.max(elements.of_packet);
    }

    /// Returns the reason why readers with these limits would refuse data in a trace with this class. `is_merged`:
    /// copied packets come from several traces, each within the limits.
    pub(super) fn problem(&self, class: &TraceClass, limits: &Limits, is_merged: bool) -> Option<String> {
        let used = self.lock();
        if used.packets == 0 {
            return None;
        }
        let bits = used.bytes.saturating_mul(8);
        let allowed = DataLimits { bits, fields: limits.fields(used.bytes, None) };
        let packets = allowed.packets(class, DecodeLimits::from(limits));
        if let Some(kind) = packets.refused {
            return Some(kind.to_string());
        }
        let most = [packets.heads, packets.for_events(used.packets)].map(|limits| limits.zero_size_elements);
        if used.elements.of_head > most[0] || used.elements.of_packet > most[1] {
            return Some(format!(
                "its {} packets have more zero-size array elements than readers accept",
                used.packets
            ));
        }
        for stream in &class.data_streams {
            let Ok(id) = u64::try_from(stream.id) else { continue };
            let is_copied = is_merged && used.copied.contains(&id);
            let has_events = |class: u128| is_copied || used.event_records.contains(&(id, class));
            let costs = Cost::for_event_records(class, stream);
            let mut costs = stream.event_records.iter().zip(costs).filter(|(class, _)| has_events(class.id));
            let found = costs.find_map(|(class, cost)| {
                let name = class.name.as_deref().unwrap_or_default();
                Some(format!("`{name}`: {}", allowed.too_many(cost, "event records")?))
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }
}
