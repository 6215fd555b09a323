//! Value shapes, which determine field classes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use ichnos_model::class::{
    BitField, ByteOrder, DisplayBase, FieldClass, FieldKind, FieldLocation, IntegerProperties, Length, Member,
};
use ichnos_model::clock::WallClock;
use ichnos_model::event::EventValues;
use ichnos_model::field::FieldValue;

use crate::any_value::{AnyValue, NamedValue};

/// Maximum number of members if the lists in an array differ. Beyond it, the lists become texts.
const MOST_MEMBERS: usize = 256;

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
    /// Element of arrays that are empty.
    Missing,
    Array(Box<AnyShape>),
    List(Vec<MemberShape>),
    /// Values of several kinds, as texts.
    Mixed,
}

/// Shape of a member of lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberShape {
    name: String,
    shape: AnyShape,
    /// `true` if some of the lists in an array lack it.
    is_optional: bool,
}

impl MemberShape {
    /// Creates the shape of a member that all lists have.
    pub(crate) fn new(name: &str, shape: AnyShape) -> Self {
        Self { name: name.to_owned(), shape, is_optional: false }
    }

    /// Creates the shape of a member that lists can lack.
    pub(crate) fn optional(name: &str, shape: AnyShape) -> Self {
        Self { is_optional: true, ..Self::new(name, shape) }
    }
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
                let shapes = elements.iter().map(Self::new);
                Self::Array(Box::new(shapes.reduce(Self::joined).unwrap_or(Self::Missing)))
            }
            AnyValue::List(members) if has_repeated_names(members) => Self::Mixed,
            AnyValue::List(members) => Self::List(
                members
                    .iter()
                    .map(|member| MemberShape::new(&member.name, Self::new(&member.value)))
                    .collect(),
            ),
        }
    }

    /// Returns the shape of values that have one of two shapes.
    pub(crate) fn joined(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Missing, shape) | (shape, Self::Missing) => shape,
            (Self::Array(one), Self::Array(other)) => Self::Array(Box::new(one.joined(*other))),
            (Self::List(one), Self::List(other)) => Self::joined_lists(one, other),
            _ => Self::Mixed,
        }
    }

    /// Returns the shape of lists that have the members of one of two lists. Its size is limited, so that many lists with
    /// different members do not take long.
    fn joined_lists(mut one: Vec<MemberShape>, other: Vec<MemberShape>) -> Self {
        if one.len().max(other.len()) > MOST_MEMBERS {
            return Self::Mixed;
        }
        let known = one.len();
        let mut indexes: HashMap<String, usize> = match other.len() {
            0..=FEW => HashMap::new(),
            _ => one.iter().enumerate().map(|(index, member)| (member.name.clone(), index)).collect(),
        };
        let is_few = other.len() <= FEW;
        let mut is_found = vec![false; known];
        for member in other {
            // Names in a list differ from each other.
            let index = match is_few {
                true => one.iter().take(known).position(|earlier| earlier.name == member.name),
                false => indexes.remove(&member.name),
            };
            match index.and_then(|index| one.get_mut(index).zip(is_found.get_mut(index))) {
                Some((known, found)) => {
                    *found = true;
                    let shape = std::mem::replace(&mut known.shape, Self::Missing);
                    known.shape = shape.joined(member.shape);
                    known.is_optional |= member.is_optional;
                }
                None => one.push(MemberShape { is_optional: true, ..member }),
            }
        }
        if one.len() > MOST_MEMBERS {
            return Self::Mixed;
        }
        for (member, is_found) in one.iter_mut().zip(is_found) {
            member.is_optional |= !is_found;
        }
        Self::List(one)
    }

    /// Returns `true` if some values become texts.
    pub(crate) fn is_lowered(&self) -> bool {
        match self {
            Self::Mixed => true,
            Self::Array(element) => element.is_lowered(),
            Self::List(members) => members.iter().any(|member| member.shape.is_lowered()),
            _ => false,
        }
    }

    /// Returns the number of shapes in it.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Array(element) => 1 + element.size(),
            Self::List(members) => 1 + members.iter().map(|member| member.shape.size()).sum::<usize>(),
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
            Self::Missing => key.push(b'0'),
            Self::Array(element) => {
                key.push(b'[');
                element.push_key(key);
            }
            Self::List(members) => {
                key.push(b'{');
                for MemberShape { name, shape, is_optional } in members {
                    push_key_text(key, name.as_bytes());
                    key.push(u8::from(*is_optional));
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
            Self::Nothing | Self::Missing => FieldClass::new(FieldKind::Null { alignment: 1 }),
            Self::Boolean => {
                FieldClass::new(FieldKind::Boolean(BitField::new(8, ByteOrder::LittleEndian, 8)))
            }
            Self::Bytes => FieldClass::new(FieldKind::Blob {
                length: Length::Dynamic(Box::new(FieldLocation::by_values())),
                media_type: "application/octet-stream".to_owned(),
                alignment: 8,
            }),
            Self::Array(element) => FieldClass::array_by_values(element.class()),
            Self::List(members) => {
                FieldClass::structure(members.iter().map(|MemberShape { name, shape, is_optional }| {
                    let class = shape.class();
                    Member::new(
                        name.clone(),
                        if *is_optional { Arc::new(FieldClass::optional(class)) } else { class },
                    )
                }))
            }
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
                push_members(shapes, members, values);
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

/// Appends the members of a list, in the order of their shapes.
fn push_members(shapes: &[MemberShape], members: &[NamedValue<'_>], values: &mut EventValues) {
    let is_in_order = shapes.len() == members.len()
        && shapes.iter().zip(members).all(|(shape, member)| shape.name == member.name);
    let is_few = members.len() <= FEW;
    let by_name: HashMap<&str, &AnyValue<'_>> = match is_in_order || is_few {
        true => HashMap::new(),
        false => members.iter().map(|member| (&*member.name, &member.value)).collect(),
    };
    for (index, MemberShape { name, shape, is_optional }) in shapes.iter().enumerate() {
        let value = match is_in_order {
            true => members.get(index).map(|member| &member.value),
            false if is_few => members.iter().find(|member| member.name == *name).map(|member| &member.value),
            false => by_name.get(&**name).copied(),
        };
        if *is_optional {
            values.push_optional(value.is_some());
        }
        // The shape was made from the values, so only an optional member can be missing.
        if let Some(value) = value {
            shape.push(value, values);
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

/// Renames members whose name is taken: `name_2`, `name_3`. Returns their indexes and original names.
pub(crate) fn rename_repeated(members: &mut [NamedValue<'_>]) -> Vec<(usize, String)> {
    let mut renamed = Vec::new();
    if !has_repeated_names(members) {
        return renamed;
    }
    let mut names: HashSet<String> = HashSet::new();
    for (index, member) in members.iter_mut().enumerate() {
        let mut name = member.name.to_string();
        let mut number = 2u32;
        while !names.insert(name.clone()) {
            name = format!("{}_{number}", member.name);
            number += 1;
        }
        if number > 2 {
            renamed.push((index, member.name.to_string()));
        }
        member.name = Cow::Owned(name);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_in_an_array_have_the_members_of_all() {
        let list = |names: &[&'static str]| {
            AnyValue::List(names.iter().map(|name| NamedValue::new(name, AnyValue::Integer(1))).collect())
        };
        let array = AnyValue::Array(vec![list(&["a", "b"]), list(&["c", "a"]), list(&[])]);
        let AnyShape::Array(element) = AnyShape::new(&array) else { panic!() };
        let AnyShape::List(members) = *element else { panic!() };
        let found: Vec<_> = members.iter().map(|member| (&*member.name, member.is_optional)).collect();
        assert_eq!(found, [("a", true), ("b", true), ("c", true)]);
        let both = AnyValue::Array(vec![list(&["a", "b"]), list(&["b", "a"])]);
        assert_eq!(AnyShape::new(&both).size(), 4);
        assert!(!AnyShape::new(&both).is_lowered());
    }

    #[test]
    fn lists_with_too_many_different_members_are_texts() {
        let names: Vec<String> = (0..20_000).map(|number| format!("k{number}")).collect();
        let array = |count| {
            let list = |name| AnyValue::List(vec![NamedValue::new(name, AnyValue::Integer(1))]);
            AnyShape::new(&AnyValue::Array(names.iter().take(count).map(|name| list(name)).collect()))
        };
        assert_eq!(array(MOST_MEMBERS).size(), MOST_MEMBERS + 2);
        let begin = std::time::Instant::now();
        assert_eq!(array(names.len()), AnyShape::Array(Box::new(AnyShape::Mixed)));
        assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
    }

    #[test]
    fn repeated_names_get_numbers() {
        let mut members = ["a", "b", "a", "a_2", "a"].map(|name| NamedValue::new(name, AnyValue::Nothing));
        let renamed = rename_repeated(&mut members);
        let original = [(2, "a"), (3, "a_2"), (4, "a")];
        assert_eq!(renamed, original.map(|(index, name)| (index, name.to_owned())));
        assert_eq!(members.map(|member| member.name.into_owned()), ["a", "b", "a_2", "a_2_2", "a_3"]);
    }

    #[test]
    fn values_of_several_kinds_are_texts() {
        let array = |elements| AnyShape::new(&AnyValue::Array(elements));
        let text = AnyShape::Array(Box::new(AnyShape::Text));
        assert_eq!(array(vec![AnyValue::text("a"), AnyValue::text("b")]), text);
        let mixed = AnyShape::Array(Box::new(AnyShape::Mixed));
        assert_eq!(array(vec![AnyValue::text("a"), AnyValue::Integer(1)]), mixed);
        assert_eq!(array(vec![]), AnyShape::Array(Box::new(AnyShape::Missing)));
        // Empty arrays have any elements, and null is a value.
        let arrays = |elements: [Vec<AnyValue<'static>>; 2]| array(elements.map(AnyValue::Array).into());
        let texts = AnyShape::Array(Box::new(text));
        assert_eq!(arrays([vec![], vec![AnyValue::text("a")]]), texts);
        assert!(arrays([vec![AnyValue::Nothing], vec![AnyValue::text("a")]]).is_lowered());
    }
}
