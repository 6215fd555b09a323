//! Map of recent entries.

use std::collections::HashMap;
use std::hash::Hash;

/// A map that forgets its oldest entries. It keeps at least the last `window` entries, and at most twice as many.
#[derive(Debug)]
pub(crate) struct RecentMap<K, V> {
    window: usize,
    recent: HashMap<K, V>,
    older: HashMap<K, V>,
}

impl<K: Hash + Eq, V> RecentMap<K, V> {
    pub(crate) fn new(window: usize) -> Self {
        Self { window, recent: HashMap::new(), older: HashMap::new() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.recent.get(key).or_else(|| self.older.get(key))
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.recent.get_mut(key).or_else(|| self.older.get_mut(key))
    }

    /// Adds an entry with a new key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.recent.len() >= self.window {
            // Reuses the memory of the older entries.
            std::mem::swap(&mut self.recent, &mut self.older);
            self.recent.clear();
        }
        self.recent.insert(key, value);
    }

    /// Returns the number of entries.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.recent.len() + self.older.len()
    }
}
