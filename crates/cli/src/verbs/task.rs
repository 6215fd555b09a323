//! `ichnos task`: shows tasks, their operations and causes.

mod collected;
mod decode;
mod export;
mod graphs;
mod list;
mod path;
mod read_tasks;

use crate::args::{TaskArgs, TaskVerb};
use crate::exit::{Exit, Failure};
use crate::progress::Console;

pub(crate) fn run(args: &TaskArgs, console: Console) -> Result<Exit, Failure> {
    match &args.verb {
        TaskVerb::List(args) => list::run(args, console),
        TaskVerb::Show(args) => graphs::show(args, console),
        TaskVerb::Graph(args) => graphs::write(args, console),
        TaskVerb::Path(args) => path::run(args, console),
        TaskVerb::Diff(args) => graphs::diff(args, console),
        TaskVerb::Export(args) => export::run(args, console),
        TaskVerb::Decode(args) => decode::run(args, console),
    }
}
