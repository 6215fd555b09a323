//! Iteration over the events of a session.

use ichnos_flow::Merge;
use ichnos_model::{Cursor, Event, Message, Window};

use crate::{OpenError, Session};

/// Events of a session, sorted by time: see [`Session::events`].
///
/// An event borrows from the reader and is valid until the next event is requested. Other messages are counted:
/// [`Events::loss`].
pub struct Events {
    merge: Merge,
    loss: Loss,
}

/// Numbers of missing events and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Number of events known to be discarded by the producers.
    pub discarded_events: u64,
    /// Number of losses with an unknown number of events or packets.
    pub discarded_unknown: u64,
    /// Number of packets known to be missing.
    pub discarded_packets: u64,
    /// Number of undecodable places in the input.
    pub damages: u64,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("loss", &self.loss).finish_non_exhaustive()
    }
}

impl Events {
    /// Returns the next event, or `None` at the end.
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
        // Borrowed again, because the borrow checker does not allow returning a borrow from the loop.
        match self.merge.current() {
            Some(Message::Event(event)) => Some(event),
            _ => None,
        }
    }

    /// Returns the losses so far.
    #[must_use]
    pub fn loss(&self) -> Loss {
        self.loss
    }
}

impl Session {
    /// Returns all events, sorted by time.
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
    /// If clocks are not correlated: see [`OpenOptions::assume_correlated`](crate::OpenOptions).
    pub fn events(&self) -> Result<Events, OpenError> {
        self.events_in(Window::default())
    }

    /// Returns the events in a time window: see [`Session::events`].
    ///
    /// # Errors
    /// If clocks are not correlated.
    pub fn events_in(&self, window: Window) -> Result<Events, OpenError> {
        Ok(Events { merge: self.cursor(window)?, loss: Loss::default() })
    }
}
