//! Selector values for variant options: ranges of the tag labels that match option names.

use std::collections::{HashMap, HashSet};

use ichnos_model::class::{IntegerRange, Mappings, Ranges};
use ichnos_model::memory::size;

/// Returns the ranges of labels that are option names. There can be far more labels than options.
pub(super) fn by_option<'m, 'o>(
    labels: &'m Mappings,
    options: impl Iterator<Item = &'o str>,
) -> HashMap<&'m str, Ranges<'m>> {
    let options: HashSet<&str> = options.collect();
    let wanted = labels.iter().filter(|label| options.contains(label.name));
    wanted.map(|label| (label.name, label.ranges)).collect()
}

/// Returns the memory of copied ranges in bytes. Each option copies its ranges, however many ranges its label has.
pub(super) fn memory_of(ranges: Option<Ranges<'_>>) -> u64 {
    ranges.map_or(0, |ranges| (ranges.len() * size::<IntegerRange>()) as u64)
}
