//! Small cursors for traces with very many data streams.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cursor::{Checkpoint, Cursor, ExcludedClasses, Head, MessageKind};
use crate::event::EventCounts;
use crate::message::{DataPosition, Message};
use crate::trace::{DataStream, Window};

/// A data stream whose cursor can be recreated at a message: see [`SmallCursor`].
///
/// # For implementations
/// Cursors over the same window must deliver the same messages, wherever they start.
pub trait Reopen {
    /// Cursor over the data stream.
    type Cursor: Cursor;
    /// Message position, much smaller than the cursor.
    type Point: Copy;

    /// Returns the data stream.
    fn stream(&self) -> &DataStream;

    /// Creates the cursor over the messages in a window.
    fn open(self: &Arc<Self>, window: Window) -> Self::Cursor;

    /// Creates the cursor at a point.
    fn reopen(self: &Arc<Self>, window: Window, at: &Self::Point) -> Self::Cursor;

    /// Returns the point of the cursor's current message, or `None` if reading cannot resume there.
    fn point(cursor: &Self::Cursor) -> Option<Self::Point>;

    /// Releases cursor memory that can be recovered.
    fn release(&self);
}

/// Cursor that takes little memory while it waits.
///
/// A merge holds one cursor per data stream. With hundreds of thousands of data streams, most wait for the time of
/// their first packet or next event. The complete cursor is some twenty times larger. It is created to find that time,
/// dropped, and recreated when it is needed.
pub struct SmallCursor<I: Reopen> {
    input: Arc<I>,
    shared: Arc<SharedCursorState>,
    excluded: Option<Arc<ExcludedClasses>>,
    state: SmallCursorState<I>,
}

/// State shared by all cursors in a merge.
#[derive(Debug)]
pub struct SharedCursorState {
    window: Window,
    /// Number of cursors in the state [`SmallCursorState::Reading`], and the maximum number that stay in it while they
    /// wait.
    open: AtomicUsize,
    most_open: usize,
}

impl SharedCursorState {
    /// Creates the shared state of the cursors over a window. At most `most_open` cursors keep their complete state
    /// while they wait.
    #[must_use]
    pub fn new(window: Window, most_open: usize) -> Arc<Self> {
        Arc::new(Self { window, open: AtomicUsize::new(0), most_open })
    }
}

enum SmallCursorState<I: Reopen> {
    New,
    /// At the start of the data stream.
    Begin,
    /// At a later message with this head. The point is where to resume; `None` means the first message.
    Waiting(Head, Option<I::Point>, OnceCell<Box<I::Cursor>>),
    /// Reading.
    Reading(Box<I::Cursor>),
    Done,
}

impl<I: Reopen> std::fmt::Debug for SmallCursor<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SmallCursor").finish_non_exhaustive()
    }
}

impl<I: Reopen> SmallCursor<I> {
    /// Creates the cursor for a data stream.
    #[must_use]
    pub fn new(input: &Arc<I>, shared: &Arc<SharedCursorState>) -> Self {
        Self {
            input: Arc::clone(input),
            shared: Arc::clone(shared),
            excluded: None,
            state: SmallCursorState::New,
        }
    }

    /// Returns the cursor at a message after the start of the data stream; `None` means the first message.
    fn waiting(&self, at: Option<&I::Point>) -> Box<I::Cursor> {
        let exclude =
            |cursor: &mut I::Cursor| self.excluded.iter().for_each(|classes| cursor.exclude(classes));
        if let Some(at) = at {
            let mut cursor = Box::new(self.input.reopen(self.shared.window, at));
            exclude(&mut cursor);
            return cursor;
        }
        let mut cursor = Box::new(self.input.open(self.shared.window));
        exclude(&mut cursor);
        for _ in 0..2 {
            cursor.advance();
        }
        cursor
    }

    /// Replaces a cursor that was reading by another state.
    fn close(&mut self, state: SmallCursorState<I>) {
        if matches!(std::mem::replace(&mut self.state, state), SmallCursorState::Reading(_)) {
            self.shared.open.fetch_sub(1, Ordering::Relaxed);
            self.input.release();
        }
    }

