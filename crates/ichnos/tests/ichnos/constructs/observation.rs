//! Observation of a trace: events, losses, damage, and class facts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ichnos::model::class::{
    Attributes, Child, DataStreamClass, EventRecordClass, FieldClass, FieldKind, Value,
};
use ichnos::model::clock::ClockClass;
use ichnos::model::field::{Field, FieldValue, Real, Text, Wide};
use ichnos::model::{Cursor as _, Message, Scope, TraceClass, Visitor};
use ichnos_testing::constructs::{Datum, EncodedEvent, Lost};

/// Facts about a metadata item.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FactKey {
    /// Name of the event record class. Empty for other items.
    pub(crate) class: String,
    pub(crate) field: String,
    pub(crate) property: String,
    pub(crate) is_of_event: bool,
}

/// Trace as read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observation {
    pub(crate) events: Vec<EncodedEvent>,
    pub(crate) lost: Vec<Lost>,
    pub(crate) damage: Vec<String>,
    pub(crate) facts: BTreeMap<FactKey, String>,
    /// Event record class names in order. Empty for unnamed classes.
    pub(crate) classes: Vec<String>,
    /// Variant option names, which occur in loss paths.
    pub(crate) options: Vec<String>,
    /// `true` if event record classes have ids in this format.
    has_class_ids: bool,
    /// Metadata text, as other readers see it. Empty for formats without a metadata file.
    pub(crate) metadata: String,
}

/// Scope names in loss tables. Both event contexts have the same name there.
const SCOPES: [(Scope, &str); 5] = [
    (Scope::EventRecordHeader, "header"),
    (Scope::CommonContext, "ctx"),
    (Scope::SpecificContext, "specific ctx"),
    (Scope::Payload, "payload"),
    (Scope::Resource, "resource"),
];

/// Reads a trace.
pub(crate) fn observe(path: &Path, format: Option<&str>) -> Result<Observation, String> {
    let mut options = ichnos::OpenOptions::default();
    options.read.check = true;
    options.assume_correlated = true;
    options.format = format.map(str::to_owned);
    let session = ichnos::open([path], &options).map_err(|error| format!("cannot be read: {error}"))?;
    let metadata = fs::read_to_string(path.join("metadata")).unwrap_or_default();
    let has_class_ids = !matches!(format, Some("fxt" | "fuchsia-log" | "xtrace"));
    let mut observation = Observation { metadata, has_class_ids, ..Observation::default() };
    let reader = session.stream_reader();
    let mut cursor = reader.cursor();
    let mut packets: BTreeMap<u32, Vec<(&'static str, Datum)>> = BTreeMap::new();
    while cursor.advance() {
        let Some(message) = cursor.current() else { break };
        let key = message.stream().map_or(0, |stream| stream.key);
        match message {
            Message::PacketBegin(packet) => {
                let mut scopes = Vec::new();
                for (scope, name) in
                    [(Scope::PacketHeader, "packet.header"), (Scope::PacketContext, "packet.context")]
                {
                    let mut visitor = DatumVisitor::default();
                    let result = packet.visit(scope, &mut visitor);
                    result.map_err(|error| format!("packet cannot be visited: {error:?}"))?;
                    scopes.extend(visitor.root.map(|root| (name, root)));
                }
                packets.insert(key, scopes);
            }
            Message::Event(event) => {
                let mut scopes = packets.get(&key).cloned().unwrap_or_default();
                for (scope, name) in SCOPES {
                    let mut visitor = DatumVisitor::default();
                    let result = event.visit(scope, &mut visitor);
                    result.map_err(|error| format!("event cannot be visited: {error:?}"))?;
                    scopes.extend(visitor.root.map(|root| (name, root)));
                }
                let clocks = event.other_clocks.iter().map(|(clock, value)| {
                    (event.stream.trace.class.clocks[usize::from(*clock)].id.as_str(), Datum::integer(value))
                });
                let clocks = Datum::structure(clocks);
                if !clocks.is_empty() {
                    scopes.push(("clocks", clocks));
                }
                let name = event.class.name.clone();
                observation.events.push(EncodedEvent { name, nanoseconds: event.nanoseconds(), scopes });
            }
            Message::DiscardedEvents(lost) => {
                observation.lost.push(lost.count.map_or(Lost::UnknownEvents, Lost::Events));
                if let Some(thread) = lost.thread {
                    let property = "thread of discarded events|record of discarded events".to_owned();
                    let key = FactKey { property, ..FactKey::default() };
                    observation.facts.insert(key, thread.to_string());
                }
            }
            Message::DiscardedPackets(lost) => {
                observation.lost.push(Lost::Packets(lost.count.unwrap_or(0)));
            }
            Message::Damage(damage) => observation.damage.push(damage.to_string()),
            _ => {}
        }
    }
    // Formats without declarations: classes are known only after their events.
    for trace in session.traces() {
        facts_of_trace(&trace.trace().class_with_dynamic(), trace.data_streams().len(), &mut observation);
        observation.damage.extend(trace.damage().iter().map(ToString::to_string));
    }
    Ok(observation)
}

/// Visitor that converts a scope to a datum.
#[derive(Default)]
struct DatumVisitor {
    root: Option<Datum>,
    open: Vec<(Option<String>, Datum)>,
}

impl DatumVisitor {
    fn put(&mut self, name: Option<&str>, value: Datum) {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some((_, Datum::Structure(members))) => {
                members.push((name.unwrap_or_default().to_owned(), value))
            }
            Some((_, Datum::Array(elements))) => elements.push(value),
            // An optional or variant is represented by its field.
            Some((_, inner)) => *inner = value,
        }
    }

    fn begin(&mut self, field: Field<'_>, value: Datum) {
        self.open.push((field.name().map(str::to_owned), value));
    }

    fn end(&mut self) {
        if let Some((name, value)) = self.open.pop() {
            self.put(name.as_deref(), value);
        }
    }
}

