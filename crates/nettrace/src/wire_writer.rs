//! Appends primitive values to bytes. All are little-endian.

/// Appends a 16-bit number.
pub(crate) fn push_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a 32-bit number.
pub(crate) fn push_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a 64-bit number.
pub(crate) fn push_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a number in groups of 7 bits, least significant first.
#[inline(always)]
pub(crate) fn push_varuint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number in groups of 7 bits. Numbers near 0 are short.
pub(crate) fn push_varint(out: &mut Vec<u8>, value: i64) {
    push_varuint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends a UTF-8 text after its length in bytes (version 6).
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    push_varuint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a UTF-16 text and a 0 code unit (up to version 5). Cuts the text at its first U+0000.
pub(crate) fn push_utf16_string(out: &mut Vec<u8>, text: &str) {
    push_utf16(out, text);
    push_u16(out, 0);
}

/// Appends UTF-16 up to the first U+0000.
pub(crate) fn push_utf16(out: &mut Vec<u8>, text: &str) {
    for unit in text.encode_utf16().take_while(|unit| *unit != 0) {
        push_u16(out, unit);
    }
}

/// Appends bytes from `write` after their 16-bit size. If there are too many, returns `false` and appends nothing.
pub(crate) fn push_sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> bool {
    let begin = out.len();
    push_u16(out, 0);
    write(out);
    match u16::try_from(out.len() - begin - 2) {
        Ok(size) => {
            set_u16(out, begin, size);
            true
        }
        Err(_) => {
            out.truncate(begin);
            false
        }
    }
}

/// Replaces a 16-bit number at a position.
pub(crate) fn set_u16(out: &mut [u8], at: usize, value: u16) {
    if let Some(bytes) = out.get_mut(at..at + 2) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}
