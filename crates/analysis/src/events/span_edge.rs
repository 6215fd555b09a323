//! Events that begin or end a span.

/// Names of an event that begins or ends a span: texts, as numbers or as hashes.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanEdge<N = u64> {
    /// Name of the event, or else of its class.
    pub name: N,
    /// Name of its class.
    pub kind: N,
    /// `true` for an end whose class does not say the name of the span.
    pub is_unnamed: bool,
}

impl<N: Copy + PartialEq> SpanEdge<N> {
    /// Returns `true` if this is the end of what the other one begins.
    pub fn ends(self, begin: Self) -> bool {
        self.is_unnamed || self.is_named_as(begin)
    }

    /// Returns `true` if both have the same names.
    pub fn is_named_as(self, begin: Self) -> bool {
        // Only one of both may have a name of its own.
        let both_have_own = self.name != self.kind && begin.name != begin.kind;
        self.kind == begin.kind && (!both_have_own || self.name == begin.name)
    }
}
