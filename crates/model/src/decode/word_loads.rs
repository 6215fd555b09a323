//! Loads selected values without a visitor, for outputs with a column for each field.

use super::bytewise::{Bytewise, Plans, static_text};
use super::slots::Slots;
use crate::bits::Word;
use crate::class::Scope;
use crate::event::Event;
use crate::field::{Skip, Text, Visitor};
use crate::plan::steps::{BlockField, FixedBlock, Load, Step};

/// Scopes of joined steps, by plan number.
const SCOPES: [Scope; 3] = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];

/// Treatment of a field in [`WordLoads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordChoice {
    /// Load the value with this tag. An integer or floating-point number with up to 64 bits is loaded as a word, if it
    /// is little-endian at a fixed place. A text is loaded if it has a fixed number of bytes at a fixed place.
    /// Otherwise, the visitor receives the field.
    Word(u32),
    /// Pass the field to the visitor.
    Visit,
    /// Skip the field.
    Skip,
}

/// Receives the event fields read with [`WordLoads`].
///
/// # For implementations
/// [`word`](Self::word) and [`fixed_text`](Self::fixed_text) are called in any order within a scope, before or after
/// [`Visitor`] methods for other fields.
pub trait WordVisitor: Visitor {
    /// Begins fields of a scope, for [`Visitor`] methods. A scope can begin several times.
    fn begin_scope(&mut self, scope: Scope);

    /// Receives a tagged value as 64 bits: an unsigned integer, a signed integer in two's complement, or the bits of a
    /// floating-point number.
    fn word(&mut self, tag: u32, value: u64);

    /// Receives a tagged text.
    fn fixed_text(&mut self, tag: u32, value: Text<'_>);
}

/// Loads for the common context, the specific context and the payload of a class's events, created once.
#[derive(Debug)]
pub struct WordLoads {
    /// Loads by step.
    steps: Box<[StepLoads]>,
}

/// Loads in a step.
#[derive(Debug, Default)]
struct StepLoads {
    unsigned: Box<[WordLoad]>,
    signed: Box<[WordLoad]>,
    texts: Box<[TextLoad]>,
    /// Block fields for the visitor.
    visited: Box<[BlockField]>,
    /// Scope of a step that is not a block, if its field is for the visitor.
    scope: Option<Scope>,
}

#[derive(Clone, Copy, Debug)]
struct WordLoad {
    tag: u32,
    /// First byte of the value within the block.
    byte: u32,
    word: Word,
}

#[derive(Clone, Copy, Debug)]
struct TextLoad {
    tag: u32,
    /// First byte of the text within the block, and its number of bytes.
    byte: u32,
    size: u32,
}

impl WordLoads {
    /// Creates the loads for an event's class. `choose` receives each field's scope and its node index in
    /// [`Plan::nodes`](crate::plan::Plan::nodes). `None` if events of the class can only be visited.
    pub fn new(event: &Event<'_>, mut choose: impl FnMut(Scope, usize) -> WordChoice) -> Option<Self> {
        event.class_index()?;
        let steps = event.plans.joined.as_deref()?;
        let mut choice = |plan: u8, node: u32| {
            let scope = SCOPES.get(usize::from(plan)).copied()?;
            Some((scope, choose(scope, node as usize)))
        };
        let loads = |step: &Step| {
            let node = match step {
                Step::Block(block) => return StepLoads::for_block(block, &mut choice),
                Step::Text(node)
                | Step::Utf16Text(node, _)
                | Step::DynamicText(node, _)
                | Step::PrefixedText(node, _)
                | Step::Array(node, ..)
                | Step::Field(node) => node,
                Step::MixedBlock(..) => return None,
            };
            let (scope, choice) = choice(node.plan, node.id)?;
            Some(StepLoads {
                scope: Some(scope).filter(|_| choice != WordChoice::Skip),
                ..StepLoads::default()
            })
        };
        Some(Self { steps: steps.iter().map(loads).collect::<Option<_>>()? })
    }
}

impl StepLoads {
    fn for_block(
        block: &FixedBlock,
        choice: &mut impl FnMut(u8, u32) -> Option<(Scope, WordChoice)>,
    ) -> Option<Self> {
        let (mut unsigned, mut signed, mut texts, mut visited) = (vec![], vec![], vec![], vec![]);
        for field in &block.fields {
            match (choice(field.plan, field.node)?.1, field.load) {
                (WordChoice::Skip, _) => {}
                (
                    WordChoice::Word(tag),
                    Load::U32 | Load::U64 | Load::Unsigned | Load::Saved | Load::Real,
                ) => {
                    unsigned.push(WordLoad { tag, byte: field.byte, word: field.word });
                }
                (WordChoice::Word(tag), Load::I32 | Load::Signed) => {
                    signed.push(WordLoad { tag, byte: field.byte, word: field.word });
                }
                (WordChoice::Word(tag), Load::Text) => {
                    texts.push(TextLoad { tag, byte: field.byte, size: field.more });
                }
                _ => visited.push(*field),
            }
        }
        let (unsigned, signed) = (unsigned.into(), signed.into());
        Some(Self { unsigned, signed, texts: texts.into(), visited: visited.into(), scope: None })
    }

