//! Field locations and integer ranges in PROP-2.0 and SPEC-2.0.

use ichnos_model::Scope;
use ichnos_model::class::{FieldLocation, IntegerRange, LocationStep, Mappings, MappingsBuilder, RangeSet};
use ichnos_model::trace::{Diagnostic, Limits};

use super::labels::{Labels, are_in_order};
use super::object::{
    Object, UnknownProperties, array, integer, listed, non_empty_array, properties, refuse,
    refuse_duplicates, text, wide_integer,
};
use super::text::{Json, JsonNode};
use super::vocabulary::Vocabulary;
use crate::metadata::{Problems, memory};

/// Reads a field location. `within` is the scope of the class with the location, if known.
pub(super) fn field_location(
    node: &JsonNode,
    within: Option<Scope>,
    vocabulary: Vocabulary,
    problems: &mut Problems,
) -> Option<FieldLocation> {
    match vocabulary {
        Vocabulary::Spec2 => spec2(node, within, problems),
        Vocabulary::Prop2 => prop2(node, within, problems),
    }
}

/// Reads a scope name. The scope must not be decoded after `within`.
fn scope(node: &JsonNode, within: Option<Scope>, problems: &mut Problems) -> Option<Scope> {
    let name = text(node, problems)?;
    let Some(scope) = Scope::from_name(name) else {
        let names = Scope::DECODED.map(Scope::name);
        let error = Diagnostic::error(node.position, "unknown scope");
        problems.add(error.expected(listed(&names), node.describe()));
        return None;
    };
    if let Some(within) = within
        && scope > within
    {
        let message = format!(
            "a field in the scope `{within}` needs a field in `{scope}`, but that scope is decoded later"
        );
        problems.error(node.position, message);
        return None;
    }
    Some(scope)
}

/// Reads a SPEC-2.0 location (CTF2-SPEC-2.0, "Field location").
fn spec2(node: &JsonNode, within: Option<Scope>, problems: &mut Problems) -> Option<FieldLocation> {
    let mut object = Object::open(node, problems)?;
    let origin = object.get("origin").map(|node| scope(node, within, problems));
    let path = object.require("path", problems);
    object.finish(UnknownProperties::Refuse, problems);
    let path = path?;
    let elements = array(path, problems)?;
    let mut steps = Vec::with_capacity(elements.len());
    let mut right = true;
    for element in elements {
        match &element.json {
            Json::Text(name) => steps.push(LocationStep::Member(name.clone())),
            Json::Null => steps.push(LocationStep::Parent),
            _ => {
                refuse(element, "a string or null", problems);
                right = false;
            }
        }
    }
    match elements.last() {
        None => {
            refuse(path, "at least one element", problems);
            return None;
        }
        Some(last) if matches!(last.json, Json::Null) => {
            problems
                .error(last.position, "the last element of a path must be the name of a member, not null");
            return None;
        }
        Some(_) => {}
    }
    match origin {
        Some(None) => None,
        _ if !right => None,
        origin => Some(FieldLocation {
            origin: origin.flatten(),
            path: steps,
            any_option: false,
            declared_at: node.position.into(),
        }),
    }
}

/// Reads a PROP-2.0 location (CTF2-PROP-2.0, "Field location"): a scope name, then member names.
fn prop2(node: &JsonNode, within: Option<Scope>, problems: &mut Problems) -> Option<FieldLocation> {
    let elements = array(node, problems)?;
    let [first, names @ ..] = elements else {
        refuse(node, "the name of a scope and at least one name of a member", problems);
        return None;
    };
    let origin = scope(first, within, problems);
    if names.is_empty() {
        refuse(node, "the name of a scope and at least one name of a member", problems);
        return None;
    }
    let mut steps = Vec::with_capacity(names.len());
    for name in names {
        if let Some(name) = text(name, problems) {
            steps.push(LocationStep::Member(name.to_owned()));
        }
    }
    let right = steps.len() == names.len();
    let origin = origin?;
    right.then(|| FieldLocation {
        origin: Some(origin),
        path: steps,
        any_option: false,
        declared_at: node.position.into(),
    })
}

