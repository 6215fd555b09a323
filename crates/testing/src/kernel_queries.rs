//! DuckDB reference: SQL queries over kernel events compute the same results as ichnos.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::find_python;

/// Directory with the queries and the script that runs them.
const QUERIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/queries");

/// Query over the events of a kernel trace. The rows are lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelQuery {
    /// Thread, state, time in the state, and the part of this time before the processor's first switch.
    ThreadStates,
    /// Span name, number of pairs, shortest, longest, total and self time.
    Spans,
    /// Steps of each thread's critical path over wakeups: thread, then start, end, state and thread of the step.
    WakeupPaths,
}

impl KernelQuery {
    /// Returns the files of the query, and of earlier queries whose tables it needs.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::ThreadStates => &["thread_states.sql"],
            Self::Spans => &["spans.sql"],
            Self::WakeupPaths => &["thread_states.sql", "spans.sql", "wakeup_paths.sql"],
        }
    }
}

/// Python with the DuckDB module.
#[derive(Debug)]
pub struct DuckDb {
    python: PathBuf,
}

impl DuckDb {
    /// Finds the Python interpreter in `ICHNOS_PYTHON`, by default `python3`. Without DuckDB, prints that `test` is
    /// skipped.
    #[must_use]
    pub fn find(test: &str) -> Option<Self> {
        Some(Self { python: find_python(test, "duckdb")? })
    }

    /// Runs a query on events that ichnos wrote as CSV. Returns the rows as a JSON array.
    ///
    /// # Panics
    /// If the query fails.
    #[must_use]
    pub fn query(&self, events: &Path, query: KernelQuery) -> String {
        let directory = Path::new(QUERIES);
        let files = query.files().iter().map(|file| directory.join(file));
        let mut command = Command::new(&self.python);
        let output = command.arg(directory.join("query.py")).arg(events).args(files).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        lines.lines().last().unwrap_or_default().to_owned()
    }
}
