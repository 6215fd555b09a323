//! Legacy packets, which components sent before structured records.
//!
//! A packet is a datagram. It has pid and tid (64 bits each), a time in nanoseconds (64 bits, signed), a severity
//! (32 bits, signed) and a count of dropped packets (32 bits). Up to five tags follow, each with a length byte before
//! it.
//! A 0 in place of the next length ends the tags. Then follow the message and a 0.

use core::fmt;

use super::error::{LogError, Rule};
use super::severity::Severity;
use super::text::Text;
use super::word::load;

/// Size of the metadata before the tags in bytes.
const METADATA: usize = 32;

/// Maximum number of tags in a packet.
const MAX_TAGS: usize = 5;

/// Maximum length of a tag in bytes.
const MAX_TAG: usize = 63;

/// Severity numbers used in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeverityScale {
    /// Numbers as in structured records, 0x10 to 0x60.
    #[default]
    Current,
    /// The numbers from 2019 to 2021: 0 is INFO, 1 WARN, 2 ERROR, 3 FATAL, -1 DEBUG, -2 TRACE. Lower numbers are
    /// verbosity levels. Greater numbers are read as on the current scale.
    Original,
}

/// A legacy packet that borrows its bytes.
#[derive(Clone, Copy)]
pub struct Packet<'a> {
    metadata: &'a [u8; METADATA],
    /// Tags, each after its length byte.
    tags: &'a [u8],
    message: &'a [u8],
    offset: u64,
}

impl<'a> Packet<'a> {
    /// Reads a packet from all of `bytes`. `offset` is its byte offset in the input, for errors.
    ///
    /// Ignores bytes after the first 0 that follows the message.
    ///
    /// # Errors
    /// In this order: the packet is too short, does not end with a 0, has a sixth tag, has a tag that is too long, or
    /// has
    /// tags or a message that end outside of it.
    pub fn read(bytes: &'a [u8], offset: u64) -> Result<Self, LogError> {
        let error = |rule: Rule, at: usize, expected: u64, found: u64| {
            LogError::new(rule, offset, offset + at as u64, expected, found)
        };
        let length = bytes.len();
        let (Some((metadata, data)), Some((&last, _))) =
            (bytes.split_first_chunk::<METADATA>(), bytes.split_last())
        else {
            return Err(error(Rule::LegacyTooShort, 0, METADATA as u64 + 1, length as u64));
        };
        if data.is_empty() {
            return Err(error(Rule::LegacyTooShort, 0, METADATA as u64 + 1, length as u64));
        }
        if last != 0 {
            return Err(error(Rule::LegacyNotTerminated, length - 1, 0, last.into()));
        }

        let mut left = data;
        let mut count = 0;
        loop {
            let at = length - left.len();
            // Never empty: the check below leaves a byte after each tag.
            let Some((&size, behind)) = left.split_first() else {
                return Err(error(Rule::LegacyOutOfBounds, at, at as u64 + 1, length as u64));
            };
            let size = usize::from(size);
            if size == 0 {
                break;
            }
            count += 1;
            if count > MAX_TAGS {
                return Err(error(Rule::LegacyTooManyTags, at, MAX_TAGS as u64, count as u64));
            }
            if size > MAX_TAG {
                return Err(error(Rule::LegacyTagTooLong, at, MAX_TAG as u64, size as u64));
            }
            let needed = (at + 1 + size + 1) as u64;
            let Some(next) = behind.get(size..).filter(|next| !next.is_empty()) else {
                return Err(error(Rule::LegacyOutOfBounds, at, needed, length as u64));
            };
            left = next;
        }
        let (tags, message) = data.split_at(data.len() - left.len());
        // The message starts after the end of the tags.
        let message = message.get(1..).unwrap_or_default();
        let Some(end) = message.iter().position(|byte| *byte == 0) else {
            // The final 0 ends the tags.
            return Err(error(Rule::LegacyOutOfBounds, length, length as u64 + 1, length as u64));
        };

        // The end was found in the message.
        Ok(Self { metadata, tags, message: message.get(..end).unwrap_or_default(), offset })
    }

    /// Returns a word of the metadata.
    fn word(&self, index: usize) -> u64 {
        self.metadata.as_chunks::<8>().0.get(index).map_or(0, load)
    }

    /// Returns the process koid.
    #[must_use]
    pub fn pid(&self) -> u64 {
        self.word(0)
    }

    /// Returns the thread koid.
    #[must_use]
    pub fn tid(&self) -> u64 {
        self.word(1)
    }

    /// Returns the time in nanoseconds when the message was written.
    #[must_use]
    pub fn timestamp(&self) -> i64 {
        self.word(2) as i64
    }

    /// Returns the severity number. [`Packet::severity`] names it.
    #[must_use]
    pub fn raw_severity(&self) -> i32 {
        self.word(3) as i32
    }

    /// Returns the number of packets dropped before this one.
    #[must_use]
    pub fn dropped(&self) -> u32 {
        (self.word(3) >> 32) as u32
    }

    /// Returns the message, with any bytes.
    #[must_use]
    pub fn message(&self) -> Text<'a> {
        self.message.into()
    }

    /// Returns the byte offset of the packet in the input.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the tags, with any bytes.
    pub fn tags(&self) -> impl Iterator<Item = Text<'a>> + Clone + use<'a> {
        let mut left = self.tags;
        core::iter::from_fn(move || {
            let (&size, behind) = left.split_first()?;
            let (tag, rest) = behind.split_at_checked(size.into())?;
            left = rest;
            Some(Text::from(tag))
        })
    }

    /// Returns the size in bytes, up to the 0 after the message.
    #[must_use]
    pub const fn size(&self) -> usize {
        METADATA + self.tags.len() + 1 + self.message.len()
    }

    /// Returns the severity as the number in a structured record.
    #[must_use]
    pub fn clamped_severity(&self) -> u8 {
        self.raw_severity().clamp(0, 255) as u8
    }

    /// Returns the named severity on this scale.
    #[must_use]
    pub fn severity(&self, scale: SeverityScale) -> Severity {
        match (scale, self.raw_severity()) {
            (SeverityScale::Original, 0) => Severity::Info,
            (SeverityScale::Original, 1) => Severity::Warn,
            (SeverityScale::Original, 2) => Severity::Error,
            (SeverityScale::Original, 3) => Severity::Fatal,
            (SeverityScale::Original, -2) => Severity::Trace,
            (SeverityScale::Original, ..0) => Severity::Debug,
            _ => Severity::from_raw(self.clamped_severity()),
        }
    }

    /// Returns the verbosity, which on the original scale is the distance of the severity below 0.
    #[must_use]
    pub fn verbosity(&self, scale: SeverityScale) -> Option<u32> {
        let is_verbose = scale == SeverityScale::Original && self.raw_severity() < 0;
        is_verbose.then_some(self.raw_severity().unsigned_abs())
    }
}

impl fmt::Debug for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packet")
            .field("pid", &self.pid())
            .field("tid", &self.tid())
            .field("timestamp", &self.timestamp())
            .field("raw_severity", &self.raw_severity())
            .field("dropped", &self.dropped())
            .field("tags", &Tags(*self))
            .field("message", &self.message())
            .field("offset", &self.offset)
            .finish()
    }
}

/// Formats the tags as a list.
struct Tags<'a>(Packet<'a>);

impl fmt::Debug for Tags<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.tags()).finish()
    }
}
