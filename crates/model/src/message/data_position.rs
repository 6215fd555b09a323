//! Data position in a file.

use std::fmt;

/// Data position in a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPosition {
    /// File name, as in [`Damage`](crate::message::Damage).
    pub file: String,
    /// Offset in bits from the start of the file.
    pub bit: u64,
}

impl DataPosition {
    /// Creates a bit position.
    #[must_use]
    pub fn new(file: impl Into<String>, bit: u64) -> Self {
        Self { file: file.into(), bit }
    }

    /// Creates a byte position.
    #[must_use]
    pub fn at_byte(file: impl Into<String>, byte: u64) -> Self {
        Self::new(file, byte.saturating_mul(8))
    }
}

impl fmt::Display for DataPosition {
    /// Writes `FILE: byte N` or `FILE: byte N, bit M`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: byte {}", self.file, self.bit / 8)?;
        match self.bit % 8 {
            0 => Ok(()),
            bit => write!(f, ", bit {bit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_named_where_there_are_some() {
        assert_eq!(DataPosition::new("a/b", 83).to_string(), "a/b: byte 10, bit 3");
        assert_eq!(DataPosition::at_byte("c", 7).to_string(), "c: byte 7");
    }
}
