//! Errors in lines, and values that are parsed as a tree.

use std::borrow::Cow;

use ichnos_json::read::{self, ErrorKind, MAX_DEPTH, Reader};
use ichnos_model::class::Value;

/// Maximum number of values in a tree. Each takes up to 64 bytes of memory, and two bytes of text.
pub(crate) const MOST_VALUES: u64 = 1 << 20;

/// Reason why a line is unreadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineFault {
    /// Byte offset in the line.
    pub(crate) at: usize,
    pub(crate) expected: Cow<'static, str>,
}

impl From<read::Error> for LineFault {
    fn from(error: read::Error) -> Self {
        Self { at: error.offset, expected: error.kind.expected().into() }
    }
}

pub(crate) type ParseResult<T> = Result<T, LineFault>;

/// Returns an error for unexpected text at the reader's position.
pub(crate) fn fault<T>(json: &Reader<'_>, expected: impl Into<Cow<'static, str>>) -> ParseResult<T> {
    Err(LineFault { at: json.offset(), expected: expected.into() })
}

/// Checks that only white space follows.
pub(crate) fn end(json: &mut Reader<'_>) -> ParseResult<()> {
    if json.peek().is_none() { Ok(()) } else { fault(json, "the end of the line") }
}

/// Parses a value as a tree. Used for the few lines with descriptions.
pub(crate) fn value(json: &mut Reader<'_>) -> ParseResult<Value> {
    value_within(json, &mut { MOST_VALUES })
}

/// Parses a value as a tree of at most `left` values. Subtracts their number from `left`.
pub(crate) fn value_within(json: &mut Reader<'_>, left: &mut u64) -> ParseResult<Value> {
    Ok(nested_value(json, MAX_DEPTH, left)?)
}

fn nested_value(json: &mut Reader<'_>, depth: u32, left: &mut u64) -> read::Result<Value> {
    let mut is_first = true;
    let first = json.peek();
    let Some(fewer) = left.checked_sub(1) else {
        return Err(read::Error { offset: json.offset(), kind: ErrorKind::Values });
    };
    *left = fewer;
    Ok(match first {
        Some(b'{') => {
            let depth = json.enter(depth)?;
            let mut members = Vec::new();
            while let Some(key) = json.key(&mut is_first)? {
                members.push((key.text().into_owned(), nested_value(json, depth, left)?));
            }
            Value::Map(members)
        }
        Some(b'[') => {
            let depth = json.enter(depth)?;
            let mut elements = Vec::new();
            while json.element(&mut is_first)? {
                elements.push(nested_value(json, depth, left)?);
            }
            Value::Array(elements)
        }
        Some(b'"') => Value::Text(json.string()?.text().into_owned()),
        _ if json.literal("true") => Value::Boolean(true),
        _ if json.literal("false") => Value::Boolean(false),
        _ if json.literal("null") => Value::Null,
        _ => {
            let number = json.number()?;
            match number.parse() {
                // Other numbers and "-0" keep their text.
                Ok(integer) if number != "-0" => Value::Integer(integer),
                _ => Value::Number(number.to_owned()),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_line_are_bounded() {
        let list = |count: u64| {
            let text = format!("[{}0]", "0,".repeat(count as usize - 2));
            value(&mut Reader::new(&text))
        };
        assert!(list(MOST_VALUES).is_ok());
        assert_eq!(list(MOST_VALUES + 1).unwrap_err().expected, "fewer values");
    }

    #[test]
    fn values_are_kept_as_they_were_written() {
        let text = r#"{"a": [-0, 1.50, 1e3, 170141183460469231731687303715884105728], "a": [true, false, null, "\n"], "i": -5}"#;
        let number = |text: &str| Value::Number(text.to_owned());
        let numbers = ["-0", "1.50", "1e3", "170141183460469231731687303715884105728"].map(number);
        let others = [Value::Boolean(true), Value::Boolean(false), Value::Null, Value::Text("\n".to_owned())];
        let expected = [
            ("a".to_owned(), Value::Array(numbers.into())),
            ("a".to_owned(), Value::Array(others.into())),
            ("i".to_owned(), Value::Integer(-5)),
        ];
        let mut json = Reader::new(text);
        assert_eq!(value(&mut json), Ok(Value::Map(expected.into())));
        assert_eq!(end(&mut json), Ok(()));
        assert_eq!(end(&mut Reader::new("]")).unwrap_err().expected, "the end of the line");
    }
}
