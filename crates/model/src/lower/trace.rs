//! Traces adapted to a format.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::annotations::{NAMESPACE, annotate, annotate_unnamed};
use super::capabilities::Capabilities;
use super::class_ids::ClassIds;
use super::class_lowerer::ClassLowerer;
use super::context::joins_payload;
use super::header::Header;
use super::locations::LoweredRoots;
use super::loss_table::{LossEntry, LossKind, LossTable};
use super::mover::{Ends, Mover, ValueLosses};
use super::moves::{Fit, ScopeMoves};
use super::objects::{lower_event, lower_objects};
use super::options::LowerOptions;
use super::trace_lowerer::{ForcedFields, LoweredScope, TraceLowerer};
use crate::decode::DecodeError;
use crate::plan::steps::NodeId;
use crate::plan::{EventRecordPlans, Plan, PlanError};
use crate::{
    DataStreamClass, DynamicClass, Event, EventRecordClass, Field, FieldClass, FieldKind, LogText, Meanings,
    MemberIndex, Packet, Scope, StringEncoding, Text, Trace, TraceClass, Visitor,
};

/// A trace adapted to the capabilities of a format, and the moves of values to it.
#[derive(Debug)]
pub struct LoweredTrace {
    source: Arc<Trace>,
    trace: Arc<Trace>,
    capabilities: Capabilities,
    options: LowerOptions,
    packet_header: ScopeMoves,
    streams: Vec<LoweredStream>,
    losses: Mutex<LossTable>,
}

/// Moves of the events of a data stream class.
#[derive(Debug)]
pub struct LoweredStream {
    packet_context: ScopeMoves,
    /// Moves of fields of the packet header into the packet context.
    of_packet_header: Option<ScopeMoves>,
    event_record_header: ScopeMoves,
    common_context: ScopeMoves,
    /// Moves of fields of the event record header into the common context.
    of_event_header: Option<ScopeMoves>,
    /// Moves of the resource into the common context.
    resource: Option<ScopeMoves>,
    declared: Vec<Arc<LoweredEvent>>,
    ids: ClassIds,
    dynamic: Mutex<HashMap<usize, Arc<LoweredEvent>>>,
}

/// Moves of the events of an event record class.
#[derive(Debug)]
pub struct LoweredEvent {
    /// Index of the data stream class.
    pub data_stream_class: usize,
    specific_context: ScopeMoves,
    payload: ScopeMoves,
    /// `true` if the members of the specific context are the first ones of the payload.
    joins_payload: bool,
    /// Writer of the message, and the node that receives it.
    text: Option<(NodeId, LogText)>,
    plans: Plans,
    /// Difference of all scopes from their sources.
    fit: Fit,
}

/// Plans of a lowered class.
#[derive(Debug)]
enum Plans {
    Declared { trace: Arc<Trace>, stream: usize, index: usize },
    Dynamic(Arc<DynamicClass>),
}

/// Losses counted while moving events of a class.
#[derive(Clone, Debug, Default)]
pub struct EventLosses {
    event_record_header: ValueLosses,
    common_context: ValueLosses,
    resource: ValueLosses,
    specific_context: ValueLosses,
    payload: ValueLosses,
    text: String,
}

/// Losses counted while moving packet headers and contexts of a data stream.
#[derive(Clone, Debug, Default)]
pub struct PacketLosses {
    header: ValueLosses,
    context: ValueLosses,
}

/// Parts of a lowered event record class before it is compiled.
struct EventParts {
    class: EventRecordClass,
    specific_context: ScopeMoves,
    payload: ScopeMoves,
    joins_payload: bool,
    text: Option<(NodeId, LogText)>,
}

