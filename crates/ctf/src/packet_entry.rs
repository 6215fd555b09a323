//! What is kept of each packet: there are millions of them in a large trace.

use ichnos_model::Damage;

use crate::packet::{Counter, PacketInfo};

/// A packet of a data stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketEntry {
    /// Which file of the stream it is in.
    pub file: u32,
    /// Which of the following numbers are known, a bit each.
    known: u8,
    discarded_width: u8,
    sequence_width: u8,
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    total: u64,
    content: u64,
    begin: u64,
    end: u64,
    discarded: u64,
    sequence: u64,
    /// What could not be read between the packet before in the file and this one.
    pub damage: Option<Box<Damage>>,
}

const TOTAL: u8 = 1;
const CONTENT: u8 = 1 << 1;
const BEGIN: u8 = 1 << 2;
const END: u8 = 1 << 3;
const DISCARDED: u8 = 1 << 4;
const SEQUENCE: u8 = 1 << 5;

impl PacketEntry {
    /// The packet at an offset of its file, by what its header and its context say.
    pub(crate) fn new(offset: u64, info: &PacketInfo, damage: Option<Box<Damage>>) -> Self {
        let mut known = 0;
        let mut number = |number: Option<u64>, bit: u8| {
            known |= if number.is_some() { bit } else { 0 };
            number.unwrap_or(0)
        };
        let width = |counter: Option<Counter>| counter.map_or(0, |counter| counter.width.min(64) as u8);
        Self {
            file: 0,
            offset,
            total: number(info.total, TOTAL),
            content: number(info.content, CONTENT),
            begin: number(info.begin, BEGIN),
            end: number(info.end, END),
            discarded: number(info.discarded.map(|counter| counter.value), DISCARDED),
            sequence: number(info.sequence.map(|counter| counter.value), SEQUENCE),
            discarded_width: width(info.discarded),
            sequence_width: width(info.sequence),
            known,
            damage,
        }
    }

    fn known(&self, number: u64, bit: u8) -> Option<u64> {
        (self.known & bit != 0).then_some(number)
    }

    /// Size of the whole packet in bits, as it says; None: it reaches to the end of the file.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.known(self.total, TOTAL)
    }

    /// Size of its content in bits; None like the total size.
    #[must_use]
    pub fn content(&self) -> Option<u64> {
        self.known(self.content, CONTENT)
    }

    /// Value of the default clock at its beginning.
    #[must_use]
    pub fn begin(&self) -> Option<u64> {
        self.known(self.begin, BEGIN)
    }

    /// Value of the default clock at its end.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        self.known(self.end, END)
    }

    /// Snapshot of the counter of discarded event records at its end.
    #[must_use]
    pub fn discarded(&self) -> Option<Counter> {
        let value = self.known(self.discarded, DISCARDED)?;
        Some(Counter { value, width: self.discarded_width.into() })
    }

    /// Index of the packet in its stream.
    #[must_use]
    pub fn sequence(&self) -> Option<Counter> {
        let value = self.known(self.sequence, SEQUENCE)?;
        Some(Counter { value, width: self.sequence_width.into() })
    }

    /// Whether a header and a context say the same as this entry.
    pub(crate) fn says(&self, info: &PacketInfo) -> bool {
        let other =
            Self { file: self.file, damage: self.damage.clone(), ..Self::new(self.offset, info, None) };
        *self == other
    }

    /// Size in bytes of what there is of the packet in a file of `file_size` bytes.
    #[must_use]
    pub fn available(&self, file_size: u64) -> u64 {
        let left = file_size.saturating_sub(self.offset);
        self.total().map_or(left, |total| left.min(total / 8))
    }
}
