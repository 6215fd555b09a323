//! Finding messages in bytes, one after the other, and going on after damage.

use core::cmp::Ordering;
use core::fmt;

use super::argument::size_words;
use super::attribution::Attribution;
use super::error::{LogError, Rule};
use super::message::{Message, is_plausible};
use super::record::{RECORD_HEADER, Record};
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

/// The longest datagram that a length may stand for, in bytes: an extended record may be longer than
/// what the sockets take.
const MAX_FRAME: usize = 64 << 10;

/// Size of the length before a datagram.
const LENGTH: usize = 4;

/// How many chains of messages are followed to see whether one leads to the end of something. All of a
/// message may look like messages.
const MAX_CHAINS: u32 = 16;

/// How far the sizes of neighbours that cannot be read are followed, in bytes.
const MAX_RUN: usize = 64 << 10;

/// Something that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, in bytes from the beginning of the input.
    pub offset: u64,
    /// How many bytes are skipped from there to the next good place.
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
/// What it finds does not depend on how the input is cut into pieces. After something that cannot be
/// read, it goes on behind it if its size is believable - if a message, or the end of the input, follows
/// there -, and else at the next place where a message begins: for records, at the next word. What can
/// be read but breaks a rule is a message unless there is one within it that breaks none: then a part of
/// it is missing, and the next message was taken for the rest.
#[derive(Clone, Debug)]
pub struct Framer {
    framing: Framing,
    offset: u64,
    lost: Option<Lost>,
}

/// A place that could not be read, from where on the next good place is looked for.
#[derive(Clone, Copy, Debug)]
struct Lost {
    offset: u64,
    error: LogError,
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

/// What is at a place.
enum Unit<'a> {
    /// A message, and its size with all that belongs to it. With an error if it breaks a rule.
    Message(Message<'a>, usize, Option<LogError>),
    /// That takes so many bytes to tell.
    Unknown(usize),
    /// Something that cannot be read, and where it ends if its size is right.
    Broken(LogError, Option<usize>),
}

/// Whether something is so.
enum Verdict<T = ()> {
    Yes(T),
    No,
    /// That takes so many bytes to tell.
    Unknown(usize),
}

impl Framer {
    /// Begins at byte `offset` of the input.
    #[must_use]
    pub const fn new(framing: Framing, offset: u64) -> Self {
        Self { framing, offset, lost: None }
    }

    /// Where the input of the next [`Framer::step`] begins, in bytes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
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
            && let Ok((record, _)) = Record::read(input, self.offset)
            && record.is_plain()
        {
            let consumed = record.as_bytes().len();
            self.offset += consumed as u64;
            let message = Message::Record { record, behind: &[] };
            return Step { consumed, found: Some(Ok(message)), needed: 0 };
        }
        self.other_step(input, is_last)
    }

