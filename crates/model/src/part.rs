//! What structures are compiled into: their members in order, those of fixed layout joined into
//! runs.

use std::ops::Range;

use crate::bits::Word;
use crate::plan::{Bits, BitsKind, Node, NodeId, Op, Plan, Slot, align};
use crate::{ByteOrder, StringEncoding};

/// A part of a structure.
// With a tag of its own: the compiler would take a byte of a run for it, which is slower to read.
#[derive(Debug)]
#[repr(u8)]
pub(crate) enum Part {
    /// A run that ends with a byte, and with whose fields nothing can be wrong if the packet has
    /// all its bytes.
    Run(Run),
    /// Any other run; and the byte order of its last field, if it ends within a byte.
    OpenRun(Run, Option<ByteOrder>),
    /// A string of code units of one byte that ends with a zero, and begins at the next byte.
    Text(PartNode),
    /// A string of code units of one byte whose length is in a slot, and which begins at the next
    /// byte.
    DynamicText(PartNode, Slot),
    /// A string of code units of one byte that begins with its own length, at the next byte.
    PrefixedText(PartNode, PrefixWord),
    /// An array whose length is in a slot, and which begins at the next byte.
    Array(PartNode, Slot, Elements),
    Field(PartNode),
}

/// The node of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartNode {
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
/// the run on. A run begins at a byte.
#[derive(Debug)]
pub(crate) struct Run {
    /// Alignment in bits.
    pub(crate) alignment: u64,
    /// Size in bits.
    pub(crate) size: u64,
    /// Alignment in bytes, minus one.
    pub(crate) mask: usize,
    /// The whole bytes of the size.
    pub(crate) bytes: usize,
    pub(crate) fields: Box<[RunField]>,
    /// Whether there are bits that are not of `fields`, other than those of alignment.
    pub(crate) has_padding: bool,
    /// Those of the fields that save their value, themselves or deeper within.
    pub(crate) saving: Box<[RunField]>,
    /// What [`Load::Array`] names.
    pub(crate) arrays: Box<[StaticArray]>,
}

/// An array of static length in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StaticArray {
    pub(crate) length: u64,
    /// All elements together.
    pub(crate) bytes: usize,
    pub(crate) elements: Elements,
}

/// A field of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunField {
    pub(crate) node: NodeId,
    /// The byte of the run that the field begins in.
    pub(crate) byte: u32,
    /// Of [`Load::Saved`] the slot, of [`Load::Text`] the length in bytes, of [`Load::Array`] the index
    /// in [`Run::arrays`].
    pub(crate) more: u32,
    pub(crate) load: Load,
    /// Which of the plans that are carried out together has the node.
    pub(crate) plan: u8,
    /// Where its value is from that byte on. Of fields that have no such value, only the bit counts
    /// with which they begin.
    pub(crate) word: Word,
}

impl RunField {
    /// Offset in bits from the beginning of the run.
    #[inline(always)]
    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.byte) * 8 + self.word.bit()
    }
}

/// How to load a field of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Integers like those below that are whole words of one of these sizes: the commonest ones.
    I32,
    U32,
    U64,
    /// Little-endian integers that a [`Word`] has; nothing but the visitor needs the value. These
    /// are what most fields of most traces are.
    Unsigned,
    Signed,
    /// The same, unsigned; one slot takes the value.
    Saved,
    /// Floating-point numbers of 32 and 64 bits, whole bytes, little-endian.
    Real,
    /// A string of static length, of code units of one byte.
    Text,
    /// An array of static length, of elements that are whole bytes.
    Array,
    /// Any kind of bits, up to 64 of them at any place.
    Bits,
    /// Whatever the node says.
    Any,
}

impl Load {
    /// For the field of a node, which begins at bit `bit` of a byte.
    fn of(node: &Node, bits: &Bits, bit: u64) -> Self {
        let is_little = !bits.big_endian || (bits.length == 8 && bit == 0);
        let is_simple = is_little && !bits.reversed && Word::new(bit, bits.length).is_some();
        match (bits.kind, node.saves().len()) {
            _ if bits.length > 64 => Self::Any,
            (BitsKind::Unsigned, 0) if is_simple => Self::Unsigned,
            (BitsKind::Signed, 0) if is_simple => Self::Signed,
            (BitsKind::Unsigned, 1) if is_simple => Self::Saved,
            (BitsKind::Real, 0) if is_simple && bit == 0 && matches!(bits.length, 32 | 64) => Self::Real,
            _ => Self::Bits,
        }
    }

    /// The same for a value that is in a word.
    fn of_word(self, word: Word) -> Self {
        match (self, word.bit(), word.length()) {
            (Self::Signed, 0, 32) => Self::I32,
            (Self::Unsigned, 0, 32) => Self::U32,
            (Self::Unsigned, 0, 64) => Self::U64,
            _ => self,
        }
    }
}

