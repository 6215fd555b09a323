//! Task and operation identifiers, independent of their notation in a format.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::class::Uuid;
use crate::field::FieldValue;

/// Value of each hexadecimal digit, and a mark for all other bytes.
static NIBBLES: [u8; 256] = {
    let mut all = [NO_NIBBLE; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value];
        all[digit as usize] = value as u8;
        all[digit.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    all
};

/// Mark for a byte that is no hexadecimal digit.
const NO_NIBBLE: u8 = 0x80;

/// Task or operation identifier: up to 20 bytes, not all zero, in written order.
///
/// The same identifier can be text in one format (hexadecimal digits, or a GUID), and bytes or a number in another. All
/// become the same bytes, so that they can be compared.
///
/// ```
/// use ichnos_model::field::FieldValue;
/// use ichnos_model::meaning::Identifier;
///
/// let text = Identifier::from_value(&FieldValue::Text(b"00F067AA0BA902B7"));
/// assert_eq!(text, Identifier::from_value(&FieldValue::Unsigned(0x00f0_67aa_0ba9_02b7)));
/// assert_eq!(text.map(|id| id.to_string()).as_deref(), Some("00F067AA0BA902B7"));
/// assert_eq!(Identifier::from_value(&FieldValue::Unsigned(0)), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identifier {
    bytes: [u8; Self::MOST],
    length: u8,
}

impl Identifier {
    /// Maximum number of bytes in an identifier.
    pub const MOST: usize = 20;

    /// Creates an identifier from bytes. `None` if there are no bytes or too many, or if all are 0, which means a
    /// missing identifier in all formats.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if bytes.iter().all(|byte| *byte == 0) {
            return None;
        }
        let mut all = [0; Self::MOST];
        all.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { bytes: all, length: bytes.len() as u8 })
    }

    /// Creates an identifier from a text: an even number of hexadecimal digits, also with the hyphens and the braces of
    /// a GUID. Any other text is taken as its bytes.
    #[must_use]
    pub fn from_text(text: &[u8]) -> Option<Self> {
        let digits = match text {
            [b'{', inner @ .., b'}'] => inner,
            _ => text,
        };
        if let Some(id) = Self::from_digits(digits) {
            return id;
        }
        let is_guid = digits.len() == 36 && [8, 13, 18, 23].iter().all(|at| digits.get(*at) == Some(&b'-'));
        let mut bytes = [0; Self::MOST];
        let mut nibbles = 0;
        for digit in digits.iter().filter(|digit| !(is_guid && **digit == b'-')) {
            let place = bytes.get_mut(nibbles / 2);
            let (Some(value), Some(place)) = (char::from(*digit).to_digit(16), place) else {
                return Self::new(text);
            };
            *place = *place << 4 | value as u8;
            nibbles += 1;
        }
        if nibbles % 2 == 1 { Self::new(text) } else { Self::new(bytes.get(..nibbles / 2)?) }
    }

    /// Creates an identifier from an even number of hexadecimal digits, which is [`Identifier::from_text`] for nearly all
    /// texts. `None` for any other text.
    #[inline]
    fn from_digits(digits: &[u8]) -> Option<Option<Self>> {
        let (pairs, []) = digits.as_chunks::<2>() else { return None };
        let mut bytes = [0; Self::MOST];
        let (mut all, mut wrong) = (0, 0);
        for (byte, [high, low]) in bytes.get_mut(..pairs.len())?.iter_mut().zip(pairs) {
            let (high, low) = (NIBBLES[usize::from(*high)], NIBBLES[usize::from(*low)]);
            *byte = high << 4 | low & 15;
            all |= *byte;
            wrong |= high | low;
        }
        let id = (all != 0).then_some(Self { bytes, length: pairs.len() as u8 });
        (wrong & NO_NIBBLE == 0).then_some(id)
    }

    /// Creates an identifier from a value. A number becomes 8 bytes, most significant first.
    #[must_use]
    pub fn from_value(value: &FieldValue<'_>) -> Option<Self> {
        match value {
            FieldValue::Text(text) => Self::from_text(text),
            FieldValue::Blob(bytes) => Self::new(bytes),
            FieldValue::Guid(guid) => Self::from_guid(*guid),
            value => match (value.as_u64(), value.as_i64()) {
                (Some(number), _) => Self::new(&number.to_be_bytes()),
                // A signed 64-bit field has the same identifiers.
                (None, Some(number)) => Self::new(&number.to_be_bytes()),
                (None, None) => Self::new(&value.as_i128()?.to_be_bytes()),
            },
        }
    }

    /// Creates an identifier from a GUID, with the bytes in the order of its text.
    #[must_use]
    pub fn from_guid(guid: Uuid) -> Option<Self> {
        Self::new(guid.as_bytes())
    }

    /// Returns its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }

    /// Returns the first 16 bytes, with zeros in front if there are fewer. Formats with different identifier sizes
    /// share this part for the same task.
    #[must_use]
    pub fn common_part(&self) -> [u8; 16] {
        let bytes = self.as_bytes();
        let bytes = bytes.get(..16).unwrap_or(bytes);
        let mut all = [0; 16];
        if let Some(end) = all.get_mut(16 - bytes.len()..) {
            end.copy_from_slice(bytes);
        }
        all
    }
}

