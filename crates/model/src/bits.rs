//! Reads bits from bytes.

/// Byte offset of the first zero code unit.
pub(crate) fn terminator(bytes: &[u8], unit: usize) -> Option<usize> {
    match unit {
        1 => return first_zero(bytes),
        2 => return first_zero_pair(bytes),
        _ => {}
    }
    bytes.chunks_exact(unit).position(|chunk| chunk.iter().all(|byte| *byte == 0)).map(|index| index * unit)
}

/// Position of a little-endian value with up to 64 bits, within eight bytes from its first byte. It is computed once,
/// so that reading the value takes two shifts.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// Number of bits to shift up, so that the value is at the top.
    up: u8,
    /// Number of bits to shift down afterwards.
    down: u8,
}

impl Word {
    /// Position of a value with `length` bits that starts at bit `bit` of a byte. `None` if eight bytes do not contain
    /// it, or `length` is 0.
    #[must_use]
    pub fn new(bit: u64, length: u64) -> Option<Self> {
        let up = 64u64.checked_sub(bit.checked_add(length)?).filter(|_| length > 0)?;
        Some(Self { up: up as u8, down: (64 - length) as u8 })
    }

    /// Value length in bits.
    #[inline(always)]
    #[must_use]
    pub fn length(self) -> u64 {
        64 - u64::from(self.down)
    }

    /// Start bit of the value in its first byte.
    #[inline(always)]
    #[must_use]
    pub fn bit(self) -> u64 {
        u64::from(self.down - self.up)
    }

    /// Returns the unsigned value whose first byte is `bytes[at]`. Bytes beyond the data are 0.
    #[inline(always)]
    #[must_use]
    pub fn unsigned(self, bytes: &[u8], at: usize) -> u64 {
        word(bytes, at) << (self.up & 63) >> (self.down & 63)
    }

    /// Like [`unsigned`](Self::unsigned), but signed.
    #[inline(always)]
    #[must_use]
    pub fn signed(self, bytes: &[u8], at: usize) -> i64 {
        (word(bytes, at) << (self.up & 63)) as i64 >> (self.down & 63)
    }

    /// Like [`unsigned`](Self::unsigned), for a big-endian value of 1, 2, 4 or 8 whole bytes.
    #[inline(always)]
    #[must_use]
    pub fn big_unsigned(self, bytes: &[u8], at: usize) -> u64 {
        word(bytes, at).swap_bytes() >> (self.down & 63)
    }

    /// Like [`big_unsigned`](Self::big_unsigned), but signed.
    #[inline(always)]
    #[must_use]
    pub fn big_signed(self, bytes: &[u8], at: usize) -> i64 {
        word(bytes, at).swap_bytes() as i64 >> (self.down & 63)
    }
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    match at.checked_add(8).and_then(|end| bytes.get(at..end)?.try_into().ok()) {
        Some(word) => u64::from_le_bytes(word),
        None => word_at_end(bytes, at),
    }
}

#[cold]
fn word_at_end(bytes: &[u8], at: usize) -> u64 {
    // Bytes beyond the end are 0: callers use only bits that exist.
    first_word(bytes.get(at..).unwrap_or_default())
}

/// Returns the first eight bytes as a little-endian number. Missing bytes are 0.
#[inline]
#[must_use]
pub fn first_word(bytes: &[u8]) -> u64 {
    if let Some(word) = bytes.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    // Two halves, which overlap if there are fewer bytes.
    let shift = |by: usize| (bytes.len() - by) * 8;
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift(4);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u16::from_le_bytes(*first)) | u64::from(u16::from_le_bytes(*last)) << shift(2);
    }
    bytes.first().map_or(0, |byte| u64::from(*byte))
}

/// Reads up to 64 bits (CTF 1.8, section 4.1.5). Little-endian fields fill bytes from the least significant bit,
/// big-endian fields from the most significant bit. Bits beyond the data are 0.
// The shortcut for one word saves 8 % of the instructions of `cargo bench -p ichnos-model -- lttng-header/skip`.
#[inline(always)]
#[must_use]
pub fn read_bits(data: &[u8], bit: u64, length: u64, big_endian: bool) -> u64 {
    let at = (bit / 8) as usize;
    let shift = bit % 8;
    match data.get(at..).and_then(|data| data.first_chunk::<8>()) {
        Some(word) if shift + length <= 64 => {
            if big_endian {
                u64::from_be_bytes(*word) << shift >> (64 - length)
            } else {
                u64::from_le_bytes(*word) >> shift & (u64::MAX >> (64 - length))
            }
        }
        _ => read_bits_at_end(data, bit, length, big_endian),
    }
}

/// Like [`read_bits`], at the end of the data or for a value that spans nine bytes.
#[inline(never)]
fn read_bits_at_end(data: &[u8], bit: u64, length: u64, big_endian: bool) -> u64 {
    let shift = bit % 8;
    let mut bytes = [0; 16];
    // Bytes beyond the end are 0: callers use only bits that exist.
    let rest = data.get((bit / 8) as usize..).unwrap_or_default();
    let count = rest.len().min(9);
    bytes[..count].copy_from_slice(&rest[..count]);
    if big_endian {
        (u128::from_be_bytes(bytes) << shift >> (128 - length)) as u64
    } else {
        (u128::from_le_bytes(bytes) >> shift) as u64 & (u64::MAX >> (64 - length))
    }
}

