//! Message framing in a file or a stream.

/// Message framing in a file or a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// Consecutive records.
    Records,
    /// Consecutive extended records.
    ExtendedRecords,
    /// Datagrams of any kind, each after its length in bytes (32 bits, little-endian, without padding).
    Datagrams,
}
