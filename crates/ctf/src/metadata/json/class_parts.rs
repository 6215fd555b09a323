//! Field class parts with the same form in all three documents.

use ichnos_model::class::{BitField, FieldKind};
use ichnos_model::trace::Limits;

use super::object::{refuse, refuse_at_limit};
use super::text::JsonNode;
use crate::metadata::Problems;

/// Checks the length in bits of a fixed-length class.
pub(super) fn bit_length(
    length: u64,
    node: &JsonNode,
    limits: &Limits,
    problems: &mut Problems,
) -> Option<u64> {
    if length > limits.integer_bits {
        refuse_at_limit(node, limits.integer_bits, "integer_bits", problems);
        return None;
    }
    Some(length)
}

/// Returns a floating-point number class with this layout. `length` is the property with its length.
pub(super) fn float(bits: BitField, length: Option<&JsonNode>, problems: &mut Problems) -> Option<FieldKind> {
    if matches!(bits.length, 16 | 32 | 64) || (bits.length >= 128 && bits.length % 32 == 0) {
        return Some(FieldKind::Float(bits));
    }
    if let Some(node) = length {
        refuse(node, "16, 32, 64, 128 or a greater multiple of 32", problems);
    }
    None
}

/// Returns a list element's label for messages: its name in a property, or its number.
pub(super) fn element_label(what: &str, property: &str, element: &JsonNode, index: usize) -> String {
    match element.get(property).and_then(JsonNode::as_text) {
        Some(name) => format!("{what} `{name}`"),
        None => format!("{what} {}", index + 1),
    }
}
