//! EventPipe files (`.netperf` and `.nettrace`), written by .NET and one-collect.
//!
//! Reads version 3 (`.netperf`), version 4 (including version 5, which adds tags), and version 6.
//!
//! There are four entry points:
//! - [`Nettrace`] is the format for a format registry, and [`NettraceFile`] reads a file as a trace in the model.
//! - [`LiveNettrace`] delivers the events of a running session in the model, sorted by time.
//! - [`Feed`] parses bytes that arrive in chunks, without a file and without the model.
//! - [`known`] has the names and fields of events that files do not describe.
//!
//! # Mapping to the model
//!
//! | format | model |
//! |---|---|
//! | file | trace with one data stream |
//! | metadata | event record class `Provider/Event` (equal metadata is joined) |
//! | event | event record |
//! | thread, capture thread, processor, stack, activities, labels | common context |
//! | process (up to version 5) | resource |
//! | payload fields | payload: bits if they have the layout of the class, otherwise values |
//! | stack | number in the trace's stack table |
//! | process (of addresses in version 6) | address space (kernel: 0) |
//! | method loads, unloads and lists, mappings, symbols | symbols of the trace, and also events |
//! | ticks | clock, whose offset is derived from the synchronization time |
//! | gap in a thread's sequence numbers | discarded events |
//! | sequence point | point at which reading can start |
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
pub use container::{Container, FileItem, Refusal, recognize};
pub use event_row::{EventRow, EventRows, RowEncoding};
pub use feed::{Feed, FeedEvent, FeedItem};
pub use field::{FieldType, PayloadField, ValueNames};
pub use metadata::EventMetadata;
pub use reader::{
    LiveNettrace, LiveState, Nettrace, NettraceFile, NettraceOpenError, NettraceOptions, clock_zeros,
};
pub use rule::{Fault, Rule};
pub(crate) use tables::PointHead;
pub use tables::{EventLabel, SequencePoint, StackRows, ThreadRow, addresses};
pub use trace_block::{SystemTime, TraceBlock};
pub use writer::NettraceWriter;
