//! Arguments of `stats`.

use clap::Args;
use ichnos::analysis::{GroupBy, StatsOrder};

use super::choice::{self, Choice};
use super::follow::FollowArgs;
use super::json::JsonReport;
use super::reading::Reading;
use super::selecting::Selecting;
use crate::args::{number, size, time};

#[derive(Args, Debug)]
#[command(after_long_help = "FIELD is the path of a field (`next_tid`, `payload.args.0`, `ctx.procname`, \
    `packet.cpu_id`), or a meaning (`process`, `thread`, `cpu`, `severity`, ...). docs/stats.md describes \
    the columns.")]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) following: FollowArgs,
    /// Rows: one per event, stream, host, span or FIELD [default: event]
    ///
    /// Separate several with commas. Other names: trace, level, severity, message, operation.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = group_by)]
    pub(crate) by: Vec<GroupBy>,
    /// Show the distribution of a field: minimum, quantiles, maximum, histogram
    #[arg(long, value_name = "FIELD")]
    pub(crate) histogram: Option<String>,
    /// Show the number of events over time, for each row with --by
    #[arg(long)]
    pub(crate) timeline: bool,
    /// List the N longest gaps between events, for each row with --by
    #[arg(long, value_name = "N", value_parser = number::within::<u16>(1..=1000),
          conflicts_with_all = ["histogram", "timeline", "pair", "spans"])]
    pub(crate) gaps: Option<u16>,
    /// Measure the time from one event to another: names or globs of both
    ///
    /// An event named END is paired with the last event named BEGIN with the same --key. With --by, rows group pairs
    /// by properties of the BEGIN events. BEGIN and END can be equal.
    #[arg(long, num_args = 2, group = "measured", value_names = ["BEGIN", "END"], conflicts_with_all = ["histogram", "timeline"])]
    pub(crate) pair: Option<Vec<String>>,
    /// Measure all spans: function calls, system calls, requests
    ///
    /// Spans come from event roles that formats or --map define; `ichnos help map` explains them. There is one row
    /// per span name, unless --by names other rows.
    #[arg(long, group = "measured", conflicts_with_all = ["histogram", "timeline", "pair"])]
    pub(crate) spans: bool,
    /// Fields with equal values in both events of a pair, comma-separated
    ///
    /// By default, events that begin and end spans are paired by thread, or else by processor.
    #[arg(long, value_name = "FIELD", value_delimiter = ',', requires = "pair", hide_short_help = true)]
    pub(crate) key: Vec<String>,
    /// Number of the longest pairs to list
    #[arg(long, value_name = "N", value_parser = number::parse::<usize>, default_value_t = 10, requires = "measured",
          hide_short_help = true)]
    pub(crate) slowest: usize,
    /// Only longer pairs: 16ms, 1.5s
    #[arg(long, value_name = "DURATION", value_parser = time::length_from, requires = "measured", hide_short_help = true)]
    pub(crate) longer_than: Option<i128>,
    /// Show the first N rows only
    #[arg(long, value_name = "N", value_parser = number::parse::<usize>)]
    pub(crate) top: Option<usize>,
    /// Column to sort by
    #[arg(long, value_parser = choice::parser(SORT), value_name = "COLUMN", default_value = "events",
          hide_short_help = true)]
    pub(crate) sort: StatsOrder,
    #[command(flatten)]
    pub(crate) report: JsonReport,
    /// Print comma-separated values; times are in nanoseconds
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Worker threads [default: CPUs]
    ///
    /// The output does not depend on it.
    #[arg(short = 'j', long, value_name = "N", value_parser = number::within::<u16>(1..=u16::MAX),
          hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// Bytes of trace data read as one chunk [default: 8M]
    #[arg(long, value_name = "BYTES", value_parser = size::parse, hide_short_help = true)]
    pub(crate) chunk_size: Option<u64>,

    #[command(flatten)]
    pub(crate) selecting: Selecting,

    /// Print the date before the time
    #[arg(long, hide_short_help = true)]
    pub(crate) clock_date: bool,
    /// Print times in seconds since the clock's origin
    #[arg(long, hide_short_help = true)]
    pub(crate) clock_seconds: bool,
}

/// Sort orders of rows: greatest first, except for names and first times.
const SORT: &[Choice<StatsOrder>] = &[
    ("events", "Number of events or pairs", StatsOrder::Events),
    ("count", "", StatsOrder::Events),
    ("bytes", "Number of bytes", StatsOrder::Bytes),
    ("first", "Time of the first event", StatsOrder::First),
    ("last", "Time of the last event", StatsOrder::Last),
    ("gap", "The largest gap", StatsOrder::Gap),
    ("loss", "Number of discarded events", StatsOrder::Loss),
    ("name", "Key of the row", StatsOrder::Key),
    ("p50", "The median (--histogram, --pair)", StatsOrder::P50),
    ("p99", "The 99th percentile (--histogram, --pair)", StatsOrder::P99),
    ("max", "The maximum (--histogram, --pair)", StatsOrder::Max),
    ("mean", "The mean (--histogram, --pair)", StatsOrder::Mean),
    ("total", "The sum of the latencies (--pair, --spans)", StatsOrder::Total),
    ("self", "The total without nested spans (--spans)", StatsOrder::Own),
];

fn group_by(text: &str) -> Result<GroupBy, String> {
    Ok(match text.trim() {
        "" => return Err("expected event, stream, host, span or a field".to_owned()),
        "event" => GroupBy::Event,
        "span" => GroupBy::Span,
        "stream" => GroupBy::Stream,
        "host" => GroupBy::Host,
        field => GroupBy::Field(field.to_owned()),
    })
}

impl StatsArgs {
    /// Returns the properties that define the rows. Without properties, one row covers all events.
    pub(crate) fn groups(&self) -> Vec<GroupBy> {
        let is_about_all =
            self.histogram.is_some() || self.timeline || self.gaps.is_some() || self.has_pairs();
        match self.by.is_empty() && !is_about_all {
            true => vec![GroupBy::Event],
            false => self.by.clone(),
        }
    }

    /// Returns `true` if the options ask for latencies.
    pub(crate) fn has_pairs(&self) -> bool {
        self.pair.is_some() || self.spans
    }

    /// Returns `true` if each row has a distribution of numbers.
    pub(crate) fn has_numbers(&self) -> bool {
        self.histogram.is_some() || self.has_pairs()
    }
}
