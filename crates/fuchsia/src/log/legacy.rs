//! Legacy packets: what components sent before structured records.
//!
//! A packet is a datagram: pid and tid (64 bits each), a time in nanoseconds (64 bits, signed), a
//! severity (32 bits, signed) and a count of dropped packets (32 bits); then up to five tags, each with
//! a byte for its length before it, a 0 where the next length would be, the message, and a 0.

use core::fmt;

use super::error::{LogError, Rule};
use super::severity::Severity;
use super::text::Text;
use super::word::load;

/// Size of what comes before the tags, in bytes.
const METADATA: usize = 32;

/// How many tags a packet can have.
const MAX_TAGS: usize = 5;

/// The longest tag in bytes.
const MAX_TAG: usize = 63;

/// Which numbers stand for which severities in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeverityScale {
    /// Those of structured records, 0x10 to 0x60.
    #[default]
    Current,
    /// Those of 2019 to 2021: 0 is INFO, 1 WARN, 2 ERROR, 3 FATAL, -1 DEBUG, -2 TRACE, and what is
    /// below is verbosity. Numbers beyond count as on the current scale.
    Original,
}

/// A legacy packet, borrowed from where it lies.
#[derive(Clone, Copy)]
pub struct Packet<'a> {
    metadata: &'a [u8; METADATA],
    /// The tags, with the lengths before them.
    tags: &'a [u8],
    message: &'a [u8],
    offset: u64,
}

impl<'a> Packet<'a> {
    /// The packet that `bytes` are. `offset` is where it begins in the input, for errors.
    ///
    /// # Errors
    /// In this order: if it is too short, does not end with a 0, has a sixth tag, a tag that is too
    /// long, or tags or a message that end beyond it. What follows the first 0 behind the message does
    /// not matter.
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
            // There is a byte: that a tag leaves one is seen below.
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
        let message = message.get(1..).unwrap_or_default();
        let Some(end) = message.iter().position(|byte| *byte == 0) else {
            // The 0 at the end ends the tags.
            return Err(error(Rule::LegacyOutOfBounds, length, length as u64 + 1, length as u64));
        };

        Ok(Self { metadata, tags, message: message.get(..end).unwrap_or_default(), offset })
    }

    /// A word of the metadata.
    fn word(&self, index: usize) -> u64 {
        self.metadata.as_chunks::<8>().0.get(index).map_or(0, load)
    }

    /// The koid of the process.
    #[must_use]
    pub fn pid(&self) -> u64 {
        self.word(0)
    }

    /// The koid of the thread.
    #[must_use]
    pub fn tid(&self) -> u64 {
        self.word(1)
    }

    /// When it was written, in nanoseconds.
    #[must_use]
    pub fn timestamp(&self) -> i64 {
        self.word(2) as i64
    }

    /// The number of its severity; see [`Packet::severity`].
    #[must_use]
    pub fn raw_severity(&self) -> i32 {
        self.word(3) as i32
    }

    /// How many packets were dropped before.
    #[must_use]
    pub fn dropped(&self) -> u32 {
        (self.word(3) >> 32) as u32
    }

    /// The message: any bytes.
    #[must_use]
    pub fn message(&self) -> Text<'a> {
        self.message.into()
    }

    /// Where it begins in the input, in bytes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The tags, in order: any bytes.
    pub fn tags(&self) -> impl Iterator<Item = Text<'a>> + Clone + use<'a> {
        let mut left = self.tags;
        core::iter::from_fn(move || {
            let (&size, behind) = left.split_first()?;
            let (tag, rest) = behind.split_at_checked(size.into())?;
            left = rest;
            Some(Text::from(tag))
        })
    }

    /// Its size in bytes, up to the 0 that ends the message.
    #[must_use]
    pub const fn size(&self) -> usize {
        METADATA + self.tags.len() + 1 + self.message.len()
    }

    /// The number of its severity as a structured record would have it.
    #[must_use]
    pub fn clamped_severity(&self) -> u8 {
        self.raw_severity().clamp(0, 255) as u8
    }

    /// The named severity that it counts as.
    #[must_use]
    pub fn severity(&self, scale: SeverityScale) -> Severity {
        match (scale, self.raw_severity()) {
            (SeverityScale::Original, 0) => Severity::Info,
            (SeverityScale::Original, 1) => Severity::Warn,
            (SeverityScale::Original, 2) => Severity::Error,
            (SeverityScale::Original, 3) => Severity::Fatal,
            (SeverityScale::Original, -2) => Severity::Trace,
            (SeverityScale::Original, ..0) => Severity::Debug,
            _ => Severity::of(self.clamped_severity()),
        }
    }

    /// How verbose it is: on the original scale, how far its severity is below 0.
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

/// The tags as a list.
struct Tags<'a>(Packet<'a>);

impl fmt::Debug for Tags<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.tags()).finish()
    }
}
