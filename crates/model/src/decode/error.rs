//! Decoding errors.

use crate::class::ByteOrder;

/// Reason why a field cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct DecodeError {
    /// Offset in bits from the start of the packet.
    pub bit: u64,
    /// Error kind.
    pub kind: DecodeErrorKind,
}

/// Kinds of decoding errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The field would reach beyond its packet's content.
    #[error("a field of {needed} bits begins here, but the packet's content ends after {left} bits")]
    BeyondContent {
        /// Bits that the field needs.
        needed: u64,
        /// Remaining content bits.
        left: u64,
    },
    /// The data ends within the packet.
    #[error("a field of {needed} bits begins here, but the data ends after {left} bits")]
    BeyondData {
        /// Bits that the field needs.
        needed: u64,
        /// Remaining data bits.
        left: u64,
    },
    /// Byte order changes within a byte.
    #[error("a {} field starts within a byte, after a {} field", .to.name(), .from.name())]
    ByteOrderChange {
        /// The previous field's byte order.
        from: ByteOrder,
        /// This field's byte order.
        to: ByteOrder,
    },
    /// A variable-length integer is longer than allowed.
    #[error("a variable-length integer has more than {0} bits")]
    OversizedInteger(u64),
    /// The selector value selects no option of a variant.
    #[error("{0} selects no option of the variant")]
    InvalidSelector(i128),
    /// The length or selector field was not decoded before: it is in an absent optional or an unselected
    /// option.
    #[error("the length or selector field of this field is absent")]
    MissingSelector,
    /// The length of a string is not a multiple of its code unit size.
    #[error("a string of {0} bytes is not a multiple of its {1}-byte code units")]
    BrokenCodeUnit(u64, u64),
    /// A text that starts with its length starts within a byte.
    #[error("a string begins within a byte")]
    TextWithinByte,
    /// A null-terminated string lacks its terminator within its packet's content.
    #[error("the string is not terminated within its packet")]
    EndlessString,
    /// The length of a text, a BLOB or an array, taken from another field, exceeds the packet's content.
    #[error("a length of {length} {unit} does not fit in the {left} bits left")]
    LengthBeyond {
        /// Length.
        length: u64,
        /// "elements" or "bytes".
        unit: &'static str,
        /// Remaining bits of content where the field starts.
        left: u64,
    },
    /// A length field, which may be signed in PROP-1.0, is negative.
    #[error("invalid length {0}")]
    NegativeLength(i128),
    /// Arrays have too many elements without bits.
    #[error("more than {0} zero-size array elements in a packet, in addition to one per bit before them")]
    TooManyEmptyElements(u64),
    /// The members of a union differ in size (PROP-1.0, "Encode a value as a union field").
    #[error("the members of a union have different sizes: {0} and {1} bits")]
    UnionSizes(u64, u64),
    /// The kind of a value does not match its field class. Only for fields that are values rather than bits.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// Required kind.
        expected: &'static str,
        /// Actual kind.
        found: &'static str,
    },
    /// A field's size overflows.
    #[error("a field is larger than the largest possible packet")]
    Overflow,
}

impl DecodeErrorKind {
    /// Returns the name of the exceeded limit, a member of [`Limits`](crate::trace::Limits).
    #[must_use]
    pub const fn limit(self) -> Option<&'static str> {
        match self {
            Self::OversizedInteger(_) => Some("integer_bits"),
            Self::TooManyEmptyElements(_) => Some("zero_size_elements"),
            _ => None,
        }
    }
}
