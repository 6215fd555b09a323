//! Numbers in dates and times, with decimal digits only.

/// Reads a number of decimal digits, without a sign.
pub(crate) fn number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_are_read() {
        assert_eq!(number::<u8>("007"), Some(7));
        for text in ["", "+1", "-1", " 1", "1 ", "256", "1_0"] {
            assert_eq!(number::<u8>(text), None, "{text}");
        }
    }
}
