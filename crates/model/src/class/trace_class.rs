//! Classes of a trace, its data streams and their event records.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::{
    Attributes, ByteOrder, ClockClass, DeclaredAt, EventDisplay, EventRole, FieldClass, FieldKind, LogRole,
    Meanings, Member, Role, Value,
};

/// A whole description of a trace, from a CTF metadata stream or a reader of another format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceClass {
    /// Dialect in which the trace was written, for instance "CTF 1.8".
    pub dialect: String,
    /// Namespace of the name.
    pub namespace: Option<String>,
    /// Namespace that the tracer is known to use, if the metadata language cannot state one. For display; the
    /// metadata does not contain it.
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
    /// Environment of the recording, as stated by the producer, in order.
    pub environment: Vec<(String, Value)>,
    /// Class of packet headers: a structure.
    pub packet_header: Option<Arc<FieldClass>>,
    /// Clock classes in the order they were declared.
    pub clocks: Vec<ClockClass>,
    /// Precision, in cycles, of the clock classes that do not state theirs, if known.
    pub default_clock_precision: Option<u64>,
    /// Data stream classes in the order they were declared.
    pub data_streams: Vec<DataStreamClass>,
    /// Attributes that the producer adds.
    pub attributes: Attributes,
    /// Call sites (CTF 1.8 `callsite` blocks), one map each; not used for decoding.
    pub call_sites: Vec<Value>,
    /// Parts of the metadata without a place in this class.
    pub unmodeled: UnmodeledMetadata,
    /// Place of the declaration.
    pub declared_at: DeclaredAt,
}

/// Parts of the metadata that a [`TraceClass`] does not contain, and places of parts that it does contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnmodeledMetadata {
    /// Number of aliases of field classes with a name that writers would not choose.
    pub alias_names: u64,
    /// Number of aliases of field classes with attributes.
    pub alias_attributes: u64,
    /// Auxiliary streams (PROP-2.0) that became attributes of the trace class, by namespace.
    pub aux_streams: Vec<(String, Value)>,
}

impl UnmodeledMetadata {
    /// Counts an alias of a field class.
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
        /// The trace class: traces of other runs can have the same UUID (PROP-2.0).
        TraceClass = "trace-class",
        /// The metadata stream (SPEC-2.0).
        MetadataStream = "metadata-stream",
    }
}

impl TraceClass {
    /// Makes a class of a dialect with these clocks and data stream classes, whose ids are their indexes.
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

    /// Returns the name of the tracer by its environment, or else the dialect of the trace.
    #[must_use]
    pub fn tracer(&self) -> &str {
        self.environment("tracer_name").and_then(Value::as_text).unwrap_or(&self.dialect)
    }

    /// Returns the classes of all root fields: of the packet header, of data streams and of event records.
    pub fn roots(&self) -> impl Iterator<Item = &Arc<FieldClass>> {
        self.packet_header.iter().chain(self.data_streams.iter().flat_map(DataStreamClass::roots))
    }

    /// Returns the data stream class of this id.
    #[must_use]
    pub fn data_stream(&self, id: u128) -> Option<&DataStreamClass> {
        self.data_streams.iter().find(|class| class.id == id)
    }

    /// Returns the value of an environment entry.
    #[must_use]
    pub fn environment(&self, name: &str) -> Option<&Value> {
        self.environment.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns an environment entry that is a number, unless it is negative.
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
    /// Class of the context common to all event records: a structure.
    pub common_context: Option<Arc<FieldClass>>,
    /// Class of the [resource](crate::Scope::Resource) data of event records: a structure.
    pub resource: Option<Arc<FieldClass>>,
    /// Event record classes in the order they were declared.
    pub event_records: Vec<Arc<EventRecordClass>>,
    /// Attributes that the producer adds.
    pub attributes: Attributes,
    /// Place of the declaration.
    pub declared_at: DeclaredAt,
}

impl DataStreamClass {
    /// Makes a class of these event record classes, whose ids are their indexes, with a default clock: an
    /// index into [`TraceClass::clocks`].
    #[must_use]
    pub fn new(
        default_clock: Option<u16>,
        event_records: impl IntoIterator<Item = EventRecordClass>,
    ) -> Self {
        let numbered = |(class, id)| Arc::new(EventRecordClass { id, ..class });
        let event_records = event_records.into_iter().zip(0..).map(numbered).collect();
        Self { default_clock, event_records, ..Self::default() }
    }

    /// Returns the classes of all root fields but the resource: packet context, event record header and common context,
    /// then those of the event record classes.
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

    /// Returns the length in bits of the last integer in event record headers that is the id of the class, if
    /// there is one.
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
    /// Makes a class of this name, whose payload is a structure of these members.
    #[must_use]
    pub fn new(name: impl Into<String>, members: impl IntoIterator<Item = Member>) -> Self {
        Self {
            name: Some(name.into()),
            payload: Some(Arc::new(FieldClass::structure(members))),
            ..Self::default()
        }
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
    /// Role of its events on a timeline.
    pub role: EventRole,
    /// Details of how viewers show its events, beyond the role.
    pub display: Option<Arc<EventDisplay>>,
    /// Meanings of the members of its scopes.
    pub meanings: Meanings,
    /// `true` if its payload is undescribed and shown as bytes.
    pub is_undescribed: bool,
    /// Log role, if its events are lines of a log.
    pub log: Option<Arc<LogRole>>,
    /// `true` if its events say what other events refer to, whatever their time: names of processes, modules and
    /// functions. Cuts of a trace keep them.
    pub is_rundown: bool,
    /// Eclipse Modeling Framework URI (CTF 1.8 `model.emf.uri`).
    pub emf_uri: Option<String>,
    /// Class of the context: a structure.
    pub specific_context: Option<Arc<FieldClass>>,
    /// Class of the payload: a structure.
    pub payload: Option<Arc<FieldClass>>,
    /// Attributes that the producer adds.
    pub attributes: Attributes,
    /// Place of the declaration.
    pub declared_at: DeclaredAt,
}
