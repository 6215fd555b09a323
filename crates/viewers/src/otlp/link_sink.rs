//! Links of spans.

use ichnos_model::telemetry::element_field;

use super::attributes::AttributeWriter;
use super::encoding::OtlpEncoding;
use super::ids::{SpanId, TraceId, from_hex};
use super::schema::span;
use crate::arguments::{ArgumentNames, ArgumentSink};

/// Argument writer that appends links.
pub(super) struct LinkSink<'w> {
    /// Writer of the attributes of a link.
    attributes: AttributeWriter<'w>,
    encoding: OtlpEncoding,
    names: &'w ArgumentNames,
    /// Number of open containers: the array, a link, its attributes, and what is in them.
    depth: u32,
    /// Position of the link.
    link: usize,
    is_too_large: bool,
}

/// Depths of the array and of a link.
const ARRAY: u32 = 1;
const LINK: u32 = 2;

impl<'w> LinkSink<'w> {
    pub(super) fn new(
        attributes: AttributeWriter<'w>,
        encoding: OtlpEncoding,
        names: &'w ArgumentNames,
    ) -> Self {
        Self { attributes, encoding, names, depth: 0, link: 0, is_too_large: false }
    }

    /// Ends the links. Returns `false` if they are too large.
    pub(super) fn end(mut self) -> bool {
        while self.depth > 0 {
            self.leave();
        }
        !self.is_too_large && !self.attributes.is_too_large
    }

    fn number(&mut self, name: u32, value: u64) {
        let out = &mut *self.attributes.out;
        match self.names.name(name) {
            element_field::FLAGS => self.encoding.short_fixed(out, span::LINK_FLAGS, value),
            element_field::DROPPED_ATTRIBUTES => {
                self.encoding.count(out, span::LINK_DROPPED_ATTRIBUTES, value);
            }
            _ => {}
        }
    }
}

impl ArgumentSink for LinkSink<'_> {
    const HAS_BYTES: bool = true;

    fn unsigned(&mut self, name: u32, value: u64) {
        if self.depth > LINK { self.attributes.unsigned(name, value) } else { self.number(name, value) }
    }

    fn signed(&mut self, name: u32, value: i64) {
        if self.depth > LINK {
            self.attributes.signed(name, value);
        }
    }

    fn boolean(&mut self, name: u32, value: bool) {
        if self.depth > LINK {
            self.attributes.boolean(name, value);
        }
    }

    fn double(&mut self, name: u32, value: f64) {
        if self.depth > LINK {
            self.attributes.double(name, value);
        }
    }

    fn null(&mut self, name: u32) {
        if self.depth > LINK {
            self.attributes.null(name);
        }
    }

    fn bytes(&mut self, name: u32, bytes: &[u8]) {
        if self.depth > LINK {
            self.attributes.bytes(name, bytes);
        }
    }

    fn text(&mut self, name: u32, text: &[u8]) {
        if self.depth > LINK {
            return self.attributes.text(name, text);
        }
        let (encoding, names) = (self.encoding, self.names);
        let digits = || std::str::from_utf8(text).ok();
        let out = &mut *self.attributes.out;
        match names.name(name) {
            element_field::TRACE_ID => {
                let id: Option<TraceId> = digits().and_then(from_hex);
                id.iter().for_each(|id| encoding.id(out, span::TRACE_ID, id));
            }
            element_field::SPAN_ID => {
                let id: Option<SpanId> = digits().and_then(from_hex);
                id.iter().for_each(|id| encoding.id(out, span::SPAN_ID, id));
            }
            element_field::TRACE_STATE => encoding.text(out, span::LINK_TRACE_STATE, text),
            // Attributes without a common type are a text.
            element_field::ATTRIBUTES => {
                encoding.begin_list(out, span::LINK_ATTRIBUTES);
                self.attributes.text(name, text);
                encoding.end_list(self.attributes.out);
            }
            _ => {}
        }
    }

    fn enter(&mut self, name: u32, is_array: bool) {
        match self.depth {
            0 => {}
            ARRAY => self.link = self.encoding.begin_element(self.attributes.out, span::LINKS),
            LINK => self.encoding.begin_list(self.attributes.out, span::LINK_ATTRIBUTES),
            _ => self.attributes.enter(name, is_array),
        }
        self.depth += 1;
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        match self.depth {
            0 => {}
            ARRAY => self.is_too_large |= !self.encoding.end(self.attributes.out, self.link),
            LINK => self.encoding.end_list(self.attributes.out),
            _ => self.attributes.leave(),
        }
    }
}
