//! Values that other fields depend on.

use std::cell::Cell;

/// Values that other fields depend on, by slot. [`UNKNOWN`] if not decoded. Values below [`MIN`] are saved as
/// [`MIN`].
pub type Slots = [Cell<i128>];

/// Slot value for a field that was not decoded.
pub const UNKNOWN: i128 = i128::MIN;

/// Lowest slot value. Thus the upper half alone shows if a value is known. Loading a whole slot shortly after its
/// halves were stored is slow.
pub const MIN: i128 = i128::MIN + (1 << 64);

/// Returns `true` if a slot's value is known.
#[inline(always)]
pub(crate) fn is_known(value: i128) -> bool {
    (value >> 64) as i64 != i64::MIN
}

/// Saves a value in all of these slots.
pub(super) fn save(all: &Slots, slots: &[u16], value: i128) {
    for slot in slots {
        if let Some(cell) = all.get(usize::from(*slot)) {
            cell.set(value);
        }
    }
}
