//! Tasks: operations that cause each other, across threads, machines and formats.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ichnos_analysis::{TaskCollector, TaskGraph, TaskOptions, Tasks};
use ichnos_model::meaning::CauseKind;
use ichnos_model::{Message, Sink as _};
use ichnos_table::RecordRows;
use ichnos_table::arrow_schema::DataType;

use super::row_source::{RowColumns, RowSource, STEP, row_error};
use crate::Session;
use crate::query::{QueryError, TraceQuery};

/// Columns of tasks.
pub(super) const TASK_COLUMNS: RowColumns = &[
    ("task", DataType::Utf8),
    ("title", DataType::Utf8),
    ("begin_ts", DataType::Int64),
    ("end_ts", DataType::Int64),
    ("duration", DataType::Int64),
    ("operations", DataType::UInt64),
    ("edges", DataType::UInt64),
    ("depth", DataType::UInt64),
    ("joins", DataType::UInt64),
    ("events", DataType::UInt64),
    ("missing", DataType::UInt64),
];

/// Columns of edges.
pub(super) const EDGE_COLUMNS: RowColumns = &[
    ("task", DataType::Utf8),
    ("cause", DataType::Utf8),
    ("effect", DataType::Utf8),
    ("kind", DataType::Utf8),
    ("cause_begin_ts", DataType::Int64),
    ("cause_end_ts", DataType::Int64),
    ("effect_begin_ts", DataType::Int64),
    ("effect_end_ts", DataType::Int64),
    ("cause_label", DataType::Utf8),
    ("effect_label", DataType::Utf8),
    ("cause_place", DataType::Utf8),
    ("effect_place", DataType::Utf8),
    ("is_critical", DataType::Boolean),
];

/// Makes the rows of one task after the other.
#[derive(Default)]
pub(super) struct TaskRows(TaskList);

/// Makes the rows of the edges of one task after the other.
#[derive(Default)]
pub(super) struct EdgeRows(TaskList);

/// Tasks of all traces, and the next one.
#[derive(Default)]
struct TaskList {
    /// `None` before the events are read.
    tasks: Option<Tasks>,
    next: usize,
}

/// Reads all events. In other formats, events join the tasks that they name.
fn find_tasks(session: &Session, goes_on: &mut dyn FnMut() -> bool) -> Result<Tasks, QueryError> {
    let mut options = TaskOptions::default();
    options.find_mentions = crate::formats().filter_map(|format| format.find_mentions).collect();
    let mut tasks = TaskCollector::new(options);
    let (mut left, mut is_ended) = (STEP, false);
    let mut take = |message: &Message<'_>| {
        left -= 1;
        if left == 0 {
            left = STEP;
            is_ended = !goes_on();
        }
        if is_ended { Ok(ControlFlow::Break(())) } else { tasks.message(message) }
    };
    session.reader()?.pass().run(&mut take).map_err(row_error)?;
    if is_ended { Err(QueryError::interrupted()) } else { Ok(tasks.finish()) }
}

impl TaskList {
    /// Returns the next task. `None` after the last one.
    fn take(
        &mut self,
        session: &Session,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<(&Tasks, usize)>, QueryError> {
        let tasks = match &mut self.tasks {
            Some(tasks) => tasks,
            place => place.insert(find_tasks(session, goes_on)?),
        };
        let task = self.next;
        self.next += 1;
        Ok((task < tasks.len()).then_some((&*tasks, task)))
    }
}

impl RowSource for TaskRows {
    fn read(
        &mut self,
        query: &TraceQuery,
        rows: &mut RecordRows,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, QueryError> {
        let Some((tasks, task)) = self.0.take(query.session(), goes_on)? else { return Ok(false) };
        if let Some(summary) = tasks.summary(task) {
            let duration = summary.begin.zip(summary.end).map(|(begin, end)| end - begin);
            let row = [
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
            ];
            rows.add(&row).map_err(row_error)?;
        }
        Ok(true)
    }
}

impl RowSource for EdgeRows {
    fn read(
        &mut self,
        query: &TraceQuery,
        rows: &mut RecordRows,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, QueryError> {
        let Some((tasks, task)) = self.0.take(query.session(), goes_on)? else { return Ok(false) };
        let id = tasks.id(task).map(|id| id.to_string()).unwrap_or_default();
        let graph = tasks.graph(task);
        let path = graph.critical_path();
        let critical: HashSet<(u32, u32)> = path.windows(2).map(|pair| (pair[0], pair[1])).collect();
        for effect in 0..graph.len() {
            for cause in graph.causes(effect) {
                let is_critical = critical.contains(&(cause.node, effect));
                add_edge(&graph, &id, (cause.node, effect), cause.kind, is_critical, rows)?;
            }
        }
        Ok(true)
    }
}

fn add_edge(
    graph: &TaskGraph<'_>,
    id: &str,
    (cause, effect): (u32, u32),
    kind: CauseKind,
    is_critical: bool,
    rows: &mut RecordRows,
) -> Result<(), QueryError> {
    let text = |node: u32, place: bool| {
        let member = graph.member(node)?;
        let text = String::from_utf8_lossy(if place { member.place } else { member.label });
        Some(text).filter(|text| !text.is_empty())
    };
    let kind = match kind {
        CauseKind::Parent => "parent",
        CauseKind::Predecessor => "predecessor",
        CauseKind::Return => "return",
        _ => "related",
    };
    let row = [
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
    ];
    rows.add(&row).map_err(row_error)
}
