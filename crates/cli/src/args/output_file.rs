//! Output file for verbs that do not write a trace.

use std::path::PathBuf;

use clap::Args;

/// Options for a file that replaces standard output.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Write to FILE, created when the output is complete
    ///
    /// FILE must be new or empty, a pipe or a device.
    #[arg(id = "output", short, long, short_alias = 'w', value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) path: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long, requires = "output", hide_short_help = true)]
    pub(crate) force: bool,
}
