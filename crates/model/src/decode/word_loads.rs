//! Loads selected values without a visitor, for outputs with a column for each field.

use std::ops::Range;

use super::bytewise::{Bytewise, Plans, static_text};
use super::slots::Slots;
use crate::bits::Word;
use crate::class::Scope;
use crate::event::Event;
use crate::field::{Field, Skip, Text, Visitor};
use crate::plan::steps::{BitsKind, BlockField, ElementKind, FixedBlock, Load, NodeRef, Op, Step};

/// Scopes of joined steps, by plan number.
const SCOPES: [Scope; 3] = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];

/// Maximum size of a block whose fields are loaded together, in bytes.
const MOST_BLOCK_BYTES: usize = 4 << 10;

/// Treatment of a field in [`WordLoads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordChoice {
    /// Load the value with this tag, if it is a number with up to 64 bits at a fixed place, a text with one-byte code
    /// units, or an array of little-endian integers with 8, 16, 32 or 64 bits. Otherwise, the visitor receives the
    /// field.
    Word(u32),
    /// Pass the field to the visitor.
    Visit,
    /// Skip the field.
    Skip,
}

/// Receives the event fields read with [`WordLoads`].
///
/// # For implementations
/// The methods for tagged fields are called in any order within a scope, before or after [`Visitor`] methods for other
/// fields.
pub trait WordVisitor: Visitor {
    /// Begins fields of a scope, for [`Visitor`] methods. A scope can begin several times.
    fn begin_scope(&mut self, scope: Scope);

    /// Receives the bytes of a block in [`WordLoads::blocks`]. A [`FieldLoad`] finds its value in them.
    fn block(&mut self, block: usize, bytes: &[u8]);

    /// Receives a tagged text whose place or length varies.
    fn tagged_text(&mut self, tag: u32, value: Text<'_>);

    /// Receives a tagged array whose place or length varies, as little-endian elements of `size` bytes each.
    fn tagged_integers(&mut self, tag: u32, size: usize, bytes: &[u8]);
}

/// Loads for the common context, the specific context and the payload of a class's events, created once.
#[derive(Debug)]
pub struct WordLoads {
    /// Loads by step.
    steps: Box<[StepLoads]>,
    blocks: Box<[BlockLoads]>,
}

/// Loads in a step.
#[derive(Debug)]
enum StepLoads {
    /// Block in [`WordLoads::blocks`] if it has tagged fields, and the fields for the visitor.
    Block(Option<usize>, Box<[BlockField]>),
    Tagged(u32),
    Visited(Scope),
    Skipped,
}

/// Tagged fields at fixed places in consecutive bytes of an event.
#[derive(Debug)]
pub struct BlockLoads {
    /// Bytes that contain the fields.
    bytes: Range<usize>,
    fields: Box<[FieldLoad]>,
}

impl BlockLoads {
    /// Returns the number of bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the fields.
    #[must_use]
    pub fn fields(&self) -> &[FieldLoad] {
        &self.fields
    }
}

/// Tagged field at a fixed place.
#[derive(Clone, Copy, Debug)]
pub struct FieldLoad {
    tag: u32,
    /// First byte of the field within the bytes of its block.
    byte: usize,
    /// Number of bytes from the first byte on.
    size: usize,
    kind: LoadKind,
}

#[derive(Clone, Copy, Debug)]
enum LoadKind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    BigU16,
    BigI16,
    BigU32,
    BigI32,
    BigU64,
    BigI64,
    Unsigned(Word),
    Signed(Word),
    Text,
    /// Integers with this number of bytes.
    Integers(usize),
}

