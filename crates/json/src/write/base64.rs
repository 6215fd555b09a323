//! Bytes in JSON.

use alloc::vec::Vec;

/// Appends bytes as base64 digits with padding, without quotes. JSON from Protocol Buffers has bytes in this form.
pub fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut word = [0; 4];
        for (byte, place) in chunk.iter().zip(&mut word[1..]) {
            *place = *byte;
        }
        let word = u32::from_be_bytes(word);
        for index in 0..4 {
            let digit = (word >> (18 - 6 * index)) & 63;
            out.push(if index <= chunk.len() { DIGITS[digit as usize] } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_base64() {
        for (bytes, digits) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"\xfb\xff\xbfa", "+/+/YQ=="),
        ] {
            let mut out = Vec::new();
            push_base64(&mut out, bytes);
            assert_eq!(out, digits.as_bytes());
        }
    }
}
