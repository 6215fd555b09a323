//! Decode plans: a root field class, compiled once into what decoding it takes.
//!
//! A plan is a tree of [nodes](Node), one for each field class of the expanded root class.
//! Consecutive members of a structure whose layout is fixed are joined into *runs*, so that
//! getting past them is one comparison and reading them needs no arithmetic. A field that another
//! one needs (a length, a selector) saves its value in a *slot*; which slot is found out here,
//! once, from the [field locations](crate::FieldLocation).

use std::sync::Arc;

use crate::locate::{self, LocationProblem, LocationRule};
use crate::memory::{Budget, allocated};
use crate::part::{Elements, Layout, Part, Parts, join};
use crate::selectors::Selectors;
use crate::skip_steps::SkipSteps;
use crate::walk::Slots;
use crate::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, Length, Limits, RangeSet,
    Roles, Scope, StringEncoding, StringLength, TraceClass, VariableLengthValue,
};

/// Number of a saved value.
pub(crate) type Slot = u16;

/// Index of a node in its plan; the root is 0, children come after their parents.
pub(crate) type NodeId = u32;

/// A slot that is not known yet; no plan is handed out with one.
const NO_SLOT: Slot = Slot::MAX;

/// One field class of a plan.
#[derive(Debug)]
pub struct Node {
    /// Name of the structure or union member.
    pub name: Option<Box<str>>,
    /// Class of the field.
    pub class: Arc<FieldClass>,
    /// Roles of the class.
    pub roles: Roles,
    /// Alignment in bits.
    pub(crate) alignment: u64,
    pub(crate) op: Op,
    /// Of few fields: others that need them.
    links: Option<Box<Links>>,
    pub(crate) parent: Option<NodeId>,
    is_option: bool,
}

/// The slots that a field is about.
#[derive(Debug, Default)]
struct Links {
    /// Those that take the value.
    saves: Vec<Slot>,
    /// Those that become unknown when this field (an optional or a variant) begins.
    clears: Vec<Slot>,
}

impl Node {
    /// Slots that take the value.
    #[inline]
    pub(crate) fn saves(&self) -> &[Slot] {
        self.links.as_ref().map_or(&[], |links| &links.saves)
    }

    /// Slots that become unknown when this field (an optional or a variant) begins.
    #[inline]
    pub(crate) fn clears(&self) -> &[Slot] {
        self.links.as_ref().map_or(&[], |links| &links.clears)
    }

    /// Alignment of the field in bits.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The slots that take the field's value, because other fields need it.
    #[must_use]
    pub fn saved_in(&self) -> &[u16] {
        self.saves()
    }

    /// Whether the field is an option of a variant: its name, if it has one, is the option's.
    #[must_use]
    pub fn is_variant_option(&self) -> bool {
        self.is_option
    }
}

impl Node {
    /// Whether other fields need this one to be decoded: it says a length or selects.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        !self.saves().is_empty()
    }
}

/// How to decode a field.
#[derive(Debug)]
pub(crate) enum Op {
    Bits(Bits),
    Variable(VariableOp),
    NullTerminated(StringEncoding),
    StaticText(StringEncoding, u64),
    DynamicText(StringEncoding, Slot),
    PrefixedText(StringEncoding, TextPrefix),
    StaticBlob(u64),
    DynamicBlob(Slot),
    Structure {
        members: Vec<NodeId>,
        parts: Vec<Part>,
    },
    StaticArray {
        element: NodeId,
        length: u64,
        elements: Option<Elements>,
    },
    DynamicArray {
        element: NodeId,
        length: Slot,
        elements: Option<Elements>,
    },
    Optional {
        field: NodeId,
        selector: Slot,
        ranges: Option<RangeSet>,
    },
    /// In a box: few nodes are variants, and no node should be as large as those.
    Variant(Box<VariantOp>),
    Union {
        members: Vec<NodeId>,
    },
    Null,
}

/// How to decode a variant.
#[derive(Debug)]
pub(crate) struct VariantOp {
    pub(crate) options: Vec<NodeId>,
    pub(crate) selectors: Selectors,
    pub(crate) selector: Slot,
    pub(crate) choices: Vec<Choices>,
}

