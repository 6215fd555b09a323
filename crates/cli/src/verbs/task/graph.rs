//! `ichnos task graph`.

use ichnos::analysis::GraphFormat;
use ichnos::export::TerminalText;

use super::read_tasks::{find, graph, read};
use crate::args::TaskGraphArgs;
use crate::exit::{Exit, Failure};
use crate::output::{Destination, OutputPath};
use crate::progress::Console;

pub(super) fn run(args: &TaskGraphArgs, console: Console) -> Result<Exit, Failure> {
    let output = OutputPath::for_file(&args.output);
    output.check_new()?;
    let format = args.format();
    let with_events = matches!(format, GraphFormat::Svg(_));
    let found = read(&args.choice.input, &[], Some(output), with_events, console)?;
    if found.tasks.is_empty() {
        return Ok(found.exit);
    }
    let graph = graph(&found, find(&found.tasks, &args.choice.id)?, console);
    let output = Destination::new(output.create()?, TerminalText::Lines { colors: false });
    output.write_buffered(|output| graph.write(format, output))?;
    Ok(found.exit)
}
