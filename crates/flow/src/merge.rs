//! Puts the messages of many cursors on one time line.

use std::io;

use ichnos_model::{Cursor, Damage, Head, Message, MessageKind, Sink};

/// When, and whose turn it is among equals: the index of the cursor in the lower 32 bits, above
/// them the time. One comparison tells who is first.
type Key = u128;

/// The key of a cursor that has come to its end.
const OVER: Key = Key::MAX;

/// The key of a message.
#[inline]
fn key(nanoseconds: Option<i128>, index: u32) -> Key {
    // Clock classes hold all times within 96 bits but for the most extreme ones.
    const MOST: i128 = (1 << 95) - 1;
    let time = match nanoseconds {
        Some(nanoseconds) => (nanoseconds.clamp(-MOST, MOST - 1) + MOST + 1) as u128,
        None => 0,
    };
    time << 32 | Key::from(index)
}

/// Merges cursors by time.
///
/// Messages without a time come at once. Ties are broken by the order of the cursors, so the
/// result does not depend on anything else. One stream often wins many times in a row: then a
/// step costs one comparison, otherwise one for each doubling of the number of streams.
pub struct Merge<C> {
    cursors: Vec<C>,
    /// A tournament: cursor `i` enters at `cursors.len() + i`, who meets at place `p` goes on to
    /// `p / 2`. Each place keeps the key of who lost there; place 0 is not used.
    losers: Vec<Key>,
    /// The cursor that lends now.
    winner: Option<u32>,
    /// The least of those who lost against the winner.
    runner_up: Key,
    /// The messages that the cursors are at, but for the winner's.
    heads: Vec<Option<Head>>,
    started: bool,
}

impl<C: Cursor> Merge<C> {
    /// Merges these cursors.
    #[must_use]
    pub fn new(cursors: Vec<C>) -> Self {
        Self { cursors, losers: Vec::new(), winner: None, runner_up: OVER, heads: Vec::new(), started: false }
    }

    /// Moves a cursor on.
    #[inline]
    fn step(&mut self, index: u32) -> (Key, Option<Head>) {
        match self.cursors.get_mut(index as usize).and_then(Cursor::advance) {
            Some(head) => (key(head.nanoseconds, index), Some(head)),
            None => (OVER, None),
        }
    }

    /// Moves all cursors to their first messages and lets them play.
    #[cold]
    fn start(&mut self) -> Key {
        self.started = true;
        let count = self.cursors.len();
        let mut winners = vec![OVER; 2 * count];
        for index in 0..count as u32 {
            let (key, head) = self.step(index);
            self.heads.push(head);
            if let Some(place) = winners.get_mut(count + index as usize) {
                *place = key;
            }
        }
        self.losers = vec![OVER; count.max(1)];
        for place in (1..count).rev() {
            let (a, b) = (winners[2 * place], winners[2 * place + 1]);
            winners[place] = a.min(b);
            self.losers[place] = a.max(b);
        }
        // With one cursor, that is it.
        winners.get(1).copied().unwrap_or(OVER)
    }

    /// Lets the winner with its new key play again; gives the key of who wins now.
    #[inline]
    fn play(&mut self, index: u32, key: Key) -> Key {
        let mut winner = key;
        let mut place = (self.cursors.len() + index as usize) / 2;
        while let Some(loser) = self.losers.get_mut(place).filter(|_| place > 0) {
            (winner, *loser) = (winner.min(*loser), winner.max(*loser));
            place /= 2;
        }
        winner
    }

    /// Makes the one with this key the winner; gives its message.
    #[inline]
    fn crown(&mut self, key: Key) -> Option<Head> {
        if key == OVER {
            self.winner = None;
            return None;
        }
        let index = key as u32;
        self.winner = Some(index);
        self.runner_up = OVER;
        let mut place = (self.cursors.len() + index as usize) / 2;
        while let Some(loser) = self.losers.get(place).filter(|_| place > 0) {
            self.runner_up = self.runner_up.min(*loser);
            place /= 2;
        }
        self.heads.get(index as usize).copied().flatten()
    }
}

impl<C: Cursor> Cursor for Merge<C> {
    #[inline]
    fn advance(&mut self) -> Option<Head> {
        let Some(index) = self.winner else {
            if self.started {
                return None;
            }
            let first = self.start();
            return self.crown(first);
        };
        let (key, head) = self.step(index);
        if key < self.runner_up {
            return head;
        }
        if let Some(place) = self.heads.get_mut(index as usize) {
            *place = head;
        }
        let winner = self.play(index, key);
        self.crown(winner)
    }

    #[inline]
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
