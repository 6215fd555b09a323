//! Queue for sorting records by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Records read ahead, by time and position, since files need not be sorted by time ("Archives" of the document).
#[derive(Debug)]
pub(super) struct Pending {
    /// Ticks and offset of each record.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    most: usize,
    last: u64,
}

impl Pending {
    /// Creates an empty queue for at most `most` records.
    pub(super) fn new(most: usize) -> Self {
        Self { heap: BinaryHeap::new(), most, last: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.heap.len() >= self.most
    }

    /// Adds a record at an offset. A record without a time stays after the record before it.
    pub(super) fn push(&mut self, ticks: Option<u64>, offset: usize) {
        self.last = ticks.unwrap_or(self.last);
        self.heap.push(Reverse((self.last, offset)));
    }

    /// Removes the earliest record and returns its offset.
    pub(super) fn pop(&mut self) -> Option<usize> {
        self.heap.pop().map(|Reverse((_, offset))| offset)
    }
}