/// What the options of a variant are selected by, if the selector is the field of this slot: one of
/// several, of which only one is decoded.
#[derive(Debug)]
pub(crate) struct Choices {
    pub(crate) slot: Slot,
    pub(crate) selectors: Selectors,
}

/// Fixed-length bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    pub(crate) length: u64,
    pub(crate) big_endian: bool,
    pub(crate) reversed: bool,
    pub(crate) kind: BitsKind,
    /// Whether the value is saved in slots; known once the plan is finished.
    pub(crate) saved: bool,
}

/// What fixed-length bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BitsKind {
    Unsigned,
    Signed,
    Boolean,
    BitArray,
    BitMap,
    Real,
    /// They are not reported.
    Padding,
}

/// The length that a text begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextPrefix {
    /// Size of the length in bits, 1 to 64.
    pub(crate) length: u64,
    pub(crate) big_endian: bool,
    pub(crate) reversed: bool,
    /// Bits from the beginning of the length to that of the text.
    pub(crate) text: u64,
}

/// What variable-length bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableOp {
    Unsigned,
    Signed,
    Boolean,
    BitArray,
}

/// A compiled root field class.
#[derive(Debug)]
pub struct Plan {
    pub(crate) nodes: Vec<Node>,
    /// Size in bits if it is fixed and nothing has to be saved.
    pub(crate) fixed: Option<u64>,
    /// The way past an instance, where it is easy.
    pub(crate) skip_steps: Option<SkipSteps>,
}

impl Plan {
    /// The node of the root field.
    #[must_use]
    pub fn root(&self) -> &Node {
        // A plan is never made without a root.
        &self.nodes[0]
    }

