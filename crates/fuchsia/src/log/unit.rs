//! What there is at a place: a message, something that cannot be read, or too few bytes to say.

use super::argument::size_words;
use super::attribution::Attribution;
use super::error::{LogError, Rule};
use super::framing::Framing;
use super::message::Message;
use super::record::{RECORD_HEADER, Record};
use super::word::load;

/// The longest datagram that a length may stand for, in bytes: an extended record may be longer than
/// what the sockets take.
pub(super) const MAX_FRAME: usize = 64 << 10;

/// Size of the length before a datagram.
pub(super) const LENGTH: usize = 4;

/// What is at a place.
pub(super) enum Unit<'a> {
    /// A message, and its size with all that belongs to it. With an error if it breaks a rule.
    Message(Message<'a>, usize, Option<LogError>),
    /// It takes this many bytes to say.
    Unknown(usize),
    /// Something that cannot be read, and where it ends if its size is right.
    Broken(LogError, Option<usize>),
}

impl<'a> Unit<'a> {
    /// What there is at the beginning of `bytes`, which are at `offset` of the input. `is_last` says that
    /// no more bytes come behind them.
    #[inline]
    pub(super) fn read(framing: Framing, bytes: &'a [u8], offset: u64, is_last: bool) -> Self {
        match framing {
            Framing::Datagrams => datagram(bytes, offset, is_last),
            framing => record(framing, bytes, offset, is_last),
        }
    }
}

/// The record at the beginning of `bytes`.
#[inline]
fn record(framing: Framing, bytes: &[u8], offset: u64, is_last: bool) -> Unit<'_> {
    let (record, behind) = match Record::read(bytes, offset) {
        Ok(read) => read,
        Err(error) => return incomplete_record(bytes, error, is_last),
    };
    let size = record.as_bytes().len();
    let mut broken = match record.first_broken() {
        Some(error) if error.rule.is_fatal() => {
            return Unit::Broken(error, (framing == Framing::Records).then_some(size));
        }
        broken => broken,
    };
    if is_argument(&record) {
        let error = LogError::new(Rule::ArgumentAlone, offset, offset, 0, record.header());
        return Unit::Broken(error, (framing == Framing::Records).then_some(size));
    }
    if framing == Framing::Records || is_last && behind.is_empty() {
        return Unit::Message(Message::Record { record, behind: &[] }, size, broken);
    }
    let mut note = |error: LogError| broken = broken.or(Some(error));
    match Attribution::read_extended(behind, offset, offset + size as u64, &mut note) {
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

/// Whether it is an argument that is a boolean: what could be read as a record without arguments and severity.
#[inline]
fn is_argument(record: &Record<'_>) -> bool {
    const NAME: core::ops::RangeInclusive<u64> = 0x8001..=0x8008;
    record.size_words() == RECORD_HEADER
        && record.header() >> 33 == 0
        && NAME.contains(&(record.header() >> 16 & 0xffff))
        && record.timestamp() > 0
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
                // What is behind the message does no harm, but it may be the next packets.
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
