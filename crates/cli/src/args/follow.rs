//! Arguments for following growing files.

use std::time::Duration;

use clap::Args;

use crate::args::time;
use crate::args::until::UntilArgs;

/// Options for reading files while they grow.
#[derive(Args, Clone, Debug)]
pub(crate) struct FollowArgs {
    /// Read the files while they grow, until Ctrl-C
    ///
    /// Waits for a PATH that does not exist yet. Live inputs can be read at the same time. In directories, new files
    /// are read, too. PATH can also be a pipe, or `-`. Files can be truncated, renamed and removed. Lines, records,
    /// packets and blocks are printed when they are complete. Events found at the same time are sorted. Fuchsia traces
    /// are not sorted by time, so earlier events can come later.
    #[arg(long, conflicts_with = "stream_intersection", help_heading = "Reading")]
    pub(crate) follow: bool,
    /// Time between two looks at the files [default: 500ms]
    ///
    /// It is longer if opening the files takes more than a tenth of it.
    #[arg(long, value_name = "DURATION", value_parser = interval, default_value = "500ms",
          hide_default_value = true, requires = "follow", hide_short_help = true, help_heading = "Live")]
    pub(crate) interval: Duration,
    #[command(flatten)]
    pub(crate) ending: UntilArgs,
}

/// Parses a duration.
fn interval(text: &str) -> Result<Duration, String> {
    let nanoseconds = u64::try_from(time::length_from(text)?).map_err(|_| "invalid duration".to_owned())?;
    Ok(Duration::from_nanos(nanoseconds))
}
