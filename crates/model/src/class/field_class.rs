//! Field classes: everything that CTF 2 can describe, plus additions for the other formats.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::wide_integer::names_of;
use crate::class::{Attributes, ClockUpdate, FieldLocation, Mappings, RangeSet, Role, Roles, WideRange};
use crate::clock::WallClock;
use crate::field::{FieldValue, StringEncoding, Wide};
use crate::meaning::ActivityPaths;
use crate::trace::DeclaredAt;

/// Describes fields: bit sequences in a packet, with their meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldClass {
    /// Kind, with its properties.
    pub kind: FieldKind,
    /// Roles in decoding.
    pub roles: Roles,
    /// Clocks that the field updates in addition to the clock in its roles.
    pub clock_updates: Option<Arc<[ClockUpdate]>>,
    /// Attributes from the producer.
    pub attributes: Attributes,
    /// `true` for an optional field that the source record does not describe. Sinks hide it if absent, and show it like
    /// any other field if present.
    pub hides_absence: bool,
    /// Encoding of activity paths in GUIDs. Sinks for people show the path instead of the GUID.
    pub activity_paths: Option<ActivityPaths>,
    /// Declaration position.
    pub declared_at: DeclaredAt,
}

impl FieldClass {
    /// Creates a class without roles and attributes.
    #[must_use]
    pub fn new(kind: FieldKind) -> Self {
        Self {
            kind,
            roles: Roles::NONE,
            clock_updates: None,
            attributes: Attributes::default(),
            hides_absence: false,
            activity_paths: None,
            declared_at: DeclaredAt::default(),
        }
    }

    /// An unsigned integer with `length` bits, little-endian, aligned to bytes.
    #[must_use]
    pub fn unsigned(length: u64) -> Self {
        let bits = BitField::new(length, ByteOrder::LittleEndian, 8);
        Self::new(FieldKind::Integer { bits, integer: IntegerProperties::default() })
    }

    /// A signed integer with `length` bits, little-endian, aligned to bytes.
    #[must_use]
    pub fn signed(length: u64) -> Self {
        let bits = BitField::new(length, ByteOrder::LittleEndian, 8);
        let integer = IntegerProperties { signed: true, ..IntegerProperties::default() };
        Self::new(FieldKind::Integer { bits, integer })
    }

    /// A floating-point number with 16, 32 or 64 bits, little-endian, aligned to bytes.
    #[must_use]
    pub fn float(length: u64) -> Self {
        Self::new(FieldKind::Float(BitField::new(length, ByteOrder::LittleEndian, 8)))
    }

    /// A UTF-8 string. As bits, it is null-terminated.
    #[must_use]
    pub fn string() -> Self {
        let (encoding, length) = (StringEncoding::Utf8, StringLength::NullTerminated);
        Self::new(FieldKind::String { encoding, length, alignment: 8 })
    }

    /// A GUID, aligned to bytes.
    #[must_use]
    pub fn guid() -> Self {
        Self::new(FieldKind::Guid { alignment: 8 })
    }

    /// A 64-bit wall clock time, little-endian, aligned to bytes.
    #[must_use]
    pub fn wall_clock(signed: bool, clock: WallClock) -> Self {
        let bits = BitField::new(64, ByteOrder::LittleEndian, 8);
        let integer = IntegerProperties { signed, wall_clock: Some(clock), ..IntegerProperties::default() };
        Self::new(FieldKind::Integer { bits, integer })
    }

    /// A field that may be absent, in value scopes. Only the values determine its presence, without a selector field.
    #[must_use]
    pub fn optional(field: impl Into<Arc<Self>>) -> Self {
        let selector = Box::new(FieldLocation::by_values());
        Self::new(FieldKind::Optional { field: field.into(), selector, ranges: None })
    }

    /// An array in value scopes. Only the values determine its length, without a length field.
    #[must_use]
    pub fn array_by_values(element: impl Into<Arc<Self>>) -> Self {
        let length = Length::Dynamic(Box::new(FieldLocation::by_values()));
        let element = element.into();
        Self::new(FieldKind::Array { element, length, minimum_alignment: 8, element_aligns: true })
    }

