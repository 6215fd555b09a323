//! Traces adapted to a format.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard};

use super::capabilities::Capabilities;
use super::class_ids::ClassIdAssigner;
use super::layout_match::LayoutMatch;
use super::loss_table::{LossKind, LossTable};
use super::lowered_classes::StreamParts;
use super::mover::{Mover, ScopeLosses};
use super::moves::{ScopeConversion, ScopeMoves, StreamMoves};
use super::options::LowerOptions;
use super::trace_lowerer::{ForcedFields, TraceLowerer, UnneededFields};
use crate::class::{DataStreamClass, DynamicClass, EventRecordClass, FieldKind, Roles, Scope, TraceClass};
use crate::decode::DecodeError;
use crate::event::{Event, Packet};
use crate::field::{Field, StringEncoding, Text, Visitor};
use crate::locks::IgnorePoison as _;
use crate::log::LogText;
use crate::plan::steps::NodeId;
use crate::plan::{EventRecordPlans, Plan, PlanError};
use crate::trace::Trace;

/// A trace adapted to a format's capabilities, with the value moves from its source.
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

/// Moves for the events in a data stream class.
#[derive(Debug)]
pub struct LoweredStream {
    moves: StreamMoves,
    /// Layouts for packet headers, packet contexts, event record headers and common contexts.
    layouts: LayoutMatch<'static>,
    /// `true` if packet headers and packet contexts keep their layout.
    keeps_packet_layout: bool,
    /// `true` if event record headers and common contexts keep their layout.
    keeps_event_layout: bool,
    declared: Vec<Arc<LoweredEvent>>,
    ids: ClassIdAssigner,
    dynamic: Mutex<HashMap<usize, Arc<LoweredEvent>>>,
}

/// Moves for the events in an event record class.
#[derive(Debug)]
pub struct LoweredEvent {
    /// Data stream class index.
    pub data_stream_class: usize,
    specific_context: ScopeMoves,
    payload: ScopeMoves,
    /// `true` if the payload starts with the members of the specific context.
    joins_payload: bool,
    /// Message writer, and the node that receives the message.
    text: Option<(NodeId, LogText)>,
    plans: LoweredPlans,
    /// Difference between all scopes and their sources.
    conversion: ScopeConversion,
}

/// Plans for a lowered class.
#[derive(Debug)]
enum LoweredPlans {
    Declared { trace: Arc<Trace>, stream: usize, index: usize },
    Dynamic(Arc<DynamicClass>),
}

/// Losses counted while moving events of one class.
#[derive(Clone, Debug, Default)]
pub struct EventLosses {
    event_record_header: ScopeLosses,
    common_context: ScopeLosses,
    resource: ScopeLosses,
    specific_context: ScopeLosses,
    payload: ScopeLosses,
    text: String,
}

/// Losses counted while moving packet headers and contexts in a data stream.
#[derive(Clone, Debug, Default)]
pub struct PacketLosses {
    header: ScopeLosses,
    context: ScopeLosses,
}

