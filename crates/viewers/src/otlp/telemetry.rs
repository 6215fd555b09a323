//! Converts events to spans, log records and values.

use std::collections::HashMap;

use ichnos_model::Event;
use ichnos_model::lower::{LossKind, LossTable};

use super::attributes::push_attribute;
use super::batch::{GroupKey, MetricHead, OtlpSignal, RequestBatch, TelemetryRequest};
use super::class::OtlpClass;
use super::encoding::OtlpEncoding;
use super::event_context::{EventContext, operation_track};
use super::ids::{OperationIds, SpanId, SpanIds, SpanRelations, derived_span, derived_trace, operation_key};
use super::log_records::{ElementEncoder, LastAttributes};
use super::origins::{EncodedOrigin, NumberedScopes};
use super::point_value::PointValue;
use super::resources::{COMMON, LastResource, Resources};
use super::schema::{span, value};
use super::spans::{EndedSpan, OpenSpan, OpenSpans, SpanEnd};
use ichnos_analysis::events::class::EventForm;
use ichnos_analysis::events::keyed_spans::KeyedSpanIds;
use ichnos_analysis::events::losses::{
    BACKWARDS, BEGUN_AGAIN, END_MISSING, EXITED, LOST_END, LossNote, record_loss, record_lost_event,
};
use ichnos_analysis::events::tracks::name_key;
use ichnos_analysis::tasks::EventContent;

/// Loss reasons.
const TOO_LARGE: &str = "event of more than 256 MiB";
const UNENDED: &str = "span never ended -> end of the trace";
pub(super) const EARLY: &str =
    "span end: more than 16,384 spans, or 64 MiB, were open -> time when it was written";
const UNTIMED: &str = "unknown span start -> 1 ns after the clock origin";
/// Maximum number of written spans with known start and end. Beyond it, all are forgotten.
const MOST_ENDED: usize = 1 << 16;

const UNBEGUN: &str = "end of an unopened span -> log record";
const LATE: &str = "end of a span that was written early: time and fields, such as a status -> log record";
const UNWANTED: [&str; 3] = [
    "span: another signal was selected",
    "log record: another signal was selected",
    "counter value: another signal was selected",
];
const RESOURCES: &str = "event process beyond the limit of 65,536, or 64 MiB";

/// State of a data stream.
#[derive(Debug, Default)]
pub(super) struct OtlpStream {
    resource: LastResource,
    /// Key of the resource of OpenTelemetry input.
    pub(super) element_resource: Option<u64>,
    attributes: LastAttributes,
}

/// Spans, log records and values of all events.
#[derive(Debug)]
pub(super) struct Telemetry {
    pub(super) out: Vec<u8>,
    pub(super) encoder: ElementEncoder,
    /// Batches by signal.
    pub(super) batches: [RequestBatch; 3],
    /// Signal to write, or `None` for all.
    signal: Option<OtlpSignal>,
    /// Number of elements by signal, including signals that are not written.
    elements: [u64; 3],
    /// Last time in nanoseconds.
    now: u64,
    resources: Resources,
    pub(super) scopes: NumberedScopes,
    /// Reused buffer for the scope of an element.
    pub(super) scope: EncodedOrigin,
    pub(super) spans: OpenSpans,
    /// Track identifiers of spans with keys.
    keyed: KeyedSpanIds,
    pub(super) operations: OperationIds,
    /// Start and end of written spans.
    ended: HashMap<SpanId, [u64; 2]>,
    /// Reused buffer for the links of the current span.
    links: Vec<u8>,
    /// Complete requests, if they are kept apart.
    pub(super) requests: Option<Vec<TelemetryRequest>>,
    pub(super) losses: LossTable,
}