    fn other_step<'a>(&mut self, input: &'a [u8], is_last: bool) -> Step<'a> {
        if self.lost.is_none() {
            if input.is_empty() {
                return Step::wait(1);
            }
            let found = match self.unit(input, 0, is_last) {
                Unit::Message(message, size, None) => Ok((message, size)),
                Unit::Message(message, size, Some(error)) => match self.within(input, is_last, size) {
                    Verdict::No => Ok((message, size)),
                    Verdict::Yes(next) => Err((error, next)),
                    Verdict::Unknown(needed) => return Step::wait(needed),
                },
                Unit::Unknown(needed) => return Step::wait(needed),
                Unit::Broken(error, end) => match self.behind(input, is_last, end) {
                    Verdict::Yes(next) => Err((error, next)),
                    Verdict::Unknown(needed) => return Step::wait(needed),
                    Verdict::No => {
                        self.lost = Some(Lost { offset: self.offset, error });
                        return self.search(input, is_last);
                    }
                },
            };
            let offset = self.offset;
            let (consumed, found) = match found {
                Ok((message, size)) => (size, Ok(message)),
                Err((error, next)) => (next, Err(Damage { offset, skipped: next as u64, error })),
            };
            self.offset += consumed as u64;
            return Step { consumed, found: Some(found), needed: 0 };
        }
        self.search(input, is_last)
    }

    /// Where in `input`, before `end`, the first message begins that can be no accident.
    pub(super) fn first(&self, input: &[u8], end: usize, is_last: bool) -> Option<usize> {
        let mut places = (0..end).step_by(self.stride());
        places.find(|at| matches!(self.verdict(input, *at, is_last), Verdict::Yes(())))
    }

    /// Whether there is a message at `at`.
    pub(super) fn holds(&self, input: &[u8], at: usize, is_last: bool) -> bool {
        matches!(self.unit(input, at, is_last), Unit::Message(..))
    }

    /// How far apart the places are where a message can begin.
    const fn stride(&self) -> usize {
        match self.framing {
            Framing::Records | Framing::ExtendedRecords => 8,
            Framing::Datagrams => 1,
        }
    }

    /// What there is at `at`.
    #[inline]
    fn unit<'a>(&self, input: &'a [u8], at: usize, is_last: bool) -> Unit<'a> {
        let (bytes, offset) = (input.get(at..).unwrap_or_default(), self.offset + at as u64);
        match self.framing {
            Framing::Datagrams => datagram(bytes, offset, is_last),
            framing => record(framing, bytes, offset, is_last),
        }
    }

    /// Where to go on behind something that cannot be read and says that it ends at `end`; no, if the
    /// next good place has to be looked for everywhere.
    #[cold]
    fn behind(&self, input: &[u8], is_last: bool, end: Option<usize>) -> Verdict<usize> {
        let Some(end) = end else { return Verdict::No };
        match self.is_good(input, end, is_last) {
            Verdict::Yes(()) => match self.within(input, is_last, end) {
                Verdict::No => Verdict::Yes(end),
                next => next,
            },
            Verdict::Unknown(needed) => Verdict::Unknown(needed),
            Verdict::No => self.before_neighbours(input, is_last, end),
        }
    }

    /// As [`Framer::behind`], if nothing good is at `end`: what is there may be something else that cannot
    /// be read, which is told on its own if the sizes of all such neighbours lead to a good place, and no
    /// message begins before that.
    #[cold]
    fn before_neighbours(&self, input: &[u8], is_last: bool, end: usize) -> Verdict<usize> {
        let mut good = end;
        loop {
            match self.is_good(input, good, is_last) {
                Verdict::Yes(()) => break,
                Verdict::Unknown(needed) => return Verdict::Unknown(needed),
                Verdict::No => {}
            }
            match self.unit(input, good, is_last) {
                Unit::Broken(_, Some(size)) if good < MAX_RUN && self.has_header(input, good) => good += size,
                _ => return Verdict::No,
            }
        }
        for at in (self.stride()..good).step_by(self.stride()) {
            match self.verdict(input, at, is_last) {
                Verdict::No => {}
                Verdict::Unknown(needed) => return Verdict::Unknown(at + needed),
                Verdict::Yes(()) => return Verdict::No,
            }
        }
        Verdict::Yes(end)
    }

    /// Whether what is at `at` and cannot be read begins as a message does.
    fn has_header(&self, input: &[u8], at: usize) -> bool {
        let header = input.get(at..).and_then(|bytes| bytes.first_chunk::<8>());
        self.framing == Framing::Datagrams || header.is_some_and(|header| is_plausible(load(header)))
    }

    /// Whether a message, or the end of the input, is at `at`.
    fn is_good(&self, input: &[u8], at: usize, is_last: bool) -> Verdict<()> {
        match at.cmp(&input.len()) {
            Ordering::Less => {}
            Ordering::Equal if is_last => return Verdict::Yes(()),
            Ordering::Greater if is_last => return Verdict::No,
            _ => return Verdict::Unknown(at + 1),
        }
        match self.unit(input, at, is_last) {
            Unit::Message(_, _, Some(LogError { rule: Rule::TrailingBytes, .. })) => Verdict::No,
            Unit::Message(message, ..) if is_like_boolean(&message) => Verdict::No,
            Unit::Message(..) => Verdict::Yes(()),
            Unit::Unknown(needed) => Verdict::Unknown(at + needed),
            Unit::Broken(..) => Verdict::No,
        }
    }

    /// Where a message begins within what is at the beginning of the input and says that it ends at
    /// `end`. If there is a good place at `end`, only one counts from which messages lead there: it is one
    /// of them that said so.
    #[cold]
    fn within(&self, input: &[u8], is_last: bool, end: usize) -> Verdict<usize> {
        let mut is_end_good = None;
        // Messages that lead elsewhere: where the next one of the last such chain is, and how many chains.
        let (mut elsewhere, mut chains) = (0, 0);
        for at in (self.stride()..end).step_by(self.stride()) {
            match self.verdict(input, at, is_last) {
                Verdict::No => continue,
                Verdict::Unknown(needed) => return Verdict::Unknown(at + needed),
                Verdict::Yes(()) => {}
            }
            match is_end_good.get_or_insert_with(|| self.is_good(input, end, is_last)) {
                Verdict::No => return Verdict::Yes(at),
                Verdict::Unknown(needed) => return Verdict::Unknown(*needed),
                Verdict::Yes(()) => {}
            }
            while elsewhere != 0 && elsewhere < at {
                elsewhere = self.next_right(input, elsewhere, is_last).unwrap_or(0);
            }
            if elsewhere == at {
                continue;
            }
            match self.leads(input, at, end, is_last) {
                Verdict::No if chains == MAX_CHAINS => return Verdict::No,
                Verdict::No => (elsewhere, chains) = (at, chains + 1),
                Verdict::Unknown(needed) => return Verdict::Unknown(needed),
                Verdict::Yes(()) => return Verdict::Yes(at),
            }
        }
        Verdict::No
    }

    /// Where the message at `at`, which breaks no rule, ends.
    fn next_right(&self, input: &[u8], at: usize, is_last: bool) -> Option<usize> {
        match self.unit(input, at, is_last) {
            Unit::Message(_, size, None) => Some(at + size),
            _ => None,
        }
    }

    /// Whether nothing but messages are between these places.
    fn leads(&self, input: &[u8], begin: usize, end: usize, is_last: bool) -> Verdict<()> {
        let mut at = begin;
        while at < end {
            match self.unit(input, at, is_last) {
                Unit::Message(_, size, None) => at += size,
                Unit::Unknown(needed) => return Verdict::Unknown(at + needed),
                _ => return Verdict::No,
            }
        }
        if at == end { Verdict::Yes(()) } else { Verdict::No }
    }

    /// Looks for the next good place.
    #[cold]
    fn search<'a>(&mut self, input: &'a [u8], is_last: bool) -> Step<'a> {
        let Some(Lost { offset, error }) = self.lost else {
            return Step::wait(1);
        };
        // Not where it was lost.
        let mut at = if offset == self.offset { self.stride().min(input.len()) } else { 0 };
        let needed = loop {
            if at >= input.len() {
                break 1;
            }
            match self.verdict(input, at, is_last) {
                Verdict::Yes(()) => break 0,
                Verdict::No => at = (at + self.stride()).min(input.len()),
                Verdict::Unknown(needed) => break needed,
            }
        };
        self.offset += at as u64;
        let mut step = Step { consumed: at, found: None, needed };
        if needed == 0 || is_last && at == input.len() {
            self.lost = None;
            step.found = Some(Err(Damage { offset, skipped: self.offset - offset, error }));
        }
        step
    }

    /// Whether a message begins at `at`, of which nothing is known yet: it must be no accident that there
    /// is what can be read as one.
    fn verdict(&self, input: &[u8], at: usize, is_last: bool) -> Verdict {
        let bytes = input.get(at..).unwrap_or_default();
        let (payload, header) = match self.framing {
            Framing::Datagrams => (LENGTH, bytes.get(LENGTH..)),
            _ => (0, Some(bytes)),
        };
        // Most places can be told from a word.
        let Some(header) = header.and_then(|bytes| bytes.first_chunk::<8>()) else {
            return if is_last { Verdict::No } else { Verdict::Unknown(payload + 8) };
        };
        let header = load(header);
        if self.framing != Framing::Datagrams && !is_plausible(header) {
            return Verdict::No;
        }
        let (message, size) = match self.unit(input, at, is_last) {
            Unit::Message(_, _, Some(LogError { rule: Rule::TrailingBytes, .. })) => return Verdict::No,
            Unit::Message(message, size, _) => (message, size),
            Unit::Unknown(needed) => return Verdict::Unknown(needed),
            Unit::Broken(..) => return Verdict::No,
        };
        let follows = |is_good: &dyn Fn(usize) -> Verdict| match bytes.len() - size {
            0 if is_last => Verdict::Yes(()),
            0..8 if is_last => Verdict::No,
            0..8 => Verdict::Unknown(size + 8),
            _ => is_good(at + size),
        };
        match message {
            Message::Record { record, .. } => {
                if !is_plausible(record.header()) || !record.is_believable() {
                    Verdict::No
                } else if record.size_words() > RECORD_HEADER || self.framing == Framing::Datagrams {
                    Verdict::Yes(())
                } else if is_like_boolean(&message) {
                    Verdict::No
                } else {
                    follows(&|next| {
                        let next = input.get(next..).and_then(|bytes| bytes.first_chunk::<8>());
                        match next.is_some_and(|next| is_plausible(load(next))) {
                            true => Verdict::Yes(()),
                            false => Verdict::No,
                        }
                    })
                }
            }
            // There is little about a packet that can be wrong.
            Message::Legacy(_) => follows(&|next| match self.unit(input, next, is_last) {
                Unit::Message(..) => Verdict::Yes(()),
                Unit::Unknown(needed) => Verdict::Unknown(size + needed),
                Unit::Broken(..) => Verdict::No,
            }),
        }
    }
}

