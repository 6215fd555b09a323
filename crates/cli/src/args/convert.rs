//! What `convert` and the verbs that edit traces write, and how.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::reading::Reading;
use super::selecting::Selecting;
use crate::size;

/// Where and how to write traces.
#[derive(Args, Debug)]
pub(crate) struct Writing {
    /// Write to OUT, which appears when it is complete
    ///
    /// A trace that is there is replaced then. If something goes wrong, it stays as it is.
    #[arg(short, long, value_name = "OUT", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) output: Option<PathBuf>,
    /// Output format [default: by the extension of OUT]
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    pub(crate) to: Option<String>,
    /// Dialect of the output; `ichnos formats` lists them
    #[arg(long = "dialect", visible_alias = "to-dialect", value_name = "DIALECT")]
    pub(crate) to_dialect: Option<String>,
    /// Close packets at about this size
    ///
    /// Without it, packets are those of the input, or have 256 KiB.
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    pub(crate) packet_size: Option<u64>,
    /// Write an index of the packets, too
    #[arg(long)]
    pub(crate) index: bool,
    /// Print what was lowered, renamed, rounded or dropped, by class and field
    #[arg(long)]
    pub(crate) losses: bool,
    /// Print what was written and what was lost as JSON, on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Write nothing, but find out what would be lost
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Worker threads [default: CPUs]
    ///
    /// The output does not depend on it.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
}

#[derive(Args, Debug)]
#[command(after_help = "With --strict, nothing is written if anything is lost.")]
pub(crate) struct Convert {
    // Before `reading`, so that its options have the plain names.
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    /// Read times in GMT instead of the local time zone
    #[arg(long, visible_alias = "gmt", help_heading = "Selection")]
    pub(crate) clock_gmt: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Cut {
    #[command(flatten)]
    pub(crate) convert: Convert,
}

#[derive(Args, Debug)]
#[command(after_help = "docs/expressions.md describes expressions. For instance:\n  \
ichnos filter 'event == \"sched_switch\" && next_tid in [1, 2]' TRACE -o OUT")]
pub(crate) struct Filter {
    /// Which events to write: an expression, as of --filter
    #[arg(value_name = "EXPRESSION")]
    pub(crate) expression: String,
    #[command(flatten)]
    pub(crate) convert: Convert,
}

#[derive(Args, Debug)]
pub(crate) struct Merge {
    #[command(flatten)]
    pub(crate) convert: Convert,
}

/// The names of the formats that can be written.
fn format_names() -> PossibleValuesParser {
    let names = ichnos::FORMATS.iter().filter(|format| format.writer().is_some()).map(|format| format.name());
    PossibleValuesParser::new(names.collect::<Vec<_>>())
}
