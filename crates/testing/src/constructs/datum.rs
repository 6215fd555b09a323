//! Encoded values.

use std::fmt;

/// Field value, independent of the format.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// Missing value: a null field, or an optional field without a value.
    Absent,
    /// Boolean.
    Boolean(bool),
    /// Integer of any width, in decimal digits.
    Integer(String),
    /// Bits without a numeric meaning, in hexadecimal digits without leading zeros.
    Bits(String),
    /// Floating-point number: width in bits, and the bits.
    Float(u32, u128),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Elements of an array.
    Array(Vec<Datum>),
    /// Members of a structure or a union, in order.
    Structure(Vec<(String, Datum)>),
}

impl Datum {
    /// Creates an integer.
    pub fn integer(value: impl ToString) -> Self {
        Self::Integer(value.to_string())
    }

    /// Creates a text.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Creates a 64-bit floating-point number.
    #[must_use]
    pub fn double(value: f64) -> Self {
        Self::Float(64, value.to_bits().into())
    }

    /// Creates an array.
    pub fn array(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Array(elements.into_iter().collect())
    }

    /// Creates a structure.
    pub fn structure<'m>(members: impl IntoIterator<Item = (&'m str, Self)>) -> Self {
        Self::Structure(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Appends a member to a structure.
    ///
    /// # Panics
    /// If `self` is not a structure.
    pub fn add(&mut self, name: &str, value: Self) {
        let Self::Structure(members) = self else { panic!("{self} has no members") };
        members.push((name.to_owned(), value));
    }

    /// Returns `true` if nothing in this value has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Structure(members) => members.iter().all(|(_, value)| value.is_empty()),
            _ => false,
        }
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("nothing"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Integer(digits) => f.write_str(digits),
            Self::Bits(digits) => write!(f, "bits {digits}"),
            Self::Float(32, bits) => write!(f, "{:?}f32", f32::from_bits(*bits as u32)),
            Self::Float(64, bits) => write!(f, "{:?}", f64::from_bits(*bits as u64)),
            Self::Float(width, bits) => write!(f, "float{width} {bits:x}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bytes(bytes) => write!(f, "bytes {bytes:02x?}"),
            Self::Array(elements) => {
                let elements: Vec<String> = elements.iter().map(Self::to_string).collect();
                write!(f, "[{}]", elements.join(", "))
            }
            Self::Structure(members) => {
                let members: Vec<String> =
                    members.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                write!(f, "{{{}}}", members.join(", "))
            }
        }
    }
}
