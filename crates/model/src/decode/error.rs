//! Why bits do not fit their field class.

use crate::ByteOrder;

/// Why a field cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct DecodeError {
    /// Offset in bits from the beginning of the packet.
    pub bit: u64,
    /// What is wrong there.
    pub kind: DecodeErrorKind,
}

/// What can be wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The field would reach beyond the content of its packet.
    #[error("a field of {needed} bits begins here, but the packet's content ends after {left} bits")]
    BeyondContent {
        /// Bits that the field needs.
        needed: u64,
        /// Bits of content that are left.
        left: u64,
    },
    /// The data ends within the packet.
    #[error("a field of {needed} bits begins here, but the data ends after {left} bits")]
    BeyondData {
        /// Bits that the field needs.
        needed: u64,
        /// Bits of data that are left.
        left: u64,
    },
    /// Byte order changes within a byte.
    #[error("a {} field begins within a byte, after a {} one", .to.name(), .from.name())]
    ByteOrderChange {
        /// Byte order of the field before.
        from: ByteOrder,
        /// Byte order of this field.
        to: ByteOrder,
    },
    /// A variable-length integer is longer than allowed.
    #[error("a variable-length integer has more than {0} bits")]
    OversizedInteger(u64),
    /// No option of a variant has this value of the selector.
    #[error("{0} selects no option of the variant")]
    InvalidSelector(i128),
    /// The field that says a length or selects was not decoded before: it is in an optional that
    /// is absent or an option that is not selected.
    #[error("the length or selector field of this field is absent")]
    MissingSelector,
    /// The length of a string is no multiple of the size of its code units.
    #[error("a string of {0} bytes cannot consist of code units of {1} bytes")]
    BrokenCodeUnit(u64, u64),
    /// A text that begins with its length begins within a byte.
    #[error("a string begins within a byte")]
    TextWithinByte,
    /// A string that a zero ends has none in the content of its packet.
    #[error("the string is not terminated within its packet")]
    EndlessString,
    /// Another field gives a text, a BLOB or an array a length that the content of the packet has
    /// no room for.
    #[error("a length of {length} {unit} does not fit in the {left} bits left")]
    LengthBeyond {
        /// The length.
        length: u64,
        /// "elements" or "bytes".
        unit: &'static str,
        /// Bits of content that are left where the field begins.
        left: u64,
    },
    /// A field that says a length, and that may be signed in PROP-1.0, is below 0.
    #[error("a length cannot be {0}")]
    NegativeLength(i128),
    /// Arrays have too many elements without any bits.
    #[error("a packet has more than {0} array elements of zero size, and one for each bit before")]
    TooManyEmptyElements(u64),
    /// The members of a union differ in size (PROP-1.0, "Encode a value as a union field").
    #[error("the members of a union take {0} and {1} bits")]
    UnionSizes(u64, u64),
    /// A value is not of the kind that the class of its field asks for. Only of fields that are values
    /// rather than bits.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// What the class asks for.
        expected: &'static str,
        /// What the value is.
        found: &'static str,
    },
    /// The size of a field overflows.
    #[error("a field is larger than any packet can be")]
    Overflow,
}

impl DecodeErrorKind {
    /// The name of the limit that was reached, a member of [`Limits`](crate::Limits), if that is what is
    /// wrong.
    #[must_use]
    pub const fn limit(self) -> Option<&'static str> {
        match self {
            Self::OversizedInteger(_) => Some("integer_bits"),
            Self::TooManyEmptyElements(_) => Some("zero_size_elements"),
            _ => None,
        }
    }
}
