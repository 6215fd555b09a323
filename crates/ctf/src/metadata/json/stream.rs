//! PROP-2.0 and SPEC-2.0 metadata streams, read fragment by fragment.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::class::{Attributes, DataStreamClass, EventRecordClass, FieldClass, Role, Uuid, UuidOf};
use ichnos_model::clock::ClockClass;
use ichnos_model::memory::size;
use ichnos_model::trace::{Diagnostic, Limits, TextPosition};
use ichnos_model::{Scope, TraceClass};

use super::attributes::{emf_uri, log_level};
use super::field_class::ClassReader;
use super::object::{Object, UnknownProperties, id, listed, or_refuse, refuse, text, unsigned};
use super::root;
use super::stream_ids::StreamIds;
use super::text::JsonNode;
use super::vocabulary::Vocabulary;
use crate::metadata::{Dialect, Problems, memory};

/// Clock class namespace, name and UID.
pub(super) type ClockIdentity = (Option<String>, String, String);

/// Reads fragments and builds the trace class.
pub(super) struct StreamReader<'a> {
    pub(super) classes: ClassReader<'a>,
    pub(super) trace: TraceClass,
    /// Preamble attributes, to be joined with the trace class attributes.
    pub(super) preamble_attributes: Attributes,
    has_preamble: bool,
    trace_class: Option<TextPosition>,
    /// `true` if a clock class key is invalid. In this case, missing clock classes are not reported.
    unsure_clocks: bool,
    /// Clock classes by name or id.
    pub(super) clocks: HashMap<String, u16>,
    /// Clock classes by identity. Classes for the same clock have the same identity.
    pub(super) clock_identities: HashMap<ClockIdentity, u16>,
    pub(super) clock_uuids: HashSet<Uuid>,
    streams: StreamIds,
    errors_before: usize,
}

impl<'a> StreamReader<'a> {
    pub(super) fn new(vocabulary: Vocabulary, limits: &'a Limits, problems: &'a mut Problems) -> Self {
        let (dialect, uuid_of) = match vocabulary {
            Vocabulary::Prop2 => (Dialect::Prop2, UuidOf::TraceClass),
            Vocabulary::Spec2 => (Dialect::Spec2, UuidOf::MetadataStream),
        };
        let errors_before = problems.errors();
        Self {
            classes: ClassReader::new(vocabulary, limits, problems),
            trace: TraceClass { dialect: dialect.title().to_owned(), uuid_of, ..TraceClass::default() },
            preamble_attributes: Attributes::default(),
            has_preamble: false,
            trace_class: None,
            unsure_clocks: false,
            clocks: HashMap::new(),
            clock_identities: HashMap::new(),
            clock_uuids: HashSet::new(),
            streams: StreamIds::default(),
            errors_before,
        }
    }

    /// Reads a fragment.
    pub(super) fn fragment(&mut self, node: &JsonNode) {
        let Some(mut object) = Object::open(node, self.classes.problems) else { return };
        let Some(type_node) = object.require("type", self.classes.problems) else { return };
        let Some(name) = text(type_node, self.classes.problems) else { return };
        let spec2 = self.classes.vocabulary == Vocabulary::Spec2;
        if !self.has_preamble && name != "preamble" {
            let error =
                Diagnostic::error(node.position, "a metadata stream must begin with a preamble fragment");
            self.classes.problems.add(error.expected("`preamble`", type_node.describe()));
            self.has_preamble = true;
        }
        let mut names =
            vec!["preamble", "trace-class", "clock-class", "data-stream-class", "event-record-class"];
        if spec2 {
            names.push("field-class-alias");
        }
        if !names.contains(&name) {
            let error = Diagnostic::error(type_node.position, "unknown fragment type");
            self.classes.problems.add(error.expected(listed(&names), type_node.describe()));
            return;
        }
        let label = match name {
            "clock-class" if spec2 => label("clock class", node.get("id").or_else(|| node.get("name"))),
            "clock-class" => label("clock class", node.get("name")),
            "data-stream-class" => label("data stream class", node.get("id")),
            "event-record-class" => label("event record class", node.get("id")),
            name => name.replace('-', " "),
        };
        self.classes.problems.enter(label);
        match name {
            "preamble" => self.preamble(&mut object),
            "field-class-alias" => {
                let class = object.require("field-class", self.classes.problems);
                let name = object.require("name", self.classes.problems);
                if let Some(name) = name {
                    self.classes.add_alias(name, class);
                }
                let attributes = self.classes.extras(&mut object);
                // A missing name was already reported.
                let name = name.and_then(JsonNode::as_text).unwrap_or_default();
                self.trace.unmodeled.add_alias(name, &attributes);
            }
            "trace-class" => self.any_trace_class(&mut object),
            "clock-class" => self.any_clock_class(&mut object),
            "data-stream-class" => self.data_stream_class(&mut object),
            _ => self.event_record_class(&mut object),
        }
        object.finish(UnknownProperties::Refuse, self.classes.problems);
        self.classes.problems.leave();
    }

