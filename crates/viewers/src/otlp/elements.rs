//! OpenTelemetry elements, written as they were read.

use ichnos_model::Event;
use ichnos_model::lower::LossKind;
use ichnos_model::telemetry::{ElementPart, SPAN_KINDS, STATUS_CODES, TEMPORALITIES, element_field};

use super::attributes::{AttributeWriter, push_text};
use super::batch::{GroupKey, MetricData, MetricHead, OtlpSignal};
use super::element_class::{ElementClass, ElementEvent, ElementIds, OriginFields};
use super::encoding::OtlpField;
use super::event_context::{EventContext, operation_track};
use super::ids::SpanIds;
use super::log_records::ElementEncoder;
use super::message_sink::{LINKS, MessageSink, RepeatedMessage};
use super::origin_pairs::OriginPairs;
use super::origins::EncodedOrigin;
use super::schema::{log, resource, span, value};
use super::spans::{ElementKey, EndedSpan, SpanEnd};
use super::telemetry::{OtlpStream, Telemetry};
use crate::arguments::{ScopeArguments, ScopeNames};
use ichnos_analysis::events::losses::record_loss;
use ichnos_analysis::events::tracks::name_key;
use ichnos_model::digest::ValueHash;

/// Loss reasons.
const OUTSIDE: &str = "span event outside the time of its span -> log record";
const SAME_SPANS: &str = "open spans with the same identifiers and name: the innermost ends first";
const SAME_IDS: &str = "span event for open spans with the same identifiers -> event of the innermost one";
const SCOPES: &str = "scope beyond the limit of 65,536, or 64 MiB";

impl ElementEncoder {
    /// Passes the named members of a scope to an argument writer as attributes. Returns `false` if they are too large.
    fn push_named(
        &mut self,
        event: &Event<'_>,
        names: Option<&ScopeNames>,
        (field, is_bare): (OtlpField, bool),
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(names) = names else { return true };
        let writer = AttributeWriter::new(self.encoding, out, field, &self.names, &mut self.open);
        let writer = if is_bare { writer.bare() } else { writer };
        let mut visitor = ScopeArguments::new(writer, names, &mut self.text);
        // Delivered events can always be decoded.
        let is_decoded = event.visit_members(names.scope, &mut visitor).is_ok();
        let mut writer = visitor.arguments;
        writer.close();
        is_decoded && !writer.is_too_large
    }

    /// Appends the attributes of an element. Returns `false` if they are too large.
    pub(super) fn push_element_attributes(
        &mut self,
        read: &ElementEvent<'_, '_>,
        field: OtlpField,
        out: &mut Vec<u8>,
    ) -> bool {
        for (name, text) in &read.shared.attributes {
            push_text(self.encoding, out, field, name, text);
        }
        self.push_named(read.event, read.element.attributes.as_ref(), (field, false), out)
    }

    /// Encodes the resource of an event.
    fn resource_of(&mut self, event: &Event<'_>, fields: &OriginFields) -> EncodedOrigin {
        let encoding = self.encoding;
        let mut found = EncodedOrigin::default();
        let out = &mut found.message;
        let pairs = fields.pairs(event, &self.names, &mut self.text);
        let pairs = OriginPairs::new(pairs, &element_field::OF_RESOURCE);
        encoding.begin_list(out, resource::ATTRIBUTES);
        for (name, text) in &pairs.attributes {
            push_text(encoding, out, resource::ATTRIBUTES, name, text);
        }
        if !fields.is_list {
            self.push_named(event, fields.attributes.as_ref(), (resource::ATTRIBUTES, false), out);
        }
        encoding.end_list(out);
        let dropped = pairs.number(event, fields, element_field::RESOURCE_DROPPED);
        encoding.count(out, resource::DROPPED_ATTRIBUTES, dropped);
        found.schema_url.push_str(&pairs.text(event, fields, element_field::RESOURCE_SCHEMA));
        found
    }

    /// Encodes the scope of an event.
    fn push_scope(&mut self, read: &ElementEvent<'_, '_>, found: &mut EncodedOrigin) {
        let encoding = self.encoding;
        let (event, fields) = (read.event, &read.element.scope);
        found.message.clear();
        found.schema_url.clear();
        let mut pairs = read.shared.scope.clone();
        pairs.extend(fields.pairs(event, &self.names, &mut self.text));
        let pairs = OriginPairs::new(pairs, &element_field::OF_SCOPE);
        let text = |name: &str| pairs.text(event, fields, name);
        let out = &mut found.message;
        encoding.set_text(out, resource::SCOPE_NAME, text(element_field::SCOPE_NAME).as_bytes());
        encoding.set_text(out, resource::SCOPE_VERSION, text(element_field::SCOPE_VERSION).as_bytes());
        let mut attributes = Vec::new();
        for (name, text) in &pairs.attributes {
            push_text(encoding, &mut attributes, resource::SCOPE_ATTRIBUTES, name, text);
        }
        if !fields.is_list {
            let field = (resource::SCOPE_ATTRIBUTES, false);
            self.push_named(event, fields.attributes.as_ref(), field, &mut attributes);
        }
        encoding.elements(out, resource::SCOPE_ATTRIBUTES, &attributes);
        let dropped = pairs.number(event, fields, element_field::SCOPE_DROPPED);
        encoding.count(out, resource::SCOPE_DROPPED_ATTRIBUTES, dropped);
        found.schema_url.push_str(&text(element_field::SCOPE_SCHEMA));
    }

