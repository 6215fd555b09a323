//! Assigns a slot to each field that another field depends on.

use std::collections::HashMap;

use super::dead_end::{FieldPurpose, LocationFault};
use super::error::{LocationProblem, LocationRule, PlanError};
use super::locate::{MemberNames, ScopePlans, Search};
use super::plans::DataStreamPlans;
use super::steps::{Choices, NodeId, Op, Plan, Slot};
use crate::class::{
    DataStreamClass, FieldKind, FieldLocation, Length, RangeSet, Scope, Selectors, StringLength, TraceClass,
};
use crate::trace::Limits;

/// A dependent field, and the field that it needs.
struct Dependency {
    /// Index of the event record class, if the dependent field belongs to one.
    event: Option<usize>,
    /// The dependent field's scope.
    own_scope: Scope,
    dependent: NodeId,
    /// The needed field's scope.
    scope: Scope,
    /// Candidates for the needed field. Several if a variant is on the path.
    targets: Vec<NodeId>,
    /// Values that select each variant option, if the needed field is one of several that select by different values.
    choices: Option<Vec<RangeSet>>,
}

impl Dependency {
    /// Stores the slot in the dependent field.
    fn connect(&self, plan: &mut Plan, slot: Slot) {
        match &self.choices {
            Some(choices) => plan.add_choices(self.dependent, slot, choices),
            None => plan.set_slot(self.dependent, slot),
        }
    }
}

/// Steps allowed for locating fields, for each field class in the limits. Without this limit, many locations through
/// variants with many options could take forever.
const STEPS: u64 = 16;

/// Maximum number of broken rules: enough for a person to read.
const MOST_BROKEN_RULES: usize = 256;

/// Maximum number of unresolved locations. Each takes memory, and there can be a million.
const MOST_PROBLEMS: usize = 1000;

/// Field location problems.
struct LocationProblems<'a> {
    /// Rules to check.
    rules: &'a [LocationRule],
    all: Vec<LocationProblem>,
    broken_rules: Vec<(LocationRule, LocationProblem)>,
}

/// Finds all dependencies, then assigns slots. Packet headers come first, then the other scopes that event record
/// classes share. Each event record class can then use the same numbers after them.
pub(super) fn assign_slots(
    trace: &TraceClass,
    mut packet_header: Option<&mut Plan>,
    data_streams: &mut [DataStreamPlans],
    limits: &Limits,
    rules: &[LocationRule],
) -> Result<Vec<(LocationRule, LocationProblem)>, PlanError> {
    let most = limits.field_classes.saturating_mul(STEPS).max(1);
    let mut problems = LocationProblems { rules, all: Vec::new(), broken_rules: Vec::new() };
    let mut in_header = Vec::new();
    let scopes = [packet_header.as_deref(), None, None, None, None, None];
    let names = MemberNames::new(most);
    find(&names, &scopes, Scope::PacketHeader, None, &[], &mut in_header, &mut problems);
    let streams: Vec<Vec<Dependency>> = trace
        .data_streams
        .iter()
        .zip(&*data_streams)
        .map(|(class, stream)| find_in_stream(&names, class, stream, packet_header.as_deref(), &mut problems))
        .collect();
    if names.is_exhausted() {
        return Err(PlanError::Steps(most));
    }
    if !problems.all.is_empty() {
        return Err(PlanError::Locations(problems.all));
    }
    let mut of_trace = SlotNumbers::after(0);
    for found in in_header.iter().chain(streams.iter().flatten()) {
        if found.scope == Scope::PacketHeader {
            let slot = of_trace.slot_for(found, packet_header.as_deref_mut())?;
            if let (Scope::PacketHeader, Some(header)) = (found.own_scope, &mut packet_header) {
                found.connect(header, slot);
            }
        }
    }
    for (stream, all) in data_streams.iter_mut().zip(&streams) {
        let mut shared = SlotNumbers::after(of_trace.next);
        for found in all.iter().filter(|found| !found.is_of_event() && found.scope != Scope::PacketHeader) {
            shared.slot_for(found, stream.scope_mut(found.scope, None))?;
        }
        stream.slots = usize::from(shared.next);
        for of_class in all.chunk_by(|a, b| a.event == b.event) {
            let mut own = SlotNumbers::after(shared.next);
            for found in of_class {
                let slots = match found.scope {
                    Scope::PacketHeader => &mut of_trace,
                    _ if found.is_of_event() => &mut own,
                    _ => &mut shared,
                };
                let slot = slots.slot_for(found, stream.scope_mut(found.scope, found.event))?;
                if let Some(plan) = stream.scope_mut(found.own_scope, found.event) {
                    found.connect(plan, slot);
                }
            }
            stream.slots = stream.slots.max(usize::from(own.next));
        }
    }
    Ok(problems.broken_rules)
}

