//! Group keys: properties of the event's class and data stream, and field values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ichnos_model::class::{DisplayBase, FieldClass, Mappings, Uuid, Value};
use ichnos_model::field::{FieldRef, FieldValue, Real, StringEncoding, Text};
use ichnos_model::log::{LevelScale, LogSeverity, LogText};
use ichnos_model::meaning::{EventRole, Meaning, MemberIndex};
use ichnos_model::{DataStream, Event};

use super::key_property::KeyProperty;
use crate::span_name::span_name;

/// Property to group events by.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupBy {
    /// Class name. Pairs that start with a span event use the span name.
    Event,
    /// Name of the span that an event starts or ends. For pairs, the name on a timeline, which can come from the event
    /// or from an object.
    Span,
    /// Data stream.
    Stream,
    /// Host: the member with the meaning machine, else `hostname` in the environment.
    Host,
    /// Field value; see [`find_field`]. In a class without the field, see [`KeyProperty`].
    Field(String),
}

/// Returns the meaning that a name in an option selects. As in tables, `operation` is the operation's identifier.
#[must_use]
pub fn named_meaning(name: &str) -> Option<Meaning> {
    match name {
        "operation" => Some(Meaning::OperationId),
        name => name.parse().ok(),
    }
}

/// Finds a named field in the class of `event`: by path, as in [`FieldRef`], otherwise by [`named_meaning`], where the
/// first member is used. `cpu` is the processor: by meaning, then `cpu_id` in the packet context, then by path. Returns
/// `None` if the class lacks the field.
#[must_use]
pub fn find_field(event: &Event<'_>, name: &str) -> Option<FieldRef> {
    let by_path = |path: &str| FieldRef::new(event, path);
    let by_meaning = |meaning| FieldRef::for_meaning(event, meaning);
    if name == "cpu" {
        return FieldRef::for_processor(event).or_else(|| by_path(name));
    }
    by_path(name).or_else(|| by_meaning(named_meaning(name)?))
}

/// Known fields by name, with the display base of the first class.
pub type KnownFields = BTreeMap<String, DisplayBase>;

/// Group key component.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GroupValue {
    /// Missing field, absent value, or more than one value.
    None,
    /// Integer, with its name if it is an enumeration value.
    Integer(i128, Option<String>),
    /// Floating-point number.
    Real(f64),
    /// Boolean.
    Boolean(bool),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// GUID.
    Guid(Uuid),
}

/// Maximum length of a text or byte sequence in a key. Only this prefix is compared.
pub(super) const MOST_BYTES: usize = 256;

/// Tags for encoded values.
mod tag {
    pub(super) const NONE: u8 = 0;
    pub(super) const INTEGER: u8 = 1;
    pub(super) const NAMED: u8 = 2;
    pub(super) const REAL: u8 = 3;
    pub(super) const BOOLEAN: u8 = 4;
    pub(super) const TEXT: u8 = 5;
    pub(super) const BYTES: u8 = 6;
    pub(super) const GUID: u8 = 7;
}

/// Appends a text, cut to the maximum length.
pub(super) fn push_text(key: &mut Vec<u8>, text: &str) {
    let end = text.floor_char_boundary(MOST_BYTES);
    push_tagged(key, tag::TEXT, &text.as_bytes()[..end]);
}

fn push_tagged(key: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(MOST_BYTES)];
    key.push(tag);
    key.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    key.extend_from_slice(bytes);
}

/// Decodes a key.
pub(super) fn decode(mut key: &[u8]) -> Vec<GroupValue> {
    let mut values = Vec::new();
    while let Some(value) = next_value(&mut key) {
        values.push(value);
    }
    values
}

/// Returns a pair's key in which the class name is replaced with the event's own name.
pub(super) fn with_name(key: &[u8], by: &[GroupBy], name: &str) -> Vec<u8> {
    let (mut named, mut rest) = (Vec::new(), key);
    for by in by {
        let before = rest;
        let _ = next_value(&mut rest);
        match by {
            GroupBy::Event | GroupBy::Span => push_text(&mut named, name),
            _ => named.extend_from_slice(&before[..before.len() - rest.len()]),
        }
    }
    named
}

