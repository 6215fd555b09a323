//! Numbered texts.

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use ichnos_model::key_hash::KeyState;

/// Texts by number, without duplicates.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    bytes: Vec<u8>,
    /// End of each text in `bytes`.
    ends: Vec<usize>,
    numbers: HashTable<u32>,
    hasher: KeyState,
}

/// Maximum total size of texts, in bytes. Further texts become [`NameTable::LEFT_OUT`].
const MOST_BYTES: usize = 1 << 30;

impl NameTable {
    /// Number of all texts for which there was no space.
    pub(super) const LEFT_OUT: u32 = u32::MAX;

    /// Returns a text's number.
    pub(super) fn number(&mut self, text: &[u8]) -> u32 {
        let Self { bytes, ends, numbers, hasher } = self;
        let hash = hasher.hash_one(text);
        if let Some(known) = numbers.find(hash, |known| text_at(bytes, ends, *known) == text) {
            return *known;
        }
        let number = ends.len() as u32;
        if bytes.len() + text.len() > MOST_BYTES || number == Self::LEFT_OUT {
            return Self::LEFT_OUT;
        }
        bytes.extend_from_slice(text);
        ends.push(bytes.len());
        numbers.insert_unique(hash, number, |known| hasher.hash_one(text_at(bytes, ends, *known)));
        number
    }

    /// Drops the index from texts to numbers.
    pub(super) fn forget_index(&mut self) {
        self.numbers = HashTable::new();
    }

    /// Returns the text with a number.
    pub(super) fn text(&self, number: u32) -> &[u8] {
        text_at(&self.bytes, &self.ends, number)
    }
}

fn text_at<'b>(bytes: &'b [u8], ends: &[usize], number: u32) -> &'b [u8] {
    let number = number as usize;
    let begin = number.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or_default();
    ends.get(number).and_then(|end| bytes.get(begin..*end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_has_the_same_number() {
        let mut names = NameTable::default();
        let all = ["", "a", "b", "a", "", "ab"].map(|text| names.number(text.as_bytes()));
        assert_eq!(all, [0, 1, 2, 1, 0, 3]);
        assert_eq!((names.text(0), names.text(3), names.text(9)), (&b""[..], &b"ab"[..], &b""[..]));
    }
}