impl LoweredTrace {
    /// Lowers the class of a trace. `complete` can change the lowered class before it is compiled, but only scopes
    /// without moved values: packet headers and contexts and event record headers that the source does not have.
    ///
    /// # Errors
    /// If the lowered class cannot be compiled, which only happens if it exceeds a limit.
    pub fn new(
        source: &Arc<Trace>,
        capabilities: &Capabilities,
        options: LowerOptions,
        complete: impl FnOnce(&mut TraceClass),
    ) -> Result<Self, PlanError> {
        let mut losses = LossTable::default();
        let lowerer = TraceLowerer {
            source,
            capabilities,
            options,
            losses: &mut losses,
            forced: ForcedFields::default(),
        };
        let (mut class, packet_header, parts) = lowerer.lower();
        complete(&mut class);
        let mut trace = Trace::new(class, source.name.clone(), &options.limits)?;
        trace.path.clone_from(&source.path);
        let trace = Arc::new(trace);
        let streams =
            parts.into_iter().enumerate().map(|(stream, parts)| parts.finish(&trace, stream)).collect();
        let (source, capabilities, losses) = (Arc::clone(source), *capabilities, Mutex::new(losses));
        Ok(Self { source, trace, capabilities, options, packet_header, streams, losses })
    }

    /// Returns the source trace.
    #[must_use]
    pub fn source(&self) -> &Arc<Trace> {
        &self.source
    }

    /// Returns the trace adapted to the format.
    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Returns the moves of the events of a data stream class, by its index.
    #[must_use]
    pub fn stream(&self, data_stream_class: usize) -> Option<&LoweredStream> {
        self.streams.get(data_stream_class)
    }

