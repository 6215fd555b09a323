//! `ichnos task`: shows tasks, their operations and causes.

mod collected;
mod decode;
mod diff;
mod export;
mod graph;
mod list;
mod path;
mod read_tasks;
mod show;

use crate::args::{TaskArgs, TaskVerb};
use crate::exit::{Exit, Failure};
use crate::progress::Console;

pub(crate) fn run(args: &TaskArgs, console: Console) -> Result<Exit, Failure> {
    match &args.verb {
        TaskVerb::List(args) => list::run(args, console),
        TaskVerb::Show(args) => show::run(args, console),
        TaskVerb::Graph(args) => graph::run(args, console),
        TaskVerb::Path(args) => path::run(args, console),
        TaskVerb::Diff(args) => diff::run(args, console),
        TaskVerb::Export(args) => export::run(args, console),
        TaskVerb::Decode(args) => decode::run(args, console),
    }
}
