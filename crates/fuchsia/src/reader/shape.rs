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
    has_tag: bool,
    steps: Box<[Step]>,
}

/// Words at fixed places, and a string behind them.
#[derive(Debug)]
struct Step {
    words: Box<[Pattern]>,
    text: Option<TextStep>,
}

/// What a word must be: `value` where `mask` has bits.
#[derive(Clone, Copy, Debug, Default)]
struct Pattern {
    mask: u64,
    value: u64,
}

#[derive(Clone, Copy, Debug)]
struct TextStep {
    /// Size of the header of the argument and its name in words: so far back the header is.
    before: u32,
    /// Whether it need not be UTF-8.
    is_message: bool,
}

impl Shape {
    /// The shape of a record that can be read; None if there is something in it that has to be looked at
    /// in all records that are like it.
    pub(super) fn of(record: &Record<'_>) -> Option<Self> {
        let has_tag = record.tag() != 0;
        let control = if record.is_control() { CONTROL } else { 0 };
        let no_tag = if has_tag { 0 } else { TAG };
        // The timestamp may be anything.
        let mut words =
            vec![Pattern { mask: 0xf | CONTROL | no_tag, value: 9 | control }, Pattern::default()];
        let mut steps = Vec::new();
        let mut has_message = false;
        for (index, (role, argument)) in record.roles().enumerate() {
            let name = argument.name.as_bytes();
            let before = 1 + words_for(name.len());
            let (mask, value_words) = match argument.value {
                Value::Null => return None,
                Value::Bool(_) => (!OF_BOOL, 0),
                Value::Text(_) => (!OF_TEXT, 0),
                _ => (!0, 1),
            };
            let reference = u64::from(argument.name.text().reference());
            let header =
                u64::from(argument.value.kind()) | ((before + value_words) as u64) << 4 | reference << 16;
            words.push(Pattern { mask, value: header & mask });
            words.extend(name.chunks(8).map(|chunk| Pattern { mask: !0, value: load_short(chunk) }));
            match argument.value {
                Value::Text(_) => {
                    let is_message = argument.meaning() == Meaning::Message && !has_message;
                    has_message |= is_message;
                    let text = Some(TextStep { before: before as u32, is_message });
                    steps.push(Step { words: std::mem::take(&mut words).into(), text });
                }
                Value::Bool(_) => {}
                _ if role == Role::Marker => words.push(Pattern { mask: !0, value: 0 }),
                // If it were 0, the record would be another one.
                _ if index == 0 && is_like_marker(&argument) => return None,
                _ => words.push(Pattern::default()),
            }
        }
        steps.push(Step { words: words.into(), text: None });
        Some(Self { has_tag, steps: steps.into() })
    }

    /// The size in words of the record at the beginning of `words`, if it is of this shape.
    #[inline]
    pub(super) fn size_of_match(&self, words: &[Word]) -> Option<usize> {
        let header = load(words.first()?);
        if self.has_tag && header & TAG == 0 {
            return None;
        }
        let size = (header >> 4 & 0xfff) as usize;
        let mut left = words.get(..size)?;
        for step in &self.steps {
            let (own, rest) = left.split_at_checked(step.words.len())?;
            let mut other = 0;
            for (word, pattern) in own.iter().zip(&step.words) {
                other |= load(word) & pattern.mask ^ pattern.value;
            }
            if other != 0 {
                return None;
            }
            left = rest;
            let Some(text) = step.text else { continue };
            let before = text.before as usize;
            let header = load(own.get(own.len().wrapping_sub(before))?);
            let length = (header >> 32 & 0x7fff) as usize;
            let value_words = words_for(length);
            // The reference to an empty string may be 0.
            let is_reference = header >> 47 & 1 == 1 || length == 0;
            if (header >> 4 & 0xfff) as usize != before + value_words || !is_reference {
                return None;
            }
            let (value, rest) = rest.split_at_checked(value_words)?;
            if !is_plain(value, length) && !is_sound(value, length, text.is_message) {
                return None;
            }
            left = rest;
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
