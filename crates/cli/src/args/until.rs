//! Arguments for ending at an event.

use clap::Args;

/// Option that ends reading at an event.
#[derive(Args, Clone, Debug)]
pub(crate) struct UntilArgs {
    /// Stop after the first event that matches EXPR
    ///
    /// Only selected events count. The exit code is 0 if there was such an event, and 1 otherwise, for example after the
    /// time in --for: scripts can wait for an event.
    #[arg(long, value_name = "EXPR", hide_short_help = true, help_heading = "Live")]
    pub(crate) until: Option<String>,
}
