//! Converts data stream clocks to initialization records.

use ichnos_model::TraceClass;
use ichnos_model::clock::{ClockClass, ClockOrigin};

use crate::fxt::BaseTime;
use crate::fxt_reader::class::DIALECT;

/// Returns `true` for a trace that was read from FXT. Its times are copied, even if they are too late for the 63-bit
/// times of Google's trace processor.
fn is_own(trace: &TraceClass) -> bool {
    trace.dialect == DIALECT
}

/// Returns the last tick that can be written for a clock.
pub(super) fn last_tick(trace: &TraceClass, clock: &ClockClass) -> u64 {
    if is_own(trace) {
        return u64::MAX;
    }
    let fits = |ticks| clock.nanoseconds(ticks) <= i128::from(i64::MAX);
    let bits = (0..u64::BITS).rev().map(|bit| 1_u64 << bit);
    bits.fold(0, |last, bit| if fits(last | bit) { last | bit } else { last })
}

/// Returns the first time since 1970 at which the clock's ticks are whole nanoseconds, so that readers compute the same
/// offset from it. `None` if the clock does not count from 1970, or if no such time fits in 63 bits.
pub(super) fn base_of(trace: &TraceClass, clock: &ClockClass) -> Option<BaseTime> {
    epoch_base(clock).filter(|base| is_own(trace) || i64::try_from(base.unix_nanoseconds).is_ok())
}

fn epoch_base(clock: &ClockClass) -> Option<BaseTime> {
    const BILLION: u64 = 1_000_000_000;
    if clock.origin != ClockOrigin::UnixEpoch {
        return None;
    }
    // The smallest number of ticks that takes whole nanoseconds.
    let step = i128::from(clock.frequency / common_divisor(clock.frequency, BILLION));
    let offset = clock.origin_cycles();
    let earliest = (-offset).max(0);
    let ticks = earliest + (-(offset + earliest)).rem_euclid(step);
    let ticks = u64::try_from(ticks).ok()?;
    let unix_nanoseconds = u64::try_from(clock.nanoseconds(ticks)).ok()?;
    Some(BaseTime { ticks, unix_nanoseconds })
}

/// Returns the greatest common divisor of two numbers. At least one must be greater than 0.
fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}
