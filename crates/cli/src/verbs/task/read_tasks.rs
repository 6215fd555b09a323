//! Reads tasks, and finds tasks by identifier.

use ichnos::Session;
use ichnos::analysis::{TaskCollector, TaskGraph, TaskOptions, TaskTextOptions, Tasks};
use ichnos::export::text::{Paint, count};
use ichnos::model::meaning::{FindMentions, Identifier};

use super::collected;
use crate::args::{Reading, Selecting, TaskReading, time};
use crate::exit::{Exit, Failure};
use crate::input::OpenRequest;
use crate::opened_run::OpenedRun;
use crate::output::{OutputPath, line_width, safe};
use crate::progress::{Console, interrupt};
use crate::select::Selection;
use crate::suggestions::list as list_of;

/// Tasks that were read.
pub(super) struct ReadTasks {
    pub(super) tasks: Tasks,
    /// Exit code after showing the tasks.
    pub(super) exit: Exit,
    corrects_clocks: bool,
}

impl ReadTasks {
    /// Returns `true` if reading found no problems.
    fn is_clean(&self) -> bool {
        self.exit == Exit::Success && self.tasks.left_out() == 0 && self.tasks.too_long() == 0
    }
}

/// Reads the tasks `ids`, or all tasks if `ids` is empty. `with_events` includes other events that belong to
/// operations.
pub(super) fn read(
    args: &TaskReading,
    ids: &[&str],
    output: Option<OutputPath<'_>>,
    with_events: bool,
    console: Console,
) -> Result<ReadTasks, Failure> {
    if output.is_none()
        && let Some(found) = read_indexed(args, ids, with_events, console)?
    {
        return Ok(found);
    }
    let session = OpenRequest::new(&args.reading).open(console)?;
    output.map_or(Ok(()), |output| output.check_apart(&session))?;
    read_session(TaskInput::new(args, with_events), &session, console)
}

/// Reads tasks by the index of a collected directory.
///
/// Returns `None` if that is impossible, or if reading found problems. The caller then reads all reports, so that
/// problems are reported with their positions.
fn read_indexed(
    args: &TaskReading,
    ids: &[&str],
    with_events: bool,
    console: Console,
) -> Result<Option<ReadTasks>, Failure> {
    let read = |operations: &[Identifier]| {
        let session = collected::open(args, ids, operations, console)?;
        let input = TaskInput::new(args, with_events);
        let read = |session| read_session(input, &session, console.silenced());
        let found = session.map(read).transpose()?;
        Ok(found.filter(ReadTasks::is_clean))
    };
    let found = read(&[])?;
    let Some(known) = &found else { return Ok(found) };
    let operations = dangling(&known.tasks, ids);
    match operations.len() {
        0 => Ok(found),
        // Other tasks can contain them.
        1..=MOST_SEARCHED => read(&operations),
        _ => Ok(None),
    }
}

/// Maximum number of operations to search for by the index. With more operations, all reports are read.
const MOST_SEARCHED: usize = 16;