impl Telemetry {
    /// `full` is the minimum size of a full request in bytes.
    pub(super) fn new(encoding: OtlpEncoding, signal: Option<OtlpSignal>, full: usize) -> Self {
        Self {
            out: Vec::new(),
            encoder: ElementEncoder::new(encoding),
            batches: OtlpSignal::ALL.map(|signal| RequestBatch::new(signal, encoding, full)),
            signal,
            elements: [0; 3],
            now: 0,
            resources: Resources::new(encoding),
            scopes: NumberedScopes::new(encoding),
            scope: EncodedOrigin::default(),
            spans: OpenSpans::default(),
            keyed: KeyedSpanIds::default(),
            operations: OperationIds::default(),
            ended: HashMap::new(),
            links: Vec::new(),
            requests: None,
            losses: LossTable::default(),
        }
    }

    /// Creates the class of an event. With `searches`, its events can mention operations.
    pub(super) fn class(&mut self, event: &Event<'_>, searches: bool) -> OtlpClass {
        let Self { encoder, scopes, losses, .. } = self;
        let mut class = OtlpClass::for_event(event, searches, &mut encoder.names, scopes, losses);
        encoder.complete(&mut class, event);
        class
    }

    /// Returns `true` for the first event of an operation without a task.
    pub(super) fn is_new(&self, content: &EventContent, trace: u32) -> bool {
        let operation = content.operation.filter(|_| content.task.is_none());
        operation.is_some_and(|operation| {
            let key = operation_key(None, trace, operation, content.chain);
            self.operations.get(key).is_none()
        })
    }

    /// Adds an event. Returns `false` if it is lost.
    pub(super) fn event(&mut self, context: &EventContext<'_, '_>, stream: &mut OtlpStream) -> bool {
        while let Some(span) = self.spans.close_known(context.thread_track, context.time) {
            self.write_span(span, None);
        }
        self.now = self.now.max(context.time);
        let is_written = match (&context.class.element, context.form) {
            (Some(element), _) => self.element(context, element, stream),
            (None, EventForm::Counter) => self.values(context, stream),
            (None, EventForm::Begin | EventForm::KeyedBegin | EventForm::Complete) => {
                self.begin(context, stream)
            }
            (None, EventForm::End | EventForm::KeyedEnd) => self.end(context, stream),
            (None, EventForm::Frame) => self.frame(context, stream),
            (None, _) => self.instant(context, stream),
        };
        if !is_written {
            record_lost_event(&mut self.losses, context.event, TOO_LARGE);
        }
        self.flush(false);
        is_written
    }

    /// Writes all remaining elements.
    pub(super) fn finish(&mut self) {
        while let Some(span) = self.spans.evict(true) {
            self.write_unended(span, self.now, UNENDED);
        }
        self.flush(true);
        for ((what, signal), count) in UNWANTED.into_iter().zip(OtlpSignal::ALL).zip(self.elements) {
            if !self.is_wanted(signal) {
                self.record_loss(what, count);
            }
        }
    }

    /// Writes the signals with enough elements for a request, or `all` signals.
    pub(super) fn flush(&mut self, all: bool) {
        for batch in self.batches.iter_mut().filter(|batch| all || batch.is_full()) {
            let (signal, elements) = (batch.signal(), batch.elements());
            batch.write(&self.resources.by_key, |number| self.scopes.get(number), &mut self.out);
            if let Some(requests) = self.requests.as_mut().filter(|_| elements > 0) {
                let bytes = std::mem::take(&mut self.out);
                requests.push(TelemetryRequest { signal, elements, bytes });
            }
        }
    }

    fn record_loss(&mut self, what: &str, count: u64) {
        if count > 0 {
            let (kind, class, field) = (LossKind::Dropped, String::new(), String::new());
            self.losses.note_times(kind, class, field, what, count);
        }
    }

    /// Returns the batch of a signal. `None` if the signal is not written, which is a loss.
    pub(super) fn batch(&mut self, signal: OtlpSignal) -> Option<&mut RequestBatch> {
        if let Some(count) = self.elements.get_mut(signal as usize) {
            *count += 1;
        }
        if !self.is_wanted(signal) {
            return None;
        }
        self.batches.get_mut(signal as usize)
    }

    fn is_wanted(&self, signal: OtlpSignal) -> bool {
        self.signal.is_none_or(|wanted| wanted == signal)
    }

