//! Columns of OpenTelemetry's tables in ClickHouse: `otel_traces` and `otel_logs` of the collector's exporter.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{
    ListBuilder, MapBuilder, MapFieldNames, StringBuilder, TimestampMillisecondBuilder,
    TimestampNanosecondBuilder, UInt8Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use ichnos_otlp::{LogRow, RowOrigin, SpanRow};

/// Names of the tables.
pub(crate) const TRACES: &str = "otel_traces";
pub(crate) const LOGS: &str = "otel_logs";

const KINDS: [&str; 6] = ["Unspecified", "Internal", "Server", "Client", "Producer", "Consumer"];
const STATUSES: [&str; 3] = ["Unset", "Ok", "Error"];

type Maps = MapBuilder<StringBuilder, StringBuilder>;

/// Rows that wait to become a batch.
pub(crate) trait OtelColumns: Default {
    /// Returns the columns.
    fn schema() -> SchemaRef;

    /// Returns the number of rows, and their approximate size in bytes.
    fn size(&self) -> (usize, usize);

    /// Returns all rows as a batch, and starts a new batch.
    ///
    /// # Errors
    /// If the columns do not form a batch, which would be a bug.
    fn finish(&mut self) -> Result<RecordBatch, ArrowError>;
}

fn name_of(names: &[&'static str], number: u64) -> &'static str {
    usize::try_from(number).ok().and_then(|number| names.get(number)).copied().unwrap_or_default()
}

fn time_type(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

fn map_type() -> DataType {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let entry = DataType::Struct(Fields::from(vec![text("key"), text("value")]));
    DataType::Map(Arc::new(Field::new("key_value", entry, false)), false)
}

fn list_type(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("element", element, false)))
}

fn maps() -> Maps {
    let names =
        MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new()).with_values_field(Field::new(
        "value",
        DataType::Utf8,
        false,
    ))
}

fn list<B: arrow_array::builder::ArrayBuilder>(values: B, element: DataType) -> ListBuilder<B> {
    ListBuilder::new(values).with_field(Field::new("element", element, false))
}

fn texts() -> ListBuilder<StringBuilder> {
    list(StringBuilder::new(), DataType::Utf8)
}

fn map_lists() -> ListBuilder<Maps> {
    list(maps(), map_type())
}

