//! Decode plans: a root field class, compiled once into what decoding it takes.
//!
//! A plan is a tree of [nodes](Node), one for each field class of the expanded root class.
//! Consecutive members of a structure whose layout is fixed are joined into *runs*, so that
//! getting past them is one comparison and reading them needs no arithmetic. A field that another
//! one needs (a length, a selector) saves its value in a *slot*; which slot is found out here,
//! once, from the [field locations](crate::FieldLocation).

use std::sync::Arc;

use crate::bits::Word;
use crate::locate::{self, LocationProblem};
use crate::selectors::Selectors;
use crate::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, Field, FieldClass, FieldKind, Length, Limits,
    RangeSet, Roles, Scope, StringEncoding, StringLength, TraceClass, VariableLengthValue,
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
    /// Slots that take the value.
    pub(crate) saves: Vec<Slot>,
    /// Slots that become unknown when this field (an optional or a variant) begins.
    pub(crate) clears: Vec<Slot>,
    pub(crate) parent: Option<NodeId>,
    is_option: bool,
}

impl Node {
    /// Alignment of the field in bits.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The slots that take the field's value, because other fields need it.
    #[must_use]
    pub fn saved_in(&self) -> &[u16] {
        &self.saves
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
        !self.saves.is_empty()
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
    StaticBlob(u64),
    DynamicBlob(Slot),
    Structure { members: Vec<NodeId>, parts: Vec<Part> },
    StaticArray { element: NodeId, length: u64, plain: Option<Load> },
    DynamicArray { element: NodeId, length: Slot, plain: Option<Load> },
    Optional { field: NodeId, selector: Slot, ranges: Option<RangeSet> },
    Variant { options: Vec<NodeId>, selectors: Selectors, selector: Slot },
    Union { members: Vec<NodeId> },
    Null,
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
}

/// What variable-length bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableOp {
    Unsigned,
    Signed,
    Boolean,
    BitArray,
}

/// A part of a structure.
#[derive(Debug)]
pub(crate) enum Part {
    Run(Run),
    /// A string of code units of one byte that ends with a zero, and begins at the next byte.
    Text(NodeId),
    /// An array of plain elements whose length is in a slot, and which begins at the next byte.
    Array(NodeId),
    /// A string of code units of one byte whose length is in a slot, and which begins at the next
    /// byte.
    DynamicText(NodeId),
    Field(NodeId),
}

/// Members of fixed size one after the other, with offsets that are fixed from the beginning of
/// the run on. A run begins at a byte.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) alignment: u64,
    /// Size in bits.
    pub(crate) size: u64,
    pub(crate) fields: Box<[RunField]>,
    /// Those of the fields that save their value, themselves or deeper within.
    pub(crate) saving: Box<[RunField]>,
    /// Byte order of the last field, if the run ends within a byte.
    pub(crate) open_byte: Option<ByteOrder>,
}

/// A field of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunField {
    pub(crate) node: NodeId,
    /// The byte of the run that the field begins in.
    pub(crate) byte: u32,
    pub(crate) load: Load,
    /// Where its value is from that byte on.
    pub(crate) word: Word,
    /// Offset in bits from the beginning of the run.
    pub(crate) offset: u64,
}

impl RunField {
    /// The field of a run of `plan` that begins at bit `begin`.
    #[inline(always)]
    pub(crate) fn field<'a>(&self, plan: &'a Plan, begin: u64) -> Field<'a> {
        Field::new(plan, self.node, begin + self.offset, self.word.length())
    }
}

/// How to load a field of a run, or the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Little-endian integers that a [`Word`] has; nothing but the visitor needs the value. These
    /// are what most fields of most traces are.
    Unsigned,
    Signed,
    /// The same, unsigned; one slot takes the value.
    Saved,
    /// Floating-point numbers of 32 and 64 bits, whole bytes, little-endian.
    Real,
    /// Any kind of bits, up to 64 of them at any place.
    Bits,
    /// A string of static length, of code units of one byte.
    Text,
    /// An array of static length, of elements that are whole bytes.
    Array,
    /// Whatever the node says.
    Any,
}

