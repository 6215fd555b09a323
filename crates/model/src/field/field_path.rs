//! Field paths, for events of any class.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::event::{Event, EventClassTable};
use crate::field::{FieldRef, FieldValue};
use crate::trace::Trace;

/// Field path for events of any class; see [`FieldRef`] for the syntax.
///
/// The path is looked up once in each event record class. After that, reading costs the same as with a [`FieldRef`].
/// Traces are not kept open.
///
/// ```
/// # use ichnos_model::Event;
/// # use ichnos_model::field::FieldPath;
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
    /// Indexes into `streams`, by trace address and data stream class index.
    indexes: HashMap<(usize, usize), usize>,
    /// Index of the last event's data stream class.
    last: usize,
}

/// Fields in a data stream class, by event record class.
#[derive(Clone, Debug)]
struct StreamFields {
    /// Trace address, and index of the data stream class in the trace.
    key: (usize, usize),
    /// Prevents reuse of the trace address.
    _trace: Weak<Trace>,
    fields: EventClassTable<Option<FieldRef>>,
}

impl FieldPath {
    /// Creates a path. The field does not have to exist.
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

    /// Returns the value of the field in an event. `None` in the same cases as [`Event::field`].
    #[inline]
    pub fn get<'a>(&mut self, event: &Event<'a>) -> Option<FieldValue<'a>> {
        event.get(self.find(event)?)
    }

    /// Returns the field in an event's class, or `None` if the class lacks it.
    #[inline]
    pub fn find(&mut self, event: &Event<'_>) -> Option<&FieldRef> {
        let key = (Arc::as_ptr(&event.stream.trace).addr(), event.stream.class_index);
        if self.streams.get(self.last).is_none_or(|stream| stream.key != key) {
            self.enter(key, event);
        }
        let stream = self.streams.get_mut(self.last)?;
        stream.fields.for_event(event, || FieldRef::new(event, &self.path)).as_ref()
    }

    /// Makes an event's data stream class the last one used.
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
