//! Sink and writer state per data stream and class.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::event::EventClassTable;
use crate::trace::{DataStream, Trace};

/// State of a sink or a writer: an `S` for each data stream, a `C` for each data stream class and an `E` for each event
/// record class. All data streams of a class, which can be very many, share the last two.
#[derive(Debug)]
pub struct StreamTable<S, C, E> {
    streams: StreamEntries<S>,
    classes: Vec<ClassTableEntry<C, E>>,
    /// Indexes into `classes`, by trace address and data stream class index.
    class_indexes: HashMap<(usize, usize), usize>,
}

#[derive(Debug)]
struct StreamEntry<S> {
    class: usize,
    part: S,
}

/// Entries by data stream key.
///
/// Most tables have an entry for most keys. If a trace is split by data stream, each of very many tables has one entry,
/// with any key.
#[derive(Debug)]
struct StreamEntries<S> {
    dense: Vec<Option<Box<StreamEntry<S>>>>,
    /// Entries for keys beyond `dense`.
    sparse: BTreeMap<u32, Box<StreamEntry<S>>>,
    count: usize,
}

/// Number of keys in [`StreamEntries::dense`] for any table, and further keys per entry.
const DENSE_KEYS: usize = 256;
const KEYS_PER_ENTRY: usize = 8;

impl<S> StreamEntries<S> {
    #[inline]
    fn get(&self, key: u32) -> Option<&StreamEntry<S>> {
        match self.dense.get(key as usize) {
            Some(entry) => entry.as_deref(),
            None => self.sparse.get(&key).map(|entry| &**entry),
        }
    }

    #[inline]
    fn get_mut(&mut self, key: u32) -> Option<&mut StreamEntry<S>> {
        match self.dense.get_mut(key as usize) {
            Some(entry) => entry.as_deref_mut(),
            None => self.sparse.get_mut(&key).map(|entry| &mut **entry),
        }
    }

    fn insert(&mut self, key: u32, entry: StreamEntry<S>) {
        let most = DENSE_KEYS.saturating_add(self.count.saturating_mul(KEYS_PER_ENTRY));
        let end = u32::try_from(most).unwrap_or(u32::MAX);
        let moved = self.sparse.range(..end).next_back().map(|(last, _)| *last);
        if let Some(last) = moved.max(Some(key).filter(|key| *key < end)) {
            self.extend_dense(last);
        }
        let entry = Box::new(entry);
        let before = match self.dense.get_mut(key as usize) {
            Some(place) => place.replace(entry),
            None => self.sparse.insert(key, entry),
        };
        self.count += usize::from(before.is_none());
    }

    /// Extends the dense part to a key.
    fn extend_dense(&mut self, last: u32) {
        if self.dense.len() <= last as usize {
            self.dense.resize_with(last as usize + 1, || None);
        }
        while let Some(first) = self.sparse.first_entry().filter(|first| *first.key() <= last) {
            let (key, entry) = first.remove_entry();
            self.dense[key as usize] = Some(entry);
        }
    }

    fn remove(&mut self, key: u32) {
        let removed = match self.dense.get_mut(key as usize) {
            Some(place) => place.take(),
            None => self.sparse.remove(&key),
        };
        self.count -= usize::from(removed.is_some());
    }

    /// Returns the entries by key.
    fn iter(&self) -> impl Iterator<Item = &StreamEntry<S>> {
        self.dense.iter().flatten().chain(self.sparse.values()).map(|entry| &**entry)
    }

    /// Returns the entries by key.
    fn iter_mut(&mut self) -> impl Iterator<Item = &mut StreamEntry<S>> {
        self.dense.iter_mut().flatten().chain(self.sparse.values_mut()).map(|entry| &mut **entry)
    }
}

#[derive(Debug)]
struct ClassTableEntry<C, E> {
    /// Keeps the classes alive, since they are identified by address.
    _trace: Arc<Trace>,
    part: C,
    event_records: EventClassTable<E>,
}

impl<S, C, E> Default for StreamTable<S, C, E> {
    fn default() -> Self {
        let streams = StreamEntries { dense: Vec::new(), sparse: BTreeMap::new(), count: 0 };
        Self { streams, classes: Vec::new(), class_indexes: HashMap::new() }
    }
}

impl<S, C, E> StreamTable<S, C, E> {
    /// Returns `true` if the data stream has a state.
    #[must_use]
    #[inline]
    pub fn has(&self, stream: &DataStream) -> bool {
        self.streams.get(stream.key).is_some()
    }

