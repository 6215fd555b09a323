//! UTF-16 to UTF-8 conversion.

/// Appends a UTF-16 text as UTF-8, with U+FFFD for each invalid code unit, and for half a code unit at the end. Returns
/// `false` if anything was invalid.
///
/// Nearly all text is ASCII, which is written eight characters at a time.
pub(crate) fn push_utf8<const BIG_ENDIAN: bool>(out: &mut Vec<u8>, text: &[u8]) -> bool {
    let mut is_valid = true;
    out.reserve(text.len() / 2);
    let mut rest = text;
    loop {
        let (blocks, tail) = rest.as_chunks::<16>();
        let count = blocks.iter().take_while(|block| push_ascii::<BIG_ENDIAN>(out, block)).count();
        let (others, is_last) = match blocks.get(count..) {
            // The counted blocks exist.
            Some([_, ..]) => (rest.get(count * 16..).unwrap_or_default(), false),
            _ => (tail, true),
        };
        // Other characters also come in runs.
        let mut units = Units::<BIG_ENDIAN> { rest: others };
        let mut ascii = 0;
        while let Some(unit) = units.next() {
            match unit {
                ..0x80 => {
                    out.push(unit as u8);
                    ascii += 1;
                    if ascii >= 8 && !is_last {
                        break;
                    }
                    continue;
                }
                0x80..0x800 => out.extend_from_slice(&[0xc0 | (unit >> 6) as u8, 0x80 | (unit & 0x3f) as u8]),
                0xd800..0xe000 => match units.after_surrogate(unit) {
                    Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    None => {
                        is_valid = false;
                        push_replacement(out);
                    }
                },
                _ => out.extend_from_slice(&[
                    0xe0 | (unit >> 12) as u8,
                    0x80 | (unit >> 6 & 0x3f) as u8,
                    0x80 | (unit & 0x3f) as u8,
                ]),
            }
            ascii = 0;
        }
        rest = units.rest;
        if rest.len() < 2 {
            break;
        }
    }
    if !rest.is_empty() {
        is_valid = false;
        push_replacement(out);
    }
    is_valid
}

fn push_replacement(out: &mut Vec<u8>) {
    out.extend_from_slice("\u{fffd}".as_bytes());
}

/// Appends eight code units if all are ASCII; otherwise returns `false`.
#[inline(always)]
fn push_ascii<const BIG_ENDIAN: bool>(out: &mut Vec<u8>, block: &[u8; 16]) -> bool {
    let (low, high) = if BIG_ENDIAN { (1, 0) } else { (0, 1) };
    let (pairs, _) = block.as_chunks::<2>();
    let (mut bytes, mut others) = ([0; 8], 0);
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = pair[low];
        others |= pair[high] | pair[low] & 0x80;
    }
    if others == 0 {
        out.extend_from_slice(&bytes);
    }
    others == 0
}

/// Iterator over code units.
struct Units<'a, const BIG_ENDIAN: bool> {
    /// Remaining bytes. The last one may be half a code unit.
    rest: &'a [u8],
}

impl<const BIG_ENDIAN: bool> Units<'_, BIG_ENDIAN> {
    #[inline(always)]
    fn peek(&self) -> Option<u16> {
        let unit = *self.rest.first_chunk()?;
        Some(if BIG_ENDIAN { u16::from_be_bytes(unit) } else { u16::from_le_bytes(unit) })
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u16> {
        let unit = self.peek()?;
        self.rest = self.rest.get(2..).unwrap_or_default();
        Some(unit)
    }

    /// Returns the character that starts with a surrogate. The next code unit is consumed only if both are a pair.
    fn after_surrogate(&mut self, first: u16) -> Option<char> {
        let second = self.peek().filter(|unit| first < 0xdc00 && (0xdc00..0xe000).contains(unit))?;
        self.next();
        char::from_u32(0x10000 + (u32::from(first - 0xd800) << 10 | u32::from(second - 0xdc00)))
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    #[test]
    fn as_the_standard_library_does() {
        cases(20_000, |random| {
            let units: Vec<u16> = (0..random.below(60))
                .map(|_| match random.below(40) {
                    0 => 0xd800 + random.below(0x400) as u16,
                    1 => 0xdc00 + random.below(0x400) as u16,
                    2 => random.below(0x10000) as u16,
                    3 => random.below(0x900) as u16,
                    _ => random.below(0x80) as u16,
                })
                .collect();
            let has_half = random.is_one_in(9);
            let expected = String::from_utf16_lossy(&units) + if has_half { "\u{fffd}" } else { "" };
            let is_valid = String::from_utf16(&units).is_ok() && !has_half;
            let mut little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let mut big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            if has_half {
                little.push(b'x');
                big.push(0);
            }
            let mut out = b"before".to_vec();
            assert_eq!(push_utf8::<false>(&mut out, &little), is_valid);
            assert_eq!(String::from_utf8(out.split_off(6)).unwrap(), expected);
            assert_eq!(push_utf8::<true>(&mut out, &big), is_valid);
            assert_eq!(String::from_utf8(out.split_off(6)).unwrap(), expected);
        });
    }
}
