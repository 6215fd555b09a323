//! Approximate memory of description parts, in bytes, for
//! [`Limits::description_bytes`](ichnos_model::trace::Limits::description_bytes).

use ichnos_model::class::{
    Attributes, EventRecordClass, FieldClass, IntegerRange, Member, Value, WideInteger, WideRange,
};
use ichnos_model::memory::{allocated, size};

/// Returns the memory of an event record class with all its later data, without its fields.
pub(super) fn of_event_record_class(names: &[Option<&str>]) -> u64 {
    // A counter before the class, its place in its list, and its place in the id table.
    let names: u64 = names.iter().flatten().map(|name| of_text(name)).sum();
    allocated(size::<EventRecordClass>() + 16) + 8 + 2 * size::<(u128, u32)>() as u64 + names
}

/// Returns the memory of a field class, without its parts.
pub(super) fn of_field_class() -> u64 {
    allocated(size::<FieldClass>() + 16)
}

/// Returns the memory of a structure member, without its class.
pub(super) fn of_member(name: &str) -> u64 {
    size::<Member>() as u64 + of_text(name)
}

/// Returns the memory of a label and its ranges.
pub(super) fn of_label(name: &str, ranges: usize) -> u64 {
    (name.len() + 8 + ranges * (size::<IntegerRange>() / 2)) as u64
}

/// Returns the memory of a range with bounds of any size.
pub(super) fn of_wide_range(range: &WideRange) -> u64 {
    let words = |bound: &WideInteger| allocated(bound.bits().div_ceil(64).max(1) as usize * 8);
    size::<WideRange>() as u64 + words(&range.lower) + words(&range.upper)
}

/// Returns a text's memory outside its own struct.
pub(super) fn of_text(text: &str) -> u64 {
    if text.is_empty() { 0 } else { allocated(text.len()) }
}

/// Returns the memory of a named value.
pub(super) fn of_entry(name: &str, value: &Value) -> u64 {
    size::<(String, Value)>() as u64 + of_text(name) + within(value)
}

/// Returns the memory of attributes.
pub(super) fn of_attributes(attributes: &Attributes) -> u64 {
    attributes.iter().map(|(name, value)| of_entry(name, value)).sum()
}

/// Returns a value's memory outside its own struct.
pub(super) fn within(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Boolean(_) | Value::Integer(_) => 0,
        Value::Number(text) | Value::Text(text) => of_text(text),
        Value::Array(values) => {
            let each = |value: &Value| size::<Value>() as u64 + within(value);
            values.iter().map(each).sum::<u64>() + 16
        }
        Value::Map(entries) => entries.iter().map(|(name, value)| of_entry(name, value)).sum::<u64>() + 16,
    }
}
