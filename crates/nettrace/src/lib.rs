//! EventPipe's files, `.netperf` and `.nettrace`, which .NET and one-collect write.
//!
//! Version 3 (`.netperf`), version 4, also with the tags that are called version 5, and version 6 are read.
//!
//! There are three doors:
//! - [`Nettrace`] is the format for a registry of formats, and [`NettraceFile`] a file behind the model of ichnos;
//! - [`Feed`] parses bytes that come in pieces, without a file;
//! - [`known`] has the names and fields of events that files do not describe.
//!
//! # How files become traces
//!
//! | format | model |
//! |---|---|
//! | file | trace with one data stream |
//! | row of metadata | event record class `Provider/Event`; identical rows are one |
//! | event | event record |
//! | thread, capture thread, processor, stack, activities, labels | common context |
//! | process (up to version 5) | resource |
//! | fields of the payload | payload; bits where they are laid out as the class says, values otherwise |
//! | stack | number in the stack table of the trace |
//! | process (of addresses in version 6) | address space; 0 is that of the kernel |
//! | loads, unloads and lists of methods, mappings, symbols | symbols of the trace; they are events as well |
//! | ticks | the clock, whose offset is that of the synchronisation time |
//! | gap in the numbers of a thread | discarded events |
//! | sequence point | where reading can begin |
#![forbid(unsafe_code)]

mod container;
mod event_row;
mod feed;
mod field;
pub mod known;
mod metadata;
mod reader;
mod rule;
mod tables;
mod trace_block;
mod wire;

pub use container::{Block, BlockKind, Container, Refusal, Step, Version, recognise};
pub use event_row::{EventRow, EventRows, RowEncoding};
pub use feed::{Feed, FeedEvent, FeedItem};
pub use field::{Field, FieldType, ValueNames};
pub use metadata::Metadata;
pub use reader::{Nettrace, NettraceFile, OpenError, OpenOptions, clock_zeros};
pub use rule::{Fault, Rule};
pub(crate) use tables::PointHead;
pub use tables::{Label, SequencePoint, StackRows, ThreadRow, addresses};
pub use trace_block::{SystemTime, TraceBlock};
