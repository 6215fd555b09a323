//! Finds the fields that field locations lead to, and gives each a slot.

mod dead_end;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::iter::once;
use std::sync::Arc;

use self::dead_end::{DeadEnd, Trouble};
use crate::plan::{DataStreamPlans, NodeId, Op, Plan, PlanError, Slot};
use crate::{
    DataStreamClass, FieldClass, FieldKind, FieldLocation, Length, Limits, LocationStep, Mappings, Member,
    RangeSet, Ranges, Scope, StringLength, TextPlace, TraceClass, VariableLengthValue, VariantOption,
};

/// A field location that leads to no field that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationProblem {
    /// Where the trouble is: the class where the search ended.
    pub place: TextPlace,
    /// Where the location is written.
    pub location_place: TextPlace,
    /// What encloses the field that needs the other one, from the outside in.
    pub within: Vec<String>,
    /// The location.
    pub location: FieldLocation,
    /// What is wrong.
    pub reason: String,
    /// What was expected there.
    pub expected: &'static str,
    /// What was found there.
    pub found: String,
}

impl fmt::Display for LocationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "in {}: field location {}: {} (expected {}, found {})",
            self.within.join(", "),
            self.location,
            self.reason,
            self.expected,
            self.found
        )
    }
}

/// A rule about located fields that one document has and others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocationRule {
    /// The field is in the same array element as the one that needs it (PROP-2.0).
    SameElement,
    /// The field is in the same optional as the one that needs it (PROP-2.0).
    SameOptional,
    /// The field is in no optional of another root field (PROP-2.0).
    NoOptional,
    /// A selector that is unsigned selects nothing by values below 0.
    NoNegativeRange,
}

/// What a located field is needed for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Length,
    BooleanSelector,
    IntegerSelector,
}

/// The trees of the scopes that a field can see, by the number of the scope.
type Scopes<'a> = [Option<&'a Plan>; 6];

/// A field that needs another one, and where that is.
struct Found {
    /// Index of the event record class, if the field is of one.
    event: Option<usize>,
    /// Scope of the field that needs the other one.
    own_scope: Scope,
    dependent: NodeId,
    /// Scope of the field that is needed.
    scope: Scope,
    /// What that field can be: there are several where a variant is on the way.
    targets: Vec<NodeId>,
    /// If there are several, and each selects the options of a variant by other values: those of this
    /// one, by option.
    choices: Option<Vec<RangeSet>>,
}

impl Found {
    /// Notes the slot in the field that needs it.
    fn connect(&self, plan: &mut Plan, slot: Slot) {
        match &self.choices {
            Some(choices) => plan.add_choices(self.dependent, slot, choices),
            None => plan.set_slot(self.dependent, slot),
        }
    }
}

/// Steps that locating may take, for each field class that the limits allow: many fields whose
/// locations lead through variants of many options could take forever.
const STEPS: u64 = 16;

/// What each range that selects by one of several selectors costs of these steps: it takes memory.
const CHOICE_STEPS: usize = 64;

/// More broken rules than these are not looked for: these are enough for a person to read.
const MOST_BROKEN_RULES: usize = 256;

/// More locations that lead nowhere are not kept: each takes memory, and there can be a million.
const MOST_PROBLEMS: usize = 1000;

/// Of how many fields that a location may lead to such rules are looked at.
const MOST_TARGETS: usize = 16;

/// What is wrong with field locations.
struct Problems<'a> {
    /// The rules that are looked at.
    rules: &'a [LocationRule],
    all: Vec<LocationProblem>,
    broken_rules: Vec<(LocationRule, LocationProblem)>,
}

