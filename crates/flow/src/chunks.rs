//! Chunked multithreading: several threads produce chunks, and one thread takes them in order.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use ichnos_model::locks::IgnorePoison as _;

/// Sender for the items of a chunk.
pub struct ChunkSender<T> {
    chunk: usize,
    items: Sender<T>,
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
        self.shared.reserve(self.chunk) && self.items.send(item).is_ok()
    }
}

/// Items of a chunk, in order.
pub struct ChunkItems<T> {
    chunk: usize,
    items: Receiver<T>,
    shared: Arc<SharedChunks<T>>,
}

impl<T> fmt::Debug for ChunkItems<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkItems").field("chunk", &self.chunk).finish_non_exhaustive()
    }
}

impl<T> Iterator for ChunkItems<T> {
    type Item = T;

    /// Waits for the next item. Returns `None` after the last one.
    fn next(&mut self) -> Option<T> {
        let item = self.items.recv().ok()?;
        self.shared.release(self.chunk);
        Some(item)
    }
}

/// The rest of the chunk is not needed.
impl<T> Drop for ChunkItems<T> {
    fn drop(&mut self) {
        self.shared.lock().waiting.remove(&self.chunk);
        self.shared.changed.notify_all();
    }
}

struct ChunkProgress<T> {
    /// Next chunk for an idle thread.
    next: usize,
    /// Number of completely taken chunks.
    taken: usize,
    /// Chunks that were started and are not being taken yet.
    started: HashMap<usize, StartedChunk<T>>,
    /// Number of waiting items by chunk, for the chunks whose items are needed.
    waiting: HashMap<usize, usize>,
    /// Number of threads that wait for room.
    blocked: usize,
    /// `true` if no further chunks are needed.
    is_over: bool,
}

/// Started chunk.
struct StartedChunk<T> {
    items: Receiver<T>,
    /// `true` if the chunk is complete, or if no room is left.
    is_ready: bool,
}

/// State shared by the threads.
struct SharedChunks<T> {
    state: Mutex<ChunkProgress<T>>,
    changed: Condvar,
    /// Maximum number of waiting items of the chunk that is taken next.
    room: usize,
    /// Maximum number of waiting items of all chunks, for items of later chunks.
    later_room: usize,
}

impl<T> SharedChunks<T> {
    /// Waits until there is room for an item of a chunk. Returns `false` if its items are not needed.
    fn reserve(&self, chunk: usize) -> bool {
        let mut state = self.lock();
        loop {
            let Some(own) = state.waiting.get(&chunk).copied() else { return false };
            let has_room = match chunk == state.taken {
                true => own < self.room,
                // The chunk that is taken next must never wait for later ones.
                false => state.waiting.values().sum::<usize>() < self.later_room,
            };
            if has_room {
                state.waiting.insert(chunk, own + 1);
                return true;
            }
            self.mark_ready(&mut state, chunk);
            state.blocked += 1;
            state = self.wait(state);
            state.blocked -= 1;
        }
    }

    /// Records that an item was taken.
    fn release(&self, chunk: usize) {
        let mut state = self.lock();
        if let Some(waiting) = state.waiting.get_mut(&chunk) {
            *waiting = waiting.saturating_sub(1);
        }
        if state.blocked > 0 {
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Marks a chunk as ready to be taken.
    fn mark_ready(&self, state: &mut ChunkProgress<T>, chunk: usize) {
        if let Some(started) = state.started.get_mut(&chunk)
            && !std::mem::replace(&mut started.is_ready, true)
            // The receiver waits only for the next chunk.
            && chunk == state.taken
        {
            self.changed.notify_all();
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
        // Threads that wait for room then find that nothing is needed.
        state.started.clear();
        state.waiting.clear();
        drop(state);
        self.0.changed.notify_all();
    }
}

/// Guard that completes a chunk when dropped, even in a panic.
struct ChunkGuard<'a, T>(&'a SharedChunks<T>, usize);

impl<T> Drop for ChunkGuard<'_, T> {
    fn drop(&mut self) {
        self.0.mark_ready(&mut self.0.lock(), self.1);
    }
}

/// Produces `count` chunks on `threads` threads, and takes them in order on the calling thread.
///
/// `make` produces a chunk on one of the threads and sends its items. `take` receives the chunk number and its items,
/// and returns `false` to stop. It is called when the chunk is complete or no room is left: waking the calling thread
/// for each item would take its processor away from the others.
///
/// Memory is bounded for any chunk length: the number of started chunks is at most the number of threads plus one. The
/// chunk that is taken next has at most `room` waiting items (at least one). A later chunk waits while all chunks
/// together have `room` items for each thread. So a long chunk can use the room of the others.
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
    mut take: impl FnMut(usize, ChunkItems<T>) -> bool,
) -> io::Result<()> {
    let (started, waiting) = (HashMap::new(), HashMap::new());
    let state = ChunkProgress { next: 0, taken: 0, started, waiting, blocked: 0, is_over: false };
    let room = room.max(1);
    let later_room = room.saturating_mul(threads);
    let (state, changed) = (Mutex::new(state), Condvar::new());
    let shared = Arc::new(SharedChunks { state, changed, room, later_room });
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
            let (sender, items) = channel();
            state.waiting.insert(chunk, 0);
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
            let items = ChunkItems { chunk, items, shared: Arc::clone(&shared) };
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
                    let most = (threads + 1) * (room.max(1) + 1);
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
            taken += items.take(10).count();
            taken < 30
        })
        .unwrap();
        assert_eq!(taken, 30);
        assert!(made.load(Ordering::SeqCst) <= 3 + 5);
    }
}
