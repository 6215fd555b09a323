//! Encoder for fields, using the layout of their class.

use std::borrow::Cow;

use ichnos_model::Visitor;
use ichnos_model::class::{
    BitField, ByteOrder, FieldKind, Role, Roles, StringLength, Uuid, VariableLengthValue,
};
use ichnos_model::field::{Field, Real, StringEncoding, Text, Wide};

use super::bit_writer::BitWriter;
use super::encoder_config::EncoderConfig;
use super::packet_clock::PacketClock;
use super::placed::{OverwriteLayout, PlacedField};
use super::role_values::{RoleValues, is_of_other_clock};
use super::source_frame::AddedFields;
use crate::packet::PACKET_MAGIC;

/// Reason why a field cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FieldEncodeError {
    #[error("member `{member}`: expected a value of {length} bits, found {found}")]
    TooLarge { member: String, length: u64, found: String },
    #[error("member `{member}`: its length field has the value {recorded}, but its length is {found}")]
    Length { member: String, recorded: i128, found: u64 },
    #[error("member `{member}`: its selector has the value {recorded}, which selects another option")]
    Selector { member: String, recorded: i128 },
    #[error("member `{member}`: expected at most {most} bytes, found {found}")]
    TooLong { member: String, most: u64, found: u64 },
    #[error("member `{member}`: expected an integer of at most {most} bits, found {found} bits")]
    WideInteger { member: String, most: u64, found: u64 },
    #[error("member `{member}`: it begins within a byte, after a field of the other byte order")]
    ByteOrder { member: String },
    #[error("member `{member}`: a field of this class cannot be written")]
    Class { member: String },
}

/// Number of 7-bit groups for an unknown value with up to 64 bits.
const MOST_GROUPS: u64 = 10;

/// Maximum number of zero bytes after a text that is shorter than its length field.
const MOST_ZEROS: u64 = 1 << 16;

/// A union whose members are being visited.
#[derive(Clone, Copy, Debug)]
struct OpenUnion {
    /// Depth of its members.
    depth: u32,
    /// `true` after its first member was written.
    was_written: bool,
    /// Its bit in the written packet.
    at: u64,
    /// Its bit in the source packet.
    offset: u64,
}

/// Writes fields.
#[derive(Debug)]
pub(super) struct FieldEncoder<'e> {
    out: &'e mut BitWriter,
    roles: RoleValues,
    /// Values for an event's timestamps if there are several, in order. They replace the value in `roles`.
    pub(super) times: &'e [u64],
    /// Receives the fields with roles.
    placed: Option<&'e mut Vec<PlacedField>>,
    /// Length field values, by slot.
    lengths: &'e mut Vec<Option<i128>>,
    /// Number of timestamps with different lower bits after replacement.
    pub(super) changed_times: u64,
    /// Number of timestamps replaced by [`RoleValues::timestamp`].
    pub(super) corrected_times: u64,
    /// Number of texts truncated at a U+0000.
    pub(super) cut: u64,
    pub(super) error: Option<FieldEncodeError>,
    /// `true` to replace invalid bytes in texts. The number of such texts follows.
    pub(super) replaces_invalid: bool,
    pub(super) replaced: u64,
    /// Index of the data stream's default clock. Other clocks' times are unchanged.
    default_clock: Option<u16>,
    added: AddedFields,
    clock: PacketClock,
    /// Last event record class id in a field.
    pub(super) class_id: Option<u64>,
    most_integer_bits: u64,
    /// Remaining bytes for the elements of a UUID array.
    uuid: Option<std::array::IntoIter<u8, 16>>,
    depth: u32,
    /// Enclosing unions. All members of a union share the same bits.
    unions: Vec<OpenUnion>,
    muted: u32,
}

impl<'e> FieldEncoder<'e> {
    pub(super) fn new(
        out: &'e mut BitWriter,
        config: &EncoderConfig,
        roles: RoleValues,
        placed: Option<&'e mut Vec<PlacedField>>,
        lengths: &'e mut Vec<Option<i128>>,
    ) -> Self {
        lengths.clear();
        let unions = Vec::new();
        Self {
            out,
            roles,
            times: &[],
            placed,
            lengths,
            changed_times: 0,
            corrected_times: 0,
            cut: 0,
            error: None,
            replaces_invalid: config.repairs(),
            replaced: 0,
            default_clock: config.default_clock,
            added: config.added,
            clock: config.clock,
            class_id: None,
            most_integer_bits: config.limits.integer_bits,
            uuid: None,
            depth: 0,
            unions,
            muted: 0,
        }
    }

