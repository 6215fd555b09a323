//! OpenTelemetry requests (OTLP) as ichnos traces, from files and over HTTP.
//!
//! | OTLP | model |
//! |---|---|
//! | directory or file with requests, receiver | trace |
//! | resource | data stream. Its attributes are the [resource](ichnos_model::Scope::Resource) of each event |
//! | scope: name, version, attributes | specific context |
//! | identifiers of trace, span, parent and links of the same trace | common context |
//! | span | two events, for its start and its end |
//! | event of a span, log record, data point | event |
//! | distinct names and types of attributes | event record class, created at its first event |
//! | times | clock with 1 GHz, since 1970 |
//!
//! All fields of an event are values. The payload has the fields that OpenTelemetry defines for the element, then its
//! attributes under their own names. An attribute with the name of an earlier field gets a number: `kind_2`. Texts,
//! integers, floating-point numbers, booleans, bytes, arrays and attribute lists keep their types. Lists in an array
//! have the members of all, which can be missing. If the value types in an array differ, it becomes a text array, with
//! JSON for other values. The [role](ichnos_model::telemetry::ElementRole) of a class says which fields are attributes.
//!
//! | event | name | payload |
//! |---|---|---|
//! | start of a span | `NAME:begin` | `span`, `kind`, `links`, `trace_state`, `flags`, `dropped_attributes`, `dropped_links`, attributes |
//! | end of a span | `NAME:end` | `span`, `status`, `status_message`, `dropped_events` |
//! | event of a span | its name | `dropped_attributes`, attributes |
//! | log record | event name, or `log` | `severity`, `severity_text`, `message` or `body`, `observed_time` or `time_is_observed`, `flags`, `dropped_attributes`, attributes |
//! | data point | name of the metric | `metric` and `series` (with attributes), `value`, or `count`, `sum`, `min`, `max`, `bucket_counts`, `explicit_bounds`, `scale`, `zero_count`, `zero_threshold`, `positive_offset`, `positive_counts`, `negative_offset`, `negative_counts`; `temporality`, `monotonic`, `start_time`, `flags`, `quantiles`, `exemplars`, attributes |
//!
//! Fields with their default values are left out. The role of a class has the description of its metric. It also
//! says whether metadata of the metric, entities of the resource, or long texts and attributes were not read.
//!
//! Events of a file are sorted by time, because spans are sent at their end. A log record without a time has the time
//! at which it was observed, and says so. An end before the start of its span is moved to the start, and `end_time` has the
//! original time.
//!
//! Beyond [`Limits::dynamic_event_record_classes`](ichnos_model::trace::Limits), and for events with very many
//! attributes, the payload has `name`, `scope` and `fields`: arrays of names and texts. `own_fields` is the number of
//! fields before the attributes. Data points also have `unit` and `description`. Beyond 4,096 resources, further ones
//! share a data stream, and their attributes are an array of names and texts.
//!
//! Texts that many events share are cut to 1,024 bytes, and attributes of a resource or a scope that do not fit into
//! 64 KiB are left out. Both are reported as damage.
#![forbid(unsafe_code)]

mod any_value;
mod class;
mod context_table;
mod data_point;
mod digits;
mod draft;
mod draft_reader;
mod event_indexer;
mod exemplar;
mod fault;
mod file_form;
mod format;
mod input;
mod log_record;
mod origin;
mod placed_events;
pub mod push;
pub mod receiver;
mod recognized_file;
mod request;
mod request_rows;
mod request_signal;
mod row;
mod rule;
mod schema;
mod shape;
mod shared_limits;
mod signal_guess;
mod span;
mod stored_kind;
mod wire;
mod wire_schema;

pub use self::fault::RequestFault;
pub use self::format::OtlpRequests;
pub use self::input::RequestEncoding;
pub use self::request_rows::{RowVisitor, visit_rows};
pub use self::request_signal::RequestSignal;
pub use self::row::{LinkRow, LogRow, RowOrigin, SpanRow, TextPairs};
pub use self::stored_kind::StoredKind;
