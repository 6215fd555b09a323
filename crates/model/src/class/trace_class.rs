//! Trace, data stream and event record classes.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::class::{Attributes, ByteOrder, FieldClass, FieldKind, Member, Role, Value};
use crate::clock::ClockClass;
use crate::log::LogRole;
use crate::meaning::{EventDisplay, EventRole, Meanings};
use crate::telemetry::ElementRole;
use crate::trace::DeclaredAt;

/// A complete trace description, from a CTF metadata stream or a reader of another format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceClass {
    /// Dialect of the trace, for example "CTF 1.8".
    pub dialect: String,
    /// Namespace for the name.
    pub namespace: Option<String>,
    /// Namespace that the tracer is known to use, if the metadata language cannot state it. For display; the metadata
    /// does not contain it.
    pub implied_namespace: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Unique identifier within namespace and name (SPEC-2.0).
    pub uid: Option<String>,
    /// UUID of the object in [`Self::uuid_of`].
    pub uuid: Option<Uuid>,
    /// Object that the UUID identifies.
    pub uuid_of: UuidOf,
    /// Default byte order (CTF 1.8 and PROP-1.0 only).
    pub default_byte_order: Option<ByteOrder>,
    /// Recording environment as stated by the producer, in order.
    pub environment: Vec<(String, Value)>,
    /// Packet header class: a structure.
    pub packet_header: Option<Arc<FieldClass>>,
    /// Clock classes in declaration order.
    pub clocks: Vec<ClockClass>,
    /// Precision, in cycles, of the clock classes without a stated precision, if known.
    pub default_clock_precision: Option<u64>,
    /// Data stream classes in declaration order.
    pub data_streams: Vec<DataStreamClass>,
    /// Attributes from the producer.
    pub attributes: Attributes,
    /// Call sites (CTF 1.8 `callsite` blocks), one map each. Decoding does not use them.
    pub call_sites: Vec<Value>,
    /// Metadata without a place in this class.
    pub unmodeled: UnmodeledMetadata,
    /// Declaration position.
    pub declared_at: DeclaredAt,
}

/// Metadata that a [`TraceClass`] lacks, and the original places of some metadata that it contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnmodeledMetadata {
    /// Number of field class aliases with a name that writers would not choose.
    pub alias_names: u64,
    /// Number of field class aliases with attributes.
    pub alias_attributes: u64,
    /// Auxiliary streams (PROP-2.0) that became trace class attributes, by namespace.
    pub aux_streams: Vec<(String, Value)>,
}

impl UnmodeledMetadata {
    /// Counts a field class alias.
    pub fn add_alias(&mut self, name: &str, attributes: &Attributes) {
        let number = name.strip_prefix("class-").or_else(|| name.strip_prefix("type-"));
        let is_ours = number.is_some_and(|number| number.parse::<u64>().is_ok());
        self.alias_names += u64::from(!is_ours);
        self.alias_attributes += u64::from(!attributes.is_empty());
    }
}

crate::named_enum! {
    /// Object that the UUID of a trace class identifies.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum UuidOf: "UUID subject" {
        /// The trace (CTF 1.8, PROP-1.0).
        #[default]
        Trace = "trace",
        /// The trace class: traces from other runs can have the same UUID (PROP-2.0).
        TraceClass = "trace-class",
        /// The metadata stream (SPEC-2.0).
        MetadataStream = "metadata-stream",
    }
}

impl TraceClass {
    /// Creates a trace class. Data stream class ids are list indexes.
    #[must_use]
    pub fn new(
        dialect: impl Into<String>,
        clocks: impl IntoIterator<Item = ClockClass>,
        data_streams: impl IntoIterator<Item = DataStreamClass>,
    ) -> Self {
        let numbered = |(class, id)| DataStreamClass { id, ..class };
        Self {
            dialect: dialect.into(),
            clocks: clocks.into_iter().collect(),
            data_streams: data_streams.into_iter().zip(0..).map(numbered).collect(),
            ..Self::default()
        }
    }

    /// Returns the tracer name from the environment, or else the dialect.
    #[must_use]
    pub fn tracer(&self) -> &str {
        self.environment("tracer_name").and_then(Value::as_text).unwrap_or(&self.dialect)
    }

    /// Returns all root field classes: packet header, data streams, event records.
    pub fn roots(&self) -> impl Iterator<Item = &Arc<FieldClass>> {
        self.packet_header.iter().chain(self.data_streams.iter().flat_map(DataStreamClass::roots))
    }

    /// Returns the data stream class with this id.
    #[must_use]
    pub fn data_stream(&self, id: u128) -> Option<&DataStreamClass> {
        self.data_streams.iter().find(|class| class.id == id)
    }