pub(crate) fn reverse(value: u64, length: u64) -> u64 {
    value.reverse_bits() >> (64 - length)
}

/// Fills the bits from `length` on with the sign.
pub(crate) fn sign_extend(words: &mut [u64], length: u64) {
    let top = length - 1;
    let sign = words.get((top / 64) as usize).is_some_and(|word| word >> (top % 64) & 1 == 1);
    if !sign {
        return;
    }
    for (i, word) in words.iter_mut().enumerate() {
        let low = i as u64 * 64;
        if low >= length {
            *word = u64::MAX;
        } else if length - low < 64 {
            *word |= u64::MAX << (length - low);
        }
    }
}

/// Offset of the first zero byte. Most texts end before a general search would get going. With only that search, `cargo
/// bench -p ichnos-model -- strings/skip` executes 18 % more instructions.
#[inline(always)]
pub(crate) fn first_zero(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < 32 {
        let Some(word) = bytes.get(at..).and_then(|bytes| bytes.first_chunk::<8>()) else { break };
        if let Some(found) = first_zero_byte(u64::from_le_bytes(*word)) {
            return Some(at + found);
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    let found = match rest.len() {
        length @ ..8 => first_zero_byte(first_word(rest) | u64::MAX << (length * 8)),
        _ => memchr::memchr(0, rest),
    };
    found.map(|found| at + found)
}

/// Offset of the first zero pair. Pairs are counted from the first byte, whatever its alignment in memory.
#[inline]
pub(crate) fn first_zero_pair(bytes: &[u8]) -> Option<usize> {
    // Vectors test all pairs of a block at once. Words then locate the pair.
    let (blocks, _) = bytes.as_chunks::<32>();
    let has_zero = |block: &[u8; 32]| {
        block.as_chunks().0.iter().fold(false, |found, pair| found | (u16::from_le_bytes(*pair) == 0))
    };
    let mut at = blocks.iter().take_while(|block| !has_zero(block)).count() * 32;
    while let Some(word) = bytes.get(at..).and_then(|bytes| bytes.first_chunk()) {
        if let Some(found) = first_zero_pair_of(u64::from_le_bytes(*word)) {
            return Some(at + found);
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    let pairs = rest.get(..rest.len() / 2 * 2)?;
    let found = first_zero_pair_of(first_word(pairs) | u64::MAX << (pairs.len() * 8));
    found.map(|found| at + found)
}

#[inline(always)]
fn first_zero_pair_of(word: u64) -> Option<usize> {
    const ONES: u64 = 0x0001_0001_0001_0001;
    // Borrows only run upwards, so the lowest pair is right.
    let zeros = word.wrapping_sub(ONES) & !word & (ONES << 15);
    (zeros != 0).then(|| zeros.trailing_zeros() as usize / 16 * 2)
}

#[inline(always)]
fn first_zero_byte(word: u64) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Borrows only run upwards, so the lowest bit is right.
    let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
    (zeros != 0).then(|| zeros.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::{first_word, first_zero, terminator};

    #[test]
    fn the_first_code_unit_that_is_zero_is_found_wherever_it_is() {
        for unit in [2, 4] {
            for length in 0..100 {
                for zero in (0..=length + unit).step_by(unit) {
                    for other in [[1, 0], [0, 1], [0, 0x80], [0x80, 0], [0xff, 0xff]] {
                        let mut bytes: Vec<u8> = other.iter().copied().cycle().take(length).collect();
                        // Zeros that span two code units do not count.
                        bytes.iter_mut().skip(zero).take(unit).for_each(|byte| *byte = 0);
                        let expected = bytes
                            .chunks_exact(unit)
                            .position(|chunk| chunk.iter().all(|byte| *byte == 0))
                            .map(|index| index * unit);
                        assert_eq!(terminator(&bytes, unit), expected, "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn missing_bytes_of_a_word_are_zero() {
        for length in 0..10u8 {
            let bytes: Vec<u8> = (1..=length).collect();
            let expected = bytes.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            assert_eq!(first_word(&bytes), expected, "{length}");
        }
    }

    #[test]
    fn the_first_zero_is_found_wherever_it_is() {
        for length in 0..70 {
            for zero in 0..=length {
                for other in [1, 0x80, 0xff] {
                    let mut bytes = vec![other; length];
                    if let Some(byte) = bytes.get_mut(zero) {
                        *byte = 0;
                    }
                    if let Some(byte) = bytes.get_mut(zero + 3) {
                        *byte = 0;
                    }
                    let expected = bytes.iter().position(|byte| *byte == 0);
                    assert_eq!(first_zero(&bytes), expected, "{bytes:?}");
                }
            }
        }
    }
}
