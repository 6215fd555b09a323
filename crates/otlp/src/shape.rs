//! Value shapes, which determine field classes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use ichnos_model::class::{
    BitField, ByteOrder, DisplayBase, FieldClass, FieldKind, FieldLocation, IntegerProperties, Length, Member,
};
use ichnos_model::clock::WallClock;
use ichnos_model::event::EventValues;
use ichnos_model::field::FieldValue;

use crate::any_value::{AnyValue, NamedValue};

/// Shape of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnyShape {
    Nothing,
    Text,
    Boolean,
    Integer,
    Unsigned,
    Time,
    Key,
    Double,
    Bytes,
    Array(Box<AnyShape>),
    List(Vec<(String, AnyShape)>),
    /// Values of several kinds, as texts.
    Mixed,
}

impl AnyShape {
    /// Returns the shape of a value.
    pub(crate) fn new(value: &AnyValue<'_>) -> Self {
        match value {
            AnyValue::Nothing => Self::Nothing,
            AnyValue::Text(_) => Self::Text,
            AnyValue::Boolean(_) => Self::Boolean,
            AnyValue::Integer(_) => Self::Integer,
            AnyValue::Unsigned(_) => Self::Unsigned,
            AnyValue::Time(_) => Self::Time,
            AnyValue::Key(_) => Self::Key,
            AnyValue::Double(_) => Self::Double,
            AnyValue::Bytes(_) => Self::Bytes,
            AnyValue::Array(elements) => {
                let mut shapes = elements.iter().map(Self::new);
                let first = shapes.next().unwrap_or(Self::Nothing);
                let is_common = shapes.all(|shape| shape == first);
                Self::Array(Box::new(if is_common { first } else { Self::Mixed }))
            }
            AnyValue::List(members) if has_repeated_names(members) => Self::Mixed,
            AnyValue::List(members) => Self::List(
                members.iter().map(|member| (member.name.to_string(), Self::new(&member.value))).collect(),
            ),
        }
    }

    /// Returns the number of shapes in it.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Array(element) => 1 + element.size(),
            Self::List(members) => 1 + members.iter().map(|(_, shape)| shape.size()).sum::<usize>(),
            _ => 1,
        }
    }

    /// Appends a key that is unique to the shape.
    pub(crate) fn push_key(&self, key: &mut Vec<u8>) {
        match self {
            Self::Nothing => key.push(b'n'),
            Self::Text => key.push(b't'),
            Self::Boolean => key.push(b'b'),
            Self::Integer => key.push(b'i'),
            Self::Unsigned => key.push(b'u'),
            Self::Time => key.push(b'w'),
            Self::Key => key.push(b'k'),
            Self::Double => key.push(b'd'),
            Self::Bytes => key.push(b'x'),
            Self::Mixed => key.push(b'm'),
            Self::Array(element) => {
                key.push(b'[');
                element.push_key(key);
            }
            Self::List(members) => {
                key.push(b'{');
                for (name, shape) in members {
                    push_key_text(key, name.as_bytes());
                    shape.push_key(key);
                }
                key.push(b'}');
            }
        }
    }

    /// Returns the field class. Frequent classes are shared.
    pub(crate) fn class(&self) -> Arc<FieldClass> {
        static INTEGER: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::signed(64)));
        static UNSIGNED: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::unsigned(64)));
        static DOUBLE: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::float(64)));
        static TEXT: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::string()));
        static KEY: LazyLock<Arc<FieldClass>> = LazyLock::new(|| {
            let bits = BitField::new(64, ByteOrder::LittleEndian, 8);
            let integer = IntegerProperties {
                preferred_base: DisplayBase::Hexadecimal,
                ..IntegerProperties::default()
            };
            Arc::new(FieldClass::new(FieldKind::Integer { bits, integer }))
        });
        Arc::new(match self {
            Self::Integer => return Arc::clone(&INTEGER),
            Self::Unsigned => return Arc::clone(&UNSIGNED),
            Self::Double => return Arc::clone(&DOUBLE),
            Self::Key => return Arc::clone(&KEY),
            Self::Text | Self::Mixed => return Arc::clone(&TEXT),
            Self::Time => FieldClass::wall_clock(false, WallClock::UNIX_NANOSECONDS),
            Self::Nothing => FieldClass::new(FieldKind::Null { alignment: 1 }),
            Self::Boolean => {
                FieldClass::new(FieldKind::Boolean(BitField::new(8, ByteOrder::LittleEndian, 8)))
            }
            Self::Bytes => FieldClass::new(FieldKind::Blob {
                length: Length::Dynamic(Box::new(FieldLocation::by_values())),
                media_type: "application/octet-stream".to_owned(),
                alignment: 8,
            }),
            Self::Array(element) => FieldClass::array_by_values(element.class()),
            Self::List(members) => FieldClass::structure(
                members.iter().map(|(name, shape)| Member::new(name.clone(), shape.class())),
            ),
        })
    }

    /// Appends a value with this shape.
    pub(crate) fn push(&self, value: &AnyValue<'_>, values: &mut EventValues) {
        match (self, value) {
            (Self::Array(shape), AnyValue::Array(elements)) => {
                values.begin_array();
                elements.iter().for_each(|element| shape.push(element, values));
                values.end();
            }
            (Self::List(shapes), AnyValue::List(members)) => {
                values.begin_structure();
                for ((_, shape), member) in shapes.iter().zip(members) {
                    shape.push(&member.value, values);
                }
                values.end();
            }
            (Self::Mixed, value) => values.push(FieldValue::Text(&value.to_text())),
            (_, AnyValue::Nothing) => values.push(FieldValue::Null),
            (_, AnyValue::Text(text)) => values.push(FieldValue::Text(text)),
            (_, AnyValue::Boolean(value)) => values.push(*value),
            (_, AnyValue::Integer(value)) => values.push(*value),
            (_, AnyValue::Unsigned(value) | AnyValue::Time(value) | AnyValue::Key(value)) => {
                values.push(*value)
            }
            (_, AnyValue::Double(value)) => values.push(*value),
            (_, AnyValue::Bytes(bytes)) => values.push(FieldValue::Blob(bytes)),
            // The shape was made from the value.
            (_, AnyValue::Array(_) | AnyValue::List(_)) => {}
        }
    }
}

