//! Selected time windows.

use ichnos::model::{Event, Window};

use crate::exit::Failure;

/// Time windows without overlap, sorted by time. The ends are included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Windows {
    times: Vec<(i128, i128)>,
    /// `true` to select events that name processes, modules or functions, regardless of their time.
    keeps_rundown: bool,
}

impl Windows {
    /// Maximum number of windows.
    const MOST: usize = 1_000_000;

    /// Creates a single window.
    pub(crate) fn new(window: Window) -> Self {
        let times = vec![(window.begin.unwrap_or(i128::MIN), window.end.unwrap_or(i128::MAX))];
        Self { times, keeps_rundown: false }
    }

    /// Also selects events that name processes, modules or functions, regardless of their time.
    pub(crate) fn with_rundown(self) -> Self {
        Self { keeps_rundown: true, ..self }
    }

    /// Adds a window. Windows are usually added sorted by time.
    pub(crate) fn add(&mut self, begin: i128, end: i128) -> Result<(), Failure> {
        let count = self.times.len();
        match self.times.last_mut() {
            Some(last) if last.0 <= begin && begin <= last.1 => last.1 = last.1.max(end),
            _ if count >= Self::MOST => {
                return Err(Failure::new("--around: more than a million windows").help(
                    "use a larger margin to join them, or write only the events with `ichnos filter`",
                ));
            }
            _ => self.times.push((begin, end)),
        }
        Ok(())
    }

    /// Joins windows that overlap.
    pub(crate) fn merge(&mut self) {
        self.times.sort_unstable();
        self.times.dedup_by(|later, earlier| {
            let overlaps = later.0 <= earlier.1;
            if overlaps {
                earlier.1 = earlier.1.max(later.1);
            }
            overlaps
        });
    }

    /// Returns the number of windows.
    pub(crate) fn count(&self) -> usize {
        self.times.len()
    }

    /// Returns the window from the start of the first window to the end of the last. Returns `None` without windows.
    pub(crate) fn hull(&self) -> Option<Window> {
        let (first, last) = self.times.first().zip(self.times.last())?;
        Some(Window { begin: Some(first.0), end: Some(last.1) })
    }

    /// Returns `true` if an event is in a window. Events without a time are outside.
    pub(crate) fn contain(&self, event: &Event<'_>) -> bool {
        event.nanoseconds().is_some_and(|time| self.contain_time(time))
            || self.keeps_rundown && event.class.is_rundown
    }

    fn contain_time(&self, time: i128) -> bool {
        let after = self.times.partition_point(|(begin, _)| *begin <= time);
        after.checked_sub(1).and_then(|at| self.times.get(at)).is_some_and(|(_, end)| time <= *end)
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    #[test]
    fn windows_are_the_times_near_an_event() {
        cases(300, |random| {
            let margin = random.below(4) as i128;
            let times: Vec<i128> = (0..random.below(20)).map(|_| random.below(100) as i128).collect();
            let mut windows = Windows::default();
            times.iter().for_each(|time| windows.add(time - margin, time + margin).unwrap());
            windows.merge();
            assert!(windows.times.windows(2).all(|pair| pair[0].1 < pair[1].0), "{windows:?}");
            for time in -10..110 {
                let is_near = times.iter().any(|other| (time - other).abs() <= margin);
                assert_eq!(windows.contain_time(time), is_near, "{time} {times:?} {margin}");
                let hull = windows.hull().unwrap_or_default();
                assert!(!is_near || hull.begin <= Some(time) && Some(time) <= hull.end);
            }
        });
    }
}
