//! Sequential reader for the packets of a data stream.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use ichnos_io::Bytes;
use ichnos_model::clock::ClockValue;
use ichnos_model::decode::{PacketBits, Position, Slots, UNKNOWN};
use ichnos_model::event::{Packet, Scopes};
use ichnos_model::message::{Damage, DamageKind, DataPosition};

use crate::loss::{TracerLoss, discarded_events, discarded_packets};
use crate::lost_files::{LostFiles, lost};
use crate::overwritten::suspicious_block;
use crate::packet::{Clocks, PacketInfo, WrongHead};
use crate::packet_check::PacketCheck;
use crate::packet_entry::PacketEntry;
use crate::packet_times::PacketTimes;
use crate::quirks::Quirk;
use crate::rule::{Overwritten, Rule};
use crate::stream_input::{StreamFile, StreamInput};

/// Number of event record bits between checks that the file still has its bytes.
const CHECKED: u64 = 8 << 20;

/// Reads packets in a data stream: values, packet damage, and the first event record's position.
#[derive(Debug)]
pub(crate) struct PacketReader {
    input: Arc<StreamInput>,
    /// Index of the open packet, or else of the next packet.
    index: usize,
    /// Index after the last packet to read.
    end: usize,
    open: Box<CurrentPacket>,
    lost_files: LostFiles,
    /// `true` if clocks continue from packet to packet, so that times depend on earlier packets.
    clocks_go_on: bool,
}

/// Values from the last opened packet.
#[derive(Debug, Default)]
struct CurrentPacket {
    info: PacketInfo,
    times: PacketTimes,
    /// Recorded begin time, if the packet begins earlier.
    late_begin: Option<u64>,
    /// Begin and end, as delivered.
    begin: Option<ClockValue>,
    end: Option<ClockValue>,
    /// End of its content in bits.
    content_end: Option<u64>,
}

/// Available bits of a packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketContent {
    pub(crate) data: Bytes,
    /// Recorded content end in bits.
    pub(crate) end: u64,
    /// Positions of the header, the context and the first event record.
    pub(crate) begins: [Position; 3],
}

impl PacketContent {
    pub(crate) fn bits(&self) -> PacketBits<'_> {
        PacketBits { data: &self.data, content: self.end }
    }
}

/// Scannable range, in bits from the packet's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadableRange {
    /// Bit after which to check again for lost bytes.
    pub(crate) end: u64,
    /// First missing bit, because the file was truncated.
    pub(crate) lost_from: Option<u64>,
}

impl PacketReader {
    /// Creates a reader for the packets from index `first` on.
    pub(crate) fn new(input: &Arc<StreamInput>, first: usize) -> Self {
        let lost_files = LostFiles::reported_before(input);
        let clocks_go_on = Clocks::for_trace(&input.stream.trace.class).go_on;
        let end = input.packets.len();
        Self { input: Arc::clone(input), index: first, end, open: Box::default(), lost_files, clocks_go_on }
    }

    /// Stops reading before the packet with this index.
    pub(crate) fn end_at(&mut self, end: usize) {
        self.end = end.min(self.input.packets.len());
    }

    /// Returns `true` if packets exist after the range to read.
    pub(crate) fn is_partial(&self) -> bool {
        self.end < self.input.packets.len()
    }

    pub(crate) fn input(&self) -> &Arc<StreamInput> {
        &self.input
    }

    /// Index of the open packet, or else of the next packet.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Returns `true` if the range contains a packet with this index.
    pub(crate) fn has_packet(&self) -> bool {
        self.index < self.end
    }

    /// Moves to the next packet.
    pub(crate) fn advance(&mut self) {
        self.index += 1;
    }

    fn entry(&self) -> &PacketEntry {
        &self.input.packets[self.index]
    }

    fn has_quirk(&self, quirk: Quirk) -> bool {
        self.input.rules.quirks.contains(&quirk)
    }

    /// Times of the open packet.
    pub(crate) fn times(&self) -> &PacketTimes {
        &self.open.times
    }

    /// Returns the damage with this number between the previous packet and this packet.
    pub(crate) fn damage_before(&self, number: usize) -> Option<Damage> {
        self.entry().damage_before().get(number).cloned()
    }

