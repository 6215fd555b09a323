//! Bytes between the thread that receives them and the feed that reads them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use ichnos_model::locks::IgnorePoison as _;

use super::pause::Pause;

/// Number of bytes from which on the receiver waits. The runtime then keeps further events in its own buffer, and counts
/// those that do not fit.
const FULL: usize = 8 << 20;

/// Received bytes that were not read yet.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    state: Mutex<InboxState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct InboxState {
    chunks: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Pause of the process, since the last bytes.
    pause: Option<Pause>,
    is_ended: bool,
    /// Reason for the end, unless the stream ended as it should.
    problem: Option<String>,
    wants_stop: bool,
    is_closed: bool,
}

/// Content of an inbox.
#[derive(Debug)]
pub(super) enum Delivery {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// Nothing, and the current pause of the process.
    Nothing(Option<Pause>),
    /// The stream has ended.
    End,
}

/// Request of the feed to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InboxRequest {
    /// Go on.
    Receive,
    /// Stop the session, and receive the rest.
    Stop,
    /// Nobody reads the inbox any more.
    Close,
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().ignore_poison()
    }

    /// Takes the next content without waiting.
    pub(super) fn take(&self) -> Delivery {
        let mut state = self.state();
        if let Some(chunk) = state.chunks.pop_front() {
            state.bytes -= chunk.len();
            self.changed.notify_all();
            return Delivery::Bytes(chunk);
        }
        if state.is_ended { Delivery::End } else { Delivery::Nothing(state.pause) }
    }

    /// Takes the next content. Waits for it for some time.
    pub(super) fn wait(&self, patience: Duration) -> Delivery {
        let state = self.state();
        let is_empty = |state: &mut InboxState| state.chunks.is_empty() && !state.is_ended;
        drop(self.changed.wait_timeout_while(state, patience, is_empty).ignore_poison());
        self.take()
    }

    /// Adds bytes. Waits while the inbox is full.
    pub(super) fn put(&self, bytes: &[u8]) {
        let state = self.state();
        let is_full = |state: &mut InboxState| state.bytes >= FULL && !state.is_closed;
        let mut state = self.changed.wait_while(state, is_full).ignore_poison();
        state.pause = None;
        state.bytes += bytes.len();
        state.chunks.push_back(bytes.to_vec());
        self.changed.notify_all();
    }

    /// Notes that the process sends nothing.
    pub(super) fn set_pause(&self, pause: Pause) {
        self.state().pause = Some(pause);
    }

    /// Notes the end of the stream.
    pub(super) fn end(&self, problem: Option<String>) {
        let mut state = self.state();
        (state.is_ended, state.problem) = (true, problem);
        self.changed.notify_all();
    }

    pub(super) fn problem(&self) -> Option<String> {
        self.state().problem.clone()
    }

    /// Asks the receiver to stop the session.
    pub(super) fn stop(&self) {
        self.state().wants_stop = true;
    }

    /// Tells the receiver that nobody reads any more.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.chunks.clear();
        self.changed.notify_all();
    }

    pub(super) fn request(&self) -> InboxRequest {
        let state = self.state();
        match (state.is_closed, state.wants_stop) {
            (true, _) => InboxRequest::Close,
            (false, true) => InboxRequest::Stop,
            (false, false) => InboxRequest::Receive,
        }
    }
}
