//! Value shapes. They determine classes without a describing line.

use std::sync::{Arc, LazyLock};

use ichnos_json::read::Reader;
use ichnos_model::class::{
    BitField, ByteOrder, FieldClass, FieldKind, FieldLocation, IntegerProperties, Length, Member,
};

use crate::fault::{ParseResult, fault};

/// Value shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueShape {
    Null,
    Boolean,
    /// Signed 64-bit integer.
    Signed,
    /// Unsigned 64-bit integer above the signed range.
    Unsigned,
    /// Integer with more bits.
    Wide(u64),
    Float,
    Text,
    Blob(String),
    Array(Box<ValueShape>),
    Object(Vec<(String, ValueShape)>),
    /// Some values are missing.
    Optional(Box<ValueShape>),
    /// Values with mixed kinds. Strings are read unchanged, other values as their JSON text.
    Any,
}

impl ValueShape {
    /// Reads the shape of a value with at most `left` inner values. Subtracts their number from `left`.
    pub(crate) fn read(json: &mut Reader<'_>, left: &mut u64) -> ParseResult<Self> {
        let mut is_first = true;
        Ok(match json.peek() {
            Some(b'{') => {
                let begin = json.offset();
                let members = Self::read_scope(json, left)?;
                special(json.since(begin)).unwrap_or(Self::Object(members))
            }
            Some(b'[') => {
                json.take(b'[');
                let mut element = None;
                let before = *left;
                while json.element(&mut is_first)? {
                    let found = Self::read(json, left)?;
                    let common = match element {
                        None => found,
                        Some(known) => Self::common(known, found),
                    };
                    // Only the common shape of all elements remains.
                    *left = before.saturating_sub(common.size());
                    element = Some(common);
                }
                Self::Array(Box::new(element.unwrap_or(Self::Null)))
            }
            Some(b'"') => {
                json.string()?;
                Self::Text
            }
            _ if json.literal("true") || json.literal("false") => Self::Boolean,
            _ if json.literal("null") => Self::Null,
            _ => {
                let number = json.number()?;
                let is_integer = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                match (number.parse::<i64>(), number.parse::<u64>()) {
                    _ if !is_integer || number == "-0" => Self::Float,
                    (Ok(_), _) => Self::Signed,
                    (_, Ok(_)) => Self::Unsigned,
                    _ => Self::Wide(bits_of(number)),
                }
            }
        })
    }

    /// Reads a scope object's members.
    pub(crate) fn read_scope(json: &mut Reader<'_>, left: &mut u64) -> ParseResult<Vec<(String, Self)>> {
        let mut is_first = true;
        let mut members = Vec::new();
        json.expect(b'{', "an object")?;
        while let Some(key) = json.key(&mut is_first)? {
            let Some(fewer) = left.checked_sub(1) else {
                return fault(json, "an event with a class within the limits");
            };
            *left = fewer;
            members.push((key.text().into_owned(), Self::read(json, left)?));
        }
        Ok(members)
    }

    /// Returns the common shape for two array elements.
    fn common(a: Self, b: Self) -> Self {
        match (a, b) {
            (a, b) if a == b => a,
            (Self::Optional(a), Self::Null) | (Self::Null, Self::Optional(a)) => Self::Optional(a),
            (a, Self::Null) | (Self::Null, a) => Self::Optional(Box::new(a)),
            (Self::Optional(a), Self::Optional(b)) => Self::Optional(Box::new(Self::common(*a, *b))),
            (Self::Optional(a), b) | (b, Self::Optional(a)) => Self::Optional(Box::new(Self::common(*a, b))),
            (Self::Float, Self::Signed) | (Self::Signed, Self::Float) => Self::Float,
            (Self::Wide(a), Self::Wide(b)) => Self::Wide(a.max(b)),
            (Self::Wide(length), Self::Signed | Self::Unsigned)
            | (Self::Signed | Self::Unsigned, Self::Wide(length)) => Self::Wide(length),
            (Self::Signed, Self::Unsigned) | (Self::Unsigned, Self::Signed) => Self::Wide(128),
            (Self::Array(a), Self::Array(b)) => Self::Array(Box::new(Self::common(*a, *b))),
            (Self::Object(a), Self::Object(b))
                if a.len() == b.len() && a.iter().zip(&b).all(|((a, _), (b, _))| a == b) =>
            {
                let common = |((name, a), (_, b))| (name, Self::common(a, b));
                Self::Object(a.into_iter().zip(b).map(common).collect())
            }
            _ => Self::Any,
        }
    }

