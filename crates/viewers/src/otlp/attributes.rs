//! Arguments as attributes.

use super::encoding::{OtlpEncoding, OtlpField};
use super::schema::value;
use crate::arguments::{ArgumentNames, ArgumentSink, UNNAMED};

/// Incomplete list or array.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenValue {
    is_array: bool,
    /// Position of the attribute. `None` for an array element.
    attribute: Option<usize>,
    /// Position of the value.
    value: usize,
    /// Position of the list in the value.
    list: usize,
}

/// Appends the beginning of an attribute, up to its value. Returns the position of the value.
fn begin_value(encoding: OtlpEncoding, out: &mut Vec<u8>, name: &str) -> usize {
    encoding.text(out, value::KEY, name.as_bytes());
    encoding.begin(out, value::VALUE)
}

/// Returns an empty list of attribute names.
pub(super) fn attribute_names(encoding: OtlpEncoding) -> ArgumentNames {
    let encode: fn(&str, &mut Vec<u8>) = match encoding {
        OtlpEncoding::Json => |name, out| {
            begin_value(OtlpEncoding::Json, out, name);
        },
        OtlpEncoding::Protobuf => |name, out| {
            begin_value(OtlpEncoding::Protobuf, out, name);
        },
    };
    ArgumentNames::new(encode)
}

/// Argument writer that appends attributes to `out`.
pub(super) struct AttributeWriter<'w> {
    encoding: OtlpEncoding,
    pub(super) out: &'w mut Vec<u8>,
    /// Message field that contains the attributes.
    field: OtlpField,
    names: &'w ArgumentNames,
    open: &'w mut Vec<OpenValue>,
    /// Number of attributes without a name.
    unnamed: u32,
    /// `true` if an attribute is too large.
    pub(super) is_too_large: bool,
    /// `true` if the field contains a value, without a name.
    is_bare: bool,
}

impl<'w> AttributeWriter<'w> {
    pub(super) fn new(
        encoding: OtlpEncoding,
        out: &'w mut Vec<u8>,
        field: OtlpField,
        names: &'w ArgumentNames,
        open: &'w mut Vec<OpenValue>,
    ) -> Self {
        open.clear();
        Self { encoding, out, field, names, open, unnamed: 0, is_too_large: false, is_bare: false }
    }

    /// Writes values without names as the field.
    pub(super) fn bare(self) -> Self {
        Self { is_bare: true, ..self }
    }

    /// Starts the value of an attribute or element. Returns the positions of the attribute and the value.
    #[inline]
    fn begin(&mut self, name: u32) -> (Option<usize>, usize) {
        let field = match self.open.last() {
            // Array elements have no names, even if the option of a variant has a name.
            Some(open) if open.is_array => {
                return (None, self.encoding.begin_element(self.out, value::VALUES));
            }
            Some(_) => value::VALUES,
            None if self.is_bare => return (None, self.encoding.begin(self.out, self.field)),
            None => self.field,
        };
        let attribute = self.encoding.begin_element(self.out, field);
        if name == 0 {
            let name = format!("{UNNAMED}{}", self.unnamed);
            self.unnamed += 1;
            return (Some(attribute), begin_value(self.encoding, self.out, &name));
        }
        self.out.extend_from_slice(self.names.key(name));
        (Some(attribute), self.out.len())
    }

    #[inline]
    fn end(&mut self, attribute: Option<usize>, value: usize) {
        self.is_too_large |= !self.encoding.end(self.out, value);
        if let Some(attribute) = attribute {
            self.is_too_large |= !self.encoding.end(self.out, attribute);
        }
    }

    #[inline]
    fn write(&mut self, name: u32, push: impl FnOnce(OtlpEncoding, &mut Vec<u8>)) {
        let (attribute, value) = self.begin(name);
        push(self.encoding, self.out);
        self.end(attribute, value);
    }

