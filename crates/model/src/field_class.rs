//! Field classes: everything that CTF 2 can describe, and what the other formats add.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::wide_integer::names_of;
use crate::{
    ActivityPaths, Attributes, ClockUpdate, DeclaredAt, FieldLocation, Mappings, RangeSet, Roles,
    StringEncoding, WallClock, Wide, WideRange,
};

/// Describes fields: sequences of bits in a packet, and what they mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldClass {
    /// Which kind of field, with the properties of that kind.
    pub kind: FieldKind,
    /// What the field means to decoding.
    pub roles: Roles,
    /// Clocks that the field brings up to date besides the one of its roles.
    pub clock_updates: Option<Arc<[ClockUpdate]>>,
    /// What the producer adds.
    pub attributes: Attributes,
    /// Whether sinks leave the field out where it is absent, and show it like any other one where it is there: of an
    /// optional field that nothing in the record of its source says anything about.
    pub hides_absence: bool,
    /// Of GUIDs: sinks for people show the paths that some of them encode in place of them.
    pub activity_paths: Option<ActivityPaths>,
    /// Where it was declared.
    pub declared_at: DeclaredAt,
}

impl FieldClass {
    /// A class of this kind, without roles and attributes.
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

    /// An unsigned integer of this number of bits, little-endian, aligned to bytes.
    #[must_use]
    pub fn unsigned(length: u64) -> Self {
        let bits = BitField::new(length, ByteOrder::LittleEndian, 8);
        Self::new(FieldKind::Integer { bits, integer: IntegerProperties::default() })
    }

    /// A signed integer of this number of bits, little-endian, aligned to bytes.
    #[must_use]
    pub fn signed(length: u64) -> Self {
        let bits = BitField::new(length, ByteOrder::LittleEndian, 8);
        let integer = IntegerProperties { signed: true, ..IntegerProperties::default() };
        Self::new(FieldKind::Integer { bits, integer })
    }

    /// A floating-point number of 16, 32 or 64 bits, little-endian, aligned to bytes.
    #[must_use]
    pub fn float(length: u64) -> Self {
        Self::new(FieldKind::Float(BitField::new(length, ByteOrder::LittleEndian, 8)))
    }

    /// A string in UTF-8 that ends with a zero where it is bits.
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

    /// An integer of 64 bits that is the time of a wall clock, little-endian, aligned to bytes.
    #[must_use]
    pub fn wall_clock(signed: bool, clock: WallClock) -> Self {
        let bits = BitField::new(64, ByteOrder::LittleEndian, 8);
        let integer = IntegerProperties { signed, wall_clock: Some(clock), ..IntegerProperties::default() };
        Self::new(FieldKind::Integer { bits, integer })
    }

    /// A field that may be absent, in scopes of values: those alone say whether it is there, and no other field
    /// selects it.
    #[must_use]
    pub fn optional(field: impl Into<Arc<Self>>) -> Self {
        let selector = Box::new(FieldLocation::of_values());
        Self::new(FieldKind::Optional { field: field.into(), selector, ranges: None })
    }

    /// Whether it is such a class as [`FieldClass::optional`] makes.
    #[must_use]
    pub fn is_optional_of_values(&self) -> bool {
        matches!(&self.kind, FieldKind::Optional { selector, .. } if selector.is_of_values())
    }

    /// Whether it is such a class as [`FieldClass::optional`] makes, or one that
    /// [hides its absence](Self::hides_absence).
    #[must_use]
    pub fn is_shown_if_present(&self) -> bool {
        matches!(&self.kind, FieldKind::Optional { selector, .. } if self.hides_absence || selector.is_of_values())
    }

    /// A structure of these members, aligned to bytes.
    #[must_use]
    pub fn structure(members: impl IntoIterator<Item = Member>) -> Self {
        let members = members.into_iter().collect();
        Self::new(FieldKind::Structure { members, minimum_alignment: 8 })
    }

    /// Alignment of an instance's first bit in the packet, in bits: a power of two
    /// (CTF2-SPEC-2.0, "Alignment procedure").
    #[must_use]
    pub fn alignment(&self) -> u64 {
        self.alignment_with(&mut HashMap::new())
    }