impl LoweredTrace {
    /// Lowers the class of a trace. Integers in packet contexts with one of the `widened_roles`, by data stream class
    /// index, get 64 bits. `complete` can change the lowered class before it is compiled, but only scopes without moved
    /// values: packet headers, packet contexts and event record headers that the source lacks.
    ///
    /// # Errors
    /// Fails if the lowered class cannot be compiled, which only happens if it exceeds a limit.
    pub fn new(
        source: &Arc<Trace>,
        capabilities: &Capabilities,
        options: LowerOptions,
        widened_roles: &[Roles],
        complete: impl FnOnce(&mut TraceClass),
    ) -> Result<Self, PlanError> {
        let mut losses = LossTable::default();
        let lowerer = TraceLowerer {
            source,
            capabilities,
            options,
            losses: &mut losses,
            widened_roles,
            packet_roles: Roles::NONE,
            forced: ForcedFields::default(),
            unneeded: UnneededFields::default(),
        };
        let (mut class, packet_header, parts) = lowerer.lower();
        complete(&mut class);
        let mut trace = Trace::new(class, source.name.clone(), &options.limits)?;
        trace.path.clone_from(&source.path);
        let trace = Arc::new(trace);
        let parts = parts.into_iter().enumerate();
        let streams = parts.map(|(stream, parts)| parts.finish(source, &trace, stream)).collect();
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

    /// Returns the moves for the events in a data stream class, by index.
    #[must_use]
    pub fn stream(&self, data_stream_class: usize) -> Option<&LoweredStream> {
        self.streams.get(data_stream_class)
    }

    /// Returns the losses in classes, and [added](Self::add_losses) losses.
    #[must_use]
    pub fn losses(&self) -> LossTable {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, LossTable> {
        self.losses.lock().ignore_poison()
    }

    /// Returns `true` if whole packets of a data stream class can be copied: the plans in the lowered trace decode
    /// headers, contexts and all declared events in the same way as the source plans.
    #[must_use]
    pub fn keeps_packets(&self, data_stream_class: usize) -> bool {
        let Some(stream) = self.streams.get(data_stream_class) else { return false };
        let own = [&self.packet_header, &stream.moves.packet_context];
        own.into_iter().all(|moves| moves.conversion <= ScopeConversion::SameBits)
            && stream.keeps_packet_layout
            && self.keeps_events(data_stream_class)
            && stream.declared.iter().all(|event| event.conversion <= ScopeConversion::SameBits)
    }

    /// Returns `true` if event records of a data stream class can be copied, because their headers keep their bits.
    /// Each event record class must also [keep its bits](LoweredEvent::conversion).
    #[must_use]
    pub fn keeps_events(&self, data_stream_class: usize) -> bool {
        self.streams.get(data_stream_class).is_some_and(|stream| {
            stream.moves.event_record_header.conversion <= ScopeConversion::SameBits
                && stream.keeps_event_layout
        })
    }

    /// Returns the moves for an event's class. `None` if its data stream class is unknown.
    ///
    /// # Errors
    /// Fails if the lowered class cannot be compiled.
    pub fn event(&self, event: &Event<'_>) -> Result<Option<Arc<LoweredEvent>>, PlanError> {
        let (index, Some(class_index)) = (event.stream.class_index, event.class_index()) else {
            return Ok(None);
        };
        let Some(stream) = self.streams.get(index) else { return Ok(None) };
        if let Some(declared) = stream.declared.get(class_index) {
            return Ok(Some(Arc::clone(declared)));
        }
        let mut dynamic = stream.dynamic.lock().ignore_poison();
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
                widened_roles: &[],
                packet_roles: Roles::NONE,
                forced: ForcedFields::default(),
                unneeded: UnneededFields::default(),
            };
            let clock = event.stream.class().default_clock;
            lowerer.event(event.plans, clock, (&self.packet_header, &stream.moves), &self.trace.class, index)
        };
        if self.options.numbers_classes {
            stream.ids.assign(&mut parts.class, &mut losses);
        }
        let Some(classes) = self.trace.dynamic_classes(index) else { return Ok(None) };
        let key = (class_index as u64).to_le_bytes();
        let Some(compiled) = classes.last(&key, || parts.class)? else { return Ok(None) };
        let lowered = LoweredEvent {
            data_stream_class: index,
            conversion: stream.conversion(
                &parts.specific_context,
                &parts.payload,
                (event.plans, &compiled.plans),
            ),
            specific_context: parts.specific_context,
            payload: parts.payload,
            joins_payload: parts.joins_payload,
            text: parts.text,
            plans: LoweredPlans::Dynamic(compiled),
        };
        let lowered = Arc::new(lowered);
        dynamic.insert(class_index, Arc::clone(&lowered));
        self.lock().merge(losses);
        Ok(Some(lowered))
    }

