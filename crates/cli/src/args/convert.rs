//! Arguments of `convert` and of the verbs that edit traces.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use ichnos::io::Shard;

use super::json::JsonReport;
use super::reading::Reading;
use super::selecting::Selecting;
use super::text::TextFormat;
use super::until::UntilArgs;
use crate::args::format_flags::WriterFlags;
use crate::args::{number, size, time};

/// Options for writing traces.
#[derive(Args, Debug)]
pub(crate) struct Writing {
    /// Write to OUT, created when it is complete
    ///
    /// OUT must be new or empty, a pipe or a device, and outside the input.
    #[arg(short, long, value_name = "OUT", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace OUT if it exists
    ///
    /// In a directory, only trace and table files are replaced. Other files in it, such as text, are an error. If
    /// writing fails, OUT stays unchanged.
    #[arg(long, requires = "output", hide_short_help = true)]
    pub(crate) force: bool,
    /// Write only part I of N of the input, next to the other parts: 1/8, 2/8 ... 8/8
    ///
    /// N processes, on any machines, write one dataset of tables, each with a different I. Each process takes a part
    /// of the data streams, or of the packets in large data streams. --force replaces only the files of the same
    /// part.
    #[arg(long, value_name = "I/N", requires = "output", conflicts_with_all = ["dry_run", "verify"], hide_short_help = true)]
    pub(crate) shard: Option<Shard>,
    /// Format [default: by extension]
    ///
    /// Without an extension, `convert` writes a directory with a CTF trace. The other verbs then keep the format and
    /// dialect of the input, if ichnos can write them. Text (.csv, .tsv, .txt) equals `ichnos cat` output with
    /// default options, and cannot be read again.
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(format_values()))]
    pub(crate) to: Option<String>,
    /// Output dialect: see `ichnos formats`
    #[arg(long, alias = "dialect", value_name = "DIALECT")]
    pub(crate) to_dialect: Option<String>,
    #[command(flatten)]
    pub(crate) writer_flags: WriterFlags,
    /// Close packets at about this size
    ///
    /// Default: input packet sizes, else 256 KiB.
    #[arg(long, value_name = "BYTES", value_parser = size::parse, hide_short_help = true)]
    pub(crate) packet_size: Option<u64>,
    /// Also write a packet index
    ///
    /// Speeds up opening the output.
    #[arg(long, hide_short_help = true)]
    pub(crate) index: bool,
    /// Read the output back before it appears, and compare it
    ///
    /// Compares the number of events in each class, their times and values, and the number of discarded events. The
    /// output must also be valid. If anything differs, nothing is written, and the exit code is 3.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) verify: bool,
    /// List all inexact conversions, by class and field
    ///
    /// An item can be simplified (lowered), renamed, moved, rounded or dropped.
    ///
    /// The list goes to standard output or, with `-o -`, to standard error.
    #[arg(long)]
    pub(crate) losses: bool,
    #[command(flatten)]
    pub(crate) report: JsonReport,
    /// Find losses without writing
    #[arg(long, hide_short_help = true)]
    pub(crate) dry_run: bool,
    /// Worker threads [default: CPUs]
    ///
    /// The output does not depend on it.
    #[arg(short = 'j', long, value_name = "N", value_parser = number::within::<u16>(1..=u16::MAX),
          hide_short_help = true)]
    pub(crate) threads: Option<u16>,
}

impl Writing {
    /// Returns `true` if `--to` or the output extension names a table format.
    pub(crate) fn is_table(&self) -> bool {
        let path = self.output.as_deref().unwrap_or(Path::new(""));
        let extension = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        let format = self.to.as_deref().or(extension.as_deref());
        format.is_some_and(|format| ["parquet", "arrow", "arrows", "feather"].contains(&format))
    }

    /// Returns `true` if the trace is written to standard output.
    pub(crate) fn prints_trace(&self) -> bool {
        !self.dry_run && self.output.as_deref() == Some(Path::new("-"))
    }
}

#[derive(Args, Debug)]
#[command(after_long_help = "With --strict, nothing is written if anything is lost.")]
pub(crate) struct Convert {
    // Before `reading`, so that these options get the names without a prefix.
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    #[command(flatten)]
    pub(crate) ending: UntilArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Cut {
    /// Cut at the given times, or between packets
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = Align::Time, hide_short_help = true)]
    pub(crate) align: Align,
    /// Keep MARGIN before and after each event matching EXPR
    ///
    /// Overlapping windows are joined. With --begin and --end, only events in that range are searched and written.
    #[arg(long, num_args = 2, value_names = ["EXPR", "MARGIN"])]
    pub(crate) around: Option<Vec<String>>,
    /// Drop events outside the range, even if they name processes, modules or functions
    ///
    /// By default, these events, such as the rundown at the end of a .NET session, are kept, so that call stacks in
    /// the output have names.
    #[arg(long, hide_short_help = true)]
    pub(crate) drop_rundown: bool,
    #[command(flatten)]
    pub(crate) convert: Convert,
}

