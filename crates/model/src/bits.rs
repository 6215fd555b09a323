//! Bits out of bytes.

/// Offset of the first code unit that is zero.
pub(crate) fn terminator(bytes: &[u8], unit: usize) -> Option<usize> {
    if unit == 1 {
        return memchr::memchr(0, bytes);
    }
    bytes.chunks_exact(unit).position(|chunk| chunk.iter().all(|byte| *byte == 0)).map(|index| index * unit)
}

/// The bytes of a field of a run; the run was seen to be there.
#[inline]
pub(crate) fn load<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
}

/// Reads up to 64 bits (CTF 1.8, section 4.1.5): little-endian fields fill bytes from their least
/// significant bit, big-endian ones from their most significant bit. Bits beyond the data are 0.
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

/// The same where the data ends, or where nine bytes have a part of the value.
#[inline(never)]
fn read_bits_at_end(data: &[u8], bit: u64, length: u64, big_endian: bool) -> u64 {
    let shift = bit % 8;
    let mut bytes = [0; 16];
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
