//! CTF 1.8 TSDL with LTTng's indentation.

mod names;
mod roles;
mod types;

pub use roles::tsdl_name_of_role;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, Role, Value,
};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::trace::Limits;
use ichnos_model::{Scope, TraceClass};

use self::types::{TsdlTypeWriter, is_constant};
use super::places::{RootClasses, RootField, RootPosition};
use super::sizes::roots_of;
use super::unsupported::{Refusals, Unsupported};
use super::{attributes, be_or_le, clocks};

/// Writes a trace class.
pub(super) fn write(
    trace: &TraceClass,
    mut refusals: Refusals,
    limits: &Limits,
) -> Result<String, Vec<Unsupported>> {
    let clocks = clocks::keys(&trace.clocks, true, &mut refusals);
    let byte_order = trace.default_byte_order.or_else(|| first_byte_order(trace));
    let mut writer = TsdlWriter {
        trace,
        types: TsdlTypeWriter {
            out: "/* CTF 1.8 */\n".to_owned(),
            refusals,
            byte_order: byte_order.unwrap_or(ByteOrder::LittleEndian),
            clocks,
            default_clock: None,
            first_clock: None,
            visits: limits.field_classes.saturating_mul(super::VISITS),
            most: limits.metadata_bytes,
            place: RootPosition::new(Scope::PacketHeader, [None; 6]),
        },
    };
    writer.trace();
    writer.environment();
    for (index, clock) in trace.clocks.iter().enumerate() {
        writer.types.refusals.enter(format!("clock class `{}`", clock.id));
        writer.clock(clock, index);
        writer.types.refusals.leave();
    }
    for stream in &trace.data_streams {
        writer.types.refusals.enter(format!("data stream class {}", stream.id));
        writer.stream(stream);
        for event in &stream.event_records {
            writer.types.refusals.enter(super::label_of(event));
            writer.event(stream, event);
            writer.types.refusals.leave();
        }
        if writer.types.first_clock != stream.default_clock {
            writer.types.refusals.refuse(
                "a default clock that is not the clock of the first mapped field, as CTF 1.8 requires",
            );
        }
        writer.types.refusals.leave();
    }
    if writer.types.refusals.is_empty() {
        Ok(writer.types.out)
    } else {
        Err(writer.types.refusals.into_unsupported())
    }
}

struct TsdlWriter<'c> {
    trace: &'c TraceClass,
    types: TsdlTypeWriter<'c>,
}

impl<'c> TsdlWriter<'c> {
    fn refuse_if(&mut self, is: bool, what: &str) {
        self.types.refusals.refuse_if(is, what);
    }

    /// Writes `NAME = "TEXT";`.
    fn set_text(&mut self, name: &str, text: &str) {
        let _ = write!(self.types.out, "\t{name} = ");
        names::write_text(&mut self.types.out, text);
        self.types.out.push_str(";\n");
    }

