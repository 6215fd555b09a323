//! Order in which several threads write data stream parts.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard};

use ichnos_model::locks::IgnorePoison as _;

/// Coordinator of ordered writes. The parts of a data stream are written one after the other, and different data
/// streams concurrently.
///
/// Parts must start in their order, so that the next part never has to wait.
pub(super) struct OrderedWrites {
    state: Mutex<TurnState>,
    changed: Condvar,
}

struct TurnState {
    /// Number of the current part, by data stream.
    next: Vec<usize>,
    is_over: bool,
}

impl OrderedWrites {
    /// Starts with the first part of each data stream. `streams` is their number.
    pub(super) fn new(streams: usize) -> Self {
        let state = TurnState { next: vec![0; streams], is_over: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().ignore_poison()
    }

    /// Ends writing and waiting.
    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Returns `true` after [`OrderedWrites::end`].
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }
}

/// Part of a data stream, whose items wait for their turn.
pub(super) struct OrderedPart<'t, T> {
    writes: &'t OrderedWrites,
    stream: usize,
    number: usize,
    waiting: Vec<T>,
}

impl<'t, T> OrderedPart<'t, T> {
    /// Maximum number of waiting items.
    const ROOM: usize = 4;

    /// Starts a part of a data stream. Numbers start at 0.
    pub(super) fn new(writes: &'t OrderedWrites, stream: usize, number: usize) -> Self {
        Self { writes, stream, number, waiting: Vec::new() }
    }

    /// Writes an item with `write`, or keeps it. Returns `false` if writing has ended.
    ///
    /// # Errors
    /// Errors of `write`.
    pub(super) fn put(&mut self, item: T, write: &mut dyn FnMut(T) -> io::Result<()>) -> io::Result<bool> {
        self.waiting.push(item);
        self.advance(self.waiting.len() > Self::ROOM, write)
    }

    /// Writes the waiting items if it is the part's turn. With `waits`, waits for the turn.
    fn advance(&mut self, waits: bool, write: &mut dyn FnMut(T) -> io::Result<()>) -> io::Result<bool> {
        let mut state = self.writes.lock();
        let is_due = |state: &TurnState| state.next.get(self.stream) == Some(&self.number);
        while waits && !state.is_over && !is_due(&state) {
            state = self.writes.changed.wait(state).ignore_poison();
        }
        if state.is_over {
            return Ok(false);
        }
        let is_due = is_due(&state);
        drop(state);
        if is_due {
            self.waiting.drain(..).try_for_each(write)?;
        }
        Ok(true)
    }

    /// Writes the remaining items and passes the turn to the next part.
    ///
    /// # Errors
    /// Errors of `write`.
    pub(super) fn finish(mut self, write: &mut dyn FnMut(T) -> io::Result<()>) -> io::Result<()> {
        if self.advance(true, write)? {
            if let Some(next) = self.writes.lock().next.get_mut(self.stream) {
                *next += 1;
            }
            self.writes.changed.notify_all();
        }
        Ok(())
    }
}

impl<T> Drop for OrderedPart<'_, T> {
    /// Ends the wait for a part whose thread panicked.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.writes.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Two data streams with eight parts of ten items each.
    #[test]
    fn parts_are_written_in_order() {
        let (writes, taken) = (OrderedWrites::new(2), AtomicUsize::new(0));
        let written: Mutex<[Vec<usize>; 2]> = Mutex::default();
        let work = || {
            loop {
                let job = taken.fetch_add(1, Ordering::SeqCst);
                let (stream, number) = (job % 2, job / 2);
                if number >= 8 {
                    return;
                }
                let write = &mut |item| {
                    written.lock().unwrap()[stream].push(item);
                    Ok(())
                };
                let mut part = OrderedPart::new(&writes, stream, number);
                for item in 0..10 {
                    assert!(part.put(10 * number + item, write).unwrap());
                    assert!(part.waiting.len() <= OrderedPart::<usize>::ROOM);
                }
                part.finish(write).unwrap();
            }
        };
        std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
        let expected: Vec<usize> = (0..80).collect();
        assert_eq!(*written.lock().unwrap(), [expected.clone(), expected]);
    }

    #[test]
    fn nothing_waits_after_the_end() {
        let writes = OrderedWrites::new(1);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let mut part = OrderedPart::new(&writes, 0, 1);
                let mut write = |_: u8| panic!("it was not its turn");
                (0..100).all(|item| part.put(item, &mut write).unwrap())
            });
            writes.end();
            assert!(!waiting.join().unwrap());
        });
        assert!(writes.is_over());
    }
}
