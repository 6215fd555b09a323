//! Where the real traces are, and how long something may take.

use std::path::PathBuf;
use std::time::Duration;

/// The directory of real traces: `ICHNOS_TRACES`, or `../shared/traces` from the project's root.
/// None where it is absent: the test that asks says so by name and skips.
pub fn traces() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let traces =
        std::env::var_os("ICHNOS_TRACES").map_or_else(|| root.join("../shared/traces"), PathBuf::from);
    traces.join("ctf").is_dir().then_some(traces)
}

/// Does what may not take long, whatever else the machine does.
pub fn quick<T>(what: &str, work: impl FnOnce() -> T) -> T {
    ichnos_testing::in_cpu_time(Duration::from_secs(20), what, work)
}