    /// Writes `NAME = NUMBER;`.
    fn set(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.types.out, "\t{name} = {value};");
    }

    fn open(&mut self, block: &str) {
        let _ = writeln!(self.types.out, "\n{block} {{");
    }

    fn close(&mut self) {
        self.types.out.push_str("};\n");
    }

    /// Writes the root field classes.
    fn roots(&mut self, fields: &[RootField<'c>], roots: RootClasses<'c>) {
        for (name, scope, class) in fields {
            if let Some(class) = class {
                self.types.root(name, class, *scope, roots);
            }
        }
    }

    fn trace(&mut self) {
        let trace = self.trace;
        self.types.refusals.enter("trace class");
        self.refuse_if(trace.namespace.is_some(), "a namespace");
        self.refuse_if(trace.name.is_some(), "a name");
        self.refuse_if(trace.uid.is_some(), "a UID");
        self.refuse_if(!trace.attributes.is_empty(), "attributes");
        self.open("trace");
        self.set("major", 1);
        self.set("minor", 8);
        if let Some(uuid) = trace.uuid {
            self.set_text("uuid", &uuid.hyphenated().to_string());
        }
        self.set("byte_order", be_or_le(self.types.byte_order));
        let fields = [("packet.header", Scope::PacketHeader, &trace.packet_header)];
        self.roots(&fields, roots_of(trace, None, None));
        self.close();
        for (index, call_site) in trace.call_sites.iter().enumerate() {
            self.types.refusals.enter(format!("call site {}", index + 1));
            match call_site {
                Value::Map(entries) => self.entries("callsite", entries),
                _ => self.types.refusals.refuse("an invalid call site"),
            }
            self.types.refusals.leave();
        }
        self.types.refusals.leave();
    }

    fn environment(&mut self) {
        let trace = self.trace;
        if trace.environment.is_empty() {
            return;
        }
        let mut known = HashSet::new();
        for (name, _) in &trace.environment {
            if !known.insert(name) {
                self.types.refusals.refuse(format!("the duplicate environment entry `{name}`"));
            }
        }
        self.types.refusals.enter("environment");
        self.entries("env", &trace.environment);
        self.types.refusals.leave();
    }

    /// Writes a block that assigns integers and strings to arbitrary names.
    fn entries(&mut self, block: &str, entries: &[(String, Value)]) {
        self.open(block);
        for (name, value) in entries {
            self.types.refusals.enter(format!("entry `{name}`"));
            self.refuse_if(!name.split('.').all(names::is_identifier), "a name that is not an identifier");
            match value {
                Value::Integer(value) if is_constant(*value) => self.set(name, value),
                Value::Text(text) => self.set_text(name, text),
                _ => self.types.refusals.refuse("a value that is neither an integer of 64 bits nor a string"),
            }
            self.types.refusals.leave();
        }
        self.close();
    }

    fn clock(&mut self, clock: &ClockClass, index: usize) {
        self.refuse_if(clock.namespace.is_some(), "a namespace of a clock class");
        self.refuse_if(clock.accuracy.is_some(), "the accuracy of a clock");
        self.refuse_if(!clock.attributes.is_empty(), "attributes of a clock class");
        let is_named = matches!(clock.origin, ClockOrigin::Named { .. });
        self.refuse_if(is_named, "a named origin of a clock");
        // All clocks were named before.
        let name = self.types.clocks.get(index).cloned().unwrap_or_default();
        let uuid = clocks::uuid(clock, &mut self.types.refusals);
        let (seconds, cycles) = clocks::offset(clock, &mut self.types.refusals);
        self.open("clock");
        self.set_text("name", &name);
        if let Some(uuid) = uuid {
            self.set_text("uuid", &uuid.hyphenated().to_string());
        }
        if let Some(description) = &clock.description {
            self.set_text("description", description);
        }
        self.set("freq", clock.frequency);
        let default = self.trace.default_clock_precision.filter(|precision| *precision != 0);
        if let Some(precision) = clock.precision.or(default) {
            self.set("precision", precision);
        }
        if seconds != 0 {
            self.set("offset_s", seconds);
        }
        if cycles != 0 {
            self.set("offset", cycles);
        }
        if clock.origin == ClockOrigin::UnixEpoch {
            self.set("absolute", "TRUE");
        }
        self.close();
    }

    fn stream(&mut self, stream: &'c DataStreamClass) {
        self.refuse_if(u64::try_from(stream.id).is_err(), "an id of more than 64 bits");
        self.refuse_if(stream.namespace.is_some(), "a namespace of a data stream class");
        self.refuse_if(stream.name.is_some(), "a name of a data stream class");
        self.refuse_if(stream.uid.is_some(), "a UID of a data stream class");
        self.refuse_if(stream.resource.is_some(), "a resource class");
        self.refuse_if(!stream.attributes.is_empty(), "attributes of a data stream class");
        self.types.default_clock = stream.default_clock;
        self.types.first_clock = None;
        self.open("stream");
        if !self.is_stream_id_implied(stream.id) {
            self.set("id", stream.id);
        }
        let fields = [
            ("packet.context", Scope::PacketContext, &stream.packet_context),
            ("event.header", Scope::EventRecordHeader, &stream.event_record_header),
            ("event.context", Scope::CommonContext, &stream.common_context),
        ];
        self.roots(&fields, roots_of(self.trace, Some(stream), None));
        self.close();
    }

    /// Returns `true` if packets lack a data stream class id because there is only one class. Babeltrace 2 refuses ids
    /// in this case.
    fn is_stream_id_implied(&self, id: u128) -> bool {
        let has_role = |class: &Arc<FieldClass>| class.has_role(Role::DataStreamClassId);
        id == 0
            && self.trace.data_streams.len() == 1
            && !self.trace.packet_header.as_ref().is_some_and(has_role)
    }

    fn event(&mut self, stream: &'c DataStreamClass, event: &'c EventRecordClass) {
        self.refuse_if(u64::try_from(event.id).is_err(), "an id of more than 64 bits");
        self.refuse_if(event.namespace.is_some(), "a namespace of an event record class");
        self.refuse_if(event.uid.is_some(), "a UID of an event record class");
        self.refuse_if(
            !event.attributes.iter().all(|entry| attributes::repeat_event(event, entry)),
            "attributes of an event record class",
        );
        self.open("event");
        if let Some(name) = &event.name {
            self.set_text("name", name);
        }
        let has_role = |class: &Arc<FieldClass>| class.has_role(Role::EventRecordClassId);
        let is_implied = event.id == 0 && !stream.event_record_header.as_ref().is_some_and(has_role);
        if !is_implied || stream.event_records.len() > 1 {
            self.set("id", event.id);
        }
        if !self.is_stream_id_implied(stream.id) {
            self.set("stream_id", stream.id);
        }
        if let Some(level) = event.log_level {
            self.set("loglevel", level);
        }
        if let Some(uri) = &event.emf_uri {
            self.set_text("model.emf.uri", uri);
        }
        let fields = [
            ("context", Scope::SpecificContext, &event.specific_context),
            ("fields", Scope::Payload, &event.payload),
        ];
        self.roots(&fields, roots_of(self.trace, Some(stream), Some(event)));
        self.close();
    }
}

/// Returns the first field's byte order. In most traces, all fields have the same byte order.
fn first_byte_order(trace: &TraceClass) -> Option<ByteOrder> {
    fn of_class(class: &FieldClass) -> Option<ByteOrder> {
        let of_bits = |bits: &BitField| Some(bits.byte_order);
        match &class.kind {
            FieldKind::Integer { bits, .. } | FieldKind::Float(bits) => of_bits(bits),
            FieldKind::Structure { members, .. } => members.iter().find_map(|member| of_class(&member.class)),
            FieldKind::Array { element, .. } => of_class(element),
            FieldKind::Variant { options, .. } => options.iter().find_map(|option| of_class(&option.class)),
            _ => None,
        }
    }
    let roots = trace
        .data_streams
        .iter()
        .flat_map(|stream| [&stream.packet_context, &stream.event_record_header, &stream.common_context]);
    std::iter::once(&trace.packet_header).chain(roots).flatten().find_map(|class| of_class(class))
}
