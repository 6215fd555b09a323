//! Packet that was not received.

/// Index entry of a packet that was not received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostPacket {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Data stream class id.
    pub class_id: u128,
    /// End time in clock cycles.
    pub end: u64,
}

impl LostPacket {
    /// Approximate maximum memory in bytes until it is read. Names of files can be long.
    pub const MEMORY: usize = 8 << 10;
}
