//! Tasks of a trace, which are collected when they are first asked for.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ichnos::analysis::Tasks;
use ichnos::model::{Identifier, IgnorePoison as _};

use crate::response::ApiError;

/// Time after which tasks of a trace that grows are collected again: as many times as that took, and this.
const PATIENCE: u32 = 5;
const SHORTEST: Duration = Duration::from_secs(2);

/// A task without its graph.
#[derive(Clone, Debug)]
pub(crate) struct TaskRow {
    /// Number of the task.
    pub(crate) task: usize,
    pub(crate) id: Identifier,
    pub(crate) title: String,
    /// Time of the first and the last event, in nanoseconds since the origin of the clock.
    pub(crate) begin: Option<i128>,
    pub(crate) end: Option<i128>,
    /// Number of operations.
    pub(crate) operations: u64,
}

/// Tasks that a filter selects, in the order in which they begin.
#[derive(Debug)]
pub(crate) struct TaskList {
    pub(crate) tasks: Tasks,
    pub(crate) rows: Vec<TaskRow>,
    /// `false` if not all events were read, or there were too many operations.
    pub(crate) is_complete: bool,
}

#[derive(Debug)]
struct CollectedList {
    list: Arc<TaskList>,
    filter: String,
    /// Number of events of the trace at that time.
    events: u64,
    /// Time at which it was finished, and how long it took.
    made: Instant,
    took: Duration,
}

/// The tasks that were asked for last.
#[derive(Debug, Default)]
pub(crate) struct TaskCache(Mutex<Option<CollectedList>>);

impl TaskCache {
    /// Returns the tasks that a filter selects. `events` is the number of events of the trace so far.
    pub(crate) fn get(
        &self,
        filter: &str,
        events: u64,
        collect: impl FnOnce() -> Result<TaskList, ApiError>,
    ) -> Result<Arc<TaskList>, ApiError> {
        // Held while events are read: others ask for the same ones.
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
