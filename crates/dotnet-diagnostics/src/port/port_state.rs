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

    /// Removes a connection that the runtime has closed: the runtime has ended.
    pub(super) fn remove(&self, cookie: RuntimeCookie, stream: &Arc<UnixStream>) {
        let mut table = self.table();
        if let Some(list) = table.connections.get_mut(&cookie) {
            list.retain(|other| !Arc::ptr_eq(other, stream));
            if list.is_empty() {
                table.connections.remove(&cookie);
                table.arrivals.retain(|arrival| arrival.cookie != cookie);
            }
        }
    }
}
