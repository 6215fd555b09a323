//! Fields of events with a process and an address.

use ichnos_model::Event;
use ichnos_model::Scope;
use ichnos_model::field::FieldRef;

use crate::class::{ADDRESS, PROCESS};

/// Fields with the process and the address, in the events of a data stream.
#[derive(Default)]
pub(crate) struct AddressFields {
    /// By event class index.
    fields: Vec<Option<[FieldRef; 2]>>,
}

impl AddressFields {
    /// Returns an event's process and address.
    pub(crate) fn read(&mut self, event: &Event<'_>) -> Option<(i64, u64)> {
        let class = event.class_index()?;
        if self.fields.len() <= class {
            self.fields.resize(class + 1, None);
        }
        let known = self.fields.get_mut(class)?;
        if known.is_none() {
            let find = |name| FieldRef::within(event, Scope::CommonContext, name);
            *known = Some([find(PROCESS)?, find(ADDRESS)?]);
        }
        let [process, address] = known.as_ref()?;
        Some((event.get(process)?.as_i64()?, event.get(address)?.as_u64()?))
    }
}
