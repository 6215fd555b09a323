//! Sinks that write text (pretty, details, log lines, CSV), and [`Null`].

pub use crate::csv::{Csv, CsvColumn, CsvColumns, CsvForm, CsvOptions};
pub use crate::details::{Details, DetailsOptions, DetailsPart, StreamTimes};
pub use crate::integers::{Integers, with_integers};
pub use crate::log::{FirstMessage, Log, LogForm, LogOptions, LogState};
pub use crate::null::Null;
pub use crate::null_statistics::NullStatistics;
pub use crate::pretty::{DeltaCause, Pretty, PrettyFields, PrettyNames, PrettyOptions, PrettyState};
pub use crate::resume::{Fixup, Resolution, ResumableSink, SinkState, StreamOrder};
pub use crate::text_buffer::{TextWriter, Undecoded};