    /// Returns the current size of the packet in bits.
    #[inline]
    pub(super) fn at(&self) -> u64 {
        self.out.at()
    }

    /// Returns `true` if fields are being skipped, because another union member has the same bits.
    pub(super) fn is_muted(&self) -> bool {
        self.muted > 0
    }

    fn fail(&mut self, field: Field<'_>, error: impl FnOnce(String) -> FieldEncodeError) {
        if self.error.is_none() {
            self.error = Some(error(field.name().unwrap_or("value").to_owned()));
        }
    }

    /// Returns `true` if a field is skipped, because it is a union member after the first member.
    #[inline]
    fn is_left_out(&mut self) -> bool {
        if self.unions.is_empty() && self.muted == 0 {
            return false;
        }
        if self.muted > 0 {
            return true;
        }
        match self.unions.last_mut() {
            Some(union) if union.depth == self.depth => std::mem::replace(&mut union.was_written, true),
            _ => false,
        }
    }

    /// Begins a field with nested fields. Returns `false` if it is skipped.
    fn begin(&mut self, field: Field<'_>) -> bool {
        if self.is_left_out() {
            self.muted += 1;
            return false;
        }
        self.out.align(field.node().alignment());
        self.depth += 1;
        true
    }

    fn end(&mut self) {
        match self.muted {
            0 => self.depth = self.depth.saturating_sub(1),
            _ => self.muted -= 1,
        }
    }

    /// Returns a field's value, considering its roles.
    #[cold]
    fn value_by_role(&mut self, field: Field<'_>, roles: Roles, value: u64) -> u64 {
        let mut value = value;
        if roles.has(Role::EventRecordClassId) {
            value = self.roles.class_id.unwrap_or(value);
            self.class_id = Some(value);
        }
        if roles.has(Role::PacketMagicNumber) {
            value = PACKET_MAGIC;
        }
        if roles.has(Role::DataStreamClassId) {
            value = self.roles.data_stream_class_id.unwrap_or(value);
        }
        if roles.has(Role::DataStreamId) {
            value = self.roles.data_stream_id.unwrap_or(value);
        }
        if !is_of_other_clock(roles, self.default_clock) && !self.is_shared(field) {
            let has_room =
                field.length >= 64 || matches!(field.class().kind, FieldKind::VariableLength { .. });
            let whole = |role, cycles: Option<u64>| cycles.filter(|_| has_room && roles.has(role));
            let mut time = self.roles.whole_timestamp;
            if roles.has(Role::Timestamp)
                && let Some((own, rest)) = self.times.split_first()
            {
                time = time.map(|_| *own);
                self.times = rest;
            }
            let begin = whole(Role::Timestamp, time);
            let bits = self.roles.timestamp.filter(|_| roles.has(Role::Timestamp));
            let end = whole(Role::PacketEndTimestamp, self.roles.whole_end_timestamp);
            if let Some(cycles) = end.or(begin) {
                let role = if end.is_some() { Role::PacketEndTimestamp } else { Role::Timestamp };
                let mask = u64::MAX >> (64 - self.source_bits(field, role).clamp(1, 64));
                let is_other = u64::from((value ^ cycles) & mask != 0);
                *(if bits.is_some() { &mut self.corrected_times } else { &mut self.changed_times }) +=
                    is_other;
                value = cycles;
            } else if let Some(cycles) = bits {
                let cycles = if field.length < 64 { cycles & ((1 << field.length) - 1) } else { cycles };
                self.corrected_times += u64::from(value != cycles);
                value = cycles;
            }
        }
        value
    }

    /// Returns a timestamp's size in bits in the source.
    fn source_bits(&self, field: Field<'_>, role: Role) -> u64 {
        let clock = &self.clock;
        match (role, self.placed.is_some() && clock.widened.has(role)) {
            (_, false) => field.length,
            (Role::PacketEndTimestamp, true) => clock.end_bits,
            (_, true) => clock.begin_bits,
        }
    }

    /// Returns `true` if a packet field updates several clocks. It keeps its value when the time of a single clock
    /// changes.
    fn is_shared(&self, field: Field<'_>) -> bool {
        self.placed.is_some() && !field.class().clock_updates().is_empty()
    }

