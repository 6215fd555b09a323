//! The classes of a trace: of its data streams and of their event records.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::{Attributes, ByteOrder, ClockClass, DeclaredAt, FieldClass, LogRole, Value};

/// A whole description of a trace: what a CTF metadata stream says, or what a reader of another
/// format found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceClass {
    /// What the trace was written as, for instance "CTF 1.8".
    pub dialect: String,
    /// Namespace of the name.
    pub namespace: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Unique identifier within namespace and name (SPEC-2.0).
    pub uid: Option<String>,
    /// UUID: of the trace (CTF 1.8, PROP-1.0), the trace class (PROP-2.0) or the metadata stream
    /// (SPEC-2.0).
    pub uuid: Option<Uuid>,
    /// Byte order of what does not say one itself (CTF 1.8 and PROP-1.0 only).
    pub default_byte_order: Option<ByteOrder>,
    /// What the producer said about where the trace was recorded, in order.
    pub environment: Vec<(String, Value)>,
    /// Class of packet headers: a structure.
    pub packet_header: Option<Arc<FieldClass>>,
    /// Clock classes in the order they were declared.
    pub clocks: Vec<ClockClass>,
    /// Data stream classes in the order they were declared.
    pub data_streams: Vec<DataStreamClass>,
    /// What the producer adds.
    pub attributes: Attributes,
    /// Call sites (CTF 1.8 `callsite` blocks), one map each; nothing decodes with them.
    pub call_sites: Vec<Value>,
    /// Where it was declared.
    pub declared_at: DeclaredAt,
}

impl TraceClass {
    /// The data stream class of this id.
    #[must_use]
    pub fn data_stream(&self, id: u128) -> Option<&DataStreamClass> {
        self.data_streams.iter().find(|class| class.id == id)
    }

    /// The value of an environment entry.
    #[must_use]
    pub fn environment(&self, name: &str) -> Option<&Value> {
        self.environment.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

/// Describes data streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataStreamClass {
    /// Id within the trace.
    pub id: u128,
    /// Namespace of the name.
    pub namespace: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Unique identifier within namespace and name (SPEC-2.0).
    pub uid: Option<String>,
    /// Default clock: an index into [`TraceClass::clocks`].
    pub default_clock: Option<u16>,
    /// Further clocks of its data streams: indexes into [`TraceClass::clocks`].
    pub other_clocks: Vec<u16>,
    /// Class of packet contexts: a structure.
    pub packet_context: Option<Arc<FieldClass>>,
    /// Class of event record headers: a structure.
    pub event_record_header: Option<Arc<FieldClass>>,
    /// Class of the contexts that all event records have: a structure.
    pub common_context: Option<Arc<FieldClass>>,
    /// Event record classes in the order they were declared.
    pub event_records: Vec<Arc<EventRecordClass>>,
    /// What the producer adds.
    pub attributes: Attributes,
    /// Where it was declared.
    pub declared_at: DeclaredAt,
}

impl DataStreamClass {
    /// The event record classes by id.
    #[must_use]
    pub fn event_records_by_id(&self) -> HashMap<u128, &Arc<EventRecordClass>> {
        self.event_records.iter().map(|class| (class.id, class)).collect()
    }
}

/// Describes event records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRecordClass {
    /// Id within the data stream class.
    pub id: u128,
    /// Namespace of the name.
    pub namespace: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Unique identifier within namespace and name (SPEC-2.0).
    pub uid: Option<String>,
    /// Log level of the tracer, as a number (CTF 1.8 `loglevel`).
    pub log_level: Option<i64>,
    /// What makes its events lines of a log, if they are.
    pub log: Option<Arc<LogRole>>,
    /// Eclipse Modeling Framework URI (CTF 1.8 `model.emf.uri`).
    pub emf_uri: Option<String>,
    /// Class of the context: a structure.
    pub specific_context: Option<Arc<FieldClass>>,
    /// Class of the payload: a structure.
    pub payload: Option<Arc<FieldClass>>,
    /// What the producer adds.
    pub attributes: Attributes,
    /// Where it was declared.
    pub declared_at: DeclaredAt,
}
