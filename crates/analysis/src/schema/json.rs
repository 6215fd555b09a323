//! Classes as JSON, with all their properties.

use std::sync::Arc;

use ichnos_json::write::{ObjectWriter, ValueWriter};
use ichnos_model::class::{
    BitField, ByteOrder, Child, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, Length, Mapping, Mappings, Role, StringLength, Value, VariableLengthValue,
};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::meaning::EventRole;
use ichnos_model::{Scope, TraceClass};

use super::{clock_id, ranges_of};
use ichnos_export::documents::{
    push_ranges, write_attributes, write_entries, write_identity, write_path, write_position, write_ranges,
    write_uuid, write_value, write_values,
};

/// Writes a trace class as object members.
pub fn write_trace_class(object: &mut ObjectWriter<'_>, class: &TraceClass) {
    object.member("dialect").string(&class.dialect);
    write_identity(object, &class.namespace, &class.name, &class.uid);
    write_uuid(object, class.uuid);
    object.string("default_byte_order", class.default_byte_order.map(ByteOrder::name));
    write_entries(object.member("environment"), &class.environment);
    write_clocks(object.member("clocks"), &class.clocks);
    write_scope(object, "packet_header", &class.packet_header, class);
    let mut streams = object.member("data_stream_classes").array();
    class.data_streams.iter().for_each(|stream| write_stream(streams.element(), stream, class));
    streams.end();
    write_attributes(object, &class.attributes);
    if !class.call_sites.is_empty() {
        write_values(object.member("call_sites"), &class.call_sites);
    }
    write_position(object, "declared_at", class.declared_at.0);
}

fn write_scope(
    object: &mut ObjectWriter<'_>,
    name: &'static str,
    field: &Option<Arc<FieldClass>>,
    trace: &TraceClass,
) {
    if let Some(field) = field {
        write_field(object.member(name), field, trace);
    }
}

/// Writes clock classes as a list.
pub fn write_clocks(place: ValueWriter<'_>, clocks: &[ClockClass]) {
    let mut list = place.array();
    clocks.iter().for_each(|clock| write_clock(list.element(), clock));
    list.end();
}

fn write_clock(place: ValueWriter<'_>, clock: &ClockClass) {
    let mut object = place.object();
    object.member("id").string(&clock.id);
    write_identity(&mut object, &clock.namespace, &clock.name, &clock.uid);
    write_uuid(&mut object, clock.uuid);
    object.string("description", clock.description.as_deref());
    object.member("frequency").unsigned(clock.frequency);
    object.unsigned("precision", clock.precision);
    object.unsigned("accuracy", clock.accuracy);
    object.member("offset_seconds").signed(clock.offset_seconds);
    object.member("offset_cycles").unsigned(clock.offset_cycles);
    match &clock.origin {
        ClockOrigin::UnixEpoch => object.member("origin").string("unix-epoch"),
        ClockOrigin::Named { namespace, name, uid } => {
            let mut origin = object.member("origin").object();
            origin.string("namespace", namespace.as_deref());
            origin.member("name").string(name);
            origin.member("uid").string(uid);
            origin.end();
        }
        ClockOrigin::Unknown => object.member("origin").null(),
    }
    write_attributes(&mut object, &clock.attributes);
    write_position(&mut object, "declared_at", clock.declared_at.0);
    object.end();
}

fn write_stream(place: ValueWriter<'_>, stream: &DataStreamClass, trace: &TraceClass) {
    let mut object = place.object();
    object.member("id").number(&stream.id.to_string());
    write_identity(&mut object, &stream.namespace, &stream.name, &stream.uid);
    object.string("default_clock", stream.default_clock.and_then(|index| clock_id(index, trace)));
    write_scope(&mut object, "packet_context", &stream.packet_context, trace);
    write_scope(&mut object, "event_record_header", &stream.event_record_header, trace);
    write_scope(&mut object, "event_record_common_context", &stream.common_context, trace);
    write_scope(&mut object, "resource", &stream.resource, trace);
    let mut records = object.member("event_record_classes").array();
    stream.event_records.iter().for_each(|record| write_event_record(records.element(), record, trace));
    records.end();
    write_attributes(&mut object, &stream.attributes);
    write_position(&mut object, "declared_at", stream.declared_at.0);
    object.end();
}

