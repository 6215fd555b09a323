//! X-Trace: identifiers that travel with a request through threads, processes, layers and machines, and reports about
//! the dependencies between its operations.
//!
//! [`Metadata`] travels with the request. It holds the task identifier, the identifier of its last operation, and
//! options.
//! The codec needs only `core`, borrows bytes or keeps them inline, and never allocates. [`dialect`] has other forms of
//! the same identifiers, and [`find_identifiers`] finds all of them in texts.
//!
//! With the feature `alloc`, the module `report` reads and writes reports. With `propagation`, `Context` is the
//! position of an execution in its task. The features `tracing`, `tower` and `opentelemetry` propagate it through other
//! libraries.
#![forbid(unsafe_code)]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(feature = "alloc")]
pub mod carrier;
pub mod dialect;
mod edge;
pub mod find;
mod hex;
mod id;
mod labeled_ids;
pub mod metadata;
pub mod option;
#[cfg(feature = "reader")]
pub mod reader;
#[cfg(feature = "reader")]
mod recent_map;
#[cfg(feature = "alloc")]
pub mod report;
#[cfg(feature = "reader")]
pub mod report_writer;
mod rules;
mod word;

#[cfg(feature = "propagation")]
pub mod propagation;
#[cfg(feature = "tracing")]
mod tracing_layer;

pub use edge::{Edge, EdgeError, EdgeKind};
pub use find::{Identifier, find_identifiers};
pub use id::{IdError, OpId, TaskId};
pub use labeled_ids::LabeledIds;
pub use metadata::{Invalid, Metadata, MetadataError, MetadataRef, ValidMetadata};
#[cfg(feature = "propagation")]
pub use propagation::{Context, Tracer};
#[cfg(feature = "reader")]
pub use reader::XTrace;
#[cfg(feature = "reader")]
pub use report_writer::XTraceWriter;
#[cfg(feature = "tracing")]
pub use tracing_layer::OperationLayer;

#[cfg(feature = "propagation")]
#[doc = include_str!("guide.md")]
pub mod guide {}
