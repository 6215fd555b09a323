//! `ichnos task`: which operations caused which.

mod diff;
mod list;
mod path;
mod show;

use std::io::{BufWriter, Write as _};

use ichnos::export::{GraphFormat, TaskCollector, TaskGraph, TaskOptions, Tasks, TerminalText};

use crate::args::{Arithmetic, Global, Task, TaskGraphArgs, TaskGraphFormat, TaskReading, TaskVerb};
use crate::collecting::{self, Collecting};
use crate::exit::{Exit, Failure};
use crate::input;
use crate::interrupt;
use crate::nearest::list as list_of;
use crate::output::Destination;
use crate::output_path::OutputPath;
use crate::progress::Progress;
use crate::report::Report;
use crate::scan;
use crate::selection::Selection;
use crate::style::{count, safe};

pub(crate) fn run(args: &Task, global: &Global, report: Report) -> Result<Exit, Failure> {
    match &args.verb {
        TaskVerb::List(args) => list::run(args, global, report),
        TaskVerb::Show(args) => show::run(args, global, report),
        TaskVerb::Graph(args) => write_graph(args, global, report),
        TaskVerb::Path(args) => path::run(args, global, report),
        TaskVerb::Diff(args) => diff::run(args, global, report),
    }
}

/// Tasks that were read, and whether something of them is damaged.
struct Found {
    tasks: Tasks,
    damaged: bool,
}

impl Found {
    /// How a verb ends that has shown something of them.
    fn exit(&self) -> Exit {
        collecting::exit(self.damaged, self.tasks.is_empty())
    }
}

/// Reads all tasks; Err with how to end if the reading was interrupted. `with_events`: also events that belong to operations.
fn read(
    args: &TaskReading,
    output: Option<OutputPath<'_>>,
    with_events: bool,
    global: &Global,
    report: Report,
) -> Result<Result<Found, Exit>, Failure> {
    let mut selection = Selection::new(&args.selecting, None)?;
    let session =
        input::open(&args.reading, Arithmetic::Exact, scan::progress(global.progress, report), report)?;
    output.map_or(Ok(()), |output| output.check_apart(&session))?;
    let mut damaged = input::report_problems(&session, report);
    let window = selection.prepare(&session, report)?;
    input::report_empty_traces(&session, report);
    interrupt::watch();
    let mut progress = Progress::new(global.progress, &session, false, report);
    progress.limit_damage(args.reading.limits().report.damage);
    let mut options = TaskOptions::default();
    if !args.no_search {
        options.find_mentions = ichnos::FORMATS.iter().filter_map(|format| format.find_mentions()).collect();
    }
    options.with_events = with_events;
    let mut pass = Collecting::new(TaskCollector::new(options), selection, args.reading.strict);
    match pass.run(&session, window, progress, report)? {
        Some(found) => damaged |= found,
        None => return Ok(Err(interrupt::exit())),
    }
    pass.selection.review(report);
    let tasks = pass.sink.finish();
    if tasks.left_out() > 0 {
        report.warning(&format!("{} left out: there are too many", count(tasks.left_out(), "event")));
    }
    if tasks.too_long() > 0 {
        let identifiers = count(tasks.too_long(), "identifier");
        report.warning(&format!("{identifiers} of more than 20 bytes left out"));
    }
    if tasks.is_empty() {
        let help = "`ichnos cat --format jsonl` shows which members of events mean an operation";
        report.warning_with_help("no event says of which task or operation it is", help);
    }
    Ok(Ok(Found { tasks, damaged }))
}

/// The task that an identifier on the command line stands for.
fn find(tasks: &Tasks, id: &str) -> Result<usize, Failure> {
    if id == "latest" {
        let certain = (0..tasks.len()).filter(|task| !tasks.is_uncertain(*task));
        let summaries = certain.filter_map(|task| Some((tasks.summary(task)?.begin, task)));
        let latest = summaries.max().map(|(_, task)| task);
        return latest.ok_or_else(|| Failure::new("there is no task"));
    }
    match &tasks.find(id)[..] {
        [task] => Ok(*task),
        [] => Err(Failure::new(format!("there is no task `{}`", safe(id)))
            .help("`ichnos task list PATH...` lists those that there are")),
        several => {
            let ids = several.iter().filter_map(|task| tasks.id(*task)).map(|id| id.to_string());
            let mut ids: Vec<String> = ids.take(1_000).collect();
            ids.dedup();
            let number = count(several.len() as u64, "task");
            if let [_] = &ids[..] {
                // Operations of several traces can have the same identifier.
                let failure = Failure::new(format!("{number} have the identifier `{}`", safe(id)));
                return Err(failure.help("give the paths of one trace only"));
            }
            ids.truncate(4);
            let failure = Failure::new(format!("{number} have identifiers that begin with `{}`", safe(id)));
            Err(failure.help(format!("give more digits: {}", list_of(ids.iter().map(String::as_str)))))
        }
    }
}

/// The graph of a task, with clocks corrected if that is asked for.
fn graph<'t>(tasks: &'t Tasks, task: usize, correct_clocks: bool, report: Report) -> TaskGraph<'t> {
    let mut graph = tasks.graph(task);
    if correct_clocks && !graph.correct_clocks() {
        report.warning(
            "the clocks cannot be corrected: operations of different machines cause each other so that some come before \
             their causes whatever the clocks are, or there are too many machines",
        );
    }
    graph
}

fn write_graph(args: &TaskGraphArgs, global: &Global, report: Report) -> Result<Exit, Failure> {
    let output = OutputPath::of_file(&args.output);
    output.check_new()?;
    let found = match read(&args.choice.input, Some(output), false, global, report)? {
        Ok(found) => found,
        Err(exit) => return Ok(exit),
    };
    if found.tasks.is_empty() {
        return Ok(found.exit());
    }
    let graph = graph(&found.tasks, find(&found.tasks, &args.choice.id)?, args.choice.correct_clocks, report);
    let format = match args.format() {
        TaskGraphFormat::Dot => GraphFormat::Dot,
        TaskGraphFormat::Svg => GraphFormat::Svg,
        TaskGraphFormat::Json => GraphFormat::Json,
    };
    let output = output.create()?;
    let mut output = Destination::new(output, TerminalText::Lines { colors: false });
    let mut buffered = BufWriter::with_capacity(64 << 10, &mut output);
    graph.write(format, &mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    output.finish()?;
    Ok(found.exit())
}

/// Text of a trace in a line of a table, shortened if it is very long.
fn text(bytes: &[u8]) -> String {
    const MOST: usize = 400;
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", safe(&text[..end])),
        None => safe(&text).into_owned(),
    }
}
