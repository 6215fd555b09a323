//! Message fields in both encodings, behind common functions.

use std::borrow::Cow;
use std::ops::Range;

use ichnos_json::read::Reader;

use crate::digits::{from_base64, from_hex};
use crate::fault::{Decoded, RequestFault};
use crate::wire::{WireReader, WireValue};

/// Encoding of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestEncoding {
    /// Protocol Buffers (`application/x-protobuf`).
    Protobuf,
    /// JSON (`application/json`).
    Json,
}

/// Field of a message: its name in JSON and its number in protobuf.
pub(crate) type FieldName = (&'static str, u32);

/// An encoded message.
#[derive(Clone, Debug)]
pub(crate) enum EncodedMessage<'a> {
    /// Bytes, and their offset in the request.
    Wire(&'a [u8], usize),
    /// Request with the position of an object.
    Json(Reader<'a, [u8]>),
}

impl<'a> EncodedMessage<'a> {
    /// Returns the message that is a whole request.
    pub(crate) fn whole(bytes: &'a [u8], encoding: RequestEncoding) -> Self {
        Self::part(bytes, encoding, 0..bytes.len())
    }

    /// Returns the message in a part of a request. An empty message if the part is out of bounds.
    pub(crate) fn part(bytes: &'a [u8], encoding: RequestEncoding, part: Range<usize>) -> Self {
        match encoding {
            RequestEncoding::Protobuf => Self::Wire(bytes.get(part.clone()).unwrap_or_default(), part.start),
            RequestEncoding::Json => {
                let mut reader = Reader::new(bytes);
                reader.seek(part.start);
                Self::Json(reader)
            }
        }
    }

    /// Passes each known field to `take`, with its number. Other fields are skipped.
    pub(crate) fn fields(
        &self,
        names: &[FieldName],
        mut take: impl FnMut(u32, FieldInput<'a, '_>) -> Decoded<()>,
    ) -> Decoded<()> {
        match self {
            Self::Wire(bytes, at) => {
                let mut reader = WireReader::new(bytes, *at);
                while let Some((number, value)) = reader.field()? {
                    if names.iter().any(|(_, known)| *known == number) {
                        take(number, FieldInput::Wire(value))?;
                    }
                }
                Ok(())
            }
            Self::Json(reader) => json_fields(&mut reader.clone(), names, take),
        }
    }
}

/// Passes the fields of an object.
fn json_fields<'a>(
    reader: &mut Reader<'a, [u8]>,
    names: &[FieldName],
    mut take: impl FnMut(u32, FieldInput<'a, '_>) -> Decoded<()>,
) -> Decoded<()> {
    let mut is_first = true;
    reader.expect(b'{', "an object")?;
    while let Some(key) = reader.key(&mut is_first)? {
        let number = match key.plain() {
            Some(key) => number_of(names, key),
            None => number_of(names, &key.text()),
        };
        match number {
            // A field that is null has its default value.
            Some(number) if !reader.literal("null") => take(number, FieldInput::Json(reader))?,
            Some(_) => {}
            None => drop(reader.skip()?),
        }
    }
    Ok(())
}

/// Returns the number of the field with a JSON name, or with the original name (`trace_id`), which some programs write.
fn number_of(names: &[FieldName], key: &str) -> Option<u32> {
    let exact = names.iter().find(|(name, _)| *name == key);
    let original = || {
        let is_it = |name: &&FieldName| {
            let letters = key.bytes().filter(|byte| *byte != b'_').map(|byte| byte.to_ascii_lowercase());
            letters.eq(name.0.bytes().map(|byte| byte.to_ascii_lowercase()))
        };
        names.iter().filter(|_| key.contains('_')).find(is_it)
    };
    exact.or_else(original).map(|(_, number)| *number)
}

/// Value of a field. It must be read exactly once.
pub(crate) enum FieldInput<'a, 'r> {
    Wire(WireValue<'a>),
    /// Position of the value.
    Json(&'r mut Reader<'a, [u8]>),
}

impl<'a> FieldInput<'a, '_> {
    /// Returns the value, or `None` if it was `null`.
    pub(crate) fn unless_null(self) -> Option<Self> {
        match self {
            Self::Json(reader) => {
                if reader.literal("null") {
                    None
                } else {
                    Some(Self::Json(reader))
                }
            }
            value => Some(value),
        }
    }

    /// Passes each element of a repeated field to `take`.
    pub(crate) fn each(self, mut take: impl FnMut(FieldInput<'a, '_>) -> Decoded<()>) -> Decoded<()> {
        match self {
            Self::Wire(value) => take(FieldInput::Wire(value)),
            Self::Json(reader) => {
                let mut is_first = true;
                reader.expect(b'[', "an array")?;
                while reader.element(&mut is_first)? {
                    take(FieldInput::Json(reader))?;
                }
                Ok(())
            }
        }
    }

    /// Skips a value.
    pub(crate) fn skip(self) -> Decoded<()> {
        if let Self::Json(reader) = self {
            reader.skip()?;
        }
        Ok(())
    }

    /// Returns a message for later, and its range in the request.
    pub(crate) fn message(self) -> Decoded<(EncodedMessage<'a>, Range<usize>)> {
        match self {
            Self::Wire(WireValue::Bytes(bytes, at)) => {
                Ok((EncodedMessage::Wire(bytes, at), at..at + bytes.len()))
            }
            Self::Wire(value) => unexpected("a message", value),
            Self::Json(reader) => {
                if reader.peek() != Some(b'{') {
                    reader.expect(b'{', "an object")?;
                }
                let (message, begin) = (EncodedMessage::Json(reader.clone()), reader.offset());
                reader.skip()?;
                Ok((message, begin..reader.offset()))
            }
        }
    }

    /// Passes the fields of a message: see [`EncodedMessage::fields`].
    pub(crate) fn fields(
        self,
        names: &[FieldName],
        take: impl FnMut(u32, FieldInput<'a, '_>) -> Decoded<()>,
    ) -> Decoded<()> {
        match self {
            Self::Wire(WireValue::Bytes(bytes, at)) => EncodedMessage::Wire(bytes, at).fields(names, take),
            Self::Wire(value) => unexpected("a message", value),
            Self::Json(reader) => json_fields(reader, names, take),
        }
    }

    /// Returns a text. In protobuf, it can have invalid UTF-8.
    pub(crate) fn text(self) -> Decoded<Cow<'a, [u8]>> {
        match self {
            Self::Wire(WireValue::Bytes(bytes, _)) => Ok(Cow::Borrowed(bytes)),
            Self::Wire(value) => unexpected("a text", value),
            Self::Json(reader) => Ok(match reader.string()?.text() {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            }),
        }
    }

    /// Returns bytes, which JSON has in base64.
    pub(crate) fn bytes(self) -> Decoded<Cow<'a, [u8]>> {
        self.binary(from_base64, "base64 digits")
    }

    /// Returns an identifier of `N` bytes, which JSON has as hexadecimal digits. `None` if it is empty or all zero,
    /// which means no identifier.
    pub(crate) fn id<const N: usize>(self) -> Decoded<Option<[u8; N]>> {
        let at = self.offset();
        // Some programs write base64, as is usual in JSON from protobuf.
        let has_length = |bytes: &Vec<u8>| bytes.len() == N || bytes.is_empty();
        let decode = |text: &str| from_hex(text).or_else(|| from_base64(text).filter(has_length));
        let bytes = self.binary(decode, "hexadecimal digits")?;
        match <[u8; N]>::try_from(&*bytes) {
            Ok(id) => Ok(Some(id).filter(|id| *id != [0; N])),
            Err(_) if bytes.is_empty() => Ok(None),
            Err(_) => Err(RequestFault::new(
                at,
                format!("expected an identifier of {N} bytes, found {}", bytes.len()),
            )),
        }
    }

    fn binary(
        self,
        decode: impl FnOnce(&str) -> Option<Vec<u8>>,
        expected: &'static str,
    ) -> Decoded<Cow<'a, [u8]>> {
        match self {
            Self::Wire(WireValue::Bytes(bytes, _)) => Ok(Cow::Borrowed(bytes)),
            Self::Wire(value) => unexpected("bytes", value),
            Self::Json(reader) => {
                reader.peek();
                let at = reader.offset();
                let text = reader.string()?;
                let fault = || RequestFault::new(at, format!("expected {expected}"));
                decode(&text.text()).map(Cow::Owned).ok_or_else(fault)
            }
        }
    }

    /// Returns an unsigned number.
    pub(crate) fn unsigned(self) -> Decoded<u64> {
        self.number("an unsigned number", |value| value, |text| text.parse().ok())
    }

    /// Returns a signed number.
    pub(crate) fn signed(self) -> Decoded<i64> {
        self.number("a number of 64 bits", u64::cast_signed, |text| text.parse().ok())
    }

    /// Returns a signed number of 32 bits, which protobuf has as `sint32`, with the sign in the lowest bit.
    pub(crate) fn zigzag(self) -> Decoded<i32> {
        let at = self.offset();
        let expected = "a signed number of 32 bits";
        let of_bits = |bits: u64| (bits >> 1).cast_signed() ^ -(bits & 1).cast_signed();
        let number = self.number(expected, of_bits, |text| text.parse().ok())?;
        number.try_into().map_err(|_| RequestFault::new(at, format!("expected {expected}, found {number}")))
    }

    /// Returns an enumeration value: a number. In JSON, it can also be a name that ends in one of `names`, which are
    /// sorted by number.
    pub(crate) fn enumeration(self, names: &[&str]) -> Decoded<u64> {
        self.number(
            "an enumeration value",
            |value| value,
            |text| {
                let is_it = |name: &&str| {
                    text.len() >= name.len() && {
                        // Names are ASCII.
                        let end = text.as_bytes().get(text.len() - name.len()..).unwrap_or_default();
                        end.eq_ignore_ascii_case(name.as_bytes())
                    }
                };
                let named = || names.iter().position(is_it).map(|position| position as u64);
                text.parse().ok().or_else(named)
            },
        )
    }

    fn number<N>(
        self,
        expected: &'static str,
        of_bits: impl FnOnce(u64) -> N,
        parse: impl FnOnce(&str) -> Option<N>,
    ) -> Decoded<N> {
        match self {
            Self::Wire(WireValue::Varint(value) | WireValue::Fixed64(value)) => Ok(of_bits(value)),
            Self::Wire(WireValue::Fixed32(value)) => Ok(of_bits(value.into())),
            Self::Wire(value) => unexpected(expected, value),
            Self::Json(reader) => {
                let (at, text) = json_number(reader)?;
                let fault =
                    || RequestFault::new(at, format!("expected {expected}, found `{}`", shorten(&text)));
                parse(&text).ok_or_else(fault)
            }
        }
    }

    /// Returns a floating-point number.
    pub(crate) fn double(self) -> Decoded<f64> {
        self.number("a floating-point number", f64::from_bits, |text| text.parse().ok())
    }

    /// Returns a boolean.
    pub(crate) fn boolean(self) -> Decoded<bool> {
        match self {
            Self::Wire(WireValue::Varint(value)) => Ok(value != 0),
            Self::Wire(value) => unexpected("a boolean", value),
            Self::Json(reader) => {
                if reader.literal("true") {
                    return Ok(true);
                }
                if reader.literal("false") { Ok(false) } else { Ok(reader.error("`true` or `false`")?) }
            }
        }
    }

    /// Passes the 64-bit numbers of a repeated field to `take`, as bits. In protobuf, they are varints or have 8 bytes
    /// each. `parse` reads them from JSON.
    pub(crate) fn packed(
        self,
        are_varints: bool,
        parse: impl Fn(&str) -> Option<u64>,
        mut take: impl FnMut(u64) -> Decoded<()>,
    ) -> Decoded<()> {
        match self {
            Self::Wire(WireValue::Bytes(bytes, at)) => {
                let mut reader = WireReader::new(bytes, at);
                while !reader.is_empty() {
                    take(if are_varints { reader.varint()? } else { reader.fixed()? })?;
                }
                Ok(())
            }
            input => input.each(|number| take(number.number("a number", |bits| bits, &parse)?)),
        }
    }

    /// Returns the offset of the value, or 0 if it is a number in protobuf.
    pub(crate) fn offset(&self) -> usize {
        match self {
            Self::Wire(WireValue::Bytes(_, at)) => *at,
            Self::Wire(_) => 0,
            Self::Json(reader) => reader.offset(),
        }
    }
}

