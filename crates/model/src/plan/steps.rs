//! The steps that plans are made of.

use std::ops::Range;
use std::sync::Arc;

use crate::bits::Word;
use crate::{ByteOrder, FieldClass, RangeSet, Roles, Selectors, StringEncoding};

/// Number of a saved value.
pub(crate) type Slot = u16;

/// Index of a node in its plan; the root is 0, children come after their parents.
pub(crate) type NodeId = u32;

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
    pub(super) links: Option<Box<Links>>,
    pub(crate) parent: Option<NodeId>,
    pub(super) is_option: bool,
}

/// The slots that a field is about.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Those that take the value.
    pub(super) saves: Vec<Slot>,
    /// Those that become unknown when this field (an optional or a variant) begins.
    pub(super) clears: Vec<Slot>,
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
    /// The slot that the length of the field is in, if another field says it.
    #[must_use]
    pub fn length_slot(&self) -> Option<u16> {
        match self.op {
            Op::DynamicText(_, slot) | Op::DynamicBlob(slot) | Op::DynamicArray { length: slot, .. } => {
                Some(slot)
            }
            _ => None,
        }
    }

    /// The slot that the selector of the field is in, if it is an optional or a variant with one selector.
    #[must_use]
    pub fn selector_slot(&self) -> Option<u16> {
        match &self.op {
            Op::Optional { selector, .. } => Some(*selector),
            Op::Variant(variant) if variant.choices.is_empty() => Some(variant.selector),
            _ => None,
        }
    }

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
    /// In the layout of [`FieldKind::Guid`](crate::FieldKind::Guid).
    Guid,
    Structure {
        members: Vec<NodeId>,
        steps: Vec<Step>,
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
    /// Size in bits if it is fixed and nothing has to be saved. Without it: count +230 %, pretty +35 %,
    /// null +25 %.
    pub(crate) fixed: Option<u64>,
    /// The way past an instance, where it takes no more than such steps.
    pub(crate) skip_steps: Option<SkipSteps>,
}

impl Plan {
    /// The node of the root field.
    #[must_use]
    pub fn root(&self) -> &Node {
        // A plan is never made without a root.
        &self.nodes[0]
    }

    /// The steps of the root field if they take whole bytes only, from any byte on.
    #[inline]
    pub(crate) fn byte_steps(&self) -> Option<&[Step]> {
        let skip_steps = self.skip_steps.as_ref()?;
        match &self.root().op {
            Op::Structure { steps, .. } if skip_steps.alignment <= 8 => Some(steps),
            _ => None,
        }
    }

    /// Returns `true` if a node is an unsigned integer of fixed length of up to 64 bits.
    #[inline]
    pub(crate) fn is_unsigned(&self, id: NodeId) -> bool {
        matches!(&self.node(id).op, Op::Bits(bits) if bits.kind == BitsKind::Unsigned && bits.length <= 64)
    }

    /// Returns `true` if a node is padding, which has no value.
    pub(crate) fn is_padding(&self, id: NodeId) -> bool {
        matches!(&self.node(id).op, Op::Bits(bits) if bits.kind == BitsKind::Padding)
    }

    /// The nodes in the order their classes were declared: the root, then each field before those
    /// within it.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter()
    }

    /// The node of this index, in the order of [`Plan::nodes`].
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    /// Which of [`Plan::nodes`] are directly within the one of this index: the members of a structure or a
    /// union, the elements of an array (one node for all of them), the field of an optional, the options of a
    /// variant. None for any other.
    pub fn children(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let (one, several): (Option<NodeId>, &[NodeId]) = match self.nodes.get(index).map(|node| &node.op) {
            Some(Op::Structure { members, .. } | Op::Union { members }) => (None, members),
            Some(Op::StaticArray { element, .. } | Op::DynamicArray { element, .. }) => (Some(*element), &[]),
            Some(Op::Optional { field, .. }) => (Some(*field), &[]),
            Some(Op::Variant(variant)) => (None, &variant.options),
            _ => (None, &[]),
        };
        one.into_iter().chain(several.iter().copied()).map(|id| id as usize)
    }

    /// Which of [`Plan::nodes`] are the one of this index and all that is within it; none if there is no such node.
    #[must_use]
    pub fn within(&self, index: usize) -> Range<usize> {
        let mut last = index;
        while let Some(child) = self.children(last).last() {
            last = child;
        }
        index..if index < self.nodes.len() { last + 1 } else { index }
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

    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// "member `a`, member `b`" of the members that lead to a node.
    pub(crate) fn path_names(&self, id: NodeId) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = Some(id);
        while let Some(id) = at {
            let node = self.node(id);
            if let Some(name) = &node.name {
                names.push(format!("{} `{name}`", if node.is_option { "option" } else { "member" }));
            }
            at = node.parent;
        }
        names.reverse();
        names
    }
}