/// Reads an integer range set (CTF2-PROP-2.0 and CTF2-SPEC-2.0, "Integer range set"): an array with at least one pair
/// of bounds.
pub(super) fn range_set(node: &JsonNode, problems: &mut Problems) -> Option<RangeSet> {
    let elements = non_empty_array(node, "at least one integer range", problems)?;
    let mut ranges = Vec::with_capacity(elements.len());
    ranges.extend(elements.iter().filter_map(|element| range(element, problems)));
    (ranges.len() == elements.len()).then_some(RangeSet(ranges))
}

fn range(node: &JsonNode, problems: &mut Problems) -> Option<IntegerRange> {
    let [lower, upper] = array(node, problems)? else {
        refuse(node, "two integers", problems);
        return None;
    };
    let lower = integer(lower, problems);
    let upper = integer(upper, problems);
    let (lower, upper) = (lower?, upper?);
    are_in_order(&lower, &upper, node, problems).then_some(IntegerRange { lower, upper })
}

/// Reads bit map flags (CTF2-SPEC-2.0, "Fixed-length bit map").
pub(super) fn flags(node: &JsonNode, problems: &mut Problems) -> Option<Mappings> {
    let properties = properties(node, problems)?;
    refuse_duplicates(properties, problems);
    let mut flags = MappingsBuilder::default();
    for property in properties {
        problems.enter(format!("flag `{}`", property.name));
        if let Some(ranges) = range_set(&property.value, problems)
            && problems.charge(memory::of_label(&property.name, ranges.0.len()), property.name_position)
            && flags.add_name(&property.name)
        {
            ranges.0.into_iter().for_each(|range| flags.add_range(range));
        }
        problems.leave();
    }
    (flags.len() == properties.len()).then(|| flags.finish())
}

/// Reads integer mappings (CTF2-PROP-2.0, "Enumeration field class mappings"; CTF2-SPEC-2.0, "Abstract integer field
/// class"). Their bounds may have as many bits as integers.
pub(super) fn mappings(
    node: &JsonNode,
    signed: bool,
    limits: &Limits,
    problems: &mut Problems,
) -> Option<Labels> {
    Labels::read(node, "mapping", signed, problems, |labels, node, problems| {
        mapping(labels, node, limits, problems)
    })
}

/// Adds the ranges of a mapping. Returns `false` if any is invalid.
fn mapping(labels: &mut Labels, node: &JsonNode, limits: &Limits, problems: &mut Problems) -> bool {
    let Some(elements) = non_empty_array(node, "at least one integer range", problems) else { return false };
    let mut are_right = true;
    for element in elements {
        let bounds = array(element, problems);
        are_right &= match bounds {
            Some([lower, upper]) => match (&lower.json, &upper.json) {
                (Json::Integer(lower), Json::Integer(upper)) => labels.add(*lower, *upper, element, problems),
                _ => {
                    let lower = wide_integer(lower, limits.integer_bits, problems);
                    let upper = wide_integer(upper, limits.integer_bits, problems);
                    let bounds = lower.zip(upper);
                    bounds.is_some_and(|(lower, upper)| labels.add_wide(lower, upper, element, problems))
                }
            },
            Some(_) => {
                refuse(element, "two integers", problems);
                false
            }
            None => false,
        };
    }
    are_right
}

/// Returns the index of the first set, sorted by lower bound, that overlaps another set. Sorting keeps this fast, as
/// the input determines the number of sets.
pub(super) fn first_overlap(sets: &[RangeSet]) -> Option<usize> {
    let mut ranges: Vec<(IntegerRange, usize)> = sets
        .iter()
        .enumerate()
        .flat_map(|(index, set)| set.0.iter().map(move |range| (*range, index)))
        .collect();
    ranges.sort_by_key(|(range, index)| (range.lower, *index));
    let mut before: Option<(IntegerRange, usize)> = None;
    for (range, index) in ranges {
        match before {
            Some((last, other)) if last.upper >= range.lower && other != index => {
                return Some(index.max(other));
            }
            // Of two ranges in the same set, the larger upper bound matters.
            Some((last, _)) if last.upper >= range.upper => {}
            _ => before = Some((range, index)),
        }
    }
    None
}
