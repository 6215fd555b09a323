//! Values kept for each event record class.

use crate::event::Event;
use crate::trace::DataStream;

/// A value for each event record class in a data stream class. Only some dynamic classes have one, as there can be a
/// great number of them.
#[derive(Clone, Debug)]
pub struct EventClassTable<E> {
    by_index: Vec<Option<Box<E>>>,
    /// Number of classes that the trace declares.
    declared: usize,
    /// Number of dynamic classes with a value.
    dynamic: usize,
    /// Value for the last event whose class is not from the trace.
    other: Option<Box<E>>,
}

/// Maximum number of dynamic classes with a value. Beyond it, all values are recreated.
const MOST_DYNAMIC: usize = 512;

impl<E> EventClassTable<E> {
    /// Creates an empty table for the event record classes of a data stream's class.
    #[must_use]
    pub fn new(stream: &DataStream) -> Self {
        let declared = stream.class().event_records.len();
        Self { by_index: Vec::new(), declared, dynamic: 0, other: None }
    }

    /// Returns the value for an event's class. `make` creates it if it is missing. The event must be from the data
    /// stream class of the table.
    #[inline]
    pub fn for_event(&mut self, event: &Event<'_>, make: impl FnOnce() -> E) -> &E {
        let place = match event.class_index() {
            Some(index) => {
                if self.by_index.get(index).is_none_or(Option::is_none) {
                    self.make_room(index);
                }
                &mut self.by_index[index]
            }
            None => {
                self.other = None;
                &mut self.other
            }
        };
        place.get_or_insert_with(|| Box::new(make()))
    }

    /// Makes room for the value of the class with this index.
    #[cold]
    fn make_room(&mut self, index: usize) {
        if self.by_index.len() <= index {
            self.by_index.resize_with(index + 1, || None);
        }
        if index < self.declared {
            return;
        }
        if self.dynamic >= MOST_DYNAMIC {
            self.by_index.iter_mut().skip(self.declared).for_each(|part| *part = None);
            self.dynamic = 0;
        }
        self.dynamic += 1;
    }
}
