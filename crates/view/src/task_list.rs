//! Tasks of a trace, collected on the first request.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use ichnos::analysis::{TaskGraph, Tasks};
use ichnos::model::locks::IgnorePoison as _;
use ichnos::model::meaning::{CauseKind, Identifier};
use ichnos::viewers::EventId;

use crate::response::ApiError;

/// Minimum age at which the tasks of a growing trace are collected again: a multiple of the collection time, and a
/// fixed time.
const PATIENCE: u32 = 5;
const SHORTEST: Duration = Duration::from_secs(2);

/// Maximum number of arrows, and of operations of all tasks with arrows.
const MOST_JOINS: usize = 1 << 17;
const MOST_OPERATIONS: u64 = 1 << 17;

/// Event at an end of a [`TaskJoin`].
#[derive(Clone, Debug)]
pub(crate) struct JoinEnd {
    pub(crate) event: EventId,
    pub(crate) track: u32,
    pub(crate) label: String,
}

/// Event or operation that joined an operation.
#[derive(Clone, Debug)]
pub(crate) struct TaskJoin {
    /// First event of the operation.
    pub(crate) from: JoinEnd,
    /// Time at which the arrow leaves the operation.
    pub(crate) left_at: u64,
    pub(crate) to: JoinEnd,
}

/// Task without its graph.
#[derive(Clone, Debug)]
pub(crate) struct TaskRow {
    /// Task number.
    pub(crate) task: usize,
    pub(crate) id: Identifier,
    pub(crate) title: String,
    /// Times of the first and last event, in nanoseconds since the clock origin.
    pub(crate) begin: Option<i128>,
    pub(crate) end: Option<i128>,
    /// Number of operations.
    pub(crate) operations: u64,
}

/// Tasks selected by a filter, sorted by start time.
#[derive(Debug)]
pub(crate) struct TaskList {
    pub(crate) tasks: Tasks,
    pub(crate) rows: Vec<TaskRow>,
    /// `false` if some events were not read, or there were too many operations.
    pub(crate) is_complete: bool,
    /// Arrows for the timeline, found on the first request.
    joins: OnceLock<Vec<TaskJoin>>,
}

impl TaskList {
    pub(crate) fn new(tasks: Tasks, rows: Vec<TaskRow>, is_complete: bool) -> Self {
        Self { tasks, rows, is_complete, joins: OnceLock::new() }
    }

    /// Returns the arrows from operations to events on other tracks that joined them, and between operations of
    /// different traces that only a text connects.
    pub(crate) fn joins(&self) -> &[TaskJoin] {
        self.joins.get_or_init(|| self.find_joins())
    }

    fn find_joins(&self) -> Vec<TaskJoin> {
        let (mut found, mut left) = (Vec::new(), MOST_OPERATIONS);
        for row in &self.rows {
            let Some(rest) = left.checked_sub(row.operations).filter(|_| found.len() < MOST_JOINS) else {
                break;
            };
            left = rest;
            add_joins(&self.tasks.graph(row.task), &mut found);
        }
        found.truncate(MOST_JOINS);
        found
    }
}

/// Adds the arrows of a task.
fn add_joins(graph: &TaskGraph<'_>, found: &mut Vec<TaskJoin>) {
    let end = |event: Option<EventId>, track: Option<u32>, label: &[u8]| {
        let (event, track) = event.zip(track)?;
        Some(JoinEnd { event, track, label: String::from_utf8_lossy(label).into_owned() })
    };
    let operation = |node: u32| {
        let member = graph.member(node)?;
        end(member.event, member.track, member.label)
    };
    let mut add = |node: u32, to: Option<JoinEnd>, is_shown: &dyn Fn(&JoinEnd, &JoinEnd) -> bool| {
        let Some((from, to)) = operation(node).zip(to).filter(|(from, to)| is_shown(from, to)) else {
            return;
        };
        let times = graph.begin(node).zip(graph.end(node));
        let length = times.and_then(|(begin, end)| u64::try_from(end - begin).ok()).unwrap_or(0);
        // A cause continues after its effect has started, or ends before it.
        let begin = from.event.time;
        let left_at = to.event.time.clamp(begin, begin.saturating_add(length));
        found.push(TaskJoin { from, left_at, to });
    };
    for node in 0..graph.len() {
        for edge in graph.causes(node).iter().filter(|edge| edge.kind == CauseKind::Related) {
            add(edge.node, operation(node), &|_, _| true);
        }
    }
    for (node, event) in graph.joined_events() {
        // On the track of the operation, nobody needs an arrow.
        add(node, end(event.event, event.track, event.label), &|from, to| from.track != to.track);
    }
}

#[derive(Debug)]
struct CollectedList {
    list: Arc<TaskList>,
    filter: String,
    /// Number of events of the trace at collection time.
    events: u64,
    /// Time at which the collection finished, and its duration.
    made: Instant,
    took: Duration,
}

/// Cache of the latest task list.
#[derive(Debug, Default)]
pub(crate) struct TaskCache(Mutex<Option<CollectedList>>);

impl TaskCache {
    /// Returns the latest tasks, whatever their filter is, unless they are being collected.
    pub(crate) fn latest(&self) -> Option<Arc<TaskList>> {
        let known = self.0.try_lock().ok()?;
        known.as_ref().map(|known| Arc::clone(&known.list))
    }

    /// Returns the tasks selected by a filter. `events` is the number of events of the trace so far.
    pub(crate) fn get(
        &self,
        filter: &str,
        events: u64,
        collect: impl FnOnce() -> Result<TaskList, ApiError>,
    ) -> Result<Arc<TaskList>, ApiError> {
        // The lock is held while events are read, because other requests need the same tasks.
        let mut known = self.0.lock().ignore_poison();
        if let Some(known) = &*known {
            let is_recent = known.made.elapsed() < known.took * PATIENCE + SHORTEST;
            if known.filter == filter && (known.events == events || is_recent) {
                return Ok(Arc::clone(&known.list));
            }
        }
        // Two lists at once could need too much memory.
        *known = None;
        let begun = Instant::now();
        let list = Arc::new(collect()?);
        let (filter, made, took) = (filter.to_owned(), Instant::now(), begun.elapsed());
        *known = Some(CollectedList { list: Arc::clone(&list), filter, events, made, took });
        Ok(list)
    }
}
