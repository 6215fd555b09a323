//! Text that is made in parts, each by a sink of its own, and joined.
//!
//! All that a line has from the lines before is the time since the last event. So what comes first
//! in a part leaves a gap there, a [`Seam`], which is filled when the part before is known.

use super::{Pretty, PrettyOptions, push_delta};

/// What later lines need to know of earlier ones.
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

/// Where the time since the last event is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seam {
    /// Offset in the bytes that the sink wrote.
    pub offset: u64,
    /// When the event was recorded.
    now: u64,
}

impl Seam {
    pub(super) fn new(offset: u64, now: u64) -> Self {
        Self { offset, now }
    }
}

impl PrettyState {
    /// Appends what is missing at a seam if this is what came before.
    pub fn fill(&mut self, seam: &Seam, options: &PrettyOptions, out: &mut Vec<u8>) {
        self.advance(seam.now);
        push_delta(out, self.delta, options.clock_cycles);
    }

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

    /// What came before, if that ends with a part that ended in `later`.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        Self {
            last: if later.has_last { later.last } else { self.last },
            delta: if later.has_delta { later.delta } else { self.delta },
            has_last: self.has_last || later.has_last,
            has_delta: self.has_delta || later.has_delta,
            negative_seen: self.negative_seen || later.negative_seen,
        }
    }
}

/// What a sink that does not know what came before has of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Resumed {
    pub(super) seam: Option<Seam>,
    pub(super) is_unsure: bool,
}

impl<W: crate::TextWriter> Pretty<W> {
    /// Goes on where another sink ended, of which nothing is known yet: see [`Pretty::seam`].
    #[must_use]
    pub fn resumed(mut self) -> Self {
        self.resumed = Some(Resumed::default());
        self
    }

    /// Goes on where another sink ended in this state.
    #[must_use]
    pub fn resumed_from(mut self, state: PrettyState) -> Self {
        self.past = state;
        self.clock.negative_seen = state.negative_seen;
        self
    }

    /// Where something is missing because it depends on what came before; None also before the first
    /// event with a time.
    #[must_use]
    pub fn seam(&self) -> Option<Seam> {
        self.resumed?.seam
    }

    /// Whether something was written that may be wrong, as it depends on what came before in a way
    /// that no [`Seam`] can make good: then this part has to be made again, from the state of the part
    /// before. That happens with times that are extreme or before the origin.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        self.resumed.is_some_and(|resumed| resumed.is_unsure || self.clock.negative_mattered)
    }

    /// What later lines need to know.
    #[must_use]
    pub fn state(&self) -> PrettyState {
        PrettyState { negative_seen: self.clock.negative_seen, ..self.past }
    }
}
