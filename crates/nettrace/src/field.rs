//! Fields of payloads, described by metadata or the tables of well-known events.

use std::sync::Arc;

/// A field of the payload of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Name; empty for the outer field of a self-describing event.
    pub name: String,
    /// Type of the field.
    pub kind: FieldType,
    /// Names of its values.
    pub names: Option<Arc<ValueNames>>,
    /// `true` for fields displayed in hexadecimal: addresses, identifiers, flags.
    pub is_hexadecimal: bool,
}

impl Field {
    /// Creates a decimal field without names of values.
    pub fn new(name: impl Into<String>, kind: FieldType) -> Self {
        Self { name: name.into(), kind, names: None, is_hexadecimal: false }
    }
}

/// Names of an integer's values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ValueNames {
    /// `true` if the values are single bits that can be combined; otherwise each value has one name.
    pub are_flags: bool,
    /// Values, or bits as masks, and their names.
    pub names: Vec<(u64, String)>,
}

/// Type of a field. All numbers are little-endian and not aligned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldType {
    /// 4 bytes, false if 0 (type code 3).
    Boolean32,
    /// 1 byte, false if 0 (type code 26 of version 6; `win:Boolean` of 1 byte).
    Boolean8,
    /// A UTF-16 code unit (type code 4).
    Char,
    /// Type code 5.
    I8,
    /// Type code 6.
    U8,
    /// Type code 7.
    I16,
    /// Type code 8.
    U16,
    /// Type code 9.
    I32,
    /// Type code 10.
    U32,
    /// Type code 11.
    I64,
    /// Type code 12.
    U64,
    /// A pointer of the process: 4 or 8 bytes.
    Pointer,
    /// binary32 (type code 13).
    F32,
    /// binary64 (type code 14).
    F64,
    /// 16 bytes of the type `decimal` (type code 15).
    Decimal,
    /// 8 bytes: 100 ns since 1601-01-01 UTC (type code 16). In version 6 also 16 bytes, a [`SystemTime`] as in
    /// its document, if the payload has exactly this size.
    ///
    /// [`SystemTime`]: crate::SystemTime
    FileTime,
    /// 16 bytes, the first three parts little-endian (type code 17).
    Guid,
    /// UTF-16, terminated by a code unit 0 (type code 18).
    Utf16String,
    /// 8-bit text, terminated by a byte 0.
    Utf8String,
    /// A byte of UTF-8 (type code 23 of version 6).
    Utf8CodeUnit,
    /// LEB128 of a zigzag number (type code 20 of version 6).
    VarInt,
    /// LEB128 (type code 21 of version 6).
    VarUInt,
    /// Fields one after the other (type code 1).
    Object(Vec<Field>),
    /// A 16-bit number of elements, then the elements (type code 19).
    Array(Box<FieldType>),
    /// Always this many elements (type code 22 of version 6).
    FixedLengthArray(Box<FieldType>, u16),
    /// Elements, as many as in a preceding field of the same list, given by its index. Of [`FieldType::U8`]: a
    /// BLOB.
    Counted {
        /// Type of the elements.
        element: Box<FieldType>,
        /// Index of the field with the number of elements.
        count: usize,
    },
    /// Bytes, as many as in a preceding field. If the first field of the payload is the name of one of `kinds`,
    /// they have this type, possibly followed by unknown bytes; otherwise they are a BLOB.
    Named {
        /// Index of the field with the number of bytes.
        count: usize,
        /// Possible types: objects.
        kinds: Vec<Field>,
    },
    /// A last field that is only present if the payload continues: some writers append it.
    Appended(Box<FieldType>),
    /// An unsigned 4-byte integer whose bits are several fields: each with its number of bits, lowest first, 32
    /// in all.
    Parts(Vec<(Field, u32)>),
    /// All bytes after the other fields, if any: fields of a newer, unknown version.
    Rest,
    /// An array elsewhere in the payload: 4 bytes, the upper 16 bits its size in bytes, the lower 16 bits its
    /// offset from the end of this field (type code 24 of version 6).
    RelLoc(Box<FieldType>),
    /// Like `RelLoc`, with an offset from the beginning of the payload (type code 25 of version 6).
    DataLoc(Box<FieldType>),
}
