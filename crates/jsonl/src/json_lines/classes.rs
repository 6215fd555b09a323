//! Field classes, so that values can be read back with their types.

use std::borrow::Cow;

use ichnos_export::parts::has_plain_field;
use ichnos_json::write::{ObjectWriter, ValueWriter};
use ichnos_model::{
    BitField, ByteOrder, DataStream, DisplayBase, Event, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, IntegerRange, Length, LocationStep, Mappings, Member, Role, Scope, StringEncoding,
    StringLength, TraceClass, VariableLengthValue,
};

use super::meanings::MESSAGE;
use super::write_attributes;

/// Writes the member `fields` of a data stream class: the classes of scopes that all its event records have.
/// Those of packets only if lines have them.
pub(super) fn write_stream_fields(object: &mut ObjectWriter<'_>, stream: &DataStream, with_packets: bool) {
    let (trace, class, plans) = (&stream.trace.class, stream.class(), stream.plans());
    let is_header_written = plans.event_record_header.as_ref().is_some_and(has_plain_field);
    let resource = class.resource.as_deref().and_then(without_message);
    let scopes = [
        ("packet_header", &trace.packet_header, with_packets),
        ("context", &class.packet_context, with_packets),
        ("header", &class.event_record_header, is_header_written),
        ("common_context", &class.common_context, true),
    ];
    let scopes = scopes.into_iter().filter(|(_, _, is_written)| *is_written);
    let scopes = scopes.filter_map(|(name, class, _)| Some((name, class.as_deref()?)));
    let mut scopes = scopes.chain(resource.as_deref().map(|resource| ("resource", resource))).peekable();
    if scopes.peek().is_some() {
        write_fields(object, trace, scopes);
    }
}

/// Returns the class of resources without the message that lines add to it, or `None` if nothing else remains.
fn without_message(class: &FieldClass) -> Option<Cow<'_, FieldClass>> {
    let FieldKind::Structure { members, minimum_alignment } = &class.kind else {
        return Some(Cow::Borrowed(class));
    };
    let Some((last, rest)) = members.split_last() else { return Some(Cow::Borrowed(class)) };
    if last.name != MESSAGE || !last.class.is_optional_of_values() {
        return Some(Cow::Borrowed(class));
    }
    let kind = FieldKind::Structure { members: rest.to_vec(), minimum_alignment: *minimum_alignment };
    (!rest.is_empty()).then(|| Cow::Owned(FieldClass { kind, ..class.clone() }))
}

/// Writes the member `fields` of an event record class: the classes of its own scopes.
pub(super) fn write_event_fields(object: &mut ObjectWriter<'_>, event: &Event<'_>) {
    let scopes = [("specific_context", &event.class.specific_context), ("payload", &event.class.payload)];
    let scopes = scopes.into_iter().filter_map(|(name, class)| Some((name, class.as_deref()?)));
    write_fields(object, &event.stream.trace.class, scopes);
}

fn write_fields<'a>(
    object: &mut ObjectWriter<'_>,
    trace: &TraceClass,
    scopes: impl Iterator<Item = (&'static str, &'a FieldClass)>,
) {
    let mut fields = object.member("fields").object();
    scopes.for_each(|(name, class)| write_class(fields.member(name), trace, class));
    fields.end();
}