    /// Reads the fields of a block that starts at byte `begin`. `bytes` contains all of it.
    #[inline(always)]
    fn read<'a, P: Plans<'a>, V: WordVisitor>(
        &self,
        bytewise: &Bytewise<'a, P>,
        block: &'a FixedBlock,
        begin: usize,
        bytes: &'a [u8],
        visitor: &mut V,
    ) {
        for load in &self.unsigned {
            visitor.word(load.tag, load.word.unsigned(bytes, load.byte as usize));
        }
        for load in &self.signed {
            visitor.word(load.tag, load.word.signed(bytes, load.byte as usize) as u64);
        }
        for load in &self.texts {
            let raw = bytes.get(load.byte as usize..).and_then(|bytes| bytes.get(..load.size as usize));
            // Blocks are only read if all of their bytes exist.
            visitor.fixed_text(load.tag, static_text(raw.unwrap_or_default()));
        }
        let begin = begin as u64 * 8;
        for field in &block.saving {
            bytewise.other_field(&mut Skip, block, field, begin, bytes);
        }
        for field in &self.visited {
            if let Some(scope) = SCOPES.get(usize::from(field.plan)) {
                visitor.begin_scope(*scope);
            }
            let others = bytewise.plain_fields(visitor, std::slice::from_ref(field), begin, bytes);
            if let Some(field) = others.first() {
                bytewise.other_field(visitor, block, field, begin, bytes);
            }
        }
    }
}

/// Reads the joined steps of an event record from byte `begin` on. Returns `false` if they do not fit.
#[inline(always)]
fn read<'a, V: WordVisitor>(
    loads: &WordLoads,
    steps: &'a [Step],
    bytewise: Bytewise<'a, &'a Event<'a>>,
    begin: usize,
    visitor: &mut V,
) -> bool {
    let mut at = begin;
    for (step, loads) in steps.iter().zip(&loads.steps) {
        let after = match (step, loads.scope) {
            (Step::Block(block), _) => {
                at = (at + block.mask) & !block.mask;
                let bytes = bytewise.bytes.get(at..).filter(|bytes| bytes.len() >= block.bytes);
                bytes.map(|bytes| {
                    loads.read(&bytewise, block, at, bytes, visitor);
                    at + block.bytes
                })
            }
            (_, Some(scope)) => {
                visitor.begin_scope(scope);
                bytewise.step(visitor, step, at)
            }
            (_, None) => bytewise.step(&mut Skip, step, at),
        };
        match after {
            Some(after) => at = after,
            None => return false,
        }
    }
    true
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
        Some(read(loads, steps, bytewise, begin as usize, visitor))
    }
}