    /// Returns the cursor at the current message, because it is needed from now on.
    fn reading(&mut self) -> Option<&mut I::Cursor> {
        if let SmallCursorState::Waiting(_, at, cursor) = &mut self.state {
            let (at, cursor) = (at.take(), cursor.take());
            self.state = SmallCursorState::Reading(cursor.unwrap_or_else(|| self.waiting(at.as_ref())));
            self.shared.open.fetch_add(1, Ordering::Relaxed);
        }
        match &mut self.state {
            SmallCursorState::Reading(cursor) => Some(cursor),
            _ => None,
        }
    }
}

impl<I: Reopen> Cursor for SmallCursor<I> {
    fn advance(&mut self) -> bool {
        match &self.state {
            SmallCursorState::New => self.state = SmallCursorState::Begin,
            SmallCursorState::Begin => {
                let cursor = self.waiting(None);
                self.state = match cursor.head() {
                    Some(head) => SmallCursorState::Waiting(head, None, OnceCell::new()),
                    None => SmallCursorState::Done,
                };
                self.input.release();
            }
            _ => {
                if !self.reading().is_some_and(Cursor::advance) {
                    self.close(SmallCursorState::Done);
                }
            }
        }
        !matches!(self.state, SmallCursorState::Done)
    }

    fn current(&self) -> Option<Message<'_>> {
        match &self.state {
            SmallCursorState::New | SmallCursorState::Done => None,
            SmallCursorState::Begin => Some(Message::StreamBegin(self.input.stream())),
            SmallCursorState::Waiting(_, at, cursor) => {
                cursor.get_or_init(|| self.waiting(at.as_ref())).current()
            }
            SmallCursorState::Reading(cursor) => cursor.current(),
        }
    }

    fn head(&self) -> Option<Head> {
        match &self.state {
            SmallCursorState::New | SmallCursorState::Done => None,
            SmallCursorState::Begin => Some(Head::new(MessageKind::StreamBegin, None)),
            SmallCursorState::Waiting(head, ..) => Some(*head),
            SmallCursorState::Reading(cursor) => cursor.head(),
        }
    }

    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        match &mut self.state {
            SmallCursorState::Reading(cursor) => cursor.skip_events(most, counts),
            _ => 0,
        }
    }

    fn skip_times(&mut self, most: u32, times: &mut Vec<i64>) {
        if let SmallCursorState::Reading(cursor) = &mut self.state {
            cursor.skip_times(most, times);
        }
    }

    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        if let SmallCursorState::Reading(cursor) = &mut self.state {
            cursor.exclude(classes);
        }
        self.excluded = Some(Arc::clone(classes));
    }

    fn prefetch(&self) {
        if let SmallCursorState::Reading(cursor) = &self.state {
            cursor.prefetch();
        }
    }

    fn suspend(&mut self) {
        let resumed = match &self.state {
            SmallCursorState::Reading(cursor)
                if self.shared.open.load(Ordering::Relaxed) > self.shared.most_open =>
            {
                cursor.head().zip(I::point(cursor))
            }
            _ => None,
        };
        if let Some((head, at)) = resumed {
            self.close(SmallCursorState::Waiting(head, Some(at), OnceCell::new()));
        }
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        match &self.state {
            SmallCursorState::Reading(cursor) => cursor.checkpoint(),
            // The cursor is not kept, because all cursors are asked for checkpoints.
            SmallCursorState::Waiting(_, at, cursor) => match cursor.get() {
                Some(cursor) => cursor.checkpoint(),
                None => {
                    let checkpoint = self.waiting(at.as_ref()).checkpoint();
                    self.input.release();
                    checkpoint
                }
            },
            SmallCursorState::New => self.input.open(self.shared.window).checkpoint(),
            SmallCursorState::Begin => {
                let mut cursor = self.input.open(self.shared.window);
                cursor.advance();
                cursor.checkpoint()
            }
            SmallCursorState::Done => Some(Checkpoint::End),
        }
    }

    fn position(&self) -> Option<DataPosition> {
        match &self.state {
            SmallCursorState::Reading(cursor) => cursor.position(),
            SmallCursorState::Waiting(_, at, cursor) => {
                cursor.get_or_init(|| self.waiting(at.as_ref())).position()
            }
            _ => None,
        }
    }
}
