//! Spans.

use std::borrow::Cow;

use crate::any_value::{AnyValue, NamedValue, ValueDecoder};
use crate::draft::{DraftIds, DraftKind, EventDraft, name_of};
use crate::fault::Decoded;
use crate::input::{EncodedMessage, FieldInput, lossy};
use crate::row::{LinkRow, SpanRow, id_text, text_pairs};
use crate::schema::{link, span, span_event, status};
use ichnos_model::telemetry::{SPAN_KINDS, STATUS_CODES, element_field};

/// A span.
#[derive(Debug, Default)]
pub(crate) struct SpanRecord<'a> {
    trace: Option<[u8; 16]>,
    id: Option<[u8; 8]>,
    parent: Option<[u8; 8]>,
    name: Cow<'a, [u8]>,
    kind: u64,
    start: u64,
    end: u64,
    attributes: Vec<NamedValue<'a>>,
    events: Vec<SpanEventRecord<'a>>,
    links: Vec<SpanLink<'a>>,
    status: u64,
    status_message: Cow<'a, [u8]>,
    trace_state: Cow<'a, [u8]>,
    flags: u64,
    /// Numbers of attributes, events and links that the program dropped.
    dropped: [u64; 3],
}

/// An event of a span.
#[derive(Debug, Default)]
struct SpanEventRecord<'a> {
    time: u64,
    name: Cow<'a, [u8]>,
    attributes: Vec<NamedValue<'a>>,
    dropped: u64,
}

/// A link to another span.
#[derive(Debug, Default)]
struct SpanLink<'a> {
    trace: Option<[u8; 16]>,
    span: Option<[u8; 8]>,
    trace_state: Cow<'a, [u8]>,
    attributes: Vec<NamedValue<'a>>,
    dropped: u64,
    flags: u64,
}

/// Parts of a span that are events: the start, the end, then its own events.
const BEGIN: u32 = 0;
const END: u32 = 1;
const FIRST_EVENT: u32 = 2;

impl<'a> SpanRecord<'a> {
    /// Decodes a span.
    pub(crate) fn decode(message: &EncodedMessage<'a>) -> Decoded<Self> {
        let (mut found, mut values) = (Self::default(), ValueDecoder::default());
        message.fields(span::FIELDS, |field, input| {
            match field {
                span::TRACE_ID => found.trace = input.id()?,
                span::SPAN_ID => found.id = input.id()?,
                span::PARENT => found.parent = input.id()?,
                span::TRACE_STATE => found.trace_state = input.text()?,
                span::NAME => found.name = input.text()?,
                span::KIND => found.kind = input.enumeration(&SPAN_KINDS)?,
                span::START => found.start = input.unsigned()?,
                span::END => found.end = input.unsigned()?,
                span::ATTRIBUTES => values.pairs(input, &mut found.attributes)?,
                span::DROPPED_ATTRIBUTES => found.dropped[0] = input.unsigned()?,
                span::DROPPED_EVENTS => found.dropped[1] = input.unsigned()?,
                span::DROPPED_LINKS => found.dropped[2] = input.unsigned()?,
                span::EVENTS => input.each(|input| {
                    found.events.push(SpanEventRecord::decode(input, &mut values)?);
                    Ok(())
                })?,
                span::LINKS => input.each(|input| {
                    found.links.push(SpanLink::decode(input, &mut values)?);
                    Ok(())
                })?,
                span::STATUS => found.decode_status(input)?,
                _ => found.flags = input.unsigned()?,
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the span as a row.
    pub(crate) fn to_row(&self) -> SpanRow<'_> {
        let text = |bytes| lossy(Cow::Borrowed(bytes));
        let events = self.events.iter();
        let events = events.map(|event| (event.time, text(&event.name), text_pairs(&event.attributes)));
        let links = self.links.iter().map(|link| LinkRow {
            trace_id: id_text(link.trace.as_ref().map(|id| &id[..])),
            span_id: id_text(link.span.as_ref().map(|id| &id[..])),
            trace_state: text(&link.trace_state),
            attributes: text_pairs(&link.attributes),
        });
        SpanRow {
            start: self.start,
            end: self.end_time(),
            trace_id: id_text(self.trace.as_ref().map(|id| &id[..])),
            span_id: id_text(self.id.as_ref().map(|id| &id[..])),
            parent_id: id_text(self.parent.as_ref().map(|id| &id[..])),
            trace_state: text(&self.trace_state),
            name: text(&self.name),
            kind: self.kind,
            status: self.status,
            status_message: text(&self.status_message),
            attributes: text_pairs(&self.attributes),
            events: events.collect(),
            links: links.collect(),
            has_counts: self.has_counts(),
        }
    }

    /// Returns `true` if it has flags, or counts dropped parts.
    fn has_counts(&self) -> bool {
        self.flags != 0
            || self.dropped != [0; 3]
            || self.events.iter().any(|event| event.dropped != 0)
            || self.links.iter().any(|link| link.flags != 0 || link.dropped != 0)
    }

    fn decode_status(&mut self, input: FieldInput<'a, '_>) -> Decoded<()> {
        input.fields(status::FIELDS, |field, input| {
            match field {
                status::MESSAGE => self.status_message = input.text()?,
                _ => self.status = input.enumeration(&STATUS_CODES)?,
            }
            Ok(())
        })
    }

    /// Returns the events of the span, as numbers of its parts with their times. A span without an end time has only a
    /// start.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (u32, u64)> {
        let end = Some((END, self.end_time())).filter(|_| self.end != 0);
        let events = (FIRST_EVENT..).zip(&self.events).map(|(part, event)| (part, event.time));
        // Events at the time of the end come before it.
        std::iter::once((BEGIN, self.start)).chain(events).chain(end)
    }

    /// Returns the time of the end. A span does not end before its start.
    fn end_time(&self) -> u64 {
        self.end.max(self.start)
    }

    /// Returns a part as an event.
    pub(crate) fn into_draft(self, part: u32) -> EventDraft<'a> {
        match part {
            BEGIN => self.into_begin(),
            END => self.into_end(),
            part => self.into_event(part),
        }
    }

    /// Returns the value that starts and ends of spans share.
    fn key(&self) -> AnyValue<'a> {
        AnyValue::Key(u64::from_be_bytes(self.id.unwrap_or_default()))
    }

