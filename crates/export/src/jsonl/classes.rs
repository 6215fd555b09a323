//! Field classes, so that values can be read back with their types.

use std::borrow::Cow;

use ichnos_model::{
    BitField, ByteOrder, DataStream, DisplayBase, Event, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, IntegerRange, Length, LocationStep, Mappings, Member, Role, Scope, StringEncoding,
    StringLength, TraceClass, VariableLengthValue,
};

use super::fields::push_string;
use super::meanings::MESSAGE;
use super::{push_attributes, push_key, push_text};
use crate::{number, property};

/// Appends the member `fields` of a data stream class: the classes of scopes that all its event
/// records have, and of packets only if these have lines.
pub(super) fn push_stream_fields(out: &mut Vec<u8>, stream: &DataStream, with_packets: bool) {
    let (trace, class, plans) = (&stream.trace.class, stream.class(), stream.plans());
    let is_header_written = plans.event_record_header.as_ref().is_some_and(property::has_plain_field);
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
        push_fields(out, trace, scopes);
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

/// Appends the member `fields` of an event record class: the classes of its own scopes.
pub(super) fn push_event_fields(out: &mut Vec<u8>, event: &Event<'_>) {
    let scopes = [("specific_context", &event.class.specific_context), ("payload", &event.class.payload)];
    let scopes = scopes.into_iter().filter_map(|(name, class)| Some((name, class.as_deref()?)));
    push_fields(out, &event.stream.trace.class, scopes);
}

fn push_fields<'a>(
    out: &mut Vec<u8>,
    trace: &TraceClass,
    scopes: impl Iterator<Item = (&'a str, &'a FieldClass)>,
) {
    push_key(out, "fields");
    out.push(b'{');
    for (i, (name, class)) in scopes.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_string(out, name);
        out.push(b':');
        Classes { out, trace }.push(class);
    }
    out.push(b'}');
}

struct Classes<'a> {
    out: &'a mut Vec<u8>,
    trace: &'a TraceClass,
}

