//! Chunked HTTP bodies.

/// Returns the content of a chunked body (RFC 9112, section 7.1). `None` if it is incomplete.
///
/// # Panics
/// If a chunk length is not hexadecimal, or other bytes follow the last chunk.
#[must_use]
pub fn join_chunks(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let end = body.windows(2).position(|bytes| bytes == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        body = &body[end + 2..];
        if length == 0 {
            assert!(b"\r\n".starts_with(body), "{}", body.escape_ascii());
            return (body.len() == 2).then_some(content);
        }
        content.extend_from_slice(body.get(..length)?);
        body = body.get(length..)?.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_bodies_are_rejected() {
        let body = b"3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
        for end in 0..body.len() {
            assert_eq!(join_chunks(&body[..end]), None, "{end}");
        }
        assert_eq!(join_chunks(body).unwrap(), b"abcd");
    }
}