/// First finds everything, then gives out slots: those of the packet header come first, then those
/// of the other scopes that event record classes share, so that each class can use the same numbers
/// after them for its own.
pub(crate) fn locate_all(
    trace: &TraceClass,
    mut packet_header: Option<&mut Plan>,
    data_streams: &mut [DataStreamPlans],
    limits: &Limits,
    rules: &[LocationRule],
) -> Result<Vec<(LocationRule, LocationProblem)>, PlanError> {
    let most = limits.field_classes.saturating_mul(STEPS).max(1);
    let mut problems = Problems { rules, all: Vec::new(), broken_rules: Vec::new() };
    let mut in_header = Vec::new();
    let scopes = [packet_header.as_deref(), None, None, None, None, None];
    let names = MemberNames { by_class: RefCell::default(), steps: Cell::new(most) };
    find(&names, &scopes, Scope::PacketHeader, None, &[], &mut in_header, &mut problems);
    let streams: Vec<Vec<Found>> = trace
        .data_streams
        .iter()
        .zip(&*data_streams)
        .map(|(class, stream)| find_in_stream(&names, class, stream, packet_header.as_deref(), &mut problems))
        .collect();
    if names.steps.get() == 0 {
        return Err(PlanError::Steps(most));
    }
    if !problems.all.is_empty() {
        return Err(PlanError::Locations(problems.all));
    }
    let mut of_trace = Slots::after(0);
    for found in in_header.iter().chain(streams.iter().flatten()) {
        if found.scope == Scope::PacketHeader {
            let slot = of_trace.of(found, packet_header.as_deref_mut())?;
            if let (Scope::PacketHeader, Some(header)) = (found.own_scope, &mut packet_header) {
                found.connect(header, slot);
            }
        }
    }
    for (stream, all) in data_streams.iter_mut().zip(&streams) {
        let mut shared = Slots::after(of_trace.next);
        for found in all.iter().filter(|found| !found.is_of_event() && found.scope != Scope::PacketHeader) {
            shared.of(found, stream.scope_mut(found.scope, None))?;
        }
        stream.slots = usize::from(shared.next);
        for of_class in all.chunk_by(|a, b| a.event == b.event) {
            let mut own = Slots::after(shared.next);
            for found in of_class {
                let slots = match found.scope {
                    Scope::PacketHeader => &mut of_trace,
                    _ if found.is_of_event() => &mut own,
                    _ => &mut shared,
                };
                let slot = slots.of(found, stream.scope_mut(found.scope, found.event))?;
                if let Some(plan) = stream.scope_mut(found.own_scope, found.event) {
                    found.connect(plan, slot);
                }
            }
            stream.slots = stream.slots.max(usize::from(own.next));
        }
    }
    Ok(problems.broken_rules)
}

impl Found {
    /// Whether the field that is needed is of an event record class.
    fn is_of_event(&self) -> bool {
        matches!(self.scope, Scope::SpecificContext | Scope::Payload)
    }
}

impl DataStreamPlans {
    /// The plan of a scope; None also of packet headers.
    fn scope_mut(&mut self, scope: Scope, event: Option<usize>) -> Option<&mut Plan> {
        match scope {
            Scope::PacketHeader => None,
            Scope::PacketContext => self.packet_context.as_mut(),
            Scope::EventRecordHeader => self.event_record_header.as_mut(),
            Scope::CommonContext => self.common_context.as_mut(),
            Scope::SpecificContext => self.event_records.get_mut(event?)?.specific_context.as_mut(),
            Scope::Payload => self.event_records.get_mut(event?)?.payload.as_mut(),
            // It is never decoded.
            Scope::Resource => None,
        }
    }
}

/// The numbers given out to fields that are needed.
struct Slots {
    by_targets: HashMap<(Scope, Vec<NodeId>), Slot>,
    next: Slot,
}

impl Slots {
    fn after(next: Slot) -> Self {
        Self { by_targets: HashMap::new(), next }
    }

