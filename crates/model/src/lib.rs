//! The vocabulary of ichnos: what readers of trace formats produce and sinks consume.
//!
//! Words are those of CTF 2 where it has them. Other formats map onto them.
#![forbid(unsafe_code)]

mod attribute;
mod clock;
mod diagnostic;
mod field_class;
mod limits;
mod location;
mod place;
mod range;
mod role;
mod trace_class;

pub use attribute::{Attributes, Value};
pub use clock::{ClockClass, ClockOrigin};
pub use diagnostic::{Diagnostic, Severity};
pub use field_class::{
    BitField, BitOrder, ByteOrder, DisplayBase, FieldClass, FieldKind, IntegerProperties, Length, Member,
    StringEncoding, StringLength, VariableLengthValue, VariantOption,
};
pub use limits::Limits;
pub use location::{FieldLocation, LocationStep, Scope};
pub use place::{DeclaredAt, TextPlace};
pub use range::{IntegerRange, Mapping, Mappings, RangeSet};
pub use role::{Role, Roles};
pub use trace_class::{DataStreamClass, EventRecordClass, TraceClass};
pub use uuid::Uuid;
