//! Paths of traces.

use std::path::{Path, PathBuf};

/// Prefix of table names that are directories: `FROM 'trace:DIR'`.
pub(crate) const PREFIX: &str = "trace:";

/// Endings of file names that only traces have.
const ENDINGS: [&str; 4] = [".nettrace", ".fxt", ".xtrace", ".ctf"];

/// Endings of packed files, after the others.
const PACKED: [&str; 4] = [".gz", ".zst", ".xz", ".bz2"];

/// Returns `true` if a table name is the path of a trace.
pub(crate) fn is_trace(name: &str) -> bool {
    if name.strip_prefix(PREFIX).is_some_and(|path| !path.is_empty()) {
        return true;
    }
    let name = name.to_ascii_lowercase();
    let name = PACKED.iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(&name);
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Returns the paths that patterns with `*`, `?` and `[a-z]` match, sorted. Other paths are not checked.
pub(crate) fn expand(patterns: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for pattern in patterns {
        let pattern = pattern.strip_prefix(PREFIX).unwrap_or(pattern);
        if pattern == "-" {
            return Err("standard input cannot be read from SQL: name a file".to_owned());
        }
        if !pattern.contains(['*', '?', '[']) || Path::new(pattern).exists() {
            paths.push(PathBuf::from(pattern));
            continue;
        }
        let found = glob::glob(pattern).map_err(|error| format!("invalid pattern `{pattern}`: {error}"))?;
        let count = paths.len();
        for path in found {
            paths.push(path.map_err(|error| format!("cannot search `{pattern}`: {error}"))?);
        }
        if paths.len() == count {
            return Err(format!("no file matches `{pattern}`"));
        }
    }
    if paths.is_empty() {
        return Err("expected at least one path".to_owned());
    }
    Ok(paths)
}
