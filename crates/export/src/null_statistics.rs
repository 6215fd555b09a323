//! Counts of the null sink.

/// Counts of [`Null`](crate::Null).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NullStatistics {
    /// Number of started data streams.
    pub streams: u64,
    /// Number of ended packets.
    pub packets: u64,
    /// Total size of these packets in bytes.
    pub bytes: u64,
    /// Number of event records.
    pub events: u64,
    /// Number of event records known to be discarded by the producer.
    pub discarded_events: u64,
    /// Number of packets known to be missing.
    pub discarded_packets: u64,
    /// Number of undecodable places.
    pub damages: u64,
    /// Sum of all event record and packet hashes, independent of their order.
    pub checksum: u64,
}

impl std::ops::AddAssign for NullStatistics {
    fn add_assign(&mut self, other: Self) {
        self.streams += other.streams;
        self.packets += other.packets;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.events += other.events;
        self.discarded_events = self.discarded_events.saturating_add(other.discarded_events);
        self.discarded_packets = self.discarded_packets.saturating_add(other.discarded_packets);
        self.damages += other.damages;
        self.checksum = self.checksum.wrapping_add(other.checksum);
    }
}
