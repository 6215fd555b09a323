//! JSON text for field types.

use std::fmt::Write;

use crate::encoder::Order;

use super::Proposal;
use super::types::{FieldType, Integer, Kind, Label, Length, TypeField, TypeRole};

/// Formats a JSON string.
pub(super) fn string(text: &str) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            '\0'..='\x1f' => {
                let _ = write!(json, "\\u{:04x}", u32::from(c));
            }
            _ => json.push(c),
        }
    }
    json.push('"');
    json
}

/// Formats a JSON array.
pub(super) fn array(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}

/// Formats a JSON object.
pub(super) fn object(entries: &[(&str, String)]) -> String {
    let entries = entries.iter().map(|(key, value)| format!("{}:{value}", string(key)));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}

/// Formats a number. PROP-1.0 recommends a string beyond 64 bits.
fn number(value: i128, proposal: Proposal) -> String {
    if proposal == Proposal::First && i64::try_from(value).is_err() {
        return object(&[("base", "10".to_owned()), ("value", string(&value.to_string()))]);
    }
    value.to_string()
}

fn range((lower, upper): (i128, i128), proposal: Proposal) -> String {
    match proposal {
        Proposal::First if lower == upper => number(lower, proposal),
        Proposal::First => object(&[("lower", number(lower, proposal)), ("upper", number(upper, proposal))]),
        Proposal::Second => array([lower.to_string(), upper.to_string()]),
    }
}

pub(super) fn ranges(ranges: &[(i128, i128)], proposal: Proposal) -> String {
    array(ranges.iter().map(|one| range(*one, proposal)))
}

fn labels(labels: &[Label], proposal: Proposal) -> String {
    let entries: Vec<_> = labels.iter().map(|(name, all)| (&**name, ranges(all, proposal))).collect();
    object(&entries)
}

/// Returns the tag name in PROP-1.0.
pub(super) fn tag_name(role: TypeRole) -> &'static str {
    match role {
        TypeRole::Magic => "magic",
        TypeRole::Uuid => "uuid",
        TypeRole::StreamClass => "data-stream-class-id",
        TypeRole::Stream => "data-stream-id",
        TypeRole::Total => "packet-total-size",
        TypeRole::Content => "packet-content-size",
        TypeRole::Number => "packet-sequence-number",
        TypeRole::Lost => "discarded-event-record-count",
        TypeRole::Clock(_) | TypeRole::Begin => "update-data-stream-clock-now",
        TypeRole::EndClock(_) => "update-data-stream-clock-after-packet",
        TypeRole::Event => "event-record-class-id",
    }
}

/// Returns the role name in PROP-2.0.
fn role_name(role: TypeRole) -> &'static str {
    match role {
        TypeRole::Magic => "packet-magic-number",
        TypeRole::Uuid => "trace-class-uuid",
        TypeRole::StreamClass => "data-stream-class-id",
        TypeRole::Stream => "data-stream-id",
        TypeRole::Total => "packet-total-size",
        TypeRole::Content => "packet-content-size",
        TypeRole::Number => "packet-sequence-number",
        TypeRole::Lost => "discarded-event-record-counter-snapshot",
        TypeRole::Clock(_) => "default-clock-timestamp",
        TypeRole::Begin => "packet-beginning-default-clock-timestamp",
        TypeRole::EndClock(_) => "packet-end-default-clock-timestamp",
        TypeRole::Event => "event-record-class-id",
    }
}

/// Formats a field type.
pub(super) fn field_type(class: &FieldType, proposal: Proposal) -> String {
    match proposal {
        Proposal::First => first(class),
        Proposal::Second => second(class),
    }
}

