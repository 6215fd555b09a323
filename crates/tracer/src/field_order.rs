//! Byte order of numbers.

/// Byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldOrder {
    /// Little-endian, the default.
    Little,
    /// Big-endian.
    Big,
}
