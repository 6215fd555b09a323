//! Sink and writer state per data stream and class.

use std::collections::HashMap;
use std::sync::Arc;

use crate::event::EventClassTable;
use crate::trace::{DataStream, Trace};

/// State of a sink or a writer: an `S` for each data stream, a `C` for each data stream class and an `E` for each event
/// record class. All data streams of a class, which can be very many, share the last two.
#[derive(Debug)]
pub struct StreamTable<S, C, E> {
    /// State by data stream key.
    streams: Vec<Option<Box<StreamEntry<S>>>>,
    classes: Vec<ClassTableEntry<C, E>>,
    /// Indexes into `classes`, by trace address and data stream class index.
    class_indexes: HashMap<(usize, usize), usize>,
}

#[derive(Debug)]
struct StreamEntry<S> {
    class: usize,
    part: S,
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
        Self { streams: Vec::new(), classes: Vec::new(), class_indexes: HashMap::new() }
    }
}

impl<S, C, E> StreamTable<S, C, E> {
    /// Returns `true` if the data stream has a state.
    #[must_use]
    #[inline]
    pub fn has(&self, stream: &DataStream) -> bool {
        self.streams.get(stream.key as usize).is_some_and(Option::is_some)
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
        let key = stream.key as usize;
        if self.streams.len() <= key {
            self.streams.resize_with(key + 1, || None);
        }
        self.streams[key] = Some(Box::new(StreamEntry { class, part }));
    }

    /// Returns the states of a data stream, its class and its event record classes.
    #[inline]
    pub fn get_mut(&mut self, stream: &DataStream) -> Option<(&mut S, &mut C, &mut EventClassTable<E>)> {
        let StreamEntry { class, part } = self.streams.get_mut(stream.key as usize)?.as_deref_mut()?;
        let class = self.classes.get_mut(*class)?;
        Some((part, &mut class.part, &mut class.event_records))
    }

    /// Returns the states of the data stream with this key and of its class.
    #[must_use]
    #[inline]
    pub fn get(&self, key: u32) -> Option<(&S, &C)> {
        let StreamEntry { class, part } = self.streams.get(key as usize)?.as_deref()?;
        Some((part, &self.classes.get(*class)?.part))
    }

    /// Returns a data stream's state.
    #[inline]
    pub fn state_mut(&mut self, stream: &DataStream) -> Option<&mut S> {
        Some(&mut self.streams.get_mut(stream.key as usize)?.as_deref_mut()?.part)
    }

    /// Returns the class index for a data stream in the table.
    #[inline]
    pub fn class_index(&self, stream: &DataStream) -> Option<usize> {
        Some(self.streams.get(stream.key as usize)?.as_deref()?.class)
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
        self.streams.iter_mut().flatten().map(|entry| &mut entry.part)
    }

    /// Returns each data stream's state.
    pub fn states(&self) -> impl Iterator<Item = &S> {
        self.streams.iter().flatten().map(|entry| &entry.part)
    }

    /// Removes the state of a data stream that has ended, since live traces may have any number of data streams.
    pub fn remove(&mut self, stream: &DataStream) {
        if let Some(part) = self.streams.get_mut(stream.key as usize) {
            *part = None;
        }
    }
}
