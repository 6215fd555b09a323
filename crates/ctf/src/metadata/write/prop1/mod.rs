//! PROP-1.0 fragments.

mod field_type;
mod tags;

use std::borrow::Cow;

use ichnos_model::class::{Attributes, DataStreamClass, EventRecordClass, Value};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::trace::Limits;
use ichnos_model::{Scope, TraceClass};

use self::field_type::Prop1TypeWriter;
use self::tags::{FieldTags, TagClocks};
use super::json::{self, Fragments, JsonObject};
use super::places::RootField;
use super::sizes::{ClassSizes, roots_of};
use super::unsupported::{Refusals, Unsupported};
use super::{attributes, be_or_le, clocks};

/// Writes a trace class.
pub(super) fn write(
    trace: &TraceClass,
    sizes: ClassSizes,
    mut refusals: Refusals,
    limits: &Limits,
) -> Result<String, Vec<Unsupported>> {
    let clock_names = clocks::keys(&trace.clocks, true, &mut refusals);
    let visits = limits.field_classes.saturating_mul(super::VISITS);
    let mut writer = Prop1Writer {
        trace,
        clock_names,
        header_clock: None,
        types: Prop1TypeWriter::new(trace.default_byte_order, sizes, refusals, visits),
        fragments: Fragments::new(true, limits.metadata_bytes),
    };
    writer.fragments.push(&json::text("CTF 2"));
    // Packet header tags name clocks.
    for (index, clock) in trace.clocks.iter().enumerate() {
        writer.types.refusals.enter(format!("clock class `{}`", clock.id));
        writer.clock_class(clock, index);
        writer.types.refusals.leave();
    }
    writer.trace_class();
    for stream in &trace.data_streams {
        writer.types.refusals.enter(format!("data stream class {}", stream.id));
        writer.data_stream_class(stream);
        for event in &stream.event_records {
            writer.types.refusals.enter(super::label_of(event));
            writer.event_record_class(stream, event);
            writer.types.refusals.leave();
        }
        writer.types.refusals.leave();
    }
    if writer.types.refusals.is_empty() {
        Ok(writer.fragments.finish())
    } else {
        Err(writer.types.refusals.into_unsupported())
    }
}

struct Prop1Writer<'c> {
    trace: &'c TraceClass,
    clock_names: Vec<String>,
    /// Clock of the first packet header tag.
    header_clock: Option<u16>,
    types: Prop1TypeWriter<'c>,
    fragments: Fragments,
}

impl<'c> Prop1Writer<'c> {
    /// Adds a fragment, after the alias fragments that it uses.
    fn add(&mut self, fragment: JsonObject) {
        for (name, class) in self.types.aliases.take_new() {
            let mut alias = fragment_of("field-type-alias");
            alias.set("name", &name);
            alias.set("field-type", class);
            self.fragments.push(&alias.finish());
        }
        self.fragments.push(&fragment.finish());
    }

    fn set_attributes(&mut self, fragment: &mut JsonObject, attributes: &Attributes) {
        fragment.set_some("user-attrs", json::attributes(attributes, &mut self.types.refusals));
    }

