//! Compiles classes into plans.

use std::sync::{Arc, OnceLock};

use super::error::{LocationProblem, LocationRule, PlanError};
use super::join::{StepBuilder, join};
use super::layout::FixedLayout;
use super::plans::{DataStreamPlans, EventRecordPlans, TracePlans};
use super::slots::assign_slots;
use super::steps::{NodeId, Op, Plan, SkipSteps};
use super::tree::PlanBudget;
use crate::class::{FieldClass, TraceClass};
use crate::trace::Limits;

/// Memory for an event record class in addition to its classes and nodes: its plans, and data that readers keep for it.
const EVENT_RECORD_CLASS: u64 = size_of::<EventRecordPlans>() as u64 + 200;

/// Maximum number of fields in all event record classes with joined scopes. The common context counts for each class.
const JOINED_NODES: usize = 1 << 18;

impl TracePlans {
    /// Compiles a trace class.
    ///
    /// # Errors
    /// Fails if field locations lead to no suitable field (up to 1,000 are reported), or the classes exceed `limits`.
    pub fn compile(trace: &TraceClass, limits: &Limits) -> Result<Self, PlanError> {
        Self::compile_by_rules(trace, limits, &[]).map(|(plans, _)| plans)
    }

    /// Like [`TracePlans::compile`]. Also returns up to 256 field locations that can be decoded but break `rules`.
    ///
    /// # Errors
    /// See [`TracePlans::compile`].
    pub fn compile_by_rules(
        trace: &TraceClass,
        limits: &Limits,
        rules: &[LocationRule],
    ) -> Result<(Self, Vec<(LocationRule, LocationProblem)>), PlanError> {
        let mut budget = PlanBudget::new(limits);
        let tree = |class: &Option<Arc<FieldClass>>, budget: &mut PlanBudget| {
            class.as_ref().map(|class| Plan::tree(class, budget, limits)).transpose()
        };
        let mut packet_header = tree(&trace.packet_header, &mut budget)?;
        let mut data_streams: Vec<DataStreamPlans> = Vec::new();
        for class in &trace.data_streams {
            let mut stream = DataStreamPlans {
                packet_context: tree(&class.packet_context, &mut budget)?,
                event_record_header: tree(&class.event_record_header, &mut budget)?,
                common_context: tree(&class.common_context, &mut budget)?,
                // The format defines this class. The limits apply to files.
                resource: tree_of_format(&class.resource)?,
                event_records: Vec::new(),
                slots: 0,
            };
            for (index, class) in class.event_records.iter().enumerate() {
                budget.take_memory(EVENT_RECORD_CLASS, limits)?;
                stream.event_records.push(EventRecordPlans {
                    class: Arc::clone(class),
                    index: Some(index),
                    specific_context: tree(&class.specific_context, &mut budget)?,
                    payload: tree(&class.payload, &mut budget)?,
                    joined: None,
                });
            }
            data_streams.push(stream);
        }
        let broken_rules = assign_slots(trace, packet_header.as_mut(), &mut data_streams, limits, rules)?;
        let finish = |plan: &mut Option<Plan>| {
            plan.as_mut().map(|plan| plan.finish(limits)).transpose().map(Option::unwrap_or_default)
        };
        let mut joined = 0;
        for stream in &mut data_streams {
            finish(&mut stream.packet_context)?;
            finish(&mut stream.event_record_header)?;
            let common = finish(&mut stream.common_context)?;
            for event in &mut stream.event_records {
                let specific = finish(&mut event.specific_context)?;
                let payload = finish(&mut event.payload)?;
                joined += common.len() + specific.len() + payload.len();
                if joined <= JOINED_NODES {
                    event.joined = join([
                        stream.common_context.as_ref().map(|plan| (plan, &*common)),
                        event.specific_context.as_ref().map(|plan| (plan, &*specific)),
                        event.payload.as_ref().map(|plan| (plan, &*payload)),
                    ]);
                }
            }
        }
        if let Some(header) = &mut packet_header {
            header.finish(limits)?;
        }
        let data_streams = data_streams.into_iter().map(Arc::new).collect();
        let nothing = Plan { nodes: Vec::new(), fixed: None, skip_steps: None, value_steps: OnceLock::new() };
        Ok((Self { packet_header, data_streams, nothing }, broken_rules))
    }
}

/// Tree for a class that does not depend on input.
fn tree_of_format(class: &Option<Arc<FieldClass>>) -> Result<Option<Plan>, PlanError> {
    let limits = Limits::default();
    class.as_ref().map(|class| Plan::tree(class, &mut PlanBudget::new(&limits), &limits)).transpose()
}

impl Plan {
    /// Compiles structures into steps after the slots are assigned. Returns the node layouts.
    ///
    /// # Errors
    /// Fails if too many fields can have zero bits.
    fn finish(&mut self, limits: &Limits) -> Result<Vec<Option<FixedLayout>>, PlanError> {
        let count = self.nodes.len();
        for node in &mut self.nodes {
            let saved = !node.saves().is_empty();
            if let Op::Bits(bits) = &mut node.op {
                bits.saved = saved;
            }
        }
        for id in 0..count {
            let found = match self.nodes[id].op {
                Op::StaticArray { element, .. } | Op::DynamicArray { element, .. } => self.elements(element),
                _ => None,
            };
            if let Op::StaticArray { elements, .. } | Op::DynamicArray { elements, .. } =
                &mut self.nodes[id].op
            {
                *elements = found;
            }
        }
        // Children come after their parents. In reverse order, each layout is known before it is needed.
        let mut layouts: Vec<Option<FixedLayout>> = vec![None; count];
        for id in (0..count).rev() {
            layouts[id] = self.layout(id as NodeId, &layouts);
            if let Op::Structure { members, .. } = &self.nodes[id].op {
                let mut builder = StepBuilder::new(self.nodes[id].alignment);
                members.iter().for_each(|id| builder.add(self, *id, layouts[*id as usize]));
                let mut compiled = builder.finish();
                compiled.shrink_to_fit();
                if let Op::Structure { steps, .. } = &mut self.nodes[id].op {
                    *steps = compiled;
                }
            }
        }
        self.fixed = layouts[0].filter(|layout| !layout.saves).map(|layout| layout.size);
        self.skip_steps = SkipSteps::for_plan(self);
        let mut may_be_empty = vec![false; count];
        for id in (0..count).rev() {
            may_be_empty[id] = self.may_be_empty(id as NodeId, &may_be_empty);
        }
        if may_be_empty.iter().filter(|empty| **empty).count() as u64 > limits.empty_fields {
            return Err(PlanError::EmptyFields(limits.empty_fields));
        }
        Ok(layouts)
    }

    /// Returns `true` if an instance of the node can have zero bits.
    fn may_be_empty(&self, id: NodeId, known: &[bool]) -> bool {
        let is_empty = |id: &NodeId| known[*id as usize];
        match &self.node(id).op {
            Op::Bits(_) | Op::Variable(_) | Op::NullTerminated(_) | Op::PrefixedText(..) | Op::Guid => false,
            Op::StaticText(_, length) | Op::StaticBlob(length) => *length == 0,
            Op::StaticArray { element, length, .. } => *length == 0 || is_empty(element),
            Op::Structure { members, .. } => members.iter().all(is_empty),
            Op::Variant(variant) => variant.options.iter().any(is_empty),
            Op::Union { members } => members.iter().any(is_empty),
            Op::DynamicText(..)
            | Op::DynamicBlob(_)
            | Op::DynamicArray { .. }
            | Op::Optional { .. }
            | Op::Null => true,
        }
    }
}
