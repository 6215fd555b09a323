//! One log message, whichever way it is written.

use super::argument::size_words;
use super::attribution::Attribution;
use super::check::CheckOptions;
use super::error::{LogError, Rule};
use super::legacy::Packet;
use super::record::{LOG_RECORD, RECORD_HEADER, Record};
use super::word::load;

/// The size of the largest datagram that the sockets for logs take, in bytes.
pub(crate) const MAX_DATAGRAM: usize = 32_768;

/// A log message.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// A structured record, all of whose arguments can be read.
    Record {
        /// The record.
        record: Record<'a>,
        /// What is behind the record in its datagram: what an extended record is extended by, or
        /// bytes that do not belong there. Nothing, most often.
        behind: &'a [u8],
    },
    /// A legacy packet.
    Legacy(Packet<'a>),
}

impl<'a> Message<'a> {
    /// The message that a datagram is, recognised by its content. `offset` is where it begins in the
    /// input, for errors.
    ///
    /// # Errors
    /// If it is neither a record nor a packet that can be read: why it is not what it looks like most.
    pub fn read(bytes: &'a [u8], offset: u64) -> Result<Self, LogError> {
        let record = Self::read_record(bytes, offset);
        let is_whole = match record {
            Ok(message) => message.trailing().is_none(),
            Err(_) => false,
        };
        if is_whole || has_severity(bytes) {
            return record;
        }
        // The koid of a process may begin as a record without severity does.
        let packet = Packet::read(bytes, offset).and_then(|packet| match bytes.len() {
            ..=MAX_DATAGRAM => Ok(Self::Legacy(packet)),
            length => {
                let most = MAX_DATAGRAM as u64;
                Err(LogError::new(Rule::RecordSizeMaximum, offset, offset, most, length as u64))
            }
        });
        if packet.is_ok() || record.is_err() && !looks_like_record(bytes) { packet } else { record }
    }

    fn read_record(bytes: &'a [u8], offset: u64) -> Result<Self, LogError> {
        let (record, behind) = Record::read(bytes, offset)?;
        record.validate()?;
        Ok(Self::Record { record, behind })
    }

    /// Who wrote it, if it is an extended record. See [`Record::appended`] for the other way to say that.
    #[must_use]
    pub fn attribution(&self) -> Option<Attribution<'a>> {
        self.read_attribution(&mut |_| {})
    }

    fn read_attribution(&self, report: &mut dyn FnMut(LogError)) -> Option<Attribution<'a>> {
        let Self::Record { record, behind } = self else { return None };
        let (begin, size) = (record.offset(), record.as_bytes().len() as u64);
        let (attribution, rest) = Attribution::read_extended(behind, begin, begin + size, report).ok()?;
        rest.is_empty().then_some(attribution)
    }

    /// Reports each rule that the message breaks.
    pub fn check(&self, options: CheckOptions, report: &mut dyn FnMut(LogError)) {
        let Self::Record { record, .. } = self else { return };
        record.check(options, report);
        match self.trailing() {
            None if options.newer_forms => drop(self.read_attribution(report)),
            None => self.behind().into_iter().for_each(report),
            Some(error) => report(error),
        }
    }

    /// That there are bytes behind the record that do not belong there.
    pub(super) fn trailing(&self) -> Option<LogError> {
        self.behind().filter(|_| self.attribution().is_none())
    }

    /// That there are bytes behind the record.
    fn behind(&self) -> Option<LogError> {
        let Self::Record { record, behind: behind @ [_, ..] } = self else { return None };
        let (begin, size) = (record.offset(), record.as_bytes().len() as u64);
        Some(LogError::new(Rule::TrailingBytes, begin, begin + size, 0, behind.len() as u64))
    }

    /// Where it begins in the input, in bytes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        match self {
            Self::Record { record, .. } => record.offset(),
            Self::Legacy(packet) => packet.offset(),
        }
    }
}

/// Whether the first word cannot be the koid of a process, which has none of these bits: those of the
/// severity of a record, without the highest one.
pub(super) fn has_severity(bytes: &[u8]) -> bool {
    bytes.first_chunk::<8>().is_some_and(|word| load(word) >> 56 & 0x7f != 0)
}

/// Whether a datagram that cannot be read is more of a record than of a packet.
fn looks_like_record(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<8>() else { return true };
    is_plausible(load(header)) && bytes.len() <= size_words(load(header)) * 8
}

/// Whether a word can be the header of a record.
#[inline(always)]
pub(crate) const fn is_plausible(header: u64) -> bool {
    const RESERVED: u64 = 0xff << 48;
    header & (RESERVED | 0xf) == LOG_RECORD && size_words(header) >= RECORD_HEADER
}

/// Whether a word is what the header of a record mostly is: there is a severity, of the lower half, too.
#[inline(always)]
pub(crate) const fn is_usual(header: u64) -> bool {
    // The type, the severity and the reserved bits: 0x9, 0x01 to 0x80, 0x00.
    let bits = header.rotate_left(16) as u32 & 0xf_ffff;
    bits.wrapping_sub(0x9_0100) & 0xffff_80ff == 0
}