    /// Adds root field types and tags. Returns the first clock that tags name, by scope.
    fn roots(
        &mut self,
        fields: &[RootField<'c>],
        stream: Option<&'c DataStreamClass>,
        event: Option<&'c EventRecordClass>,
        fragment: &mut JsonObject,
    ) -> [Option<u16>; 6] {
        let roots = roots_of(self.trace, stream, event);
        let mut all = Vec::new();
        let mut clocks = [None; 6];
        for (property, scope, class) in fields {
            let Some(class) = class else { continue };
            let value = self.types.root(class, *scope, roots);
            fragment.set(property, value);
            let default = stream.and_then(|stream| stream.default_clock);
            let named = TagClocks { names: &self.clock_names, default };
            let FieldTags { values, first_clock } =
                tags::of_root(class, *scope, &named, &mut self.types.refusals);
            all.extend(values);
            if let Some(slot) = clocks.get_mut(*scope as usize) {
                *slot = first_clock;
            }
        }
        if !all.is_empty() {
            fragment.set("tags", Value::Array(all));
        }
        clocks
    }

    fn trace_class(&mut self) {
        let trace = self.trace;
        let refusals = &mut self.types.refusals;
        refusals.enter("trace class");
        refusals.refuse_if(trace.namespace.is_some(), "a namespace");
        refusals.refuse_if(trace.name.is_some(), "a name");
        refusals.refuse_if(trace.uid.is_some(), "a UID");
        refusals.refuse_if(!trace.call_sites.is_empty(), "call sites");
        let mut fragment = fragment_of("trace-class");
        fragment.set_some("uuid", trace.uuid.map(|uuid| json::text(&uuid.hyphenated().to_string())));
        fragment.set_some("default-byte-order", trace.default_byte_order.map(be_or_le));
        let fields = [("packet-header-field-type", Scope::PacketHeader, &trace.packet_header)];
        let [header_clock, ..] = self.roots(&fields, None, None, &mut fragment);
        self.header_clock = header_clock;
        let attributes = attributes::with_environment(trace, &mut self.types.refusals);
        self.set_attributes(&mut fragment, &attributes);
        self.types.refusals.leave();
        self.add(fragment);
    }

    fn clock_class(&mut self, clock: &ClockClass, index: usize) {
        let refusals = &mut self.types.refusals;
        refusals.refuse_if(clock.namespace.is_some(), "a namespace of a clock class");
        refusals.refuse_if(clock.description.is_some(), "the description of a clock");
        refusals.refuse_if(clock.accuracy.is_some(), "the accuracy of a clock");
        let is_named = matches!(clock.origin, ClockOrigin::Named { .. });
        refusals.refuse_if(is_named, "a named origin of a clock");
        let mut fragment = fragment_of("data-stream-clock-class");
        fragment.set_some("name", self.clock_names.get(index));
        let uuid = clocks::uuid(clock, refusals);
        fragment.set_some("uuid", uuid.map(|uuid| json::text(&uuid.hyphenated().to_string())));
        fragment.set("freq", clock.frequency);
        let precision = clock.precision.or(self.trace.default_clock_precision);
        fragment.set_unless("error-cycles", precision.unwrap_or(0), 0);
        fragment.set_unless("offset-seconds", clock.offset_seconds, 0);
        fragment.set_unless("offset-cycles", clock.offset_cycles, 0);
        fragment.set_unless("is-absolute", clock.origin == ClockOrigin::UnixEpoch, false);
        self.set_attributes(&mut fragment, &clock.attributes);
        self.add(fragment);
    }

    fn data_stream_class(&mut self, stream: &'c DataStreamClass) {
        let mut fragment = fragment_of("data-stream-class");
        fragment.set("id", stream.id);
        let refusals = &mut self.types.refusals;
        refusals.refuse_if(stream.uid.is_some(), "a UID");
        refusals.refuse_if(stream.resource.is_some(), "a resource class");
        let fields = [
            ("packet-context-field-type", Scope::PacketContext, &stream.packet_context),
            ("event-record-header-field-type", Scope::EventRecordHeader, &stream.event_record_header),
            ("event-record-context-field-type", Scope::CommonContext, &stream.common_context),
        ];
        let [_, context, header, common, ..] = self.roots(&fields, Some(stream), None, &mut fragment);
        let read = header.or(context).or(self.header_clock).or(common);
        self.types.refusals.refuse_if(
            read != stream.default_clock,
            "a default clock that is not the clock of the first tag with a clock, as PROP-1.0 requires",
        );
        let mut attributes = Cow::Borrowed(&stream.attributes);
        attributes::set_name(&mut attributes, &stream.namespace, &stream.name, &mut self.types.refusals);
        self.set_attributes(&mut fragment, &attributes);
        self.add(fragment);
    }

    fn event_record_class(&mut self, stream: &'c DataStreamClass, event: &'c EventRecordClass) {
        let mut fragment = fragment_of("event-record-class");
        fragment.set("parent-data-stream-class-id", stream.id);
        fragment.set("id", event.id);
        self.types.refusals.refuse_if(event.uid.is_some(), "a UID");
        let fields = [
            ("context-field-type", Scope::SpecificContext, &event.specific_context),
            ("payload-field-type", Scope::Payload, &event.payload),
        ];
        self.roots(&fields, Some(stream), Some(event), &mut fragment);
        let mut attributes = attributes::with_log_level(event, &mut self.types.refusals);
        attributes::set_name(&mut attributes, &event.namespace, &event.name, &mut self.types.refusals);
        self.set_attributes(&mut fragment, &attributes);
        self.add(fragment);
    }
}

fn fragment_of(kind: &str) -> JsonObject {
    let mut fragment = JsonObject::default();
    fragment.set("fragment", kind);
    fragment
}
