//! Telling the fields of parts that are made of whole bytes, as nearly all parts of nearly all traces
//! are: these need no more than to be loaded.

use crate::bits::{first_zero, read_bits, reverse};
use crate::part::{ElementKind, Elements, Load, Part, PartNode, Run, RunField};
use crate::plan::{Op, Plan};
use crate::visitor::{Field, Visitor};
use crate::walk::{Slots, is_known, real, tell_bits};
use crate::{Event, StringEncoding, Text};

/// Where the nodes of parts are.
pub(crate) trait Plans<'a>: Copy {
    /// The plan of the parts that name this one.
    fn get(self, plan: u8) -> &'a Plan;
}

/// Parts of a structure of one plan.
impl<'a> Plans<'a> for &'a Plan {
    #[inline(always)]
    fn get(self, _: u8) -> &'a Plan {
        self
    }
}

/// What the parts are of that an event record class has [joined](crate::part::join).
impl<'a> Plans<'a> for &'a Event<'a> {
    // Most visitors do not ask for all classes; as nothing can go wrong here, the compiler leaves it out
    // then.
    #[inline(always)]
    fn get(self, plan: u8) -> &'a Plan {
        let plan = match plan {
            0 => self.stream.plans().common_context.as_ref(),
            1 => self.plans.specific_context.as_ref(),
            _ => self.plans.payload.as_ref(),
        };
        plan.unwrap_or(&self.stream.trace.plans.nothing)
    }
}

/// What it takes to get from part to part.
#[derive(Clone, Copy)]
pub(crate) struct Bytewise<'a, P> {
    /// The whole bytes of the content that are there, from the beginning of the packet on.
    pub(crate) bytes: &'a [u8],
    pub(crate) slots: &'a Slots,
    pub(crate) plans: P,
}

