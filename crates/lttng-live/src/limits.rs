//! Limits for replies.

/// Limits for what a relay daemon sends. Raise them if it is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveLimits {
    /// Number of sessions in a list. Default: 1,024.
    pub sessions: u32,
    /// Number of data and metadata streams at a time. Default: 8,192.
    pub streams: u32,
    /// Length of a session or host name, in bytes. Default: 4,096.
    pub name_bytes: u32,
    /// Packet size, in bytes. Default: 256 MiB.
    pub packet_bytes: u64,
    /// Metadata size of all traces together, in bytes. Default: 256 MiB.
    pub metadata_bytes: u64,
    /// Packet bytes per request. Larger packets need several requests, so that the relay daemon does not need to keep
    /// a whole packet in memory. Default: 1 MiB.
    pub request_bytes: u32,
}

impl Default for LiveLimits {
    fn default() -> Self {
        Self {
            sessions: 1024,
            streams: 8192,
            name_bytes: 4096,
            packet_bytes: 256 << 20,
            metadata_bytes: 256 << 20,
            request_bytes: 1 << 20,
        }
    }
}
