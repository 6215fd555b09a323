//! Merges messages from many cursors into one timeline.

use std::io;
use std::ops::ControlFlow;

use ichnos_model::cursor::{BoxedCursor, Checkpoint, DrainEnd, Head, MessageHandler, MessageKind, sort_key};
use ichnos_model::message::Damage;
use ichnos_model::{Cursor, Message, Sink};

/// Entry for a cursor: time of the current message and cursor index.
///
/// The time is clamped to 64 bits, which are fast to compare. If two times are equal, the messages themselves decide.
#[derive(Clone, Copy, Debug)]
struct MergeEntry {
    key: u64,
    index: u32,
}

impl MergeEntry {
    /// Entry for a cursor at its end.
    const NONE: Self = Self { key: u64::MAX, index: u32::MAX };
}

/// Number of cursors whose data stays in the processor's caches until their next turn.
const CACHED: usize = 16;

/// Number of cursors above which waiting cursors release memory.
const MANY: usize = 1 << 10;

/// Merge of cursors by time.
///
/// Messages without a time come immediately. Ties are broken by cursor index, so the result is deterministic. A step
/// costs one comparison if the same cursor wins again, as is common. Otherwise, it costs one comparison for each
/// doubling of the number of cursors.
pub struct Merge {
    cursors: Vec<BoxedCursor>,
    /// Tournament tree. Cursor `i` enters at `cursors.len() + i`, and the winner at place `p` advances to `p / 2`. Each
    /// place stores its loser, and place 0 is unused.
    losers: Vec<MergeEntry>,
    /// Cursor of the current message.
    winner: Option<u32>,
    /// Best entry among those that lost to the winner.
    runner_up: MergeEntry,
    /// `true` if the cursors are already at their first messages.
    are_begun: bool,
    started: bool,
    /// Key limit: messages of the winner with smaller keys come next.
    limit: u64,
    /// Pause time.
    until: Option<i128>,
    /// `true` if the winner's message waits because it comes after the pause.
    is_paused: bool,
}

impl Merge {
    /// Creates a merge.
    #[must_use]
    pub fn new(cursors: Vec<BoxedCursor>) -> Self {
        let runner_up = MergeEntry::NONE;
        Self {
            cursors,
            are_begun: false,
            losers: Vec::new(),
            winner: None,
            runner_up,
            started: false,
            until: None,
            is_paused: false,
            limit: 0,
        }
    }

    /// Creates a merge of cursors that are already at their first messages, or at their ends.
    #[must_use]
    pub fn from_started(cursors: Vec<BoxedCursor>) -> Self {
        Self { are_begun: true, ..Self::new(cursors) }
    }

    /// Pauses the merge at a time. [`Cursor::advance`] returns `false`, and [`Merge::drain_all`] returns, when all
    /// messages before this time have passed. `None` removes the pause. Can be called repeatedly with later times.
    pub fn pause_at(&mut self, until: Option<i128>) {
        self.until = until;
        self.limit = self.limit_of(self.runner_up);
    }

    /// Passes all remaining messages before the pause to `handler`, until it stops.
    pub fn drain_all(&mut self, handler: &mut MessageHandler<'_>) {
        if !self.advance() {
            return;
        }
        while let Some(index) = self.winner
            && !self.is_paused
            && let Some(cursor) = self.cursors.get_mut(index as usize)
        {
            let entry = match (**cursor).drain(self.limit, handler) {
                DrainEnd::Limit(key) => MergeEntry { key, index },
                DrainEnd::End => MergeEntry::NONE,
                DrainEnd::Stopped => return,
            };
            self.replay(index, entry);
        }
    }

    /// Releases memory that cursors can recover on demand. Call it if no message may be needed for some time.
    pub fn suspend(&mut self) {
        for cursor in &mut self.cursors {
            cursor.suspend();
        }
    }

    /// Returns the cursor positions. They determine all later messages. `None` if one of them is unknown.
    #[must_use]
    pub fn checkpoints(&self) -> Option<Vec<Checkpoint>> {
        self.cursors.iter().map(|cursor| cursor.checkpoint()).collect()
    }

    /// Returns `true` if `a` comes before `b`.
    #[inline]
    fn is_before(&self, a: MergeEntry, b: MergeEntry) -> bool {
        if a.key == b.key { self.is_exactly_before(a, b) } else { a.key < b.key }
    }

    #[cold]
    fn is_exactly_before(&self, a: MergeEntry, b: MergeEntry) -> bool {
        let when = |entry: MergeEntry| match self.head_of(entry.index) {
            Some(head) => (false, head.nanoseconds(), entry.index),
            None => (true, None, entry.index),
        };
        when(a) < when(b)
    }

    /// Returns the head of a cursor's current message.
    fn head_of(&self, index: u32) -> Option<Head> {
        self.cursors.get(index as usize)?.head()
    }

    fn entry(&self, index: u32) -> MergeEntry {
        self.head_of(index).map_or(MergeEntry::NONE, |head| MergeEntry { key: head.sort_key(), index })
    }