    /// Returns the losses of classes, and those [added](Self::add_losses).
    #[must_use]
    pub fn losses(&self) -> LossTable {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, LossTable> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if the bits of packet headers and contexts, and of event record headers, stay the same
    /// in a data stream class; with `with_events`, also those of all its declared event record classes.
    #[must_use]
    pub fn keeps_bits(&self, data_stream_class: usize, with_events: bool) -> bool {
        let Some(stream) = self.streams.get(data_stream_class) else { return false };
        let own = [&self.packet_header, &stream.packet_context, &stream.event_record_header];
        own.into_iter().all(|moves| moves.fit <= Fit::SameBits)
            && (!with_events || stream.declared.iter().all(|event| event.fit <= Fit::SameBits))
    }

    /// Returns the moves of the events of an event's class. `None` if its data stream class is unknown.
    ///
    /// # Errors
    /// If the lowered class cannot be compiled.
    pub fn event(&self, event: &Event<'_>) -> Result<Option<Arc<LoweredEvent>>, PlanError> {
        let (index, Some(class_index)) = (event.stream.class_index, event.class_index()) else {
            return Ok(None);
        };
        let Some(stream) = self.streams.get(index) else { return Ok(None) };
        if let Some(declared) = stream.declared.get(class_index) {
            return Ok(Some(Arc::clone(declared)));
        }
        let mut dynamic = stream.dynamic.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = dynamic.get(&class_index) {
            return Ok(Some(Arc::clone(known)));
        }
        let mut losses = LossTable::default();
        let mut parts = {
            let mut lowerer = TraceLowerer {
                source: &self.source,
                capabilities: &self.capabilities,
                options: self.options,
                losses: &mut losses,
                forced: ForcedFields::default(),
            };
            let clock = event.stream.class().default_clock;
            lowerer.event(
                event.plans,
                clock,
                &stream.common_context,
                stream.resource.as_ref(),
                &self.trace.class,
                index,
            )
        };
        if self.options.numbers_classes {
            stream.ids.give(&mut parts.class, &mut losses);
        }
        let Some(classes) = self.trace.dynamic_classes(index) else { return Ok(None) };
        let key = (class_index as u64).to_le_bytes();
        let Some(compiled) = classes.last(&key, || parts.class)? else { return Ok(None) };
        let common = stream.common_context.fit;
        let lowered = LoweredEvent {
            data_stream_class: index,
            fit: common.max(parts.specific_context.fit).max(parts.payload.fit),
            specific_context: parts.specific_context,
            payload: parts.payload,
            joins_payload: parts.joins_payload,
            text: parts.text,
            plans: Plans::Dynamic(compiled),
        };
        let lowered = Arc::new(lowered);
        dynamic.insert(class_index, Arc::clone(&lowered));
        self.lock().merge(losses);
        Ok(Some(lowered))
    }

    /// Passes the fields of the packet header or the packet context to `visitor`, as fields of the lowered class.
    ///
    /// # Errors
    /// See [`Event::visit`].
    pub fn visit_packet<V: Visitor>(
        &self,
        packet: &Packet<'_>,
        scope: Scope,
        visitor: &mut V,
        losses: &mut PacketLosses,
    ) -> Result<(), DecodeError> {
        let Some(stream) = self.streams.get(packet.stream.class_index) else { return Ok(()) };
        let plans = self.trace.plans.data_streams.get(packet.stream.class_index);
        let (moves, target, losses) = match scope {
            Scope::PacketHeader => {
                let PacketLosses { header, context } = losses;
                (&self.packet_header, self.trace.plans.packet_header.as_ref(), (header, context))
            }
            Scope::PacketContext => {
                let target = plans.and_then(|plans| plans.packet_context.as_ref());
                let PacketLosses { header, context } = losses;
                (&stream.packet_context, target, (context, header))
            }
            _ => return Ok(()),
        };
        if moves.fit == Fit::Same {
            return packet.visit(scope, visitor);
        }
        let Some(target) = target else { return Ok(()) };
        let bytes = packet.scopes.bits.bytes();
        if let (Scope::PacketContext, Some(of_header)) = (scope, &stream.of_packet_header) {
            let root = Field::new(target, 0, 0, 0);
            visitor.begin_structure(root);
            let none = Ends { begin: false, end: false };
            let header = &mut Mover::new(visitor, &of_header.moves, target, bytes, losses.1, none);
            packet.visit(Scope::PacketHeader, header)?;
            packet.visit(scope, &mut Mover::new(visitor, &moves.moves, target, bytes, losses.0, none))?;
            visitor.end_structure(root);
            return Ok(());
        }
        let ends = Ends { begin: true, end: true };
        let losses = losses.0;
        packet.visit(scope, &mut Mover::new(visitor, &moves.moves, target, bytes, losses, ends))
    }

    /// Returns the difference of the event record header, a context or the payload of a class from its
    /// source; `None` if its events have no such scope.
    #[inline]
    #[must_use]
    pub fn fit(&self, lowered: &LoweredEvent, scope: Scope) -> Option<Fit> {
        let stream = self.streams.get(lowered.data_stream_class)?;
        match scope {
            Scope::EventRecordHeader => Some(stream.event_record_header.fit),
            Scope::CommonContext if stream.resource.is_some() || stream.of_event_header.is_some() => {
                Some(Fit::Moved)
            }
            Scope::CommonContext => Some(stream.common_context.fit),
            Scope::SpecificContext if lowered.joins_payload => None,
            Scope::SpecificContext => Some(lowered.specific_context.fit),
            Scope::Payload if lowered.joins_payload || lowered.text.is_some() => Some(Fit::Moved),
            Scope::Payload => Some(lowered.payload.fit),
            _ => None,
        }
    }

    /// Passes the fields of a scope of an event to `visitor`, as fields of the lowered class: the event
    /// record header, a context or the payload.
    ///
    /// # Errors
    /// See [`Event::visit`].
    #[inline]
    pub fn visit<V: Visitor>(
        &self,
        lowered: &LoweredEvent,
        event: &Event<'_>,
        scope: Scope,
        visitor: &mut V,
        losses: &mut EventLosses,
    ) -> Result<(), DecodeError> {
        let Some(stream) = self.streams.get(lowered.data_stream_class) else { return Ok(()) };
        match self.fit(lowered, scope) {
            None => return Ok(()),
            Some(Fit::Same) => return event.visit(scope, visitor),
            Some(_) => {}
        }
        self.visit_moved(stream, lowered, event, scope, visitor, losses)
    }

    fn visit_moved<V: Visitor>(
        &self,
        stream: &LoweredStream,
        lowered: &LoweredEvent,
        event: &Event<'_>,
        scope: Scope,
        visitor: &mut V,
        losses: &mut EventLosses,
    ) -> Result<(), DecodeError> {
        let bytes = event.scopes.bits.bytes();
        let both = Ends { begin: true, end: true };
        let of_stream = self.trace.plans.data_streams.get(lowered.data_stream_class);
        match scope {
            Scope::EventRecordHeader => {
                let target = of_stream.and_then(|plans| plans.event_record_header.as_ref());
                let Some(target) = target else { return Ok(()) };
                let moves = &stream.event_record_header.moves;
                let losses = &mut losses.event_record_header;
                event.visit(scope, &mut Mover::new(visitor, moves, target, bytes, losses, both))
            }
            Scope::CommonContext => {
                let target = of_stream.and_then(|plans| plans.common_context.as_ref());
                let Some(target) = target else { return Ok(()) };
                if let Some(of_header) = &stream.of_event_header {
                    let root = Field::new(target, 0, 0, 0);
                    visitor.begin_structure(root);
                    let none = Ends { begin: false, end: false };
                    let (own, header) = (&mut losses.common_context, &mut losses.event_record_header);
                    let mut mover = Mover::new(visitor, &of_header.moves, target, bytes, header, none);
                    event.visit(Scope::EventRecordHeader, &mut mover)?;
                    let moves = &stream.common_context.moves;
                    event.visit(scope, &mut Mover::new(visitor, moves, target, bytes, own, none))?;
                    visitor.end_structure(root);
                    return Ok(());
                }
                let Some(resource) = &stream.resource else {
                    let moves = &stream.common_context.moves;
                    let losses = &mut losses.common_context;
                    return event.visit(scope, &mut Mover::new(visitor, moves, target, bytes, losses, both));
                };
                let root = Field::new(target, 0, 0, 0);
                visitor.begin_structure(root);
                let none = Ends { begin: false, end: false };
                let of_resource = &mut losses.resource;
                if event.has_resource() {
                    let mut mover = Mover::new(visitor, &resource.moves, target, bytes, of_resource, none);
                    event.visit(Scope::Resource, &mut mover)?;
                } else if let Some(plan) = event.plan(Scope::Resource) {
                    let mut mover = Mover::new(visitor, &resource.moves, target, bytes, of_resource, none);
                    absent(plan, &mut mover);
                }
                let moves = &stream.common_context.moves;
                let own = &mut losses.common_context;
                event.visit(scope, &mut Mover::new(visitor, moves, target, bytes, own, none))?;
                visitor.end_structure(root);
                Ok(())
            }
            Scope::SpecificContext => {
                let Some(target) = &lowered.plans().specific_context else { return Ok(()) };
                let moves = &lowered.specific_context.moves;
                let losses = &mut losses.specific_context;
                event.visit(scope, &mut Mover::new(visitor, moves, target, bytes, losses, both))
            }
            _ => {
                let Some(target) = &lowered.plans().payload else { return Ok(()) };
                let moves = &lowered.payload.moves;
                if lowered.text.is_none() && !lowered.joins_payload {
                    let losses = &mut losses.payload;
                    return event.visit(scope, &mut Mover::new(visitor, moves, target, bytes, losses, both));
                }
                let root = Field::new(target, 0, 0, 0);
                visitor.begin_structure(root);
                let none = Ends { begin: false, end: false };
                if lowered.joins_payload {
                    let moves = &lowered.specific_context.moves;
                    let losses = &mut losses.specific_context;
                    let mut mover = Mover::new(visitor, moves, target, bytes, losses, none);
                    event.visit(Scope::SpecificContext, &mut mover)?;
                }
                let own = &mut losses.payload;
                event.visit(scope, &mut Mover::new(visitor, moves, target, bytes, own, none))?;
                if let Some((node, text)) = &lowered.text {
                    losses.text.clear();
                    // Writing to memory cannot fail; the text is for display.
                    let _ = (text.write)(event, &mut losses.text);
                    let message = losses.text.as_bytes();
                    let message = message.split(|byte| *byte == 0).next().unwrap_or_default();
                    let encoding = StringEncoding::Utf8;
                    let message = Text { bytes: message, raw: message, encoding };
                    visitor.text(Field::new(target, *node, 0, 0), message);
                }
                visitor.end_structure(root);
                Ok(())
            }
        }
    }

    /// Adds losses counted while moving events of a class.
    pub fn add_losses(&self, lowered: &LoweredEvent, class_index: usize, losses: &EventLosses) {
        let source = self.source.plans.data_streams.get(lowered.data_stream_class);
        let declared = source.and_then(|stream| stream.event_records.get(class_index));
        let dynamic = || {
            let first = source?.event_records.len();
            let classes = self.source.dynamic_classes(lowered.data_stream_class)?;
            classes.get(class_index.checked_sub(first)?).ok().flatten()
        };
        let dynamic = if declared.is_none() { dynamic() } else { None };
        let Some(plans) = declared.or(dynamic.as_deref().map(|class| &class.plans)) else { return };
        let name = plans.class.name.clone().unwrap_or_default();
        let scopes = [
            (
                &losses.event_record_header,
                source.and_then(|plans| plans.event_record_header.as_ref()),
                Scope::EventRecordHeader,
            ),
            (
                &losses.common_context,
                source.and_then(|plans| plans.common_context.as_ref()),
                Scope::CommonContext,
            ),
            (&losses.resource, source.and_then(|plans| plans.resource.as_ref()), Scope::Resource),
            (&losses.specific_context, plans.specific_context.as_ref(), Scope::SpecificContext),
            (&losses.payload, plans.payload.as_ref(), Scope::Payload),
        ];
        let mut table = self.lock();
        for (losses, plan, scope) in scopes {
            add_value_losses(&mut table, losses, plan, scope, &name);
        }
    }

    /// Adds losses counted while moving packet headers and contexts of a data stream class.
    pub fn add_packet_losses(&self, data_stream_class: usize, losses: &PacketLosses) {
        let plans = &self.source.plans;
        let stream = plans.data_streams.get(data_stream_class);
        let context = stream.and_then(|plans| plans.packet_context.as_ref());
        let mut table = self.lock();
        add_value_losses(&mut table, &losses.header, plans.packet_header.as_ref(), Scope::PacketHeader, "");
        add_value_losses(&mut table, &losses.context, context, Scope::PacketContext, "");
    }

    /// Adds a loss that a writer found.
    pub fn lose(&self, loss: LossEntry, count: u64) {
        self.lock().add(loss, count);
    }
}

/// Adds losses counted in a scope of the class of this name, or of all classes.
fn add_value_losses(
    table: &mut LossTable,
    losses: &ValueLosses,
    plan: Option<&Plan>,
    scope: Scope,
    name: &str,
) {
    let Some(plan) = plan else { return };
    let all = [
        (&losses.replaced, LossKind::Rounded, "text that was not valid: U+FFFD"),
        (&losses.cut, LossKind::Dropped, "rest of a text after U+0000"),
        (&losses.narrowed, LossKind::Rounded, "number beyond 64 bits: the nearest one"),
    ];
    for (counts, kind, what) in all {
        for (node, count) in counts {
            let field = path_of(plan, *node, scope);
            table.add(LossEntry { kind, class: name.to_owned(), field, what: what.to_owned() }, *count);
        }
    }
}

/// Scope and names on the path to a node.
fn path_of(plan: &Plan, node: NodeId, scope: Scope) -> String {
    let mut names = Vec::new();
    let mut next = Some(node);
    while let Some(id) = next {
        let Some(node) = plan.nodes.get(id as usize) else { break };
        names.extend(node.name.as_deref());
        next = node.parent;
    }
    let mut path = scope.short_name().to_owned();
    for name in names.iter().rev() {
        let _ = write!(path, ".{name}");
    }
    path
}

/// Passes on the optional members of an absent resource as absent.
fn absent<V: Visitor>(resource: &Plan, visitor: &mut V) {
    for node in (0..).map_while(|member| resource.member(member)) {
        let field = Field::new(resource, node as NodeId, 0, 0);
        if matches!(field.class().kind, FieldKind::Optional { .. }) {
            visitor.begin_optional(field, false, 0);
            visitor.end_optional(field);
        }
    }
}

impl LoweredEvent {
    /// Returns the plans of the lowered class.
    #[must_use]
    pub fn plans(&self) -> &EventRecordPlans {
        match &self.plans {
            // They existed when this was made.
            Plans::Declared { trace, stream, index } => {
                &trace.plans.data_streams[*stream].event_records[*index]
            }
            Plans::Dynamic(class) => &class.plans,
        }
    }

