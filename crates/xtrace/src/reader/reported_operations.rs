//! Operations that already have a report.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use ichnos_model::locks::IgnorePoison as _;

use crate::recent_map::RecentMap;
use crate::{OpId, TaskId};

/// Minimum number of remembered operations, and half the maximum (about 20 MB).
pub(crate) const WINDOW: usize = 200_000;

/// Operations of the latest reports in all files, to detect operations with several different reports.
///
/// An operation identifier is unique within its chain (section 2.3), so a second report must be a copy.
#[derive(Debug)]
pub(crate) struct ReportedOperations {
    hasher: RandomState,
    state: Mutex<RecentOperations>,
}

#[derive(Debug)]
struct RecentOperations {
    reports: RecentMap<u64, FirstReport>,
    files: Vec<Arc<str>>,
}

/// First report of an operation.
#[derive(Clone, Copy, Debug)]
struct FirstReport {
    digest: u64,
    file: u32,
    offset: u64,
}

/// Identity of a reported operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OperationKey {
    pub(crate) task: TaskId,
    pub(crate) op: OpId,
    pub(crate) chain: Option<u16>,
}

impl Default for ReportedOperations {
    fn default() -> Self {
        Self::new(WINDOW)
    }
}

impl ReportedOperations {
    fn new(window: usize) -> Self {
        let state = RecentOperations { reports: RecentMap::new(window), files: Vec::new() };
        Self { hasher: RandomState::new(), state: Mutex::new(state) }
    }

    /// Adds a file and returns its number.
    pub(super) fn add_file(&self, file: &Arc<str>) -> u32 {
        let files = &mut self.state.lock().ignore_poison().files;
        files.push(Arc::clone(file));
        u32::try_from(files.len() - 1).unwrap_or(u32::MAX)
    }

    /// Returns a digest of lines in any order, because server JSON does not keep the order.
    pub(crate) fn digest<'l>(&self, lines: impl Iterator<Item = (&'l [u8], &'l [u8])>) -> u64 {
        lines.map(|line| self.hasher.hash_one(line)).fold(0, u64::wrapping_add)
    }

    /// Adds a report of an operation. Returns `false` if the operation has a different report.
    pub(crate) fn is_report(&self, key: &OperationKey, digest: u64) -> bool {
        self.add(key, digest, 0, 0).is_none()
    }

    /// Adds a report of an operation. Returns the file and offset of its first report if that has a different digest.
    pub(super) fn add(
        &self,
        key: &OperationKey,
        digest: u64,
        file: u32,
        offset: u64,
    ) -> Option<(Arc<str>, u64)> {
        let key = self.hasher.hash_one(key);
        let state = &mut *self.state.lock().ignore_poison();
        if let Some(first) = state.reports.get(&key) {
            // Every report has a registered file.
            let file = state.files.get(first.file as usize).cloned().unwrap_or_default();
            return (first.digest != digest).then_some((file, first.offset));
        }
        state.reports.insert(key, FirstReport { digest, file, offset });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known() {
        let window = 1_000;
        let operations = ReportedOperations::new(window);
        let file = operations.add_file(&"a".into());
        let key = |number: usize| OperationKey {
            task: TaskId::from([1; 8]),
            op: OpId::from((number as u64 + 1).to_be_bytes()),
            chain: None,
        };
        let most = 3 * window;
        for number in 0..most {
            assert_eq!(operations.add(&key(number), 1, file, number as u64), None);
        }
        for number in most - window..most {
            assert_eq!(operations.add(&key(number), 1, file, 0), None);
            let first = operations.add(&key(number), 2, file, 0);
            assert_eq!(first, Some(("a".into(), number as u64)));
        }
        // The operation is forgotten, so the new report is the first.
        assert_eq!(operations.add(&key(0), 2, file, 7), None);
        let state = operations.state.lock().unwrap();
        assert!(state.reports.len() <= 2 * window);
    }

    #[test]
    fn chains_and_the_order_of_lines() {
        let operations = ReportedOperations::default();
        let file = operations.add_file(&"a".into());
        let key = |chain| OperationKey { task: TaskId::from([1; 4]), op: OpId::from([2; 4]), chain };
        for chain in [None, Some(0), Some(1)] {
            assert_eq!(operations.add(&key(chain), u64::from(chain.unwrap_or(9)), file, 0), None);
        }
        let lines = [(&b"a"[..], &b"bc"[..]), (b"ab", b"c"), (b"", b"")];
        let digest = |order: &[usize]| operations.digest(order.iter().map(|at| lines[*at]));
        assert_eq!(digest(&[0, 1, 2]), digest(&[2, 0, 1]));
        assert_ne!(digest(&[0]), digest(&[1]));
        assert_ne!(digest(&[0]), digest(&[0, 2]));
        assert_ne!(digest(&[0]), digest(&[0, 0]));
    }
}