    /// Moves all cursors to their first messages, plays the tournament and returns the winner.
    #[cold]
    fn start(&mut self) -> MergeEntry {
        self.started = true;
        if !self.are_begun {
            self.cursors.iter_mut().for_each(|cursor| {
                cursor.advance();
            });
        }
        let count = self.cursors.len();
        let mut winners = vec![MergeEntry::NONE; count];
        winners.extend((0..count as u32).map(|index| self.entry(index)));
        self.losers = winners[..count.min(winners.len())].to_vec();
        for place in (1..count).rev() {
            let (a, b) = (winners[2 * place], winners[2 * place + 1]);
            (winners[place], self.losers[place]) = if self.is_before(b, a) { (b, a) } else { (a, b) };
        }
        // A single cursor is the winner.
        winners.get(1).copied().unwrap_or(MergeEntry::NONE)
    }

    /// Replays a cursor's matches with its new message to find the winner.
    #[inline(always)]
    fn replay(&mut self, index: u32, entry: MergeEntry) {
        let mut winner = entry;
        let mut place = (self.cursors.len() + index as usize) / 2;
        while place > 0
            && let Some(loser) = self.losers.get(place).copied()
        {
            if self.is_before(loser, winner) {
                self.losers[place] = std::mem::replace(&mut winner, loser);
            }
            place /= 2;
        }
        self.crown(winner);
        if self.cursors.len() > CACHED {
            self.prepare_next(index);
        }
    }

    /// Makes the runner-up prefetch its data, and a waiting cursor release memory.
    #[inline]
    fn prepare_next(&mut self, before: u32) {
        if let Some(next) = self.cursors.get(self.runner_up.index as usize) {
            next.prefetch();
        }
        if self.cursors.len() > MANY
            && self.winner != Some(before)
            && let Some(cursor) = self.cursors.get_mut(before as usize)
        {
            cursor.suspend();
        }
    }

    /// Makes an entry the winner.
    #[inline(always)]
    fn crown(&mut self, winner: MergeEntry) {
        self.winner = (winner.index != MergeEntry::NONE.index).then_some(winner.index);
        let mut runner_up = MergeEntry::NONE;
        let mut place = self.cursors.len().saturating_add(winner.index as usize) / 2;
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
        self.is_paused = self.until.is_some_and(|until| self.is_after(winner, until));
    }

    /// Returns `true` if a message comes at the pause or later.
    #[inline]
    fn is_after(&self, entry: MergeEntry, until: i128) -> bool {
        let exactly = || self.head_of(entry.index).and_then(|head| head.nanoseconds());
        entry.key >= sort_key(Some(until)) && exactly().is_some_and(|time| time >= until)
    }

    /// Returns the key below which the winner's next message still wins.
    fn limit_of(&self, runner_up: MergeEntry) -> u64 {
        self.until.map_or(runner_up.key, |until| runner_up.key.min(sort_key(Some(until))))
    }

    /// Delivers the first message of all, or the first message after the pause.
    #[cold]
    fn begin_or_resume(&mut self) -> bool {
        let winner = match self.winner {
            _ if !self.started => self.start(),
            Some(winner) => self.entry(winner),
            None => return false,
        };
        // The message may also come after the new pause.
        self.crown(winner);
        self.winner.is_some() && !self.is_paused
    }

    /// Finds the next message if the winner has moved and may have lost.
    #[inline(never)]
    fn next(&mut self, index: u32) -> bool {
        self.replay(index, self.entry(index));
        self.winner.is_some() && !self.is_paused
    }
}

impl Cursor for Merge {
    fn advance(&mut self) -> bool {
        let index = match self.winner {
            Some(index) if !self.is_paused => index,
            None if self.started => return false,
            _ => return self.begin_or_resume(),
        };
        match self.cursors.get_mut(index as usize).and_then(|cursor| (**cursor).next_head()) {
            Some(head) if head.sort_key() < self.limit => true,
            _ => self.next(index),
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        self.cursors.get(self.winner? as usize)?.current()
    }

    fn head(&self) -> Option<Head> {
        self.head_of(self.winner?)
    }
}

/// Cursor over damage outside data streams.
pub struct DamageCursor {
    damage: Vec<Damage>,
    next: usize,
}

impl DamageCursor {
    /// Creates a cursor that delivers damage in this order.
    #[must_use]
    pub fn new(damage: Vec<Damage>) -> Self {
        Self { damage, next: 0 }
    }
}

impl Cursor for DamageCursor {
    fn advance(&mut self) -> bool {
        self.next = self.next.saturating_add(1);
        self.current().is_some()
    }

    fn current(&self) -> Option<Message<'_>> {
        self.damage.get(self.next.checked_sub(1)?).map(Message::Damage)
    }

    fn head(&self) -> Option<Head> {
        self.current().map(|_| Head::new(MessageKind::Damage, None))
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        Some(if self.next > self.damage.len() || self.damage.is_empty() {
            Checkpoint::End
        } else {
            Checkpoint::At([self.next as u64, 0, 0, 0])
        })
    }
}