impl<'a, P: Plans<'a>> Bytewise<'a, P> {
    /// Passes on the fields of parts from byte `at` on. False: they do not fit; then some were reported.
    #[inline(always)]
    pub(crate) fn parts<V: Visitor>(&self, visitor: &mut V, parts: &'a [Part], mut at: usize) -> bool {
        for part in parts {
            match self.part(visitor, part, at) {
                Some(after) => at = after,
                None => return false,
            }
        }
        true
    }

    /// A part that begins at byte `at` or behind it, if it is made of bytes that are all there; gives
    /// the byte behind it. None: nothing was done.
    #[inline(always)]
    pub(crate) fn part<V: Visitor>(&self, visitor: &mut V, part: &'a Part, at: usize) -> Option<usize> {
        match part {
            Part::Run(run) => {
                let begin = (at + run.mask) & !run.mask;
                let bytes = self.bytes.get(begin..)?;
                if run.bytes > bytes.len() {
                    return None;
                }
                let fields = if V::WANTS_VALUES { &run.fields } else { &run.saving };
                let mut left = self.plain_fields(visitor, fields, begin as u64 * 8, bytes);
                while let Some((field, rest)) = left.split_first() {
                    self.other_field(visitor, run, field, begin as u64 * 8, bytes);
                    left = self.plain_fields(visitor, rest, begin as u64 * 8, bytes);
                }
                Some(begin + run.bytes)
            }
            Part::Text(node) => {
                let rest = self.bytes.get(at..)?;
                let length = first_zero(rest)?;
                if V::WANTS_VALUES {
                    let (bytes, raw) = (&rest[..length], &rest[..=length]);
                    let text = Text { bytes, raw, encoding: StringEncoding::Utf8 };
                    visitor.text(self.field(*node, at), text);
                }
                Some(at + length + 1)
            }
            Part::DynamicText(node, slot) => {
                let raw = self.bytes.get(at..)?.get(..self.length(*slot)?)?;
                if V::WANTS_VALUES {
                    visitor.text(self.field(*node, at), static_text(raw));
                }
                Some(at + raw.len())
            }
            Part::PrefixedText(node, prefix) => {
                let content = prefix.content(self.bytes, at)?;
                let raw = self.bytes.get(content.clone())?;
                if V::WANTS_VALUES {
                    let text = Text { bytes: raw, raw, encoding: StringEncoding::Utf8 };
                    visitor.text(self.field(*node, at), text);
                }
                Some(content.end)
            }
            Part::Array(node, slot, elements) => {
                let length = self.length(*slot)?;
                let size = length.checked_mul(usize::from(elements.size))?;
                let bytes = self.bytes.get(at..)?.get(..size)?;
                if V::WANTS_VALUES {
                    array_of(visitor, self.field(*node, at), length as u64, *elements, bytes);
                }
                Some(at + size)
            }
            Part::OpenRun(..) | Part::Field(_) => None,
        }
    }

    /// The field of a part that begins at a byte.
    #[inline(always)]
    fn field(&self, node: PartNode, at: usize) -> Field<'a> {
        Field::new(self.plans.get(node.plan), node.id, at as u64 * 8, 0)
    }

    /// The field of a run that begins at bit `begin`.
    #[inline(always)]
    pub(crate) fn run_field(&self, field: &RunField, begin: u64) -> Field<'a> {
        Field::new(self.plans.get(field.plan), field.node, begin + field.offset(), field.word.length())
    }

    /// A length that is in a slot, if it is one that can be.
    #[inline(always)]
    fn length(&self, slot: u16) -> Option<usize> {
        let value = self.slots.get(usize::from(slot))?.get();
        if is_known(value) { usize::try_from(value).ok() } else { None }
    }

    /// Visits the plain integers that the rest of a run begins with, which begins at bit `begin`, where
    /// `bytes` begin; gives what is behind them.
    #[inline(always)]
    pub(crate) fn plain_fields<'f, V: Visitor>(
        &self,
        visitor: &mut V,
        mut fields: &'f [RunField],
        begin: u64,
        bytes: &[u8],
    ) -> &'f [RunField] {
        if !V::WANTS_VALUES {
            return fields;
        }
        while let Some((field, rest)) = fields.split_first() {
            let at = field.byte as usize;
            match field.load {
                Load::I32 if let Some(word) = bytes_at(bytes, at) => {
                    visitor.signed(self.run_field(field, begin), i32::from_le_bytes(word).into());
                }
                Load::U32 if let Some(word) = bytes_at(bytes, at) => {
                    visitor.unsigned(self.run_field(field, begin), u32::from_le_bytes(word).into());
                }
                Load::U64 if let Some(word) = bytes_at(bytes, at) => {
                    visitor.unsigned(self.run_field(field, begin), u64::from_le_bytes(word));
                }
                Load::Unsigned => {
                    visitor.unsigned(self.run_field(field, begin), field.word.unsigned(bytes, at));
                }
                Load::Signed => visitor.signed(self.run_field(field, begin), field.word.signed(bytes, at)),
                _ => break,
            }
            fields = rest;
        }
        fields
    }

    /// A field, but for [`Load::Any`], of a run that begins at bit `begin`, where `bytes` begin; all
    /// of the run is there.
    #[inline(always)]
    pub(crate) fn other_field<V: Visitor>(
        &self,
        visitor: &mut V,
        run: &'a Run,
        field: &RunField,
        begin: u64,
        bytes: &'a [u8],
    ) {
        // A comparison is better foreseen than a jump, and lengths are most of what is left.
        if field.load == Load::Saved {
            let value = field.word.unsigned(bytes, field.byte as usize);
            if let Some(cell) = self.slots.get(field.more as usize) {
                cell.set(value.into());
            }
            if V::WANTS_VALUES {
                visitor.unsigned(self.run_field(field, begin), value);
            }
        } else if V::WANTS_VALUES {
            self.told_field(visitor, run, field, begin, bytes);
        } else {
            // A saved value that takes more than to be loaded.
            bits(visitor, self.slots, self.run_field(field, begin), bytes, field.offset());
        }
    }

    /// A field of a run that is no plain integer.
    #[inline(always)]
    fn told_field<V: Visitor>(
        &self,
        visitor: &mut V,
        run: &'a Run,
        part: &RunField,
        begin: u64,
        bytes: &'a [u8],
    ) {
        let at = part.byte as usize;
        match part.load {
            Load::Text => {
                let raw = bytes.get(at..).and_then(|bytes| bytes.get(..part.more as usize));
                let field = self.run_field(part, begin).with_length(0);
                visitor.text(field, static_text(raw.unwrap_or_default()));
            }
            Load::Real => {
                let bits = part.word.unsigned(bytes, at);
                visitor.real(self.run_field(part, begin), real(bits, part.word.length()));
            }
            Load::Array => {
                let Some(array) = run.arrays.get(part.more as usize) else { return };
                let bytes = bytes.get(at..).and_then(|bytes| bytes.get(..array.bytes)).unwrap_or_default();
                let field = self.run_field(part, begin).with_length(0);
                array_of(visitor, field, array.length, array.elements, bytes);
            }
            // A list of all others would be compiled into a table, which takes longer.
            _ => bits(visitor, self.slots, self.run_field(part, begin), bytes, part.offset()),
        }
    }
}