    /// Returns the lowered class.
    #[must_use]
    pub fn class(&self) -> &Arc<EventRecordClass> {
        &self.plans().class
    }

    /// Returns the difference of all its scopes after the event record header from their sources, including
    /// the common context.
    #[must_use]
    pub fn fit(&self) -> Fit {
        self.fit
    }
}

/// A lowered data stream class before it is compiled.
struct StreamParts {
    packet_context: ScopeMoves,
    of_packet_header: Option<ScopeMoves>,
    event_record_header: ScopeMoves,
    common_context: ScopeMoves,
    of_event_header: Option<ScopeMoves>,
    resource: Option<ScopeMoves>,
    ids: ClassIds,
    events: Vec<EventParts>,
}

impl TraceLowerer<'_> {
    fn lower(mut self) -> (TraceClass, ScopeMoves, Vec<StreamParts>) {
        let source = Arc::clone(self.source);
        let mut class = source.class.clone();
        let header = self.header(
            source.plans.packet_header.as_ref(),
            Scope::PacketHeader,
            None,
            LoweredRoots::default(),
        );
        class.packet_header.clone_from(&header.class);
        let mut parts = Vec::new();
        for (index, stream) in class.data_streams.iter_mut().enumerate() {
            parts.push(self.stream(&source, index, stream, &header));
        }
        // Event record classes can see the whole class of their data stream.
        for (index, stream) in parts.iter_mut().enumerate() {
            let plans = &source.plans.data_streams[index];
            let clock = class.data_streams[index].default_clock;
            for event in &plans.event_records {
                let parts =
                    self.event(event, clock, &stream.common_context, stream.resource.as_ref(), &class, index);
                stream.events.push(parts);
            }
            if self.options.numbers_classes {
                let mut classes: Vec<_> = stream.events.iter_mut().map(|parts| &mut parts.class).collect();
                stream.ids.number(&mut classes, self.losses);
            }
            let lowered = stream.events.iter().map(|parts| Arc::new(parts.class.clone()));
            class.data_streams[index].event_records = lowered.collect();
        }
        lower_objects(&mut class, self.capabilities, self.losses);
        (class, header.moves, parts)
    }

