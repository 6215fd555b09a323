//! Chains of events without an operation, one for each thread.

use std::collections::HashMap;

use super::identifiers::hash;
use crate::{OpId, TaskId};

/// Maximum number of concurrent chains.
const MOST_THREADS: usize = 1 << 16;

/// A thread in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChainThread {
    /// Trace number.
    pub(super) trace: u32,
    pub(super) process: u64,
    /// Thread number, or hash of the thread name.
    pub(super) thread: Option<u64>,
    /// Data stream, for events without a thread.
    pub(super) stream: u64,
}

/// Last operation of each thread.
#[derive(Debug, Default)]
pub(super) struct ThreadChains {
    last: HashMap<ChainThread, Chained>,
    /// Number of times that all threads were forgotten.
    generation: u64,
}

#[derive(Clone, Copy, Debug)]
struct Chained {
    task: TaskId,
    number: u64,
}

impl ThreadChains {
    /// Returns the task of a thread, a new operation, and the operation before it.
    pub(super) fn next(&mut self, thread: ChainThread) -> (TaskId, OpId, Option<OpId>) {
        if self.last.len() >= MOST_THREADS && !self.last.contains_key(&thread) {
            self.last.clear();
            self.generation += 1;
        }
        let generation = self.generation;
        let chain =
            self.last.entry(thread).or_insert_with(|| Chained { task: task(&thread, generation), number: 0 });
        let before = (chain.number > 0).then(|| OpId::from(chain.number.to_be_bytes()));
        chain.number += 1;
        (chain.task, OpId::from(chain.number.to_be_bytes()), before)
    }
}

/// Returns the task of a thread, which is the same in each run.
fn task(thread: &ChainThread, generation: u64) -> TaskId {
    let mut bytes = [0; 40];
    let words = [thread.process, thread.thread.unwrap_or(0), thread.stream, thread.thread.is_some().into()];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words.into_iter().chain([generation])) {
        *place = word.to_be_bytes();
    }
    let mut task = [0; 12];
    task[..4].copy_from_slice(&thread.trace.to_be_bytes());
    task[4..].copy_from_slice(&hash(3, &bytes).max(1).to_be_bytes());
    TaskId::from(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_chain() {
        let thread = |number| ChainThread { trace: 0, process: 1, thread: Some(number), stream: 0 };
        let mut chains = ThreadChains::default();
        let (task, first, before) = chains.next(thread(7));
        assert_eq!(before, None);
        let (other, ..) = chains.next(thread(8));
        assert_ne!(task, other);
        let (again, second, before) = chains.next(thread(7));
        assert_eq!((again, before), (task, Some(first)));
        assert_ne!(first, second);
        for number in 0..MOST_THREADS as u64 + 10 {
            chains.next(thread(100 + number));
        }
        assert!(chains.last.len() <= MOST_THREADS);
        // Its operations are different from now on.
        assert_ne!(chains.next(thread(7)).0, task);
    }
}