    /// Opens the packet by decoding its header and context. Returns its damage if it cannot be read. If packets are
    /// lost, only the first lost packet in a file is reported.
    pub(crate) fn open(
        &mut self,
        slots: &Slots,
        clocks: &mut Clocks,
    ) -> Result<PacketContent, Option<Damage>> {
        let read = self.read(slots, clocks);
        let first_event = read.as_ref().ok().map(|content| content.begins[2].bit);
        if let (Ok(content), Some(at)) = (&read, first_event) {
            // Reading bytes detects losses.
            self.readable(at, content.bits().end());
        }
        match self.lost_part() {
            Some((damage, from)) if first_event.is_none_or(|at| from <= at) => {
                Err(self.lost_files.record(self.entry_file()).then_some(damage))
            }
            _ => read.map_err(Some),
        }
    }

    /// Decodes the header and context of the next packet, which is not entered. Returns `false` if it cannot be read.
    pub(crate) fn peek(&mut self, slots: &Slots, clocks: &mut Clocks) -> bool {
        self.has_packet() && self.read(slots, clocks).is_ok() && !self.is_lost()
    }

    fn read(&mut self, slots: &Slots, clocks: &mut Clocks) -> Result<PacketContent, Damage> {
        let input = &*self.input;
        let entry = &input.packets[self.index];
        let file = &input.files[entry.file as usize].bytes;
        let begin = entry.offset as usize;
        // The size in the packet may be wrong: another packet begins at the end given by the entry.
        let mut data = file.slice(begin..begin + entry.available(file.len() as u64) as usize);
        let all = data.len() as u64 * 8;
        let decoder = input.decoder();
        let decoded = decoder.decode_doubtful(&data, slots, clocks).and_then(|info| match info.error() {
            None => Ok(info),
            // The index knows its sizes.
            Some(_) if entry.is_corrected() => {
                Ok(PacketInfo { total: entry.total(), content: entry.content(), ..info })
            }
            Some(error) => Err(error),
        });
        let info = match decoded {
            // Only an incorrect index differs from the packet itself.
            Ok(info) if info.class != input.stream.class_index => {
                let classes = &input.stream.trace.class.data_streams;
                let id = classes.get(info.class).map_or(0, |class| class.id);
                return Err(self.damage(0, all, Rule::OtherDataStream { class: id }.into()));
            }
            Ok(info) => info,
            Err(error) => return Err(self.damage(error.bit, all, error.kind)),
        };
        if let Some(total) = info.total {
            data = data.slice(0..usize::try_from(total / 8).unwrap_or(usize::MAX));
        }
        let times = PacketTimes::for_packet(input, self.index, &info);
        if let Some(begin) = times.begin.filter(|_| times.begin != info.begin) {
            clocks.set_default(begin);
        }
        let (begin, end) = (input.clock_value(times.begin), input.clock_value(times.end));
        *self.open = CurrentPacket { info, times, late_begin: None, begin, end, content_end: info.content };
        let end = info.content.unwrap_or(data.len() as u64 * 8);
        Ok(PacketContent { data, end, begins: info.begins })
    }

    /// Returns begin and end of the open packet, and its earliest possible begin time. `None` if it does not record
    /// times.
    pub(crate) fn recorded_times(&self) -> Option<(u64, u64, u64)> {
        let (begin, end) = self.open.times.begin.zip(self.open.times.end)?;
        (!self.clocks_go_on).then(|| (begin, end, self.input.end_before(self.index)))
    }

    /// Returns the open packet's begin time, if it is earlier than the recorded time.
    pub(crate) fn earlier_begin(&self) -> Option<u64> {
        self.open.late_begin.and(self.open.times.begin)
    }

    /// Sets the open packet's begin time to an earlier default clock value, because event records precede the recorded
    /// time.
    pub(crate) fn correct_begin(&mut self, begin: u64) {
        let times = &mut self.open.times;
        self.open.late_begin = times.begin.replace(begin);
        (times.last, times.are_corrected) = (times.end, true);
        self.open.begin = self.input.clock_value(Some(begin));
    }