    /// The nodes in the order their classes were declared: the root, then each field before those
    /// within it.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter()
    }

    /// Which of [`Plan::nodes`] is the member of this index of the structure that the root is; None if
    /// there is none.
    #[must_use]
    pub fn member(&self, index: usize) -> Option<usize> {
        match &self.root().op {
            Op::Structure { members, .. } => members.get(index).map(|id| *id as usize),
            _ => None,
        }
    }

    /// The name of the member of this index of the structure that the root is; None if there is none.
    #[must_use]
    pub fn member_name(&self, index: usize) -> Option<&str> {
        self.nodes.get(self.member(index)?)?.name.as_deref()
    }

    /// Size in bits of every instance that begins aligned, if it is fixed.
    #[must_use]
    pub fn fixed_size(&self) -> Option<u64> {
        self.fixed
    }

    /// The bit behind an instance that begins at bit `begin` or behind it, in the content of which `bytes`
    /// are the whole bytes, from the beginning of the packet on; a byte begins there. Its values that
    /// other fields need are then in `slots`. None if that is not easily known: then some of them may be
    /// there, and [`Plan::walk`] says.
    #[inline]
    #[must_use]
    pub fn end(&self, bytes: &[u8], begin: u64, slots: &Slots) -> Option<u64> {
        self.skip_steps.as_ref()?.end(bytes, begin, slots)
    }

    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Builds the tree of nodes; slots and runs come later.
    pub(crate) fn tree(
        root: &Arc<FieldClass>,
        budget: &mut Left,
        limits: &Limits,
    ) -> Result<Self, PlanError> {
        let mut plan = Self { nodes: Vec::new(), fixed: None, skip_steps: None };
        plan.add(None, root, None, budget, limits.depth, limits)?;
        plan.nodes.shrink_to_fit();
        Ok(plan)
    }

    fn add(
        &mut self,
        name: Option<&str>,
        class: &Arc<FieldClass>,
        parent: Option<NodeId>,
        budget: &mut Left,
        depth: u32,
        limits: &Limits,
    ) -> Result<NodeId, PlanError> {
        budget.take(name, class, limits)?;
        let depth = depth.checked_sub(1).ok_or(PlanError::Depth(limits.depth))?;
        let id = self.nodes.len() as NodeId;
        self.nodes.push(Node {
            name: name.map(Into::into),
            class: Arc::clone(class),
            roles: class.roles,
            alignment: 1,
            op: Op::Null,
            links: None,
            parent,
            is_option: false,
        });
        let mut alignment = 1;
        let mut child = |plan: &mut Self, name: Option<&str>, class: &Arc<FieldClass>| {
            plan.add(name, class, Some(id), budget, depth, limits)
        };
        let bits = |bits: &BitField, kind| {
            Op::Bits(Bits {
                length: bits.length,
                big_endian: bits.byte_order == ByteOrder::BigEndian,
                reversed: bits.is_reversed(),
                kind,
                saved: false,
            })
        };
        let op = match &class.kind {
            FieldKind::BitArray(layout) => {
                alignment = layout.alignment;
                bits(layout, BitsKind::BitArray)
            }
            FieldKind::BitMap { bits: layout, .. } => {
                alignment = layout.alignment;
                bits(layout, BitsKind::BitMap)
            }
            FieldKind::Boolean(layout) => {
                alignment = layout.alignment;
                bits(layout, BitsKind::Boolean)
            }
            FieldKind::Integer { bits: layout, integer } => {
                alignment = layout.alignment;
                bits(layout, if integer.signed { BitsKind::Signed } else { BitsKind::Unsigned })
            }
            FieldKind::Float(layout) => {
                alignment = layout.alignment;
                bits(layout, BitsKind::Real)
            }
            FieldKind::Padding(layout) => {
                alignment = layout.alignment;
                bits(layout, BitsKind::Padding)
            }
            FieldKind::VariableLength { value, alignment: a } => {
                alignment = *a;
                Op::Variable(match value {
                    VariableLengthValue::BitArray => VariableOp::BitArray,
                    VariableLengthValue::Boolean => VariableOp::Boolean,
                    VariableLengthValue::Integer(integer) if integer.signed => VariableOp::Signed,
                    VariableLengthValue::Integer(_) => VariableOp::Unsigned,
                })
            }
            FieldKind::String { encoding, length, alignment: a } => {
                alignment = *a;
                match length {
                    StringLength::NullTerminated => Op::NullTerminated(*encoding),
                    StringLength::Static(length) => Op::StaticText(*encoding, *length),
                    StringLength::Dynamic(_) => Op::DynamicText(*encoding, NO_SLOT),
                    StringLength::Prefixed { length, gap } => {
                        let prefix = TextPrefix {
                            length: length.length.clamp(1, 64),
                            big_endian: length.byte_order == ByteOrder::BigEndian,
                            reversed: length.is_reversed(),
                            text: length.length.clamp(1, 64).saturating_add(*gap),
                        };
                        Op::PrefixedText(*encoding, prefix)
                    }
                }
            }
            FieldKind::Blob { length, alignment: a, .. } => {
                alignment = *a;
                match length {
                    Length::Static(length) => Op::StaticBlob(*length),
                    Length::Dynamic(_) => Op::DynamicBlob(NO_SLOT),
                }
            }
            FieldKind::Structure { members, minimum_alignment } => {
                alignment = *minimum_alignment;
                let mut ids = Vec::with_capacity(members.len());
                for member in members {
                    let member = child(self, Some(&member.name), &member.class)?;
                    alignment = alignment.max(self.node(member).alignment);
                    ids.push(member);
                }
                Op::Structure { members: ids, parts: Vec::new() }
            }
            FieldKind::Array { element, length, minimum_alignment, element_aligns } => {
                let element = child(self, None, element)?;
                alignment = *minimum_alignment;
                if *element_aligns {
                    alignment = alignment.max(self.node(element).alignment);
                }
                match length {
                    Length::Static(length) => Op::StaticArray { element, length: *length, elements: None },
                    Length::Dynamic(_) => Op::DynamicArray { element, length: NO_SLOT, elements: None },
                }
            }
            FieldKind::Optional { field, ranges, .. } => {
                let field = child(self, None, field)?;
                Op::Optional { field, selector: NO_SLOT, ranges: ranges.clone() }
            }
            FieldKind::Variant { options, alignment: a, .. } => {
                alignment = *a;
                let mut nodes = Vec::with_capacity(options.len());
                for option in options {
                    let node = child(self, option.name.as_deref(), &option.class)?;
                    self.nodes[node as usize].is_option = true;
                    nodes.push(node);
                }
                let selectors = Selectors::new(options.iter().map(|option| &option.ranges));
                let selector = NO_SLOT;
                Op::Variant(Box::new(VariantOp { options: nodes, selectors, selector, choices: Vec::new() }))
            }
            FieldKind::Union { members, alignment: a } => {
                alignment = *a;
                let mut ids = Vec::with_capacity(members.len());
                for member in members {
                    ids.push(child(self, Some(&member.name), &member.class)?);
                }
                Op::Union { members: ids }
            }
            FieldKind::Null { alignment: a } => {
                alignment = *a;
                Op::Null
            }
        };
        let node = &mut self.nodes[id as usize];
        node.alignment = alignment.max(1);
        node.op = op;
        Ok(id)
    }

    pub(crate) fn set_slot(&mut self, id: NodeId, slot: Slot) {
        match &mut self.nodes[id as usize].op {
            Op::DynamicText(_, place)
            | Op::DynamicBlob(place)
            | Op::DynamicArray { length: place, .. }
            | Op::Optional { selector: place, .. } => *place = slot,
            Op::Variant(variant) => variant.selector = slot,
            _ => {}
        }
    }

    /// Has a variant select its options by these values, if the field of this slot is decoded.
    pub(crate) fn add_choices(&mut self, id: NodeId, slot: Slot, options: &[RangeSet]) {
        if let Op::Variant(variant) = &mut self.nodes[id as usize].op {
            variant.choices.push(Choices { slot, selectors: Selectors::new(options) });
        }
    }

    /// Has the node save its value, and the optionals and variants around it forget an old one.
    pub(crate) fn save(&mut self, id: NodeId, slot: Slot) {
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

    /// Joins members of fixed layout into runs; the last step of making a plan. Gives the layouts of the
    /// nodes.
    ///
    /// # Errors
    /// If too many fields may have no bits.
    pub(crate) fn finish(&mut self, limits: &Limits) -> Result<Vec<Option<Layout>>, PlanError> {
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
        // Children come after their parents, so backwards each is known before it is needed.
        let mut layouts: Vec<Option<Layout>> = vec![None; count];
        for id in (0..count).rev() {
            layouts[id] = self.layout(id as NodeId, &layouts);
            if let Op::Structure { members, .. } = &self.nodes[id].op {
                let mut parts = Parts::new(self.nodes[id].alignment);
                members.iter().for_each(|id| parts.add(self, *id, layouts[*id as usize]));
                let mut parts = parts.finish();
                parts.shrink_to_fit();
                if let Op::Structure { parts: place, .. } = &mut self.nodes[id].op {
                    *place = parts;
                }
            }
        }
        self.fixed = layouts[0].filter(|layout| !layout.saves).map(|layout| layout.size);
        self.skip_steps = SkipSteps::of(self);
        let mut may_be_empty = vec![false; count];
        for id in (0..count).rev() {
            may_be_empty[id] = self.may_be_empty(id as NodeId, &may_be_empty);
        }
        if may_be_empty.iter().filter(|empty| **empty).count() as u64 > limits.empty_fields {
            return Err(PlanError::EmptyFields(limits.empty_fields));
        }
        Ok(layouts)
    }

    /// Whether an instance of the node may have no bits.
    fn may_be_empty(&self, id: NodeId, known: &[bool]) -> bool {
        let is_empty = |id: &NodeId| known[*id as usize];
        match &self.node(id).op {
            Op::Bits(_) | Op::Variable(_) | Op::NullTerminated(_) | Op::PrefixedText(..) => false,
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

/// Rounds up to a multiple of a power of two; None if that is beyond all numbers.
#[inline]
#[must_use]
pub fn align(offset: u64, alignment: u64) -> Option<u64> {
    Some(offset.checked_add(alignment - 1)? & !(alignment - 1))
}

/// What plans may still take.
pub(crate) struct Left {
    /// How many more field classes there may be.
    classes: u64,
    memory: Budget,
}

impl Left {
    fn new(limits: &Limits) -> Self {
        Self { classes: limits.field_classes, memory: Budget::new(limits.description_bytes) }
    }

    /// Takes what a node takes.
    fn take(&mut self, name: Option<&str>, class: &FieldClass, limits: &Limits) -> Result<(), PlanError> {
        self.classes = self.classes.checked_sub(1).ok_or(PlanError::FieldClasses(limits.field_classes))?;
        let (variant, ranges) = match &class.kind {
            FieldKind::Variant { options, .. } => {
                let ranges: usize = options.iter().map(|option| option.ranges.0.len()).sum();
                (allocated(size_of::<VariantOp>()), ranges)
            }
            _ => (0, 0),
        };
        // With its place in the parts of the structure around, and what is found out of it meanwhile.
        let node = size_of::<Node>() + size_of::<Part>() + size_of::<Option<Layout>>() + 16;
        let name = name.map_or(0, |name| allocated(name.len()));
        self.take_memory(node as u64 + name + variant + 48 * ranges as u64, limits)
    }

    fn take_memory(&mut self, bytes: u64, limits: &Limits) -> Result<(), PlanError> {
        if self.memory.take(bytes) { Ok(()) } else { Err(PlanError::Description(limits.description_bytes)) }
    }
}

/// Memory that an event record class takes beside its classes and nodes: its plans, and what readers know of
/// it.
const EVENT_RECORD_CLASS: u64 = size_of::<EventRecordPlans>() as u64 + 200;

/// Why no plan can be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// More field classes than allowed.
    #[error("more than {0} field classes after aliases were expanded")]
    FieldClasses(u64),
    /// It takes more memory than allowed, in bytes.
    #[error(
        "the description takes too much memory: what is compiled of it does not fit into the {0} bytes that are left of the limit"
    )]
    Description(u64),
    /// More fields of one root field may have no bits than allowed.
    #[error("more than {0} fields of one root field may have no bits at all")]
    EmptyFields(u64),
    /// Nested too deeply.
    #[error("field classes nested more than {0} levels deep")]
    Depth(u32),
    /// More values have to be kept for other fields than there are slots.
    #[error("more than {} fields are needed to decode other fields", NO_SLOT)]
    Slots,
    /// Field locations lead through too many classes.
    #[error("finding the fields that others need takes more than {0} steps")]
    Steps(u64),
    /// A field location leads to no fitting field.
    #[error("{}", .0[0])]
    Locations(Vec<LocationProblem>),
    /// What is to be added to the times of this clock puts them out of the range of 64-bit nanoseconds.
    #[error("the offset of the clock `{0}` gets out of range")]
    ClockOffset(String),
}

