//! Distinguishes messages from bytes that look like messages by accident.

use super::error::{LogError, Rule};
use super::framing::Framing;
use super::legacy::Packet;
use super::message::{Message, has_severity, is_plausible};
use super::record::Record;
use super::severity::Severity;
use super::text::Text;
use super::unit::{InputUnit, LENGTH, MAX_FRAME};
use super::word::{RECORD_HEADER, load};

/// Strength of the evidence that a candidate is a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Proof {
    /// It looks like something else.
    None,
    /// A message if another message or the end of the input follows.
    Weak,
    /// It cannot be an accident.
    Strong,
}

impl Proof {
    /// Rates a readable message.
    pub(super) fn rate(message: &Message<'_>, broken: Option<&LogError>) -> Self {
        if broken.is_some_and(|error| error.rule == Rule::TrailingBytes) {
            return Self::None;
        }
        match message {
            Message::Record { record, .. } => Self::rate_record(record),
            Message::Legacy(packet) => Self::rate_packet(packet),
        }
    }

    fn rate_record(record: &Record<'_>) -> Self {
        if !is_plausible(record.header()) || is_like_boolean(record) {
            return Self::None;
        }
        let is_printf = record.is_printf();
        let mut has_name = false;
        let (mut is_believable, mut is_clean) = (true, record.raw_severity() != 0);
        let mut note = |error: LogError| match error.rule {
            Rule::MessageUtf8 => {}
            // Careless writers do this.
            Rule::NamePadding | Rule::ValuePadding => is_clean = false,
            _ => is_believable = false,
        };
        let mut is_named = true;
        let mut arguments = record.arguments();
        while let Some(argument) = arguments.next_plain().or_else(|| arguments.next_examined(&mut note)) {
            has_name |= !argument.name.is_empty();
            is_named &= is_printf || !argument.name.is_empty();
            is_named &= !argument.name.as_bytes().iter().any(u8::is_ascii_control);
        }
        match (is_believable, is_clean && is_named && has_name) {
            (false, _) => Self::None,
            (true, false) => Self::Weak,
            (true, true) => Self::Strong,
        }
    }

    /// Rates a packet. Few of its fields can be invalid, but many can be unusual.
    fn rate_packet(packet: &Packet<'_>) -> Self {
        const MAX_KOID: u64 = 1 << 48;
        const MAX_TIME: i64 = 1 << 60;
        const MAX_DROPPED: u32 = 1 << 24;
        let is_text = |text: Text<'_>| {
            let is_usual = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
            text.as_str().is_some() && text.as_bytes().iter().all(is_usual)
        };
        let is_usual = packet.pid() < MAX_KOID
            && packet.tid() < MAX_KOID
            && (0..MAX_TIME).contains(&packet.timestamp())
            && (-0x80..=0xff).contains(&packet.raw_severity())
            && packet.dropped() < MAX_DROPPED
            && !packet.message().is_empty()
            && is_text(packet.message())
            && packet.tags().all(is_text);
        if is_usual { Self::Strong } else { Self::Weak }
    }
}

/// Returns `true` if a record looks like a boolean argument, without arguments and severity.
fn is_like_boolean(record: &Record<'_>) -> bool {
    record.size_words() == RECORD_HEADER && record.raw_severity() == 0
}

/// Rates a message that follows a message of doubtful size.
pub(super) fn is_good(message: &Message<'_>, broken: Option<&LogError>) -> Proof {
    if broken.is_some_and(|error| error.rule == Rule::TrailingBytes) {
        return Proof::None;
    }
    let Message::Record { record, .. } = message else { return Proof::rate(message, broken) };
    if is_like_boolean(record) {
        Proof::None
    } else if record.size_words() == RECORD_HEADER && !is_bare(record) {
        Proof::Weak
    } else {
        Proof::Strong
    }
}

/// Returns `true` if a readable message is unlikely to be an accident. It then takes precedence over a message inside
/// it.
pub(super) fn is_probable(message: &Message<'_>, broken: Option<&LogError>) -> bool {
    match message {
        Message::Record { .. } => broken.is_none_or(|error| error.rule != Rule::TrailingBytes),
        Message::Legacy(_) => Proof::rate(message, broken) == Proof::Strong,
    }
}

