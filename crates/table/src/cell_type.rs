//! Column types, derived from field classes alone.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::StringArray;
use arrow_schema::DataType;
use ichnos_model::class::{FieldClass, FieldKind, IntegerProperties, Mappings, VariableLengthValue};

use crate::table_options::U64Type;

/// Maximum number of bits in an integer with a column.
const MOST_BITS: u64 = 1 << 16;

/// Number of digits in the longest decimal number, and in a 64-bit unsigned integer.
const MOST_DIGITS: u8 = 38;
const U64_DIGITS: u8 = 20;

/// Metadata key of a column whose bytes are integers, most significant byte first: `signed` or `unsigned`.
pub const INTEGER_KEY: &str = "ichnos.integer";

/// Type for the values in a column, or for the elements in its lists.
#[derive(Clone, Debug)]
pub(crate) enum CellType {
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    /// Integer with up to this number of digits, at most 38.
    Decimal(u8),
    Float32,
    Float64,
    /// UTF-8 text.
    Text,
    /// Enumeration names.
    Labels(Arc<LabelNames>),
    Bytes,
    /// Number with a fixed number of bytes, most significant first.
    FixedBytes(u16, FixedNumber),
}

/// Kind of a number in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FixedNumber {
    Signed,
    Unsigned,
    Real,
}

impl CellType {
    /// Returns what the values are, if their Arrow type does not say it: the value for [`INTEGER_KEY`].
    pub(crate) fn integer_kind(&self) -> Option<&'static str> {
        match self {
            Self::FixedBytes(_, FixedNumber::Signed) => Some("signed"),
            Self::FixedBytes(_, FixedNumber::Unsigned) => Some("unsigned"),
            _ => None,
        }
    }

    /// Returns the Arrow type.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Int8 => DataType::Int8,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::UInt8 => DataType::UInt8,
            Self::UInt16 => DataType::UInt16,
            Self::UInt32 => DataType::UInt32,
            Self::UInt64 => DataType::UInt64,
            Self::Decimal(digits) => DataType::Decimal128(*digits, 0),
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Text => DataType::Utf8,
            Self::Labels(_) => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Self::Bytes => DataType::Binary,
            Self::FixedBytes(width, _) => DataType::FixedSizeBinary(i32::from(*width)),
        }
    }

    /// Returns `true` if all values have the same size.
    pub(crate) fn is_fixed(&self) -> bool {
        !matches!(self, Self::Text | Self::Bytes)
    }

    /// Returns a value's size in bytes. Variable-length values count with their end offset.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Boolean | Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 => 4,
            Self::Text | Self::Labels(_) | Self::Bytes => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 => 8,
            Self::Decimal(_) => 16,
            Self::FixedBytes(width, _) => usize::from(*width),
        }
    }

    /// Returns `true` for integers with up to 64 bits.
    pub(crate) fn is_integer(&self) -> bool {
        let is_signed = matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64);
        is_signed || matches!(self, Self::UInt8 | Self::UInt16 | Self::UInt32 | Self::UInt64)
    }

    /// Returns `true` for integers and floating-point numbers with up to 64 bits.
    pub(crate) fn is_word(&self) -> bool {
        self.is_integer() || matches!(self, Self::Float32 | Self::Float64)
    }

    /// Returns a value's size in bytes before it becomes an array element, unless it is in a list.
    pub(crate) fn waiting_width(&self) -> usize {
        match self {
            Self::Text | Self::Labels(_) | Self::Bytes | Self::Decimal(_) | Self::FixedBytes(..) => {
                self.width()
            }
            _ => 8,
        }
    }

    /// Returns the type for integers with this number of bits, or `None` if they are too long for a column.
    fn for_integer(bits: u64, signed: bool, u64_type: U64Type) -> Option<Self> {
        Some(match (bits, signed) {
            (..=8, true) => Self::Int8,
            (..=16, true) => Self::Int16,
            (..=32, true) => Self::Int32,
            (..=64, true) => Self::Int64,
            (..=8, false) => Self::UInt8,
            (..=16, false) => Self::UInt16,
            (..=32, false) => Self::UInt32,
            // Signed, because engines without unsigned integers read the column, too.
            (..=63, false) => Self::Int64,
            (64, false) if u64_type == U64Type::Decimal => Self::Decimal(U64_DIGITS),
            (64, false) => Self::UInt64,
            (..=127, true) | (..=126, false) => Self::Decimal(MOST_DIGITS),
            (..=MOST_BITS, _) => {
                let kind = if signed { FixedNumber::Signed } else { FixedNumber::Unsigned };
                Self::FixedBytes(u16::try_from(bits.div_ceil(8)).ok()?, kind)
            }
            _ => return None,
        })
    }
}