    fn into_begin(self) -> EventDraft<'a> {
        let key = self.key();
        let same = |link: &SpanLink<'_>| link.span.filter(|_| link.trace == self.trace);
        let linked = self.links.iter().filter_map(same).collect();
        let ids = DraftIds { trace: self.trace, span: self.id, parent: self.parent, linked };
        let mut draft = EventDraft::new(DraftKind::SpanBegin, self.name, self.start, ids);
        draft.push(element_field::SPAN, key);
        if let Some(kind) = name_of(&SPAN_KINDS, self.kind) {
            draft.push(element_field::KIND, kind);
        }
        if !self.links.is_empty() {
            let links = self.links.into_iter().map(SpanLink::into_value).collect();
            draft.push(element_field::LINKS, AnyValue::Array(links));
        }
        draft.push_text(element_field::TRACE_STATE, self.trace_state);
        draft.push_number(element_field::FLAGS, self.flags);
        draft.push_number(element_field::DROPPED_ATTRIBUTES, self.dropped[0]);
        draft.push_number(element_field::DROPPED_LINKS, self.dropped[2]);
        draft.push_attributes(self.attributes);
        draft
    }

    fn into_end(self) -> EventDraft<'a> {
        let (key, time) = (self.key(), self.end_time());
        let ids = DraftIds { trace: self.trace, span: self.id, ..DraftIds::default() };
        let mut draft = EventDraft::new(DraftKind::SpanEnd, self.name, time, ids);
        draft.push(element_field::SPAN, key);
        if time != self.end {
            draft.push_time(element_field::END_TIME, self.end);
        }
        if let Some(status) = name_of(&STATUS_CODES, self.status) {
            draft.push(element_field::STATUS, status);
        }
        draft.push_text(element_field::STATUS_MESSAGE, self.status_message);
        draft.push_number(element_field::DROPPED_EVENTS, self.dropped[1]);
        draft
    }

    fn into_event(mut self, part: u32) -> EventDraft<'a> {
        let index = (part - FIRST_EVENT) as usize;
        // The part was found in the same span.
        let event = if index < self.events.len() {
            self.events.swap_remove(index)
        } else {
            SpanEventRecord::default()
        };
        let ids = DraftIds { trace: self.trace, span: self.id, ..DraftIds::default() };
        let mut draft = EventDraft::new(DraftKind::SpanEvent, event.name, event.time, ids);
        draft.push_number(element_field::DROPPED_ATTRIBUTES, event.dropped);
        draft.push_attributes(event.attributes);
        draft
    }
}

impl<'a> SpanEventRecord<'a> {
    fn decode(input: FieldInput<'a, '_>, values: &mut ValueDecoder) -> Decoded<Self> {
        values.count(input.offset())?;
        let mut found = Self::default();
        input.fields(span_event::FIELDS, |field, input| {
            match field {
                span_event::TIME => found.time = input.unsigned()?,
                span_event::NAME => found.name = input.text()?,
                span_event::ATTRIBUTES => values.pairs(input, &mut found.attributes)?,
                _ => found.dropped = input.unsigned()?,
            }
            Ok(())
        })?;
        Ok(found)
    }
}

impl<'a> SpanLink<'a> {
    fn decode(input: FieldInput<'a, '_>, values: &mut ValueDecoder) -> Decoded<Self> {
        values.count(input.offset())?;
        let mut found = Self::default();
        input.fields(link::FIELDS, |field, input| {
            match field {
                link::TRACE_ID => found.trace = input.id()?,
                link::SPAN_ID => found.span = input.id()?,
                link::TRACE_STATE => found.trace_state = input.text()?,
                link::ATTRIBUTES => values.pairs(input, &mut found.attributes)?,
                link::DROPPED_ATTRIBUTES => found.dropped = input.unsigned()?,
                _ => found.flags = input.unsigned()?,
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the link as a list of its fields. Fields other than identifiers are left out if they have their defaults.
    fn into_value(self) -> AnyValue<'a> {
        let id = |bytes: Option<&[u8]>| bytes.map_or(AnyValue::text(""), AnyValue::id);
        let mut members = vec![
            NamedValue::new(element_field::TRACE_ID, id(self.trace.as_ref().map(|id| &id[..]))),
            NamedValue::new(element_field::SPAN_ID, id(self.span.as_ref().map(|id| &id[..]))),
        ];
        if !self.trace_state.is_empty() {
            members.push(NamedValue::new(element_field::TRACE_STATE, AnyValue::Text(self.trace_state)));
        }
        for (name, number) in
            [(element_field::FLAGS, self.flags), (element_field::DROPPED_ATTRIBUTES, self.dropped)]
        {
            if number != 0 {
                members.push(NamedValue::new(name, AnyValue::Unsigned(number)));
            }
        }
        if !self.attributes.is_empty() {
            members.push(NamedValue::new(element_field::ATTRIBUTES, AnyValue::List(self.attributes)));
        }
        AnyValue::List(members)
    }
}
