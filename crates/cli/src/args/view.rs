//! Arguments of `view`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::given_options::GivenOption;
use super::reading::Reading;
use super::selecting::Selecting;

#[derive(Args, Debug)]
#[command(
    after_long_help = "The page is served on 127.0.0.1 only, at an address with a random token, which is printed on \
standard output. On a remote machine, use `ssh -L PORT:127.0.0.1:PORT`, --port PORT and --no-open.\n\n\
Ends with Ctrl-C, which is exit code 0 here, or when the page is closed."
)]
pub(crate) struct ViewVerb {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Show the traces on the page of another viewer, which comes from the internet
    ///
    /// The traces stay on this machine: the page reads them from 127.0.0.1.
    #[arg(long = "in", value_enum, value_name = "VIEWER", conflicts_with = "keep")]
    pub(crate) viewer: Option<ViewIn>,
    /// Write a summary as one page to FILE, for a mail or an issue, and end
    ///
    /// A browser shows the page without ichnos and without a network: the timeline at one zoom, statistics, the longest
    /// spans, call stacks, the first 1,000 events and log lines, losses and warnings. FILE must be new or empty.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath,
          conflicts_with_all = ["viewer", "listen", "follow", "port", "no_open", "keep"])]
    pub(crate) export: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long, requires = "export", hide_short_help = true)]
    pub(crate) force: bool,
    /// Keep what the timeline shows in DIR, so that the traces are there at once the next time
    ///
    /// It is made again for other options, and when files of the traces have changed. DIR has at most 4 GiB: what was kept
    /// first is removed.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, hide_short_help = true,
          conflicts_with_all = ["viewer", "listen", "follow", "export"])]
    pub(crate) cache: Option<PathBuf>,
    /// Show what is added to the traces while they are recorded
    ///
    /// The files are looked at every second. When they have grown, they are read again from the beginning, for at most a
    /// fifth of the time.
    #[arg(long, conflicts_with_all = ["viewer", "listen"])]
    pub(crate) follow: bool,
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Do not open the page in a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Continue when the page is closed
    #[arg(long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    /// Options of reading and selecting as they were given.
    #[arg(skip)]
    pub(crate) given: Vec<GivenOption>,
}

/// Viewers with a page that reads files of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViewIn {
    /// <https://ui.perfetto.dev>
    Perfetto,
    /// <https://profiler.firefox.com>
    Firefox,
    /// <https://www.speedscope.app>: call stacks
    Speedscope,
}
