//! Event roles on a timeline.

crate::named_enum! {
    /// Role of a class's events on a timeline: an instant, one end of a span or of a message, a call stack sample,
    /// counter values, or a scheduler decision.
    ///
    /// Readers set known roles once for each event record class. The role determines how an event can be shown, not its
    /// content. Sinks that show records show all events alike. [`EventDisplay`](crate::meaning::EventDisplay) has the
    /// track and names.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum EventRole: "role" {
        /// Happened at its time.
        #[default]
        Instant = "instant",
        /// Begins a span. Members with [`Meaning::PairKey`](crate::meaning::Meaning::PairKey) identify it together, for
        /// example a request or the life of an object. Without such members, the next end on its track closes it, for
        /// example a function or another nested span.
        Begin = "begin",
        /// Ends the span of an [`EventRole::Begin`] with equal [`Meaning::PairKey`](crate::meaning::Meaning::PairKey)
        /// members.
        End = "end",
        /// Sampled the call stack in the [`Meaning::Stack`](crate::meaning::Meaning::Stack) member. Nothing happened at
        /// that time. Its weight is the [`Meaning::Weight`](crate::meaning::Meaning::Weight) member, or 1.
        Sample = "sample",
        /// Recorded counter values at its time, in the [`Meaning::CounterValue`](crate::meaning::Meaning::CounterValue)
        /// members.
        Counter = "counter",
        /// Sends a message. The [`Meaning::PairKey`](crate::meaning::Meaning::PairKey) members identify it together.
        Send = "send",
        /// Receives the message of an [`EventRole::Send`] with equal
        /// [`Meaning::PairKey`](crate::meaning::Meaning::PairKey) members.
        Receive = "receive",
        /// Switches the processor to the thread in the [`Meaning::TargetThread`](crate::meaning::Meaning::TargetThread)
        /// member, or else to the thread of the event.
        Switch = "switch",
        /// Made a thread ready to run: the thread in the
        /// [`Meaning::TargetThread`](crate::meaning::Meaning::TargetThread) member, or else the thread of the event.
        Wakeup = "wakeup",
        /// Started the thread in the [`Meaning::TargetThread`](crate::meaning::Meaning::TargetThread) member, which is
        /// ready to run.
        ThreadStart = "thread-start",
        /// Ends a frame, and begins the next one in its class.
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