fn next_value(key: &mut &[u8]) -> Option<GroupValue> {
    fn take<const N: usize>(key: &mut &[u8]) -> Option<[u8; N]> {
        let (first, rest) = key.split_first_chunk()?;
        *key = rest;
        Some(*first)
    }
    fn take_bytes<'k>(key: &mut &'k [u8]) -> Option<&'k [u8]> {
        let length = u16::from_le_bytes(take(key)?);
        let (bytes, rest) = key.split_at_checked(length.into())?;
        *key = rest;
        Some(bytes)
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let [tag] = take(key)?;
    Some(match tag {
        tag::INTEGER => GroupValue::Integer(i128::from_le_bytes(take(key)?), None),
        tag::NAMED => {
            let value = i128::from_le_bytes(take(key)?);
            GroupValue::Integer(value, Some(text(take_bytes(key)?)))
        }
        tag::REAL => GroupValue::Real(f64::from_le_bytes(take(key)?)),
        tag::BOOLEAN => GroupValue::Boolean(take::<1>(key)? != [0]),
        tag::TEXT => GroupValue::Text(text(take_bytes(key)?)),
        tag::BYTES => GroupValue::Bytes(take_bytes(key)?.to_vec()),
        tag::GUID => GroupValue::Guid(Uuid::from_bytes(take(key)?)),
        _ => GroupValue::None,
    })
}

/// Event record class field used in keys.
#[derive(Debug)]
pub(super) struct KeyField {
    field: FieldRef,
    encoding: StringEncoding,
    /// Value names, if it is an enumeration.
    names: Option<Mappings>,
    base: DisplayBase,
}

impl KeyField {
    pub(super) fn find(event: &Event<'_>, name: &str) -> Option<Self> {
        Some(Self::new(event, find_field(event, name)?))
    }

    /// Finds the first member with a meaning.
    pub(super) fn for_meaning(event: &Event<'_>, meaning: Meaning) -> Option<Self> {
        Some(Self::new(event, FieldRef::for_meaning(event, meaning)?))
    }

    /// Finds the processor.
    pub(super) fn for_processor(event: &Event<'_>) -> Option<Self> {
        Some(Self::new(event, FieldRef::for_processor(event)?))
    }

    /// Finds a member.
    pub(super) fn for_member(event: &Event<'_>, member: MemberIndex) -> Option<Self> {
        Some(Self::new(event, FieldRef::for_member(event, member)?))
    }

    fn new(event: &Event<'_>, field: FieldRef) -> Self {
        let class = field.class(event);
        let encoding = field.encoding(event);
        let integer = class.and_then(FieldClass::integer);
        let names = integer.and_then(|integer| integer.mappings.clone());
        let base = integer.map_or(DisplayBase::Decimal, |integer| integer.preferred_base);
        Self { field, encoding, names, base }
    }

    /// Returns the display base.
    pub(super) fn base(&self) -> DisplayBase {
        self.base
    }

    /// Returns `true` if an event contains the field.
    pub(super) fn is_in(&self, event: &Event<'_>) -> bool {
        event.get(&self.field).is_some_and(|value| !matches!(value, FieldValue::Null))
    }

    /// Appends the field's value.
    pub(super) fn push(&self, key: &mut Vec<u8>, event: &Event<'_>) {
        self.push_value(key, event.get(&self.field));
    }

    fn push_value(&self, key: &mut Vec<u8>, value: Option<FieldValue<'_>>) {
        match value {
            Some(FieldValue::Real(real)) => push_real(key, real),
            Some(FieldValue::Boolean(value)) => key.extend_from_slice(&[tag::BOOLEAN, value.into()]),
            Some(FieldValue::Text(bytes)) if self.encoding == StringEncoding::Utf8 => {
                push_utf8(key, bytes);
            }
            Some(FieldValue::Text(bytes)) => {
                // Longer bytes would be cut anyway.
                let bytes = &bytes[..bytes.len().min(4 * MOST_BYTES)];
                push_text(key, &Text { bytes, raw: bytes, encoding: self.encoding }.to_str_lossy());
            }
            Some(FieldValue::Blob(bytes)) => push_tagged(key, tag::BYTES, bytes),
            Some(FieldValue::Guid(uuid)) => {
                key.push(tag::GUID);
                key.extend_from_slice(uuid.as_bytes());
            }
            value => match value.and_then(|value| value.as_i128()) {
                Some(value) => self.push_integer(key, value),
                None => key.push(tag::NONE),
            },
        }
    }

    fn push_integer(&self, key: &mut Vec<u8>, value: i128) {
        let mut push = |tag: u8| {
            key.push(tag);
            key.extend_from_slice(&value.to_le_bytes());
        };
        let Some(name) = self.names.as_ref().and_then(|names| names.names_of(value).next()) else {
            return push(tag::INTEGER);
        };
        push(tag::NAMED);
        let end = name.floor_char_boundary(MOST_BYTES);
        key.extend_from_slice(&(end as u16).to_le_bytes());
        key.extend_from_slice(&name.as_bytes()[..end]);
    }
}

