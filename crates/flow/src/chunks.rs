//! Chunked multithreading: several threads produce chunks, and one thread takes them in order.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use ichnos_model::locks::IgnorePoison as _;

/// Sender for the items of a chunk.
pub struct ChunkSender<T> {
    chunk: usize,
    items: SyncSender<T>,
    shared: Arc<SharedChunks<T>>,
}

impl<T> fmt::Debug for ChunkSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkSender").field("chunk", &self.chunk).finish_non_exhaustive()
    }
}

impl<T> Clone for ChunkSender<T> {
    fn clone(&self) -> Self {
        Self { chunk: self.chunk, items: self.items.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<T> ChunkSender<T> {
    /// Sends an item. Waits until there is room. Returns `false` if the rest of this chunk is not needed.
    pub fn send(&self, item: T) -> bool {
        match self.items.try_send(item) {
            Ok(()) => true,
            Err(TrySendError::Full(item)) => {
                self.shared.mark_ready(self.chunk);
                self.items.send(item).is_ok()
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

struct ChunkProgress<T> {
    /// Next chunk for an idle thread.
    next: usize,
    /// Number of completely taken chunks.
    taken: usize,
    /// Chunks that were started and not yet taken completely.
    started: HashMap<usize, StartedChunk<T>>,
    /// `true` if no further chunks are needed.
    is_over: bool,
}

/// Started chunk.
struct StartedChunk<T> {
    items: Receiver<T>,
    /// `true` if the chunk is complete or its queue is full.
    is_ready: bool,
}

/// State shared by the threads.
struct SharedChunks<T> {
    state: Mutex<ChunkProgress<T>>,
    changed: Condvar,
}

impl<T> SharedChunks<T> {
    /// Marks a chunk as ready to be taken.
    fn mark_ready(&self, chunk: usize) {
        let mut state = self.lock();
        if let Some(started) = state.started.get_mut(&chunk) {
            started.is_ready = true;
            // The receiver waits only for the next chunk.
            if chunk == state.taken {
                drop(state);
                self.changed.notify_all();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, ChunkProgress<T>> {
        self.state.lock().ignore_poison()
    }

    fn wait<'a>(&self, state: MutexGuard<'a, ChunkProgress<T>>) -> MutexGuard<'a, ChunkProgress<T>> {
        self.changed.wait(state).ignore_poison()
    }
}

/// Guard that stops all work when dropped, even in a panic.
struct EndGuard<'a, T>(&'a SharedChunks<T>);

impl<T> Drop for EndGuard<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_over = true;
        // Threads that wait for room then find the receivers closed.
        state.started.clear();
        drop(state);
        self.0.changed.notify_all();
    }
}

/// Guard that completes a chunk when dropped, even in a panic.
struct ChunkGuard<'a, T>(&'a SharedChunks<T>, usize);

impl<T> Drop for ChunkGuard<'_, T> {
    fn drop(&mut self) {
        self.0.mark_ready(self.1);
    }
}

/// Produces `count` chunks on `threads` threads, and takes them in order on the calling thread.
///
/// `make` produces a chunk on one of the threads and sends its items. `take` receives the chunk number and its items,
/// and returns `false` to stop. It is called when the chunk is complete or its queue is full: waking the calling thread
/// for each item would take its processor away from the others.
///
/// Memory is bounded for any chunk length: the number of started chunks is at most the number of threads plus one, and
/// each has at most `room` waiting items.
///
/// If the system refuses some of the threads, the others do all of the work.
///
/// # Errors
/// If the system refuses all threads. Nothing was produced or taken then, so the caller can do the work itself.
///
/// ```
/// let squares = |chunk: usize, items: &ichnos_flow::ChunkSender<usize>| {
///     items.send(chunk * chunk);
/// };
/// let mut all = Vec::new();
/// ichnos_flow::in_order(10, 3, 1, squares, |_, items| {
///     all.extend(items);
///     true
/// })?;
/// assert_eq!(all, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
/// # std::io::Result::Ok(())
/// ```
pub fn in_order<T: Send>(
    count: usize,
    threads: usize,
    room: usize,
    make: impl Fn(usize, &ChunkSender<T>) + Sync,
    mut take: impl FnMut(usize, Receiver<T>) -> bool,
) -> io::Result<()> {
    let state = ChunkProgress { next: 0, taken: 0, started: HashMap::new(), is_over: false };
    let shared = Arc::new(SharedChunks { state: Mutex::new(state), changed: Condvar::new() });
    let most_begun = threads.saturating_add(1);
    let work = || {
        loop {
            let mut state = shared.lock();
            while !state.is_over && state.next < count && state.next - state.taken >= most_begun {
                state = shared.wait(state);
            }
            if state.is_over || state.next >= count {
                return;
            }
            let chunk = state.next;
            state.next += 1;
            let (sender, items) = sync_channel(room);
            state.started.insert(chunk, StartedChunk { items, is_ready: false });
            drop(state);
            let _chunk = ChunkGuard(&shared, chunk);
            make(chunk, &ChunkSender { chunk, items: sender, shared: Arc::clone(&shared) });
        }
    };
    std::thread::scope(|scope| {
        let _end = EndGuard(&shared);
        for made in 0..threads.min(count) {
            match std::thread::Builder::new().spawn_scoped(scope, work) {
                Ok(_) => {}
                Err(error) if made == 0 => return Err(error),
                Err(_) => break,
            }
        }
        for chunk in 0..count {
            let mut state = shared.lock();
            let items = loop {
                match state.started.remove(&chunk) {
                    Some(StartedChunk { items, is_ready: true }) => break items,
                    started => {
                        state.started.extend(started.map(|started| (chunk, started)));
                        state = shared.wait(state);
                    }
                }
            };
            drop(state);
            if !take(chunk, items) {
                break;
            }
            shared.lock().taken = chunk + 1;
            shared.changed.notify_all();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn items_come_in_order_within_the_limit() {
        for (count, threads, room) in [(0, 2, 1), (1, 4, 0), (50, 1, 1), (200, 3, 4), (30, 16, 0)] {
            let waiting = AtomicUsize::new(0);
            let make = |chunk: usize, items: &ChunkSender<(usize, usize)>| {
                for item in 0..chunk % 7 {
                    let most = (threads + 1) * (room + 1);
                    assert!(waiting.fetch_add(1, Ordering::SeqCst) <= most);
                    assert!(items.send((chunk, item)));
                }
            };
            let mut found = Vec::new();
            in_order(count, threads, room, make, |chunk, items| {
                for item in items {
                    waiting.fetch_sub(1, Ordering::SeqCst);
                    assert_eq!(item.0, chunk);
                    found.push(item);
                }
                true
            })
            .unwrap();
            let expected: Vec<_> = (0..count).flat_map(|p| (0..p % 7).map(move |i| (p, i))).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn ends_when_no_more_is_wanted() {
        let made = AtomicUsize::new(0);
        let make = |chunk: usize, items: &ChunkSender<usize>| {
            made.fetch_add(1, Ordering::SeqCst);
            // Endless while the items are received.
            while items.send(chunk) {}
        };
        let mut taken = 0;
        in_order(1000, 4, 2, make, |_, items| {
            taken += items.iter().take(10).count();
            taken < 30
        })
        .unwrap();
        assert_eq!(taken, 30);
        assert!(made.load(Ordering::SeqCst) <= 3 + 5);
    }
}
