//! Trace classes in a uniform spelling, for comparison across dialects.

use std::sync::Arc;

use ichnos_model::class::{
    Attributes, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation, Length,
    LocationStep, Member, RangeSet, Role, StringLength, Value, VariableLengthValue, VariantOption,
};
use ichnos_model::clock::ClockOrigin;
use ichnos_model::{Scope, TraceClass};

/// Namespaces for attributes that replace properties in other dialects.
const NAMESPACES: [&str; 5] =
    ["babeltrace.org,2020", "lttng.org,2009", "diamon.org,2012", "std", "diamon.org/ctf/ns/std"];
const SAID: [&str; 5] = ["log-level", "emf-uri", "name", "ns", "base"];

/// Returns the trace class in a uniform spelling.
pub fn comparable(trace: &TraceClass) -> TraceClass {
    let mut trace = trace.clone();
    trace.dialect.clear();
    trace.uuid_of = Default::default();
    trace.implied_namespace = None;
    trace.default_byte_order = None;
    trace.unmodeled = Default::default();
    for clock in &mut trace.clocks {
        clock.precision = Some(clock.precision.or(trace.default_clock_precision).unwrap_or(0));
        clock.id = clock.name.clone().unwrap_or(clock.id.clone());
        clock.name = None;
        clock.uid = clock.uid.take().or(clock.uuid.map(|uuid| uuid.to_string()));
        clock.uuid = None;
        clock.offset_seconds += (clock.offset_cycles / clock.frequency) as i64;
        clock.offset_cycles %= clock.frequency;
        assert!(!matches!(&clock.origin, ClockOrigin::Named { name, .. } if name.is_empty()));
    }
    trace.default_clock_precision = None;
    trace.environment.iter_mut().for_each(|(_, value)| *value = number(value));
    trace.packet_header = root(trace.packet_header.as_ref(), Scope::PacketHeader, None);
    trace.data_streams.iter_mut().for_each(stream);
    trace
}

/// Converts numbers that fit `Value::Integer`.
fn number(value: &Value) -> Value {
    match value {
        Value::Number(digits) => digits.parse().map_or_else(|_| value.clone(), Value::Integer),
        value => value.clone(),
    }
}

fn stream(stream: &mut DataStreamClass) {
    let clock = stream.default_clock;
    stream.other_clocks.clear();
    stream.attributes = attributes(&stream.attributes);
    stream.packet_context = root(stream.packet_context.as_ref(), Scope::PacketContext, clock);
    stream.event_record_header = root(stream.event_record_header.as_ref(), Scope::EventRecordHeader, clock);
    stream.common_context = root(stream.common_context.as_ref(), Scope::CommonContext, clock);
    for event in &mut stream.event_records {
        let specific_context = root(event.specific_context.as_ref(), Scope::SpecificContext, clock);
        let payload = root(event.payload.as_ref(), Scope::Payload, clock);
        let attributes = attributes(&event.attributes);
        *event = Arc::new(EventRecordClass {
            specific_context,
            payload,
            attributes,
            ..EventRecordClass::clone(event)
        });
    }
}

fn attributes(all: &Attributes) -> Attributes {
    let without = |(namespace, value): &(String, Value)| match value {
        Value::Map(entries) if NAMESPACES.contains(&namespace.as_str()) => {
            let is_other = |(name, _): &&(String, Value)| !SAID.contains(&name.as_str());
            let others: Vec<_> = entries.iter().filter(is_other).cloned().collect();
            (!others.is_empty()).then(|| (namespace.clone(), Value::Map(others)))
        }
        value => Some((namespace.clone(), value.clone())),
    };
    all.iter().filter_map(without).collect()
}

fn root(class: Option<&Arc<FieldClass>>, scope: Scope, clock: Option<u16>) -> Option<Arc<FieldClass>> {
    let mut walk = ClassWalk { scope, clock, frames: Vec::new(), path: Vec::new() };
    class.map(|class| Arc::new(walk.class(class)))
}

struct ClassWalk {
    scope: Scope,
    clock: Option<u16>,
    /// Path length of each enclosing structure.
    frames: Vec<usize>,
    path: Vec<String>,
}

fn shown(name: &str) -> String {
    name.trim_start_matches('_').to_owned()
}

impl ClassWalk {
    fn inner(&mut self, class: &Arc<FieldClass>) -> Arc<FieldClass> {
        Arc::new(self.class(class))
    }

    fn class(&mut self, class: &FieldClass) -> FieldClass {
        let mut made = class.clone();
        made.attributes = attributes(&class.attributes);
        if made.roles.clock == self.clock {
            made.roles.clock = None;
        }
        if made.roles.has(Role::MetadataStreamUuid) {
            assert_eq!(class.alignment(), 8);
            let length = Length::Static(16);
            made.kind = FieldKind::Blob { length, media_type: "16 bytes".to_owned(), alignment: 8 };
            return made;
        }
        match &mut made.kind {
            FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
                self.frames.push(self.path.len());
                for member in members {
                    self.path.push(shown(&member.name));
                    *member = Member {
                        name: shown(&member.name),
                        has_underscore: false,
                        class: self.inner(&member.class),
                        attributes: attributes(&member.attributes),
                    };
                    self.path.pop();
                }
                self.frames.pop();
            }
            FieldKind::Array { element, length, minimum_alignment, element_aligns } => {
                *minimum_alignment = class.alignment();
                *element_aligns = true;
                if let Length::Dynamic(location) = length {
                    self.location(location);
                }
                *element = self.inner(element);
            }
            FieldKind::Blob { length: Length::Dynamic(location), .. }
            | FieldKind::String { length: StringLength::Dynamic(location), .. } => self.location(location),
            FieldKind::Optional { field, selector, .. } => {
                self.location(selector);
                *field = self.inner(field);
            }
            FieldKind::Variant { options, selector, .. } => {
                self.location(selector);
                for option in options {
                    *option = VariantOption {
                        name: option.name.as_deref().map(shown),
                        class: self.inner(&option.class),
                        ranges: sorted(&option.ranges),
                        attributes: attributes(&option.attributes),
                    };
                }
            }
            FieldKind::VariableLength { value: VariableLengthValue::Integer(_), .. } => {}
            _ => {}
        }
        made
    }

    /// Makes a location absolute.
    fn location(&self, location: &mut FieldLocation) {
        let mut level = self.frames.len();
        let mut names: Vec<String> = Vec::new();
        for step in &location.path {
            match step {
                LocationStep::Member(name) => names.push(shown(name)),
                LocationStep::Parent if names.pop().is_some() => {}
                LocationStep::Parent => level -= 1,
            }
        }
        if location.origin.is_none() {
            location.origin = Some(self.scope);
            let around = &self.path[..self.frames[level - 1]];
            names = around.iter().cloned().chain(names).collect();
        }
        location.any_option = false;
        location.path = names.into_iter().map(LocationStep::Member).collect();
    }
}

fn sorted(ranges: &RangeSet) -> RangeSet {
    let mut ranges = ranges.0.clone();
    ranges.sort_by_key(|range| (range.lower, range.upper));
    RangeSet(ranges)
}
