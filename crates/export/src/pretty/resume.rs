//! Pretty text that goes on in the middle of a timeline.
//!
//! All that a line has from the lines before is the time since the last event. So the first line of a chunk
//! leaves a fixup there.

use super::{Pretty, push_delta};
use crate::resume::{Fixup, Resolution, ResumableSink, SinkState, StreamOrder};

/// What later lines of [`Pretty`] depend on of earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrettyState {
    /// When the last event was recorded.
    pub(super) last: Option<u64>,
    /// The last difference that was printed.
    pub(super) delta: Option<u64>,
    /// Whether there was an event with a time, and a difference.
    has_last: bool,
    has_delta: bool,
    /// Whether a time before the origin was printed.
    pub(super) negative_seen: bool,
}

/// The time since the last event is missing in the text of a [`Pretty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeltaCause {
    /// When the event was recorded.
    now: u64,
    /// Whether times are printed in clock cycles.
    cycles: bool,
}

impl SinkState for PrettyState {
    type Cause = DeltaCause;

    fn resolve(&mut self, cause: &DeltaCause, text: &mut Vec<u8>) -> Resolution {
        self.advance(cause.now);
        push_delta(text, self.delta, cause.cycles);
        Resolution::Keep
    }

    fn then(self, later: Self) -> Self {
        Self {
            last: if later.has_last { later.last } else { self.last },
            delta: if later.has_delta { later.delta } else { self.delta },
            has_last: self.has_last || later.has_last,
            has_delta: self.has_delta || later.has_delta,
            negative_seen: self.negative_seen || later.negative_seen,
        }
    }
}

impl PrettyState {
    /// An event was recorded at this time.
    #[inline]
    pub(super) fn advance(&mut self, now: u64) {
        if let Some(last) = self.last {
            self.delta = Some(now.wrapping_sub(last)).filter(|delta| *delta != u64::MAX);
            self.has_delta = true;
        }
        self.last = Some(now).filter(|now| *now != u64::MAX);
        self.has_last = true;
    }
}

/// What a sink that does not know what came before keeps of that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Resumed {
    /// Whether the first event with a time was written.
    pub(super) has_event: bool,
    pub(super) fixup: Option<Fixup<DeltaCause>>,
    pub(super) must_rewrite: bool,
}

impl Resumed {
    /// The difference of the first event is missing at this offset; None: its time is none.
    pub(super) fn first_event(&mut self, offset: u64, now: Option<u64>, cycles: bool) {
        match now {
            Some(now) => {
                self.has_event = true;
                self.fixup = Some(Fixup { offset, length: 0, cause: DeltaCause { now, cycles } });
            }
            None => self.must_rewrite = true,
        }
    }
}

impl<W: crate::TextWriter> ResumableSink for Pretty<W> {
    type State = PrettyState;

    fn resume(&mut self, _: &StreamOrder, state: Option<PrettyState>) {
        match state {
            Some(state) => {
                self.past = state;
                self.clock.negative_seen = state.negative_seen;
            }
            None => self.resumed = Some(Resumed::default()),
        }
    }

    #[inline]
    fn next_fixup(&mut self) -> Option<Fixup<DeltaCause>> {
        self.resumed.as_mut()?.fixup.take()
    }

    /// That happens with times that are extreme or before the origin.
    #[inline]
    fn must_rewrite(&self) -> bool {
        self.resumed.is_some_and(|resumed| resumed.must_rewrite || self.clock.negative_mattered)
    }

    fn state(&self) -> PrettyState {
        PrettyState { negative_seen: self.clock.negative_seen, ..self.past }
    }
}
