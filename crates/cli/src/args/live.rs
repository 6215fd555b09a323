//! Arguments for live inputs.

use std::time::Duration;

use clap::Args;

use super::choice::{self, Choice};
#[cfg(all(feature = "dotnet", target_os = "linux"))]
use super::providers;
use crate::args::time;

/// Options for reading live inputs.
#[derive(Args, Clone, Debug)]
pub(crate) struct LiveArgs {
    /// Wait at most DURATION for a silent live input [default: 1s]
    ///
    /// Events of several inputs are sorted by time, so each input is waited for. After DURATION without a sign of
    /// life, the others go on. Events that come later than that are late: they are printed, and counted.
    #[arg(long, value_name = "DURATION", value_parser = duration, hide_short_help = true,
          help_heading = "Live")]
    pub(crate) patience: Option<Duration>,
    /// End live inputs after DURATION, for example 30s
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, hide_short_help = true,
          help_heading = "Live")]
    pub(crate) length: Option<Duration>,
    /// First events of a live LTTng session [default: begin]
    #[arg(long, value_parser = choice::parser(ATTACH), value_name = "WHERE", hide_short_help = true,
          help_heading = "Live")]
    pub(crate) attach: Option<AttachAt>,
    /// Try again for DURATION if an LTTng relay daemon or session is missing or lost
    #[arg(long, value_name = "DURATION", value_parser = duration, hide_short_help = true,
          help_heading = "Live")]
    pub(crate) retry: Option<Duration>,
    /// Read these profiles of live .NET processes, comma-separated
    #[cfg(all(feature = "dotnet", target_os = "linux"))]
    #[arg(long, value_name = "PROFILE", value_delimiter = ',', value_parser = providers::profiles(),
          hide_short_help = true, help_heading = "Live")]
    pub(crate) profile: Vec<String>,
    /// Read these providers of live .NET processes: NAME[:KEYWORDS[:LEVEL[:ARGUMENTS]]],...
    ///
    /// `ichnos help record` describes them.
    #[cfg(all(feature = "dotnet", target_os = "linux"))]
    #[arg(long, value_name = "PROVIDERS", value_parser = providers::check, hide_short_help = true,
          help_heading = "Live")]
    pub(crate) providers: Vec<String>,
}

impl LiveArgs {
    /// Returns the options that only apply to .NET processes, with `true` if they are given.
    pub(crate) fn for_dotnet(&self) -> [(&'static str, bool); 2] {
        #[cfg(all(feature = "dotnet", target_os = "linux"))]
        let [profile, providers] = [&self.profile, &self.providers].map(|list| !list.is_empty());
        #[cfg(not(all(feature = "dotnet", target_os = "linux")))]
        let [profile, providers] = [false; 2];
        [("--profile", profile), ("--providers", providers)]
    }
}

/// First events of a live session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachAt {
    Begin,
    Now,
}

const ATTACH: &[Choice<AttachAt>] = &[
    ("begin", "All events that the relay daemon has", AttachAt::Begin),
    ("now", "Only events from now on", AttachAt::Now),
];

/// Parses a duration.
fn duration(text: &str) -> Result<Duration, String> {
    let nanoseconds = time::length_from(text)?;
    let nanoseconds = u64::try_from(nanoseconds).map_err(|_| "the duration is too long".to_owned())?;
    Ok(Duration::from_nanos(nanoseconds))
}