impl Visitor for DatumVisitor {
    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        self.put(
            field.name(),
            match value {
                FieldValue::Unsigned(value) => Datum::integer(value),
                FieldValue::Signed(value) => Datum::integer(value),
                FieldValue::Boolean(value) => Datum::Boolean(value),
                FieldValue::Bits(bits) => Datum::Bits(format!("{bits:x}")),
                FieldValue::Blob(bytes) => Datum::Bytes(bytes.to_vec()),
                FieldValue::Guid(value) => Datum::Bytes(value.to_bytes_le().to_vec()),
                _ => Datum::Absent,
            },
        );
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        let mut digits = Vec::new();
        let datum: fn(String) -> Datum = match field.class().kind {
            FieldKind::BitArray(_) | FieldKind::BitMap { .. } => {
                value.write_radix(4, &mut digits);
                Datum::Bits
            }
            _ => {
                value.write_decimal(&mut digits);
                Datum::Integer
            }
        };
        self.put(field.name(), datum(String::from_utf8(digits).unwrap()));
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        let datum = match value {
            Real::Half(bits) => Datum::Float(16, bits.into()),
            Real::Single(value) => Datum::Float(32, value.to_bits().into()),
            Real::Double(value) => Datum::Float(64, value.to_bits().into()),
            Real::Wide(wide) => Datum::Float(wide.length as u32, wide.as_u128().unwrap()),
        };
        self.put(field.name(), datum);
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.put(field.name(), Datum::text(&value.to_str_lossy()));
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(field, Datum::Structure(Vec::new()));
    }

    fn end_structure(&mut self, _: Field<'_>) {
        self.end();
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.begin(field, Datum::Array(Vec::new()));
    }

    fn end_array(&mut self, _: Field<'_>) {
        self.end();
    }

    fn begin_optional(&mut self, field: Field<'_>, _: bool, _: i128) {
        self.begin(field, Datum::Absent);
    }

    fn end_optional(&mut self, _: Field<'_>) {
        self.end();
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.begin(field, Datum::Absent);
    }

    fn end_variant(&mut self, _: Field<'_>) {
        self.end();
    }
}

