//! Arguments: names with typed values ("Argument types" of the document).

#[cfg(feature = "reader")]
use super::content::INLINE;
use super::content::{RecordContent, bits};
use super::error::{FxtError, Rule};
use super::reference::StringRef;

/// Argument types, in bits 0 to 3 of the header.
pub(crate) mod kind {
    pub(crate) const NULL: u8 = 0;
    pub(crate) const INT32: u8 = 1;
    pub(crate) const UINT32: u8 = 2;
    pub(crate) const INT64: u8 = 3;
    pub(crate) const UINT64: u8 = 4;
    pub(crate) const DOUBLE: u8 = 5;
    pub(crate) const STRING: u8 = 6;
    pub(crate) const POINTER: u8 = 7;
    pub(crate) const KOID: u8 = 8;
    pub(crate) const BOOLEAN: u8 = 9;
    pub(crate) const BLOB: u8 = 10;
}

/// The value of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ArgumentValue<'a> {
    /// No value.
    Null,
    /// A 32-bit signed integer.
    Int32(i32),
    /// A 32-bit unsigned integer.
    Uint32(u32),
    /// A 64-bit signed integer.
    Int64(i64),
    /// A 64-bit unsigned integer.
    Uint64(u64),
    /// A floating-point number.
    Double(f64),
    /// A string.
    String(StringRef<'a>),
    /// A pointer.
    Pointer(u64),
    /// Kernel object id.
    Koid(u64),
    /// A boolean.
    Boolean(bool),
    /// Binary data.
    Blob(&'a [u8]),
    /// A value of an unknown type, as the bytes after the name.
    Unknown {
        /// Argument type.
        kind: u8,
        /// Bits 32 to 63 of the argument header.
        low: u32,
        /// Further words of the argument.
        bytes: &'a [u8],
    },
}

impl ArgumentValue<'_> {
    /// Returns the argument type for this value (bits 0 to 3 of the header).
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Null => kind::NULL,
            Self::Int32(_) => kind::INT32,
            Self::Uint32(_) => kind::UINT32,
            Self::Int64(_) => kind::INT64,
            Self::Uint64(_) => kind::UINT64,
            Self::Double(_) => kind::DOUBLE,
            Self::String(_) => kind::STRING,
            Self::Pointer(_) => kind::POINTER,
            Self::Koid(_) => kind::KOID,
            Self::Boolean(_) => kind::BOOLEAN,
            Self::Blob(_) => kind::BLOB,
            Self::Unknown { kind, .. } => *kind,
        }
    }
}

/// A named value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Argument<'a> {
    /// Name.
    pub name: StringRef<'a>,
    /// Value.
    pub value: ArgumentValue<'a>,
}

/// Iterator over the arguments of a record. It ends after the first error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments<'a> {
    content: RecordContent<'a>,
    left: u8,
}

/// Size of an argument in words, from its header.
#[inline(always)]
pub(super) const fn size_words(header: u64) -> usize {
    bits(header, 4, 15) as usize
}

/// Header bits that hold the argument type and the name reference.
#[cfg(feature = "reader")]
#[inline(always)]
pub(super) const fn shape_of(header: u64) -> u32 {
    header as u32 & 0xffff_000f
}

/// Reserved header bits, which should be 0.
#[cfg(feature = "reader")]
#[inline(always)]
const fn reserved_bits(header: u64) -> u64 {
    match bits(header, 0, 3) as u8 {
        kind::NULL | kind::INT64 | kind::UINT64 | kind::DOUBLE | kind::POINTER | kind::KOID => !0 << 32,
        kind::BOOLEAN => !0 << 33,
        kind::STRING => !0 << 48,
        _ => 0,
    }
}

/// Size of the known argument content in words, from the header. `None` means that all words are content.
#[cfg(feature = "reader")]
#[inline(always)]
const fn known_words(header: u64) -> Option<usize> {
    const fn inline_words(reference: u64) -> u64 {
        if reference & INLINE == 0 { 0 } else { bits(reference, 0, 14).div_ceil(8) }
    }
    let value = match bits(header, 0, 3) as u8 {
        kind::NULL | kind::INT32 | kind::UINT32 | kind::BOOLEAN => 0,
        kind::STRING => inline_words(bits(header, 32, 47)),
        kind::BLOB => bits(header, 32, 63).div_ceil(8),
        kind::INT64 | kind::UINT64 | kind::DOUBLE | kind::POINTER | kind::KOID => 1,
        _ => return None,
    };
    Some(1 + (inline_words(bits(header, 16, 31)) + value) as usize)
}

