//! Tasks: operations that cause each other, across threads, machines and formats.

use std::collections::HashSet;

use ichnos_analysis::{TaskCollector, TaskGraph, TaskOptions, Tasks};
use ichnos_model::meaning::CauseKind;
use ichnos_table::RecordRows;
use ichnos_table::arrow_schema::DataType;

use super::row_source::{RowColumns, RowSource, row_error};
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
pub(super) struct TaskRows(TaskList);

/// Makes the rows of the edges of one task after the other.
pub(super) struct EdgeRows(TaskList);

/// Tasks of all traces, and the next one.
struct TaskList {
    tasks: Tasks,
    next: usize,
}

impl TaskList {
    /// Reads all events. Events of other formats join the tasks that they name.
    fn new(session: &Session) -> Result<Self, QueryError> {
        let mut options = TaskOptions::default();
        options.find_mentions = crate::formats().filter_map(|format| format.find_mentions).collect();
        let mut tasks = TaskCollector::new(options);
        let reader = session.reader()?;
        reader.pass().run(&mut tasks).map_err(row_error)?;
        Ok(Self { tasks: tasks.finish(), next: 0 })
    }

    /// Returns the next task. `None` after the last one.
    fn take(&mut self) -> Option<usize> {
        let task = Some(self.next).filter(|next| *next < self.tasks.len())?;
        self.next += 1;
        Some(task)
    }
}

impl TaskRows {
    pub(super) fn new(query: &TraceQuery) -> Result<Self, QueryError> {
        TaskList::new(query.session()).map(Self)
    }
}

impl EdgeRows {
    pub(super) fn new(query: &TraceQuery) -> Result<Self, QueryError> {
        TaskList::new(query.session()).map(Self)
    }
}

impl RowSource for TaskRows {
    fn read(&mut self, _: &TraceQuery, rows: &mut RecordRows) -> Result<bool, QueryError> {
        let Some(task) = self.0.take() else { return Ok(false) };
        if let Some(summary) = self.0.tasks.summary(task) {
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
    fn read(&mut self, _: &TraceQuery, rows: &mut RecordRows) -> Result<bool, QueryError> {
        let Some(task) = self.0.take() else { return Ok(false) };
        let id = self.0.tasks.id(task).map(|id| id.to_string()).unwrap_or_default();
        let graph = self.0.tasks.graph(task);
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
