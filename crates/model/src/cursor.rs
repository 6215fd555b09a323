//! Sources of messages: what formats implement, and what is made of it.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::{EventCounts, Head, Message, MessageKind};

/// A source of the messages of a data stream, one after the other.
///
/// # For implementations
/// The first message is [`Message::StreamBegin`], the last one [`Message::StreamEnd`]. Times of heads go
/// back only where the clock of the trace does, after a
/// [`DamageKind::ClockBackwards`](crate::DamageKind::ClockBackwards) that says so; formats whose records need
/// not be in order at all report nothing, and the merge passes such a record on as soon as it sees it. What
/// cannot be read is [`Message::Damage`]; after one, go on where it is possible.
///
/// [`RecordCursor`](crate::RecordCursor) makes such a cursor of files that are one record after the other.
/// What is faster than one message after the other goes into a [`FastCursor`].
pub trait Cursor {
    /// Moves to the next message; false after the last one, however often it is called.
    fn advance(&mut self) -> bool;

    /// The head of the current message; None before the first and after the last one.
    fn head(&self) -> Option<Head>;

    /// The current message; None where there is no head, and after [`FastCursor::skip_events`].
    fn current(&self) -> Option<Message<'_>>;

    /// This cursor for the merge.
    fn boxed(self) -> BoxedCursor
    where
        Self: Sized + Send + 'static,
    {
        Box::new(Plain(self))
    }
}

/// What a cursor can do faster than one message after the other.
///
/// # For implementations
/// All methods have defaults that are correct: override one only where a benchmark shows a gain. What a method
/// skips or prefetches must not change the messages that follow.
pub trait FastCursor: Cursor {
    /// Counts event records that come next, at most `most`, and skips them, as far as that is faster than to
    /// move to each of them; gives how many. Even if that is 0, there may be no current message before
    /// [`Cursor::advance`] is called, which moves to what follows them.
    ///
    /// Of each it counts the class and the time that its [`Head`] would have. It stops before an event
    /// record of which there is more to say: before damage, and where a window begins or ends.
    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        let _ = (most, counts);
        0
    }

    /// From the next message on, event records of these classes are not wanted: leaves them out, as far as that is
    /// faster than to deliver them. All other messages stay the same, damage for instance.
    ///
    /// Which of them are delivered all the same must depend on the data only, and not on where reading began.
    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        let _ = classes;
    }

    /// Where the current message is the beginning of a packet: skips the events of the packet without looking at
    /// them, if that can be done. The next message is then the end of the packet. False: nothing was skipped.
    fn skip_packet(&mut self) -> bool {
        false
    }

    /// The current message will probably be needed before long: fetches what it is made of into the
    /// processor's caches.
    #[inline]
    fn prefetch(&self) {}

    /// It may take long until the current message is taken: gives back memory that can be had again when it is
    /// needed. Called where the messages of other cursors come first, if these are very many, and where the messages
    /// of a chunk of the timeline end.
    fn suspend(&mut self) {}

    /// Where the cursor is; None if it does not know. Needed for reading with several threads.
    fn checkpoint(&self) -> Option<Checkpoint> {
        None
    }

    /// This cursor for the merge.
    fn boxed_fast(self) -> BoxedCursor
    where
        Self: Sized + Send + 'static,
    {
        Box::new(self)
    }
}

/// Which event record classes of a data stream class are not wanted; see [`FastCursor::exclude`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludedClasses(Box<[bool]>);

impl ExcludedClasses {
    /// Those of which this is true, by their indexes; None if there are none.
    #[must_use]
    pub fn new(are_excluded: impl IntoIterator<Item = bool>) -> Option<Self> {
        let classes: Box<[bool]> = are_excluded.into_iter().collect();
        classes.contains(&true).then_some(Self(classes))
    }

    /// Whether the class with this index is one of them.
    #[inline(always)]
    #[must_use]
    pub fn has(&self, class_index: usize) -> bool {
        self.0.get(class_index).copied().unwrap_or(false)
    }
}

/// Where a cursor is in its stream: two cursors of the same stream at equal checkpoints have the same
/// message, and the same ones from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// Behind the last message.
    End,
    /// Somewhere else, in numbers that only mean something to the reader.
    At([u64; 4]),
}

/// Takes messages, and says whether it wants more.
pub type MessageHandler<'t> = dyn FnMut(&Message<'_>) -> ControlFlow<()> + 't;

/// Why [`StreamCursor::drain`] has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// The current message comes later than the limit: its [`Head::sort_key`].
    Limit(u64),
    /// There are no more messages.
    End,
    /// The handler wants no more; the current message is the last one that it was given.
    Stopped,
}

/// Everything that the merge, counting and reading with several threads need of a cursor: made of
/// [`Cursor`] and [`FastCursor`] for each format, so that the loops are compiled for it. Cannot be
/// implemented otherwise.
pub trait StreamCursor: FastCursor + sealed::Sealed {
    /// Moves to the next message; gives its head, None after the last one.
    fn next_head(&mut self) -> Option<Head>;

    /// Passes the current message, and those after it whose [`Head::sort_key`] is below `limit`, to
    /// `handler`: faster than to ask for one after the other, since only `handler` is called through a
    /// table.
    fn drain(&mut self, limit: u64, handler: &mut MessageHandler<'_>) -> Drained;

    /// Passes the current message, and all after it, to `handler`, until that stops; returns `false` after the last
    /// message. Unlike [`drain`](Self::drain), it passes messages whose time is beyond 64 bits.
    fn drain_all(&mut self, handler: &mut MessageHandler<'_>) -> bool {
        loop {
            match self.drain(u64::MAX, handler) {
                Drained::Limit(_) => {}
                Drained::End => return false,
                Drained::Stopped => return true,
            }
        }
    }

    /// Moves on and counts event records, up to the first message that is none or to the last one of
    /// `most` of them, and gives its head; None after the last message.
    fn count_events(&mut self, most: u32, counts: &mut EventCounts) -> Option<Head>;
}

/// A cursor of any format.
pub type BoxedCursor = Box<dyn StreamCursor + Send>;

impl<C: FastCursor> StreamCursor for C {
    fn next_head(&mut self) -> Option<Head> {
        if self.advance() { self.head() } else { None }
    }

    fn drain(&mut self, limit: u64, handler: &mut MessageHandler<'_>) -> Drained {
        loop {
            if let Some(message) = &self.current()
                && handler(message).is_break()
            {
                return Drained::Stopped;
            }
            if !self.advance() {
                return Drained::End;
            }
            let key = self.head().map_or(0, |head| head.sort_key());
            if key >= limit {
                return Drained::Limit(key);
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

    impl<C: super::FastCursor> Sealed for C {}
}

/// A cursor that does nothing faster than one message after the other.
struct Plain<C>(C);

impl<C: Cursor> Cursor for Plain<C> {
    #[inline]
    fn advance(&mut self) -> bool {
        self.0.advance()
    }

    #[inline]
    fn head(&self) -> Option<Head> {
        self.0.head()
    }

    #[inline]
    fn current(&self) -> Option<Message<'_>> {
        self.0.current()
    }
}

impl<C: Cursor> FastCursor for Plain<C> {}

impl Cursor for BoxedCursor {
    fn advance(&mut self) -> bool {
        (**self).advance()
    }

    fn head(&self) -> Option<Head> {
        (**self).head()
    }

    fn current(&self) -> Option<Message<'_>> {
        (**self).current()
    }
}

impl FastCursor for BoxedCursor {
    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        (**self).skip_events(most, counts)
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
}