fn write_event_record(place: ValueWriter<'_>, record: &EventRecordClass, trace: &TraceClass) {
    let mut object = place.object();
    object.member("id").number(&record.id.to_string());
    write_identity(&mut object, &record.namespace, &record.name, &record.uid);
    object.integer("log_level", record.log_level.map(i128::from));
    object.string("role", (record.role != EventRole::Instant).then(|| record.role.name()));
    if let Some(display) = &record.display {
        write_value(object.member("display"), &display.to_value());
    }
    object.string("emf_uri", record.emf_uri.as_deref());
    write_scope(&mut object, "specific_context", &record.specific_context, trace);
    write_scope(&mut object, "payload", &record.payload, trace);
    write_attributes(&mut object, &record.attributes);
    write_position(&mut object, "declared_at", record.declared_at.0);
    object.end();
}

/// Writes a field class with nested classes.
fn write_field(place: ValueWriter<'_>, class: &FieldClass, trace: &TraceClass) {
    let mut object = place.object();
    object.member("type").string(class.type_name());
    match &class.kind {
        FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
            write_integer(&mut object, integer);
        }
        FieldKind::String { encoding, length, .. } => {
            object.member("encoding").string(encoding.name());
            match length {
                StringLength::NullTerminated => object.member("length").string("null-terminated"),
                StringLength::Static(bytes) => object.member("length").unsigned(*bytes),
                StringLength::Dynamic(location) => write_location(object.member("length"), location),
                StringLength::Prefixed { length, gap } => {
                    let mut prefix = object.member("length_prefix").object();
                    write_bits(&mut prefix, *length);
                    prefix.member("gap").unsigned(*gap);
                    prefix.end();
                }
            }
        }
        FieldKind::Blob { length, media_type, .. } => {
            write_length(object.member("length"), length);
            object.member("media_type").string(media_type);
        }
        FieldKind::Array { length, .. } => write_length(object.member("length"), length),
        FieldKind::Optional { selector, ranges, .. } => {
            if !selector.path.is_empty() {
                write_location(object.member("selector"), selector);
            }
            if let Some(ranges) = ranges {
                write_ranges(object.member("ranges"), ranges.0.iter().copied());
            }
        }
        FieldKind::Variant { selector, .. } => write_location(object.member("selector"), selector),
        _ => {}
    }
    write_alignment(&mut object, class);
    match &class.kind {
        FieldKind::Integer { integer, .. } => write_integer(&mut object, integer),
        FieldKind::BitMap { flags, .. } => write_mappings(object.member("flags"), flags, |place, _, flag| {
            write_ranges(place, flag.ranges.iter());
        }),
        FieldKind::Array { element_aligns: false, .. } => object.member("element_aligns").boolean(false),
        _ => {}
    }
    object.unsigned("activity_process", class.activity_paths.map(|paths| paths.process.into()));
    write_children(&mut object, class, trace);
    if !class.roles.is_empty() {
        object.member("roles").strings(class.roles.iter().map(Role::name));
    }
    object.string("clock", class.roles.clock.and_then(|index| clock_id(index, trace)));
    write_attributes(&mut object, &class.attributes);
    write_position(&mut object, "declared_at", class.declared_at.0);
    object.end();
}

/// Writes the bit layout, or only the alignment.
fn write_alignment(object: &mut ObjectWriter<'_>, class: &FieldClass) {
    if let Some(bits) = class.bits() {
        return write_bits(object, bits);
    }
    match &class.kind {
        FieldKind::Structure { .. } | FieldKind::Array { .. } => {
            object.member("minimum_alignment").unsigned(class.declared_alignment());
        }
        FieldKind::Optional { .. } => {}
        FieldKind::Guid { alignment } => object.member("alignment").unsigned(*alignment),
        _ => object.member("alignment").unsigned(class.declared_alignment()),
    }
}

