//! Request parameters.

use ichnos::viewers::{EventId, nearest_timeline_time};

use crate::response::ApiError;

/// Parameters after the `?` of an address.
#[derive(Debug)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn new(text: &str) -> Result<Self, ApiError> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        };
        Ok(Self(pairs.map(pair).collect::<Result<_, ApiError>>()?))
    }

    /// Returns a parameter, unless it is missing or empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns a number, or `None` if the parameter is missing.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse();
        number.map(Some).map_err(|_| ApiError::bad(format!("{name}: expected a number, found `{text}`")))
    }

    /// Returns a number of at most `most`, or the default if the parameter is missing.
    pub(crate) fn bounded(&self, name: &str, most: u64, default: u64) -> Result<u64, ApiError> {
        match self.number(name)?.unwrap_or(default) {
            number if number <= most => Ok(number),
            number => Err(ApiError::bad(format!("{name}: at most {most}, found {number}"))),
        }
    }

    pub(crate) fn required(&self, name: &str) -> Result<u64, ApiError> {
        self.number(name)?.ok_or_else(|| ApiError::bad(format!("missing `{name}`")))
    }

    /// Returns a time: nanoseconds since the clock origin as a timeline time. `None` if the parameter is missing.
    pub(crate) fn time(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let wrong = |_| ApiError::bad(format!("{name}: expected a number of nanoseconds, found `{text}`"));
        text.parse().map(|time| Some(nearest_timeline_time(time))).map_err(wrong)
    }

    pub(crate) fn required_time(&self, name: &str) -> Result<u64, ApiError> {
        self.time(name)?.ok_or_else(|| ApiError::bad(format!("missing `{name}`")))
    }

    /// Returns an event id, or `None` if the parameter is missing.
    pub(crate) fn event(&self, name: &str) -> Result<Option<EventId>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let wrong = || ApiError::bad(format!("{name}: expected STREAM:TIME:POSITION, found `{text}`"));
        text.parse().map(Some).map_err(|_| wrong())
    }

    /// Returns the parameters `begin` and `end`.
    pub(crate) fn range(&self) -> Result<(u64, u64), ApiError> {
        let (begin, end) = (self.required_time("begin")?, self.required_time("end")?);
        match begin <= end {
            true => Ok((begin, end)),
            false => Err(ApiError::bad("the range ends before it begins")),
        }
    }
}

/// Decodes percent-encoding and `+`.
fn decoded(text: &str) -> Result<String, ApiError> {
    let wrong = || ApiError::bad("malformed address");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (digits, behind) = rest.split_at_checked(2).ok_or_else(wrong)?;
                let digit = |digit: u8| (digit as char).to_digit(16).ok_or_else(wrong);
                rest = behind;
                let [high, low] = digits else { return Err(wrong()) };
                (16 * digit(*high)? + digit(*low)?) as u8
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use ichnos::viewers::CLOCK_ORIGIN;

    use super::*;

    #[test]
    fn parameters_are_decoded_and_bounded() {
        let query = Query::new("a=1&b=x%20y%26+%C3%A9&c=&pixels=9000").unwrap();
        assert_eq!(query.text("b"), Some("x y& é"));
        assert_eq!((query.number("a").unwrap(), query.number("c").unwrap()), (Some(1), None));
        assert!(query.number("b").is_err() && query.required("c").is_err());
        assert!(query.bounded("pixels", 8_192, 1).is_err());
        assert_eq!(query.bounded("none", 8, 3).unwrap(), 3);
        assert!(Query::new("a=%4").is_err() && Query::new("a=%zz").is_err() && Query::new("a=%ff").is_err());
        assert!(Query::new("begin=2&end=1").unwrap().range().is_err());
        let event = |text: &str| Query::new(text).unwrap().event("id");
        let id = EventId { stream: 1, time: CLOCK_ORIGIN - 20, position: 3 };
        assert_eq!((event("id=1:-20:3").unwrap(), event("").unwrap()), (Some(id), None));
        assert_eq!(id.to_string(), "1:-20:3");
        let range = Query::new("begin=-7&end=99999999999999999999").unwrap().range().unwrap();
        assert_eq!(range, (CLOCK_ORIGIN - 7, u64::MAX));
        assert!(
            ["1:20", "1:20:3:4", "1:20:x", "-1:20:3"]
                .iter()
                .all(|text| event(&format!("id={text}")).is_err())
        );
    }
}
