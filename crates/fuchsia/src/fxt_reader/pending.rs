//! Queue for sorting records by time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Ticks and offset of a record.
type Place = (u64, usize);

/// Number of runs. Several runs keep the records in order after a single record that is much too late.
const RUNS: usize = 3;

/// Number of records whose memory an empty run keeps.
const KEPT: usize = 1 << 10;

/// Records read ahead, by time and position, since files need not be sorted by time ("Archives" of the document).
#[derive(Debug)]
pub(super) struct Pending {
    /// Ascending runs. Most records are in order, and go into the first.
    runs: [VecDeque<Place>; RUNS],
    /// Records that continue no run.
    heap: BinaryHeap<Reverse<Place>>,
    count: usize,
    most: usize,
    last: u64,
    /// Record that was removed and put back.
    returned: Option<usize>,
    /// `true` if nothing more may be added until the queue is empty.
    is_closed: bool,
}

impl Pending {
    /// Creates an empty queue for at most `most` records.
    pub(super) fn new(most: usize) -> Self {
        let runs = Default::default();
        Self { runs, heap: BinaryHeap::new(), count: 0, most, last: 0, returned: None, is_closed: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns `true` if another record should be read ahead.
    #[inline(always)]
    pub(super) fn has_room(&mut self) -> bool {
        self.is_closed &= self.count > 0;
        !self.is_closed && self.count < self.most
    }

    /// Ends reading ahead until the queue is empty.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Adds a record at an offset. A record without a time stays after the record before it.
    #[inline(always)]
    pub(super) fn push(&mut self, ticks: Option<u64>, offset: usize) {
        self.last = ticks.unwrap_or(self.last);
        self.count += 1;
        let place = (self.last, offset);
        for run in &mut self.runs {
            if run.back().is_none_or(|last| *last <= place) {
                return run.push_back(place);
            }
        }
        self.heap.push(Reverse(place));
    }

    /// Puts back the record that was removed last.
    pub(super) fn put_back(&mut self, offset: usize) {
        self.returned = Some(offset);
        self.count += 1;
    }

    /// Removes the earliest record and returns its offset.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<usize> {
        if let Some(offset) = self.returned.take() {
            self.count = self.count.saturating_sub(1);
            return Some(offset);
        }
        let [run, ..] = &mut self.runs;
        if run.len() == self.count && self.count > 1 {
            self.count -= 1;
            return run.pop_front().map(|(_, offset)| offset);
        }
        self.pop_of_several()
    }

    /// Removes the earliest record, which can be in any run or in the heap.
    #[inline(never)]
    fn pop_of_several(&mut self) -> Option<usize> {
        let mut first = self.heap.peek().map(|Reverse(place)| *place);
        let mut from = None;
        for run in &mut self.runs {
            if let Some(place) = run.front()
                && first.is_none_or(|first| *place < first)
            {
                first = Some(*place);
                from = Some(run);
            }
        }
        let (_, offset) = first?;
        self.count = self.count.saturating_sub(1);
        match from {
            None => drop(self.heap.pop()),
            Some(run) => {
                run.pop_front();
                // Memory of a run that was long must not add up with that of the others.
                if run.is_empty() && run.capacity() > KEPT {
                    *run = VecDeque::new();
                }
            }
        }
        Some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the order with that of a heap, for times from a small random generator.
    #[test]
    fn order_is_that_of_a_heap() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) % below
        };
        for round in 0..200u64 {
            let most = 1 + random(60) as usize;
            let (mut pending, mut heap) = (Pending::new(most), BinaryHeap::new());
            let mut last = 0;
            for offset in 0..500usize {
                // Nearly sorted, unsorted, descending, and with one time that is much too late.
                let ticks = match round % 4 {
                    0 => offset as u64 + random(20),
                    1 => random(50),
                    2 => 1_000 - offset as u64,
                    _ if offset == 7 => u64::MAX,
                    _ => offset as u64 / 3,
                };
                let ticks = Some(ticks).filter(|_| random(9) > 0);
                last = ticks.unwrap_or(last);
                pending.push(ticks, offset);
                heap.push(Reverse((last, offset)));
                if !pending.has_room() || random(5) == 0 {
                    assert_eq!(pending.pop(), heap.pop().map(|Reverse((_, offset))| offset));
                }
            }
            while let Some(Reverse((_, offset))) = heap.pop() {
                assert_eq!(pending.pop(), Some(offset));
            }
            assert!(pending.is_empty() && pending.pop().is_none());
        }
    }

    #[test]
    fn closed_queue_opens_when_it_is_empty() {
        let mut pending = Pending::new(2);
        pending.push(Some(1), 0);
        assert!(pending.has_room());
        pending.close();
        assert!(!pending.has_room());
        assert_eq!(pending.pop(), Some(0));
        pending.put_back(0);
        assert!(!pending.has_room() && !pending.is_empty());
        assert_eq!(pending.pop(), Some(0));
        assert!(pending.has_room());
    }
}
