//! Values with up to 64 bits.

use super::slots::{Slots, save};
use crate::class::Uuid;
use crate::field::{Field, Real, Visitor};
use crate::plan::steps::{Bits, BitsKind};

/// Passes a value with up to 64 bits to the visitor.
#[inline]
pub(super) fn visit_bits<V: Visitor>(
    visitor: &mut V,
    slots: &Slots,
    field: Field<'_>,
    bits: Bits,
    value: u64,
) {
    let signed = |value: u64| {
        let unused = 64 - bits.length;
        ((value << unused) as i64) >> unused
    };
    if bits.saved {
        let value = match bits.kind {
            BitsKind::Signed => i128::from(signed(value)),
            BitsKind::Boolean => i128::from(value != 0),
            _ => i128::from(value),
        };
        save(slots, field.node().saves(), value);
    }
    if !V::WANTS_VALUES {
        return;
    }
    match bits.kind {
        BitsKind::Unsigned => visitor.unsigned(field, value),
        BitsKind::Signed => visitor.signed(field, signed(value)),
        BitsKind::Boolean => visitor.boolean(field, value != 0, value),
        BitsKind::BitArray => visitor.bit_array(field, value),
        BitsKind::BitMap => visitor.bit_map(field, value),
        BitsKind::Real => visitor.real(field, real(value, bits.length)),
        BitsKind::Padding => {}
    }
}

/// Creates a GUID from the first 16 bytes. Callers check that they exist. Otherwise the GUID is 0.
pub(super) fn guid_of(bytes: &[u8]) -> Uuid {
    Uuid::from_bytes_le(bytes.first_chunk().copied().unwrap_or_default())
}

/// Creates a floating-point number with `length` bits.
#[inline(always)]
pub(super) fn real(bits: u64, length: u64) -> Real<'static> {
    match length {
        16 => Real::Half(bits as u16),
        32 => Real::Single(f32::from_bits(bits as u32)),
        _ => Real::Double(f64::from_bits(bits)),
    }
}
