//! Recorded traces.

use std::path::{Path, PathBuf};

/// Returns the directory of recorded traces: `ICHNOS_TRACES`, or `../shared/traces` next to the project's root.
pub(crate) fn recorded() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = std::env::var_os("ICHNOS_TRACES").map_or_else(|| root.join("../shared/traces"), PathBuf::from);
    if !path.is_dir() {
        eprintln!("skipped: no recorded traces in {}", path.display());
        return None;
    }
    Some(path)
}
