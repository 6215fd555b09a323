//! Text fields of events, in any encoding.

use std::borrow::Cow;

use ichnos_model::Event;
use ichnos_model::field::{FieldRef, FieldValue, StringEncoding, Text};
use ichnos_model::meaning::Meaning;

/// Field of an event class with a text.
#[derive(Debug)]
pub struct TextField {
    field: FieldRef,
    encoding: StringEncoding,
}

impl TextField {
    /// Prepares a field in the event's class.
    pub fn new(event: &Event<'_>, field: FieldRef) -> Self {
        Self { encoding: field.encoding(event), field }
    }

    /// Finds the first member with a meaning in the event's class.
    pub fn for_meaning(event: &Event<'_>, meaning: Meaning) -> Option<Self> {
        FieldRef::for_meaning(event, meaning).map(|field| Self::new(event, field))
    }

    /// Returns the field.
    pub fn field(&self) -> &FieldRef {
        &self.field
    }

    /// Returns the text of an event in UTF-8, with U+FFFD for invalid parts. `None` for other values than texts.
    pub fn get<'e>(&self, event: &Event<'e>) -> Option<Cow<'e, str>> {
        self.text_of(event.get(&self.field)?)
    }

    /// Returns the text in a value of the field, like [`get`](Self::get).
    pub fn text_of<'e>(&self, value: FieldValue<'e>) -> Option<Cow<'e, str>> {
        let FieldValue::Text(bytes) = value else { return None };
        Some(Text { bytes, raw: bytes, encoding: self.encoding }.to_str_lossy())
    }
}
