//! Errors in messages.

/// Error in a message of the peer, or in a request that cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The message starts with other bytes.
    #[error("expected {expected}, found other bytes: the peer does not speak the .NET diagnostics protocol")]
    Magic {
        /// Name of the expected message.
        expected: &'static str,
    },
    /// The size in the header is smaller than the header.
    #[error("message size {size} is smaller than its header")]
    Size {
        /// Size in the header.
        size: u16,
    },
    /// The payload ends in the middle of a value.
    #[error("payload ends in `{field}`: {needed} bytes needed, {left} left")]
    Truncated {
        /// Name of the value.
        field: &'static str,
        /// Length of the value, in bytes.
        needed: u64,
        /// Remaining length of the payload, in bytes.
        left: usize,
    },
    /// A reply is neither `OK` nor `Error`.
    #[error("expected a reply, found command 0x{set:02x}{id:02x}")]
    Reply {
        /// Command set in the header.
        set: u8,
        /// Command id in the header.
        id: u8,
    },
    /// A length is over the limit.
    #[error("`{field}` has {length} bytes: the limit is {limit}")]
    Limit {
        /// Name of the value.
        field: &'static str,
        /// Its length, in bytes.
        length: u64,
        /// Maximum length, in bytes.
        limit: u64,
    },
    /// A value differs from the expected value.
    #[error("`{field}` is {found}, not {expected}")]
    Value {
        /// Name of the value.
        field: &'static str,
        /// Received value.
        found: u64,
        /// Expected value.
        expected: u64,
    },
}
