//! Reader errors.

use core::fmt;

/// An error in a JSON text, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Offset of the wrong byte, or the text length if the text ends too early.
    pub offset: usize,
    /// Error kind.
    pub kind: ErrorKind,
}

/// Kind of error in a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Something else was expected. Contains a short description, for example "a value" or "`:`".
    Unexpected(&'static str),
    /// A string contains an unescaped control character.
    ControlCharacter(u8),
    /// A string has no closing quote.
    UnclosedString,
    /// A string is not valid UTF-8.
    InvalidUtf8,
    /// An escape is an unpaired surrogate.
    LoneSurrogate(u16),
    /// A number has leading zeros.
    LeadingZero,
    /// Arrays and objects nest too deeply.
    Depth,
    /// There are more values than the limit.
    Values,
}

impl ErrorKind {
    /// Returns a description of the expected item.
    #[must_use]
    pub fn expected(self) -> &'static str {
        match self {
            Self::Unexpected(expected) => expected,
            Self::ControlCharacter(_) => "an escaped control character",
            Self::UnclosedString => "a closing quote",
            Self::InvalidUtf8 => "UTF-8",
            Self::LoneSurrogate(_) => "a surrogate pair",
            Self::LeadingZero => "a number without leading zeros",
            Self::Depth => "fewer nested values",
            Self::Values => "fewer values",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: expected {}", self.offset, self.kind.expected())
    }
}

impl core::error::Error for Error {}
