//! Checked access to JSON values. Unexpected values become problems with positions.

use ichnos_model::class::{Attributes, Uuid, WideInteger};
use ichnos_model::trace::{Diagnostic, TextPosition};

use super::text::{Json, JsonNode, Property, shortened};
use crate::metadata::name_numbers::NameNumbers;
use crate::metadata::{Problems, memory};

/// Reports an invalid value.
pub(super) fn refuse(node: &JsonNode, expected: impl Into<String>, problems: &mut Problems) {
    problems.add(wrong(node, expected));
}

/// Returns a value, or reports the expected value.
pub(super) fn or_refuse<T>(
    value: Option<T>,
    node: &JsonNode,
    expected: impl Into<String>,
    problems: &mut Problems,
) -> Option<T> {
    if value.is_none() {
        refuse(node, expected, problems);
    }
    value
}

/// Reports a bit count above a limit.
pub(super) fn refuse_at_limit(node: &JsonNode, most: u64, limit: &'static str, problems: &mut Problems) {
    problems.add(wrong(node, format!("at most {most} bits, the limit")).limit(limit));
}

fn wrong(node: &JsonNode, expected: impl Into<String>) -> Diagnostic {
    let message = match &node.property {
        Some(name) => format!("invalid property `{}`", shortened(name)),
        None => "invalid value".to_owned(),
    };
    Diagnostic::error(node.position, message).expected(expected, node.describe())
}

/// Joins names for a message: "`a`, `b` or `c`".
pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// Reads a string.
pub(super) fn text<'n>(node: &'n JsonNode, problems: &mut Problems) -> Option<&'n str> {
    or_refuse(node.as_text(), node, "a string", problems)
}

/// Reads a boolean.
pub(super) fn boolean(node: &JsonNode, problems: &mut Problems) -> Option<bool> {
    let value = match node.json {
        Json::Boolean(value) => Some(value),
        _ => None,
    };
    or_refuse(value, node, "true or false", problems)
}

/// Returns a node's integer if it fits an `i128`.
fn narrow(node: &JsonNode) -> Option<i128> {
    match node.json {
        Json::Integer(value) => Some(value),
        _ => None,
    }
}

/// Description of integers that fit an `i128`, for messages.
pub(super) const NARROW: &str = "an integer from -2^127 to 2^127 - 1";

/// Reads an integer with up to 128 bits, including its sign.
pub(super) fn integer(node: &JsonNode, problems: &mut Problems) -> Option<i128> {
    or_refuse(narrow(node), node, NARROW, problems)
}

/// Reads an integer with up to `most` bits, excluding its sign.
pub(super) fn wide_integer(node: &JsonNode, most: u64, problems: &mut Problems) -> Option<WideInteger> {
    let value = match &node.json {
        Json::Integer(value) => Some(WideInteger::from(*value)),
        // Parsing so few digits takes negligible time.
        Json::BigInteger(digits) if digits.len() as u64 / 3 <= most => WideInteger::parse(digits, 10),
        _ => None,
    };
    let value = value.filter(|value| value.bits() <= most.max(127));
    if value.is_none() {
        refuse(node, format!("an integer of at most {most} bits"), problems);
    }
    value
}

/// Reads a class id: an unsigned integer with up to 128 bits.
pub(super) fn id(node: &JsonNode, problems: &mut Problems) -> Option<u128> {
    let value = match &node.json {
        Json::Integer(value) => u128::try_from(*value).ok(),
        Json::BigInteger(digits) => digits.parse().ok(),
        _ => None,
    };
    or_refuse(value, node, "an unsigned integer of at most 128 bits", problems)
}

/// Reads an unsigned integer with up to 64 bits.
pub(super) fn unsigned(node: &JsonNode, problems: &mut Problems) -> Option<u64> {
    let value = narrow(node).and_then(|value| u64::try_from(value).ok());
    or_refuse(value, node, "an unsigned integer of at most 64 bits", problems)
}

/// Reads an unsigned integer greater than 0.
pub(super) fn positive(node: &JsonNode, problems: &mut Problems) -> Option<u64> {
    greater_than_0(unsigned(node, problems)?, node, problems)
}

/// Checks an integer that must be greater than 0.
pub(super) fn greater_than_0(value: u64, node: &JsonNode, problems: &mut Problems) -> Option<u64> {
    or_refuse(Some(value).filter(|value| *value > 0), node, "an integer greater than 0", problems)
}

/// Checks a power of two of at least `least`.
pub(super) fn alignment_value(
    value: u64,
    least: u64,
    node: &JsonNode,
    problems: &mut Problems,
) -> Option<u64> {
    if value.is_power_of_two() && value >= least {
        return Some(value);
    }
    let expected = match least {
        0 | 1 => "a power of two".to_owned(),
        _ => format!("a power of two of at least {least}"),
    };
    refuse(node, expected, problems);
    None
}

/// Returns an array's elements.
pub(super) fn array<'n>(node: &'n JsonNode, problems: &mut Problems) -> Option<&'n [JsonNode]> {
    let elements = match &node.json {
        Json::Array(values) => Some(&values[..]),
        _ => None,
    };
    or_refuse(elements, node, "an array", problems)
}

/// Returns the elements of an array that must not be empty.
pub(super) fn non_empty_array<'n>(
    node: &'n JsonNode,
    expected: &str,
    problems: &mut Problems,
) -> Option<&'n [JsonNode]> {
    let elements = array(node, problems)?;
    or_refuse(Some(elements).filter(|elements| !elements.is_empty()), node, expected, problems)
}

