//! Puts the messages of many cursors on one time line.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use ichnos_model::{Cursor, Damage, Head, Message, MessageKind, Sink};

/// When, and whose turn it is among equals.
type Key = (Option<i128>, u32);

/// Merges cursors by time.
///
/// Messages without a time come at once. Ties are broken by the order of the cursors, so the
/// result does not depend on anything else. One stream often wins many times in a row: then a
/// step costs one comparison.
pub struct Merge<C> {
    cursors: Vec<C>,
    /// The cursors that do not lend now, by the messages that they are at.
    waiting: BinaryHeap<Reverse<(Key, MessageKind)>>,
    /// The cursor that lends now.
    winner: Option<u32>,
    started: bool,
}

impl<C: Cursor> Merge<C> {
    /// Merges these cursors.
    #[must_use]
    pub fn new(cursors: Vec<C>) -> Self {
        let count = cursors.len();
        Self { cursors, waiting: BinaryHeap::with_capacity(count), winner: None, started: false }
    }

    /// Moves a cursor on.
    #[inline]
    fn step(&mut self, index: u32) -> Option<(Key, MessageKind)> {
        let head = self.cursors.get_mut(index as usize)?.advance()?;
        Some(((head.nanoseconds, index), head.kind))
    }
}

impl<C: Cursor> Cursor for Merge<C> {
    fn advance(&mut self) -> Option<Head> {
        if !self.started {
            self.started = true;
            for index in 0..self.cursors.len() as u32 {
                if let Some(at) = self.step(index) {
                    self.waiting.push(Reverse(at));
                }
            }
        }
        let mut at = match self.winner.and_then(|winner| self.step(winner)) {
            Some(at) => at,
            None => match self.waiting.pop() {
                Some(Reverse(at)) => at,
                None => {
                    self.winner = None;
                    return None;
                }
            },
        };
        // A look first: mostly the winner stays the same.
        if self.waiting.peek().is_some_and(|Reverse(next)| next.0 < at.0)
            && let Some(mut next) = self.waiting.peek_mut()
        {
            std::mem::swap(&mut next.0, &mut at);
        }
        let ((nanoseconds, winner), kind) = at;
        self.winner = Some(winner);
        Some(Head { nanoseconds, kind })
    }

    fn current(&self) -> Option<Message<'_>> {
        self.cursors.get(self.winner? as usize)?.current()
    }
}

/// Lends damage that belongs to no data stream.
pub struct DamageCursor {
    damage: Vec<Damage>,
    next: usize,
}

impl DamageCursor {
    /// Lends these, one after the other.
    #[must_use]
    pub fn new(damage: Vec<Damage>) -> Self {
        Self { damage, next: 0 }
    }
}

impl Cursor for DamageCursor {
    fn advance(&mut self) -> Option<Head> {
        self.next += 1;
        self.damage.get(self.next - 1).map(|_| Head { nanoseconds: None, kind: MessageKind::Damage })
    }

    fn current(&self) -> Option<Message<'_>> {
        self.damage.get(self.next.checked_sub(1)?).map(Message::Damage)
    }
}

/// Hands all messages of a cursor to a sink, until one of the two has enough.
///
/// # Errors
/// If the sink cannot write.
pub fn pump(cursor: &mut impl Cursor, sink: &mut impl Sink) -> io::Result<()> {
    while cursor.advance().is_some() {
        if let Some(message) = &cursor.current()
            && sink.message(message)?.is_break()
        {
            break;
        }
    }
    sink.finish()
}