    /// Passes the fields in the packet header or the packet context to `visitor`, as fields of the lowered class.
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
                (&stream.moves.packet_context, target, (context, header))
            }
            _ => return Ok(()),
        };
        if moves.conversion == ScopeConversion::Same {
            return packet.visit(scope, visitor);
        }
        let Some(target) = target else { return Ok(()) };
        let bytes = packet.scopes.bits.bytes();
        if let (Scope::PacketContext, Some(of_header)) = (scope, &stream.moves.of_packet_header) {
            let root = Field::new(target, 0, 0, 0);
            visitor.begin_structure(root);
            let header = &mut Mover::new(visitor, &of_header.moves, target, bytes, losses.1, false);
            packet.visit(Scope::PacketHeader, header)?;
            packet.visit(scope, &mut Mover::new(visitor, &moves.moves, target, bytes, losses.0, false))?;
            visitor.end_structure(root);
            return Ok(());
        }
        packet.visit(scope, &mut Mover::new(visitor, &moves.moves, target, bytes, losses.0, true))
    }

    /// Returns the difference between an event scope (header, context or payload) and its source, or `None` if the
    /// events lack the scope.
    #[inline]
    #[must_use]
    pub fn conversion(&self, lowered: &LoweredEvent, scope: Scope) -> Option<ScopeConversion> {
        let stream = self.streams.get(lowered.data_stream_class)?;
        match scope {
            Scope::EventRecordHeader => Some(stream.moves.event_record_header.conversion),
            Scope::CommonContext
                if stream.moves.resource.is_some() || stream.moves.of_event_header.is_some() =>
            {
                Some(ScopeConversion::Moved)
            }
            Scope::CommonContext => Some(stream.moves.common_context.conversion),
            Scope::SpecificContext if lowered.joins_payload => None,
            Scope::SpecificContext => Some(lowered.specific_context.conversion),
            Scope::Payload if lowered.joins_payload || lowered.text.is_some() => Some(ScopeConversion::Moved),
            Scope::Payload => Some(lowered.payload.conversion),
            _ => None,
        }
    }

    /// Passes the fields in an event scope (header, context or payload) to `visitor`, as fields of the lowered class.
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
        match self.conversion(lowered, scope) {
            None => return Ok(()),
            Some(ScopeConversion::Same) => return event.visit(scope, visitor),
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
        let of_stream = self.trace.plans.data_streams.get(lowered.data_stream_class);
        let (target, moves, losses) = match scope {
            Scope::EventRecordHeader => (
                of_stream.and_then(|plans| plans.event_record_header.as_ref()),
                &stream.moves.event_record_header,
                &mut losses.event_record_header,
            ),
            Scope::CommonContext => {
                let target = of_stream.and_then(|plans| plans.common_context.as_ref());
                return target
                    .map_or(Ok(()), |target| visit_context(&stream.moves, target, event, visitor, losses));
            }
            Scope::SpecificContext => (
                lowered.plans().specific_context.as_ref(),
                &lowered.specific_context,
                &mut losses.specific_context,
            ),
            _ if lowered.text.is_some() || lowered.joins_payload => {
                return lowered.visit_extended_payload(event, visitor, losses);
            }
            _ => (lowered.plans().payload.as_ref(), &lowered.payload, &mut losses.payload),
        };
        let Some(target) = target else { return Ok(()) };
        let bytes = event.scopes.bits.bytes();
        event.visit(scope, &mut Mover::new(visitor, &moves.moves, target, bytes, losses, true))
    }

    /// Adds losses counted while moving events of one class.
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

    /// Adds losses counted while moving packet headers and contexts in a data stream class.
    pub fn add_packet_losses(&self, data_stream_class: usize, losses: &PacketLosses) {
        let plans = &self.source.plans;
        let stream = plans.data_streams.get(data_stream_class);
        let context = stream.and_then(|plans| plans.packet_context.as_ref());
        let mut table = self.lock();
        add_value_losses(&mut table, &losses.header, plans.packet_header.as_ref(), Scope::PacketHeader, "");
        add_value_losses(&mut table, &losses.context, context, Scope::PacketContext, "");
    }

    /// Adds a loss that a writer found. See [`LossEntry`](super::LossEntry) for the arguments.
    pub fn record_loss(&self, kind: LossKind, class: &str, field: &str, what: &str) {
        self.record_losses(kind, class, field, what, 1);
    }

    /// Adds to the count of a loss that a writer found.
    pub fn record_losses(&self, kind: LossKind, class: &str, field: &str, what: &str, count: u64) {
        if count > 0 {
            self.lock().note_times(kind, class, field, what, count);
        }
    }
}

