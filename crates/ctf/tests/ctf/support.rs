//! Location of the real traces, and time limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns the directory of recorded traces, if it has CTF traces.
pub fn traces() -> Option<PathBuf> {
    ichnos_testing::recorded("ctf")?.parent().map(Path::to_owned)
}

/// Runs work with a time limit that does not depend on the machine's load.
pub fn quick<T>(what: &str, work: impl FnOnce() -> T) -> T {
    ichnos_testing::in_cpu_time(Duration::from_secs(20), what, work)
}
