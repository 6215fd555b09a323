//! Lowering: how what a format cannot hold becomes what it can.
//!
//! A format declares its [`Capabilities`]. A [`LoweredTrace`] is the class of a trace as that format can have it,
//! with a plan of how values move there: all of it is decided once for each class, and nothing for an event.
//! What was not carried over as it was is in the [`LossTable`].
//!
//! | what there is | what it becomes, if the format does not have it |
//! |---|---|
//! | bit array, bit map, boolean | unsigned integer of the same bits |
//! | integer of variable length | integer of 64 bits |
//! | other things of variable length | the same of 64 bits, or an unsigned integer |
//! | string in another encoding | string in UTF-8 that ends with a zero |
//! | string with its length in it | a member with the length, and a string of that length |
//! | integer that counts from a known date | integer |
//! | BLOB, GUID, union | array of its bytes (GUID and union: BLOB, if there is one) |
//! | null | structure without members |
//! | optional | variant of two options, after a member that says which; also where what is in it needs a length that has to be in it, too |
//! | variant that nothing selects in a way that the format has | the same, after a member that says which option |
//! | length or presence that only the values say, or a field of [another scope](LowerOptions::separates_scopes) | the same, after a member that says it |
//! | member of the [resource](crate::Scope::Resource) | member of the common context |
//! | a message that is more than a field | a further member of the payload |
//! | specific context in which fields need others, or are needed | members of the payload, before its own |
//! | length, presence or selector outside of the array or optional that a field is in | the same, after a member that says it |
//! | field of a header that has no role and that no other field needs | member of the context after the header |
//! | id of an event record class that readers do not tell from others | number of the class, or the next free id |
//! | event record class without a name | one that is called after its id |
//! | name that is no identifier | identifier like it |

pub use self::annotations::{NAMESPACE, annotate, apply_annotations, put_annotations, take_annotations};
pub use self::capabilities::{Capabilities, Environment, VariantSelection};
pub use self::loss_table::{Loss, LossKind, LossTable};
pub use self::moves::{Fit, ScopeMoves};
pub use self::options::LowerOptions;
pub use self::trace::{EventLosses, LoweredEvent, LoweredStream, LoweredTrace, PacketLosses};

mod absolute;
mod annotations;
mod before;
mod capabilities;
mod class;
mod class_ids;
mod class_lowerer;
mod context;
mod header;
mod loss_table;
mod mover;
mod moves;
mod names;
mod objects;
mod options;
mod payload;
mod scalar;
mod trace;
mod trace_lowerer;

#[cfg(test)]
mod tests;
