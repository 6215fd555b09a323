//! End-to-end tests of the reader: recorded files compared with TraceEvent, the reference reader, and handwritten
//! files, including damaged and hostile files.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

/// Writes files of the format.
pub(crate) mod builder {
    pub(crate) use ichnos_testing::nettrace_file::{
        FileEvent as Event, FileMetadata as Metadata, FileVersion as Form, *,
    };
}

mod baselines;
mod comparison;
mod converted;
mod copied;
mod counts;
mod damaged_pages;
mod differences;
mod document;
mod dumps;
mod feed;
mod fixtures;
mod generated;
mod hostile;
mod invariants;
mod live;
mod memory;
mod named_functions;
mod order;
mod processes;
mod reading;
mod reference;
mod rewritten;
mod support;
mod trace_event;
mod truncated;
mod typed;
mod types;
mod workload;
mod writing;