    /// Adds a data stream's state. Also adds the class state for the first data stream of a class.
    pub fn insert(&mut self, stream: &DataStream, part: S, class: impl FnOnce() -> C) {
        let id = (Arc::as_ptr(&stream.trace).addr(), stream.class_index);
        let class = *self.class_indexes.entry(id).or_insert_with(|| {
            let event_records = EventClassTable::new(stream);
            self.classes.push(ClassTableEntry {
                _trace: Arc::clone(&stream.trace),
                part: class(),
                event_records,
            });
            self.classes.len() - 1
        });
        self.streams.insert(stream.key, StreamEntry { class, part });
    }

    /// Returns the states of a data stream, its class and its event record classes.
    #[inline]
    pub fn get_mut(&mut self, stream: &DataStream) -> Option<(&mut S, &mut C, &mut EventClassTable<E>)> {
        let StreamEntry { class, part } = self.streams.get_mut(stream.key)?;
        let class = self.classes.get_mut(*class)?;
        Some((part, &mut class.part, &mut class.event_records))
    }

    /// Returns the states of the data stream with this key and of its class.
    #[must_use]
    #[inline]
    pub fn get(&self, key: u32) -> Option<(&S, &C)> {
        let StreamEntry { class, part } = self.streams.get(key)?;
        Some((part, &self.classes.get(*class)?.part))
    }

    /// Returns a data stream's state.
    #[inline]
    pub fn state_mut(&mut self, stream: &DataStream) -> Option<&mut S> {
        Some(&mut self.streams.get_mut(stream.key)?.part)
    }

    /// Returns the class index for a data stream in the table.
    #[inline]
    pub fn class_index(&self, stream: &DataStream) -> Option<usize> {
        Some(self.streams.get(stream.key)?.class)
    }

    /// Returns a class's state, by class index.
    #[must_use]
    #[inline]
    pub fn class(&self, index: usize) -> Option<&C> {
        Some(&self.classes.get(index)?.part)
    }

    /// Returns a class's state, by class index.
    #[inline]
    pub fn class_mut(&mut self, index: usize) -> Option<&mut C> {
        Some(&mut self.classes.get_mut(index)?.part)
    }

    /// Returns all class states, by class index.
    pub fn classes_mut(&mut self) -> impl Iterator<Item = &mut C> {
        self.classes.iter_mut().map(|entry| &mut entry.part)
    }

    /// Returns each data stream's state.
    pub fn states_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.streams.iter_mut().map(|entry| &mut entry.part)
    }

    /// Returns each data stream's state.
    pub fn states(&self) -> impl Iterator<Item = &S> {
        self.streams.iter().map(|entry| &entry.part)
    }

    /// Removes the state of a data stream that has ended, since live traces may have any number of data streams.
    pub fn remove(&mut self, stream: &DataStream) {
        self.streams.remove(stream.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(keys: impl IntoIterator<Item = u32>) -> StreamEntries<u32> {
        let mut entries = StreamEntries { dense: Vec::new(), sparse: BTreeMap::new(), count: 0 };
        for key in keys {
            entries.insert(key, StreamEntry { class: 0, part: key });
        }
        entries
    }

    #[test]
    fn few_streams_take_little_memory_for_any_key() {
        for key in [0, 255, 256, 100_000, u32::MAX] {
            let mut entries = entries([key]);
            assert!(entries.dense.len() <= DENSE_KEYS, "{key}: {}", entries.dense.len());
            assert_eq!(entries.get_mut(key).map(|entry| entry.part), Some(key));
            assert!(entries.get(key ^ 1).is_none());
            entries.remove(key);
            entries.remove(key);
            assert!(entries.get(key).is_none() && entries.count == 0);
        }
    }

    #[test]
    fn most_streams_are_in_the_dense_part() {
        let forward = entries(0..2000);
        assert!(forward.dense.len() == 2000 && forward.sparse.is_empty());
        let backward = entries((0..2000).rev());
        assert!(backward.dense.len() == 2000 && backward.sparse.is_empty());
        let far = entries((0..300).map(|key| key * 1000).rev());
        for all in [forward, backward, far] {
            assert!(all.dense.len() <= DENSE_KEYS + all.count * KEYS_PER_ENTRY);
            assert_eq!(all.iter().count(), all.count);
            assert!(all.iter().map(|entry| entry.part).is_sorted());
            assert!(all.iter().all(|entry| all.get(entry.part).is_some_and(|same| same.part == entry.part)));
        }
    }

    #[test]
    fn streams_are_counted_once() {
        let mut entries = entries([7, 7, 5000, 5000]);
        assert_eq!(entries.count, 2);
        entries.iter_mut().for_each(|entry| entry.part += 1);
        assert_eq!(entries.iter().map(|entry| entry.part).collect::<Vec<_>>(), [8, 5001]);
    }
}
