//! Operation reports as text.
//!
//! - [`Reports`] finds the reports in a text, and [`Report::lines`] their lines, without copies or allocations.
//! - [`JsonReports`] reads JSON that servers generate from reports.
//! - [`ReportWriter`] writes reports as text, [`JsonReportsWriter`] as server JSON.
//!
//! A report has a first line, [`HEAD`], and then lines with a key, a colon and a value. Keys can repeat. The report
//! ends at an empty line, at the first line of another report, or at the end of the text.

mod escape;
mod json;
mod json_writer;
mod line_buffer;
mod parse;
mod rule;
mod timestamp;
mod writer;

pub use escape::unescape;
pub use json::JsonReports;
#[cfg(feature = "reader")]
pub(crate) use json::VERSION;
pub use json_writer::JsonReportsWriter;
#[cfg(feature = "reader")]
pub(crate) use json_writer::task_of_metadata;
pub use line_buffer::{BufferedLine, LineBuffer};
pub use parse::{Line, Part, Report, ReportLines, Reports};
pub use rule::{ReportFault, ReportRule};
pub use timestamp::parse_timestamp;
#[cfg(any(feature = "propagation", feature = "reader"))]
pub(crate) use writer::WrittenLines;
#[cfg(feature = "propagation")]
pub(crate) use writer::plain_lines;
pub use writer::{HEAD, ReportWriter};
#[cfg(feature = "reader")]
pub(crate) use writer::{WrittenKey, push_hex, push_nanos};

/// Maximum report size for reading in bytes: 16 MiB. Senders in the original libraries allow 4 KiB.
pub const MAX_REPORT_LENGTH: usize = 16 << 20;
/// Maximum number of lines in a report: 65,536.
pub const MAX_REPORT_LINES: usize = 1 << 16;