impl Load {
    /// For the field of a node, which begins at bit `bit` of a byte.
    fn of(node: &Node, bits: &Bits, bit: u64) -> Self {
        let is_little = !bits.big_endian || (bits.length == 8 && bit == 0);
        let is_simple = is_little && !bits.reversed && Word::new(bit, bits.length).is_some();
        match (bits.kind, node.saves.len()) {
            _ if bits.length > 64 => Self::Any,
            (BitsKind::Unsigned, 0) if is_simple => Self::Unsigned,
            (BitsKind::Signed, 0) if is_simple => Self::Signed,
            (BitsKind::Unsigned, 1) if is_simple => Self::Saved,
            (BitsKind::Real, 0) if is_simple && bit == 0 && matches!(bits.length, 32 | 64) => Self::Real,
            _ => Self::Bits,
        }
    }
}

/// A compiled root field class.
#[derive(Debug)]
pub struct Plan {
    pub(crate) nodes: Vec<Node>,
    /// Size in bits if it is fixed and nothing has to be saved.
    pub(crate) fixed: Option<u64>,
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

    /// Size in bits of every instance that begins aligned, if it is fixed.
    #[must_use]
    pub fn fixed_size(&self) -> Option<u64> {
        self.fixed
    }

    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Builds the tree of nodes; slots and runs come later.
    pub(crate) fn tree(root: &Arc<FieldClass>, budget: &mut u64, limits: &Limits) -> Result<Self, PlanError> {
        let mut plan = Self { nodes: Vec::new(), fixed: None };
        plan.add(None, root, None, budget, limits.depth, limits)?;
        Ok(plan)
    }

