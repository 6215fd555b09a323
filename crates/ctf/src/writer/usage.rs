//! Use of reader limits by a trace.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ichnos_model::decode::DecodeLimits;
use ichnos_model::{Cost, Limits, TraceClass};

use crate::allowed::Allowed;

/// Use of reader limits by a trace.
#[derive(Debug, Default)]
pub(super) struct Usage(Mutex<UsageCounts>);

#[derive(Debug, Default)]
struct UsageCounts {
    bytes: u64,
    packets: u64,
    /// Event record classes that have events: the id of the data stream class, and their own.
    event_records: HashSet<(u64, u128)>,
    /// Ids of data stream classes whose packets were copied: any of their classes can have events.
    copied: HashSet<u64>,
    elements: ExcessElements,
}

/// Maximum numbers of array elements without bits in a packet, in excess of one for each bit before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExcessElements {
    /// Maximum in a packet header and context.
    pub(super) of_head: u64,
    /// Maximum in a packet.
    pub(super) of_packet: u64,
}

impl Usage {
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

    /// Adds the output of a data stream class's encoder: events of some classes, and copied packets.
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

    /// Returns the reason why readers with these limits refuse some data of a trace of this class, if there
    /// is one. `is_merged`: copied packets come from several traces, each within the limits.
    pub(super) fn problem(&self, class: &TraceClass, limits: &Limits, is_merged: bool) -> Option<String> {
        let used = self.lock();
        if used.packets == 0 {
            return None;
        }
        let bits = used.bytes.saturating_mul(8);
        let allowed = Allowed { bits, fields: limits.fields(used.bytes, None) };
        let packets = allowed.packets(class, DecodeLimits::from(limits));
        if let Some(kind) = packets.refused {
            return Some(kind.to_string());
        }
        let most = [packets.heads, packets.of_events(used.packets)].map(|limits| limits.zero_size_elements);
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
