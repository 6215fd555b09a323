//! Reads the unit at a position: a message, unreadable bytes, or too few bytes to decide.

use super::argument::size_words;
use super::attribution::Attribution;
use super::error::{LogError, Rule};
use super::framing::Framing;
use super::message::Message;
use super::record::Record;
use super::word::{RECORD_HEADER, load};

/// Maximum datagram length in bytes, by its length field. An extended record can exceed the socket limit.
pub(super) const MAX_FRAME: usize = 64 << 10;

/// Size of the datagram length field in bytes.
pub(super) const LENGTH: usize = 4;

/// Input unit at a position.
pub(super) enum InputUnit<'a> {
    /// A message, its size with everything that belongs to it, and an error if it breaks a rule.
    Message(Message<'a>, usize, Option<LogError>),
    /// Number of bytes needed to decide.
    Unknown(usize),
    /// Unreadable bytes, and their end if their size is valid.
    Broken(LogError, Option<usize>),
}

impl<'a> InputUnit<'a> {
    /// Reads the unit at the start of `bytes`, at byte `offset` of the input. `is_last` must be `true` if no bytes
    /// follow.
    #[inline]
    pub(super) fn read(framing: Framing, bytes: &'a [u8], offset: u64, is_last: bool) -> Self {
        match framing {
            Framing::Datagrams => datagram(bytes, offset, is_last),
            framing => record(framing, bytes, offset, is_last),
        }
    }
}

/// Reads the record at the start of `bytes`.
#[inline]
fn record(framing: Framing, bytes: &[u8], offset: u64, is_last: bool) -> InputUnit<'_> {
    let (record, behind) = match Record::read(bytes, offset) {
        Ok(read) => read,
        Err(error) => return incomplete_record(bytes, error, is_last),
    };
    let size = record.as_bytes().len();
    let mut broken = match record.first_broken() {
        Some(error) if error.rule.is_fatal() => {
            return InputUnit::Broken(error, (framing == Framing::Records).then_some(size));
        }
        broken => broken,
    };
    if is_argument(&record) {
        let error = LogError::new(Rule::ArgumentAlone, offset, offset, 0, record.header());
        return InputUnit::Broken(error, (framing == Framing::Records).then_some(size));
    }
    if framing == Framing::Records || is_last && behind.is_empty() {
        return InputUnit::Message(Message::Record { record, behind: &[] }, size, broken);
    }
    let mut note = |error: LogError| broken = broken.or(Some(error));
    match Attribution::read_extended(behind, offset, offset + size as u64, &mut note) {
        Ok((_, rest)) => {
            let own = behind.len() - rest.len();
            // The rest is a part of these bytes.
            let behind = behind.get(..own).unwrap_or_default();
            InputUnit::Message(Message::Record { record, behind }, size + own, broken)
        }
        Err(error) if error.rule == Rule::ExtendedTruncated && !is_last => {
            InputUnit::Unknown(size + error.expected as usize)
        }
        Err(error) => InputUnit::Broken(error, None),
    }
}

/// Returns `true` for a boolean argument, which can look like a record without arguments and severity.
#[inline]
fn is_argument(record: &Record<'_>) -> bool {
    const NAME: core::ops::RangeInclusive<u64> = 0x8001..=0x8008;
    record.size_words() == RECORD_HEADER
        && record.header() >> 33 == 0
        && NAME.contains(&(record.header() >> 16 & 0xffff))
        && record.timestamp() > 0
}

/// Returns the unit for `bytes` that do not start with a record.
#[cold]
fn incomplete_record<'a>(bytes: &'a [u8], error: LogError, is_last: bool) -> InputUnit<'a> {
    let needed = match error.rule {
        Rule::RecordHeaderTruncated => Some(8),
        Rule::TimestampTruncated => Some(16),
        Rule::RecordTruncated => Some(error.expected as usize),
        _ => None,
    };
    if let (Some(needed), false) = (needed, is_last) {
        return InputUnit::Unknown(needed);
    }
    // The size can be valid even with a wrong type.
    let header = bytes.first_chunk::<8>().map_or(0, load);
    let size = size_words(header);
    let end = (size >= RECORD_HEADER).then_some(size * 8);
    InputUnit::Broken(error, end)
}

/// Reads the datagram at the start of `bytes`, after its length.
fn datagram(bytes: &[u8], offset: u64, is_last: bool) -> InputUnit<'_> {
    let found = bytes.len() as u64;
    let truncated = |needed: usize| match is_last {
        true => {
            let error = LogError::new(Rule::FrameTruncated, offset, offset, needed as u64, found);
            InputUnit::Broken(error, None)
        }
        false => InputUnit::Unknown(needed),
    };
    let Some((length, behind)) = bytes.split_first_chunk::<LENGTH>() else { return truncated(LENGTH) };
    let length = u32::from_le_bytes(*length) as usize;
    if length == 0 || length > MAX_FRAME {
        let most = MAX_FRAME as u64;
        return InputUnit::Broken(
            LogError::new(Rule::FrameLength, offset, offset, most, length as u64),
            None,
        );
    }
    let Some(payload) = behind.get(..length) else { return truncated(LENGTH + length) };
    match Message::read(payload, offset + LENGTH as u64) {
        Ok(message) => {
            let at = offset + LENGTH as u64;
            let broken = match &message {
                Message::Record { record, .. } => message.trailing().or_else(|| record.first_broken()),
                // Bytes after the message are harmless, but can be the next packets.
                Message::Legacy(packet) if packet.size() + 1 != length => {
                    let (end, behind) = (packet.size() as u64 + 1, (length - packet.size() - 1) as u64);
                    Some(LogError::new(Rule::TrailingBytes, at, at + end, 0, behind))
                }
                Message::Legacy(_) => None,
            };
            InputUnit::Message(message, LENGTH + length, broken)
        }
        Err(error) => InputUnit::Broken(error, Some(LENGTH + length)),
    }
}
