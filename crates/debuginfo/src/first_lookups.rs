//! First lookups of addresses in a trace.
//!
//! Babeltrace keeps what it first finds out about an address until the process lists its binaries again. So the texts of
//! an event depend on the earlier events with its address.

use std::collections::{BTreeMap, HashMap};

use ichnos_model::cursor::MessageKind;
use ichnos_model::stack::Validity;
use ichnos_model::{Message, OpenedTrace, Window};

use crate::address_fields::AddressFields;
use crate::address_spaces::AddressSpaces;

/// Times of the first lookups of each address: one for each time range in which its binary stays the same.
#[derive(Debug, Default)]
pub(crate) struct FirstLookups {
    /// First time by the start of its range, for each process and address.
    ranges: HashMap<(i64, u64), BTreeMap<i128, FirstLookup>>,
    /// Number of ranges.
    count: usize,
}

#[derive(Clone, Copy, Debug)]
struct FirstLookup {
    range: Validity,
    time: i128,
}

impl FirstLookups {
    /// Maximum number of ranges. Addresses of later ranges are unknown.
    const MOST: usize = 1 << 20;

    /// Reads the addresses of all events in a time window.
    pub(crate) fn read(trace: &dyn OpenedTrace, window: Window, spaces: &AddressSpaces) -> Self {
        let mut lookups = Self::default();
        for (index, stream) in trace.data_streams().iter().enumerate() {
            // Without a place for texts, its addresses are not looked up.
            if stream.class().resource.is_none() {
                continue;
            }
            let Some(mut cursor) = trace.cursor(index, window) else { continue };
            let mut fields = AddressFields::default();
            while let Some(head) = cursor.next_head() {
                if head.kind == MessageKind::Event
                    && let Some(Message::Event(event)) = cursor.current()
                    && let Some((process, address)) = fields.read(&event)
                {
                    // Without a clock, all events have the same time.
                    let time = event.nanoseconds().unwrap_or_default();
                    lookups.add((process, address), time, spaces);
                }
            }
        }
        lookups
    }

    fn add(&mut self, key: (i64, u64), time: i128, spaces: &AddressSpaces) {
        let is_full = self.count >= Self::MOST;
        if is_full && !self.ranges.contains_key(&key) {
            return;
        }
        let ranges = self.ranges.entry(key).or_default();
        if let Some((_, known)) = ranges.range_mut(..=time).next_back()
            && known.range.contains(time)
        {
            known.time = known.time.min(time);
        } else if !is_full {
            let range = spaces.validity(key.0, key.1, time);
            ranges.insert(range.from, FirstLookup { range, time });
            self.count += 1;
        }
    }

    /// Returns the times of the first lookups of an address in a time range, sorted. Returns `None` if the address is
    /// unknown.
    pub(crate) fn times(
        &self,
        process: i64,
        address: u64,
        range: Validity,
    ) -> Option<impl Iterator<Item = i128>> {
        let ranges = self.ranges.get(&(process, address))?;
        let within = ranges.range(range.from..).map(|(_, lookup)| lookup.time);
        Some(within.take_while(move |time| range.until.is_none_or(|until| *time < until)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_spaces::{AddressSpaceEvent, AddressSpacesBuilder, LoadedBinary};

    #[test]
    fn each_binary_has_its_first_lookup() {
        let mut builder = AddressSpacesBuilder::default().gradual();
        let load = AddressSpaceEvent::Load(LoadedBinary::new(100, 50, "/a"));
        builder.add(10, 7, load.clone());
        builder.add(20, 7, AddressSpaceEvent::BuildId { base: 100, id: [1].into() });
        builder.add(30, 7, AddressSpaceEvent::Clear);
        builder.add(40, 7, load);
        let spaces = builder.build();
        let mut lookups = FirstLookups::default();
        for time in [5, 12, 11, 25, 45, 41, 50] {
            lookups.add((7, 120), time, &spaces);
        }
        let times = |time| {
            let times = lookups.times(7, 120, spaces.epoch(7, time));
            times.map(Iterator::collect::<Vec<_>>)
        };
        assert_eq!(times(15), Some(vec![5, 11, 25]));
        assert_eq!(times(45), Some(vec![41]));
        assert_eq!(lookups.times(7, 121, Validity::EVER).map(Iterator::count), None);
    }
}