/// Header bits that are equal in all arguments of a type without reserved bits and words after the value, and these
/// bits: all reserved bits, the size, and the marks of inline strings. Other arguments have further bits.
#[cfg(feature = "reader")]
static PLAIN: [(u64, u64); 16] = {
    const fn of(kind: u8) -> (u64, u64) {
        let (reserved, words) = match kind {
            kind::NULL | kind::BOOLEAN | kind::INT32 | kind::UINT32 => (reserved_bits(kind as u64), 1),
            kind::STRING => (reserved_bits(kind as u64) | INLINE << 32, 1),
            kind::INT64 | kind::UINT64 | kind::DOUBLE | kind::POINTER | kind::KOID => (!0 << 32, 2),
            _ => return (0, 1),
        };
        (reserved | INLINE << 16 | 0xfff0, words << 4)
    }
    let mut all = [(0, 1); 16];
    let mut kind = 0;
    while kind < all.len() {
        all[kind] = of(kind as u8);
        kind += 1;
    }
    all
};

/// Returns `true` if an argument has reserved bits or words after its value.
#[cfg(feature = "reader")]
#[inline(always)]
pub(super) fn is_extended(header: u64) -> bool {
    let (mask, plain) = PLAIN[(header & 0xf) as usize];
    let has_more = |header| known_words(header).is_some_and(|known| size_words(header) > known);
    header & mask != plain && (header & reserved_bits(header) != 0 || has_more(header))
}

impl<'a> Arguments<'a> {
    /// Takes `count` arguments from the record content and checks that each fits into it.
    #[inline(always)]
    pub(super) fn take(content: &mut RecordContent<'a>, count: u64) -> Result<Self, FxtError> {
        let all = *content;
        for _ in 0..count {
            let mut rest = *content;
            let size = size_words(rest.word()?);
            if size == 0 {
                return Err(FxtError::new(Rule::ArgumentSize, content.offset(), 1, 0));
            }
            let available = content.rest().len() / 8;
            if content.split(size).is_none() {
                let (at, size) = (content.offset(), size as u64);
                return Err(FxtError::new(Rule::ArgumentBeyondRecord, at, available as u64, size));
            }
        }
        Ok(Self { content: all, left: count as u8 })
    }

    /// Returns the number of remaining arguments.
    #[inline]
    #[must_use]
    pub fn count_left(&self) -> usize {
        self.left.into()
    }

    /// Returns `true` if a remaining argument has reserved bits or words after its value.
    #[cfg(feature = "reader")]
    #[inline(always)]
    pub(crate) fn are_extended(mut self) -> bool {
        for _ in 0..self.left {
            let Ok(header) = RecordContent::word(&mut { self.content }) else { return false };
            let size = size_words(header);
            if is_extended(header) {
                return true;
            }
            if self.content.split(size).is_none() {
                return false;
            }
        }
        false
    }

    /// Returns the headers of the remaining arguments, reduced to argument type and name reference.
    ///
    /// Arguments with the same types and name references have equal shapes.
    #[cfg(feature = "reader")]
    #[inline(always)]
    pub(crate) fn shapes(mut self) -> impl Iterator<Item = u32> + use<'a> {
        core::iter::from_fn(move || {
            self.left = self.left.checked_sub(1)?;
            let header = RecordContent::word(&mut { self.content }).ok()?;
            self.content.split(size_words(header))?;
            Some(shape_of(header))
        })
    }
}

/// Reads an argument from `content`, which must have the size of the argument.
#[inline(always)]
pub(super) fn read<'a>(mut content: RecordContent<'a>) -> Result<Argument<'a>, FxtError> {
    let header = content.word()?;
    let name = content.string(bits(header, 16, 31))?;
    let low = (header >> 32) as u32;
    let value = match bits(header, 0, 3) as u8 {
        kind::NULL => ArgumentValue::Null,
        kind::INT32 => ArgumentValue::Int32(low as i32),
        kind::UINT32 => ArgumentValue::Uint32(low),
        kind::INT64 => ArgumentValue::Int64(content.word()? as i64),
        kind::UINT64 => ArgumentValue::Uint64(content.word()?),
        kind::DOUBLE => ArgumentValue::Double(f64::from_bits(content.word()?)),
        kind::STRING => ArgumentValue::String(content.string(u64::from(low) & 0xffff)?),
        kind::POINTER => ArgumentValue::Pointer(content.word()?),
        kind::KOID => ArgumentValue::Koid(content.word()?),
        kind::BOOLEAN => ArgumentValue::Boolean(low & 1 != 0),
        kind::BLOB => ArgumentValue::Blob(content.stream(low.into())?),
        kind => ArgumentValue::Unknown { kind, low, bytes: content.rest() },
    };
    Ok(Argument { name, value })
}

impl<'a> Iterator for Arguments<'a> {
    type Item = Result<Argument<'a>, FxtError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let mut header = self.content;
        let begin = header.offset();
        let size = match header.word() {
            Ok(header) => size_words(header),
            Err(error) => return Some(Err(error)),
        };
        let content = self.content.split(size)?;
        Some(read(content).map_err(|error| {
            self.left = 0;
            FxtError::new(Rule::ArgumentSize, begin, size as u64 + 1, size as u64).or(error)
        }))
    }
}

impl FxtError {
    /// Returns `self` if `other` only says that content does not fit, otherwise `other`.
    fn or(self, other: Self) -> Self {
        if other.rule == Rule::RecordContent { self } else { other }
    }
}