impl PlanError {
    /// The name of the limit that was reached, a member of [`Limits`]; None if it was none that can be set.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        Some(match self {
            Self::FieldClasses(_) | Self::Steps(_) => "field_classes",
            Self::Description(_) => "description_bytes",
            Self::EmptyFields(_) => "empty_fields",
            Self::Depth(_) => "depth",
            Self::Slots | Self::Locations(_) | Self::ClockOffset(_) => return None,
        })
    }
}

/// The plans of a trace.
#[derive(Debug)]
pub struct TracePlans {
    /// Of packet headers.
    pub packet_header: Option<Plan>,
    /// Of each data stream class, in the order of [`TraceClass::data_streams`].
    pub data_streams: Vec<Arc<DataStreamPlans>>,
    /// What scopes have that there are not.
    pub(crate) nothing: Plan,
}

/// The plans of a data stream class.
#[derive(Debug, Default)]
pub struct DataStreamPlans {
    /// Of packet contexts.
    pub packet_context: Option<Plan>,
    /// Of event record headers.
    pub event_record_header: Option<Plan>,
    /// Of event record common contexts.
    pub common_context: Option<Plan>,
    /// Of what is known of resources; it only has fields, not how to decode them.
    pub resource: Option<Plan>,
    /// Of each event record class, in the order of [`DataStreamClass::event_records`].
    pub event_records: Vec<EventRecordPlans>,
    /// How many values are kept for other fields at once.
    pub slots: usize,
}

