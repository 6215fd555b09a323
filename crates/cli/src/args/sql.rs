//! Arguments of `sql`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
#[command(
    override_usage = "ichnos sql [OPTIONS] TRACE... [QUERY]",
    after_long_help = "Views of the traces: trace (events, with a column for each field), events (columns that all events \
        share), spans, stacks, frames, tasks, edges, classes, info, losses. docs/sql.md describes their columns.\n\n\
Views that answer questions: slowest_spans, gc_pauses, run_queue_latency and others. docs/sql-views.md lists them.\n\n\
The program `duckdb` runs the query, or Python with the package `duckdb`. It loads the extension \
`ichnos.duckdb_extension`, which is beside `ichnos` or in ../lib/ichnos. Variables: ICHNOS_DUCKDB_EXTENSION names the \
extension, ICHNOS_PYTHON the Python."
)]
pub(crate) struct SqlArgs {
    /// Traces, then a query in quotes; without a query, DuckDB's shell starts
    ///
    /// The last argument is a query if it contains a space and is no path.
    #[arg(required = true, value_name = "TRACE", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) arguments: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = SqlFormat::Box)]
    pub(crate) format: SqlFormat,
    /// Print the SQL statements that open the traces, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only events from TIME on: +3s, -5s, see `ichnos cat --help`
    ///
    /// Dates and times of day are in GMT. Selects the rows of the views trace, events and spans.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Selection")]
    pub(crate) begin: Option<String>,
    /// Only events up to TIME
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Selection")]
    pub(crate) end: Option<String>,
    /// Only events with a name matching GLOB
    ///
    /// Can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) event: Vec<String>,
    /// Only events matching EXPRESSION: 'fd in [1, 2]'
    ///
    /// docs/expressions.md describes the language.
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true, help_heading = "Selection")]
    pub(crate) filter: Option<String>,
    /// Add TIME to the times of traces at PATH
    ///
    /// Can be repeated.
    #[arg(long, value_name = "PATH=TIME", allow_hyphen_values = true, help_heading = "Reading")]
    pub(crate) offset: Vec<String>,
    /// Put all clocks on one timeline, as if all counted from the Unix epoch
    #[arg(long, help_heading = "Reading")]
    pub(crate) assume_correlated: bool,
    /// Assign roles to events with the rules in FILE; see `ichnos help map`
    ///
    /// Can be repeated.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Reading")]
    pub(crate) map: Vec<PathBuf>,
}

/// Output formats, by DuckDB's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum SqlFormat {
    /// Table for people, without some of many rows
    Box,
    /// Comma-separated values
    Csv,
    /// JSON array
    Json,
    /// JSON objects, one a line
    JsonLines,
    /// Markdown table
    Markdown,
}

impl SqlFormat {
    /// Returns DuckDB's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Box => "box",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::JsonLines => "jsonlines",
            Self::Markdown => "markdown",
        }
    }
}