    /// Returns `true` for classes from [`FieldClass::optional`].
    #[must_use]
    pub fn is_optional_by_values(&self) -> bool {
        matches!(&self.kind, FieldKind::Optional { selector, .. } if selector.is_by_values())
    }

    /// Returns `true` for classes from [`FieldClass::optional`], and for classes that [hide their
    /// absence](Self::hides_absence).
    #[must_use]
    pub fn is_shown_if_present(&self) -> bool {
        matches!(&self.kind, FieldKind::Optional { selector, .. } if self.hides_absence || selector.is_by_values())
    }

    /// A structure with these members, aligned to bytes.
    #[must_use]
    pub fn structure(members: impl IntoIterator<Item = Member>) -> Self {
        let members = members.into_iter().collect();
        Self::new(FieldKind::Structure { members, minimum_alignment: 8 })
    }

    /// Returns the alignment of the first bit in the packet, in bits: a power of two (CTF2-SPEC-2.0, "Alignment
    /// procedure").
    #[must_use]
    pub fn alignment(&self) -> u64 {
        self.alignment_with(&mut HashMap::new())
    }

    /// Computes each shared class's alignment once, however often it is used.
    fn alignment_with(&self, known: &mut HashMap<*const Self, u64>) -> u64 {
        let mut of = |class: &Arc<Self>| {
            if !matches!(class.kind, FieldKind::Structure { .. } | FieldKind::Array { .. }) {
                return class.alignment_with(known);
            }
            if let Some(alignment) = known.get(&Arc::as_ptr(class)) {
                return *alignment;
            }
            let alignment = class.alignment_with(known);
            known.insert(Arc::as_ptr(class), alignment);
            alignment
        };
        let own = self.declared_alignment();
        match &self.kind {
            FieldKind::Structure { members, .. } => {
                members.iter().map(|member| of(&member.class)).fold(own, u64::max)
            }
            FieldKind::Array { element, element_aligns: true, .. } => of(element).max(own),
            _ => own,
        }
    }

    /// Returns the alignment in bits that the class itself declares, without its members or elements.
    #[must_use]
    pub fn declared_alignment(&self) -> u64 {
        if let Some(bits) = self.bits() {
            return bits.alignment;
        }
        match &self.kind {
            FieldKind::VariableLength { alignment, .. }
            | FieldKind::String { alignment, .. }
            | FieldKind::Blob { alignment, .. }
            | FieldKind::Null { alignment }
            | FieldKind::Variant { alignment, .. }
            | FieldKind::Union { alignment, .. }
            | FieldKind::Structure { minimum_alignment: alignment, .. }
            | FieldKind::Array { minimum_alignment: alignment, .. } => *alignment,
            FieldKind::Guid { alignment } => (*alignment).max(8),
            _ => 1,
        }
    }

    /// Returns the layout of fixed-length bits.
    #[must_use]
    pub fn bits(&self) -> Option<BitField> {
        match &self.kind {
            FieldKind::BitArray(bits)
            | FieldKind::BitMap { bits, .. }
            | FieldKind::Boolean(bits)
            | FieldKind::Integer { bits, .. }
            | FieldKind::Float(bits)
            | FieldKind::Padding(bits) => Some(*bits),
            _ => None,
        }
    }

    /// Returns the minimum number of bits in a field, without inner fields.
    pub(crate) fn own_bits(&self) -> u64 {
        if let Some(bits) = self.bits() {
            return bits.length;
        }
        match &self.kind {
            FieldKind::VariableLength { .. } => 8,
            FieldKind::String { length, .. } => match length {
                StringLength::NullTerminated => 8,
                StringLength::Static(bytes) => bytes.saturating_mul(8),
                StringLength::Dynamic(_) => 0,
                StringLength::Prefixed { length, gap } => length.length.saturating_add(*gap),
            },
            FieldKind::Blob { length: Length::Static(bytes), .. } => bytes.saturating_mul(8),
            FieldKind::Guid { .. } => 128,
            _ => 0,
        }
    }

