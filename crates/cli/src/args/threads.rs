//! Arguments of `threads`.

use clap::Args;

use super::json::JsonReport;
use super::reading::Reading;
use super::selecting::Selecting;
use crate::time::{self, TimePoint};

#[derive(Args, Debug)]
#[command(
    after_long_help = "Events of the scheduler say which thread a processor runs: sched_switch and sched_wakeup of \
Linux, records of context switches, thread_switched_in of Zephyr. Names of processes and system calls need the events that \
name them.\n\n\
With --path, the output is the critical path over wake-ups, found backward from the end: while the thread runs or waits for a \
processor, that is the path. Where it waits for something else, the path is that of the thread that woke it up."
)]
pub(crate) struct Threads {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print what a thread waited for instead: its number
    #[arg(long, value_name = "THREAD")]
    pub(crate) path: Option<u64>,
    /// Part of the path [default: from the first to the last time of the thread]
    #[arg(long, value_name = "BEGIN,END", allow_hyphen_values = true, value_parser = time::range_from,
          requires = "path")]
    pub(crate) during: Option<(TimePoint, TimePoint)>,
    /// Rows of each table, and longest waits to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) report: JsonReport,
    /// Print comma-separated values; times are in nanoseconds
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,

    #[command(flatten)]
    pub(crate) selecting: Selecting,

    /// Print the date before the time
    #[arg(long, hide_short_help = true)]
    pub(crate) clock_date: bool,
    /// Print times in seconds since the origin of the clock
    #[arg(long, hide_short_help = true)]
    pub(crate) clock_seconds: bool,
}
