//! EventPipe files, `.netperf` and `.nettrace`, as written by .NET and one-collect.
//!
//! Reads version 3 (`.netperf`), version 4, including the tags known as version 5, and version 6.
//!
//! There are three entry points:
//! - [`Nettrace`] is the format for a registry of formats, and [`NettraceFile`] reads a file as a trace of the
//!   model;
//! - [`Feed`] parses bytes that arrive in pieces, without a file;
//! - [`known`] has the names and fields of events that are not described in files.
//!
//! # Mapping to the model
//!
//! | format | model |
//! |---|---|
//! | file | trace with one data stream |
//! | metadata | event record class `Provider/Event`; identical ones are joined |
//! | event | event record |
//! | thread, capture thread, processor, stack, activities, labels | common context |
//! | process (up to version 5) | resource |
//! | fields of the payload | payload; bits if they have the layout of the class, otherwise values |
//! | stack | number in the stack table of the trace |
//! | process (of addresses in version 6) | address space; 0 is that of the kernel |
//! | loads, unloads and lists of methods, mappings, symbols | symbols of the trace, besides being events |
//! | ticks | the clock, whose offset is derived from the synchronization time |
//! | gap in the numbers of a thread | discarded events |
//! | sequence point | point at which reading can begin |
#![forbid(unsafe_code)]

mod block;
mod block_view;
mod container;
mod event_row;
mod feed;
mod field;
mod first_block;
pub mod known;
mod metadata;
mod metadata_writer;
mod object_type;
mod reader;
mod rule;
mod tables;
mod trace_block;
mod wire;
mod wire_writer;
mod writer;

pub use block::{Block, BlockKind, Version};
pub use container::{Container, FileItem, Refusal, recognise};
pub use event_row::{EventRow, EventRows, RowEncoding};
pub use feed::{Feed, FeedEvent, FeedItem};
pub use field::{Field, FieldType, ValueNames};
pub use metadata::EventMetadata;
pub use reader::{Nettrace, NettraceFile, NettraceOptions, OpenError, clock_zeros};
pub use rule::{Fault, Rule};
pub(crate) use tables::PointHead;
pub use tables::{Label, SequencePoint, StackRows, ThreadRow, addresses};
pub use trace_block::{SystemTime, TraceBlock};
pub use writer::NettraceWriter;