    pub(super) fn scope(
        &mut self,
        plan: Option<&Plan>,
        scope: Scope,
        clock: Option<u16>,
        name: &str,
    ) -> Option<(Arc<FieldClass>, ScopeMoves)> {
        let plan = plan?;
        Some(
            ClassLowerer::new(
                (&self.source.class, self.capabilities, self.options),
                plan,
                scope,
                clock,
                name,
                self.losses,
                &self.forced,
            )
            .lower(),
        )
    }

    fn stream(
        &mut self,
        source: &Trace,
        index: usize,
        class: &mut DataStreamClass,
        packet_header: &Header,
    ) -> StreamParts {
        let plans = &source.plans.data_streams[index];
        let clock = class.default_clock;
        let packet_context = self.context_after(
            (packet_header, Scope::PacketHeader, source.plans.packet_header.as_ref()),
            (plans.packet_context.as_ref(), Scope::PacketContext),
            clock,
            [packet_header.class.as_deref(), None, None, None, None, None],
        );
        let header_plan = plans.event_record_header.as_ref();
        let mut roots =
            [packet_header.class.as_deref(), packet_context.class.as_deref(), None, None, None, None];
        let event_header = self.header(header_plan, Scope::EventRecordHeader, clock, roots);
        roots[Scope::EventRecordHeader as usize] = event_header.class.as_deref();
        class.packet_context.clone_from(&packet_context.class);
        class.event_record_header.clone_from(&event_header.class);
        class.resource = None;
        let (common_context, of_event_header, resource) = match &plans.resource {
            None => {
                let common = self.context_after(
                    (&event_header, Scope::EventRecordHeader, header_plan),
                    (plans.common_context.as_ref(), Scope::CommonContext),
                    clock,
                    roots,
                );
                class.common_context = common.class;
                (common.moves, common.of_header, None)
            }
            // The origin of an event is shown before its context, so it comes first.
            Some(resource) => {
                let minimum_alignment = match class.common_context.as_deref().map(|root| &root.kind) {
                    Some(FieldKind::Structure { minimum_alignment, .. }) => *minimum_alignment,
                    _ => 8,
                };
                let (mut members, mut next) = (Vec::new(), 1);
                let mut lower = |plan, scope, losses: &mut LossTable| {
                    let lowerer = ClassLowerer::new(
                        (&self.source.class, self.capabilities, self.options),
                        plan,
                        scope,
                        clock,
                        "",
                        losses,
                        &self.forced,
                    );
                    lowerer.lower_members_into(&mut next, &mut members)
                };
                let resource = lower(resource, Scope::Resource, self.losses);
                let common = match &plans.common_context {
                    Some(plan) => lower(plan, Scope::CommonContext, self.losses),
                    None => ScopeMoves { fit: Fit::Moved, ..ScopeMoves::default() },
                };
                let what = "resource -> common context".to_owned();
                let field = Scope::Resource.short_name().to_owned();
                self.losses.add(LossEntry { kind: LossKind::Moved, class: String::new(), field, what }, 1);
                let root = FieldClass::new(FieldKind::Structure { members, minimum_alignment });
                class.common_context = Some(Arc::new(root));
                (common, None, Some(resource))
            }
        };
        StreamParts {
            packet_context: packet_context.moves,
            of_packet_header: packet_context.of_header,
            event_record_header: event_header.moves,
            common_context,
            of_event_header,
            resource,
            ids: ClassIds::new(self.capabilities.class_id_bits),
            events: Vec::new(),
        }
    }

