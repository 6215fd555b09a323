//! What events are to who looks at a timeline.

use std::fmt;

/// What the events of a class are to a viewer: something that happened at a time, one end of something that
/// lasted, a sample of the call stack, or values of counters.
///
/// Readers say it where they know, once for each event record class. It decides how an event can be shown, not
/// what it contains: sinks that show what records contain show all events alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EventRole {
    /// It happened at its time.
    #[default]
    Instant,
    /// Something begins: what the members that mean [`Meaning::PairKey`](crate::Meaning::PairKey) identify, all
    /// together. Without such members, what its thread ends next.
    Begin,
    /// What an event that is a [`EventRole::Begin`] began ends: one with the same values of the members that mean
    /// [`Meaning::PairKey`](crate::Meaning::PairKey).
    End,
    /// The call stack that a member that means [`Meaning::Stack`](crate::Meaning::Stack) is was sampled: nothing
    /// happened. It counts as much as the member that means [`Meaning::Weight`](crate::Meaning::Weight) says, or
    /// once.
    Sample,
    /// The members that mean [`Meaning::CounterValue`](crate::Meaning::CounterValue) are values of counters at
    /// its time.
    Counter,
}

impl EventRole {
    /// All roles.
    pub const ALL: [Self; 5] = [Self::Instant, Self::Begin, Self::End, Self::Sample, Self::Counter];

    /// Its name in small letters, for instance `sample`.
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
