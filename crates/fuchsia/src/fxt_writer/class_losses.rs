//! Losses of the events of a class, and of the trace.

use ichnos_model::lower::LossCounts;

ichnos_model::loss_set! {
    /// A loss that is counted by class. [`Process`](Self::Process), [`Thread`](Self::Thread) and [`Key`](Self::Key) belong
    /// to the fields with these ids.
    pub(super) enum ClassLoss {
        Time => Rounded("no time: that of the record before, or 0"),
        OwnTime => Dropped("time: records of this kind have none"),
        Range => Rounded("time before the origin, or more than 63 bits of nanoseconds after it"),
        Texts => Lowered("more than 15 arguments -> text"),
        Arguments => Dropped("arguments: no room in the record"),
        Record => Dropped("record: no room for its names or data"),
        LargeRecord => Dropped("record: large, of an unknown type, which is not read"),
        LargerBlob => Lowered("BLOB of more than 32 KiB -> large BLOB, without its type"),
        Message => Dropped("rest of a message: no room in the record"),
        Process => Lowered("process that is no number from 0 on -> argument"),
        Thread => Lowered("thread that is no number from 0 on -> argument"),
        NoProcess => Lowered("none -> 0", in "pid"),
        NoThread => Lowered("none -> 0", in "tid"),
        Key => Lowered("key that is no number from 0 on -> argument, and a number made of it"),
        Encoding => Rounded("text that is not UTF-8 -> U+FFFD"),
        Frames => Dropped("frames of call stacks: without an address, or more than 255"),
        Fields => Dropped("fields that cannot be decoded"),
        Indexes => Rounded("indexes of strings and threads, if it has any: the tables are others"),
        Float => Rounded("number of more than 64 bits"),
        UnknownArgument => Dropped("arguments of an unknown type"),
        Empty => Dropped("array or structure without elements"),
    }
}

ichnos_model::loss_set! {
    /// A loss outside of classes.
    pub(super) enum TraceLoss {
        JoinedStream => Lowered("data stream beyond 1,024 -> part of another one"),
        Stream => Dropped("data stream beyond 1,024: no other one has its clock"),
        StreamEvent => Dropped("event of a data stream beyond 1,024"),
        StreamName => Dropped("name of a data stream: bytes beyond 255"),
        Discarded => Dropped("loss of events"),
        DiscardedCount => Dropped("number of discarded events"),
        DiscardedThread => Dropped("thread of discarded events"),
    }
}

/// Loss counts for a class.
pub(super) type ClassLosses = LossCounts<ClassLoss>;