fn push_real(key: &mut Vec<u8>, real: Real<'_>) {
    key.push(tag::REAL);
    key.extend_from_slice(&real.to_f64().to_le_bytes());
}

/// Appends a text that may be invalid UTF-8. A valid text that is too long is cut at a character boundary.
fn push_utf8(key: &mut Vec<u8>, bytes: &[u8]) {
    let mut end = bytes.len().min(MOST_BYTES);
    if end < bytes.len() {
        while end > MOST_BYTES - 4 && bytes[end] & 0xc0 == 0x80 {
            end -= 1;
        }
    }
    push_tagged(key, tag::TEXT, &bytes[..end]);
}

/// Source of a key component in a class.
#[derive(Debug)]
enum KeySource {
    /// No field: a property of the class or the data stream, or a missing field.
    Nothing,
    Field(KeyField),
    /// Encoded value of all events in the class.
    Constant(Vec<u8>),
    /// Severity member, as the level on a scale.
    Level(FieldRef, LevelScale),
    Message(LogText),
}

impl KeySource {
    /// Finds a field, or else a property.
    fn find(event: &Event<'_>, name: &str) -> Self {
        if let Some(field) = KeyField::find(event, name) {
            return Self::Field(field);
        }
        let property = KeyProperty::named(name).filter(|property| property.is_in(event.class));
        let text = |text: &str| {
            let mut key = Vec::new();
            push_text(&mut key, text);
            Self::Constant(key)
        };
        match (property, event.class.log.as_deref()) {
            (Some(KeyProperty::Trace), _) => text(&event.stream.trace.path),
            (Some(KeyProperty::Message), Some(role)) => role.text.map_or(Self::Nothing, Self::Message),
            (Some(property), Some(role)) => match (property, role.severity) {
                (KeyProperty::Severity, LogSeverity::Constant(number)) => {
                    Self::Constant([&[tag::INTEGER][..], &i128::from(number).to_le_bytes()].concat())
                }
                (KeyProperty::Level, LogSeverity::Constant(number)) => text(role.scale.level(number).name()),
                (KeyProperty::Level, LogSeverity::Member) => {
                    let member = FieldRef::for_meaning(event, Meaning::Severity);
                    member.map_or(Self::Nothing, |member| Self::Level(member, role.scale))
                }
                _ => Self::Nothing,
            },
            _ => Self::Nothing,
        }
    }

    /// Returns `true` if an event has the value.
    fn is_in(&self, event: &Event<'_>) -> bool {
        match self {
            Self::Nothing => false,
            Self::Field(field) => field.is_in(event),
            Self::Constant(_) | Self::Level(..) | Self::Message(_) => true,
        }
    }

    /// Returns `true` if all events of the class have the same value.
    fn is_constant(&self) -> bool {
        matches!(self, Self::Nothing | Self::Constant(_))
    }

    /// Appends an event's value.
    fn push(&self, key: &mut Vec<u8>, event: &Event<'_>) {
        match self {
            Self::Nothing => key.push(tag::NONE),
            Self::Field(field) => field.push(key, event),
            Self::Constant(value) => key.extend_from_slice(value),
            Self::Level(member, scale) => match event.get(member).and_then(|number| number.as_i64()) {
                Some(number) => push_text(key, scale.level(number).name()),
                None => key.push(tag::NONE),
            },
            Self::Message(text) => {
                let mut start = TextStart(String::new());
                // It stops at the maximum length, or at a decoding error.
                let _ = (text.write)(event, &mut start);
                push_text(key, &start.0);
            }
        }
    }
}

/// Start of a text that can be in a key.
struct TextStart(String);

