//! Lowers all classes in a trace.

use std::sync::Arc;

use super::annotations::{NAMESPACE, annotate, annotate_attributes, annotate_unnamed};
use super::class_ids::ClassIdAssigner;
use super::context::joins_payload;
use super::header::{LoweredHeader, needed_names};
use super::locations::LoweredRoots;
use super::loss_table::LossKind;
use super::moves::{ScopeConversion, ScopeMoves, StreamMoves};
use super::objects::{lower_event, lower_objects, number_streams};
use super::trace_lowerer::{LoweredScope, MOST_ATTEMPTS, TraceLowerer};
use crate::call_chain;
use crate::class::{DataStreamClass, EventRecordClass, FieldClass, FieldKind, Scope, TraceClass};
use crate::log::LogText;
use crate::meaning::{Meanings, MemberIndex};
use crate::plan::steps::NodeId;
use crate::plan::{EventRecordPlans, Plan, scope_class};
use crate::running_thread;
use crate::trace::Trace;

/// Parts of a lowered event record class, before compilation.
pub(super) struct EventClassParts {
    pub(super) class: EventRecordClass,
    pub(super) specific_context: ScopeMoves,
    pub(super) payload: ScopeMoves,
    pub(super) joins_payload: bool,
    pub(super) text: Option<(NodeId, LogText)>,
}

/// Lowered data stream class, before compilation.
pub(super) struct StreamParts {
    pub(super) moves: StreamMoves,
    pub(super) ids: ClassIdAssigner,
    pub(super) events: Vec<EventClassParts>,
}

