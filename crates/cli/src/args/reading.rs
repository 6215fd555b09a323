//! Arguments for reading traces.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ichnos::model::clock::ClockArithmetic;
use ichnos::model::trace::TracerQuirk;

use super::choice::{self, Choice};
use crate::args::format_flags::FormatFlags;
use crate::args::limits::{Limits, Maximum};
use crate::args::listen::ListenAddress;
use crate::args::live::LiveArgs;
use crate::args::time;
use crate::args::time::Offset;

/// Traces to read, and options for reading them.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reading {
    /// Trace directories, files or archives; `-` reads an archive from standard input
    ///
    /// Directories are searched at any depth. Archives are tar files, also compressed, and zip files.
    #[arg(required_unless_present_any = ["listen", "manifest"], value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Input format [default: detected by content]
    #[arg(long, alias = "input-format", short_alias = 'i', value_name = "FORMAT", value_parser = format_names(),
          help_heading = "Reading")]
    pub(crate) from: Option<String>,
    /// Set an option of a format; `ichnos formats` lists them
    ///
    /// Options supply information that a trace lacks, for example its clock. Can be repeated.
    #[arg(short = 'O', long, value_name = "FORMAT.OPTION=VALUE", value_parser = format_option,
          help_heading = "Reading", hide_short_help = true)]
    pub(crate) option: Vec<(String, String)>,
    /// Treat violations of the specification as errors
    #[arg(long, help_heading = "Reading", hide_short_help = true)]
    pub(crate) strict: bool,
    /// Keep the event order of files that are not sorted by time
    ///
    /// By default, events wait until all earlier events have been read. With this option, times can decrease, even
    /// when several data streams are merged.
    #[arg(long, hide_short_help = true, help_heading = "Reading")]
    pub(crate) unsorted: bool,
    /// Add TIME to the times of traces at PATH: -5.2, +3s, a date
    ///
    /// TIME is in seconds, a duration with its unit, or the date when the clock was 0. The traces can then be
    /// merged with others. A date does not move clocks that count from 1970. PATH is one of the given paths, a glob
    /// that matches some of them, or a trace in one of them. Can be repeated.
    #[arg(long, value_name = "PATH=TIME", allow_hyphen_values = true, value_parser = offset,
          help_heading = "Reading")]
    pub(crate) offset: Vec<(String, Offset)>,
    /// Read the traces listed in FILE, with the offsets of their clocks
    ///
    /// FILE is in TOML: tables `[[trace]]` with `path`, `offset` and `clocks`. Paths are relative to FILE, and can be
    /// globs.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, hide_short_help = true,
          help_heading = "Reading")]
    pub(crate) manifest: Option<PathBuf>,
    /// Apply the event map in FILE; see `ichnos help map`
    ///
    /// FILE is in TOML: tables `[[event]]` with a name pattern, the role of these events, and the meanings of their
    /// fields. `ichnos schema --propose-map` drafts such a file. Can be repeated.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, hide_short_help = true,
          help_heading = "Reading")]
    pub(crate) map: Vec<PathBuf>,
    /// Receive until Ctrl-C: OpenTelemetry at otlp://HOST:PORT, datagrams at unixgram:PATH
    ///
    /// `otlp://` alone is 127.0.0.1:4318, for exporters over HTTP. `unixgram:PATH` creates a Unix socket at PATH, for
    /// formats sent as datagrams (`ichnos formats` lists them). Can be repeated, and combined with other inputs.
    #[arg(long, value_name = "ADDRESS", value_parser = ListenAddress::parse, help_heading = "Reading",
          hide_short_help = true)]
    pub(crate) listen: Vec<ListenAddress>,
    /// Set a limit; `ichnos help limits` lists them
    ///
    /// For example `unpacked=32G`: K, M, G and T are powers of 1024. Can be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = Maximum::parse, help_heading = "Reading", hide_short_help = true)]
    pub(crate) resource_limit: Vec<Maximum>,
    #[command(flatten)]
    pub(crate) format_flags: FormatFlags,
    /// Put all clocks on one timeline, as if all counted from the Unix epoch
    #[arg(long, visible_alias = "clock-force-correlate", hide_short_help = true, help_heading = "Reading")]
    pub(crate) assume_correlated: bool,
    /// Add SECONDS to all clocks
    #[arg(
        long,
        visible_alias = "clock-offset-s",
        value_name = "SECONDS",
        default_value_t = 0,
        allow_negative_numbers = true,
        hide_default_value = true,
        hide_short_help = true,
        help_heading = "Reading"
    )]
    pub(crate) clock_offset: i64,
    /// Add NANOSECONDS to all clocks
    #[arg(
        long,
        value_name = "NANOSECONDS",
        default_value_t = 0,
        allow_negative_numbers = true,
        hide_default_value = true,
        hide_short_help = true,
        help_heading = "Reading"
    )]
    pub(crate) clock_offset_ns: i64,
    /// Conversion of clock cycles to nanoseconds
    ///
    /// Default: `babeltrace` for `pretty` and `details`, so that their text equals Babeltrace's, otherwise `exact`.
    #[arg(long, value_parser = choice::parser(ARITHMETIC), value_name = "HOW", hide_short_help = true,
          help_heading = "Reading")]
    pub(crate) clock_arithmetic: Option<ClockArithmetic>,
    /// Do not work around this known tracer bug
    ///
    /// `ichnos info` lists the bugs that ichnos works around in a trace. Can be repeated.
    #[arg(long, value_name = "NAME", value_parser = quirk_names().try_map(quirk), hide_short_help = true,
          help_heading = "Reading")]
    pub(crate) no_quirk: Vec<&'static str>,
    /// Do not work around any known tracer bug
    #[arg(long, conflicts_with = "no_quirk", hide_short_help = true, help_heading = "Reading")]
    pub(crate) no_quirks: bool,
    /// Follow symbolic links to directories elsewhere
    ///
    /// Links to files, and to directories within a given path, are always followed. The path itself can be a link.
    #[arg(long, hide_short_help = true, help_heading = "Reading")]
    pub(crate) follow_links: bool,
    /// Directory for temporary files [default: $TMPDIR, or the system's]
    ///
    /// Stores unpacked data beyond 64 MiB, and events to be sorted, in unnamed files.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, hide_short_help = true,
          help_heading = "Reading")]
    pub(crate) temp_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
}

