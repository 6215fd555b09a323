//! Records that are like one before: the same names and types, and nothing unusual.

use crate::log::word::{Word, is_plain, load, load_short, padding_bits, words_for};
use crate::log::{Argument, Meaning, Record, Role, Value};

/// The bit of the header of a record that makes it a control record.
const CONTROL: u64 = 1 << 47;

/// The bits of the header of a record that are its tag.
const TAG: u64 = 0x7fff_ffff << 16;

/// Bits of the header of an argument that differ from one string to the other: its size and the length of
/// the string.
const OF_TEXT: u64 = 0xfff0 | 0xffff << 32;

/// The bit of the header of an argument that is a boolean.
const OF_BOOL: u64 = 1 << 32;

/// What all records of a class have in common, so that a record can be compared with it word by word.
///
/// A record that [matches](Shape::size_of_match) has nothing in it that any reader would mind.
#[derive(Debug)]
pub(super) struct Shape {
    /// What the header must be where the mask has bits.
    header: u64,
    mask: u64,
    has_tag: bool,
    /// How many words the arguments have whose values are numbers, up to the first other one: where they
    /// lie is known.
    numbers: usize,
    /// Words among those that must be what they are, by their index: headers and names.
    same: Box<[(usize, u64)]>,
    /// The arguments behind.
    arguments: Box<[ShapeArgument]>,
}

/// What an argument must be.
#[derive(Debug)]
struct ShapeArgument {
    /// What its header must be where the mask has bits.
    header: u64,
    mask: u64,
    kind: Kind,
    /// Whether its name is one word, `name`; else it is `long_name`.
    is_short: bool,
    name: u64,
    long_name: Box<[u64]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    /// 0, which makes the message one of printf.
    Marker,
    Bool,
    Text,
    /// A string that need not be UTF-8.
    Message,
}

impl Shape {
    /// The shape of a record that can be read; None if there is something in it that has to be looked at
    /// in all records that are like it.
    pub(super) fn of(record: &Record<'_>) -> Option<Self> {
        let mut arguments: Vec<ShapeArgument> = Vec::new();
        let (mut numbers, mut same) = (0, Vec::new());
        let mut has_message = false;
        for (index, (role, argument)) in record.roles().enumerate() {
            let (kind, mask, value_words) = match argument.value {
                Value::Null => return None,
                Value::Bool(_) => (Kind::Bool, !OF_BOOL, 0),
                Value::Text(_) if argument.meaning() == Meaning::Message && !has_message => {
                    has_message = true;
                    (Kind::Message, !OF_TEXT, 0)
                }
                Value::Text(_) => (Kind::Text, !OF_TEXT, 0),
                _ if role == Role::Marker => (Kind::Marker, !0, 1),
                // If it were 0, the record would be another one.
                _ if index == 0 && is_like_marker(&argument) => return None,
                _ => (Kind::Number, !0, 1),
            };
            let name: Vec<u64> = argument.name.as_bytes().chunks(8).map(load_short).collect();
            let size = (1 + name.len() + value_words) as u64;
            let reference = u64::from(argument.name.text().reference());
            let header = u64::from(argument.value.kind()) | size << 4 | reference << 16;
            if kind == Kind::Number && arguments.is_empty() {
                same.push((numbers, header));
                same.extend(name.iter().zip(numbers + 1..).map(|(word, at)| (at, *word)));
                numbers += size as usize;
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
            // It may say what its tag stands for; or it may be an argument.
            return None;
        }
        let has_tag = record.tag() != 0;
        let no_tag = if has_tag { 0 } else { TAG };
        let (header, mask) = (9, 0xf | CONTROL | no_tag);
        Some(Self { header, mask, has_tag, numbers, same: same.into(), arguments: arguments.into() })
    }

    /// The size in words of the record at the beginning of `words`, if it is of this shape.
    #[inline(always)]
    pub(super) fn size_of_match(&self, words: &[Word]) -> Option<usize> {
        let header = load(words.first()?);
        if header & self.mask != self.header || self.has_tag && header & TAG == 0 {
            return None;
        }
        let size = (header >> 4 & 0xfff) as usize;
        let (numbers, mut left) = words.get(2..size)?.split_at_checked(self.numbers)?;
        let is_same = |(at, word): &(usize, u64)| numbers.get(*at).is_some_and(|found| load(found) == *word);
        if !self.same.iter().all(is_same) {
            return None;
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
                Kind::Number => rest.get(1..)?,
                Kind::Text => behind_text(header, left.len() - rest.len(), rest, false)?,
                Kind::Message => behind_text(header, left.len() - rest.len(), rest, true)?,
                Kind::Bool => rest,
                Kind::Marker => match rest.split_first()? {
                    (value, rest) if load(value) == 0 => rest,
                    _ => return None,
                },
            };
        }
        left.is_empty().then_some(size)
    }
}

impl ShapeArgument {
    /// What is behind a name that is not one word.
    #[inline(never)]
    fn behind_long_name<'w>(&self, words: &'w [Word]) -> Option<&'w [Word]> {
        let (name, rest) = words.split_at_checked(self.long_name.len())?;
        name.iter().zip(&self.long_name).all(|(found, word)| load(found) == *word).then_some(rest)
    }
}

/// What is behind the string at the beginning of `words`; `before` are the words of its argument before it.
#[inline(always)]
fn behind_text(header: u64, before: usize, words: &[Word], is_message: bool) -> Option<&[Word]> {
    let length = (header >> 32 & 0x7fff) as usize;
    let value_words = words_for(length);
    // The reference to an empty string may be 0.
    let is_reference = header >> 47 & 1 == 1 || length == 0;
    if (header >> 4 & 0xfff) as usize != before + value_words || !is_reference {
        return None;
    }
    let (value, rest) = words.split_at_checked(value_words)?;
    (is_plain(value, length) || is_sound(value, length, is_message)).then_some(rest)
}

/// The tag in the header of a record, unless that is a control record.
pub(super) fn tag(header: u64) -> Option<u32> {
    (header & CONTROL == 0).then_some(((header & TAG) >> 16) as u32)
}

/// Whether it is called as the argument that makes a message one of printf, and of the same type.
fn is_like_marker(argument: &Argument<'_>) -> bool {
    argument.name == "printf" && matches!(argument.value, Value::Unsigned(_))
}

/// Whether a text that is not ASCII is right.
#[inline(never)]
fn is_sound(words: &[Word], length: usize, is_message: bool) -> bool {
    let is_padded = words.last().is_none_or(|word| load(word) & padding_bits(length) == 0);
    let text = words.as_flattened().get(..length).unwrap_or_default();
    is_padded && (is_message || std::str::from_utf8(text).is_ok())
}

/// A number that is the same for records of the same shape, and another one for most others.
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
    let mut left = words.get(2..size).unwrap_or_default();
    let mut hash = mix(seed, header & CONTROL | u64::from(header & TAG != 0));
    while let Some((header, rest)) = left.split_first() {
        let header = load(header);
        let name = ((header >> 16 & 0x7fff) as usize).div_ceil(8);
        hash = mix(hash, header & 0x7fff_000f);
        for word in rest.get(..name).unwrap_or_default() {
            hash = mix(hash, load(word));
        }
        let size = ((header >> 4 & 0xfff) as usize).max(1);
        left = left.get(size..).unwrap_or_default();
    }
    hash
}
