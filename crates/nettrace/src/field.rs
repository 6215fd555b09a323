//! Payload fields, described by metadata or by built-in tables.

use std::sync::Arc;

/// Payload field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PayloadField {
    /// Name. Empty for the outer field of a self-describing event.
    pub name: String,
    /// Field type.
    pub kind: FieldType,
    /// Value names.
    pub names: Option<Arc<ValueNames>>,
    /// `true` for fields displayed in hexadecimal: addresses, identifiers, flags.
    pub is_hexadecimal: bool,
}

impl PayloadField {
    /// Creates a decimal field without value names.
    pub fn new(name: impl Into<String>, kind: FieldType) -> Self {
        Self { name: name.into(), kind, names: None, is_hexadecimal: false }
    }
}

/// Names for integer values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ValueNames {
    /// `true` if the values are single bits that can be combined. Otherwise each value has one name.
    pub are_flags: bool,
    /// Values or bit masks, and their names.
    pub names: Vec<(u64, String)>,
}

/// Field type. All numbers are little-endian and unaligned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldType {
    /// 4 bytes, 0 is false (type code 3).
    Boolean32,
    /// 1 byte, 0 is false (type code 26 in version 6, and 1-byte `win:Boolean`).
    Boolean8,
    /// UTF-16 code unit (type code 4).
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
    /// Pointer in the process: 4 or 8 bytes.
    Pointer,
    /// binary32 (type code 13).
    F32,
    /// binary64 (type code 14).
    F64,
    /// 16 bytes, the .NET type `decimal` (type code 15).
    Decimal,
    /// 8 bytes: 100 ns units since 1601-01-01 UTC (type code 16). In version 6, the document has a 16-byte
    /// [`SystemTime`]. It is read if the payload has exactly this size.
    ///
    /// [`SystemTime`]: crate::SystemTime
    FileTime,
    /// 16 bytes, the first three parts little-endian (type code 17).
    Guid,
    /// UTF-16 text that ends with a 0 code unit (type code 18).
    Utf16String,
    /// 8-bit text that ends with a 0 byte.
    Utf8String,
    /// UTF-8 byte (type code 23 in version 6).
    Utf8CodeUnit,
    /// Zigzag number as LEB128 (type code 20 in version 6).
    VarInt,
    /// LEB128 number (type code 21 in version 6).
    VarUInt,
    /// Consecutive fields (type code 1).
    Object(Vec<PayloadField>),
    /// 16-bit number of elements, then the elements (type code 19).
    Array(Box<FieldType>),
    /// Constant number of elements (type code 22 in version 6).
    FixedLengthArray(Box<FieldType>, u16),
    /// Elements whose number is in a preceding field in the same list. Elements of type [`FieldType::U8`] are a BLOB.
    Counted {
        /// Element type.
        element: Box<FieldType>,
        /// Index for the field with the number of elements.
        count: usize,
    },
    /// Bytes whose number is in a preceding field. If the first payload field is the name of an entry in `kinds`, the
    /// bytes have this type, and unknown bytes may follow. Otherwise they are a BLOB.
    Named {
        /// Index for the field with the number of bytes.
        count: usize,
        /// Possible types: objects.
        kinds: Vec<PayloadField>,
    },
    /// Last field that is only present if the payload has more bytes: some writers append it.
    Appended(Box<FieldType>),
    /// Unsigned 4-byte integer that contains several fields. Each has a number of bits, lowest bits first, 32 bits in
    /// total.
    Parts(Vec<(PayloadField, u32)>),
    /// All bytes after the other fields: fields of a newer, unknown version.
    Rest,
    /// Array elsewhere in the payload (type code 24 in version 6). 4 bytes: the upper 16 bits are its size in bytes,
    /// the lower 16 bits its offset from the end of this field.
    RelLoc(Box<FieldType>),
    /// Like `RelLoc`, with an offset from the start of the payload (type code 25 in version 6).
    DataLoc(Box<FieldType>),
}
