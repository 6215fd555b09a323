//! Task and operation identifiers.

use core::fmt;
use core::str::FromStr;

use crate::hex;

/// Reason why bytes or text are not an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdError {
    /// Invalid number of bytes (or half the digit count, rounded down).
    Length(usize),
    /// The character at this offset is not a hexadecimal digit or lacks its pair.
    Digit(usize),
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => write!(f, "an identifier of this kind cannot have {length} bytes"),
            Self::Digit(offset) => write!(f, "expected two hexadecimal digits at offset {offset}"),
        }
    }
}

impl core::error::Error for IdError {}

macro_rules! identifier {
    ($name:ident, $most:literal, [$($length:literal),*], $what:literal, $section:literal, $zero:literal) => {
        #[doc = concat!("Identifier of ", $what, " (section ", $section, "): opaque bytes, not a number.")]
        ///
        #[doc = $zero]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            /// Padded with zeros, so that comparisons can use all bytes.
            bytes: [u8; $most],
            length: u8,
        }

        impl $name {
            /// Valid lengths in bytes.
            pub const LENGTHS: &'static [usize] = &[$($length),*];

            /// Unreachable default.
            pub(crate) const ZERO: Self = Self { bytes: [0; $most], length: 4 };

            /// Creates an identifier from bytes.
            ///
            /// # Errors
            #[doc = concat!("If the length is not in [`", stringify!($name), "::LENGTHS`].")]
            #[inline]
            pub const fn from_bytes(bytes: &[u8]) -> Result<Self, IdError> {
                if !matches!(bytes.len(), $($length)|*) {
                    return Err(IdError::Length(bytes.len()));
                }
                let mut id = Self { bytes: [0; $most], length: bytes.len() as u8 };
                let (begin, _) = id.bytes.split_at_mut(bytes.len());
                begin.copy_from_slice(bytes);
                Ok(id)
            }

            /// Parses an identifier from hexadecimal digits in any case.
            ///
            /// # Errors
            /// If a character is not a digit, or the length is invalid.
            pub fn from_hex(text: &[u8]) -> Result<Self, IdError> {
                let length = text.len() / 2;
                if !Self::LENGTHS.contains(&length) {
                    return Err(IdError::Length(length));
                }
                if let Some(offset) = text.iter().position(|byte| !hex::is_digit(*byte)) {
                    return Err(IdError::Digit(offset));
                }
                if text.len() % 2 != 0 {
                    return Err(IdError::Digit(text.len() - 1));
                }
                let mut id = Self { bytes: [0; $most], length: length as u8 };
                let _ = hex::decode(text, &mut id.bytes);
                Ok(id)
            }

            /// Returns the bytes.
            #[must_use]
            #[inline]
            pub fn as_bytes(&self) -> &[u8] {
                &self.bytes[..usize::from(self.length)]
            }

            /// Returns `true` unless the identifier is all zeros.
            #[must_use]
            #[inline]
            pub fn is_valid(&self) -> bool {
                self.bytes != [0; $most]
            }
        }

        $(
            impl From<[u8; $length]> for $name {
                fn from(bytes: [u8; $length]) -> Self {
                    let mut id = Self { bytes: [0; $most], length: $length };
                    id.bytes[..$length].copy_from_slice(&bytes);
                    id
                }
            }
        )*

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::from_hex(text.as_bytes())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = [0; 2 * $most];
                hex::encode(&self.bytes, &mut text);
                f.pad(hex::as_str(&text[..2 * usize::from(self.length)]))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

identifier!(
    TaskId,
    20,
    [4, 8, 12, 20],
    "a task, the same in all its operations",
    "2.2",
    "All zeros mean that the metadata is invalid."
);
identifier!(
    OpId,
    8,
    [4, 8],
    "an operation (an event) within its task",
    "2.3",
    "All zeros mean that the operation is still missing."
);