    /// Checks the complete trace class after the last fragment. Returns `None` after errors.
    pub(super) fn finish(mut self, text: &[u8]) -> Option<TraceClass> {
        self.streams.remove_refused(&mut self.trace);
        let problems = &mut *self.classes.problems;
        if !self.has_preamble && problems.errors() == self.errors_before {
            problems.error(
                TextPosition::at_offset(text, 0),
                "a metadata stream must begin with a preamble fragment",
            );
        } else if self.trace.data_streams.is_empty() && problems.errors() == self.errors_before {
            // Checked only without other errors, which may explain it. Everything else can still be read.
            let position = TextPosition::at_offset(text, text.len());
            problems.warning(position, "a metadata stream must have at least one data stream class fragment");
        }
        if problems.errors() == self.errors_before {
            // The required fields are known only now.
            let streams = &self.trace.data_streams;
            if let Some(header) = &self.trace.packet_header {
                let others = streams.iter().flat_map(DataStreamClass::roots);
                root::check_no_user_fields(header, Scope::PacketHeader, others, problems);
            }
            for stream in streams {
                if let Some(header) = &stream.event_record_header {
                    root::check_no_user_fields(header, Scope::EventRecordHeader, stream.roots(), problems);
                }
            }
        }
        for namespace in self.trace.attributes.join(std::mem::take(&mut self.preamble_attributes)) {
            let message = format!(
                "attributes of the preamble in the namespace `{namespace}` repeat names of the trace class \
                attributes: the trace class attributes are used"
            );
            problems.warning(TextPosition::at_offset(text, 0), message);
        }
        (problems.errors() == self.errors_before).then_some(self.trace)
    }

    /// Reads the preamble (CTF2-PROP-2.0 and CTF2-SPEC-2.0, "Preamble fragment").
    fn preamble(&mut self, object: &mut Object<'_>) {
        if self.has_preamble {
            let message = "there must be only one preamble fragment, at the start";
            self.classes.problems.error(object.position, message);
        }
        self.has_preamble = true;
        if let Some(node) = object.require("version", self.classes.problems)
            && unsigned(node, self.classes.problems).is_some_and(|version| version != 2)
        {
            refuse(node, "the version 2", self.classes.problems);
        }
        if self.classes.vocabulary == Vocabulary::Spec2
            && let Some(node) = object.get("uuid")
        {
            self.trace.uuid = super::object::uuid(node, self.classes.problems);
        }
        if let Some(node) = object.get("extensions") {
            self.declare_extensions(node);
        }
        let known = object.get(self.classes.vocabulary.attributes());
        if let Some(node) = known {
            self.preamble_attributes = super::object::attributes(node, self.classes.problems);
        }
    }

    /// Refuses all extensions. Any extension may change everything, and this reader supports none, so the trace must
    /// not be read (CTF2-SPEC-2.0, "Extensions").
    fn declare_extensions(&mut self, node: &JsonNode) {
        let problems = &mut *self.classes.problems;
        // Values of another kind were already reported.
        for namespace in super::object::properties(node, problems).unwrap_or_default() {
            for extension in super::object::properties(&namespace.value, problems).unwrap_or_default() {
                let message = format!(
                    "the extension `{}` in the namespace `{}` is not supported",
                    extension.name, namespace.name
                );
                problems.error(extension.name_position, message);
                self.classes.extensions.insert((namespace.name.to_string(), extension.name.to_string()));
            }
        }
    }

    fn any_trace_class(&mut self, object: &mut Object<'_>) {
        if self.trace_class.is_some() {
            self.classes.problems.error(object.position, "there is more than one trace class fragment");
        } else if !self.trace.data_streams.is_empty() {
            let message = "the trace class fragment must be before all data stream class fragments";
            self.classes.problems.error(object.position, message);
        }
        self.trace_class = Some(object.position);
        self.trace.declared_at = object.position.into();
        match self.classes.vocabulary {
            Vocabulary::Spec2 => self.spec2_trace_class(object),
            Vocabulary::Prop2 => self.prop2_trace_class(object),
        }
        let errors = self.classes.problems.errors();
        let class =
            self.root_class("packet-header-field-class", Scope::PacketHeader, "packet header", object);
        // A refused role is removed from its field.
        if let Some(class) = &class
            && self.classes.problems.errors() == errors
        {
            root::check_magic_first(class, self.classes.problems);
            if class.has_role(Role::MetadataStreamUuid) && self.trace.uuid.is_none() {
                let owner = match self.classes.vocabulary {
                    Vocabulary::Spec2 => "preamble",
                    Vocabulary::Prop2 => "trace class",
                };
                let message =
                    format!("a field has the role of the UUID, but the {owner} lacks the property `uuid`");
                self.classes.problems.error(class.declared_at.0, message);
            }
        }
        self.trace.packet_header = class;
        self.trace.attributes = self.classes.extras(object);
    }

