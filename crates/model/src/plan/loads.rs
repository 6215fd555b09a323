//! Single-field decoding: by a load, a dedicated step, or the node.

use super::steps::{
    Bits, BitsKind, BlockField, ElementKind, Elements, Load, Node, NodeId, NodeRef, Op, Plan, PrefixWord,
    Step,
};
use crate::bits::Word;
use crate::field::StringEncoding;

impl Plan {
    /// Step for a structure member without a fixed layout.
    pub(super) fn step(&self, node: NodeRef) -> Step {
        let id = node.id;
        let field = self.node(id);
        match &field.op {
            Op::NullTerminated(StringEncoding::Utf8) if field.alignment == 8 => Step::Text(node),
            Op::NullTerminated(encoding @ (StringEncoding::Utf16Le | StringEncoding::Utf16Be))
                if field.alignment == 8 =>
            {
                Step::Utf16Text(node, *encoding)
            }
            Op::DynamicText(StringEncoding::Utf8, length) if field.alignment == 8 => {
                Step::DynamicText(node, *length)
            }
            Op::PrefixedText(StringEncoding::Utf8, prefix)
                if field.alignment == 8 && !prefix.big_endian && !prefix.reversed && prefix.text % 8 == 0 =>
            {
                match (Word::new(0, prefix.length), u32::try_from(prefix.text / 8)) {
                    (Some(word), Ok(text)) => Step::PrefixedText(node, PrefixWord { word, text }),
                    _ => Step::Field(node),
                }
            }
            // Elements may be aligned more strictly than their array, which may be empty.
            Op::DynamicArray { elements: Some(elements), length, .. }
                if field.alignment == 8 && self.node(elements.node).alignment == 8 =>
            {
                Step::Array(node, *length, *elements)
            }
            _ => Step::Field(node),
        }
    }

    /// Block field; `None` if its offset exceeds the maximum block length.
    pub(super) fn block_field(&self, NodeRef { id, plan }: NodeRef, offset: u64) -> Option<BlockField> {
        let node = self.node(id);
        let (byte, bit) = (u32::try_from(offset / 8).ok()?, offset % 8);
        let (load, length, more) = match &node.op {
            Op::Bits(bits) => {
                let slot = node.saves().first().map_or(0, |slot| u32::from(*slot));
                (Load::for_bits(node, bits, bit), bits.length, slot)
            }
            Op::StaticText(StringEncoding::Utf8, length) => (Load::Text, 0, u32::try_from(*length).ok()?),
            Op::Guid if bit == 0 => (Load::Guid, 0, 0),
            Op::StaticArray { elements: Some(_), .. } if bit == 0 => (Load::Array, 0, 0),
            _ => (Load::Any, 0, 0),
        };
        // If a value spans more than eight bytes, only its first bit is used.
        let word = Word::new(bit, length.clamp(1, 64 - bit))?;
        Some(BlockField { node: id, byte, more, load: load.for_word(word), plan, word })
    }

    /// Array [`Elements`], if they are suitable.
    pub(super) fn elements(&self, element: NodeId) -> Option<Elements> {
        let node = self.node(element);
        let Op::Bits(bits) = node.op else { return None };
        let is_plain = matches!(bits.length, 8 | 16 | 32 | 64)
            && node.alignment % 8 == 0
            && node.alignment <= bits.length
            && !bits.saved
            && !bits.reversed
            && bits.kind != BitsKind::Padding;
        let kind = match (Load::for_bits(node, &bits, 0), bits.length) {
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
}

impl Load {
    /// Load for a node's field at bit `bit` of a byte.
    fn for_bits(node: &Node, bits: &Bits, bit: u64) -> Self {
        let is_little = !bits.big_endian || (bits.length == 8 && bit == 0);
        let is_simple = is_little && !bits.reversed && Word::new(bit, bits.length).is_some();
        let is_big_word =
            bits.big_endian && !bits.reversed && bit == 0 && matches!(bits.length, 16 | 32 | 64);
        match (bits.kind, node.saves().len()) {
            _ if bits.length > 64 => Self::Any,
            (BitsKind::Unsigned, 0) if is_simple => Self::Unsigned,
            (BitsKind::Signed, 0) if is_simple => Self::Signed,
            (BitsKind::Unsigned, 0) if is_big_word => Self::BigUnsigned,
            (BitsKind::Signed, 0) if is_big_word => Self::BigSigned,
            (BitsKind::Unsigned, 1) if is_simple => Self::Saved,
            (BitsKind::Unsigned, 1) if is_big_word => Self::BigSaved,
            (BitsKind::Real, 0) if is_simple && bit == 0 && matches!(bits.length, 32 | 64) => Self::Real,
            _ => Self::Bits,
        }
    }

    /// Specializes the load for a value in a word.
    fn for_word(self, word: Word) -> Self {
        match (self, word.bit(), word.length()) {
            (Self::Signed, 0, 32) => Self::I32,
            (Self::Unsigned, 0, 32) => Self::U32,
            (Self::Unsigned, 0, 64) => Self::U64,
            _ => self,
        }
    }
}
