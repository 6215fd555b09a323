//! Losses by event class, and outside of classes.

ichnos_model::loss_set! {
    /// Loss of an event, counted by class.
    pub(super) enum EventLoss {
        Time => Rounded("no timestamp: used the previous event's, or 0"),
        Range => Rounded("time before the first tick, or of more than 64 bits"),
        Fields => Dropped("fields of a scope that cannot be decoded"),
        Payload => Dropped("event: its payload is too long for a block"),
        Thread => Dropped("thread that is text or negative"),
        Version => Dropped("process, thread name or labels: only version 6 has them"),
        Elements => Dropped("elements of an array or a BLOB after the first 65,535"),
        Texts => Rounded("invalid text: U+FFFD"),
        Numbers => Rounded("number of more bits than its type"),
        Ends => Dropped("text after U+0000"),
        Event => Dropped("event: its context cannot be decoded"),
        Rest => Dropped("bytes of the payload after its last field"),
        Processor => Dropped("processor that is text, negative or longer than 32 bits"),
        Process => Dropped("negative process"),
        NoThread => Lowered("none -> 0", in "thread"),
        TraceId => Dropped("trace id that is not 32 hexadecimal digits"),
    }
}

ichnos_model::loss_set! {
    /// Loss outside of classes.
    pub(super) enum NettraceLoss {
        Date => Dropped("date: before 1601 or after 9999"),
        StoredEvent => Dropped("event that was stored in another form"),
        UnknownCount => Dropped("loss of an unknown number of events"),
        ManyThreads => Dropped("number of discarded events, of very many threads"),
        LargeCount => Rounded("number of discarded events: 2,147,483,647 at most"),
        LongBlock => Dropped("block of 16 MiB or more"),
        UnnamedFunctions => Dropped("function names beyond the limit", in "stack"),
        AmbiguousFunctions => Dropped("function names at the address of another function", in "stack"),
        LongLabels => Dropped("labels that are too long", in "labels"),
    }
}

/// Loss counts of a class.
pub(super) type EventLossCounts = ichnos_model::lower::LossCounts<EventLoss>;