    fn add(
        &mut self,
        name: Option<&str>,
        class: &Arc<FieldClass>,
        parent: Option<NodeId>,
        budget: &mut u64,
        depth: u32,
        limits: &Limits,
    ) -> Result<NodeId, PlanError> {
        *budget = budget.checked_sub(1).ok_or(PlanError::FieldClasses(limits.field_classes))?;
        let depth = depth.checked_sub(1).ok_or(PlanError::Depth(limits.depth))?;
        let id = self.nodes.len() as NodeId;
        self.nodes.push(Node {
            name: name.map(Into::into),
            class: Arc::clone(class),
            roles: class.roles,
            alignment: 1,
            op: Op::Null,
            saves: Vec::new(),
            clears: Vec::new(),
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
                    Length::Static(length) => Op::StaticArray { element, length: *length, plain: None },
                    Length::Dynamic(_) => Op::DynamicArray { element, length: NO_SLOT, plain: None },
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
                Op::Variant { options: nodes, selectors, selector: NO_SLOT }
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
            | Op::Optional { selector: place, .. }
            | Op::Variant { selector: place, .. } => *place = slot,
            _ => {}
        }
    }

    /// Has the node save its value, and the optionals and variants around it forget an old one.
    pub(crate) fn save(&mut self, id: NodeId, slot: Slot) {
        self.nodes[id as usize].saves.push(slot);
        let mut parent = self.nodes[id as usize].parent;
        while let Some(id) = parent {
            let node = &mut self.nodes[id as usize];
            if matches!(node.op, Op::Optional { .. } | Op::Variant { .. }) && !node.clears.contains(&slot) {
                node.clears.push(slot);
            }
            parent = node.parent;
        }
    }

    /// Joins members of fixed layout into runs; the last step of making a plan.
    ///
    /// # Errors
    /// If too many fields may have no bits.
    pub(crate) fn finish(&mut self, limits: &Limits) -> Result<(), PlanError> {
        let count = self.nodes.len();
        for node in &mut self.nodes {
            if let Op::Bits(bits) = &mut node.op {
                bits.saved = !node.saves.is_empty();
            }
        }
        for id in 0..count {
            let found = match self.nodes[id].op {
                Op::StaticArray { element, .. } | Op::DynamicArray { element, .. } => self.plain(element),
                _ => None,
            };
            if let Op::StaticArray { plain, .. } | Op::DynamicArray { plain, .. } = &mut self.nodes[id].op {
                *plain = found;
            }
        }
        // Children come after their parents, so backwards each is known before it is needed.
        let mut layouts: Vec<Option<Layout>> = vec![None; count];
        for id in (0..count).rev() {
            layouts[id] = self.layout(id as NodeId, &layouts);
            if let Op::Structure { members, .. } = &self.nodes[id].op {
                let parts = self.parts(members, self.nodes[id].alignment, &layouts);
                if let Op::Structure { parts: place, .. } = &mut self.nodes[id].op {
                    *place = parts;
                }
            }
        }
        self.fixed = layouts[0].filter(|layout| !layout.saves).map(|layout| layout.size);
        let mut may_be_empty = vec![false; count];
        for id in (0..count).rev() {
            may_be_empty[id] = self.may_be_empty(id as NodeId, &may_be_empty);
        }
        if may_be_empty.iter().filter(|empty| **empty).count() as u64 > limits.empty_fields {
            return Err(PlanError::EmptyFields(limits.empty_fields));
        }
        Ok(())
    }

    /// How to load elements that are whole bytes, follow each other without gaps, and which
    /// nothing but the visitor needs.
    fn plain(&self, element: NodeId) -> Option<Load> {
        let node = self.node(element);
        let Op::Bits(bits) = node.op else { return None };
        let is_plain = matches!(bits.length, 8 | 16 | 32 | 64)
            && node.alignment % 8 == 0
            && node.alignment <= bits.length
            && !bits.saved
            && !bits.reversed;
        is_plain.then(|| Load::of(node, &bits, 0))
    }

    /// How to decode a member of a structure whose layout is not fixed.
    fn part(&self, id: NodeId) -> Part {
        let node = self.node(id);
        match &node.op {
            Op::NullTerminated(StringEncoding::Utf8) if node.alignment == 8 => Part::Text(id),
            Op::DynamicText(StringEncoding::Utf8, _) if node.alignment == 8 => Part::DynamicText(id),
            // Elements may be aligned to more than the array, which may be empty.
            Op::DynamicArray { plain: Some(_), element, .. }
                if node.alignment == 8 && self.node(*element).alignment == 8 =>
            {
                Part::Array(id)
            }
            _ => Part::Field(id),
        }
    }

    /// Whether an instance of the node may have no bits.
    fn may_be_empty(&self, id: NodeId, known: &[bool]) -> bool {
        let is_empty = |id: &NodeId| known[*id as usize];
        match &self.node(id).op {
            Op::Bits(_) | Op::Variable(_) | Op::NullTerminated(_) => false,
            Op::StaticText(_, length) | Op::StaticBlob(length) => *length == 0,
            Op::StaticArray { element, length, .. } => *length == 0 || is_empty(element),
            Op::Structure { members, .. } => members.iter().all(is_empty),
            Op::Variant { options: any, .. } | Op::Union { members: any } => any.iter().any(is_empty),
            Op::DynamicText(..)
            | Op::DynamicBlob(_)
            | Op::DynamicArray { .. }
            | Op::Optional { .. }
            | Op::Null => true,
        }
    }

    /// Layout of the node if every instance that begins aligned has the same.
    fn layout(&self, id: NodeId, layouts: &[Option<Layout>]) -> Option<Layout> {
        let node = self.node(id);
        let saves = !node.saves.is_empty();
        let size = |size: u64| Some(Layout { size, saves, order: Order::Any });
        match &node.op {
            Op::Bits(bits) => {
                let order = if bits.big_endian { ByteOrder::BigEndian } else { ByteOrder::LittleEndian };
                Some(Layout { size: bits.length, saves, order: Order::Only(order) })
            }
            // What need not begin at a byte has to be looked at.
            Op::StaticText(..) if node.alignment % 8 != 0 => None,
            // Whether such a text is sound depends on what it says.
            Op::StaticText(encoding, length) if length % encoding.unit() as u64 != 0 => None,
            Op::StaticText(_, length) | Op::StaticBlob(length) => size(length.checked_mul(8)?),
            Op::Null => size(0),
            Op::Structure { members, .. } => {
                let mut all = Layout { size: 0, saves: false, order: Order::Any };
                for member in members {
                    let member_layout = layouts[*member as usize]?;
                    all.append(member_layout, self.node(*member).alignment)?;
                }
                Some(all)
            }
            Op::StaticArray { element, length, .. } => {
                let layout = layouts[*element as usize]?;
                if *length == 0 {
                    return size(0);
                }
                if layout.size == 0 {
                    // How many elements without bits there may be is a matter of limits.
                    return None;
                }
                let alignment = self.node(*element).alignment;
                if alignment > node.alignment {
                    // How far the first element is from the beginning depends on where that is.
                    return None;
                }
                let stride = align(layout.size, alignment)?;
                let size = stride.checked_mul(*length - 1)?.checked_add(layout.size)?;
                Some(Layout { size, ..layout })
            }
            _ => None,
        }
    }

    fn parts(&self, members: &[NodeId], alignment: u64, layouts: &[Option<Layout>]) -> Vec<Part> {
        let mut parts = Vec::new();
        // What is known of the place where the next member may begin: at the beginning of the
        // structure all that its alignment says, after a field of unknown size nothing.
        let mut known = alignment;
        let mut run: Option<OpenRun> = None;
        let close = |run: &mut Option<OpenRun>, parts: &mut Vec<Part>| {
            if let Some(OpenRun { alignment, fields, saving, layout }) = run.take() {
                let open_byte = match layout.order {
                    Order::Only(order) if layout.size % 8 != 0 => Some(order),
                    _ => None,
                };
                let (fields, saving) = (fields.into(), saving.into());
                parts.push(Part::Run(Run { alignment, size: layout.size, fields, saving, open_byte }));
            }
        };
        for member in members {
            let node = self.node(*member);
            let Some(layout) = layouts[*member as usize] else {
                close(&mut run, &mut parts);
                parts.push(self.part(*member));
                known = 1;
                continue;
            };
            if let Some(open) = &mut run
                && node.alignment <= open.alignment
            {
                let mut joined = open.layout;
                if let Some(offset) = joined.append(layout, node.alignment)
                    && let Some(field) = self.run_field(*member, offset)
                {
                    open.layout = joined;
                    open.fields.push(field);
                    if layout.saves {
                        open.saving.push(field);
                    }
                    continue;
                }
            }
            close(&mut run, &mut parts);
            let begin = known.max(node.alignment);
            known = 1;
            if let Some(field) = self.run_field(*member, 0).filter(|_| begin % 8 == 0) {
                let fields = vec![field];
                let saving = if layout.saves { fields.clone() } else { Vec::new() };
                run = Some(OpenRun { alignment: begin, fields, saving, layout });
            } else {
                parts.push(Part::Field(*member));
            }
        }
        close(&mut run, &mut parts);
        parts
    }

    /// The field of a run; None if it is farther from the beginning than runs are long.
    fn run_field(&self, id: NodeId, offset: u64) -> Option<RunField> {
        let node = self.node(id);
        let (byte, bit) = (u32::try_from(offset / 8).ok()?, offset % 8);
        let (load, length) = match &node.op {
            Op::Bits(bits) => (Load::of(node, bits, bit), bits.length),
            Op::StaticText(StringEncoding::Utf8, _) => (Load::Text, 0),
            Op::StaticArray { plain: Some(_), .. } if bit == 0 => (Load::Array, 0),
            _ => (Load::Any, 0),
        };
        // Where a value is in more than eight bytes, only the first bit counts.
        let word = Word::new(bit, length.clamp(1, 64 - bit))?;
        Some(RunField { node: id, byte, load, word, offset })
    }
}

/// Rounds up to a multiple of a power of two; None if that is beyond all numbers.
#[inline]
#[must_use]
pub fn align(offset: u64, alignment: u64) -> Option<u64> {
    Some(offset.checked_add(alignment - 1)? & !(alignment - 1))
}

/// A fixed layout.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Size in bits.
    size: u64,
    saves: bool,
    order: Order,
}

