//! Packet positions.

use crate::class::ByteOrder;

/// Decoding position in a packet.
// Two numbers, passed in two registers. With one field for each part of the state, a position would be copied through
// memory, and loading a value at once after it was stored in parts is slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Offset in bits from the start of the packet.
    pub bit: u64,
    /// Byte order of an open byte in the two lowest bits. The bits above them count array elements without bits.
    state: u32,
}

/// State bits for the byte order.
const ORDER: u32 = 3;

impl Position {
    /// Maximum count of elements without bits.
    pub(crate) const MOST_EMPTY_ELEMENTS: u32 = u32::MAX >> 2;

    /// Creates a position at this bit, without a previous field.
    #[inline]
    #[must_use]
    pub const fn at(bit: u64) -> Self {
        Self { bit, state: 0 }
    }

    /// Returns the byte order of the previous field, if the position is within a byte. It must not change there.
    #[inline]
    #[must_use]
    pub fn open_byte(self) -> Option<ByteOrder> {
        match self.state & ORDER {
            0 => None,
            1 => Some(ByteOrder::LittleEndian),
            _ => Some(ByteOrder::BigEndian),
        }
    }

    /// Moves to this bit, which is a byte boundary.
    #[inline(always)]
    #[must_use]
    pub fn at_byte(self, bit: u64) -> Self {
        Self { bit, state: self.state & !ORDER }
    }

    /// Moves to this bit after a field, with its byte order if it ends within a byte.
    #[inline(always)]
    #[must_use]
    pub fn behind(self, bit: u64, open_byte: Option<ByteOrder>) -> Self {
        match open_byte {
            None => self.at_byte(bit),
            Some(order) => self.within_byte(bit, order),
        }
    }

    #[cold]
    fn within_byte(self, bit: u64, order: ByteOrder) -> Self {
        let order = match order {
            ByteOrder::LittleEndian => 1,
            ByteOrder::BigEndian => 2,
        };
        Self { bit, state: self.state & !ORDER | order }
    }

    /// Counts an array element without bits. Returns the number of such elements since the start of the packet, which
    /// [`Limits::zero_size_elements`](crate::trace::Limits::zero_size_elements) limits.
    pub(crate) fn add_empty_element(&mut self) -> u32 {
        if self.state >> 2 < Self::MOST_EMPTY_ELEMENTS {
            self.state += ORDER + 1;
        }
        self.state >> 2
    }
}