/// Writes a class as an object. What most classes have is left out.
fn write_class(place: ValueWriter<'_>, trace: &TraceClass, class: &FieldClass) {
    let mut whole = place.object();
    let object = &mut whole;
    match &class.kind {
        FieldKind::BitArray(bits) => write_bits(object, "bit-array", *bits),
        FieldKind::BitMap { bits, flags } => {
            write_bits(object, "bit-map", *bits);
            write_mappings(object.member("flags"), flags, None);
        }
        FieldKind::Boolean(bits) => write_bits(object, "boolean", *bits),
        FieldKind::Integer { bits, integer } => {
            write_bits(object, "integer", *bits);
            write_integer(object, integer);
        }
        FieldKind::Float(bits) => write_bits(object, "float", *bits),
        FieldKind::VariableLength { value, alignment } => {
            match value {
                VariableLengthValue::BitArray => write_kind(object, "variable-length-bit-array"),
                VariableLengthValue::Boolean => write_kind(object, "variable-length-boolean"),
                VariableLengthValue::Integer(integer) => {
                    write_kind(object, "variable-length-integer");
                    write_integer(object, integer);
                }
            }
            write_alignment(object, *alignment, 8);
        }
        FieldKind::String { encoding, length, alignment } => {
            write_kind(object, "string");
            if *encoding != StringEncoding::Utf8 {
                object.member("encoding").string(encoding.name());
            }
            match length {
                StringLength::NullTerminated => {}
                StringLength::Static(bytes) => object.member("length").unsigned(*bytes),
                StringLength::Dynamic(location) => {
                    object.member("length").string("dynamic");
                    write_location(object, "length_field", location);
                }
                StringLength::Prefixed { length, gap } => {
                    let mut prefix = object.member("length_prefix").object();
                    write_bits(&mut prefix, "integer", *length);
                    write_unless(&mut prefix, "gap", *gap, 0);
                    prefix.end();
                }
            }
            write_alignment(object, *alignment, 8);
        }
        FieldKind::Blob { length, media_type, alignment } => {
            write_kind(object, "blob");
            write_length(object, length);
            object.member("media_type").string(media_type);
            write_alignment(object, *alignment, 8);
        }
        FieldKind::Guid { alignment } => {
            write_kind(object, "guid");
            write_alignment(object, *alignment, 8);
            object.unsigned("activity_process", class.activity_paths.map(|paths| paths.process.into()));
        }
        FieldKind::Structure { members, minimum_alignment } => {
            write_kind(object, "structure");
            write_unless(object, "minimum_alignment", *minimum_alignment, 8);
            write_members(object, trace, members);
        }
        FieldKind::Array { element, length, minimum_alignment, element_aligns } => {
            write_kind(object, "array");
            write_length(object, length);
            write_unless(object, "minimum_alignment", *minimum_alignment, 1);
            if !element_aligns {
                object.member("element_aligns").boolean(false);
            }
            write_class(object.member("element"), trace, element);
        }
        FieldKind::Optional { field, selector, ranges } => {
            write_kind(object, "optional");
            // An absent field has no member in lines of events, so it needs no selector.
            if !class.is_shown_if_present() {
                write_location(object, "selector", selector);
                if let Some(ranges) = ranges {
                    write_ranges(object.member("ranges"), ranges.0.iter().copied());
                }
            }
            write_class(object.member("field"), trace, field);
        }
        FieldKind::Variant { options, selector, alignment } => {
            write_kind(object, "variant");
            write_location(object, "selector", selector);
            write_alignment(object, *alignment, 1);
            let mut list = object.member("options").array();
            for option in options {
                let mut entry = list.element().object();
                write_ranges(entry.member("ranges"), option.ranges.0.iter().copied());
                entry.string("name", option.name.as_deref());
                write_class(entry.member("class"), trace, &option.class);
                write_attributes(&mut entry, &option.attributes);
                entry.end();
            }
            list.end();
        }
        FieldKind::Union { members, alignment } => {
            write_kind(object, "union");
            write_alignment(object, *alignment, 1);
            write_members(object, trace, members);
        }
        FieldKind::Null { alignment } => {
            write_kind(object, "null");
            write_alignment(object, *alignment, 1);
        }
        FieldKind::Padding(bits) => write_bits(object, "padding", *bits),
        // The reader infers the class from each value.
        _ => write_kind(object, "unknown"),
    }
    if !class.roles.is_empty() {
        object.member("roles").strings(class.roles.iter().map(Role::name));
    }
    let clock = class.roles.clock.and_then(|index| trace.clocks.get(usize::from(index)));
    object.string("clock", clock.map(|clock| clock.id.as_str()));
    write_attributes(object, &class.attributes);
    whole.end();
}

fn write_kind(object: &mut ObjectWriter<'_>, name: &str) {
    object.member("type").string(name);
}