    /// Returns the number of elements of a signal so far, including signals that are not written.
    pub(super) fn elements(&self, signal: OtlpSignal) -> u64 {
        self.elements.get(signal as usize).copied().unwrap_or(0)
    }

    /// Returns the resource and scope of an event.
    #[inline]
    fn group(&mut self, context: &EventContext<'_, '_>, stream: &mut OtlpStream) -> GroupKey {
        if let Some(element) = &context.class.element {
            let read = element.read(context.event, &self.encoder.names, &mut self.encoder.text);
            return self.element_group(context, &read, stream);
        }
        let (resource, has_own) = self.resources.key(context, &mut stream.resource);
        if !has_own {
            self.record_loss(RESOURCES, 1);
        }
        GroupKey { resource, scope: context.class.scope, metric: 0 }
    }

    /// Adds a resource of OpenTelemetry input. Returns its key.
    pub(super) fn add_resource(&mut self, resource: EncodedOrigin) -> u64 {
        let (key, has_own) = self.resources.add(resource);
        if !has_own {
            self.record_loss(RESOURCES, 1);
        }
        key
    }

    /// Writes the oldest spans if too many are open.
    pub(super) fn write_early(&mut self, time: u64) {
        while let Some(oldest) = self.spans.evict(false) {
            self.write_unended(oldest, time, EARLY);
        }
    }

    /// Writes a loss as a log record.
    pub(super) fn loss(&mut self, note: &LossNote, time: u64) {
        let scope = self.scopes.named("losses");
        let key = GroupKey { resource: COMMON, scope, metric: 0 };
        if self.batch(OtlpSignal::Logs).is_some() {
            let Self { batches, encoder, .. } = self;
            let [_, logs, _] = batches;
            logs.add(key, Default::default, |out| {
                encoder.push_loss(note, time, OtlpSignal::Logs.element(), out)
            });
        }
        self.flush(false);
    }

    /// Writes the values of a counter.
    pub(super) fn values(&mut self, context: &EventContext<'_, '_>, stream: &mut OtlpStream) -> bool {
        let class = &context.class.class;
        let group = self.group(context, stream);
        let named = &*class.counter_name(context.event);
        let unit = || class.unit(context.event).unwrap_or_default().into_owned();
        class.counter_values(context.event, |found| {
            if self.batch(OtlpSignal::Metrics).is_none() {
                return;
            }
            let value = match found.number.as_i64() {
                Some(value) => PointValue::Integer(value),
                None => PointValue::Double(found.number.to_f64()),
            };
            let Self { batches, encoder, .. } = self;
            let [_, _, metrics] = batches;
            let push =
                |out: &mut Vec<u8>| encoder.push_point(context, value, OtlpSignal::Metrics.element(), out);
            if found.is_single {
                let head = || MetricHead { name: named.to_owned(), unit: unit(), ..MetricHead::default() };
                metrics.add(GroupKey { metric: name_key(named), ..group }, head, push);
            } else {
                let member = found.member;
                let metric = name_key(named) ^ name_key(member).rotate_left(1);
                let name = || format!("{named}.{member}");
                let head = || MetricHead { name: name(), unit: unit(), ..MetricHead::default() };
                metrics.add(GroupKey { metric, ..group }, head, push);
            }
        });
        true
    }

    /// Returns the identifiers of the innermost open span on a track.
    fn ids_on(&mut self, track: u64) -> Option<SpanIds> {
        self.spans.top(track).map(|span| span.ids)
    }