    /// Lowers an event record class of a data stream whose class is lowered.
    fn event(
        &mut self,
        plans: &EventRecordPlans,
        clock: Option<u16>,
        common_context: &ScopeMoves,
        resource: Option<&ScopeMoves>,
        trace: &TraceClass,
        stream: usize,
    ) -> EventParts {
        let class = (*plans.class).clone();
        let name = class.name.clone().unwrap_or_default();
        let (context, payload) = (plans.specific_context.as_ref(), plans.payload.as_ref());
        let is_same_dialect = self.source.class.dialect == self.capabilities.target;
        let joins_payload =
            !is_same_dialect && joins_payload(&plans.class, context, payload, self.capabilities);
        let data_stream = trace.data_streams.get(stream);
        let roots = [
            trace.packet_header.as_deref(),
            data_stream.and_then(|class| class.packet_context.as_deref()),
            data_stream.and_then(|class| class.event_record_header.as_deref()),
            data_stream.and_then(|class| class.common_context.as_deref()),
            None,
            None,
        ];
        let attempt = |this: &mut Self| {
            let mut class = class.clone();
            let moves = if joins_payload {
                this.joined(&mut class, context, payload, clock, &name)
            } else {
                let specific = this.scope(context, Scope::SpecificContext, clock, &name).unzip();
                let payload = this.scope(payload, Scope::Payload, clock, &name).unzip();
                (class.specific_context, class.payload) = (specific.0, payload.0);
                (specific.1.unwrap_or_default(), payload.1.unwrap_or_default())
            };
            (class, moves)
        };
        let (mut class, (specific_context, mut payload_moves)) =
            self.settle(roots, attempt, |(class, (specific, payload))| {
                let of_context = (Scope::SpecificContext, Some(specific));
                let of_payload = (Scope::Payload, Some(payload));
                let joined = if joins_payload { of_context } else { (Scope::Payload, None) };
                let none = (Scope::Payload, None);
                vec![
                    LoweredScope {
                        scope: Scope::SpecificContext,
                        class: class.specific_context.as_deref(),
                        moves: [of_context, none],
                    },
                    LoweredScope {
                        scope: Scope::Payload,
                        class: class.payload.as_deref(),
                        moves: [of_payload, joined],
                    },
                ]
            });
        class.meanings = lowered_meanings(
            &plans.class.meanings,
            common_context,
            resource,
            (&specific_context, joins_payload),
            &payload_moves,
        );
        let mut text = None;
        if self.options.annotates
            && let Some(log) = &plans.class.log
            && let Some(log_text) = log.text.filter(|text| *text != LogText::NAME)
        {
            text = Some((self.add_message(&mut class, &mut payload_moves), log_text));
        }
        lower_event(&mut class, self.capabilities, self.losses);
        // Existing annotations name members by their source names.
        let has_moved = common_context.fit.max(specific_context.fit).max(payload_moves.fit) > Fit::Same;
        let is_annotated = has_moved && class.attributes.get(NAMESPACE).is_some();
        if (self.options.annotates || is_annotated)
            && let Some(stream) = trace.data_streams.get(stream)
        {
            annotate(&mut class, stream);
            if plans.class.name.is_none() && class.name.is_some() {
                annotate_unnamed(&mut class.attributes);
            }
        }
        EventParts { class, specific_context, payload: payload_moves, joins_payload, text }
    }
}