/// A run that further fields may join.
struct OpenRun {
    alignment: u64,
    fields: Vec<RunField>,
    saving: Vec<RunField>,
    layout: Layout,
}

/// The byte orders that occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// None: the fields have no byte order.
    Any,
    Only(ByteOrder),
    /// Both, never within one byte.
    Both,
}

impl Layout {
    /// Appends a field; gives its offset. None if that is no fixed layout: byte order changes
    /// within a byte (decoding finds out and says so), or the size overflows.
    fn append(&mut self, field: Self, alignment: u64) -> Option<u64> {
        let offset = align(self.size, alignment)?;
        self.order = match (self.order, field.order) {
            (Order::Any, order) | (order, Order::Any) => order,
            (a, b) if a == b && a != Order::Both => a,
            _ if offset % 8 == 0 && self.size % 8 == 0 && field.size % 8 == 0 => Order::Both,
            _ => return None,
        };
        if self.order == Order::Both && (field.size % 8 != 0 || offset % 8 != 0) {
            return None;
        }
        self.size = offset.checked_add(field.size)?;
        self.saves |= field.saves;
        Some(offset)
    }
}

/// Why no plan can be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// More field classes than allowed.
    #[error("more than {0} field classes after aliases were expanded")]
    FieldClasses(u64),
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
}

