//! Builds the class model from blocks: everything that depends on a type's use.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, IntegerProperties, Length,
    Mappings, Member, Ranges, Role, Roles, StringLength, Value, VariantOption,
};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::field::StringEncoding;
use ichnos_model::memory::size;
use ichnos_model::trace::{Diagnostic, Limits, TextPosition};
use ichnos_model::{Scope, TraceClass};

use super::super::event_ids::EventIds;
use super::super::{Problems, choices, memory};
use super::ast::{
    ArrayLength, ClockBlock, CompoundBody, Document, EventBlock, IntegerType, ParsedType, PathLocation,
    StreamBlock, TypeKind,
};
use super::lookup::{OpenStructure, ResolvedLocation, VisibleFields, shown};
use super::parser::{ParseResult, Stop};

/// Number of class visits allowed for lookups, per field class that the limits allow.
const VISITS: u64 = 16;

/// Builds the trace class from a text, and reports problems.
pub(super) fn build(mut document: Document, limits: &Limits, problems: &mut Problems) -> Option<TraceClass> {
    let environment = std::mem::take(&mut document.environment);
    let call_sites = std::mem::take(&mut document.call_sites);
    let mut trace = build_classes(&document, &environment, limits, problems)?;
    trace.environment = environment;
    trace.implied_namespace = namespace_of_tracer(&trace).map(str::to_owned);
    trace.call_sites = call_sites;
    Some(trace)
}

/// Returns the CTF 2 namespace for the tracer's traces, because TSDL lacks namespaces.
fn namespace_of_tracer(trace: &TraceClass) -> Option<&'static str> {
    let tracer = trace.environment("tracer_name")?.as_text()?;
    tracer.starts_with("lttng").then_some("lttng.org,2009")
}

fn build_classes(
    document: &Document,
    environment: &[(String, Value)],
    limits: &Limits,
    problems: &mut Problems,
) -> Option<TraceClass> {
    let Some(block) = &document.trace else {
        let start = TextPosition { line: 1, column: 1, offset: 0 };
        problems.error(start, "the `trace` block is missing");
        return None;
    };
    let mut builder = TraceBuilder {
        document,
        limits,
        problems,
        byte_order: block.byte_order,
        clocks: Vec::new(),
        clock_indexes: HashMap::new(),
        environment,
        lengths: None,
        default_clock: None,
        roots: Default::default(),
        scope: Scope::PacketHeader,
        frames: Vec::new(),
        innermost: None,
        path: Vec::new(),
        context: String::new(),
        left: limits.field_classes,
        visits: limits.field_classes.saturating_mul(VISITS),
        exhausted: false,
    };
    builder.clocks();
    builder.context = "`trace` block".to_owned();
    let packet_header = builder.root(Scope::PacketHeader, block.packet_header.as_ref());
    let data_streams = builder.streams();
    let clocks = builder.clocks;
    let is_known = packet_header.as_ref().is_some_and(|header| header.has_role(Role::DataStreamClassId));
    if data_streams.len() > 1 && !is_known {
        let message = "there are several `stream` blocks, but no `stream_id` in the packet header: all \
            packets are assumed to belong to stream 0";
        builder.problems.warning(block.at, message);
    }
    Some(TraceClass {
        dialect: "CTF 1.8".to_owned(),
        uuid: block.uuid,
        default_byte_order: Some(block.byte_order),
        packet_header,
        clocks,
        default_clock_precision: Some(0),
        data_streams,
        declared_at: block.at.into(),
        ..TraceClass::default()
    })
}

struct TraceBuilder<'a> {
    document: &'a Document,
    limits: &'a Limits,
    problems: &'a mut Problems,
    byte_order: ByteOrder,
    clocks: Vec<ClockClass>,
    clock_indexes: HashMap<&'a str, u16>,
    environment: &'a [(String, Value)],
    /// Environment entries by name, built for the first array length that needs them.
    lengths: Option<HashMap<&'a str, &'a Value>>,
    /// Clock of the stream being built.
    default_clock: Option<u16>,
    roots: [Option<Arc<FieldClass>>; 6],
    scope: Scope,
    frames: Vec<OpenStructure>,
    innermost: Option<usize>,
    /// Names from the root field to the current field.
    path: Vec<String>,
    /// Block being built.
    context: String,
    /// Remaining number of field classes to build.
    left: u64,
    /// Remaining number of class visits for lookups.
    visits: u64,
    exhausted: bool,
}