    /// Returns `true` if the open packet's content size is wrong and its events show the right size.
    pub(crate) fn has_unknown_content(&self) -> bool {
        let is_wrong =
            matches!(self.open.info.wrong, Some(WrongHead::Content { .. } | WrongHead::Sizes { .. }));
        is_wrong && self.entry().content() == self.entry().total()
    }

    /// Returns the previous packet's bytes, if both packets are in the same file.
    pub(crate) fn bytes_before(&self) -> Bytes {
        let before = self.index.checked_sub(1).and_then(|before| self.input.packets.get(before));
        let bytes = before.filter(|before| before.file == self.entry().file).zip(self.file()).and_then(
            |(before, file)| {
                let begin = usize::try_from(before.offset).ok()?;
                let size = usize::try_from(before.available(file.bytes.len() as u64)).ok()?;
                Some(file.bytes.slice(begin..begin.checked_add(size)?))
            },
        );
        // The bytes are only a hint: without them, fewer event records count as padding.
        bytes.unwrap_or_default()
    }

    /// Sets the open packet's content end.
    pub(crate) fn end_content(&mut self, bit: u64) {
        self.open.content_end = Some(bit);
    }

    /// Closes the packet after its last event record, whose time is `last_event`. Moves the clocks to the packet's end.
    pub(crate) fn close(&mut self, clocks: &mut Clocks, last_event: u64) {
        clocks.end_packet();
        let times = self.open.times;
        let (Some(end), Some(now)) = (times.end, clocks.value()) else { return };
        let crashed = self.lacks_end();
        let early = self.has_quirk(Quirk::LttngEventAfterPacket) && end < now;
        if crashed || early {
            self.open.end = self.input.clock_value(Some(now));
            let quirk = if crashed { Quirk::LttngCrashPacketEnd } else { Quirk::LttngEventAfterPacket };
            self.input.applied_quirks.record(quirk);
        } else {
            let end = if times.are_corrected { end.max(last_event) } else { end };
            self.open.end = self.input.clock_value(Some(end));
            clocks.set_default(end);
        }
    }

    /// Returns `true` if a tracer bug requires that packets begin with their first event record, if it is earlier than
    /// the recorded begin.
    pub(crate) fn begins_with_event(&self) -> bool {
        self.has_quirk(Quirk::BarectfEventBeforePacket)
    }

    /// Returns `true` if a tracer bug requires that packets end with their last event record.
    pub(crate) fn ends_with_event(&self) -> bool {
        self.has_quirk(Quirk::LttngCrashPacketEnd) || self.has_quirk(Quirk::LttngEventAfterPacket)
    }

    /// Returns `true` if the open packet lacks an end time because of a tracer bug.
    fn lacks_end(&self) -> bool {
        let times = &self.open.times;
        self.has_quirk(Quirk::LttngCrashPacketEnd)
            && times.end == Some(0)
            && times.begin.is_some_and(|begin| begin != 0)
    }

    /// Moves the open packet's begin to this default clock value, if it is earlier.
    pub(crate) fn begin_by(&mut self, first_event: u64) {
        if self.open.times.begin.is_some_and(|begin| first_event < begin) {
            self.open.begin = self.input.clock_value(Some(first_event));
            self.input.applied_quirks.record(Quirk::BarectfEventBeforePacket);
        }
    }

    /// Begin of the open packet in nanoseconds.
    pub(crate) fn begin_time(&self) -> Option<i128> {
        self.open.begin.map(|begin| begin.nanoseconds)
    }

    /// End of the open packet in nanoseconds.
    pub(crate) fn end_time(&self) -> Option<i128> {
        self.open.end.map(|end| end.nanoseconds)
    }

    /// Default clock value before which the open packet cannot contain event records.
    pub(crate) fn earliest_event(&self) -> u64 {
        let end = self.open.times.end.unwrap_or(u64::MAX).min(self.input.rules.most_cycles);
        self.open.times.begin.filter(|begin| *begin <= end).unwrap_or(0)
    }

    /// Returns `true` if the recorded begin does not fit between the neighbors in the file.
    pub(crate) fn is_misplaced(&self) -> bool {
        self.entry().is_misplaced()
    }