    /// Appends the fields of a span that its start has, except its attributes.
    fn push_span_head(
        &mut self,
        read: &ElementEvent<'_, '_>,
        (ids, begin): (&ElementIds, u64),
        head: &mut Vec<u8>,
    ) -> bool {
        let encoding = self.encoding;
        for (field, id) in [
            (span::TRACE_ID, ids.trace.as_ref().map(|id| &id[..])),
            (span::SPAN_ID, ids.span.as_ref().map(|id| &id[..])),
            (span::PARENT, ids.parent.as_ref().map(|id| &id[..])),
        ] {
            id.into_iter().for_each(|id| encoding.id(head, field, id));
        }
        encoding.set_text(head, span::TRACE_STATE, read.text(element_field::TRACE_STATE).as_bytes());
        encoding.text(head, span::NAME, read.name().as_bytes());
        encoding.count(head, span::KIND, read.enumeration(element_field::KIND, &SPAN_KINDS));
        encoding.known_time(head, span::START, begin);
        let fits = self.push_messages(read, element_field::LINKS, &LINKS, head);
        encoding.count(head, span::DROPPED_ATTRIBUTES, read.number(element_field::DROPPED_ATTRIBUTES));
        encoding.count(head, span::DROPPED_LINKS, read.number(element_field::DROPPED_LINKS));
        encoding.short_fixed(head, span::FLAGS, read.number(element_field::FLAGS));
        fits
    }

    /// Appends an event of a span.
    fn push_element_event(&mut self, read: &ElementEvent<'_, '_>, time: u64, out: &mut Vec<u8>) -> bool {
        let encoding = self.encoding;
        let at = encoding.begin_element(out, span::EVENTS);
        encoding.known_time(out, span::EVENT_TIME, time);
        encoding.text(out, span::EVENT_NAME, read.name().as_bytes());
        encoding.begin_list(out, span::EVENT_ATTRIBUTES);
        let fits = self.push_element_attributes(read, span::EVENT_ATTRIBUTES, out);
        encoding.end_list(out);
        let dropped = read.number(element_field::DROPPED_ATTRIBUTES);
        encoding.count(out, span::EVENT_DROPPED_ATTRIBUTES, dropped);
        encoding.end(out, at) && fits
    }

    /// Appends a log record.
    fn push_element_log(&mut self, read: &ElementEvent<'_, '_>, time: u64, out: &mut Vec<u8>) -> bool {
        let encoding = self.encoding;
        let at = encoding.begin_element(out, OtlpSignal::Logs.element());
        let [time, observed] = match read.is_true(element_field::TIME_IS_OBSERVED) {
            true => [0, time],
            false => [time, read.number(element_field::OBSERVED_TIME)],
        };
        encoding.known_time(out, log::TIME, time);
        encoding.known_time(out, log::OBSERVED_TIME, observed);
        encoding.count(out, log::SEVERITY, read.number(element_field::SEVERITY));
        encoding.set_text(out, log::SEVERITY_TEXT, read.text(element_field::SEVERITY_TEXT).as_bytes());
        let mut fits = true;
        if read.has(element_field::MESSAGE) {
            let body = encoding.begin(out, log::BODY);
            let text = read.text(element_field::MESSAGE);
            encoding.text(out, value::STRING, text.as_bytes());
            fits &= encoding.end(out, body);
        }
        let body = read.element.list(element_field::BODY);
        fits &= self.push_named(read.event, body, (log::BODY, true), out);
        encoding.begin_list(out, log::ATTRIBUTES);
        fits &= self.push_element_attributes(read, log::ATTRIBUTES, out);
        encoding.end_list(out);
        encoding.count(out, log::DROPPED_ATTRIBUTES, read.number(element_field::DROPPED_ATTRIBUTES));
        encoding.short_fixed(out, log::FLAGS, read.number(element_field::FLAGS));
        let ids = read.ids();
        ids.trace.iter().for_each(|id| encoding.id(out, log::TRACE_ID, id));
        ids.span.iter().for_each(|id| encoding.id(out, log::SPAN_ID, id));
        encoding.set_text(out, log::EVENT_NAME, read.name().as_bytes());
        encoding.end(out, at) && fits
    }