impl TraceLowerer<'_> {
    /// Lowers all classes. Repeats this if fields stayed in a header although no other field depends on them
    /// afterwards.
    pub(super) fn lower(mut self) -> (TraceClass, ScopeMoves, Vec<StreamParts>) {
        let before = self.losses.clone();
        let mut attempts = 1..MOST_ATTEMPTS;
        loop {
            let (class, header, streams) = self.attempt();
            let known = self.unneeded.len();
            let needed = needed_names(class.roots());
            self.find_unneeded(class.packet_header.as_deref(), &header, (Scope::PacketHeader, 0), &needed);
            for (index, (stream, parts)) in class.data_streams.iter().zip(&streams).enumerate() {
                let needed = needed_names(stream.roots());
                let (header, moves) =
                    (stream.event_record_header.as_deref(), &parts.moves.event_record_header);
                self.find_unneeded(header, moves, (Scope::EventRecordHeader, index), &needed);
            }
            if self.unneeded.len() == known || attempts.next().is_none() {
                return (class, header, streams);
            }
            self.losses.clone_from(&before);
        }
    }

    fn attempt(&mut self) -> (TraceClass, ScopeMoves, Vec<StreamParts>) {
        let source = Arc::clone(self.source);
        let mut class = source.class.clone();
        let header = self.header(
            source.plans.packet_header.as_ref(),
            (Scope::PacketHeader, 0),
            None,
            LoweredRoots::default(),
        );
        class.packet_header.clone_from(&header.class);
        let mut parts = Vec::new();
        for (index, stream) in class.data_streams.iter_mut().enumerate() {
            parts.push(self.stream(&source, index, stream, &header));
        }
        // Event record classes can refer to the whole data stream class.
        for (index, stream) in parts.iter_mut().enumerate() {
            let plans = &source.plans.data_streams[index];
            let clock = class.data_streams[index].default_clock;
            for event in &plans.event_records {
                let moves = (&header.moves, &stream.moves);
                let parts = self.event(event, clock, moves, &class, index);
                stream.events.push(parts);
            }
            if self.options.numbers_classes {
                let mut classes: Vec<_> = stream.events.iter_mut().map(|parts| &mut parts.class).collect();
                stream.ids.number(&mut classes, self.losses);
            }
            let lowered = stream.events.iter().map(|parts| Arc::new(parts.class.clone()));
            class.data_streams[index].event_records = lowered.collect();
        }
        if self.options.numbers_streams {
            number_streams(&mut class.data_streams, self.losses);
        }
        lower_objects(&mut class, self.capabilities, self.losses);
        (class, header.moves, parts)
    }

    pub(super) fn scope(
        &mut self,
        plan: Option<&Plan>,
        scope: Scope,
        clock: Option<u16>,
        (name, roots): (&str, LoweredRoots<'_>),
    ) -> Option<(Arc<FieldClass>, ScopeMoves)> {
        plan.map(|plan| self.lowerer(plan, (scope, clock), name, roots).lower())
    }

    fn stream(
        &mut self,
        source: &Trace,
        index: usize,
        class: &mut DataStreamClass,
        packet_header: &LoweredHeader,
    ) -> StreamParts {
        let plans = &source.plans.data_streams[index];
        let clock = class.default_clock;
        self.packet_roles = self.widened_roles.get(index).copied().unwrap_or_default();
        let mut roots = LoweredRoots::default();
        roots.add_class(Scope::PacketHeader, packet_header.class.as_deref());
        let header_moves = [Some(&packet_header.moves), None];
        roots.add_source(Scope::PacketHeader, source.plans.packet_header.as_ref(), header_moves);
        let packet_context = self.context_after(
            (packet_header, Scope::PacketHeader, source.plans.packet_header.as_ref()),
            (plans.packet_context.as_ref(), Scope::PacketContext),
            clock,
            roots,
        );
        let header_plan = plans.event_record_header.as_ref();
        let header_moves = [Some(&packet_header.moves), packet_context.of_header.as_ref()];
        roots.add_source(Scope::PacketHeader, source.plans.packet_header.as_ref(), header_moves);
        roots.add_class(Scope::PacketContext, packet_context.class.as_deref());
        let context_moves = [Some(&packet_context.moves), None];
        roots.add_source(Scope::PacketContext, plans.packet_context.as_ref(), context_moves);
        let event_header = self.header(header_plan, (Scope::EventRecordHeader, index), clock, roots);
        roots.add_class(Scope::EventRecordHeader, event_header.class.as_deref());
        roots.add_source(Scope::EventRecordHeader, header_plan, [Some(&event_header.moves), None]);
        class.packet_context.clone_from(&packet_context.class);
        class.event_record_header.clone_from(&event_header.class);
        let is_only_read = running_thread::is_only_read(class) || call_chain::is_in(class);
        let resource = plans.resource.as_ref().filter(|_| !is_only_read);
        class.resource = None;
        let (common_context, of_event_header, resource) = match resource {
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
            Some(resource) => {
                let common = plans.common_context.as_ref();
                let (common, resource) = self.context_with_resource(class, (resource, common), roots);
                (common, None, Some(resource))
            }
        };
        let moves = StreamMoves {
            packet_context: packet_context.moves,
            of_packet_header: packet_context.of_header,
            event_record_header: event_header.moves,
            common_context,
            of_event_header,
            resource,
        };
        StreamParts { moves, ids: ClassIdAssigner::new(self.capabilities.class_id_bits), events: Vec::new() }
    }

    /// Lowers the common context. The resource members come first, because the origin of an event is shown before its
    /// context. Returns the moves for both.
    fn context_with_resource(
        &mut self,
        class: &mut DataStreamClass,
        (resource, common): (&Plan, Option<&Plan>),
        roots: LoweredRoots<'_>,
    ) -> (ScopeMoves, ScopeMoves) {
        let minimum_alignment = match class.common_context.as_deref().map(|root| &root.kind) {
            Some(FieldKind::Structure { minimum_alignment, .. }) => *minimum_alignment,
            _ => 8,
        };
        let (mut members, mut next, clock) = (Vec::new(), 1, class.default_clock);
        let mut lower = |plan: &Plan, scope| {
            self.lowerer(plan, (scope, clock), "", roots).lower_members_into(&mut next, &mut members)
        };
        let resource = lower(resource, Scope::Resource);
        let common = match common {
            Some(plan) => lower(plan, Scope::CommonContext),
            None => ScopeMoves { conversion: ScopeConversion::Moved, ..ScopeMoves::default() },
        };
        let field = Scope::Resource.short_name();
        self.losses.note(LossKind::Moved, "", field, "resource -> common context");
        let root = FieldClass::new(FieldKind::Structure { members, minimum_alignment });
        class.common_context = Some(Arc::new(root));
        (common, resource)
    }

    /// Lowers an event record class in a lowered data stream class.
    pub(super) fn event(
        &mut self,
        plans: &EventRecordPlans,
        clock: Option<u16>,
        (packet_header, of_stream): (&ScopeMoves, &StreamMoves),
        trace: &TraceClass,
        stream: usize,
    ) -> EventClassParts {
        let class = (*plans.class).clone();
        let name = class.name.clone().unwrap_or_default();
        let (context, payload) = (plans.specific_context.as_ref(), plans.payload.as_ref());
        let joins_payload =
            !self.is_same_dialect() && joins_payload(&plans.class, context, payload, self.capabilities);
        let source = self.source;
        let roots = roots_of_stream(source, trace, stream, packet_header, of_stream);
        let attempt = |this: &mut Self| {
            let mut class = class.clone();
            let moves = if joins_payload {
                this.joined(&mut class, context, payload, clock, (&name, roots))
            } else {
                let specific = this.scope(context, Scope::SpecificContext, clock, (&name, roots)).unzip();
                let mut roots = roots;
                roots.add_source(Scope::SpecificContext, context, [specific.1.as_ref(), None]);
                let payload = this.scope(payload, Scope::Payload, clock, (&name, roots)).unzip();
                (class.specific_context, class.payload) = (specific.0, payload.0);
                (specific.1.unwrap_or_default(), payload.1.unwrap_or_default())
            };
            (class, moves)
        };
        let (mut class, (specific_context, mut payload_moves)) =
            self.settle(roots, attempt, |(class, moves)| scopes_of_event(class, moves, joins_payload));
        class.meanings = lowered_meanings(
            &plans.class.meanings,
            of_stream,
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
        let annotates = self.options.annotates;
        let kept = lower_event(&mut class, self.capabilities, annotates, self.losses);
        // Existing annotations refer to members by their source names.
        let has_moved = of_stream
            .common_context
            .conversion
            .max(specific_context.conversion)
            .max(payload_moves.conversion)
            > ScopeConversion::Same;
        let is_annotated = has_moved && class.attributes.get(NAMESPACE).is_some();
        if (annotates || is_annotated)
            && let Some(stream) = trace.data_streams.get(stream)
        {
            annotate(&mut class, stream);
            if plans.class.name.is_none() && class.name.is_some() {
                annotate_unnamed(&mut class.attributes);
            }
        }
        annotate_attributes(kept, &mut class.attributes);
        EventClassParts { class, specific_context, payload: payload_moves, joins_payload, text }
    }
}

/// Scopes of an event record class, with their moves.
fn scopes_of_event<'t>(
    class: &'t EventRecordClass,
    (specific, payload): &'t (ScopeMoves, ScopeMoves),
    joins_payload: bool,
) -> Vec<LoweredScope<'t>> {
    let of_context = (Scope::SpecificContext, Some(specific));
    let of_payload = (Scope::Payload, Some(payload));
    let none = (Scope::Payload, None);
    let joined = if joins_payload { of_context } else { none };
    vec![
        LoweredScope {
            scope: Scope::SpecificContext,
            class: class.specific_context.as_deref(),
            moves: [of_context, none],
        },
        LoweredScope { scope: Scope::Payload, class: class.payload.as_deref(), moves: [of_payload, joined] },
    ]
}

