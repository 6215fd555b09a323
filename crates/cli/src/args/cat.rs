//! Arguments of `cat`.

use clap::Args;

use super::debug_info::DebugInfoPaths;
use super::follow::FollowArgs;
use super::output_file::OutputArgs;
use super::reading::Reading;
use super::selecting::Selecting;
use super::text::{self, TextFormat, TextOptions};
use crate::args::{number, size};

#[derive(Args, Debug)]
pub(crate) struct Cat {
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) following: FollowArgs,
    /// Output format
    ///
    /// On a terminal, unprintable characters are escaped.
    #[arg(short, long, value_parser = text::parser(), value_name = "FORMAT", default_value = "pretty")]
    pub(crate) format: &'static TextFormat,
    /// The same as `--format jsonl`.
    #[arg(long, hide = true, conflicts_with = "format")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Worker threads [default: CPUs]
    ///
    /// The output does not depend on it.
    #[arg(short = 'j', long, value_name = "N", value_parser = number::within::<u16>(1..=u16::MAX),
          hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// Bytes of trace data read as one chunk
    ///
    /// The default is 16M for the format `null`, and 2M for all others (less with more than two threads). Text
    /// waiting for earlier chunks is kept in memory, up to 48M for all threads.
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
    #[arg(short = 'n', long, alias = "limit", value_name = "N", value_parser = number::parse::<u64>,
          help_heading = "Selection")]
    pub(crate) max_events: Option<u64>,
    /// Only the last N selected events
    ///
    /// Reads backwards from the end if the trace can be divided, otherwise reads all of it, twice. Losses and damage
    /// before the first printed event are not reported.
    #[arg(long, value_name = "N", value_parser = number::within::<u64>(1..=u64::MAX),
          conflicts_with_all = ["max_events", "listen", "follow", "until"], help_heading = "Selection")]
    pub(crate) tail: Option<u64>,

    /// Only events within MARGIN of an event matching EXPR
    ///
    /// Reads the traces twice. --event and the other options select the printed events. --begin and --end also limit
    /// the search for events matching EXPR.
    #[arg(long, num_args = 2, value_names = ["EXPR", "MARGIN"],
          conflicts_with_all = ["listen", "follow", "until"], help_heading = "Selection", hide_short_help = true)]
    pub(crate) around: Option<Vec<String>>,

    /// Add binary, function and source line to events with an address (LTTng user space)
    ///
    /// Events with the contexts `vpid` and `ip` get `debug_info = { bin = ..., func = ..., src = ... }`. State dumps and
    /// library loads in the trace tell which binary was at the address. For functions and lines of a trace of this system,
    /// use `--target-prefix /`.
    #[arg(long, help_heading = "Debug information", hide_short_help = true)]
    pub(crate) debug_info: bool,
    #[command(flatten)]
    pub(crate) debug_info_paths: DebugInfoPaths,
    /// Print whole binary and source file paths
    #[arg(long, alias = "debug-info-full-path", help_heading = "Debug information", hide_short_help = true)]
    pub(crate) full_path: bool,
    #[command(flatten)]
    pub(crate) text: TextOptions,
}

impl Cat {
    /// Returns `true` if events get debug information. Each of its options enables it.
    pub(crate) fn has_debug_info(&self) -> bool {
        self.debug_info || self.full_path || self.debug_info_paths.is_any()
    }

    /// Returns the output format.
    pub(crate) fn format(&self) -> &'static TextFormat {
        if self.json { TextFormat::json_lines() } else { self.format }
    }
}
