//! Layout of packets and of event record headers.
//!
//! A packet begins with 40 bytes, in little-endian byte order. All their members are aligned, so that they can be
//! stored one by one while a packet grows:
//!
//! | byte | bytes | member |
//! |---|---|---|
//! | 0 | 4 | magic number |
//! | 4 | 2 | data stream class id: 0 |
//! | 6 | 2 | data stream id |
//! | 8 | 4 | total size in bits |
//! | 12 | 4 | content size in bits |
//! | 16 | 8 | time when it begins |
//! | 24 | 8 | time when it ends |
//! | 32 | 4 | sequence number |
//! | 36 | 4 | number of discarded events |
//!
//! An event record begins with 6 bytes: its class id, and the lower half of its time.

/// Bytes before the first event record.
pub(crate) const HEAD: usize = 40;

/// Magic number of CTF.
const MAGIC: u32 = 0xC1FC_1FC1;

/// Byte of the total size.
pub(crate) const TOTAL: usize = 8;

/// Byte of the content size.
pub(crate) const CONTENT: usize = 12;

/// Byte of the end time.
pub(crate) const END_TIME: usize = 24;

/// Byte of the number of discarded events.
pub(crate) const DISCARDED: usize = 36;

/// Bytes of an event record header.
pub(crate) const EVENT_HEAD: usize = 6;

/// Longest time between two events of a packet, exclusive: events have the lower half of their time.
pub(crate) const MOST_CYCLES: u64 = 1 << 32;

/// Largest size of a packet in bytes: its number of bits has 32 bits.
pub(crate) const LARGEST: usize = 1 << 28;

/// What the head of an empty packet says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketHead {
    pub(crate) stream: u16,
    /// Total size in bytes.
    pub(crate) total: usize,
    pub(crate) begin: u64,
    pub(crate) sequence: u32,
    pub(crate) discarded: u32,
}

impl PacketHead {
    /// Returns the bytes of the head.
    pub(crate) fn bytes(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        put(&mut bytes, 0, MAGIC.to_le_bytes());
        put(&mut bytes, 6, self.stream.to_le_bytes());
        put(&mut bytes, TOTAL, bits(self.total).to_le_bytes());
        put(&mut bytes, CONTENT, bits(HEAD).to_le_bytes());
        put(&mut bytes, 16, self.begin.to_le_bytes());
        put(&mut bytes, END_TIME, self.begin.to_le_bytes());
        put(&mut bytes, 32, self.sequence.to_le_bytes());
        put(&mut bytes, DISCARDED, self.discarded.to_le_bytes());
        bytes
    }
}

/// Writes bytes at an index, if there is room.
#[inline]
pub(crate) fn put<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut()) {
        *out = bytes;
    }
}

/// Returns the number of bits in some bytes, at most [`LARGEST`].
#[inline]
pub(crate) fn bits(bytes: usize) -> u32 {
    (bytes as u32).wrapping_mul(8)
}

/// Returns the bytes of an event record header.
#[inline]
pub(crate) fn event_head(id: u16, time: u64) -> [u8; EVENT_HEAD] {
    let [i0, i1] = id.to_le_bytes();
    let [t0, t1, t2, t3, ..] = time.to_le_bytes();
    [i0, i1, t0, t1, t2, t3]
}

/// Returns the larger one of two numbers.
#[must_use]
pub const fn larger(first: usize, second: usize) -> usize {
    if first > second { first } else { second }
}

/// Returns the next multiple of an alignment, which is a power of 2.
#[inline]
#[must_use]
pub const fn aligned(position: usize, alignment: usize) -> usize {
    position.saturating_add(alignment - 1) & !(alignment - 1)
}
