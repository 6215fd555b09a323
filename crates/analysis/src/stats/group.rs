//! Table of groups with a bounded number of rows.

use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;

/// Group state.
pub(super) trait GroupRow {
    /// Returns the event count.
    fn events(&self) -> u64;

    /// Merges the state from later events.
    fn merge(&mut self, later: Self);
}

/// Group in the table.
#[derive(Clone, Debug)]
pub(super) struct TableGroup<R> {
    /// Encoded key.
    pub(super) key: Box<[u8]>,
    /// Maximum number of events before the group was added to the table.
    pub(super) missed: u64,
    pub(super) row: R,
}

/// Groups by key.
///
/// Beyond `most` groups, groups with few events are dropped. This is the Misra-Gries algorithm, in the variant that
/// drops half of the groups at once. A missing group has at most [`Groups::missed`] events, and a group in the table
/// has at most this many uncounted events. The bound is at most the total number of events divided by a quarter of
/// `most`, usually much less. Up to `most` groups, all counts are exact.
#[derive(Clone, Debug)]
pub(super) struct Groups<R> {
    groups: Vec<TableGroup<R>>,
    by_key: HashTable<u32>,
    hasher: RandomState,
    most: usize,
    missed: u64,
    /// Number of times that groups were dropped. Each time invalidates group indexes.
    generation: u32,
}

impl<R: GroupRow> Groups<R> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            groups: Vec::new(),
            by_key: HashTable::new(),
            hasher: RandomState::new(),
            most: most.clamp(2, u32::MAX as usize),
            missed: 0,
            generation: 0,
        }
    }

    /// Returns a number that changes when group indexes become invalid.
    #[inline]
    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns the maximum number of events in a missing group.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, TableGroup<R>> {
        self.groups.iter()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut R> {
        self.groups.get_mut(index as usize).map(|group| &mut group.row)
    }

    /// Returns the index of a group. Adds the group if it is missing.
    pub(super) fn index(&mut self, key: &[u8], make: impl FnOnce() -> R) -> u32 {
        let hash = self.hasher.hash_one(key);
        let groups = &self.groups;
        if let Some(index) = self.by_key.find(hash, |index| *groups[*index as usize].key == *key) {
            return *index;
        }
        if self.groups.len() >= self.most {
            self.leave_out();
        }
        self.push(TableGroup { key: key.into(), missed: self.missed, row: make() }, hash)
    }

    fn push(&mut self, group: TableGroup<R>, hash: u64) -> u32 {
        let index = self.groups.len() as u32;
        self.groups.push(group);
        let (groups, hasher) = (&self.groups, &self.hasher);
        self.by_key.insert_unique(hash, index, |index| hasher.hash_one(&*groups[*index as usize].key));
        index
    }

    /// Drops the groups with a maximum event count up to the median.
    #[cold]
    fn leave_out(&mut self) {
        let possible = |group: &TableGroup<R>| group.row.events().saturating_add(group.missed);
        let mut all: Vec<u64> = self.groups.iter().map(possible).collect();
        let middle = all.len() / 2;
        let (_, limit, _) = all.select_nth_unstable(middle);
        let limit = *limit;
        self.groups.retain(|group| possible(group) > limit);
        self.missed = self.missed.max(limit);
        self.generation = self.generation.wrapping_add(1);
        self.by_key.clear();
        let groups = std::mem::take(&mut self.groups);
        for group in groups {
            let hash = self.hasher.hash_one(&*group.key);
            self.push(group, hash);
        }
    }

    /// Merges the groups from later events.
    pub(super) fn merge(&mut self, later: Self) {
        let before = self.missed;
        let mut is_merged = vec![false; self.groups.len()];
        for group in later.groups {
            let hash = self.hasher.hash_one(&*group.key);
            let groups = &self.groups;
            match self.by_key.find(hash, |index| groups[*index as usize].key == group.key).copied() {
                Some(index) => {
                    let own = &mut self.groups[index as usize];
                    own.missed += group.missed;
                    own.row.merge(group.row);
                    if let Some(is_merged) = is_merged.get_mut(index as usize) {
                        *is_merged = true;
                    }
                }
                None => {
                    self.push(TableGroup { missed: group.missed + before, ..group }, hash);
                }
            }
        }
        for (group, _) in self.groups.iter_mut().zip(is_merged).filter(|(_, is_merged)| !is_merged) {
            group.missed += later.missed;
        }
        self.missed += later.missed;
        while self.groups.len() > self.most {
            self.leave_out();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ichnos_testing::cases;

    use super::*;

    #[derive(Clone, Debug, Default)]
    struct Count(u64);

    impl GroupRow for Count {
        fn events(&self) -> u64 {
            self.0
        }

        fn merge(&mut self, later: Self) {
            self.0 += later.0;
        }
    }

    fn count(groups: &mut Groups<Count>, key: u64) {
        let index = groups.index(&key.to_le_bytes(), Count::default);
        groups.get_mut(index).unwrap().0 += 1;
    }

    /// Exact with few groups, otherwise within the error bounds, both collected at once and merged.
    #[test]
    fn count_errors_are_within_the_bounds() {
        let mut inexact = 0;
        cases(300, |random| {
            let (most, different) = (4 + random.index(40), 1 + random.below(120));
            let keys: Vec<u64> = (0..random.below(2_000))
                // Some keys are much more common.
                .map(|_| random.below(different).min(random.below(different)).min(random.below(different)))
                .collect();
            let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
            keys.iter().for_each(|key| *expected.entry(*key).or_default() += 1);
            let mut whole = Groups::new(most);
            keys.iter().for_each(|key| count(&mut whole, *key));
            let mut merged = Groups::new(most);
            for part in keys.chunks(1 + random.index(300)) {
                let mut groups = Groups::new(most);
                part.iter().for_each(|key| count(&mut groups, *key));
                merged.merge(groups);
            }
            for found in [whole, merged] {
                let is_exact = expected.len() <= most;
                assert_eq!(found.missed() == 0, is_exact, "{} {most}", expected.len());
                inexact += u64::from(!is_exact);
                assert!(found.missed() <= 4 * keys.len() as u64 / most as u64);
                let mut rows: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
                for TableGroup { key, missed, row } in found.iter() {
                    assert!(
                        rows.insert(u64::from_le_bytes((**key).try_into().unwrap()), (row.0, *missed))
                            .is_none()
                    );
                }
                assert!(rows.len() <= most);
                for (key, expected) in &expected {
                    match rows.get(key) {
                        Some((events, missed)) => {
                            assert!(events <= expected && *expected <= events + missed);
                            assert!(*missed <= found.missed());
                        }
                        None => assert!(*expected <= found.missed()),
                    }
                }
                assert!(rows.keys().all(|key| expected.contains_key(key)));
            }
        });
        assert!(inexact > 50, "{inexact}");
    }
}
