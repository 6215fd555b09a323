//! Notifications for new data.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::locks::IgnorePoison as _;

/// Notification for new data of any live input. Clones share the same notification.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(Arc<(Mutex<u64>, Condvar)>);

impl Arrivals {
    /// Wakes all waiting inputs. Call it when a poll can find the data.
    pub fn notify(&self) {
        let (count, condition) = &*self.0;
        *count.lock().ignore_poison() += 1;
        condition.notify_all();
    }

    /// Returns the number of notifications so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        *self.0.0.lock().ignore_poison()
    }

    /// Waits until there were more than `seen` notifications, but not longer than `timeout`. Returns their number.
    #[must_use]
    pub fn wait(&self, seen: u64, timeout: Duration) -> u64 {
        let (count, condition) = &*self.0;
        let waiting =
            condition.wait_timeout_while(count.lock().ignore_poison(), timeout, |count| *count <= seen);
        *waiting.ignore_poison().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_end_the_wait() {
        let arrivals = Arrivals::default();
        assert_eq!(arrivals.wait(0, Duration::from_millis(1)), 0);
        let other = arrivals.clone();
        let thread = std::thread::spawn(move || other.notify());
        assert_eq!(arrivals.wait(0, Duration::from_secs(60)), 1);
        assert!(thread.join().is_ok());
        // Notifications before the wait count.
        assert_eq!(arrivals.wait(0, Duration::from_secs(60)), arrivals.count());
    }
}
