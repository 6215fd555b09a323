//! Classes as JSON.

use ichnos::model::*;
use serde_json::{Value as Json, json};

use super::{clamped, clock_id};
use crate::json::{self as js, JsonObject};

/// Returns a trace class with all its properties.
pub(super) fn trace_json(class: &TraceClass) -> JsonObject {
    let mut object = JsonObject::default();
    object.put("dialect", class.dialect.as_str());
    identity(&mut object, &class.namespace, &class.name, &class.uid);
    object.put_some("uuid", class.uuid.map(|uuid| uuid.to_string()));
    object.put_some("default_byte_order", class.default_byte_order.map(ByteOrder::name));
    object.put("environment", js::map(&class.environment));
    object.put("clocks", class.clocks.iter().map(|clock| clock_json(clock).json()).collect::<Vec<_>>());
    scope_json(&mut object, "packet_header", &class.packet_header, class);
    let streams: Vec<Json> = class.data_streams.iter().map(|stream| stream_json(stream, class)).collect();
    object.put("data_stream_classes", streams);
    object.put_some("attributes", js::attributes(&class.attributes));
    if !class.call_sites.is_empty() {
        object.put("call_sites", class.call_sites.iter().map(js::value).collect::<Vec<_>>());
    }
    object.put_some("declared_at", js::place(class.declared_at.0));
    object
}

fn identity(
    object: &mut JsonObject,
    namespace: &Option<String>,
    name: &Option<String>,
    uid: &Option<String>,
) {
    object.put_some("namespace", namespace.as_deref());
    object.put_some("name", name.as_deref());
    object.put_some("uid", uid.as_deref());
}

fn scope_json(
    object: &mut JsonObject,
    name: &str,
    field: &Option<std::sync::Arc<FieldClass>>,
    trace: &TraceClass,
) {
    object.put_some(name, field.as_ref().map(|field| field_json(field, trace).json()));
}

/// Returns a clock class with all its properties.
pub(crate) fn clock_json(clock: &ClockClass) -> JsonObject {
    let mut object = JsonObject::default();
    object.put("id", clock.id.as_str());
    identity(&mut object, &clock.namespace, &clock.name, &clock.uid);
    object.put_some("uuid", clock.uuid.map(|uuid| uuid.to_string()));
    object.put_some("description", clock.description.as_deref());
    object.put("frequency", clock.frequency);
    object.put_some("precision", clock.precision);
    object.put_some("accuracy", clock.accuracy);
    object.put("offset_seconds", clock.offset_seconds);
    object.put("offset_cycles", clock.offset_cycles);
    match &clock.origin {
        ClockOrigin::UnixEpoch => object.put("origin", "unix-epoch"),
        ClockOrigin::Named { namespace, name, uid } => {
            let mut origin = JsonObject::default();
            identity(&mut origin, namespace, &Some(name.clone()), &Some(uid.clone()));
            object.put("origin", origin);
        }
        ClockOrigin::Unknown => object.put("origin", Json::Null),
    }
    object.put_some("attributes", js::attributes(&clock.attributes));
    object.put_some("declared_at", js::place(clock.declared_at.0));
    object
}

fn stream_json(stream: &DataStreamClass, trace: &TraceClass) -> Json {
    let mut object = JsonObject::default();
    object.put("id", stream.id);
    identity(&mut object, &stream.namespace, &stream.name, &stream.uid);
    object.put_some("default_clock", stream.default_clock.and_then(|index| clock_id(index, trace)));
    scope_json(&mut object, "packet_context", &stream.packet_context, trace);
    scope_json(&mut object, "event_record_header", &stream.event_record_header, trace);
    scope_json(&mut object, "event_record_common_context", &stream.common_context, trace);
    scope_json(&mut object, "resource", &stream.resource, trace);
    let records: Vec<Json> =
        stream.event_records.iter().map(|record| event_record_json(record, trace).json()).collect();
    object.put("event_record_classes", records);
    object.put_some("attributes", js::attributes(&stream.attributes));
    object.put_some("declared_at", js::place(stream.declared_at.0));
    object.json()
}

