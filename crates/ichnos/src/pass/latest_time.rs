//! Latest event time of live input.

use std::time::{SystemTime, UNIX_EPOCH};

/// Latest event time so far.
///
/// Times after the wall clock come from wrong clocks. A single one would make all later events late, so they do not
/// count.
#[derive(Debug, Default)]
pub(super) struct LatestTime {
    latest: Option<i128>,
    /// Wall clock time at the last look, in nanoseconds. Most times are before it.
    now: i128,
}

impl LatestTime {
    /// Notes the time of an event. Returns `true` if the event is late.
    pub(super) fn note(&mut self, time: i128) -> bool {
        if self.latest.is_some_and(|latest| time < latest) {
            return true;
        }
        if time > self.now {
            self.now = wall_clock();
        }
        if time <= self.now {
            self.latest = Some(time);
        }
        false
    }

    pub(super) fn get(&self) -> Option<i128> {
        self.latest
    }
}

/// Returns the time since the Unix epoch in nanoseconds.
fn wall_clock() -> i128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(now.as_nanos()).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_the_future_makes_no_other_late() {
        let mut latest = LatestTime::default();
        let hour = 3_600_000_000_000;
        let now = wall_clock();
        assert!(!latest.note(now + hour) && latest.get().is_none());
        assert!(!latest.note(now - hour) && !latest.note(now));
        assert!(!latest.note(now + hour) && latest.get() == Some(now));
        assert!(latest.note(now - 1));
    }
}
