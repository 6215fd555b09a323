//! Fast recognition of ordinary records that have the same names and types as an earlier record.

use crate::log::word::{Word, is_plain, load, load_short, padding_bits, words_for};
use crate::log::{Argument, Meaning, Record, Role, Value};

/// Control record bit in a record header.
const CONTROL: u64 = 1 << 47;

/// Tag bits in a record header.
const TAG: u64 = 0x7fff_ffff << 16;

/// Argument header bits that depend on the string: argument size and string length.
const OF_TEXT: u64 = 0xfff0 | 0xffff << 32;

/// Boolean value bit in an argument header.
const OF_BOOL: u64 = 1 << 32;

/// Common layout of all records in a class, for comparison word by word.
///
/// A record that [matches](RecordShape::size_of_match) breaks no rule.
#[derive(Debug)]
pub(super) struct RecordShape {
    /// Expected header bits under the mask.
    header: u64,
    mask: u64,
    has_tag: bool,
    /// Number of words in the leading numeric arguments, which have fixed positions.
    numbers: usize,
    /// Expected header and name words among those, in pairs with the index of the first word.
    same: Box<[(u32, [u64; 2])]>,
    /// Remaining arguments.
    arguments: Box<[ShapeArgument]>,
}

/// Expected argument.
#[derive(Debug)]
struct ShapeArgument {
    /// Expected header bits under the mask.
    header: u64,
    mask: u64,
    kind: ValueKind,
    /// `true` if the name is the single word `name`, otherwise it is `long_name`.
    is_short: bool,
    name: u64,
    long_name: Box<[u64]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    Number,
    /// Zero, which makes the message a printf format string.
    Marker,
    Bool,
    Text,
    /// A string that can have invalid UTF-8.
    Message,
}

impl RecordShape {
    /// Returns the shape of a readable record, or `None` if similar records must be examined individually.
    pub(super) fn from_record(record: &Record<'_>) -> Option<Self> {
        let mut arguments: Vec<ShapeArgument> = Vec::new();
        let (mut numbers, mut same) = (0u32, Vec::new());
        let mut has_message = false;
        for (index, (role, argument)) in record.roles().enumerate() {
            let (kind, mask, value_words) = match argument.value {
                Value::Null => return None,
                Value::Bool(_) => (ValueKind::Bool, !OF_BOOL, 0),
                Value::Text(_) if argument.meaning() == Meaning::Message && !has_message => {
                    has_message = true;
                    (ValueKind::Message, !OF_TEXT, 0)
                }
                Value::Text(_) => (ValueKind::Text, !OF_TEXT, 0),
                _ if role == Role::Marker => (ValueKind::Marker, !0, 1),
                // With the value 0, it would be a printf record.
                _ if index == 0 && is_like_marker(&argument) => return None,
                _ => (ValueKind::Number, !0, 1),
            };
            let name: Vec<u64> = argument.name.as_bytes().chunks(8).map(load_short).collect();
            let size = (1 + name.len() + value_words) as u64;
            let reference = u64::from(argument.name.text().reference());
            let header = u64::from(argument.value.kind()) | size << 4 | reference << 16;
            if kind == ValueKind::Number && arguments.is_empty() && !name.is_empty() {
                let firsts = std::iter::once(&header).chain(&name);
                same.extend(
                    firsts.zip(&name).zip(numbers..).map(|((first, second), at)| (at, [*first, *second])),
                );
                numbers += size as u32;
                continue;
            }
            arguments.push(ShapeArgument {
                header: header & mask,
                mask,
                kind,
                is_short: name.len() == 1,
                name: name.first().copied().unwrap_or(0),
                long_name: name.into(),
            });
        }
        if record.is_control() || numbers == 0 && arguments.is_empty() {
            // It can name the component of its tag, or be a boolean argument.
            return None;
        }
        let has_tag = record.tag() != 0;
        let no_tag = if has_tag { 0 } else { TAG };
        let (header, mask) = (9, 0xf | CONTROL | no_tag);
        let numbers = numbers as usize;
        Some(Self { header, mask, has_tag, numbers, same: same.into(), arguments: arguments.into() })
    }

