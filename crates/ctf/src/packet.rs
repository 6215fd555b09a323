//! Packet header and context values.

use std::cell::Cell;

use ichnos_model::class::{FieldKind, Role, Roles, Uuid};
use ichnos_model::decode::{DecodeError, DecodeLimits, PacketBits, Position, Slots, UNKNOWN};
use ichnos_model::field::{Field, Text, Wide};
use ichnos_model::message::DamageKind;
use ichnos_model::plan::TracePlans;
use ichnos_model::{TraceClass, Visitor};

use crate::metadata::Dialect;
use crate::rule::Rule;

/// Magic number at the start of a packet header, if the header has one (CTF2-SPEC-2.0, "Packet").
pub const PACKET_MAGIC: u64 = 0xc1fc_1fc1;

/// Counter that wraps at its field's width. Variable-length fields hold any value and never wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Value.
    pub value: u64,
    /// Field width in bits.
    pub width: u64,
}

impl Counter {
    /// Returns the counter in a field.
    fn from_field(field: Field<'_>, value: u64) -> Self {
        let is_variable = matches!(field.class().kind, FieldKind::VariableLength { .. });
        Self { value, width: if is_variable { 64 } else { field.length } }
    }

    /// Returns how much the counter grew since `earlier`, assuming that it wrapped at most once. Returns `None` if it
    /// went back: a counter with 32 bits or more that gets smaller was reset, because it cannot have counted through
    /// half its range.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<u64> {
        let mask = if self.width >= 64 { u64::MAX } else { (1 << self.width) - 1 };
        let grown = self.value.wrapping_sub(earlier.value) & mask;
        (self.width < 32 || grown <= mask / 2).then_some(grown)
    }
}

/// Updates a clock with a field of `length` bits that contains its lower bits. The clock never goes back, so a smaller
/// value means that it wrapped (CTF2-SPEC-2.0, "Clock value update procedure").
#[must_use]
pub fn update_clock(clock: u64, value: u64, length: u64) -> u64 {
    let mask = u64::MAX.checked_shl(length as u32).map_or(u64::MAX, |high| !high);
    update_masked(clock, value, mask)
}

/// Updates a clock with a field that contains the bits in this mask.
#[inline(always)]
pub(crate) fn update_masked(clock: u64, value: u64, mask: u64) -> u64 {
    // Distance from the clock's low bits to the value, modulo the mask.
    clock.wrapping_add(value.wrapping_sub(clock) & mask)
}

/// Values of all trace clocks, in one data stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clocks {
    /// Index of the default clock.
    default: Option<u16>,
    /// Default clock value. Its slot in `values` is unused.
    now: Option<u64>,
    values: Vec<u64>,
    /// Values that other clocks take when the packet ends, with their field lengths in bits.
    at_end: Vec<(u16, u64, u64)>,
    /// `true` if clocks continue from packet to packet. In PROP-1.0 and CTF 1.8 they do: a clock is 0 before the data
    /// stream. In PROP-2.0 and SPEC-2.0 a clock is 0 before each packet.
    pub(crate) go_on: bool,
}

impl Clocks {
    /// Returns a trace's clocks before its data stream begins.
    pub(crate) fn for_trace(trace: &TraceClass) -> Self {
        let go_on = Self::go_on_in(&trace.dialect, trace);
        let values = vec![0; trace.clocks.len()];
        Self { default: None, now: None, values, at_end: Vec::new(), go_on }
    }

    /// Returns `true` if clocks continue from packet to packet. `dialect` is the dialect's title.
    pub(crate) fn go_on_in(dialect: &str, trace: &TraceClass) -> bool {
        // In CTF 1.8, section 8, clocks continue, too. Most packets record their begin time, so this only matters for
        // other packets.
        let begins_are_recorded = || {
            trace.data_streams.iter().flat_map(|class| &class.packet_context).any(|context| {
                let FieldKind::Structure { members, .. } = &context.kind else { return false };
                members.iter().any(|member| member.class.roles.has(Role::Timestamp))
            })
        };
        dialect == Dialect::Prop1.title() || (dialect == Dialect::Ctf18.title() && !begins_are_recorded())
    }