/// A step of decoding a structure: one of its members, or several of them.
// With a tag of its own: the compiler would take a byte of a block for it, which is slower to read.
#[derive(Debug)]
#[repr(u8)]
pub(crate) enum Step {
    /// Members of fixed layout which end with a byte, and with which nothing can be wrong if the packet
    /// has all their bytes. Without blocks: null +154 %, count +228 %, log-null +252 %, log +54 %,
    /// pretty +26 %.
    Block(FixedBlock),
    /// Any other members of fixed layout; and the byte order of the last one, if it ends within a byte.
    /// Without it: `cargo bench -p ichnos-model -- lttng-header` executes 5 % more instructions.
    MixedBlock(FixedBlock, Option<ByteOrder>),
    /// A string of code units of one byte that ends with a zero, and begins at the next byte. Without it:
    /// null +26 %, count +107 %, pretty +6 %.
    Text(NodeRef),
    /// The same with code units of two bytes. Without it: `cargo bench -p ichnos-model -- wide-strings` takes
    /// 57 % longer to visit them, and 2.4 times as long to skip them.
    Utf16Text(NodeRef, StringEncoding),
    /// A string of code units of one byte whose length is in a slot, and which begins at the next
    /// byte. Without it: null +28 %, count +109 %, pretty +6 %.
    DynamicText(NodeRef, Slot),
    /// A string of code units of one byte that begins with its own length, at the next byte. Without it:
    /// log-null +78 %, log +7 %.
    PrefixedText(NodeRef, PrefixWord),
    /// An array whose length is in a slot, and which begins at the next byte. Without it: null +27 %,
    /// count +111 %, pretty +6 %.
    Array(NodeRef, Slot, Elements),
    /// Any other member: decoded as its node says.
    Field(NodeRef),
}

/// The node of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeRef {
    pub(crate) id: NodeId,
    /// Which of the plans that are carried out together has the node.
    pub(crate) plan: u8,
}

/// A length of whole or partial bytes, little-endian, from a byte on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrefixWord {
    pub(crate) word: Word,
    /// Bytes from the beginning of the length to that of the text.
    pub(crate) text: u32,
}

impl PrefixWord {
    /// Where the text is whose length is at byte `at`, if all of it is there.
    #[inline(always)]
    pub(crate) fn content(self, bytes: &[u8], at: usize) -> Option<Range<usize>> {
        let length = usize::try_from(self.word.unsigned(bytes, at)).ok()?;
        let begin = at.checked_add(self.text as usize)?;
        let end = begin.checked_add(length)?;
        (end <= bytes.len()).then_some(begin..end)
    }
}

/// Members of fixed size one after the other, with offsets that are fixed from the beginning of
/// the block on. A block begins at a byte.
#[derive(Debug)]
pub(crate) struct FixedBlock {
    /// Alignment in bits.
    pub(crate) alignment: u64,
    /// Size in bits.
    pub(crate) size: u64,
    /// Alignment in bytes, minus one.
    pub(crate) mask: usize,
    /// The whole bytes of the size.
    pub(crate) bytes: usize,
    pub(crate) fields: Box<[BlockField]>,
    /// Whether there are bits that are not of `fields`, other than those of alignment.
    pub(crate) has_padding: bool,
    /// Those of the fields that save their value, themselves or deeper within.
    pub(crate) saving: Box<[BlockField]>,
    /// What [`Load::Array`] names.
    pub(crate) arrays: Box<[StaticArray]>,
}

