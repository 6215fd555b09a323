//! Event record class ids, for readers that do not distinguish all ids.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::loss_table::{LossKind, LossTable};
use crate::class::EventRecordClass;

/// Assigns event record class ids that readers distinguish, for one data stream class.
#[derive(Debug)]
pub(super) struct ClassIdAssigner {
    /// Largest id.
    most: u128,
    assigned: Mutex<AssignedIds>,
}

#[derive(Debug, Default)]
struct AssignedIds {
    ids: HashSet<u128>,
    /// Lowest id that may be free.
    next: u128,
}

impl ClassIdAssigner {
    /// Creates an empty assignment. `bits` is the number of id bits that readers use.
    pub(super) fn new(bits: u32) -> Self {
        Self { most: ones(bits), assigned: Mutex::default() }
    }

    /// Limits ids to a field with this many bits.
    pub(super) fn limit(&mut self, bits: u64) {
        self.most = self.most.min(ones(u32::try_from(bits).unwrap_or(u32::MAX)));
    }

    /// Assigns ids to known classes: the original id, or the index if an id is too large.
    pub(super) fn number(&mut self, classes: &mut [&mut EventRecordClass], losses: &mut LossTable) {
        let renumbers = classes.iter().any(|class| class.id > self.most);
        let assigned = self.assigned.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (number, class) in (0..).zip(classes) {
            let id = if renumbers { number } else { class.id };
            rename(class, id, losses);
            assigned.ids.insert(id);
        }
    }

    /// Assigns an id to a class found later: the original id, or the first free id if it is too large or taken.
    pub(super) fn assign(&self, class: &mut EventRecordClass, losses: &mut LossTable) {
        let mut assigned = self.assigned.lock().unwrap_or_else(PoisonError::into_inner);
        if class.id <= self.most && assigned.ids.insert(class.id) {
            return;
        }
        while assigned.ids.contains(&assigned.next) && assigned.next < self.most {
            assigned.next += 1;
        }
        let id = assigned.next;
        if !assigned.ids.insert(id) {
            // All ids are taken. The class keeps its original id, and its events are not written.
            return;
        }
        rename(class, id, losses);
    }
}

fn ones(bits: u32) -> u128 {
    u128::MAX.checked_shr(128u32.saturating_sub(bits)).unwrap_or(0)
}

fn rename(class: &mut EventRecordClass, id: u128, losses: &mut LossTable) {
    if id == class.id {
        return;
    }
    let what = format!("id {} -> {id}", class.id);
    losses.note(LossKind::Renamed, class.name.as_deref().unwrap_or_default(), "", what);
    class.id = id;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(id: u128) -> EventRecordClass {
        EventRecordClass { id, ..EventRecordClass::new("e", []) }
    }

    #[test]
    fn ids_that_are_too_large_become_numbers() {
        let mut losses = LossTable::default();
        let mut number = |ids: &[u128]| {
            let mut classes: Vec<_> = ids.iter().map(|id| class(*id)).collect();
            let mut assigned = ClassIdAssigner::new(32);
            assigned.number(&mut classes.iter_mut().collect::<Vec<_>>(), &mut losses);
            classes.iter().map(|class| class.id).collect::<Vec<_>>()
        };
        assert_eq!(number(&[7, 3, 0xffff_ffff]), [7, 3, 0xffff_ffff]);
        assert_eq!(number(&[0, 1, 1 << 32, 1 << 127]), [0, 1, 2, 3]);
        assert_eq!(losses.count(LossKind::Renamed), 2);
    }

    #[test]
    fn ids_of_classes_that_are_found_later_are_free_ones() {
        let mut losses = LossTable::default();
        let mut assigned = ClassIdAssigner::new(32);
        assigned.number(&mut [&mut class(5), &mut class(6)], &mut losses);
        assigned.limit(3);
        let mut assign = |id| {
            let mut class = class(id);
            assigned.assign(&mut class, &mut losses);
            class.id
        };
        assert_eq!([4, 1 << 40, 5, 2, 8].map(&mut assign), [4, 0, 1, 2, 3]);
        // This is the last free id.
        assert_eq!([1 << 33, 1 << 33].map(assign), [7, 1 << 33]);
        assert_eq!(losses.count(LossKind::Renamed), 4);
        let all = ClassIdAssigner::new(128);
        let mut class = class(u128::MAX);
        all.assign(&mut class, &mut losses);
        assert_eq!(class.id, u128::MAX);
    }
}
