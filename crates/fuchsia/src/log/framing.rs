//! Finding messages in bytes, one after the other, and going on after damage.

use core::cmp::Ordering;
use core::fmt;

use super::error::{LogError, Rule};
use super::message::{Message, is_plausible, is_usual};
use super::proof::{self, Budget, Proof};
use super::record::{RECORD_HEADER, Record};
use super::unit::{LENGTH, Unit};
use super::word::load;

/// How messages follow each other in a file or a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// Records, one behind the other.
    Records,
    /// Extended records, one behind the other.
    ExtendedRecords,
    /// Datagrams of any kind, each with its length in bytes before it: 32 bits, little-endian, without
    /// any padding.
    Datagrams,
}

/// How far the sizes of neighbours that cannot be read are followed, in bytes.
const MAX_RUN: usize = 64 << 10;

/// Something that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, in bytes from the beginning of the input.
    pub offset: u64,
    /// How many bytes are skipped from there to where reading resumes.
    pub skipped: u64,
    /// What is wrong there.
    pub error: LogError,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; skipped {} bytes from byte {} on", self.error, self.skipped, self.offset)
    }
}

impl core::error::Error for Damage {}

/// Takes bytes apart into messages, wherever the bytes come from: it keeps none of them.
///
/// What it finds does not depend on how the input is cut into pieces, nor on where in it messages begin:
/// after damage, that may be any byte. What each message, and each thing that cannot be read, is worth is
/// decided together with what follows:
/// - What can be read is a message if another one, or the end of the input, follows. It is none if the next
///   message begins within it: then a part of it is missing, and the next one was taken for the rest.
/// - What cannot be read ends where its size says if a message, or the end of the input, is there; else where
///   the next message begins.
///
/// So a message is known only when 8 bytes behind it are (12 in [`Framing::Datagrams`]), or the end.
///
/// No byte is looked at more than a few times: where very many places turn out not to be the beginning of a
/// message only after a long look, further ones are passed by.
#[derive(Clone, Debug)]
pub struct Framer {
    framing: Framing,
    offset: u64,
    lost: Option<Lost>,
    doubt: Option<Doubt>,
    /// Up to here, sizes of what cannot be read lead from one to the next, and nothing else begins.
    good: u64,
    budget: Budget,
}

/// Bytes that cannot be read; what can be read again is searched for behind them.
#[derive(Clone, Copy, Debug)]
struct Lost {
    offset: u64,
    error: LogError,
}

/// What is known of something of which it is not known whether it ends where it says.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// Whether there is something good at its end.
    is_end_good: Option<bool>,
    /// Up to where no message begins, from its beginning on.
    looked: usize,
    /// How far the sizes of its neighbours lead.
    run: usize,
    /// Whether they lead to something good.
    is_run_good: bool,
}

/// What [`Framer::step`] has done.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// How many bytes of the input are done with: the next call wants those behind.
    pub consumed: usize,
    /// What was found.
    pub found: Option<Result<Message<'a>, Damage>>,
    /// How long the input has to be for the next call to find more, if it is not the last.
    pub needed: usize,
}

impl Step<'_> {
    const fn wait(needed: usize) -> Self {
        Self { consumed: 0, found: None, needed }
    }
}

/// Whether something is so.
enum Verdict<T = ()> {
    Yes(T),
    No,
    /// It takes this many bytes to say.
    Unknown(usize),
}

/// What something looks like by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// A message that breaks no rule, and whether that is no accident.
    Right(bool),
    /// The same that breaks a rule.
    Wrong(bool),
    /// It cannot be read.
    Broken,
}

/// What becomes of something doubtful.
enum Outcome {
    /// It is the message that it looks like.
    Message,
    /// It ends here.
    End(usize),
    /// A message begins here, within it.
    Within(usize),
    /// It ends further on than these bytes.
    Lost(usize),
}

/// Which messages count that begin within something doubtful.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Any,
    /// Those behind which there is one that ends where it ends.
    ToEnd,
    /// Those behind which there is one that begins before its end and ends behind it. Then that is not
    /// where it ends.
    AcrossEnd,
}

impl Framer {
    /// Begins at byte `offset` of the input.
    #[must_use]
    pub const fn new(framing: Framing, offset: u64) -> Self {
        Self { framing, offset, lost: None, doubt: None, good: 0, budget: Budget::new() }
    }