/// Field name. `direct` is `true` for a direct member of a root field.
#[derive(Clone, Copy)]
struct NamedField<'n> {
    name: &'n str,
    direct: bool,
}

impl<'a> TraceBuilder<'a> {
    fn error(&mut self, at: TextPosition, message: impl Into<String>) -> Stop {
        self.add(Diagnostic::error(at, message))
    }

    fn limit_error(&mut self, at: TextPosition, limit: &'static str, message: String) -> Stop {
        self.add(Diagnostic::error(at, message).limit(limit))
    }

    fn add(&mut self, diagnostic: Diagnostic) -> Stop {
        let mut within = vec![self.context.clone(), self.scope.name().to_owned()];
        within.extend(self.path.iter().map(|name| format!("member `{name}`")));
        self.problems.add(diagnostic.within(within));
        Stop
    }

    fn warning(&mut self, at: TextPosition, message: impl Into<String>) {
        let mut within = vec![self.context.clone(), self.scope.name().to_owned()];
        within.extend(self.path.iter().map(|name| format!("member `{name}`")));
        self.problems.add(Diagnostic::warning(at, message).within(within));
    }

    fn clocks(&mut self) {
        for block in &self.document.clocks {
            let clock = self.clock(block);
            let index = self.clocks.len();
            if let Ok(index) = u16::try_from(index) {
                self.clock_indexes.insert(&block.name, index);
            }
            self.clocks.push(clock);
        }
    }

    /// Builds a clock class (section 8).
    fn clock(&mut self, block: &ClockBlock) -> ClockClass {
        let mut clock = ClockClass::new(&block.name, block.frequency);
        clock.name = Some(block.name.clone());
        clock.uuid = block.uuid;
        clock.description.clone_from(&block.description);
        clock.precision = block.precision;
        clock.declared_at = block.at.into();
        if block.absolute {
            clock.origin = ClockOrigin::UnixEpoch;
        }
        // Moves whole seconds from the cycles to the seconds, with the same sum.
        let frequency = i128::from(block.frequency.max(1));
        let seconds = i128::from(block.offset_seconds) + block.offset.div_euclid(frequency);
        match i64::try_from(seconds) {
            Ok(seconds) => clock.offset_seconds = seconds,
            Err(_) => {
                self.problems.error(block.at, "the offset of the clock does not fit 64 bits of seconds")
            }
        }
        clock.offset_cycles = u64::try_from(block.offset.rem_euclid(frequency)).unwrap_or(0);
        clock
    }

    fn streams(&mut self) -> Vec<DataStreamClass> {
        let mut streams: Vec<DataStreamClass> = Vec::new();
        let mut by_id: HashMap<u64, usize> = HashMap::new();
        let mut events: Vec<Vec<&EventBlock>> = Vec::new();
        let mut blocks: Vec<(u64, Option<&StreamBlock>)> = Vec::new();
        for block in &self.document.streams {
            let id = block.id.unwrap_or(0);
            if by_id.insert(id, blocks.len()).is_some() {
                self.problems.error(block.at, format!("duplicate `stream` block id {id}"));
                return streams;
            }
            blocks.push((id, Some(block)));
            events.push(Vec::new());
        }
        // A text without `stream` blocks has a single stream without declarations (section 7.4).
        let implicit = blocks.is_empty();
        let only = match self.document.streams.as_slice() {
            [only] => only.id.unwrap_or(0),
            _ => 0,
        };
        for event in &self.document.events {
            let (id, at) = event.stream_id.unwrap_or((only, event.at));
            let index = match by_id.get(&id) {
                Some(index) => *index,
                None if implicit => {
                    by_id.insert(id, blocks.len());
                    blocks.push((id, None));
                    events.push(Vec::new());
                    blocks.len() - 1
                }
                None if event.stream_id.is_none() => {
                    let message = "the `event` block does not name a `stream` block, and the id 0 does not exist: \
                                   its events are not read";
                    self.problems.warning(at, message);
                    continue;
                }
                None => {
                    self.problems.error(at, format!("unknown `stream` block id {id}"));
                    continue;
                }
            };
            if event.stream_id.is_none() && id != 0 {
                let message = "the `event` block does not name a `stream` block, and the id 0 does not exist";
                let message = format!("{message}: it is assumed to belong to the only `stream` block, {id}");
                self.problems.warning(at, message);
            }
            if let Some(events) = events.get_mut(index) {
                events.push(event);
            }
        }
        for ((id, block), events) in blocks.into_iter().zip(events) {
            let at = block.map_or(TextPosition::default(), |block| block.at);
            // Includes its plans and lists.
            if self.exhausted || self.charge_memory((size::<DataStreamClass>() + 700) as u64, at).is_err() {
                break;
            }
            streams.push(self.stream(id, block, &events));
        }
        streams
    }