/// The plans of a trace.
#[derive(Debug)]
pub struct TracePlans {
    /// Of packet headers.
    pub packet_header: Option<Plan>,
    /// Of each data stream class, in the order of [`TraceClass::data_streams`].
    pub data_streams: Vec<DataStreamPlans>,
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
    /// Of each event record class, in the order of [`DataStreamClass::event_records`].
    pub event_records: Vec<EventRecordPlans>,
    /// How many values are kept for other fields at once.
    pub slots: usize,
}

/// The plans of an event record class.
#[derive(Debug, Default)]
pub struct EventRecordPlans {
    /// Of specific contexts.
    pub specific_context: Option<Plan>,
    /// Of payloads.
    pub payload: Option<Plan>,
}

impl TracePlans {
    /// Compiles a trace class.
    ///
    /// # Errors
    /// If a field location leads to no field that fits (all of them are told), or if the classes
    /// exceed `limits`.
    pub fn compile(trace: &TraceClass, limits: &Limits) -> Result<Self, PlanError> {
        let mut budget = limits.field_classes;
        let mut tree = |class: &Option<Arc<FieldClass>>| {
            class.as_ref().map(|class| Plan::tree(class, &mut budget, limits)).transpose()
        };
        let mut plans = Self { packet_header: tree(&trace.packet_header)?, data_streams: Vec::new() };
        for class in &trace.data_streams {
            let mut stream = DataStreamPlans {
                packet_context: tree(&class.packet_context)?,
                event_record_header: tree(&class.event_record_header)?,
                common_context: tree(&class.common_context)?,
                event_records: Vec::new(),
                slots: 0,
            };
            for class in &class.event_records {
                stream.event_records.push(EventRecordPlans {
                    specific_context: tree(&class.specific_context)?,
                    payload: tree(&class.payload)?,
                });
            }
            plans.data_streams.push(stream);
        }
        locate::locate_all(trace, &mut plans, limits)?;
        for stream in &mut plans.data_streams {
            let shared =
                [&mut stream.packet_context, &mut stream.event_record_header, &mut stream.common_context];
            shared.into_iter().flatten().try_for_each(|plan| plan.finish(limits))?;
            for event in &mut stream.event_records {
                [&mut event.specific_context, &mut event.payload]
                    .into_iter()
                    .flatten()
                    .try_for_each(|plan| plan.finish(limits))?;
            }
        }
        if let Some(header) = &mut plans.packet_header {
            header.finish(limits)?;
        }
        Ok(plans)
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
    }
}
