//! JSON writer. It indents, writes lists of plain values on a single line, and keeps the property order.

use std::collections::HashSet;
use std::fmt::Write as _;

use ichnos_json::read::is_number;
use ichnos_json::write::write_printable;
use ichnos_model::class::{Attributes, Value};

use super::unsupported::Refusals;

/// Maximum depth of attribute values, equal to the readers' default limit.
const DEEPEST: u32 = 128;

/// Object to which properties are added.
#[derive(Debug, Default)]
pub(super) struct JsonObject(Vec<(String, Value)>);

impl JsonObject {
    /// Adds a property.
    pub(super) fn set(&mut self, name: &str, value: impl Into<PropertyValue>) {
        self.0.push((name.to_owned(), value.into().0));
    }

    /// Adds a property if it has a value.
    pub(super) fn set_some(&mut self, name: &str, value: Option<impl Into<PropertyValue>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Adds a property unless its value equals the default.
    pub(super) fn set_unless<T: Into<PropertyValue> + PartialEq>(&mut self, name: &str, value: T, absent: T) {
        if value != absent {
            self.set(name, value);
        }
    }

    /// Returns the object.
    pub(super) fn finish(self) -> Value {
        Value::Map(self.0)
    }
}

/// Property value.
pub(super) struct PropertyValue(Value);

impl From<Value> for PropertyValue {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

impl From<&str> for PropertyValue {
    fn from(text: &str) -> Self {
        Self(Value::Text(text.to_owned()))
    }
}

impl From<&String> for PropertyValue {
    fn from(text: &String) -> Self {
        Self(Value::Text(text.clone()))
    }
}

impl From<bool> for PropertyValue {
    fn from(value: bool) -> Self {
        Self(Value::Boolean(value))
    }
}

impl From<i64> for PropertyValue {
    fn from(value: i64) -> Self {
        Self(Value::Integer(value.into()))
    }
}

impl From<u64> for PropertyValue {
    fn from(value: u64) -> Self {
        Self(Value::Integer(value.into()))
    }
}

impl From<u128> for PropertyValue {
    fn from(value: u128) -> Self {
        Self(match i128::try_from(value) {
            Ok(value) => Value::Integer(value),
            Err(_) => Value::Number(value.to_string()),
        })
    }
}

/// Returns a text as a value.
pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Returns attributes as an object, or `None` if they are empty.
pub(super) fn attributes(attributes: &Attributes, refusals: &mut Refusals) -> Option<Value> {
    if attributes.is_empty() {
        return None;
    }
    let mut names = HashSet::new();
    for (name, value) in attributes {
        refusals.within(format!("attributes `{name}`"), |refusals| {
            refusals.refuse_if(!names.insert(name), "a duplicate namespace");
            check(value, 0, refusals);
        });
    }
    Some(Value::Map(attributes.entries().to_vec()))
}

/// Refuses values that JSON does not support.
pub(super) fn check(value: &Value, depth: u32, refusals: &mut Refusals) {
    if depth >= DEEPEST {
        return refusals.refuse(format!("values that nest deeper than {DEEPEST} levels"));
    }
    match value {
        Value::Number(digits) => refusals.refuse_if(!is_number(digits), "an invalid number"),
        Value::Array(values) => values.iter().for_each(|value| check(value, depth + 1, refusals)),
        Value::Map(entries) => entries.iter().for_each(|(_, value)| check(value, depth + 1, refusals)),
        Value::Null | Value::Boolean(_) | Value::Integer(_) | Value::Text(_) => {}
    }
}

/// JSON metadata stream, built fragment by fragment.
pub(super) struct Fragments {
    text: String,
    /// `true` for an array, `false` for a text sequence (RFC 7464).
    is_array: bool,
    most: u64,
}

impl Fragments {
    /// Creates an empty stream. A text above `most` bytes stays incomplete, because it is too long to be read.
    pub(super) fn new(is_array: bool, most: u64) -> Self {
        Self { text: String::new(), is_array, most }
    }

    /// Adds a fragment.
    pub(super) fn push(&mut self, fragment: &Value) {
        if self.text.len() as u64 > self.most {
            return;
        }
        if self.is_array {
            self.text.push_str(if self.text.is_empty() { "[\n  " } else { ",\n  " });
            write(&mut self.text, fragment, 1);
        } else {
            self.text.push('\u{1e}');
            write(&mut self.text, fragment, 0);
            self.text.push('\n');
        }
    }

    /// Returns the complete text.
    pub(super) fn finish(mut self) -> String {
        if self.is_array {
            self.text.push_str("\n]\n");
        }
        self.text
    }
}

/// Appends a value after `indent` indentation steps.
pub(super) fn write(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Integer(value) => {
            // Writing to a text cannot fail.
            let _ = write!(out, "{value}");
        }
        Value::Number(digits) => out.push_str(digits),
        Value::Text(text) => push_text(out, text),
        Value::Array(values) => {
            let is_short = is_line(value);
            list(out, ['[', ']'], values.iter(), indent, is_short, |out, value, indent| {
                write(out, value, indent);
            });
        }
        Value::Map(entries) => {
            let is_short = is_line(value);
            list(out, ['{', '}'], entries.iter(), indent, is_short, |out, (name, value), indent| {
                push_text(out, name);
                out.push_str(": ");
                write(out, value, indent);
            });
        }
    }
}

/// Returns `true` if a value fits a single line: plain values, lists of plain values, lists with pairs of them, and
/// objects with up to two plain values.
fn is_line(value: &Value) -> bool {
    let is_plain = |value: &Value| !matches!(value, Value::Array(_) | Value::Map(_));
    let is_list = |value: &Value| {
        matches!(value, Value::Array(values) if values.iter().all(is_plain)) || is_plain(value)
    };
    match value {
        Value::Array(values) => values.iter().all(is_list),
        Value::Map(entries) => entries.len() <= 2 && entries.iter().all(|(_, value)| is_list(value)),
        _ => true,
    }
}

fn list<T>(
    out: &mut String,
    [open, close]: [char; 2],
    values: impl ExactSizeIterator<Item = T>,
    indent: usize,
    is_short: bool,
    write: impl Fn(&mut String, T, usize),
) {
    out.push(open);
    let is_empty = values.len() == 0;
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(',');
        }
        match (is_short, index) {
            (false, _) => new_line(out, indent + 1),
            (true, 0) => {}
            (true, _) => out.push(' '),
        }
        write(out, value, indent + 1);
    }
    if !is_short && !is_empty {
        new_line(out, indent);
    }
    out.push(close);
}

fn push_text(out: &mut String, text: &str) {
    // Writing to a text cannot fail.
    let _ = write_printable(out, text);
}

fn new_line(out: &mut String, indent: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", indent));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_values_indented() {
        let mut object = JsonObject::default();
        object.set("a\"b", "x\\\u{0}\u{1f}\u{7f}\u{ffff}\u{10ffff}/\n");
        object.set("list", Value::Array(vec![Value::Integer(1), Value::Array(vec![Value::Null])]));
        object.set("maps", Value::Array(vec![Value::Map(vec![])]));
        object.set("big", u128::MAX);
        let mut out = String::new();
        write(&mut out, &object.finish(), 0);
        assert_eq!(
            out,
            "{\n  \"a\\\"b\": \"x\\\\\\u0000\\u001f\\u007f\u{ffff}\u{10ffff}/\\n\",\n  \"list\": [1, [null]],\n  \
             \"maps\": [\n    {}\n  ],\n  \"big\": 340282366920938463463374607431768211455\n}"
        );
    }
}