    fn any_clock_class(&mut self, object: &mut Object<'_>) {
        let clock = match self.classes.vocabulary {
            Vocabulary::Spec2 => self.spec2_clock_class(object),
            Vocabulary::Prop2 => self.prop2_clock_class(object),
        };
        let attributes = self.classes.extras(object);
        let Some(mut clock) = clock else {
            self.unsure_clocks = true;
            return;
        };
        clock.attributes = attributes;
        clock.declared_at = object.position.into();
        let Ok(index) = u16::try_from(self.trace.clocks.len()) else {
            self.classes.problems.error(object.position, "there are more than 65,536 clock classes");
            return;
        };
        let bytes = (size::<ClockClass>() + 300) as u64 + 2 * memory::of_text(&clock.id);
        if !self.classes.problems.charge(bytes, object.position) {
            return;
        }
        self.clocks.insert(clock.id.clone(), index);
        self.trace.clocks.push(clock);
    }

    /// Reads a frequency, which must be greater than 0.
    pub(super) fn frequency(&mut self, object: &mut Object<'_>) -> Option<u64> {
        let node = object.require("frequency", self.classes.problems)?;
        super::object::positive(node, self.classes.problems)
    }

    /// Reads an offset in seconds and cycles. The cycles must be less than a second.
    pub(super) fn offset(&mut self, name: &'static str, clock: &mut ClockClass, object: &mut Object<'_>) {
        let Some(node) = object.get(name) else { return };
        let problems = &mut *self.classes.problems;
        let Some(mut offset) = Object::open(node, problems) else { return };
        if let Some(node) = offset.get("seconds")
            && let Some(seconds) = super::object::integer(node, problems)
            && let Some(seconds) = seconds_of_clock(seconds, node, problems)
        {
            clock.offset_seconds = seconds;
        }
        if let Some(node) = offset.get("cycles")
            && let Some(cycles) = unsigned(node, problems)
        {
            if cycles >= clock.frequency {
                let expected = format!("less than the frequency, {}", clock.frequency);
                refuse(node, expected, problems);
            }
            clock.offset_cycles = cycles;
        }
        offset.finish(UnknownProperties::Refuse, problems);
    }

    fn root_class(
        &mut self,
        property: &'static str,
        scope: Scope,
        what: &str,
        object: &mut Object<'_>,
    ) -> Option<Arc<FieldClass>> {
        let node = object.get(property)?;
        self.classes.root(node, scope, what)
    }

    /// Reads the namespace, the name and, in SPEC-2.0, the UID.
    fn identity(&mut self, object: &mut Object<'_>) -> [Option<String>; 3] {
        let problems = &mut *self.classes.problems;
        let namespace = object.text("namespace", problems);
        let name = object.text("name", problems);
        let uid = match self.classes.vocabulary {
            Vocabulary::Spec2 => object.text("uid", problems),
            Vocabulary::Prop2 => None,
        };
        [namespace, name, uid]
    }

    /// Reads a data stream class (CTF2-PROP-2.0 and CTF2-SPEC-2.0, "Data stream class fragment").
    fn data_stream_class(&mut self, object: &mut Object<'_>) {
        let id_node = object.get("id");
        let id = id_node.map_or(Some(0), |node| id(node, self.classes.problems));
        let [namespace, name, uid] = self.identity(object);
        let clock = object.get(self.classes.vocabulary.default_clock()).or_else(|| {
            // Release candidates kept the PROP-2.0 property.
            let name = Vocabulary::Prop2.default_clock();
            if !object.has(name) {
                return None;
            }
            self.classes.report_release_candidate(object.name_position(name));
            object.get(name)
        });
        let default_clock = clock.and_then(|node| self.clock_of(node));
        let packet_context =
            self.root_class("packet-context-field-class", Scope::PacketContext, "packet context", object);
        let event_record_header = self.root_class(
            "event-record-header-field-class",
            Scope::EventRecordHeader,
            "event record header",
            object,
        );
        let common_context = self.root_class(
            "event-record-common-context-field-class",
            Scope::CommonContext,
            "event record common context",
            object,
        );
        let attributes = self.classes.extras(object);
        if clock.is_none() {
            for class in packet_context.iter().chain(&event_record_header) {
                self.check_no_timestamp(class);
            }
        }
        let stream = DataStreamClass {
            id: 0,
            namespace,
            name,
            uid,
            default_clock,
            other_clocks: Vec::new(),
            packet_context,
            event_record_header,
            common_context,
            resource: None,
            event_records: Vec::new(),
            attributes,
            declared_at: object.position.into(),
        };
        let position = object.position_of(id_node);
        self.streams.add(id, stream, position, &mut self.trace, self.classes.problems);
    }