    /// Returns `true` if all event records from the next packet on are later than `end`. `is_behind`: the last event
    /// record was after `end`.
    pub(crate) fn is_past(&self, end: i128, is_behind: bool) -> bool {
        // If packets lack a correct begin time, earlier events decide.
        let begin = self.input.begin_of(self.index).filter(|_| !self.begins_with_event());
        let Some(begin) = begin else { return is_behind && self.ended_after(end) };
        begin > end && self.entry_is_true() && !self.begins_earlier(end)
    }

    /// Returns `true` if the packet begins at `time` or before, although its context shows an impossible later time.
    fn begins_earlier(&self, time: i128) -> bool {
        let begin = self.input.clock_value(self.input.earlier_begin(self.index));
        begin.is_some_and(|begin| begin.nanoseconds <= time)
    }

    /// Returns `true` if the previous packet ended after a time, or has an unknown end. A single event is not enough to
    /// conclude that all later packets are after it, because its time may be wrong.
    fn ended_after(&self, time: i128) -> bool {
        let before = self.index.checked_sub(1).and_then(|before| self.input.packets.get(before));
        let end = before.and_then(|before| self.input.clock_value(before.end()));
        end.is_none_or(|end| end.nanoseconds > time)
    }

    /// Returns `true` if the packet matches its entry, or cannot be read.
    fn entry_is_true(&self) -> bool {
        let Some(file) = self.file().filter(|_| !self.clocks_go_on) else { return true };
        let mut clocks = Clocks::for_trace(&self.input.stream.trace.class);
        // A packet beyond the file is empty, so it cannot be decoded.
        let data = file.bytes.get(self.entry().offset as usize..).unwrap_or_default();
        let slots = vec![Cell::new(UNKNOWN); self.input.stream.plans().slots];
        let decoded = self.input.decoder().decode(data, &slots, &mut clocks);
        decoded.map_or(true, |info| self.entry().matches(&info))
    }

    /// Returns the damage of the open packet as a whole.
    pub(crate) fn flaws(&self) -> Vec<Damage> {
        let check = PacketCheck {
            stream: &self.input.stream,
            entry: self.entry(),
            before: self.input.packet_before(self.index),
            info: Some(&self.open.info).filter(|_| !self.clocks_go_on),
            may_lack_end: self.has_quirk(Quirk::LttngCrashPacketEnd),
        };
        let late_begin = self.open.late_begin.zip(self.earlier_begin());
        let late_begin = late_begin.map(|(begin, first)| Rule::BeginAfterEvents { begin, first }.into());
        let wrong_head = self.open.info.wrong.map(|wrong| wrong.rule().into());
        let ids = self.open.info.stream_id.zip(self.input.stream.id);
        let wrong_id = ids.filter(|(found, expected)| self.clocks_go_on && found != expected);
        let wrong_id = wrong_id.map(|(found, expected)| Rule::DataStream { found, expected }.into());
        let wrong_head = wrong_head.into_iter().chain(wrong_id);
        // Nearly all packets are flawless: then nothing is allocated.
        check.flaws().chain(late_begin).chain(wrong_head).map(|kind| self.damage(0, 0, kind)).collect()
    }

    /// Returns damage in the open packet. `bit` and `end` are relative to its start.
    pub(crate) fn damage(&self, bit: u64, end: u64, kind: DamageKind) -> Damage {
        let DataPosition { file, bit: begin } = self.position(bit);
        Damage::new(file, begin, kind).skipping(end.saturating_sub(bit))
    }

    /// Returns a packet bit's place in its file.
    pub(crate) fn position(&self, bit: u64) -> DataPosition {
        let file = self.file().map_or("", |file| &file.name);
        DataPosition::new(file, self.entry().offset * 8 + bit)
    }

    /// Returns `true` if the open packet has a start time, an end time, and is free of flaws.
    pub(crate) fn is_plain(&self) -> bool {
        let times = &self.open.times;
        let has_times = times.begin.zip(times.end).is_some_and(|(begin, end)| begin <= end);
        has_times
            && !self.clocks_go_on
            && !times.are_corrected
            && !self.entry().is_foreign()
            && self.entry().flaws().is_none()
            && !self.has_wrong_head()
            && self.cut_off().is_none()
    }

    /// Returns `true` if a size or an id in the open packet is wrong.
    fn has_wrong_head(&self) -> bool {
        self.open.info.wrong.is_some() || self.open.info.stream_id != self.input.stream.id
    }

