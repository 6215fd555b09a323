//! Where the real traces are.

use std::path::PathBuf;

/// The folder of real traces: `ICHNOS_TRACES`, or `../shared/traces` from the project's root.
/// None where it is absent: the test that asks says so by name and skips.
pub fn traces() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let traces =
        std::env::var_os("ICHNOS_TRACES").map_or_else(|| root.join("../shared/traces"), PathBuf::from);
    traces.join("ctf").is_dir().then_some(traces)
}
