//! Components by tag, as named by control records.

use std::collections::HashMap;

use ichnos_model::Scope;
use ichnos_model::event::EventValues;

use super::shape;
use crate::log::{Record, Text};

/// Maximum total size of the stored component names in bytes. Beyond it, control records only become events.
const MOST: usize = 16 << 20;

/// A component. Unknown texts are empty.
#[derive(Clone, Debug)]
struct NamedComponent {
    moniker: String,
    url: String,
}

/// Components known so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Components {
    by_tag: HashMap<u32, NamedComponent>,
    /// Approximate size in bytes.
    size: usize,
    /// Tag of the last lookup, with its component fields in `values`. Most records have the same tag as the previous
    /// record.
    found: Option<u32>,
    values: EventValues,
}

impl Components {
    pub(super) fn is_empty(&self) -> bool {
        self.by_tag.is_empty()
    }

    /// Stores the component of a tag if this is a control record that names it.
    pub(super) fn name_component(&mut self, record: &Record<'_>) {
        let Some(control) = record.control().filter(|control| control.rolled_out.is_none()) else { return };
        // Unknown texts are empty.
        let text = |text: Option<Text<'_>>| text.map(|text| text.to_string()).unwrap_or_default();
        let component = NamedComponent { moniker: text(control.moniker), url: text(control.url) };
        let size = |component: &NamedComponent| {
            size_of::<NamedComponent>() + component.moniker.len() + component.url.len()
        };
        let before = self.by_tag.get(&record.tag()).map_or(0, size);
        let all = self.size - before + size(&component);
        let is_known = !component.moniker.is_empty() || !component.url.is_empty();
        if is_known && all <= MOST {
            self.size = all;
            self.by_tag.insert(record.tag(), component);
            self.found = None;
        }
    }

    /// Looks up the component of a record. Returns `true` if it is known.
    pub(super) fn look_up(&mut self, record: &[u8]) -> bool {
        let Some(tag) = tag(record) else { return false };
        if self.found == Some(tag) {
            return true;
        }
        let Some(component) = self.by_tag.get(&tag) else { return false };
        self.values.clear();
        component.push(&mut self.values);
        self.found = Some(tag);
        true
    }

    /// Returns the component fields from the last lookup.
    #[inline]
    pub(super) fn values(&self) -> &EventValues {
        &self.values
    }

    /// Appends the component fields of a record if the component is known.
    pub(super) fn push(&self, record: &[u8], values: &mut EventValues) {
        if let Some(component) = tag(record).and_then(|tag| self.by_tag.get(&tag)) {
            component.push(values);
        }
    }
}

impl NamedComponent {
    /// Appends the fields for [`resource_class`](super::class::resource_class).
    fn push(&self, values: &mut EventValues) {
        values.begin(Scope::Resource);
        for text in [&self.moniker, &self.url] {
            values.push_optional(!text.is_empty());
            if !text.is_empty() {
                values.push(text.as_str());
            }
        }
    }
}

/// Returns the tag of a record, or `None` for a control record.
fn tag(record: &[u8]) -> Option<u32> {
    shape::tag(u64::from_le_bytes(*record.first_chunk()?))
}
