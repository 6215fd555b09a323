//! PROP-1.0 fragments.

mod constant;
mod field_path;
mod field_type;
mod tag;

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::class::{
    Attributes, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, Role, Value,
};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::trace::{Diagnostic, Limits};
use ichnos_model::{Scope, TraceClass};

use self::constant::{id, integer, positive, unsigned};
use self::field_path::PathResolver;
use self::field_type::TypeReader;
pub(in crate::metadata) use self::field_type::{SCOPES, STANDARD, standard_base};
pub(in crate::metadata) use self::tag::TAGS;
use self::tag::{ClockUse, FragmentKind};
use super::attributes::{emf_uri, log_level};
use super::object::{Object, UnknownProperties, array, boolean, listed, refuse, text};
use super::stream::{canonical_uuid, label, seconds_of_clock};
use super::stream_ids::StreamIds;
use super::text::{self, JsonNode};
use crate::metadata::{Dialect, Problems};

/// Number of class visits allowed for following paths, per field type that the limits allow.
const VISITS: u64 = 16;

/// Reads a CTF2-PROP-1.0 metadata stream ("Metadata mdt:array"): a JSON array that begins with the string "CTF 2".
///
/// Adds problems to `problems`, and returns `None` if any is an error. Unknown properties are ignored with a note, as
/// the document requires. Union members and variant choices with an unknown field type are ignored too. Elsewhere,
/// nothing after such a field can be decoded. So event record classes with such a field are refused, and the trace is
/// refused if packets or all event records have such a field.
pub fn parse_prop1(text: &[u8], limits: &Limits, problems: &mut Problems) -> Option<TraceClass> {
    let errors = problems.errors();
    let node = text::fragments(text, limits, problems)?;
    let (version, fragments) = match array(&node, problems)?.split_first() {
        Some((version, fragments)) => (version, fragments),
        None => {
            refuse(&node, "the string `CTF 2` and fragments", problems);
            return None;
        }
    };
    if version.as_text() != Some("CTF 2") {
        refuse(version, "the string `CTF 2`", problems);
    }
    // Aliases may precede the trace class, whose default byte order they need.
    let default_byte_order = fragments.iter().filter(|f| is_of(f, "trace-class")).find_map(|fragment| {
        match fragment.get("default-byte-order")?.as_text()? {
            "be" => Some(ByteOrder::BigEndian),
            "le" => Some(ByteOrder::LittleEndian),
            _ => None,
        }
    });
    let mut reader = Prop1Reader {
        types: TypeReader::new(default_byte_order, limits, problems),
        trace: TraceClass {
            dialect: Dialect::Prop1.title().to_owned(),
            default_byte_order,
            ..TraceClass::default()
        },
        roots: Default::default(),
        has_trace_class: false,
        header_clocks: Vec::new(),
        has_unknown_type: false,
        streams: StreamIds::default(),
        clocks: HashMap::new(),
        visits: limits.field_classes.saturating_mul(VISITS),
    };
    for fragment in fragments {
        reader.fragment(fragment);
    }
    let Prop1Reader { mut trace, has_trace_class, streams, .. } = reader;
    streams.remove_refused(&mut trace);
    if !has_trace_class {
        problems.warning(node.position, "a metadata stream must have a trace class fragment");
    }
    let header = trace.packet_header.as_ref();
    let is_known = header.is_some_and(|header| header.has_role(Role::DataStreamClassId));
    if trace.data_streams.len() > 1 && !is_known {
        let message = "there are several data stream classes, but no class id in the packet header: all \
            packets are assumed to belong to class 0";
        let position = if has_trace_class { trace.declared_at.0 } else { node.position };
        problems.warning(position, message);
    }
    (problems.errors() == errors).then_some(trace)
}

fn is_of(fragment: &JsonNode, name: &str) -> bool {
    fragment.get("fragment").and_then(JsonNode::as_text) == Some(name)
}

/// Root field classes, by scope.
type Roots = [Option<Arc<FieldClass>>; 6];

struct Prop1Reader<'a> {
    types: TypeReader<'a>,
    trace: TraceClass,
    /// Root field classes that later fragments share. A data stream class stores its own.
    roots: Roots,
    has_trace_class: bool,
    header_clocks: Vec<ClockUse>,
    /// `true` if the current event record class has an unknown field type.
    has_unknown_type: bool,
    streams: StreamIds,
    clocks: HashMap<String, u16>,
    /// Remaining number of class visits for following paths.
    visits: u64,
}

