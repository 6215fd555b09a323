//! Fields of payloads: what metadata on disk and the tables of well-known events describe alike.

use std::sync::Arc;

/// A field of the payload of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Name; empty for the one field around the fields of a self-describing event.
    pub name: String,
    /// What it consists of.
    pub kind: FieldType,
    /// Names of its values.
    pub names: Option<Arc<ValueNames>>,
    /// Whether people read it in hexadecimal: addresses, identifiers, flags.
    pub is_hexadecimal: bool,
}

impl Field {
    /// A field without names of values, in decimal.
    pub fn new(name: impl Into<String>, kind: FieldType) -> Self {
        Self { name: name.into(), kind, names: None, is_hexadecimal: false }
    }
}

/// Names of values of an integer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ValueNames {
    /// Whether the values are single bits that can be set together; otherwise a value has one name.
    pub are_flags: bool,
    /// Values, or bits as masks, and their names.
    pub names: Vec<(u64, String)>,
}

/// What a field consists of. All numbers are little-endian, and nothing is aligned.
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
    /// As wide as a pointer of the process: 4 or 8 bytes.
    Pointer,
    /// binary32 (type code 13).
    F32,
    /// binary64 (type code 14).
    F64,
    /// 16 bytes of the type `decimal` (type code 15).
    Decimal,
    /// 8 bytes: 100 ns since 1601-01-01 UTC (type code 16). In version 6 also 16 bytes, a [`SystemTime`], as its document
    /// says: where the payload has exactly these bytes.
    ///
    /// [`SystemTime`]: crate::SystemTime
    FileTime,
    /// 16 bytes, the first three parts little-endian (type code 17).
    Guid,
    /// UTF-16, ends with a code unit 0 (type code 18).
    Utf16String,
    /// 8-bit text, ends with a byte 0.
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
    /// Elements, as many as a field before it says, by the index of that field in the same list of fields. Of
    /// [`FieldType::U8`]: a BLOB.
    Counted {
        /// What each element consists of.
        element: Box<FieldType>,
        /// Index of the field with the number of elements.
        count: usize,
    },
    /// Bytes, as many as a field before it says. If the text of the first field of the payload is the name of one of
    /// `kinds`, that is what they are, and perhaps more, which is not known; otherwise they are a BLOB.
    Named {
        /// Index of the field with the number of bytes.
        count: usize,
        /// What they can be: objects.
        kinds: Vec<Field>,
    },
    /// A field behind all others that is there only if the payload goes on: some writers append it.
    Appended(Box<FieldType>),
    /// 4 bytes, an unsigned integer whose bits are several fields: each with how many of them it has, the lowest ones
    /// first. They are all 32 bits.
    Parts(Vec<(Field, u32)>),
    /// All bytes after the other fields, if there are some: fields of a version that is newer than the known ones.
    Rest,
    /// An array that lies elsewhere in the payload: 4 bytes, the upper 16 bits its size in bytes, the lower 16 bits
    /// where it is, from the end of this field on (type code 24 of version 6).
    RelLoc(Box<FieldType>),
    /// The same, from the begin of the payload on (type code 25 of version 6).
    DataLoc(Box<FieldType>),
}
