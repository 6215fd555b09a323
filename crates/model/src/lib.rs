//! The data model of ichnos, produced by readers of trace formats and consumed by sinks.
//!
//! Terms are those of CTF 2, as far as it has them; the documentation of each format maps its own terms to
//! them.
//!
//! - A [`Trace`] is described by a [`TraceClass`] and consists of [`DataStream`]s.
//! - A reader makes a [`Cursor`] for each data stream, which delivers [`Message`]s: events, losses, damage.
//! - An [`Event`] is borrowed. Its fields are read with [`Event::visit`] and a [`Visitor`], or one at a time
//!   with [`Event::field`].
//! - A [`Sink`] takes messages.
#![forbid(unsafe_code)]

mod activity_path;
mod attribute;
mod bits;
mod class_tree;
mod clock;
mod cost;
mod cursor;
mod damage;
pub mod decode;
mod diagnostic;
mod digest;
mod dynamic_classes;
mod event;
mod event_builder;
mod event_class_table;
mod event_counts;
mod event_role;
mod event_values;
mod field_class;
mod field_path;
mod field_ref;
mod field_value;
mod head;
mod identifier;
mod input;
mod limits;
mod location;
mod log;
pub mod lower;
mod meaning;
pub mod memory;
mod message;
mod message_queue;
pub mod plan;
mod range;
mod record;
mod record_trace;
mod role;
mod selectors;
mod small_cursor;
mod source;
mod source_cursor;
mod stack;
mod stream;
mod symbols;
mod text_position;
mod trace_class;
mod utf16;
mod value;
mod value_cache;
mod value_hash;
mod visitor;
mod wall_clock;
mod wide_integer;

pub use activity_path::ActivityPaths;
pub use attribute::{Attributes, Value};
pub use class_tree::Child;
pub use clock::{ClockArithmetic, ClockClass, ClockOffsets, ClockOrigin, ClockValue};
pub use cost::Cost;
pub use cursor::{BoxedCursor, Checkpoint, Cursor, Drained, ExcludedClasses, MessageHandler, StreamCursor};
pub use damage::{BrokenRule, Damage, DamageKind, remedy};
pub use diagnostic::{Diagnostic, FileDiagnostic, FileRole, Severity};
pub use digest::{
    ChangeText, ClassDigest, EventHash, EventHashFn, ScopeVisitor, StreamDigest, TraceDigest, hash_of_packet,
};
pub use dynamic_classes::{DynamicClass, DynamicClasses};
pub use event::{Event, Packet, Scopes};
pub use event_builder::{BuildError, EventBuilder};
pub use event_class_table::EventClassTable;
pub use event_counts::EventCounts;
pub use event_role::EventRole;
pub use event_values::EventValues;
pub use field_class::{
    BitField, BitOrder, ByteOrder, DisplayBase, FieldClass, FieldKind, IntegerProperties, Length, Member,
    StringLength, VariableLengthValue, VariantOption,
};
pub use field_path::FieldPath;
pub use field_ref::FieldRef;
pub use field_value::FieldValue;
pub use head::{Head, MessageKind, sort_key};
pub use identifier::{Chain, FindMentions, Identifier, Mention};
pub use input::{SplitPoint, StreamSummary, TraceInput, TracerQuirk, Window, advance_to};
pub use limits::Limits;
pub use location::{FieldLocation, LocationStep, Scope};
pub use log::{
    LOG_LEVEL_NAMES, LevelScale, LevelStep, LogLevel, LogRole, LogSeverity, LogText, TRACER_NAMESPACES,
};
pub use meaning::{CauseKind, Meaning, Meanings, MemberIndex, UnknownMeaning};
pub use message::{Discarded, Message, Sink};
pub use message_queue::{MessageQueue, QueuedMessage, StreamLoss};
pub use plan::{LocationProblem, LocationRule};
pub use range::{IntegerRange, Mapping, Mappings, MappingsBuilder, RangeSet, Ranges};
pub use record::Record;
pub use record_trace::RecordTrace;
pub use role::{ClockUpdate, Role, Roles};
pub use selectors::Selectors;
pub use small_cursor::{Reopen, SharedCursorState, SmallCursor};
pub use source::{NextRecord, Source};
pub use source_cursor::SourceCursor;
pub use stack::{Frame, StackTable, StackView};
pub use stream::{CallStacks, DataStream, Trace};
pub use symbols::{CodeKind, Resolved, Symbol, Symbols, Validity};
pub use text_position::{DeclaredAt, TextPosition};
pub use trace_class::{DataStreamClass, EventRecordClass, TraceClass, UuidOf};
pub use uuid::Uuid;
pub use value::{Real, StringEncoding, Text, Wide};
pub use value_cache::ValueCache;
pub use value_hash::ValueHash;
pub use visitor::{Field, Skip, Visitor};
pub use wall_clock::WallClock;
pub use wide_integer::{WideInteger, WideRange};