    /// Returns the attributes from a position on, without the comma in front of them. `None` if they would differ
    /// elsewhere, because their names are numbers or because they are too large.
    pub(super) fn attributes(&self, begin: usize) -> Option<&[u8]> {
        let attributes = self.out.get(begin..).filter(|_| self.unnamed == 0 && !self.is_too_large)?;
        Some(match self.encoding {
            OtlpEncoding::Json => attributes.strip_prefix(b",").unwrap_or(attributes),
            OtlpEncoding::Protobuf => attributes,
        })
    }

    /// Appends attributes that were encoded before, without the comma in front of them.
    #[inline]
    pub(super) fn push_attributes(&mut self, attributes: &[u8]) {
        self.encoding.push_elements(self.out, attributes);
    }

    /// Closes containers that a failed decoding left open.
    pub(super) fn close(&mut self) {
        while !self.open.is_empty() {
            self.leave();
        }
    }
}

impl ArgumentSink for AttributeWriter<'_> {
    #[inline]
    fn unsigned(&mut self, name: u32, value: u64) {
        match i64::try_from(value) {
            Ok(value) => self.signed(name, value),
            // Attribute integers have at most 63 bits and a sign.
            Err(_) => self.text(name, value.to_string().as_bytes()),
        }
    }

    #[inline]
    fn signed(&mut self, name: u32, value: i64) {
        self.write(name, |encoding, out| encoding.integer(out, value::INTEGER, value));
    }

    fn boolean(&mut self, name: u32, value: bool) {
        self.write(name, |encoding, out| encoding.boolean(out, value::BOOLEAN, value));
    }

    fn double(&mut self, name: u32, value: f64) {
        self.write(name, |encoding, out| encoding.double(out, value::DOUBLE, value));
    }

    #[inline]
    fn text(&mut self, name: u32, text: &[u8]) {
        self.write(name, |encoding, out| encoding.text(out, value::STRING, text));
    }

    fn null(&mut self, name: u32) {
        // A value without a type.
        self.write(name, |_, _| ());
    }

    const HAS_BYTES: bool = true;

    fn bytes(&mut self, name: u32, bytes: &[u8]) {
        self.write(name, |encoding, out| encoding.bytes(out, value::BYTES, bytes));
    }

    fn enter(&mut self, name: u32, is_array: bool) {
        let (attribute, value) = self.begin(name);
        let list = self.encoding.begin(self.out, if is_array { value::ARRAY } else { value::LIST });
        self.encoding.begin_list(self.out, value::VALUES);
        self.open.push(OpenValue { is_array, attribute, value, list });
    }

    fn leave(&mut self) {
        if let Some(OpenValue { attribute, value, list, .. }) = self.open.pop() {
            self.encoding.end_list(self.out);
            self.is_too_large |= !self.encoding.end(self.out, list);
            self.end(attribute, value);
        }
    }
}

/// Appends an attribute that is not an event field.
pub(super) fn push_attribute(
    encoding: OtlpEncoding,
    out: &mut Vec<u8>,
    field: OtlpField,
    key: &str,
    push: impl FnOnce(&mut Vec<u8>),
) {
    let attribute = encoding.begin_element(out, field);
    encoding.text(out, value::KEY, key.as_bytes());
    let value = encoding.begin(out, value::VALUE);
    push(out);
    encoding.end(out, value);
    encoding.end(out, attribute);
}

/// Appends a text attribute.
pub(super) fn push_text(encoding: OtlpEncoding, out: &mut Vec<u8>, field: OtlpField, key: &str, text: &str) {
    push_attribute(encoding, out, field, key, |out| encoding.text(out, value::STRING, text.as_bytes()));
}

/// Appends an integer attribute, or a text attribute for more than 63 bits.
pub(super) fn push_number(
    encoding: OtlpEncoding,
    out: &mut Vec<u8>,
    field: OtlpField,
    key: &str,
    number: u64,
) {
    match i64::try_from(number) {
        Ok(number) => {
            push_attribute(encoding, out, field, key, |out| encoding.integer(out, value::INTEGER, number));
        }
        Err(_) => push_text(encoding, out, field, key, &number.to_string()),
    }
}
