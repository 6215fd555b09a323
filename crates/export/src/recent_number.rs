//! Numbers that mostly differ from the number before only in their lowest nine digits, such as times.

use crate::block::ShortText;
use crate::number::{self, nanoseconds, nine_grouped_digits};

/// Limit of the nine lowest digits.
const LOWER: u64 = 1_000_000_000;

/// Recent number, with the text of its upper digits.
#[derive(Debug)]
pub(crate) struct RecentNumber {
    /// Text before the number.
    before: Box<[u8]>,
    /// The number with its nine lowest digits set to 0, or 0.
    upper: u64,
    /// Text up to the nine lowest digits.
    text: ShortText,
}

impl RecentNumber {
    /// Creates a place for numbers after the text `before`.
    pub(crate) fn new(before: &[u8]) -> Self {
        Self { before: before.into(), upper: 0, text: ShortText::new(b"") }
    }

    /// Returns the nine lowest digits of a number, or `None` if its upper digits differ.
    #[inline(always)]
    fn lower(&self, value: i128) -> Option<u32> {
        let lower = u64::try_from(value).ok()?.checked_sub(self.upper)?;
        (lower < LOWER && self.upper > 0).then_some(lower as u32)
    }

    /// Appends a decimal number.
    #[inline]
    pub(crate) fn push(&mut self, out: &mut Vec<u8>, value: i128) {
        match self.lower(value) {
            Some(lower) => {
                self.text.push(out);
                out.extend_from_slice(&nanoseconds(lower));
            }
            None => self.push_anew(out, value, 9, number::push_integer),
        }
    }

    /// Appends a decimal number with a comma before each group of three digits.
    #[inline]
    pub(crate) fn push_grouped(&mut self, out: &mut Vec<u8>, value: i128) {
        match self.lower(value) {
            Some(lower) => {
                self.text.push(out);
                out.extend_from_slice(&nine_grouped_digits(lower));
            }
            None => self.push_anew(out, value, 12, number::push_grouped),
        }
    }

    /// Appends another number with `push`. The nine lowest digits take `size` bytes.
    #[cold]
    fn push_anew(
        &mut self,
        out: &mut Vec<u8>,
        value: i128,
        size: usize,
        push: impl FnOnce(&mut Vec<u8>, i128),
    ) {
        let begin = out.len();
        out.extend_from_slice(&self.before);
        push(out, value);
        let upper = u64::try_from(value).map_or(0, |value| value - value % LOWER);
        if upper > 0
            && let Some(text) = out.get(begin..out.len() - size)
        {
            (self.upper, self.text) = (upper, ShortText::new(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    #[test]
    fn a_recent_number_is_what_it_would_be_made_anew() {
        cases(2_000, |random| {
            let begins =
                [0, LOWER - 5, LOWER, 12_345 * LOWER, 1_565_957_300 * LOWER, u64::MAX - LOWER, u64::MAX];
            let (mut recent, mut grouped) = (RecentNumber::new(b"t="), RecentNumber::new(b""));
            let mut number = begins[random.index(7)];
            for _ in 0..40 {
                number = number.wrapping_add([0, 1, 10, LOWER / 3, LOWER, u64::MAX][random.index(6)]);
                let value = i128::from(number) - if random.is_one_in(20) { 1 << 64 } else { 0 };
                let (mut out, mut expected) = (b"x".to_vec(), Vec::new());
                recent.push(&mut out, value);
                assert_eq!(String::from_utf8(out).unwrap(), format!("xt={value}"));
                let mut out = Vec::new();
                grouped.push_grouped(&mut out, value);
                number::push_grouped(&mut expected, value);
                assert_eq!(out, expected);
            }
        });
    }
}
