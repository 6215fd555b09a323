//! Structures that are written as messages: links of spans, exemplars and quantiles of data points.

use ichnos_model::telemetry::element_field;

use super::attributes::{AttributeWriter, push_attribute};
use super::encoding::{OtlpEncoding, OtlpField};
use super::ids::{SpanId, TraceId, from_hex};
use super::schema::{exemplar, histogram, metric, span, summary, value};
use crate::arguments::{ArgumentNames, ArgumentSink};

/// Form of a message field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageForm {
    TraceId,
    SpanId,
    Text,
    /// `fixed32`
    ShortFixed,
    /// `uint32`
    Count,
    /// `fixed64`
    Time,
    /// `sfixed64`
    Integer,
    Double,
}

/// Message that an element repeats.
#[derive(Debug)]
pub(super) struct RepeatedMessage {
    /// Field of the element.
    pub(super) field: OtlpField,
    /// Field with the attributes. `None` if it has none.
    attributes: Option<OtlpField>,
    /// `true` if the attributes are an array of structures: a name, and a member with the value.
    has_pairs: bool,
    /// Names of structure members, and their fields. A number can be in one of two fields.
    fields: &'static [(&'static str, MessageForm, OtlpField)],
}

pub(super) static LINKS: RepeatedMessage = RepeatedMessage {
    field: span::LINKS,
    attributes: Some(span::LINK_ATTRIBUTES),
    has_pairs: false,
    fields: &[
        (element_field::TRACE_ID, MessageForm::TraceId, span::TRACE_ID),
        (element_field::SPAN_ID, MessageForm::SpanId, span::SPAN_ID),
        (element_field::TRACE_STATE, MessageForm::Text, span::LINK_TRACE_STATE),
        (element_field::FLAGS, MessageForm::ShortFixed, span::LINK_FLAGS),
        (element_field::DROPPED_ATTRIBUTES, MessageForm::Count, span::LINK_DROPPED_ATTRIBUTES),
    ],
};

/// Exemplars of gauges and sums.
pub(super) static EXEMPLARS: RepeatedMessage = exemplars(metric::EXEMPLARS);

pub(super) static HISTOGRAM_EXEMPLARS: RepeatedMessage = exemplars(histogram::EXEMPLARS);

pub(super) static EXPONENTIAL_EXEMPLARS: RepeatedMessage = exemplars(super::schema::exponential::EXEMPLARS);

const fn exemplars(field: OtlpField) -> RepeatedMessage {
    RepeatedMessage {
        field,
        attributes: Some(exemplar::ATTRIBUTES),
        has_pairs: true,
        fields: &[
            (element_field::TIME, MessageForm::Time, exemplar::TIME),
            (element_field::VALUE, MessageForm::Integer, exemplar::INTEGER),
            (element_field::VALUE, MessageForm::Double, exemplar::DOUBLE),
            (element_field::TRACE_ID, MessageForm::TraceId, exemplar::TRACE_ID),
            (element_field::SPAN_ID, MessageForm::SpanId, exemplar::SPAN_ID),
        ],
    }
}

pub(super) static QUANTILES: RepeatedMessage = RepeatedMessage {
    field: summary::QUANTILES,
    attributes: None,
    has_pairs: false,
    fields: &[
        (element_field::QUANTILE, MessageForm::Double, summary::QUANTILE),
        (element_field::VALUE, MessageForm::Double, summary::VALUE),
    ],
};

impl RepeatedMessage {
    /// Returns the field of the attributes, or else the field of the element, which is not used then.
    pub(super) fn attribute_field(&self) -> OtlpField {
        self.attributes.unwrap_or(self.field)
    }

    /// Returns the field of a structure member with a form that is accepted.
    fn find(
        &self,
        name: &str,
        is_accepted: impl Fn(MessageForm) -> bool,
    ) -> Option<(MessageForm, OtlpField)> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(known, form, _)| *known == name && is_accepted(*form));
        found.map(|(_, form, field)| (*form, *field))
    }
}