fn schema(columns: Vec<(&str, DataType)>) -> SchemaRef {
    let fields = columns.into_iter().map(|(name, data_type)| Field::new(name, data_type, false));
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

/// Appends attributes. Returns their size in bytes. A repeated name counts once, with its last value, as in the
/// exporter.
fn push_map(maps: &mut Maps, pairs: &[(Cow<'_, str>, Cow<'_, str>)]) -> usize {
    let mut bytes = 0;
    for (at, (name, value)) in pairs.iter().enumerate() {
        // Lists of attributes are short.
        let is_repeated = |rest: &[(Cow<'_, str>, Cow<'_, str>)]| rest.iter().any(|(later, _)| later == name);
        if pairs.len() < 1_000 && pairs.get(at + 1..).is_some_and(is_repeated) {
            continue;
        }
        maps.keys().append_value(name);
        maps.values().append_value(value);
        bytes += name.len() + value.len();
    }
    // Only fails if keys and values differ in number.
    let _ = maps.append(true);
    bytes + 16
}

/// Columns that both tables share.
#[derive(Debug)]
struct OriginColumns {
    service: StringBuilder,
    resource: Maps,
    scope: StringBuilder,
    scope_version: StringBuilder,
}

impl Default for OriginColumns {
    fn default() -> Self {
        Self {
            service: StringBuilder::new(),
            resource: maps(),
            scope: StringBuilder::new(),
            scope_version: StringBuilder::new(),
        }
    }
}

impl OriginColumns {
    fn push(&mut self, origin: &RowOrigin) -> usize {
        self.service.append_value(&origin.service);
        self.scope.append_value(&origin.scope);
        self.scope_version.append_value(&origin.scope_version);
        push_map(&mut self.resource, &origin.resource) + origin.service.len() + origin.scope.len()
    }
}

/// Rows of `otel_traces`.
#[derive(Debug)]
pub(crate) struct SpanColumns {
    rows: usize,
    bytes: usize,
    time: TimestampNanosecondBuilder,
    /// Identifiers of trace, span and parent, and the trace state.
    ids: [StringBuilder; 4],
    name: StringBuilder,
    kind: StringBuilder,
    origin: OriginColumns,
    attributes: Maps,
    duration: UInt64Builder,
    status: StringBuilder,
    status_message: StringBuilder,
    event_times: ListBuilder<TimestampNanosecondBuilder>,
    event_names: ListBuilder<StringBuilder>,
    event_attributes: ListBuilder<Maps>,
    /// Identifiers of trace and span, and the trace state.
    links: [ListBuilder<StringBuilder>; 3],
    link_attributes: ListBuilder<Maps>,
}

impl Default for SpanColumns {
    fn default() -> Self {
        let nanoseconds = || TimestampNanosecondBuilder::new().with_timezone("UTC");
        Self {
            rows: 0,
            bytes: 0,
            time: nanoseconds(),
            ids: Default::default(),
            name: StringBuilder::new(),
            kind: StringBuilder::new(),
            origin: OriginColumns::default(),
            attributes: maps(),
            duration: UInt64Builder::new(),
            status: StringBuilder::new(),
            status_message: StringBuilder::new(),
            event_times: list(nanoseconds(), time_type(TimeUnit::Nanosecond)),
            event_names: texts(),
            event_attributes: map_lists(),
            links: [texts(), texts(), texts()],
            link_attributes: map_lists(),
        }
    }
}

impl SpanColumns {
    /// Appends a span that starts at a time.
    pub(crate) fn push(&mut self, time: i64, origin: &RowOrigin, span: &SpanRow<'_>) {
        self.time.append_value(time);
        let texts = [&span.trace_id, &span.span_id, &span.parent_id, &*span.trace_state];
        self.ids.iter_mut().zip(texts).for_each(|(column, text)| column.append_value(text));
        self.name.append_value(&span.name);
        self.kind.append_value(name_of(&KINDS, span.kind));
        let mut bytes = self.origin.push(origin) + span.name.len() + 200;
        bytes += push_map(&mut self.attributes, &span.attributes);
        self.duration.append_value(span.end.saturating_sub(span.start));
        self.status.append_value(name_of(&STATUSES, span.status));
        self.status_message.append_value(&span.status_message);
        for (time, name, attributes) in &span.events {
            self.event_times.values().append_value(i64::try_from(*time).unwrap_or(i64::MAX));
            self.event_names.values().append_value(name);
            bytes += push_map(self.event_attributes.values(), attributes) + name.len() + 16;
        }
        self.event_times.append(true);
        self.event_names.append(true);
        self.event_attributes.append(true);
        for link in &span.links {
            let texts = [&link.trace_id, &link.span_id, &*link.trace_state];
            self.links.iter_mut().zip(texts).for_each(|(column, text)| column.values().append_value(text));
            bytes += push_map(self.link_attributes.values(), &link.attributes) + 80;
        }
        self.links.iter_mut().for_each(|column| column.append(true));
        self.link_attributes.append(true);
        self.rows += 1;
        self.bytes += bytes;
    }
}

impl OtelColumns for SpanColumns {
    fn schema() -> SchemaRef {
        let (text, time) = (DataType::Utf8, time_type(TimeUnit::Nanosecond));
        schema(vec![
            ("Timestamp", time.clone()),
            ("TraceId", text.clone()),
            ("SpanId", text.clone()),
            ("ParentSpanId", text.clone()),
            ("TraceState", text.clone()),
            ("SpanName", text.clone()),
            ("SpanKind", text.clone()),
            ("ServiceName", text.clone()),
            ("ResourceAttributes", map_type()),
            ("ScopeName", text.clone()),
            ("ScopeVersion", text.clone()),
            ("SpanAttributes", map_type()),
            ("Duration", DataType::UInt64),
            ("StatusCode", text.clone()),
            ("StatusMessage", text.clone()),
            ("Events.Timestamp", list_type(time)),
            ("Events.Name", list_type(text.clone())),
            ("Events.Attributes", list_type(map_type())),
            ("Links.TraceId", list_type(text.clone())),
            ("Links.SpanId", list_type(text.clone())),
            ("Links.TraceState", list_type(text)),
            ("Links.Attributes", list_type(map_type())),
        ])
    }

    fn size(&self) -> (usize, usize) {
        (self.rows, self.bytes)
    }

    fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut columns: Vec<ArrayRef> = vec![Arc::new(self.time.finish())];
        columns.extend(self.ids.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef));
        let OriginColumns { service, resource, scope, scope_version } = &mut self.origin;
        columns.extend([
            Arc::new(self.name.finish()) as ArrayRef,
            Arc::new(self.kind.finish()),
            Arc::new(service.finish()),
            Arc::new(resource.finish()),
            Arc::new(scope.finish()),
            Arc::new(scope_version.finish()),
            Arc::new(self.attributes.finish()),
            Arc::new(self.duration.finish()),
            Arc::new(self.status.finish()),
            Arc::new(self.status_message.finish()),
            Arc::new(self.event_times.finish()),
            Arc::new(self.event_names.finish()),
            Arc::new(self.event_attributes.finish()),
        ]);
        columns.extend(self.links.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef));
        columns.push(Arc::new(self.link_attributes.finish()));
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new(Self::schema(), columns)
    }
}

