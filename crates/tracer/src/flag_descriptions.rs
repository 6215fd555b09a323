//! Flag descriptions from masks.

use crate::description::FlagDescription;

/// Describes flags of an integer, and returns their number, too. A flag without a name is left out. A flag with several
/// bits is left out if its bits are not next to each other, or if another flag has one of them: readers would show it
/// for that bit alone.
#[must_use]
pub const fn flag_descriptions<const N: usize>(
    masks: [(&'static str, u64); N],
    bits: u32,
) -> ([FlagDescription; N], usize) {
    let mut flags = [FlagDescription { name: "", first: 0, last: 0 }; N];
    let (mut count, mut index) = (0, 0);
    while index < N {
        let (name, _) = masks[index];
        let mask = within(masks[index].1, bits);
        if !name.is_empty() && mask != 0 && (mask.is_power_of_two() || is_alone(&masks, index, bits)) {
            let last = 63 - mask.leading_zeros() as u8;
            flags[count] = FlagDescription { name, first: mask.trailing_zeros() as u8, last };
            count += 1;
        }
        index += 1;
    }
    (flags, count)
}

/// Returns a mask without the sign bits that a conversion has added.
const fn within(mask: u64, bits: u32) -> u64 {
    if bits < 64 { mask & !(u64::MAX << bits) } else { mask }
}

/// Returns `true` for a mask whose bits are next to each other, and that shares no bit with another mask.
const fn is_alone<const N: usize>(masks: &[(&'static str, u64); N], index: usize, bits: u32) -> bool {
    let mask = within(masks[index].1, bits);
    let mut other = 0;
    while other < N {
        if other != index && !masks[other].0.is_empty() && within(masks[other].1, bits) & mask != 0 {
            return false;
        }
        other += 1;
    }
    let ones = mask >> mask.trailing_zeros();
    ones & ones.wrapping_add(1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_with_several_bits_are_left_out_if_others_have_one_of_them() {
        let masks =
            [("A", 1), ("B", 4), ("AB", 5), ("MODE", 0x18), ("GAP", 0xa0), ("", 0x40), ("TOP", 1 << 63)];
        let (flags, count) = flag_descriptions(masks, 64);
        let found: Vec<_> = flags[..count].iter().map(|flag| (flag.name, flag.first, flag.last)).collect();
        assert_eq!(found, [("A", 0, 0), ("B", 2, 2), ("MODE", 3, 4), ("TOP", 63, 63)]);
        let (flags, count) = flag_descriptions([("SIGN", i8::MIN as u64)], 8);
        assert_eq!((flags[0].first, flags[0].last, count), (7, 7, 1));
        assert_eq!(flag_descriptions([("NONE", 0)], 8).1, 0);
    }
}
