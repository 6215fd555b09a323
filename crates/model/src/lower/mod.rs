//! Lowering: conversion of classes that a format cannot represent.
//!
//! A format declares its [`Capabilities`]. A [`LoweredTrace`] is the class of a trace adapted to the format,
//! with a plan for moving values to it: every decision is made once for each class, none for an event.
//! Items that were not converted exactly are in the [`LossTable`].
//!
//! | source | result, if the format does not support the source |
//! |---|---|
//! | bit array, bit map, boolean | unsigned integer of the same bits |
//! | integer, bit array or bit map of more bits than integers of the format have | array of its bytes, the least significant first |
//! | variable-length integer | integer of 64 bits |
//! | other variable-length field | the same with 64 bits, or an unsigned integer |
//! | string in another encoding | zero-terminated UTF-8 string |
//! | string with a length prefix | a member with the length, and a string of that length |
//! | integer that counts from a known date | integer |
//! | BLOB, GUID, union | array of its bytes (GUID and union: BLOB, if supported) |
//! | null | structure without members |
//! | optional | variant of two options, after a member that selects one; also if the inner field needs a length that would have to be in the optional |
//! | variant without a supported selector | the same, after a member that selects the option |
//! | length or presence determined only by values, or by a field of [another scope](LowerOptions::separates_scopes) | the same, after a member that contains it |
//! | member of the [resource](crate::Scope::Resource) | member of the common context |
//! | a message that is not just a field | a further member of the payload |
//! | specific context with fields that need others, or are needed | members of the payload, before its own |
//! | length, presence or selector outside of the field's array or optional | the same, after a member that contains it |
//! | location that leads to no field that fits: through a union, to a signed length, to a renamed or moved field | the field after a member that contains what it needs |
//! | root field that is not a structure | the member `value` of a structure |
//! | role at a place where the format does not allow it | a plain field, and a field with the role that the writer adds |
//! | alignment of a variant, of an array beyond that of its elements, or above 8 of a string, a BLOB, a variable-length field or what becomes bytes | for members, an empty structure before it that has the alignment; otherwise none, or 8 |
//! | boolean of more than 64 bits | integer of 8 bits |
//! | field of a header without a role that no field of the header needs | member of the context after the header |
//! | id of an event record class that readers do not distinguish | index of the class, or the next free id |
//! | event record class without a name | one named after its id |
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