/// The elements of an array, each of them whole bytes, one behind the other without gaps, and
/// needed by nothing but the visitor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    pub(crate) node: NodeId,
    /// Bytes of an element.
    pub(crate) size: u8,
    pub(crate) kind: ElementKind,
}

/// What elements are: little-endian integers, or any kind of bits.
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

impl Plan {
    /// The elements of an array, if they are such [`Elements`].
    pub(crate) fn elements(&self, element: NodeId) -> Option<Elements> {
        let node = self.node(element);
        let Op::Bits(bits) = node.op else { return None };
        let is_plain = matches!(bits.length, 8 | 16 | 32 | 64)
            && node.alignment % 8 == 0
            && node.alignment <= bits.length
            && !bits.saved
            && !bits.reversed
            && bits.kind != BitsKind::Padding;
        let kind = match (Load::of(node, &bits, 0), bits.length) {
            (Load::Unsigned, 8) => ElementKind::U8,
            (Load::Unsigned, 16) => ElementKind::U16,
            (Load::Unsigned, 32) => ElementKind::U32,
            (Load::Unsigned, 64) => ElementKind::U64,
            (Load::Signed, 8) => ElementKind::I8,
            (Load::Signed, 16) => ElementKind::I16,
            (Load::Signed, 32) => ElementKind::I32,
            (Load::Signed, 64) => ElementKind::I64,
            _ => ElementKind::Bits,
        };
        is_plain.then_some(Elements { node: element, size: (bits.length / 8) as u8, kind })
    }

    /// How to decode a member of a structure whose layout is not fixed.
    fn part(&self, node: PartNode) -> Part {
        let id = node.id;
        let field = self.node(id);
        match &field.op {
            Op::NullTerminated(StringEncoding::Utf8) if field.alignment == 8 => Part::Text(node),
            Op::DynamicText(StringEncoding::Utf8, length) if field.alignment == 8 => {
                Part::DynamicText(node, *length)
            }
            Op::PrefixedText(StringEncoding::Utf8, prefix)
                if field.alignment == 8 && !prefix.big_endian && !prefix.reversed && prefix.text % 8 == 0 =>
            {
                match (Word::new(0, prefix.length), u32::try_from(prefix.text / 8)) {
                    (Some(word), Ok(text)) => Part::PrefixedText(node, PrefixWord { word, text }),
                    _ => Part::Field(node),
                }
            }
            // Elements may be aligned to more than the array, which may be empty.
            Op::DynamicArray { elements: Some(elements), length, .. }
                if field.alignment == 8 && self.node(elements.node).alignment == 8 =>
            {
                Part::Array(node, *length, *elements)
            }
            _ => Part::Field(node),
        }
    }