    /// Returns the relations of a new span, and the enclosing span with its track.
    fn relations(
        &mut self,
        context: &EventContext<'_, '_>,
        track: u64,
    ) -> (SpanRelations, Option<(SpanIds, u64)>) {
        let around_track = match context.form {
            EventForm::KeyedBegin | EventForm::Frame => track,
            _ => context.thread_track,
        };
        let mut around = self.ids_on(around_track).map(|ids| (ids, around_track));
        if let Some((operation, key)) = context.operation {
            match self.operations.get(key) {
                // The span is part of an open operation.
                Some(known) => around = Some((self.ids_on(track).unwrap_or(known), track)),
                None => {
                    let ids = around.map(|(ids, _)| ids);
                    let new = self.operations.begin(context.content, context.trace, operation, ids);
                    let is_in =
                        |(ids, _): &(SpanIds, u64)| ids.trace == new.ids.trace && ids.span != new.ids.span;
                    return (new, around.filter(is_in));
                }
            }
        }
        let span = derived_span(track, context.time, self.spans.next_number());
        let trace = around.map_or_else(|| derived_trace(u64::from_be_bytes(span)), |(ids, _)| ids.trace);
        let ids = SpanIds { trace, span };
        (SpanRelations { ids, parent: None, parent_cause: None, joined: None }, around)
    }

    /// Starts the span of an event.
    fn begin(&mut self, context: &EventContext<'_, '_>, stream: &mut OtlpStream) -> bool {
        let Some((track, is_again)) = context.span_track(&mut self.keyed) else { return false };
        if is_again && let Some(again) = self.spans.end_top(track) {
            self.write_unended(again, context.time, BEGUN_AGAIN);
        }
        let relations = self.relations(context, track);
        let duration = context.class.class.duration(context.event);
        let end = match duration.filter(|_| context.form == EventForm::Complete) {
            Some(duration) => SpanEnd::At(context.time.saturating_add(duration)),
            None => SpanEnd::Event,
        };
        self.open((context, stream), track, relations, end)
    }

    /// Opens a span on a track.
    fn open(
        &mut self,
        (context, stream): (&EventContext<'_, '_>, &mut OtlpStream),
        track: u64,
        (relations, around): (SpanRelations, Option<(SpanIds, u64)>),
        end: SpanEnd,
    ) -> bool {
        let group = self.group(context, stream);
        // The start time must not be 0, which means unknown.
        let begin = context.time.max(1);
        if begin != context.time {
            record_loss(&mut self.losses, context.event, LossKind::Rounded, "", UNTIMED);
        }
        let mut open = self.spans.new_span(relations.ids, (begin, context.edge()), end, group);
        let encoding = self.encoder.encoding;
        (open.parent, open.around) = (relations.parent, around);
        open.joined = relations.joined.map(|joined| operation_track(joined.key));
        let OpenSpan { head, attributes, causes, .. } = &mut open;
        encoding.id(head, span::TRACE_ID, &relations.ids.trace);
        encoding.id(head, span::SPAN_ID, &relations.ids.span);
        context.class.message(context.event, &mut self.encoder.message);
        let name = match &*self.encoder.message {
            "" => context.name,
            // Messages of span events describe their start.
            _ if end == SpanEnd::Event => context.name,
            message => message,
        };
        encoding.text(head, span::NAME, name.as_bytes());
        encoding.enumeration(head, span::KIND, span::INTERNAL);
        encoding.time(head, span::START, begin);
        if context.operation.is_some() {
            let cause = relations.parent_cause;
            self.operations.causes(context.content, context.trace, cause, |cause| causes.push(cause));
            causes.extend(relations.joined);
        }
        self.encoder.push_thread(context, span::ATTRIBUTES, attributes);
        let Self { encoder, losses, .. } = self;
        if !encoder.push_fields(context, &mut stream.attributes, span::ATTRIBUTES, attributes, losses) {
            return false;
        }
        self.spans.open(track, open);
        self.write_early(context.time);
        true
    }

    /// Ends the previous frame and starts the next frame.
    fn frame(&mut self, context: &EventContext<'_, '_>, stream: &mut OtlpStream) -> bool {
        let Some((track, _)) = context.span_track(&mut self.keyed) else { return false };
        if let EndedSpan::Open(before) = self.spans.end(track, context.edge(), |_| ()) {
            self.write_span(before, Some(context.time));
        }
        self.begin(context, stream)
    }

    /// Ends the spans of a thread when the thread ends.
    pub(super) fn end_thread(&mut self, track: u64, time: u64) {
        while let Some(span) = self.spans.end_top(track) {
            self.write_unended(span, time, EXITED);
        }
    }

