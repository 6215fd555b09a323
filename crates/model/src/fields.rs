//! Fields: values of events, all of a scope ([`Visitor`]) or a single one ([`FieldPath`]).

pub use crate::field_container::FieldContainer;
pub use crate::field_path::FieldPath;
pub use crate::field_ref::FieldRef;
pub use crate::field_value::FieldValue;
pub use crate::value::{Real, Text, Wide};
pub use crate::visitor::{Field, Skip, Visitor};
