//! Rules of the file format, and faults at a position.

use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::rules;

const CHANGED_BYTES: &str = "bytes of the file were changed or are missing: copy it again from its source";
const READ_WITHOUT: &str =
    "the events are read without it; the program that wrote the file has a bug, or blocks are missing";
const BEST_ORDER: &str =
    "the events are delivered in the best possible order; the program that wrote the file has a bug";
const READ_ALL: &str = "everything that the file has is read; the program that wrote it has a bug";

rules! {
    /// Rule of the format document.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Rule {
        /// A file ends with the tag `NullReference`, or with a block of kind `EndOfStream`.
        StreamEnd: "stream-end", true,
            "the process ended, or the connection was lost, before the session was stopped; or the session is \
            still running: everything recorded up to there is read";
        /// An object starts with a tag and its type.
        ObjectBegin: "object-begin", true, CHANGED_BYTES;
        /// An object ends with the tag `EndObject` after its payload.
        ObjectEnd: "object-end", true, CHANGED_BYTES;
        /// A block has its stated size, and another block follows.
        BlockSize: "block-size", true, CHANGED_BYTES;
        /// The header of a block has at least the size defined by the format's version.
        BlockHeader: "block-header", true, CHANGED_BYTES;
        /// The reader supports the version of an object.
        ObjectVersion: "object-version", true,
            "the file has a newer version of the format: its known parts are read";
        /// The rows of a block fill it.
        RowSize: "row-size", true, CHANGED_BYTES;
        /// An event refers to preceding metadata.
        MetadataId: "metadata-id", true, CHANGED_BYTES;
        /// A metadata row is complete, and describes fields with known types.
        MetadataRow: "metadata-row", true, CHANGED_BYTES;
        /// A metadata id is defined once.
        MetadataIdOnce: "metadata-id-once", false, READ_WITHOUT;
        /// An event refers to a preceding stack in the same section between sequence points.
        StackId: "stack-id", false, READ_WITHOUT;
        /// A stack is a whole number of addresses.
        StackSize: "stack-size", true, CHANGED_BYTES;
        /// An event refers to a thread described by a preceding thread block (version 6).
        ThreadIndex: "thread-index", false, READ_WITHOUT;
        /// An event refers to a preceding label list (version 6).
        LabelListId: "label-list-id", false, READ_WITHOUT;
        /// The labels of a list have known kinds (version 6).
        LabelKind: "label-kind", true, READ_WITHOUT;
        /// The payload of an event consists of the fields described by its metadata.
        Payload: "payload", false,
            "an event that does not match its fields is shown as bytes, and bytes after them are not shown; the \
            provider describes its event incorrectly, or has an unknown version";
        /// All events after a sorted event or after a sequence point have the same or a later time.
        EventOrder: "event-order", false, BEST_ORDER;
        /// Event times are in the time range of the block header.
        BlockTimes: "block-times", false, BEST_ORDER;
        /// A sequence point is complete.
        SequencePoint: "sequence-point", true, CHANGED_BYTES;
        /// Sequence points are sorted by time.
        SequencePointOrder: "sequence-point-order", false, BEST_ORDER;
        /// An event block contains events.
        EmptyBlock: "empty-block", false, READ_ALL;
        /// The tags end with the metadata row, and fields are described once.
        MetadataTag: "metadata-tag", false, READ_ALL;
        /// Nothing follows the end mark.
        AfterEnd: "after-end", true,
            "only the first recording of a file is read; split the file there, and read its parts";
        /// The trace block is complete, and its times are valid dates.
        TraceBlock: "trace-block", true,
            "the file is read with another value, if one is known; the program that wrote it has a bug";
        /// A file starts with `Nettrace`, or with the name of FastSerialization.
        FileHeader: "file-header", true,
            "all existing blocks are read; events without descriptions are shown as bytes; copy the start of \
            the file, too";
    }
}

/// Broken rule and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Broken rule.
    pub rule: Rule,
    /// Byte offset in the file.
    pub offset: u64,
    /// Expected and found value.
    pub statement: String,
    /// Number of bytes skipped from this offset on.
    pub skipped: u64,
}

impl Fault {
    /// Creates a fault without skipped bytes.
    pub(crate) fn new(rule: Rule, offset: u64, statement: impl Into<String>) -> Self {
        Self { rule, offset, statement: statement.into(), skipped: 0 }
    }

    pub(crate) fn skipping(self, skipped: u64) -> Self {
        Self { skipped, ..self }
    }

    /// Converts the fault to damage.
    #[must_use]
    pub fn damage(&self, file: &str) -> Damage {
        let rule = self.rule.broken(self.statement.clone());
        let damage = Damage::new(file, self.offset.saturating_mul(8), DamageKind::from(rule));
        damage.in_stream(file).skipping(self.skipped.saturating_mul(8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_different_names() {
        let mut names = Rule::ALL.map(Rule::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
