//! Cursor over the new messages of a data stream.

use ichnos_model::cursor::{BoxedCursor, Cursor, Head, MessageKind, ResumePoint};
use ichnos_model::message::Message;
use ichnos_model::trace::skip_events;
use ichnos_model::{OpenedTrace, Window};

use super::known_stream::StreamPosition;

/// Cursor over the messages after a position.
pub(super) struct FollowCursor {
    cursor: BoxedCursor,
    /// `true` if the current message of `cursor` was not delivered yet.
    is_waiting: bool,
    /// Number of events to deliver. Messages after the last of them are held back. `None` for all messages.
    left: Option<u64>,
    has_ended: bool,
}

impl FollowCursor {
    /// Moves to a position in the data stream with this index. All later events are delivered, possibly sorted by time.
    /// Returns `None` for an invalid index.
    pub(super) fn to_end(
        trace: &dyn OpenedTrace,
        stream: usize,
        position: &StreamPosition,
        left: Option<u64>,
    ) -> Option<Self> {
        if position.time(trace, stream).is_some() {
            return Self::new(trace, stream, position, left);
        }
        let cursor = position.cursor(trace, stream, true);
        let cursor = cursor.or_else(|| trace.cursor_after(stream, position.events))?;
        Some(Self { cursor, is_waiting: false, left, has_ended: left == Some(0) })
    }

    /// Moves to a position in the data stream with this index, for some events after it in file order. Returns `None` for
    /// an invalid index.
    pub(super) fn new(
        trace: &dyn OpenedTrace,
        stream: usize,
        position: &StreamPosition,
        left: Option<u64>,
    ) -> Option<Self> {
        let (cursor, is_waiting) = match position.time(trace, stream) {
            Some((time, count)) => {
                let mut cursor = trace.cursor_from(stream, Window::default(), time)?;
                let is_waiting = skip_time(&mut cursor, time, count);
                (cursor, is_waiting)
            }
            None => match position.cursor(trace, stream, false) {
                Some(cursor) => (cursor, false),
                None => {
                    let mut cursor = trace.cursor(stream, Window::default())?;
                    skip_events(&mut *cursor, position.events);
                    (cursor, false)
                }
            },
        };
        Some(Self { cursor, is_waiting, left, has_ended: left == Some(0) })
    }
}

/// Moves a cursor, which is at its first message at `time` or later, to the event number `count` of those at `time`.
/// Returns `true` if there are fewer: the cursor is then at a later message.
fn skip_time(cursor: &mut BoxedCursor, time: i128, count: u64) -> bool {
    let mut left = count;
    while let Some(head) = cursor.head() {
        if head.kind == MessageKind::Event {
            if head.nanoseconds() != Some(time) {
                return true;
            }
            left = left.saturating_sub(1);
            if left == 0 {
                return false;
            }
        }
        cursor.advance();
    }
    false
}

impl FollowCursor {
    /// Returns the place after the current message, from which reading can continue later.
    pub(super) fn place(&self) -> Option<ResumePoint> {
        self.cursor.resume_point()
    }
}

impl Cursor for FollowCursor {
    fn advance(&mut self) -> bool {
        self.has_ended |= self.left == Some(0);
        if self.has_ended || !(std::mem::take(&mut self.is_waiting) || self.cursor.advance()) {
            self.has_ended = true;
            return false;
        }
        let is_event = self.cursor.head().is_some_and(|head| head.kind == MessageKind::Event);
        if let Some(left) = self.left.as_mut().filter(|_| is_event) {
            *left -= 1;
        }
        true
    }

    fn head(&self) -> Option<Head> {
        self.cursor.head().filter(|_| !self.has_ended && !self.is_waiting)
    }

    fn current(&self) -> Option<Message<'_>> {
        self.cursor.current().filter(|_| !self.has_ended && !self.is_waiting)
    }
}
