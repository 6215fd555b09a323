//! Attributes and other values of any kind.

use std::borrow::Cow;

use ichnos_json::write::ValueWriter;

use crate::digits::to_hex;
use crate::fault::{Decoded, RequestFault};
use crate::input::{FieldInput, lossy};
use crate::schema::value;

/// Maximum nesting depth of values. Each level takes up to four levels of JSON.
const MOST_DEPTH: u32 = 24;

/// Maximum number of values in a span, a log record or a data point, in a resource or a scope.
const MOST_VALUES: u32 = 1 << 16;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AnyValue<'a> {
    /// A value that is not set.
    Nothing,
    /// A text. In protobuf, it can have invalid UTF-8.
    Text(Cow<'a, [u8]>),
    Boolean(bool),
    Integer(i64),
    /// A count, which attributes cannot have.
    Unsigned(u64),
    /// Nanoseconds since 1970.
    Time(u64),
    /// An identifier that is shown in hexadecimal digits.
    Key(u64),
    Double(f64),
    Bytes(Cow<'a, [u8]>),
    Array(Vec<AnyValue<'a>>),
    List(Vec<NamedValue<'a>>),
}

/// A value with its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedValue<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) value: AnyValue<'a>,
}

impl<'a> NamedValue<'a> {
    pub(crate) fn new(name: &'a str, value: AnyValue<'a>) -> Self {
        Self { name: Cow::Borrowed(name), value }
    }

    /// Returns the size of the name and the value: see [`AnyValue::size`].
    pub(crate) fn size(&self) -> usize {
        self.name.len() + self.value.size()
    }

    /// Copies the name and the value.
    pub(crate) fn into_owned(self) -> NamedValue<'static> {
        NamedValue { name: Cow::Owned(self.name.into_owned()), value: self.value.into_owned() }
    }
}

impl AnyValue<'_> {
    /// Creates a text.
    pub(crate) fn text(text: &str) -> AnyValue<'_> {
        AnyValue::Text(Cow::Borrowed(text.as_bytes()))
    }

    /// Creates a text with the hexadecimal digits of an identifier.
    pub(crate) fn id(bytes: &[u8]) -> AnyValue<'static> {
        AnyValue::Text(Cow::Owned(to_hex(bytes).into_bytes()))
    }

    /// Returns the size in bytes, with 32 bytes for each value in it, because a value takes longer to copy than a byte.
    pub(crate) fn size(&self) -> usize {
        const OF_VALUE: usize = 32;
        let inner = match self {
            Self::Text(bytes) | Self::Bytes(bytes) => bytes.len(),
            Self::Array(elements) => elements.iter().map(AnyValue::size).sum(),
            Self::List(members) => members.iter().map(NamedValue::size).sum(),
            _ => 0,
        };
        OF_VALUE + inner
    }

    /// Copies the value.
    pub(crate) fn into_owned(self) -> AnyValue<'static> {
        match self {
            Self::Nothing => AnyValue::Nothing,
            Self::Text(text) => AnyValue::Text(Cow::Owned(text.into_owned())),
            Self::Boolean(value) => AnyValue::Boolean(value),
            Self::Integer(value) => AnyValue::Integer(value),
            Self::Unsigned(value) => AnyValue::Unsigned(value),
            Self::Time(value) => AnyValue::Time(value),
            Self::Key(value) => AnyValue::Key(value),
            Self::Double(value) => AnyValue::Double(value),
            Self::Bytes(bytes) => AnyValue::Bytes(Cow::Owned(bytes.into_owned())),
            Self::Array(elements) => {
                AnyValue::Array(elements.into_iter().map(AnyValue::into_owned).collect())
            }
            Self::List(members) => AnyValue::List(members.into_iter().map(NamedValue::into_owned).collect()),
        }
    }

    /// Writes the value as JSON, with bytes as hexadecimal digits.
    pub(crate) fn write_json(&self, writer: ValueWriter<'_>) {
        match self {
            Self::Nothing => writer.null(),
            Self::Text(text) => writer.utf8(text),
            Self::Boolean(value) => writer.boolean(*value),
            Self::Integer(value) => writer.signed(*value),
            Self::Unsigned(value) | Self::Time(value) | Self::Key(value) => writer.unsigned(*value),
            Self::Double(value) if value.is_finite() => writer.number(&format!("{value:?}")),
            Self::Double(value) => writer.string(&value.to_string()),
            Self::Bytes(bytes) => writer.string(&to_hex(bytes)),
            Self::Array(elements) => {
                let mut array = writer.array();
                elements.iter().for_each(|element| element.write_json(array.element()));
                array.end();
            }
            Self::List(members) => {
                let mut object = writer.object();
                members.iter().for_each(|member| member.value.write_json(object.named(&member.name)));
                object.end();
            }
        }
    }

    /// Returns the value as text: a text itself, `inf`, `-inf` or `NaN`, or else JSON.
    pub(crate) fn to_text(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Double(value) if !value.is_finite() => Cow::Owned(value.to_string().into_bytes()),
            value => {
                let mut text = Vec::new();
                value.write_json(ValueWriter::new(&mut text));
                Cow::Owned(text)
            }
        }
    }
}