    /// Returns the value names of an integer or the flags of a bit map.
    #[must_use]
    pub fn mappings(&self) -> Option<&Mappings> {
        match &self.kind {
            FieldKind::BitMap { flags, .. } => Some(flags),
            _ => self.integer()?.mappings.as_ref(),
        }
    }

    /// Returns the names of a value: integer labels, or the flags set in a bit map.
    pub fn labels<'a>(&'a self, value: FieldValue<'a>) -> impl Iterator<Item = &'a str> {
        let (mut flags, mut names, mut wide) = (None, None, Vec::new());
        match (&self.kind, value) {
            (FieldKind::BitMap { flags, .. }, FieldValue::Wide(bits)) => {
                wide.extend(flags.flags_of_wide(bits));
            }
            (FieldKind::BitMap { flags: all, .. }, _) => {
                flags = value.as_u64().map(|bits| all.flags_of(bits))
            }
            (_, FieldValue::Wide(value)) => {
                wide.extend(self.integer().into_iter().flat_map(|integer| integer.names_of_wide(value)));
            }
            _ => names = self.mappings().zip(value.as_i128()).map(|(all, value)| all.names_of(value)),
        }
        flags.into_iter().flatten().chain(names.into_iter().flatten()).chain(wide)
    }

    /// Returns structure or union members.
    #[must_use]
    pub fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => Some(members),
            _ => None,
        }
    }

    /// Returns `true` for structures, arrays, optionals, variants and unions, which contain fields.
    #[must_use]
    pub fn is_compound(&self) -> bool {
        matches!(
            &self.kind,
            FieldKind::Structure { .. }
                | FieldKind::Array { .. }
                | FieldKind::Optional { .. }
                | FieldKind::Variant { .. }
                | FieldKind::Union { .. }
        )
    }

    /// Returns `true` for bits that are not reported.
    #[must_use]
    pub fn is_padding(&self) -> bool {
        matches!(self.kind, FieldKind::Padding(_))
    }

    /// Returns the location of the field that determines the length, the presence or the option.
    #[must_use]
    pub fn needed_location(&self) -> Option<&FieldLocation> {
        match &self.kind {
            FieldKind::String { length: StringLength::Dynamic(location), .. }
            | FieldKind::Blob { length: Length::Dynamic(location), .. }
            | FieldKind::Array { length: Length::Dynamic(location), .. }
            | FieldKind::Optional { selector: location, .. }
            | FieldKind::Variant { selector: location, .. } => Some(location),
            _ => None,
        }
    }

    /// Returns the clocks that the field updates in addition to the clock in its roles.
    #[must_use]
    pub fn clock_updates(&self) -> &[ClockUpdate] {
        self.clock_updates.as_deref().unwrap_or_default()
    }

    /// Adds a clock that the field updates. It becomes the clock of the roles if they name none yet.
    pub fn add_clock_update(&mut self, update: ClockUpdate) {
        if self.roles.clock.is_none_or(|clock| clock == update.clock) {
            self.roles.insert(update.role);
            self.roles.clock = Some(update.clock);
        } else if !self.clock_updates().contains(&update) {
            self.roles.note_further_clocks();
            self.clock_updates = Some(self.clock_updates().iter().copied().chain([update]).collect());
        }
    }

    /// Puts a clock first in each field that updates it, in a class and all classes inside it. Its roles are then those
    /// in [`Self::roles`].
    pub fn prefer_clock(class: &mut Arc<Self>, clock: u16) {
        let is_further = |class: &Self| class.clock_updates().iter().any(|update| update.clock == clock);
        if !class.exists(&mut |class| is_further(class)) {
            return;
        }
        let changed = Arc::make_mut(class);
        if is_further(changed) {
            let times = [Role::Timestamp, Role::PacketEndTimestamp];
            let own = times.into_iter().filter(|role| changed.roles.has(*role));
            let own = own.filter_map(|role| Some(ClockUpdate { role, clock: changed.roles.clock? }));
            let (first, others): (Vec<_>, Vec<_>) =
                own.chain(changed.clock_updates().iter().copied()).partition(|update| update.clock == clock);
            changed.roles = changed.roles.iter().filter(|role| !times.contains(role)).collect();
            changed.clock_updates = None;
            first.into_iter().chain(others).for_each(|update| changed.add_clock_update(update));
        }
        changed.children_mut().for_each(|child| Self::prefer_clock(child, clock));
    }

    /// Returns integer properties.
    #[must_use]
    pub fn integer(&self) -> Option<&IntegerProperties> {
        match &self.kind {
            FieldKind::Integer { integer, .. }
            | FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => Some(integer),
            _ => None,
        }
    }

    /// Returns the kind's name in JSON, for example "bit-array".
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match &self.kind {
            FieldKind::VariableLength { value: VariableLengthValue::BitArray, .. } => {
                "variable-length-bit-array"
            }
            FieldKind::VariableLength { value: VariableLengthValue::Boolean, .. } => {
                "variable-length-boolean"
            }
            _ => self.kind_names().0,
        }
    }

    /// Returns the kind's name with its article, for messages: "a bit array".
    #[must_use]
    pub fn kind_with_article(&self) -> &'static str {
        self.kind_names().1
    }

    /// Returns the kind's names in JSON and in messages.
    fn kind_names(&self) -> (&'static str, &'static str) {
        match &self.kind {
            FieldKind::BitArray(_) => ("bit-array", "a bit array"),
            FieldKind::BitMap { .. } => ("bit-map", "a bit map"),
            FieldKind::Boolean(_) => ("boolean", "a boolean"),
            FieldKind::Integer { .. } => ("integer", "an integer"),
            FieldKind::Float(_) => ("float", "a floating-point number"),
            FieldKind::VariableLength { .. } => ("variable-length-integer", "a variable-length field"),
            FieldKind::String { .. } => ("string", "a string"),
            FieldKind::Blob { .. } => ("blob", "a BLOB"),
            FieldKind::Guid { .. } => ("guid", "a GUID"),
            FieldKind::Structure { .. } => ("structure", "a structure"),
            FieldKind::Array { .. } => ("array", "an array"),
            FieldKind::Optional { .. } => ("optional", "an optional"),
            FieldKind::Variant { .. } => ("variant", "a variant"),
            FieldKind::Union { .. } => ("union", "a union"),
            FieldKind::Null { .. } => ("null", "a null field"),
            FieldKind::Padding(_) => ("padding", "padding"),
        }
    }

    /// Describes such a field in words, for example "32-bit unsigned integer".
    #[must_use]
    pub fn describe(&self) -> String {
        let sign = |signed: bool| if signed { "signed" } else { "unsigned" };
        match &self.kind {
            FieldKind::BitArray(bits) => format!("{}-bit bit array", bits.length),
            FieldKind::BitMap { bits, .. } => format!("{}-bit bit map", bits.length),
            FieldKind::Boolean(bits) => format!("{}-bit boolean", bits.length),
            FieldKind::Integer { bits, integer } => {
                let what = if integer.mappings.is_some() { "enumeration" } else { "integer" };
                format!("{}-bit {} {what}", bits.length, sign(integer.signed))
            }
            FieldKind::Float(bits) => format!("{}-bit floating-point number", bits.length),
            FieldKind::VariableLength { value, .. } => match value {
                VariableLengthValue::BitArray => "variable-length bit array".to_owned(),
                VariableLengthValue::Boolean => "variable-length boolean".to_owned(),
                VariableLengthValue::Integer(integer) => {
                    let what = if integer.mappings.is_some() { "enumeration" } else { "integer" };
                    format!("variable-length {} {what}", sign(integer.signed))
                }
            },
            FieldKind::String { length, .. } => match length {
                StringLength::NullTerminated => "null-terminated string".to_owned(),
                StringLength::Static(_) => "static-length string".to_owned(),
                StringLength::Dynamic(_) => "dynamic-length string".to_owned(),
                StringLength::Prefixed { .. } => "length-prefixed string".to_owned(),
            },
            FieldKind::Guid { .. } => "GUID".to_owned(),
            FieldKind::Blob { length, .. } => match length {
                Length::Static(_) => "static-length BLOB".to_owned(),
                Length::Dynamic(_) => "dynamic-length BLOB".to_owned(),
            },
            FieldKind::Structure { .. } => "structure".to_owned(),
            FieldKind::Array { length, .. } => match length {
                Length::Static(_) => "static-length array".to_owned(),
                Length::Dynamic(_) => "dynamic-length array".to_owned(),
            },
            FieldKind::Optional { .. } => "optional".to_owned(),
            FieldKind::Variant { .. } => "variant".to_owned(),
            FieldKind::Union { .. } => "union".to_owned(),
            FieldKind::Null { .. } => "null".to_owned(),
            FieldKind::Padding(bits) => format!("{}-bit padding", bits.length),
        }
    }
}

