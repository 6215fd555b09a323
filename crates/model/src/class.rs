//! Classes: descriptions of traces, data streams, event records and fields.
//!
//! A [`TraceClass`] contains [`DataStreamClass`]es, and these contain [`EventRecordClass`]es. Each of their [`Scope`]s
//! is a structure of [`FieldClass`]es.

mod attribute;
mod class_tree;
mod dynamic_classes;
mod field_class;
mod location;
mod range;
mod role;
mod selectors;
mod trace_class;
mod wide_integer;

pub use uuid::Uuid;

pub use self::attribute::{Attributes, Value};
pub use self::class_tree::Child;
pub use self::dynamic_classes::{DynamicClass, DynamicClasses};
pub use self::field_class::{
    BitField, BitOrder, ByteOrder, DisplayBase, FieldClass, FieldKind, IntegerProperties, Length, Member,
    StringLength, VariableLengthValue, VariantOption,
};
pub use self::location::{FieldLocation, LocationStep, Scope};
pub use self::range::{IntegerRange, Mapping, Mappings, MappingsBuilder, RangeSet, Ranges};
pub use self::role::{ClockUpdate, Role, Roles};
pub use self::selectors::Selectors;
pub use self::trace_class::{DataStreamClass, EventRecordClass, TraceClass, UnmodeledMetadata, UuidOf};
pub use self::wide_integer::{WideInteger, WideRange};
