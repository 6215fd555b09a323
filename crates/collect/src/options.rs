//! How to collect.

use std::net::SocketAddr;
use std::time::Duration;

use ichnos_io::Collect;

/// How to collect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CollectorOptions {
    /// Where to receive datagrams.
    pub udp: Vec<SocketAddr>,
    /// Where to accept connections.
    pub tcp: Vec<SocketAddr>,
    /// The longest report that is taken, in bytes, at least 1. A connection keeps at most as much in memory.
    pub longest: usize,
    /// How many connections there may be at once. Those beyond are closed at once.
    pub connections: usize,
    /// A connection on which nothing comes for so long is closed.
    pub idle: Duration,
    /// From how many bytes on a segment is closed and a new one is begun.
    pub segment_bytes: u64,
    /// From which age on a segment is closed.
    pub segment_age: Duration,
    /// How many bytes are written to the disk together.
    pub flush_bytes: usize,
    /// How long a report waits at most until it is written to the disk.
    pub flush_age: Duration,
    /// The buffer that the system is asked for, for datagrams that arrive faster than they are taken, in bytes.
    pub receive_buffer: usize,
}

impl CollectorOptions {
    /// The defaults for what a format says. There is no address yet.
    #[must_use]
    pub fn new(collect: &Collect) -> Self {
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
