//! Line outlines, used to assign lines to data streams.

use ichnos_json::read::Reader;

use crate::fault::{LineFault, ParseResult, end};
use crate::time;

/// Maximum line length in bytes.
pub(crate) const LONGEST: usize = 16 << 20;

/// Members in event lines.
pub(crate) const EVENT_MEMBERS: [&str; 15] = [
    "type",
    "stream",
    "ts",
    "time",
    "cycles",
    "id",
    "name",
    "log_level",
    "other_clocks",
    "header",
    "common_context",
    "specific_context",
    "payload",
    "resource",
    "stacks",
];

ichnos_model::named_enum! {
    /// Line kind.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum LineType: "type of line" {
        StreamBegin = "stream-begin",
        StreamEnd = "stream-end",
        EventClass = "event-class",
        Stack = "stack",
        Event = "event",
        PacketBegin = "packet-begin",
        PacketEnd = "packet-end",
        DiscardedEvents = "discarded-events",
        DiscardedPackets = "discarded-packets",
        Damage = "damage",
    }
}

/// Line outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineOutline {
    pub(crate) kind: LineType,
    /// Data stream number, if it has one.
    pub(crate) stream: Option<u64>,
    /// Time in the line, if it has one.
    pub(crate) time: Option<i128>,
    /// `true` if the line has cycles.
    pub(crate) has_cycles: bool,
}

impl LineOutline {
    /// Reads a line without its line break.
    pub(crate) fn parse(line: &[u8]) -> ParseResult<Self> {
        if let Some(line) = Self::parse_written(line) {
            return Ok(line);
        }
        if line.len() > LONGEST {
            return Err(LineFault { at: LONGEST, expected: "the end of the line".into() });
        }
        Self::parse_any(text(line)?)
    }

    /// Reads an event line in its usual form.
    #[inline]
    fn parse_written(line: &[u8]) -> Option<Self> {
        let (stream, rest) = digits(line.strip_prefix(b"{\"type\":\"event\",\"stream\":")?)?;
        let (time, rest) = digits(rest.strip_prefix(b",\"ts\":")?)?;
        let has_cycles = rest.starts_with(b",\"cycles\":");
        // Fractions and exponents are errors, which the reader finds later.
        Some(Self { kind: LineType::Event, stream: Some(stream), time: Some(time.into()), has_cycles })
    }

    fn parse_any(text: &str) -> ParseResult<Self> {
        let mut json = Reader::new(text);
        json.expect(b'{', "an object")?;
        let mut line = Self { kind: LineType::Event, stream: None, time: None, has_cycles: false };
        let mut is_first = true;
        let mut date = None;
        while let Some(key) = json.key(&mut is_first)? {
            match key.plain() {
                Some("type") => {
                    let at = json.offset();
                    let name = json.string()?.text();
                    line.kind = LineType::from_name(&name)
                        .ok_or(LineFault { at, expected: "a known type of line".into() })?;
                }
                Some("stream") => line.stream = Some(integer(&mut json)?),
                Some("cycles") => {
                    json.skip()?;
                    line.has_cycles = true;
                }
                Some("ts") => line.time = Some(time::read(&mut json)?),
                Some("time") => {
                    let value = json.skip()?;
                    date = time::read(&mut Reader::new(value)).ok();
                }
                _ => {
                    json.skip()?;
                }
            }
        }
        end(&mut json)?;
        line.time = line.time.or(date);
        Ok(line)
    }
}

/// Returns a line as text.
pub(crate) fn text(line: &[u8]) -> ParseResult<&str> {
    std::str::from_utf8(line).map_err(|error| LineFault { at: error.valid_up_to(), expected: "UTF-8".into() })
}

/// Returns the short non-negative number at the start of some bytes, and the bytes after it.
#[inline]
fn digits(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut at = 0;
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    // 19 digits always fit.
    (1..=19).contains(&at).then(|| (value, bytes.get(at..).unwrap_or_default()))
}

/// Reads an integer from a number, or from a string of digits.
pub(crate) fn integer<T: std::str::FromStr>(json: &mut Reader<'_>) -> ParseResult<T> {
    let quoted = json.peek() == Some(b'"');
    let at = json.offset();
    let parsed = if quoted { json.string()?.plain().map(str::parse) } else { Some(json.number()?.parse()) };
    match parsed {
        Some(Ok(integer)) => Ok(integer),
        _ => Err(LineFault { at, expected: "an integer in its range".into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_any_form() {
        let of = |text: &str| LineOutline::parse(text.as_bytes());
        let event =
            |stream, time, has_cycles| Ok(LineOutline { kind: LineType::Event, stream, time, has_cycles });
        let written = r#"{"type":"event","stream":3,"ts":15,"cycles":4,"id":0}"#;
        assert_eq!(of(written), event(Some(3), Some(15), true));
        assert_eq!(LineOutline::parse_any(written), of(written));
        assert_eq!(of(r#"{"ts":-1,"name":"x"}"#), event(None, Some(-1), false));
        assert_eq!(of(r#" { "time" : "1970-01-01T00:00:01Z" } "#), event(None, Some(1_000_000_000), false));
        assert_eq!(
            of(r#"{"type":"event","stream":"3","ts":"15","cycles":"4"}"#),
            event(Some(3), Some(15), true)
        );
        assert!(matches!(
            of(r#"{"type":"stream-end","stream":1}"#),
            Ok(LineOutline { kind: LineType::StreamEnd, .. })
        ));
        for bad in
            ["", "[]", "{", r#"{"type":"x"}"#, r#"{"stream":-1}"#, r#"{"ts":1.5}"#, "{}x", "\u{feff}{}"]
        {
            assert!(of(bad).is_err(), "{bad}");
        }
        assert!(LineOutline::parse(b"{\"a\":\"\xff\"}").is_err());
    }
}