/// Collector of facts about one class.
struct Facts<'o> {
    observation: &'o mut Observation,
    /// Name of the event record class.
    class: Option<String>,
}

impl Facts<'_> {
    fn add(&mut self, field: &str, property: &str, value: impl ToString) {
        let (class, is_of_event) = (self.class.clone().unwrap_or_default(), self.class.is_some());
        let (field, property) = (field.to_owned(), property.to_owned());
        self.observation.facts.insert(FactKey { class, field, property, is_of_event }, value.to_string());
    }

    fn some(&mut self, field: &str, property: &str, value: Option<&impl ToString>) {
        if let Some(value) = value {
            self.add(field, property, value.to_string());
        }
    }

    fn attributes(&mut self, field: &str, property: &str, attributes: &Attributes) {
        /// Attributes that other dialects write as class members.
        const KNOWN: [&str; 5] = ["log-level", "emf-uri", "name", "ns", "base"];
        for (namespace, value) in attributes.iter() {
            let is_known = matches!(value, Value::Map(entries) if entries.iter().all(|(name, _)| KNOWN.contains(&&**name)));
            if !is_known {
                self.add(field, &format!("{property}|{namespace}"), value);
            }
        }
    }
}

fn facts_of_trace(class: &TraceClass, streams: usize, observation: &mut Observation) {
    let mut facts = Facts { observation, class: None };
    facts.some("", "name of the trace|name or", class.name.as_ref());
    facts.some("", "namespace of the trace", class.namespace.as_ref());
    facts.some("", "unique identifier of the trace|unique identifier", class.uid.as_ref());
    facts.some("", "UUID|unique identifier", class.uuid.as_ref());
    facts.attributes("", "attributes of the trace", &class.attributes);
    for (name, value) in &class.environment {
        facts.add(&format!("environment.{name}"), &format!("environment entry `{name}`"), value);
    }
    if let Some(root) = &class.packet_header {
        facts_of_field(&mut facts, root, Scope::PacketHeader.short_name());
    }
    for (index, clock) in class.clocks.iter().enumerate() {
        facts_of_clock(&mut facts, index, clock);
    }
    facts.add("", "data streams|events after", streams);
    for stream in &class.data_streams {
        facts_of_stream(&mut facts, stream);
    }
}

fn facts_of_clock(facts: &mut Facts<'_>, index: usize, clock: &ClockClass) {
    let field = format!("clock.{index}");
    facts.add(&field, "name of a clock|identity", clock.name.as_ref().unwrap_or(&clock.id));
    facts.add(&field, "frequency of a clock", clock.frequency);
    facts.add(&field, "offset of a clock", clock.origin_cycles());
    facts.add(&field, "origin of a clock", format!("{:?}", clock.origin));
    facts.some(&field, "description of a clock", clock.description.as_ref());
    // In SPEC-2.0, the UUID is the unique identifier.
    let uuid = clock.uuid.or_else(|| clock.uid.as_ref().and_then(|uid| uid.parse().ok()));
    facts.some(&field, "UUID of a clock", uuid.as_ref());
    facts.some(&field, "namespace of a clock", clock.namespace.as_ref());
    facts.some(&field, "unique identifier of a clock", clock.uid.as_ref().filter(|_| uuid.is_none()));
    facts.some(&field, "precision of a clock", clock.precision.filter(|cycles| *cycles > 0).as_ref());
    facts.some(&field, "accuracy of a clock", clock.accuracy.as_ref());
    facts.attributes(&field, "attributes of a clock", &clock.attributes);
}

