//! Logs that resume in the middle of a timeline.
//!
//! A line depends on earlier messages only through a loss that the next event can report itself.

use std::io;

use super::{Log, UnreportedLoss};
use crate::resume::{Fixup, Resolution, ResumableSink, SinkState, StreamOrder};
use crate::text_buffer::TextWriter;

/// State of [`Log`] that later lines depend on.
#[derive(Clone, Debug, Default)]
pub struct LogState {
    /// Loss that was not written yet.
    pub(super) loss: Option<UnreportedLoss>,
    /// `true` after a message that writes such a loss.
    has_message: bool,
}

/// First message for which [`Log`] writes something. An earlier loss would be written there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstMessage;

impl SinkState for LogState {
    type Cause = FirstMessage;

    fn resolve(&mut self, _: &FirstMessage, _: &mut Vec<u8>) -> Resolution {
        if self.loss.is_some() { Resolution::Rewrite } else { Resolution::Keep }
    }

    fn then(self, later: Self) -> Self {
        if later.has_message { later } else { self }
    }
}

/// State of a resumed sink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ResumedLog {
    /// Earlier messages are known.
    #[default]
    No,
    /// No message yet.
    Before,
    /// The first message is at this offset and needs a fixup.
    At(u64),
    /// The fixup was reported.
    Done,
}

impl<W: TextWriter> Log<W> {
    /// Starts a message that writes a loss before it.
    #[inline]
    pub(super) fn begin_message(&mut self) {
        self.has_message = true;
        if self.resumed == ResumedLog::Before {
            self.resumed = ResumedLog::At(self.output.position());
        }
    }
}

impl<W: TextWriter> ResumableSink for Log<W> {
    type State = LogState;

    fn resume(&mut self, _: &StreamOrder, state: Option<LogState>) {
        match state {
            Some(state) => self.loss = state.loss,
            None => self.resumed = ResumedLog::Before,
        }
    }

    #[inline]
    fn next_fixup(&mut self) -> Option<Fixup<FirstMessage>> {
        let ResumedLog::At(offset) = self.resumed else { return None };
        self.resumed = ResumedLog::Done;
        Some(Fixup { offset, length: 0, cause: FirstMessage })
    }

    fn state(&self) -> LogState {
        LogState { loss: self.loss.clone(), has_message: self.has_message }
    }

    fn pause(&mut self) -> io::Result<()> {
        self.output.flush()?;
        self.output.failures.into_result()
    }
}
