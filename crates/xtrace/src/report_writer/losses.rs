//! Kinds of losses that are counted by class.

use ichnos_model::lower::{LossKind, LossTable};

/// A loss of a single event or report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    TimeRange,
    OtherTime,
    Joined,
    Late,
    Chained,
    OtherTask,
    LongId,
    ChainNumber,
    Causes,
    NotUtf8,
    Head,
    Order,
    Size,
    Fields,
    LongFields,
    Orphan,
    Float,
    Severity,
    InvalidLine,
    LenientMetadata,
    InvalidReport,
    Empty,
}

/// Counts of losses, by [`Loss`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossCounts([u64; LOSSES.len()]);

/// All losses in the order of [`Loss`].
const LOSSES: [(LossKind, &str); 22] = [
    (LossKind::Rounded, "time before 1970 or of more than 63 bits"),
    (LossKind::Lowered, "clock time -> `Timestamp`"),
    (LossKind::Lowered, "event -> line `Event` in the report of its operation"),
    (LossKind::Lowered, "late event of a written operation -> new operation"),
    (LossKind::Lowered, "event without an operation -> an operation in the chain of its thread"),
    (LossKind::Lowered, "edge from an operation of another task"),
    (LossKind::Dropped, "identifier of more than 20 bytes"),
    (LossKind::Dropped, "chain of more than 16 bits"),
    (LossKind::Dropped, "cause beyond the first 4,096 of an event"),
    (LossKind::Rounded, "text that is not UTF-8 -> U+FFFD"),
    (LossKind::Dropped, "line `version` that looks like the first line of a report"),
    (LossKind::Moved, "lines -> after the previous line with the same key"),
    (LossKind::Dropped, "report of more than 16 MiB or 65,536 lines"),
    (LossKind::Dropped, "fields that cannot be decoded"),
    (LossKind::Dropped, "fields of an event beyond 16 MiB or 65,536 lines"),
    (LossKind::Dropped, "event without a task or an operation"),
    (LossKind::Rounded, "number of more than 64 bits"),
    (LossKind::Rounded, "severity number -> syslog level"),
    (LossKind::Dropped, "line that breaks a rule"),
    (LossKind::Lowered, "metadata that break a rule -> metadata of the document, without options"),
    (LossKind::Dropped, "report without valid metadata, or of an operation that has another report"),
    (LossKind::Dropped, "array or structure without elements"),
];

impl LossCounts {
    pub(super) fn add(&mut self, loss: Loss) {
        self.add_many(loss, 1);
    }

    pub(super) fn add_many(&mut self, loss: Loss, count: u64) {
        if let Some(sum) = self.0.get_mut(loss as usize) {
            *sum += count;
        }
    }

    /// Moves the counts to a table.
    pub(super) fn move_to(&mut self, class: &str, table: &mut LossTable) {
        for ((kind, what), count) in LOSSES.into_iter().zip(&mut self.0) {
            if *count > 0 {
                table.note_times(kind, class, "", what, *count);
            }
            *count = 0;
        }
    }
}