    /// Appends a field of an element that repeats a message. Returns `false` if it is too large.
    pub(super) fn push_messages(
        &mut self,
        read: &ElementEvent<'_, '_>,
        name: &str,
        message: &'static RepeatedMessage,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(names) = read.element.list(name) else { return true };
        let mut messages = Vec::new();
        let (encoding, field) = (self.encoding, message.attribute_field());
        let writer = AttributeWriter::new(encoding, &mut messages, field, &self.names, &mut self.open);
        let sink = MessageSink::new(message, writer, encoding, &self.names);
        let mut visitor = ScopeArguments::new(sink, names, &mut self.text);
        let fits = read.event.visit_members(names.scope, &mut visitor).is_ok() && visitor.arguments.end();
        encoding.elements(out, message.field, &messages);
        fits
    }
}

impl Telemetry {
    /// Adds a part of an element. Returns `false` if it is lost.
    pub(super) fn element(
        &mut self,
        context: &EventContext<'_, '_>,
        element: &ElementClass,
        stream: &mut OtlpStream,
    ) -> bool {
        let read = element.read(context.event, &self.encoder.names, &mut self.encoder.text);
        match element.role.part {
            ElementPart::SpanBegin => self.begin_element(context, &read, stream),
            ElementPart::SpanEnd => self.end_element(context, &read, stream),
            ElementPart::SpanEvent => self.element_event(context, &read, stream),
            ElementPart::LogRecord => self.element_log(context, &read, stream),
            ElementPart::Gauge
            | ElementPart::Sum
            | ElementPart::Histogram
            | ElementPart::ExponentialHistogram
            | ElementPart::Summary => self.element_point(context, &read, stream),
        }
    }

    /// Returns the resource and scope of an element.
    pub(super) fn element_group(
        &mut self,
        context: &EventContext<'_, '_>,
        read: &ElementEvent<'_, '_>,
        stream: &mut OtlpStream,
    ) -> GroupKey {
        let fields = &read.element.resource;
        let known = stream.element_resource.filter(|_| !fields.varies);
        let resource = known.unwrap_or_else(|| {
            let resource = self.encoder.resource_of(context.event, fields);
            self.add_resource(resource)
        });
        stream.element_resource = Some(resource);
        let mut scope = std::mem::take(&mut self.scope);
        self.encoder.push_scope(read, &mut scope);
        let number = self.scopes.number(&scope);
        self.scope = scope;
        if number.is_none() {
            record_loss(&mut self.losses, context.event, LossKind::Dropped, "", SCOPES);
        }
        GroupKey { resource, scope: number.unwrap_or(0), metric: 0 }
    }

    /// Returns the track of the span of an element.
    fn element_track(context: &EventContext<'_, '_>, ids: &ElementIds) -> u64 {
        context.operation_track().unwrap_or_else(|| {
            // Without identifiers, the innermost span ends first.
            let mut hash = ValueHash::new(context.trace.into());
            ids.trace.iter().for_each(|id| hash.bytes(id));
            operation_track(hash.finish() ^ context.thread_track)
        })
    }

    /// Returns the origin and the name of an element, to compare spans with the same identifiers.
    fn element_key(context: &EventContext<'_, '_>, read: &ElementEvent<'_, '_>) -> ElementKey {
        let mut origin = ValueHash::new(context.event.stream.key.into());
        origin.bytes(read.scope_name().as_bytes());
        ElementKey { origin: origin.finish(), name: name_key(&read.name()) }
    }

    fn begin_element(
        &mut self,
        context: &EventContext<'_, '_>,
        read: &ElementEvent<'_, '_>,
        stream: &mut OtlpStream,
    ) -> bool {
        let (ids, begin) = (read.ids(), context.own_time());
        let track = Self::element_track(context, &ids);
        if let Some((operation, _)) = context.operation {
            // Events of other formats can name it.
            let _ = self.operations.begin(context.content, context.trace, operation, None);
        }
        let group = self.element_group(context, read, stream);
        let key = Self::element_key(context, read);
        if self.spans.count_elements(track, |_, open| open == key) > 0 {
            record_loss(&mut self.losses, context.event, LossKind::Lowered, "", SAME_SPANS);
        }
        let span_ids = SpanIds { trace: ids.trace.unwrap_or_default(), span: ids.span.unwrap_or_default() };
        let mut open = self.spans.new_span(span_ids, (begin, context.edge()), SpanEnd::Event, group);
        open.element = Some(key);
        let fits = self.encoder.push_span_head(read, (&ids, begin), &mut open.head)
            && self.encoder.push_element_attributes(read, span::ATTRIBUTES, &mut open.attributes);
        if !fits {
            return false;
        }
        self.spans.open(track, open);
        self.write_early(context.time);
        true
    }

