//! Log records.

use std::borrow::Cow;

use crate::any_value::{AnyValue, NamedValue, ValueDecoder};
use crate::draft::{DraftIds, DraftKind, EventDraft};
use crate::fault::Decoded;
use crate::input::{EncodedMessage, lossy};
use crate::row::{LogRow, id_text, text_pairs, value_text};
use crate::schema::log;
use ichnos_model::telemetry::element_field;

/// A log record.
#[derive(Debug)]
pub(crate) struct LogRecord<'a> {
    time: u64,
    observed: u64,
    severity: u64,
    severity_text: Cow<'a, [u8]>,
    body: AnyValue<'a>,
    name: Cow<'a, [u8]>,
    attributes: Vec<NamedValue<'a>>,
    dropped: u64,
    flags: u64,
    ids: DraftIds,
}

impl<'a> LogRecord<'a> {
    /// Decodes a log record.
    pub(crate) fn decode(message: &EncodedMessage<'a>) -> Decoded<Self> {
        let mut found = Self {
            time: 0,
            observed: 0,
            severity: 0,
            severity_text: Cow::default(),
            body: AnyValue::Nothing,
            name: Cow::default(),
            attributes: Vec::new(),
            dropped: 0,
            flags: 0,
            ids: DraftIds::default(),
        };
        let mut values = ValueDecoder::default();
        message.fields(log::FIELDS, |field, input| {
            match field {
                log::TIME => found.time = input.unsigned()?,
                log::OBSERVED_TIME => found.observed = input.unsigned()?,
                log::SEVERITY => found.severity = input.enumeration(&log::SEVERITIES)?,
                log::SEVERITY_TEXT => found.severity_text = input.text()?,
                log::BODY => found.body = values.value(input)?,
                log::ATTRIBUTES => values.pairs(input, &mut found.attributes)?,
                log::DROPPED_ATTRIBUTES => found.dropped = input.unsigned()?,
                log::FLAGS => found.flags = input.unsigned()?,
                log::TRACE_ID => found.ids.trace = input.id()?,
                log::SPAN_ID => found.ids.span = input.id()?,
                _ => found.name = input.text()?,
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the time, or else the time of observation.
    pub(crate) fn time(&self) -> u64 {
        if self.time == 0 { self.observed } else { self.time }
    }

    /// Returns the record as a row.
    pub(crate) fn to_row(&self) -> LogRow<'_> {
        let text = |bytes| lossy(Cow::Borrowed(bytes));
        LogRow {
            time: self.time(),
            trace_id: id_text(self.ids.trace.as_ref().map(|id| &id[..])),
            span_id: id_text(self.ids.span.as_ref().map(|id| &id[..])),
            flags: self.flags,
            severity: self.severity,
            severity_text: text(&self.severity_text),
            body: value_text(&self.body),
            attributes: text_pairs(&self.attributes),
            event_name: text(&self.name),
            has_counts: self.dropped != 0
                || (self.time != 0 && self.observed != 0 && self.observed != self.time),
        }
    }

    /// Returns the record as an event.
    pub(crate) fn into_draft(self) -> EventDraft<'a> {
        let time = self.time();
        let mut draft = EventDraft::new(DraftKind::Log, self.name, time, self.ids);
        draft.push_number(element_field::SEVERITY, self.severity);
        draft.push_text(element_field::SEVERITY_TEXT, self.severity_text);
        match self.body {
            AnyValue::Nothing => {}
            text @ AnyValue::Text(_) => draft.push(element_field::MESSAGE, text),
            body => draft.push(element_field::BODY, body),
        }
        if self.time != 0 {
            draft.push_time(element_field::OBSERVED_TIME, self.observed);
        } else if time != 0 {
            draft.push(element_field::TIME_IS_OBSERVED, AnyValue::Boolean(true));
        }
        draft.push_number(element_field::FLAGS, self.flags);
        draft.push_number(element_field::DROPPED_ATTRIBUTES, self.dropped);
        draft.push_attributes(self.attributes);
        draft
    }
}
