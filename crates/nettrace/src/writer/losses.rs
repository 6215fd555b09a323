//! Losses by event class, and outside of classes.

ichnos_model::loss_set! {
    /// Event loss, counted by class.
    pub(super) enum EventLoss {
        Time => Rounded("no timestamp: used the previous event's, or 0"),
        Late => Rounded("time before earlier events: used the last possible time"),
        Range => Rounded("time before the first tick, or of more than 64 bits"),
        Fields => Dropped("undecodable fields of a scope"),
        Payload => Dropped("event: payload too long for a block"),
        Thread => Dropped("thread: not an unsigned number"),
        Version => Dropped("process, thread name or labels: only version 6 has them"),
        Elements => Dropped("array or BLOB elements after the first 65,535"),
        Texts => Rounded("invalid text: U+FFFD"),
        Numbers => Rounded("number too wide for its type"),
        Ends => Dropped("text after U+0000"),
        Event => Dropped("event: undecodable context"),
        Rest => Dropped("payload bytes after the last field"),
        Processor => Dropped("processor: not an unsigned 32-bit number"),
        Process => Dropped("negative process"),
        NoThread => Lowered("none -> 0", in "thread"),
        TraceId => Dropped("trace id: not 32 hexadecimal digits"),
    }
}

ichnos_model::loss_set! {
    /// Loss outside of classes.
    pub(super) enum NettraceLoss {
        Date => Dropped("date: before 1601 or after 9999"),
        StoredEvent => Dropped("event: unreadable in temporary storage"),
        UnknownCount => Dropped("record of an unknown number of discarded events"),
        ManyThreads => Dropped("number of discarded events in very many threads"),
        LargeCount => Rounded("number of discarded events: 2,147,483,647 at most"),
        LongBlock => Dropped("block of 16 MiB or more"),
        UnnamedFunctions => Dropped("function names beyond the limit", in "stack"),
        AmbiguousFunctions => Dropped("function names at another function's address", in "stack"),
        LongLabels => Dropped("labels that are too long", in "labels"),
    }
}

/// Loss counts for a class.
pub(super) type EventLossCounts = ichnos_model::lower::LossCounts<EventLoss>;
