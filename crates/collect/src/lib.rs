//! Collects and stores reports from running programs.
//!
//! A [`Collector`] receives reports over UDP (one report per datagram) and TCP (a length before each report). It checks
//! them by the rules of their [format](ichnos_io::FormatInfo::collect), and appends them to *segments*: plain text
//! files in a directory, with checksums next to them. An [`Index`] locates the reports of each task. The index is made
//! from the segments, and can be rebuilt. A [`RecordStore`] stores requests that another receiver acknowledges.
//! `docs/collect.md` describes the protocol, the files and the guarantees.
#![forbid(unsafe_code)]

mod batch;
mod collector;
mod connection;
mod directory;
mod duplicates;
mod error;
mod files;
mod index;
mod indexer;
#[cfg(target_os = "linux")]
mod kernel_drops;
mod notice;
mod options;
mod pieces;
mod record_file;
mod record_store;
mod recovery;
mod segment;
mod shared;
mod statistics;
mod sums;
mod tcp;
mod udp;
mod writer;

pub use collector::{Collector, rebuild_index};
pub use connection::SYNC;
pub use directory::format_of;
pub use error::CollectError;
pub use index::{Index, Location, Task};
pub use notice::Notice;
pub use options::CollectorOptions;
pub use record_store::{RecordKind, RecordStore, RecordStoreOptions, RecordStoreStatistics};
pub use statistics::Statistics;
