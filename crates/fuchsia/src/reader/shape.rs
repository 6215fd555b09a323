//! Records that are like one before: the same names and types, and nothing unusual.

use crate::log::word::{Word, is_plain, load, padding_bits, words_for};
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
    has_tag: bool,
    is_control: bool,
    arguments: Box<[ShapeArgument]>,
    /// The names of all arguments, padded.
    names: Box<[u64]>,
}

#[derive(Debug)]
struct ShapeArgument {
    header: u64,
    /// Bits of the header that are the same in all records.
    mask: u64,
    name_words: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    /// The first argument is called `printf`: is it 0?
    Marker(bool),
    Bool,
    Text,
    /// A string that need not be UTF-8.
    Message,
}

impl Shape {
    /// The shape of a record that can be read; None if there is something in it that breaks a rule in
    /// all records that are like it.
    pub(super) fn of(record: &Record<'_>) -> Option<Self> {
        let mut arguments = Vec::new();
        let mut names = Vec::new();
        let mut has_message = false;
        for (index, (role, argument)) in record.roles().enumerate() {
            let name = argument.name.as_bytes();
            names.extend(name.chunks(8).map(|chunk| {
                let mut word = [0; 8];
                word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
                load(&word)
            }));
            let name_words = words_for(name.len());
            let (kind, mask, value_words) = match argument.value {
                Value::Null => return None,
                Value::Bool(_) => (Kind::Bool, !OF_BOOL, 0),
                Value::Text(_) => {
                    let is_message = argument.meaning() == Meaning::Message && !has_message;
                    has_message |= is_message;
                    (if is_message { Kind::Message } else { Kind::Text }, !OF_TEXT, 0)
                }
                _ if index == 0 && is_like_marker(&argument) => (Kind::Marker(role == Role::Marker), !0, 1),
                _ => (Kind::Number, !0, 1),
            };
            let reference = u64::from(argument.name.text().reference());
            let size = (1 + name_words + value_words) as u64;
            let header = u64::from(argument.value.kind()) | size << 4 | reference << 16;
            arguments.push(ShapeArgument {
                header: header & mask,
                mask,
                name_words: name_words as u32,
                kind,
            });
        }
        Some(Self {
            has_tag: record.tag() != 0,
            is_control: record.is_control(),
            arguments: arguments.into(),
            names: names.into(),
        })
    }

    /// The size in words of the record at the beginning of `words`, if it is of this shape.
    #[inline]
    pub(super) fn size_of_match(&self, words: &[Word]) -> Option<usize> {
        let [header, _, ..] = words else { return None };
        let header = load(header);
        if header & 0xf != 9
            || (header & TAG != 0) != self.has_tag
            || (header & CONTROL != 0) != self.is_control
        {
            return None;
        }
        let size = (header >> 4 & 0xfff) as usize;
        let mut left = words.get(2..size)?;
        let mut names = &self.names[..];
        for argument in &self.arguments {
            let (header, rest) = left.split_first()?;
            let header = load(header);
            if header & argument.mask != argument.header {
                return None;
            }
            let name_words = argument.name_words as usize;
            let (expected, other_names) = names.split_at_checked(name_words)?;
            let (name, rest) = rest.split_at_checked(name_words)?;
            if name.iter().zip(expected).any(|(found, expected)| load(found) != *expected) {
                return None;
            }
            names = other_names;
            left = match argument.kind {
                Kind::Number => rest.split_first()?.1,
                Kind::Bool => rest,
                Kind::Marker(is_zero) => {
                    let (value, rest) = rest.split_first()?;
                    if (load(value) == 0) != is_zero {
                        return None;
                    }
                    rest
                }
                Kind::Text | Kind::Message => {
                    let reference = header >> 32 & 0xffff;
                    let length = (reference & 0x7fff) as usize;
                    if reference != 0 && reference >> 15 == 0 {
                        return None;
                    }
                    let value_words = words_for(length);
                    if (header >> 4 & 0xfff) as usize != 1 + name_words + value_words {
                        return None;
                    }
                    let (value, rest) = rest.split_at_checked(value_words)?;
                    if !is_plain(value, length) && !is_sound(value, length, argument.kind) {
                        return None;
                    }
                    rest
                }
            };
        }
        left.is_empty().then_some(size)
    }
}

/// Whether it is called as the argument that makes a message one of printf, and of the same type.
fn is_like_marker(argument: &Argument<'_>) -> bool {
    argument.name == "printf" && matches!(argument.value, Value::Unsigned(_))
}

/// Whether a text that is not ASCII is right.
#[inline(never)]
fn is_sound(words: &[Word], length: usize, kind: Kind) -> bool {
    let is_padded = words.last().is_none_or(|word| load(word) & padding_bits(length) == 0);
    let text = words.as_flattened().get(..length).unwrap_or_default();
    is_padded && (kind == Kind::Message || std::str::from_utf8(text).is_ok())
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
