//! Passes over the messages of a cursor: selection, limit, losses, damage and interruption.

use std::io;
use std::ops::ControlFlow;

use ichnos_model::{Damage, Event, Message, MessageHandler, StreamCursor};

use crate::{Merged, Selection};

/// Receives the messages of a [`Pass`].
///
/// # For implementations
/// Only [`message`](Self::message) is required. The methods are called on the thread of [`Pass::run`].
pub trait PassHandler {
    /// Handles a selected message, in the order of the cursor. [`ControlFlow::Break`] ends the pass.
    ///
    /// # Errors
    /// An error ends the pass, and [`Pass::run`] returns it.
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>>;

    /// Handles damage that is selected, before [`message`](Self::message) is called with it. Returns `false` if
    /// `message` is not to be called.
    fn damage(&mut self, damage: &Damage) -> bool {
        let _ = damage;
        true
    }

    /// Handles the last event that is [skipped](Pass::skip).
    fn precede(&mut self, event: &Event<'_>) {
        let _ = event;
    }

    /// Called from time to time: at a message, after `events` events since the last call, selected or not.
    fn step(&mut self, message: &Message<'_>, events: u32) {
        let _ = (message, events);
    }

    /// Returns `true` to end the pass. Called from time to time.
    fn is_interrupted(&self) -> bool {
        false
    }
}

/// A function that takes the selected messages.
impl<F: FnMut(&Message<'_>) -> io::Result<ControlFlow<()>>> PassHandler for F {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        self(message)
    }
}

/// Reason for which a pass has ended.
#[derive(Debug, Default)]
#[non_exhaustive]
pub enum PassEnd {
    /// The cursor has no more messages, the [limit](Pass::limit) is reached, or the handler stopped the pass.
    #[default]
    Over,
    /// The handler [was interrupted](PassHandler::is_interrupted).
    Interrupted,
    /// Damage in a [strict](Pass::strict) pass.
    Refused(Box<Damage>),
}

/// Numbers of selected messages in a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassCounts {
    /// Number of events.
    pub events: u64,
    /// Number of events known to be discarded by the producers.
    pub discarded_events: u64,
    /// Number of packets known to be missing.
    pub discarded_packets: u64,
    /// Number of places that cannot be decoded.
    pub damages: u64,
}

impl std::ops::AddAssign for PassCounts {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.discarded_events = self.discarded_events.saturating_add(other.discarded_events);
        self.discarded_packets = self.discarded_packets.saturating_add(other.discarded_packets);
        self.damages += other.damages;
    }
}

/// Result of a pass.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct PassSummary {
    /// Numbers of selected messages.
    pub counts: PassCounts,
    /// Reason for which the pass has ended.
    pub end: PassEnd,
}

/// A pass over the messages of a cursor.
///
/// ```no_run
/// use std::ops::ControlFlow;
/// use ichnos::{Pass, Selection};
/// use ichnos::model::{Message, Window};
///
/// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
/// let selection = Selection::default().events(|name| name.starts_with("sched_"));
/// let mut cursor = selection.reader(&session, Window::default())?.cursor();
/// let mut names = Vec::new();
/// let summary = Pass::new(selection).limit(10).run(&mut cursor, &mut |message: &Message<'_>| {
///     if let Message::Event(event) = message {
///         names.push(event.name().to_owned());
///     }
///     Ok(ControlFlow::Continue(()))
/// })?;
/// assert_eq!(summary.counts.events, names.len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pass {
    selection: Selection,
    limit: u64,
    skip: Option<u64>,
    strict: bool,
    stride: u32,
}

/// Number of events between two checks.
const STRIDE: u32 = 256;

impl Pass {
    /// Makes a pass over the selected messages. The cursor must be one of data streams that are selected, as those of
    /// [`Selection::reader`].
    #[must_use]
    pub fn new(selection: Selection) -> Self {
        Self { selection, limit: u64::MAX, skip: None, strict: false, stride: STRIDE }
    }

    /// Ends the pass after a number of selected events.
    #[must_use]
    pub fn limit(self, limit: u64) -> Self {
        // Looking for one more event could take to the end of the traces.
        Self { limit, stride: 0, ..self }
    }

    /// Skips all messages up to a number of selected events, and the begins of data streams after them: for the last
    /// events of a session, whose data streams have begun before.
    #[must_use]
    pub fn skip(self, events: u64) -> Self {
        Self { skip: Some(events), stride: 0, ..self }
    }

    /// Ends the pass at the first damage.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Checks for interruption at each message, as live input needs it.
    #[must_use]
    pub fn check_each(self) -> Self {
        Self { stride: 0, ..self }
    }

    /// Passes the selected messages of a cursor to a handler.
    ///
    /// # Errors
    /// Errors of the handler.
    pub fn run<H: PassHandler>(&self, cursor: &mut Merged, handler: &mut H) -> io::Result<PassSummary> {
        self.drain(handler, |take| cursor.drain_all(take))
    }

