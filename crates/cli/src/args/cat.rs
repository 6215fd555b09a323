//! Arguments of `cat`.

use clap::{Args, ValueEnum};

use super::json::{IntegerForm, TimeForm};
use super::output_file::OutputArgs;
use super::reading::{Arithmetic, Reading};
use super::selecting::Selecting;
use crate::args::size;

#[derive(Args, Debug)]
pub(crate) struct Cat {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Output format
    ///
    /// On a terminal, unprintable characters are escaped.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = CatFormat::Pretty)]
    pub(crate) format: CatFormat,
    /// The same as `--format jsonl`.
    #[arg(long, hide = true, conflicts_with = "format")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Worker threads [default: CPUs]
    ///
    /// The output does not depend on it.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// Bytes of trace data read as one chunk
    ///
    /// The default is 16M for the format `null`, and 2M for all others (less with more than two threads). Text
    /// waiting for earlier chunks is kept in memory, up to 24M for all threads.
    #[arg(long, value_name = "BYTES", value_parser = size::parse, hide_short_help = true)]
    pub(crate) chunk_size: Option<u64>,
    /// Print the call stack below each event, innermost frame first
    ///
    /// Frames look like `module!function+0x1a`, as far as known. In the JSON formats, they are the member `stacks` of
    /// the event.
    #[arg(long)]
    pub(crate) stacks: bool,
    /// At the end, print the number of events and losses and the elapsed time
    #[arg(long, hide_short_help = true)]
    pub(crate) stats: bool,

    #[command(flatten)]
    pub(crate) selecting: Selecting,
    /// Stop after N events
    #[arg(short = 'n', long, value_name = "N", help_heading = "Selection")]
    pub(crate) limit: Option<u64>,
    /// Only the last N selected events
    ///
    /// Reads backwards from the end if the trace can be divided, otherwise reads all of it, twice. Losses and damage
    /// before the first printed event are not reported.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with_all = ["limit", "listen"], help_heading = "Selection")]
    pub(crate) tail: Option<u64>,

    /// Only events within MARGIN of an event matching EXPR
    ///
    /// Reads the traces twice. --event and the other options select the printed events. --begin and --end also limit
    /// the search for events matching EXPR.
    #[arg(long, num_args = 2, value_names = ["EXPR", "MARGIN"], conflicts_with = "listen", help_heading = "Selection", hide_short_help = true)]
    pub(crate) around: Option<Vec<String>>,

    /// Print times in clock cycles (pretty)
    #[arg(long, hide_short_help = true)]
    pub(crate) clock_cycles: bool,
    /// Print the date before the time (pretty), date and time instead of seconds (log)
    #[arg(long)]
    pub(crate) clock_date: bool,
    /// Print times in seconds since the origin of the clock (pretty)
    #[arg(long, hide_short_help = true)]
    pub(crate) clock_seconds: bool,
    /// Do not print the time since the previous event (pretty)
    #[arg(long)]
    pub(crate) no_delta: bool,
    /// Columns, comma-separated (csv, tsv), or properties before an event (pretty)
    ///
    /// In the formats csv and tsv: `time`, `ts`, `cycles`, `event`, `id`, `log_level`, `host`,
    /// `stream`, `trace`, or paths of fields such as next_comm, ctx.vpid or args.0; docs/csv.md describes them.
    /// Default: time, event, host, stream and all fields. In the format pretty: trace, trace:hostname,
    /// trace:domain, trace:procname, trace:vpid, loglevel, emf, callsite, all or none; default: host name, process
    /// name and process id.
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// Scopes in which to print names, comma-separated (pretty)
    #[arg(long, value_name = "SCOPE", value_enum, value_delimiter = ',', hide_short_help = true)]
    pub(crate) names: Vec<NameScope>,