    fn stream(
        &mut self,
        id: u64,
        block: Option<&'a StreamBlock>,
        events: &[&'a EventBlock],
    ) -> DataStreamClass {
        self.default_clock = None;
        self.context = format!("`stream` block {id}");
        for root in self.roots.iter_mut().skip(1) {
            *root = None;
        }
        let root = |this: &mut Self, scope, class: Option<&Option<Rc<ParsedType>>>| {
            this.root(scope, class.and_then(Option::as_ref))
        };
        let mut stream = DataStreamClass { id: id.into(), ..DataStreamClass::default() };
        stream.packet_context = root(self, Scope::PacketContext, block.map(|block| &block.packet_context));
        stream.event_record_header =
            root(self, Scope::EventRecordHeader, block.map(|block| &block.event_header));
        stream.common_context = root(self, Scope::CommonContext, block.map(|block| &block.event_context));
        if let Some(block) = block {
            stream.declared_at = block.at.into();
        }
        let mut ids = EventIds::default();
        for event in events {
            let event_id = event.id.unwrap_or(0);
            let is_new = ids.add(&stream, event_id.into(), event.at);
            if self.exhausted {
                break;
            }
            let names = [event.name.as_deref(), event.emf_uri.as_deref()];
            if !self.problems.charge(memory::of_event_record_class(&names), event.at) {
                self.exhausted = true;
                break;
            }
            let class = self.event(event_id, event);
            if is_new {
                stream.event_records.push(Arc::new(class));
            } else {
                ids.refuse(&class, &stream, event.at, self.problems);
            }
        }
        ids.remove_refused(std::slice::from_mut(&mut stream));
        stream.default_clock = self.default_clock;
        stream
    }

    fn event(&mut self, id: u64, block: &'a EventBlock) -> EventRecordClass {
        self.context = match &block.name {
            Some(name) => format!("`event` block `{name}`"),
            None => format!("`event` block {id}"),
        };
        EventRecordClass {
            id: id.into(),
            name: block.name.clone(),
            log_level: block.log_level,
            emf_uri: block.emf_uri.clone(),
            specific_context: self.root(Scope::SpecificContext, block.context.as_ref()),
            payload: self.root(Scope::Payload, block.fields.as_ref()),
            declared_at: block.at.into(),
            ..EventRecordClass::default()
        }
    }

    /// Builds a root field, which later locations can refer to.
    fn root(&mut self, scope: Scope, class: Option<&Rc<ParsedType>>) -> Option<Arc<FieldClass>> {
        self.scope = scope;
        self.frames.clear();
        self.innermost = None;
        self.path.clear();
        let made = class.and_then(|class| {
            if !matches!(class.resolved().kind, TypeKind::Structure(_)) {
                self.error(class.at, "the type of a root field is not a structure");
                return None;
            }
            self.class(class, class.at, NamedField { name: "", direct: false }).ok()
        });
        if let Some(root) = self.roots.get_mut(scope as usize) {
            root.clone_from(&made);
        }
        made
    }

    fn class(
        &mut self,
        class: &ParsedType,
        at: TextPosition,
        slot: NamedField<'_>,
    ) -> ParseResult<Arc<FieldClass>> {
        if let TypeKind::Alias { target, declared_in } = &class.kind {
            let outer = self.innermost;
            let frame = declared_in.and_then(|body| self.frames.iter().rposition(|frame| frame.body == body));
            self.innermost = frame.or(outer);
            let made = self.class(target, at, slot);
            self.innermost = outer;
            return made;
        }
        if self.exhausted {
            return Err(Stop);
        }
        self.charge(1, at)?;
        self.charge_memory(memory::of_field_class(), at)?;
        let mut roles = Roles::NONE;
        let kind = match &class.kind {
            TypeKind::Integer(integer) => {
                roles = self.integer_roles(integer, at, slot)?;
                self.integer(integer, None)
            }
            TypeKind::Enumeration { base, mappings } => {
                // Printing the classes prints all labels at each use.
                self.charge(mappings.ranges() as u64 / 8, at)?;
                roles = self.integer_roles(base, at, slot)?;
                self.integer(base, Some(mappings.clone()))
            }
            TypeKind::Float(float) => {
                let byte_order = float.byte_order.unwrap_or(self.byte_order);
                FieldKind::Float(BitField::new(float.size, byte_order, float.align))
            }
            TypeKind::String => FieldKind::String {
                encoding: StringEncoding::Utf8,
                length: StringLength::NullTerminated,
                alignment: 8,
            },
            TypeKind::Structure(body) => self.structure(body)?,
            TypeKind::Variant { body, tag } => self.variant(body, tag.as_ref(), at)?,
            TypeKind::Array { element, length } => {
                let kind = self.array(element, length)?;
                if slot.direct && self.scope == Scope::PacketHeader && slot.name == "uuid" && is_uuid(&kind) {
                    roles = Roles::only(Role::MetadataStreamUuid);
                }
                kind
            }
            TypeKind::Alias { .. } | TypeKind::Broken => return Err(Stop),
        };
        Ok(Arc::new(FieldClass { roles, declared_at: at.into(), ..FieldClass::new(kind) }))
    }

    /// Counts field classes, or other data with the memory of this many field classes.
    fn charge(&mut self, classes: u64, at: TextPosition) -> ParseResult<()> {
        match self.left.checked_sub(classes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.exhausted = true;
                let most = self.limits.field_classes;
                Err(self.limit_error(
                    at,
                    "field_classes",
                    format!("the trace has more than {most} field classes"),
                ))
            }
        }
    }