/// Whether it looks like an argument that is a boolean: a record without arguments and severity.
fn is_like_boolean(message: &Message<'_>) -> bool {
    matches!(message, Message::Record { record, .. }
        if record.size_words() == RECORD_HEADER && record.raw_severity() == 0)
}

/// The record at the beginning of `bytes`.
#[inline]
fn record(framing: Framing, bytes: &[u8], offset: u64, is_last: bool) -> Unit<'_> {
    let (record, behind) = match Record::read(bytes, offset) {
        Ok(read) => read,
        Err(error) => return incomplete_record(bytes, error, is_last),
    };
    let size = record.as_bytes().len();
    let broken = match record.first_broken() {
        Some(error) if error.rule.is_fatal() => {
            return Unit::Broken(error, (framing == Framing::Records).then_some(size));
        }
        broken => broken,
    };
    if framing == Framing::Records || is_last && behind.is_empty() {
        return Unit::Message(Message::Record { record, behind: &[] }, size, broken);
    }
    match Attribution::read_extended(behind, offset, offset + size as u64, &mut |_| {}) {
        Ok((_, rest)) => {
            let own = behind.len() - rest.len();
            let behind = behind.get(..own).unwrap_or_default();
            Unit::Message(Message::Record { record, behind }, size + own, broken)
        }
        Err(error) if error.rule == Rule::ExtendedTruncated && !is_last => {
            Unit::Unknown(size + error.expected as usize)
        }
        Err(error) => Unit::Broken(error, None),
    }
}