/// The plans of an event record class.
#[derive(Debug, Default)]
pub struct EventRecordPlans {
    /// The class.
    pub class: Arc<EventRecordClass>,
    /// Of specific contexts.
    pub specific_context: Option<Plan>,
    /// Of payloads.
    pub payload: Option<Plan>,
    /// The parts of the common context and of these two together, where they are such that can be
    /// joined.
    pub(crate) joined: Option<Box<[Part]>>,
    /// Which of the event record classes of the data stream class this is.
    pub(crate) index: Option<usize>,
}

/// Most fields that all event record classes whose scopes are joined may have together: the common context counts
/// again for each of them.
const JOINED_NODES: usize = 1 << 18;

impl EventRecordPlans {
    /// Which of the event record classes of the data stream class this is; see
    /// [`Event::class_index`](crate::Event::class_index).
    #[inline]
    #[must_use]
    pub fn index(&self) -> Option<usize> {
        self.index
    }
}

/// The tree of a class that depends on nothing that was read.
fn tree_of_format(class: &Option<Arc<FieldClass>>) -> Result<Option<Plan>, PlanError> {
    let limits = Limits::default();
    class.as_ref().map(|class| Plan::tree(class, &mut Left::new(&limits), &limits)).transpose()
}

impl TracePlans {
    /// Compiles a trace class.
    ///
    /// # Errors
    /// If field locations lead to no field that fits (up to 1,000 of them are reported), or if the classes
    /// exceed `limits`.
    pub fn compile(trace: &TraceClass, limits: &Limits) -> Result<Self, PlanError> {
        Self::compile_by_rules(trace, limits, &[]).map(|(plans, _)| plans)
    }