/// Field class kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Bits without a meaning.
    BitArray(BitField),
    /// Bits, some with names (flags).
    BitMap {
        /// Layout.
        bits: BitField,
        /// Flags: names for bit indexes.
        flags: Mappings,
    },
    /// False if all bits are 0, else true.
    Boolean(BitField),
    /// A fixed-length integer, two's complement if signed.
    Integer {
        /// Layout.
        bits: BitField,
        /// Meaning.
        integer: IntegerProperties,
    },
    /// A floating-point number (IEEE 754-2008) with 16, 32, 64, 128 bits, or more in steps of 32.
    Float(BitField),
    /// Groups of 7 bits, least significant first; the top bit of each byte is set if another byte follows (LEB128).
    VariableLength {
        /// Value type.
        value: VariableLengthValue,
        /// Alignment in bits, at least 8.
        alignment: u64,
    },
    /// Text.
    String {
        /// Character encoding.
        encoding: StringEncoding,
        /// End of the text.
        length: StringLength,
        /// Alignment in bits, at least 8; only PROP-1.0 has less. The bytes of a text that starts within a byte are in
        /// the byte order of the field before it.
        alignment: u64,
    },
    /// Bytes.
    Blob {
        /// Number of bytes.
        length: Length,
        /// IANA media type.
        media_type: String,
        /// Alignment in bits, at least 8.
        alignment: u64,
    },
    /// A globally unique identifier in the Windows and .NET layout (MS-DTYP, 2.3.4.2 "GUID--Packet Representation").
    /// The first three parts, with 4, 2 and 2 bytes, are little-endian; the last 8 bytes keep their order. A UUID in
    /// RFC 9562 order is a BLOB instead.
    Guid {
        /// Alignment in bits, at least 8 (smaller values count as 8).
        alignment: u64,
    },
    /// Named fields, one after the other.
    Structure {
        /// The fields.
        members: Vec<Member>,
        /// Minimum alignment in bits.
        minimum_alignment: u64,
    },
    /// Elements with the same class, one after the other.
    Array {
        /// Element class.
        element: Arc<FieldClass>,
        /// Number of elements.
        length: Length,
        /// Minimum alignment in bits.
        minimum_alignment: u64,
        /// `true` if the array is aligned at least like its elements. `false` in PROP-1.0: only `minimum_alignment`
        /// counts there, and the first element, if any, aligns itself after it.
        element_aligns: bool,
    },
    /// A field that may be absent.
    Optional {
        /// Field class.
        field: Arc<FieldClass>,
        /// Location of the field that determines if this field is present.
        selector: Box<FieldLocation>,
        /// Values of the selector for which the field is present; `None` for a boolean selector.
        ranges: Option<RangeSet>,
    },
    /// A field with one of several classes.
    Variant {
        /// Options with their classes.
        options: Vec<VariantOption>,
        /// Location of the field that selects the option.
        selector: Box<FieldLocation>,
        /// Alignment in bits (other than 1 in PROP-1.0, and where ichnos has kept it).
        alignment: u64,
    },
    /// The same bits read as several classes (PROP-1.0).
    Union {
        /// Members; all instances take the same number of bits.
        members: Vec<Member>,
        /// Alignment in bits.
        alignment: u64,
    },
    /// Nothing: takes 0 bits (PROP-1.0).
    Null {
        /// Alignment in bits.
        alignment: u64,
    },
    /// Bits in the layout that are not reported: for example names and sizes that a format repeats in each record of a
    /// class. Up to 64 bits can serve as the length or the selector of other fields, as an unsigned integer.
    Padding(BitField),
}

