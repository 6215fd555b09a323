//! Lowering: converts classes that a format cannot represent.
//!
//! A format declares its [`Capabilities`]. A [`LoweredTrace`] contains the trace class adapted to the format, and a
//! plan for moving values to it. Every decision is made once for each class, and none for each event. The [`LossTable`]
//! lists items that were not converted exactly.
//!
//! | source | result, if the format does not support the source |
//! |---|---|
//! | bit array, bit map, boolean | unsigned integer of the same bits |
//! | integer, bit array or bit map with more bits than the format's integers | array of its bytes, least significant first |
//! | variable-length integer | 64-bit integer |
//! | other variable-length field | the same with 64 bits, or an unsigned integer |
//! | string in another encoding | null-terminated UTF-8 string |
//! | string with a length prefix | a member with the length, and a string with that length |
//! | integer that counts from a known date | integer |
//! | BLOB, GUID, union | array of its bytes (GUID and union: BLOB, if supported) |
//! | null | structure without members |
//! | optional | variant with two options, after a member that selects one; also if the inner field needs a length that would have to be in the optional |
//! | variant without a supported selector | the same, after a member that selects the option |
//! | length or presence determined only by values, or by a field of [another scope](LowerOptions::separates_scopes) | the same, after a member that contains it |
//! | member of the [resource](crate::Scope::Resource) | member of the common context |
//! | message that is not just a field | an additional payload member |
//! | specific context with fields that depend on others, or that others depend on | payload members, before the payload's own |
//! | length, presence or selector outside of the field's array or optional | the same, after a member that contains it |
//! | location without a suitable field: through a union, to a signed length, to a renamed or moved field | the field after a member that contains what it needs |
//! | root field that is not a structure | the member `value` of a structure |
//! | role at a place where the format does not allow it | a plain field, and a field with the role that the writer adds |
//! | alignment of a variant, of an array beyond its elements, or above 8 of a string, a BLOB, a variable-length field or a field that becomes bytes | for members, an empty structure before it with the alignment; otherwise none, or 8 |
//! | boolean with more than 64 bits | 8-bit integer |
//! | header field without a role that no field in the header depends on | member of the context after the header |
//! | event record class id that readers do not distinguish | class index, or the next free id |
//! | event record class without a name | a class named after its id |
//! | name that is not an identifier | similar identifier |

pub use self::annotations::{NAMESPACE, annotate, apply_annotations, put_annotations, take_annotations};
pub use self::capabilities::{Capabilities, Environment, Feature, Features, RolePlaces};
pub use self::loss_counts::{LossCounts, LossRow, LossSet};
pub use self::loss_table::{LossEntry, LossKind, LossRecorder, LossTable};
pub use self::metadata_losses::{KeptMetadata, has_attributes};
pub use self::moves::{ScopeConversion, ScopeMoves};
pub use self::options::{ExtendedScopes, LowerOptions};
pub use self::roles::{unplaced_roles, without_roles};
pub use self::trace::{EventLosses, LoweredEvent, LoweredStream, LoweredTrace, PacketLosses};

mod absolute;
mod annotations;
mod capabilities;
mod class;
mod class_ids;
mod class_lowerer;
mod context;
mod header;
mod layout_match;
mod locations;
mod loss_counts;
mod loss_table;
mod lowered_classes;
mod metadata_losses;
mod mover;
mod moves;
mod names;
mod objects;
mod options;
mod payload;
mod prefix_member;
mod roles;
mod scalar;
mod trace;
mod trace_lowerer;

#[cfg(test)]
mod tests;