/// An array of static length in a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StaticArray {
    pub(crate) length: u64,
    /// All elements together.
    pub(crate) bytes: usize,
    pub(crate) elements: Elements,
}

/// A field of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockField {
    pub(crate) node: NodeId,
    /// The byte of the block that the field begins in.
    pub(crate) byte: u32,
    /// Of [`Load::Saved`] the slot, of [`Load::Text`] the length in bytes, of [`Load::Array`] the index
    /// in [`FixedBlock::arrays`].
    pub(crate) more: u32,
    pub(crate) load: Load,
    /// Which of the plans that are carried out together has the node.
    pub(crate) plan: u8,
    /// Where its value is from that byte on. Of fields that have no such value, only the bit counts
    /// with which they begin.
    pub(crate) word: Word,
}

impl BlockField {
    /// Offset in bits from the beginning of the block.
    #[inline(always)]
    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.byte) * 8 + self.word.bit()
    }
}

/// How to load a field of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Integers like those below that are whole words of one of these sizes: the commonest ones. Without
    /// them: log-null +1.8 %, null +1.1 %.
    I32,
    U32,
    U64,
    /// Little-endian integers that a [`Word`] has; nothing but the visitor needs the value. These
    /// are what most fields of most traces are. Without them and those above: null +68 %,
    /// log-null +60 %, jsonl +15 %, log +14 %.
    Unsigned,
    Signed,
    /// The same, unsigned; one slot takes the value. Without it: count +115 %, null +24 %, pretty +7 %.
    Saved,
    /// Floating-point numbers of 32 and 64 bits, whole bytes, little-endian. Without it: null +3.7 %,
    /// jsonl +1.1 %.
    Real,
    /// A string of static length, of code units of one byte. Without it: null +47 %.
    Text,
    /// An array of static length, of elements that are whole bytes. Without it: count +100 %,
    /// null +27 %, pretty +6 %.
    Array,
    /// A GUID, from a byte on.
    Guid,
    /// Any kind of bits, up to 64 of them at any offset.
    Bits,
    /// Whatever the node says.
    Any,
}

/// The elements of an array, each of them whole bytes, one behind the other without gaps, and
/// needed by nothing but the visitor. Without them: count +144 %, null +61 %, pretty +16 %.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    pub(crate) node: NodeId,
    /// Bytes of an element.
    pub(crate) size: u8,
    pub(crate) kind: ElementKind,
}

/// What elements are: little-endian integers, or any kind of bits. If all are any kind of bits: null +24 %,
/// jsonl +9 %, pretty +8 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementKind {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    Bits,
}

/// A step on the way past a structure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SkipStep {
    /// Fields of fixed layout.
    Block(Extent),
    /// The same, and one of them is a length, which is saved: the number of elements, or of bytes of a
    /// text, that follow.
    Counted { block: Extent, length: SavedWord, size: usize },
    /// The same, but what needs it is elsewhere.
    Saving { block: Extent, value: SavedWord },
    /// A text that ends with a zero.
    Text,
    /// A text of code units of two bytes that ends with a zero.
    Utf16Text,
    /// A text that begins with its length.
    PrefixedText(PrefixWord),
}

/// Where fields of fixed layout end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Alignment in bytes, minus one.
    pub(crate) mask: usize,
    pub(crate) bytes: usize,
}

/// A value in a block that is saved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedWord {
    pub(crate) byte: usize,
    pub(crate) word: Word,
    pub(crate) slot: Slot,
}

/// The steps on the way past an instance of a plan. Without them: count +91 %, null +9 %, jsonl +3 %.
#[derive(Debug)]
pub(crate) struct SkipSteps {
    /// Alignment in bits.
    pub(crate) alignment: u64,
    pub(crate) steps: Box<[SkipStep]>,
}

/// Rounds up to a multiple of a power of two; None if that is beyond all numbers.
#[inline]
#[must_use]
pub fn align(offset: u64, alignment: u64) -> Option<u64> {
    Some(offset.checked_add(alignment - 1)? & !(alignment - 1))
}
