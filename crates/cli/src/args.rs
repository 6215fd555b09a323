//! Arguments of the command line, as written.

#[cfg(feature = "babeltrace2")]
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ichnos::export::JsonTime;

pub(crate) use self::cat::Cat;
pub(crate) use self::collect::CollectArgs;
pub(crate) use self::color::When;
pub(crate) use self::convert::{
    Align, Convert, Cut, FilterArgs, SplitArgs, SplitBy, Writing, written_formats,
};
pub(crate) use self::examples::command;
pub(crate) use self::follow::FollowArgs;
pub(crate) use self::json::JsonReport;
#[cfg(feature = "view")]
pub(crate) use self::option_texts::{OptionText, option_texts};
pub(crate) use self::output_file::OutputArgs;
pub(crate) use self::reading::{Reading, quirks};
#[cfg(all(feature = "dotnet", target_os = "linux"))]
pub(crate) use self::record::RecordArgs;
pub(crate) use self::selecting::Selecting;
pub(crate) use self::sql::{SqlArgs, SqlFormat};
pub(crate) use self::stacks::StacksArgs;
pub(crate) use self::stats::StatsArgs;
pub(crate) use self::task::{
    TaskArgs, TaskDecodeArgs, TaskDiffArgs, TaskExportArgs, TaskGraphArgs, TaskListArgs, TaskPathArgs,
    TaskReading, TaskShowArgs, TaskSortBy, TaskVerb,
};
pub(crate) use self::text::{PROPERTIES, SCOPES, TextFormat, TextOptions, TextSettings};
pub(crate) use self::threads::ThreadsArgs;
#[cfg(feature = "view")]
pub(crate) use self::view::ViewVerb;
pub(crate) use ichnos::query::time;

mod cat;
mod choice;
mod collect;
mod color;
mod convert;
mod debug_info;
mod examples;
mod follow;
pub(crate) mod format_flags;
mod json;
pub(crate) mod limits;
pub(crate) mod listen;
pub(crate) mod live;
mod number;
#[cfg(feature = "view")]
mod option_texts;
mod output_file;
#[cfg(all(feature = "dotnet", target_os = "linux"))]
mod providers;
mod reading;
#[cfg(all(feature = "dotnet", target_os = "linux"))]
mod record;
pub(crate) mod schema_language;
mod selecting;
mod size;
mod sql;
mod stacks;
mod stats;
mod task;
mod text;
mod threads;
pub(crate) mod until;
#[cfg(feature = "view")]
mod view;

/// Describe, print, check, convert and edit traces: CTF (LTTng, barectf), .NET, Fuchsia, X-Trace, JSON
#[derive(Debug, Parser)]
#[command(
    name = "ichnos",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "`ichnos PATH` is short for `ichnos cat PATH`. `ichnos help limits` lists the limits for \
hostile input. `ichnos --help` lists exit codes.",
    after_long_help = "`ichnos PATH` is short for `ichnos cat PATH`. `ichnos help limits` lists the limits for \
hostile input.\n\n\
Exit codes:\n  \
  0      success\n  \
  1      no event was selected, or `check` found problems\n  \
  2      usage error, or nothing could be read or written\n  \
  3      the output is incomplete: the input is damaged, some of it cannot be read, or none of its\n         events can be written\n  \
  128+N  ended by signal N (130: Ctrl-C)\n\n\
Results go to standard output; warnings, errors and progress go to standard error."
)]
pub(crate) struct LowArgs {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Options that every verb accepts.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// Use colors
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = When::Auto,
          help_heading = "General options")]
    pub(crate) color: When,
    /// Show progress, on standard error
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Progress::Auto,
          help_heading = "General options", hide_short_help = true)]
    pub(crate) progress: Progress,
    /// Do not print warnings and notes
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "General options")]
    pub(crate) quiet: bool,
    /// Also print notes, for example about known tracer bugs
    #[arg(
        short,
        long,
        global = true,
        overrides_with = "verbose",
        help_heading = "General options",
        hide_short_help = true
    )]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Describe a trace: its streams, clocks, environment and time
    Info(Info),
    /// Print trace events, merged by time
    #[command(visible_alias = "dump")]
    Cat(Box<Cat>),
    /// Write traces in another format or dialect, or parts of them
    Convert(Box<Convert>),
    /// Write a time range of traces
    Cut(Box<Cut>),
    /// Write the events that match an expression
    Filter(Box<FilterArgs>),
    /// Write several traces as one
    #[command(
        after_long_help = "--offset PATH=TIME sets the clock offset of one trace, and --manifest FILE of \
        several traces. --help describes both."
    )]
    Merge(Box<Convert>),
    /// Split a trace into several traces
    Split(Box<SplitArgs>),
    /// Salvage a damaged trace: write the readable part as a valid trace
    #[command(
        after_long_help = "Skipped damage is listed on standard error and, with --json, in `left_out`."
    )]
    Repair(Box<Convert>),
    /// Write packet indexes next to trace files
    Index(IndexArgs),
    /// Run an SQL query about traces in DuckDB
    Sql(Box<SqlArgs>),
    /// Write event call stacks as a profile
    Stacks(Box<StacksArgs>),
    /// Count events by name or by a field, with rates, gaps and latencies
    Stats(Box<StatsArgs>),
    /// Show tasks across traces: operations and their causes
    Task(Box<TaskArgs>),
    /// Show what ran, what waited and why, from scheduler events
    Threads(Box<ThreadsArgs>),
    /// Show traces in a browser
    #[cfg(feature = "view")]
    View(Box<ViewVerb>),
    /// Collect reports from programs over UDP and TCP into a directory
    Collect(Box<CollectArgs>),
    /// Record the events of a .NET program into a file, or other live inputs
    #[cfg(all(feature = "dotnet", target_os = "linux"))]
    Record(Box<RecordArgs>),
    /// Run a babeltrace2 command line
    ///
    /// A link to this program with the name `babeltrace2` does the same.
    #[cfg(feature = "babeltrace2")]
    #[command(disable_help_flag = true)]
    Babeltrace2(Babeltrace2Args),
    /// Report all problems of a trace, and suggest fixes
    Check(CheckArgs),
    /// Print the event record classes of a trace and their fields
    Schema(Schema),
    /// List the formats for reading, writing and printing
    Formats(Formats),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print a manual page
    Man(Man),
}