/// Appends a text after its length.
pub(crate) fn push_key_text(key: &mut Vec<u8>, text: &[u8]) {
    key.extend_from_slice(&(text.len() as u64).to_le_bytes());
    key.extend_from_slice(text);
}

/// Number of names up to which they are compared with each other.
const FEW: usize = 16;

fn has_repeated_names(members: &[NamedValue<'_>]) -> bool {
    let mut names = HashSet::new();
    match members.len() {
        0..=FEW => members
            .iter()
            .enumerate()
            .any(|(index, member)| members.iter().take(index).any(|earlier| earlier.name == member.name)),
        _ => !members.iter().all(|member| names.insert(&*member.name)),
    }
}

/// Renames members with the name of an earlier one: `name_2`, `name_3`.
pub(crate) fn rename_repeated(members: &mut [NamedValue<'_>]) {
    if !has_repeated_names(members) {
        return;
    }
    let mut names: HashSet<String> = HashSet::new();
    for member in members {
        let mut name = member.name.to_string();
        let mut number = 2u32;
        while !names.insert(name.clone()) {
            name = format!("{}_{number}", member.name);
            number += 1;
        }
        member.name = Cow::Owned(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_get_numbers() {
        let mut members = ["a", "b", "a", "a_2", "a"].map(|name| NamedValue::new(name, AnyValue::Nothing));
        rename_repeated(&mut members);
        assert_eq!(members.map(|member| member.name.into_owned()), ["a", "b", "a_2", "a_2_2", "a_3"]);
    }

    #[test]
    fn values_of_several_kinds_are_texts() {
        let array = |elements| AnyShape::new(&AnyValue::Array(elements));
        let text = AnyShape::Array(Box::new(AnyShape::Text));
        assert_eq!(array(vec![AnyValue::text("a"), AnyValue::text("b")]), text);
        let mixed = AnyShape::Array(Box::new(AnyShape::Mixed));
        assert_eq!(array(vec![AnyValue::text("a"), AnyValue::Integer(1)]), mixed);
        assert_eq!(array(vec![]), AnyShape::Array(Box::new(AnyShape::Nothing)));
    }
}