    /// Returns the damage if the open packet is truncated by the end of its file.
    pub(crate) fn cut_off(&self) -> Option<Damage> {
        let file = self.file()?;
        self.entry().cut_off(&file.name, file.bytes.len() as u64)
    }

    /// Returns the truncation damage if the data ends within, or before, an event record that begins at a packet bit.
    pub(crate) fn cut_off_within(&self, begin: u64) -> Option<Damage> {
        let damage = self.cut_off()?;
        let skipped = damage.bit.saturating_sub(self.entry().offset * 8 + begin);
        Some(damage.skipping(skipped))
    }

    /// Returns the event records discarded before or in the open packet.
    pub(crate) fn discarded_events(&self) -> Option<TracerLoss> {
        let before = self.input.packet_before(self.index);
        let count = discarded_events(before, self.entry(), self.input.rules.smaller_counter)?;
        // Loss before the first counter snapshot begins with this packet at the earliest.
        let begin = match before.filter(|before| before.discarded().is_some()) {
            Some(before) => before.end(),
            None => self.open.times.begin,
        };
        Some(self.loss(count, begin, self.open.times.end))
    }

    /// Returns the number of packets missing before the open packet, from sequence numbers.
    pub(crate) fn discarded_packets(&self) -> Option<TracerLoss> {
        let before = self.input.packet_before(self.index);
        let count = discarded_packets(before, self.entry())?;
        Some(self.loss(Some(count), before?.end(), self.open.times.begin))
    }

    fn loss(&self, count: Option<u64>, begin: Option<u64>, end: Option<u64>) -> TracerLoss {
        let value = |cycles| self.input.clock_value(cycles);
        // Both times or neither: half a range is useless, and so is a range that ends before it begins.
        let range = value(begin).zip(value(end)).filter(|(begin, end)| begin.cycles <= end.cycles);
        TracerLoss { count, range }
    }

    /// Returns the open packet with its scopes. `data` is the number of available bits.
    pub(crate) fn packet<'a>(&'a self, scopes: Scopes<'a>, data: u64) -> Packet<'a> {
        let info = &self.open.info;
        let (total, content) = (info.total.unwrap_or(data), self.open.content_end.unwrap_or(data));
        let mut packet = Packet::new(&self.input.stream, total, content, scopes)
            .with_times(self.open.begin, self.open.end)
            .with_counters(
                info.sequence.map(|counter| counter.value),
                info.discarded.map(|counter| counter.value),
            );
        packet.index = Some(self.index as u64);
        packet.has_late_events = self.has_quirk(Quirk::LttngEventAfterPacket);
        let begin = self.open.begin.map(|begin| begin.cycles);
        let has_other_begin = self.begins_with_event() && begin != self.open.times.begin;
        packet.has_corrected_times = packet.has_late_events || has_other_begin || self.lacks_end();
        packet.has_corrected_head = self.has_wrong_head();
        packet
    }
}

/// Files that become shorter while they are read.
///
/// Lost bytes in a mapped file read as zeros ([`Bytes::lost`]), which can look like event records. Only a check after
/// decoding reveals them. So the check runs at the end of each packet and within long packets, and once more for all
/// files at the end of the data stream.
impl PacketReader {
    fn file(&self) -> Option<&StreamFile> {
        self.input.files.get(self.entry().file as usize)
    }

    fn entry_file(&self) -> u32 {
        self.entry().file
    }

    /// Returns the range to scan from a bit on before the next check for lost bytes. The packet's content ends at bit
    /// `end`.
    pub(crate) fn readable(&self, at: u64, end: u64) -> ReadableRange {
        let end = end.min(at.saturating_add(CHECKED));
        // Reading a byte detects a truncated file.
        let last = usize::try_from(self.entry().offset.saturating_add(end / 8)).ok();
        let last = last.and_then(|last| self.file()?.bytes.get(last.checked_sub(1)?));
        std::hint::black_box(last.copied());
        let lost_from = self.lost_part().map(|(_, from)| from).filter(|from| *from > at);
        ReadableRange { end, lost_from }
    }