    /// Counts trace class memory.
    fn charge_memory(&mut self, bytes: u64, at: TextPosition) -> ParseResult<()> {
        if self.problems.charge(bytes, at) {
            return Ok(());
        }
        self.exhausted = true;
        Err(Stop)
    }

    fn integer(&self, integer: &IntegerType, mappings: Option<Mappings>) -> FieldKind {
        let byte_order = integer.byte_order.unwrap_or(self.byte_order);
        FieldKind::Integer {
            bits: BitField::new(integer.size, byte_order, integer.align),
            integer: IntegerProperties {
                signed: integer.signed,
                preferred_base: integer.base,
                mappings,
                wide_ranges: None,
                wall_clock: None,
            },
        }
    }

    /// Returns an integer's roles, from special names (sections 5 and 6.1) and clocks (section 8). Signed integers do
    /// not have roles.
    fn integer_roles(
        &mut self,
        integer: &IntegerType,
        at: TextPosition,
        slot: NamedField<'_>,
    ) -> ParseResult<Roles> {
        let mut clock = None;
        if let Some((name, at)) = integer.clock.as_deref() {
            let Some(index) = self.clock_indexes.get(name.as_str()) else {
                return Err(self.error(*at, format!("unknown clock `{name}`")));
            };
            clock = Some(*index);
        }
        let mut roles = Roles::NONE;
        if integer.signed {
            return Ok(roles);
        }
        match (self.scope, slot.direct, slot.name) {
            (Scope::PacketHeader, true, "magic") => roles.insert(Role::PacketMagicNumber),
            (Scope::PacketHeader, _, "stream_id") => roles.insert(Role::DataStreamClassId),
            (Scope::PacketHeader, _, "stream_instance_id") => roles.insert(Role::DataStreamId),
            (Scope::PacketContext, true, "packet_size") => roles.insert(Role::PacketTotalLength),
            (Scope::PacketContext, true, "content_size") => roles.insert(Role::PacketContentLength),
            (Scope::PacketContext, true, "events_discarded") => roles.insert(Role::DiscardedEventCounter),
            (Scope::PacketContext, true, "packet_seq_num") => roles.insert(Role::PacketSequenceNumber),
            (Scope::EventRecordHeader, _, "id") => roles.insert(Role::EventRecordClassId),
            _ => {}
        }
        let timestamp = match self.scope {
            Scope::PacketContext => matches!(slot.name, "timestamp_begin" | "timestamp_end"),
            Scope::EventRecordHeader => slot.name == "timestamp",
            _ => false,
        };
        if timestamp && clock.is_none() {
            clock = Some(self.only_clock(at)?);
        }
        if let Some(index) = clock {
            roles.clock = Some(index);
            let ends = self.scope == Scope::PacketContext && slot.name.ends_with("_end");
            roles.insert(if ends { Role::PacketEndTimestamp } else { Role::Timestamp });
            match self.default_clock {
                None => self.default_clock = Some(index),
                Some(other) if other != index => {
                    let message =
                        "the stream has fields of several clocks; the first clock is its default clock";
                    self.problems.add(Diagnostic::note(at, message));
                }
                Some(_) => {}
            }
        }
        Ok(roles)
    }