fn event_record_json(record: &EventRecordClass, trace: &TraceClass) -> JsonObject {
    let mut object = JsonObject::default();
    object.put("id", record.id);
    identity(&mut object, &record.namespace, &record.name, &record.uid);
    object.put_some("log_level", record.log_level);
    object.put_some("role", (record.role != EventRole::Instant).then(|| record.role.name()));
    object.put_some("emf_uri", record.emf_uri.as_deref());
    scope_json(&mut object, "specific_context", &record.specific_context, trace);
    scope_json(&mut object, "payload", &record.payload, trace);
    object.put_some("attributes", js::attributes(&record.attributes));
    object.put_some("declared_at", js::place(record.declared_at.0));
    object
}

/// Returns a field class with all its properties.
fn field_json(class: &FieldClass, trace: &TraceClass) -> JsonObject {
    let mut object = JsonObject::default();
    object.put("type", class.type_name());
    match &class.kind {
        FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
            integer_json(&mut object, integer);
        }
        FieldKind::String { encoding, length, .. } => {
            object.put("encoding", encoding.name());
            match length {
                StringLength::NullTerminated => object.put("length", "null-terminated"),
                StringLength::Static(bytes) => object.put("length", *bytes),
                StringLength::Dynamic(location) => object.put("length", location_json(location)),
                StringLength::Prefixed { length, gap } => {
                    let mut prefix = JsonObject::default();
                    bits_json(&mut prefix, *length);
                    prefix.put("gap", *gap);
                    object.put("length_prefix", prefix.json());
                }
            }
        }
        FieldKind::Blob { length, media_type, .. } => {
            object.put("length", length_json(length));
            object.put("media_type", media_type.as_str());
        }
        FieldKind::Array { length, .. } => object.put("length", length_json(length)),
        FieldKind::Optional { selector, ranges, .. } => {
            object.put_some("selector", (!selector.path.is_empty()).then(|| location_json(selector)));
            object.put_some("ranges", ranges.as_ref().map(|set| ranges_json(set.0.iter().copied())));
        }
        FieldKind::Variant { selector, .. } => object.put("selector", location_json(selector)),
        _ => {}
    }
    alignment_json(&mut object, class);
    match &class.kind {
        FieldKind::Integer { integer, .. } => integer_json(&mut object, integer),
        FieldKind::BitMap { flags, .. } => object.put("flags", mappings_json(flags)),
        FieldKind::Array { element_aligns: false, .. } => object.put("element_aligns", false),
        _ => {}
    }
    object.put_some("activity_process", class.activity_paths.map(|paths| paths.process));
    children_json(&mut object, class, trace);
    if !class.roles.is_empty() {
        object.put("roles", class.roles.iter().map(Role::name).collect::<Vec<_>>());
    }
    object.put_some("clock", class.roles.clock.and_then(|index| clock_id(index, trace)));
    object.put_some("attributes", js::attributes(&class.attributes));
    object.put_some("declared_at", js::place(class.declared_at.0));
    object
}

/// Adds the layout of bits, or the alignment alone.
fn alignment_json(object: &mut JsonObject, class: &FieldClass) {
    if let Some(bits) = class.bits() {
        return bits_json(object, bits);
    }
    match &class.kind {
        FieldKind::Structure { .. } | FieldKind::Array { .. } => {
            object.put("minimum_alignment", class.declared_alignment());
        }
        FieldKind::Optional { .. } => {}
        FieldKind::Guid { alignment } => object.put("alignment", *alignment),
        _ => object.put("alignment", class.declared_alignment()),
    }
}