    fn place(&mut self, field: Field<'_>, at: u64, layout: OverwriteLayout, value: u64) {
        let roles = field.node().roles;
        let stays = is_of_other_clock(roles, self.default_clock) || self.is_shared(field);
        let Some(placed) = &mut self.placed else { return };
        let is_time = |role| matches!(role, Role::Timestamp | Role::PacketEndTimestamp);
        let roles = roles.iter().filter(|role| !(stays && is_time(*role)));
        placed.extend(roles.map(|role| PlacedField { role, at, layout, value }));
    }

    /// Records a field with a role whose bits were written as another union member.
    fn place_in_union(&mut self, field: Field<'_>, value: u64) {
        if self.placed.is_none() || field.node().roles.is_empty() {
            return;
        }
        let (Some(union), FieldKind::Integer { bits, .. }) = (self.unions.first(), &field.class().kind)
        else {
            return;
        };
        if let Some(within) = field.offset.checked_sub(union.offset) {
            let at = union.at.saturating_add(within);
            self.place(
                field,
                at,
                OverwriteLayout::Bits(BitField::new(bits.length, bits.byte_order, 1)),
                value,
            );
        }
    }

    #[inline]
    fn begin_bits(&mut self, field: Field<'_>, bits: BitField) {
        if !self.out.begin_bits(bits) {
            self.fail(field, |member| FieldEncodeError::ByteOrder { member });
        }
    }

    /// Writes bits with a fixed or variable length. `fill` is the value of the bits above them.
    #[inline]
    fn bits(&mut self, field: Field<'_>, value: u64, fill: u64) {
        if self.is_left_out() {
            return self.place_in_union(field, value);
        }
        let node = field.node();
        let mut value = value;
        if !node.roles.is_empty() {
            value = self.value_by_role(field, node.roles, value);
        }
        let mut is_uuid = false;
        if let Some(uuid) = &mut self.uuid
            && let Some(byte) = uuid.next()
        {
            (value, is_uuid) = (u64::from(byte), true);
        }
        if node.is_needed() {
            self.save_length(field, if fill == 0 { i128::from(value) } else { i128::from(value as i64) });
        }
        match &field.class().kind {
            FieldKind::Integer { bits, .. }
            | FieldKind::BitArray(bits)
            | FieldKind::BitMap { bits, .. }
            | FieldKind::Boolean(bits) => self.fixed_bits(field, bits, (value, fill), is_uuid),
            FieldKind::VariableLength { alignment, value: kind } => {
                self.out.align((*alignment).max(8));
                self.groups(field, kind, value, fill);
            }
            _ => self.fail(field, |member| FieldEncodeError::Class { member }),
        }
    }

    /// Saves a field value that other fields need.
    fn save_length(&mut self, field: Field<'_>, length: i128) {
        for slot in field.node().saved_in() {
            let slot = usize::from(*slot);
            if self.lengths.len() <= slot {
                self.lengths.resize(slot + 1, None);
            }
            self.lengths[slot] = Some(length);
        }
    }

    #[inline]
    fn fixed_bits(&mut self, field: Field<'_>, bits: &BitField, (value, fill): (u64, u64), is_uuid: bool) {
        let roles = field.node().roles;
        let bits = match &self.placed {
            Some(_) => &self.added.layout(*bits, roles),
            None => bits,
        };
        self.begin_bits(field, *bits);
        if is_uuid && let Some(placed) = &mut self.placed {
            let (role, at, layout) = (Role::MetadataStreamUuid, self.out.at(), OverwriteLayout::Bits(*bits));
            placed.push(PlacedField { role, at, layout, value });
        }
        if bits.length > 64 {
            return self.wide_bits(field, *bits, value, fill);
        }
        let fits = match (bits.length, fill) {
            (64, _) => true,
            (length, 0) => value >> length == 0,
            (length, _) => (value as i64) >> (length - 1) == -1,
        };
        if !fits {
            let length = bits.length;
            let found = if fill == 0 { value.to_string() } else { (value as i64).to_string() };
            return self.fail(field, |member| FieldEncodeError::TooLarge { member, length, found });
        }
        if self.placed.is_some() && !roles.is_empty() {
            let at = self.out.at();
            self.place(field, at, OverwriteLayout::Bits(*bits), value);
        }
        self.out.put_field(value, *bits);
    }

