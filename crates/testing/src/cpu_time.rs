//! Thread CPU time.

use std::time::Duration;

/// Runs `work`, which may take at most this much CPU time on the current thread.
///
/// Unlike wall clock time, CPU time excludes other threads and programs.
///
/// # Panics
/// If `work` took longer.
pub fn in_cpu_time<T>(most: Duration, what: &str, work: impl FnOnce() -> T) -> T {
    let begin = now();
    let result = work();
    let taken = now().saturating_sub(begin);
    assert!(taken <= most, "{what} took {taken:?} of CPU time, more than {most:?}");
    result
}

#[cfg(unix)]
fn now() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(unix))]
fn now() -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGIN.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn waiting_takes_no_cpu_time() {
        in_cpu_time(Duration::from_millis(40), "waiting", || std::thread::sleep(Duration::from_millis(50)));
        let busy = std::panic::catch_unwind(|| {
            in_cpu_time(Duration::from_millis(5), "working", || {
                let begin = now();
                while now() < begin + Duration::from_millis(10) {}
            });
        });
        assert!(busy.is_err());
    }
}