    fn begin_packet(&mut self) {
        self.at_end.clear();
        if !self.go_on {
            self.values.fill(0);
            self.set_default(0);
        }
    }

    /// Chooses another default clock.
    pub(crate) fn choose_default(&mut self, clock: Option<u16>) {
        if clock != self.default {
            if let (Some(clock), Some(now)) = (self.default, self.now) {
                self.values[usize::from(clock)] = now;
            }
            self.default = clock;
            self.now = clock.and_then(|clock| self.values.get(usize::from(clock)).copied());
        }
    }

    #[inline(always)]
    pub(crate) fn value(&self) -> Option<u64> {
        self.now
    }

    #[inline(always)]
    pub(crate) fn set_default(&mut self, value: u64) {
        if let Some(now) = &mut self.now {
            *now = value;
        }
    }

    /// Returns `true` for the default clock. `None` also means the default clock.
    fn is_default(&self, clock: Option<u16>) -> bool {
        clock.is_none() || clock == self.default
    }

    /// Updates a clock. `None`: the default clock.
    #[inline]
    fn update(&mut self, clock: Option<u16>, value: u64, length: u64) {
        let clock = match clock.filter(|clock| Some(*clock) != self.default) {
            Some(other) => self.values.get_mut(usize::from(other)),
            None => self.now.as_mut(),
        };
        if let Some(clock) = clock {
            *clock = update_clock(*clock, value, length);
        }
    }

    /// Updates the clocks that a field's roles refer to.
    #[inline]
    fn update_by(&mut self, field: Field<'_>, roles: Roles, value: u64) {
        if roles.has(Role::Timestamp) {
            self.update(roles.clock, value, field.length);
        }
        if roles.has_further_clocks() {
            for update in field.class().clock_updates() {
                if update.role == Role::Timestamp {
                    self.update(Some(update.clock), value, field.length);
                }
            }
        }
    }

    /// Updates all clocks except the default clock with the packet's end values.
    pub(crate) fn end_packet(&mut self) {
        for (clock, value, length) in std::mem::take(&mut self.at_end) {
            self.update(Some(clock), value, length);
        }
    }

    /// Collects clock values, except the default clock's value.
    pub(crate) fn others(&self, which: &[u16], others: &mut Vec<(u16, u64)>) {
        others.clear();
        let known = |clock: &u16| Some((*clock, *self.values.get(usize::from(*clock))?));
        others.extend(which.iter().filter(|clock| Some(**clock) != self.default).filter_map(known));
    }
}

/// Values from a packet header and a packet context.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketInfo {
    /// Data stream class index.
    pub(crate) class: usize,
    pub(crate) stream_id: Option<u128>,
    pub(crate) total: Option<u64>,
    pub(crate) content: Option<u64>,
    pub(crate) begin: Option<u64>,
    pub(crate) end: Option<u64>,
    pub(crate) discarded: Option<Counter>,
    pub(crate) sequence: Option<Counter>,
    /// `true` if it has the metadata's UUID.
    pub(crate) is_own: bool,
    /// UUID and its bit, if it differs from the metadata's UUID.
    pub(crate) foreign: Option<(Uuid, u64)>,
    /// Value that contradicts the rest of the packet.
    pub(crate) wrong: Option<WrongHead>,
    /// Positions of the header, the context and the first event record.
    pub(crate) begins: [Position; 3],
}

/// Packet header or context value that contradicts the rest of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrongHead {
    /// Data stream class id.
    Class(u128),
    /// Content length and total length. One of them is wrong.
    Sizes { content: u64, total: u64 },
    /// Content length below the size of the header and context.
    Content { length: u64, taken: u64 },
    /// Total length below the size of the header and context.
    Total { length: u64, taken: u64 },
    /// Total length that is not a multiple of 8.
    PartialByte(u64),
}

