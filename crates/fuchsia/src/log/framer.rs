//! Finds consecutive messages in bytes, and resynchronizes after damage.

use core::cmp::Ordering;
use core::fmt;

use super::error::{LogError, Rule};
use super::framing::Framing;
use super::message::{Message, is_plausible, is_usual};
use super::proof::{self, Proof, ProofBudget};
use super::record::Record;
use super::unit::{InputUnit, LENGTH};
use super::word::{RECORD_HEADER, load};

/// Maximum distance in bytes for following unreadable neighbors by their sizes.
const MAX_RUN: usize = 64 << 10;

/// An unreadable section of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Byte offset in the input.
    pub offset: u64,
    /// Number of bytes skipped until reading resumes.
    pub skipped: u64,
    /// Error at that position.
    pub error: LogError,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; skipped {} bytes from byte {} on", self.error, self.skipped, self.offset)
    }
}

impl core::error::Error for Damage {}

/// Splits bytes into messages without keeping a copy.
///
/// Results do not depend on how the input is cut into pieces, nor on message alignment. After damage, a message can
/// start at any byte. The bytes after a candidate help to judge it:
/// - A readable candidate is a message if another message or the end of the input follows. If the next message
///   starts inside the candidate, part of the candidate was lost and replaced by that message.
/// - An unreadable candidate ends at its own size if a message or the end of the input is there. Otherwise it ends at
///   the next message.
///
/// So a message is only certain when the next 8 bytes (12 in [`Framing::Datagrams`]) or the end are known.
///
/// Each byte is examined only a few times. After many false candidates that took long to rule out, further candidates
/// are skipped.
#[derive(Clone, Debug)]
pub struct Framer {
    framing: Framing,
    offset: u64,
    lost: Option<LostBytes>,
    candidate: Option<FrameCandidate>,
    /// Position up to which item sizes lead from one unreadable item to the next, without a message in between.
    good: u64,
    budget: ProofBudget,
}

/// Unreadable bytes. The search for the next readable message starts after them.
#[derive(Clone, Copy, Debug)]
struct LostBytes {
    offset: u64,
    error: LogError,
}

/// State of a candidate with an unconfirmed end.
#[derive(Clone, Copy, Debug)]
struct FrameCandidate {
    /// `true` if a valid item follows the candidate.
    is_end_good: Option<bool>,
    /// Distance from the start of the candidate that was searched without finding a message.
    looked: usize,
    /// Distance covered by following unreadable neighbors.
    run: usize,
    /// `true` if the neighbors lead to a valid item.
    is_run_good: bool,
}

/// Result of [`Framer::step`].
#[derive(Clone, Copy, Debug)]
pub struct FramerStep<'a> {
    /// Number of input bytes consumed. The next call expects the bytes after them.
    pub consumed: usize,
    /// Message or damage found.
    pub found: Option<Result<Message<'a>, Damage>>,
    /// Minimum input length for progress in the next call, unless it is the last call.
    pub needed: usize,
}

impl FramerStep<'_> {
    const fn wait(needed: usize) -> Self {
        Self { consumed: 0, found: None, needed }
    }
}

/// Answer to a question about the input, possibly pending.
enum Verdict<T = ()> {
    Yes(T),
    No,
    /// The answer needs this many bytes.
    Unknown(usize),
}

/// Appearance of a candidate by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameGuess {
    /// A message that breaks no rule. `true` if it cannot be an accident.
    Right(bool),
    /// A message that breaks a rule. `true` if it cannot be an accident.
    Wrong(bool),
    /// Unreadable.
    Broken,
}

/// Decision about a doubtful candidate.
enum Outcome {
    /// The candidate is a message.
    Message,
    /// The candidate ends here.
    End(usize),
    /// A message starts here, inside the candidate.
    Within(usize),
    /// The candidate does not end within this many bytes.
    Lost(usize),
}

/// Kind of messages to search for inside a doubtful candidate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WantedMessages {
    Any,
    /// Messages followed by a message that ends with the candidate.
    ToEnd,
    /// Messages followed by a message that spans the end of the candidate. The end is then wrong.
    AcrossEnd,
}

impl Framer {
    /// Creates a framer at byte `offset` of the input.
    #[must_use]
    pub const fn new(framing: Framing, offset: u64) -> Self {
        Self { framing, offset, lost: None, candidate: None, good: 0, budget: ProofBudget::new() }
    }