    /// Returns the clock for a timestamp that does not name a clock: the only clock, or a nanosecond clock if the text
    /// lacks clocks (section 8).
    fn only_clock(&mut self, at: TextPosition) -> ParseResult<u16> {
        match (self.clocks.len(), self.default_clock) {
            (0, _) => {
                let mut clock = ClockClass::new("default", 1_000_000_000);
                clock.name = Some("default".to_owned());
                self.clocks.push(clock);
                Ok(0)
            }
            (1, _) => Ok(0),
            (_, Some(index)) => Ok(index),
            _ => Err(self.error(at, "a timestamp does not name its clock (`map`), and there are several")),
        }
    }

    fn structure(&mut self, body: &CompoundBody) -> ParseResult<FieldKind> {
        let outer = self.innermost;
        let direct = self.frames.is_empty();
        self.innermost = Some(self.frames.len());
        self.frames.push(OpenStructure {
            body: body.id,
            parent: outer,
            path: self.path.clone(),
            members: Vec::with_capacity(body.fields.len()),
        });
        let mut result = Ok(());
        for field in &body.fields {
            self.path.push(field.name.clone());
            let name = shown(&field.name);
            let class = self.class(&field.class, field.class.at, NamedField { name, direct });
            self.path.pop();
            match (class, self.frames.last_mut()) {
                (Ok(class), Some(frame)) => {
                    let bytes = memory::of_member(name);
                    if !self.problems.charge(bytes, field.class.at) {
                        self.exhausted = true;
                        result = Err(Stop);
                        break;
                    }
                    let mut member = Member::new(name, class);
                    member.has_underscore = name != field.name;
                    frame.members.push(member);
                }
                _ => {
                    // Later members may depend on this one, so a single problem is enough.
                    result = Err(Stop);
                    break;
                }
            }
        }
        self.innermost = outer;
        // The frame was pushed above.
        let members = self.frames.pop().map(|frame| frame.members).unwrap_or_default();
        result.map(|()| FieldKind::Structure { members, minimum_alignment: body.minimum_alignment })
    }

    fn variant(
        &mut self,
        body: &CompoundBody,
        tag: Option<&PathLocation>,
        at: TextPosition,
    ) -> ParseResult<FieldKind> {
        let Some(tag) = tag else { return Err(self.error(at, "a variant is used without a tag")) };
        let ResolvedLocation { location: selector, classes } = self.locate(tag)?;
        let tags: Vec<&Mappings> = classes.iter().filter_map(|class| class.mappings()).collect();
        if let (Some(class), true) = (classes.first(), tags.is_empty()) {
            let message = format!("the tag of a variant is not an enumeration, but a {}", class.describe());
            return Err(self.error(class.declared_at.0, message));
        }
        // All labels are visited for each variant.
        self.charge(tags.iter().map(|tags| tags.len() as u64).sum::<u64>() / 8, at)?;
        let names = || body.fields.iter().map(|field| field.name.as_str());
        let tags: Vec<HashMap<&str, Ranges<'_>>> =
            tags.into_iter().map(|tags| choices::by_option(tags, names())).collect();
        let mut options = Vec::with_capacity(body.fields.len());
        for field in &body.fields {
            let name = shown(&field.name);
            let class = self.class(&field.class, field.class.at, NamedField { name, direct: false })?;
            let mut ranges = tags.iter().map(|tags| tags.get(field.name.as_str()).copied());
            let first = ranges.next().flatten();
            if ranges.any(|other| other != first) {
                let message =
                    format!("the tag matches several enumerations that disagree about `{}`", field.name);
                return Err(self.error(tag.at, message));
            }
            let own = size::<VariantOption>() as u64 + memory::of_text(name);
            self.charge_memory(own + choices::memory_of(first), at)?;
            options.push(VariantOption {
                name: Some(name.to_owned()),
                class,
                // Without a tag, no value selects the option.
                ranges: first.map(Ranges::to_set).unwrap_or_default(),
                attributes: Default::default(),
            });
        }
        let has_label = |name: &str| tags.iter().any(|tags| tags.contains_key(name));
        // If the tag does not exist, the trace class check reports it.
        let unlabelled = body.fields.iter().find(|field| !tags.is_empty() && !has_label(&field.name));
        let unlabelled = unlabelled.map(|field| field.name.clone());
        let names: HashSet<&str> = names().collect();
        let missing = classes.iter().filter_map(|class| class.mappings()).flat_map(Mappings::iter);
        let missing = missing.map(|label| label.name).find(|label| !names.contains(label));
        let missing = missing.map(str::to_owned);
        if let Some(name) = unlabelled {
            self.warning(at, format!("the tag of the variant lacks a label for the option `{name}`"));
        }
        if let Some(label) = missing {
            self.warning(at, format!("no option of the variant is named after the tag label `{label}`"));
        }
        Ok(FieldKind::Variant { options, selector: Box::new(selector), alignment: 1 })
    }