fn facts_of_stream(facts: &mut Facts<'_>, class: &DataStreamClass) {
    let field = format!("data stream class {}", class.id);
    facts.some(&field, "name of a data stream class", class.name.as_ref());
    facts.some(&field, "namespace of a data stream class", class.namespace.as_ref());
    facts.some(&field, "unique identifier of a data stream class", class.uid.as_ref());
    facts.attributes(&field, "attributes of a data stream class", &class.attributes);
    let roots = [
        (&class.packet_context, Scope::PacketContext),
        (&class.event_record_header, Scope::EventRecordHeader),
        (&class.common_context, Scope::CommonContext),
        (&class.resource, Scope::Resource),
    ];
    for (root, scope) in roots {
        if let Some(root) = root {
            facts_of_field(facts, root, scope.short_name());
        }
    }
    for event in &class.event_records {
        // Only a single unnamed class can be distinguished from others.
        if event.name.is_none() && facts.observation.classes.contains(&String::new()) {
            continue;
        }
        facts.class = Some(event.name.clone().unwrap_or_default());
        facts.observation.classes.extend(facts.class.clone());
        facts_of_event(facts, event);
        facts.class = None;
    }
}

fn facts_of_event(facts: &mut Facts<'_>, class: &EventRecordClass) {
    // Records in some formats lack ids, so readers number the classes.
    if facts.observation.has_class_ids {
        facts.add("", "id |id of the event record class", class.id);
    }
    facts.some("", "namespace of the event record class", class.namespace.as_ref());
    facts.some("", "unique identifier of the event record class", class.uid.as_ref());
    facts.some("", "log level|severity", class.log_level.as_ref());
    facts.some("", "EMF URI", class.emf_uri.as_ref());
    facts.attributes("", "attributes of the event record class|=attributes|metadata", &class.attributes);
    for (root, scope) in [(&class.specific_context, Scope::SpecificContext), (&class.payload, Scope::Payload)]
    {
        if let Some(root) = root {
            for (index, member) in root.members().unwrap_or_default().iter().enumerate() {
                let field = format!("{}.{}", scope.short_name(), member.name);
                facts.some(&field, "meaning", class.meanings.get(scope, index).as_ref());
            }
            facts_of_field(facts, root, scope.short_name());
        }
    }
}

fn facts_of_field(facts: &mut Facts<'_>, class: &FieldClass, path: &str) {
    // Fields that only serve decoding are hidden.
    if class.is_padding() {
        return;
    }
    // Only the values of such fields matter.
    if !class.roles.is_empty() {
        facts.add(path, "role", class.describe());
        return;
    }
    facts.add(path, "class", class.describe());
    if let FieldKind::String { encoding, .. } = &class.kind {
        facts.add(path, "encoding", encoding.name());
    }
    if let Some(bits) = class.bits() {
        facts.add(path, "bit order", format!("{:?}", bits.bit_order));
    }
    facts.attributes(path, "attributes", &class.attributes);
    if let Some(clock) = class.integer().and_then(|integer| integer.date_clock()) {
        facts.add(path, "date", format!("{clock:?}"));
    }
    if let Some(integer) = class.integer()
        && integer.preferred_base.radix() != 10
    {
        facts.add(path, "preferred base", integer.preferred_base.radix());
    }
    if let Some(mappings) = class.mappings() {
        facts.add(path, "names of values|value names", format!("{mappings:?}"));
    }
    if let FieldKind::Blob { media_type, .. } = &class.kind
        && media_type != "application/octet-stream"
    {
        facts.add(path, "media type", media_type);
    }
    if class.needed_location().is_some_and(|location| location.origin.is_some()) {
        facts.add(path, "location", "in another scope");
    }
    for (index, child) in class.children().enumerate() {
        let inner = match child {
            Child::Member(member) => format!("{path}.{}", member.name),
            Child::Element(_) => format!("{path}.[]"),
            Child::Present(_) => path.to_owned(),
            Child::Choice(option) => {
                facts.observation.options.extend(option.name.clone());
                format!("{path}.#{index}")
            }
        };
        facts_of_field(facts, child.class(), &inner);
    }
}
