//! Events ("Event record" of the document).

use super::argument::Arguments;
use super::content::{RecordContent, bits};
use super::error::FxtError;
use super::reference::{StringRef, ThreadRef};

/// Event type with its type-specific data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// A moment in time. Some writers add a scope: 0 for the thread, 1 for the process, 2 for everything.
    Instant {
        /// Scope, if recorded.
        scope: Option<u64>,
    },
    /// Counter values.
    Counter {
        /// Counter id.
        id: u64,
    },
    /// Start of a span on one thread.
    DurationBegin,
    /// End of a span on one thread.
    DurationEnd,
    /// A complete span on one thread.
    DurationComplete {
        /// End time in ticks.
        end: u64,
    },
    /// Start of a span that can involve several threads.
    AsyncBegin {
        /// Correlation id.
        id: u64,
    },
    /// A moment within an async span.
    AsyncInstant {
        /// Correlation id.
        id: u64,
    },
    /// End of an async span.
    AsyncEnd {
        /// Correlation id.
        id: u64,
    },
    /// Start of a flow.
    FlowBegin {
        /// Correlation id.
        id: u64,
    },
    /// A step of a flow.
    FlowStep {
        /// Correlation id.
        id: u64,
    },
    /// End of a flow.
    FlowEnd {
        /// Correlation id.
        id: u64,
    },
}

/// Number of known event types.
pub(crate) const KINDS: u8 = 11;

impl EventKind {
    /// Returns the event type (bits 16 to 19 of the header).
    #[inline]
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Instant { .. } => 0,
            Self::Counter { .. } => 1,
            Self::DurationBegin => 2,
            Self::DurationEnd => 3,
            Self::DurationComplete { .. } => 4,
            Self::AsyncBegin { .. } => 5,
            Self::AsyncInstant { .. } => 6,
            Self::AsyncEnd { .. } => 7,
            Self::FlowBegin { .. } => 8,
            Self::FlowStep { .. } => 9,
            Self::FlowEnd { .. } => 10,
        }
    }

    /// Returns the word after the arguments: the id, the end or the scope.
    #[inline]
    #[must_use]
    pub const fn word(self) -> Option<u64> {
        match self {
            Self::DurationBegin | Self::DurationEnd => None,
            Self::Instant { scope } => scope,
            Self::DurationComplete { end } => Some(end),
            Self::Counter { id }
            | Self::AsyncBegin { id }
            | Self::AsyncInstant { id }
            | Self::AsyncEnd { id }
            | Self::FlowBegin { id }
            | Self::FlowStep { id }
            | Self::FlowEnd { id } => Some(id),
        }
    }

    /// Returns the event type for a number and its word, or `None` if the type is unknown or lacks its word.
    #[inline(always)]
    pub(crate) const fn from_number(number: u64, word: Option<u64>) -> Option<Self> {
        match (number, word) {
            // Most events lack this word.
            (2, _) => Some(Self::DurationBegin),
            (3, _) => Some(Self::DurationEnd),
            (0, scope) => Some(Self::Instant { scope }),
            (_, None) => None,
            (1, Some(id)) => Some(Self::Counter { id }),
            (4, Some(end)) => Some(Self::DurationComplete { end }),
            (5, Some(id)) => Some(Self::AsyncBegin { id }),
            (6, Some(id)) => Some(Self::AsyncInstant { id }),
            (7, Some(id)) => Some(Self::AsyncEnd { id }),
            (8, Some(id)) => Some(Self::FlowBegin { id }),
            (9, Some(id)) => Some(Self::FlowStep { id }),
            (10, Some(id)) => Some(Self::FlowEnd { id }),
            _ => None,
        }
    }

    /// Reads the type-specific data, or returns `None` if the type is unknown.
    #[inline(always)]
    fn read(number: u64, content: &mut RecordContent<'_>) -> Result<Option<Self>, FxtError> {
        let word = match number {
            2 | 3 => None,
            0 => content.word().ok(),
            _ => Some(content.word()?),
        };
        Ok(Self::from_number(number, word))
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRecord<'a> {
    /// Record header.
    pub header: u64,
    /// Time in ticks.
    pub ticks: u64,
    /// Thread.
    pub thread: ThreadRef,
    /// Category.
    pub category: StringRef<'a>,
    /// Name.
    pub name: StringRef<'a>,
    /// Arguments.
    pub arguments: Arguments<'a>,
    /// Type, with its data.
    pub kind: EventKind,
}

impl<'a> EventRecord<'a> {
    /// Reads an event from the record content. Returns `None` if the event type is unknown.
    #[inline(always)]
    pub(super) fn read(header: u64, content: &mut RecordContent<'a>) -> Result<Option<Self>, FxtError> {
        if bits(header, 16, 19) >= KINDS.into() {
            return Ok(None);
        }
        let ticks = content.word()?;
        let thread = content.thread(bits(header, 24, 31))?;
        let category = content.string(bits(header, 32, 47))?;
        let name = content.string(bits(header, 48, 63))?;
        let arguments = Arguments::take(content, bits(header, 20, 23))?;
        let Some(kind) = EventKind::read(bits(header, 16, 19), content)? else { return Ok(None) };
        Ok(Some(Self { header, ticks, thread, category, name, arguments, kind }))
    }
}
