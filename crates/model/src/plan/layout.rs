//! Fixed layouts.

use super::steps::{NodeId, Op, Plan, align};
use crate::class::ByteOrder;

/// A fixed layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct FixedLayout {
    /// Size in bits.
    pub(super) size: u64,
    /// `true` if it contains a saved value.
    pub(super) saves: bool,
    order: LayoutByteOrder,
}

/// Byte order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LayoutByteOrder {
    /// No byte order.
    Any,
    Only(ByteOrder),
    /// Both byte orders, never within one byte.
    Both,
}

impl FixedLayout {
    /// Layout without fields.
    pub(super) const EMPTY: Self = Self { size: 0, saves: false, order: LayoutByteOrder::Any };

    /// Appends a field and returns its offset. `None` if the layout is not fixed: the byte order changes within a byte
    /// (reported when decoding), or the size overflows.
    pub(super) fn append(&mut self, field: Self, alignment: u64) -> Option<u64> {
        let offset = align(self.size, alignment)?;
        self.order = match (self.order, field.order) {
            (LayoutByteOrder::Any, order) | (order, LayoutByteOrder::Any) => order,
            (a, b) if a == b && a != LayoutByteOrder::Both => a,
            _ if offset % 8 == 0 && self.size % 8 == 0 && field.size % 8 == 0 => LayoutByteOrder::Both,
            _ => return None,
        };
        if self.order == LayoutByteOrder::Both && (field.size % 8 != 0 || offset % 8 != 0) {
            return None;
        }
        self.size = offset.checked_add(field.size)?;
        self.saves |= field.saves;
        Some(offset)
    }

    /// Byte order of the last field, if it is the same for all fields and the layout ends within a byte.
    pub(super) fn open_byte(self) -> Option<ByteOrder> {
        match self.order {
            LayoutByteOrder::Only(order) if self.size % 8 != 0 => Some(order),
            _ => None,
        }
    }
}

impl Plan {
    /// Layout of the node, if it is the same for all aligned instances.
    pub(super) fn layout(&self, id: NodeId, layouts: &[Option<FixedLayout>]) -> Option<FixedLayout> {
        let node = self.node(id);
        let saves = !node.saves().is_empty();
        let size = |size: u64| Some(FixedLayout { size, saves, order: LayoutByteOrder::Any });
        match &node.op {
            Op::Bits(bits) => {
                let order = if bits.big_endian { ByteOrder::BigEndian } else { ByteOrder::LittleEndian };
                Some(FixedLayout { size: bits.length, saves, order: LayoutByteOrder::Only(order) })
            }
            // The position within a byte must be checked.
            Op::StaticText(..) if node.alignment % 8 != 0 => None,
            // Invalid sizes are reported when decoding.
            Op::StaticText(encoding, length) if length % encoding.unit() as u64 != 0 => None,
            Op::StaticText(_, length) | Op::StaticBlob(length) => size(length.checked_mul(8)?),
            Op::Guid => size(128),
            Op::Null => size(0),
            Op::Structure { members, .. } => {
                let mut all = FixedLayout::EMPTY;
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
                    // The number of elements without bits is limited.
                    return None;
                }
                let alignment = self.node(*element).alignment;
                if alignment > node.alignment {
                    // The offset of the first element depends on the array position.
                    return None;
                }
                let stride = align(layout.size, alignment)?;
                let size = stride.checked_mul(*length - 1)?.checked_add(layout.size)?;
                Some(FixedLayout { size, ..layout })
            }
            _ => None,
        }
    }
}