impl Classes<'_> {
    /// Appends a class as an object, without default properties.
    fn push(&mut self, class: &FieldClass) {
        match &class.kind {
            FieldKind::BitArray(bits) => self.bits("bit-array", *bits),
            FieldKind::BitMap { bits, flags } => {
                self.bits("bit-map", *bits);
                push_key(self.out, "flags");
                self.mappings(flags, None);
            }
            FieldKind::Boolean(bits) => self.bits("boolean", *bits),
            FieldKind::Integer { bits, integer } => {
                self.bits("integer", *bits);
                self.integer(integer);
            }
            FieldKind::Float(bits) => self.bits("float", *bits),
            FieldKind::VariableLength { value, alignment } => {
                match value {
                    VariableLengthValue::BitArray => self.kind("variable-length-bit-array"),
                    VariableLengthValue::Boolean => self.kind("variable-length-boolean"),
                    VariableLengthValue::Integer(integer) => {
                        self.kind("variable-length-integer");
                        self.integer(integer);
                    }
                }
                self.alignment(*alignment, 8);
            }
            FieldKind::String { encoding, length, alignment } => {
                self.kind("string");
                if *encoding != StringEncoding::Utf8 {
                    push_text(self.out, "encoding", Some(encoding.name()));
                }
                match length {
                    StringLength::NullTerminated => {}
                    StringLength::Static(bytes) => self.number("length", *bytes),
                    StringLength::Dynamic(location) => {
                        push_text(self.out, "length", Some("dynamic"));
                        self.location("length_field", location);
                    }
                    StringLength::Prefixed { length, gap } => {
                        push_key(self.out, "length_prefix");
                        self.bits("integer", *length);
                        self.named("gap", *gap, 0);
                        self.text("}");
                    }
                }
                self.alignment(*alignment, 8);
            }
            FieldKind::Blob { length, media_type, alignment } => {
                self.kind("blob");
                self.length(length);
                push_text(self.out, "media_type", Some(media_type));
                self.alignment(*alignment, 8);
            }
            FieldKind::Guid { alignment } => {
                self.kind("guid");
                self.alignment(*alignment, 8);
                if let Some(paths) = class.activity_paths {
                    self.number("activity_process", paths.process.into());
                }
            }
            FieldKind::Structure { members, minimum_alignment } => {
                self.kind("structure");
                self.named("minimum_alignment", *minimum_alignment, 8);
                self.members(members);
            }
            FieldKind::Array { element, length, minimum_alignment, element_aligns } => {
                self.kind("array");
                self.length(length);
                self.named("minimum_alignment", *minimum_alignment, 1);
                if !element_aligns {
                    push_key(self.out, "element_aligns");
                    self.text("false");
                }
                push_key(self.out, "element");
                self.push(element);
            }
            FieldKind::Optional { field, selector, ranges } => {
                self.kind("optional");
                // An absent field has no member in lines of events, so it needs no selector.
                if !class.is_shown_if_present() {
                    self.location("selector", selector);
                    if let Some(ranges) = ranges {
                        push_key(self.out, "ranges");
                        self.ranges(ranges.0.iter().copied());
                    }
                }
                push_key(self.out, "field");
                self.push(field);
            }
            FieldKind::Variant { options, selector, alignment } => {
                self.kind("variant");
                self.location("selector", selector);
                self.alignment(*alignment, 1);
                push_key(self.out, "options");
                self.text("[");
                for (i, option) in options.iter().enumerate() {
                    self.text(if i == 0 { "{\"ranges\":" } else { ",{\"ranges\":" });
                    self.ranges(option.ranges.0.iter().copied());
                    push_text(self.out, "name", option.name.as_deref());
                    push_key(self.out, "class");
                    self.push(&option.class);
                    push_attributes(self.out, &option.attributes);
                    self.text("}");
                }
                self.text("]");
            }
            FieldKind::Union { members, alignment } => {
                self.kind("union");
                self.alignment(*alignment, 1);
                self.members(members);
            }
            FieldKind::Null { alignment } => {
                self.kind("null");
                self.alignment(*alignment, 1);
            }
            FieldKind::Padding(bits) => self.bits("padding", *bits),
            // The reader infers the class from each value.
            _ => self.kind("unknown"),
        }
        if !class.roles.is_empty() {
            push_key(self.out, "roles");
            for (i, role) in class.roles.iter().map(Role::name).enumerate() {
                self.text(if i == 0 { "[" } else { "," });
                push_string(self.out, role);
            }
            self.text("]");
        }
        let clock = class.roles.clock.and_then(|index| self.trace.clocks.get(usize::from(index)));
        push_text(self.out, "clock", clock.map(|clock| clock.id.as_str()));
        push_attributes(self.out, &class.attributes);
        self.text("}");
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn kind(&mut self, name: &str) {
        self.text("{\"type\":");
        push_string(self.out, name);
    }

    fn number(&mut self, name: &str, number: u64) {
        push_key(self.out, name);
        number::push_unsigned(self.out, number);
    }

    fn named(&mut self, name: &str, number: u64, usual: u64) {
        if number != usual {
            self.number(name, number);
        }
    }

    fn alignment(&mut self, alignment: u64, usual: u64) {
        self.named("alignment", alignment, usual);
    }

    fn bits(&mut self, kind: &str, bits: BitField) {
        self.kind(kind);
        self.number("length", bits.length);
        if bits.byte_order != ByteOrder::LittleEndian {
            push_text(self.out, "byte_order", Some(bits.byte_order.name()));
        }
        if bits.is_reversed() {
            push_text(self.out, "bit_order", Some(bits.bit_order.name()));
        }
        self.alignment(bits.alignment, 8);
    }

    fn integer(&mut self, integer: &IntegerProperties) {
        if integer.signed {
            push_key(self.out, "signed");
            self.text("true");
        }
        if integer.preferred_base != DisplayBase::Decimal {
            self.number("preferred_display_base", integer.preferred_base.radix().into());
        }
        if let Some(mappings) = &integer.mappings {
            push_key(self.out, "mappings");
            self.mappings(mappings, Some(integer));
        }
        if let Some(clock) = integer.wall_clock {
            push_key(self.out, "wall_clock");
            self.text("{\"epoch_seconds\":");
            number::push_signed(self.out, clock.epoch_seconds());
            self.number("frequency", clock.frequency());
            self.text("}");
        }
    }

    /// Appends a list, not an object: order matters, and names may repeat.
    fn mappings(&mut self, mappings: &Mappings, integer: Option<&IntegerProperties>) {
        self.text("[");
        for (i, mapping) in mappings.iter().enumerate() {
            self.text(if i == 0 { "{\"name\":" } else { ",{\"name\":" });
            push_string(self.out, mapping.name);
            push_key(self.out, "ranges");
            self.ranges(mapping.ranges.iter());
            let wide = integer.map_or(&[][..], IntegerProperties::wide_ranges);
            let mut wide = wide.iter().filter(|range| range.mapping == i).peekable();
            if wide.peek().is_some() {
                push_key(self.out, "wide_ranges");
                for (i, range) in wide.enumerate() {
                    self.text(if i == 0 { "[[\"" } else { ",[\"" });
                    self.text(&range.lower.to_string());
                    self.text("\",\"");
                    self.text(&range.upper.to_string());
                    self.text("\"]");
                }
                self.text("]");
            }
            self.text("}");
        }
        self.text("]");
    }

    fn ranges(&mut self, ranges: impl Iterator<Item = IntegerRange>) {
        self.text("[");
        for (i, range) in ranges.enumerate() {
            self.text(if i == 0 { "[" } else { ",[" });
            number::push_i128(self.out, range.lower);
            self.text(",");
            number::push_i128(self.out, range.upper);
            self.text("]");
        }
        self.text("]");
    }

    fn length(&mut self, length: &Length) {
        match length {
            Length::Static(length) => self.number("length", *length),
            Length::Dynamic(location) => self.location("length_field", location),
        }
    }

    /// Appends the location of a selector or length field.
    fn location(&mut self, name: &str, location: &FieldLocation) {
        if location.is_of_values() {
            return;
        }
        push_key(self.out, name);
        self.text("{\"path\":[");
        for (i, step) in location.path.iter().enumerate() {
            if i > 0 {
                self.text(",");
            }
            match step {
                LocationStep::Member(name) => push_string(self.out, name),
                LocationStep::Parent => self.text("null"),
            }
        }
        self.text("]");
        push_text(self.out, "origin", location.origin.map(Scope::name));
        if location.any_option {
            push_key(self.out, "any_option");
            self.text("true");
        }
        self.text("}");
    }

    fn members(&mut self, members: &[Member]) {
        push_key(self.out, "members");
        self.text("[");
        for (i, member) in members.iter().enumerate() {
            self.text(if i == 0 { "{\"name\":" } else { ",{\"name\":" });
            push_string(self.out, &member.name);
            if member.has_underscore {
                push_text(self.out, "raw_name", Some(&member.location_name()));
            }
            push_key(self.out, "class");
            self.push(&member.class);
            push_attributes(self.out, &member.attributes);
            self.text("}");
        }
        self.text("]");
    }
}
