//! Cursor that adds data to events.

use std::sync::Arc;

use super::{BoxedCursor, Checkpoint, Cursor, ExcludedClasses, Head, MessageKind};
use crate::Event;
use crate::event::{EventCounts, EventValues};
use crate::message::{DataPosition, Message};

/// Looks up data that event records lack.
///
/// # For implementations
/// The values of an event must not depend on earlier events: reading can start anywhere, and several threads read
/// different parts of a data stream.
pub trait EventLookup {
    /// Sets the values for an event. They still contain the previous event's values.
    fn look_up(&mut self, event: &Event<'_>, values: &mut EventValues);
}

/// Cursor that adds the values of an [`EventLookup`] to events that consist of bits.
pub struct LookupCursor<L> {
    inner: BoxedCursor,
    lookup: L,
    values: EventValues,
}

impl<L: EventLookup> LookupCursor<L> {
    /// Adds values to the events of a cursor.
    pub fn new(inner: BoxedCursor, lookup: L) -> Self {
        let mut cursor = Self { inner, lookup, values: EventValues::default() };
        cursor.look_up();
        cursor
    }

    fn look_up(&mut self) {
        if self.inner.head().is_some_and(|head| head.kind == MessageKind::Event)
            && let Some(Message::Event(event)) = self.inner.current()
        {
            self.lookup.look_up(&event, &mut self.values);
        }
    }
}

impl<L: EventLookup> Cursor for LookupCursor<L> {
    fn advance(&mut self) -> bool {
        let has_message = self.inner.next_head().is_some();
        if has_message {
            self.look_up();
        }
        has_message
    }

    fn head(&self) -> Option<Head> {
        self.inner.head()
    }

    fn current(&self) -> Option<Message<'_>> {
        Some(self.inner.current()?.with_values(&self.values))
    }

    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        self.inner.skip_events(most, counts)
    }

    fn skip_times(&mut self, most: u32, times: &mut Vec<i64>) {
        self.inner.skip_times(most, times);
    }

    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        self.inner.exclude(classes);
    }

    fn skip_packet(&mut self) -> bool {
        self.inner.skip_packet()
    }

    fn prefetch(&self) {
        self.inner.prefetch();
    }

    fn suspend(&mut self) {
        self.inner.suspend();
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        self.inner.checkpoint()
    }

    fn position(&self) -> Option<DataPosition> {
        self.inner.position()
    }
}