    /// Returns the byte offset of the input for the next [`Framer::step`].
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Continues at byte `offset` of the input, after a message that was read in another way.
    #[cfg(feature = "reader")]
    pub(crate) const fn go_on_at(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Examines the bytes from [`Framer::offset`] on. `is_last` must be `true` if no bytes follow them.
    ///
    /// If nothing is found or consumed, more input is needed or the end is reached.
    #[inline]
    pub fn step<'a>(&mut self, input: &'a [u8], is_last: bool) -> FramerStep<'a> {
        // The most frequent case first.
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
            return FramerStep { consumed, found: Some(Ok(message)), needed: 0 };
        }
        self.other_step(input, is_last)
    }

    fn other_step<'a>(&mut self, input: &'a [u8], is_last: bool) -> FramerStep<'a> {
        if self.lost.is_some() {
            return self.search(input, is_last);
        }
        if input.is_empty() {
            return FramerStep::wait(1);
        }
        let (message, end, error) = match InputUnit::read(self.framing, input, self.offset, is_last) {
            InputUnit::Unknown(needed) => return FramerStep::wait(needed),
            InputUnit::Message(message, size, error) => (Some(message), Some(size), error),
            InputUnit::Broken(error, end) => (None, end, Some(error)),
        };
        let guess = match &message {
            None => FrameGuess::Broken,
            Some(message) if error.is_none() => FrameGuess::Right(proof::is_probable(message, None)),
            Some(message) => FrameGuess::Wrong(proof::is_probable(message, error.as_ref())),
        };
        let outcome = match end {
            None => Outcome::Lost(1),
            Some(end) => match self.outcome(input, is_last, end, guess) {
                Verdict::Yes(outcome) => outcome,
                Verdict::No => Outcome::Lost(1),
                Verdict::Unknown(needed) => return FramerStep::wait(needed),
            },
        };
        self.candidate = None;
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
                self.lost = Some(LostBytes { offset, error });
                // A step consumes at most the input.
                let mut step = self.search(input.get(consumed..).unwrap_or_default(), is_last);
                step.consumed += consumed;
                return step;
            }
            _ => Err(Damage { offset, skipped: consumed as u64, error }),
        };
        FramerStep { consumed, found: Some(found), needed: 0 }
    }

    /// Decides about the candidate at the start of the input. `end` is its end by its own size.
    #[inline(never)]
    fn outcome(&mut self, input: &[u8], is_last: bool, end: usize, guess: FrameGuess) -> Verdict<Outcome> {
        if matches!(guess, FrameGuess::Right(_)) {
            match self.is_followed(input, end, is_last) {
                Verdict::Yes(()) => return Verdict::Yes(Outcome::Message),
                Verdict::Unknown(needed) => return Verdict::Unknown(needed),
                Verdict::No => {}
            }
        } else if guess == FrameGuess::Broken && self.offset + end as u64 <= self.good {
            return Verdict::Yes(Outcome::End(end));
        }
        let mut candidate = match self.candidate {
            Some(candidate) => candidate,
            None => {
                self.budget.spend(end);
                FrameCandidate { is_end_good: None, looked: 1, run: end, is_run_good: false }
            }
        };
        let outcome = self.outcome_of_candidate(&mut candidate, input, is_last, end, guess);
        self.candidate = Some(candidate);
        outcome
    }

    /// Returns `Yes` if the bytes at `end` usually follow a message.
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

    fn outcome_of_candidate(
        &mut self,
        candidate: &mut FrameCandidate,
        input: &[u8],
        is_last: bool,
        end: usize,
        guess: FrameGuess,
    ) -> Verdict<Outcome> {
        let is_end_good = match candidate.is_end_good {
            Some(is_good) => is_good,
            None => match self.paid(|framer, budget| framer.is_good(budget, input, end, is_last)) {
                Verdict::Yes(()) => true,
                Verdict::No => false,
                Verdict::Unknown(needed) => return Verdict::Unknown(needed),
            },
        };
        candidate.is_end_good = Some(is_end_good);
        let is_readable = match guess {
            FrameGuess::Right(_) if is_end_good => return Verdict::Yes(Outcome::Message),
            FrameGuess::Right(_) => true,
            FrameGuess::Wrong(is_probable) => is_probable || is_end_good,
            FrameGuess::Broken => false,
        };
        let wanted = match (guess, is_end_good) {
            (FrameGuess::Right(false) | FrameGuess::Wrong(false), _) => WantedMessages::Any,
            (_, true) => WantedMessages::ToEnd,
            (FrameGuess::Broken, false) => WantedMessages::Any,
            (_, false) => WantedMessages::AcrossEnd,
        };
        match self.look(&mut candidate.looked, input, is_last, end, wanted) {
            Verdict::Yes(at) => return Verdict::Yes(Outcome::Within(at)),
            Verdict::Unknown(needed) => return Verdict::Unknown(needed),
            Verdict::No => {}
        }
        if is_readable {
            return Verdict::Yes(Outcome::Message);
        } else if is_end_good {
            return Verdict::Yes(Outcome::End(end));
        }
        match self.follow_neighbors(candidate, input, is_last) {
            Verdict::Yes(()) => {}
            Verdict::No => return Verdict::Yes(Outcome::Lost(end)),
            Verdict::Unknown(needed) => return Verdict::Unknown(needed),
        }
        match self.look(&mut candidate.looked, input, is_last, candidate.run, WantedMessages::Any) {
            Verdict::Yes(_) => Verdict::Yes(Outcome::Lost(end)),
            Verdict::Unknown(needed) => Verdict::Unknown(needed),
            Verdict::No => {
                self.good = self.offset + candidate.run as u64;
                Verdict::Yes(Outcome::End(end))
            }
        }
    }

    /// Runs `work` within the budget. Charges nothing if more bytes are needed.
    fn paid<T>(&mut self, work: impl FnOnce(&Self, &mut ProofBudget) -> Verdict<T>) -> Verdict<T> {
        let mut budget = self.budget;
        let verdict = work(self, &mut budget);
        if !matches!(verdict, Verdict::Unknown(_)) {
            self.budget = budget;
        }
        verdict
    }

    /// Follows unreadable items by their sizes. Returns `Yes` if they lead to a readable item.
    fn follow_neighbors(&mut self, candidate: &mut FrameCandidate, input: &[u8], is_last: bool) -> Verdict {
        while !candidate.is_run_good {
            let at = candidate.run;
            let size = self.paid(|framer, budget| {
                match framer.is_good(budget, input, at, is_last) {
                    Verdict::Yes(()) => return Verdict::Yes(0),
                    Verdict::Unknown(needed) => return Verdict::Unknown(needed),
                    Verdict::No if at >= MAX_RUN || budget.is_spent() => return Verdict::No,
                    Verdict::No => {}
                }
                match framer.unit(budget, input, at, is_last) {
                    InputUnit::Broken(_, Some(size)) if framer.has_header(input, at) => Verdict::Yes(size),
                    _ => Verdict::No,
                }
            });
            match size {
                Verdict::Yes(0) => candidate.is_run_good = true,
                Verdict::Yes(size) => candidate.run += size,
                Verdict::No => return Verdict::No,
                Verdict::Unknown(needed) => return Verdict::Unknown(needed),
            }
        }
        Verdict::Yes(())
    }

    /// Returns `true` if the unreadable item at `at` starts like a message.
    fn has_header(&self, input: &[u8], at: usize) -> bool {
        let header = input.get(at..).and_then(|bytes| bytes.first_chunk::<8>());
        self.framing == Framing::Datagrams || header.is_some_and(|header| is_plausible(load(header)))
    }

    /// Finds a message that starts between `looked` and `end`. Advances `looked` past positions without a message.
    fn look(
        &mut self,
        looked: &mut usize,
        input: &[u8],
        is_last: bool,
        end: usize,
        wanted: WantedMessages,
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
                match budget.at_position(|budget| framer.is_proven(budget, input, at, is_last)) {
                    Verdict::Yes(()) if wanted == WantedMessages::Any => Verdict::Yes(true),
                    // Other start positions would lead to the same end.
                    Verdict::Yes(()) => match framer.passage(budget, input, at, end, is_last) {
                        Verdict::Yes(last) if (wanted == WantedMessages::ToEnd) == (last == end) => {
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

    /// Follows messages and the unreadable items between them from `begin` to the first end at or after `end`. Returns
    /// `No` if nothing before `end` leads there.
    fn passage(
        &self,
        budget: &mut ProofBudget,
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
                InputUnit::Message(_, size, _) => at += size,
                InputUnit::Unknown(needed) => return Verdict::Unknown(at + needed),
                InputUnit::Broken(..) => loop {
                    at = match proof::next_candidate(self.framing, input, at + 1, end, is_last) {
                        Ok(next) if next < end => next,
                        Ok(_) => return Verdict::No,
                        Err((_, needed)) => return Verdict::Unknown(needed),
                    };
                    match budget.at_position(|budget| self.is_proven(budget, input, at, is_last)) {
                        Verdict::Yes(()) => break,
                        Verdict::No => {}
                        Verdict::Unknown(needed) => return Verdict::Unknown(needed),
                    }
                },
            }
        }
        Verdict::Yes(at)
    }

    /// Reads the unit at `at`.
    fn unit<'a>(&self, budget: &mut ProofBudget, input: &'a [u8], at: usize, is_last: bool) -> InputUnit<'a> {
        let bytes = input.get(at..).unwrap_or_default();
        budget.read(self.framing, bytes, self.offset + at as u64, is_last)
    }

    /// Returns `Yes` if a message or the end of the input is at `at`, where an item ends by its own size.
    fn is_good(&self, budget: &mut ProofBudget, input: &[u8], at: usize, is_last: bool) -> Verdict {
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
            InputUnit::Message(message, size, error) => {
                let proof = proof::is_good(&message, error.as_ref());
                self.with_follower(budget, proof, input, at + size, is_last)
            }
            InputUnit::Unknown(needed) => Verdict::Unknown(at + needed),
            InputUnit::Broken(..) => Verdict::No,
        }
    }

    /// Returns `Yes` if a message starts at `at` that cannot be an accident. Nothing else is known about `at`.
    fn is_proven(&self, budget: &mut ProofBudget, input: &[u8], at: usize, is_last: bool) -> Verdict {
        if budget.is_spent() {
            return Verdict::No;
        }
        match self.unit(budget, input, at, is_last) {
            InputUnit::Message(message, size, error) => {
                let proof = Proof::rate(&message, error.as_ref());
                self.with_follower(budget, proof, input, at + size, is_last)
            }
            InputUnit::Unknown(needed) => Verdict::Unknown(at + needed),
            InputUnit::Broken(..) => Verdict::No,
        }
    }

    /// Returns `Yes` if a candidate with this proof is a message, assuming that it ends here.
    fn with_follower(
        &self,
        budget: &mut ProofBudget,
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
        // At the end of the input, nothing follows.
        let rest = input.get(end..).unwrap_or_default();
        if is_last && rest.is_empty() {
            return Verdict::Yes(());
        }
        match self.unit(budget, input, end, is_last) {
            InputUnit::Message(message, _, error) => match Proof::rate(&message, error.as_ref()) {
                Proof::None => Verdict::No,
                _ => Verdict::Yes(()),
            },
            InputUnit::Unknown(needed) => Verdict::Unknown(end + needed),
            InputUnit::Broken(..) => Verdict::No,
        }
    }

    /// Searches for the next readable message.
    #[cold]
    fn search<'a>(&mut self, input: &'a [u8], is_last: bool) -> FramerStep<'a> {
        let Some(LostBytes { offset, error }) = self.lost else {
            return FramerStep::wait(1);
        };
        let mut at = 0;
        let needed = match self.look(&mut at, input, is_last, input.len(), WantedMessages::Any) {
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
        let mut step = FramerStep { consumed: at, found: None, needed };
        if needed == 0 || is_last && at == input.len() {
            self.lost = None;
            step.found = Some(Err(Damage { offset, skipped: self.offset - offset, error }));
        }
        step
    }

    /// Finds the first certain message in `input` before `end`. Returns its start and end.
    pub(super) fn first(mut self, input: &[u8], end: usize, is_last: bool) -> Option<(usize, usize)> {
        let mut looked = 0;
        loop {
            match self.look(&mut looked, input, is_last, end, WantedMessages::Any) {
                Verdict::Yes(at) => match self.unit(&mut ProofBudget::new(), input, at, is_last) {
                    InputUnit::Message(_, size, _) => return Some((at, at + size)),
                    _ => return None,
                },
                Verdict::No => return None,
                // No more input follows, so this candidate is skipped.
                Verdict::Unknown(_) => looked += 1,
            }
        }
    }

    /// Returns `true` if an unreadable item at `at` starts like a message, and another message follows at its end.
    pub(super) fn leads_to_message(&self, input: &[u8], at: usize, is_last: bool) -> bool {
        let budget = &mut ProofBudget::new();
        match self.unit(budget, input, at, is_last) {
            InputUnit::Broken(_, Some(size)) if self.has_header(input, at) => {
                matches!(self.is_good(budget, input, at + size, is_last), Verdict::Yes(()))
            }
            _ => false,
        }
    }

    /// Returns `true` if a message is at `at`.
    pub(super) fn holds(&self, input: &[u8], at: usize, is_last: bool) -> bool {
        matches!(self.unit(&mut ProofBudget::new(), input, at, is_last), InputUnit::Message(..))
    }
}

/// Returns `true` for a header, and the length of its datagram if any, that usually follows a message.
#[inline(always)]
pub(crate) const fn follows(length: Option<u32>, header: u64) -> bool {
    let is_length = match length {
        Some(length) => length as usize == super::argument::size_words(header) * 8,
        None => true,
    };
    is_length && is_usual(header)
}
