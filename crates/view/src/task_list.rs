//! Tasks of a trace, collected on the first request.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ichnos::analysis::Tasks;
use ichnos::model::locks::IgnorePoison as _;
use ichnos::model::meaning::Identifier;

use crate::response::ApiError;

/// Minimum age at which the tasks of a growing trace are collected again: a multiple of the collection time, and a
/// fixed time.
const PATIENCE: u32 = 5;
const SHORTEST: Duration = Duration::from_secs(2);

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
