//! A tracer for Rust programs and microcontrollers, which writes [CTF 2](https://diamon.org/ctf/) (SPEC-2.0).
//!
//! An event is a Rust type, so its layout is known at compile time. Recording it is a comparison, a time stamp and a
//! copy.
//!
//! ```
//! use ichnos_tracer::{Recording, RecordingOptions, TraceEvent};
//!
//! #[derive(TraceEvent)]
//! #[trace(level = "info")]
//! struct Answered<'a> {
//!     path: &'a str,
//!     #[trace(base = 16)]
//!     status: u16,
//!     bytes: Option<u64>,
//! }
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("trace");
//! let recording = Recording::start(RecordingOptions::new(path))?;
//! ichnos_tracer::record(&Answered { path: "/", status: 200, bytes: Some(512) });
//! assert_eq!(recording.finish().discarded, 0);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! There are two layers:
//!
//! - Without the feature `std`, the crate needs only `core`, no memory but the caller's, and no `unsafe` code.
//!   [`Tracer`] fills packets and hands them to a [`Platform`]: a serial port, a flash chip, a debugger.
//! - With `std`, [`Recording`] has a ring of packets for each thread, in files that are mapped into memory.
//!   `TraceLayer` records spans and events of `tracing`, and `LogBackend` messages of `log`.
//!
//! # Types and data flow
//!
//! | type | what it is |
//! |---|---|
//! | [`TraceField`] | a Rust type as a field: its class, and how its bytes are written |
//! | [`TraceEvent`] | a structure as an event: its class, the size of its fixed part, and how its payload is written |
//! | [`EventDescription`], [`MemberDescription`], [`FieldDescription`] | classes, as constants |
//! | [`event_set!`], [`EventSet`] | all event types of a program, with their ids |
//! | [`Tracer`] | packets in a buffer, one data stream |
//! | [`TraceDescription`] | writes the metadata |
//! | `Recording` | the same for programs: classes get their ids when they are first recorded |
//!
//! A payload is a *fixed part*, one array of bytes whose layout is constant, and a *variable part*. A string or slice
//! has its length in the fixed part, an [`Option`] whether it is there. The members of the class come in this order,
//! too. ichnos hides the members with lengths. A structure is in the fixed part, unless it has strings, slices or
//! options: then all of it is in the variable part, with its own lengths first.
//!
//! # An event, step by step
//!
//! `record(&Answered { path: "/", status: 200, bytes: Some(512) })`:
//!
//! 1. Two loads tell whether there is a recording, and which id it has given to the class. If it has none, the class is
//!    appended to the file `metadata`, in one page, so that the file is valid at each instant.
//! 2. The size is known: 7 bytes in the fixed part (the length 1, the status, the presence) and 9 in the variable part.
//!    If they do not fit into the packet, a new one begins, at the end of the file in a new file.
//! 3. The fixed part is put together in registers and copied, and the variable part after it. Before them are the id,
//!    the lower half of the time, and the thread.
//! 4. The packet's end time is stored, and then its content size, with *release* order. Now the event is part of the
//!    trace: if the process is killed before this store, no reader sees the event, and after it, all readers do.
//!
//! The last packet of a file reaches to the end of the file, as padding. To begin a packet, its head is written into
//! this padding, and one store shortens the packet before it. So the file has valid packets only, without gaps, at each
//! instant, and `ichnos cat` and Babeltrace read it after `kill -9`. Files get their names when their first packet is
//! complete. Each of them has an event `thread_name` for each thread, which costs other events nothing.
//!
//! While the program runs, `Recording::snapshot` is a trace, and `ichnos cat --follow` shows all events of a recording
//! that keeps all files. Other readers read a file in several steps, between which it changes: a plain `ichnos cat` can
//! report damage in the last packet of a file. Files of a flight recorder vanish meanwhile, so that readers, also
//! Babeltrace, need a snapshot.
//!
//! A flight recorder (`SizeLimit::Last`) fills its oldest file with zeros and uses it again, under a new name, because
//! that takes less time than creating one. It does so only if nobody else has opened, linked or replaced the file.
//!
//! The fields of spans and events of `tracing` are known when they happen. Their integers are in LEB128, and their texts
//! end with a zero. Readers stop at a zero in other texts, too, so `␀` takes the place of a zero in a text.
//!
//! # Limits
//!
//! | case | what happens |
//! |---|---|
//! | An event is larger than a packet | it is discarded and counted in the packet context |
//! | All packets are full, the size limit is reached, or the disk is full | [`FullPolicy`], or [`SizeLimit`]: discarded and counted, or the oldest packet or file is dropped. `RLIMIT_FSIZE` counts as a full disk |
//! | The disk is full when an event is the first one of its class | its events are lost and counted, until the class can be described: this is tried each 100 ms |
//! | The clock goes back | the event has the time of the event before it |
//! | No event for 2³² cycles | a packet begins, because events have the lower half of their time |
//! | A signal handler interrupts an event with another one | the second one is lost and counted |
//! | A signal handler interrupts code that allocates memory, and records | the event is recorded, also where a file is full |
//! | A signal handler records the first event of its thread or class | the process can wait forever (`record`) |
//! | A `TraceField` records an event while it is written, or the `Debug` of a value an event of `tracing` | the inner event is lost and counted |
//! | The process forks with `fork` | the child records nothing, unless it starts a recording itself |
//! | The process makes the system call itself (`syscall`, `clone`) | the child must not record: it would write into its parent's files |
//! | A second program uses the directory | [`Recording::start`] returns an error |
//! | Another program truncates the files | the process gets a bus error, as for all mapped files |
#![cfg_attr(not(feature = "std"), no_std)]
// Only the files of packets in memory, the time stamp counter and `fork` need it.
#![deny(unsafe_code)]