impl fmt::Write for TextStart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.floor_char_boundary(MOST_BYTES);
        self.0.push_str(&text[..end]);
        if end < text.len() || self.0.len() > MOST_BYTES { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Data stream properties in keys.
#[derive(Debug)]
pub(super) struct StreamGroupKey {
    name: Arc<str>,
    host: String,
}

impl StreamGroupKey {
    pub(super) fn new(stream: &DataStream) -> Self {
        let host = stream.trace.class.environment("hostname").and_then(Value::as_text);
        Self { name: Arc::from(&*stream.name), host: host.unwrap_or_default().to_owned() }
    }
}

/// Event record class properties in keys.
#[derive(Debug)]
pub(super) struct ClassGroupKey {
    name: String,
    span: String,
    sources: Box<[KeySource]>,
}

impl ClassGroupKey {
    pub(super) fn new(event: &Event<'_>, by: &[GroupBy]) -> Self {
        let source = |by: &GroupBy| match by {
            GroupBy::Field(name) => KeySource::find(event, name),
            GroupBy::Host => {
                KeyField::for_meaning(event, Meaning::Machine).map_or(KeySource::Nothing, KeySource::Field)
            }
            _ => KeySource::Nothing,
        };
        let name = match &event.class.name {
            Some(name) => name.clone(),
            None => format!("id {}", event.class.id),
        };
        Self { name, span: span_name(event).to_owned(), sources: by.iter().map(source).collect() }
    }

    /// Creates the key of pairs that events of this class start.
    pub(super) fn for_pairs(event: &Event<'_>, by: &[GroupBy]) -> Self {
        let mut key = Self::new(event, by);
        if event.class.role == EventRole::Begin && !key.span.is_empty() {
            key.name.clone_from(&key.span);
        }
        key
    }

    /// Appends an event's key.
    pub(super) fn push(&self, key: &mut Vec<u8>, by: &[GroupBy], stream: &StreamGroupKey, event: &Event<'_>) {
        for (by, source) in by.iter().zip(&self.sources) {
            match by {
                GroupBy::Event => push_text(key, &self.name),
                GroupBy::Span => push_text(key, &self.span),
                GroupBy::Stream => stream.push(key, by),
                GroupBy::Host if !source.is_in(event) => stream.push(key, by),
                _ => source.push(key, event),
            }
        }
    }

    /// Returns `true` if the key is the same for all events of the class.
    #[inline]
    pub(super) fn is_of_stream(&self) -> bool {
        self.sources.iter().all(KeySource::is_constant)
    }

    /// Adds the fields that the class contains.
    pub(super) fn add_known(&self, by: &[GroupBy], known: &mut KnownFields) {
        for (by, source) in by.iter().zip(&self.sources) {
            let base = match source {
                KeySource::Nothing => continue,
                KeySource::Field(field) => field.base(),
                _ => DisplayBase::Decimal,
            };
            if let GroupBy::Field(name) = by {
                known.entry(name.clone()).or_insert(base);
            }
        }
    }
}

impl StreamGroupKey {
    /// Appends a component that depends on the data stream.
    pub(super) fn push(&self, key: &mut Vec<u8>, by: &GroupBy) {
        match by {
            GroupBy::Stream => push_long_text(key, &self.name),
            GroupBy::Host if !self.host.is_empty() => push_text(key, &self.host),
            _ => key.push(tag::NONE),
        }
    }
}

/// Appends a data stream name. It is a path, so the last bytes are kept.
fn push_long_text(key: &mut Vec<u8>, text: &str) {
    const MOST: usize = 4096;
    let begin = text.ceil_char_boundary(text.len().saturating_sub(MOST));
    let text = &text.as_bytes()[begin..];
    key.push(tag::TEXT);
    key.extend_from_slice(&(text.len() as u16).to_le_bytes());
    key.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_back_to_values() {
        let mut key = Vec::new();
        push_text(&mut key, "é");
        push_real(&mut key, Real::Double(-0.5));
        push_utf8(&mut key, "é".repeat(200).as_bytes());
        push_utf8(&mut key, &[0x80; 300]);
        push_long_text(&mut key, &"é".repeat(3000));
        key.extend_from_slice(&[tag::BOOLEAN, 1, tag::NONE, tag::GUID]);
        key.extend_from_slice(&[7; 16]);
        let values = decode(&key);
        let text = |text: &str, count| GroupValue::Text(text.repeat(count));
        let expected = [
            text("é", 1),
            GroupValue::Real(-0.5),
            text("é", 128),
            text("\u{fffd}", 252),
            text("é", 2048),
            GroupValue::Boolean(true),
            GroupValue::None,
            GroupValue::Guid(Uuid::from_bytes([7; 16])),
        ];
        assert_eq!(values, expected);
        (0..key.len()).for_each(|end| drop(decode(&key[..end])));
    }

    #[test]
    fn event_names_replace_class_names() {
        let mut key = Vec::new();
        push_real(&mut key, Real::Double(1.5));
        push_text(&mut key, "class");
        key.push(tag::NONE);
        let by = [GroupBy::Field("x".to_owned()), GroupBy::Span, GroupBy::Host];
        let named = with_name(&key, &by, "own");
        let expected = [GroupValue::Real(1.5), GroupValue::Text("own".to_owned()), GroupValue::None];
        assert_eq!(decode(&named), expected);
        assert_eq!(decode(&with_name(&named, &by, "class")), decode(&key));
        (0..key.len()).for_each(|end| drop(with_name(&key[..end], &by, "own")));
    }
}
