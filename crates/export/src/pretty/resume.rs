//! Pretty text that resumes in the middle of a timeline.
//!
//! A line depends on earlier lines only through the time since the last event. The first line of a chunk leaves a
//! fixup there.

use super::{DeltaForm, Pretty, push_delta};
use crate::resume::{Fixup, Resolution, ResumableSink, SinkState, StreamOrder};

/// State of [`Pretty`] that later lines depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrettyState {
    /// Time of the last event.
    pub(super) last: Option<i128>,
    /// Last printed time difference.
    pub(super) delta: Option<i128>,
    /// `true` after an event with a time, and after a difference.
    has_last: bool,
    has_delta: bool,
}

/// Missing time since the last event in the text of a [`Pretty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeltaCause {
    /// Time of the event.
    now: i128,
    form: DeltaForm,
}

impl SinkState for PrettyState {
    type Cause = DeltaCause;

    fn resolve(&mut self, cause: &DeltaCause, text: &mut Vec<u8>) -> Resolution {
        self.advance(cause.now);
        push_delta(text, self.delta, cause.form);
        Resolution::Keep
    }

    fn then(self, later: Self) -> Self {
        Self {
            last: if later.has_last { later.last } else { self.last },
            delta: if later.has_delta { later.delta } else { self.delta },
            has_last: self.has_last || later.has_last,
            has_delta: self.has_delta || later.has_delta,
        }
    }
}

impl PrettyState {
    /// Updates the state for an event at this time.
    #[inline]
    pub(super) fn advance(&mut self, now: i128) {
        if let Some(last) = self.last {
            self.delta = Some(now.saturating_sub(last));
            self.has_delta = true;
        }
        self.last = Some(now);
        self.has_last = true;
    }

    /// Returns the state after an event at this time, this long after another event.
    #[inline]
    pub(super) fn after(now: u64, delta: u64) -> Self {
        Self { last: Some(now.into()), delta: Some(delta.into()), has_last: true, has_delta: true }
    }
}

/// State of a resumed sink that does not know the earlier lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResumedPretty {
    /// `true` after the first event with a time.
    pub(super) has_event: bool,
    pub(super) fixup: Option<Fixup<DeltaCause>>,
    pub(super) must_rewrite: bool,
}

impl ResumedPretty {
    /// Records the offset of the first event's missing difference. `now` is `None` without a time.
    pub(super) fn first_event(&mut self, offset: u64, now: Option<i128>, form: DeltaForm) {
        match now {
            Some(now) => {
                self.has_event = true;
                self.fixup = Some(Fixup { offset, length: 0, cause: DeltaCause { now, form } });
            }
            None => self.must_rewrite = true,
        }
    }
}

impl<W: crate::TextWriter> ResumableSink for Pretty<W> {
    type State = PrettyState;

    fn resume(&mut self, _: &StreamOrder, state: Option<PrettyState>) {
        match state {
            Some(state) => (self.past, self.stamp) = (state, None),
            None => self.resumed = Some(ResumedPretty::default()),
        }
    }

    #[inline]
    fn next_fixup(&mut self) -> Option<Fixup<DeltaCause>> {
        self.resumed.as_mut()?.fixup.take()
    }

    /// Needed if the first event lacks a time.
    #[inline]
    fn must_rewrite(&self) -> bool {
        self.resumed.is_some_and(|resumed| resumed.must_rewrite)
    }

    fn state(&self) -> PrettyState {
        self.past
    }
}
