//! Fields that are overwritten when their value is known.

use ichnos_model::class::{BitField, ByteOrder, Role};

use super::bit_writer::BitWriter;

/// A written field with a role, and its location for overwriting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacedField {
    pub(super) role: Role,
    pub(super) at: u64,
    pub(super) layout: OverwriteLayout,
    /// Current value.
    pub(super) value: u64,
}

impl PlacedField {
    /// Returns the number of bits for a field's value.
    pub(super) fn bits(&self) -> u64 {
        match self.layout {
            OverwriteLayout::Bits(bits) => bits.length,
            OverwriteLayout::Groups(groups) => groups * 7,
        }
    }

    /// Returns `true` if the field contains the lower bits of `value`.
    pub(super) fn has_lower_bits_of(&self, value: u64) -> bool {
        (self.value ^ value) & 1_u64.checked_shl(self.bits() as u32).map_or(u64::MAX, |end| end - 1) == 0
    }

    /// Overwrites a field.
    pub(super) fn patch(&self, out: &mut BitWriter, value: u64) {
        match self.layout {
            OverwriteLayout::Bits(bits) => out.patch(self.at, value, bits),
            OverwriteLayout::Groups(groups) => {
                for index in 0..groups {
                    let more = if index + 1 < groups { 0x80 } else { 0 };
                    let group = value.checked_shr(7 * index as u32).unwrap_or(0) & 0x7f;
                    let bits = BitField::new(8, ByteOrder::LittleEndian, 8);
                    out.patch(self.at + 8 * index, group | more, bits);
                }
            }
        }
    }
}

/// Writes an aligned 64-bit field with a role, and stores its location.
pub(super) fn put_placed(out: &mut BitWriter, placed: &mut Vec<PlacedField>, role: Role, value: u64) {
    let bits = BitField::new(64, ByteOrder::LittleEndian, 8);
    out.align(8);
    placed.push(PlacedField { role, at: out.at(), layout: OverwriteLayout::Bits(bits), value });
    out.put_field(value, bits);
}

/// Overwrites all fields with a role.
pub(super) fn patch_role(placed: &[PlacedField], role: Role, out: &mut BitWriter, value: u64) {
    placed.iter().filter(|placed| placed.role == role).for_each(|placed| placed.patch(out, value));
}

/// Layout of a field that can be overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverwriteLayout {
    Bits(BitField),
    /// 7-bit groups.
    Groups(u64),
}

/// Returns the maximum packet size in bits that fits its size fields.
pub(super) fn most_bits(placed: &[PlacedField]) -> u64 {
    let sizes = placed
        .iter()
        .filter(|placed| matches!(placed.role, Role::PacketTotalLength | Role::PacketContentLength));
    let most = sizes.map(|placed| match placed.layout {
        OverwriteLayout::Bits(bits) if bits.length < 64 => (1 << bits.length) - 1,
        OverwriteLayout::Groups(groups) if groups < 9 => (1 << (7 * groups)) - 1,
        _ => u64::MAX,
    });
    // Rounded down to whole bytes, as packets require.
    most.min().map_or(u64::MAX, |most| most & !7)
}

/// Returns `true` if a packet's content can end within a byte, because its length differs from the total length.
/// `is_delimited`: another packet can follow.
pub(super) fn ends_in_byte(placed: &[PlacedField], is_delimited: bool) -> bool {
    let at = |role| placed.iter().filter(move |placed| placed.role == role).map(|placed| placed.at);
    let says_total = |bit| at(Role::PacketTotalLength).any(|other| other == bit);
    let has_total = at(Role::PacketTotalLength).next().is_some();
    at(Role::PacketContentLength).next().is_some()
        && !at(Role::PacketContentLength).any(says_total)
        && (has_total || !is_delimited)
}