/// Returns the operations where the tasks' dangling edges start.
fn dangling(tasks: &Tasks, ids: &[&str]) -> Vec<Identifier> {
    // Several tasks with one identifier are an error anyway.
    let found = ids.iter().filter_map(|id| tasks.find(id).first().copied());
    let graphs = found.map(|task| tasks.graph(task));
    let mut all: Vec<_> =
        graphs.flat_map(|graph| graph.dangling().iter().map(|edge| edge.from).collect::<Vec<_>>()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Input and options for reading tasks.
#[derive(Clone, Copy)]
pub(super) struct TaskInput<'a> {
    pub(super) reading: &'a Reading,
    pub(super) selecting: &'a Selecting,
    pub(super) searches: bool,
    pub(super) with_events: bool,
    pub(super) corrects_clocks: bool,
}

impl<'a> TaskInput<'a> {
    fn new(args: &'a TaskReading, with_events: bool) -> Self {
        Self {
            reading: &args.reading,
            selecting: &args.selecting,
            searches: !args.no_search,
            with_events,
            corrects_clocks: !args.no_correct_clocks,
        }
    }

    /// Returns the functions that find operations in texts.
    pub(super) fn finders(&self) -> Vec<FindMentions> {
        let formats = ichnos::formats().filter(|_| self.searches);
        formats.filter_map(|format| format.find_mentions).collect()
    }
}

/// Reads the tasks of a session.
pub(super) fn read_session(
    input: TaskInput<'_>,
    session: &Session,
    console: Console,
) -> Result<ReadTasks, Failure> {
    let selection = Selection::new(input.selecting, None)?;
    let mut opened = OpenedRun::new(input.reading, session, selection, console)?;
    opened.start();
    let mut options = TaskOptions::default();
    options.find_mentions = input.finders();
    options.with_events = input.with_events;
    options.correct_clocks = input.corrects_clocks;
    let collector = opened.collect(TaskCollector::new(options))?;
    opened.selection.review(console);
    let tasks = collector.finish();
    if tasks.left_out() > 0 {
        console.warning(&format!("skipped {}: there are too many", count(tasks.left_out(), "event")));
    }
    if tasks.too_long() > 0 {
        let identifiers = count(tasks.too_long(), "identifier");
        console.warning(&format!("skipped {identifiers} of more than 20 bytes"));
    }
    if tasks.is_empty() {
        let help = "`ichnos cat --format jsonl` shows event members";
        console.warning_with_help("no event has the identifier of a task or operation", help);
    }
    let exit = opened.exit(tasks.is_empty());
    Ok(ReadTasks { tasks, exit, corrects_clocks: input.corrects_clocks })
}

/// Reads tasks. Ends the verb if no task was found.
pub(super) fn read_some(
    args: &TaskReading,
    ids: &[&str],
    with_events: bool,
    console: Console,
) -> Result<ReadTasks, Failure> {
    let found = read(args, ids, None, with_events, console)?;
    if found.tasks.is_empty() { Err(Failure::end(found.exit)) } else { Ok(found) }
}

/// Finds the task for an identifier from the command line.
pub(super) fn find(tasks: &Tasks, id: &str) -> Result<usize, Failure> {
    if id == "latest" {
        return tasks
            .in_order(false, interrupt::is_requested)
            .last()
            .copied()
            .ok_or_else(|| Failure::new("no task found"));
    }
    match &tasks.find(id)[..] {
        [task] => Ok(*task),
        [] => Err(Failure::new(format!("unknown task `{}`", safe(id)))
            .help("`ichnos task list PATH...` lists the tasks")),
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

/// Returns the graph of a task. Warns about clocks that cannot be corrected.
pub(super) fn graph(found: &ReadTasks, task: usize, console: Console) -> TaskGraph<'_> {
    let graph = found.tasks.graph(task);
    warn_of_unknown_machines(found, 1, graph.backward_edges_without_machine(), console);
    if graph.is_correction_incomplete() {
        let id = found.tasks.id(task).map_or(String::new(), |id| id.to_string());
        warn_of_uncorrected_clocks(&format!("task {id}"), console);
    }
    graph
}

/// Warns about tasks with clocks that could not be corrected.
pub(super) fn warn_of_uncorrected_clocks(tasks: &str, console: Console) {
    console
        .warning(&format!("clocks in {tasks} were not corrected: too many machines with edges between them"));
}

/// Warns about edges that go back in time between operations without a machine.
pub(super) fn warn_of_unknown_machines(found: &ReadTasks, tasks: u64, edges: u64, console: Console) {
    if edges > 0 && found.corrects_clocks {
        let go = if edges == 1 { "goes" } else { "go" };
        let edges = count(edges, "edge");
        let place = if tasks > 1 { format!(" in {}", count(tasks, "task")) } else { String::new() };
        console.warning(&format!(
            "clocks not corrected: {edges}{place} {go} back in time between operations without a machine"
        ));
    }
}

/// Returns the options for task texts. Warns about an unknown time zone if texts contain local times.
pub(super) fn text_options(found: &ReadTasks, clock_gmt: bool, paint: Paint) -> TaskTextOptions {
    let mut options = TaskTextOptions::default();
    options.paint = paint;
    options.width = line_width();
    options.clock_seconds = !found.tasks.has_dates();
    options.clock_gmt = clock_gmt;
    if !options.clock_seconds && !clock_gmt {
        time::warn_of_zone();
    }
    options
}
