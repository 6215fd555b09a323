//! A cursor over one of very many data streams.

use std::cell::OnceCell;
use std::sync::Arc;

use ichnos_model::{Cursor, EventCounts, HandedOn, Head, Message, MessageKind, Place, Take, Window};

use crate::stream::StreamCursor;
use crate::stream_input::StreamInput;

/// A cursor that takes little memory as long as its data stream has not begun.
///
/// A merge holds a cursor of each data stream, but of hundreds of thousands most wait for the time of their
/// first packet, or are not wanted any more before that comes. So the [`StreamCursor`], which is some twenty
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
    Waiting(Head, OnceCell<Box<StreamCursor>>),
    /// From there on.
    Reading(Box<StreamCursor>),
    Done,
}

impl SmallCursor {
    pub(crate) fn new(input: &Arc<StreamInput>, window: &Arc<Window>) -> Self {
        Self { input: Arc::clone(input), window: Arc::clone(window), state: State::New }
    }

    /// The cursor at the message behind the beginning of the data stream.
    fn waiting(&self) -> Box<StreamCursor> {
        let mut cursor = Box::new(self.input.cursor(*self.window));
        for _ in 0..2 {
            cursor.move_on();
        }
        cursor
    }

    /// Gives back the pages of files that the cursor was made for, if it was not kept.
    fn release(&self) {
        self.input.files.iter().for_each(|file| file.bytes.release());
    }

    /// The cursor where it is: it is needed from now on.
    fn reading(&mut self) -> Option<&mut StreamCursor> {
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
    fn move_on(&mut self) -> bool {
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
                if !self.reading().is_some_and(Cursor::move_on) {
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

    fn hand_on(&mut self, limit: u64, take: &mut Take<'_>) -> HandedOn {
        if matches!(self.state, State::Begin) {
            if let Some(message) = &self.current()
                && take(message).is_break()
            {
                return HandedOn::Enough;
            }
            if !self.move_on() {
                return HandedOn::All;
            }
            let order = self.head().map_or(0, |head| head.order());
            if order >= limit {
                return HandedOn::Until(order);
            }
        }
        match self.reading() {
            Some(cursor) => cursor.hand_on(limit, take),
            None => HandedOn::All,
        }
    }

    fn pass_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        match &mut self.state {
            State::Reading(cursor) => cursor.pass_events(most, counts),
            _ => 0,
        }
    }

    fn prepare(&self) {
        if let State::Reading(cursor) = &self.state {
            cursor.prepare();
        }
    }

    fn place(&self) -> Option<Place> {
        match &self.state {
            State::Reading(cursor) => cursor.place(),
            // Not kept: that is asked of all of them.
            State::Waiting(_, cursor) => match cursor.get() {
                Some(cursor) => cursor.place(),
                None => {
                    let place = self.waiting().place();
                    self.release();
                    place
                }
            },
            State::New => self.input.cursor(*self.window).place(),
            State::Begin => {
                let mut cursor = self.input.cursor(*self.window);
                cursor.move_on();
                cursor.place()
            }
            State::Done => {
                let mut cursor = self.input.cursor(*self.window);
                while cursor.move_on() {}
                cursor.place()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_small() {
        assert!(size_of::<SmallCursor>() * 5 < size_of::<StreamCursor>());
    }
}
