//! Arguments of `threads`.

use clap::Args;

use super::json::JsonReport;
use super::reading::Reading;
use super::selecting::Selecting;
use crate::args::time::TimePoint;
use crate::args::{number, time};

#[derive(Args, Debug)]
#[command(
    after_long_help = "Scheduler events show which thread a processor runs: sched_switch and sched_wakeup \
        on Linux, context switch records, thread_switched_in on Zephyr. Process names and system calls need \
        events that contain them.\n\n\
With --path, the output is the critical path over wake-ups, followed backward from the end. While the \
thread runs or waits for a processor, it is on the path. While it waits for something else, the path \
continues in the thread that woke it up."
)]
pub(crate) struct ThreadsArgs {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print what the thread with number THREAD waited for
    #[arg(long, value_name = "THREAD", value_parser = number::parse::<u64>)]
    pub(crate) path: Option<u64>,
    /// Part of the path [default: from the first to the last time of the thread]
    #[arg(long, value_name = "BEGIN,END", allow_hyphen_values = true, value_parser = time::range_from,
          requires = "path")]
    pub(crate) during: Option<(TimePoint, TimePoint)>,
    /// Maximum number of rows in each table, and of longest waits
    #[arg(long, value_name = "N", value_parser = number::parse::<usize>, default_value_t = 10)]
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
    /// Print times in seconds since the clock's origin
    #[arg(long, hide_short_help = true)]
    pub(crate) clock_seconds: bool,
}
