//! Reads structured traces of several formats, merges their events by time, and delivers them to your code, as text,
//! or as another trace.
//!
//! # Events
//! [`open`] opens any number of traces of any format as a [`Session`]. [`Session::events`] iterates over all events
//! sorted by time:
//!
//! ```
//! use ichnos::prelude::*;
//!
//! # if !cfg!(all(feature = "ctf", feature = "jsonl")) { return Ok(()) }
//! # let path = "../../examples/hello-lttng";
//! let session = ichnos::open([path], &OpenOptions::default())?;
//! let mut events = session.events()?;
//! while let Some(event) = events.next_event() {
//!     println!("{}: {:?}", event.name(), event.field("next_tid").and_then(|tid| tid.as_u64()));
//! }
//! # Ok::<(), ichnos::OpenError>(())
//! ```
//!
//! An event borrows from the session and lives until the next event is read, so it needs no allocation. A
//! [`FieldPath`](model::field::FieldPath) finds a field of many events without a name search in each event.
//! [`Event::meaning`](model::Event::meaning) finds a field by its role (the thread, the message, a stack), under any
//! name. [`Event::visit`](model::Event::visit) passes all values of a scope to a [`Visitor`](model::Visitor).
//!
//! # Passes
//! A [`Pass`] takes all messages of a [`Reader`], not only events: starts and ends of data streams and packets,
//! losses, damage. It selects, limits, counts and stops. The messages go to a [`Sink`](model::Sink), for example a
//! closure:
//!
//! ```
//! use std::ops::ControlFlow;
//! use ichnos::prelude::*;
//! use ichnos::{Pass, Selection};
//!
//! # if !cfg!(all(feature = "ctf", feature = "jsonl")) { return Ok(()) }
//! # let path = "../../examples/hello-lttng";
//! let session = ichnos::open([path], &OpenOptions::default())?;
//! let selection = Selection::default().events(|name| name.starts_with("hello"));
//! let reader = selection.reader(&session, Window::default())?;
//! let pass = Pass::new(selection).limit(3);
//! let summary = reader.pass().with(pass).run(&mut |message: &Message<'_>| {
//!     if let Message::Event(event) = message {
//!         println!("{}", event.name());
//!     }
//!     Ok(ControlFlow::Continue(()))
//! })?;
//! assert_eq!(summary.counts.damages, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Outputs
//! [`Reader::pass`] delivers the same messages to an [`Output`](io::Output) on several threads. [`TextOutput`] writes
//! the text of a sink, from [`export`] or your own. The text is the same for any number of threads:
//!
//! ```
//! use ichnos::TextOutput;
//! use ichnos::export::{Pretty, PrettyOptions};
//! use ichnos::prelude::*;
//!
//! # if !cfg!(all(feature = "ctf", feature = "jsonl")) { return Ok(()) }
//! # let path = "../../examples/hello-lttng";
//! let session = ichnos::open([path], &OpenOptions::default())?;
//! let mut text = Vec::new();
//! let output = TextOutput::new(&mut text, |writer| Pretty::new(writer, PrettyOptions::default()));
//! session.reader()?.pass().write(&output)?;
//! drop(output);
//! assert!(text.starts_with(b"["));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Traces
//! [`Reader::convert`] writes a trace of another format or dialect, and returns every loss. [`Pass::map`] changes events
//! on the way. [`convert::TextFileWriter`] writes text in the same way. [`create`](create()) writes traces from your own
//! data.
//!
//! ```
//! use ichnos::convert::{ConvertOptions, target};
//! use ichnos::prelude::*;
//!
//! # if !cfg!(all(feature = "ctf", feature = "jsonl")) { return Ok(()) }
//! # let path = "../../examples/hello-lttng";
//! let session = ichnos::open([path], &OpenOptions::default())?;
//! let target = target(Some("jsonl"), "".as_ref(), None).ok_or("no such format")?;
//! // Without a path, nothing is written: only the losses are determined.
//! let report = session.reader()?.convert(target.writer, None, &ConvertOptions::default())?;
//! println!("{} events, {} losses", report.events, report.losses.iter().count());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Several outputs
//! [`Reader::split`] writes several traces or text files in one pass. A [`SplitBy`] assigns each event to one of
//! them. [`convert::PartTimes`] finds parts with a duration or a size, and [`convert::PartValues`] makes a part for
//! each value of a field. [`Pass::write_parts`] runs the same pass for a custom output.
//!
//! ```
//! use ichnos::convert::{ConvertOptions, SplitTargets, target};
//! use ichnos::prelude::*;
//! use ichnos::SplitBy;
//!
//! # if !cfg!(all(feature = "ctf", feature = "jsonl")) { return Ok(()) }
//! # let path = "../../examples/hello-lttng";
//! let session = ichnos::open([path], &OpenOptions::default())?;
//! let target = target(Some("jsonl"), "".as_ref(), None).ok_or("no such format")?;
//! // Part 0 is of errors, part 1 of all other events. Without paths, nothing is written.
//! let mut part_of = |event: &Event<'_>| Some(usize::from(!event.name().contains("error")));
//! let by = SplitBy::Events { part_of: &mut part_of, rest: &mut || 1 };
//! let (mut path, mut finished) = (|_| None, |part: usize, written: &ichnos::io::WriteReport| {
//!     println!("part {part}: {} events", written.events);
//! });
//! let targets = SplitTargets { path: &mut path, selected_by: &|_| None, finished: &mut finished };
//! session.reader()?.split(target.writer, by, targets, &ConvertOptions::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Crates
//! | module | contents |
//! |---|---|
//! | [`model`] | [classes](model::class), [events](model::event), [fields](model::field), [messages](model::message), [clocks](model::clock), and [`model::Source`] for new formats |
//! | [`io`] | files, archives, compressed input, format and output traits |
//! | [`filter`] | [expressions](Expression) that select events |
//! | [`debug_info`] | binaries, functions and source lines of addresses |
//! | [`flow`] | the merge, chunks on several threads, the running thread |
//! | [`export`] | text sinks |
//! | [`analysis`] | statistics, thread states, call stack profiles, task graphs |
//! | [`viewers`] | files for viewers, and the timeline of `ichnos view` |
//! | [`ctf`](https://docs.rs/ichnos-ctf), `fuchsia`, `jsonl`, `nettrace`, `otlp`, `xtrace` | format features beyond reading and writing |
//! | `query` | selection of events by texts that users write |
//! | `tables` | events, spans, stacks, tasks and losses as tables |
//! | `table` | Arrow record batches, Parquet datasets |
//!
//! # Files truncated by other programs
//! Files are mapped into memory. On Unix, the process is killed if another program truncates a mapped file while it
//! is read. To prevent this, a program can call [`io::handle_bus_errors`]: the reader then reports the missing bytes
//! as damage. That function installs a `SIGBUS` handler for the whole process, so a library should not call it
//! unasked.
//!
//! # Features
//! Each format has a feature with its name, on by default. [`FORMATS`] lists the enabled formats. The feature
//! `collect`, also on by default, enables [`collect`]. Off by default: `query` selects events by texts, `arrow` adds
//! tables of events and answers, and `table` also writes Parquet datasets ([`convert::targets`]). Parquet takes long to
//! build.
#![forbid(unsafe_code)]