impl FieldKind {
    /// Changes the layout of fixed-length bits. Other kinds stay unchanged.
    #[must_use]
    pub fn with_bits(mut self, change: impl FnOnce(BitField) -> BitField) -> Self {
        match &mut self {
            Self::BitArray(bits)
            | Self::BitMap { bits, .. }
            | Self::Boolean(bits)
            | Self::Integer { bits, .. }
            | Self::Float(bits)
            | Self::Padding(bits) => *bits = change(*bits),
            _ => {}
        }
        self
    }
}

/// Layout of a fixed-length bit field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BitField {
    /// Number of bits, greater than 0.
    pub length: u64,
    /// Byte order.
    pub byte_order: ByteOrder,
    /// Bit order; see [`BitOrder`].
    pub bit_order: BitOrder,
    /// Alignment in bits: a power of two.
    pub alignment: u64,
}

impl BitField {
    /// Creates a layout with `byte_order` and its natural bit order.
    #[must_use]
    pub const fn new(length: u64, byte_order: ByteOrder, alignment: u64) -> Self {
        Self { length, byte_order, bit_order: byte_order.natural_bit_order(), alignment }
    }

    /// Returns `true` if the bit order is not the natural one, so the decoded value must be reversed.
    #[must_use]
    pub fn is_reversed(self) -> bool {
        self.bit_order != self.byte_order.natural_bit_order()
    }
}

