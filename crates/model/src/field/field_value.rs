//! Field values, independent of their storage.

use crate::class::Uuid;
use crate::digest::ValueHash;
use crate::field::{Real, Wide};

/// A borrowed value of a field without inner fields.
///
/// The field class determines how it is shown.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum FieldValue<'a> {
    /// No value: a null field, or an optional field that is absent.
    Null,
    /// An unsigned integer with up to 64 bits.
    Unsigned(u64),
    /// A signed integer with up to 64 bits.
    Signed(i64),
    /// A boolean.
    Boolean(bool),
    /// A bit array or a bit map with up to 64 bits. Bit 0 is the least significant.
    Bits(u64),
    /// An integer with more than 64 bits that fits in 128.
    Integer(i128),
    /// An integer, a bit array or a bit map with more than 64 bits.
    Wide(Wide<'a>),
    /// A floating-point number.
    Real(Real<'a>),
    /// A string, in the encoding of its class, without a terminator.
    Text(&'a [u8]),
    /// A BLOB.
    Blob(&'a [u8]),
    /// A GUID.
    Guid(Uuid),
}

impl<'a> FieldValue<'a> {
    /// Returns the value as an unsigned integer, if it is a non-negative integer or bits, and fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::Unsigned(value) | Self::Bits(value) => Some(value),
            Self::Signed(value) => u64::try_from(value).ok(),
            Self::Integer(value) => u64::try_from(value).ok(),
            Self::Wide(wide) => u64::try_from(wide.as_i128()?).ok(),
            _ => None,
        }
    }

    /// Returns the value as a signed integer, if it is an integer or bits, and fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Self::Unsigned(value) | Self::Bits(value) => i64::try_from(value).ok(),
            Self::Signed(value) => Some(value),
            Self::Integer(value) => i64::try_from(value).ok(),
            Self::Wide(wide) => i64::try_from(wide.as_i128()?).ok(),
            _ => None,
        }
    }

    /// Returns the value as a 128-bit integer, if it is an integer or bits, and fits.
    #[inline]
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        match *self {
            Self::Unsigned(value) | Self::Bits(value) => Some(value.into()),
            Self::Signed(value) => Some(value.into()),
            Self::Integer(value) => Some(value),
            Self::Wide(wide) => wide.as_i128(),
            _ => None,
        }
    }

    /// Returns the value as a 64-bit floating-point number, if it is a number; see [`Real::to_f64`].
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Real(real) => Some(real.to_f64()),
            Self::Unsigned(value) => Some(value as f64),
            Self::Signed(value) => Some(value as f64),
            _ => None,
        }
    }

    /// Returns the value if it is a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Self::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value if it is a string of valid UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&'a str> {
        match *self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Returns the value if it is a GUID.
    #[must_use]
    pub fn as_uuid(&self) -> Option<Uuid> {
        match *self {
            Self::Guid(uuid) => Some(uuid),
            _ => None,
        }
    }

    /// Returns a number that identifies the value: the value of an integer, otherwise a hash. Equal values have equal
    /// keys. Different values seldom share a key.
    #[must_use]
    pub fn key(&self) -> u64 {
        if let Some(number) = self.as_u64() {
            return number;
        }
        let mut hash = ValueHash::new(0);
        match self {
            Self::Signed(number) => return *number as u64,
            Self::Integer(number) => hash.bytes(&number.to_le_bytes()),
            Self::Text(bytes) | Self::Blob(bytes) => hash.bytes(bytes),
            Self::Guid(id) => hash.bytes(id.as_bytes()),
            Self::Wide(wide) => wide.words.iter().for_each(|word| hash.add(*word)),
            Self::Boolean(value) => hash.add((*value).into()),
            Self::Real(number) => hash.add(number.to_f64().to_bits()),
            Self::Null | Self::Unsigned(_) | Self::Bits(_) => {}
        }
        hash.finish()
    }

    /// Returns string or BLOB bytes.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Text(bytes) | Self::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl From<u64> for FieldValue<'_> {
    fn from(value: u64) -> Self {
        Self::Unsigned(value)
    }
}

impl From<u32> for FieldValue<'_> {
    fn from(value: u32) -> Self {
        Self::Unsigned(value.into())
    }
}

impl From<i64> for FieldValue<'_> {
    fn from(value: i64) -> Self {
        Self::Signed(value)
    }
}

impl From<i32> for FieldValue<'_> {
    fn from(value: i32) -> Self {
        Self::Signed(value.into())
    }
}

impl From<bool> for FieldValue<'_> {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<f64> for FieldValue<'_> {
    fn from(value: f64) -> Self {
        Self::Real(Real::Double(value))
    }
}

impl From<Uuid> for FieldValue<'_> {
    fn from(value: Uuid) -> Self {
        Self::Guid(value)
    }
}

impl<'a> From<&'a str> for FieldValue<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.as_bytes())
    }
}
