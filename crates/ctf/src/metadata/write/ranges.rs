//! Original mapping ranges. The model stores ranges beyond 128 bits separately.

use std::collections::HashSet;

use ichnos_model::class::{IntegerRange, Mappings, Value, WideInteger, WideRange};

use super::unsupported::Refusals;

/// Value range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MappingRange {
    Narrow(i128, i128),
    Wide(WideInteger, WideInteger),
}

impl MappingRange {
    /// Returns both bounds as JSON.
    pub(super) fn to_pair(&self) -> Value {
        Value::Array(match self {
            Self::Narrow(lower, upper) => vec![Value::Integer(*lower), Value::Integer(*upper)],
            Self::Wide(lower, upper) => vec![number(lower), number(upper)],
        })
    }
}

/// Returns an integer of any size as JSON.
pub(super) fn number(value: &WideInteger) -> Value {
    value.as_i128().map_or_else(|| Value::Number(value.to_string()), Value::Integer)
}

/// Returns each name with its ranges.
pub(super) fn each(
    mappings: &Mappings,
    wide: &[WideRange],
    what: &str,
    refusals: &mut Refusals,
    mut write: impl FnMut(&str, &[MappingRange], &mut Refusals),
) {
    let mut names = HashSet::new();
    let mut wide = wide.iter().peekable();
    for (index, mapping) in mappings.iter().enumerate() {
        refusals.enter(format!("{what} `{}`", mapping.name));
        refusals.refuse_if(!names.insert(mapping.name), "a duplicate name");
        let mut bounds = Vec::new();
        let mut narrow = mapping.ranges.iter().peekable();
        while let Some(range) = wide.next_if(|range| range.mapping == index) {
            // The part that fits 128 bits is also among the narrow ranges.
            if let Some(part) = narrow_part(range) {
                loop {
                    match narrow.next() {
                        Some(other) if other == part => break,
                        Some(other) => bounds.push(MappingRange::Narrow(other.lower, other.upper)),
                        None => {
                            refusals.refuse("ranges that contradict each other");
                            break;
                        }
                    }
                }
            }
            bounds.push(MappingRange::Wide(range.lower.clone(), range.upper.clone()));
        }
        bounds.extend(narrow.map(|range| MappingRange::Narrow(range.lower, range.upper)));
        write(mapping.name, &bounds, refusals);
        refusals.leave();
    }
    refusals.refuse_if(wide.next().is_some(), "ranges that are not sorted by name");
}

/// Returns the part of a range that fits 128 bits, including the sign.
fn narrow_part(range: &WideRange) -> Option<IntegerRange> {
    let is_some = range.lower.as_i128().is_some() || range.upper.as_i128().is_some();
    let part = IntegerRange { lower: range.lower.clamped(), upper: range.upper.clamped() };
    (is_some || part.lower != part.upper).then_some(part)
}