crate::named_enum! {
    /// Byte order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ByteOrder {
        /// Least significant byte first. Bits within a byte are counted from the least significant.
        LittleEndian = "little-endian",
        /// Most significant byte first. Bits within a byte are counted from the most significant.
        BigEndian = "big-endian",
    }
}

impl ByteOrder {
    /// Returns a field's default bit order.
    #[must_use]
    pub const fn natural_bit_order(self) -> BitOrder {
        match self {
            Self::LittleEndian => BitOrder::FirstToLast,
            Self::BigEndian => BitOrder::LastToFirst,
        }
    }
}

crate::named_enum! {
    /// Position of the first decoded bit in the value (CTF2-SPEC-2.0, `bit-order`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum BitOrder {
        /// Least significant.
        FirstToLast = "first-to-last",
        /// Most significant.
        LastToFirst = "last-to-first",
    }
}

/// Integer properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntegerProperties {
    /// Two's complement.
    pub signed: bool,
    /// Display base.
    pub preferred_base: DisplayBase,
    /// Value names. `None` for a plain integer; `Some`, even if empty, for an enumeration.
    pub mappings: Option<Mappings>,
    /// Mapped ranges that exceed 128 bits with their sign, if any.
    pub wide_ranges: Option<Arc<Vec<WideRange>>>,
    /// Epoch, if the integer counts from a known date. Sinks then show a value with up to 64 bits as a date, except for
    /// enumerations.
    pub wall_clock: Option<WallClock>,
}

