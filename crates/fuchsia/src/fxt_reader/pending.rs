//! Records that wait until no earlier one follows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Records read ahead, by time and position: records need not be in order of time ("Archives" of the document).
#[derive(Debug)]
pub(super) struct Pending {
    /// Ticks and offset of each.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    most: usize,
    last: u64,
}

impl Pending {
    /// Makes the empty queue of at most `most` records.
    pub(super) fn new(most: usize) -> Self {
        Self { heap: BinaryHeap::new(), most, last: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.heap.len() >= self.most
    }

    /// Adds a record at an offset. One without a time stays after the record before it.
    pub(super) fn push(&mut self, ticks: Option<u64>, offset: usize) {
        self.last = ticks.unwrap_or(self.last);
        self.heap.push(Reverse((self.last, offset)));
    }

    /// Removes the earliest record and returns its offset.
    pub(super) fn pop(&mut self) -> Option<usize> {
        self.heap.pop().map(|Reverse((_, offset))| offset)
    }
}
