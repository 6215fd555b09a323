//! Moves of values from a class to its lowered class.

use std::collections::HashMap;

use crate::plan::steps::NodeId;

/// Absent node.
pub(super) const NONE: NodeId = NodeId::MAX;

/// Fields of the lowered class that a field becomes.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeMove {
    /// Field that receives its value.
    pub(super) target: NodeId,
    /// Structure around that field and the one before it, if there is no other structure.
    pub(super) wrap: NodeId,
    /// Field before it, with its length, presence or option.
    pub(super) extra: NodeId,
    /// Empty structure before it, with its alignment.
    pub(super) pad: NodeId,
    /// Elements of the array that a BLOB becomes, or the empty option of the variant that an optional field becomes.
    pub(super) inner: NodeId,
    /// Member before an optional field that contains the length of its inner field.
    pub(super) hoisted: NodeId,
    pub(super) kind: MoveKind,
    /// `true` if the structure before it is needed.
    pub(super) is_padded: bool,
}

impl NodeMove {
    /// Move of a dropped field.
    pub(super) const DROPPED: Self = Self {
        target: NONE,
        wrap: NONE,
        extra: NONE,
        pad: NONE,
        inner: NONE,
        hoisted: NONE,
        kind: MoveKind::Dropped,
        is_padded: false,
    };

    /// Returns all fields of the lowered class.
    pub(super) fn targets_mut(&mut self) -> [&mut NodeId; 6] {
        let Self { target, wrap, extra, pad, inner, hoisted, .. } = self;
        [target, wrap, extra, pad, inner, hoisted]
    }
}

/// Conversion of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveKind {
    /// Unchanged, possibly with a field before it.
    Same,
    /// Dropped, with all nested fields.
    Dropped,
    /// Any bits to an unsigned integer.
    Unsigned,
    /// Bit map to bit array.
    BitArray,
    /// Text to UTF-8.
    Transcoded,
    /// Text that ends at its first U+0000.
    Terminated,
    /// GUID or union to its bytes, also BLOB to array.
    Bytes,
    /// Integer of more than 64 bits to its bytes, least significant first.
    WideBytes,
    /// Optional field to variant.
    OptionalAsVariant,
    /// No bits to a structure without members.
    NullAsStructure,
}

/// Difference between a lowered scope and its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScopeConversion {
    /// The classes are equal.
    #[default]
    Same,
    /// The classes differ, but the bits of one are valid for the other.
    SameBits,
    /// The bits differ.
    Moved,
}

/// Moves of the fields of a scope.
#[derive(Debug, Default)]
pub struct ScopeMoves {
    /// Moves by node of the plan of the scope.
    pub(super) moves: Box<[NodeMove]>,
    /// Difference of the lowered scope from its source.
    pub(super) conversion: ScopeConversion,
    /// Index of each member in the lowered scope, `None` if dropped.
    pub(super) members: Vec<Option<usize>>,
    /// New names of renamed members, by node.
    pub(super) renamed: HashMap<NodeId, String>,
}

/// Moves of the scopes of a data stream.
#[derive(Debug)]
pub(super) struct StreamMoves {
    pub(super) packet_context: ScopeMoves,
    /// Moves of fields of the packet header into the packet context.
    pub(super) of_packet_header: Option<ScopeMoves>,
    pub(super) event_record_header: ScopeMoves,
    pub(super) common_context: ScopeMoves,
    /// Moves of fields of the event record header into the common context.
    pub(super) of_event_header: Option<ScopeMoves>,
    /// Moves of the resource into the common context.
    pub(super) resource: Option<ScopeMoves>,
}

impl ScopeMoves {
    /// Returns the difference of the lowered scope from its source.
    #[must_use]
    pub fn conversion(&self) -> ScopeConversion {
        self.conversion
    }
}
