//! Parts of JSON documents: values, positions, problems and damage, as object members.

use std::collections::HashMap;

use ichnos_json::read::is_number;
use ichnos_json::write::{ArrayWriter, ObjectWriter, ValueWriter};
use ichnos_model::class::{Attributes, IntegerRange, LocationStep, Uuid, Value};
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::trace::{Diagnostic, FileDiagnostic, TextPosition};

pub use crate::number::write_real;

/// Writes an attribute or environment value.
pub fn write_value(place: ValueWriter<'_>, value: &Value) {
    match value {
        Value::Null => place.null(),
        Value::Boolean(boolean) => place.boolean(*boolean),
        Value::Integer(number) => place.integer(*number),
        Value::Number(text) if is_number(text) => place.number(text),
        Value::Number(text) | Value::Text(text) => place.string(text),
        Value::Array(values) => write_values(place, values),
        Value::Map(entries) => write_entries(place, entries),
    }
}

/// Writes a list of values.
pub fn write_values(place: ValueWriter<'_>, values: &[Value]) {
    let mut list = place.array();
    values.iter().for_each(|value| write_value(list.element(), value));
    list.end();
}

/// Writes names and values as an object. The last of several equal names counts, as in JSON readers.
pub fn write_entries(place: ValueWriter<'_>, entries: &[(String, Value)]) {
    let mut last: HashMap<&str, &Value> =
        entries.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let mut object = place.object();
    for (name, _) in entries {
        if let Some(value) = last.remove(name.as_str()) {
            write_value(object.named(name), value);
        }
    }
    object.end();
}

/// Writes the member `attributes`, if there are attributes.
pub fn write_attributes(object: &mut ObjectWriter<'_>, attributes: &Attributes) {
    if !attributes.is_empty() {
        write_entries(object.member("attributes"), attributes.entries());
    }
}

/// Writes the members `namespace`, `name` and `uid`, as far as they exist.
pub fn write_identity(
    object: &mut ObjectWriter<'_>,
    namespace: &Option<String>,
    name: &Option<String>,
    uid: &Option<String>,
) {
    object.string("namespace", namespace.as_deref());
    object.string("name", name.as_deref());
    object.string("uid", uid.as_deref());
}

/// Writes the member `uuid`, if there is a UUID.
pub fn write_uuid(object: &mut ObjectWriter<'_>, uuid: Option<Uuid>) {
    if let Some(uuid) = uuid {
        object.member("uuid").display(uuid);
    }
}

/// Writes integer ranges as a list of pairs.
pub fn write_ranges(place: ValueWriter<'_>, ranges: impl Iterator<Item = IntegerRange>) {
    let mut list = place.array();
    push_ranges(&mut list, ranges);
    list.end();
}

/// Adds integer ranges to a list, as pairs.
pub fn push_ranges(list: &mut ArrayWriter<'_>, ranges: impl Iterator<Item = IntegerRange>) {
    for range in ranges {
        let mut bounds = list.element().array();
        bounds.element().integer(range.lower);
        bounds.element().integer(range.upper);
        bounds.end();
    }
}

/// Writes the steps of a field location: names, and `null` for the enclosing structure.
pub fn write_path(place: ValueWriter<'_>, path: &[LocationStep]) {
    let mut steps = place.array();
    for step in path {
        match step {
            LocationStep::Member(name) => steps.element().string(name),
            LocationStep::Parent => steps.element().null(),
        }
    }
    steps.end();
}

/// Writes a member with a known position in a metadata text.
pub fn write_position(object: &mut ObjectWriter<'_>, name: &'static str, position: TextPosition) {
    if !position.is_unknown() {
        let mut place = object.member(name).object();
        place.member("line").unsigned(position.line.into());
        place.member("column").unsigned(position.column.into());
        place.member("offset").unsigned(position.offset);
        place.end();
    }
}

/// Writes a problem of a metadata text.
pub fn write_diagnostic(object: &mut ObjectWriter<'_>, diagnostic: &Diagnostic) {
    object.member("severity").display(diagnostic.severity);
    write_position(object, "place", diagnostic.position);
    if !diagnostic.within.is_empty() {
        object.member("within").strings(&diagnostic.within);
    }
    object.member("message").string(&diagnostic.message);
    object.string("expected", diagnostic.expected.as_deref());
    object.string("found", diagnostic.found.as_deref());
    object.string("limit", diagnostic.limit);
}

/// Writes the problems of trace description files as a list.
pub fn write_file_diagnostics(place: ValueWriter<'_>, diagnostics: &[FileDiagnostic]) {
    let mut list = place.array();
    for problem in diagnostics {
        let mut entry = list.element().object();
        entry.member("file").string(&problem.file);
        write_diagnostic(&mut entry, &problem.diagnostic);
        entry.end();
    }
    list.end();
}

/// Writes a list of damaged places.
pub fn write_damages(place: ValueWriter<'_>, damages: &[Damage]) {
    let mut list = place.array();
    for damage in damages {
        let mut entry = list.element().object();
        write_damage(&mut entry, damage);
        entry.end();
    }
    list.end();
}

/// Writes a damaged place.
pub fn write_damage(object: &mut ObjectWriter<'_>, damage: &Damage) {
    object.member("file").string(&damage.file);
    object.string("data_stream", damage.stream.as_deref());
    object.member("byte").unsigned(damage.bit / 8);
    object.member("bit").unsigned(damage.bit % 8);
    if let DamageKind::Rule(rule) = &damage.kind {
        object.member("rule").string(rule.name);
        object.unsigned("record", rule.record);
    }
    object.member("message").display(&damage.kind);
    object.member("skipped_bytes").unsigned(damage.skipped.div_ceil(8));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let entries = |entries: &[(&str, Value)]| {
            Value::Map(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
        };
        for (value, expected) in [
            (Value::Integer(i128::MIN), i128::MIN.to_string().as_str()),
            (Value::Number("1.50".into()), "1.50"),
            (Value::Number("NaN".into()), "\"NaN\""),
            (Value::Array(vec![Value::Null, Value::Boolean(true)]), "[null,true]"),
            (
                entries(&[("a", Value::Null), ("b", Value::Integer(1)), ("a", Value::Text("c".into()))]),
                r#"{"a":"c","b":1}"#,
            ),
        ] {
            let mut out = Vec::new();
            write_value(ValueWriter::new(&mut out), &value);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
