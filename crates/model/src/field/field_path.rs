//! Fields by their paths, in events of any class.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::{Event, EventClassTable, FieldRef, FieldValue, Trace};

/// A path of a field, to read the field from events of any class; see [`FieldRef`] for paths.
///
/// The field is looked up once in each event record class; after that, to read it costs as much as with a
/// [`FieldRef`]. Traces are not kept open.
///
/// ```
/// # use ichnos_model::{Event, FieldPath};
/// /// Adds up the sizes in events.
/// fn total(events: &[Event<'_>]) -> u64 {
///     let mut size = FieldPath::new("payload.size");
///     events.iter().filter_map(|event| size.get(event)?.as_u64()).sum()
/// }
/// # assert_eq!(total(&[]), 0);
/// ```
#[derive(Clone, Debug)]
pub struct FieldPath {
    path: Box<str>,
    /// Fields by data stream class.
    streams: Vec<StreamFields>,
    /// Indexes of `streams`, by the address of the trace and the index of the data stream class in it.
    indexes: HashMap<(usize, usize), usize>,
    /// Index of the data stream class of the last event.
    last: usize,
}

/// Fields of the event record classes of a data stream class.
#[derive(Clone, Debug)]
struct StreamFields {
    /// Address of the trace, and index of the data stream class in it.
    key: (usize, usize),
    /// Keeps the address of the trace from being used again.
    _trace: Weak<Trace>,
    fields: EventClassTable<Option<FieldRef>>,
}

impl FieldPath {
    /// Makes a path; no class needs to have such a field.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        let path = path.into().into_boxed_str();
        Self { path, streams: Vec::new(), indexes: HashMap::new(), last: 0 }
    }

    /// Returns the path as given.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the value of the field in an event; `None` as for [`Event::field`].
    #[inline]
    pub fn get<'a>(&mut self, event: &Event<'a>) -> Option<FieldValue<'a>> {
        event.get(self.find(event)?)
    }

    /// Returns the field in the class of an event; `None` if the class has no such field.
    #[inline]
    pub fn find(&mut self, event: &Event<'_>) -> Option<&FieldRef> {
        let key = (Arc::as_ptr(&event.stream.trace).addr(), event.stream.class_index);
        if self.streams.get(self.last).is_none_or(|stream| stream.key != key) {
            self.enter(key, event);
        }
        let stream = self.streams.get_mut(self.last)?;
        stream.fields.of(event, || FieldRef::new(event, &self.path)).as_ref()
    }

    /// Makes the data stream class of an event the last one.
    #[cold]
    fn enter(&mut self, key: (usize, usize), event: &Event<'_>) {
        self.last = *self.indexes.entry(key).or_insert_with(|| {
            let fields = EventClassTable::new(event.stream);
            let trace = Arc::downgrade(&event.stream.trace);
            self.streams.push(StreamFields { key, _trace: trace, fields });
            self.streams.len() - 1
        });
    }
}

impl From<&str> for FieldPath {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}