impl FieldLoad {
    /// Returns the load for a field, if there is one.
    fn new<'a>(tag: u32, plans: impl Plans<'a>, block: &FixedBlock, field: &BlockField) -> Option<Self> {
        let (size, kind) = match field.load {
            Load::U32 | Load::U64 | Load::Unsigned | Load::Saved | Load::Real => of_word(field.word, false),
            Load::I32 | Load::Signed => of_word(field.word, true),
            Load::Text => (field.more as usize, LoadKind::Text),
            Load::Array => {
                let array = block.arrays.get(field.more as usize)?;
                if array.elements.kind == ElementKind::Bits {
                    return None;
                }
                (array.bytes, LoadKind::Integers(array.elements.size.into()))
            }
            Load::BigUnsigned | Load::BigSaved => of_big_word(field.word, false)?,
            Load::BigSigned => of_big_word(field.word, true)?,
            Load::Bits => {
                let Op::Bits(bits) = plans.get(field.plan).node(field.node).op else { return None };
                let is_real = bits.kind == BitsKind::Real && matches!(bits.length, 32 | 64);
                if !is_real || !bits.big_endian || bits.reversed || field.word.bit() != 0 {
                    return None;
                }
                of_big_word(field.word, false)?
            }
            Load::Guid | Load::Any => return None,
        };
        Some(Self { tag, byte: field.byte as usize, size, kind })
    }

    /// Returns the tag.
    #[must_use]
    pub fn tag(&self) -> u32 {
        self.tag
    }

    /// Returns `true` if negative numbers are possible.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        use LoadKind::{BigI16, BigI32, BigI64, I8, I16, I32, Signed};
        matches!(self.kind, I8 | I16 | I32 | BigI16 | BigI32 | BigI64 | Signed(_))
    }

    /// Returns the number of bytes in each element, if the field is an array.
    #[must_use]
    pub fn element_size(&self) -> Option<usize> {
        match self.kind {
            LoadKind::Integers(size) => Some(size),
            _ => None,
        }
    }

    /// Returns the number of bytes from the first byte of the field on.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns `true` if the field is a text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self.kind, LoadKind::Text)
    }

    /// Appends the number in each block as 64 bits: an unsigned integer, a signed integer in two's complement, or the
    /// bits of a floating-point number. `blocks` consists of whole blocks with `size` bytes each.
    pub fn append_words(&self, blocks: &[u8], size: usize, words: &mut Vec<u64>) {
        let blocks = blocks.chunks_exact(size);
        macro_rules! append {
            ($type:ty, $from:ident) => {
                words.extend(blocks.map(|block| {
                    let value = block.get(self.byte..).and_then(|bytes| bytes.first_chunk());
                    value.map_or(0, |value| <$type>::$from(*value) as u64)
                }))
            };
        }
        match self.kind {
            LoadKind::U8 => append!(u8, from_le_bytes),
            LoadKind::I8 => append!(i8, from_le_bytes),
            LoadKind::U16 => append!(u16, from_le_bytes),
            LoadKind::I16 => append!(i16, from_le_bytes),
            LoadKind::U32 => append!(u32, from_le_bytes),
            LoadKind::I32 => append!(i32, from_le_bytes),
            LoadKind::U64 => append!(u64, from_le_bytes),
            LoadKind::BigU16 => append!(u16, from_be_bytes),
            LoadKind::BigI16 => append!(i16, from_be_bytes),
            LoadKind::BigU32 => append!(u32, from_be_bytes),
            LoadKind::BigI32 => append!(i32, from_be_bytes),
            LoadKind::BigU64 => append!(u64, from_be_bytes),
            LoadKind::BigI64 => append!(i64, from_be_bytes),
            LoadKind::Unsigned(word) => words.extend(blocks.map(|block| word.unsigned(block, self.byte))),
            LoadKind::Signed(word) => words.extend(blocks.map(|block| word.signed(block, self.byte) as u64)),
            LoadKind::Text | LoadKind::Integers(_) => {}
        }
    }

    /// Returns the bytes of the field in each block. `blocks` consists of whole blocks with `size` bytes each.
    #[inline]
    pub fn bytes<'b>(&self, blocks: &'b [u8], size: usize) -> impl Iterator<Item = &'b [u8]> {
        let range = self.byte..self.byte + self.size;
        blocks.chunks_exact(size).map(move |block| block.get(range.clone()).unwrap_or_default())
    }

    /// Returns the text in each block. `blocks` consists of whole blocks with `size` bytes each.
    #[inline]
    pub fn texts<'b>(&self, blocks: &'b [u8], size: usize) -> impl Iterator<Item = Text<'b>> {
        self.bytes(blocks, size).map(static_text)
    }
}

/// Returns the number of bytes and the load for a little-endian number.
fn of_word(word: Word, signed: bool) -> (usize, LoadKind) {
    let kind = match (word.bit(), word.length(), signed) {
        (0, 8, false) => LoadKind::U8,
        (0, 8, true) => LoadKind::I8,
        (0, 16, false) => LoadKind::U16,
        (0, 16, true) => LoadKind::I16,
        (0, 32, false) => LoadKind::U32,
        (0, 32, true) => LoadKind::I32,
        (0, 64, false) => LoadKind::U64,
        (_, _, false) => LoadKind::Unsigned(word),
        (_, _, true) => LoadKind::Signed(word),
    };
    ((word.bit() + word.length()).div_ceil(8) as usize, kind)
}

