//! Runs bytewise steps: their values are whole bytes and only need to be loaded. Nearly all steps in nearly all traces
//! are bytewise.

use super::scalar::{guid_of, real, visit_bits};
use super::slots::{Slots, is_known};
use crate::bits::{first_zero, first_zero_pair, read_bits, reverse};
use crate::field::{Field, StringEncoding, Text, Visitor};
use crate::plan::steps::{BlockField, ElementKind, Elements, FixedBlock, Load, NodeRef, Op, Plan, Step};

/// Access to the plans behind steps.
pub(crate) trait Plans<'a>: Copy {
    /// Returns the plan with this number.
    fn get(self, plan: u8) -> &'a Plan;
}

/// Steps from a single plan.
impl<'a> Plans<'a> for &'a Plan {
    #[inline(always)]
    fn get(self, _: u8) -> &'a Plan {
        self
    }
}

/// State shared by all steps.
#[derive(Clone, Copy)]
pub(super) struct Bytewise<'a, P> {
    /// Available whole bytes of the content, from the start of the packet on.
    pub(super) bytes: &'a [u8],
    pub(super) slots: &'a Slots,
    pub(super) plans: P,
}

impl<'a, P: Plans<'a>> Bytewise<'a, P> {
    /// Visits the fields of steps from byte `at` on. Returns `false` if they do not fit, after visiting some of them.
    #[inline(always)]
    pub(super) fn steps<V: Visitor>(&self, visitor: &mut V, steps: &'a [Step], mut at: usize) -> bool {
        for step in steps {
            match self.step(visitor, step, at) {
                Some(after) => at = after,
                None => return false,
            }
        }
        true
    }

    /// Runs a step at byte `at` or after it, if it consists of available whole bytes. Returns the end byte, or `None`
    /// if nothing was done.
    #[inline(always)]
    pub(super) fn step<V: Visitor>(&self, visitor: &mut V, step: &'a Step, at: usize) -> Option<usize> {
        match step {
            Step::Block(block) => {
                let begin = (at + block.mask) & !block.mask;
                let bytes = self.bytes.get(begin..)?;
                if block.bytes > bytes.len() {
                    return None;
                }
                let fields = if V::WANTS_VALUES { &block.fields } else { &block.saving };
                let mut left = self.plain_fields(visitor, fields, begin as u64 * 8, bytes);
                while let Some((field, rest)) = left.split_first() {
                    self.other_field(visitor, block, field, begin as u64 * 8, bytes);
                    left = self.plain_fields(visitor, rest, begin as u64 * 8, bytes);
                }
                Some(begin + block.bytes)
            }
            Step::Text(node) => {
                let rest = self.bytes.get(at..)?;
                let length = first_zero(rest)?;
                if V::WANTS_VALUES {
                    let (bytes, raw) = (&rest[..length], &rest[..=length]);
                    let text = Text { bytes, raw, encoding: StringEncoding::Utf8 };
                    visitor.text(self.field(*node, at), text);
                }
                Some(at + length + 1)
            }
            Step::Utf16Text(node, encoding) => self.utf16_text(visitor, *node, *encoding, at),
            Step::DynamicText(node, slot) => {
                let raw = self.bytes.get(at..)?.get(..self.length(*slot)?)?;
                if V::WANTS_VALUES {
                    visitor.text(self.field(*node, at), static_text(raw));
                }
                Some(at + raw.len())
            }
            Step::PrefixedText(node, prefix) => {
                let content = prefix.content(self.bytes, at)?;
                let raw = self.bytes.get(content.clone())?;
                if V::WANTS_VALUES {
                    let text = Text { bytes: raw, raw, encoding: StringEncoding::Utf8 };
                    visitor.text(self.field(*node, at), text);
                }
                Some(content.end)
            }
            Step::Array(node, slot, elements) => {
                let length = self.length(*slot)?;
                let size = length.checked_mul(usize::from(elements.size))?;
                let bytes = self.bytes.get(at..)?.get(..size)?;
                if V::WANTS_VALUES {
                    array_of(visitor, self.field(*node, at), length as u64, *elements, bytes);
                }
                Some(at + size)
            }
            Step::MixedBlock(..) | Step::Field(_) => None,
        }
    }

    /// Visits a null-terminated string with two-byte code units at byte `at`. Returns the byte after it.
    // Not inlined, because that slows down traces without such strings: log-null +2 %.
    #[inline(never)]
    fn utf16_text<V: Visitor>(
        &self,
        visitor: &mut V,
        node: NodeRef,
        encoding: StringEncoding,
        at: usize,
    ) -> Option<usize> {
        let rest = self.bytes.get(at..)?;
        let length = first_zero_pair(rest)?;
        if V::WANTS_VALUES {
            let (bytes, raw) = (&rest[..length], &rest[..length + 2]);
            visitor.text(self.field(node, at), Text { bytes, raw, encoding });
        }
        Some(at + length + 2)
    }

    /// Field of a step that starts at a byte boundary.
    #[inline(always)]
    fn field(&self, node: NodeRef, at: usize) -> Field<'a> {
        Field::new(self.plans.get(node.plan), node.id, at as u64 * 8, 0)
    }

    /// Field of a block that starts at bit `begin`.
    #[inline(always)]
    pub(super) fn block_field(&self, field: &BlockField, begin: u64) -> Field<'a> {
        Field::new(self.plans.get(field.plan), field.node, begin + field.offset(), field.word.length())
    }

    /// Valid length in a slot.
    #[inline(always)]
    fn length(&self, slot: u16) -> Option<usize> {
        let value = self.slots.get(usize::from(slot))?.get();
        if is_known(value) { usize::try_from(value).ok() } else { None }
    }

    /// Visits the leading plain integers in the rest of a block. The block starts at bit `begin` and has the content
    /// `bytes`. Returns the fields after them.
    #[inline(always)]
    pub(super) fn plain_fields<'f, V: Visitor>(
        &self,
        visitor: &mut V,
        mut fields: &'f [BlockField],
        begin: u64,
        bytes: &[u8],
    ) -> &'f [BlockField] {
        if !V::WANTS_VALUES {
            return fields;
        }
        while let Some((field, rest)) = fields.split_first() {
            let at = field.byte as usize;
            match field.load {
                Load::I32 if let Some(word) = bytes_at(bytes, at) => {
                    visitor.signed(self.block_field(field, begin), i32::from_le_bytes(word).into());
                }
                Load::U32 if let Some(word) = bytes_at(bytes, at) => {
                    visitor.unsigned(self.block_field(field, begin), u32::from_le_bytes(word).into());
                }
                Load::U64 if let Some(word) = bytes_at(bytes, at) => {
                    visitor.unsigned(self.block_field(field, begin), u64::from_le_bytes(word));
                }
                Load::Unsigned => {
                    visitor.unsigned(self.block_field(field, begin), field.word.unsigned(bytes, at));
                }
                Load::Signed => visitor.signed(self.block_field(field, begin), field.word.signed(bytes, at)),
                Load::BigUnsigned => {
                    visitor.unsigned(self.block_field(field, begin), field.word.big_unsigned(bytes, at));
                }
                Load::BigSigned => {
                    visitor.signed(self.block_field(field, begin), field.word.big_signed(bytes, at));
                }
                _ => break,
            }
            fields = rest;
        }
        fields
    }

    /// Visits a field other than [`Load::Any`]. Its block starts at bit `begin`, has the content `bytes`, and is
    /// completely available.
    #[inline(always)]
    pub(super) fn other_field<V: Visitor>(
        &self,
        visitor: &mut V,
        block: &'a FixedBlock,
        field: &BlockField,
        begin: u64,
        bytes: &'a [u8],
    ) {
        // A comparison is better predicted than a jump, and lengths are most of the other fields.
        if field.load == Load::Saved {
            let value = field.word.unsigned(bytes, field.byte as usize);
            if let Some(cell) = self.slots.get(field.more as usize) {
                cell.set(value.into());
            }
            if V::WANTS_VALUES {
                visitor.unsigned(self.block_field(field, begin), value);
            }
        } else if V::WANTS_VALUES {
            self.visit_field(visitor, block, field, begin, bytes);
        } else {
            // A saved value that takes more than a load.
            bits(visitor, self.slots, self.block_field(field, begin), bytes, field.offset());
        }
    }

    /// Visits a block field that is not a plain integer.
    #[inline(always)]
    fn visit_field<V: Visitor>(
        &self,
        visitor: &mut V,
        block: &'a FixedBlock,
        field: &BlockField,
        begin: u64,
        bytes: &'a [u8],
    ) {
        let at = field.byte as usize;
        match field.load {
            Load::Text => {
                let raw = bytes.get(at..).and_then(|bytes| bytes.get(..field.more as usize));
                let field = self.block_field(field, begin).with_length(0);
                // Blocks are only visited if all of their bytes exist.
                visitor.text(field, static_text(raw.unwrap_or_default()));
            }
            Load::Real => {
                let bits = field.word.unsigned(bytes, at);
                visitor.real(self.block_field(field, begin), real(bits, field.word.length()));
            }
            Load::Array => {
                let Some(array) = block.arrays.get(field.more as usize) else { return };
                // As above, the bytes exist.
                let bytes = bytes.get(at..).and_then(|bytes| bytes.get(..array.bytes)).unwrap_or_default();
                let field = self.block_field(field, begin).with_length(0);
                array_of(visitor, field, array.length, array.elements, bytes);
            }
            // Listing all other kinds would compile to a slower jump table.
            _ => bits(visitor, self.slots, self.block_field(field, begin), bytes, field.offset()),
        }
    }
}

