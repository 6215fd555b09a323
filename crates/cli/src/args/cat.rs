//! What `cat` prints, and how.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::json::{IntegerForm, TimeForm};
use super::reading::Reading;
use crate::size;
use crate::time::{self, TimePoint};

#[derive(Args, Debug)]
pub(crate) struct Cat {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Output format
    ///
    /// On a terminal, everything that is not printable is escaped.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = CatFormat::Pretty)]
    pub(crate) format: CatFormat,
    /// The same as `--format jsonl`.
    #[arg(long, hide = true, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Write to FILE, which appears when it is complete
    #[arg(short, long, short_alias = 'w', value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Worker threads [default: CPUs]
    ///
    /// The output does not depend on it.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Bytes of the trace that a thread reads at a time
    ///
    /// Left out, 16M for the format `null` and 2M for the others (less on more than two threads). Text that
    /// waits for earlier text is kept in memory, up to 48M of all threads.
    #[arg(long, value_name = "BYTES", value_parser = size::parse, hide_short_help = true)]
    pub(crate) part_size: Option<u64>,
    /// Print the number of events and the time it took at the end
    #[arg(long)]
    pub(crate) stats: bool,

    /// Skip what is before TIME: 13:45:10.25, +3s, see --help
    ///
    /// TIME is a date and a time of day (`2026-05-22 13:45:10.25`), a time of day (`13:45`), seconds (`5.2`)
    /// or nanoseconds (`@5200000000`) since the origin of the clock, or a time from the beginning of the
    /// trace (`+3s`).
    #[arg(
        long,
        short_alias = 'b',
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Selection"
    )]
    pub(crate) begin: Option<TimePoint>,
    /// Skip what is after TIME
    #[arg(
        long,
        short_alias = 'e',
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Selection"
    )]
    pub(crate) end: Option<TimePoint>,
    /// Both at once; may be in brackets
    #[arg(long, short_alias = 't', value_name = "BEGIN,END", allow_hyphen_values = true, value_parser = time::range_from,
          conflicts_with_all = ["begin", "end"], hide_short_help = true, help_heading = "Selection")]
    pub(crate) timerange: Option<(TimePoint, TimePoint)>,
    /// Only data streams whose path or file name matches: *, ?, [a-z], {a,b}
    ///
    /// Can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) stream: Vec<String>,
    /// Only events whose name matches
    ///
    /// Can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) event: Vec<String>,
    /// Only the time in which all data streams of a trace are active
    #[arg(long, conflicts_with = "listen", help_heading = "Selection")]
    pub(crate) stream_intersection: bool,
    /// Stop after N events
    #[arg(short = 'n', long, value_name = "N", help_heading = "Selection")]
    pub(crate) limit: Option<u64>,

    /// Print times as clock cycles
    #[arg(long, help_heading = "Format pretty")]
    pub(crate) clock_cycles: bool,
    /// Print the date before the time
    #[arg(long, help_heading = "Format pretty")]
    pub(crate) clock_date: bool,
    /// Print and read times in GMT instead of the local time zone
    ///
    /// Also those of --begin, --end and --timerange.
    #[arg(long, visible_alias = "gmt", help_heading = "Format pretty")]
    pub(crate) clock_gmt: bool,
    /// Print times as seconds since the origin of the clock
    #[arg(long, help_heading = "Format pretty")]
    pub(crate) clock_seconds: bool,
    /// Do not print the time since the event before
    #[arg(long, help_heading = "Format pretty")]
    pub(crate) no_delta: bool,
    /// What to print before the fields of an event, with commas between
    #[arg(
        long,
        value_name = "FIELD",
        value_enum,
        value_delimiter = ',',
        hide_short_help = true,
        help_heading = "Format pretty"
    )]
    pub(crate) fields: Vec<FieldName>,
    /// Where to print names, with commas between
    #[arg(
        long,
        value_name = "SCOPE",
        value_enum,
        value_delimiter = ',',
        hide_short_help = true,
        help_heading = "Format pretty"
    )]
    pub(crate) names: Vec<NameScope>,

    /// What to print: compact, with-data=no, see --help
    ///
    /// Several with commas between.
    ///
    /// NAME is compact, with-data, with-metadata, with-stream-class-name, with-stream-name, with-time,
    /// with-trace-name, with-uid or with-uuid.
    #[arg(long, value_name = "NAME=YES|NO", value_delimiter = ',', value_parser = detail,
          help_heading = "Format details")]
    pub(crate) details: Vec<(Detail, bool)>,

    /// Also print lines for packets, with their headers and contexts (jsonl)
    #[arg(long, help_heading = "Formats jsonl and log-json")]
    pub(crate) packets: bool,
    // Applies to the formats `jsonl` and `log-json`.
    /// Form of integers
    ///
    /// Some readers keep only 53 bits of a number, among them jq 1.6 and JavaScript.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = IntegerForm::Number,
          help_heading = "Formats jsonl and log-json")]
    pub(crate) integers: IntegerForm,
    // Applies to the formats `jsonl` and `log-json`.
    /// Form of times
    ///
    /// Only of times since the Unix epoch; others are always nanoseconds.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = TimeForm::Ns,
          help_heading = "Formats jsonl and log-json")]
    pub(crate) time: TimeForm,
}

