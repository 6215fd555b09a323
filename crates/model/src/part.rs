//! What structures are compiled into: their members in order, those of fixed layout joined into
//! runs.

use crate::bits::Word;
use crate::plan::{Bits, BitsKind, Node, NodeId, Op, Plan, Slot, align};
use crate::visitor::Field;
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
    Text(NodeId),
    /// A string of code units of one byte whose length is in a slot, and which begins at the next
    /// byte.
    DynamicText(NodeId, Slot),
    /// An array whose length is in a slot, and which begins at the next byte.
    Array(NodeId, Slot, Elements),
    Field(NodeId),
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
    /// Those of the fields that save their value, themselves or deeper within.
    pub(crate) saving: Box<[RunField]>,
}

/// A field of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunField {
    pub(crate) node: NodeId,
    /// The byte of the run that the field begins in.
    pub(crate) byte: u32,
    /// Of [`Load::Saved`] the slot, of [`Load::Text`] the length in bytes.
    pub(crate) more: u32,
    pub(crate) load: Load,
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

    /// The field of a run of `plan` that begins at bit `begin`.
    #[inline(always)]
    pub(crate) fn field<'a>(&self, plan: &'a Plan, begin: u64) -> Field<'a> {
        Field::new(plan, self.node, begin + self.offset(), self.word.length())
    }
}

/// How to load a field of a run.
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
            && !bits.reversed;
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
    fn part(&self, id: NodeId) -> Part {
        let node = self.node(id);
        match &node.op {
            Op::NullTerminated(StringEncoding::Utf8) if node.alignment == 8 => Part::Text(id),
            Op::DynamicText(StringEncoding::Utf8, length) if node.alignment == 8 => {
                Part::DynamicText(id, *length)
            }
            // Elements may be aligned to more than the array, which may be empty.
            Op::DynamicArray { elements: Some(elements), length, .. }
                if node.alignment == 8 && self.node(elements.node).alignment == 8 =>
            {
                Part::Array(id, *length, *elements)
            }
            _ => Part::Field(id),
        }
    }

    /// Layout of the node if every instance that begins aligned has the same.
    pub(crate) fn layout(&self, id: NodeId, layouts: &[Option<Layout>]) -> Option<Layout> {
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

    /// The parts of a structure of this alignment with these members.
    pub(crate) fn parts(&self, members: &[NodeId], alignment: u64, layouts: &[Option<Layout>]) -> Vec<Part> {
        let mut parts = Vec::new();
        // What is known of the place where the next member may begin: at the beginning of the
        // structure all that its alignment says, after a field of unknown size nothing.
        let mut known = alignment;
        let mut run: Option<OpenRun> = None;
        let close = |run: &mut Option<OpenRun>, parts: &mut Vec<Part>| {
            parts.extend(run.take().map(OpenRun::close));
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
        let (load, length, more) = match &node.op {
            Op::Bits(bits) => {
                let slot = node.saves.first().map_or(0, |slot| u32::from(*slot));
                (Load::of(node, bits, bit), bits.length, slot)
            }
            Op::StaticText(StringEncoding::Utf8, length) => (Load::Text, 0, u32::try_from(*length).ok()?),
            Op::StaticArray { elements: Some(_), .. } if bit == 0 => (Load::Array, 0, 0),
            _ => (Load::Any, 0, 0),
        };
        // Where a value is in more than eight bytes, only the first bit counts.
        let word = Word::new(bit, length.clamp(1, 64 - bit))?;
        Some(RunField { node: id, byte, more, load, word })
    }
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

/// A run that further fields may join.
struct OpenRun {
    alignment: u64,
    fields: Vec<RunField>,
    saving: Vec<RunField>,
    layout: Layout,
}

impl OpenRun {
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
            saving: self.saving.into(),
        };
        match order {
            _ if is_sound => Part::Run(run),
            Order::Only(order) if size % 8 != 0 => Part::OpenRun(run, Some(order)),
            _ => Part::OpenRun(run, None),
        }
    }
}