    /// Ends the span of an event.
    fn end(&mut self, context: &EventContext<'_, '_>, stream: &mut OtlpStream) -> bool {
        // A track without a number has no open span.
        let track = context.span_track(&mut self.keyed).map_or(0, |(track, _)| track);
        let mut inner = Vec::new();
        let mut ended = self.spans.end(track, context.edge(), |span| inner.push(span));
        if let (EndedSpan::Unknown, true) = (&ended, track != context.thread_track)
            && context.form == EventForm::End
        {
            // The start event may lack the operation.
            ended = self.spans.end(context.thread_track, context.edge(), |span| inner.push(span));
        }
        inner.into_iter().for_each(|span| self.write_unended(span, context.time, LOST_END));
        self.spans.record_event_time(track, context.time);
        match ended {
            EndedSpan::Open(mut open) => {
                let Self { encoder, losses, .. } = self;
                let before = open.attributes.len();
                let (last, attributes) = (&mut stream.attributes, &mut open.attributes);
                let fits = encoder.push_fields(context, last, span::ATTRIBUTES, attributes, losses);
                if !fits {
                    open.attributes.truncate(before);
                }
                self.write_span(open, Some(context.time));
                fits
            }
            missing @ (EndedSpan::Written | EndedSpan::Unknown) => {
                self.note_end(context.event, &missing);
                let ids = self.ids_on(context.thread_track);
                self.log_record(context, stream, ids)
            }
        }
    }

    /// Writes an event that does not end a span.
    fn instant(&mut self, context: &EventContext<'_, '_>, stream: &mut OtlpStream) -> bool {
        let around = self.ids_on(context.thread_track);
        let mut ids = around;
        let mut track = around.map(|_| context.thread_track);
        if let (Some((operation, key)), Some(of_operation)) = (context.operation, context.operation_track()) {
            let known = self.operations.get(key);
            if known.is_none() && !context.class.is_log() {
                let new = self.operations.begin(context.content, context.trace, operation, around);
                let around = around.filter(|ids| ids.trace == new.ids.trace && ids.span != new.ids.span);
                let around = around.map(|ids| (ids, context.thread_track));
                return self.open(
                    (context, stream),
                    of_operation,
                    (new, around),
                    SpanEnd::Last(context.time),
                );
            }
            let of_content = || self.operations.event_ids(context.content, context.trace);
            ids = known.or_else(of_content);
            track = self.ids_on(of_operation).map(|_| of_operation);
        }
        let mut mentions = context.mentions().iter();
        if let Some((mentioned, key)) =
            mentions.find_map(|mention| self.operations.mentioned(mention, context.trace))
        {
            let of_operation = operation_track(key);
            ids = Some(mentioned);
            track = self.ids_on(of_operation).map(|_| of_operation);
        }
        let Self { spans, encoder, losses, .. } = self;
        let has_room = |track: u64| {
            spans.add_event(track, context.time, |out| {
                !context.class.is_log()
                    && encoder.push_span_event(context, &mut stream.attributes, out, losses)
            })
        };
        track.is_some_and(has_room) || self.log_record(context, stream, ids)
    }

    /// Notes the end of a span that is not open.
    pub(super) fn note_end(&mut self, event: &Event<'_>, missing: &EndedSpan) {
        let what = if matches!(missing, EndedSpan::Written) { LATE } else { UNBEGUN };
        record_loss(&mut self.losses, event, LossKind::Lowered, "", what);
    }

    pub(super) fn log_record(
        &mut self,
        context: &EventContext<'_, '_>,
        stream: &mut OtlpStream,
        ids: Option<SpanIds>,
    ) -> bool {
        let group = self.group(context, stream);
        if self.batch(OtlpSignal::Logs).is_none() {
            return true;
        }
        let Self { batches, encoder, losses, .. } = self;
        let [_, logs, _] = batches;
        let last = &mut stream.attributes;
        logs.add(group, Default::default, |out| encoder.push_log_record(context, last, ids, out, losses))
    }

