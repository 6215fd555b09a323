//! Sets with small numbers, for example call stack numbers.

use std::collections::HashSet;

/// Numbers per page, which has 512 bytes.
const PAGE: u32 = 1 << 12;

/// Larger numbers are stored one by one. A page for such a number would need a long page list.
const LARGE: u32 = 1 << 22;

/// Set of numbers. Efficient if most numbers are small and close together.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumberSet {
    pages: Vec<Option<Box<[u64; (PAGE / 64) as usize]>>>,
    large: HashSet<u32>,
}

impl NumberSet {
    /// Adds a number. Returns `true` if it is new.
    #[inline]
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        let (page, bit) = ((number / PAGE) as usize, number % PAGE);
        let word = match self.pages.get_mut(page) {
            Some(Some(page)) => page.get_mut((bit / 64) as usize),
            _ => None,
        };
        let Some(word) = word else { return self.insert_elsewhere(number) };
        let mask = 1 << (bit % 64);
        let is_new = *word & mask == 0;
        *word |= mask;
        is_new
    }

    /// Adds a large number, or a number whose page does not exist.
    #[cold]
    fn insert_elsewhere(&mut self, number: u32) -> bool {
        if number >= LARGE {
            return self.large.insert(number);
        }
        let page = (number / PAGE) as usize;
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([0; _]));
        self.insert(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_new_once() {
        let mut set = NumberSet::default();
        let numbers = [0, 1, 63, 64, PAGE - 1, PAGE, 5 * PAGE + 7, LARGE - 1, LARGE, u32::MAX];
        for number in numbers {
            assert!(set.insert(number), "{number}");
            assert!(!set.insert(number), "{number}");
        }
        assert!(set.insert(2));
        assert_eq!(set.pages.len(), (LARGE / PAGE) as usize);
    }
}
