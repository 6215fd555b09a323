//! Loss kinds counted by class.

ichnos_model::loss_set! {
    /// A loss in a single event or report.
    pub(super) enum Loss {
        TimeRange => Rounded("time before 1970 or of more than 63 bits"),
        OtherTime => Lowered("clock time -> `Timestamp`"),
        Joined => Lowered("event -> line `Event` in the report of its operation"),
        Late => Lowered("late event of a written operation -> new operation"),
        Chained => Lowered("event without an operation -> an operation in the chain of its thread"),
        OtherTask => Lowered("edge from another task"),
        LongId => Dropped("identifier of more than 20 bytes"),
        ChainNumber => Dropped("chain of more than 16 bits"),
        Causes => Dropped("cause beyond the first 4,096 of an event"),
        NotUtf8 => Rounded("text that is not UTF-8 -> U+FFFD"),
        Head => Dropped("line `version` that looks like the first line of a report"),
        Order => Moved("lines -> after the previous line with the same key"),
        Size => Dropped("report of more than 16 MiB or 65,536 lines"),
        Fields => Dropped("undecodable fields"),
        LongFields => Dropped("fields of an event beyond 16 MiB or 65,536 lines"),
        Orphan => Dropped("event without a task or an operation"),
        Float => Rounded("number of more than 64 bits"),
        Severity => Rounded("severity number -> syslog level"),
        InvalidLine => Dropped("line that breaks a rule"),
        LenientMetadata => Lowered("metadata that breaks a rule -> valid metadata, without options"),
        InvalidReport => Dropped("report without valid metadata, or whose operation has another report"),
        Empty => Dropped("array or structure without elements"),
    }
}

/// Loss counts for a class.
pub(super) type LossCounts = ichnos_model::lower::LossCounts<Loss>;