/// Argument writer that appends messages.
pub(super) struct MessageSink<'w> {
    message: &'static RepeatedMessage,
    /// Writer of the attributes of a message.
    attributes: AttributeWriter<'w>,
    encoding: OtlpEncoding,
    names: &'w ArgumentNames,
    /// Number of open containers: the array, a message, its attributes, and what is in them.
    depth: u32,
    /// Position of the message.
    begin: usize,
    /// Name of an attribute whose value follows.
    key: Option<String>,
    is_too_large: bool,
}

/// Depths of the array, of a message, of an array with its attributes, and of a structure in it.
const ARRAY: u32 = 1;
const MESSAGE: u32 = 2;
const PAIRS: u32 = 3;
const PAIR: u32 = 4;

impl<'w> MessageSink<'w> {
    /// Creates a writer. `attributes` writes the attributes of the message.
    pub(super) fn new(
        message: &'static RepeatedMessage,
        attributes: AttributeWriter<'w>,
        encoding: OtlpEncoding,
        names: &'w ArgumentNames,
    ) -> Self {
        Self { message, attributes, encoding, names, depth: 0, begin: 0, key: None, is_too_large: false }
    }

    /// Ends the messages. Returns `false` if they are too large.
    pub(super) fn end(mut self) -> bool {
        while self.depth > 0 {
            self.leave();
        }
        !self.is_too_large && !self.attributes.is_too_large
    }

    /// Returns the writer of what is in an attribute. `None` outside of attributes.
    fn attribute(&mut self) -> Option<&mut AttributeWriter<'w>> {
        let RepeatedMessage { attributes, has_pairs, .. } = self.message;
        (self.depth > MESSAGE && attributes.is_some() && !has_pairs).then_some(&mut self.attributes)
    }

    /// Returns `true` within a structure of an attribute's name and value.
    fn is_pair(&self) -> bool {
        self.message.has_pairs && self.depth == PAIR
    }

    /// Appends the attribute whose name was last.
    fn push_pair(&mut self, push: impl FnOnce(OtlpEncoding, &mut Vec<u8>)) {
        if let Some((key, field)) = self.key.take().zip(self.message.attributes) {
            let encoding = self.encoding;
            push_attribute(encoding, self.attributes.out, field, &key, |out| push(encoding, out));
        }
    }

    fn number(&mut self, name: u32, value: u64) {
        if self.depth != MESSAGE {
            return;
        }
        let is_accepted = |form| !matches!(form, MessageForm::Text | MessageForm::Double);
        let Some((form, field)) = self.message.find(self.names.name(name), is_accepted) else { return };
        let (encoding, out) = (self.encoding, &mut *self.attributes.out);
        match form {
            MessageForm::ShortFixed => encoding.short_fixed(out, field, value),
            MessageForm::Count => encoding.count(out, field, value),
            MessageForm::Time => encoding.known_time(out, field, value),
            MessageForm::Integer => {
                let value = i64::try_from(value).ok();
                value.into_iter().for_each(|value| encoding.fixed_integer(out, field, value));
            }
            _ => {}
        }
    }

    fn integer(&mut self, name: u32, value: i64) {
        let found = self.message.find(self.names.name(name), |form| form == MessageForm::Integer);
        if let Some((_, field)) = found.filter(|_| self.depth == MESSAGE) {
            self.encoding.fixed_integer(self.attributes.out, field, value);
        }
    }
}