    /// Layout of the node if every instance that begins aligned has the same.
    pub(crate) fn layout(&self, id: NodeId, layouts: &[Option<Layout>]) -> Option<Layout> {
        let node = self.node(id);
        let saves = !node.saves().is_empty();
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

    /// The field of a run; None if it is farther from the beginning than runs are long.
    fn run_field(&self, PartNode { id, plan }: PartNode, offset: u64) -> Option<RunField> {
        let node = self.node(id);
        let (byte, bit) = (u32::try_from(offset / 8).ok()?, offset % 8);
        let (load, length, more) = match &node.op {
            Op::Bits(bits) => {
                let slot = node.saves().first().map_or(0, |slot| u32::from(*slot));
                (Load::of(node, bits, bit), bits.length, slot)
            }
            Op::StaticText(StringEncoding::Utf8, length) => (Load::Text, 0, u32::try_from(*length).ok()?),
            Op::StaticArray { elements: Some(_), .. } if bit == 0 => (Load::Array, 0, 0),
            _ => (Load::Any, 0, 0),
        };
        // Where a value is in more than eight bytes, only the first bit counts.
        let word = Word::new(bit, length.clamp(1, 64 - bit))?;
        Some(RunField { node: id, byte, more, load: load.of_word(word), plan, word })
    }
}

/// A plan, and the layouts of its nodes.
type LaidOut<'a> = (&'a Plan, &'a [Option<Layout>]);

/// The parts of plans that are carried out one behind the other, as one list; with the layouts of their
/// nodes. None if they are not all structures, made of parts that are whole bytes.
pub(crate) fn join(plans: [Option<LaidOut<'_>>; 3]) -> Option<Box<[Part]>> {
    let mut parts = Parts::new(8);
    for (i, (plan, layouts)) in (0..).zip(plans).filter_map(|(i, plan)| Some((i, plan?))) {
        let Op::Structure { members, .. } = &plan.root().op else { return None };
        parts.begin_plan(i, plan.root().alignment);
        members.iter().for_each(|id| parts.add(plan, *id, layouts[*id as usize]));
    }
    let parts = parts.finish();
    let is_sound = |part: &Part| !matches!(part, Part::OpenRun(..) | Part::Field(_));
    parts.iter().all(is_sound).then(|| parts.into())
}

/// A fixed layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Size in bits.
    pub(crate) size: u64,
    /// Whether a value in it is saved.
    pub(crate) saves: bool,
    order: Order,
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

/// Puts the members of a structure together to parts; or those of the structures that several plans
/// are, one behind the other.
#[derive(Default)]
pub(crate) struct Parts {
    parts: Vec<Part>,
    run: Option<OpenRun>,
    /// What is known of the place where the next member may begin: at the beginning of a structure
    /// all that its alignment says, after a field of unknown size nothing.
    known: u64,
    /// Which plan the members are of.
    plan: u8,
}

impl Parts {
    /// Of a structure of this alignment.
    pub(crate) fn new(alignment: u64) -> Self {
        Self { known: alignment, ..Self::default() }
    }

    /// What follows are the members of the structure of this alignment that another plan is.
    pub(crate) fn begin_plan(&mut self, plan: u8, alignment: u64) {
        self.plan = plan;
        let nothing = Layout { size: 0, saves: false, order: Order::Any };
        if let Some(open) = &mut self.run
            && alignment <= open.alignment
            && open.layout.append(nothing, alignment).is_some()
        {
            return;
        }
        self.close();
        self.known = alignment;
        if alignment > 8 {
            self.run = Some(OpenRun::new(alignment, nothing));
        }
    }

    /// Adds a member of `plan`, with its layout if that is fixed.
    pub(crate) fn add(&mut self, plan: &Plan, member: NodeId, layout: Option<Layout>) {
        let node = PartNode { id: member, plan: self.plan };
        let alignment = plan.node(member).alignment;
        let Some(layout) = layout else {
            self.close();
            self.parts.push(plan.part(node));
            self.known = 1;
            return;
        };
        if let Some(open) = &mut self.run
            && alignment <= open.alignment
        {
            let mut joined = open.layout;
            if let Some(offset) = joined.append(layout, alignment)
                && let Some(field) = plan.run_field(node, offset)
            {
                open.layout = joined;
                open.push(plan, field, layout.saves);
                self.known = 1;
                return;
            }
        }
        self.close();
        let begin = self.known.max(alignment);
        self.known = 1;
        if let Some(field) = plan.run_field(node, 0).filter(|_| begin % 8 == 0) {
            self.run.insert(OpenRun::new(begin, layout)).push(plan, field, layout.saves);
        } else {
            self.parts.push(Part::Field(node));
        }
    }

    fn close(&mut self) {
        self.parts.extend(self.run.take().map(OpenRun::close));
    }

    /// All parts.
    pub(crate) fn finish(mut self) -> Vec<Part> {
        self.close();
        self.parts
    }
}

/// A run that further fields may join.
struct OpenRun {
    alignment: u64,
    fields: Vec<RunField>,
    saving: Vec<RunField>,
    arrays: Vec<StaticArray>,
    layout: Layout,
    has_padding: bool,
}

impl OpenRun {
    fn new(alignment: u64, layout: Layout) -> Self {
        let (fields, saving, arrays) = Default::default();
        Self { alignment, fields, saving, arrays, layout, has_padding: false }
    }

    /// Adds a field of a plan.
    fn push(&mut self, plan: &Plan, mut field: RunField, saves: bool) {
        match plan.node(field.node).op {
            // It is only there to be got past.
            Op::Bits(bits) if bits.kind == BitsKind::Padding && !bits.saved => {
                self.has_padding = true;
                return;
            }
            Op::StaticArray { length, elements: Some(elements), .. } if field.load == Load::Array => {
                let size = usize::try_from(length).ok().and_then(|n| n.checked_mul(elements.size.into()));
                match (size, u32::try_from(self.arrays.len())) {
                    (Some(bytes), Ok(index)) => {
                        self.arrays.push(StaticArray { length, bytes, elements });
                        field.more = index;
                    }
                    _ => field.load = Load::Any,
                }
            }
            _ => {}
        }
        self.fields.push(field);
        self.saving.extend(saves.then_some(field));
    }

    fn close(self) -> Part {
        let Layout { size, order, .. } = self.layout;
        let (mask, bytes) = (usize::try_from(self.alignment / 8 - 1), usize::try_from(size / 8));
        let is_sound = size % 8 == 0
            // Of a greater alignment, an offset in the packet could overflow.
            && self.alignment <= 1 << 32
            && bytes.is_ok()
            && self.fields.iter().all(|field| field.load != Load::Any);
        let run = Run {
            alignment: self.alignment,
            size,
            mask: mask.unwrap_or(usize::MAX),
            bytes: bytes.unwrap_or(usize::MAX),
            fields: self.fields.into(),
            has_padding: self.has_padding,
            saving: self.saving.into(),
            arrays: self.arrays.into(),
        };
        match order {
            _ if is_sound => Part::Run(run),
            Order::Only(order) if size % 8 != 0 => Part::OpenRun(run, Some(order)),
            _ => Part::OpenRun(run, None),
        }
    }
}