    /// The number of what is needed. If it is a new one, the fields of `plan` that it is of save
    /// their values from now on.
    fn of(&mut self, found: &Found, plan: Option<&mut Plan>) -> Result<Slot, PlanError> {
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

/// What fields of a data stream class need; what belongs to one event record class is together.
fn find_in_stream(
    names: &MemberNames,
    class: &DataStreamClass,
    stream: &DataStreamPlans,
    header: Option<&Plan>,
    problems: &mut Problems<'_>,
) -> Vec<Found> {
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

/// Finds what the fields of one scope need.
fn find(
    names: &MemberNames,
    scopes: &Scopes<'_>,
    scope: Scope,
    event: Option<usize>,
    within: &[String],
    all: &mut Vec<Found>,
    problems: &mut Problems<'_>,
) {
    let Some(plan) = scopes[scope as usize] else { return };
    for id in 0..plan.nodes.len() as NodeId {
        let Some((location, need)) = needs(plan, id) else { continue };
        if names.steps.get() == 0 {
            return;
        }
        let search = Search { names, scopes, scope, plan, dependent: id, location, need };
        match search.run() {
            Ok((target_scope, targets)) => {
                let found = |targets, choices| Found {
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
                    let trouble = Trouble {
                        place: location.declared_at.0,
                        reason: reason.to_owned(),
                        expected: "",
                        found: String::new(),
                    };
                    let problem = problem(trouble, within, scope, plan, id, location);
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
            Err(trouble) if problems.all.len() < MOST_PROBLEMS => {
                problems.all.push(problem(trouble, within, scope, plan, id, location));
            }
            Err(_) => {}
        }
    }
}

fn problem(
    trouble: Trouble,
    within: &[String],
    scope: Scope,
    plan: &Plan,
    id: NodeId,
    location: &FieldLocation,
) -> LocationProblem {
    let mut within = within.to_vec();
    within.push(scope.to_string());
    within.extend(path_names(plan, id));
    LocationProblem {
        place: trouble.place,
        location_place: location.declared_at.0,
        within,
        location: location.clone(),
        reason: trouble.reason,
        expected: trouble.expected,
        found: trouble.found,
    }
}

/// Which field the node needs, if any.
fn needs(plan: &Plan, id: NodeId) -> Option<(&FieldLocation, Need)> {
    match &plan.node(id).class.kind {
        FieldKind::String { length: StringLength::Dynamic(location), .. }
        | FieldKind::Blob { length: Length::Dynamic(location), .. }
        | FieldKind::Array { length: Length::Dynamic(location), .. } => Some((location, Need::Length)),
        FieldKind::Optional { selector, ranges: None, .. } => Some((selector, Need::BooleanSelector)),
        FieldKind::Optional { selector, .. } | FieldKind::Variant { selector, .. } => {
            Some((selector, Need::IntegerSelector))
        }
        _ => None,
    }
}

/// "member `a`, member `b`" of the members that lead to a node.
pub(crate) fn path_names(plan: &Plan, id: NodeId) -> Vec<String> {
    let mut names = Vec::new();
    let mut at = Some(id);
    while let Some(id) = at {
        let node = plan.node(id);
        if let Some(name) = &node.name {
            let is_option = node.parent.is_some_and(|parent| matches!(plan.node(parent).op, Op::Variant(_)));
            names.push(format!("{} `{name}`", if is_option { "option" } else { "member" }));
        }
        at = node.parent;
    }
    names.reverse();
    names
}

/// The path without steps into a member and back out of it: those need no such member.
fn without_detours(path: &[LocationStep]) -> Vec<&LocationStep> {
    let mut steps: Vec<&LocationStep> = Vec::new();
    for step in path {
        match (steps.last(), step) {
            (Some(LocationStep::Member(_)), LocationStep::Parent) => {
                steps.pop();
            }
            _ => steps.push(step),
        }
    }
    steps
}

/// The members of large structures, as indexes in the order of their names: searching each time would
/// take members times locations.
struct MemberNames {
    by_class: RefCell<HashMap<*const FieldClass, Vec<u32>>>,
    /// How many more steps finding fields may take; at 0 all that is found counts for nothing.
    steps: Cell<u64>,
}

impl MemberNames {
    /// How many members are searched one by one.
    const FEW: usize = 16;

    /// Index of the first member called `name` of a class with these members.
    fn index(&self, class: &Arc<FieldClass>, members: &[Member], name: &str) -> Option<usize> {
        if members.len() <= Self::FEW {
            return members.iter().position(|member| member.is_called(name));
        }
        let mut all = self.by_class.borrow_mut();
        // Classes stay where they are as long as their plans are made.
        let order = all.entry(Arc::as_ptr(class)).or_insert_with(|| {
            let mut order: Vec<u32> = (0..).take(members.len()).collect();
            order.sort_by_key(|index| &members[*index as usize].name);
            order
        });
        let find = |name: &str, has_underscore: bool| {
            let begin = order.partition_point(|index| *members[*index as usize].name < *name);
            let same = order[begin..].iter().map(|index| (*index as usize, &members[*index as usize]));
            let mut same = same.take_while(|(_, member)| *member.name == *name);
            same.find(|(_, member)| member.has_underscore == has_underscore).map(|(index, _)| index)
        };
        let found = [find(name, false), name.strip_prefix('_').and_then(|name| find(name, true))];
        found.into_iter().flatten().min()
    }
}

struct Search<'a> {
    names: &'a MemberNames,
    scopes: &'a Scopes<'a>,
    /// The scope of the field that needs another one.
    scope: Scope,
    plan: &'a Plan,
    dependent: NodeId,
    location: &'a FieldLocation,
    need: Need,
}

impl<'a> Search<'a> {
    fn run(&self) -> Result<(Scope, Vec<NodeId>), Trouble> {
        let scope = self.location.origin.unwrap_or(self.scope);
        let trouble_at_location = |reason: String, found: &str| Trouble {
            place: self.location.declared_at.0,
            reason,
            expected: "a field that is decoded before",
            found: found.to_owned(),
        };
        if scope > self.scope {
            return Err(trouble_at_location(format!("{scope} is decoded later"), scope.name()));
        }
        let Some(plan) = self.scopes[scope as usize] else {
            return Err(trouble_at_location(format!("there is no {scope}"), "no such root field"));
        };
        let begin = match self.location.origin {
            Some(_) => 0,
            None => match self.structure_around(self.plan.node(self.dependent).parent) {
                Some(structure) => structure,
                None => {
                    return Err(trouble_at_location("no structure contains the field".to_owned(), "none"));
                }
            },
        };
        let mut at = vec![begin];
        let path = without_detours(&self.location.path);
        let last = path.len().saturating_sub(1);
        for (i, step) in path.into_iter().enumerate() {
            let mut next = Vec::new();
            let followed = self.follow(at, &mut next, |id, next| match step {
                LocationStep::Parent => match self.structure_around(plan.node(id).parent) {
                    Some(parent) => {
                        next.push(parent);
                        Ok(())
                    }
                    None => Err(DeadEnd::LeavesRoot(id)),
                },
                LocationStep::Member(name) => self.member(plan, scope, id, name, i == last, next),
            });
            followed.map_err(|end| end.trouble(plan, self.need))?;
            at = next;
        }
        let mut targets = Vec::new();
        let followed = self.follow(at, &mut targets, |id, targets| self.targets(plan, scope, id, targets));
        followed.map_err(|end| end.trouble(plan, self.need))?;
        targets.sort_unstable();
        targets.dedup();
        Ok((scope, targets))
    }

    /// A rule that the field does not keep; first of all the one that all documents have.
    fn broken_rule(&self, scope: Scope, targets: &[NodeId]) -> Option<(LocationRule, &'static str)> {
        let plan = self.scopes[scope as usize]?;
        // Some of very many are enough: they are much alike.
        let targets = targets.get(..MOST_TARGETS).unwrap_or(targets);
        let ranges: &mut dyn Iterator<Item = &RangeSet> = match &self.plan.node(self.dependent).class.kind {
            FieldKind::Optional { ranges, .. } => &mut ranges.iter(),
            FieldKind::Variant { options, .. } => &mut options.iter().map(|option| &option.ranges),
            _ => &mut std::iter::empty(),
        };
        let is_unsigned = |id: &NodeId| plan.node(*id).class.integer().is_some_and(|it| !it.signed);
        if !self.location.any_option
            && targets.iter().all(is_unsigned)
            && ranges.flat_map(|set| &set.0).any(|range| range.lower < 0)
        {
            let reason = "a range begins below 0, but the selector field is unsigned";
            return Some((LocationRule::NoNegativeRange, reason));
        }
        if scope != self.scope {
            let is_in_optional =
                |id: NodeId| ancestors(plan, id).any(|id| matches!(plan.node(id).op, Op::Optional { .. }));
            return targets.iter().any(|id| is_in_optional(*id)).then_some((
                LocationRule::NoOptional,
                "a field of another root field must not be in an optional",
            ));
        }
        let encloses = |around: NodeId, id: NodeId| ancestors(plan, id).any(|other| other == around);
        let all_in = |around: NodeId| targets.iter().all(|id| encloses(around, *id));
        ancestors(plan, self.dependent).find_map(|around| match plan.node(around).op {
            Op::StaticArray { .. } | Op::DynamicArray { .. } if !all_in(around) => Some((
                LocationRule::SameElement,
                "a field within an array needs one that is not in the same element",
            )),
            Op::Optional { .. } if !all_in(around) => Some((
                LocationRule::SameOptional,
                "a field within an optional needs one that is not in the same optional",
            )),
            _ => None,
        })
    }

    /// By target and option, the values that select the option: where the rules of PROP-1.0 hold, those
    /// that have its name as their label. None: they are the same for all targets.
    fn choices(&self, scope: Scope, targets: &[NodeId]) -> Option<Vec<Vec<RangeSet>>> {
        let FieldKind::Variant { options, .. } = &self.plan.node(self.dependent).class.kind else {
            return None;
        };
        let plan = self.scopes[scope as usize]?;
        if targets.len() < 2 || !self.location.any_option {
            return None;
        }
        let mut choices: Vec<Vec<RangeSet>> = Vec::with_capacity(targets.len());
        for target in targets {
            let mappings = plan.node(*target).class.integer().and_then(|integer| integer.mappings.as_ref());
            let (labels, ranges) = mappings.map_or((0, 0), |mappings| (mappings.len(), mappings.ranges()));
            self.count(CHOICE_STEPS * (1 + options.len() + labels + ranges));
            if self.names.steps.get() == 0 {
                return None;
            }
            let by_label: HashMap<&str, Ranges<'_>> = mappings
                .into_iter()
                .flat_map(Mappings::iter)
                .map(|label| (label.name, label.ranges))
                .collect();
            let of_option = |option: &VariantOption| {
                let label = option.name.as_deref().and_then(|name| by_label.get(name));
                label.map(|ranges| ranges.to_set()).unwrap_or_default()
            };
            choices.push(options.iter().map(of_option).collect());
        }
        choices.windows(2).any(|pair| pair[0] != pair[1]).then_some(choices)
    }

    fn count(&self, steps: usize) {
        let left = self.names.steps.get().saturating_sub(steps as u64);
        self.names.steps.set(left);
    }

    /// Goes on from all of `ids`, or if the location says so, from those that fit, at least one.
    fn follow(
        &self,
        ids: Vec<NodeId>,
        found: &mut Vec<NodeId>,
        step: impl Fn(NodeId, &mut Vec<NodeId>) -> Result<(), DeadEnd<'a>>,
    ) -> Result<(), DeadEnd<'a>> {
        let before = found.len();
        let mut dead_end = None;
        for id in ids {
            self.count(1);
            if self.names.steps.get() == 0 {
                return Ok(());
            }
            match step(id, found) {
                Err(one) if self.location.any_option => dead_end = dead_end.or(Some(one)),
                result => result?,
            }
        }
        match dead_end {
            Some(dead_end) if found.len() == before => Err(dead_end),
            _ => Ok(()),
        }
    }

    /// The nearest structure from `id` upwards in the scope of the dependent field.
    fn structure_around(&self, mut id: Option<NodeId>) -> Option<NodeId> {
        while let Some(node) = id {
            if matches!(self.plan.node(node).op, Op::Structure { .. }) {
                return Some(node);
            }
            id = self.plan.node(node).parent;
        }
        None
    }

    /// Whether `id` encloses the dependent field.
    fn encloses(&self, scope: Scope, id: NodeId) -> bool {
        if scope != self.scope {
            return false;
        }
        let mut at = Some(self.dependent);
        while let Some(node) = at {
            if node == id {
                return true;
            }
            at = self.plan.node(node).parent;
        }
        false
    }

    /// The members called `name` within the node, through arrays, optionals and variants.
    fn member(
        &self,
        plan: &Plan,
        scope: Scope,
        id: NodeId,
        name: &'a str,
        is_last: bool,
        found: &mut Vec<NodeId>,
    ) -> Result<(), DeadEnd<'a>> {
        let node = plan.node(id);
        match &node.op {
            Op::Structure { members, .. } | Op::Union { members } => {
                let (FieldKind::Structure { members: classes, .. }
                | FieldKind::Union { members: classes, .. }) = &node.class.kind
                else {
                    return Ok(());
                };
                let index = self.names.index(&node.class, classes, name);
                match index.and_then(|index| members.get(index)) {
                    Some(member) => {
                        found.push(*member);
                        Ok(())
                    }
                    None => Err(DeadEnd::NoMember { structure: id, name, is_last }),
                }
            }
            Op::Optional { field, .. } => self.member(plan, scope, *field, name, is_last, found),
            Op::Variant(variant) => {
                let options = self.options(scope, id, &variant.options);
                self.follow(options, found, |option, found| {
                    self.member(plan, scope, option, name, is_last, found)
                })
            }
            Op::StaticArray { element, .. } | Op::DynamicArray { element, .. } => {
                if !self.encloses(scope, id) {
                    return Err(DeadEnd::OtherElement(id));
                }
                self.member(plan, scope, *element, name, is_last, found)
            }
            _ => Err(DeadEnd::NoStructure { node: id, name }),
        }
    }

    /// The options of a variant that count: of one that encloses the dependent field only the one
    /// that it is in, since that one is selected.
    fn options(&self, scope: Scope, variant: NodeId, options: &[NodeId]) -> Vec<NodeId> {
        let is_option = |id: &NodeId| self.plan.node(*id).parent == Some(variant);
        let own = match scope == self.scope {
            true => once(self.dependent).chain(ancestors(self.plan, self.dependent)).find(is_option),
            false => None,
        };
        own.map_or_else(|| options.to_vec(), |option| vec![option])
    }

    /// The fields with the value: the node, or what it can be.
    fn targets(
        &self,
        plan: &Plan,
        scope: Scope,
        id: NodeId,
        targets: &mut Vec<NodeId>,
    ) -> Result<(), DeadEnd<'a>> {
        let node = plan.node(id);
        match &node.op {
            Op::Optional { field, .. } => return self.targets(plan, scope, *field, targets),
            Op::Variant(variant) => {
                let options = self.options(scope, id, &variant.options);
                return self
                    .follow(options, targets, |option, targets| self.targets(plan, scope, option, targets));
            }
            Op::StaticArray { .. } | Op::DynamicArray { .. } if !self.encloses(scope, id) => {
                return Err(DeadEnd::OtherElement(id));
            }
            _ => {}
        }
        let integer = match &node.class.kind {
            FieldKind::Integer { integer, .. } => Some(integer),
            FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => Some(integer),
            _ => None,
        };
        let is_hidden = matches!(&node.class.kind, FieldKind::Padding(bits) if bits.length <= 64);
        let is_boolean = matches!(
            &node.class.kind,
            FieldKind::Boolean(_) | FieldKind::VariableLength { value: VariableLengthValue::Boolean, .. }
        );
        let fits = match self.need {
            Need::Length => {
                is_hidden || integer.is_some_and(|integer| !integer.signed || self.location.any_option)
            }
            Need::IntegerSelector => is_hidden || integer.is_some(),
            Need::BooleanSelector => is_boolean,
        };
        if !fits {
            return Err(DeadEnd::WrongKind(id));
        }
        if scope == self.scope && id >= self.dependent {
            return Err(DeadEnd::Later(id));
        }
        targets.push(id);
        Ok(())
    }
}

/// The nodes around a node, from the inside out.
fn ancestors(plan: &Plan, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    std::iter::successors(plan.node(id).parent, |id| plan.node(*id).parent)
}