impl WrongHead {
    /// Returns the broken rule.
    pub(crate) fn rule(self) -> Rule {
        match self {
            Self::Class(id) => Rule::DataStreamClass(id),
            Self::Sizes { content, total } => Rule::ContentBeyondTotal { content, total },
            Self::Content { length, taken } => {
                Rule::PacketTooShort { what: "a content length", length, taken }
            }
            Self::Total { length, taken } => Rule::PacketTooShort { what: "a total length", length, taken },
            Self::PartialByte(total) => Rule::PartialByte(total),
        }
    }
}

impl PacketInfo {
    /// Returns the error for the wrong value.
    pub(crate) fn error(&self) -> Option<PacketError> {
        let wrong = self.wrong?;
        let bit = match wrong {
            WrongHead::Class(_) => self.begins[1].bit,
            _ => self.begins[2].bit,
        };
        Some(PacketError { bit, kind: wrong.rule().into() })
    }
}

/// Reason why a packet cannot be read, and the error's bit.
#[derive(Clone, Debug)]
pub(crate) struct PacketError {
    pub(crate) bit: u64,
    pub(crate) kind: DamageKind,
}

impl From<DecodeError> for PacketError {
    fn from(error: DecodeError) -> Self {
        Self { bit: error.bit, kind: error.kind.into() }
    }
}

/// Decodes packet headers and contexts.
pub(crate) struct PacketDecoder<'a> {
    pub(crate) class: &'a TraceClass,
    pub(crate) plans: &'a TracePlans,
    pub(crate) limits: DecodeLimits,
}

