//! Clocks of data streams as initialization records have them.

use ichnos_model::{ClockClass, ClockOrigin};

use crate::fxt::BaseTime;

/// Returns the ticks from the origin of a clock to its tick 0, which records add to theirs where no base time does.
pub(super) fn offset_of(clock: &ClockClass) -> i128 {
    i128::from(clock.offset_seconds) * i128::from(clock.frequency) + i128::from(clock.offset_cycles)
}

/// Returns the first time of a clock from 1970 on whose ticks are whole nanoseconds: readers find the same offset from
/// it. `None` if the clock does not count from 1970, or if there is no such time in 64 bits.
pub(super) fn epoch_base(clock: &ClockClass) -> Option<BaseTime> {
    const BILLION: u64 = 1_000_000_000;
    if clock.origin != ClockOrigin::UnixEpoch {
        return None;
    }
    // The lowest number of ticks that is a whole number of nanoseconds.
    let step = i128::from(clock.frequency / common_divisor(clock.frequency, BILLION));
    let offset = offset_of(clock);
    let earliest = (-offset).max(0);
    let ticks = earliest + (-(offset + earliest)).rem_euclid(step);
    let ticks = u64::try_from(ticks).ok()?;
    let unix_nanoseconds = u64::try_from(clock.nanoseconds(ticks)).ok()?;
    Some(BaseTime { ticks, unix_nanoseconds })
}

/// Returns the greatest common divisor of two numbers, of which one is greater than 0.
fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}
