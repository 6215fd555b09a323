//! Connections of a port that wait for commands.

use std::collections::{HashMap, VecDeque};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::deadline::Deadline;
use crate::messages::{Advertise, RuntimeCookie};

/// Maximum number of connected runtimes.
const MAX_RUNTIMES: usize = 256;

/// Maximum number of waiting connections of a runtime. Real runtimes have one.
const MAX_CONNECTIONS: usize = 4;

/// State that the port shares with its thread.
#[derive(Debug, Default)]
pub(crate) struct PortState {
    table: Mutex<PortTable>,
    changed: Condvar,
    /// Ends the thread.
    pub(super) is_closing: AtomicBool,
    /// New runtimes are resumed at once.
    pub(super) resume_arrivals: AtomicBool,
}

#[derive(Debug, Default)]
struct PortTable {
    /// Runtimes that were not returned yet.
    arrivals: VecDeque<Advertise>,
    connections: HashMap<RuntimeCookie, VecDeque<Arc<UnixStream>>>,
}

impl PortState {
    fn table(&self) -> MutexGuard<'_, PortTable> {
        // No code panics while it has the lock.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `take` returns something.
    fn wait<T>(&self, deadline: Deadline, mut take: impl FnMut(&mut PortTable) -> Option<T>) -> Option<T> {
        let mut table = self.table();
        loop {
            if let Some(taken) = take(&mut table) {
                return Some(taken);
            }
            let remaining = deadline.remaining()?;
            table = self.changed.wait_timeout(table, remaining).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn next_arrival(&self, deadline: Deadline) -> Option<Advertise> {
        self.wait(deadline, |table| table.arrivals.pop_front())
    }

    /// Takes a connection of a runtime for one command.
    pub(crate) fn connection(&self, cookie: RuntimeCookie, deadline: Deadline) -> Option<Arc<UnixStream>> {
        self.wait(deadline, |table| table.connections.get_mut(&cookie)?.pop_front())
    }

    /// Adds a connection. Returns `false` if there are too many.
    pub(super) fn add(&self, advertise: Advertise, stream: UnixStream) -> bool {
        let mut table = self.table();
        let is_new = !table.connections.contains_key(&advertise.cookie);
        if is_new && table.connections.len() >= MAX_RUNTIMES {
            // A runtime whose connection was taken may have ended since.
            table.connections.retain(|_, list| !list.is_empty());
            if table.connections.len() >= MAX_RUNTIMES {
                return false;
            }
        }
        let connections = table.connections.entry(advertise.cookie).or_default();
        if connections.len() >= MAX_CONNECTIONS {
            return false;
        }
        connections.push_back(Arc::new(stream));
        if is_new {
            table.arrivals.push_back(advertise);
        }
        drop(table);
        self.changed.notify_all();
        true
    }

    /// Returns the waiting connections.
    pub(super) fn waiting(&self) -> Vec<(RuntimeCookie, Arc<UnixStream>)> {
        let table = self.table();
        let all = table.connections.iter();
        all.flat_map(|(cookie, list)| list.iter().map(|stream| (*cookie, Arc::clone(stream)))).collect()
    }

    /// Removes a waiting connection that the runtime has closed: the runtime has ended.
    pub(super) fn remove(&self, cookie: RuntimeCookie, stream: &Arc<UnixStream>) {
        let mut table = self.table();
        let Some(list) = table.connections.get_mut(&cookie) else { return };
        // A connection that was taken in the meantime ends with its command, and the runtime connects again.
        let Some(position) = list.iter().position(|other| Arc::ptr_eq(other, stream)) else { return };
        list.remove(position);
        if list.is_empty() {
            table.connections.remove(&cookie);
            table.arrivals.retain(|arrival| arrival.cookie != cookie);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const COOKIE: RuntimeCookie = RuntimeCookie([1; 16]);

    fn now() -> Deadline {
        Deadline::after(Duration::ZERO)
    }

    fn add(state: &PortState, cookie: RuntimeCookie) -> bool {
        state.add(Advertise { cookie, pid: 1 }, UnixStream::pair().unwrap().0)
    }

    #[test]
    fn a_runtime_arrives_once() {
        let state = PortState::default();
        assert!(add(&state, COOKIE));
        let waiting = state.waiting();
        assert!(state.next_arrival(now()).is_some() && state.connection(COOKIE, now()).is_some());
        // The thread sees the end of a connection that was taken.
        state.remove(COOKIE, &waiting[0].1);
        assert!(add(&state, COOKIE));
        assert!(state.next_arrival(now()).is_none());
        // A waiting connection ends with its runtime.
        state.remove(COOKIE, &state.waiting()[0].1);
        assert!(add(&state, COOKIE));
        assert!(state.next_arrival(now()).is_some());
    }

    #[test]
    fn runtimes_and_connections_are_limited() {
        let state = PortState::default();
        let added = (0..9).filter(|_| add(&state, COOKIE)).count();
        assert_eq!(added, MAX_CONNECTIONS);
        let cookie = |number: usize| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            RuntimeCookie(bytes)
        };
        let added = (0..300).filter(|number| add(&state, cookie(*number))).count();
        assert_eq!(added, MAX_RUNTIMES - 1);
        // A runtime without connections makes room.
        assert!(state.connection(cookie(7), now()).is_some());
        assert!(add(&state, cookie(300)) && !add(&state, cookie(301)));
    }
}
