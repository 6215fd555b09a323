//! Compact entry for each packet, because a large trace has millions of packets.

use ichnos_model::message::{Damage, DamageKind};

use crate::packet::{Counter, PacketInfo};

/// A packet in a data stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketEntry {
    /// Index of its file among the stream's files.
    pub file: u32,
    /// Flags for the known numbers, a foreign UUID, and a corrected header or context.
    known: u8,
    discarded_width: u8,
    sequence_width: u8,
    /// Offset in the file in bytes.
    pub offset: u64,
    total: u64,
    content: u64,
    begin: u64,
    end: u64,
    discarded: u64,
    sequence: u64,
    /// Damage around the packet. Few packets have any.
    flaws: Option<Box<Flaws>>,
}

/// Packet flaws that are known without reading events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flaws {
    /// Damage between the previous packet in the file and this packet, and foreign UUID reports.
    pub(crate) before: Vec<Damage>,
    /// Bytes to the next packet, if it begins before this packet's total size ends.
    pub(crate) room: Option<u64>,
    /// Recorded begin time, if it does not fit between the neighbors in the file.
    pub(crate) misplaced: Option<u64>,
    /// Recorded end time, if the next packet has begun by then.
    pub(crate) late_end: Option<u64>,
}

const TOTAL: u8 = 1;
const CONTENT: u8 = 1 << 1;
const BEGIN: u8 = 1 << 2;
const END: u8 = 1 << 3;
const DISCARDED: u8 = 1 << 4;
const SEQUENCE: u8 = 1 << 5;
const FOREIGN: u8 = 1 << 6;
const CORRECTED: u8 = 1 << 7;

impl PacketEntry {
    /// Creates the entry for the packet at a file offset from its header and context.
    pub(crate) fn new(offset: u64, info: &PacketInfo, before: Vec<Damage>) -> Self {
        let mut known = if info.foreign.is_some() { FOREIGN } else { 0 };
        known |= if info.wrong.is_some() { CORRECTED } else { 0 };
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
            flaws: (!before.is_empty()).then(|| Box::new(Flaws { before, ..Flaws::default() })),
        }
    }

    /// Returns the packet's flaws, or `None` without flaws.
    pub(crate) fn flaws(&self) -> Option<&Flaws> {
        self.flaws.as_deref()
    }

    /// Returns the packet's flaws for adding more.
    pub(crate) fn flaws_mut(&mut self) -> &mut Flaws {
        self.flaws.get_or_insert_default()
    }

    /// Returns `true` if the packet has the UUID of another recording.
    pub(crate) fn is_foreign(&self) -> bool {
        self.known & FOREIGN != 0
    }

    /// Returns `true` if a size or an id in the header or context is wrong and the file scan has corrected it.
    pub(crate) fn is_corrected(&self) -> bool {
        self.known & CORRECTED != 0
    }

    /// Returns the damage before the packet.
    pub(crate) fn damage_before(&self) -> &[Damage] {
        self.flaws().map_or(&[], |flaws| &flaws.before)
    }

    /// Returns `true` if the recorded begin time does not fit between the neighbors in the file.
    #[must_use]
    pub fn is_misplaced(&self) -> bool {
        self.flaws().is_some_and(|flaws| flaws.misplaced.is_some())
    }

    /// Returns `true` if the recorded begin time was replaced.
    pub(crate) fn has_other_begin(&self) -> bool {
        self.flaws().and_then(|flaws| flaws.misplaced).is_some_and(|recorded| self.begin != recorded)
    }

    /// Returns the recorded begin and end times.
    pub(crate) fn recorded_times(&self) -> (Option<u64>, Option<u64>) {
        let recorded = |flaw: fn(&Flaws) -> Option<u64>| self.flaws().and_then(flaw);
        let (misplaced, late_end) = (recorded(|flaws| flaws.misplaced), recorded(|flaws| flaws.late_end));
        (misplaced.or(self.begin()), late_end.or(self.end()))
    }

    /// Marks the begin time as misplaced, and replaces it with `begin` if given.
    pub(crate) fn misplace(&mut self, begin: Option<u64>) {
        let recorded = self.begin;
        self.flaws_mut().misplaced = Some(recorded);
        self.begin = begin.unwrap_or(recorded);
    }

    /// Replaces the end time, because the packet cannot end as late as recorded.
    pub(crate) fn end_at(&mut self, end: u64) {
        let recorded = self.end;
        self.flaws_mut().late_end = Some(recorded);
        self.end = end;
    }

    fn known(&self, number: u64, bit: u8) -> Option<u64> {
        (self.known & bit != 0).then_some(number)
    }

    /// Recorded total size in bits. `None`: the packet extends to the end of the file.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.known(self.total, TOTAL)
    }

    /// Content size in bits. `None`: the packet extends to the end of the file.
    #[must_use]
    pub fn content(&self) -> Option<u64> {
        self.known(self.content, CONTENT)
    }

    /// Default clock value at the start: the recorded value, if it is possible.
    #[must_use]
    pub fn begin(&self) -> Option<u64> {
        self.known(self.begin, BEGIN)
    }

    /// Default clock value at the end: the recorded value, if it is possible.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        self.known(self.end, END)
    }

    /// Counter snapshot of discarded event records at the packet's end.
    #[must_use]
    pub fn discarded(&self) -> Option<Counter> {
        let value = self.known(self.discarded, DISCARDED)?;
        Some(Counter { value, width: self.discarded_width.into() })
    }

    /// Packet sequence number in its stream.
    #[must_use]
    pub fn sequence(&self) -> Option<Counter> {
        let value = self.known(self.sequence, SEQUENCE)?;
        Some(Counter { value, width: self.sequence_width.into() })
    }

    /// Returns `true` if the header and context values match this entry.
    pub(crate) fn matches(&self, info: &PacketInfo) -> bool {
        let mut recorded = Self { file: self.file, ..Self::new(self.offset, info, Vec::new()) };
        // Without flaws, the times are the recorded times.
        let flaws = self.flaws().cloned().unwrap_or_default();
        let mut own = Self { flaws: None, ..self.clone() };
        own.begin = flaws.misplaced.unwrap_or(own.begin);
        own.end = flaws.late_end.unwrap_or(own.end);
        recorded.flaws = None;
        own == recorded
    }

    /// Returns the packet's available size in bytes, in a file of `file_size` bytes.
    #[must_use]
    pub fn available(&self, file_size: u64) -> u64 {
        let left = file_size.saturating_sub(self.offset);
        let room = self.flaws().and_then(|flaws| flaws.room).map_or(left, |room| left.min(room));
        self.total().map_or(room, |total| room.min(total / 8))
    }

    /// Returns the damage if the packet is truncated by another packet or the end of the file.
    pub(crate) fn cut_off(&self, name: &str, file_size: u64) -> Option<Damage> {
        // In PROP-1.0, a packet may have only a content length.
        let total = self.total().or(self.content())?;
        let available = self.available(file_size).saturating_mul(8);
        let is_overlapped = self.flaws().is_some_and(|flaws| flaws.room.is_some());
        (total > available).then(|| Damage {
            file: name.to_owned(),
            stream: None,
            bit: self.offset * 8 + available,
            kind: if is_overlapped {
                DamageKind::PacketWithin { total, available }
            } else {
                DamageKind::CutOff { total, available }
            },
            skipped: 0,
        })
    }
}