    /// Returns an environment entry.
    #[must_use]
    pub fn environment(&self, name: &str) -> Option<&Value> {
        self.environment.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns an environment entry that is a non-negative number.
    #[must_use]
    pub fn environment_number(&self, name: &str) -> Option<u64> {
        match self.environment(name)? {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }
}

/// Describes data streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataStreamClass {
    /// Id within the trace.
    pub id: u128,
    /// Namespace for the name.
    pub namespace: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Unique identifier within namespace and name (SPEC-2.0).
    pub uid: Option<String>,
    /// Default clock: an index into [`TraceClass::clocks`].
    pub default_clock: Option<u16>,
    /// Other clocks of its data streams: indexes into [`TraceClass::clocks`].
    pub other_clocks: Vec<u16>,
    /// Packet context class: a structure.
    pub packet_context: Option<Arc<FieldClass>>,
    /// Event record header class: a structure.
    pub event_record_header: Option<Arc<FieldClass>>,
    /// Class for the context that all event records share: a structure.
    pub common_context: Option<Arc<FieldClass>>,
    /// Class for [resource](crate::Scope::Resource) data: a structure.
    pub resource: Option<Arc<FieldClass>>,
    /// Event record classes in declaration order.
    pub event_records: Vec<Arc<EventRecordClass>>,
    /// Attributes from the producer.
    pub attributes: Attributes,
    /// Declaration position.
    pub declared_at: DeclaredAt,
}

impl DataStreamClass {
    /// Creates a data stream class. Event record class ids are list indexes. `default_clock` is an index into
    /// [`TraceClass::clocks`].
    #[must_use]
    pub fn new(
        default_clock: Option<u16>,
        event_records: impl IntoIterator<Item = EventRecordClass>,
    ) -> Self {
        let numbered = |(class, id)| Arc::new(EventRecordClass { id, ..class });
        let event_records = event_records.into_iter().zip(0..).map(numbered).collect();
        Self { default_clock, event_records, ..Self::default() }
    }

    /// Returns all root field classes except the resource: packet context, event record header and common context, then
    /// the event record classes.
    pub fn roots(&self) -> impl Iterator<Item = &Arc<FieldClass>> {
        let own = [&self.packet_context, &self.event_record_header, &self.common_context];
        let events = self.event_records.iter().flat_map(|event| [&event.specific_context, &event.payload]);
        own.into_iter().chain(events).flatten()
    }

    /// Returns the event record classes by id.
    #[must_use]
    pub fn event_records_by_id(&self) -> HashMap<u128, &Arc<EventRecordClass>> {
        self.event_records.iter().map(|class| (class.id, class)).collect()
    }

    /// Returns the length in bits of the last class id in event record headers, if any.
    #[must_use]
    pub fn class_id_length(&self) -> Option<u64> {
        let root = self.event_record_header.as_deref().map(|root| &root.kind);
        let Some(FieldKind::Structure { members, .. }) = root else { return None };
        let id = members.iter().rfind(|member| member.class.roles.has(Role::EventRecordClassId))?;
        match &id.class.kind {
            FieldKind::Integer { bits, .. } => Some(bits.length),
            _ => None,
        }
    }
}

impl EventRecordClass {
    /// Creates a class whose payload is a structure with these members.
    #[must_use]
    pub fn new(name: impl Into<String>, members: impl IntoIterator<Item = Member>) -> Self {
        Self {
            name: Some(name.into()),
            payload: Some(Arc::new(FieldClass::structure(members))),
            ..Self::default()
        }
    }

    /// Returns an id that depends only on a key, so that it is the same in every file. Every JSON reader accepts the
    /// number: it has 48 bits of the FNV-1a hash.
    #[must_use]
    pub fn id_from_key(key: &[u8]) -> u128 {
        let hash = key.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        u128::from((hash ^ hash >> 48) & 0xffff_ffff_ffff)
    }
}

/// Describes event records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRecordClass {
    /// Id within the data stream class.
    pub id: u128,
    /// Namespace for the name.
    pub namespace: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Unique identifier within namespace and name (SPEC-2.0).
    pub uid: Option<String>,
    /// The tracer's log level as a number (CTF 1.8 `loglevel`).
    pub log_level: Option<i64>,
    /// Role on a timeline.
    pub role: EventRole,
    /// Display details for viewers, beyond the role.
    pub display: Option<Arc<EventDisplay>>,
    /// Meanings of the members in its scopes.
    pub meanings: Meanings,
    /// `true` if the payload is undescribed and shown as bytes.
    pub is_undescribed: bool,
    /// Log role, if the events are log lines.
    pub log: Option<Arc<LogRole>>,
    /// Element role, if the events come from OpenTelemetry elements.
    pub element: Option<Arc<ElementRole>>,
    /// `true` if the events describe things that other events refer to at any time: process, module and function names.
    /// Cuts of a trace keep them.
    pub is_rundown: bool,
    /// Eclipse Modeling Framework URI (CTF 1.8 `model.emf.uri`).
    pub emf_uri: Option<String>,
    /// Context class: a structure.
    pub specific_context: Option<Arc<FieldClass>>,
    /// Payload class: a structure.
    pub payload: Option<Arc<FieldClass>>,
    /// Attributes from the producer.
    pub attributes: Attributes,
    /// Declaration position.
    pub declared_at: DeclaredAt,
}