    /// Properties to print, comma-separated (details)
    ///
    /// The parameters of babeltrace2's sink.text.details: compact, with-data, with-metadata, with-stream-class-name,
    /// with-stream-name, with-time, with-trace-name, with-uid or with-uuid.
    #[arg(long, value_name = "NAME=YES|NO", value_delimiter = ',', value_parser = detail, hide_short_help = true)]
    pub(crate) details: Vec<(Detail, bool)>,

    /// Also print packets, with their headers and contexts (jsonl)
    #[arg(long, hide_short_help = true)]
    pub(crate) packets: bool,
    // Applies to the formats `jsonl` and `log-json`.
    /// Form of integers (jsonl, log-json)
    ///
    /// Some readers, such as jq 1.6 and JavaScript, keep only 53 bits of a number.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = IntegerForm::Number, hide_short_help = true)]
    pub(crate) integers: IntegerForm,
    // Applies to the formats `jsonl`, `log-json`, `csv` and `tsv`.
    /// Form of times since the Unix epoch (jsonl, log-json, csv, tsv)
    ///
    /// Times from other clocks are always in nanoseconds.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = TimeForm::Ns, hide_short_help = true)]
    pub(crate) time: TimeForm,
}

impl Cat {
    /// Returns the number of threads to read with, given the number of processors.
    pub(crate) fn threads(&self, processors: usize) -> usize {
        self.threads.map_or(processors, usize::from)
    }

    /// Returns the properties to print before each event in the format pretty, or the first invalid name.
    pub(crate) fn properties(&self) -> Result<Vec<FieldName>, &str> {
        self.fields.iter().map(|name| FieldName::from_str(name, false).map_err(|_| &**name)).collect()
    }

    /// Returns the arithmetic of times.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        match self.format() {
            CatFormat::Pretty | CatFormat::Details => Arithmetic::Babeltrace,
            _ => Arithmetic::Exact,
        }
    }

    /// Returns the output format.
    pub(crate) fn format(&self) -> CatFormat {
        if self.json { CatFormat::Jsonl } else { self.format }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatFormat {
    /// One line per event, as printed by `babeltrace2`.
    Pretty,
    /// All properties of each message on several lines, as in the `details` sink of `babeltrace2`.
    Details,
    /// One JSON object per line and event.
    Jsonl,
    /// Log lines: time, process, thread, component, tags, severity, message. Events without a severity become lines
    /// with their name and fields.
    Log,
    /// Log lines as JSON, one object per line.
    LogJson,
    /// A table: one line per event, with cells separated by commas.
    Csv,
    /// A table with cells separated by tabs.
    Tsv,
    /// No output: decode all events, for checks and measurements.
    Null,
}

impl CatFormat {
    /// Text that the verbs of traces also write, each with the extension of its files. Of several with one extension,
    /// the first one is the default.
    pub(crate) const WRITTEN: &[(Self, &[&str])] = &[
        (Self::Csv, &["csv"]),
        (Self::Tsv, &["tsv"]),
        (Self::Pretty, &["txt"]),
        (Self::Log, &["txt"]),
        (Self::LogJson, &["json"]),
    ];

    /// Returns the name of the format.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FieldName {
    /// Name of the trace.
    Trace,
    /// Host name (default).
    #[value(name = "trace:hostname")]
    TraceHostname,
    /// Tracing domain.
    #[value(name = "trace:domain")]
    TraceDomain,
    /// Process name (default).
    #[value(name = "trace:procname")]
    TraceProcname,
    /// Process id (default).
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

/// Scopes in which names are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameScope {
    /// Payload fields (default).
    #[value(aliases = ["arg", "args"])]
    Payload,
    /// Context fields (default).
    #[value(alias = "ctx")]
    Context,
    /// Scopes.
    Scope,
    /// Header: timestamp, delta and so on.
    Header,
    /// All of them.
    All,
    /// None of them.
    None,
}

/// Properties that the details format can print or omit.
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
        name => return Err(format!("unknown property `{name}`; `ichnos cat --help` lists them")),
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
