//! The rules of the format, and where one is broken.

use ichnos_model::{BrokenRule, Damage, DamageKind};

/// A rule of the document that describes the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A file ends with the tag `NullReference`, or with a block of kind `EndOfStream`.
    StreamEnd,
    /// An object begins with a tag and its type.
    ObjectBegin,
    /// An object ends with the tag `EndObject` behind its payload.
    ObjectEnd,
    /// A block is as long as its size says, and another one begins behind it.
    BlockSize,
    /// A block has a header of at least the size that the version of the format has.
    BlockHeader,
    /// The reader knows the version of an object.
    ObjectVersion,
    /// The rows of a block fill it.
    RowSize,
    /// An event refers to metadata before it.
    MetadataId,
    /// A row of metadata has all its parts, and describes fields of known types.
    MetadataRow,
    /// An id of metadata is defined once.
    MetadataIdOnce,
    /// An event refers to a stack before it that no sequence point separates from it.
    StackId,
    /// A stack is a whole number of addresses.
    StackSize,
    /// An event refers to a thread that a thread block before it describes (version 6).
    ThreadIndex,
    /// An event refers to a label list before it (version 6).
    LabelListId,
    /// The labels of a list are of known kinds (version 6).
    LabelKind,
    /// The payload of an event consists of the fields that its metadata describes.
    Payload,
    /// No event behind a sorted one, or behind a sequence point, is earlier.
    EventOrder,
    /// The times of events are between those that the header of their block says.
    BlockTimes,
    /// A sequence point has all its parts.
    SequencePoint,
    /// The trace block has all its parts, and times that are dates.
    TraceBlock,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 20] = [
        Self::StreamEnd,
        Self::ObjectBegin,
        Self::ObjectEnd,
        Self::BlockSize,
        Self::BlockHeader,
        Self::ObjectVersion,
        Self::RowSize,
        Self::MetadataId,
        Self::MetadataRow,
        Self::MetadataIdOnce,
        Self::StackId,
        Self::StackSize,
        Self::ThreadIndex,
        Self::LabelListId,
        Self::LabelKind,
        Self::Payload,
        Self::EventOrder,
        Self::BlockTimes,
        Self::SequencePoint,
        Self::TraceBlock,
    ];

    /// Its name, in words with `-` between them.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StreamEnd => "stream-end",
            Self::ObjectBegin => "object-begin",
            Self::ObjectEnd => "object-end",
            Self::BlockSize => "block-size",
            Self::BlockHeader => "block-header",
            Self::ObjectVersion => "object-version",
            Self::RowSize => "row-size",
            Self::MetadataId => "metadata-id",
            Self::MetadataRow => "metadata-row",
            Self::MetadataIdOnce => "metadata-id-once",
            Self::StackId => "stack-id",
            Self::StackSize => "stack-size",
            Self::ThreadIndex => "thread-index",
            Self::LabelListId => "label-list-id",
            Self::LabelKind => "label-kind",
            Self::Payload => "payload",
            Self::EventOrder => "event-order",
            Self::BlockTimes => "block-times",
            Self::SequencePoint => "sequence-point",
            Self::TraceBlock => "trace-block",
        }
    }

    /// What the owner of a file can do about it.
    const fn remedy(self) -> &'static str {
        match self {
            Self::StreamEnd => {
                "the process ended, or the connection was lost, before the session was stopped; or the session is \
                 still running: what was recorded up to there is read"
            }
            Self::EventOrder | Self::BlockTimes => {
                "the events are delivered in the best order that can be found; the program that wrote the file has a \
                 bug"
            }
            Self::StackId
            | Self::ThreadIndex
            | Self::LabelListId
            | Self::LabelKind
            | Self::MetadataIdOnce => {
                "the events are read without it; the program that wrote the file has a bug, or blocks are missing"
            }
            Self::Payload => {
                "an event that does not fit its fields is shown as bytes, and bytes behind them are not shown; the \
                 provider describes its event wrongly, or is of a version that is not known"
            }
            Self::ObjectVersion => {
                "the file is of a newer version of the format: what is known of it is read"
            }
            _ => "bytes of the file were changed or are missing: get it again from where it was recorded",
        }
    }

    /// Whether something cannot be read because of it.
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
        )
    }
}

/// A rule that is broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: Rule,
    /// Offset in bytes from the begin of the file.
    pub offset: u64,
    /// What was expected and found.
    pub statement: String,
    /// How many bytes from there on are skipped.
    pub skipped: u64,
}

impl Fault {
    /// A broken rule for which nothing is skipped.
    pub(crate) fn new(rule: Rule, offset: u64, statement: impl Into<String>) -> Self {
        Self { rule, offset, statement: statement.into(), skipped: 0 }
    }

    pub(crate) fn skipping(self, skipped: u64) -> Self {
        Self { skipped, ..self }
    }

    /// The same in the words of the model.
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
