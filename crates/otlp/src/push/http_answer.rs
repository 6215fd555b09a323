//! Answers of receivers.

use super::http_date::retry_after;
use crate::input::RequestEncoding;
use std::time::{Duration, SystemTime};

/// Maximum length of a head in bytes.
pub(super) const MOST_HEAD: usize = 64 << 10;

/// Maximum number of headers.
const MOST_HEADERS: usize = 100;

/// Maximum length of a body in bytes. More is not read.
pub(super) const MOST_BODY: usize = 1 << 20;

/// End of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    Length(u64),
    Chunks,
    /// End of the connection.
    Close,
}

/// Head of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AnswerHead {
    pub(super) status: u16,
    pub(super) end: BodyEnd,
    /// `true` if the connection ends after the answer.
    pub(super) closes: bool,
    /// Media type without parameters, in lower case.
    pub(super) media: String,
    /// Time to wait before another attempt.
    pub(super) retry_after: Option<Duration>,
    /// Target of a redirect.
    pub(super) location: String,
}

impl AnswerHead {
    /// Parses a head, and returns its length. `None` if it is incomplete.
    ///
    /// # Errors
    /// Fails with what was expected and found if it is not HTTP.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, String> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Response::new(&mut headers);
        let length = match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() >= MOST_HEAD => {
                return Err(format!("expected a head of at most {MOST_HEAD} bytes"));
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(format!("expected an answer in HTTP: {error}")),
        };
        let status = parsed.code.unwrap_or_default();
        let has_body = !(status < 200 || status == 204 || status == 304);
        let mut head = Self {
            status,
            end: if has_body { BodyEnd::Close } else { BodyEnd::Length(0) },
            closes: parsed.version == Some(0),
            media: String::new(),
            retry_after: None,
            location: String::new(),
        };
        for header in parsed.headers.iter() {
            head.read(header.name, &String::from_utf8_lossy(header.value), has_body)?;
        }
        head.closes |= head.end == BodyEnd::Close;
        Ok(Some((head, length)))
    }

    fn read(&mut self, name: &str, value: &str, has_body: bool) -> Result<(), String> {
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        match &*name {
            "content-length" if has_body && self.end != BodyEnd::Chunks => {
                let length = value.parse().ok().filter(|_| value.bytes().all(|byte| byte.is_ascii_digit()));
                let length = length.ok_or_else(|| "expected a number in Content-Length".to_owned())?;
                self.end = BodyEnd::Length(length);
            }
            "transfer-encoding" if has_body => match value.eq_ignore_ascii_case("chunked") {
                true => self.end = BodyEnd::Chunks,
                false => return Err("expected the transfer encoding `chunked`".to_owned()),
            },
            "connection" => {
                self.closes = value.split(',').any(|one| one.trim().eq_ignore_ascii_case("close"));
            }
            "content-type" => {
                self.media = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            }
            "retry-after" => self.retry_after = retry_after(value, SystemTime::now()),
            "location" => self.location = value.to_owned(),
            _ => {}
        }
        Ok(())
    }

    /// Returns the encoding of the body, if it is one of OpenTelemetry's.
    pub(super) fn encoding(&self) -> Option<RequestEncoding> {
        match &*self.media {
            "application/x-protobuf" | "application/protobuf" => Some(RequestEncoding::Protobuf),
            "application/json" => Some(RequestEncoding::Json),
            _ => None,
        }
    }
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReceivedAnswer {
    pub(super) head: AnswerHead,
    pub(super) body: Vec<u8>,
    /// `false` if the body is longer, or ended early.
    pub(super) is_whole: bool,
}

/// Decodes the chunks in a body. Returns the decoded bytes, and the number of used bytes after the last chunk. `None`
/// if more bytes are needed.
///
/// # Errors
/// Fails if the body does not consist of chunks.
pub(super) fn chunks(mut bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, String> {
    let whole = bytes.len();
    let mut body = Vec::new();
    loop {
        let (start, length) = match httparse::parse_chunk_size(bytes) {
            Ok(httparse::Status::Complete((start, length))) => (start, length),
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err("expected the length of a chunk".to_owned()),
        };
        bytes = bytes.get(start..).unwrap_or_default();
        if length == 0 {
            return Ok(trailers(bytes).map(|rest| (body, whole - rest)));
        }
        let Some(length) = usize::try_from(length).ok().filter(|length| *length <= MOST_BODY) else {
            return Err(format!("expected a chunk of at most {MOST_BODY} bytes"));
        };
        let Some((chunk, rest)) = bytes.split_at_checked(length) else { return Ok(None) };
        body.extend_from_slice(chunk);
        match rest {
            [b'\r', b'\n', rest @ ..] => bytes = rest,
            [] | [b'\r'] => return Ok(None),
            _ => return Err("expected the end of a chunk".to_owned()),
        }
    }
}

/// Skips the lines after the last chunk. Returns the number of bytes after them. `None` if more bytes are needed.
fn trailers(mut bytes: &[u8]) -> Option<usize> {
    loop {
        let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
        bytes = bytes.get(end + 2..).unwrap_or_default();
        if end == 0 {
            return Some(bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<AnswerHead, String> {
        AnswerHead::parse(text.as_bytes()).map(|head| head.unwrap().0)
    }

    #[test]
    fn heads() {
        let text = "HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; x\r\nContent-Length: 2\r\n\r\n";
        let found = head(text).unwrap();
        assert_eq!((found.status, found.end, found.closes), (200, BodyEnd::Length(2), false));
        assert_eq!(found.encoding(), Some(RequestEncoding::Json));
        assert_eq!(AnswerHead::parse(&text.as_bytes()[..text.len() - 1]), Ok(None));
        let found = head("HTTP/1.1 503 X\r\nRetry-After: 2\r\nConnection: close\r\n\r\n").unwrap();
        assert_eq!(found.retry_after, Some(Duration::from_secs(2)));
        assert!(found.closes && found.end == BodyEnd::Close);
        assert!(head("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap().closes);
        assert_eq!(
            head("HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap().end,
            BodyEnd::Length(0)
        );
        for wrong in ["SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"] {
            assert!(head(wrong).is_err(), "{wrong}");
        }
        assert!(head("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n").is_err());
        assert!(
            AnswerHead::parse(&[b"HTTP/1.1 200 OK\r\nA: ".to_vec(), vec![b'b'; MOST_HEAD]].concat()).is_err()
        );
    }

    #[test]
    fn bodies_in_chunks() {
        let text = b"3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nA: b\r\n\r\nrest";
        assert_eq!(chunks(text), Ok(Some((b"abcd".to_vec(), text.len() - 4))));
        for end in 0..text.len() - 4 {
            assert_eq!(chunks(&text[..end]), Ok(None), "{end}");
        }
        assert!(chunks(b"x\r\n").is_err() && chunks(b"1\r\nab\r\n").is_err());
        assert!(chunks(b"ffffffff\r\n").is_err());
    }
}
