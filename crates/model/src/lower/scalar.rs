//! Lowers fields without inner fields, except for the bytes of an array.

use std::sync::Arc;

use super::capabilities::Feature;
use super::class_lowerer::ClassLowerer;
use super::loss_table::LossKind;
use super::moves::{MoveKind, NONE, ScopeConversion};
use crate::class::{
    BitField, ByteOrder, DisplayBase, FieldClass, FieldKind, FieldLocation, IntegerProperties, IntegerRange,
    Length, MappingsBuilder, StringLength, VariableLengthValue,
};
use crate::field::StringEncoding;
use crate::plan::steps::NodeId;

impl ClassLowerer<'_> {
    /// Lowers a field without inner fields. `location` leads to the member added before it, if any.
    pub(super) fn single(
        &mut self,
        id: NodeId,
        source: &FieldClass,
        location: Option<FieldLocation>,
    ) -> FieldKind {
        let at = id as usize;
        match &source.kind {
            FieldKind::Integer { bits, .. } | FieldKind::BitArray(bits) | FieldKind::BitMap { bits, .. }
                if self.is_too_wide(source) =>
            {
                self.wide_bytes(at, source, *bits)
            }
            FieldKind::BitMap { bits, flags }
                if flags.is_empty() && !self.capabilities.has(Feature::EmptyBitMaps) =>
            {
                if self.capabilities.has(Feature::BitArrays) {
                    self.lowered(ScopeConversion::SameBits, source, "bit array");
                    self.moves[at].kind = MoveKind::BitArray;
                    FieldKind::BitArray(self.bits(*bits))
                } else {
                    self.unsigned(at, source, *bits, DisplayBase::Hexadecimal)
                }
            }
            FieldKind::BitArray(bits) if !self.capabilities.has(Feature::BitArrays) => {
                self.unsigned(at, source, *bits, DisplayBase::Hexadecimal)
            }
            FieldKind::BitMap { bits, .. } if !self.capabilities.has(Feature::BitMaps) => {
                self.unsigned(at, source, *bits, DisplayBase::Hexadecimal)
            }
            FieldKind::Boolean(bits) if !self.capabilities.has(Feature::Booleans) => {
                self.boolean_as_integer(at, source, *bits)
            }
            FieldKind::Integer { bits, integer } => {
                let integer = self.integer(integer, Some(bits.length));
                let bits = self.widened(source, *bits);
                FieldKind::Integer { bits: self.bits(bits), integer }
            }
            FieldKind::VariableLength { value, alignment } => {
                self.variable_length(at, source, value, *alignment)
            }
            FieldKind::String { encoding, length, alignment } => {
                self.string(at, source, *encoding, length, *alignment, location)
            }
            FieldKind::Blob { length, media_type, alignment } => {
                let alignment = self.byte_alignment(at, *alignment);
                let length = self.length(id, length, location);
                if self.capabilities.has(Feature::Blobs) {
                    FieldKind::Blob { length, media_type: media_type.clone(), alignment }
                } else {
                    self.lowered(ScopeConversion::SameBits, source, "array of bytes");
                    self.bytes(at, length, alignment)
                }
            }
            FieldKind::Guid { alignment } if !self.capabilities.has(Feature::Guids) => {
                self.lowered(ScopeConversion::SameBits, source, "16 bytes");
                let alignment = self.byte_alignment(at, (*alignment).max(8));
                self.bytes_or_blob(at, 16, alignment)
            }
            FieldKind::Null { alignment } if !self.capabilities.has(Feature::Nulls) => {
                self.lowered(ScopeConversion::SameBits, source, "structure without members");
                self.moves[at].kind = MoveKind::NullAsStructure;
                FieldKind::Structure { members: Vec::new(), minimum_alignment: *alignment }
            }
            // The output has the same kind.
            kind => kind.clone().with_bits(|bits| self.bits(bits)),
        }
    }

    /// Returns the bits of an integer. A time with fewer bits in the source is widened to 64 bits.
    fn widened(&mut self, source: &FieldClass, bits: BitField) -> BitField {
        let is_own = source.roles.clock.is_none_or(|clock| Some(clock) == self.default_clock)
            && !source.roles.has_further_clocks();
        let has_role = self.input.widened_roles.iter().any(|role| source.roles.has(role));
        if !is_own || !has_role || bits.length >= 64 {
            return bits;
        }
        self.record_conversion(ScopeConversion::Moved);
        self.change(LossKind::Lowered, format!("{}-bit time -> full 64-bit time", bits.length));
        BitField { length: 64, ..bits }
    }

    /// Creates the bytes for an integer with more bits than the format supports.
    fn wide_bytes(&mut self, at: usize, source: &FieldClass, bits: BitField) -> FieldKind {
        self.lowered(ScopeConversion::Moved, source, "its bytes, least significant first");
        let alignment = self.byte_alignment(at, bits.alignment.max(8));
        let kind = self.bytes(at, Length::Static(bits.length.div_ceil(8)), alignment);
        self.moves[at].kind = MoveKind::WideBytes;
        kind
    }

    fn boolean_as_integer(&mut self, at: usize, source: &FieldClass, mut bits: BitField) -> FieldKind {
        if bits.length > 64 {
            // The result only shows if any bit is set.
            self.record_conversion(ScopeConversion::Moved);
            bits.length = 8;
        }
        self.unsigned(at, source, bits, DisplayBase::Decimal)
    }

    /// Creates an unsigned integer with the same bits.
    pub(super) fn unsigned(
        &mut self,
        at: usize,
        source: &FieldClass,
        bits: BitField,
        preferred_base: DisplayBase,
    ) -> FieldKind {
        self.lowered(ScopeConversion::SameBits, source, "unsigned integer");
        self.moves[at].kind = MoveKind::Unsigned;
        let integer = IntegerProperties { preferred_base, ..IntegerProperties::default() };
        FieldKind::Integer { bits: self.bits(bits), integer }
    }

    pub(super) fn bits(&mut self, bits: BitField) -> BitField {
        if self.capabilities.has(Feature::BitOrders) || !bits.is_reversed() {
            return bits;
        }
        self.record_change(
            ScopeConversion::Moved,
            LossKind::Lowered,
            "bit order -> implied by the byte order",
        );
        BitField::new(bits.length, bits.byte_order, bits.alignment)
    }

    /// Lowers integer properties. `length` is the number of bits, if fixed.
    pub(super) fn integer(&mut self, integer: &IntegerProperties, length: Option<u64>) -> IntegerProperties {
        let mut integer = integer.clone();
        self.mappings(&mut integer, length);
        if !self.capabilities.has(Feature::WallClocks) && integer.wall_clock.take().is_some() {
            self.record_change(ScopeConversion::SameBits, LossKind::Lowered, "date -> integer");
        }
        integer
    }

    pub(super) fn mappings(&mut self, integer: &mut IntegerProperties, length: Option<u64>) {
        let Some(mappings) = &integer.mappings else { return };
        if let (Some(length @ 1..), false) = (length, self.capabilities.has(Feature::MappingsBeyondBits)) {
            let length = length.min(64);
            let (least, most) = match integer.signed {
                true => (-(1i128 << (length - 1)), (1i128 << (length - 1)) - 1),
                false => (0, (1i128 << length) - 1),
            };
            let fits = |range: IntegerRange| range.lower >= least && range.upper <= most;
            if integer.wide_ranges.is_some() || !mappings.iter().all(|one| one.ranges.iter().all(fits)) {
                let mut within = MappingsBuilder::default();
                for mapping in mappings.iter() {
                    let ranges =
                        mapping.ranges.iter().filter(|range| range.lower <= most && range.upper >= least);
                    let mut ranges = ranges.peekable();
                    if ranges.peek().is_some() {
                        within.add_name(mapping.name);
                    }
                    for IntegerRange { lower, upper } in ranges {
                        within.add_range(IntegerRange { lower: lower.max(least), upper: upper.min(most) });
                    }
                }
                (integer.mappings, integer.wide_ranges) = (Some(within.finish()), None);
                self.record_change(
                    ScopeConversion::SameBits,
                    LossKind::Dropped,
                    format!("value names beyond {length} bits"),
                );
            }
        }
        self.drop_unused_names(integer);
        if !self.capabilities.has(Feature::EmptyMappings)
            && integer.mappings.as_ref().is_some_and(|all| all.is_empty())
        {
            integer.mappings = None;
            self.record_change(ScopeConversion::SameBits, LossKind::Dropped, "empty mapping table");
        }
    }

    /// Drops names without values, if the format does not support them.
    fn drop_unused_names(&mut self, integer: &mut IntegerProperties) {
        let Some(mappings) =
            integer.mappings.as_ref().filter(|_| !self.capabilities.has(Feature::UnusedNames))
        else {
            return;
        };
        let mut wide = integer.wide_ranges().to_vec();
        let mut used = MappingsBuilder::default();
        let (mut count, mut unused) = (0, Vec::new());
        for (index, mapping) in mappings.iter().enumerate() {
            let mut is_used = !mapping.ranges.is_empty();
            for range in wide.iter_mut().filter(|range| range.mapping == index) {
                (is_used, range.mapping) = (true, count);
            }
            if !is_used {
                unused.push(mapping.name.to_owned());
                continue;
            }
            count += 1;
            used.add_name(mapping.name);
            mapping.ranges.iter().for_each(|range| used.add_range(range));
        }
        if unused.is_empty() {
            return;
        }
        integer.mappings = Some(used.finish());
        integer.wide_ranges = integer.wide_ranges.take().map(|_| Arc::new(wide));
        self.record_conversion(ScopeConversion::SameBits);
        for name in unused {
            self.record_loss(LossKind::Dropped, format!("name `{name}` without a value"));
        }
    }

    pub(super) fn byte_alignment(&mut self, at: usize, alignment: u64) -> u64 {
        if self.capabilities.has(Feature::StringAlignments) {
            return alignment;
        }
        match alignment {
            0..8 => self.record_conversion(ScopeConversion::Moved),
            8 => {}
            _ => self.record_lost_alignment(at, alignment, 8),
        }
        8
    }

    /// Records that a field has a smaller alignment, unless a member before it has the larger one.
    pub(super) fn record_lost_alignment(&mut self, at: usize, from: u64, to: u64) {
        self.record_conversion(ScopeConversion::Moved);
        self.moves[at].is_padded = self.moves[at].pad != NONE;
        if !self.moves[at].is_padded {
            self.record_loss(LossKind::Lowered, format!("alignment {from} -> {to}"));
        }
    }

    pub(super) fn length(&mut self, id: NodeId, length: &Length, location: Option<FieldLocation>) -> Length {
        match (length, location) {
            (Length::Static(length), _) => Length::Static(*length),
            (Length::Dynamic(_), Some(location)) => Length::Dynamic(Box::new(location)),
            (Length::Dynamic(own), None) => Length::Dynamic(self.location(id, own)),
        }
    }

    /// Creates a byte array.
    pub(super) fn bytes(&mut self, at: usize, length: Length, alignment: u64) -> FieldKind {
        self.moves[at].kind = MoveKind::Bytes;
        self.moves[at].inner = self.allocate();
        let preferred_base = DisplayBase::Hexadecimal;
        let integer = IntegerProperties { preferred_base, ..IntegerProperties::default() };
        let bits = BitField::new(8, ByteOrder::LittleEndian, 8);
        let element = Arc::new(FieldClass::new(FieldKind::Integer { bits, integer }));
        FieldKind::Array { element, length, minimum_alignment: alignment, element_aligns: true }
    }

    pub(super) fn bytes_or_blob(&mut self, at: usize, length: u64, alignment: u64) -> FieldKind {
        let (length, alignment) = (Length::Static(length), alignment.max(8));
        if !self.capabilities.has(Feature::Blobs) {
            return self.bytes(at, length, alignment);
        }
        self.moves[at].kind = MoveKind::Bytes;
        FieldKind::Blob { length, media_type: "application/octet-stream".to_owned(), alignment }
    }

    pub(super) fn variable_length(
        &mut self,
        at: usize,
        source: &FieldClass,
        value: &VariableLengthValue,
        alignment: u64,
    ) -> FieldKind {
        let bits = |length: u64| BitField::new(length, ByteOrder::LittleEndian, alignment.max(8));
        let has_integers = self.capabilities.has(Feature::VariableLengthIntegers);
        // Fixed-length fields can have any alignment.
        let stays = match value {
            VariableLengthValue::Integer(_) => has_integers,
            VariableLengthValue::BitArray => {
                has_integers || self.capabilities.has(Feature::VariableLengthBitArrays)
            }
            VariableLengthValue::Boolean => self.capabilities.has(Feature::VariableLengthBooleans),
        };
        let alignment = if stays { self.byte_alignment(at, alignment) } else { alignment };
        match value {
            VariableLengthValue::Integer(integer) if has_integers => {
                let value = VariableLengthValue::Integer(self.integer(integer, None));
                FieldKind::VariableLength { value, alignment }
            }
            VariableLengthValue::Integer(integer) => {
                self.lowered(ScopeConversion::Moved, source, "64-bit integer");
                FieldKind::Integer { bits: bits(64), integer: self.integer(integer, Some(64)) }
            }
            VariableLengthValue::BitArray if self.capabilities.has(Feature::VariableLengthBitArrays) => {
                FieldKind::VariableLength { value: VariableLengthValue::BitArray, alignment }
            }
            VariableLengthValue::BitArray => {
                self.moves[at].kind = MoveKind::Unsigned;
                let integer = IntegerProperties::default();
                if has_integers {
                    self.lowered(ScopeConversion::SameBits, source, "variable-length unsigned integer");
                    return FieldKind::VariableLength {
                        value: VariableLengthValue::Integer(integer),
                        alignment,
                    };
                }
                self.lowered(ScopeConversion::Moved, source, "64-bit unsigned integer");
                FieldKind::Integer { bits: bits(64), integer }
            }
            VariableLengthValue::Boolean if self.capabilities.has(Feature::VariableLengthBooleans) => {
                FieldKind::VariableLength { value: VariableLengthValue::Boolean, alignment }
            }
            VariableLengthValue::Boolean if self.capabilities.has(Feature::Booleans) => {
                self.lowered(ScopeConversion::Moved, source, "8-bit boolean");
                FieldKind::Boolean(bits(8))
            }
            VariableLengthValue::Boolean => {
                self.lowered(ScopeConversion::Moved, source, "8-bit unsigned integer");
                self.moves[at].kind = MoveKind::Unsigned;
                FieldKind::Integer { bits: bits(8), integer: IntegerProperties::default() }
            }
        }
    }

    pub(super) fn string(
        &mut self,
        at: usize,
        source: &FieldClass,
        encoding: StringEncoding,
        length: &StringLength,
        alignment: u64,
        location: Option<FieldLocation>,
    ) -> FieldKind {
        let alignment = self.byte_alignment(at, alignment);
        let has_encoding = self.capabilities.encodings.contains(&encoding);
        let terminated = |this: &mut Self, kind| {
            this.record_conversion(ScopeConversion::Moved);
            this.moves[at].kind = kind;
            StringLength::NullTerminated
        };
        if !has_encoding {
            self.lowered(ScopeConversion::Moved, source, "UTF-8");
            let length = match location {
                Some(location) => {
                    self.moves[at].kind = MoveKind::Transcoded;
                    StringLength::Dynamic(Box::new(location))
                }
                None => terminated(self, MoveKind::Transcoded),
            };
            return FieldKind::String { encoding: StringEncoding::Utf8, length, alignment };
        }
        let length = match (length, location) {
            (StringLength::NullTerminated, _) => StringLength::NullTerminated,
            (StringLength::Static(length), _) => StringLength::Static(*length),
            (_, Some(location)) => StringLength::Dynamic(Box::new(location)),
            (StringLength::Dynamic(own), None) if !own.is_by_values() => {
                StringLength::Dynamic(self.location(at as NodeId, own))
            }
            (StringLength::Prefixed { length, gap }, None)
                if self.capabilities.has(Feature::PrefixedStrings) =>
            {
                StringLength::Prefixed { length: *length, gap: *gap }
            }
            _ => terminated(self, MoveKind::Terminated),
        };
        FieldKind::String { encoding, length, alignment }
    }
}
