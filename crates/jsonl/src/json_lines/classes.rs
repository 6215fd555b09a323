//! Field classes, so that values can be read back with their types.

use std::borrow::Cow;

use ichnos_export::parts::has_plain_field;
use ichnos_json::write::ObjectWriter;
use ichnos_model::{DataStream, Event, FieldClass, FieldKind, Scope, TraceClass};

use crate::description::MESSAGE;
use crate::field_class::{Classes, StreamScopes};

/// Writes the member `fields` of a data stream class: the classes of scopes that all its event records have.
/// Those of packets only if lines have them.
pub(super) fn write_stream_fields(object: &mut ObjectWriter<'_>, stream: &DataStream, with_packets: bool) {
    let (trace, class, plans) = (&stream.trace.class, stream.class(), stream.plans());
    let is_header_written = plans.event_record_header.as_ref().is_some_and(has_plain_field);
    let resource = class.resource.as_deref().and_then(without_message);
    let scopes = StreamScopes::ALL.into_iter().filter_map(|(scope, name)| {
        let (class, is_written) = match scope {
            Scope::PacketHeader => (&trace.packet_header, with_packets),
            Scope::PacketContext => (&class.packet_context, with_packets),
            Scope::EventRecordHeader => (&class.event_record_header, is_header_written),
            _ => (&class.common_context, true),
        };
        Some((name, class.as_deref().filter(|_| is_written)?))
    });
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
    let classes = Classes { clocks: &trace.clocks, with_selectors: true, scopes: StreamScopes::default() };
    let mut fields = object.member("fields").object();
    scopes.for_each(|(name, class)| classes.write(fields.member(name), class));
    fields.end();
}