    /// Returns the first unwritten or overwritten block that begins in a bit range of the open packet: its bits, and
    /// its content.
    pub(crate) fn suspicious_block(&self, bits: Range<u64>) -> Option<(Range<u64>, Overwritten)> {
        let (bytes, offset) = (&*self.file()?.bytes, usize::try_from(self.entry().offset).ok()?);
        let byte_of = |bit: u64| usize::try_from(bit.div_ceil(8)).ok()?.checked_add(offset);
        let (block, found) = suspicious_block(bytes, byte_of(bits.start)?..byte_of(bits.end)?)?;
        let bit_of = |byte: usize| (byte - offset) as u64 * 8;
        Some((bit_of(block.start)..bit_of(block.end), found))
    }

    /// Returns `true` if bytes of the open packet are lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost_part().is_some()
    }

    /// Returns the damage of lost bytes in the packet, and the first lost bit.
    fn lost_part(&self) -> Option<(Damage, u64)> {
        let entry = self.entry();
        let StreamFile { name, bytes } = self.file()?;
        if bytes.lost().is_empty() {
            return None;
        }
        let lost = lost(name, bytes)?;
        let begin = entry.offset * 8;
        let end = begin + entry.available(bytes.len() as u64) * 8;
        let lost_end = lost.bit + lost.skipped;
        if lost.bit >= end || lost_end <= begin {
            return None;
        }
        let bit = lost.bit.max(begin);
        Some((Damage { bit, skipped: lost_end - bit, ..lost }, bit - begin))
    }

    /// Returns the damage of lost bytes if event records up to a bit were delivered. `None` if it was reported before
    /// they were read.
    pub(crate) fn report_lost_events(&mut self, read_to: u64) -> Option<Damage> {
        let (damage, from) = self.lost_part()?;
        let reported = read_to > from;
        let is_new = self.lost_files.record(self.entry_file());
        (is_new || reported).then_some(Damage { kind: DamageKind::Lost { reported }, ..damage })
    }

    /// Returns the damage of the next file with an unreported loss.
    pub(crate) fn report_lost_file(&mut self) -> Option<Damage> {
        self.lost_files.report_next(&self.input)
    }

    /// Returns `true` if all files still have the bytes from when the data stream was opened.
    pub(crate) fn has_lost_nothing(&self) -> bool {
        self.lost_files == LostFiles::reported_before(&self.input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_stream::{HEAD, PacketFields, packet, stream};

    const FIRST: PacketFields = PacketFields { begin: 10, end: 20, sequence: 0, discarded: 5 };
    const SECOND: PacketFields = PacketFields { begin: 30, end: 40, sequence: 3, discarded: 7 };

    /// Packets in a data stream, and the state to decode them.
    struct TestPackets {
        reader: PacketReader,
        slots: Vec<Cell<i128>>,
        clocks: Clocks,
    }

    impl TestPackets {
        fn for_stream(input: &Arc<StreamInput>) -> Self {
            let slots = vec![Cell::new(UNKNOWN); input.stream.plans().slots];
            let clocks = Clocks::for_trace(&input.stream.trace.class);
            Self { reader: PacketReader::new(input, 0), slots, clocks }
        }

        fn open(&mut self) -> Result<PacketContent, Option<Damage>> {
            self.reader.open(&self.slots, &mut self.clocks)
        }
    }

    fn two_packets() -> Arc<StreamInput> {
        stream([packet(FIRST, &[0, 11, 1]), packet(SECOND, &[0, 31, 1, 0, 32, 2])].concat())
    }

    #[test]
    fn each_packet_has_its_bytes_and_its_times() {
        let mut packets = TestPackets::for_stream(&two_packets());
        let content = packets.open().unwrap();
        assert_eq!((content.data.len(), content.bits().end()), (HEAD + 3, 8 * (HEAD as u64 + 3)));
        assert_eq!(content.begins.map(|begin| begin.bit), [0, 8, 8 * HEAD as u64]);
        assert_eq!(packets.clocks.value(), Some(10));
        let times = packets.reader.times();
        assert_eq!((times.begin, times.end, times.last), (Some(10), Some(20), Some(20)));
        assert_eq!((packets.reader.begin_time(), packets.reader.earliest_event()), (Some(10), 10));
        packets.reader.close(&mut packets.clocks, 11);
        assert_eq!((packets.reader.end_time(), packets.clocks.value()), (Some(20), Some(20)));
        assert!(packets.reader.flaws().is_empty() && packets.reader.cut_off().is_none());
        packets.reader.advance();
        assert!(packets.reader.has_packet());
        assert_eq!(packets.open().unwrap().data.len(), HEAD + 6);
        assert_eq!(packets.reader.begin_time(), Some(30));
        packets.reader.advance();
        assert!(!packets.reader.has_packet());
    }

    #[test]
    fn losses_lie_between_packets() {
        let mut packets = TestPackets::for_stream(&two_packets());
        packets.open().unwrap();
        // The counter before the first packet is unknown.
        assert_eq!(packets.reader.discarded_events().map(|loss| loss.count), Some(None));
        assert!(packets.reader.discarded_packets().is_none());
        packets.reader.advance();
        packets.open().unwrap();
        let range = |loss: &TracerLoss| loss.range.map(|(begin, end)| (begin.cycles, end.cycles));
        let events = packets.reader.discarded_events().unwrap();
        assert_eq!((events.count, range(&events)), (Some(2), Some((20, 40))));
        let missing = packets.reader.discarded_packets().unwrap();
        assert_eq!((missing.count, range(&missing)), (Some(2), Some((20, 30))));
    }

    #[test]
    fn a_window_ends_before_a_packet() {
        let mut packets = TestPackets::for_stream(&two_packets());
        assert!(packets.reader.is_past(9, false) && !packets.reader.is_past(10, true));
        packets.reader.advance();
        assert!(packets.reader.is_past(29, false) && !packets.reader.is_past(30, true));
        // A query alone does not open packets.
        assert_eq!(packets.reader.begin_time(), None);
    }

    #[test]
    fn what_is_wrong_with_a_packet_reaches_no_further() {
        let backwards = PacketFields { begin: 30, end: 25, ..SECOND };
        let mut bytes = [packet(FIRST, &[0, 11, 1]), packet(backwards, &[0, 31, 1, 0, 32, 2])].concat();
        bytes.truncate(bytes.len() - 1);
        let mut packets = TestPackets::for_stream(&stream(bytes));
        packets.open().unwrap();
        assert!(packets.reader.flaws().is_empty());
        packets.reader.advance();
        assert_eq!(packets.open().unwrap().data.len(), HEAD + 5);
        let begin = 8 * (HEAD as u64 + 3);
        let end_before_begin = Rule::EndBeforeBegin { begin: 30, end: 25 }.into();
        assert_eq!(packets.reader.flaws(), [Damage::new("test/stream", begin, end_before_begin)]);
        let cut_off = packets.reader.cut_off().unwrap();
        assert_eq!((cut_off.bit, cut_off.skipped), (begin + 8 * (HEAD as u64 + 5), 0));
        let last_event = 8 * (HEAD as u64 + 3);
        assert_eq!(packets.reader.cut_off_within(last_event).unwrap().skipped, 16);
        let damage = packets.reader.damage(last_event, last_event + 16, DamageKind::EmptyEventRecord);
        assert_eq!((damage.bit, damage.skipped), (begin + last_event, 16));
    }

    #[test]
    fn a_packet_that_has_changed_is_not_opened() {
        let mut input = two_packets();
        // Its content is longer than the packet.
        let mut changed = packet(FIRST, &[0, 11, 1]);
        changed[4] = 0xff;
        Arc::get_mut(&mut input).unwrap().files[0].bytes = Bytes::from(changed);
        let mut packets = TestPackets::for_stream(&input);
        let damage = packets.open().unwrap_err().unwrap();
        assert!(matches!(damage.kind, DamageKind::Rule(_)), "{damage:?}");
        assert_eq!(damage.bit, 8 * HEAD as u64);
    }

    #[test]
    fn long_packets_are_scanned_in_parts() {
        let mut packets = TestPackets::for_stream(&two_packets());
        packets.open().unwrap();
        let readable = |at, end| packets.reader.readable(at, end);
        assert_eq!(readable(72, 96), ReadableRange { end: 96, lost_from: None });
        assert_eq!(readable(72, u64::MAX), ReadableRange { end: 72 + CHECKED, lost_from: None });
    }
}