impl IntegerProperties {
    /// Returns the mapped ranges that exceed 128 bits with their sign.
    #[must_use]
    pub fn wide_ranges(&self) -> &[WideRange] {
        self.wide_ranges.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Returns the clock that converts a value to a date, or `None` for an enumeration.
    #[must_use]
    pub fn date_clock(&self) -> Option<WallClock> {
        self.wall_clock.filter(|_| self.mappings.is_none())
    }

    /// Returns the names of a value with more than 64 bits, in mapping order.
    #[must_use]
    pub fn names_of_wide(&self, value: Wide<'_>) -> Vec<&str> {
        let mappings = self.mappings.as_ref();
        mappings.map(|mappings| names_of(mappings, self.wide_ranges(), value)).unwrap_or_default()
    }
}

/// Base in which an integer is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DisplayBase {
    /// 2
    Binary,
    /// 8
    Octal,
    /// 10
    #[default]
    Decimal,
    /// 16
    Hexadecimal,
}

impl DisplayBase {
    /// Returns the base as a number.
    #[must_use]
    pub const fn radix(self) -> u32 {
        match self {
            Self::Binary => 2,
            Self::Octal => 8,
            Self::Decimal => 10,
            Self::Hexadecimal => 16,
        }
    }

    /// Returns the base with this number, if it is 2, 8, 10 or 16.
    #[must_use]
    pub const fn from_radix(radix: u32) -> Option<Self> {
        Some(match radix {
            2 => Self::Binary,
            8 => Self::Octal,
            10 => Self::Decimal,
            16 => Self::Hexadecimal,
            _ => return None,
        })
    }
}

/// Value type in a variable-length field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableLengthValue {
    /// Bits without a meaning (PROP-1.0, PROP-2.0).
    BitArray,
    /// False if all bits are 0, else true (PROP-1.0).
    Boolean,
    /// An integer, two's complement if signed.
    Integer(IntegerProperties),
}

/// End of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StringLength {
    /// At the first zero code unit.
    NullTerminated,
    /// After this many bytes. The text ends before the first U+0000, if any.
    Static(u64),
    /// After the number of bytes given by another field.
    Dynamic(Box<FieldLocation>),
    /// After the number of bytes given by an unsigned integer at the start of the field. A U+0000 does not end the
    /// text.
    Prefixed {
        /// Layout of that integer: at most 64 bits. The string's alignment replaces its own.
        length: BitField,
        /// Number of bits between the integer and the text.
        gap: u64,
    },
}

/// Number of elements or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Length {
    /// A fixed number.
    Static(u64),
    /// Another field's value.
    Dynamic(Box<FieldLocation>),
}

/// A structure or union member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Display name.
    pub name: String,
    /// `true` if field locations spell the name with a leading underscore. CTF 1.8 producers add it to names that could
    /// be reserved words, and readers remove it.
    pub has_underscore: bool,
    /// Field class.
    pub class: Arc<FieldClass>,
    /// Attributes from the producer.
    pub attributes: Attributes,
}

impl Member {
    /// Creates a member.
    pub fn new(name: impl Into<String>, class: impl Into<Arc<FieldClass>>) -> Self {
        Self {
            name: name.into(),
            has_underscore: false,
            class: class.into(),
            attributes: Attributes::default(),
        }
    }

    /// Returns the name that field locations use.
    #[must_use]
    pub fn location_name(&self) -> Cow<'_, str> {
        if self.has_underscore { Cow::Owned(format!("_{}", self.name)) } else { Cow::Borrowed(&self.name) }
    }

    /// Returns `true` if field locations use this name.
    #[must_use]
    pub fn is_called(&self, location_name: &str) -> bool {
        if self.has_underscore {
            location_name.strip_prefix('_') == Some(&self.name)
        } else {
            *self.name == *location_name
        }
    }
}

/// A variant option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantOption {
    /// Name, if it has one.
    pub name: Option<String>,
    /// Class if this option is selected.
    pub class: Arc<FieldClass>,
    /// Selector values for this option.
    pub ranges: RangeSet,
    /// Attributes from the producer.
    pub attributes: Attributes,
}
