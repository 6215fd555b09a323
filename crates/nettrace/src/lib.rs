//! EventPipe's files, `.netperf` and `.nettrace`, which .NET and one-collect write.
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
pub use tables::{Label, SequencePoint, StackRows, ThreadRow, addresses};
pub use trace_block::{SystemTime, TraceBlock};
