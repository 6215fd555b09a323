//! Sinks: text for people ([`Pretty`], [`Details`]), log lines ([`Log`]), tables for other programs ([`Csv`]), and one
//! that decodes everything and writes nothing ([`Null`]). [`parts`] are for text sinks in other crates.
//!
//! Answers: statistics ([`StatsReport`]), profiles of call stacks ([`StackProfile`]), tasks ([`TaskGraph`],
//! [`TaskTable`], [`TaskDiff`]) and classes of a trace ([`schema`]), as text and as JSON. JSON is written as members of an
//! object, so that it can be a part of any document; [`documents`] has other parts of such documents, and [`text`] what
//! texts for people need.
//!
//! All sinks are [`Sink`](ichnos_model::Sink)s and [`ResumableSink`]s, so that several threads can write the chunks
//! of a timeline. They append to one buffer that is written when it is full; no event needs an allocation.
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as ichnos_export;

mod block;
mod color;
mod csv;
mod details;
pub mod documents;
mod event_stacks;
mod integers;
mod json_fields;
mod json_indenter;
mod log;
mod null;
mod null_statistics;
mod number;
pub mod parts;
mod pretty;
mod printable;
mod property;
mod repeated;
mod resume;
pub mod schema;
mod stacks;
mod stats;
mod stream_table;
mod tasks;
mod terminal;
#[cfg(test)]
mod testing;
pub mod text;
mod text_buffer;
mod time;
mod xml;

pub use csv::{Csv, CsvColumn, CsvColumns, CsvForm, CsvOptions};
pub use details::{Details, DetailsOptions};
pub use integers::{Integers, with_integers};
pub use json_indenter::JsonIndenter;
pub use log::{FirstMessage, Log, LogForm, LogOptions, LogState};
pub use null::Null;
pub use null_statistics::NullStatistics;
pub use pretty::{DeltaCause, Pretty, PrettyFields, PrettyNames, PrettyOptions, PrettyState};
pub use printable::{is_printable, printable};
pub use resume::{Fixup, Resolution, ResumableSink, SinkState, StreamOrder};
pub use stacks::{
    CPU_TIME, FieldValues, LeftOut, StackCollector, StackFormat, StackFrames, StackOptions, StackProfile,
    StackRoots, StackThread, StackWeight, TopFunction, UNMANAGED_CODE_TIME,
};
pub use stats::{
    Distribution, EventTotals, Gap, GroupBy, GroupValue, LongestGaps, Number, Pair, PairGroup, PairOptions,
    PairReader, Pairs, PowerBin, ReportedLosses, Stats, StatsCollector, StatsGroup, StatsHints, StatsOptions,
    StatsOrder, StatsReport, StatsRow, StatsTextOptions, Timeline, Unpaired, find_field,
};
pub use tasks::{
    DanglingEdge, GraphFormat, JoinedEvent, LaneRow, MissingOperations, StepDifference, TaskClocks,
    TaskCollector, TaskDiff, TaskEdge, TaskGraph, TaskMember, TaskOptions, TaskSummary, TaskTable,
    TaskTextOptions, Tasks, find_identifiers,
};
pub use terminal::{TerminalText, TerminalWriter, for_terminal};
pub use text_buffer::{TextWriter, Undecoded};
pub use time::{JsonTime, duration, rfc3339};
