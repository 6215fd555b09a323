//! Values that other fields need.

use std::cell::Cell;

/// Values of fields that other fields need, by slot. [`UNKNOWN`] where none was decoded. Values
/// below [`LEAST`] are saved as that.
pub type Slots = [Cell<i128>];

/// The value of a slot whose field was not decoded.
pub const UNKNOWN: i128 = i128::MIN;

/// The least value that a slot takes. So the upper half alone says whether a value is known: to
/// load all of a slot at once shortly after its halves were stored takes long.
pub const LEAST: i128 = i128::MIN + (1 << 64);

/// Whether the value of a slot is one.
#[inline(always)]
pub(crate) fn is_known(value: i128) -> bool {
    (value >> 64) as i64 != i64::MIN
}

/// Keeps a value in all of these slots.
pub(super) fn save(all: &Slots, slots: &[u16], value: i128) {
    for slot in slots {
        if let Some(cell) = all.get(usize::from(*slot)) {
            cell.set(value);
        }
    }
}
