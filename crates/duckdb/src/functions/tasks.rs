//! `trace_tasks` and `trace_edges`: operations that cause each other, across threads, machines and formats.

use std::collections::{HashSet, VecDeque};
use std::ffi::CStr;

use ichnos::Session;
use ichnos::analysis::{TaskCollector, TaskGraph, TaskOptions, Tasks};
use ichnos::model::meaning::CauseKind;

use crate::duckdb::{CallArguments, ColumnType, Parameter};
use crate::query;
use crate::rows::{RowSource, SqlRow};

/// `trace_tasks`.
pub(crate) struct TaskRows;

/// `trace_edges`.
pub(crate) struct EdgeRows;

/// Tasks of all traces, and the next one.
pub(crate) struct TaskState {
    tasks: Tasks,
    next: usize,
}

impl TaskState {
    /// Reads all events. Events of other formats join the tasks that they name.
    fn new(session: &Session) -> Result<Self, String> {
        let mut options = TaskOptions::default();
        options.find_mentions = ichnos::formats().filter_map(|format| format.find_mentions).collect();
        let mut tasks = TaskCollector::new(options);
        let reader = session.reader().map_err(|error| error.to_string())?;
        reader.pass().run(&mut tasks).map_err(|error| error.to_string())?;
        Ok(Self { tasks: tasks.finish(), next: 0 })
    }

    /// Returns the next task. `None` after the last one.
    fn take(&mut self) -> Option<usize> {
        let task = Some(self.next).filter(|next| *next < self.tasks.len())?;
        self.next += 1;
        Some(task)
    }
}

impl RowSource for TaskRows {
    const NAME: &'static CStr = c"trace_tasks";
    const PARAMETERS: &'static [Parameter] = &[];
    const COLUMNS: &'static [(&'static str, ColumnType)] = &[
        ("task", ColumnType::Text),
        ("title", ColumnType::Text),
        ("begin_ts", ColumnType::Int64),
        ("end_ts", ColumnType::Int64),
        ("duration", ColumnType::Int64),
        ("operations", ColumnType::UInt64),
        ("edges", ColumnType::UInt64),
        ("depth", ColumnType::UInt64),
        ("joins", ColumnType::UInt64),
        ("events", ColumnType::UInt64),
        ("missing", ColumnType::UInt64),
    ];
    type Call = Session;
    type State = TaskState;

    fn bind(arguments: &CallArguments) -> Result<Session, String> {
        query::open(arguments)
    }

    fn start(session: &Session, _: &[usize]) -> Result<TaskState, String> {
        TaskState::new(session)
    }

    fn read(_: &Session, state: &mut TaskState, rows: &mut VecDeque<SqlRow>) -> Result<bool, String> {
        let Some(task) = state.take() else { return Ok(false) };
        if let Some(summary) = state.tasks.summary(task) {
            let duration = summary.begin.zip(summary.end).map(|(begin, end)| end - begin);
            rows.push_back(vec![
                summary.id.to_string().into(),
                Some(summary.title.as_str()).filter(|title| !title.is_empty()).into(),
                summary.begin.into(),
                summary.end.into(),
                duration.into(),
                summary.nodes.into(),
                summary.edges.into(),
                summary.depth.into(),
                summary.joins.into(),
                summary.events.into(),
                (summary.missing.unreported + summary.missing.dangling).into(),
            ]);
        }
        Ok(true)
    }
}

impl RowSource for EdgeRows {
    const NAME: &'static CStr = c"trace_edges";
    const PARAMETERS: &'static [Parameter] = &[];
    const COLUMNS: &'static [(&'static str, ColumnType)] = &[
        ("task", ColumnType::Text),
        ("cause", ColumnType::Text),
        ("effect", ColumnType::Text),
        ("kind", ColumnType::Text),
        ("cause_begin_ts", ColumnType::Int64),
        ("cause_end_ts", ColumnType::Int64),
        ("effect_begin_ts", ColumnType::Int64),
        ("effect_end_ts", ColumnType::Int64),
        ("cause_label", ColumnType::Text),
        ("effect_label", ColumnType::Text),
        ("cause_place", ColumnType::Text),
        ("effect_place", ColumnType::Text),
        ("is_critical", ColumnType::Boolean),
    ];
    type Call = Session;
    type State = TaskState;

    fn bind(arguments: &CallArguments) -> Result<Session, String> {
        query::open(arguments)
    }

    fn start(session: &Session, _: &[usize]) -> Result<TaskState, String> {
        TaskState::new(session)
    }

    fn read(_: &Session, state: &mut TaskState, rows: &mut VecDeque<SqlRow>) -> Result<bool, String> {
        let Some(task) = state.take() else { return Ok(false) };
        let id = state.tasks.id(task).map(|id| id.to_string()).unwrap_or_default();
        let graph = state.tasks.graph(task);
        let path = graph.critical_path();
        let critical: HashSet<(u32, u32)> = path.windows(2).map(|pair| (pair[0], pair[1])).collect();
        for effect in 0..graph.len() {
            for cause in graph.causes(effect) {
                let is_critical = critical.contains(&(cause.node, effect));
                rows.push_back(edge(&graph, &id, (cause.node, effect), cause.kind, is_critical));
            }
        }
        Ok(true)
    }
}

fn edge(
    graph: &TaskGraph<'_>,
    id: &str,
    (cause, effect): (u32, u32),
    kind: CauseKind,
    is_critical: bool,
) -> SqlRow {
    let text = |node: u32, place: bool| {
        let member = graph.member(node)?;
        let text = String::from_utf8_lossy(if place { member.place } else { member.label }).into_owned();
        Some(text).filter(|text| !text.is_empty())
    };
    let kind = match kind {
        CauseKind::Parent => "parent",
        CauseKind::Predecessor => "predecessor",
        CauseKind::Return => "return",
        _ => "related",
    };
    vec![
        id.into(),
        graph.operation_name(cause).into(),
        graph.operation_name(effect).into(),
        kind.into(),
        graph.begin(cause).into(),
        graph.end(cause).into(),
        graph.begin(effect).into(),
        graph.end(effect).into(),
        text(cause, false).into(),
        text(effect, false).into(),
        text(cause, true).into(),
        text(effect, true).into(),
        is_critical.into(),
    ]
}
