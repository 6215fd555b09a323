//! Span edges: start and end events.

/// Names in a start or end event, as numbers or hashes.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanEdge<N = u64> {
    /// Event name, or else class name.
    pub name: N,
    /// Class name.
    pub kind: N,
    /// `true` for an end event without a span name.
    pub is_unnamed: bool,
}

impl<N: Copy + PartialEq> SpanEdge<N> {
    /// Returns `true` if this end closes a span that starts with `begin`.
    pub fn ends(self, begin: Self) -> bool {
        self.is_unnamed || self.is_named_as(begin)
    }

    /// Returns `true` if both events have the same names.
    pub fn is_named_as(self, begin: Self) -> bool {
        // Only one of the two events may have its own name.
        let both_have_own = self.name != self.kind && begin.name != begin.kind;
        self.kind == begin.kind && (!both_have_own || self.name == begin.name)
    }
}
