//! Arguments for selecting events.

use clap::Args;

use crate::args::time;
use crate::args::time::TimePoint;

/// Events to select, by time, data stream and class.
#[derive(Args, Clone, Debug)]
pub(crate) struct Selecting {
    /// Only events from TIME on: 13:45:10.25, +3s, -5s, see --help
    ///
    /// TIME is a date and a time of day (`2026-05-22 13:45:10.25`), a time of day (`13:45`), seconds (`5.2`) or
    /// nanoseconds (`@5200000000`) since the clock's origin, a time after the start of the trace (`+3s`), or before
    /// its end (`-5s`, always with a unit). `ichnos info` shows the start and the end.
    #[arg(
        long,
        short_alias = 'b',
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Selection"
    )]
    pub(crate) begin: Option<TimePoint>,
    /// Only events up to TIME
    #[arg(
        long,
        short_alias = 'e',
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Selection"
    )]
    pub(crate) end: Option<TimePoint>,
    /// Same as --begin BEGIN --end END; also `[BEGIN,END]`
    #[arg(long, short_alias = 't', value_name = "BEGIN,END", allow_hyphen_values = true, value_parser = time::range_from,
          conflicts_with_all = ["begin", "end"], hide_short_help = true, help_heading = "Selection")]
    pub(crate) timerange: Option<(TimePoint, TimePoint)>,
    /// Only data streams with a path or file name matching GLOB
    ///
    /// A glob contains `*`, `?`, `[a-z]` or `{a,b}`. Can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) stream: Vec<String>,
    /// Only events with a name matching GLOB
    ///
    /// Can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) event: Vec<String>,
    /// Only events matching EXPRESSION: 'fd in [1, 2]'
    ///
    /// For example 'event == "sched_*" && next_tid in [1, 2]'. Expressions compare event fields, names, times, log
    /// levels and more. docs/expressions.md describes the language. The expression is checked against the trace
    /// classes before reading. Events must also match --event.
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true, help_heading = "Selection")]
    pub(crate) filter: Option<String>,
    /// Only the time range when all data streams of a trace are active
    #[arg(long, conflicts_with = "listen", help_heading = "Selection", hide_short_help = true)]
    pub(crate) stream_intersection: bool,
    /// Print and read times in GMT instead of local time
    #[arg(long, visible_alias = "gmt", help_heading = "Selection")]
    pub(crate) clock_gmt: bool,
}

impl Selecting {
    /// Returns the first selected time.
    pub(crate) fn begin(&self) -> Option<TimePoint> {
        self.timerange.map_or(self.begin, |(begin, _)| Some(begin))
    }

    /// Returns the last selected time.
    pub(crate) fn end(&self) -> Option<TimePoint> {
        self.timerange.map_or(self.end, |(_, end)| Some(end))
    }
}
