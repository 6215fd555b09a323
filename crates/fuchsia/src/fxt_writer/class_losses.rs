//! Loss kinds for event classes and for the trace.

use ichnos_model::lower::LossCounts;

ichnos_model::loss_set! {
    /// A loss counted by class. For [`Process`](Self::Process), [`Thread`](Self::Thread) and [`Key`](Self::Key), the
    /// fields are those with these ids.
    pub(super) enum ClassLoss {
        Time => Rounded("no timestamp: used the previous record's, or 0"),
        OwnTime => Dropped("time: records of this kind lack a time"),
        Range => Rounded("time before the origin, or more than 63 bits of nanoseconds after it"),
        Texts => Lowered("more than 15 arguments -> text"),
        Arguments => Dropped("arguments: no room in the record"),
        Record => Dropped("record: no room for its names or data"),
        LargeRecord => Dropped("large record of an unknown type: not read"),
        LargerBlob => Lowered("BLOB of more than 32 KiB -> large BLOB, without its type"),
        Message => Dropped("rest of a message: no room in the record"),
        Process => Lowered("non-numeric or negative process id -> argument"),
        Thread => Lowered("non-numeric or negative thread id -> argument"),
        NoProcess => Lowered("none -> 0", in "pid"),
        NoThread => Lowered("none -> 0", in "tid"),
        Key => Lowered("non-numeric or negative key -> argument, and a derived number"),
        Encoding => Rounded("text that is not UTF-8 -> U+FFFD"),
        Frames => Dropped("call stack frames without an address, or beyond 255"),
        Fields => Dropped("undecodable fields"),
        Indexes => Rounded("string and thread indexes: the tables differ"),
        Float => Rounded("number of more than 64 bits"),
        UnknownArgument => Dropped("arguments of an unknown type"),
        Empty => Dropped("array or structure without elements"),
    }
}

ichnos_model::loss_set! {
    /// A loss counted once for the trace.
    pub(super) enum FxtLoss {
        JoinedStream => Lowered("data stream beyond 1,024 -> part of another data stream"),
        Stream => Dropped("data stream beyond 1,024: no other data stream has its clock"),
        StreamEvent => Dropped("event of a data stream beyond 1,024"),
        StreamName => Dropped("data stream name: bytes beyond 255"),
        Discarded => Dropped("record of discarded events"),
        DiscardedCount => Dropped("number of discarded events"),
        DiscardedThread => Dropped("thread of discarded events"),
    }
}

/// Loss counts for a class.
pub(super) type ClassLosses = LossCounts<ClassLoss>;