#[cfg(feature = "collect")]
pub mod collect;
pub mod convert;
pub mod create;
pub mod debug_info;
mod division;
mod enclosing;
mod events;
mod foreign_formats;
mod format;
pub mod index;
pub mod live;
mod open_options;
mod pass;
#[cfg(feature = "query")]
pub mod query;
mod reader;
mod selection;
mod session;
mod shard_parts;
mod stats_output;
mod stream_messages;
#[cfg(feature = "arrow")]
pub mod tables;
mod tail;
mod text_output;
mod verify;

pub use create::{CreateOptions, create};
pub use events::{Events, Loss};
pub use format::{FORMATS, formats};
pub use ichnos_analysis as analysis;
#[cfg(feature = "ctf")]
pub use ichnos_ctf as ctf;
#[cfg(all(feature = "dotnet", target_os = "linux"))]
pub use ichnos_dotnet_diagnostics as dotnet_diagnostics;
pub use ichnos_export as export;
pub use ichnos_filter as filter;
pub use ichnos_filter::{
    Expression, Filter, FilterError, FilterErrorKind, FilterWarning, KnownName, Selector,
};
pub use ichnos_flow as flow;
#[cfg(any(feature = "fuchsia-log", feature = "fxt"))]
pub use ichnos_fuchsia as fuchsia;
pub use ichnos_io as io;
pub use ichnos_io::{Format, FormatInfo, FormatOption, OptionError, OptionKind, OptionValue, RefusedTrace};
pub use ichnos_json as json;
#[cfg(feature = "jsonl")]
pub use ichnos_jsonl as jsonl;
pub use ichnos_model as model;
#[cfg(feature = "nettrace")]
pub use ichnos_nettrace as nettrace;
#[cfg(feature = "otlp")]
pub use ichnos_otlp as otlp;
#[cfg(feature = "arrow")]
pub use ichnos_table as table;
pub use ichnos_viewers as viewers;
#[cfg(feature = "xtrace")]
pub use ichnos_xtrace as xtrace;
pub use open_options::{ClockOffset, OpenOptions};
pub use pass::{
    LiveCounts, Parts, Pass, PassCounts, PassEnd, PassNote, PassObserver, PassOptions, PassSummary,
    ReaderPass, SplitBy,
};
pub use reader::{IntersectionError, Reader};
pub use selection::Selection;
pub use session::{NoTrace, OpenError, OutputKind, Session, UncorrelatedClocks, open, open_reader};

pub use stats_output::{StatsOutput, StatsResult};
pub use stream_messages::StreamMessages;
pub use text_output::{BlockWarnings, BlockWriter, TextOutput};

/// Common imports.
pub mod prelude {
    pub use ichnos_flow::pump;
    pub use ichnos_model::cursor::StreamCursor;
    pub use ichnos_model::event::Packet;
    pub use ichnos_model::field::FieldPath;
    pub use ichnos_model::meaning::Meaning;
    pub use ichnos_model::message::Damage;
    pub use ichnos_model::{Cursor, DataStream, Event, Message, OpenedTrace, Scope, Sink, Visitor, Window};

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
    #[cfg(feature = "ctf")]
    #[doc = include_str!("../../../docs/guides/rust.md")]
    mod guide {}
}