/// Visits bits or a GUID of a block, at bit `bit` of `bytes`. They are available, and their byte order was checked.
#[inline(never)]
fn bits<V: Visitor>(visitor: &mut V, slots: &Slots, field: Field<'_>, bytes: &[u8], bit: u64) {
    let Op::Bits(bits) = field.node().op else {
        // The bytes are available, as the caller checked.
        let bytes = bytes.get((bit / 8) as usize..).unwrap_or_default();
        return visitor.guid(field.with_length(0), guid_of(bytes));
    };
    let value = read_bits(bytes, bit, bits.length, bits.big_endian);
    let value = if bits.reversed { reverse(value, bits.length) } else { value };
    visit_bits(visitor, slots, field.with_length(bits.length), bits, value);
}

/// Visits an array that consists of `bytes`.
// Not inlined: for most visitors, an element takes much longer than this call.
#[inline(never)]
fn array_of<V: Visitor>(visitor: &mut V, array: Field<'_>, length: u64, elements: Elements, bytes: &[u8]) {
    visitor.begin_array(array, length);
    visit_elements(visitor, array, elements, bytes);
    visitor.end_array(array.with_offset(array.offset + bytes.len() as u64 * 8));
}

/// Visits the array elements in order. `bytes` contains all of them, from the offset of `array` on.
#[inline(always)]
pub(super) fn visit_elements<V: Visitor>(
    visitor: &mut V,
    array: Field<'_>,
    elements: Elements,
    bytes: &[u8],
) {
    let mut field = array.at_node(elements.node, u64::from(elements.size) * 8);
    if elements.kind != ElementKind::Bits && visitor.integers(field, usize::from(elements.size), bytes) {
        return;
    }
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
                // Their values are not saved, so slots are not needed.
                bits(visitor, &[], field, element, 0);
                field.offset += field.length;
            }
        }
    }
}

/// Returns `N` bytes from `at` on.
#[inline(always)]
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Text with one-byte code units, up to the first zero if there is one.
#[inline(always)]
pub(super) fn static_text(raw: &[u8]) -> Text<'_> {
    let length = first_zero(raw).unwrap_or(raw.len());
    Text { bytes: &raw[..length], raw, encoding: StringEncoding::Utf8 }
}