impl ArgumentSink for MessageSink<'_> {
    const HAS_BYTES: bool = true;

    fn unsigned(&mut self, name: u32, value: u64) {
        if let (true, Ok(value)) = (self.is_pair(), i64::try_from(value)) {
            return self.signed(name, value);
        }
        match self.attribute() {
            Some(attributes) => attributes.unsigned(name, value),
            None => self.number(name, value),
        }
    }

    fn signed(&mut self, name: u32, value: i64) {
        if self.is_pair() {
            return self.push_pair(|encoding, out| encoding.integer(out, value::INTEGER, value));
        }
        match self.attribute() {
            Some(attributes) => attributes.signed(name, value),
            None => self.integer(name, value),
        }
    }

    fn boolean(&mut self, name: u32, value: bool) {
        if self.is_pair() {
            return self.push_pair(|encoding, out| encoding.boolean(out, value::BOOLEAN, value));
        }
        self.attribute().into_iter().for_each(|attributes| attributes.boolean(name, value));
    }

    fn double(&mut self, name: u32, value: f64) {
        if self.is_pair() {
            return self.push_pair(|encoding, out| encoding.double(out, value::DOUBLE, value));
        }
        if let Some(attributes) = self.attribute() {
            return attributes.double(name, value);
        }
        let found = self.message.find(self.names.name(name), |form| form == MessageForm::Double);
        if let Some((_, field)) = found.filter(|_| self.depth == MESSAGE) {
            self.encoding.double(self.attributes.out, field, value);
        }
    }

    fn null(&mut self, name: u32) {
        self.attribute().into_iter().for_each(|attributes| attributes.null(name));
    }

    fn bytes(&mut self, name: u32, bytes: &[u8]) {
        if self.is_pair() {
            return self.push_pair(|encoding, out| encoding.bytes(out, value::BYTES, bytes));
        }
        self.attribute().into_iter().for_each(|attributes| attributes.bytes(name, bytes));
    }

    fn text(&mut self, name: u32, text: &[u8]) {
        if self.is_pair() {
            return match self.names.name(name) {
                element_field::NAME => self.key = Some(String::from_utf8_lossy(text).into_owned()),
                _ => self.push_pair(|encoding, out| encoding.text(out, value::STRING, text)),
            };
        }
        if let Some(attributes) = self.attribute() {
            return attributes.text(name, text);
        }
        if self.depth != MESSAGE {
            return;
        }
        let (encoding, names) = (self.encoding, self.names);
        let digits = || std::str::from_utf8(text).ok();
        if let (element_field::ATTRIBUTES, Some(field)) = (names.name(name), self.message.attributes) {
            // Attributes without a common type are a text.
            encoding.begin_list(self.attributes.out, field);
            self.attributes.text(name, text);
            return encoding.end_list(self.attributes.out);
        }
        match self.message.find(names.name(name), |_| true) {
            Some((MessageForm::TraceId, field)) => {
                let id: Option<TraceId> = digits().and_then(from_hex);
                id.iter().for_each(|id| encoding.id(self.attributes.out, field, id));
            }
            Some((MessageForm::SpanId, field)) => {
                let id: Option<SpanId> = digits().and_then(from_hex);
                id.iter().for_each(|id| encoding.id(self.attributes.out, field, id));
            }
            Some((MessageForm::Text, field)) => encoding.text(self.attributes.out, field, text),
            // Integers and floating-point numbers in an array are texts.
            Some((MessageForm::Integer | MessageForm::Double, _)) => {
                if let Some(integer) = digits().and_then(|digits| digits.parse().ok()) {
                    self.integer(name, integer);
                } else if let Some(number) = digits().and_then(|digits| digits.parse().ok()) {
                    self.double(name, number);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, name: u32, is_array: bool) {
        match self.depth {
            0 => {}
            ARRAY => self.begin = self.encoding.begin_element(self.attributes.out, self.message.field),
            MESSAGE => {
                let field = self.message.attributes;
                field.into_iter().for_each(|field| self.encoding.begin_list(self.attributes.out, field));
            }
            _ => self.attribute().into_iter().for_each(|attributes| attributes.enter(name, is_array)),
        }
        self.depth += 1;
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        match self.depth {
            0 => {}
            ARRAY => self.is_too_large |= !self.encoding.end(self.attributes.out, self.begin),
            MESSAGE if self.message.attributes.is_some() => self.encoding.end_list(self.attributes.out),
            // An attribute without a value.
            PAIRS if self.message.has_pairs => self.push_pair(|_, _| ()),
            _ => self.attribute().into_iter().for_each(AttributeWriter::leave),
        }
    }
}
