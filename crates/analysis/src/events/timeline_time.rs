//! Times on a timeline.
//!
//! A timeline time is an unsigned number: the nanoseconds since 2^63 nanoseconds before the clock origin. So events
//! before the origin need no sign, and the distance of any two times fits.

/// Time of the clock origin.
pub const CLOCK_ORIGIN: u64 = 1 << 63;

/// Returns the timeline time for nanoseconds since the clock origin. `None` beyond 63 bits.
#[must_use]
pub fn timeline_time(nanoseconds: i128) -> Option<u64> {
    Some(i64::try_from(nanoseconds).ok()?.cast_unsigned() ^ CLOCK_ORIGIN)
}

/// Returns the nearest timeline time for nanoseconds since the clock origin.
#[must_use]
pub fn nearest_timeline_time(nanoseconds: i128) -> u64 {
    timeline_time(nanoseconds).unwrap_or(if nanoseconds < 0 { 0 } else { u64::MAX })
}

/// Returns the nanoseconds since the clock origin for a timeline time.
#[must_use]
pub fn since_origin(time: u64) -> i64 {
    (time ^ CLOCK_ORIGIN).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_order() {
        let all = [i64::MIN, -1, 0, 1, i64::MAX];
        let times = all.map(|time| timeline_time(time.into()).unwrap());
        assert_eq!(times, [0, CLOCK_ORIGIN - 1, CLOCK_ORIGIN, CLOCK_ORIGIN + 1, u64::MAX]);
        assert_eq!(times.map(since_origin), all);
        let beyond = [i128::from(i64::MIN) - 1, i128::from(i64::MAX) + 1];
        assert_eq!(beyond.map(timeline_time), [None, None]);
        assert_eq!(beyond.map(nearest_timeline_time), [0, u64::MAX]);
    }
}
