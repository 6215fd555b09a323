//! `filter.utils.trimmer`: drops messages outside a time range.

use ichnos::export::text::{calendar_date, calendar_nanoseconds};
use ichnos::model::Window;

use crate::command::Failure;
use crate::components::decimal_number::number;
use crate::components::parameter_values::Parameters;
use crate::value::Map;

const BILLION: i128 = 1_000_000_000;

/// Hour, minute, second and nanosecond.
type TimeOfDay = (i8, i8, i8, i32);

/// Time range of a trimmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trimmer {
    begin: Option<TimeBound>,
    end: Option<TimeBound>,
    gmt: bool,
}

/// Begin or end of a time range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeBound {
    /// Nanoseconds from the origin of the clock.
    Nanoseconds(i128),
    /// Time on the day of the first message.
    OfDay(TimeOfDay),
}

impl Trimmer {
    /// Creates a trimmer from parameters.
    ///
    /// # Errors
    /// If a time is invalid, or if the range ends before it begins.
    pub(crate) fn new(parameters: &Map) -> Result<Self, Failure> {
        let parameters = Parameters(parameters);
        let gmt = parameters.is_set("gmt");
        let bound = |name: &str| {
            let parsed = parameters.time(name).map(|text| {
                parse(&text, gmt)
                    .ok_or_else(|| Failure::from_cause(format!("Invalid date/time format: param=\"{text}\"")))
            });
            parsed.transpose()
        };
        let trimmer = Self { begin: bound("begin")?, end: bound("end")?, gmt };
        check_bound(trimmer.begin, "beginning")?;
        check_bound(trimmer.end, "end")?;
        if let (Some(TimeBound::Nanoseconds(begin)), Some(TimeBound::Nanoseconds(end))) =
            (trimmer.begin, trimmer.end)
        {
            check_range(begin, end)?;
        }
        Ok(trimmer)
    }

    /// Returns the range. `first` is the time of the first message, in nanoseconds from the origin of its clock.
    ///
    /// # Errors
    /// If the range ends before it begins, or if it needs an unknown date.
    pub(crate) fn window(&self, first: Option<i128>) -> Result<Window, Failure> {
        let resolve = |bound: TimeBound| match bound {
            TimeBound::Nanoseconds(nanoseconds) => Ok(nanoseconds),
            TimeBound::OfDay(time) => {
                let date = first.and_then(|first| calendar_date(first, self.gmt));
                date.and_then(|date| calendar_nanoseconds(date, time, self.gmt)).ok_or_else(|| {
                    Failure::from_cause(
                        "Cannot set trimming bounds: the date of the first message is unknown",
                    )
                })
            }
        };
        let (begin, end) = (self.begin.map(resolve).transpose()?, self.end.map(resolve).transpose()?);
        if let (Some(begin), Some(end)) = (begin, end) {
            check_range(begin, end)?;
        }
        Ok(Window { begin, end })
    }

    /// Returns `true` if the range depends on the date of the first message.
    pub(crate) fn needs_date(&self) -> bool {
        [self.begin, self.end].iter().any(|bound| matches!(bound, Some(TimeBound::OfDay(_))))
    }
}

/// Refuses the time that Babeltrace keeps for an open range: the smallest in 64 bits, to which larger times wrap around.
fn check_bound(bound: Option<TimeBound>, name: &str) -> Result<(), Failure> {
    const OPEN: i64 = i64::MIN;
    match bound {
        Some(TimeBound::Nanoseconds(time)) if time.rem_euclid(1 << 64) == 1 << 63 => Err(
            Failure::from_cause(format!("Invalid trimming time range's {name} time: ns-from-origin={OPEN}")),
        ),
        _ => Ok(()),
    }
}

/// Checks that a range does not end before it begins.
///
/// # Errors
/// If it does.
pub(crate) fn check_range(begin: i128, end: i128) -> Result<(), Failure> {
    if begin <= end {
        return Ok(());
    }
    Err(Failure::from_cause(format!(
        "Trimming time range's beginning time is greater than end time: begin-ns-from-origin={begin}, \
        end-ns-from-origin={end}"
    )))
}

/// Reads `YYYY-MM-DD hh:mm[:ss[.ns]]`, `YYYY-MM-DD`, `hh:mm[:ss[.ns]]` or `[-]s[.ns]`.
fn parse(text: &str, gmt: bool) -> Option<TimeBound> {
    if let Some(nanoseconds) = seconds(text) {
        return Some(TimeBound::Nanoseconds(nanoseconds));
    }
    let Some((date, rest)) = date_at_start(text) else { return time_of_day(text).map(TimeBound::OfDay) };
    let time = match rest.strip_prefix(' ') {
        Some(time) => time_of_day(time)?,
        None if rest.is_empty() => (0, 0, 0, 0),
        None => return None,
    };
    calendar_nanoseconds(date, time, gmt).map(TimeBound::Nanoseconds)
}