/// Alignment of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Align {
    /// At the given times: events outside are skipped.
    Time,
    /// Between packets: packets that overlap the range are written whole.
    Packet,
}

#[derive(Args, Debug)]
#[command(
    after_long_help = "OUT is a directory with a trace for each part, named after the part. Each event is \
        in exactly one part."
)]
pub(crate) struct SplitArgs {
    /// Criterion: size=100M, time=10s, stream, event, or a field name
    ///
    /// With `size`, each part has about this much data. With `time=10s`, parts start at the first event and every 10
    /// s after it. With a field, named as in `ichnos cat --fields`, each value is a part, and so are the events
    /// without the field.
    #[arg(long, value_name = "WHAT", value_parser = SplitBy::parse)]
    pub(crate) by: SplitBy,
    #[command(flatten)]
    pub(crate) convert: Convert,
}

/// Criterion that divides events into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SplitBy {
    /// Part size in bytes.
    Size(u64),
    /// Part duration in nanoseconds.
    Time(i128),
    /// One part per data stream.
    Stream,
    /// One part per event name.
    Event,
    /// One part per value of this field.
    Field(String),
}

impl SplitBy {
    fn parse(text: &str) -> Result<Self, String> {
        match (text, text.split_once('=')) {
            (_, Some(("size", size))) => match size::parse(size)? {
                0 => Err("the part size must be greater than 0".to_owned()),
                size => Ok(Self::Size(size)),
            },
            (_, Some(("time", duration))) => match time::offset_from(&format!("+{duration}")) {
                Ok(duration) if duration > 0 => Ok(Self::Time(duration)),
                _ => Err(format!("expected a duration such as 10s or 1min30s, found `{duration}`")),
            },
            (_, Some((name, _))) => Err(format!("expected size=BYTES or time=DURATION, found `{name}=`")),
            ("size" | "time", None) => {
                Err("expected size=BYTES or time=DURATION, for example size=100M or time=10s".to_owned())
            }
            ("stream", None) => Ok(Self::Stream),
            ("event", None) => Ok(Self::Event),
            ("", None) => Err("expected a field name".to_owned()),
            (field, None) => Ok(Self::Field(field.to_owned())),
        }
    }
}

#[derive(Args, Debug)]
#[command(after_long_help = "docs/expressions.md describes expressions.")]
pub(crate) struct FilterArgs {
    /// Events to write: an expression as for --filter
    #[arg(value_name = "EXPRESSION")]
    pub(crate) expression: String,
    #[command(flatten)]
    pub(crate) convert: Convert,
}

/// Returns the names of all formats that can be written, both traces and text.
pub(crate) fn written_formats() -> Vec<String> {
    let texts = TextFormat::written().map(|format| format.name.to_owned());
    ichnos::convert::targets().map(|target| target.format.to_owned()).chain(texts).collect()
}

/// Returns the values of `--to`. Formats of a missing feature are accepted too, so that the error names the feature.
fn format_values() -> Vec<PossibleValue> {
    let missing = ichnos::convert::TABLE_FORMATS
        .into_iter()
        .filter(|format| ichnos::convert::missing_feature(Some(format), Path::new("")).is_some());
    let hidden = missing.map(|format| PossibleValue::new(format).hide(true));
    written_formats().into_iter().map(PossibleValue::new).chain(hidden).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let parse = SplitBy::parse;
        assert_eq!(parse("size=2K"), Ok(SplitBy::Size(2048)));
        assert_eq!(parse("time=1.5s"), Ok(SplitBy::Time(1_500_000_000)));
        assert_eq!(parse("time=2min"), Ok(SplitBy::Time(120_000_000_000)));
        assert_eq!(parse("stream"), Ok(SplitBy::Stream));
        assert_eq!(parse("event"), Ok(SplitBy::Event));
        assert_eq!(parse("payload.event"), Ok(SplitBy::Field("payload.event".to_owned())));
        for wrong in ["size=0", "size", "time=0s", "time=-1s", "time=x", "other=1", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
