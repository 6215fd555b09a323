//! Reads structured traces of several formats, merges their events by time, and delivers them.
//!
//! ```no_run
//! use ichnos::prelude::*;
//!
//! let session = ichnos::open(["my-trace"], &OpenOptions::default())?;
//! let mut events = session.events()?;
//! while let Some(event) = events.next_event() {
//!     println!("{}: {:?}", event.name(), event.field("next_tid").and_then(|tid| tid.as_u64()));
//! }
//! # Ok::<(), ichnos::OpenError>(())
//! ```
//!
//! # Files truncated by other programs
//! Files are mapped into memory. On Unix, the process is killed if another program truncates a mapped file while it
//! is read, unless the program has called [`io::handle_bus_errors`]: then the reader reports the missing bytes as
//! damage. That function installs a handler of the signal `SIGBUS` for the whole process, so a library should not do
//! this unasked.
//!
//! # Features
//! Each format has a feature with its name, on by default. [`FORMATS`] lists the enabled ones. The feature `collect`,
//! also on by default, enables [`collect`].
#![forbid(unsafe_code)]

#[cfg(feature = "collect")]
pub mod collect;
pub mod convert;
pub mod create;
mod division;
mod enclosing;
mod events;
mod foreign_formats;
mod format;
pub mod index;
mod open_options;
mod pass;
mod reader;
mod selection;
mod session;
mod stats_output;
mod stream_messages;
mod tail;
mod text_output;
mod verify;

pub use create::{CreateOptions, create};
pub use events::{Events, Loss};
pub use format::FORMATS;
#[cfg(feature = "ctf")]
pub use ichnos_ctf as ctf;
pub use ichnos_export as export;
pub use ichnos_flow as flow;
pub use ichnos_flow::{Expression, Filter, FilterError, FilterErrorKind, FilterWarning, KnownName, Selector};
#[cfg(feature = "fuchsia-log")]
pub use ichnos_fuchsia as fuchsia;
pub use ichnos_io as io;
pub use ichnos_io::{Format, FormatOption, OptionError, OptionKind, OptionValue, Refused};
#[cfg(feature = "jsonl")]
pub use ichnos_jsonl as jsonl;
pub use ichnos_model as model;
#[cfg(feature = "xtrace")]
pub use ichnos_xtrace as xtrace;
pub use open_options::{ClockOffset, OpenOptions};
pub use pass::{Pass, PassCounts, PassEnd, PassHandler, PassNote, PassObserver, PassOptions, PassSummary};
pub use reader::{IntersectionError, Reader};
pub use selection::Selection;
pub use session::{NoTrace, OpenError, OutputKind, Session, UncorrelatedClocks, listen, open, open_reader};

pub use stats_output::{StatsOutput, StatsResult};
pub use stream_messages::StreamMessages;
pub use text_output::{BlockWarnings, BlockWriter, TextOutput};

/// Common imports.
pub mod prelude {
    pub use ichnos_flow::pump;
    pub use ichnos_model::{
        Cursor, Damage, DataStream, Event, FieldPath, Meaning, Message, Packet, Scope, Sink, StreamCursor,
        TraceInput, Visitor, Window,
    };

    pub use crate::{OpenOptions, Session, open};
}

/// Compiles and runs the code in the documents.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../CONTRIBUTING.md")]
    mod contributing {}
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[cfg(all(feature = "ctf", feature = "fuchsia-log"))]
    #[doc = include_str!("../../../docs/writing.md")]
    mod writing {}
}