impl Cat {
    /// On how many threads to read, if there are this many processors.
    pub(crate) fn threads(&self, processors: usize) -> usize {
        self.threads.map_or(processors, usize::from)
    }

    /// How to print.
    pub(crate) fn format(&self) -> CatFormat {
        if self.json { CatFormat::Jsonl } else { self.format }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatFormat {
    /// One line per event, as `babeltrace2` prints it.
    Pretty,
    /// Everything about every message over several lines, as the `details` sink of `babeltrace2`.
    Details,
    /// One JSON object per line and event.
    Jsonl,
    /// Lines of a log: time, process, thread, component, tags, severity, message. Events without a
    /// severity are lines of their name and fields.
    Log,
    /// The same as JSON, one object per line.
    LogJson,
    /// Nothing: read everything, print nothing.
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FieldName {
    /// Name of the trace.
    Trace,
    /// Host name (usually printed).
    #[value(name = "trace:hostname")]
    TraceHostname,
    /// Tracing domain.
    #[value(name = "trace:domain")]
    TraceDomain,
    /// Process name (usually printed).
    #[value(name = "trace:procname")]
    TraceProcname,
    /// Process id (usually printed).
    #[value(name = "trace:vpid")]
    TraceVpid,
    /// Log level of the event.
    Loglevel,
    /// EMF URI of the event.
    Emf,
    /// Call site of the event.
    Callsite,
    /// All of them.
    All,
    /// None of them.
    None,
}

/// Where names are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameScope {
    /// Of the fields of the payload (usually printed).
    #[value(aliases = ["arg", "args"])]
    Payload,
    /// Of the fields of contexts (usually printed).
    #[value(alias = "ctx")]
    Context,
    /// Of the scopes.
    Scope,
    /// Of the header: timestamp, delta and so on.
    Header,
    /// All of them.
    All,
    /// None of them.
    None,
}

/// What the details format can print or leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Compact,
    Data,
    Metadata,
    StreamClassName,
    StreamName,
    Time,
    TraceName,
    Uid,
    Uuid,
}

fn detail(text: &str) -> Result<(Detail, bool), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "yes"));
    let detail = match name.trim() {
        "compact" => Detail::Compact,
        "with-data" => Detail::Data,
        "with-metadata" => Detail::Metadata,
        "with-stream-class-name" => Detail::StreamClassName,
        "with-stream-name" => Detail::StreamName,
        "with-time" => Detail::Time,
        "with-trace-name" => Detail::TraceName,
        "with-uid" => Detail::Uid,
        "with-uuid" => Detail::Uuid,
        name => return Err(format!("there is no detail `{name}`")),
    };
    match value.trim() {
        "yes" | "true" | "TRUE" | "1" => Ok((detail, true)),
        "no" | "false" | "FALSE" | "0" => Ok((detail, false)),
        value => Err(format!("expected yes or no, found `{value}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_details() {
        assert_eq!(detail("with-uuid=no"), Ok((Detail::Uuid, false)));
        assert_eq!(detail("compact"), Ok((Detail::Compact, true)));
        assert!(detail("x=yes").is_err());
        assert!(detail("compact=maybe").is_err());
    }
}