impl PacketDecoder<'_> {
    /// Decodes the packet header and context at the start of `data`.
    pub(crate) fn decode(
        &self,
        data: &[u8],
        slots: &Slots,
        clocks: &mut Clocks,
    ) -> Result<PacketInfo, PacketError> {
        let info = self.decode_doubtful(data, slots, clocks)?;
        info.error().map_or(Ok(info), Err)
    }

    /// Decodes a packet in which one value may be wrong. [`PacketInfo::wrong`] contains this value. Without a wrong
    /// value, sizes are completed: a missing content length equals the total length, and vice versa. Otherwise sizes
    /// are returned as recorded.
    pub(crate) fn decode_doubtful(
        &self,
        data: &[u8],
        slots: &Slots,
        clocks: &mut Clocks,
    ) -> Result<PacketInfo, PacketError> {
        slots.iter().for_each(|slot: &Cell<i128>| slot.set(UNKNOWN));
        clocks.begin_packet();
        let mut info = PacketInfo::default();
        let mut position = Position::default();
        // The packet's size is still unknown, so the data ends the input.
        let bits = PacketBits { data, content: u64::MAX };
        let mut class_id = 0;
        let mut updated = Vec::new();
        if let Some(plan) = &self.plans.packet_header {
            let mut header = HeaderVisitor::new(clocks);
            let result = plan.decode(bits, &mut position, slots, self.limits, &mut header);
            if let Some((found, bit)) = header.magic.filter(|(found, _)| *found != PACKET_MAGIC) {
                return Err(PacketError { bit, kind: Rule::Magic(found).into() });
            }
            result?;
            if let (Some(expected), Some((found, bit))) = (self.class.uuid, header.uuid()) {
                info.is_own = expected == found;
                info.foreign = (expected != found).then_some((found, bit));
            }
            if let Some((bits, bit)) = header.wide_id {
                return Err(PacketError { bit, kind: Rule::WideId(bits).into() });
            }
            class_id = header.class_id.unwrap_or(0);
            info.stream_id = header.stream_id;
            info.discarded = header.discarded;
            updated = header.updated;
            if header.class_id.is_none()
                && let [only] = self.class.data_streams.as_slice()
            {
                class_id = only.id;
            }
        } else if let [only] = self.class.data_streams.as_slice() {
            class_id = only.id;
        }
        let index = match self.class.data_streams.iter().position(|class| class.id == class_id) {
            Some(index) => index,
            None if self.class.data_streams.len() == 1 => {
                info.wrong = Some(WrongHead::Class(class_id));
                0
            }
            None => {
                return Err(PacketError { bit: position.bit, kind: Rule::DataStreamClass(class_id).into() });
            }
        };
        info.class = index;
        let default_clock = self.class.data_streams[index].default_clock;
        clocks.choose_default(default_clock);
        if clocks.go_on && default_clock.is_some_and(|clock| updated.contains(&clock)) {
            info.begin = clocks.value();
        }
        info.begins[1] = position;
        self.decode_context(bits, position, slots, clocks, &mut info)?;
        if let Err(wrong) = self.check_lengths(&mut info) {
            if let Some(error) = info.error() {
                return Err(error);
            }
            info.wrong = Some(wrong);
        }
        Ok(info)
    }

    /// Decodes the packet context at a position.
    fn decode_context(
        &self,
        bits: PacketBits<'_>,
        mut position: Position,
        slots: &Slots,
        clocks: &mut Clocks,
        info: &mut PacketInfo,
    ) -> Result<(), PacketError> {
        let plans = self.plans.data_streams.get(info.class);
        if let Some(plan) = plans.and_then(|plans| plans.packet_context.as_ref()) {
            let mut context = ContextVisitor { clocks, found: info, end_length: 64 };
            let result = plan.decode(bits, &mut position, slots, self.limits, &mut context);
            let length = context.end_length;
            result.map_err(|error| info.error().unwrap_or(error.into()))?;
            if let (true, Some(now), Some(end)) = (clocks.go_on, clocks.value(), info.end) {
                // In PROP-1.0 the end time is an ordinary update, whose field may contain only the lower bits.
                info.end = Some(update_clock(now, end, length));
            }
        }
        info.begins[2] = position;
        Ok(())
    }

    /// Returns `true` if packets with at most a content length extend to the end of their data stream.
    fn reaches_to_end(&self) -> bool {
        self.class.dialect == Dialect::Prop1.title()
    }

    fn check_lengths(&self, info: &mut PacketInfo) -> Result<(), WrongHead> {
        let taken = info.begins[2].bit;
        if let Some(total) = info.total.filter(|total| total % 8 != 0) {
            return Err(WrongHead::PartialByte(total));
        }
        if let (Some(total), Some(content)) = (info.total, info.content)
            && content > total
        {
            return Err(WrongHead::Sizes { content, total });
        }
        let is_short = |length: &u64| *length < taken || *length == 0;
        if let Some(length) = info.total.filter(is_short) {
            return Err(WrongHead::Total { length, taken });
        }
        if let Some(length) = info.content.filter(is_short) {
            return Err(WrongHead::Content { length, taken });
        }
        // In PROP-1.0, a packet without a total size is the whole data stream.
        if !self.reaches_to_end() {
            info.total = info.total.or(info.content);
        }
        info.content = info.content.or(info.total);
        info.total.filter(|total| total % 8 != 0).map_or(Ok(()), |total| Err(WrongHead::PartialByte(total)))
    }
}

struct HeaderVisitor<'a> {
    clocks: &'a mut Clocks,
    /// Updated clocks.
    updated: Vec<u16>,
    magic: Option<(u64, u64)>,
    class_id: Option<u128>,
    stream_id: Option<u128>,
    /// Size in bits of an oversized id, and its bit.
    wide_id: Option<(u64, u64)>,
    discarded: Option<Counter>,
    uuid: [u8; 16],
    uuid_bytes: usize,
    uuid_bit: u64,
    in_uuid: bool,
}

