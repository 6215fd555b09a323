//! Puts the messages of many cursors on one time line.

use std::io;

use ichnos_model::{Cursor, Damage, Head, Message, MessageKind, Place, Sink};

/// A message that a cursor is at: how early it comes, and the cursor's index.
///
/// Times are cut to 64 bits here, for these are quickly compared. Where two are equal, the messages
/// themselves decide.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    index: u32,
}

/// A cursor that has come to its end.
const OVER: u32 = u32::MAX;

/// What so many cursors need is in the processor's caches whenever it is their turn.
const CACHED: usize = 16;

/// The key of a message.
#[inline]
fn key(nanoseconds: Option<i128>) -> u64 {
    const SIGN: u64 = 1 << 63;
    match nanoseconds {
        None => 0,
        Some(nanoseconds) => match i64::try_from(nanoseconds) {
            Ok(nanoseconds) => nanoseconds as u64 ^ SIGN,
            Err(_) if nanoseconds < 0 => 0,
            Err(_) => u64::MAX,
        },
    }
}

/// Merges cursors by time.
///
/// Messages without a time come at once. Ties are broken by the order of the cursors, so the
/// result does not depend on anything else. One stream often wins many times in a row: then a
/// step costs one comparison, otherwise one for each doubling of the number of streams.
pub struct Merge<C> {
    cursors: Vec<C>,
    /// The messages that the cursors are at; that of the winner may be an old one.
    heads: Vec<Option<Head>>,
    /// A tournament: cursor `i` enters at `cursors.len() + i`, who meets at place `p` goes on to
    /// `p / 2`. Each place keeps who lost there; place 0 is not used.
    losers: Vec<Entry>,
    /// The cursor that lends now.
    winner: Option<u32>,
    /// The first of those who lost against the winner.
    runner_up: Entry,
    started: bool,
    /// A message of the winner with a key below this one comes next.
    limit: u64,
    /// Where to pause.
    until: Option<i128>,
    /// The message of the winner, which has not been told yet because it comes after the pause.
    paused: Option<Head>,
}

impl<C: Cursor> Merge<C> {
    /// Merges these cursors.
    #[must_use]
    pub fn new(cursors: Vec<C>) -> Self {
        let runner_up = Entry { key: u64::MAX, index: OVER };
        Self {
            cursors,
            heads: Vec::new(),
            losers: Vec::new(),
            winner: None,
            runner_up,
            started: false,
            until: None,
            paused: None,
            limit: 0,
        }
    }

    /// Merges cursors that are at the messages with which to begin, but for those that have come to
    /// their ends.
    #[must_use]
    pub fn of_begun(cursors: Vec<C>, heads: Vec<Option<Head>>) -> Self {
        let mut merge = Self::new(cursors);
        merge.heads = heads;
        merge
    }

    /// Makes [`Cursor::advance`] give None as soon as no message before this time is left; None: it
    /// goes on to the end. It can be called again and again, each time with a later one.
    pub fn pause_at(&mut self, until: Option<i128>) {
        self.until = until;
        self.limit = self.limit_of(self.runner_up);
    }

    /// Where the cursors are, which is all that later messages depend on; None if one of them
    /// cannot tell.
    #[must_use]
    pub fn places(&self) -> Option<Vec<Place>> {
        self.cursors.iter().map(Cursor::place).collect()
    }

    /// Whether `a` comes before `b`.
    #[inline]
    fn is_before(&self, a: Entry, b: Entry) -> bool {
        if a.key == b.key { self.is_exactly_before(a, b) } else { a.key < b.key }
    }

    #[cold]
    fn is_exactly_before(&self, a: Entry, b: Entry) -> bool {
        let when = |entry: Entry| match self.heads.get(entry.index as usize) {
            Some(Some(head)) => (false, head.nanoseconds(), entry.index),
            _ => (true, None, entry.index),
        };
        when(a) < when(b)
    }

    fn entry(&self, index: u32) -> Entry {
        match self.heads.get(index as usize) {
            Some(Some(head)) => Entry { key: key(head.nanoseconds()), index },
            _ => Entry { key: u64::MAX, index: OVER },
        }
    }

    /// Moves all cursors to their first messages and lets them play; gives the winner.
    #[cold]
    fn start(&mut self) -> Entry {
        self.started = true;
        if self.heads.is_empty() {
            self.heads = self.cursors.iter_mut().map(Cursor::advance).collect();
        }
        let count = self.cursors.len();
        let mut winners = vec![Entry { key: u64::MAX, index: OVER }; count];
        winners.extend((0..count as u32).map(|index| self.entry(index)));
        self.losers = winners[..count.min(winners.len())].to_vec();
        for place in (1..count).rev() {
            let (a, b) = (winners[2 * place], winners[2 * place + 1]);
            (winners[place], self.losers[place]) = if self.is_before(b, a) { (b, a) } else { (a, b) };
        }
        // With one cursor, that is it.
        winners.get(1).copied().unwrap_or(Entry { key: u64::MAX, index: OVER })
    }

    /// Lets the cursor of this index play again with its new message; gives who wins now.
    #[inline]
    fn play(&mut self, index: u32) -> Entry {
        let mut winner = self.entry(index);
        let mut place = (self.cursors.len() + index as usize) / 2;
        while place > 0
            && let Some(loser) = self.losers.get(place).copied()
        {
            if self.is_before(loser, winner) {
                self.losers[place] = std::mem::replace(&mut winner, loser);
            }
            place /= 2;
        }
        winner
    }

