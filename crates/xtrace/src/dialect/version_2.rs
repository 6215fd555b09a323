//! Version 2 metadata, used by AppOptics and SolarWinds.

use core::fmt;
use core::str::FromStr;

use crate::hex;
use crate::id::{OpId, TaskId};

/// Version 2 metadata, always 30 bytes or 60 digits.
///
/// The flags are the same as in version 1, with another version number (0x2B). A byte after the operation is the
/// sampled flag.
///
/// ```
/// use ichnos_xtrace::dialect::Version2;
///
/// let text = "2B9F41282812F1D348EE79A1B65F87656AAB20C705D5AD851C0152084301";
/// let metadata: Version2 = text.parse()?;
/// assert_eq!(metadata.op_id().to_string(), "D5AD851C01520843");
/// assert!(metadata.sampled);
/// assert_eq!(metadata.to_string(), text);
/// # Ok::<(), ichnos_xtrace::dialect::Version2Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version2 {
    /// Task.
    pub task: [u8; 20],
    /// Operation.
    pub op: [u8; 8],
    /// `true` if sampled (lowest bit of the byte after the operation).
    pub sampled: bool,
}

/// Reason why text or bytes are not version 2 metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version2Error {
    /// The number of bytes (or pairs of digits) differs from 30.
    Length(usize),
    /// The character at this offset is not a hexadecimal digit.
    Digit(usize),
    /// The first byte is not 0x2B.
    Flags(u8),
    /// The last byte is neither 0 nor 1.
    Sampled(u8),
}

impl fmt::Display for Version2Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(found) => write!(f, "version 2 metadata has 30 bytes, not {found}"),
            Self::Digit(offset) => write!(f, "expected a hexadecimal digit at offset {offset}"),
            Self::Flags(found) => write!(f, "version 2 metadata starts with 2B, not {found:02X}"),
            Self::Sampled(found) => write!(f, "version 2 metadata ends with 00 or 01, not {found:02X}"),
        }
    }
}

impl core::error::Error for Version2Error {}

impl Version2 {
    /// First byte.
    pub const FLAGS: u8 = 0x2B;
    /// Number of bytes.
    pub const LENGTH: usize = 30;

    /// Parses metadata from bytes.
    ///
    /// # Errors
    /// If the length differs from 30 bytes, or the first or the last byte is invalid.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, Version2Error> {
        let Ok([flags, rest @ ..]) = <[u8; Self::LENGTH]>::try_from(bytes) else {
            return Err(Version2Error::Length(bytes.len()));
        };
        if flags != Self::FLAGS {
            return Err(Version2Error::Flags(flags));
        }
        let [.., sampled] = rest;
        if sampled > 1 {
            return Err(Version2Error::Sampled(sampled));
        }
        let mut metadata = Self { task: [0; 20], op: [0; 8], sampled: sampled == 1 };
        metadata.task.copy_from_slice(&rest[..20]);
        metadata.op.copy_from_slice(&rest[20..28]);
        Ok(metadata)
    }

    /// Parses metadata from hexadecimal digits in any case.
    ///
    /// # Errors
    /// If the length differs from 60 digits, or the bytes are invalid.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, Version2Error> {
        let text = text.as_ref();
        if let Some(offset) = text.iter().position(|byte| !hex::is_digit(*byte)) {
            return Err(Version2Error::Digit(offset));
        }
        if text.len() != 2 * Self::LENGTH {
            return Err(Version2Error::Length(text.len() / 2));
        }
        let mut bytes = [0; Self::LENGTH];
        let _ = hex::decode(text, &mut bytes);
        Self::parse_bytes(&bytes)
    }

    /// Returns the metadata as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[0] = Self::FLAGS;
        bytes[1..21].copy_from_slice(&self.task);
        bytes[21..29].copy_from_slice(&self.op);
        bytes[29] = u8::from(self.sampled);
        bytes
    }

    /// Returns the task.
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        TaskId::from(self.task)
    }

    /// Returns the operation.
    #[must_use]
    pub fn op_id(&self) -> OpId {
        OpId::from(self.op)
    }

    /// Returns `true` if both the task and the operation differ from zero.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.task != [0; 20] && self.op != [0; 8]
    }
}

impl FromStr for Version2 {
    type Err = Version2Error;

    fn from_str(text: &str) -> Result<Self, Version2Error> {
        Self::parse(text)
    }
}

impl fmt::Display for Version2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 2 * Self::LENGTH];
        hex::encode(&self.to_bytes(), &mut text);
        f.pad(hex::as_str(&text))
    }
}
