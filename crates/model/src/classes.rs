//! Classes: descriptions of traces, data streams, event records and fields.
//!
//! A [`TraceClass`] has [`DataStreamClass`]es with [`EventRecordClass`]es; each of their [`Scope`]s is a structure
//! of [`FieldClass`]es.

pub use crate::attribute::{Attributes, Value};
pub use crate::class_tree::Child;
pub use crate::dynamic_classes::{DynamicClass, DynamicClasses};
pub use crate::field_class::{
    BitField, BitOrder, ByteOrder, DisplayBase, FieldClass, FieldKind, IntegerProperties, Length, Member,
    StringLength, VariableLengthValue, VariantOption,
};
pub use crate::location::{FieldLocation, LocationStep, Scope};
pub use crate::plan::{LocationProblem, LocationRule};
pub use crate::range::{IntegerRange, Mapping, Mappings, MappingsBuilder, RangeSet, Ranges};
pub use crate::role::{ClockUpdate, Role, Roles};
pub use crate::selectors::Selectors;
pub use crate::trace_class::{DataStreamClass, EventRecordClass, TraceClass, UnmodeledMetadata, UuidOf};
pub use crate::value::StringEncoding;
pub use crate::wide_integer::{WideInteger, WideRange};
pub use uuid::Uuid;