fn date_at_start(text: &str) -> Option<((i16, i8, i8), &str)> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let is_whole = parts.next().is_none() && year.len() == 4 && month.len() == 2 && day.len() == 2;
    let date = (number(year)?, number(month)?, number(day)?);
    is_whole.then_some((date, rest))
}

fn time_of_day(text: &str) -> Option<TimeOfDay> {
    let mut parts = text.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() || hour.len() != 2 || minute.len() != 2 {
        return None;
    }
    let (second, nanosecond) = match second {
        None => (0, 0),
        Some(text) => {
            let (second, fraction) = text.split_once('.').map_or((text, None), |(a, b)| (a, Some(b)));
            if second.len() != 2 {
                return None;
            }
            (number(second)?, fraction.map_or(Some(0), nanoseconds)?)
        }
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    let is_valid = hour < 24 && minute < 60 && second < 60;
    is_valid.then_some((hour, minute, second, nanosecond))
}

fn seconds(text: &str) -> Option<i128> {
    let (is_negative, magnitude) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = magnitude.split_once('.').map_or((magnitude, None), |(a, b)| (a, Some(b)));
    let whole: u64 = number(whole)?;
    let fraction = fraction.map_or(Some(0), nanoseconds)?;
    let value = i128::from(whole) * BILLION + i128::from(fraction);
    Some(if is_negative { -value } else { value })
}

/// Reads the digits after a decimal point: at most nine.
fn nanoseconds(digits: &str) -> Option<i32> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    number(&format!("{digits:0<9}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ParameterValue;

    fn trimmer(begin: Option<&str>, end: Option<&str>) -> Result<Trimmer, Failure> {
        let mut parameters = Map::default();
        parameters.insert("gmt", ParameterValue::Boolean(true));
        for (name, time) in [("begin", begin), ("end", end)] {
            if let Some(time) = time {
                parameters.insert(name, ParameterValue::Text(time.to_owned()));
            }
        }
        Trimmer::new(&parameters)
    }

    /// 2012-10-29 17:48:17.
    const FIRST: i128 = 1_351_532_897 * BILLION;

    #[test]
    fn times_are_read() {
        let cases = [
            ("2012-10-29 17:48:17.587029529", FIRST + 587_029_529),
            ("2012-10-29 17:48:17.5", FIRST + 500_000_000),
            ("2012-10-29 17:48:17", FIRST),
            ("2012-10-29 17:48", FIRST - 17 * BILLION),
            ("2012-10-29", FIRST - 64_097 * BILLION),
            ("17:48:17.587029529", FIRST + 587_029_529),
            ("17:48", FIRST - 17 * BILLION),
            ("1351532897.58871773", FIRST + 588_717_730),
            ("1351532897", FIRST),
            ("-1.5", -1_500_000_000),
            ("0", 0),
        ];
        for (text, expected) in cases {
            let window = trimmer(Some(text), None).unwrap().window(Some(FIRST)).unwrap();
            assert_eq!(window, Window { begin: Some(expected), end: None }, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let texts = "2012-10-29 17:48:17.1231231231|2012-10-29 17:48:17.|2012-10-29 17:48:123|2012-10-29 17:48:1|\
            2012-10-29 17:489:17|2012-10-29 17:4:17|2012-10-29 123:48:17|2012-10-29 2:48:17|2012-10-29 17:48:|\
            2012-10-29 17:|2012-10-29 17|2012-10-29 |2012-10-291|2012-10-2|2012-101-29|2012-1-29|20121-10-29|\
            12-10-29|2012-10-|2012-10|1351532898.1231231231|1351532898.||-|+1|1.2.3|2012-02-30|25:00|01:61|17:48:17:1|\
            2012-10-29T17:48:17|99999999999999999999|\u{660}1|2012-1\u{e9}-29";
        for text in texts.split('|') {
            let failure = trimmer(Some(text), None).expect_err(text);
            assert!(failure.causes[0].starts_with("Invalid date/time format"), "{text}");
        }
    }

    #[test]
    fn ranges_are_checked() {
        assert!(trimmer(Some("2"), Some("1")).unwrap_err().causes[0].contains("greater than end time"));
        let reversed = trimmer(Some("17:49"), Some("17:48")).unwrap();
        assert!(reversed.needs_date());
        assert!(reversed.window(Some(FIRST)).is_err());
        assert!(trimmer(Some("17:49"), None).unwrap().window(None).is_err());
        assert_eq!(trimmer(None, None).unwrap().window(None).unwrap(), Window::default());
    }
}