/// Adds losses counted in a scope of the class with this name, or of all classes.
fn add_value_losses(
    table: &mut LossTable,
    losses: &ScopeLosses,
    plan: Option<&Plan>,
    scope: Scope,
    name: &str,
) {
    let Some(plan) = plan else { return };
    let all = [
        (&losses.replaced, LossKind::Rounded, "invalid text: U+FFFD"),
        (&losses.cut, LossKind::Dropped, "rest of a text after U+0000"),
        (&losses.narrowed, LossKind::Rounded, "number beyond 64 bits: nearest 64-bit number"),
    ];
    for (counts, kind, what) in all {
        for (node, count) in counts {
            let field = path_of(plan, *node, scope);
            table.note_times(kind, name, field, what, *count);
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

/// Passes on the fields of a common context, after those that move into it from the event record header or the
/// resource.
fn visit_context<V: Visitor>(
    moves: &StreamMoves,
    target: &Plan,
    event: &Event<'_>,
    visitor: &mut V,
    losses: &mut EventLosses,
) -> Result<(), DecodeError> {
    let EventLosses { event_record_header, common_context, resource, .. } = losses;
    let bytes = event.scopes.bits.bytes();
    let is_joined = moves.of_event_header.is_some() || moves.resource.is_some();
    let root = Field::new(target, 0, 0, 0);
    if is_joined {
        visitor.begin_structure(root);
    }
    if let Some(moves) = &moves.of_event_header {
        let mut mover = Mover::new(visitor, &moves.moves, target, bytes, event_record_header, false);
        event.visit(Scope::EventRecordHeader, &mut mover)?;
    } else if let Some(moves) = &moves.resource {
        let mut mover = Mover::new(visitor, &moves.moves, target, bytes, resource, false);
        if event.has_resource() {
            event.visit(Scope::Resource, &mut mover)?;
        } else if let Some(plan) = event.plan(Scope::Resource) {
            absent(plan, &mut mover);
        }
    }
    let moves = &moves.common_context.moves;
    event.visit(
        Scope::CommonContext,
        &mut Mover::new(visitor, moves, target, bytes, common_context, !is_joined),
    )?;
    if is_joined {
        visitor.end_structure(root);
    }
    Ok(())
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
    /// Passes on the fields of a payload. The fields of the specific context come first, if it joins the payload. The
    /// event's message comes last, if it becomes a field.
    fn visit_extended_payload<V: Visitor>(
        &self,
        event: &Event<'_>,
        visitor: &mut V,
        losses: &mut EventLosses,
    ) -> Result<(), DecodeError> {
        let Some(target) = &self.plans().payload else { return Ok(()) };
        let EventLosses { specific_context, payload, text, .. } = losses;
        let bytes = event.scopes.bits.bytes();
        let root = Field::new(target, 0, 0, 0);
        visitor.begin_structure(root);
        if self.joins_payload {
            let moves = &self.specific_context.moves;
            let mut mover = Mover::new(visitor, moves, target, bytes, specific_context, false);
            event.visit(Scope::SpecificContext, &mut mover)?;
        }
        let mut mover = Mover::new(visitor, &self.payload.moves, target, bytes, payload, false);
        event.visit(Scope::Payload, &mut mover)?;
        if let Some((node, log)) = &self.text {
            text.clear();
            // Writing to memory cannot fail, and the text is for display.
            let _ = (log.write)(event, text);
            // Readers end a text at its first U+0000. Splitting always returns a first part.
            let message = text.as_bytes().split(|byte| *byte == 0).next().unwrap_or_default();
            let message = Text { bytes: message, raw: message, encoding: StringEncoding::Utf8 };
            visitor.text(Field::new(target, *node, 0, 0), message);
        }
        visitor.end_structure(root);
        Ok(())
    }

    /// Returns the plans for the lowered class.
    #[must_use]
    pub fn plans(&self) -> &EventRecordPlans {
        match &self.plans {
            // They existed when this object was created.
            LoweredPlans::Declared { trace, stream, index } => {
                &trace.plans.data_streams[*stream].event_records[*index]
            }
            LoweredPlans::Dynamic(class) => &class.plans,
        }
    }

    /// Returns the lowered class.
    #[must_use]
    pub fn class(&self) -> &Arc<EventRecordClass> {
        &self.plans().class
    }

    /// Returns the difference between all scopes after the event record header, including the common context, and their
    /// sources.
    #[must_use]
    pub fn conversion(&self) -> ScopeConversion {
        self.conversion
    }
}

impl LoweredStream {
    #[cfg(test)]
    pub(super) fn declared_conversion(&self, class_index: usize) -> ScopeConversion {
        self.declared[class_index].conversion
    }

    /// Returns the difference between the scopes of an event record class after the event record header and their
    /// sources. `plans` belong to the class and its lowered class.
    fn conversion(
        &self,
        specific_context: &ScopeMoves,
        payload: &ScopeMoves,
        (source, lowered): (&EventRecordPlans, &EventRecordPlans),
    ) -> ScopeConversion {
        let conversion =
            self.moves.common_context.conversion.max(specific_context.conversion).max(payload.conversion);
        // Lowering records its changes. The layouts are the proof.
        match LayoutMatch::after(&self.layouts).event(source, lowered) {
            true => conversion,
            false => ScopeConversion::Moved,
        }
    }
}

impl StreamParts {
    fn finish(mut self, source: &Trace, trace: &Arc<Trace>, stream: usize) -> LoweredStream {
        let length = trace.class.data_streams.get(stream).and_then(DataStreamClass::class_id_length);
        self.ids.limit(length.unwrap_or(u64::MAX));
        let mut lowered = LoweredStream {
            moves: self.moves,
            layouts: LayoutMatch::default(),
            keeps_packet_layout: false,
            keeps_event_layout: false,
            declared: Vec::with_capacity(self.events.len()),
            ids: self.ids,
            dynamic: Mutex::default(),
        };
        let (Some(before), Some(after)) =
            (source.plans.data_streams.get(stream), trace.plans.data_streams.get(stream))
        else {
            return lowered;
        };
        let layouts = &mut lowered.layouts;
        let headers = (&source.plans.packet_header, &trace.plans.packet_header);
        lowered.keeps_packet_layout = layouts.scope(headers.0.as_ref(), headers.1.as_ref())
            && layouts.scope(before.packet_context.as_ref(), after.packet_context.as_ref());
        lowered.keeps_event_layout = layouts
            .scope(before.event_record_header.as_ref(), after.event_record_header.as_ref())
            && layouts.scope(before.common_context.as_ref(), after.common_context.as_ref());
        for (index, parts) in self.events.into_iter().enumerate() {
            let plans = before.event_records.get(index).zip(after.event_records.get(index));
            let conversion =
                plans.map(|plans| lowered.conversion(&parts.specific_context, &parts.payload, plans));
            lowered.declared.push(Arc::new(LoweredEvent {
                data_stream_class: stream,
                specific_context: parts.specific_context,
                payload: parts.payload,
                joins_payload: parts.joins_payload,
                text: parts.text,
                plans: LoweredPlans::Declared { trace: Arc::clone(trace), stream, index },
                conversion: conversion.unwrap_or(ScopeConversion::Moved),
            }));
        }
        lowered
    }
}