/// Returns the number of bytes and the load for a big-endian number of whole bytes.
fn of_big_word(word: Word, signed: bool) -> Option<(usize, LoadKind)> {
    let kind = match (word.length(), signed) {
        (16, false) => LoadKind::BigU16,
        (16, true) => LoadKind::BigI16,
        (32, false) => LoadKind::BigU32,
        (32, true) => LoadKind::BigI32,
        (64, false) => LoadKind::BigU64,
        (64, true) => LoadKind::BigI64,
        _ => return None,
    };
    Some((word.length() as usize / 8, kind))
}

impl WordLoads {
    /// Creates the loads for an event's class. `choose` receives each field's scope and its node index in
    /// [`Plan::nodes`](crate::plan::Plan::nodes). `None` if events of the class can only be visited.
    pub fn new(event: &Event<'_>, choose: impl FnMut(Scope, usize) -> WordChoice) -> Option<Self> {
        event.class_index()?;
        let mut builder = LoadsBuilder { event, choose, blocks: Vec::new() };
        let steps = event.plans.joined.as_deref()?.iter();
        let steps = steps.map(|step| builder.step(step)).collect::<Option<_>>()?;
        Some(Self { steps, blocks: builder.blocks.into() })
    }

    /// Returns `true` if [blocks](Self::blocks) contain all values.
    #[must_use]
    pub fn has_only_blocks(&self) -> bool {
        self.steps.iter().all(|step| match step {
            StepLoads::Block(_, visited) => visited.is_empty(),
            StepLoads::Tagged(_) | StepLoads::Visited(_) => false,
            StepLoads::Skipped => true,
        })
    }

    /// Returns the blocks with tagged fields. An event has each of them.
    #[must_use]
    pub fn blocks(&self) -> &[BlockLoads] {
        &self.blocks
    }
}

/// Creates the loads for a class.
struct LoadsBuilder<'e, F> {
    event: &'e Event<'e>,
    choose: F,
    blocks: Vec<BlockLoads>,
}

impl<F: FnMut(Scope, usize) -> WordChoice> LoadsBuilder<'_, F> {
    /// Returns the scope of a field, and its treatment.
    fn choice(&mut self, node: NodeRef) -> Option<(Scope, WordChoice)> {
        let scope = SCOPES.get(usize::from(node.plan)).copied()?;
        Some((scope, (self.choose)(scope, node.id as usize)))
    }

    fn step(&mut self, step: &Step) -> Option<StepLoads> {
        let (node, can_be_tagged) = match step {
            Step::Block(block) => return self.block(block),
            Step::Text(node) | Step::DynamicText(node, _) | Step::PrefixedText(node, _) => (node, true),
            Step::Array(node, _, elements) => (node, elements.kind != ElementKind::Bits),
            Step::Utf16Text(node, _) | Step::Field(node) => (node, false),
            Step::MixedBlock(..) => return None,
        };
        Some(match self.choice(*node)? {
            (_, WordChoice::Skip) => StepLoads::Skipped,
            (_, WordChoice::Word(tag)) if can_be_tagged => StepLoads::Tagged(tag),
            (scope, _) => StepLoads::Visited(scope),
        })
    }

    fn block(&mut self, block: &FixedBlock) -> Option<StepLoads> {
        let (mut loads, mut visited) = (Vec::new(), Vec::new());
        for field in &block.fields {
            let (_, choice) = self.choice(NodeRef { id: field.node, plan: field.plan })?;
            let load = match choice {
                WordChoice::Skip => continue,
                WordChoice::Word(tag) if block.bytes <= MOST_BLOCK_BYTES => {
                    FieldLoad::new(tag, self.event, block, field)
                }
                _ => None,
            };
            match load {
                Some(load) => loads.push(load),
                None => visited.push(*field),
            }
        }
        // An empty text or array takes no bytes.
        let begin = loads.iter().map(|load| load.byte).min().unwrap_or(0);
        let end = loads.iter().map(|load| load.byte + load.size).max().unwrap_or(0);
        if begin == end {
            visited = block.fields.iter().filter(|field| self.is_visited(field)).copied().collect();
            return Some(StepLoads::Block(None, visited.into()));
        }
        loads.iter_mut().for_each(|load| load.byte -= begin);
        self.blocks.push(BlockLoads { bytes: begin..end, fields: loads.into() });
        Some(StepLoads::Block(Some(self.blocks.len() - 1), visited.into()))
    }

    fn is_visited(&mut self, field: &BlockField) -> bool {
        let choice = self.choice(NodeRef { id: field.node, plan: field.plan });
        choice.is_some_and(|(_, choice)| choice != WordChoice::Skip)
    }
}