    /// Passes the selected messages of a single data stream to a handler.
    ///
    /// # Errors
    /// Errors of the handler.
    pub fn run_stream<H: PassHandler>(
        &self,
        cursor: &mut dyn StreamCursor,
        handler: &mut H,
    ) -> io::Result<PassSummary> {
        self.drain(handler, |take| {
            cursor.drain_all(take);
        })
    }

    fn drain<H: PassHandler>(
        &self,
        handler: &mut H,
        drain: impl FnOnce(&mut MessageHandler<'_>),
    ) -> io::Result<PassSummary> {
        let mut run = Run {
            pass: self,
            selects: !self.selection.wants_all_events(),
            selection: self.selection.clone(),
            handler,
            skip: self.skip.unwrap_or(0),
            left: 0,
            counted: 0,
            rejected: 0,
            counts: PassCounts::default(),
            ended: Ok(PassEnd::Over),
        };
        if self.limit > 0 {
            drain(&mut |message| run.take(message));
        }
        run.count();
        Ok(PassSummary { counts: run.counts, end: run.ended? })
    }
}

/// A pass in progress.
struct Run<'p, H> {
    pass: &'p Pass,
    selection: Selection,
    handler: &'p mut H,
    /// Number of events to skip.
    skip: u64,
    /// Number of events until the next check.
    left: u32,
    /// Value of `left` when events were counted last.
    counted: u32,
    /// `true` if each event has to be checked against the selection.
    selects: bool,
    /// Number of rejected events since the last check.
    rejected: u32,
    counts: PassCounts,
    ended: io::Result<PassEnd>,
}

impl<H: PassHandler> Run<'_, H> {
    /// Handles a message quickly; everything not needed for each event is in `check`.
    #[inline(always)]
    fn take(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        if self.left == 0 || !matches!(message, Message::Event(_)) {
            return self.check(message);
        }
        self.left -= 1;
        if self.selects
            && let Message::Event(event) = message
            && !self.selection.wants_event(event)
        {
            self.rejected += 1;
            return ControlFlow::Continue(());
        }
        match self.handler.message(message) {
            Ok(flow) => flow,
            Err(error) => self.end(Err(error)),
        }
    }

    /// Counts the events since the last check; returns their number.
    fn count(&mut self) -> u32 {
        let events = self.counted - self.left;
        self.counts.events += u64::from(events - std::mem::take(&mut self.rejected));
        self.counted = self.left;
        events
    }

    /// Handles a message with all checks.
    #[inline(never)]
    fn check(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        let events = self.count() + u32::from(matches!(message, Message::Event(_)));
        self.handler.step(message, events);
        (self.left, self.counted) = (self.pass.stride, self.pass.stride);
        if self.handler.is_interrupted() {
            return self.end(Ok(PassEnd::Interrupted));
        }
        if self.is_skipped(message) || !self.wants(message)? {
            return ControlFlow::Continue(());
        }
        match self.handler.message(message) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => return ControlFlow::Break(()),
            Err(error) => return self.end(Err(error)),
        }
        if self.counts.events >= self.pass.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_skipped(&mut self, message: &Message<'_>) -> bool {
        if self.pass.skip.is_none() {
            return false;
        }
        if matches!(message, Message::StreamBegin(_)) {
            return true;
        }
        if self.skip == 0 {
            return false;
        }
        if let Message::Event(event) = message
            && self.selection.wants_event(event)
        {
            self.skip -= 1;
            if self.skip == 0 {
                self.handler.precede(event);
            }
        }
        true
    }

    /// Counts a message; returns `true` if it is passed to the handler.
    fn wants(&mut self, message: &Message<'_>) -> ControlFlow<(), bool> {
        if !self.selection.wants(message) {
            return ControlFlow::Continue(false);
        }
        let counts = &mut self.counts;
        match message {
            Message::Event(_) => counts.events += 1,
            Message::DiscardedEvents(discarded) => {
                counts.discarded_events =
                    counts.discarded_events.saturating_add(discarded.count.unwrap_or(0));
            }
            Message::DiscardedPackets(discarded) => {
                counts.discarded_packets =
                    counts.discarded_packets.saturating_add(discarded.count.unwrap_or(0));
            }
            Message::Damage(damage) => {
                let damage: &Damage = damage;
                if self.pass.strict {
                    return self.end(Ok(PassEnd::Refused(Box::new(damage.clone()))));
                }
                counts.damages += 1;
                return ControlFlow::Continue(self.handler.damage(damage));
            }
            _ => {}
        }
        ControlFlow::Continue(true)
    }

    #[inline(never)]
    fn end<T>(&mut self, ended: io::Result<PassEnd>) -> ControlFlow<(), T> {
        self.ended = ended;
        ControlFlow::Break(())
    }
}