/// What it means that there is no record at the beginning of `bytes`.
#[cold]
fn incomplete_record<'a>(bytes: &'a [u8], error: LogError, is_last: bool) -> Unit<'a> {
    let needed = match error.rule {
        Rule::RecordHeaderTruncated => Some(8),
        Rule::TimestampTruncated => Some(16),
        Rule::RecordTruncated => Some(error.expected as usize),
        _ => None,
    };
    if let (Some(needed), false) = (needed, is_last) {
        return Unit::Unknown(needed);
    }
    // Even if the type is wrong, the size may be right.
    let header = bytes.first_chunk::<8>().map_or(0, load);
    let size = size_words(header);
    let end = (size >= RECORD_HEADER).then_some(size * 8);
    Unit::Broken(error, end)
}

/// The datagram at the beginning of `bytes`, with its length before it.
fn datagram(bytes: &[u8], offset: u64, is_last: bool) -> Unit<'_> {
    let found = bytes.len() as u64;
    let truncated = |needed: usize| match is_last {
        true => {
            let error = LogError::new(Rule::FrameTruncated, offset, offset, needed as u64, found);
            Unit::Broken(error, None)
        }
        false => Unit::Unknown(needed),
    };
    let Some((length, behind)) = bytes.split_first_chunk::<LENGTH>() else { return truncated(LENGTH) };
    let length = u32::from_le_bytes(*length) as usize;
    if length == 0 || length > MAX_FRAME {
        let most = MAX_FRAME as u64;
        return Unit::Broken(LogError::new(Rule::FrameLength, offset, offset, most, length as u64), None);
    }
    let Some(payload) = behind.get(..length) else { return truncated(LENGTH + length) };
    match Message::read(payload, offset + LENGTH as u64) {
        Ok(message) => {
            let at = offset + LENGTH as u64;
            let broken = match &message {
                Message::Record { record, .. } => message.trailing().or_else(|| record.first_broken()),
                // Nobody minds what is behind the message, but it may be the next packets.
                Message::Legacy(packet) if packet.size() + 1 != length => {
                    let (end, behind) = (packet.size() as u64 + 1, (length - packet.size() - 1) as u64);
                    Some(LogError::new(Rule::TrailingBytes, at, at + end, 0, behind))
                }
                Message::Legacy(_) => None,
            };
            Unit::Message(message, LENGTH + length, broken)
        }
        Err(error) => Unit::Broken(error, Some(LENGTH + length)),
    }
}