    /// Writes a value with at most 64 bits into a larger field.
    #[cold]
    fn wide_bits(&mut self, field: Field<'_>, bits: BitField, value: u64, fill: u64) {
        let high = if bits.byte_order == ByteOrder::BigEndian { bits.length - 64 } else { 0 };
        let at = self.out.at() + high;
        if !bits.is_reversed() {
            let low = BitField::new(64, bits.byte_order, 1);
            self.place(field, at, OverwriteLayout::Bits(low), value);
        }
        let words = [value, fill];
        self.out.put_wide(Wide { words: &words, length: bits.length, signed: fill != 0 }, bits);
    }

    /// Writes a variable-length value in 7-bit groups.
    fn groups(&mut self, field: Field<'_>, kind: &VariableLengthValue, value: u64, fill: u64) {
        let is_signed = matches!(kind, VariableLengthValue::Integer(integer) if integer.signed);
        let significant = match fill {
            0 => 64 - u64::from(value.leading_zeros()) + u64::from(is_signed),
            _ => 65 - u64::from(value.leading_ones()),
        };
        let mut groups = significant.div_ceil(7).max(field.length / 7).max(1);
        if self.placed.is_some() && !field.node().roles.is_empty() {
            groups = groups.max(MOST_GROUPS);
            let at = self.out.at();
            self.place(field, at, OverwriteLayout::Groups(groups), value);
        }
        let wide = u128::from(value) | u128::from(fill) << 64;
        self.out.put_groups(groups, |index| match 7 * index {
            shift @ 0..128 => (wide >> shift) as u8,
            _ => fill as u8,
        });
    }

    /// Returns the position of a text's first U+0000, in code units, and counts such texts.
    fn record_cut(&mut self, bytes: &[u8], unit: usize) -> Option<usize> {
        let end = bytes.chunks(unit).position(|unit| unit.iter().all(|byte| *byte == 0));
        self.cut += u64::from(end.is_some());
        end
    }

    fn put_text(&mut self, field: Field<'_>, value: Text<'_>) {
        if self.is_left_out() {
            return;
        }
        let FieldKind::String { encoding, length, alignment } = &field.class().kind else {
            return self.fail(field, |member| FieldEncodeError::Class { member });
        };
        self.out.align(*alignment);
        let unit = encoding.unit();
        match length {
            StringLength::NullTerminated => {
                let end = self.record_cut(value.bytes, unit);
                let end = end.map_or(value.bytes.len(), |end| end * unit);
                self.out.bytes_at_bit(&value.bytes[..end], self.out.order());
                self.out.bytes_at_bit(&[0; 4][..unit], self.out.order());
            }
            StringLength::Static(most) => {
                // The bytes are written, but a reader ends the text at the first U+0000.
                self.record_cut(value.bytes, unit);
                let most = *most;
                let bytes = if value.raw.len() as u64 == most { value.raw } else { value.bytes };
                let found = bytes.len() as u64;
                if found > most {
                    return self.fail(field, |member| FieldEncodeError::TooLong { member, most, found });
                }
                self.out.bytes_at_bit(bytes, self.out.order());
                for _ in found..most {
                    self.out.bytes_at_bit(&[0], self.out.order());
                }
            }
            StringLength::Dynamic(_) => {
                let recorded = self.recorded_length(field);
                let is_raw = recorded.is_none_or(|recorded| recorded == value.raw.len() as i128);
                let bytes = if is_raw { value.raw } else { value.bytes };
                let found = bytes.len() as u64;
                // A value source may contain the text without the zeros after it.
                let zeros = recorded.and_then(|recorded| u64::try_from(recorded).ok()?.checked_sub(found));
                let zeros = zeros.filter(|zeros| *zeros <= MOST_ZEROS).unwrap_or(0);
                self.check_length(field, found + zeros);
                self.out.bytes_at_bit(bytes, self.out.order());
                for _ in 0..zeros {
                    self.out.bytes_at_bit(&[0], self.out.order());
                }
            }
            StringLength::Prefixed { .. } => self.fail(field, |member| FieldEncodeError::Class { member }),
        }
    }

    /// Returns the UUID for a field.
    fn uuid_of(&self, field: Field<'_>) -> Option<Uuid> {
        self.roles.uuid.filter(|_| field.node().roles.has(Role::MetadataStreamUuid))
    }

