//! Numbers on the command line.

use std::fmt::Display;
use std::num::{IntErrorKind, ParseIntError};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parses a number.
pub(crate) fn parse<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => format!("`{text}` is too large"),
        _ => format!("expected a number, found `{text}`"),
    })
}

/// Returns a parser for numbers in a range.
pub(crate) fn within<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr<Err = ParseIntError> + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text: &str| {
        let number: T = parse(text)?;
        if number < *range.start() {
            return Err(format!("expected at least {}, found `{text}`", range.start()));
        }
        if number > *range.end() {
            return Err(format!("expected at most {}, found `{text}`", range.end()));
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers() {
        assert_eq!(parse::<u64>("12"), Ok(12));
        assert_eq!(parse::<u64>("x"), Err("expected a number, found `x`".to_owned()));
        assert_eq!(parse::<u16>("70000"), Err("`70000` is too large".to_owned()));
        let parser = within::<u16>(1..=1000);
        assert_eq!(parser("1000"), Ok(1000));
        assert_eq!(parser("0"), Err("expected at least 1, found `0`".to_owned()));
        assert_eq!(parser("1001"), Err("expected at most 1000, found `1001`".to_owned()));
    }
}
