//! Writes field classes, so that values can be read back with their types.

use std::borrow::Cow;

use ichnos_export::parts::has_plain_field;
use ichnos_json::write::ObjectWriter;
use ichnos_model::class::{FieldClass, FieldKind};
use ichnos_model::plan::scope_class;
use ichnos_model::{DataStream, Event, Scope, TraceClass};

use crate::description::MESSAGE;
use crate::field_class::{FieldClassCodec, StreamScopes, scope_name};

/// Writes the member `fields` of a data stream class: the classes of the scopes that its event records share. Packet
/// scopes are included only if there are packet lines.
pub(super) fn write_stream_fields(object: &mut ObjectWriter<'_>, stream: &DataStream, with_packets: bool) {
    let (trace, class, plans) = (&stream.trace.class, stream.class(), stream.plans());
    let is_header_written = plans.event_record_header.as_ref().is_some_and(has_plain_field);
    let resource = class.resource.as_deref().and_then(without_message);
    let scopes = StreamScopes::all().filter_map(|scope| {
        let is_written = match scope {
            Scope::PacketHeader | Scope::PacketContext => with_packets,
            Scope::EventRecordHeader => is_header_written,
            _ => true,
        };
        Some((scope, &**scope_class(scope, Some(trace), class, None).filter(|_| is_written)?))
    });
    let mut scopes = scopes.chain(resource.as_deref().map(|resource| (Scope::Resource, resource))).peekable();
    if scopes.peek().is_some() {
        write_fields(object, trace, scopes);
    }
}

/// Returns the resource class without the message that lines add to it. Returns `None` if no other member remains.
fn without_message(class: &FieldClass) -> Option<Cow<'_, FieldClass>> {
    let FieldKind::Structure { members, minimum_alignment } = &class.kind else {
        return Some(Cow::Borrowed(class));
    };
    let Some((last, rest)) = members.split_last() else { return Some(Cow::Borrowed(class)) };
    if last.name != MESSAGE || !last.class.is_optional_by_values() {
        return Some(Cow::Borrowed(class));
    }
    let kind = FieldKind::Structure { members: rest.to_vec(), minimum_alignment: *minimum_alignment };
    (!rest.is_empty()).then(|| Cow::Owned(FieldClass { kind, ..class.clone() }))
}

/// Writes the member `fields` of an event record class: the classes of its own scopes.
pub(super) fn write_event_fields(object: &mut ObjectWriter<'_>, event: &Event<'_>) {
    let class = |scope| scope_class(scope, None, event.stream.class(), Some(event.class));
    let scopes = [Scope::SpecificContext, Scope::Payload].into_iter();
    let scopes = scopes.filter_map(|scope| Some((scope, &**class(scope)?)));
    write_fields(object, &event.stream.trace.class, scopes);
}

fn write_fields<'a>(
    object: &mut ObjectWriter<'_>,
    trace: &TraceClass,
    scopes: impl Iterator<Item = (Scope, &'a FieldClass)>,
) {
    let classes =
        FieldClassCodec { clocks: &trace.clocks, with_selectors: true, scopes: StreamScopes::default() };
    let mut fields = object.member("fields").object();
    scopes.for_each(|(scope, class)| classes.write(fields.member(scope_name(scope)), class));
    fields.end();
}
