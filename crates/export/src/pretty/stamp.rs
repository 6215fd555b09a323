//! Start of most lines: the event time, and the time since the previous event.

use crate::number;

/// Maximum length of a stamp that is copied as one block, in bytes.
const SIZE: usize = 64;

const SECOND: u64 = 1_000_000_000;

/// Period in which times differ in four digits.
const PERIOD: u64 = 10_000;

/// Last written stamp. For events within a period, only the last digits differ, and for events within one second, only
/// digits.
///
/// ```text
/// [12:08:20.948091100] (+0.000000011)
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    /// Start of the period, in nanoseconds.
    begin: u64,
    /// Time of the last event, in nanoseconds.
    last: u64,
    /// Text at the start of the period, without a difference.
    block: [u8; SIZE],
    length: usize,
    /// Offset of the time's fraction.
    fraction: usize,
    /// Offset of the difference's seconds, one digit.
    delta: usize,
}

impl Stamp {
    /// Copies the stamp of an event at `now`. Returns `None` if it has another form.
    pub(super) fn new(now: i128, text: &[u8], fraction: usize, delta: usize) -> Option<Self> {
        let now = u64::try_from(now).ok()?;
        let mut block = [0; SIZE];
        block.get_mut(..text.len())?.copy_from_slice(text);
        // `0.` and nine digits.
        let has_room =
            fraction + 9 <= delta && delta + 11 <= text.len() && text.get(delta + 1) == Some(&b'.');
        let mut stamp =
            has_room.then_some(Self { begin: 0, last: now, block, length: text.len(), fraction, delta })?;
        put(&mut stamp.block, delta, b"0.000000000");
        stamp.begin_period(now);
        Some(stamp)
    }

    /// Begins the period of a time in the same second.
    fn begin_period(&mut self, now: u64) {
        self.begin = now - now % PERIOD;
        put(&mut self.block, self.fraction, &number::nanoseconds((self.begin % SECOND) as u32));
    }

    /// Appends the stamp of an event at `now`. Returns the time since the previous event, or `None` if the stamp does
    /// not fit.
    #[inline(always)]
    pub(super) fn push(&mut self, out: &mut Vec<u8>, now: u64) -> Option<u64> {
        let delta = now.checked_sub(self.last)?;
        let rest = now.checked_sub(self.begin)?;
        if rest >= PERIOD || delta >= PERIOD {
            return self.push_far(out, now, delta);
        }
        self.last = now;
        let begin = out.len();
        out.extend_from_slice(&self.block);
        // After the copy, not in the block: loading bytes that were just stored in smaller parts is slow.
        put(out, begin + self.fraction + 5, &number::four_digits(rest as u32));
        put(out, begin + self.delta + 7, &number::four_digits(delta as u32));
        out.truncate(begin + self.length);
        Some(delta)
    }

    /// Appends the stamp of an event in another period, or long after the previous event.
    #[inline(never)]
    fn push_far(&mut self, out: &mut Vec<u8>, now: u64, delta: u64) -> Option<u64> {
        if now / SECOND != self.begin / SECOND || delta >= 10 * SECOND {
            return None;
        }
        self.begin_period(now);
        self.last = now;
        let begin = out.len();
        out.extend_from_slice(&self.block);
        put(out, begin + self.fraction, &number::nanoseconds((now % SECOND) as u32));
        put(out, begin + self.delta, &[b'0' + (delta / SECOND) as u8]);
        put(out, begin + self.delta + 2, &number::nanoseconds((delta % SECOND) as u32));
        out.truncate(begin + self.length);
        Some(delta)
    }
}

/// Overwrites bytes from `at` on.
#[inline(always)]
fn put<const N: usize>(text: &mut [u8], at: usize, bytes: &[u8; N]) {
    if let Some(place) = text.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = *bytes;
    }
}

#[cfg(test)]
mod tests {
    use ichnos_model::clock::ClockValue;
    use ichnos_testing::cases;

    use crate::{Pretty, PrettyOptions, ResumableSink as _, StreamOrder};

    /// Tests combinations of times and options.
    #[test]
    fn a_stamp_that_is_known_is_what_it_would_be_made_anew() {
        const SECOND: u64 = 1_000_000_000;
        let begins = [
            0,
            1_565_957_300_948_091_100,
            i128::from(i64::MAX) - 3_000_000_000,
            i128::from(u64::MAX) - 1_000_000_000,
            i128::from(u64::MAX),
            -3_000_000_000,
            i128::MAX - 100_000_000_000,
            253_402_207_200_000_000_000,
        ];
        let mut known = 0;
        let count = cases(4_000, |random| {
            let mut options = PrettyOptions { clock_gmt: true, ..PrettyOptions::default() };
            options.clock_cycles = random.is_one_in(8);
            options.clock_date = random.is_one_in(2);
            options.clock_seconds = random.is_one_in(3);
            options.no_delta = random.is_one_in(8);
            options.color = random.is_one_in(3);
            options.names.header = random.is_one_in(3);
            let is_resumed = random.is_one_in(4);
            let make = || {
                let mut sink = Pretty::new(Vec::new(), options.clone());
                if is_resumed {
                    sink.resume(&StreamOrder::default(), None);
                }
                sink
            };
            let (mut sink, mut anew) = (make(), make());
            let mut now = begins[random.index(8)];
            for _ in 0..30 {
                let step = match random.below(10) {
                    0 => 0,
                    1 => -i128::from(random.below(3 * SECOND)),
                    2 => i128::from(random.below(20 * SECOND)),
                    3 => i128::from(SECOND - random.below(2)),
                    4 => i128::from(10 * SECOND - random.below(2)),
                    5 => -1,
                    6 => i128::from(random.below(20_000)),
                    _ => i128::from(random.below(1_000_000)),
                };
                now = if random.is_one_in(20) { begins[random.index(8)] } else { now.saturating_add(step) };
                let value = ClockValue { nanoseconds: now, cycles: random.below(1 << 40) };
                let value = Some(&value).filter(|_| random.below(15) > 0);
                anew.stamp = None;
                known += u32::from(sink.stamp.is_some());
                sink.push_time(value);
                anew.push_time(value);
                let text = |sink: &Pretty<Vec<u8>>| String::from_utf8_lossy(&sink.output.buffer).into_owned();
                assert_eq!(text(&sink), text(&anew));
                assert_eq!(sink.state(), anew.state());
                assert_eq!(sink.must_rewrite(), anew.must_rewrite());
            }
        });
        assert!(count < 4_000 || known > 10_000, "{known}");
    }
}
