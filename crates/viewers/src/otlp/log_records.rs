//! Log records, span events, and counter values.

use ichnos_model::Event;
use ichnos_model::log::LogLevel;
use ichnos_model::lower::{LossKind, LossTable};

use super::attributes::{AttributeWriter, OpenValue, attribute_names, push_number, push_text};
use super::batch::OtlpSignal;
use super::class::OtlpClass;
use super::encoding::{OtlpEncoding, OtlpField};
use super::event_context::EventContext;
use super::ids::SpanIds;
use super::point_value::PointValue;
use super::schema::{log, metric, span, value};
use crate::arguments::{ArgumentNames, ContextArguments, ScopeArguments};
use crate::event_track::LastName;
use ichnos_analysis::events::losses::{LossNote, record_loss};

/// Encoder of event parts.
#[derive(Debug)]
pub(super) struct ElementEncoder {
    pub(super) encoding: OtlpEncoding,
    /// Attribute names.
    pub(super) names: ArgumentNames,
    /// Reused buffer.
    pub(super) open: Vec<OpenValue>,
    pub(super) text: Vec<u8>,
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

/// Encoded attributes of the last event of a data stream. Successive events often share them.
#[derive(Debug, Default)]
pub(super) struct LastAttributes {
    /// Attributes of the common context.
    context: ContextArguments,
    /// Thread, and its attributes.
    thread: Option<u64>,
    thread_name: LastName,
    of_thread: Vec<u8>,
}

/// Appends the fields of a log record between its time and its attributes, given the event name and the message.
/// Returns `false` if they are too large.
fn push_record(
    encoding: OtlpEncoding,
    level: Option<LogLevel>,
    [name, message]: [&str; 2],
    out: &mut Vec<u8>,
) -> bool {
    if let Some(level) = level {
        let (number, name) = severity(level);
        encoding.enumeration(out, log::SEVERITY, number);
        encoding.text(out, log::SEVERITY_TEXT, name.as_bytes());
    }
    let body = if message.is_empty() { name } else { message };
    let body_at = encoding.begin(out, log::BODY);
    encoding.text(out, value::STRING, body.as_bytes());
    let fits = encoding.end(out, body_at);
    encoding.text(out, log::EVENT_NAME, name.as_bytes());
    fits
}

impl ElementEncoder {
    pub(super) fn new(encoding: OtlpEncoding) -> Self {
        Self {
            encoding,
            names: attribute_names(encoding),
            open: Vec::new(),
            text: Vec::new(),
            message: String::new(),
        }
    }

    /// Appends the event fields as attributes. Returns `false` if they are too large.
    pub(super) fn push_fields(
        &mut self,
        context: &EventContext<'_, '_>,
        last: &mut LastAttributes,
        field: OtlpField,
        out: &mut Vec<u8>,
        losses: &mut LossTable,
    ) -> bool {
        let mut attributes = AttributeWriter::new(self.encoding, out, field, &self.names, &mut self.open);
        let mut is_whole = true;
        // In protobuf, attributes of spans and log records have different field numbers.
        let number =
            context.context.filter(|_| self.encoding == OtlpEncoding::Json || field == log::ATTRIBUTES);
        for scope in &context.class.scopes {
            if let Some(known) = last.context.get(scope, number) {
                attributes.push_attributes(known);
                continue;
            }
            let begin = attributes.out.len();
            let mut visitor = ScopeArguments::new(attributes, scope, &mut self.text);
            let is_decoded = context.event.visit_members(scope.scope, &mut visitor).is_ok();
            is_whole &= is_decoded;
            attributes = visitor.arguments;
            attributes.close();
            if let Some(bytes) = attributes.attributes(begin).filter(|_| is_decoded) {
                last.context.keep(scope, number, bytes);
            }
        }
        let fits = !attributes.is_too_large;
        if !is_whole {
            record_loss(losses, context.event, LossKind::Dropped, "", "undecodable fields");
        }
        fits
    }

