//! Roles of events on a timeline.

crate::named_enum! {
    /// The role of the events of a class on a timeline: an instant, one end of a span or of a message, a sample of the
    /// call stack, values of counters, or a decision of the scheduler.
    ///
    /// Readers set it, if they know it, once for each event record class. It decides how an event can be shown, not its
    /// contents: sinks that show records show all events alike. [`EventDisplay`](crate::EventDisplay) has the track and
    /// names.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum EventRole: "role" {
        /// Happened at its time.
        #[default]
        Instant = "instant",
        /// Begins the span that the members with [`Meaning::PairKey`](crate::Meaning::PairKey) identify together: a
        /// request, or the life of an object. Without such members, the next end on its track closes it: a function or
        /// anything else that is nested.
        Begin = "begin",
        /// Ends the span that an [`EventRole::Begin`] with equal values of the members with
        /// [`Meaning::PairKey`](crate::Meaning::PairKey) began.
        End = "end",
        /// Sampled the call stack in the member with [`Meaning::Stack`](crate::Meaning::Stack); nothing happened.
        /// Its weight is the member with [`Meaning::Weight`](crate::Meaning::Weight), or 1.
        Sample = "sample",
        /// Recorded the values of counters at its time in the members with
        /// [`Meaning::CounterValue`](crate::Meaning::CounterValue).
        Counter = "counter",
        /// Sends the message that the members with [`Meaning::PairKey`](crate::Meaning::PairKey) identify together.
        Send = "send",
        /// Receives the message that an [`EventRole::Send`] with equal values of the members with
        /// [`Meaning::PairKey`](crate::Meaning::PairKey) sent.
        Receive = "receive",
        /// The processor runs another thread from then on: that of the member with
        /// [`Meaning::TargetThread`](crate::Meaning::TargetThread), or else the thread of the event.
        Switch = "switch",
        /// Made the thread of the member with [`Meaning::TargetThread`](crate::Meaning::TargetThread), or else the
        /// thread of the event, ready to run.
        Wakeup = "wakeup",
        /// Ends a frame, and begins the next one of its class.
        Frame = "frame",
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
