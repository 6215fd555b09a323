//! Collects the reports that running programs send, and keeps them.
//!
//! A [`Collector`] receives over UDP (a report is a datagram) and TCP (a report has its length before it), checks
//! reports by what their [format](ichnos_io::Format::collect) says, and appends them to *segments*: plain files of
//! text in a directory, with checksums beside them. An [`Index`] knows which task has which reports where; it
//! is made of the segments, and can be made again. `docs/collect.md` describes the protocol, the files and what is
//! guaranteed.
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
pub use statistics::Statistics;
