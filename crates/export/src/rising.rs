//! Numbers of many digits that rise slowly, as times do.

use crate::block::Block;
use crate::number;

/// Appends numbers whose upper digits mostly are those of the number before.
#[derive(Debug, Default)]
pub(crate) struct Rising {
    /// All but the nine lowest digits, and how they are written.
    upper: Option<(u64, Block)>,
}

const LOWER: u64 = 1_000_000_000;

impl Rising {
    #[inline]
    pub(crate) fn push(&mut self, out: &mut Vec<u8>, value: u64) {
        let upper = value / LOWER;
        match &self.upper {
            Some((known, text)) if *known == upper => text.push(out, false),
            _ => return self.push_new(out, value),
        }
        number::push_nanoseconds(out, (value % LOWER) as u32);
    }

    #[cold]
    fn push_new(&mut self, out: &mut Vec<u8>, value: u64) {
        let begin = out.len();
        number::push_unsigned(out, value);
        let digits = out.get(begin..).unwrap_or_default();
        // Without upper digits, a number has no zeros in front of it.
        self.upper = digits
            .len()
            .checked_sub(9)
            .filter(|upper| *upper > 0)
            .map(|upper| (value / LOWER, Block::new(&digits[..upper])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_any_other_number() {
        let mut rising = Rising::default();
        let values = [0, 9, 1_000_000_000, 1_000_000_001, 999_999_999, 1, 1_999_999_999, 2_000_000_000];
        for value in values.into_iter().chain([u64::MAX, u64::MAX - 1, 18_446_744_073_000_000_000, 7]) {
            let mut out = b"x".to_vec();
            rising.push(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), format!("x{value}"));
        }
    }
}