impl Dependency {
    /// Returns `true` if the needed field belongs to an event record class.
    fn is_of_event(&self) -> bool {
        matches!(self.scope, Scope::SpecificContext | Scope::Payload)
    }
}

impl DataStreamPlans {
    /// Returns a scope's plan, or `None` also for packet headers.
    fn scope_mut(&mut self, scope: Scope, event: Option<usize>) -> Option<&mut Plan> {
        match scope {
            Scope::PacketHeader => None,
            Scope::PacketContext => self.packet_context.as_mut(),
            Scope::EventRecordHeader => self.event_record_header.as_mut(),
            Scope::CommonContext => self.common_context.as_mut(),
            Scope::SpecificContext => self.event_records.get_mut(event?)?.specific_context.as_mut(),
            Scope::Payload => self.event_records.get_mut(event?)?.payload.as_mut(),
            // Resources are never decoded.
            Scope::Resource => None,
        }
    }
}

/// Slot numbers assigned to needed fields.
struct SlotNumbers {
    by_targets: HashMap<(Scope, Vec<NodeId>), Slot>,
    next: Slot,
}

impl SlotNumbers {
    fn after(next: Slot) -> Self {
        Self { by_targets: HashMap::new(), next }
    }

    /// Returns the slot number of the needed field. If it is new, the candidate fields in `plan` save their values from
    /// now on.
    fn slot_for(&mut self, found: &Dependency, plan: Option<&mut Plan>) -> Result<Slot, PlanError> {
        let key = (found.scope, found.targets.clone());
        if let Some(slot) = self.by_targets.get(&key) {
            return Ok(*slot);
        }
        let slot = self.next;
        self.next = self.next.checked_add(1).filter(|next| *next < Slot::MAX).ok_or(PlanError::Slots)?;
        if let Some(plan) = plan {
            found.targets.iter().for_each(|target| plan.save(*target, slot));
        }
        self.by_targets.insert(key, slot);
        Ok(slot)
    }
}

/// Finds the dependencies in a data stream class, grouped by event record class.
fn find_in_stream(
    names: &MemberNames,
    class: &DataStreamClass,
    stream: &DataStreamPlans,
    header: Option<&Plan>,
    problems: &mut LocationProblems<'_>,
) -> Vec<Dependency> {
    let mut all = Vec::new();
    let shared = [
        header,
        stream.packet_context.as_ref(),
        stream.event_record_header.as_ref(),
        stream.common_context.as_ref(),
        None,
        None,
    ];
    let within = format!("data stream class {}", class.id);
    for scope in [Scope::PacketContext, Scope::EventRecordHeader, Scope::CommonContext] {
        find(names, &shared, scope, None, std::slice::from_ref(&within), &mut all, problems);
    }
    for (i, (class, event)) in class.event_records.iter().zip(&stream.event_records).enumerate() {
        let mut scopes = shared;
        scopes[4] = event.specific_context.as_ref();
        scopes[5] = event.payload.as_ref();
        let within = [within.clone(), format!("event record class {}", class.id)];
        for scope in [Scope::SpecificContext, Scope::Payload] {
            find(names, &scopes, scope, Some(i), &within, &mut all, problems);
        }
    }
    all
}

