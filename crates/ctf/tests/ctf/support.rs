//! Location of the real traces, and time limits.

use std::path::PathBuf;
use std::time::Duration;

/// Returns the directory of real traces: `ICHNOS_TRACES`, or `../shared/traces` from the project's root. If it is
/// missing, prints the test's name and returns `None`, so that the test is skipped.
pub fn traces() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let traces =
        std::env::var_os("ICHNOS_TRACES").map_or_else(|| root.join("../shared/traces"), PathBuf::from);
    traces.join("ctf").is_dir().then_some(traces)
}

/// Runs work with a time limit that does not depend on the machine's load.
pub fn quick<T>(what: &str, work: impl FnOnce() -> T) -> T {
    ichnos_testing::in_cpu_time(Duration::from_secs(20), what, work)
}
