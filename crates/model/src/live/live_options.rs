//! Options of live inputs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::arrivals::Arrivals;

/// Receives the state of live inputs.
///
/// # For implementations
/// Calls come from the thread that reads, and delay all inputs.
pub trait LiveObserver: Send + Sync {
    /// Called when an input is no longer waited for. `waited` is how long there was no sign of life, at least.
    fn silent(&self, name: &str, waited: Duration) {
        let _ = (name, waited);
    }

    /// Called when an input cannot be opened yet, and is tried again. The error is one sentence without the full stop.
    fn retrying(&self, name: &str, error: &str) {
        let _ = (name, error);
    }

    /// Called when a silent input gives a sign of life again.
    fn resumed(&self, name: &str) {
        let _ = name;
    }

    /// Called when an input ends because its clock is not related to those of the others.
    fn unrelated(&self, name: &str, error: &str) {
        self.failed(name, error);
    }

    /// Called when an input ends because of an error.
    fn failed(&self, name: &str, error: &str) {
        let _ = (name, error);
    }
}

/// Ignores everything.
impl LiveObserver for () {}

/// Options of live inputs. All inputs of a session share them.
#[derive(Clone)]
#[non_exhaustive]
pub struct LiveOptions {
    /// Notification for new data of any input.
    pub arrivals: Arrivals,
    /// Longest wait for an input that gives no sign of life.
    pub patience: Duration,
    /// Receives the state of the inputs.
    pub observer: Arc<dyn LiveObserver>,
    /// Flag that ends the inputs: see [`LiveFeed::stop`](super::LiveFeed::stop).
    pub stop: Option<&'static AtomicBool>,
    /// `true` if something waits for all inputs together: see [`LiveOptions::wait_together`].
    waits_together: Arc<AtomicBool>,
}

impl LiveOptions {
    /// Makes the cursors of all inputs with these options return an inactivity message at once if no message is ready,
    /// whenever they are advanced. The caller advances all cursors at inactivity messages again after the next
    /// [arrival](Self::arrivals). The time of the inactivity message is [`SILENT`] for an input that should not be waited
    /// for.
    pub fn wait_together(&self) {
        self.waits_together.store(true, Ordering::Relaxed);
    }

    /// Returns `true` after [`LiveOptions::wait_together`].
    pub(super) fn waits_elsewhere(&self) -> bool {
        self.waits_together.load(Ordering::Relaxed)
    }

    /// Returns `true` if the inputs should end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// Time of the inactivity messages of a silent input: later than all messages.
pub const SILENT: i128 = i128::MAX;

/// Longest time between two inactivity messages without new data.
pub const PAUSE: Duration = Duration::from_millis(10);

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            arrivals: Arrivals::default(),
            patience: Duration::from_secs(1),
            observer: Arc::new(()),
            stop: None,
            waits_together: Arc::default(),
        }
    }
}
