//! Bodies of HTTP in chunks.

/// Returns the content of a body in chunks (RFC 9112, section 7.1), or `None` if the last chunk is missing.
///
/// # Panics
/// If the length of a chunk is not hexadecimal, or bytes follow the last chunk.
#[must_use]
pub fn join_chunks(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let end = body.windows(2).position(|bytes| bytes == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        body = &body[end + 2..];
        if length == 0 {
            assert_eq!(body, b"\r\n");
            return Some(content);
        }
        content.extend_from_slice(body.get(..length)?);
        body = body.get(length..)?.strip_prefix(b"\r\n")?;
    }
}