/// Hashes whole words: unused bytes are 0, and most identifiers are short.
impl Hash for Identifier {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (words, rest) = self.bytes.as_chunks::<8>();
        let rest = rest.iter().fold(self.length.into(), |rest: u64, byte| rest << 8 | u64::from(*byte));
        let used = usize::from(self.length).div_ceil(8);
        words.iter().take(used).for_each(|word| state.write_u64(u64::from_le_bytes(*word)));
        state.write_u64(rest);
    }
}

impl fmt::Debug for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identifier({self})")
    }
}

/// Writes hexadecimal digits, two for each byte, in upper case.
impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

/// Event chain within which an operation's identifier is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chain(u32);

impl Chain {
    /// Unrecorded chain: stands for any chain.
    pub const UNKNOWN: Self = Self(u32::MAX);
    /// Absent chain: the identifier is unique within the task.
    pub const NONE: Self = Self(u32::MAX - 1);

    /// Creates the chain with a number, or [`Chain::UNKNOWN`] for a number with more than 32 bits.
    #[must_use]
    pub fn new(number: u64) -> Self {
        u32::try_from(number).map_or(Self::UNKNOWN, Self)
    }

    /// Returns the chain number, if any.
    #[must_use]
    pub fn number(self) -> Option<u32> {
        (self.0 < Self::NONE.0).then_some(self.0)
    }
}

/// An operation that an event's text mentions. The event belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mention {
    /// The task.
    pub task: Identifier,
    /// Operation, unless only the task is named.
    pub operation: Option<Identifier>,
    /// Chain of the operation.
    pub chain: Chain,
    /// `true` if the notation is unambiguous. Otherwise, it may be a number that happens to look like an identifier,
    /// and counts only if the task is known from elsewhere.
    pub is_certain: bool,
}

/// Finds the operations mentioned in a text or in bytes.
pub type FindMentions = fn(&[u8], &mut dyn FnMut(Mention));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_identifier_in_different_forms() {
        let guid = "0123abcd-4567-89ab-cdef-0123456789ab";
        let of_guid = Identifier::from_value(&FieldValue::Guid(Uuid::parse_str(guid).unwrap()));
        assert!(of_guid.is_some());
        for text in [guid, "{0123ABCD-4567-89AB-CDEF-0123456789AB}", "0123abcd456789abcdef0123456789ab"] {
            assert_eq!(Identifier::from_text(text.as_bytes()), of_guid, "{text}");
        }
        assert_eq!(Identifier::from_text(b"0102").unwrap().as_bytes(), [1, 2]);
        // Not a digit, an odd number of digits, too many digits.
        assert_eq!(Identifier::from_text(b"req-1").unwrap().as_bytes(), b"req-1");
        assert_eq!(Identifier::from_text(b"123").unwrap().as_bytes(), b"123");
        assert_eq!(Identifier::from_text(&[b'1'; 42]), None);
        assert_eq!(Identifier::from_text(b""), None);
        assert_eq!(Identifier::from_text(b"0000"), None);
        let digits = Identifier::from_text(b"FFFFFFFFFFFFFFFE");
        assert_eq!(Identifier::from_value(&FieldValue::Signed(-2)), digits);
        assert_eq!(Identifier::from_value(&FieldValue::Integer(u64::MAX as i128 - 1)), digits);
    }

    #[test]
    fn identifiers_of_other_sizes_have_a_part_in_common() {
        let of = |text: &str| Identifier::from_text(text.as_bytes()).unwrap().common_part();
        assert_eq!(of("0102030405060708090A0B0C0D0E0F1099998888"), of("0102030405060708090A0B0C0D0E0F10"));
        assert_eq!(of("01020304"), of("00000000000000000000000001020304"));
    }
}