mod description;
mod event;
mod event_set;
mod field;
mod field_order;
mod flag_descriptions;
mod metadata;
mod packet;
mod packet_queue;
mod shown_text;
mod stream_options;
mod tracer;
mod variable_part;

// `log` has text alone.
#[cfg(all(any(feature = "tracing", feature = "log"), target_os = "linux"))]
#[cfg_attr(not(feature = "tracing"), allow(dead_code))]
mod dynamic_event;
#[cfg(all(feature = "log", target_os = "linux"))]
mod log_backend;
#[cfg(all(feature = "tracing", target_os = "linux"))]
mod recorded_span;
#[cfg(all(feature = "std", target_os = "linux"))]
mod recording;
#[cfg(all(feature = "tracing", target_os = "linux"))]
mod span_context;
#[cfg(all(feature = "std", target_os = "linux"))]
mod trace_event_macro;
#[cfg(all(feature = "tracing", target_os = "linux"))]
mod tracing_layer;

pub use description::{
    EventDescription, EventLevel, FieldDescription, FlagDescription, MappingDescription, MemberDescription,
};
pub use event::{EventSite, TraceEvent};
pub use event_set::{EventSet, InEventSet};
pub use field::TraceField;
pub use field_order::FieldOrder;
pub use ichnos_tracer_derive::{TraceEvent, TraceField};
#[cfg(all(feature = "log", target_os = "linux"))]
pub use log_backend::LogBackend;
pub use metadata::{ClockDescription, EnvironmentValue, TraceDescription};
#[cfg(all(feature = "std", target_os = "linux"))]
pub use recording::{
    ClockSource, Recording, RecordingOptions, RecordingSummary, SizeLimit, is_recording, record,
};
#[cfg(all(feature = "tracing", target_os = "linux"))]
pub use span_context::{NotATraceParent, RemoteParent, SpanContext};
pub use stream_options::{FullPolicy, StreamOptions};
pub use tracer::{Platform, Tracer};
#[cfg(all(feature = "tracing", target_os = "linux"))]
pub use tracing_layer::{RecordingFilter, TraceLayer};
pub use variable_part::VariablePart;

/// What derived code needs.
#[doc(hidden)]
pub mod derive {
    pub use crate::flag_descriptions::flag_descriptions;
    pub use crate::packet::{aligned, larger};
}

/// Compiles and runs the code in the documents.
#[cfg(all(doctest, feature = "tracing"))]
mod documents {
    #[doc = include_str!("../../../docs/guides/tracer.md")]
    mod guide {}
}
