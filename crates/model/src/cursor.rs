//! Cursors: deliver a data stream's messages one by one.
//!
//! Users get a [`BoxedCursor`] from a trace. Format readers implement [`Source`](crate::Source) instead.

mod head;
mod lookup_cursor;
mod resume_point;
mod small_cursor;

use std::ops::ControlFlow;
use std::sync::Arc;

use self::head::first_time;
use crate::event::EventCounts;
use crate::message::{DataPosition, Message};

pub use self::head::{Head, MessageKind, sort_key};
pub use self::lookup_cursor::{EventLookup, LookupCursor};
pub use self::resume_point::ResumePoint;
pub use self::small_cursor::{Reopen, SharedCursorState, SmallCursor};

/// Delivers a data stream's messages, in order.
///
/// # For implementations
/// The first message must be [`Message::StreamBegin`], the last one [`Message::StreamEnd`]. Head times may go back only
/// if the trace's clock does, after a [`DamageKind::ClockBackwards`](crate::message::DamageKind::ClockBackwards) that
/// reports it. Formats with unordered records report nothing, and the merge passes such a record on as soon as it sees
/// it. Unreadable data is a [`Message::Damage`]. Reading should resume after it where possible.
///
/// [`SourceCursor`](crate::source::SourceCursor) implements this trait for each format's [`Source`](crate::Source).
///
/// Only the first three methods are required. The others have correct defaults: override one only if a benchmark shows
/// a gain. Skipping and prefetching must not change the messages that follow.
pub trait Cursor {
    /// Moves to the next message. Returns `false` after the last one, however often it is called.
    fn advance(&mut self) -> bool;

    /// Returns the head of the current message, or `None` before the first and after the last message.
    fn head(&self) -> Option<Head>;

    /// Returns the current message, or `None` without a head, and after [`Cursor::skip_events`].
    fn current(&self) -> Option<Message<'_>>;

    /// Counts and skips up to `most` event records, as far as that is faster than moving to each of them. Returns their
    /// number. Even if it returns 0, there may be no current message before the next call of [`Cursor::advance`], which
    /// moves to the message after the skipped records.
    ///
    /// The counts must have the class and the time of each record's [`Head`]. Skipping must stop before an event record
    /// that needs more than a count: before damage, and at the bounds of a window.
    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        let _ = (most, counts);
        0
    }

    /// Skips up to `most` event records as [`Cursor::skip_events`] does, and appends the time of each to `times`. Stops
    /// before a record without a time, and before a time that exceeds 64 bits.
    fn skip_times(&mut self, most: u32, times: &mut Vec<i64>) {
        let _ = (most, times);
    }

    /// Excludes event records of these classes from the next message on, as far as that is faster than delivering them.
    /// All other messages, for example damage, stay the same.
    ///
    /// Excluded records may still be delivered. This may depend on the data, but not on where reading began.
    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        let _ = classes;
    }

    /// Skips the events of a packet unread, if the current message is the start of the packet and the format allows it.
    /// The next message is then the end of the packet. Returns `false` if nothing was skipped.
    fn skip_packet(&mut self) -> bool {
        false
    }

    /// Loads the data of the current message into the processor's caches, because it will probably be needed soon.
    #[inline]
    fn prefetch(&self) {}

    /// Releases memory that can be recovered on demand, because the current message may have to wait for a long time.
    /// Called if many cursors have earlier messages, and at the end of a chunk of the timeline.
    fn suspend(&mut self) {}

    /// Returns the cursor position, `None` if unknown. Multithreaded reading needs it.
    fn checkpoint(&self) -> Option<Checkpoint> {
        None
    }

    /// Returns the file position of the current event, or `None` for other messages, and if it is unknown.
    fn position(&self) -> Option<DataPosition> {
        None
    }

    /// Returns the place after the current message. `None` if the rest cannot be read from there: see
    /// [`OpenedTrace::cursor_at`](crate::OpenedTrace::cursor_at).
    fn resume_point(&self) -> Option<ResumePoint> {
        None
    }

    /// Boxes the cursor for the merge.
    fn boxed(self) -> BoxedCursor
    where
        Self: Sized + Send + 'static,
    {
        Box::new(self)
    }
}

/// Event record classes to skip in a data stream class; see [`Cursor::exclude`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludedClasses(Box<[bool]>);

impl ExcludedClasses {
    /// Creates the set from one flag per class index. Returns `None` if no class is excluded.
    #[must_use]
    pub fn new(are_excluded: impl IntoIterator<Item = bool>) -> Option<Self> {
        let classes: Box<[bool]> = are_excluded.into_iter().collect();
        classes.contains(&true).then_some(Self(classes))
    }

