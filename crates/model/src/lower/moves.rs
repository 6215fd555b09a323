//! How values move from a class to what it was lowered to.

use crate::plan::steps::NodeId;

/// Of nodes that there are none of.
pub(super) const NONE: NodeId = NodeId::MAX;

/// How a field becomes fields of the lowered class.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeMove {
    /// The field that its value is moved to.
    pub(super) target: NodeId,
    /// A structure around that field and the one before it, where there is no other structure.
    pub(super) wrap: NodeId,
    /// The field before it, which says its length, whether it is there, or which option it is.
    pub(super) extra: NodeId,
    /// Of a BLOB that becomes an array its elements; of an optional field that becomes a variant the option
    /// that stands for none.
    pub(super) inner: NodeId,
    /// Of an optional field: the member that says the length of the field in it. It lies before the optional field.
    pub(super) hoisted: NodeId,
    pub(super) kind: MoveKind,
}

impl NodeMove {
    /// A field of which nothing is left.
    pub(super) const DROPPED: Self =
        Self { target: NONE, wrap: NONE, extra: NONE, inner: NONE, hoisted: NONE, kind: MoveKind::Dropped };
}

/// What happens to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveKind {
    /// Nothing, but that there may be a field before it.
    Same,
    /// It is left out, with all that is in it.
    Dropped,
    /// Bits of any kind become an unsigned integer.
    Unsigned,
    /// A bit map becomes a bit array.
    BitArray,
    /// A text is written in UTF-8.
    Transcoded,
    /// A text ends at its first U+0000.
    Terminated,
    /// A GUID or a union becomes its bytes; also where a BLOB becomes an array.
    Bytes,
    /// An optional field becomes a variant.
    OptionalAsVariant,
    /// No bits become a structure without members.
    NullAsStructure,
}

/// How far a lowered scope is from what it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The classes are equal.
    #[default]
    Same,
    /// The classes differ, but bits of one are bits of the other.
    SameBits,
    /// The bits differ.
    Moved,
}

/// How the fields of a scope move.
#[derive(Debug, Default)]
pub struct ScopeMoves {
    /// By node of the plan of the scope.
    pub(super) moves: Box<[NodeMove]>,
    /// How far the lowered scope is from what it was.
    pub(super) fit: Fit,
    /// Which member of the lowered scope each member is; None: it is dropped.
    pub(super) members: Vec<Option<usize>>,
}

impl ScopeMoves {
    /// How far the lowered scope is from what it was.
    #[must_use]
    pub fn fit(&self) -> Fit {
        self.fit
    }
}