    /// Returns the size in words of the record at the start of `words` if it has this shape.
    #[inline(always)]
    pub(super) fn size_of_match(&self, words: &[Word]) -> Option<usize> {
        let header = load(words.first()?);
        if header & self.mask != self.header || self.has_tag && header & TAG == 0 {
            return None;
        }
        let size = (header >> 4 & 0xfff) as usize;
        let (numbers, mut left) = words.get(2..size)?.split_at_checked(self.numbers)?;
        for (at, [first, second]) in &self.same {
            let at = *at as usize;
            let [found, next] = numbers.get(at..at + 2)? else { return None };
            if load(found) ^ first | load(next) ^ second != 0 {
                return None;
            }
        }
        for argument in &self.arguments {
            let header = load(left.first()?);
            let other = header & argument.mask ^ argument.header;
            let rest = match left {
                [_, name, rest @ ..] if argument.is_short => {
                    if other | load(name) ^ argument.name != 0 {
                        return None;
                    }
                    rest
                }
                [_, rest @ ..] if other == 0 => argument.behind_long_name(rest)?,
                _ => return None,
            };
            left = match argument.kind {
                ValueKind::Number => rest.get(1..)?,
                ValueKind::Text => behind_text(header, left.len() - rest.len(), rest, false)?,
                ValueKind::Message => behind_text(header, left.len() - rest.len(), rest, true)?,
                ValueKind::Bool => rest,
                ValueKind::Marker => match rest.split_first()? {
                    (value, rest) if load(value) == 0 => rest,
                    _ => return None,
                },
            };
        }
        left.is_empty().then_some(size)
    }
}

impl ShapeArgument {
    /// Returns the words after a multi-word name if it matches.
    #[inline(never)]
    fn behind_long_name<'w>(&self, words: &'w [Word]) -> Option<&'w [Word]> {
        let (name, rest) = words.split_at_checked(self.long_name.len())?;
        name.iter().zip(&self.long_name).all(|(found, word)| load(found) == *word).then_some(rest)
    }
}

/// Returns the words after the string at the start of `words`. `before` is the number of argument words before the
/// string.
#[inline(always)]
fn behind_text(header: u64, before: usize, words: &[Word], is_message: bool) -> Option<&[Word]> {
    let length = (header >> 32 & 0x7fff) as usize;
    let value_words = words_for(length);
    // An empty string can have the reference 0.
    let is_reference = header >> 47 & 1 == 1 || length == 0;
    if (header >> 4 & 0xfff) as usize != before + value_words || !is_reference {
        return None;
    }
    let (value, rest) = words.split_at_checked(value_words)?;
    (is_plain(value, length) || is_sound(value, length, is_message)).then_some(rest)
}

/// Returns the tag from a record header, or `None` for a control record.
pub(super) fn tag(header: u64) -> Option<u32> {
    (header & CONTROL == 0).then_some(((header & TAG) >> 16) as u32)
}

/// Returns `true` for an argument with the name and type of the printf marker.
fn is_like_marker(argument: &Argument<'_>) -> bool {
    argument.name == "printf" && matches!(argument.value, Value::Unsigned(_))
}

/// Returns `true` if a non-ASCII text is valid.
#[inline(never)]
fn is_sound(words: &[Word], length: usize, is_message: bool) -> bool {
    let is_padded = words.last().is_none_or(|word| load(word) & padding_bits(length) == 0);
    // The words contain the text.
    let text = words.as_flattened().get(..length).unwrap_or_default();
    is_padded && (is_message || std::str::from_utf8(text).is_ok())
}

/// Returns a hash that is equal for records with the same shape, and differs for most others.
#[inline]
pub(super) fn hash(words: &[Word], seed: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * u128::from(FACTOR);
        (product as u64 ^ (product >> 64) as u64).rotate_left(17)
    };
    let [header, _, ..] = words else { return seed };
    let header = load(header);
    let size = (header >> 4 & 0xfff) as usize;
    // A shorter record has no arguments, and matches no shape.
    let mut left = words.get(2..size).unwrap_or_default();
    let mut hash = mix(seed, header & CONTROL | u64::from(header & TAG != 0));
    while let Some((header, rest)) = left.split_first() {
        let header = load(header);
        let name = ((header >> 16 & 0x7fff) as usize).div_ceil(8);
        hash = mix(hash, header & 0x7fff_000f);
        // A name beyond the record matches no shape.
        for word in rest.get(..name).unwrap_or_default() {
            hash = mix(hash, load(word));
        }
        let size = ((header >> 4 & 0xfff) as usize).max(1);
        // An argument that exceeds the record is the last one.
        left = left.get(size..).unwrap_or_default();
    }
    hash
}
