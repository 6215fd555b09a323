//! Losses of the events of a class.

ichnos_model::loss_set! {
    /// A loss of an event, which is counted by class.
    pub(super) enum EventLoss {
        Time => Rounded("no time: that of the event before, or 0"),
        Range => Rounded("time before the first tick, or of more than 64 bits"),
        Fields => Dropped("fields of a scope that cannot be decoded"),
        Payload => Dropped("event: its payload is too long for a block"),
        Thread => Dropped("thread, as it is a text or negative"),
        Version => Dropped("process, thread name or labels: version 6 has them"),
        Elements => Dropped("elements of an array or a BLOB after the first 65,535"),
        Texts => Rounded("text that is not valid: U+FFFD"),
        Numbers => Rounded("number of more bits than its type"),
        Ends => Dropped("text after U+0000"),
        Event => Dropped("event: its context cannot be decoded"),
        Rest => Dropped("bytes of the payload after its last field"),
        Processor => Dropped("processor, as it is a text, negative or of more than 32 bits"),
        Process => Dropped("process, as it is negative"),
        NoThread => Lowered("none -> 0", in "thread"),
        TraceId => Dropped("trace id, as it is no 32 hexadecimal digits"),
    }
}

/// Counts of losses of a class.
pub(super) type EventLosses = ichnos_model::lower::LossCounts<EventLoss>;
