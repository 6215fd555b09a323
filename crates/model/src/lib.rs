//! The vocabulary of ichnos: what readers of trace formats produce and sinks consume.
//!
//! Words are those of CTF 2 where it has them. Other formats map onto them.
#![forbid(unsafe_code)]

mod attribute;
mod bits;
mod bytewise;
mod clock;
mod decode_error;
mod diagnostic;
mod event;
mod field_class;
mod input;
mod late;
mod leap;
mod limits;
mod locate;
mod location;
mod log;
pub mod memory;
mod message;
mod part;
mod place;
pub mod plan;
mod position;
mod range;
mod role;
mod selectors;
mod stream;
mod structure;
mod trace_class;
mod value;
mod visitor;
pub mod walk;
mod weight;
mod wide_integer;

pub use attribute::{Attributes, Value};
pub use clock::{ClockArithmetic, ClockClass, ClockOrigin};
pub use diagnostic::{Diagnostic, Severity};
pub use event::{ClockValue, Event, Packet, Scopes};
pub use field_class::{
    BitField, BitOrder, ByteOrder, DisplayBase, FieldClass, FieldKind, IntegerProperties, Length, Member,
    StringEncoding, StringLength, VariableLengthValue, VariantOption,
};
pub use input::{Cut, FileDiagnostic, StreamSummary, TraceInput, TracerQuirk, Window, advance_to};
pub use late::{LateClass, LateClasses};
pub use limits::Limits;
pub use locate::{LocationProblem, LocationRule};
pub use location::{FieldLocation, LocationStep, Scope};
pub use log::{
    LevelScale, LevelStep, LogComponent, LogLevel, LogMeaning, LogMember, LogRole, LogSeverity, LogText,
};
pub use message::{
    BrokenRule, Cursor, Damage, DamageKind, Discarded, EventCounts, HandedOn, Head, Message, MessageKind,
    Place, Sink, Take, order,
};
pub use place::{DeclaredAt, TextPlace};
pub use range::{IntegerRange, Mapping, Mappings, MappingsBuilder, RangeSet, Ranges};
pub use role::{ClockUpdate, Role, Roles};
pub use selectors::Selectors;
pub use stream::{DataStream, Trace};
pub use trace_class::{DataStreamClass, EventRecordClass, TraceClass};
pub use uuid::Uuid;
pub use value::{Real, Text, Wide};
pub use visitor::{Field, Skip, Visitor};
pub use weight::Weight;
pub use wide_integer::{WideInteger, WideRange};
