//! Deadlines.

use std::time::{Duration, Instant};

/// Time when an operation must be complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// Returns the time after a duration. A duration that the clock cannot express never ends.
    pub(crate) fn after(duration: Duration) -> Self {
        Self(Instant::now().checked_add(duration))
    }

    /// Returns the remaining time, or `None` if it is over. The time is at most an hour. It is at least a millisecond,
    /// because a socket timeout of 0 means no timeout.
    pub(crate) fn remaining(self) -> Option<Duration> {
        let hour = Duration::from_hours(1);
        let Some(end) = self.0 else { return Some(hour) };
        let rest = end.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())?;
        Some(rest.clamp(Duration::from_millis(1), hour))
    }

    /// Returns `true` if no time is left.
    pub(crate) fn is_over(self) -> bool {
        self.remaining().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_end() {
        assert!(Deadline::after(Duration::ZERO).is_over());
        assert_eq!(Deadline::after(Duration::MAX).remaining(), Some(Duration::from_hours(1)));
        assert!(Deadline::after(Duration::from_secs(9)).remaining().unwrap() <= Duration::from_secs(9));
    }
}