/// Returns an object's properties.
pub(super) fn properties<'n>(node: &'n JsonNode, problems: &mut Problems) -> Option<&'n [Property]> {
    let properties = match &node.json {
        Json::Object(properties) => Some(&properties[..]),
        _ => None,
    };
    or_refuse(properties, node, "an object", problems)
}

/// Reports every property with a duplicate name.
pub(super) fn refuse_duplicates(properties: &[Property], problems: &mut Problems) {
    if properties.len() < 2 {
        return;
    }
    let name_of = |number: u32| properties.get(number as usize).map_or("", |property| &*property.name);
    let mut names = NameNumbers::default();
    for (property, number) in properties.iter().zip(0..) {
        let is_new = match properties.len() {
            // For few properties, comparing all pairs is faster.
            0..=16 => (0..number).all(|before| name_of(before) != &*property.name),
            _ => names.add(&property.name, number, name_of).is_ok(),
        };
        if !is_new {
            let message = format!("duplicate property `{}`", shortened(&property.name));
            problems.error(property.name_position, message);
        }
    }
}

/// Reads attributes: namespaces and JSON values (CTF2-SPEC-2.0, "Attributes"; CTF2-PROP-2.0, "User attributes";
/// CTF2-PROP-1.0, "User attributes").
pub(super) fn attributes(node: &JsonNode, problems: &mut Problems) -> Attributes {
    // A value of another kind was already reported.
    let properties = properties(node, problems).unwrap_or_default();
    refuse_duplicates(properties, problems);
    let attributes: Attributes =
        properties.iter().map(|p| (p.name.to_string(), p.value.to_value())).collect();
    problems.charge(memory::of_attributes(&attributes), node.position);
    attributes
}

/// Treatment of undefined properties.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnknownProperties {
    /// PROP-2.0 and SPEC-2.0 do not allow other properties.
    Refuse,
    /// PROP-1.0 requires ignoring them.
    Ignore,
}

/// Object with known and unknown properties.
pub(super) struct Object<'n> {
    /// Object position.
    pub(super) position: TextPosition,
    properties: &'n [Property],
    known: Vec<&'static str>,
}

impl<'n> Object<'n> {
    /// Opens an object, and reports duplicate names.
    pub(super) fn open(node: &'n JsonNode, problems: &mut Problems) -> Option<Self> {
        let properties = properties(node, problems)?;
        refuse_duplicates(properties, problems);
        Some(Self::from_properties(node, properties))
    }

    /// Opens an object without checking its names.
    pub(super) fn from_properties(node: &'n JsonNode, properties: &'n [Property]) -> Self {
        Self { position: node.position, properties, known: Vec::new() }
    }

    /// Returns `true` if a property is present. The property stays unknown.
    pub(super) fn has(&self, name: &str) -> bool {
        self.properties.iter().any(|property| *property.name == *name)
    }

    /// Returns a property's value, and marks the property as known.
    pub(super) fn get(&mut self, name: &'static str) -> Option<&'n JsonNode> {
        self.known.push(name);
        self.properties.iter().find(|property| *property.name == *name).map(|property| &property.value)
    }

    /// Returns the position of a property's name.
    pub(super) fn name_position(&self, name: &str) -> TextPosition {
        let property = self.properties.iter().find(|property| *property.name == *name);
        property.map_or(self.position, |property| property.name_position)
    }

    /// Returns the position of a property's value, or the object's position if the property is missing.
    pub(super) fn position_of(&self, node: Option<&JsonNode>) -> TextPosition {
        node.map_or(self.position, |node| node.position)
    }

    /// Returns a required property's value.
    pub(super) fn require(&mut self, name: &'static str, problems: &mut Problems) -> Option<&'n JsonNode> {
        let value = self.get(name);
        if value.is_none() {
            problems.error(self.position, format!("the property `{name}` is missing"));
        }
        value
    }

    /// Returns a property's text, if present.
    pub(super) fn text(&mut self, name: &'static str, problems: &mut Problems) -> Option<String> {
        self.get(name).and_then(|node| text(node, problems)).map(str::to_owned)
    }

    /// Reports properties that were not read.
    pub(super) fn finish(self, unknown: UnknownProperties, problems: &mut Problems) {
        for property in self.properties {
            if self.known.iter().any(|known| *known == &*property.name) {
                continue;
            }
            let message = format!("unknown property `{}`", shortened(&property.name));
            // Uses the value's position, as for all other property problems.
            match unknown {
                UnknownProperties::Refuse => problems.add(
                    Diagnostic::error(property.value.position, message)
                        .expected(listed(&self.known), format!("`{}`", shortened(&property.name))),
                ),
                UnknownProperties::Ignore => {
                    problems.add(Diagnostic::note(property.value.position, format!("{message}: ignored")))
                }
            }
        }
    }
}

/// Reads a UUID from 16 bytes.
pub(super) fn uuid(node: &JsonNode, problems: &mut Problems) -> Option<Uuid> {
    let elements = array(node, problems)?;
    let bytes: Option<Vec<u8>> = elements
        .iter()
        .map(|element| match element.json {
            Json::Integer(value) => u8::try_from(value).ok(),
            _ => None,
        })
        .collect();
    let uuid = bytes.as_ref().and_then(|bytes| Uuid::from_slice(bytes).ok());
    if uuid.is_none() {
        let wrong = elements.iter().find(|element| !matches!(element.json, Json::Integer(0..=255)));
        match wrong {
            Some(element) => refuse(element, "an integer from 0 to 255", problems),
            None => refuse(node, "16 integers", problems),
        }
    }
    uuid
}
