//! Hexadecimal and base64 digits.

/// Decodes hexadecimal digits. `None` for any other text.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()).collect()
}

/// Encodes bytes as lowercase hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Decodes base64, with the digits of both alphabets, with or without padding. `None` for any other text.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    if text.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for digits in text.chunks(4) {
        let mut word = 0u32;
        for digit in digits {
            word = word << 6 | base64_digit(*digit)?;
        }
        word <<= 6 * (4 - digits.len());
        let [_, decoded @ ..] = word.to_be_bytes();
        bytes.extend_from_slice(decoded.get(..digits.len() - 1)?);
    }
    Some(bytes)
}

fn base64_digit(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use ichnos_json::write::push_base64;

    use super::*;

    #[test]
    fn digits_become_bytes() {
        assert_eq!(from_hex("00fF10"), Some(vec![0, 255, 16]));
        assert_eq!((from_hex("0"), from_hex("0g"), from_hex("")), (None, None, Some(vec![])));
        assert_eq!(to_hex(&[0, 255, 16]), "00ff10");
        for (text, bytes) in
            [("", &b""[..]), ("Zg==", b"f"), ("Zm8", b"fo"), ("Zm9v", b"foo"), ("-_-_", &[0xfb, 0xff, 0xbf])]
        {
            assert_eq!(from_base64(text).as_deref(), Some(bytes), "{text}");
            let mut digits = Vec::new();
            push_base64(&mut digits, bytes);
            assert_eq!(
                std::str::from_utf8(&digits).ok().and_then(from_base64).as_deref(),
                Some(bytes),
                "{text}"
            );
        }
        assert_eq!((from_base64("A"), from_base64("A*==")), (None, None));
    }
}