/// Rows of `otel_logs`.
#[derive(Debug)]
pub(crate) struct LogColumns {
    rows: usize,
    bytes: usize,
    time: TimestampNanosecondBuilder,
    second: TimestampMillisecondBuilder,
    trace_id: StringBuilder,
    span_id: StringBuilder,
    flags: UInt8Builder,
    severity_text: StringBuilder,
    severity: UInt8Builder,
    body: StringBuilder,
    origin: OriginColumns,
    /// URLs of the schemas of the resource and of the scope.
    schemas: [StringBuilder; 2],
    scope_attributes: Maps,
    attributes: Maps,
    event_name: StringBuilder,
}

impl Default for LogColumns {
    fn default() -> Self {
        Self {
            rows: 0,
            bytes: 0,
            time: TimestampNanosecondBuilder::new().with_timezone("UTC"),
            second: TimestampMillisecondBuilder::new().with_timezone("UTC"),
            trace_id: StringBuilder::new(),
            span_id: StringBuilder::new(),
            flags: UInt8Builder::new(),
            severity_text: StringBuilder::new(),
            severity: UInt8Builder::new(),
            body: StringBuilder::new(),
            origin: OriginColumns::default(),
            schemas: Default::default(),
            scope_attributes: maps(),
            attributes: maps(),
            event_name: StringBuilder::new(),
        }
    }
}

impl LogColumns {
    /// Appends a log record at a time.
    pub(crate) fn push(&mut self, time: i64, origin: &RowOrigin, log: &LogRow<'_>) {
        self.time.append_value(time);
        self.second.append_value(time.div_euclid(1_000_000_000).saturating_mul(1_000));
        self.trace_id.append_value(&log.trace_id);
        self.span_id.append_value(&log.span_id);
        // The column has 8 bits, and only the lowest bit has a meaning.
        self.flags.append_value((log.flags & 0xff) as u8);
        self.severity_text.append_value(&log.severity_text);
        self.severity.append_value(u8::try_from(log.severity).unwrap_or(0));
        self.body.append_value(&log.body);
        let urls = [&origin.resource_schema, &origin.scope_schema];
        self.schemas.iter_mut().zip(urls).for_each(|(column, url)| column.append_value(url));
        self.event_name.append_value(&log.event_name);
        self.bytes += self.origin.push(origin) + log.body.len() + log.event_name.len() + 120;
        self.bytes += push_map(&mut self.scope_attributes, &origin.scope_attributes);
        self.bytes += push_map(&mut self.attributes, &log.attributes);
        self.rows += 1;
    }
}

impl OtelColumns for LogColumns {
    fn schema() -> SchemaRef {
        let text = DataType::Utf8;
        schema(vec![
            ("Timestamp", time_type(TimeUnit::Nanosecond)),
            ("TimestampTime", time_type(TimeUnit::Millisecond)),
            ("TraceId", text.clone()),
            ("SpanId", text.clone()),
            ("TraceFlags", DataType::UInt8),
            ("SeverityText", text.clone()),
            ("SeverityNumber", DataType::UInt8),
            ("ServiceName", text.clone()),
            ("Body", text.clone()),
            ("ResourceSchemaUrl", text.clone()),
            ("ResourceAttributes", map_type()),
            ("ScopeSchemaUrl", text.clone()),
            ("ScopeName", text.clone()),
            ("ScopeVersion", text.clone()),
            ("ScopeAttributes", map_type()),
            ("LogAttributes", map_type()),
            ("EventName", text),
        ])
    }

    fn size(&self) -> (usize, usize) {
        (self.rows, self.bytes)
    }

    fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let OriginColumns { service, resource, scope, scope_version } = &mut self.origin;
        let [resource_schema, scope_schema] = &mut self.schemas;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.time.finish()),
            Arc::new(self.second.finish()),
            Arc::new(self.trace_id.finish()),
            Arc::new(self.span_id.finish()),
            Arc::new(self.flags.finish()),
            Arc::new(self.severity_text.finish()),
            Arc::new(self.severity.finish()),
            Arc::new(service.finish()),
            Arc::new(self.body.finish()),
            Arc::new(resource_schema.finish()),
            Arc::new(resource.finish()),
            Arc::new(scope_schema.finish()),
            Arc::new(scope.finish()),
            Arc::new(scope_version.finish()),
            Arc::new(self.scope_attributes.finish()),
            Arc::new(self.attributes.finish()),
            Arc::new(self.event_name.finish()),
        ];
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new(Self::schema(), columns)
    }
}