/// Returns `true` for a record without arguments whose header has only usual values.
fn is_bare(record: &Record<'_>) -> bool {
    let is_named = Severity::exact(record.raw_severity()).is_some();
    is_named && record.tag_bits() == 0 && record.reserved_bits() == 0 && record.timestamp() >= 0
}

/// Finds the first position between `from` and `to` that starts like a message, or returns `to`.
///
/// The error is the first position with too few bytes to decide, and the number of bytes needed.
pub(super) fn next_candidate(
    framing: Framing,
    input: &[u8],
    from: usize,
    to: usize,
    is_last: bool,
) -> Result<usize, (usize, usize)> {
    let needed = match framing {
        Framing::Datagrams => LENGTH + 8,
        _ => 8,
    };
    // Range of positions with enough bytes.
    let whole = (input.len() + 1).saturating_sub(needed).clamp(from, to.max(from));
    let bytes = input.get(from..).unwrap_or_default();
    let found = match framing {
        Framing::Datagrams => bytes.array_windows().take(whole - from).position(is_like_datagram),
        _ => bytes.array_windows().take(whole - from).position(|header| is_plausible(load(header))),
    };
    match found {
        Some(at) => Ok(from + at),
        None if whole >= to || is_last => Ok(to),
        None => Err((whole, whole + needed)),
    }
}

/// Returns `true` if a datagram can start with these bytes.
fn is_like_datagram(bytes: &[u8; LENGTH + 8]) -> bool {
    let [a, b, c, d, header @ ..] = *bytes;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    // A packet has more than 32 bytes.
    (1..=MAX_FRAME).contains(&length)
        && (is_plausible(load(&header)) || length > 32 && !has_severity(&header))
}

/// Budget for examining bytes without a result.
///
/// Each position in a file can look like the start of a message until its end is examined. So looking ahead has a
/// budget, which grows with each passed byte. When it is used up, positions are skipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProofBudget {
    left: i32,
}

impl ProofBudget {
    /// Initial and maximum budget in bytes.
    const MOST: i32 = 256 << 10;
    /// Gain for each passed byte.
    const GAIN: usize = 4;
    /// Bytes that can be examined for free at each position.
    const FREE: i32 = 64;

    pub(super) const fn new() -> Self {
        Self { left: Self::MOST }
    }

    pub(super) const fn is_spent(self) -> bool {
        self.left <= 0
    }

    /// Adds the gain for `bytes` passed bytes.
    pub(super) fn gain(&mut self, bytes: usize) {
        let gain = bytes.saturating_mul(Self::GAIN).min(Self::MOST as usize) as i32;
        self.left = self.left.saturating_add(gain).min(Self::MOST);
    }

    /// Charges for examined bytes.
    pub(super) fn spend(&mut self, bytes: usize) {
        let cost = bytes.min(Self::MOST as usize) as i32;
        self.left = self.left.saturating_sub(cost).max(-Self::MOST);
    }

    /// Runs `work` within the budget, with the free bytes of a position.
    pub(super) fn at_position<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.left;
        let done = work(self);
        self.left = self.left.saturating_add(Self::FREE).min(before);
        done
    }

    /// Like [`InputUnit::read`], but charges the budget unless more bytes are needed.
    pub(super) fn read<'a>(
        &mut self,
        framing: Framing,
        bytes: &'a [u8],
        offset: u64,
        is_last: bool,
    ) -> InputUnit<'a> {
        let unit = InputUnit::read(framing, bytes, offset, is_last);
        match &unit {
            InputUnit::Unknown(_) => {}
            InputUnit::Message(_, _, Some(error)) if error.rule == Rule::TrailingBytes => {
                self.spend(error.at.saturating_sub(offset) as usize);
            }
            InputUnit::Message(_, size, _) => self.spend(*size),
            // The end was examined without the bytes before it.
            InputUnit::Broken(error, _) if error.rule == Rule::LegacyNotTerminated => {}
            InputUnit::Broken(error, _) => self.spend(error.at.saturating_sub(offset) as usize),
        }
        unit
    }
}
