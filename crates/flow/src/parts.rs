//! Work that is cut into parts, which several threads do and one takes in order.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Where a part delivers what it makes, piece by piece.
pub struct Outlet<T> {
    part: usize,
    pieces: SyncSender<T>,
    board: Arc<Board<T>>,
}

impl<T> fmt::Debug for Outlet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("part", &self.part).finish_non_exhaustive()
    }
}

impl<T> Clone for Outlet<T> {
    fn clone(&self) -> Self {
        Self { part: self.part, pieces: self.pieces.clone(), board: Arc::clone(&self.board) }
    }
}

impl<T> Outlet<T> {
    /// Delivers a piece; waits until there is room for it. False: nobody wants more of this part.
    pub fn send(&self, piece: T) -> bool {
        match self.pieces.try_send(piece) {
            Ok(()) => true,
            Err(TrySendError::Full(piece)) => {
                self.board.note_ready(self.part);
                self.pieces.send(piece).is_ok()
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

/// What is going on.
struct State<T> {
    /// The part that the next idle thread begins.
    next: usize,
    /// How many parts were taken to their ends.
    taken: usize,
    /// The parts that were begun and not yet taken.
    begun: HashMap<usize, Begun<T>>,
    /// Nobody wants any more parts.
    is_over: bool,
}

/// A part that was begun.
struct Begun<T> {
    pieces: Receiver<T>,
    /// Whether it is made, or there is no room for more of it.
    is_ready: bool,
}

struct Board<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

impl<T> Board<T> {
    /// It is time to take this part.
    fn note_ready(&self, part: usize) {
        let mut state = self.lock();
        if let Some(begun) = state.begun.get_mut(&part) {
            begun.is_ready = true;
            // Nobody waits for the others.
            if part == state.taken {
                drop(state);
                self.changed.notify_all();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the work however it is left.
struct Ending<'a, T>(&'a Board<T>);

impl<T> Drop for Ending<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_over = true;
        // Those who wait for room find that nobody listens any more.
        state.begun.clear();
        drop(state);
        self.0.changed.notify_all();
    }
}

/// Tells that a part is made, however that ends.
struct Making<'a, T>(&'a Board<T>, usize);

impl<T> Drop for Making<'_, T> {
    fn drop(&mut self) {
        self.0.note_ready(self.1);
    }
}

/// Has `threads` threads make `count` parts, and this thread take them in order.
///
/// Each part is begun by `make` on one of the threads, and delivers its pieces through the outlet;
/// `take` is given the part's number and its pieces, and says whether to go on. That is when the part is
/// made, or there is no room for more of it: waking this thread up for each piece would take its
/// processor away from those that make them.
///
/// At most one part more than there are threads is begun and not yet taken, and each has at most `room`
/// pieces waiting: what all of them hold is bounded, however long a part is.
///
/// If the system refuses some of the threads, the others do all of the work.
///
/// # Errors
/// If the system refuses all of the threads: then nothing was made and nothing was taken, and the caller
/// can do the work itself.
///
/// ```
/// let squares = |part: usize, outlet: &ichnos_flow::Outlet<usize>| {
///     outlet.send(part * part);
/// };
/// let mut all = Vec::new();
/// ichnos_flow::in_order(10, 3, 1, squares, |_, pieces| {
///     all.extend(pieces);
///     true
/// })?;
/// assert_eq!(all, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
/// # std::io::Result::Ok(())
/// ```
pub fn in_order<T: Send>(
    count: usize,
    threads: usize,
    room: usize,
    make: impl Fn(usize, &Outlet<T>) + Sync,
    mut take: impl FnMut(usize, Receiver<T>) -> bool,
) -> io::Result<()> {
    let state = State { next: 0, taken: 0, begun: HashMap::new(), is_over: false };
    let board = Arc::new(Board { state: Mutex::new(state), changed: Condvar::new() });
    let most_begun = threads.saturating_add(1);
    let work = || {
        loop {
            let mut state = board.lock();
            while !state.is_over && state.next < count && state.next - state.taken >= most_begun {
                state = board.wait(state);
            }
            if state.is_over || state.next >= count {
                return;
            }
            let part = state.next;
            state.next += 1;
            let (sender, pieces) = sync_channel(room);
            state.begun.insert(part, Begun { pieces, is_ready: false });
            drop(state);
            let _making = Making(&board, part);
            make(part, &Outlet { part, pieces: sender, board: Arc::clone(&board) });
        }
    };
    std::thread::scope(|scope| {
        let _ending = Ending(&board);
        for made in 0..threads.min(count) {
            match std::thread::Builder::new().spawn_scoped(scope, work) {
                Ok(_) => {}
                Err(error) if made == 0 => return Err(error),
                Err(_) => break,
            }
        }
        for part in 0..count {
            let mut state = board.lock();
            let pieces = loop {
                match state.begun.remove(&part) {
                    Some(Begun { pieces, is_ready: true }) => break pieces,
                    begun => {
                        state.begun.extend(begun.map(|begun| (part, begun)));
                        state = board.wait(state);
                    }
                }
            };
            drop(state);
            if !take(part, pieces) {
                break;
            }
            board.lock().taken = part + 1;
            board.changed.notify_all();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn pieces_come_in_order_and_no_more_than_there_is_room_for() {
        for (count, threads, room) in [(0, 2, 1), (1, 4, 0), (50, 1, 1), (200, 3, 4), (30, 16, 0)] {
            let waiting = AtomicUsize::new(0);
            let make = |part: usize, outlet: &Outlet<(usize, usize)>| {
                for piece in 0..part % 7 {
                    let most = (threads + 1) * (room + 1);
                    assert!(waiting.fetch_add(1, Ordering::SeqCst) <= most);
                    assert!(outlet.send((part, piece)));
                }
            };
            let mut found = Vec::new();
            in_order(count, threads, room, make, |part, pieces| {
                for piece in pieces {
                    waiting.fetch_sub(1, Ordering::SeqCst);
                    assert_eq!(piece.0, part);
                    found.push(piece);
                }
                true
            })
            .unwrap();
            let expected: Vec<_> = (0..count).flat_map(|p| (0..p % 7).map(move |i| (p, i))).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn ends_when_nobody_wants_more() {
        let made = AtomicUsize::new(0);
        let make = |part: usize, outlet: &Outlet<usize>| {
            made.fetch_add(1, Ordering::SeqCst);
            // Without end, if anybody listened.
            while outlet.send(part) {}
        };
        let mut taken = 0;
        in_order(1000, 4, 2, make, |_, pieces| {
            taken += pieces.iter().take(10).count();
            taken < 30
        })
        .unwrap();
        assert_eq!(taken, 30);
        assert!(made.load(Ordering::SeqCst) <= 3 + 5);
    }
}