/// Reads a number, or a text with a number, as protobuf's JSON has it for 64-bit integers. Returns its offset.
fn json_number<'a>(reader: &mut Reader<'a, [u8]>) -> Decoded<(usize, Cow<'a, str>)> {
    let first = reader.peek();
    let at = reader.offset();
    Ok((at, if first == Some(b'"') { reader.string()?.text() } else { Cow::Borrowed(reader.number()?) }))
}

fn unexpected<T>(expected: &str, value: WireValue<'_>) -> Decoded<T> {
    let (found, at) = match value {
        WireValue::Varint(_) => ("a varint", 0),
        WireValue::Fixed64(_) => ("8 bytes", 0),
        WireValue::Fixed32(_) => ("4 bytes", 0),
        WireValue::Bytes(_, at) => ("a field with a length", at),
    };
    Err(RequestFault::new(at, format!("expected {expected}, found {found}")))
}

/// Returns the beginning of a text for display.
pub(crate) fn shorten(text: &str) -> &str {
    text.get(..text.floor_char_boundary(40)).unwrap_or(text)
}

/// Returns a text with U+FFFD for invalid UTF-8.
pub(crate) fn lossy(text: Cow<'_, [u8]>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => String::from_utf8_lossy(text),
        Cow::Owned(text) => Cow::Owned(String::from_utf8_lossy(&text).into_owned()),
    }
}
