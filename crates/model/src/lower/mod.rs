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
//! | length or presence that only the values say | the same, after a member that says it |
//! | member of the [resource](crate::Scope::Resource) | member of the common context |
//! | a message that is more than a field | a further member of the payload |
//! | name that is no identifier | identifier like it |

pub use self::annotations::{NAMESPACE, annotate, apply_annotations, put_annotations, take_annotations};
pub use self::capabilities::{Capabilities, Environment, VariantSelection};
pub use self::loss_table::{Loss, LossKind, LossTable};
pub use self::moves::{Fit, ScopeMoves};
pub use self::trace::{EventLosses, LowerOptions, LoweredEvent, LoweredStream, LoweredTrace, PacketLosses};

mod annotations;
mod before;
mod capabilities;
mod class;
mod class_lowerer;
mod loss_table;
mod mover;
mod moves;
mod names;
mod objects;
mod scalar;
mod trace;

#[cfg(test)]
mod tests;