/// Passes all messages to a sink, until the messages end or the sink stops.
///
/// # Errors
/// If the sink cannot write.
pub fn pump(merge: &mut Merge, sink: &mut impl Sink) -> io::Result<()> {
    let mut result = Ok(());
    merge.drain_all(&mut |message| {
        sink.message(message).unwrap_or_else(|error| {
            result = Err(error);
            ControlFlow::Break(())
        })
    });
    result.and_then(|()| sink.finish())
}

#[cfg(test)]
mod tests {
    use ichnos_model::cursor::StreamCursor;
    use ichnos_model::message::DamageKind;
    use proptest::collection::vec;
    use proptest::strategy::Strategy;
    use proptest::test_runner::{Config, TestRunner};

    use super::*;

    /// Cursor with messages at these times. Each contains its stream number and its index.
    struct Times(Vec<(Option<i128>, Damage)>, usize);

    impl Times {
        fn all(streams: &[Vec<Option<i128>>]) -> Vec<BoxedCursor> {
            let message = |stream: usize, index: usize| Damage {
                file: String::new(),
                stream: None,
                bit: stream as u64,
                kind: DamageKind::EmptyEventRecord,
                skipped: index as u64,
            };
            let times = |(stream, times): (usize, &Vec<Option<i128>>)| {
                Self(times.iter().zip(0..).map(|(time, i)| (*time, message(stream, i))).collect(), 0).boxed()
            };
            streams.iter().enumerate().map(times).collect()
        }
    }

    impl Cursor for Times {
        fn advance(&mut self) -> bool {
            self.1 = (self.1 + 1).min(self.0.len() + 1);
            self.current().is_some()
        }

        fn current(&self) -> Option<Message<'_>> {
            Some(Message::Damage(&self.0.get(self.1.checked_sub(1)?)?.1))
        }

        fn head(&self) -> Option<Head> {
            let (nanoseconds, _) = self.0.get(self.1.checked_sub(1)?)?;
            Some(Head::new(MessageKind::Damage, *nanoseconds))
        }
    }

    /// Returns the expected result of a merge: always the first of the current messages.
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
        for count in (0..40).chain([100, 127, 128, 129, 1000]) {
            let config = Config { cases: 4, failure_persistence: None, ..Config::default() };
            let result = TestRunner::new(config).run(&vec(times(), count), |streams| {
                check_merge(&streams);
                Ok(())
            });
            result.unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// Equal, missing and extreme times. Some go back.
    fn times() -> impl Strategy<Value = Vec<Option<i128>>> {
        let step = (0..4, 0..20, 0..12, 0..2).prop_map(|(step, back, kind, extreme)| {
            (i128::from(step) - i128::from(back == 0), kind, i128::from(extreme))
        });
        (-10..10, vec(step, 0..30)).prop_map(|(begin, steps)| {
            let mut time = i128::from(begin);
            let times = steps.into_iter().map(|(step, kind, extreme)| {
                time += step;
                match kind {
                    0 => None,
                    1 => Some(i128::MAX - extreme),
                    2 => Some(i128::MIN + extreme),
                    _ => Some(time),
                }
            });
            times.collect()
        })
    }

    fn check_merge(streams: &[Vec<Option<i128>>]) {
        let mut merge = Merge::new(Times::all(streams));
        let mut found = Vec::new();
        while let Some(head) = merge.next_head() {
            found.push((head.nanoseconds(), merge.winner.unwrap() as usize));
        }
        assert_eq!(found, expected(streams));
        assert!(!merge.advance());
        // Pauses must not change the result, and no message comes too early.
        let mut merge = Merge::new(Times::all(streams));
        let mut paused = Vec::new();
        for until in [-5, 0, 1, 1, 20, 30, i128::MAX - 1].map(Some).into_iter().chain([None]) {
            merge.pause_at(until);
            while let Some(head) = merge.next_head() {
                assert!(until.is_none_or(|until| head.nanoseconds().is_none_or(|time| time < until)));
                paused.push((head.nanoseconds(), merge.winner.unwrap() as usize));
            }
        }
        assert_eq!(paused, found);
        // The same when draining, with some single messages, with and without pauses.
        for pauses in [&[-5, 0, 1, 1, 20, 30, i128::MAX - 1][..], &[]] {
            let mut merge = Merge::new(Times::all(streams));
            let mut handed_on = Vec::new();
            for until in pauses.iter().copied().map(Some).chain([None]) {
                merge.pause_at(until);
                for most in [1, 2, 7, usize::MAX] {
                    let mut left = most;
                    merge.drain_all(&mut |message| {
                        if let Message::Damage(damage) = message {
                            let (stream, index) = (damage.bit as usize, damage.skipped as usize);
                            let time = streams[stream][index];
                            assert!(until.is_none_or(|until| time.is_none_or(|time| time < until)));
                            handed_on.push((time, stream));
                        }
                        left -= 1;
                        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                    });
                }
            }
            assert_eq!(handed_on, found);
        }
    }
}
