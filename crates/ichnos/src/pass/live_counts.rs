//! Counts of a running pass.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::PassCounts;

/// Counts of a running pass over live input. Other threads can read them.
#[derive(Debug, Default)]
pub struct LiveCounts {
    events: AtomicU64,
    discarded_events: AtomicU64,
    discarded_packets: AtomicU64,
    late_events: AtomicU64,
    /// 0 if unknown.
    reached: AtomicI64,
}

impl LiveCounts {
    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> PassCounts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        PassCounts {
            events: load(&self.events),
            discarded_events: load(&self.discarded_events),
            discarded_packets: load(&self.discarded_packets),
            late_events: load(&self.late_events),
            ..PassCounts::default()
        }
    }

    /// Returns the time that all inputs have reached, in nanoseconds from the origin, if it is known.
    #[must_use]
    pub fn reached(&self) -> Option<i64> {
        Some(self.reached.load(Ordering::Relaxed)).filter(|reached| *reached != 0)
    }

    /// Adds the difference of two counts, because several passes can share this. Sets the time if it is known.
    pub(super) fn add(&self, before: &PassCounts, now: &PassCounts, reached: Option<i128>) {
        for (sum, before, now) in [
            (&self.events, before.events, now.events),
            (&self.discarded_events, before.discarded_events, now.discarded_events),
            (&self.discarded_packets, before.discarded_packets, now.discarded_packets),
            (&self.late_events, before.late_events, now.late_events),
        ] {
            if now != before {
                sum.fetch_add(now.saturating_sub(before), Ordering::Relaxed);
            }
        }
        if let Some(reached) = reached.and_then(|reached| i64::try_from(reached).ok()) {
            self.reached.fetch_max(reached, Ordering::Relaxed);
        }
    }
}