/// Finds the dependencies in one scope.
fn find(
    names: &MemberNames,
    scopes: &ScopePlans<'_>,
    scope: Scope,
    event: Option<usize>,
    within: &[String],
    all: &mut Vec<Dependency>,
    problems: &mut LocationProblems<'_>,
) {
    let Some(plan) = scopes[scope as usize] else { return };
    for id in 0..plan.nodes.len() as NodeId {
        let Some((location, need)) = needs(plan, id) else { continue };
        if names.is_exhausted() {
            return;
        }
        let search = Search { names, scopes, scope, plan, dependent: id, location, need };
        match search.run() {
            Ok((target_scope, targets)) => {
                let found = |targets, choices| Dependency {
                    event,
                    own_scope: scope,
                    dependent: id,
                    scope: target_scope,
                    targets,
                    choices,
                };
                if problems.broken_rules.len() < MOST_BROKEN_RULES
                    && !problems.rules.is_empty()
                    && let Some((rule, reason)) = search.broken_rule(target_scope, &targets)
                    && problems.rules.contains(&rule)
                {
                    let fault = LocationFault {
                        position: location.declared_at.0,
                        reason: reason.to_owned(),
                        expected: "",
                        found: String::new(),
                    };
                    let problem = problem(fault, within, scope, plan, id, location);
                    problems.broken_rules.push((rule, problem));
                }
                match search.choices(target_scope, &targets) {
                    Some(choices) => {
                        let each = targets.into_iter().zip(choices);
                        all.extend(each.map(|(target, choices)| found(vec![target], Some(choices))));
                    }
                    None => all.push(found(targets, None)),
                }
            }
            Err(fault) if problems.all.len() < MOST_PROBLEMS => {
                problems.all.push(problem(fault, within, scope, plan, id, location));
            }
            Err(_) => {}
        }
    }
}

fn problem(
    fault: LocationFault,
    within: &[String],
    scope: Scope,
    plan: &Plan,
    id: NodeId,
    location: &FieldLocation,
) -> LocationProblem {
    let mut within = within.to_vec();
    within.push(scope.to_string());
    within.extend(plan.path_names(id));
    LocationProblem {
        position: fault.position,
        location_position: location.declared_at.0,
        within,
        location: location.clone(),
        reason: fault.reason,
        expected: fault.expected,
        found: fault.found,
    }
}

/// Location of the field that the node needs, if any.
fn needs(plan: &Plan, id: NodeId) -> Option<(&FieldLocation, FieldPurpose)> {
    let (location, need) = located(plan, id)?;
    (!location.is_by_values()).then_some((location, need))
}

fn located(plan: &Plan, id: NodeId) -> Option<(&FieldLocation, FieldPurpose)> {
    match &plan.node(id).class.kind {
        FieldKind::String { length: StringLength::Dynamic(location), .. }
        | FieldKind::Blob { length: Length::Dynamic(location), .. }
        | FieldKind::Array { length: Length::Dynamic(location), .. } => {
            Some((location, FieldPurpose::Length))
        }
        FieldKind::Optional { selector, ranges: None, .. } => Some((selector, FieldPurpose::BooleanSelector)),
        FieldKind::Optional { selector, .. } | FieldKind::Variant { selector, .. } => {
            Some((selector, FieldPurpose::IntegerSelector))
        }
        _ => None,
    }
}

impl Plan {
    fn set_slot(&mut self, id: NodeId, slot: Slot) {
        match &mut self.nodes[id as usize].op {
            Op::DynamicText(_, into)
            | Op::DynamicBlob(into)
            | Op::DynamicArray { length: into, .. }
            | Op::Optional { selector: into, .. } => *into = slot,
            Op::Variant(variant) => variant.selector = slot,
            _ => {}
        }
    }

    /// Makes a variant select its options by these values, if the field with this slot is decoded.
    fn add_choices(&mut self, id: NodeId, slot: Slot, options: &[RangeSet]) {
        if let Op::Variant(variant) = &mut self.nodes[id as usize].op {
            variant.choices.push(Choices { slot, selectors: Selectors::new(options) });
        }
    }

    /// Makes the node save its value, and the optionals and variants around it clear an old value.
    fn save(&mut self, id: NodeId, slot: Slot) {
        self.nodes[id as usize].links.get_or_insert_default().saves.push(slot);
        let mut parent = self.nodes[id as usize].parent;
        while let Some(id) = parent {
            let node = &mut self.nodes[id as usize];
            if matches!(node.op, Op::Optional { .. } | Op::Variant(_)) && !node.clears().contains(&slot) {
                node.links.get_or_insert_default().clears.push(slot);
            }
            parent = node.parent;
        }
    }
}
