//! PROP-2.0 and SPEC-2.0 fragments.

use ichnos_model::class::{Attributes, DataStreamClass, EventRecordClass, Uuid, Value};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::trace::Limits;
use ichnos_model::{Scope, TraceClass};

use super::field_class::FieldClassWriter;
use super::json::{self, Fragments, JsonObject};
use super::places::{RootClasses, RootField};
use super::sizes::{ClassSizes, roots_of};
use super::unsupported::{Refusals, Unsupported};
use super::{attributes, clocks};
use crate::metadata::json::vocabulary::Vocabulary;

/// Writes all fragments of a trace class.
pub(super) fn write(
    trace: &TraceClass,
    vocabulary: Vocabulary,
    sizes: ClassSizes,
    refusals: Refusals,
    limits: &Limits,
) -> Result<String, Vec<Unsupported>> {
    let visits = limits.field_classes.saturating_mul(super::VISITS);
    let mut writer = FragmentWriter {
        trace,
        clock_keys: Vec::new(),
        classes: FieldClassWriter::new(vocabulary, sizes, refusals, visits),
        fragments: Fragments::new(vocabulary == Vocabulary::Prop2, limits.metadata_bytes),
    };
    writer.preamble();
    writer.trace_class();
    writer.clocks();
    for stream in &trace.data_streams {
        writer.classes.refusals.enter(format!("data stream class {}", stream.id));
        writer.data_stream_class(stream);
        for event in &stream.event_records {
            writer.classes.refusals.enter(super::label_of(event));
            writer.event_record_class(stream, event);
            writer.classes.refusals.leave();
        }
        writer.classes.refusals.leave();
    }
    if writer.classes.refusals.is_empty() {
        Ok(writer.fragments.finish())
    } else {
        Err(writer.classes.refusals.into_unsupported())
    }
}

struct FragmentWriter<'c> {
    trace: &'c TraceClass,
    /// Clock class keys for data stream classes.
    clock_keys: Vec<String>,
    classes: FieldClassWriter<'c>,
    fragments: Fragments,
}

impl<'c> FragmentWriter<'c> {
    fn is_spec2(&self) -> bool {
        self.classes.vocabulary == Vocabulary::Spec2
    }

    /// Adds a fragment, after the alias fragments that it uses.
    fn add(&mut self, fragment: JsonObject) {
        for (name, class) in self.classes.aliases.take_new() {
            let mut alias = fragment_of("field-class-alias");
            alias.set("name", &name);
            alias.set("field-class", class);
            self.fragments.push(&alias.finish());
        }
        self.fragments.push(&fragment.finish());
    }

    fn set_attributes(&mut self, fragment: &mut JsonObject, attributes: &Attributes) {
        let value = json::attributes(attributes, &mut self.classes.refusals);
        fragment.set_some(self.classes.vocabulary.attributes(), value);
    }

