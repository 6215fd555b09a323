//! Private memory of other processes.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Samples between two searches for new descendants. A search reads all of `/proc`, which takes a third of a processor
/// if it is done for each sample.
const SAMPLES: u64 = 4;

/// Peak private memory of all processes that a process starts, measured while this value exists. File pages, including
/// the program's own file, do not count: the number of file pages in memory depends on the machine.
///
/// ```
/// use ichnos_testing::PrivateMemory;
///
/// let memory = PrivateMemory::for_children(std::process::id());
/// std::process::Command::new("true").status()?;
/// # #[cfg(target_os = "linux")]
/// assert!(memory.peak() < 100_000_000);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PrivateMemory {
    state: Arc<PeakState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct PeakState {
    is_over: AtomicBool,
    peak: AtomicU64,
}

impl PrivateMemory {
    /// Watches the descendants of a process.
    #[must_use]
    pub fn for_children(process: u32) -> Self {
        Self::watch(process, false)
    }

    /// Watches a process and its descendants.
    #[must_use]
    pub fn for_process(process: u32) -> Self {
        Self::watch(process, true)
    }

    fn watch(process: u32, with_itself: bool) -> Self {
        let state = Arc::new(PeakState::default());
        let watched = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            let (mut others, mut all) = (HashSet::new(), Vec::new());
            for sample in (0_u64..).take_while(|_| !watched.is_over.load(Ordering::Relaxed)) {
                if sample.is_multiple_of(SAMPLES) {
                    all = descendants(process, &mut others);
                    all.extend(with_itself.then_some(process));
                }
                let now = all.iter().copied().filter_map(private_memory).max();
                watched.peak.fetch_max(now.unwrap_or(0), Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        Self { state, thread: Some(thread) }
    }

    /// Returns the peak so far in bytes. 0 if the system does not provide it.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.state.peak.load(Ordering::Relaxed)
    }
}

impl Drop for PrivateMemory {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the private memory of a process in bytes. `None` if the process or the information does not exist.
#[must_use]
pub fn private_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Finds the descendants of a process. `others` are processes that are known not to be descendants. A process never
/// changes its parent, so they are not read again.
fn descendants(process: u32, others: &mut HashSet<u32>) -> Vec<u32> {
    let mut parents: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut listed = HashSet::new();
    for item in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(number) = item.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        listed.insert(number);
        if others.contains(&number) {
            continue;
        }
        let Ok(stat) = fs::read_to_string(item.path().join("stat")) else { continue };
        // The state and the parent follow the name, which can contain any characters.
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
        if let Some(parent) =
            fields.and_then(|mut fields| fields.nth(1)).and_then(|parent| parent.parse().ok())
        {
            parents.entry(parent).or_default().push(number);
        }
    }
    let mut found = parents.remove(&process).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(parents.remove(process).unwrap_or_default());
        next += 1;
    }
    for process in &found {
        listed.remove(process);
    }
    *others = listed;
    found
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_child_is_measured() {
        let mut shell = std::process::Command::new("sh");
        // Another shell starts a shell that keeps some megabytes for a while.
        shell.args(["-c", "sh -c 'x=$(head -c 8000000 /dev/zero | tr \"\\0\" a); sleep 0.3'; true"]);
        let mut child = shell.spawn().unwrap();
        let memory = PrivateMemory::for_process(child.id());
        assert!(child.wait().unwrap().success());
        assert!((8_000_000..100_000_000).contains(&memory.peak()), "{}", memory.peak());
        assert!(private_memory(std::process::id()).unwrap() > 0);
    }
}
