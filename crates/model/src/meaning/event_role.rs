//! Roles of events on a timeline.

use std::fmt;
use std::str::FromStr;

/// The role of the events of a class on a timeline: an instant, one end of a span or of a message, a sample of the call
/// stack, values of counters, or a decision of the scheduler.
///
/// Readers set it, if they know it, once for each event record class. It decides how an event can be shown,
/// not its contents: sinks that show records show all events alike. [`EventDisplay`](crate::EventDisplay) has the track
/// and names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EventRole {
    /// Happened at its time.
    #[default]
    Instant,
    /// Begins the span that the members with [`Meaning::PairKey`](crate::Meaning::PairKey) identify together: a
    /// request, or the life of an object. Without such members, the next end on its track closes it: a function or
    /// anything else that is nested.
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
    /// Sends the message that the members with [`Meaning::PairKey`](crate::Meaning::PairKey) identify together.
    Send,
    /// Receives the message that an [`EventRole::Send`] with equal values of the members with
    /// [`Meaning::PairKey`](crate::Meaning::PairKey) sent.
    Receive,
    /// The processor runs another thread from then on: that of the member with
    /// [`Meaning::TargetThread`](crate::Meaning::TargetThread), or else the thread of the event.
    Switch,
    /// Made the thread of the member with [`Meaning::TargetThread`](crate::Meaning::TargetThread), or else the thread of
    /// the event, ready to run.
    Wakeup,
    /// Ends a frame, and begins the next one of its class.
    Frame,
}

impl EventRole {
    /// All roles.
    pub const ALL: [Self; 10] = [
        Self::Instant,
        Self::Begin,
        Self::End,
        Self::Sample,
        Self::Counter,
        Self::Send,
        Self::Receive,
        Self::Switch,
        Self::Wakeup,
        Self::Frame,
    ];

    /// Returns its name in lower case, for instance `sample`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Begin => "begin",
            Self::End => "end",
            Self::Sample => "sample",
            Self::Counter => "counter",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Switch => "switch",
            Self::Wakeup => "wakeup",
            Self::Frame => "frame",
        }
    }
}

/// No [`EventRole`] has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown role `{0}`")]
pub struct UnknownRole(pub String);

impl FromStr for EventRole {
    type Err = UnknownRole;

    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        let found = Self::ALL.into_iter().find(|role| role.name() == name);
        found.ok_or_else(|| UnknownRole(name.to_owned()))
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
            assert_eq!(role.name().parse(), Ok(role));
            assert_eq!(role.to_string(), role.name());
        }
        assert_eq!(EventRole::default(), EventRole::Instant);
    }
}