fn write_unless(object: &mut ObjectWriter<'_>, name: &'static str, number: u64, usual: u64) {
    object.unsigned(name, Some(number).filter(|number| *number != usual));
}

fn write_alignment(object: &mut ObjectWriter<'_>, alignment: u64, usual: u64) {
    write_unless(object, "alignment", alignment, usual);
}

fn write_bits(object: &mut ObjectWriter<'_>, kind: &str, bits: BitField) {
    write_kind(object, kind);
    object.member("length").unsigned(bits.length);
    if bits.byte_order != ByteOrder::LittleEndian {
        object.member("byte_order").string(bits.byte_order.name());
    }
    if bits.is_reversed() {
        object.member("bit_order").string(bits.bit_order.name());
    }
    write_alignment(object, bits.alignment, 8);
}

fn write_integer(object: &mut ObjectWriter<'_>, integer: &IntegerProperties) {
    if integer.signed {
        object.member("signed").boolean(true);
    }
    if integer.preferred_base != DisplayBase::Decimal {
        object.member("preferred_display_base").unsigned(integer.preferred_base.radix().into());
    }
    if let Some(mappings) = &integer.mappings {
        write_mappings(object.member("mappings"), mappings, Some(integer));
    }
    if let Some(clock) = integer.wall_clock {
        let mut wall_clock = object.member("wall_clock").object();
        wall_clock.member("epoch_seconds").signed(clock.epoch_seconds());
        wall_clock.member("frequency").unsigned(clock.frequency());
        wall_clock.end();
    }
}

/// Writes a list, not an object: order counts, and a name may come twice.
fn write_mappings(place: ValueWriter<'_>, mappings: &Mappings, integer: Option<&IntegerProperties>) {
    let mut list = place.array();
    for (i, mapping) in mappings.iter().enumerate() {
        let mut entry = list.element().object();
        entry.member("name").string(mapping.name);
        write_ranges(entry.member("ranges"), mapping.ranges.iter());
        let wide = integer.map_or(&[][..], IntegerProperties::wide_ranges);
        let mut wide = wide.iter().filter(|range| range.mapping == i).peekable();
        if wide.peek().is_some() {
            let mut ranges = entry.member("wide_ranges").array();
            wide.for_each(|range| {
                ranges.element().strings([range.lower.to_string(), range.upper.to_string()])
            });
            ranges.end();
        }
        entry.end();
    }
    list.end();
}

fn write_ranges(place: ValueWriter<'_>, ranges: impl Iterator<Item = IntegerRange>) {
    let mut list = place.array();
    for range in ranges {
        let mut bounds = list.element().array();
        bounds.element().integer(range.lower);
        bounds.element().integer(range.upper);
        bounds.end();
    }
    list.end();
}

fn write_length(object: &mut ObjectWriter<'_>, length: &Length) {
    match length {
        Length::Static(length) => object.member("length").unsigned(*length),
        Length::Dynamic(location) => write_location(object, "length_field", location),
    }
}

/// Writes the location of the field that selects, or has a length.
fn write_location(object: &mut ObjectWriter<'_>, name: &'static str, location: &FieldLocation) {
    if location.is_of_values() {
        return;
    }
    let mut entry = object.member(name).object();
    let mut path = entry.member("path").array();
    for step in &location.path {
        match step {
            LocationStep::Member(name) => path.element().string(name),
            LocationStep::Parent => path.element().null(),
        }
    }
    path.end();
    entry.string("origin", location.origin.map(Scope::name));
    if location.any_option {
        entry.member("any_option").boolean(true);
    }
    entry.end();
}

fn write_members(object: &mut ObjectWriter<'_>, trace: &TraceClass, members: &[Member]) {
    let mut list = object.member("members").array();
    for member in members {
        let mut entry = list.element().object();
        entry.member("name").string(&member.name);
        if member.has_underscore {
            entry.member("raw_name").string(&member.location_name());
        }
        write_class(entry.member("class"), trace, &member.class);
        write_attributes(&mut entry, &member.attributes);
        entry.end();
    }
    list.end();
}
