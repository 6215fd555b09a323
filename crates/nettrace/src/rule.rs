//! Rules of the format, and errors at a position.

use ichnos_model::{BrokenRule, Damage, DamageKind};

ichnos_model::named_enum! {
    /// A rule of the document about the format.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Rule {
        /// A file ends with the tag `NullReference`, or with a block of kind `EndOfStream`.
        StreamEnd = "stream-end",
        /// An object begins with a tag and its type.
        ObjectBegin = "object-begin",
        /// An object ends with the tag `EndObject` after its payload.
        ObjectEnd = "object-end",
        /// A block has its stated size, and another one follows.
        BlockSize = "block-size",
        /// The header of a block has at least the size defined by the format's version.
        BlockHeader = "block-header",
        /// The reader knows the version of an object.
        ObjectVersion = "object-version",
        /// The rows of a block fill it.
        RowSize = "row-size",
        /// An event refers to preceding metadata.
        MetadataId = "metadata-id",
        /// A row of metadata is complete, and describes fields of known types.
        MetadataRow = "metadata-row",
        /// An id of metadata is defined once.
        MetadataIdOnce = "metadata-id-once",
        /// An event refers to a preceding stack in the same section between sequence points.
        StackId = "stack-id",
        /// A stack is a whole number of addresses.
        StackSize = "stack-size",
        /// An event refers to a thread described by a preceding thread block (version 6).
        ThreadIndex = "thread-index",
        /// An event refers to a preceding label list (version 6).
        LabelListId = "label-list-id",
        /// The labels of a list have known kinds (version 6).
        LabelKind = "label-kind",
        /// The payload of an event consists of the fields described by its metadata.
        Payload = "payload",
        /// No event after a sorted event, or after a sequence point, is earlier.
        EventOrder = "event-order",
        /// The times of events are within the range in the header of their block.
        BlockTimes = "block-times",
        /// A sequence point is complete.
        SequencePoint = "sequence-point",
        /// The times of sequence points increase.
        SequencePointOrder = "sequence-point-order",
        /// An event block has events.
        EmptyBlock = "empty-block",
        /// The tags of a row of metadata end with it, and the fields are described once.
        MetadataTag = "metadata-tag",
        /// Nothing follows the end mark.
        AfterEnd = "after-end",
        /// The trace block is complete, and its times are valid dates.
        TraceBlock = "trace-block",
        /// A file begins with `Nettrace`, or with the name of FastSerialization.
        FileHeader = "file-header",
    }
}

impl Rule {
    /// Returns the remedy for the owner of a file.
    const fn remedy(self) -> &'static str {
        match self {
            Self::StreamEnd => {
                "the process ended, or the connection was lost, before the session was stopped; or the \
                session is still running: everything recorded up to there is read"
            }
            Self::EventOrder | Self::BlockTimes | Self::SequencePointOrder => {
                "the events are delivered in the best possible order; the program that wrote the file has \
                a bug"
            }
            Self::StackId
            | Self::ThreadIndex
            | Self::LabelListId
            | Self::LabelKind
            | Self::MetadataIdOnce => {
                "the events are read without it; the program that wrote the file has a bug, or blocks are missing"
            }
            Self::Payload => {
                "an event that does not match its fields is shown as bytes, and bytes after them are not \
                shown; the provider describes its event incorrectly, or has an unknown version"
            }
            Self::EmptyBlock | Self::MetadataTag => {
                "everything that the file has is read; the program that wrote it has a bug"
            }
            Self::AfterEnd => {
                "only the first recording of a file is read; split the file there, and read its parts"
            }
            Self::TraceBlock => {
                "the file is read with another value, as far as one is known; the program that wrote it has a bug"
            }
            Self::FileHeader => {
                "all blocks that are there are read; events whose descriptions are missing are shown as bytes: get the \
                beginning of the file, too"
            }
            Self::ObjectVersion => "the file has a newer version of the format: its known parts are read",
            _ => "bytes of the file were changed or are missing: get it again from where it was recorded",
        }
    }

    /// Returns `true` if breaking the rule makes something unreadable.
    pub(crate) const fn is_fatal(self) -> bool {
        !matches!(
            self,
            Self::EventOrder
                | Self::BlockTimes
                | Self::StackId
                | Self::ThreadIndex
                | Self::LabelListId
                | Self::Payload
                | Self::MetadataIdOnce
                | Self::SequencePointOrder
                | Self::EmptyBlock
                | Self::MetadataTag
        )
    }
}

/// A broken rule and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Broken rule.
    pub rule: Rule,
    /// Byte offset in the file.
    pub offset: u64,
    /// Expected and found value.
    pub statement: String,
    /// Number of bytes skipped from there on.
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

    /// Returns the fault as damage of the model.
    #[must_use]
    pub fn damage(&self, file: &str) -> Damage {
        let rule = BrokenRule {
            name: self.rule.name(),
            statement: self.statement.clone(),
            remedy: self.rule.remedy(),
            record: None,
            fatal: self.rule.is_fatal(),
        };
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
