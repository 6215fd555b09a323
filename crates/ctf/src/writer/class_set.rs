//! Event record class sets.

/// Event record class indexes.
///
/// There can be very many sets, each with a few of very many classes.
#[derive(Debug, Default)]
pub(super) struct ClassSet {
    /// Sorted indexes.
    indexes: Vec<u32>,
    /// Position of the last added index.
    last: usize,
}

impl ClassSet {
    /// Adds an index. Returns its position if it is new.
    #[inline]
    pub(super) fn insert(&mut self, index: usize) -> Option<usize> {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        if self.indexes.get(self.last) == Some(&index) {
            return None;
        }
        let found = self.indexes.binary_search(&index);
        self.last = found.unwrap_or_else(|place| place);
        found.err().inspect(|place| self.indexes.insert(*place, index))
    }

    /// Returns the position of the last added index.
    #[inline]
    pub(super) const fn last(&self) -> usize {
        self.last
    }

    /// Returns the indexes in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.indexes.iter().map(|index| *index as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_in_order() {
        let mut set = ClassSet::default();
        let places: Vec<_> =
            [7, 7, 2, 9, 2, 7].into_iter().map(|index| (set.insert(index), set.last())).collect();
        let expected = [(Some(0), 0), (None, 0), (Some(0), 0), (Some(2), 2), (None, 0), (None, 1)];
        assert_eq!(places, expected);
        assert!(set.iter().eq([2, 7, 9]));
    }
}
