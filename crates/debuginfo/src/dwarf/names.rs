//! Names of functions.

use std::sync::Arc;

use gimli::{AttributeValue, UnitOffset};

use super::sections::Sections;
use super::units::{DebugEntry, Unit, Units};
use crate::budget::Budget;

/// Maximum number of entries from a function to the entry with its name.
const MOST_STEPS: usize = 8;

/// Finds the name of the function with an entry in a unit.
pub(super) fn find(
    sections: &Sections<'_>,
    units: &mut Units,
    (unit, entry): (usize, UnitOffset),
    budget: &mut Budget,
) -> Option<Arc<str>> {
    if let Some(known) = units.get(unit)?.names.get(&entry) {
        return known.clone();
    }
    let name = search(sections, units, (unit, entry), budget).map(Arc::from);
    units.get_mut(unit)?.names.insert(entry, name.clone());
    name
}

fn search(
    sections: &Sections<'_>,
    units: &Units,
    (mut unit, mut offset): (usize, UnitOffset),
    budget: &mut Budget,
) -> Option<String> {
    let mut linkage_name = None;
    for _ in 0..MOST_STEPS {
        let current = units.get(unit)?;
        let header = current.header(sections).ok()?;
        let entry = header.entry(&current.abbreviations, offset).ok()?;
        budget.charge(entry.attrs().len()).ok()?;
        let text = |name| entry.attr_value(name).and_then(|value| current.text(sections, &value));
        if let Some(name) = text(gimli::DW_AT_name).filter(|name| !name.is_empty()) {
            return Some(name);
        }
        linkage_name = linkage_name.or_else(|| text(gimli::DW_AT_linkage_name));
        let Some(next) = origin(units, unit, current, &entry) else { break };
        (unit, offset) = next;
    }
    linkage_name
}

/// Returns the entry that an entry is an instance of.
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
