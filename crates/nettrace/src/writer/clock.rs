//! Ticks in the written file.

use ichnos_io::WriteSource;
use ichnos_model::DataStream;
use ichnos_model::clock::{ClockClass, ClockOrigin, ClockValue};
use ichnos_model::lower::{LossKind, LossTable};

use crate::SystemTime;

/// File frequency if the sources lack a common frequency.
const NANOSECONDS: u64 = 1_000_000_000;

/// Clock for the written file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileClock {
    pub(super) frequency: u64,
    /// Ticks from the origin to tick 0. The origin is 1970, or the clock origin of the sources.
    offset: i128,
}

/// Time conversion for a data stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ticks {
    /// Cycles plus this number.
    Shifted(i128),
    /// Nanoseconds, because the clock has another frequency.
    OfNanoseconds,
}

impl FileClock {
    /// Returns the clock for the data streams of these sources.
    pub(super) fn from_sources(sources: &[WriteSource]) -> Self {
        let clocks = || sources.iter().flat_map(|source| &source.streams).filter_map(|stream| stream.clock());
        let first = clocks().next().map_or(NANOSECONDS, |clock| clock.frequency);
        let frequency = if clocks().all(|clock| clock.frequency == first) { first } else { NANOSECONDS };
        let in_file = |clock: &ClockClass| match clock.frequency == frequency {
            true => clock.origin_cycles(),
            false => clock.nanoseconds(0),
        };
        // Then all times are at or after tick 0.
        let offset = clocks().map(in_file).min().unwrap_or(0);
        Self { frequency, offset }
    }

    /// Adds clocks whose times are rounded to ticks to the loss table.
    pub(super) fn record_rounding(&self, sources: &[WriteSource], losses: &mut LossTable) {
        let clocks = sources.iter().flat_map(|source| &source.trace.class.clocks);
        for clock in clocks.filter(|clock| clock.frequency != self.frequency) {
            losses.note(LossKind::Rounded, "", format!("clock.{}", clock.id), "ticks -> nanoseconds");
        }
    }

    /// Returns a data stream's time conversion.
    pub(super) fn ticks(&self, stream: &DataStream) -> Ticks {
        match stream.clock() {
            Some(clock) if clock.frequency == self.frequency => {
                Ticks::Shifted(clock.origin_cycles() - self.offset)
            }
            _ => Ticks::OfNanoseconds,
        }
    }

    /// Converts a time. Returns `None` if it does not fit.
    #[inline(always)]
    pub(super) fn convert(&self, ticks: Ticks, value: &ClockValue) -> Option<u64> {
        let ticks = match ticks {
            Ticks::Shifted(0) => value.cycles,
            Ticks::Shifted(shift) => u64::try_from(i128::from(value.cycles) + shift).ok()?,
            Ticks::OfNanoseconds => return self.nearest_tick(value.nanoseconds),
        };
        // Times that do not fit in 64 bits have the smallest or the largest cycle.
        match value.cycles {
            0 | u64::MAX if !self.are_at(ticks, value.nanoseconds) => {
                self.nearest_tick(value.nanoseconds).filter(|ticks| self.are_at(*ticks, value.nanoseconds))
            }
            _ => Some(ticks),
        }
    }

    /// Returns `true` if ticks are at a time in nanoseconds. The time was rounded down, as for all cycles.
    #[inline(never)]
    fn are_at(&self, ticks: u64, nanoseconds: i128) -> bool {
        let cycles = i128::from(ticks) + self.offset;
        let time = cycles.checked_mul(NANOSECONDS.into());
        time.and_then(|time| time.checked_div_euclid(self.frequency.into())) == Some(nanoseconds)
    }

    #[inline(never)]
    fn nearest_tick(&self, time: i128) -> Option<u64> {
        let nanoseconds = i128::from(NANOSECONDS);
        let product = time.checked_mul(self.frequency.into())?;
        u64::try_from((product + nanoseconds / 2).div_euclid(nanoseconds) - self.offset).ok()
    }

    /// Returns a date with a resolution of one millisecond, and the ticks at this date. The date is at `ticks`, or
    /// later if it would be before tick 0. The last value is `false` if the date is out of range.
    pub(super) fn date(&self, ticks: u64) -> (SystemTime, u64, bool) {
        let frequency = i128::from(self.frequency);
        let at = |millisecond: i128| (millisecond * frequency + 500).div_euclid(1_000) - self.offset;
        let mut millisecond = ((i128::from(ticks) + self.offset) * 1_000).div_euclid(frequency);
        if at(millisecond) < 0 {
            millisecond += 1;
        }
        let date = SystemTime::from_milliseconds(millisecond);
        match (date, u64::try_from(at(millisecond))) {
            (Some(date), Ok(ticks)) => (date, ticks, true),
            _ => (SystemTime::from_milliseconds(0).unwrap_or_default(), 0, false),
        }
    }

    /// Returns `true` if a date and the ticks at this date belong to this clock.
    pub(super) fn is_at(&self, date: SystemTime, ticks: u64) -> bool {
        let since = date.since_unix_epoch();
        since.is_some_and(|since| {
            let cycles = (since / 1_000_000 * i128::from(self.frequency) + 500).div_euclid(1_000);
            cycles - i128::from(ticks) == self.offset
        })
    }
}

/// Returns the loss if a clock's origin changes.
pub(super) fn loss_of_clock(clock: &ClockClass) -> Option<String> {
    match &clock.origin {
        ClockOrigin::UnixEpoch => None,
        ClockOrigin::Named { name, .. } => Some(format!("origin: {name} -> 1970")),
        _ => Some("unknown origin -> 1970".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nanoseconds at cycle 0 are rounded down. They must stay at this cycle, and not move to the previous cycle.
    #[test]
    fn rounded_times_of_cycle_0_keep_their_ticks() {
        let mut clock = ClockClass::new("clock", 3_000_000_000);
        clock.offset_cycles = 1_000_001;
        let file = FileClock { frequency: clock.frequency, offset: 1 };
        let ticks = Ticks::Shifted(clock.origin_cycles() - file.offset);
        let convert = |cycles, nanoseconds| file.convert(ticks, &ClockValue { cycles, nanoseconds });
        assert_eq!(clock.nanoseconds(0), 333_333);
        assert_eq!(convert(0, clock.nanoseconds(0)), Some(1_000_000));
        assert_eq!(convert(3, clock.nanoseconds(3)), Some(1_000_003));
        // Before cycle 0 of this clock, but after tick 0 of the file.
        assert_eq!(convert(0, 1_000), Some(2_999));
        assert_eq!(convert(0, -1), None);
        assert_eq!(convert(u64::MAX, i128::MAX), None);
        // No tick has this time.
        let slow = FileClock { frequency: 10_000_000, offset: 0 };
        let convert = |nanoseconds| slow.convert(Ticks::Shifted(5), &ClockValue { cycles: 0, nanoseconds });
        assert_eq!((convert(500), convert(300), convert(350)), (Some(5), Some(3), None));
    }
}
