//! Arguments of `view`.

use std::path::PathBuf;

use clap::Args;
use ichnos_view::ViewerPage;

use super::choice::{self, Choice};
use super::option_texts::OptionText;
use super::reading::Reading;
use super::selecting::Selecting;
use crate::args::number;

#[derive(Args, Debug)]
#[command(
    after_long_help = "The page is served on 127.0.0.1 only. Its address contains a random token, and is \
        printed on standard output. On a remote machine, use `ssh -L PORT:127.0.0.1:PORT`, --port PORT and \
        --no-open.\n\n\
Ctrl-C ends the command with exit code 0, and so does closing the page."
)]
pub(crate) struct ViewVerb {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Show the traces on the internet page of another viewer
    ///
    /// The traces stay on this machine. The page reads them from 127.0.0.1.
    // The alias is an earlier name.
    #[arg(long, alias = "in", value_parser = choice::parser(VIEWERS), value_name = "VIEWER",
          conflicts_with = "keep_running")]
    pub(crate) viewer: Option<ViewerPage>,
    /// Write a one-page summary to FILE, for a mail or an issue, and exit
    ///
    /// A browser shows the page without ichnos and without a network: the timeline at one zoom level, statistics, the
    /// longest spans, call stacks, the first 1,000 events and log lines, losses and warnings. FILE must be new or
    /// empty.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath,
          conflicts_with_all = ["viewer", "listen", "follow", "port", "no_open", "keep_running"])]
    pub(crate) export: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long, requires = "export", hide_short_help = true)]
    pub(crate) force: bool,
    /// Cache the timeline in DIR, so that the traces open at once the next time
    ///
    /// The timeline is rebuilt if trace files or options have changed. DIR takes at most 4 GiB. Beyond that, the
    /// oldest timelines are removed.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, hide_short_help = true,
          conflicts_with_all = ["viewer", "listen", "follow", "export"])]
    pub(crate) cache: Option<PathBuf>,
    /// Follow the traces while they are recorded
    ///
    /// The files are checked every second. If they have grown, they are read again from the start, for at most a
    /// fifth of the time.
    #[arg(long, conflicts_with_all = ["viewer", "listen"])]
    pub(crate) follow: bool,
    /// Port on 127.0.0.1 [default: a free port]
    #[arg(long, value_name = "PORT", value_parser = number::parse::<u16>, default_value_t = 0,
          hide_default_value = true)]
    pub(crate) port: u16,
    /// Do not open the page in a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Keep running when the page is closed
    // The alias is an earlier name.
    #[arg(long, alias = "keep")]
    pub(crate) keep_running: bool,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    /// Original text of the reading and selection options.
    #[arg(skip)]
    pub(crate) option_texts: Vec<OptionText>,
}

/// Viewers whose page can read files from this machine.
const VIEWERS: &[Choice<ViewerPage>] = &[
    ("perfetto", "<https://ui.perfetto.dev>", ViewerPage::Perfetto),
    ("firefox", "<https://profiler.firefox.com>", ViewerPage::Firefox),
    ("speedscope", "<https://www.speedscope.app>: call stacks", ViewerPage::Speedscope),
];
