//! Event kinds by metadata id, at a position in the file.

use ichnos_model::key_hash::KeyState;

use super::index::NettraceIndex;
use super::pending::UNKNOWN_CLASS;

/// Event kinds by metadata id. A file can reuse ids.
#[derive(Debug, Default)]
pub(super) struct EventKinds {
    /// Index of the next metadata row.
    next: usize,
    /// Event kinds by id, for small ids.
    few: Vec<u32>,
    others: hashbrown::HashMap<u32, u32, KeyState>,
}

impl EventKinds {
    const FEW: u32 = 1 << 12;

    /// Adds the metadata rows before this file offset.
    pub(super) fn advance(&mut self, index: &NettraceIndex, until: u64) {
        while let Some(row) = index.metadata.get(self.next)
            && row.offset < until
        {
            self.insert(row.id, row.class);
            self.next += 1;
        }
    }

    fn insert(&mut self, id: u32, class: u32) {
        if id >= Self::FEW {
            self.others.insert(id, class);
            return;
        }
        let index = id as usize;
        if self.few.len() <= index {
            self.few.resize(index + 1, UNKNOWN_CLASS);
        }
        if let Some(known) = self.few.get_mut(index) {
            *known = class;
        }
    }

    /// Returns the event kind's index, or [`UNKNOWN_CLASS`].
    #[inline(always)]
    pub(super) fn get(&self, id: u32) -> u32 {
        match self.few.get(id as usize) {
            Some(class) => *class,
            None => self.others.get(&id).copied().unwrap_or(UNKNOWN_CLASS),
        }
    }

    /// Starts behind this number of metadata rows.
    pub(super) fn skip(&mut self, count: usize) {
        self.next = count;
    }

    /// Returns the number of metadata rows that were added, and starts again at the first row of the index.
    pub(super) fn take_added(&mut self) -> usize {
        std::mem::take(&mut self.next)
    }

    /// Forgets all ids.
    pub(super) fn clear(&mut self) {
        self.few.clear();
        self.others.clear();
    }
}