fn write_bits(object: &mut ObjectWriter<'_>, bits: BitField) {
    object.member("length").unsigned(bits.length);
    object.member("byte_order").string(bits.byte_order.name());
    object.member("bit_order").string(bits.bit_order.name());
    object.member("alignment").unsigned(bits.alignment);
}

fn write_integer(object: &mut ObjectWriter<'_>, integer: &IntegerProperties) {
    object.member("signed").boolean(integer.signed);
    object.member("preferred_display_base").unsigned(integer.preferred_base.radix().into());
    if let Some(mappings) = &integer.mappings {
        write_mappings(object.member("mappings"), mappings, |place, index, mapping| {
            let (narrow, wide) = ranges_of(integer, index, mapping);
            let mut list = place.array();
            push_ranges(&mut list, narrow.into_iter());
            for range in wide {
                let mut bounds = list.element().array();
                for bound in [&range.lower, &range.upper] {
                    write_value(bounds.element(), &Value::Number(bound.to_string()));
                }
                bounds.end();
            }
            list.end();
        });
    }
    if let Some(clock) = integer.wall_clock {
        let mut object = object.member("wall_clock").object();
        object.member("epoch_seconds").signed(clock.epoch_seconds());
        object.member("frequency").unsigned(clock.frequency());
        object.end();
    }
}

/// Writes a list, not an object: order matters, and a name may occur twice. `ranges` writes the ranges of a mapping.
fn write_mappings(
    place: ValueWriter<'_>,
    mappings: &Mappings,
    ranges: impl Fn(ValueWriter<'_>, usize, Mapping<'_>),
) {
    let mut list = place.array();
    for (index, mapping) in mappings.iter().enumerate() {
        let mut entry = list.element().object();
        entry.member("name").string(mapping.name);
        ranges(entry.member("ranges"), index, mapping);
        entry.end();
    }
    list.end();
}

fn write_length(place: ValueWriter<'_>, length: &Length) {
    match length {
        Length::Static(length) => place.unsigned(*length),
        Length::Dynamic(location) => write_location(place, location),
    }
}

fn write_location(place: ValueWriter<'_>, location: &FieldLocation) {
    let mut object = place.object();
    object.string("origin", location.origin.map(Scope::name));
    write_path(object.member("path"), &location.path);
    write_position(&mut object, "declared_at", location.declared_at.0);
    object.end();
}

/// Writes nested classes: all members, all options, or the single class.
fn write_children(object: &mut ObjectWriter<'_>, class: &FieldClass, trace: &TraceClass) {
    match class.children().next() {
        Some(Child::Element(element)) => return write_field(object.member("element"), element, trace),
        Some(Child::Present(field)) => return write_field(object.member("field"), field, trace),
        _ => {}
    }
    let mut list = match &class.kind {
        FieldKind::Variant { .. } => object.member("options").array(),
        _ if class.members().is_some() => object.member("members").array(),
        _ => return,
    };
    for child in class.children() {
        let mut entry = list.element().object();
        match child {
            Child::Member(member) => {
                entry.member("name").string(&member.name);
                let raw_name = member.has_underscore.then(|| member.location_name());
                entry.string("raw_name", raw_name.as_deref());
            }
            Child::Choice(option) => {
                entry.string("name", option.name.as_deref());
                write_ranges(entry.member("ranges"), option.ranges.0.iter().copied());
            }
            Child::Element(_) | Child::Present(_) => {}
        }
        write_field(entry.member("class"), child.class(), trace);
        if let Some(attributes) = child.attributes() {
            write_attributes(&mut entry, attributes);
        }
        entry.end();
    }
    list.end();
}