impl Prop1Reader<'_> {
    fn fragment(&mut self, node: &JsonNode) {
        let Some(mut object) = Object::open(node, self.types.problems) else { return };
        let Some(kind) = object.require("fragment", self.types.problems) else { return };
        let Some(name) = text(kind, self.types.problems) else { return };
        if name == "field-type-alias" {
            let attributes = self.types.alias_fragment(&mut object);
            // A missing name was already reported.
            let name = node.get("name").and_then(JsonNode::as_text).unwrap_or_default();
            self.trace.unmodeled.add_alias(name, &attributes);
            object.finish(UnknownProperties::Ignore, self.types.problems);
            return;
        }
        let names = [
            "field-type-alias",
            "trace-class",
            "data-stream-clock-class",
            "data-stream-class",
            "event-record-class",
        ];
        if !names.contains(&name) {
            let error = Diagnostic::error(kind.position, "unknown fragment");
            self.types.problems.add(error.expected(listed(&names), kind.describe()));
            return;
        }
        self.types.problems.enter(match name {
            "data-stream-clock-class" => label("clock class", node.get("name")),
            "data-stream-class" => label("data stream class", node.get("id")),
            "event-record-class" => label("event record class", node.get("id")),
            _ => "trace class".to_owned(),
        });
        let attributes = self.types.attributes(&mut object);
        match name {
            "trace-class" => self.trace_class(&mut object, attributes),
            "data-stream-clock-class" => self.clock_class(&mut object, attributes),
            "data-stream-class" => self.data_stream_class(&mut object, attributes),
            _ => self.event_record_class(&mut object, attributes),
        }
        object.finish(UnknownProperties::Ignore, self.types.problems);
        self.types.problems.leave();
    }

    /// Reads the types of a fragment's root fields, resolves their paths and applies its tags.
    fn roots(
        &mut self,
        fields: &[(&'static str, Scope, &str)],
        owner: FragmentKind,
        mut roots: Roots,
        object: &mut Object<'_>,
    ) -> (Roots, Vec<ClockUse>) {
        for (property, scope, what) in fields {
            let Some(node) = object.get(property) else { continue };
            self.types.problems.enter(*what);
            let class = self.types.root(node, *scope);
            if let Some(unknown) = self.types.unknown.take() {
                // All other event records can be read.
                if matches!(owner, FragmentKind::EventRecord) {
                    self.has_unknown_type = true;
                    self.types.problems.begin_part();
                }
                self.types.problems.add(*unknown);
                self.types.problems.end_part();
            }
            if let Some(slot) = roots.get_mut(*scope as usize) {
                *slot = class;
            }
            let known = roots.each_ref().map(Option::as_ref);
            let root = known.get(*scope as usize).copied().flatten();
            let mut resolver = PathResolver::new(*scope, known, self.types.problems, &mut self.visits);
            let resolved = root.and_then(|root| resolver.class(root));
            if let (Some(slot), Some(resolved)) = (roots.get_mut(*scope as usize), resolved) {
                *slot = Some(resolved);
            }
            self.types.problems.leave();
        }
        let tags = object.get("tags");
        let clocks = tags.map(|node| tag::apply(node, owner, &mut roots, &self.clocks, self.types.problems));
        // Tags are optional.
        (roots, clocks.unwrap_or_default())
    }

    /// Reads a trace class (CTF2-PROP-1.0, "Trace class fragment").
    fn trace_class(&mut self, object: &mut Object<'_>, attributes: Attributes) {
        if self.has_trace_class {
            self.types.problems.error(object.position, "there is more than one trace class fragment");
        } else if !self.trace.data_streams.is_empty() {
            let message = "the trace class fragment must be before all data stream class fragments";
            self.types.problems.error(object.position, message);
        }
        self.has_trace_class = true;
        if let Some(node) = object.get("default-byte-order")
            && text(node, self.types.problems).is_some_and(|order| order != "be" && order != "le")
        {
            refuse(node, "`be` or `le`", self.types.problems);
        }
        let uuid = object.get("uuid");
        self.trace.uuid = uuid.and_then(|node| canonical_uuid(node, self.types.problems));
        let fields = [("packet-header-field-type", Scope::PacketHeader, "packet header")];
        (self.roots, self.header_clocks) = self.roots(&fields, FragmentKind::Trace, Roots::default(), object);
        self.trace.packet_header = self.root(Scope::PacketHeader);
        let tagged =
            self.trace.packet_header.as_ref().is_some_and(|class| class.has_role(Role::MetadataStreamUuid));
        if tagged && self.trace.uuid.is_none() {
            let message = "a field has the tag `uuid`, but the trace class lacks the property `uuid`";
            self.types.problems.warning(object.position, message);
        }
        self.trace.attributes = attributes;
        self.trace.environment = take_environment(&mut self.trace.attributes);
        self.trace.declared_at = object.position.into();
    }

    fn root(&self, scope: Scope) -> Option<Arc<FieldClass>> {
        self.roots.get(scope as usize).cloned().flatten()
    }

    /// Reads a clock class (CTF2-PROP-1.0, "Data stream clock class fragment").
    fn clock_class(&mut self, object: &mut Object<'_>, attributes: Attributes) {
        let problems = &mut *self.types.problems;
        let name_node = object.require("name", problems);
        let name = name_node.and_then(|node| text(node, problems)).map(str::to_owned);
        let frequency = object.require("freq", problems).and_then(|node| positive(node, problems));
        // A missing name or frequency was already reported.
        let mut clock = ClockClass::new(name.clone().unwrap_or_default(), frequency.unwrap_or(1));
        clock.name = name;
        clock.uuid = object.get("uuid").and_then(|node| canonical_uuid(node, problems));
        clock.precision = object.get("error-cycles").map_or(Some(0), |node| unsigned(node, problems));
        if let Some(node) = object.get("offset-seconds")
            && let Some(seconds) = integer(node, problems)
            && let Some(seconds) = seconds_of_clock(seconds, node, problems)
        {
            clock.offset_seconds = seconds;
        }
        if let Some(node) = object.get("offset-cycles")
            && let Some(cycles) = integer(node, problems)
        {
            match u64::try_from(cycles) {
                Ok(cycles) => clock.offset_cycles = cycles,
                // Moves whole seconds from the cycles to the seconds, with the same sum.
                Err(_) => {
                    let frequency = i128::from(clock.frequency);
                    let seconds = cycles.div_euclid(frequency).checked_add(clock.offset_seconds.into());
                    match seconds.and_then(|seconds| i64::try_from(seconds).ok()) {
                        Some(seconds) => clock.offset_seconds = seconds,
                        None => refuse(node, "an offset of at most 64 bits of seconds", problems),
                    }
                    clock.offset_cycles = u64::try_from(cycles.rem_euclid(frequency)).unwrap_or(0);
                }
            }
        }
        let absolute = object.get("is-absolute").is_some_and(|node| boolean(node, problems) == Some(true));
        clock.origin = if absolute { ClockOrigin::UnixEpoch } else { ClockOrigin::Unknown };
        clock.attributes = attributes;
        clock.declared_at = object.position.into();
        if self.clocks.contains_key(&clock.id) {
            let position = object.position_of(name_node);
            problems.error(position, format!("duplicate data stream clock class `{}`", clock.id));
        } else if let Ok(index) = u16::try_from(self.trace.clocks.len()) {
            self.clocks.insert(clock.id.clone(), index);
            self.trace.clocks.push(clock);
        } else {
            problems.error(object.position, "there are more than 65,536 data stream clock classes");
        }
    }

    /// Reads a data stream class (CTF2-PROP-1.0, "Data stream class fragment").
    fn data_stream_class(&mut self, object: &mut Object<'_>, attributes: Attributes) {
        let id_node = object.get("id");
        let id = id_node.map_or(Some(0), |node| id(node, self.types.problems));
        let fields = [
            ("packet-context-field-type", Scope::PacketContext, "packet context"),
            ("event-record-header-field-type", Scope::EventRecordHeader, "event record header"),
            ("event-record-context-field-type", Scope::CommonContext, "event record common context"),
        ];
        let (mut roots, clocks) = self.roots(&fields, FragmentKind::DataStream, self.roots.clone(), object);
        let default_clock = default_clock(&clocks, &self.header_clocks);
        prefer_clock(&mut roots, default_clock);
        let mut take = |scope: Scope| roots.get_mut(scope as usize).and_then(Option::take);
        let (namespace, name) = standard_name(&attributes);
        let stream = DataStreamClass {
            id: 0,
            namespace,
            name,
            uid: None,
            default_clock,
            other_clocks: Vec::new(),
            packet_context: take(Scope::PacketContext),
            event_record_header: take(Scope::EventRecordHeader),
            common_context: take(Scope::CommonContext),
            resource: None,
            event_records: Vec::new(),
            attributes,
            declared_at: object.position.into(),
        };
        let position = object.position_of(id_node);
        self.streams.add(id, stream, position, &mut self.trace, self.types.problems);
    }

    /// Returns a data stream class's default clock, and the root fields shared by its event record classes.
    fn roots_of_stream(&self, index: Option<usize>) -> (Roots, Option<u16>) {
        let mut roots = self.roots.clone();
        let Some(stream) = index.and_then(|index| self.trace.data_streams.get(index)) else {
            return (roots, None);
        };
        let [_, context, header, common, ..] = &mut roots;
        context.clone_from(&stream.packet_context);
        header.clone_from(&stream.event_record_header);
        common.clone_from(&stream.common_context);
        (roots, stream.default_clock)
    }

    /// Reads an event record class (CTF2-PROP-1.0, "Event record class fragment").
    fn event_record_class(&mut self, object: &mut Object<'_>, attributes: Attributes) {
        let id_node = object.get("id");
        let id = id_node.map_or(Some(0), |node| id(node, self.types.problems));
        let stream_node = object.get("parent-data-stream-class-id");
        let stream_id = stream_node.map_or(Some(0), |node| constant::id(node, self.types.problems));
        let found = stream_id.and_then(|id| {
            let (is_implied, problems) = (stream_node.is_none(), &mut *self.types.problems);
            self.streams.find(id, is_implied, object.position, &self.trace, problems)
        });
        let index = found.map(|(index, _)| index);
        let (roots, default_clock) = self.roots_of_stream(index);
        let fields = [
            ("context-field-type", Scope::SpecificContext, "specific context"),
            ("payload-field-type", Scope::Payload, "payload"),
        ];
        let (mut roots, _) = self.roots(&fields, FragmentKind::EventRecord, roots, object);
        let is_readable = !std::mem::take(&mut self.has_unknown_type);
        prefer_clock(&mut roots, default_clock);
        let mut take = |scope: Scope| roots.get_mut(scope as usize).and_then(Option::take);
        let (Some(id), Some(stream_id)) = (id, stream_id) else { return };
        let problems = &mut *self.types.problems;
        let Some(stream) = index.and_then(|index| self.trace.data_streams.get_mut(index)) else {
            return self.streams.report_missing(
                stream_id,
                stream_node,
                object.position,
                &self.trace,
                problems,
            );
        };
        let (namespace, name) = standard_name(&attributes);
        let class = EventRecordClass {
            id,
            namespace,
            name,
            log_level: log_level(&attributes),
            emf_uri: emf_uri(&attributes),
            specific_context: take(Scope::SpecificContext),
            payload: take(Scope::Payload),
            attributes,
            declared_at: object.position.into(),
            ..EventRecordClass::default()
        };
        let position = object.position_of(id_node);
        self.streams.add_event(class, is_readable, stream, position, self.types.limits, problems);
    }
}

/// Puts the default clock first in fields with several clock tags, whose order is arbitrary.
fn prefer_clock(roots: &mut Roots, default_clock: Option<u16>) {
    if let Some(clock) = default_clock {
        roots.iter_mut().flatten().for_each(|root| FieldClass::prefer_clock(root, clock));
    }
}

/// Returns a data stream's default clock: the first clock that the event record header updates, otherwise a clock that
/// is updated at the start of packets.
fn default_clock(stream: &[ClockUse], header: &[ClockUse]) -> Option<u16> {
    let first =
        |scope: Scope| stream.iter().chain(header).find(|(of, _)| *of == scope).map(|(_, clock)| *clock);
    first(Scope::EventRecordHeader)
        .or_else(|| first(Scope::PacketContext))
        .or_else(|| first(Scope::PacketHeader))
        .or_else(|| first(Scope::CommonContext))
}

/// Removes the environment from the trace class attributes. PROP-1.0 expresses it as attributes ("Changes since CTF
/// 1").
fn take_environment(attributes: &mut Attributes) -> Vec<(String, Value)> {
    let Some(Value::Map(entries)) = attributes.get(STANDARD) else { return Vec::new() };
    let is_environment =
        |(name, value): &(String, Value)| name == "environment" && matches!(value, Value::Map(_));
    let (found, others): (Vec<_>, Vec<_>) = entries.iter().cloned().partition(is_environment);
    match found.into_iter().next() {
        Some((_, Value::Map(environment))) => {
            match others.is_empty() {
                true => drop(attributes.remove(STANDARD)),
                false => attributes.set(STANDARD, Value::Map(others)),
            }
            environment
        }
        _ => Vec::new(),
    }
}

/// Returns a class's namespace and name from attributes, because PROP-1.0 lacks properties for them.
pub(in crate::metadata) fn standard_name(attributes: &Attributes) -> (Option<String>, Option<String>) {
    let get = |name: &str| {
        let value = attributes.get(STANDARD).and_then(|standard| standard.get(name));
        value.and_then(Value::as_text).map(str::to_owned)
    };
    (get("ns"), get("name"))
}