impl<'a> HeaderVisitor<'a> {
    fn new(clocks: &'a mut Clocks) -> Self {
        Self {
            clocks,
            updated: Vec::new(),
            magic: None,
            class_id: None,
            stream_id: None,
            wide_id: None,
            discarded: None,
            uuid: [0; 16],
            uuid_bytes: 0,
            uuid_bit: 0,
            in_uuid: false,
        }
    }

    fn uuid(&self) -> Option<(Uuid, u64)> {
        (self.uuid_bytes == 16).then(|| (Uuid::from_bytes(self.uuid), self.uuid_bit))
    }

    fn push_uuid(&mut self, byte: u8) {
        if let Some(place) = self.uuid.get_mut(self.uuid_bytes) {
            *place = byte;
        }
        self.uuid_bytes += 1;
    }
}

impl Visitor for HeaderVisitor<'_> {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        if self.in_uuid {
            self.push_uuid(value as u8);
        }
        let roles = field.node().roles;
        if roles.is_empty() {
            return;
        }
        if roles.has(Role::PacketMagicNumber) {
            self.magic = Some((value, field.offset));
        }
        if roles.has(Role::DataStreamClassId) {
            self.class_id = Some(value.into());
        }
        if roles.has(Role::DataStreamId) {
            self.stream_id = Some(value.into());
        }
        if roles.has(Role::DiscardedEventCounter) {
            self.discarded = Some(Counter::from_field(field, value));
        }
        if roles.has(Role::Timestamp) || roles.has_further_clocks() {
            self.updated.extend(roles.clock);
            self.updated.extend(field.class().clock_updates().iter().map(|update| update.clock));
            self.clocks.update_by(field, roles, value);
        }
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        let roles = field.node().roles;
        if let Some(value) = value.as_u128().and_then(|value| u64::try_from(value).ok()) {
            return self.unsigned(field.with_length(64), value);
        }
        if roles.has(Role::DataStreamClassId) || roles.has(Role::DataStreamId) {
            let id = value.as_u128();
            if id.is_none() {
                self.wide_id = Some((field.length, field.offset));
            }
            if roles.has(Role::DataStreamClassId) {
                self.class_id = id;
            }
            if roles.has(Role::DataStreamId) {
                self.stream_id = id;
            }
        }
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.begin_uuid(field);
    }

    fn end_array(&mut self, _: Field<'_>) {
        self.in_uuid = false;
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.begin_uuid(field);
        if std::mem::take(&mut self.in_uuid) {
            bytes.iter().for_each(|byte| self.push_uuid(*byte));
        }
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.blob(field, value.raw);
    }
}

impl HeaderVisitor<'_> {
    fn begin_uuid(&mut self, field: Field<'_>) {
        if field.node().roles.has(Role::MetadataStreamUuid) {
            self.in_uuid = true;
            self.uuid_bytes = 0;
            self.uuid_bit = field.offset;
        }
    }
}

struct ContextVisitor<'a> {
    clocks: &'a mut Clocks,
    found: &'a mut PacketInfo,
    /// Field length of the end time, in bits.
    end_length: u64,
}

impl Visitor for ContextVisitor<'_> {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        let roles = field.node().roles;
        if roles.is_empty() {
            return;
        }
        let counter = Counter::from_field(field, value);
        if roles.has(Role::PacketTotalLength) {
            self.found.total = Some(value);
        }
        if roles.has(Role::PacketContentLength) {
            self.found.content = Some(value);
        }
        if roles.has(Role::DiscardedEventCounter) {
            self.found.discarded = Some(counter);
        }
        if roles.has(Role::PacketSequenceNumber) {
            self.found.sequence = Some(counter);
        }
        if roles.has(Role::PacketEndTimestamp) {
            self.ends_at(roles.clock, value, field.length);
        }
        if roles.has(Role::Timestamp) {
            self.clocks.update(roles.clock, value, field.length);
            if self.clocks.is_default(roles.clock) {
                self.found.begin = self.clocks.value();
            }
        }
        if roles.has_further_clocks() {
            self.further_clocks(field, value);
        }
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        // Special field above 64 bits: its value counts if it fits.
        let roles = field.node().roles;
        if roles.is_empty() {
            return;
        }
        if let Some(value) = value.as_u128().and_then(|value| u64::try_from(value).ok()) {
            self.unsigned(field.with_length(64), value);
        } else {
            // Packets are never that large.
            if roles.has(Role::PacketTotalLength) {
                self.found.total = Some(u64::MAX / 8 * 8);
            }
            if roles.has(Role::PacketContentLength) {
                self.found.content = Some(u64::MAX / 8 * 8);
            }
        }
    }
}