    /// Appends a key that is unique to this shape.
    pub(crate) fn push_key(&self, key: &mut Vec<u8>) {
        let text = |key: &mut Vec<u8>, text: &str| {
            key.extend_from_slice(&(text.len() as u64).to_le_bytes());
            key.extend_from_slice(text.as_bytes());
        };
        match self {
            Self::Null => key.push(b'n'),
            Self::Boolean => key.push(b'b'),
            Self::Signed => key.push(b'i'),
            Self::Unsigned => key.push(b'u'),
            Self::Wide(length) => {
                key.push(b'w');
                key.extend_from_slice(&length.to_le_bytes());
            }
            Self::Float => key.push(b'f'),
            // Both shapes have the same class.
            Self::Text | Self::Any => key.push(b't'),
            Self::Blob(media) => {
                key.push(b'x');
                text(key, media);
            }
            Self::Array(element) => {
                key.push(b'[');
                element.push_key(key);
            }
            Self::Optional(inner) => {
                key.push(b'?');
                inner.push_key(key);
            }
            Self::Object(members) => {
                key.push(b'{');
                for (name, member) in members {
                    key.push(b',');
                    text(key, name);
                    member.push_key(key);
                }
                key.push(b'}');
            }
        }
    }

    /// Returns the class for values with this shape. Frequent classes are shared.
    pub(crate) fn class(&self) -> Arc<FieldClass> {
        static SIGNED: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::signed(64)));
        static UNSIGNED: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::unsigned(64)));
        static FLOAT: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::float(64)));
        static TEXT: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::string()));
        let of_values = || Length::Dynamic(Box::new(FieldLocation::by_values()));
        let kind = match self {
            Self::Signed => return Arc::clone(&SIGNED),
            Self::Unsigned => return Arc::clone(&UNSIGNED),
            Self::Float => return Arc::clone(&FLOAT),
            Self::Text | Self::Any => return Arc::clone(&TEXT),
            Self::Optional(inner) => return Arc::new(FieldClass::optional(inner.class())),
            Self::Object(members) => {
                let member = |(name, shape): &(String, Self)| Member::new(name.clone(), shape.class());
                return Arc::new(FieldClass::structure(members.iter().map(member)));
            }
            Self::Null => FieldKind::Null { alignment: 1 },
            Self::Boolean => FieldKind::Boolean(BitField::new(8, ByteOrder::LittleEndian, 8)),
            Self::Wide(length) => {
                let integer = IntegerProperties { signed: true, ..IntegerProperties::default() };
                FieldKind::Integer { bits: BitField::new(*length, ByteOrder::LittleEndian, 8), integer }
            }
            Self::Blob(media) => {
                FieldKind::Blob { length: of_values(), media_type: media.clone(), alignment: 8 }
            }
            Self::Array(element) => FieldKind::Array {
                element: element.class(),
                length: of_values(),
                minimum_alignment: 1,
                element_aligns: true,
            },
        };
        Arc::new(FieldClass::new(kind))
    }

    /// Returns the number of shapes in this shape.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Array(inner) | Self::Optional(inner) => 1 + inner.size(),
            Self::Object(members) => 1 + members.iter().map(|(_, member)| member.size()).sum::<u64>(),
            _ => 1,
        }
    }
}

/// Returns the number of bits for an integer with its sign, in multiples of 64.
fn bits_of(digits: &str) -> u64 {
    // A decimal digit has less than 3.33 bits.
    let bits = digits.len() as u64 * 10 / 3 + 2;
    bits.next_multiple_of(64).max(128)
}

/// Returns the shape of an object that represents a value without a JSON type.
pub(crate) fn special(object: &str) -> Option<ValueShape> {
    let mut json = Reader::new(object);
    json.take(b'{').then_some(())?;
    let mut is_first = true;
    let key = json.key(&mut is_first).ok()??.plain()?;
    let text = json.string().ok()?.plain()?;
    let is_float = matches!(text, "NaN" | "Infinity" | "-Infinity");
    let shape = match key {
        "$int" if is_integer(text) => ValueShape::Wide(bits_of(text)),
        "$float" if is_float => ValueShape::Float,
        // In another encoding, these bytes would be another text.
        "$bytes" if is_hex(text) => ValueShape::Text,
        "$blob" if is_hex(text) => {
            let Some(key) = json.key(&mut is_first).ok()? else {
                return Some(ValueShape::Blob(String::new()));
            };
            ValueShape::Blob(json.string().ok().filter(|_| key.is("media_type"))?.text().into_owned())
        }
        _ => return None,
    };
    json.key(&mut is_first).ok()?.is_none().then_some(shape)
}

fn is_hex(text: &str) -> bool {
    text.len() % 2 == 0 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(crate) fn is_integer(digits: &str) -> bool {
    let digits = digits.strip_prefix('-').unwrap_or(digits);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
