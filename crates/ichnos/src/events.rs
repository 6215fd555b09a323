//! The events of a session, one after the other.

use ichnos_flow::Merge;
use ichnos_model::{Cursor, Event, Message, Window};

use crate::{OpenError, Session};

/// The events of a session in the order of time; see [`Session::events`].
///
/// An event borrows from what is read, so it is gone when the next one is asked for. What is not an event is
/// counted: [`Events::loss`].
pub struct Events {
    merge: Merge,
    loss: Loss,
}

/// What is missing between the events that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Events that the producers are known to have discarded.
    pub discarded_events: u64,
    /// Times that events or packets were discarded, and it is not known how many.
    pub discarded_unknown: u64,
    /// Packets that are known to be missing.
    pub discarded_packets: u64,
    /// Places in the input that cannot be read.
    pub damages: u64,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("loss", &self.loss).finish_non_exhaustive()
    }
}

impl Events {
    /// The next event; None after the last one.
    pub fn next_event(&mut self) -> Option<Event<'_>> {
        loop {
            if !self.merge.advance() {
                return None;
            }
            let count = |count: Option<u64>, known: &mut u64, unknown: &mut u64| match count {
                Some(count) => *known = known.saturating_add(count),
                None => *unknown += 1,
            };
            let loss = &mut self.loss;
            match self.merge.current() {
                Some(Message::Event(_)) => break,
                Some(Message::DiscardedEvents(discarded)) => {
                    count(discarded.count, &mut loss.discarded_events, &mut loss.discarded_unknown);
                }
                Some(Message::DiscardedPackets(discarded)) => {
                    count(discarded.count, &mut loss.discarded_packets, &mut loss.discarded_unknown);
                }
                Some(Message::Damage(_)) => loss.damages += 1,
                _ => {}
            }
        }
        // Looked at again, since a borrow cannot leave a loop that goes on.
        match self.merge.current() {
            Some(Message::Event(event)) => Some(event),
            _ => None,
        }
    }

    /// What was missing up to here.
    #[must_use]
    pub fn loss(&self) -> Loss {
        self.loss
    }
}

impl Session {
    /// All events in the order of time.
    ///
    /// ```no_run
    /// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
    /// let mut events = session.events()?;
    /// while let Some(event) = events.next_event() {
    ///     println!("{}: {:?}", event.name(), event.field("next_tid").and_then(|tid| tid.as_u64()));
    /// }
    /// # Ok::<(), ichnos::OpenError>(())
    /// ```
    ///
    /// # Errors
    /// If clocks are not correlated; see [`OpenOptions::assume_correlated`](crate::OpenOptions).
    pub fn events(&self) -> Result<Events, OpenError> {
        self.events_in(Window::default())
    }

    /// The events in a window of time; see [`Session::events`].
    ///
    /// # Errors
    /// If clocks are not correlated.
    pub fn events_in(&self, window: Window) -> Result<Events, OpenError> {
        Ok(Events { merge: self.cursor(window)?, loss: Loss::default() })
    }
}