fn first(class: &FieldType) -> String {
    let proposal = Proposal::First;
    let mut entries: Vec<(&str, String)> = Vec::new();
    let kind = match &class.kind {
        Kind::Null => "null",
        Kind::BitArray(_) => "bitarray",
        Kind::Boolean(_) => "bool",
        Kind::Integer(_, Integer { labels: Some(_), .. }) => "enum",
        Kind::Integer(..) => "int",
        Kind::Float(_) => "float",
        Kind::VariableBitArray => "varbitarray",
        Kind::VariableBoolean => "varbool",
        Kind::VariableInteger(Integer { labels: Some(_), .. }) => "varenum",
        Kind::VariableInteger(_) => "varint",
        Kind::String => "string",
        Kind::Text(Length::Static(_)) => "textarray",
        Kind::Text(_) => "textsequence",
        Kind::Structure(_) => "struct",
        Kind::Array(Length::Static(_), _) => "array",
        Kind::Array(..) => "sequence",
        Kind::Variant { .. } => "variant",
        Kind::Union(..) => "union",
        Kind::Blob(_) | Kind::Optional { .. } => unreachable!("only in PROP-2.0"),
    };
    entries.push(("field-type", string(kind)));
    let is_bytes = matches!(
        class.kind,
        Kind::VariableBitArray | Kind::VariableBoolean | Kind::VariableInteger(_) | Kind::String
    );
    if class.alignment != if is_bytes { 8 } else { 1 } {
        entries.push(("alignment", class.alignment.to_string()));
    }
    match &class.kind {
        Kind::BitArray(size) | Kind::Boolean(size) | Kind::Integer(size, _) | Kind::Float(size) => {
            entries.push(("size", size.to_string()));
            if !class.is_default_order {
                entries.push(("byte-order", string(if class.order == Order::Le { "le" } else { "be" })));
            }
        }
        _ => {}
    }
    match &class.kind {
        Kind::Integer(_, integer) | Kind::VariableInteger(integer) => {
            if integer.signed {
                entries.push(("signed", "true".to_owned()));
            }
            if let Some(all) = &integer.labels {
                entries.push(("members", labels(all, proposal)));
            }
        }
        Kind::Text(length) => entries.push(("length", length_text(length))),
        Kind::Array(length, element) => {
            entries.push(("length", length_text(length)));
            entries.push(("element-field-type", first(element)));
        }
        Kind::Structure(fields) | Kind::Union(_, fields) => {
            entries.push(("fields", array(fields.iter().map(|field| named(field, proposal)))));
        }
        Kind::Variant { tag, choices } => {
            entries.push(("tag", tag.json.clone()));
            let choices = choices.iter().map(|choice| {
                let name = choice.name.as_deref().unwrap_or_default();
                object(&[("name", string(name)), ("field-type", first(&choice.class))])
            });
            entries.push(("choices", array(choices)));
        }
        _ => {}
    }
    if class.has_attributes {
        entries.push(("user-attrs", "{\"my ns\":{\"x\":[1,null,true]}}".to_owned()));
    }
    object(&entries)
}