/// Bits of a run, from bit `bit` of `bytes` on: they are there, and their byte order was looked at.
#[inline(never)]
fn bits<V: Visitor>(visitor: &mut V, slots: &Slots, field: Field<'_>, bytes: &[u8], bit: u64) {
    let Op::Bits(bits) = field.node().op else { return };
    let value = read_bits(bytes, bit, bits.length, bits.big_endian);
    let value = if bits.reversed { reverse(value, bits.length) } else { value };
    tell_bits(visitor, slots, field.with_length(bits.length), bits, value);
}

/// Visits an array: `bytes` is all of it.
// Most visitors have so much to do with an element that calling this is nothing.
#[inline(never)]
fn array_of<V: Visitor>(visitor: &mut V, array: Field<'_>, length: u64, elements: Elements, bytes: &[u8]) {
    visitor.begin_array(array, length);
    tell_elements(visitor, array, elements, bytes);
    visitor.end_array(array.with_offset(array.offset + bytes.len() as u64 * 8));
}

/// Visits the elements of an array one after the other: `bytes` is all of them, from the offset of
/// `array` on.
#[inline(always)]
pub(crate) fn tell_elements<V: Visitor>(visitor: &mut V, array: Field<'_>, elements: Elements, bytes: &[u8]) {
    let mut field = array.of_plan(elements.node, u64::from(elements.size) * 8);
    macro_rules! each {
        ($method:ident, $type:ty) => {
            for element in bytes.as_chunks().0 {
                visitor.$method(field, <$type>::from_le_bytes(*element).into());
                field.offset += field.length;
            }
        };
    }
    match elements.kind {
        ElementKind::U8 => each!(unsigned, u8),
        ElementKind::U16 => each!(unsigned, u16),
        ElementKind::U32 => each!(unsigned, u32),
        ElementKind::U64 => each!(unsigned, u64),
        ElementKind::I8 => each!(signed, i8),
        ElementKind::I16 => each!(signed, i16),
        ElementKind::I32 => each!(signed, i32),
        ElementKind::I64 => each!(signed, i64),
        ElementKind::Bits => {
            for element in bytes.chunks_exact(usize::from(elements.size.max(1))) {
                // Their values are not needed, so no slot has to be there.
                bits(visitor, &[], field, element, 0);
                field.offset += field.length;
            }
        }
    }
}

/// This many bytes from `at` on.
#[inline(always)]
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// A text of code units of one byte, which ends with the first zero if there is one.
#[inline(always)]
fn static_text(raw: &[u8]) -> Text<'_> {
    let length = first_zero(raw).unwrap_or(raw.len());
    Text { bytes: &raw[..length], raw, encoding: StringEncoding::Utf8 }
}