    /// Classes may be shared: each is looked at once, however many ways lead to it.
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
        match &self.kind {
            FieldKind::BitArray(bits)
            | FieldKind::BitMap { bits, .. }
            | FieldKind::Boolean(bits)
            | FieldKind::Integer { bits, .. }
            | FieldKind::Float(bits)
            | FieldKind::Padding(bits) => bits.alignment,
            FieldKind::VariableLength { alignment, .. }
            | FieldKind::String { alignment, .. }
            | FieldKind::Blob { alignment, .. }
            | FieldKind::Null { alignment } => *alignment,
            FieldKind::Guid { alignment } => (*alignment).max(8),
            FieldKind::Structure { members, minimum_alignment } => {
                members.iter().map(|member| of(&member.class)).fold(*minimum_alignment, u64::max)
            }
            FieldKind::Array { element, minimum_alignment, element_aligns: true, .. } => {
                of(element).max(*minimum_alignment)
            }
            FieldKind::Array { minimum_alignment, .. } => *minimum_alignment,
            FieldKind::Optional { .. } => 1,
            FieldKind::Variant { alignment, .. } | FieldKind::Union { alignment, .. } => *alignment,
        }
    }

    /// Clocks that the field brings up to date besides the one of its roles.
    #[must_use]
    pub fn clock_updates(&self) -> &[ClockUpdate] {
        self.clock_updates.as_deref().unwrap_or_default()
    }

    /// Has the field bring one more clock up to date: the one of its roles if they name none yet.
    pub fn add_clock_update(&mut self, update: ClockUpdate) {
        if self.roles.clock.is_none_or(|clock| clock == update.clock) {
            self.roles.insert(update.role);
            self.roles.clock = Some(update.clock);
        } else if !self.clock_updates().contains(&update) {
            self.roles.note_further_clocks();
            self.clock_updates = Some(self.clock_updates().iter().copied().chain([update]).collect());
        }
    }

    /// What the field means if it is an integer.
    #[must_use]
    pub fn integer(&self) -> Option<&IntegerProperties> {
        match &self.kind {
            FieldKind::Integer { integer, .. }
            | FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => Some(integer),
            _ => None,
        }
    }

    /// What a person calls such a field, for instance "32-bit unsigned integer".
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

/// The kinds of field classes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Bits without a meaning.
    BitArray(BitField),
    /// Bits of which some have names (flags).
    BitMap {
        /// Layout.
        bits: BitField,
        /// Names of bit indexes.
        flags: Mappings,
    },
    /// False if all bits are 0, else true.
    Boolean(BitField),
    /// An integer of fixed length, two's complement if signed.
    Integer {
        /// Layout.
        bits: BitField,
        /// Meaning.
        integer: IntegerProperties,
    },
    /// A number of IEEE 754-2008: 16, 32, 64, 128 bits, or more in steps of 32.
    Float(BitField),
    /// Groups of 7 bits, least significant first, the top bit of each byte saying whether one
    /// more follows (LEB128).
    VariableLength {
        /// What the bits are.
        value: VariableLengthValue,
        /// Alignment in bits, at least 8.
        alignment: u64,
    },
    /// Text.
    String {
        /// How the characters are encoded.
        encoding: StringEncoding,
        /// Where it ends.
        length: StringLength,
        /// Alignment in bits, at least 8; only PROP-1.0 has less. The bytes of a text that begins
        /// within a byte are in the byte order of the field before it.
        alignment: u64,
    },
    /// Bytes.
    Blob {
        /// How many bytes.
        length: Length,
        /// IANA media type.
        media_type: String,
        /// Alignment in bits, at least 8.
        alignment: u64,
    },
    /// A globally unique identifier as Windows and .NET lay it out (MS-DTYP, 2.3.4.2 "GUID--Packet
    /// Representation"): 16 bytes, of which the first three parts, of 4, 2 and 2 bytes, are little-endian, and
    /// the last 8 bytes are as they are written. A UUID in the order of RFC 9562 is none: that is a BLOB.
    Guid {
        /// Alignment in bits; less than 8 counts as 8.
        alignment: u64,
    },
    /// Named fields, one after the other.
    Structure {
        /// The fields.
        members: Vec<Member>,
        /// Least alignment in bits.
        minimum_alignment: u64,
    },
    /// Fields of one class, one after the other.
    Array {
        /// Class of each.
        element: Arc<FieldClass>,
        /// How many.
        length: Length,
        /// Least alignment in bits.
        minimum_alignment: u64,
        /// Whether the array is aligned at least like its elements. Not so in PROP-1.0: there
        /// `minimum_alignment` is all, and the first element aligns itself after it, if there is
        /// one.
        element_aligns: bool,
    },
    /// A field that may be absent.
    Optional {
        /// Class of the field.
        field: Arc<FieldClass>,
        /// Which field says whether it is there.
        selector: Box<FieldLocation>,
        /// Of which values of the selector it is there; None: the selector is a boolean.
        ranges: Option<RangeSet>,
    },
    /// A field of one of several classes.
    Variant {
        /// The classes.
        options: Vec<VariantOption>,
        /// Which field selects the option.
        selector: Box<FieldLocation>,
        /// Alignment in bits (1 but for PROP-1.0).
        alignment: u64,
    },
    /// The same bits read as each of several classes (PROP-1.0).
    Union {
        /// The classes; instances of all take the same number of bits.
        members: Vec<Member>,
        /// Alignment in bits.
        alignment: u64,
    },
    /// No bits at all (PROP-1.0).
    Null {
        /// Alignment in bits.
        alignment: u64,
    },
    /// Bits that are part of the layout but not reported: names and sizes that a
    /// format writes into each record and that are the same for all of a class. If there are no more
    /// than 64, other fields can have their length in them, or be selected by them, as an unsigned
    /// integer.
    Padding(BitField),
}