    /// Adds the root field classes.
    fn set_roots(&mut self, fields: &[RootField<'c>], roots: RootClasses<'c>, fragment: &mut JsonObject) {
        for (property, scope, class) in fields {
            if let Some(class) = class {
                let class = self.classes.root(class, *scope, roots);
                fragment.set(property, class);
            }
        }
    }

    fn preamble(&mut self) {
        let mut fragment = fragment_of("preamble");
        fragment.set("version", 2u64);
        if let Some(uuid) = self.trace.uuid.filter(|_| self.is_spec2()) {
            fragment.set("uuid", bytes(uuid));
        }
        self.add(fragment);
    }

    fn trace_class(&mut self) {
        let trace = self.trace;
        let refusals = &mut self.classes.refusals;
        let mut fragment = fragment_of("trace-class");
        refusals.enter("trace class");
        refusals.refuse_if(!trace.call_sites.is_empty(), "call sites");
        match self.classes.vocabulary {
            Vocabulary::Spec2 => {
                fragment.set_some("namespace", trace.namespace.as_ref());
                fragment.set_some("name", trace.name.as_ref());
                fragment.set_some("uid", trace.uid.as_ref());
                if !trace.environment.is_empty() {
                    fragment.set("environment", self.environment());
                }
            }
            Vocabulary::Prop2 => {
                refusals.refuse_if(trace.namespace.is_some(), "a namespace of the trace class");
                refusals.refuse_if(trace.name.is_some(), "a name of the trace class");
                refusals.refuse_if(trace.uid.is_some(), "a UID of the trace class");
                fragment.set_some("uuid", trace.uuid.map(|uuid| json::text(&uuid.hyphenated().to_string())));
            }
        }
        let fields = [("packet-header-field-class", Scope::PacketHeader, &trace.packet_header)];
        self.set_roots(&fields, roots_of(trace, None, None), &mut fragment);
        self.set_attributes(&mut fragment, &trace.attributes);
        self.classes.refusals.leave();
        self.add(fragment);
    }

    /// Returns the environment as integers and strings (CTF2-SPEC-2.0, "Trace class fragment").
    fn environment(&mut self) -> Value {
        let mut names = std::collections::HashSet::new();
        for (name, value) in &self.trace.environment {
            let refusals = &mut self.classes.refusals;
            refusals.enter(format!("environment entry `{name}`"));
            refusals.refuse_if(!names.insert(name), "a duplicate name");
            let is_right = match value {
                Value::Integer(_) | Value::Text(_) => true,
                Value::Number(digits) => {
                    ichnos_json::read::is_number(digits) && !digits.contains(['.', 'e', 'E'])
                }
                _ => false,
            };
            refusals.refuse_if(!is_right, "a value that is neither an integer nor a string");
            refusals.leave();
        }
        Value::Map(self.trace.environment.clone())
    }

    fn clocks(&mut self) {
        let by_name = !self.is_spec2();
        self.clock_keys = clocks::keys(&self.trace.clocks, by_name, &mut self.classes.refusals);
        for (clock, key) in self.trace.clocks.iter().zip(self.clock_keys.clone()) {
            self.classes.refusals.enter(format!("clock class `{}`", clock.id));
            self.clock_class(clock, &key);
            self.classes.refusals.leave();
        }
    }

    fn clock_class(&mut self, clock: &ClockClass, key: &str) {
        let refusals = &mut self.classes.refusals;
        let mut fragment = fragment_of("clock-class");
        let precision = clock.precision.or(self.trace.default_clock_precision);
        match self.classes.vocabulary {
            Vocabulary::Spec2 => {
                fragment.set("id", key);
                fragment.set_some("namespace", clock.namespace.as_ref());
                fragment.set_some("name", clock.name.as_ref());
                fragment.set_some("uid", clocks::uid(clock, refusals).as_ref());
            }
            Vocabulary::Prop2 => {
                fragment.set("name", key);
                refusals.refuse_if(clock.namespace.is_some(), "a namespace of a clock class");
                refusals.refuse_if(clock.accuracy.is_some(), "the accuracy of a clock");
                let uuid = clocks::uuid(clock, refusals);
                fragment.set_some("uuid", uuid.map(|uuid| json::text(&uuid.hyphenated().to_string())));
            }
        }
        fragment.set_some("description", clock.description.as_ref());
        fragment.set("frequency", clock.frequency);
        match self.classes.vocabulary {
            Vocabulary::Spec2 => {
                fragment.set_some("precision", precision);
                fragment.set_some("accuracy", clock.accuracy);
            }
            Vocabulary::Prop2 => fragment.set_unless("precision", precision.unwrap_or(0), 0),
        }
        let offset = clocks::offset(clock, refusals);
        if offset != (0, 0) {
            let mut object = JsonObject::default();
            object.set_unless("seconds", offset.0, 0);
            object.set_unless("cycles", offset.1, 0);
            let name =
                if self.classes.vocabulary == Vocabulary::Spec2 { "offset-from-origin" } else { "offset" };
            fragment.set(name, object.finish());
        }
        match (self.classes.vocabulary, &clock.origin) {
            (Vocabulary::Spec2, ClockOrigin::UnixEpoch) => fragment.set("origin", "unix-epoch"),
            (Vocabulary::Spec2, ClockOrigin::Named { namespace, name, uid }) => {
                let mut origin = JsonObject::default();
                origin.set_some("namespace", namespace.as_ref());
                origin.set("name", name);
                origin.set("uid", uid);
                fragment.set("origin", origin.finish());
            }
            (Vocabulary::Spec2, ClockOrigin::Unknown) | (Vocabulary::Prop2, ClockOrigin::UnixEpoch) => {}
            (Vocabulary::Prop2, ClockOrigin::Unknown) => fragment.set("origin-is-unix-epoch", false),
            (Vocabulary::Prop2, ClockOrigin::Named { .. }) => refusals.refuse("a named origin of a clock"),
        }
        self.set_attributes(&mut fragment, &clock.attributes);
        self.add(fragment);
    }

    fn data_stream_class(&mut self, stream: &'c DataStreamClass) {
        let mut fragment = fragment_of("data-stream-class");
        fragment.set("id", stream.id);
        self.identity(&stream.namespace, &stream.name, &stream.uid, &mut fragment);
        self.classes.default_clock = stream.default_clock;
        if let Some(clock) = stream.default_clock {
            match self.clock_keys.get(usize::from(clock)) {
                Some(key) => fragment.set(self.classes.vocabulary.default_clock(), key),
                None => self.classes.refusals.refuse("an unknown default clock"),
            }
        }
        let refusals = &mut self.classes.refusals;
        refusals.refuse_if(stream.resource.is_some(), "a resource class");
        let fields = [
            ("packet-context-field-class", Scope::PacketContext, &stream.packet_context),
            ("event-record-header-field-class", Scope::EventRecordHeader, &stream.event_record_header),
            ("event-record-common-context-field-class", Scope::CommonContext, &stream.common_context),
        ];
        self.set_roots(&fields, roots_of(self.trace, Some(stream), None), &mut fragment);
        self.set_attributes(&mut fragment, &stream.attributes);
        self.add(fragment);
    }

    fn event_record_class(&mut self, stream: &'c DataStreamClass, event: &'c EventRecordClass) {
        let mut fragment = fragment_of("event-record-class");
        fragment.set("data-stream-class-id", stream.id);
        fragment.set("id", event.id);
        self.identity(&event.namespace, &event.name, &event.uid, &mut fragment);
        let fields = [
            ("specific-context-field-class", Scope::SpecificContext, &event.specific_context),
            ("payload-field-class", Scope::Payload, &event.payload),
        ];
        self.set_roots(&fields, roots_of(self.trace, Some(stream), Some(event)), &mut fragment);
        let attributes = attributes::with_log_level(event, &mut self.classes.refusals);
        self.set_attributes(&mut fragment, &attributes);
        self.add(fragment);
    }

    fn identity(
        &mut self,
        namespace: &Option<String>,
        name: &Option<String>,
        uid: &Option<String>,
        fragment: &mut JsonObject,
    ) {
        fragment.set_some("namespace", namespace.as_ref());
        fragment.set_some("name", name.as_ref());
        match self.classes.vocabulary {
            Vocabulary::Spec2 => fragment.set_some("uid", uid.as_ref()),
            Vocabulary::Prop2 => self.classes.refusals.refuse_if(uid.is_some(), "a UID"),
        }
    }
}

fn fragment_of(kind: &str) -> JsonObject {
    let mut fragment = JsonObject::default();
    fragment.set("type", kind);
    fragment
}

/// Returns a UUID as a byte array, as in SPEC-2.0.
fn bytes(uuid: Uuid) -> Value {
    Value::Array(uuid.as_bytes().iter().map(|byte| Value::Integer((*byte).into())).collect())
}
