//! Converts identifiers from other formats to report identifiers.

use ichnos_model::digest::ValueHash;
use ichnos_model::meaning::Identifier;

use crate::dialect::without_zeros;
use crate::recent_map::RecentMap;
use crate::{OpId, TaskId};

/// Minimum number of operations with a remembered task, and half the maximum (about 10 MB).
const WINDOW: usize = 64 << 10;

/// Returns the operation for an identifier. Up to 8 bytes are padded with leading zeros, longer identifiers are hashed.
pub(super) fn op_of(id: &Identifier) -> OpId {
    let bytes = id.as_bytes();
    let mut op = [0; 8];
    match op.len().checked_sub(bytes.len()) {
        Some(zeros) => {
            if let Some(end) = op.get_mut(zeros..) {
                end.copy_from_slice(bytes);
            }
            OpId::from(op)
        }
        None => op_of_hash(hash(0, bytes)),
    }
}

/// Returns an operation from the bytes of a number, never all zeros.
pub(super) fn op_of_hash(hash: u64) -> OpId {
    OpId::from(hash.max(1).to_be_bytes())
}

/// Returns the task for an identifier, with the same first 16 bytes for readers. If tasks cannot have this length,
/// zeros are added before it, and after the first 16 bytes, as for a `traceparent` trace id.
pub(super) fn task_of(id: &Identifier) -> TaskId {
    let bytes = id.as_bytes();
    let (length, end) = match bytes.len() {
        0..=4 => (4, 4),
        5..=8 => (8, 8),
        9..=12 => (12, 12),
        13..=16 => (20, 16),
        length => (20, length),
    };
    let mut all = [0; 20];
    if let Some(place) = all.get_mut(end - bytes.len()..end) {
        place.copy_from_slice(bytes);
    }
    let task = all.get(..length).and_then(|bytes| TaskId::from_bytes(bytes).ok());
    task.unwrap_or_else(|| TaskId::from(all))
}

/// Returns the task for an identifier in a text. Leading zeros of a 16-byte identifier, as in a `traceparent`, are
/// removed if this gives a shorter valid task.
pub(super) fn task_of_mention(id: &Identifier) -> TaskId {
    let bytes = id.as_bytes();
    let short = if bytes.len() == 16 { without_zeros(bytes, &[4, 8, 12]) } else { bytes };
    TaskId::from_bytes(short).unwrap_or_else(|_| task_of(id))
}

/// Returns the operation for an identifier in a text, and the four-byte operation that it may come from.
pub(super) fn ops_of_mention(id: &Identifier) -> [Option<OpId>; 2] {
    let bytes = id.as_bytes();
    let short = bytes.strip_prefix(&[0; 4]).and_then(|short| OpId::from_bytes(short).ok());
    [OpId::from_bytes(bytes).ok(), short.filter(|_| bytes.len() == 8)]
}

/// Returns the task that starts with this operation. Operations without a task are unique within their trace, so the
/// task depends on the trace number, unless this is 0.
fn derived_task(trace: u32, operation: &Identifier) -> TaskId {
    if trace == 0 {
        return task_of(operation);
    }
    let (number, bytes) = (trace.to_be_bytes(), operation.as_bytes());
    let mut all = [0; 20];
    match bytes.len() {
        // For readers, tasks are the same if their first 16 bytes are equal, unless both have 20 bytes.
        length @ 0..=8 => {
            all[..4].copy_from_slice(&number);
            all[16 - length..16].copy_from_slice(bytes);
        }
        length @ 9..=16 => {
            all[16 - length..16].copy_from_slice(bytes);
            all[16..].copy_from_slice(&number);
        }
        _ => {
            all[..8].copy_from_slice(&hash(1, bytes).to_be_bytes());
            all[8..16].copy_from_slice(&hash(2, bytes).to_be_bytes());
            all[16..].copy_from_slice(&number);
        }
    }
    TaskId::from(all)
}

