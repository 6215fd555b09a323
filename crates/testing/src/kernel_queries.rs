//! DuckDB reference: SQL queries over kernel events compute the same results as ichnos.

use std::ffi::OsStr;
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
    /// Steps of each thread's critical path over wakeups: thread, then start, end, state and thread of the step. It
    /// needs the tables of the other queries.
    WakeupPaths,
}

impl KernelQuery {
    /// All queries, in the order in which they need each other.
    pub const ALL: [Self; 3] = [Self::ThreadStates, Self::Spans, Self::WakeupPaths];

    fn file(self) -> &'static str {
        match self {
            Self::ThreadStates => "thread_states.sql",
            Self::Spans => "spans.sql",
            Self::WakeupPaths => "wakeup_paths.sql",
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

    /// Runs queries on files of events that ichnos wrote as CSV, in one process. Returns a JSON array for each file: the
    /// rows of each query.
    ///
    /// # Panics
    /// If a query fails.
    #[must_use]
    pub fn query(&self, files: &[PathBuf], queries: &[KernelQuery]) -> Vec<String> {
        let directory = Path::new(QUERIES);
        let queries = queries.iter().map(|query| directory.join(query.file()));
        let mut command = Command::new(&self.python);
        command.arg(directory.join("query.py")).args(queries).arg(OsStr::new("--")).args(files);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines: Vec<String> =
            String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), files.len());
        lines
    }
}
