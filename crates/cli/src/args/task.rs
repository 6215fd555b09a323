//! Arguments of `task`.

use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use ichnos::analysis::GraphFormat;

use super::choice::{self, Choice};
use super::convert::Convert;
use super::deferred::Deferred;
use super::examples;
use super::json::JsonReport;
use super::output_file::OutputArgs;
use super::reading::Reading;
use super::selecting::Selecting;
use crate::args::number;

#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = examples::text("task"),
    after_long_help = format!("A task is a graph of operations, with edges from causes to effects. Events contain \
        the identifier of their operation. Events in other traces join a task if their texts mention the \
        task or one of its operations.\n\n\
ID is the identifier of a task, or its unique first digits. `latest` is the task that started last.\n\n{}",
        examples::text("task"))
)]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    pub(crate) verb: TaskVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskVerb {
    /// List tasks with their times, durations, and numbers of operations and edges
    List(Deferred<TaskListArgs>),
    /// Print the operations of a task in order, causes first, with their edges
    Show(Deferred<TaskShowArgs>),
    /// Write the graph of a task for Graphviz, or as a picture
    Graph(Deferred<TaskGraphArgs>),
    /// Print the critical path of a task, and the duration of each step
    Path(Deferred<TaskPathArgs>),
    /// Compare two tasks: their operations, edges and times
    Diff(Deferred<TaskDiffArgs>),
    /// Write the events of a task as a trace
    Export(Deferred<TaskExportArgs>),
    /// Explain metadata that programs send with their messages
    Decode(Deferred<TaskDecodeArgs>),
}

impl TaskArgs {
    /// Sets the default output of `task export`.
    pub(crate) fn set_defaults(&mut self) {
        if let TaskVerb::Export(export) = &mut self.verb {
            let writing = &mut export.convert.writing;
            if writing.output.is_none() && !writing.dry_run {
                writing.output = Some("-".into());
            }
        }
    }
}

#[derive(Args, Debug)]
#[command(
    after_long_help = "Without OUT, the task is written to standard output. Unless --to, --to-dialect or the \
        extension of OUT names a format, it is written as operation reports. With --strict, nothing is \
        written if anything is lost."
)]
pub(crate) struct TaskExportArgs {
    /// Identifier of the task, or its first digits; `latest`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) convert: Convert,
    /// Skip events that only mention a task in a text
    #[arg(long, help_heading = "Selection")]
    pub(crate) no_search: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TaskDecodeArgs {
    /// Metadata, as in a header or an event
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
}

/// Options for the events that tasks are read from.
#[derive(Args, Debug)]
pub(crate) struct TaskReading {
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    /// Skip events that only mention a task in a text
    #[arg(long, help_heading = "Selection")]
    pub(crate) no_search: bool,
    /// Correct the clocks of machines: the default
    #[arg(long, hide = true, overrides_with = "no_correct_clocks")]
    pub(crate) correct_clocks: bool,
    /// Keep the times of all machines, even if effects start before their causes
    #[arg(long, overrides_with = "correct_clocks")]
    pub(crate) no_correct_clocks: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TaskListArgs {
    #[command(flatten)]
    pub(crate) input: TaskReading,
    /// Only tasks with at least N operations
    #[arg(long, value_name = "N", value_parser = number::parse::<u64>, default_value_t = 0)]
    pub(crate) min_nodes: u64,
    /// Also list tasks known only from numbers that look like an identifier
    #[arg(long)]
    pub(crate) all: bool,
    /// Column to sort by
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = TaskSortBy::Begin)]
    pub(crate) sort: TaskSortBy,
    #[command(flatten)]
    pub(crate) report: JsonReport,
}

/// Sort order for tasks. Tasks with equal values are sorted by their first events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskSortBy {
    /// Time of the first event, the earliest first.
    Begin,
    /// Time from the first to the last event, the longest first.
    Duration,
    /// Number of operations, the most first.
    #[value(alias = "nodes")]
    Operations,
}

/// Options that name one task.
#[derive(Args, Debug)]
pub(crate) struct TaskChoice {
    /// Identifier of the task, or its first digits; `latest`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) input: TaskReading,
}

#[derive(Args, Debug)]
pub(crate) struct TaskShowArgs {
    #[command(flatten)]
    pub(crate) choice: TaskChoice,
    #[command(flatten)]
    pub(crate) report: JsonReport,
}

#[derive(Args, Debug)]
pub(crate) struct TaskPathArgs {
    #[command(flatten)]
    pub(crate) choice: TaskChoice,
    /// End the path at OPERATION: an identifier or its first digits [default: the last operation]
    ///
    /// If operations in several chains have the same identifier, use `ID/CHAIN`, as printed by `task show`.
    #[arg(long, value_name = "OPERATION")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) report: JsonReport,
}

#[derive(Args, Debug)]
pub(crate) struct TaskGraphArgs {
    #[command(flatten)]
    pub(crate) choice: TaskChoice,
    /// Output format [default: by the name of FILE, or dot]
    #[arg(short, long, value_parser = choice::parser(GRAPH_FORMATS), value_name = "FORMAT")]
    pub(crate) format: Option<GraphFormat>,
    /// Width of the picture in pixels, with --format svg [default: by the number of operations]
    #[arg(long, value_name = "PIXELS", value_parser = number::within::<u16>(400..=u16::MAX))]
    pub(crate) width: Option<u16>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl TaskGraphArgs {
    /// Returns the output format.
    pub(crate) fn format(&self) -> GraphFormat {
        let format = self.format.unwrap_or_else(|| {
            let extension = self.output.path.as_deref().and_then(Path::extension).unwrap_or_default();
            match extension.to_string_lossy().to_lowercase().as_str() {
                "svg" => GraphFormat::Svg(None),
                "json" => GraphFormat::Json,
                _ => GraphFormat::Dot,
            }
        });
        match format {
            GraphFormat::Svg(_) => GraphFormat::Svg(self.width.map(usize::from)),
            format => format,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct TaskDiffArgs {
    /// Identifier of the first task, or its first digits
    #[arg(value_name = "ID")]
    pub(crate) first: String,
    /// Identifier of the second task
    #[arg(value_name = "ID")]
    pub(crate) second: String,
    #[command(flatten)]
    pub(crate) input: TaskReading,
    /// Number of steps to print
    #[arg(long, value_name = "N", value_parser = number::parse::<usize>, default_value_t = 20)]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) report: JsonReport,
}

const GRAPH_FORMATS: &[Choice<GraphFormat>] = &[
    ("dot", "For Graphviz", GraphFormat::Dot),
    ("svg", "A picture for browsers", GraphFormat::Svg(None)),
    ("json", "An object with the lists `nodes` and `edges`", GraphFormat::Json),
];