    /// Returns `true` if the class with this index is excluded.
    #[inline(always)]
    #[must_use]
    pub fn has(&self, class_index: usize) -> bool {
        self.0.get(class_index).copied().unwrap_or(false)
    }
}

/// Cursor position in a data stream. Two cursors of the same data stream at equal checkpoints have the same current
/// message and the same messages after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// After the last message.
    End,
    /// Position in numbers that only the reader can interpret.
    At([u64; 4]),
}

/// Receives messages. Returns if it accepts more.
pub type MessageHandler<'t> = dyn FnMut(&Message<'_>) -> ControlFlow<()> + 't;

/// Reason why [`StreamCursor::drain`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainEnd {
    /// The current message is later than the limit. Contains its [`Head::sort_key`].
    Limit(u64),
    /// The stream ended.
    End,
    /// The handler stopped. The current message is the last one it received.
    Stopped,
}

/// Operations for the merge, counting and multithreaded reading. Implemented for each [`Cursor`], so that the loops are
/// compiled for each format. The trait is sealed.
pub trait StreamCursor: Cursor + sealed::Sealed {
    /// Moves to the next message and returns its head. Returns `None` after the last message.
    fn next_head(&mut self) -> Option<Head>;

    /// Passes messages to `handler`, from the current one on, while their [`Head::sort_key`] is below `limit`. Faster
    /// than one call per message, since only `handler` is called dynamically.
    fn drain(&mut self, limit: u64, handler: &mut MessageHandler<'_>) -> DrainEnd;

    /// Passes all messages from the current one on to `handler` until it stops. Returns `false` after the last message.
    /// Unlike [`drain`](Self::drain), it passes messages whose time exceeds 64 bits.
    fn drain_all(&mut self, handler: &mut MessageHandler<'_>) -> bool {
        loop {
            match self.drain(u64::MAX, handler) {
                DrainEnd::Limit(_) => {}
                DrainEnd::End => return false,
                DrainEnd::Stopped => return true,
            }
        }
    }

    /// Counts event records up to the next message of another kind, or up to `most` records. Returns the head at that
    /// position, or `None` after the last message.
    fn count_events(&mut self, most: u32, counts: &mut EventCounts) -> Option<Head>;
}

/// A cursor for any format.
pub type BoxedCursor = Box<dyn StreamCursor + Send>;

impl<C: Cursor> StreamCursor for C {
    fn next_head(&mut self) -> Option<Head> {
        if self.advance() { self.head() } else { None }
    }

    fn drain(&mut self, limit: u64, handler: &mut MessageHandler<'_>) -> DrainEnd {
        // Comparing times takes fewer instructions than computing the key for each message.
        let end = first_time(limit);
        loop {
            if let Some(message) = &self.current()
                && handler(message).is_break()
            {
                return DrainEnd::Stopped;
            }
            if !self.advance() {
                return DrainEnd::End;
            }
            let time = self.head().and_then(|head| head.nanoseconds());
            if time.unwrap_or(i128::MIN) >= end {
                return DrainEnd::Limit(sort_key(time));
            }
        }
    }

    fn count_events(&mut self, most: u32, counts: &mut EventCounts) -> Option<Head> {
        let mut left = most;
        while left > 0 {
            left -= self.skip_events(left - 1, counts).min(left - 1) + 1;
            if !self.advance() {
                return None;
            }
            match self.head() {
                Some(head) if head.kind == MessageKind::Event => {
                    counts.add(head.class_index(), head.nanoseconds())
                }
                _ => break,
            }
        }
        self.head()
    }
}

mod sealed {
    pub trait Sealed {}

    impl<C: super::Cursor> Sealed for C {}
}

impl Cursor for BoxedCursor {
    #[inline]
    fn advance(&mut self) -> bool {
        (**self).advance()
    }

    #[inline]
    fn head(&self) -> Option<Head> {
        (**self).head()
    }

    #[inline]
    fn current(&self) -> Option<Message<'_>> {
        (**self).current()
    }

    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        (**self).skip_events(most, counts)
    }

    fn skip_times(&mut self, most: u32, times: &mut Vec<i64>) {
        (**self).skip_times(most, times);
    }

    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        (**self).exclude(classes);
    }

    fn skip_packet(&mut self) -> bool {
        (**self).skip_packet()
    }

    fn prefetch(&self) {
        (**self).prefetch();
    }

    fn suspend(&mut self) {
        (**self).suspend();
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        (**self).checkpoint()
    }

    fn position(&self) -> Option<DataPosition> {
        (**self).position()
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        (**self).resume_point()
    }
}