/// Columns for a leaf field.
#[derive(Clone, Debug)]
pub(crate) enum LeafColumns {
    /// One column.
    Value(CellType),
    /// The number, and the name for the value.
    Enumeration(CellType, Arc<LabelNames>),
    /// The bits, and a list with the names of the bits that are set.
    Flags(CellType),
    /// No column. Has the reason, or `None` if the field has no value.
    Nothing(Option<&'static str>),
}

impl LeafColumns {
    /// Returns the columns for fields of a class.
    pub(crate) fn from_class(class: &FieldClass, u64_type: U64Type) -> Self {
        match &class.kind {
            FieldKind::BitArray(bits) => Self::integer(bits.length, false, None, u64_type),
            FieldKind::BitMap { bits, .. } => match CellType::for_integer(bits.length, false, u64_type) {
                Some(value) => Self::Flags(value),
                None => Self::too_long(),
            },
            FieldKind::Boolean(_) | FieldKind::VariableLength { value: VariableLengthValue::Boolean, .. } => {
                Self::Value(CellType::Boolean)
            }
            FieldKind::Integer { bits, integer } => {
                Self::integer(bits.length, integer.signed, integer.mappings.as_ref(), u64_type)
            }
            FieldKind::VariableLength { value: VariableLengthValue::BitArray, .. } => {
                Self::integer(64, false, None, u64_type)
            }
            FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
                let IntegerProperties { signed, mappings, .. } = integer;
                Self::integer(64, *signed, mappings.as_ref(), u64_type)
            }
            // A binary16 number becomes binary32, which more programs read.
            FieldKind::Float(bits) if bits.length <= 32 => Self::Value(CellType::Float32),
            FieldKind::Float(bits) if bits.length == 64 => Self::Value(CellType::Float64),
            FieldKind::Float(bits) => match u16::try_from(bits.length / 8) {
                Ok(width) => Self::Value(CellType::FixedBytes(width, FixedNumber::Real)),
                Err(_) => Self::too_long(),
            },
            FieldKind::String { .. } | FieldKind::Guid { .. } => Self::Value(CellType::Text),
            FieldKind::Blob { .. } => Self::Value(CellType::Bytes),
            FieldKind::Null { .. } => Self::Nothing(Some("no column for null fields")),
            FieldKind::Padding(_) => Self::Nothing(None),
            _ => Self::Nothing(Some("no column for fields of an unknown kind")),
        }
    }

    fn integer(bits: u64, signed: bool, mappings: Option<&Mappings>, u64_type: U64Type) -> Self {
        match (CellType::for_integer(bits, signed, u64_type), mappings) {
            (None, _) => Self::too_long(),
            (Some(value), None) => Self::Value(value),
            (Some(value), Some(mappings)) => Self::Enumeration(value, Arc::new(LabelNames::new(mappings))),
        }
    }

    fn too_long() -> Self {
        Self::Nothing(Some("no column for numbers with more than 65,536 bits"))
    }
}

/// Enumeration names without duplicates: the dictionary for a column.
#[derive(Debug)]
pub(crate) struct LabelNames {
    /// The names, in mapping order.
    pub(crate) array: Arc<StringArray>,
    keys: HashMap<Box<str>, i32>,
    /// Names by value.
    pub(crate) mappings: Mappings,
}

impl LabelNames {
    fn new(mappings: &Mappings) -> Self {
        let mut keys = HashMap::new();
        let mut names = Vec::new();
        for mapping in mappings.iter() {
            let Ok(key) = i32::try_from(names.len()) else { break };
            if !keys.contains_key(mapping.name) {
                keys.insert(mapping.name.into(), key);
                names.push(mapping.name);
            }
        }
        Self { array: Arc::new(StringArray::from(names)), keys, mappings: mappings.clone() }
    }

    /// Returns a name's index in the dictionary.
    pub(crate) fn key(&self, name: &str) -> Option<i32> {
        self.keys.get(name).copied()
    }
}