/// Decodes values, and counts them.
#[derive(Debug)]
pub(crate) struct ValueDecoder {
    left: u32,
    depth: u32,
}

impl Default for ValueDecoder {
    fn default() -> Self {
        Self { left: MOST_VALUES, depth: 0 }
    }
}

impl ValueDecoder {
    /// Counts a value at an offset.
    pub(crate) fn count(&mut self, at: usize) -> Decoded<()> {
        let fault = || RequestFault::new(at, format!("expected at most {MOST_VALUES} values"));
        self.left = self.left.checked_sub(1).ok_or_else(fault)?;
        Ok(())
    }

    /// Decodes an element of a repeated field of attributes.
    pub(crate) fn pair<'a>(&mut self, input: FieldInput<'a, '_>) -> Decoded<NamedValue<'a>> {
        self.count(input.offset())?;
        let mut pair = NamedValue::new("", AnyValue::Nothing);
        input.fields(value::PAIR, |field, input| {
            match field {
                value::KEY => pair.name = lossy(input.text()?),
                _ => pair.value = self.value(input)?,
            }
            Ok(())
        })?;
        Ok(pair)
    }

    /// Decodes a repeated field of attributes, and appends them.
    pub(crate) fn pairs<'a>(
        &mut self,
        input: FieldInput<'a, '_>,
        pairs: &mut Vec<NamedValue<'a>>,
    ) -> Decoded<()> {
        input.each(|input| {
            pairs.push(self.pair(input)?);
            Ok(())
        })
    }

    /// Decodes a value.
    pub(crate) fn value<'a>(&mut self, input: FieldInput<'a, '_>) -> Decoded<AnyValue<'a>> {
        let Some(input) = input.unless_null() else { return Ok(AnyValue::Nothing) };
        let at = input.offset();
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(RequestFault::new(at, format!("expected values nested at most {MOST_DEPTH} levels")));
        }
        let mut decoded = AnyValue::Nothing;
        input.fields(value::ANY, |field, input| {
            decoded = match field {
                value::TEXT => AnyValue::Text(input.text()?),
                value::BOOLEAN => AnyValue::Boolean(input.boolean()?),
                value::INTEGER => AnyValue::Integer(input.signed()?),
                value::DOUBLE => AnyValue::Double(input.double()?),
                value::BYTES => AnyValue::Bytes(input.bytes()?),
                value::ARRAY => {
                    let mut elements = Vec::new();
                    input.fields(value::VALUES, |_, input| {
                        input.each(|input| {
                            self.count(input.offset())?;
                            elements.push(self.value(input)?);
                            Ok(())
                        })
                    })?;
                    AnyValue::Array(elements)
                }
                _ => {
                    let mut members = Vec::new();
                    input.fields(value::VALUES, |_, input| self.pairs(input, &mut members))?;
                    AnyValue::List(members)
                }
            };
            Ok(())
        })?;
        self.depth -= 1;
        Ok(decoded)
    }
}