impl FieldKind {
    /// Whether there are neither other classes nor names in it.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::BitArray(_)
            | Self::Boolean(_)
            | Self::Float(_)
            | Self::Padding(_)
            | Self::String { .. }
            | Self::Blob { .. }
            | Self::Guid { .. }
            | Self::Null { .. } => true,
            Self::Integer { integer, .. }
            | Self::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
                integer.mappings.is_none()
            }
            Self::VariableLength { .. } => true,
            _ => false,
        }
    }
}

/// Layout of a fixed-length field of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BitField {
    /// Number of bits, greater than 0.
    pub length: u64,
    /// Byte order.
    pub byte_order: ByteOrder,
    /// Order of the bits; see [`BitOrder`].
    pub bit_order: BitOrder,
    /// Alignment in bits: a power of two.
    pub alignment: u64,
}

impl BitField {
    /// Bits in the natural bit order of `byte_order`.
    #[must_use]
    pub const fn new(length: u64, byte_order: ByteOrder, alignment: u64) -> Self {
        Self { length, byte_order, bit_order: byte_order.natural_bit_order(), alignment }
    }

    /// Whether the bits come in the unusual order: the decoded value must be reversed.
    #[must_use]
    pub fn is_reversed(self) -> bool {
        self.bit_order != self.byte_order.natural_bit_order()
    }
}

/// Order of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first; bits of a byte are counted from the least significant one.
    LittleEndian,
    /// Most significant byte first; bits of a byte are counted from the most significant one.
    BigEndian,
}

impl ByteOrder {
    /// The bit order that a field has if nothing is said.
    #[must_use]
    pub const fn natural_bit_order(self) -> BitOrder {
        match self {
            Self::LittleEndian => BitOrder::FirstToLast,
            Self::BigEndian => BitOrder::LastToFirst,
        }
    }

    /// "little-endian" or "big-endian".
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LittleEndian => "little-endian",
            Self::BigEndian => "big-endian",
        }
    }
}

/// Which bit of the value the first decoded bit is (CTF2-SPEC-2.0, `bit-order`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOrder {
    /// The least significant one.
    FirstToLast,
    /// The most significant one.
    LastToFirst,
}

impl BitOrder {
    /// "first-to-last" or "last-to-first".
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirstToLast => "first-to-last",
            Self::LastToFirst => "last-to-first",
        }
    }
}

