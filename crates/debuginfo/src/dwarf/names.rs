//! Function names.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{AttributeValue, UnitOffset};

use super::sections::Sections;
use super::units::{DebugEntry, Unit, Units};
use crate::budget::{Budget, Exhausted};

/// Maximum number of entries from a function to the entry with its name.
const MOST_STEPS: usize = 8;

/// Function names by unit and entry.
#[derive(Debug, Default)]
pub(super) struct FunctionNames {
    names: HashMap<(usize, UnitOffset), Option<Arc<str>>>,
    /// Memory size in bytes.
    bytes: usize,
}

impl FunctionNames {
    /// Maximum memory size in bytes. Beyond it, all names are forgotten.
    const MOST_BYTES: usize = 64 << 20;

    /// Memory size of a name without its text, in bytes.
    const ENTRY_BYTES: usize = size_of::<((usize, UnitOffset), Option<Arc<str>>)>() + 2 * size_of::<usize>();

    /// Finds the name of a function, from its unit and entry.
    pub(super) fn find(
        &mut self,
        sections: &Sections<'_>,
        units: &Units,
        place: (usize, UnitOffset),
        budget: &mut Budget,
    ) -> Result<Option<Arc<str>>, Exhausted> {
        if let Some(known) = self.names.get(&place) {
            return Ok(known.clone());
        }
        let name: Option<Arc<str>> = search(sections, units, place, budget)?.map(Arc::from);
        let bytes = Self::ENTRY_BYTES + name.as_ref().map_or(0, |name| name.len());
        // Functions can share the text with the name.
        budget.charge_memory(bytes)?;
        if self.bytes + bytes > Self::MOST_BYTES {
            self.clear();
        }
        self.bytes += bytes;
        self.names.insert(place, name.clone());
        Ok(name)
    }

    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.bytes = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn search(
    sections: &Sections<'_>,
    units: &Units,
    (mut unit, mut offset): (usize, UnitOffset),
    budget: &mut Budget,
) -> Result<Option<String>, Exhausted> {
    let mut linkage_name = None;
    for _ in 0..MOST_STEPS {
        let Some(current) = units.get(unit) else { break };
        let Ok(header) = current.header(sections) else { break };
        let Ok(entry) = header.entry(&current.abbreviations, offset) else { break };
        budget.charge(1 + entry.attrs().len())?;
        let text = |name| entry.attr_value(name).and_then(|value| current.text(sections, &value));
        if let Some(name) = text(gimli::DW_AT_name).filter(|name| !name.is_empty()) {
            return Ok(Some(name));
        }
        linkage_name = linkage_name.or_else(|| text(gimli::DW_AT_linkage_name));
        let Some(next) = origin(units, unit, current, &entry) else { break };
        (unit, offset) = next;
    }
    Ok(linkage_name)
}

/// Returns the entry with more properties of the same function.
fn origin(units: &Units, index: usize, unit: &Unit, entry: &DebugEntry<'_>) -> Option<(usize, UnitOffset)> {
    let attribute = entry
        .attr_value(gimli::DW_AT_abstract_origin)
        .or_else(|| entry.attr_value(gimli::DW_AT_specification))?;
    match attribute {
        AttributeValue::UnitRef(offset) => Some((index, offset)),
        AttributeValue::DebugInfoRef(offset) => {
            let (index, unit) = match units.at_offset(offset.0) {
                Some(other) => (other, units.get(other)?),
                None => (index, unit),
            };
            Some((index, UnitOffset(offset.0.checked_sub(unit.offset)?)))
        }
        _ => None,
    }
}
