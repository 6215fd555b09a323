//! Sizes in bytes on the command line.

/// Parses a size in bytes, with K, M, G or T for powers of 1024.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let number = upper.trim_end_matches("IB").trim_end_matches('B');
    let (digits, shift) = match number.char_indices().next_back() {
        Some((at, 'K')) => (&number[..at], 10),
        Some((at, 'M')) => (&number[..at], 20),
        Some((at, 'G')) => (&number[..at], 30),
        Some((at, 'T')) => (&number[..at], 40),
        _ => (number, 0),
    };
    let number: u64 = digits
        .trim()
        .parse()
        .map_err(|_| format!("expected a number of bytes such as 4096, 512M or 16G, found `{text}`"))?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("`{text}` is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes() {
        assert_eq!(parse("16G"), Ok(16 << 30));
        assert_eq!(parse("4KiB"), Ok(4096));
        assert_eq!(parse("12"), Ok(12));
        assert!(parse("x").is_err());
        assert!(parse("99999999T").is_err());
    }
}