fn bits_json(object: &mut JsonObject, bits: BitField) {
    object.put("length", bits.length);
    object.put("byte_order", bits.byte_order.name());
    object.put("bit_order", bits.bit_order.name());
    object.put("alignment", bits.alignment);
}

fn integer_json(object: &mut JsonObject, integer: &IntegerProperties) {
    object.put("signed", integer.signed);
    object.put("preferred_display_base", integer.preferred_base.radix());
    object.put_some("mappings", integer.mappings.as_ref().map(|_| labels_json(integer)));
    object.put_some("wall_clock", integer.wall_clock.map(wall_clock_json));
}

fn wall_clock_json(clock: WallClock) -> Json {
    let mut object = JsonObject::default();
    object.put("epoch_seconds", clock.epoch_seconds());
    object.put("frequency", clock.frequency());
    object.json()
}

/// Returns the mappings of an integer, with bounds of any size.
fn labels_json(integer: &IntegerProperties) -> Json {
    let bound = |value: &WideInteger| js::value(&Value::Number(value.to_string()));
    let mut mappings = integer.mappings.as_ref().map_or(Json::Null, mappings_json);
    for range in integer.wide_ranges() {
        let mapping = mappings.get_mut(range.mapping).and_then(|mapping| mapping.get_mut("ranges"));
        if let Some(Json::Array(ranges)) = mapping {
            let narrow = clamped(range);
            let narrow = json!([js::integer(narrow.lower), js::integer(narrow.upper)]);
            ranges.retain(|range| *range != narrow);
            ranges.push(Json::Array(vec![bound(&range.lower), bound(&range.upper)]));
        }
    }
    mappings
}

/// Returns a list, not an object: order matters, and a name may occur twice.
fn mappings_json(mappings: &Mappings) -> Json {
    let mapping =
        |mapping: Mapping<'_>| json!({ "name": mapping.name, "ranges": ranges_json(mapping.ranges.iter()) });
    Json::Array(mappings.iter().map(mapping).collect())
}

fn ranges_json(ranges: impl Iterator<Item = IntegerRange>) -> Json {
    let range = |range: IntegerRange| Json::Array(vec![js::integer(range.lower), js::integer(range.upper)]);
    Json::Array(ranges.map(range).collect())
}

fn length_json(length: &Length) -> Json {
    match length {
        Length::Static(length) => (*length).into(),
        Length::Dynamic(location) => location_json(location),
    }
}

fn location_json(location: &FieldLocation) -> Json {
    let mut object = JsonObject::default();
    object.put_some("origin", location.origin.map(Scope::name));
    let steps: Vec<Json> = location
        .path
        .iter()
        .map(|step| match step {
            LocationStep::Member(name) => Json::String(name.clone()),
            LocationStep::Parent => Json::Null,
        })
        .collect();
    object.put("path", steps);
    object.put_some("declared_at", js::place(location.declared_at.0));
    object.json()
}

/// Adds the classes in a class: lists of members and options, or the single class.
fn children_json(object: &mut JsonObject, class: &FieldClass, trace: &TraceClass) {
    let mut list = Vec::new();
    for child in class.children() {
        let json = field_json(child.class(), trace);
        let mut entry = JsonObject::default();
        match child {
            Child::Element(_) => return object.put("element", json),
            Child::Present(_) => return object.put("field", json),
            Child::Member(member) => {
                entry.put("name", member.name.as_str());
                entry.put_some("raw_name", member.has_underscore.then(|| member.location_name()).as_deref());
            }
            Child::Choice(option) => {
                entry.put_some("name", option.name.as_deref());
                entry.put("ranges", ranges_json(option.ranges.0.iter().copied()));
            }
        }
        entry.put("class", json);
        entry.put_some("attributes", child.attributes().and_then(js::attributes));
        list.push(entry.json());
    }
    match &class.kind {
        FieldKind::Variant { .. } => object.put("options", list),
        _ if class.members().is_some() => object.put("members", list),
        _ => {}
    }
}
