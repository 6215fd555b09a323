//! Sinks that write messages as text: what people read in a terminal ([`Pretty`], [`Details`]),
//! what other programs read ([`JsonLines`]), and what only counts ([`Null`]).
//!
//! All of them are [`Sink`](ichnos_model::Sink)s. They append to one buffer that they write out when
//! it is full; nothing is allocated per event.
#![forbid(unsafe_code)]

mod block;
mod color;
mod details;
mod integers;
mod jsonl;
mod log;
mod null;
mod number;
mod output;
mod pretty;
mod printable;
mod property;
mod repeated;
mod resume;
mod stream_table;
mod terminal;
#[cfg(test)]
mod testing;
mod time;

pub use details::{Details, DetailsOptions};
pub use integers::{Integers, with_integers};
pub use jsonl::{Introduction, JsonLines, JsonLinesOptions, JsonLinesState};
pub use log::{FirstMessage, Log, LogForm, LogOptions, LogState};
pub use null::{Null, NullStatistics};
pub use output::{TextWriter, Undecoded};
pub use pretty::{DeltaCause, Pretty, PrettyFields, PrettyNames, PrettyOptions, PrettyState};
pub use printable::{is_printable, printable};
pub use resume::{Fixup, Resolution, ResumableSink, SinkState, StreamOrder};
pub use terminal::{TerminalText, TerminalWriter, for_terminal};
pub use time::{JsonTime, rfc3339};