    /// Appends the thread as attributes.
    pub(super) fn push_thread(&self, context: &EventContext<'_, '_>, field: OtlpField, out: &mut Vec<u8>) {
        self.push_thread_attributes(
            context.class.thread(context.event),
            context.place.thread_name,
            field,
            out,
        );
    }

    fn push_thread_attributes(
        &self,
        thread: Option<u64>,
        name: Option<&str>,
        field: OtlpField,
        out: &mut Vec<u8>,
    ) {
        if let Some(thread) = thread {
            push_number(self.encoding, out, field, "thread.id", thread);
        }
        if let Some(name) = name {
            push_text(self.encoding, out, field, "thread.name", name);
        }
    }

    /// Appends the thread as attributes of a log record.
    #[inline]
    fn push_record_thread(
        &self,
        context: &EventContext<'_, '_>,
        last: &mut LastAttributes,
        out: &mut Vec<u8>,
    ) {
        let (thread, name) = (context.class.thread(context.event), context.place.thread_name);
        if last.thread != thread || !last.thread_name.is(name) {
            last.thread = thread;
            last.thread_name.set(name);
            last.of_thread.clear();
            self.push_thread_attributes(thread, name, log::ATTRIBUTES, &mut last.of_thread);
        }
        self.encoding.push_elements(out, &last.of_thread);
    }

    /// Appends a span event. Returns `false` if it is too large.
    pub(super) fn push_span_event(
        &mut self,
        context: &EventContext<'_, '_>,
        last: &mut LastAttributes,
        out: &mut Vec<u8>,
        losses: &mut LossTable,
    ) -> bool {
        let encoding = self.encoding;
        let at = encoding.begin_element(out, span::EVENTS);
        encoding.known_time(out, span::EVENT_TIME, context.own_time());
        encoding.text(out, span::EVENT_NAME, context.name.as_bytes());
        encoding.begin_list(out, span::EVENT_ATTRIBUTES);
        let fits = self.push_fields(context, last, span::EVENT_ATTRIBUTES, out, losses);
        encoding.end_list(out);
        encoding.end(out, at) && fits
    }

    /// Appends a log record. Returns `false` if it is too large.
    pub(super) fn push_log_record(
        &mut self,
        context: &EventContext<'_, '_>,
        last: &mut LastAttributes,
        ids: Option<SpanIds>,
        out: &mut Vec<u8>,
        losses: &mut LossTable,
    ) -> bool {
        let encoding = self.encoding;
        let at = encoding.begin_element(out, OtlpSignal::Logs.element());
        let time = context.own_time();
        encoding.known_time(out, log::TIME, time);
        let class = context.class;
        let mut fits = true;
        // Without a time, the first field has no comma.
        match class.record.as_deref().filter(|_| time > 0 && !context.has_own_name) {
            Some(record) => out.extend_from_slice(record),
            None => {
                class.message(context.event, &mut self.message);
                let names = [context.name, self.message.as_str()];
                fits = push_record(encoding, class.level(context.event), names, out);
            }
        }
        encoding.begin_list(out, log::ATTRIBUTES);
        fits &= self.push_fields(context, last, log::ATTRIBUTES, out, losses);
        self.push_record_thread(context, last, out);
        encoding.end_list(out);
        if let Some(ids) = ids {
            encoding.id(out, log::TRACE_ID, &ids.trace);
            encoding.id(out, log::SPAN_ID, &ids.span);
        }
        encoding.end(out, at) && fits
    }

    /// Completes the class of an event with the fields that all its log records share.
    pub(super) fn complete(&self, class: &mut OtlpClass, event: &Event<'_>) {
        if class.has_constant_record() {
            // They follow another field.
            let mut record = b"0".to_vec();
            let names = [&*class.class.name, ""];
            if push_record(self.encoding, class.level(event), names, &mut record) {
                class.record = record.get(1..).map(Box::from);
            }
        }
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
        encoding.known_time(out, metric::TIME, context.own_time());
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