/// Root fields of a lowered data stream's scopes.
fn roots_of_stream<'c>(
    source: &'c Trace,
    lowered: &'c TraceClass,
    stream: usize,
    packet_header: &'c ScopeMoves,
    moves: &'c StreamMoves,
) -> LoweredRoots<'c> {
    let (class, plans) = (lowered.data_streams.get(stream), source.plans.data_streams.get(stream));
    let mut roots = LoweredRoots::default();
    let scopes = [
        (
            Scope::PacketHeader,
            source.plans.packet_header.as_ref(),
            [Some(packet_header), moves.of_packet_header.as_ref()],
        ),
        (
            Scope::PacketContext,
            plans.and_then(|plans| plans.packet_context.as_ref()),
            [Some(&moves.packet_context), None],
        ),
        (
            Scope::EventRecordHeader,
            plans.and_then(|plans| plans.event_record_header.as_ref()),
            [Some(&moves.event_record_header), moves.of_event_header.as_ref()],
        ),
        (
            Scope::CommonContext,
            plans.and_then(|plans| plans.common_context.as_ref()),
            [Some(&moves.common_context), None],
        ),
    ];
    for (scope, plan, moves) in scopes {
        let root = class.and_then(|class| scope_class(scope, Some(lowered), class, None));
        roots.add_class(scope, root.map(|root| &**root));
        roots.add_source(scope, plan, moves);
    }
    roots
}

/// Member meanings in lowered scopes.
fn lowered_meanings(
    meanings: &Meanings,
    of_stream: &StreamMoves,
    (specific_context, joins_payload): (&ScopeMoves, bool),
    payload: &ScopeMoves,
) -> Meanings {
    let mut lowered = Meanings::default();
    for (MemberIndex { scope, index }, meaning) in meanings.iter() {
        let (scope, moves) = match scope {
            Scope::CommonContext => (scope, &of_stream.common_context),
            Scope::SpecificContext if joins_payload => (Scope::Payload, specific_context),
            Scope::SpecificContext => (scope, specific_context),
            Scope::Payload => (scope, payload),
            Scope::Resource => match &of_stream.resource {
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