    /// Returns a field's length from its length field.
    fn recorded_length(&self, field: Field<'_>) -> Option<i128> {
        self.lengths.get(usize::from(field.node().length_slot()?)).copied().flatten()
    }

    /// Returns the value of a field's selector.
    fn selected_by(&self, field: Field<'_>) -> Option<i128> {
        self.lengths.get(usize::from(field.node().selector_slot()?)).copied().flatten()
    }

    fn check_length(&mut self, field: Field<'_>, found: u64) {
        if let Some(recorded) = self.recorded_length(field)
            && recorded != i128::from(found)
        {
            self.fail(field, |member| FieldEncodeError::Length { member, recorded, found });
        }
    }
}

/// Replaces bytes that are not UTF-8 with the same number of question marks.
pub(super) fn valid(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Err(first) = std::str::from_utf8(bytes) else { return Cow::Borrowed(bytes) };
    let mut valid = bytes.to_vec();
    let (mut at, mut error) = (0, first);
    loop {
        let begin = at + error.valid_up_to();
        let end = error.error_len().map_or(valid.len(), |length| begin + length);
        valid[begin..end].fill(b'?');
        at = end;
        match std::str::from_utf8(&bytes[at..]) {
            Ok(_) => return Cow::Owned(valid),
            Err(next) => error = next,
        }
    }
}

