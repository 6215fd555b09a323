//! Event classes for compilation, and the meaning of names in them.

use ichnos_model::class::{DataStreamClass, FieldClass, FieldKind, Mappings, VariableLengthValue};
use ichnos_model::clock::WallClock;
use ichnos_model::meaning::{Meaning, MemberIndex};
use ichnos_model::plan::{DataStreamPlans, EventRecordPlans, Plan, scope_plan};
use ichnos_model::{DataStream, Event, Scope, Trace};

use super::fetch::{ElementOf, PlanNode};
use super::syntax::NameStep;

/// Event class, for one data stream or for all data streams of its class.
#[derive(Clone, Copy)]
pub(super) struct FilterClass<'c> {
    pub(super) trace: &'c Trace,
    pub(super) stream_class: &'c DataStreamClass,
    pub(super) stream_plans: &'c DataStreamPlans,
    pub(super) plans: &'c EventRecordPlans,
    pub(super) stream: Option<&'c DataStream>,
    /// Event of the class.
    pub(super) event: Option<&'c Event<'c>>,
}

/// Type of field values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ValueType {
    Boolean,
    Integer,
    /// Integer with named values.
    Enumeration(Mappings),
    /// Integer with named bits.
    BitMap(Mappings),
    /// Integer with times of a clock.
    Date(WallClock),
    Float,
    Text,
    Blob,
    Guid,
    Time,
    Level,
    Structure,
    Array(Option<Box<Self>>),
}

impl ValueType {
    /// Returns the display name of the type.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Enumeration(_) => "an enumeration",
            Self::BitMap(_) => "a bit map",
            Self::Date(_) => "a date",
            Self::Float => "a floating-point number",
            Self::Text => "a string",
            Self::Blob => "a BLOB",
            Self::Guid => "a GUID",
            Self::Time => "a time",
            Self::Level => "a log level",
            Self::Structure => "a structure",
            Self::Array(_) => "an array",
        }
    }

    /// Returns `true` if arithmetic treats values as integers.
    pub(super) fn is_integer(&self) -> bool {
        matches!(self, Self::Integer | Self::Enumeration(_) | Self::BitMap(_) | Self::Date(_))
    }

    /// Returns the type of a plan node. `None` if its fields are never reported.
    fn from_plan(plan: &Plan, node: usize) -> Option<Self> {
        let class: &FieldClass = &plan.get(node)?.class;
        if let Some(integer) = class.integer() {
            return Some(match (&integer.mappings, integer.date_clock()) {
                (Some(names), _) => Self::Enumeration(names.clone()),
                (None, Some(clock)) => Self::Date(clock),
                (None, None) => Self::Integer,
            });
        }
        Some(match &class.kind {
            FieldKind::BitArray(_) => Self::Integer,
            FieldKind::BitMap { flags, .. } => Self::BitMap(flags.clone()),
            FieldKind::Boolean(_) => Self::Boolean,
            FieldKind::VariableLength { value: VariableLengthValue::Boolean, .. } => Self::Boolean,
            FieldKind::VariableLength { .. } => Self::Integer,
            FieldKind::Float(_) => Self::Float,
            FieldKind::String { .. } => Self::Text,
            FieldKind::Blob { .. } => Self::Blob,
            FieldKind::Guid { .. } => Self::Guid,
            FieldKind::Structure { .. } | FieldKind::Union { .. } => Self::Structure,
            FieldKind::Array { .. } => {
                let element = plan.children(node).next().and_then(|element| Self::from_plan(plan, element));
                let is_plain = |element: &Self| !matches!(element, Self::Structure | Self::Array(_));
                Self::Array(element.filter(is_plain).map(Box::new))
            }
            _ => return None,
        })
    }
}

/// Fields with the same type. An event contains at most one of them.
pub(super) struct TypedFields {
    pub(super) scope: Scope,
    pub(super) targets: Vec<PlanNode>,
    pub(super) kind: ValueType,
}

/// Maximum number of fields with the same name in a class: variant options.
const TARGETS: usize = 256;
/// Maximum number of types for these fields.
const TYPES: usize = 16;

impl<'c> FilterClass<'c> {
    /// Prepares the class of an event.
    pub(super) fn from_event(event: &'c Event<'c>) -> Self {
        Self {
            trace: &event.stream.trace,
            stream_class: event.stream.class(),
            stream_plans: event.stream.plans(),
            plans: event.plans(),
            stream: Some(event.stream),
            event: Some(event),
        }
    }

