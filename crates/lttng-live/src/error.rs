//! Protocol errors.

/// Reply that the protocol forbids, or that exceeds a limit. The connection cannot be used after it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The relay daemon has another protocol version.
    #[error("LTTng live version {major}.{minor} is not supported; expected 2.4 or a later 2.x")]
    Version {
        /// Major version.
        major: u32,
        /// Minor version.
        minor: u32,
    },
    /// A number has a value that the protocol does not define.
    #[error("unknown {field} {value} in a reply of the relay daemon")]
    UnknownValue {
        /// Field name.
        field: &'static str,
        /// Value in the reply.
        value: u64,
    },
    /// A count or a length exceeds a limit.
    #[error("the relay daemon announced {count} {items}; the limit is {limit}")]
    Limit {
        /// Counted items.
        items: &'static str,
        /// Announced number.
        count: u64,
        /// Limit.
        limit: u64,
    },
    /// An index entry contradicts itself.
    #[error("stream {stream}: invalid index entry: {reason}")]
    IndexEntry {
        /// Stream id.
        stream: u64,
        /// Contradiction.
        reason: &'static str,
    },
    /// A part of a packet is empty, or larger than requested.
    #[error("stream {stream}: the relay daemon sent {length} packet bytes; {requested} were requested")]
    PacketLength {
        /// Stream id.
        stream: u64,
        /// Announced number of bytes.
        length: u32,
        /// Requested number of bytes.
        requested: u32,
    },
    /// A stream was announced twice.
    #[error("stream {0} was announced twice")]
    DuplicateStream(u64),
    /// A trace has two metadata streams.
    #[error("stream {0} is a second metadata stream of its trace")]
    DuplicateMetadata(u64),
    /// The relay daemon did not create a viewer session, without which nothing can be read.
    #[error("the relay daemon did not create a viewer session")]
    NoViewerSession,
    /// Bytes arrived although no request was sent.
    #[error("the relay daemon sent {0} bytes without a request")]
    Unrequested(usize),
    /// The connection ended inside a reply, or before it.
    #[error("the relay daemon closed the connection instead of answering a request")]
    Truncated,
}