/// Returns a hash of bytes that is the same in each run.
pub(super) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = ValueHash::new(seed);
    hash.bytes(bytes);
    hash.finish()
}

/// An operation without a task, with the trace and chain in which it is unique.
pub(super) type ScopedOperation = (u32, Identifier);

/// Tasks for operations without a task: the task of the first cause, or else a separate task.
#[derive(Debug)]
pub(super) struct OperationTasks {
    known: RecentMap<ScopedOperation, TaskId>,
}

impl OperationTasks {
    pub(super) fn new() -> Self {
        Self { known: RecentMap::new(WINDOW) }
    }

    /// Returns the task for an operation with these causes.
    pub(super) fn task(
        &mut self,
        operation: ScopedOperation,
        causes: impl Iterator<Item = ScopedOperation> + Clone,
    ) -> TaskId {
        let all = std::iter::once(operation).chain(causes.clone());
        let task = all.clone().find_map(|id| self.known(id)).unwrap_or_else(|| {
            let (scope, first) = causes.clone().next().unwrap_or(operation);
            derived_task(scope, &first)
        });
        for id in all {
            if self.known(id).is_none() {
                self.known.insert(id, task);
            }
        }
        task
    }

    /// Sets the task of an operation unless it is known. Returns its task.
    pub(super) fn set(&mut self, operation: ScopedOperation, task: TaskId) -> TaskId {
        self.known(operation).unwrap_or_else(|| {
            self.known.insert(operation, task);
            task
        })
    }

    /// Returns the task of a known operation.
    pub(super) fn known(&self, operation: ScopedOperation) -> Option<TaskId> {
        self.known.get(&operation).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(bytes: &[u8]) -> Identifier {
        Identifier::new(bytes).unwrap()
    }

    #[test]
    fn lengths_that_reports_have() {
        let all: Vec<u8> = (1..=20).collect();
        for length in 1..=20 {
            let id = id(&all[..length]);
            let task = task_of(&id);
            let common = Identifier::new(task.as_bytes()).unwrap().common_part();
            assert_eq!(common, id.common_part(), "{length}");
            let op = op_of(&id);
            assert!(op.is_valid());
            assert_eq!(op.as_bytes().ends_with(id.as_bytes()), length <= 8);
        }
        assert_eq!(task_of(&id(&all[..12])).as_bytes(), &all[..12]);
        assert_ne!(op_of(&id(&all[..16])), op_of(&id(&all[..15])));
    }

    #[test]
    fn tasks_of_operations() {
        let mut tasks = OperationTasks::new();
        let [a, b, c, d] = [1u8, 2, 3, 4].map(|number| id(&[0, 0, 0, 0, 0, 0, 0, number]));
        let none = || std::iter::empty();
        let of_a = tasks.task((0, a), none());
        assert_eq!(of_a.as_bytes(), a.as_bytes());
        assert_eq!(tasks.task((0, b), [(0, a)].into_iter()), of_a);
        // The cause is unknown so far.
        let of_d = tasks.task((0, c), [(0, d)].into_iter());
        assert_eq!(tasks.task((0, d), none()), of_d);
        assert_eq!(tasks.known((0, c)), Some(of_d));
        // Operations from another trace are different, also for readers, which compare 16 bytes.
        let other = tasks.task((1, a), none());
        // The cause is in another chain.
        assert_eq!(tasks.task((2, d), [(0, a)].into_iter()), of_a);
        let common = |task: TaskId| id(task.as_bytes()).common_part();
        assert_ne!(common(other), common(of_a));
        for length in [9, 16, 17, 20] {
            let operation = id(&vec![7; length]);
            let tasks = [0, 1, 2].map(|trace| derived_task(trace, &operation));
            assert!(tasks[0] != tasks[1] && tasks[1] != tasks[2]);
            assert!(tasks[1].as_bytes().len() == 20);
        }
    }
}
