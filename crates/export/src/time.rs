//! Clock values as people read them.

use ichnos_model::ClockValue;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::block::Block;
use crate::number;

const BILLION: i128 = 1_000_000_000;

/// How to show clock values.
#[derive(Clone, Debug)]
pub(crate) struct ClockDisplay {
    /// As seconds since the origin rather than as a time of day.
    pub(crate) seconds: bool,
    /// With the date.
    pub(crate) date: bool,
    /// The zone of times of day.
    pub(crate) zone: TimeZone,
    /// Whether a value before the origin was shown already.
    pub(crate) negative_seen: bool,
    /// Whether it mattered if one was shown already.
    pub(crate) negative_mattered: bool,
    /// The second that `text` is for.
    second: i64,
    /// Date and time of day of that second, with the point that the fraction follows.
    text: Option<Block>,
}

impl ClockDisplay {
    pub(crate) fn new(seconds: bool, date: bool, gmt: bool) -> Self {
        let zone = if gmt { TimeZone::UTC } else { TimeZone::system() };
        Self {
            seconds,
            date,
            zone,
            negative_seen: false,
            negative_mattered: false,
            second: i64::MIN,
            text: None,
        }
    }

    /// Appends a clock value.
    pub(crate) fn push(&mut self, out: &mut Vec<u8>, value: Option<&ClockValue>) {
        match value {
            None => out.extend_from_slice(b"??:??:??.?????????"),
            Some(value) => match i64::try_from(value.nanoseconds) {
                Ok(nanoseconds) if nanoseconds >= 0 && !self.seconds => {
                    self.push_clock(out, nanoseconds / 1_000_000_000, (nanoseconds % 1_000_000_000) as u32);
                }
                _ => self.push_any(out, value.nanoseconds),
            },
        }
    }

    #[cold]
    fn push_any(&mut self, out: &mut Vec<u8>, nanoseconds: i128) {
        let negative = nanoseconds < 0;
        let magnitude = nanoseconds.unsigned_abs() as i128;
        let (second, rest) = (magnitude / BILLION, (magnitude % BILLION) as u32);
        if !self.seconds {
            // The tool whose output this is falls back to seconds for the first value before the
            // origin only, and shows the magnitude of all others as a time of day.
            self.negative_mattered |= negative && !self.negative_seen;
            let fall_back = negative && !std::mem::replace(&mut self.negative_seen, true);
            if let Ok(second) = i64::try_from(second)
                && !fall_back
            {
                return self.push_clock(out, second, rest);
            }
        }
        if negative {
            out.push(b'-');
        }
        number::push_i128(out, second);
        out.push(b'.');
        number::push_nanoseconds(out, rest);
    }

    /// Appends date and time of day, which are made anew only when the second changes.
    #[inline]
    fn push_clock(&mut self, out: &mut Vec<u8>, second: i64, nanoseconds: u32) {
        match &self.text {
            Some(text) if second == self.second => text.push(out, false),
            _ => {
                let text = self.make_text(second);
                out.extend_from_slice(&text);
                (self.second, self.text) = (second, Some(Block::new(&text)));
            }
        }
        number::push_nanoseconds(out, nanoseconds);
    }

    #[cold]
    fn make_text(&self, second: i64) -> Vec<u8> {
        let mut made = Vec::new();
        let text = &mut made;
        let Ok(timestamp) = Timestamp::from_second(second) else {
            // Beyond what calendars know.
            number::push_signed(text, second);
            text.push(b'.');
            return made;
        };
        let civil = self.zone.to_datetime(timestamp);
        if self.date {
            number::push_signed(text, i64::from(civil.year()));
            text.push(b'-');
            number::push_padded(text, civil.month() as u64, 2);
            text.push(b'-');
            number::push_padded(text, civil.day() as u64, 2);
            text.push(b' ');
        }
        for (part, end) in [(civil.hour(), b':'), (civil.minute(), b':'), (civil.second(), b'.')] {
            number::push_padded(text, part as u64, 2);
            text.push(end);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(display: &mut ClockDisplay, nanoseconds: i128) -> String {
        let mut out = Vec::new();
        display.push(&mut out, Some(&ClockValue { nanoseconds, cycles: 0 }));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_of_day() {
        let mut gmt = ClockDisplay::new(false, false, true);
        assert_eq!(shown(&mut gmt, 0), "00:00:00.000000000");
        assert_eq!(shown(&mut gmt, 1_565_957_300_948_091_100), "12:08:20.948091100");
        assert_eq!(shown(&mut gmt, 1_565_957_300_948_091_101), "12:08:20.948091101");
        let mut dated = ClockDisplay::new(false, true, true);
        assert_eq!(shown(&mut dated, 1_565_957_300_948_091_100), "2019-08-16 12:08:20.948091100");
        let mut out = Vec::new();
        dated.push(&mut out, None);
        assert_eq!(out, b"??:??:??.?????????");
    }

    #[test]
    fn local_time_follows_its_zone() {
        let mut display = ClockDisplay::new(false, true, true);
        display.zone = TimeZone::fixed(jiff::tz::offset(-5));
        assert_eq!(shown(&mut display, 3_600_000_000_000), "1969-12-31 20:00:00.000000000");
    }

    #[test]
    fn seconds_and_values_before_the_origin() {
        let mut seconds = ClockDisplay::new(true, false, true);
        assert_eq!(shown(&mut seconds, 1_500_000_000), "1.500000000");
        assert_eq!(shown(&mut seconds, -1_500_000_000), "-1.500000000");
        assert_eq!(shown(&mut seconds, -1), "-0.000000001");
        assert_eq!(shown(&mut seconds, i128::from(u64::MAX) * 1000), "18446744073709.551615000");
        let mut gmt = ClockDisplay::new(false, false, true);
        assert_eq!(shown(&mut gmt, -1_500_000_000), "-1.500000000");
        assert_eq!(shown(&mut gmt, -1_500_000_000), "00:00:01.500000000");
    }
}