/// Passes a tagged text or array to a visitor.
struct TaggedVisitor<'v, V> {
    visitor: &'v mut V,
    tag: u32,
}

impl<V: WordVisitor> Visitor for TaggedVisitor<'_, V> {
    #[inline(always)]
    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        self.visitor.tagged_text(self.tag, value);
    }

    #[inline(always)]
    fn integers(&mut self, _: Field<'_>, size: usize, bytes: &[u8]) -> bool {
        self.visitor.tagged_integers(self.tag, size, bytes);
        true
    }
}

impl WordLoads {
    /// Reads the fields of a block that starts at byte `begin`. `bytes` contains all of it.
    #[inline(always)]
    fn read_block<'a, P: Plans<'a>, V: WordVisitor>(
        &self,
        (index, visited): (Option<usize>, &[BlockField]),
        bytewise: &Bytewise<'a, P>,
        block: &'a FixedBlock,
        (begin, bytes): (usize, &'a [u8]),
        visitor: &mut V,
    ) {
        if let Some(index) = index
            && let Some(loads) = self.blocks.get(index)
        {
            visitor.block(index, bytes.get(loads.bytes.clone()).unwrap_or_default());
        }
        let begin = begin as u64 * 8;
        for field in &block.saving {
            bytewise.other_field(&mut Skip, block, field, begin, bytes);
        }
        for field in visited {
            if let Some(scope) = SCOPES.get(usize::from(field.plan)) {
                visitor.begin_scope(*scope);
            }
            let others = bytewise.plain_fields(visitor, std::slice::from_ref(field), begin, bytes);
            if let Some(field) = others.first() {
                bytewise.other_field(visitor, block, field, begin, bytes);
            }
        }
    }

    /// Reads the joined steps of an event record from byte `begin` on. Returns `false` if they do not fit.
    #[inline(always)]
    fn read<'a, V: WordVisitor>(
        &self,
        steps: &'a [Step],
        bytewise: Bytewise<'a, &'a Event<'a>>,
        begin: usize,
        visitor: &mut V,
    ) -> bool {
        let mut at = begin;
        for (step, loads) in steps.iter().zip(&self.steps) {
            let after = match (step, loads) {
                (Step::Block(block), StepLoads::Block(index, visited)) => {
                    at = (at + block.mask) & !block.mask;
                    let bytes = bytewise.bytes.get(at..).filter(|bytes| bytes.len() >= block.bytes);
                    bytes.map(|bytes| {
                        self.read_block((*index, visited), &bytewise, block, (at, bytes), visitor);
                        at + block.bytes
                    })
                }
                (_, StepLoads::Tagged(tag)) => {
                    bytewise.step(&mut TaggedVisitor { visitor: &mut *visitor, tag: *tag }, step, at)
                }
                (_, StepLoads::Visited(scope)) => {
                    visitor.begin_scope(*scope);
                    bytewise.step(visitor, step, at)
                }
                (_, StepLoads::Skipped | StepLoads::Block(..)) => bytewise.step(&mut Skip, step, at),
            };
            match after {
                Some(after) => at = after,
                None => return false,
            }
        }
        true
    }
}

impl Event<'_> {
    /// Reads the wanted fields of the common context, the specific context and the payload. `loads` must belong to the
    /// class of the event. `None` if the event can only be visited. `false` if its data has changed since it was
    /// delivered, so some fields are missing.
    #[inline]
    pub fn read_words<V: WordVisitor>(&self, loads: &WordLoads, visitor: &mut V) -> Option<bool> {
        let steps = self.plans.joined.as_deref().filter(|steps| steps.len() == loads.steps.len())?;
        if self.scopes.values.is_some_and(|values| SCOPES.into_iter().any(|scope| values.has(scope))) {
            return None;
        }
        let begin = self.scopes.begins.get(Scope::CommonContext as usize)?.bit.wrapping_add(7) / 8;
        let slots: &Slots = self.scopes.slots;
        let bytewise = Bytewise { bytes: self.scopes.bits.bytes(), slots, plans: self };
        Some(loads.read(steps, bytewise, begin as usize, visitor))
    }
}
