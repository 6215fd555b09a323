//! Losses of the events of a class.

use ichnos_model::lower::{LossKind, LossTable};

/// A loss that is counted by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ClassLoss {
    Time,
    OwnTime,
    Range,
    Texts,
    Arguments,
    Record,
    LargeRecord,
    LargerBlob,
    Message,
    Process,
    Thread,
    NoProcess,
    NoThread,
    Key,
    Encoding,
    Frames,
    Fields,
    Indexes,
    Float,
    UnknownArgument,
    Empty,
}

impl ClassLoss {
    const COUNT: usize = Self::Empty as usize + 1;

    /// Losses with their descriptions, in the order of their numbers.
    const ALL: [(Self, LossKind, &str); Self::COUNT] = [
        (Self::Time, LossKind::Rounded, "no timestamp: used the previous record's, or 0"),
        (Self::OwnTime, LossKind::Dropped, "time: records of this kind lack a time"),
        (
            Self::Range,
            LossKind::Rounded,
            "time before the origin, or more than 63 bits of nanoseconds after it",
        ),
        (Self::Texts, LossKind::Lowered, "more than 15 arguments -> text"),
        (Self::Arguments, LossKind::Dropped, "arguments: no room in the record"),
        (Self::Record, LossKind::Dropped, "record: no room for its names or data"),
        (Self::LargeRecord, LossKind::Dropped, "record: large, of an unknown type, not read"),
        (Self::LargerBlob, LossKind::Lowered, "BLOB of more than 32 KiB -> large BLOB, without its type"),
        (Self::Message, LossKind::Dropped, "rest of a message: no room in the record"),
        (Self::Process, LossKind::Lowered, "non-numeric or negative process id -> argument"),
        (Self::Thread, LossKind::Lowered, "non-numeric or negative thread id -> argument"),
        (Self::NoProcess, LossKind::Lowered, "none -> 0"),
        (Self::NoThread, LossKind::Lowered, "none -> 0"),
        (Self::Key, LossKind::Lowered, "non-numeric or negative key -> argument, and a derived number"),
        (Self::Encoding, LossKind::Rounded, "text that is not UTF-8 -> U+FFFD"),
        (Self::Frames, LossKind::Dropped, "call stack frames without an address, or beyond 255"),
        (Self::Fields, LossKind::Dropped, "fields that cannot be decoded"),
        (Self::Indexes, LossKind::Rounded, "string and thread indexes, if it has any: the tables differ"),
        (Self::Float, LossKind::Rounded, "number of more than 64 bits"),
        (Self::UnknownArgument, LossKind::Dropped, "arguments of an unknown type"),
        (Self::Empty, LossKind::Dropped, "array or structure without elements"),
    ];
}

/// Numbers of losses of a class.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassLosses {
    counts: [u64; ClassLoss::COUNT],
    /// Names of the fields with the process, the thread and the key.
    pub(super) ids: [String; 3],
}

impl ClassLosses {
    pub(super) fn add(&mut self, loss: ClassLoss, count: u64) {
        if let Some(sum) = self.counts.get_mut(loss as usize) {
            *sum += count;
        }
    }

    pub(super) fn note(&mut self, loss: ClassLoss, is_lost: bool) {
        self.add(loss, is_lost.into());
    }

    /// Moves all losses to the table, under the name of the class.
    pub(super) fn take(&mut self, class: &str, table: &mut LossTable) {
        let counts = std::mem::take(&mut self.counts);
        let lost = ClassLoss::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        for ((loss, kind, what), count) in lost {
            let [process, thread, key] = &self.ids;
            let field = match loss {
                ClassLoss::Process => process,
                ClassLoss::Thread => thread,
                ClassLoss::Key => key,
                ClassLoss::NoProcess => "pid",
                ClassLoss::NoThread => "tid",
                _ => "",
            };
            let (class, field, what) = (class.to_owned(), field.to_owned(), what.to_owned());
            table.note_times(kind, class, field, what, count);
        }
    }
}