impl Reading {
    /// Returns the directory for temporary files.
    #[cfg(feature = "view")]
    pub(crate) fn temporary(&self) -> PathBuf {
        self.temp_dir.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Returns the default limits with the changes from `--resource-limit`.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        self.resource_limit.iter().for_each(|maximum| maximum.apply(&mut limits));
        limits
    }
}

const ARITHMETIC: &[Choice<ClockArithmetic>] = &[
    ("exact", "In integers, rounded down", ClockArithmetic::Exact),
    (
        "babeltrace",
        "In floating point, like `babeltrace2`: a few nanoseconds off unless the clock has 1 GHz",
        ClockArithmetic::Double,
    ),
];

fn format_names() -> PossibleValuesParser {
    ichnos::formats().map(|format| PossibleValue::new(format.name).help(format.title)).into()
}

fn format_option(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected FORMAT.OPTION=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Parses a path, which can be a pattern, and the clock offset for it.
fn offset(text: &str) -> Result<(String, Offset), String> {
    let (path, time) = text.rsplit_once('=').ok_or("expected PATH=TIME")?;
    Ok((path.to_owned(), time::clock_offset_from(time)?))
}

/// Returns the known tracer bugs of all formats.
pub(crate) fn quirks() -> impl Iterator<Item = &'static TracerQuirk> {
    ichnos::formats().flat_map(|format| format.quirks)
}

fn quirk_names() -> PossibleValuesParser {
    quirks().map(|quirk| PossibleValue::new(quirk.name).help(quirk.message)).into()
}

fn quirk(name: String) -> Result<&'static str, String> {
    quirks().map(|quirk| quirk.name).find(|known| *known == name).ok_or(name)
}
