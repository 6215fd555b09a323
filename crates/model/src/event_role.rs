//! Roles of events on a timeline.

use std::fmt;

/// The role of the events of a class for a viewer: an instant, one end of a span, a sample of the call stack,
/// or values of counters.
///
/// Readers set it, if they know it, once for each event record class. It decides how an event can be shown,
/// not its contents: sinks that show records show all events alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EventRole {
    /// Happened at its time.
    #[default]
    Instant,
    /// Begins the span that the members with [`Meaning::PairKey`](crate::Meaning::PairKey) identify together.
    /// Without such members, the next end in its thread closes it.
    Begin,
    /// Ends the span that an [`EventRole::Begin`] with equal values of the members with
    /// [`Meaning::PairKey`](crate::Meaning::PairKey) began.
    End,
    /// Sampled the call stack in the member with [`Meaning::Stack`](crate::Meaning::Stack); nothing happened.
    /// Its weight is the member with [`Meaning::Weight`](crate::Meaning::Weight), or 1.
    Sample,
    /// Recorded the values of counters at its time in the members with
    /// [`Meaning::CounterValue`](crate::Meaning::CounterValue).
    Counter,
}

impl EventRole {
    /// All roles.
    pub const ALL: [Self; 5] = [Self::Instant, Self::Begin, Self::End, Self::Sample, Self::Counter];

    /// Returns its name in lower case, for instance `sample`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Begin => "begin",
            Self::End => "end",
            Self::Sample => "sample",
            Self::Counter => "counter",
        }
    }
}

impl fmt::Display for EventRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        for (index, role) in EventRole::ALL.into_iter().enumerate() {
            assert_eq!(EventRole::ALL.iter().position(|other| other.name() == role.name()), Some(index));
            assert_eq!(role.to_string(), role.name());
        }
        assert_eq!(EventRole::default(), EventRole::Instant);
    }
}
