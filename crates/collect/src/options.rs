//! Collector options.

use std::net::SocketAddr;
use std::time::Duration;

use ichnos_io::CollectSettings;

/// Options for a [`Collector`](crate::Collector).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CollectorOptions {
    /// UDP addresses.
    pub udp: Vec<SocketAddr>,
    /// TCP addresses.
    pub tcp: Vec<SocketAddr>,
    /// Maximum report length in bytes, at least 1. Also the maximum memory per connection.
    pub longest: usize,
    /// Maximum number of connections. Additional connections are closed immediately.
    pub connections: usize,
    /// Time without data after which a connection is closed.
    pub idle: Duration,
    /// Size at which a segment is closed, in bytes.
    pub segment_bytes: u64,
    /// Age at which a segment is closed.
    pub segment_age: Duration,
    /// Number of bytes that are flushed together.
    pub flush_bytes: usize,
    /// Maximum time until a report is flushed.
    pub flush_age: Duration,
    /// Receive buffer size for UDP, requested from the system, in bytes.
    pub receive_buffer: usize,
}

impl CollectorOptions {
    /// Creates the default options for a format, without addresses.
    #[must_use]
    pub fn new(collect: &CollectSettings) -> Self {
        Self {
            udp: Vec::new(),
            tcp: Vec::new(),
            longest: collect.longest,
            connections: 2_048,
            idle: Duration::from_secs(600),
            segment_bytes: 64 << 20,
            segment_age: Duration::from_secs(3_600),
            flush_bytes: 4 << 20,
            flush_age: Duration::from_millis(100),
            receive_buffer: 16 << 20,
        }
    }
}