/// Meanings of the members of lowered scopes.
fn lowered_meanings(
    meanings: &Meanings,
    common_context: &ScopeMoves,
    resource: Option<&ScopeMoves>,
    (specific_context, joins_payload): (&ScopeMoves, bool),
    payload: &ScopeMoves,
) -> Meanings {
    let mut lowered = Meanings::default();
    for (MemberIndex { scope, index }, meaning) in meanings.iter() {
        let (scope, moves) = match scope {
            Scope::CommonContext => (scope, common_context),
            Scope::SpecificContext if joins_payload => (Scope::Payload, specific_context),
            Scope::SpecificContext => (scope, specific_context),
            Scope::Payload => (scope, payload),
            Scope::Resource => match resource {
                Some(resource) => (Scope::CommonContext, resource),
                None => continue,
            },
            _ => continue,
        };
        if let Some(Some(member)) = moves.members.get(index as usize) {
            lowered.insert(scope, *member, meaning);
        }
    }
    lowered
}

impl StreamParts {
    fn finish(mut self, trace: &Arc<Trace>, stream: usize) -> LoweredStream {
        let length = trace.class.data_streams.get(stream).and_then(DataStreamClass::class_id_length);
        self.ids.limit(length.unwrap_or(u64::MAX));
        let common = self.common_context.fit;
        let declared = self.events.into_iter().enumerate().map(|(index, parts)| {
            let fit = common.max(parts.specific_context.fit).max(parts.payload.fit);
            Arc::new(LoweredEvent {
                data_stream_class: stream,
                specific_context: parts.specific_context,
                payload: parts.payload,
                joins_payload: parts.joins_payload,
                text: parts.text,
                plans: Plans::Declared { trace: Arc::clone(trace), stream, index },
                fit,
            })
        });
        LoweredStream {
            declared: declared.collect(),
            packet_context: self.packet_context,
            of_packet_header: self.of_packet_header,
            event_record_header: self.event_record_header,
            common_context: self.common_context,
            of_event_header: self.of_event_header,
            resource: self.resource,
            ids: self.ids,
            dynamic: Mutex::default(),
        }
    }
}