    /// The same, and where field locations do not keep these rules, though all can be decoded: up to 256
    /// such places.
    ///
    /// # Errors
    /// As [`TracePlans::compile`].
    pub fn compile_by_rules(
        trace: &TraceClass,
        limits: &Limits,
        rules: &[LocationRule],
    ) -> Result<(Self, Vec<(LocationRule, LocationProblem)>), PlanError> {
        let mut left = Left::new(limits);
        let tree = |class: &Option<Arc<FieldClass>>, left: &mut Left| {
            class.as_ref().map(|class| Plan::tree(class, left, limits)).transpose()
        };
        let mut packet_header = tree(&trace.packet_header, &mut left)?;
        let mut data_streams: Vec<DataStreamPlans> = Vec::new();
        for class in &trace.data_streams {
            let mut stream = DataStreamPlans {
                packet_context: tree(&class.packet_context, &mut left)?,
                event_record_header: tree(&class.event_record_header, &mut left)?,
                common_context: tree(&class.common_context, &mut left)?,
                // A format has it, not a file: limits are for those.
                resource: tree_of_format(&class.resource)?,
                event_records: Vec::new(),
                slots: 0,
            };
            for (index, class) in class.event_records.iter().enumerate() {
                left.take_memory(EVENT_RECORD_CLASS, limits)?;
                stream.event_records.push(EventRecordPlans {
                    class: Arc::clone(class),
                    index: Some(index),
                    specific_context: tree(&class.specific_context, &mut left)?,
                    payload: tree(&class.payload, &mut left)?,
                    joined: None,
                });
            }
            data_streams.push(stream);
        }
        let broken_rules =
            locate::locate_all(trace, packet_header.as_mut(), &mut data_streams, limits, rules)?;
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
        let nothing = Plan { nodes: Vec::new(), fixed: None, skip_steps: None };
        Ok((Self { packet_header, data_streams, nothing }, broken_rules))
    }

    /// How many values are kept at most for other fields.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.data_streams.iter().map(|stream| stream.slots).max().unwrap_or(0)
    }
}

/// The root class of a scope, for those who show classes rather than decode.
#[must_use]
pub fn scope_class<'a>(
    scope: Scope,
    trace: &'a TraceClass,
    stream: &'a DataStreamClass,
    event: Option<&'a EventRecordClass>,
) -> Option<&'a Arc<FieldClass>> {
    match scope {
        Scope::PacketHeader => trace.packet_header.as_ref(),
        Scope::PacketContext => stream.packet_context.as_ref(),
        Scope::EventRecordHeader => stream.event_record_header.as_ref(),
        Scope::CommonContext => stream.common_context.as_ref(),
        Scope::SpecificContext => event?.specific_context.as_ref(),
        Scope::Payload => event?.payload.as_ref(),
        Scope::Resource => stream.resource.as_ref(),
    }
}