    /// Writes a span that ends at `time`. Marks it if its end is unknown.
    pub(super) fn write_unended(&mut self, mut span: OpenSpan, time: u64, reason: &str) {
        if span.end == SpanEnd::Event {
            let (kind, class, field) = (LossKind::Lowered, String::new(), String::new());
            self.losses.note(kind, class, field, reason);
            let encoding = self.encoder.encoding;
            push_attribute(encoding, &mut span.attributes, span::ATTRIBUTES, END_MISSING, |out| {
                encoding.boolean(out, value::BOOLEAN, true);
            });
        }
        self.write_span(span, Some(time));
    }

    /// Writes a span with its known end, or else with the given end.
    pub(super) fn write_span(&mut self, open: OpenSpan, end: Option<u64>) {
        let encoding = self.encoder.encoding;
        let end = match open.end {
            SpanEnd::At(time) | SpanEnd::Last(time) => time,
            SpanEnd::Event => end.unwrap_or(self.now),
        };
        // Readers reject a span that ends before it starts.
        let is_backwards = end < open.begin && open.element.is_none();
        if is_backwards && open.begin > 1 {
            let (kind, class, field) = (LossKind::Rounded, String::new(), String::new());
            self.losses.note(kind, class, field, BACKWARDS);
        }
        let end = if is_backwards { open.begin } else { end };
        if let Some(joined) = open.joined {
            self.spans.record_event_time(joined, end);
        }
        let parent = self.find_parent(&open, end);
        if self.ended.len() >= MOST_ENDED {
            self.ended.clear();
        }
        self.ended.insert(open.ids.span, [open.begin, end]);
        let links = std::mem::take(&mut self.links);
        if let Some(batch) = self.batch(OtlpSignal::Traces) {
            let is_written = batch.add(open.group, Default::default, |out| {
                let at = encoding.begin_element(out, OtlpSignal::Traces.element());
                out.extend_from_slice(&open.head);
                if let Some(parent) = parent {
                    encoding.id(out, span::PARENT, &parent);
                }
                encoding.elements(out, span::LINKS, &links);
                encoding.known_time(out, span::END, end);
                encoding.elements(out, span::ATTRIBUTES, &open.attributes);
                encoding.elements(out, span::EVENTS, &open.events);
                encoding.end(out, at)
            });
            if !is_written {
                self.record_loss(TOO_LARGE, 1);
            }
        }
        self.links = links;
        self.spans.reuse(open);
    }

    /// Returns the parent of a span that ends at a time: the parent from the trace, else the enclosing span, else a
    /// cause that contains it. The other causes become links.
    fn find_parent(&mut self, open: &OpenSpan, end: u64) -> Option<SpanId> {
        self.links.clear();
        let mut parent = open.parent;
        let around = open.around.map(|(ids, track)| (ids, track, true));
        let causes = open.causes.iter().map(|cause| (cause.ids, operation_track(cause.key), false));
        for (ids, track, is_around) in around.into_iter().chain(causes) {
            let contains = self.contains((ids, track), [open.begin, end]).unwrap_or(is_around);
            if contains && ids.trace == open.ids.trace && parent.is_none() {
                parent = Some(ids.span);
            } else if !(is_around && contains) && parent != Some(ids.span) {
                let (encoding, links) = (self.encoder.encoding, &mut self.links);
                let at = encoding.begin_element(links, span::LINKS);
                encoding.id(links, span::TRACE_ID, &ids.trace);
                encoding.id(links, span::SPAN_ID, &ids.span);
                encoding.end(links, at);
            }
        }
        parent
    }

    /// Returns `true` if a span contains a time range, or `None` if the span is unknown. An open span is looked up on
    /// its track.
    fn contains(&self, (ids, track): (SpanIds, u64), [begin, end]: [u64; 2]) -> Option<bool> {
        if let Some(open) = self.spans.find(track, ids) {
            let lasts = match open.end {
                SpanEnd::Event => true,
                SpanEnd::At(last) | SpanEnd::Last(last) => end <= last,
            };
            return Some(open.begin <= begin && lasts);
        }
        self.ended.get(&ids.span).map(|[first, last]| *first <= begin && end <= *last)
    }
}