impl Visitor for FieldEncoder<'_> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.bits(field, value, 0);
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.bits(field, value as u64, if value < 0 { u64::MAX } else { 0 });
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        let roles = field.node().roles;
        let is_size = roles.has(Role::PacketTotalLength) || roles.has(Role::PacketContentLength);
        let is_time = roles.has(Role::Timestamp) && self.roles.whole_timestamp.is_some()
            || roles.has(Role::PacketEndTimestamp) && self.roles.whole_end_timestamp.is_some();
        let is_time = is_time && !is_of_other_clock(roles, self.default_clock) && !self.is_shared(field);
        let fits = || value.as_u128().is_some_and(|value| u64::try_from(value).is_ok());
        if is_size && self.placed.is_some() || is_time && (self.placed.is_none() || fits()) {
            // It gets a 64-bit value.
            return self.bits(field, value.words.first().copied().unwrap_or(0), 0);
        }
        if self.is_left_out() {
            return;
        }
        let fill = if value.is_negative() { u64::MAX } else { 0 };
        match &field.class().kind {
            FieldKind::Integer { bits, .. } | FieldKind::BitArray(bits) | FieldKind::BitMap { bits, .. } => {
                self.begin_bits(field, *bits);
                self.out.put_wide(value, *bits);
            }
            FieldKind::VariableLength { alignment, .. } => {
                let most = self.most_integer_bits;
                if value.length > most {
                    let found = value.length;
                    return self.fail(field, |member| FieldEncodeError::WideInteger { member, most, found });
                }
                self.out.align((*alignment).max(8));
                let bit = |index: u64| {
                    value.words.get((index / 64) as usize).copied().unwrap_or(fill) >> (index % 64) & 1
                };
                let groups = (value.length.max(field.length)).div_ceil(7).max(1);
                self.out.put_groups(groups, |index| {
                    (0..7).fold(0, |group, i| group | (bit(7 * index + i) as u8) << i)
                });
            }
            _ => self.fail(field, |member| FieldEncodeError::Class { member }),
        }
    }

    fn boolean(&mut self, field: Field<'_>, value: bool, bits: u64) {
        self.bits(field, if bits == 0 { u64::from(value) } else { bits }, 0);
    }

    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        self.bits(field, bits, 0);
    }

    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        self.bits(field, bits, 0);
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        if self.is_left_out() {
            return;
        }
        let FieldKind::Float(bits) = &field.class().kind else {
            return self.fail(field, |member| FieldEncodeError::Class { member });
        };
        self.begin_bits(field, *bits);
        let value = match value {
            Real::Half(value) => u64::from(value),
            Real::Single(value) if bits.length == 32 => u64::from(value.to_bits()),
            Real::Double(value) if bits.length == 64 => value.to_bits(),
            Real::Double(value) if bits.length == 32 => u64::from((value as f32).to_bits()),
            Real::Single(value) if bits.length == 64 => f64::from(value).to_bits(),
            Real::Wide(wide) => return self.out.put_wide(wide, *bits),
            _ => return self.fail(field, |member| FieldEncodeError::Class { member }),
        };
        self.out.put_field(value, *bits);
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        if self.replaces_invalid && value.encoding == StringEncoding::Utf8 {
            let raw = valid(value.raw);
            // Usually, the bytes are the start of the raw bytes, up to a zero.
            let is_begin = matches!(raw, Cow::Borrowed(_)) && value.raw.starts_with(value.bytes);
            let bytes = if is_begin { Cow::Borrowed(value.bytes) } else { valid(value.bytes) };
            self.replaced += u64::from(bytes != value.bytes);
            return self.put_text(field, Text { bytes: &bytes, raw: &raw, ..value });
        }
        self.put_text(field, value);
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        if self.is_left_out() {
            return;
        }
        self.out.align(field.node().alignment().max(8));
        if let FieldKind::Blob { length: ichnos_model::class::Length::Static(most), .. } = &field.class().kind
            && *most != bytes.len() as u64
        {
            let (most, found) = (*most, bytes.len() as u64);
            return self.fail(field, |member| FieldEncodeError::TooLong { member, most, found });
        }
        self.check_length(field, bytes.len() as u64);
        match self.uuid_of(field) {
            Some(uuid) if bytes.len() == 16 => {
                if let Some(placed) = &mut self.placed {
                    let (role, begin) = (Role::MetadataStreamUuid, self.out.at());
                    let layout = OverwriteLayout::Bits(BitField::new(8, ByteOrder::LittleEndian, 8));
                    let bytes = (0..).zip(uuid.as_bytes());
                    placed.extend(bytes.map(|(number, byte)| PlacedField {
                        role,
                        at: begin + 8 * number,
                        layout,
                        value: u64::from(*byte),
                    }));
                }
                self.out.bytes(uuid.as_bytes());
            }
            _ => self.out.bytes(bytes),
        }
    }

    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        // Its bits equal its lowered class's bits. If they cannot be copied, the GUID arrives here.
        if !self.is_left_out() {
            self.out.align(field.node().alignment().max(8));
            self.out.bytes(&value.to_bytes_le());
        }
    }

    fn null(&mut self, field: Field<'_>) {
        if !self.is_left_out() {
            self.out.align(field.node().alignment());
        }
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(field);
    }

    fn end_structure(&mut self, _: Field<'_>) {
        self.end();
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        if self.begin(field) {
            self.check_length(field, length);
        }
        if let Some(uuid) = self.uuid_of(field) {
            self.uuid = Some(uuid.into_bytes().into_iter());
        }
    }

    fn end_array(&mut self, _: Field<'_>) {
        self.uuid = None;
        self.end();
    }

    fn begin_optional(&mut self, field: Field<'_>, is_present: bool, _: i128) {
        if let (Some(recorded), FieldKind::Optional { ranges, .. }) =
            (self.selected_by(field), &field.class().kind)
            && ranges.as_ref().map_or(recorded != 0, |ranges| ranges.contains(recorded)) != is_present
        {
            self.fail(field, |member| FieldEncodeError::Selector { member, recorded });
        }
        self.begin(field);
    }

    fn end_optional(&mut self, _: Field<'_>) {
        self.end();
    }

    fn begin_variant(&mut self, field: Field<'_>, option: usize, _: i128) {
        if let (Some(recorded), FieldKind::Variant { options, .. }) =
            (self.selected_by(field), &field.class().kind)
            && options.iter().position(|option| option.ranges.contains(recorded)) != Some(option)
        {
            self.fail(field, |member| FieldEncodeError::Selector { member, recorded });
        }
        self.begin(field);
    }

    fn end_variant(&mut self, _: Field<'_>) {
        self.end();
    }

    fn begin_union(&mut self, field: Field<'_>) {
        if self.begin(field) {
            let (depth, at, offset) = (self.depth, self.out.at(), field.offset);
            self.unions.push(OpenUnion { depth, was_written: false, at, offset });
        }
    }

    fn end_union(&mut self, _: Field<'_>) {
        if self.muted == 0 {
            self.unions.pop();
        }
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::valid;

    #[test]
    fn texts_are_made_valid() {
        assert_eq!(*valid("aé".as_bytes()), *"aé".as_bytes());
        assert_eq!(*valid(b"a\xffb\xe2\x82c\xe2\x82"), *b"a?b??c??");
        assert_eq!(*valid(b"\xff"), *b"?");
        assert_eq!(*valid(b""), *b"");
    }
}
