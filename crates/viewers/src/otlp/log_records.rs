//! Log records, span events, and counter values.

use ichnos_model::log::LogLevel;
use ichnos_model::lower::{LossKind, LossTable};

use super::attributes::{AttributeWriter, OpenValue, push_number, push_text};
use super::encoding::{OtlpEncoding, OtlpField};
use super::event_context::EventContext;
use super::ids::SpanIds;
use super::schema::{log, metric, span, value};
use crate::arguments::ScopeArguments;
use ichnos_analysis::events::losses::{LossNote, record_loss};
use ichnos_analysis::events::names::NumberedNames;

/// Encoder of event parts.
#[derive(Debug)]
pub(super) struct ElementEncoder {
    pub(super) encoding: OtlpEncoding,
    /// Attribute names.
    pub(super) names: NumberedNames,
    /// Reused buffer.
    open: Vec<OpenValue>,
    text: Vec<u8>,
    pub(super) message: String,
}

/// Returns the OpenTelemetry number and name of a log level.
fn severity(level: LogLevel) -> (u64, &'static str) {
    let number = match level {
        LogLevel::Trace => 1,
        LogLevel::Debug => 5,
        LogLevel::Info => 9,
        LogLevel::Warn => 13,
        LogLevel::Error => 17,
        LogLevel::Fatal => 21,
    };
    (number, level.name())
}

impl ElementEncoder {
    pub(super) fn new(encoding: OtlpEncoding) -> Self {
        Self {
            encoding,
            names: NumberedNames::default(),
            open: Vec::new(),
            text: Vec::new(),
            message: String::new(),
        }
    }

    /// Appends the event fields as attributes. Returns `false` if they are too large.
    pub(super) fn push_fields(
        &mut self,
        context: &EventContext<'_, '_>,
        field: OtlpField,
        out: &mut Vec<u8>,
        losses: &mut LossTable,
    ) -> bool {
        let mut attributes = AttributeWriter::new(self.encoding, out, field, &self.names, &mut self.open);
        let mut is_whole = true;
        for scope in &context.class.scopes {
            let mut visitor = ScopeArguments::new(attributes, scope, &mut self.text);
            is_whole &= context.event.visit(scope.scope, &mut visitor).is_ok();
            attributes = visitor.arguments;
            attributes.close();
        }
        let fits = !attributes.is_too_large;
        if !is_whole {
            record_loss(losses, context.event, LossKind::Dropped, "", "undecodable fields");
        }
        fits
    }

    /// Appends the thread as attributes.
    pub(super) fn push_thread(&self, context: &EventContext<'_, '_>, field: OtlpField, out: &mut Vec<u8>) {
        if let Some(thread) = context.class.thread(context.event) {
            push_number(self.encoding, out, field, "thread.id", thread);
        }
        if let Some(name) = context.place.thread_name {
            push_text(self.encoding, out, field, "thread.name", name);
        }
    }

    /// Appends a span event. Returns `false` if it is too large.
    pub(super) fn push_span_event(
        &mut self,
        context: &EventContext<'_, '_>,
        out: &mut Vec<u8>,
        losses: &mut LossTable,
    ) -> bool {
        let encoding = self.encoding;
        let at = encoding.begin_element(out, span::EVENTS);
        encoding.known_time(out, span::EVENT_TIME, context.time);
        encoding.text(out, span::EVENT_NAME, context.name.as_bytes());
        encoding.begin_list(out, span::EVENT_ATTRIBUTES);
        let fits = self.push_fields(context, span::EVENT_ATTRIBUTES, out, losses);
        encoding.end_list(out);
        encoding.end(out, at) && fits
    }

    /// Appends a log record. Returns `false` if it is too large.
    pub(super) fn push_log_record(
        &mut self,
        context: &EventContext<'_, '_>,
        ids: Option<SpanIds>,
        element: OtlpField,
        out: &mut Vec<u8>,
        losses: &mut LossTable,
    ) -> bool {
        let encoding = self.encoding;
        let at = encoding.begin_element(out, element);
        encoding.known_time(out, log::TIME, context.time);
        if let Some(level) = context.class.level(context.event) {
            let (number, name) = severity(level);
            encoding.enumeration(out, log::SEVERITY, number);
            encoding.text(out, log::SEVERITY_TEXT, name.as_bytes());
        }
        context.class.message(context.event, &mut self.message);
        let name = context.name;
        let body = if self.message.is_empty() { name } else { &self.message };
        let body_at = encoding.begin(out, log::BODY);
        encoding.text(out, value::STRING, body.as_bytes());
        let mut fits = encoding.end(out, body_at);
        encoding.text(out, log::EVENT_NAME, name.as_bytes());
        encoding.begin_list(out, log::ATTRIBUTES);
        fits &= self.push_fields(context, log::ATTRIBUTES, out, losses);
        self.push_thread(context, log::ATTRIBUTES, out);
        encoding.end_list(out);
        if let Some(ids) = ids {
            encoding.id(out, log::TRACE_ID, &ids.trace);
            encoding.id(out, log::SPAN_ID, &ids.span);
        }
        encoding.end(out, at) && fits
    }

    /// Appends a loss as a log record.
    pub(super) fn push_loss(
        &self,
        note: &LossNote,
        time: u64,
        element: OtlpField,
        out: &mut Vec<u8>,
    ) -> bool {
        let encoding = self.encoding;
        let at = encoding.begin_element(out, element);
        encoding.known_time(out, log::TIME, time);
        let (number, name) = severity(LogLevel::Warn);
        encoding.enumeration(out, log::SEVERITY, number);
        encoding.text(out, log::SEVERITY_TEXT, name.as_bytes());
        let body = encoding.begin(out, log::BODY);
        encoding.text(out, value::STRING, note.name.as_bytes());
        encoding.end(out, body);
        encoding.begin_list(out, log::ATTRIBUTES);
        note.texts.iter().for_each(|(name, text)| push_text(encoding, out, log::ATTRIBUTES, name, text));
        for (name, number) in &note.numbers {
            push_number(encoding, out, log::ATTRIBUTES, name, *number);
        }
        encoding.end_list(out);
        encoding.end(out, at)
    }

    /// Appends a counter value as a data point.
    pub(super) fn push_point(
        &self,
        context: &EventContext<'_, '_>,
        value: PointValue,
        element: OtlpField,
        out: &mut Vec<u8>,
    ) -> bool {
        let encoding = self.encoding;
        let at = encoding.begin_element(out, element);
        encoding.known_time(out, metric::TIME, context.time);
        match value {
            PointValue::Integer(value) => encoding.fixed_integer(out, metric::INTEGER, value),
            PointValue::Double(value) => encoding.double(out, metric::DOUBLE, value),
        }
        encoding.begin_list(out, metric::ATTRIBUTES);
        let number = context.class.class.counter_number(context.event);
        if number != 0 {
            push_number(encoding, out, metric::ATTRIBUTES, "counter.id", number);
        }
        if let Some(processor) = context.place.processor.filter(|_| context.place.process.is_none()) {
            push_number(encoding, out, metric::ATTRIBUTES, "cpu.logical_number", processor);
        }
        encoding.end_list(out);
        encoding.end(out, at)
    }
}

/// Counter value.
#[derive(Clone, Copy, Debug)]
pub(super) enum PointValue {
    Integer(i64),
    Double(f64),
}