    fn array(&mut self, element: &ParsedType, length: &ArrayLength) -> ParseResult<FieldKind> {
        let length = self.length(length)?;
        let encoded = match &element.resolved().kind {
            TypeKind::Integer(integer) => integer.encoded && integer.size == 8 && integer.align == 8,
            _ => false,
        };
        if encoded {
            // A text is not an array of numbers, regardless of their clocks or names.
            return Ok(FieldKind::String {
                encoding: StringEncoding::Utf8,
                length: match length {
                    Length::Static(bytes) => StringLength::Static(bytes),
                    Length::Dynamic(location) => StringLength::Dynamic(location),
                },
                alignment: 8,
            });
        }
        let element = self.class(element, element.at, NamedField { name: "", direct: false })?;
        Ok(FieldKind::Array { element, length, minimum_alignment: 1, element_aligns: true })
    }

    fn length(&mut self, length: &ArrayLength) -> ParseResult<Length> {
        let location = match length {
            ArrayLength::Static(length) => return Ok(Length::Static(*length)),
            ArrayLength::Located(location) => location,
        };
        match location.names.as_slice() {
            [env, key] if env == "env" => {
                let message = match self.in_environment(key, location.at)? {
                    Some(Value::Integer(value)) => match u64::try_from(*value) {
                        Ok(length) => return Ok(Length::Static(length)),
                        Err(_) => format!("the environment entry `{key}` is negative: it cannot be a length"),
                    },
                    Some(_) => {
                        format!("the environment entry `{key}` is not an integer: it cannot be a length")
                    }
                    None => format!("unknown environment entry `{key}`"),
                };
                Err(self.error(location.at, message))
            }
            [env, ..] if env == "env" => {
                Err(self.error(location.at, "an environment entry is named `env.KEY`"))
            }
            _ => self.locate(location).map(|found| Length::Dynamic(Box::new(found.location))),
        }
    }

    /// Returns an environment entry's value.
    fn in_environment(&mut self, key: &str, at: TextPosition) -> ParseResult<Option<&'a Value>> {
        if self.lengths.is_none() {
            let entry = (size::<(&str, &Value)>() + 1) as u64 * 3 / 2;
            self.charge_memory(entry * self.environment.len() as u64, at)?;
        }
        let environment = self.environment;
        let entries = || environment.iter().map(|(name, value)| (name.as_str(), value));
        Ok(self.lengths.get_or_insert_with(|| entries().collect()).get(key).copied())
    }

    /// Resolves a field's location.
    fn locate(&mut self, location: &PathLocation) -> ParseResult<ResolvedLocation> {
        if super::lookup::absolute(&location.names).is_some_and(|(_, rest)| rest.is_empty()) {
            let message = format!("`{}` is a root field, not a field in one", location.names.join("."));
            return Err(self.error(location.at, message));
        }
        let view = VisibleFields {
            scope: self.scope,
            frames: &self.frames,
            innermost: self.innermost,
            roots: &self.roots,
        };
        let found = view.find(location, &mut self.visits);
        if self.visits == 0 {
            self.exhausted = true;
            return Err(self.error(location.at, "field lookups take too long: the types are too entangled"));
        }
        found.ok_or_else(|| {
            let names = location.names.join(".");
            let first = location.names.first().map_or("", String::as_str);
            self.error(
                location.at,
                format!("unknown field `{names}`: no earlier field has the name `{first}`"),
            )
        })
    }
}

/// Returns `true` if a class is an array of sixteen bytes.
fn is_uuid(kind: &FieldKind) -> bool {
    let FieldKind::Array { element, length: Length::Static(16), .. } = kind else { return false };
    matches!(&element.kind, FieldKind::Integer { bits, .. } if bits.length == 8 && bits.alignment == 8)
}
