//! Value moves from a class to its lowered class.

use std::collections::HashMap;

use crate::plan::steps::NodeId;

/// Absent node.
pub(super) const NONE: NodeId = NodeId::MAX;

/// Lowered fields for a source field.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeMove {
    /// Field that receives the value.
    pub(super) target: NodeId,
    /// Structure around the field and the field before it, if there is no other structure.
    pub(super) wrap: NodeId,
    /// Field before it, with its length, presence or option.
    pub(super) extra: NodeId,
    /// Empty structure before it, with its alignment.
    pub(super) pad: NodeId,
    /// Array elements if a BLOB becomes an array, or the empty option if an optional field becomes a variant.
    pub(super) inner: NodeId,
    /// Member before an optional field, with the length of its inner field.
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

    /// Returns all lowered fields.
    pub(super) fn targets_mut(&mut self) -> [&mut NodeId; 6] {
        let Self { target, wrap, extra, pad, inner, hoisted, .. } = self;
        [target, wrap, extra, pad, inner, hoisted]
    }
}

/// Value conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveKind {
    /// Unchanged, possibly with a field before it.
    Same,
    /// Dropped, including all inner fields.
    Dropped,
    /// Any bits to unsigned integer.
    Unsigned,
    /// Bit map to bit array.
    BitArray,
    /// Text to UTF-8.
    Transcoded,
    /// Text that ends at its first U+0000.
    Terminated,
    /// GUID or union to bytes, also BLOB to array.
    Bytes,
    /// Integer with more than 64 bits to bytes, least significant first.
    WideBytes,
    /// Optional field to variant.
    OptionalAsVariant,
    /// Null to structure without members.
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

/// Field moves for a scope.
#[derive(Debug, Default)]
pub struct ScopeMoves {
    /// Moves by plan node in the scope.
    pub(super) moves: Box<[NodeMove]>,
    /// Difference between the lowered scope and its source.
    pub(super) conversion: ScopeConversion,
    /// Index of each member in the lowered scope, `None` if dropped.
    pub(super) members: Vec<Option<usize>>,
    /// New names of renamed members, by node.
    pub(super) renamed: HashMap<NodeId, String>,
}

/// Moves for the scopes of a data stream.
#[derive(Debug)]
pub(super) struct StreamMoves {
    pub(super) packet_context: ScopeMoves,
    /// Moves from the packet header into the packet context.
    pub(super) of_packet_header: Option<ScopeMoves>,
    pub(super) event_record_header: ScopeMoves,
    pub(super) common_context: ScopeMoves,
    /// Moves from the event record header into the common context.
    pub(super) of_event_header: Option<ScopeMoves>,
    /// Moves from the resource into the common context.
    pub(super) resource: Option<ScopeMoves>,
}

impl ScopeMoves {
    /// Returns the difference between the lowered scope and its source.
    #[must_use]
    pub fn conversion(&self) -> ScopeConversion {
        self.conversion
    }
}