impl ContextVisitor<'_> {
    /// Records a clock value at the packet's end.
    fn ends_at(&mut self, clock: Option<u16>, value: u64, length: u64) {
        match clock.filter(|clock| !self.clocks.is_default(Some(*clock))) {
            None => {
                self.found.end = Some(value);
                self.end_length = length;
            }
            Some(other) => self.clocks.at_end.push((other, value, length)),
        }
    }

    #[cold]
    fn further_clocks(&mut self, field: Field<'_>, value: u64) {
        for update in field.class().clock_updates() {
            if update.role == Role::PacketEndTimestamp {
                self.ends_at(Some(update.clock), value, field.length);
                continue;
            }
            self.clocks.update(Some(update.clock), value, field.length);
            if self.clocks.is_default(Some(update.clock)) {
                self.found.begin = self.clocks.value();
            }
        }
    }
}

/// Receives event record header values, and clock fields elsewhere in event records.
pub(crate) struct EventVisitor<'a> {
    pub(crate) clocks: &'a mut Clocks,
    pub(crate) class_id: Option<u128>,
    /// Size in bits of an oversized id, and its bit.
    pub(crate) wide_id: Option<(u64, u64)>,
}

impl<'a> EventVisitor<'a> {
    pub(crate) fn new(clocks: &'a mut Clocks) -> Self {
        Self { clocks, class_id: None, wide_id: None }
    }
}

impl Visitor for EventVisitor<'_> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        let roles = field.node().roles;
        if roles.is_empty() {
            return;
        }
        if roles.has(Role::EventRecordClassId) {
            self.class_id = Some(value.into());
        }
        self.clocks.update_by(field, roles, value);
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        let roles = field.node().roles;
        if roles.is_empty() {
            return;
        }
        if let Some(value) = value.as_u128().and_then(|value| u64::try_from(value).ok()) {
            self.unsigned(field.with_length(64), value);
        } else if roles.has(Role::EventRecordClassId) {
            self.class_id = value.as_u128();
            if self.class_id.is_none() {
                self.wide_id = Some((field.length, field.offset));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_wrap_at_the_width_of_the_field() {
        assert_eq!(update_clock(0x1_00fe, 0xff, 8), 0x1_00ff);
        assert_eq!(update_clock(0x1_00fe, 0x02, 8), 0x1_0102);
        assert_eq!(update_clock(19712, 5, 8), 19717);
        assert_eq!(update_clock(19717, 4, 8), 19972);
        assert_eq!(update_clock(500, 3, 64), 3);
        // A 1-bit clock also works.
        assert_eq!(update_clock(1, 0, 1), 2);
    }

    #[test]
    fn counters_wrap_at_the_width_of_the_field() {
        let counter = |value, width| Counter { value, width };
        assert_eq!(counter(2, 8).since(counter(250, 8)), Some(8));
        assert_eq!(counter(250, 8).since(counter(2, 8)), Some(248));
        assert_eq!(counter(7, 64).since(counter(5, 64)), Some(2));
        assert_eq!(counter(1, 64).since(counter(u64::MAX, 64)), Some(2));
        assert_eq!(counter(0, 64).since(counter(5, 64)), None);
        assert_eq!(counter(0, 32).since(counter(5, 32)), None);
    }
}
