//! Recorded traces, and selections of them and of random cases.

use std::path::{Path, PathBuf};

/// Name prefixes of recorded traces. For each, a smaller recorded trace has the same tracer and the same constructs.
const ALIKE: [&str; 15] = [
    "babeltrace/2/succeed/succeed2",
    "ctf2/tc-ros2",
    "lttng-live-relayd",
    "lttng-ust/exclude",
    "lttng-ust/perpid",
    // The third archive is smaller.
    "lttng-ust/session-rot/archives/20261120T203342+0000-20261120T203342+0000",
    "lttng-ust/snapshot",
    "tracecompass/CTF2-7.0-succeed1",
    "tracecompass/django-benchmark/django-client",
    "tracecompass/django-benchmark/django-httpd",
    "tracecompass/exp/testTrace-17985",
    "tracecompass/exp/testTrace-18",
    "tracecompass/many-threads",
    "tracecompass/mpi_allreduce",
    "tracecompass/synctraces/scp_src",
];

/// Returns the path of recorded data in the directory `ICHNOS_TRACES`, by default `../shared/traces` next to the
/// project's root. If it is missing, prints that the test is skipped.
#[must_use]
pub fn recorded(path: impl AsRef<Path>) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let path = std::env::var_os("ICHNOS_TRACES").map_or(root, PathBuf::from).join(path);
    if !path.exists() {
        println!("skipped: no recorded trace {}", path.display());
        return None;
    }
    Some(path)
}

/// Returns `true` if `ICHNOS_SWEEPS` is `all`. Then tests try everything instead of a sample.
#[must_use]
pub fn is_complete_sweep() -> bool {
    std::env::var_os("ICHNOS_SWEEPS").is_some_and(|wanted| wanted == "all")
}

/// Returns `true` if tests can skip a recorded trace because a smaller trace has the same tracer and constructs. `name`
/// is the directory below `ctf/real`. A complete sweep skips nothing.
#[must_use]
pub fn is_like_another(name: &str) -> bool {
    !is_complete_sweep() && ALIKE.iter().any(|start| name.starts_with(start))
}

/// Returns `true` if a test uses an item. Each item is for one of several `tests`. In a complete sweep, all tests use
/// it.
#[must_use]
pub fn is_turn(item: usize, test: usize, tests: usize) -> bool {
    is_complete_sweep() || item % tests == test
}

/// Returns the number of random cases: `few`, or `all` in a complete sweep.
#[must_use]
pub fn sample_size(few: u64, all: u64) -> u64 {
    if is_complete_sweep() { all } else { few }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_in_one_test() {
        for item in 0..10 {
            let tests = (0..3).filter(|test| is_turn(item, *test, 3)).count();
            assert_eq!(tests, if is_complete_sweep() { 3 } else { 1 }, "{item}");
        }
    }
}
