//! Reports of operations, as text.
//!
//! - [`Reports`] finds the reports in a text, and [`Report::lines`] their lines, without copies or allocations.
//! - [`JsonReports`] reads JSON that servers generate from reports.
//! - [`ReportWriter`] writes reports as text, [`JsonReportsWriter`] as JSON of servers.
//!
//! A report is a first line, [`HEAD`], and lines of a key, a colon and a value; keys may repeat. It ends at an
//! empty line, at the first line of another report, or at the end of the text.

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

/// Maximum number of bytes of a report that is read: 16 MiB. Senders of the original libraries allow 4 KiB.
pub const MAX_REPORT_LENGTH: usize = 16 << 20;
/// Maximum number of its lines: 65,536.
pub const MAX_REPORT_LINES: usize = 1 << 16;