fn second(class: &FieldType) -> String {
    let proposal = Proposal::Second;
    let mut entries: Vec<(&str, String)> = Vec::new();
    let sign = |signed| if signed { "signed" } else { "unsigned" };
    let kind = match &class.kind {
        Kind::BitArray(_) => "fixed-length-bit-array".to_owned(),
        Kind::Boolean(_) => "fixed-length-boolean".to_owned(),
        Kind::Integer(_, Integer { labels: Some(_), signed, .. }) => {
            format!("fixed-length-{}-enumeration", sign(*signed))
        }
        Kind::Integer(_, Integer { signed, .. }) => format!("fixed-length-{}-integer", sign(*signed)),
        Kind::Float(_) => "fixed-length-floating-point-number".to_owned(),
        Kind::VariableBitArray => "variable-length-bit-array".to_owned(),
        Kind::VariableInteger(Integer { labels: Some(_), signed, .. }) => {
            format!("variable-length-{}-enumeration", sign(*signed))
        }
        Kind::VariableInteger(Integer { signed, .. }) => format!("variable-length-{}-integer", sign(*signed)),
        Kind::String => "null-terminated-string".to_owned(),
        Kind::Text(Length::Static(_)) => "static-length-string".to_owned(),
        Kind::Text(_) => "dynamic-length-string".to_owned(),
        Kind::Blob(Length::Static(_)) => "static-length-blob".to_owned(),
        Kind::Blob(_) => "dynamic-length-blob".to_owned(),
        Kind::Structure(_) => "structure".to_owned(),
        Kind::Array(Length::Static(_), _) => "static-length-array".to_owned(),
        Kind::Array(..) => "dynamic-length-array".to_owned(),
        Kind::Variant { .. } => "variant".to_owned(),
        Kind::Optional { .. } => "optional".to_owned(),
        Kind::Null | Kind::VariableBoolean | Kind::Union(..) => unreachable!("only in PROP-1.0"),
    };
    entries.push(("type", string(&kind)));
    match &class.kind {
        Kind::BitArray(size) | Kind::Boolean(size) | Kind::Integer(size, _) | Kind::Float(size) => {
            entries.push(("length", size.to_string()));
            let order = if class.order == Order::Le { "little-endian" } else { "big-endian" };
            entries.push(("byte-order", string(order)));
            if class.alignment != 1 {
                entries.push(("alignment", class.alignment.to_string()));
            }
        }
        Kind::Structure(_) if class.alignment != 1 => {
            entries.push(("minimum-alignment", class.alignment.to_string()));
        }
        _ => {}
    }
    let length_key = |length: &Length| match length {
        Length::Static(_) => "length",
        Length::Dynamic(_) => "length-field-location",
    };
    match &class.kind {
        Kind::Integer(_, integer) | Kind::VariableInteger(integer) => {
            if let Some(all) = &integer.labels {
                entries.push(("mappings", labels(all, proposal)));
            }
            if class.has_attributes {
                entries.push(("preferred-display-base", "16".to_owned()));
            }
        }
        Kind::Text(length) => entries.push((length_key(length), length_text(length))),
        Kind::Blob(length) => {
            entries.push((length_key(length), length_text(length)));
            if class.has_attributes {
                entries.push(("media-type", string("image/png")));
            }
        }
        Kind::Array(length, element) => {
            entries.push((length_key(length), length_text(length)));
            entries.push(("element-field-class", second(element)));
        }
        Kind::Structure(fields) => {
            entries.push(("members", array(fields.iter().map(|field| named(field, proposal)))));
        }
        Kind::Optional { selector, ranges: own, class } => {
            entries.push(("selector-field-location", selector.json.clone()));
            if let Some(own) = own {
                entries.push(("selector-field-ranges", ranges(own, proposal)));
            }
            entries.push(("field-class", second(class)));
        }
        Kind::Variant { tag, choices } => {
            entries.push(("selector-field-location", tag.json.clone()));
            let choices = choices.iter().map(|choice| {
                let mut entries = vec![
                    ("field-class", second(&choice.class)),
                    ("selector-field-ranges", ranges(&choice.ranges, proposal)),
                ];
                if let Some(name) = &choice.name {
                    entries.push(("name", string(name)));
                }
                object(&entries)
            });
            entries.push(("options", array(choices)));
        }
        _ => {}
    }
    if !class.roles.is_empty() {
        entries.push(("roles", array(class.roles.iter().map(|role| string(role_name(*role))))));
    }
    if class.has_attributes {
        entries.push(("user-attributes", "{\"my ns\":{\"x\":[1,null,true]}}".to_owned()));
    }
    object(&entries)
}

fn length_text(length: &Length) -> String {
    match length {
        Length::Static(length) => length.to_string(),
        Length::Dynamic(location) => location.json.clone(),
    }
}

fn named(field: &TypeField, proposal: Proposal) -> String {
    let key = match proposal {
        Proposal::First => "field-type",
        Proposal::Second => "field-class",
    };
    object(&[("name", string(&field.name)), (key, field_type(&field.class, proposal))])
}