    /// Reports timestamps without a default clock. SPEC-2.0 forbids them, and in PROP-2.0 they are useless.
    fn check_no_timestamp(&mut self, class: &FieldClass) {
        for role in [Role::Timestamp, Role::PacketEndTimestamp] {
            let Some(position) = root::place_of_role(class, role) else { continue };
            let message = "a field is a timestamp, but the data stream class lacks a default clock class";
            match self.classes.vocabulary {
                Vocabulary::Spec2 => self.classes.problems.error(position, message),
                Vocabulary::Prop2 => self.classes.problems.add(Diagnostic::note(position, message)),
            }
        }
    }

    fn clock_of(&mut self, node: &JsonNode) -> Option<u16> {
        let key = text(node, self.classes.problems)?;
        let index = self.clocks.get(key).copied();
        if index.is_none() && !self.unsure_clocks {
            self.classes.problems.error(
                node.position,
                format!("unknown clock class `{key}`: no earlier fragment declares it"),
            );
        }
        index
    }

    /// Reads an event record class (CTF2-PROP-2.0 and CTF2-SPEC-2.0, "Event record class fragment").
    fn event_record_class(&mut self, object: &mut Object<'_>) {
        let id_node = object.get("id");
        let id = id_node.map_or(Some(0), |node| id(node, self.classes.problems));
        let stream_node = object.get("data-stream-class-id");
        let stream_id = stream_node.map_or(Some(0), |node| super::object::id(node, self.classes.problems));
        let [namespace, name, uid] = self.identity(object);
        let specific_context = self.root_class(
            "specific-context-field-class",
            Scope::SpecificContext,
            "specific context",
            object,
        );
        let payload = self.root_class("payload-field-class", Scope::Payload, "payload", object);
        let attributes = self.classes.extras(object);
        let (Some(id), Some(stream_id)) = (id, stream_id) else { return };
        let problems = &mut *self.classes.problems;
        let found =
            self.streams.find(stream_id, stream_node.is_none(), object.position, &self.trace, problems);
        let Some(stream) = found.and_then(|(index, _)| self.trace.data_streams.get_mut(index)) else {
            return self.streams.report_missing(
                stream_id,
                stream_node,
                object.position,
                &self.trace,
                problems,
            );
        };
        let class = EventRecordClass {
            id,
            namespace,
            name,
            uid,
            log_level: log_level(&attributes),
            emf_uri: emf_uri(&attributes),
            specific_context,
            payload,
            attributes,
            declared_at: object.position.into(),
            ..EventRecordClass::default()
        };
        let position = object.position_of(id_node);
        self.streams.add_event(class, true, stream, position, self.classes.limits, problems);
    }
}

/// Checks the seconds of a clock offset.
pub(super) fn seconds_of_clock(seconds: i128, node: &JsonNode, problems: &mut Problems) -> Option<i64> {
    or_refuse(i64::try_from(seconds).ok(), node, "an integer of at most 64 bits", problems)
}

/// Returns a label such as "event record class 3".
pub(super) fn label(what: &str, key: Option<&JsonNode>) -> String {
    match key.map(|node| &node.json) {
        Some(super::text::Json::Integer(id)) => format!("{what} {id}"),
        Some(super::text::Json::Text(name)) => format!("{what} `{}`", super::text::shortened(name)),
        Some(_) => what.to_owned(),
        None if what == "clock class" => what.to_owned(),
        None => format!("{what} 0"),
    }
}

/// Reads a UUID in its canonical form: 32 lowercase or uppercase hexadecimal digits in five groups (CTF2-PROP-1.0 and
/// CTF2-PROP-2.0, "UUID").
pub(super) fn canonical_uuid(node: &JsonNode, problems: &mut Problems) -> Option<Uuid> {
    let written = text(node, problems)?;
    let hyphens =
        written.len() == 36 && [8, 13, 18, 23].iter().all(|at| written.as_bytes().get(*at) == Some(&b'-'));
    let uuid = if hyphens { Uuid::try_parse(written).ok() } else { None };
    or_refuse(uuid, node, "a UUID such as `01234567-89ab-cdef-0123-456789abcdef`", problems)
}