/// What an integer means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntegerProperties {
    /// Two's complement.
    pub signed: bool,
    /// How to show it.
    pub preferred_base: DisplayBase,
    /// Names of values. None: a plain integer; some, even if empty: an enumeration.
    pub mappings: Option<Mappings>,
    /// The ranges of the mappings that reach beyond 128 bits with their sign, if there are any.
    pub wide_ranges: Option<Arc<Vec<WideRange>>>,
    /// If it counts from a known date: that date. Sinks then show a value of up to 64 bits as a date, unless it
    /// is an enumeration.
    pub wall_clock: Option<WallClock>,
}

impl IntegerProperties {
    /// The ranges of the mappings that reach beyond 128 bits with their sign.
    #[must_use]
    pub fn wide_ranges(&self) -> &[WideRange] {
        self.wide_ranges.as_deref().map_or(&[], Vec::as_slice)
    }

    /// The clock by which a value is a date: none if the integer is an enumeration.
    #[must_use]
    pub fn date_clock(&self) -> Option<WallClock> {
        self.wall_clock.filter(|_| self.mappings.is_none())
    }

    /// The names of a value of more than 64 bits, in the order of the mappings.
    #[must_use]
    pub fn names_of_wide(&self, value: Wide<'_>) -> Vec<&str> {
        let mappings = self.mappings.as_ref();
        mappings.map(|mappings| names_of(mappings, self.wide_ranges(), value)).unwrap_or_default()
    }
}

/// Base to show an integer in.
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
    /// The base as a number.
    #[must_use]
    pub const fn radix(self) -> u32 {
        match self {
            Self::Binary => 2,
            Self::Octal => 8,
            Self::Decimal => 10,
            Self::Hexadecimal => 16,
        }
    }

    /// The base of this number, if it is 2, 8, 10 or 16.
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

/// What the bits of a variable-length field are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableLengthValue {
    /// Bits without a meaning (PROP-1.0, PROP-2.0).
    BitArray,
    /// False if all bits are 0, else true (PROP-1.0).
    Boolean,
    /// An integer, two's complement if signed.
    Integer(IntegerProperties),
}

/// Where a string ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StringLength {
    /// At the first code unit that is zero.
    NullTerminated,
    /// After this many bytes; the text ends before the first U+0000, if any.
    Static(u64),
    /// After as many bytes as another field says.
    Dynamic(Box<FieldLocation>),
    /// After as many bytes as the field itself says in an unsigned integer that it begins with. A
    /// U+0000 does not end the text.
    Prefixed {
        /// Layout of that integer: at most 64 bits. Its alignment does not count, but that of the string.
        length: BitField,
        /// How many bits are between the integer and the text.
        gap: u64,
    },
}

/// How many elements or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always this many.
    Static(u64),
    /// As many as another field says.
    Dynamic(Box<FieldLocation>),
}

/// A field of a structure or a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name, as it is shown.
    pub name: String,
    /// Whether field locations spell the name with an underscore before it: CTF 1.8 producers put one
    /// before names that could be reserved words, and readers take it away again.
    pub has_underscore: bool,
    /// Class of the field.
    pub class: Arc<FieldClass>,
    /// What the producer adds.
    pub attributes: Attributes,
}

impl Member {
    /// A member of this name and class.
    pub fn new(name: impl Into<String>, class: impl Into<Arc<FieldClass>>) -> Self {
        Self {
            name: name.into(),
            has_underscore: false,
            class: class.into(),
            attributes: Attributes::default(),
        }
    }

    /// The name that field locations use.
    #[must_use]
    pub fn location_name(&self) -> Cow<'_, str> {
        if self.has_underscore { Cow::Owned(format!("_{}", self.name)) } else { Cow::Borrowed(&self.name) }
    }

    /// Whether field locations call it so.
    #[must_use]
    pub fn is_called(&self, location_name: &str) -> bool {
        if self.has_underscore {
            location_name.strip_prefix('_') == Some(&self.name)
        } else {
            *self.name == *location_name
        }
    }
}

/// An option of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantOption {
    /// Name, if it has one.
    pub name: Option<String>,
    /// Class of the field if this option is selected.
    pub class: Arc<FieldClass>,
    /// Values of the selector that select it.
    pub ranges: RangeSet,
    /// What the producer adds.
    pub attributes: Attributes,
}
