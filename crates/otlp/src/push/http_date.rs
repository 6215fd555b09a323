//! Dates in HTTP headers.

use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns how long a client should wait: a number of seconds, or the time until a date (RFC 9110, 10.2.3). `None` for
/// any other text.
pub(super) fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than fit are a very long time.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::from(u32::MAX))));
    }
    Some(date(text)?.duration_since(now).unwrap_or_default())
}

/// Parses a date such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
fn date(text: &str) -> Option<SystemTime> {
    let (_, text) = text.split_once(", ")?;
    let parts: Vec<&str> = text.split(' ').collect();
    let [day, month, year, clock, "GMT"] = parts[..] else { return None };
    let number = |text: &str| text.parse::<u64>().ok();
    let month = MONTHS.iter().position(|known| *known == month)? as u64 + 1;
    let (day, year) = (number(day).filter(|day| (1..=31).contains(day))?, number(year)?);
    let clock: Option<Vec<u64>> = clock.split(':').map(number).collect();
    let [hour, minute, second] = clock?[..] else { return None };
    if !(1970..=9999).contains(&year) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // The year starts in March, so that the leap day is its last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let wait = |text: &str| retry_after(text, at(784_111_770)).map(|wait| wait.as_secs());
        assert_eq!((wait("0"), wait(" 120 "), wait("")), (Some(0), Some(120), None));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), Some(7));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:00 GMT"), Some(0));
        assert_eq!(wait("Thu, 29 Feb 2024 00:00:00 GMT").map(|wait| wait + 784_111_770), Some(1_709_164_800));
        assert_eq!(wait("99999999999999999999999"), Some(u64::from(u32::MAX)));
        for wrong in
            ["-1", "1.5", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Foo 1994 08:49:37 GMT", ", , "]
        {
            assert_eq!(wait(wrong), None, "{wrong}");
        }
    }
}