    /// Makes this one the winner; gives its message.
    #[inline]
    fn crown(&mut self, winner: Entry) -> Option<Head> {
        if winner.index == OVER {
            self.winner = None;
            return None;
        }
        self.winner = Some(winner.index);
        let mut runner_up = Entry { key: u64::MAX, index: OVER };
        let mut place = (self.cursors.len() + winner.index as usize) / 2;
        while place > 0
            && let Some(loser) = self.losers.get(place)
        {
            if self.is_before(*loser, runner_up) {
                runner_up = *loser;
            }
            place /= 2;
        }
        self.runner_up = runner_up;
        self.limit = self.limit_of(runner_up);
        let head = self.heads.get(winner.index as usize).copied().flatten();
        if let (Some(until), Some(time)) = (self.until, head.and_then(|head| head.nanoseconds()))
            && time >= until
        {
            self.paused = head;
            return None;
        }
        head
    }

    /// Below which key a message of the winner comes next for sure.
    fn limit_of(&self, runner_up: Entry) -> u64 {
        self.until.map_or(runner_up.key, |until| runner_up.key.min(key(Some(until))))
    }

    /// The first message of all, or the one that came after the pause.
    #[cold]
    fn begin_or_resume(&mut self) -> Option<Head> {
        if !self.started {
            let first = self.start();
            return self.crown(first);
        }
        self.paused = None;
        // It may be after the new pause, too.
        let winner = self.winner?;
        self.crown(self.entry(winner))
    }

    /// What comes next if the winner, which is at `head` now, may have lost.
    #[inline(never)]
    fn next(&mut self, index: u32, head: Option<Head>) -> Option<Head> {
        if let Some(place) = self.heads.get_mut(index as usize) {
            *place = head;
        }
        let winner = self.play(index);
        let head = self.crown(winner);
        if self.cursors.len() > CACHED
            && let Some(next) = self.cursors.get(self.runner_up.index as usize)
        {
            next.prepare();
        }
        head
    }
}

impl<C: Cursor> Cursor for Merge<C> {
    #[inline]
    fn advance(&mut self) -> Option<Head> {
        let index = match self.winner {
            Some(index) if self.paused.is_none() => index,
            None if self.started => return None,
            _ => return self.begin_or_resume(),
        };
        let head = self.cursors.get_mut(index as usize).and_then(Cursor::advance);
        match &head {
            Some(first) if key(first.nanoseconds()) < self.limit => head,
            _ => self.next(index, head),
        }
    }

    #[inline]
    fn current(&self) -> Option<Message<'_>> {
        self.cursors.get(self.winner? as usize)?.current()
    }

    fn place(&self) -> Option<Place> {
        None
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
        self.damage.get(self.next - 1).map(|_| Head::new(MessageKind::Damage, None))
    }

    fn current(&self) -> Option<Message<'_>> {
        self.damage.get(self.next.checked_sub(1)?).map(Message::Damage)
    }

    fn place(&self) -> Option<Place> {
        Some(if self.next > self.damage.len() || self.damage.is_empty() {
            Place::End
        } else {
            Place::At([self.next as u64, 0, 0, 0])
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Lends messages at these times.
    struct Times(Vec<Option<i128>>, usize);

    impl Cursor for Times {
        fn advance(&mut self) -> Option<Head> {
            let nanoseconds = *self.0.get(self.1)?;
            self.1 += 1;
            Some(Head::new(MessageKind::Event, nanoseconds))
        }

        fn current(&self) -> Option<Message<'_>> {
            None
        }
    }

    /// What merging must give: always the first of the messages that the cursors are at.
    fn expected(streams: &[Vec<Option<i128>>]) -> Vec<(Option<i128>, usize)> {
        let mut at = vec![0; streams.len()];
        let mut all = Vec::new();
        loop {
            let heads = streams.iter().enumerate().filter_map(|(i, times)| Some((*times.get(at[i])?, i)));
            let Some((time, i)) = heads.min() else { return all };
            at[i] += 1;
            all.push((time, i));
        }
    }

    #[test]
    fn any_number_of_cursors_in_the_order_of_time() {
        // A generator of its own: equal times, none at all, extreme ones, and some that go back.
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for count in (0..40).chain([100, 127, 128, 129, 1000]) {
            let streams: Vec<Vec<Option<i128>>> = (0..count)
                .map(|_| {
                    let mut time = i128::from(random(20)) - 10;
                    (0..random(30))
                        .map(|_| {
                            time += i128::from(random(4)) - i128::from(random(20) == 0);
                            match random(12) {
                                0 => None,
                                1 => Some(i128::MAX - i128::from(random(2))),
                                2 => Some(i128::MIN + i128::from(random(2))),
                                _ => Some(time),
                            }
                        })
                        .collect()
                })
                .collect();
            let mut merge = Merge::new(streams.iter().map(|times| Times(times.clone(), 0)).collect());
            let mut found = Vec::new();
            while let Some(head) = merge.advance() {
                found.push((head.nanoseconds(), merge.winner.unwrap() as usize));
            }
            assert_eq!(found, expected(&streams), "{count}");
            assert!(merge.advance().is_none());
            // With pauses, it is the same, and nothing comes before it has to.
            let mut merge = Merge::new(streams.iter().map(|times| Times(times.clone(), 0)).collect());
            let mut paused = Vec::new();
            for until in [-5, 0, 1, 1, 20, 30, i128::MAX - 1].map(Some).into_iter().chain([None]) {
                merge.pause_at(until);
                while let Some(head) = merge.advance() {
                    assert!(until.is_none_or(|until| head.nanoseconds().is_none_or(|time| time < until)));
                    paused.push((head.nanoseconds(), merge.winner.unwrap() as usize));
                }
            }
            assert_eq!(paused, found, "{count}");
        }
    }
}
