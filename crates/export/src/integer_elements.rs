//! Integers of an array.

/// Integer of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IntegerElement {
    Unsigned(u64),
    Signed(i64),
}

/// Calls `each` for the little-endian integers of `size` bytes each in an array. Returns `false` for other sizes.
#[inline(always)]
pub(crate) fn each_integer(
    is_signed: bool,
    size: usize,
    bytes: &[u8],
    mut each: impl FnMut(IntegerElement),
) -> bool {
    macro_rules! all {
        ($variant:ident, $type:ty) => {
            for element in bytes.as_chunks().0 {
                each(IntegerElement::$variant(<$type>::from_le_bytes(*element).into()));
            }
        };
    }
    match (is_signed, size) {
        (false, 1) => all!(Unsigned, u8),
        (false, 2) => all!(Unsigned, u16),
        (false, 4) => all!(Unsigned, u32),
        (false, 8) => all!(Unsigned, u64),
        (true, 1) => all!(Signed, i8),
        (true, 2) => all!(Signed, i16),
        (true, 4) => all!(Signed, i32),
        (true, 8) => all!(Signed, i64),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_all_sizes() {
        for size in 1..10 {
            for is_signed in [false, true] {
                let bytes: Vec<u8> = (0..3 * size as u8).map(|byte| byte.wrapping_mul(77)).collect();
                let mut found = Vec::new();
                let is_known = each_integer(is_signed, size, &bytes, |element| {
                    found.push(match element {
                        IntegerElement::Unsigned(value) => i128::from(value),
                        IntegerElement::Signed(value) => i128::from(value),
                    });
                });
                assert_eq!(is_known, matches!(size, 1 | 2 | 4 | 8));
                let expected = bytes.chunks(size).filter(|_| is_known).map(|bytes| {
                    let number =
                        bytes.iter().rev().fold(0i128, |number, byte| number << 8 | i128::from(*byte));
                    let is_negative = is_signed && bytes[size - 1] >= 128;
                    number - if is_negative { 1 << (8 * size) } else { 0 }
                });
                assert_eq!(found, expected.collect::<Vec<_>>());
            }
        }
    }
}
