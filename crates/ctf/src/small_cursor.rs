//! Small cursor for traces with very many data streams.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ichnos_model::{
    Checkpoint, Cursor, EventCounts, ExcludedClasses, FastCursor, Head, Message, MessageKind, Window,
};

use crate::cursor::CtfCursor;
use crate::resume::ResumePoint;
use crate::stream_input::StreamInput;

/// Cursor that takes little memory while it waits for its turn.
///
/// A merge holds a cursor for each data stream, but of hundreds of thousands most wait for the time of their
/// first packet or of their next event. So the [`CtfCursor`], which is some twenty times larger, is created
/// to find that time, dropped, and created again when it is needed.
#[derive(Debug)]
pub(crate) struct SmallCursor {
    input: Arc<StreamInput>,
    shared: Arc<SharedCursorState>,
    excluded: Option<Arc<ExcludedClasses>>,
    state: SmallCursorState,
}

/// State that the cursors of a merge share.
#[derive(Debug)]
pub(crate) struct SharedCursorState {
    window: Window,
    /// Number of cursors that are [`SmallCursorState::Reading`], and maximum number that stay so while they wait.
    open: AtomicUsize,
    most_open: usize,
}

impl SharedCursorState {
    /// Creates the shared state of the cursors over a window.
    pub(crate) fn new(window: Window, most_open: usize) -> Arc<Self> {
        Arc::new(Self { window, open: AtomicUsize::new(0), most_open })
    }
}

#[derive(Debug)]
enum SmallCursorState {
    New,
    /// At the beginning of the data stream.
    Begin,
    /// At a later message, with its head; the point to resume at, `None`: the first message.
    Waiting(Head, Option<ResumePoint>, OnceCell<Box<CtfCursor>>),
    /// Reading from there on.
    Reading(Box<CtfCursor>),
    Done,
}

impl SmallCursor {
    pub(crate) fn new(input: &Arc<StreamInput>, shared: &Arc<SharedCursorState>) -> Self {
        Self {
            input: Arc::clone(input),
            shared: Arc::clone(shared),
            excluded: None,
            state: SmallCursorState::New,
        }
    }

    /// Returns the cursor at a message after the beginning of the data stream; `None`: the first one.
    fn waiting(&self, at: Option<&ResumePoint>) -> Box<CtfCursor> {
        let exclude =
            |cursor: &mut CtfCursor| self.excluded.iter().for_each(|classes| cursor.exclude(classes));
        if let Some(at) = at {
            let mut cursor = Box::new(self.input.cursor_resumed(self.shared.window, at));
            exclude(&mut cursor);
            return cursor;
        }
        let mut cursor = Box::new(self.input.cursor(self.shared.window));
        exclude(&mut cursor);
        for _ in 0..2 {
            cursor.advance();
        }
        cursor
    }

    /// Releases the pages of files that the cursor was created for, if it was not kept.
    fn release(&self) {
        self.input.files.iter().for_each(|file| file.bytes.release());
    }

    /// Replaces a cursor that was read by another state, if there is one.
    fn close(&mut self, state: SmallCursorState) {
        if matches!(std::mem::replace(&mut self.state, state), SmallCursorState::Reading(_)) {
            self.shared.open.fetch_sub(1, Ordering::Relaxed);
            self.release();
        }
    }

    /// Returns the cursor at the current message: it is needed from now on.
    fn reading(&mut self) -> Option<&mut CtfCursor> {
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

impl Cursor for SmallCursor {
    fn advance(&mut self) -> bool {
        match &self.state {
            SmallCursorState::New => self.state = SmallCursorState::Begin,
            SmallCursorState::Begin => {
                let cursor = self.waiting(None);
                self.state = match cursor.head() {
                    Some(head) => SmallCursorState::Waiting(head, None, OnceCell::new()),
                    None => SmallCursorState::Done,
                };
                self.release();
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
            SmallCursorState::Begin => Some(Message::StreamBegin(&self.input.stream)),
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
}

impl FastCursor for SmallCursor {
    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        match &mut self.state {
            SmallCursorState::Reading(cursor) => cursor.skip_events(most, counts),
            _ => 0,
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
                cursor.head().zip(cursor.resume_point())
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
            // The cursor is not kept: all cursors are asked for checkpoints.
            SmallCursorState::Waiting(_, at, cursor) => match cursor.get() {
                Some(cursor) => cursor.checkpoint(),
                None => {
                    let checkpoint = self.waiting(at.as_ref()).checkpoint();
                    self.release();
                    checkpoint
                }
            },
            SmallCursorState::New => self.input.cursor(self.shared.window).checkpoint(),
            SmallCursorState::Begin => {
                let mut cursor = self.input.cursor(self.shared.window);
                cursor.advance();
                cursor.checkpoint()
            }
            SmallCursorState::Done => Some(Checkpoint::End),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_small() {
        assert!(size_of::<SmallCursor>() * 5 < size_of::<CtfCursor>());
    }
}
