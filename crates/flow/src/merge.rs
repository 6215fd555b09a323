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
    /// The cursors that do not lend now, with the heads that they are at.
    waiting: BinaryHeap<Reverse<Key>>,
    heads: Vec<Option<Head>>,
    winner: Option<u32>,
    started: bool,
}

impl<C: Cursor> Merge<C> {
    /// Merges these cursors.
    #[must_use]
    pub fn new(cursors: Vec<C>) -> Self {
        let count = cursors.len();
        Self {
            cursors,
            waiting: BinaryHeap::with_capacity(count),
            heads: vec![None; count],
            winner: None,
            started: false,
        }
    }

    fn step(&mut self, index: u32) -> Option<Key> {
        let head = self.cursors.get_mut(index as usize)?.advance();
        *self.heads.get_mut(index as usize)? = head;
        Some((head?.nanoseconds, index))
    }
}

impl<C: Cursor> Cursor for Merge<C> {
    fn advance(&mut self) -> Option<Head> {
        if !self.started {
            self.started = true;
            for index in 0..self.cursors.len() as u32 {
                if let Some(key) = self.step(index) {
                    self.waiting.push(Reverse(key));
                }
            }
        }
        self.winner = match self.winner.and_then(|winner| self.step(winner)) {
            Some(key) => match self.waiting.peek_mut() {
                Some(mut next) if next.0 < key => {
                    let winner = next.0.1;
                    *next = Reverse(key);
                    Some(winner)
                }
                _ => Some(key.1),
            },
            None => self.waiting.pop().map(|Reverse((_, index))| index),
        };
        self.heads.get(self.winner? as usize).copied().flatten()
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
