//! Settings of a data stream.

/// What happens to a new event if no packet is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FullPolicy {
    /// It is discarded and counted.
    #[default]
    Discard,
    /// The oldest packet that the platform has not taken is dropped.
    Overwrite,
}

/// Settings of a data stream.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StreamOptions {
    /// Id of the data stream. Each tracer of a program needs its own.
    pub stream: u16,
    /// What happens if no packet is free.
    pub policy: FullPolicy,
    /// `true` if the platform gets packets of the full size, with zeros or old bytes after the events. Otherwise, it
    /// gets the used part of a packet.
    pub has_whole_packets: bool,
}

impl StreamOptions {
    /// Returns the default settings of a data stream: discard, and packets without padding.
    #[must_use]
    pub const fn new(stream: u16) -> Self {
        Self { stream, policy: FullPolicy::Discard, has_whole_packets: false }
    }

    /// Sets what happens if no packet is free.
    #[must_use]
    pub const fn with_policy(mut self, policy: FullPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Makes all packets equally large.
    #[must_use]
    pub const fn with_whole_packets(mut self) -> Self {
        self.has_whole_packets = true;
        self
    }
}