    fn end_element(
        &mut self,
        context: &EventContext<'_, '_>,
        read: &ElementEvent<'_, '_>,
        stream: &mut OtlpStream,
    ) -> bool {
        let track = Self::element_track(context, &read.ids());
        let ended = self.spans.end_element(track, Self::element_key(context, read));
        let EndedSpan::Open(mut open) = ended else {
            self.note_end(context.event, &ended);
            let ids = read.ids();
            let ids = ids.trace.zip(ids.span).map(|(trace, span)| SpanIds { trace, span });
            return self.log_record(context, stream, ids);
        };
        let encoding = self.encoder.encoding;
        let (code, message) = (
            read.enumeration(element_field::STATUS, &STATUS_CODES),
            read.text(element_field::STATUS_MESSAGE),
        );
        if code != 0 || !message.is_empty() {
            let at = encoding.begin(&mut open.head, span::STATUS);
            encoding.set_text(&mut open.head, span::STATUS_MESSAGE, message.as_bytes());
            encoding.count(&mut open.head, span::STATUS_CODE, code);
            encoding.end(&mut open.head, at);
        }
        let dropped = read.number(element_field::DROPPED_EVENTS);
        encoding.count(&mut open.head, span::DROPPED_EVENTS, dropped);
        let end = match read.number(element_field::END_TIME) {
            0 => context.own_time(),
            end => end,
        };
        self.write_span(open, Some(end));
        true
    }

    fn element_event(
        &mut self,
        context: &EventContext<'_, '_>,
        read: &ElementEvent<'_, '_>,
        stream: &mut OtlpStream,
    ) -> bool {
        let ids = read.ids();
        let track = Self::element_track(context, &ids);
        let span_ids = SpanIds { trace: ids.trace.unwrap_or_default(), span: ids.span.unwrap_or_default() };
        let origin = Self::element_key(context, read).origin;
        if self.spans.count_elements(track, |span, key| span.ids == span_ids && key.origin == origin) > 1 {
            record_loss(&mut self.losses, context.event, LossKind::Lowered, "", SAME_IDS);
        }
        let Self { spans, encoder, .. } = self;
        let is_added = spans.add_element_event(track, (span_ids, origin), |out| {
            encoder.push_element_event(read, context.own_time(), out)
        });
        if is_added {
            self.write_early(context.time);
            return true;
        }
        record_loss(&mut self.losses, context.event, LossKind::Lowered, "", OUTSIDE);
        self.element_log(context, read, stream)
    }

    fn element_log(
        &mut self,
        context: &EventContext<'_, '_>,
        read: &ElementEvent<'_, '_>,
        stream: &mut OtlpStream,
    ) -> bool {
        let group = self.element_group(context, read, stream);
        if self.batch(OtlpSignal::Logs).is_none() {
            return true;
        }
        let Self { batches, encoder, .. } = self;
        let [_, logs, _] = batches;
        let time = context.own_time();
        logs.add(group, Default::default, |out| encoder.push_element_log(read, time, out))
    }

    fn element_point(
        &mut self,
        context: &EventContext<'_, '_>,
        read: &ElementEvent<'_, '_>,
        stream: &mut OtlpStream,
    ) -> bool {
        let group = self.element_group(context, read, stream);
        if self.batch(OtlpSignal::Metrics).is_none() {
            return true;
        }
        let temporality = read.enumeration(element_field::TEMPORALITY, &TEMPORALITIES);
        let data = match read.element.role.part {
            ElementPart::Sum => {
                MetricData::Sum { temporality, is_monotonic: read.is_true(element_field::MONOTONIC) }
            }
            ElementPart::Histogram => MetricData::Histogram { temporality },
            ElementPart::ExponentialHistogram => MetricData::Exponential { temporality },
            ElementPart::Summary => MetricData::Summary,
            _ => MetricData::Gauge,
        };
        let unit = read.shared_unit().or_else(|| context.class.class.unit(context.event)).unwrap_or_default();
        let [name, description] = read.text_keys();
        let group = GroupKey { metric: data.metric_key([name, name_key(&unit), description]), ..group };
        let head = || MetricHead {
            name: read.name().into_owned(),
            description: read.description().into_owned(),
            unit: unit.into_owned(),
            data,
        };
        let Self { batches, encoder, .. } = self;
        let [_, _, metrics] = batches;
        let time = context.own_time();
        metrics.add(group, head, |out| encoder.push_element_point(read, time, out))
    }
}