/// `babeltrace2` has its own parser.
#[cfg(feature = "babeltrace2")]
#[derive(Args, Debug)]
pub(crate) struct Babeltrace2Args {
    /// babeltrace2 arguments
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    /// Read all events and count them, per data stream and event record class
    ///
    /// Selection by time or name implies this. Packets and sizes always cover whole data streams.
    #[arg(long)]
    pub(crate) count: bool,
    #[command(flatten)]
    pub(crate) report: JsonReport,
    // Applies to --json.
    /// Form of times since the Unix epoch in JSON
    ///
    /// Times from other clocks are always in nanoseconds.
    #[arg(long, value_parser = choice::parser(json::TIMES), value_name = "FORM", default_value = "ns",
          requires = "json")]
    pub(crate) time: JsonTime,
}

#[derive(Args, Debug)]
#[command(after_long_help = "Exit codes:\n  \
  0  no problems\n  \
  1  errors, including unreadable metadata, or problems named by --fail-on; with --strict also warnings\n  \
  2  usage error, or no trace found\n  \
  3  one of several paths cannot be read")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    /// Check the metadata only, not the data streams
    #[arg(long)]
    pub(crate) metadata_only: bool,
    /// Also end with exit code 1 for these, comma-separated
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    pub(crate) fail_on: Vec<FailOn>,
    #[command(flatten)]
    pub(crate) report: JsonReport,
}

impl CheckArgs {
    /// Returns `true` if `--fail-on` names this reason.
    pub(crate) fn fails_on(&self, what: FailOn) -> bool {
        self.fail_on.contains(&what)
    }

    /// Returns `true` if `--fail-on` names a reason found only in data streams.
    pub(crate) fn needs_data(&self) -> bool {
        self.fails_on(FailOn::Loss) || self.fails_on(FailOn::Damage)
    }
}

/// Reasons for exit code 1 of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors (always, unless `never` is given).
    Error,
    /// Warnings.
    Warning,
    /// Damage in data streams, even if it is only a warning.
    Damage,
    /// Events and packets that the tracer discarded.
    Loss,
    /// Nothing, not even errors.
    Never,
}

#[derive(Args, Debug)]
pub(crate) struct Schema {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print the schema in LANGUAGE, for other programs
    ///
    /// If LANGUAGE cannot express the whole schema, an error lists the problems, and nothing is printed.
    #[arg(long = "as", value_name = "LANGUAGE", value_parser = schema_language::parser(), conflicts_with = "json")]
    pub(crate) language: Option<String>,
    /// Propose a map for --map, from event and field names
    #[arg(long = "propose-map", alias = "map-proposal", conflicts_with_all = ["json", "language"])]
    pub(crate) proposes_map: bool,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    #[command(flatten)]
    pub(crate) report: JsonReport,
}

#[derive(Args, Debug)]
pub(crate) struct Formats {
    #[command(flatten)]
    pub(crate) report: JsonReport,
}

#[derive(Args, Debug)]
#[command(after_long_help = "An existing index is only replaced if it differs.")]
pub(crate) struct IndexArgs {
    /// Trace directories, searched at any depth
    #[arg(required = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) directories: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Command of the manual page [default: ichnos itself]
    #[arg(value_name = "COMMAND", conflicts_with = "directory")]
    pub(crate) page: Option<String>,
    /// Write all manual pages as files into DIR
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// A bar, on a terminal, after a second.
    Auto,
    /// Never.
    Never,
    /// A line every few seconds, unless --quiet is given.
    Plain,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::time::TimePoint;

    #[test]
    fn the_command_line_is_sound() {
        LowArgs::command().debug_assert();
    }

    /// Every argument must have a help text.
    #[test]
    fn everything_is_explained() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {argument}", command.get_name());
            }
            assert!(command.get_about().is_some(), "{}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&LowArgs::command());
    }

    #[test]
    fn times_may_begin_with_a_hyphen() {
        let args = LowArgs::try_parse_from(["ichnos", "cat", "x", "--begin", "-5.2", "--end=+3s"]).unwrap();
        let Verb::Cat(cat) = args.verb else { panic!() };
        assert_eq!(cat.selecting.begin(), Some(TimePoint::Nanoseconds(-5_200_000_000)));
        assert_eq!(cat.selecting.end(), Some(TimePoint::FromStart(3_000_000_000)));
    }
}
