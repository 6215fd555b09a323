//! Running times of a thread.

use super::{ThreadState, Timeline};

/// Time ranges in which a thread ran.
#[derive(Debug, Default)]
pub struct RunningTimes {
    times: Vec<RunningTime>,
    is_exact: bool,
}

#[derive(Clone, Copy, Debug)]
struct RunningTime {
    begin: u64,
    end: u64,
    /// Total running time before this range.
    before: u64,
}

impl RunningTimes {
    /// Reads the states of a track's thread in a time range, at this number of pixels. Returns `None` if the states are
    /// unknown.
    pub fn of_thread(
        timeline: &mut Timeline,
        track: u32,
        (begin, end): (u64, u64),
        pixels: u64,
    ) -> Option<Self> {
        let states = timeline.states_of(track)?;
        let mut before = 0;
        let mut found = Self { times: Vec::new(), is_exact: true };
        for (_, item) in timeline.spans(states, begin, end, pixels) {
            found.is_exact &= item.count == 1;
            if timeline.name(item.name) == ThreadState::Running.name() {
                found.times.push(RunningTime { begin: item.begin, end: item.end, before });
                before = before.saturating_add(item.end.saturating_sub(item.begin));
            }
        }
        Some(found)
    }

    /// Returns `false` if some states are too short to separate.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Returns the running time before a time, in nanoseconds.
    fn until(&self, time: u64) -> u64 {
        let next = self.times.partition_point(|running| running.begin < time);
        let Some(last) = next.checked_sub(1).and_then(|last| self.times.get(last)) else { return 0 };
        last.before.saturating_add(last.end.min(time).saturating_sub(last.begin))
    }

    /// Returns the running time in a range, in nanoseconds.
    #[must_use]
    pub fn within(&self, begin: u64, end: u64) -> u64 {
        self.until(end).saturating_sub(self.until(begin))
    }
}