    pub(super) fn plan(&self, scope: Scope) -> Option<&'c Plan> {
        scope_plan(scope, &self.trace.plans, self.stream_plans, self.plans)
    }

    pub(super) fn name(&self) -> Option<&'c str> {
        self.plans.class.name.as_deref()
    }

    /// Finds the fields with a path, grouped by type. The first scope with a match counts.
    pub(super) fn find(&self, scopes: &[Scope], steps: &[NameStep]) -> Vec<TypedFields> {
        for scope in scopes {
            let Some(plan) = self.plan(*scope) else { continue };
            let mut targets = Vec::new();
            PlanNode::default().follow(plan, steps, &mut targets);
            if !targets.is_empty() {
                return by_type(*scope, plan, targets);
            }
        }
        Vec::new()
    }

    /// Finds the first or the last member with a meaning.
    pub(super) fn meaning(&self, meaning: Meaning, is_last: bool) -> Vec<TypedFields> {
        let mut members = self.plans.class.meanings.members(meaning);
        let member = if is_last { members.last() } else { members.next() };
        let Some(MemberIndex { scope, index, .. }) = member else { return Vec::new() };
        let Some(plan) = self.plan(scope) else { return Vec::new() };
        let Some(node) = plan.member(index as usize) else { return Vec::new() };
        let mut targets = Vec::new();
        PlanNode { node, ..PlanNode::default() }.follow(plan, &[], &mut targets);
        by_type(scope, plan, targets)
    }

    /// Passes all field names with their scopes, written as in an expression.
    pub(super) fn for_each_name(&self, take: &mut dyn FnMut(Scope, &str)) {
        for scope in Scope::SEARCHED {
            let Some(plan) = self.plan(scope) else { continue };
            let mut open: Vec<(usize, String)> =
                plan.children(0).map(|child| (child, String::new())).collect();
            while let Some((node, before)) = open.pop() {
                let Some(found) = plan.get(node) else { continue };
                let name = match &found.name {
                    Some(name) if !found.is_variant_option() && before.is_empty() => name.to_string(),
                    Some(name) if !found.is_variant_option() => format!("{before}.{name}"),
                    _ => before,
                };
                if name.len() > 1000 {
                    continue;
                }
                match found.class.kind {
                    FieldKind::Array { .. } => {
                        take(scope, &name);
                        open.extend(plan.children(node).map(|child| (child, format!("{name}[0]"))));
                    }
                    FieldKind::Optional { .. } | FieldKind::Variant { .. } => {
                        open.extend(plan.children(node).map(|child| (child, name.clone())));
                    }
                    _ => {
                        if !name.ends_with("[0]") {
                            take(scope, &name);
                        }
                        open.extend(plan.children(node).map(|child| (child, name.clone())));
                    }
                }
            }
        }
    }
}

fn by_type(scope: Scope, plan: &Plan, targets: Vec<PlanNode>) -> Vec<TypedFields> {
    let mut all: Vec<TypedFields> = Vec::new();
    for mut target in targets {
        let Some(kind) = ValueType::from_plan(plan, target.node) else { continue };
        if matches!(kind, ValueType::Array(_)) {
            target.element = plan.children(target.node).next();
        }
        if let Some(found) = all.iter_mut().find(|found| found.kind == kind) {
            found.targets.push(target);
        } else if all.len() < TYPES {
            all.push(TypedFields { scope, targets: vec![target], kind });
        }
    }
    all
}

impl PlanNode {
    /// Follows a path from the node and adds the fields at its end.
    fn follow(&self, plan: &Plan, steps: &[NameStep], found: &mut Vec<Self>) {
        if found.len() >= TARGETS {
            return;
        }
        let to = |node| Self { node, ..self.clone() };
        let Some(node) = plan.get(self.node) else { return };
        match (&node.class.kind, steps) {
            (FieldKind::Optional { .. } | FieldKind::Variant { .. }, _) => {
                plan.children(self.node).for_each(|child| to(child).follow(plan, steps, found));
            }
            (_, []) => found.push(self.clone()),
            (FieldKind::Structure { .. } | FieldKind::Union { .. }, _) => {
                // A name may contain points. The shortest existing name counts.
                let mut name = String::new();
                for (taken, step) in steps.iter().enumerate() {
                    let NameStep::Member(step) = step else { return };
                    if taken > 0 {
                        name.push('.');
                    }
                    name.push_str(step);
                    let is_called =
                        |child: &usize| plan.get(*child).and_then(|node| node.name.as_deref()) == Some(&name);
                    if let Some(child) = plan.children(self.node).find(is_called) {
                        let before = found.len();
                        to(child).follow(plan, &steps[taken + 1..], found);
                        if found.len() > before {
                            return;
                        }
                    }
                }
            }
            (FieldKind::Array { .. }, [NameStep::Index(index), rest @ ..]) => {
                if let Some(element) = plan.children(self.node).next() {
                    let mut target = to(element);
                    target.elements.push(ElementOf { array: self.node, element, index: *index });
                    target.follow(plan, rest, found);
                }
            }
            _ => {}
        }
    }
}