    /// Where the input of the next [`Framer::step`] begins, in bytes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Goes on at byte `offset` of the input, where a message ends that was read in another way.
    #[cfg(feature = "reader")]
    pub(crate) const fn go_on_at(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Looks at the bytes from [`Framer::offset`] on. `is_last` says that there are no more behind them.
    ///
    /// Unless something is found or consumed, there is nothing more to do: more input is needed, or that
    /// was the end.
    #[inline]
    pub fn step<'a>(&mut self, input: &'a [u8], is_last: bool) -> Step<'a> {
        // What happens nearly always comes first.
        if self.framing == Framing::Records
            && self.lost.is_none()
            && let Ok((record, rest)) = Record::read(input, self.offset)
            && record.size_words() > RECORD_HEADER
            && record.is_plain()
            && (rest.first_chunk().is_some_and(|next| is_usual(load(next))) || is_last && rest.is_empty())
        {
            let consumed = record.as_bytes().len();
            self.offset += consumed as u64;
            let message = Message::Record { record, behind: &[] };
            return Step { consumed, found: Some(Ok(message)), needed: 0 };
        }
        self.other_step(input, is_last)
    }

    fn other_step<'a>(&mut self, input: &'a [u8], is_last: bool) -> Step<'a> {
        if self.lost.is_some() {
            return self.search(input, is_last);
        }
        if input.is_empty() {
            return Step::wait(1);
        }
        let (message, end, error) = match Unit::read(self.framing, input, self.offset, is_last) {
            Unit::Unknown(needed) => return Step::wait(needed),
            Unit::Message(message, size, error) => (Some(message), Some(size), error),
            Unit::Broken(error, end) => (None, end, Some(error)),
        };
        let sight = match &message {
            None => Sight::Broken,
            Some(message) if error.is_none() => Sight::Right(proof::is_probable(message, None)),
            Some(message) => Sight::Wrong(proof::is_probable(message, error.as_ref())),
        };
        let outcome = match end {
            None => Outcome::Lost(1),
            Some(end) => match self.outcome(input, is_last, end, sight) {
                Verdict::Yes(outcome) => outcome,
                Verdict::No => Outcome::Lost(1),
                Verdict::Unknown(needed) => return Step::wait(needed),
            },
        };
        self.doubt = None;
        let offset = self.offset;
        let overlap = |at: usize| {
            let size = end.unwrap_or(at) as u64;
            LogError::new(Rule::RecordOverlap, offset, offset + at as u64, at as u64, size)
        };
        let consumed = match outcome {
            Outcome::Message => end.unwrap_or(1),
            Outcome::End(at) | Outcome::Within(at) | Outcome::Lost(at) => at.min(input.len()),
        };
        self.budget.gain(consumed);
        self.offset += consumed as u64;
        let error = error.unwrap_or_else(|| overlap(consumed));
        let found = match (outcome, message) {
            (Outcome::Message, Some(message)) => Ok(message),
            (Outcome::Lost(_), _) => {
                self.lost = Some(Lost { offset, error });
                let mut step = self.search(input.get(consumed..).unwrap_or_default(), is_last);
                step.consumed += consumed;
                return step;
            }
            _ => Err(Damage { offset, skipped: consumed as u64, error }),
        };
        Step { consumed, found: Some(found), needed: 0 }
    }

    /// What becomes of what is at the beginning of the input and says that it ends at `end`.
    #[inline(never)]
    fn outcome(&mut self, input: &[u8], is_last: bool, end: usize, sight: Sight) -> Verdict<Outcome> {
        if matches!(sight, Sight::Right(_)) {
            match self.is_followed(input, end, is_last) {
                Verdict::Yes(()) => return Verdict::Yes(Outcome::Message),
                Verdict::Unknown(needed) => return Verdict::Unknown(needed),
                Verdict::No => {}
            }
        } else if sight == Sight::Broken && self.offset + end as u64 <= self.good {
            return Verdict::Yes(Outcome::End(end));
        }
        let mut doubt = match self.doubt {
            Some(doubt) => doubt,
            None => {
                self.budget.spend(end);
                Doubt { is_end_good: None, looked: 1, run: end, is_run_good: false }
            }
        };
        let outcome = self.outcome_of_doubt(&mut doubt, input, is_last, end, sight);
        self.doubt = Some(doubt);
        outcome
    }

    /// Whether what follows a message at `end` is what mostly follows one.
    #[inline]
    fn is_followed(&self, input: &[u8], end: usize, is_last: bool) -> Verdict {
        let rest = input.get(end..).unwrap_or_default();
        if is_last && rest.is_empty() {
            return Verdict::Yes(());
        }
        let (length, rest) = match self.framing {
            Framing::Datagrams => match rest.split_first_chunk::<LENGTH>() {
                Some((length, rest)) => (Some(u32::from_le_bytes(*length)), rest),
                None if is_last => return Verdict::No,
                None => return Verdict::Unknown(end + LENGTH + 8),
            },
            _ => (None, rest),
        };
        match rest.first_chunk() {
            Some(header) => match follows(length, load(header)) {
                true => Verdict::Yes(()),
                false => Verdict::No,
            },
            None if is_last => Verdict::No,
            None => Verdict::Unknown(end + length.map_or(0, |_| LENGTH) + 8),
        }
    }

    fn outcome_of_doubt(
        &mut self,
        doubt: &mut Doubt,
        input: &[u8],
        is_last: bool,
        end: usize,
        sight: Sight,
    ) -> Verdict<Outcome> {
        let is_end_good = match doubt.is_end_good {
            Some(is_good) => is_good,
            None => match self.paid(|framer, budget| framer.is_good(budget, input, end, is_last)) {
                Verdict::Yes(()) => true,
                Verdict::No => false,
                Verdict::Unknown(needed) => return Verdict::Unknown(needed),
            },
        };
        doubt.is_end_good = Some(is_end_good);
        let is_readable = match sight {
            Sight::Right(_) if is_end_good => return Verdict::Yes(Outcome::Message),
            Sight::Right(_) => true,
            Sight::Wrong(is_probable) => is_probable || is_end_good,
            Sight::Broken => false,
        };
        let wanted = match (sight, is_end_good) {
            (Sight::Right(false) | Sight::Wrong(false), _) => Wanted::Any,
            (_, true) => Wanted::ToEnd,
            (Sight::Broken, false) => Wanted::Any,
            (_, false) => Wanted::AcrossEnd,
        };
        match self.look(&mut doubt.looked, input, is_last, end, wanted) {
            Verdict::Yes(at) => return Verdict::Yes(Outcome::Within(at)),
            Verdict::Unknown(needed) => return Verdict::Unknown(needed),
            Verdict::No => {}
        }
        if is_readable {
            return Verdict::Yes(Outcome::Message);
        } else if is_end_good {
            return Verdict::Yes(Outcome::End(end));
        }
        match self.follow_neighbours(doubt, input, is_last) {
            Verdict::Yes(()) => {}
            Verdict::No => return Verdict::Yes(Outcome::Lost(end)),
            Verdict::Unknown(needed) => return Verdict::Unknown(needed),
        }
        match self.look(&mut doubt.looked, input, is_last, doubt.run, Wanted::Any) {
            Verdict::Yes(_) => Verdict::Yes(Outcome::Lost(end)),
            Verdict::Unknown(needed) => Verdict::Unknown(needed),
            Verdict::No => {
                self.good = self.offset + doubt.run as u64;
                Verdict::Yes(Outcome::End(end))
            }
        }
    }

    /// Does what the budget allows; it is not charged where more bytes are needed.
    fn paid<T>(&mut self, work: impl FnOnce(&Self, &mut Budget) -> Verdict<T>) -> Verdict<T> {
        let mut budget = self.budget;
        let verdict = work(self, &mut budget);
        if !matches!(verdict, Verdict::Unknown(_)) {
            self.budget = budget;
        }
        verdict
    }

    /// Whether the sizes of what cannot be read lead from one to the next up to what can be read.
    fn follow_neighbours(&mut self, doubt: &mut Doubt, input: &[u8], is_last: bool) -> Verdict {
        while !doubt.is_run_good {
            let at = doubt.run;
            let size = self.paid(|framer, budget| {
                match framer.is_good(budget, input, at, is_last) {
                    Verdict::Yes(()) => return Verdict::Yes(0),
                    Verdict::Unknown(needed) => return Verdict::Unknown(needed),
                    Verdict::No if at >= MAX_RUN || budget.is_spent() => return Verdict::No,
                    Verdict::No => {}
                }
                match framer.unit(budget, input, at, is_last) {
                    Unit::Broken(_, Some(size)) if framer.has_header(input, at) => Verdict::Yes(size),
                    _ => Verdict::No,
                }
            });
            match size {
                Verdict::Yes(0) => doubt.is_run_good = true,
                Verdict::Yes(size) => doubt.run += size,
                Verdict::No => return Verdict::No,
                Verdict::Unknown(needed) => return Verdict::Unknown(needed),
            }
        }
        Verdict::Yes(())
    }

    /// Whether what is at `at` and cannot be read begins as a message does.
    fn has_header(&self, input: &[u8], at: usize) -> bool {
        let header = input.get(at..).and_then(|bytes| bytes.first_chunk::<8>());
        self.framing == Framing::Datagrams || header.is_some_and(|header| is_plausible(load(header)))
    }

    /// Where a message begins from `looked` on, before `end`. Notes up to where none does.
    fn look(
        &mut self,
        looked: &mut usize,
        input: &[u8],
        is_last: bool,
        end: usize,
        wanted: Wanted,
    ) -> Verdict<usize> {
        while *looked < end {
            let to = end.min(input.len());
            let candidate = proof::next_candidate(self.framing, input, *looked, to, is_last);
            let at = candidate.unwrap_or_else(|(at, _)| at);
            self.budget.gain(at.saturating_sub(*looked));
            *looked = at.max(*looked);
            match candidate {
                Err((_, needed)) => return Verdict::Unknown(needed),
                Ok(at) if at >= to => return Verdict::No,
                Ok(_) => {}
            }
            let found = self.paid(|framer, budget| {
                budget.gain(1);
                match budget.of_place(|budget| framer.is_proven(budget, input, at, is_last)) {
                    Verdict::Yes(()) if wanted == Wanted::Any => Verdict::Yes(true),
                    // Going on from another place would get nowhere else.
                    Verdict::Yes(()) => match framer.passage(budget, input, at, end, is_last) {
                        Verdict::Yes(last) if (wanted == Wanted::ToEnd) == (last == end) => {
                            Verdict::Yes(true)
                        }
                        Verdict::Unknown(needed) => Verdict::Unknown(needed),
                        _ => Verdict::No,
                    },
                    Verdict::No => Verdict::Yes(false),
                    Verdict::Unknown(needed) => Verdict::Unknown(needed),
                }
            });
            match found {
                Verdict::Yes(true) => return Verdict::Yes(at),
                Verdict::Unknown(needed) => return Verdict::Unknown(needed),
                Verdict::No => *looked = end,
                Verdict::Yes(false) => *looked = at + 1,
            }
        }
        Verdict::No
    }

    /// Where the messages from `begin` on, and those behind what between them cannot be read, get to at
    /// `end` or behind it; no if there is nothing before `end` that gets there.
    fn passage(
        &self,
        budget: &mut Budget,
        input: &[u8],
        begin: usize,
        end: usize,
        is_last: bool,
    ) -> Verdict<usize> {
        let mut at = begin;
        while at < end {
            if budget.is_spent() {
                return Verdict::No;
            }
            match self.unit(budget, input, at, is_last) {
                Unit::Message(_, size, _) => at += size,
                Unit::Unknown(needed) => return Verdict::Unknown(at + needed),
                Unit::Broken(..) => loop {
                    at = match proof::next_candidate(self.framing, input, at + 1, end, is_last) {
                        Ok(next) if next < end => next,
                        Ok(_) => return Verdict::No,
                        Err((_, needed)) => return Verdict::Unknown(needed),
                    };
                    match budget.of_place(|budget| self.is_proven(budget, input, at, is_last)) {
                        Verdict::Yes(()) => break,
                        Verdict::No => {}
                        Verdict::Unknown(needed) => return Verdict::Unknown(needed),
                    }
                },
            }
        }
        Verdict::Yes(at)
    }

    /// What there is at `at`.
    fn unit<'a>(&self, budget: &mut Budget, input: &'a [u8], at: usize, is_last: bool) -> Unit<'a> {
        let bytes = input.get(at..).unwrap_or_default();
        budget.read(self.framing, bytes, self.offset + at as u64, is_last)
    }

    /// Whether a message, or the end of the input, is at `at`, where something says that it ends.
    fn is_good(&self, budget: &mut Budget, input: &[u8], at: usize, is_last: bool) -> Verdict {
        match at.cmp(&input.len()) {
            Ordering::Less => {}
            Ordering::Equal if is_last => return Verdict::Yes(()),
            Ordering::Greater if is_last => return Verdict::No,
            _ => return Verdict::Unknown(at + 1),
        }
        if budget.is_spent() {
            return Verdict::No;
        }
        match self.unit(budget, input, at, is_last) {
            Unit::Message(message, size, error) => {
                let proof = proof::is_good(&message, error.as_ref());
                self.with_follower(budget, proof, input, at + size, is_last)
            }
            Unit::Unknown(needed) => Verdict::Unknown(at + needed),
            Unit::Broken(..) => Verdict::No,
        }
    }

    /// Whether a message begins at `at`, of which nothing is known yet: it must be no accident that there
    /// is what can be read as one.
    fn is_proven(&self, budget: &mut Budget, input: &[u8], at: usize, is_last: bool) -> Verdict {
        if budget.is_spent() {
            return Verdict::No;
        }
        match self.unit(budget, input, at, is_last) {
            Unit::Message(message, size, error) => {
                let proof = Proof::of(&message, error.as_ref());
                self.with_follower(budget, proof, input, at + size, is_last)
            }
            Unit::Unknown(needed) => Verdict::Unknown(at + needed),
            Unit::Broken(..) => Verdict::No,
        }
    }

    /// Whether what is a message with this degree of certainty is one, if this is where it ends.
    fn with_follower(
        &self,
        budget: &mut Budget,
        proof: Proof,
        input: &[u8],
        end: usize,
        is_last: bool,
    ) -> Verdict {
        match proof {
            Proof::None => return Verdict::No,
            Proof::Strong => return Verdict::Yes(()),
            Proof::Weak => {}
        }
        let rest = input.get(end..).unwrap_or_default();
        if is_last && rest.is_empty() {
            return Verdict::Yes(());
        }
        match self.unit(budget, input, end, is_last) {
            Unit::Message(message, _, error) => match Proof::of(&message, error.as_ref()) {
                Proof::None => Verdict::No,
                _ => Verdict::Yes(()),
            },
            Unit::Unknown(needed) => Verdict::Unknown(end + needed),
            Unit::Broken(..) => Verdict::No,
        }
    }

    /// Searches for what can be read again.
    #[cold]
    fn search<'a>(&mut self, input: &'a [u8], is_last: bool) -> Step<'a> {
        let Some(Lost { offset, error }) = self.lost else {
            return Step::wait(1);
        };
        let mut at = 0;
        let needed = match self.look(&mut at, input, is_last, input.len(), Wanted::Any) {
            Verdict::Yes(found) => {
                at = found;
                0
            }
            Verdict::No => {
                at = input.len();
                1
            }
            Verdict::Unknown(needed) => needed - at,
        };
        self.offset += at as u64;
        let mut step = Step { consumed: at, found: None, needed };
        if needed == 0 || is_last && at == input.len() {
            self.lost = None;
            step.found = Some(Err(Damage { offset, skipped: self.offset - offset, error }));
        }
        step
    }

    /// Where in `input`, before `end`, the first message begins that can be no accident, and where it ends.
    pub(super) fn first(mut self, input: &[u8], end: usize, is_last: bool) -> Option<(usize, usize)> {
        let mut looked = 0;
        loop {
            match self.look(&mut looked, input, is_last, end, Wanted::Any) {
                Verdict::Yes(at) => match self.unit(&mut Budget::new(), input, at, is_last) {
                    Unit::Message(_, size, _) => return Some((at, at + size)),
                    _ => return None,
                },
                Verdict::No => return None,
                // More than there is cannot be asked for.
                Verdict::Unknown(_) => looked += 1,
            }
        }
    }

    /// Whether there is a message at `at`.
    pub(super) fn holds(&self, input: &[u8], at: usize, is_last: bool) -> bool {
        matches!(self.unit(&mut Budget::new(), input, at, is_last), Unit::Message(..))
    }
}

/// Whether a header, with the length of its datagram before it if there is one, is what mostly follows a
/// message.
#[inline(always)]
pub(crate) const fn follows(length: Option<u32>, header: u64) -> bool {
    let is_length = match length {
        Some(length) => length as usize == super::argument::size_words(header) * 8,
        None => true,
    };
    is_length && is_usual(header)
}
