//! Waiting for a client.

use std::sync::Mutex;
use std::time::Instant;

use ichnos_model::locks::IgnorePoison as _;

/// State of a connection: if and since when it waits for its client.
#[derive(Debug)]
pub(super) struct ClientWait(Mutex<WaitState>);

#[derive(Clone, Copy, Debug)]
enum WaitState {
    /// It waits for the next request.
    Idle(Instant),
    /// It receives a request.
    Receiving(Instant),
    /// A request is decoded and answered.
    Busy,
}

impl Default for ClientWait {
    fn default() -> Self {
        Self(Mutex::new(WaitState::Idle(Instant::now())))
    }
}

impl ClientWait {
    /// Starts to wait for a request.
    pub(super) fn set_idle(&self) {
        *self.0.lock().ignore_poison() = WaitState::Idle(Instant::now());
    }

    /// Starts to receive a request.
    pub(super) fn set_receiving(&self) {
        *self.0.lock().ignore_poison() = WaitState::Receiving(Instant::now());
    }

    /// Ends the wait.
    pub(super) fn set_busy(&self) {
        *self.0.lock().ignore_poison() = WaitState::Busy;
    }

    /// Returns `true` while it waits for a request.
    pub(super) fn is_idle(&self) -> bool {
        matches!(*self.0.lock().ignore_poison(), WaitState::Idle(_))
    }

    /// Returns the start of the wait.
    pub(super) fn since(&self) -> Option<Instant> {
        match *self.0.lock().ignore_poison() {
            WaitState::Idle(since) | WaitState::Receiving(since) => Some(since),
            WaitState::Busy => None,
        }
    }
}
