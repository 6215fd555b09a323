//! A cursor over one of very many data streams.

use std::cell::OnceCell;
use std::sync::Arc;

use ichnos_model::{Checkpoint, Cursor, EventCounts, FastCursor, Head, Message, MessageKind, Window};

use crate::stream::CtfCursor;
use crate::stream_input::StreamInput;

/// A cursor that takes little memory as long as its data stream has not begun.
///
/// A merge holds a cursor of each data stream, but of hundreds of thousands most wait for the time of their
/// first packet, or are not wanted any more before that comes. So the [`CtfCursor`], which is some twenty
/// times larger, is made to find out when that is, thrown away, and made again when it is needed.
#[derive(Debug)]
pub(crate) struct SmallCursor {
    input: Arc<StreamInput>,
    window: Arc<Window>,
    state: State,
}

#[derive(Debug)]
enum State {
    New,
    /// At the beginning of the data stream.
    Begin,
    /// At the message behind that, with its head.
    Waiting(Head, OnceCell<Box<CtfCursor>>),
    /// From there on.
    Reading(Box<CtfCursor>),
    Done,
}

impl SmallCursor {
    pub(crate) fn new(input: &Arc<StreamInput>, window: &Arc<Window>) -> Self {
        Self { input: Arc::clone(input), window: Arc::clone(window), state: State::New }
    }

    /// The cursor at the message behind the beginning of the data stream.
    fn waiting(&self) -> Box<CtfCursor> {
        let mut cursor = Box::new(self.input.cursor(*self.window));
        for _ in 0..2 {
            cursor.advance();
        }
        cursor
    }

    /// Gives back the pages of files that the cursor was made for, if it was not kept.
    fn release(&self) {
        self.input.files.iter().for_each(|file| file.bytes.release());
    }

    /// The cursor where it is: it is needed from now on.
    fn reading(&mut self) -> Option<&mut CtfCursor> {
        if let State::Waiting(_, cursor) = &mut self.state {
            let cursor = cursor.take();
            self.state = State::Reading(cursor.unwrap_or_else(|| self.waiting()));
        }
        match &mut self.state {
            State::Reading(cursor) => Some(cursor),
            _ => None,
        }
    }
}

impl Cursor for SmallCursor {
    fn advance(&mut self) -> bool {
        match &self.state {
            State::New => self.state = State::Begin,
            State::Begin => {
                let cursor = self.waiting();
                self.state = match cursor.head() {
                    Some(head) => State::Waiting(head, OnceCell::new()),
                    None => State::Done,
                };
                self.release();
            }
            _ => {
                if !self.reading().is_some_and(Cursor::advance) {
                    self.state = State::Done;
                }
            }
        }
        !matches!(self.state, State::Done)
    }

    fn current(&self) -> Option<Message<'_>> {
        match &self.state {
            State::New | State::Done => None,
            State::Begin => Some(Message::StreamBegin(&self.input.stream)),
            State::Waiting(_, cursor) => cursor.get_or_init(|| self.waiting()).current(),
            State::Reading(cursor) => cursor.current(),
        }
    }

    fn head(&self) -> Option<Head> {
        match &self.state {
            State::New | State::Done => None,
            State::Begin => Some(Head::new(MessageKind::StreamBegin, None)),
            State::Waiting(head, _) => Some(*head),
            State::Reading(cursor) => cursor.head(),
        }
    }
}

impl FastCursor for SmallCursor {
    fn skip_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        match &mut self.state {
            State::Reading(cursor) => cursor.skip_events(most, counts),
            _ => 0,
        }
    }

    fn prefetch(&self) {
        if let State::Reading(cursor) = &self.state {
            cursor.prefetch();
        }
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        match &self.state {
            State::Reading(cursor) => cursor.checkpoint(),
            // Not kept: that is asked of all of them.
            State::Waiting(_, cursor) => match cursor.get() {
                Some(cursor) => cursor.checkpoint(),
                None => {
                    let checkpoint = self.waiting().checkpoint();
                    self.release();
                    checkpoint
                }
            },
            State::New => self.input.cursor(*self.window).checkpoint(),
            State::Begin => {
                let mut cursor = self.input.cursor(*self.window);
                cursor.advance();
                cursor.checkpoint()
            }
            State::Done => Some(Checkpoint::End),
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
