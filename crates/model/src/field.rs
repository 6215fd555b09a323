//! Fields: event values. A [`Visitor`] receives all fields of a scope, a [`FieldPath`] selects one.

mod field_container;
mod field_path;
mod field_ref;
mod field_value;
mod number;
mod text;
mod utf16;
mod visitor;

pub use self::field_container::FieldContainer;
pub use self::field_path::FieldPath;
pub use self::field_ref::FieldRef;
pub use self::field_value::FieldValue;
pub use self::number::{Real, Wide};
pub use self::text::{StringEncoding, Text};
pub use self::visitor::{Field, Skip, Visitor};
