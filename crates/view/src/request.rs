//! HTTP requests, one for each connection.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Maximum length of the request line, and of the whole request head, in bytes.
const MOST_LINE: usize = 8 << 10;
const MOST_HEAD: usize = 32 << 10;

/// Maximum number of headers.
const MOST_HEADERS: usize = 64;

/// Maximum length of a request body, which is read and ignored.
const MOST_BODY: usize = 64 << 10;

/// Time limit for receiving a request. It is short because clients are on this machine.
const PATIENCE: Duration = Duration::from_secs(1);

/// Request method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Method {
    #[default]
    Get,
    Post,
    /// Preflight request of a browser.
    Options,
}

/// Request without its body.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// Path without the query.
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) host: Option<String>,
    pub(crate) origin: Option<String>,
}

/// Reason to refuse a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestRefusal {
    /// The request did not arrive in time, or the connection is broken.
    Gone,
    Malformed,
    TooLong,
    Method,
    /// HTTP/1.0, which lacks chunked bodies.
    Version,
}

impl From<io::Error> for RequestRefusal {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl Request {
    /// Returns `true` if the `Host` header is this machine and port. Other DNS names bound to 127.0.0.1 are refused.
    pub(crate) fn is_for(&self, port: u16) -> bool {
        self.host.as_deref().is_some_and(|host| is_loopback(host, port))
    }

    /// Reads a request.
    pub(crate) fn read(stream: &mut TcpStream) -> Result<Self, RequestRefusal> {
        let deadline = Instant::now() + PATIENCE;
        let mut head = Vec::new();
        loop {
            read_more(stream, &mut head, deadline)?;
            let is_long_line = !head.iter().take(MOST_LINE).any(|byte| *byte == b'\n');
            if head.len() > MOST_HEAD || is_long_line && head.len() > MOST_LINE {
                return Err(RequestRefusal::TooLong);
            }
            if let Some((request, length, body)) = Self::parse(&head)? {
                let mut rest = body.min(MOST_BODY).saturating_sub(head.len() - length);
                while rest > 0 {
                    head.clear();
                    read_more(stream, &mut head, deadline)?;
                    rest = rest.saturating_sub(head.len());
                }
                return Ok(request);
            }
        }
    }

    /// Returns a request with the lengths of its head and body, or `None` if the head is incomplete.
    fn parse(head: &[u8]) -> Result<Option<(Self, usize, usize)>, RequestRefusal> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let length = match parsed.parse(head) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(RequestRefusal::TooLong),
            Err(_) => return Err(RequestRefusal::Malformed),
        };
        if parsed.version == Some(0) {
            return Err(RequestRefusal::Version);
        }
        let method = match parsed.method {
            Some("GET") => Method::Get,
            Some("POST") => Method::Post,
            Some("OPTIONS") => Method::Options,
            _ => return Err(RequestRefusal::Method),
        };
        // A complete request has a path.
        let target = parsed.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request =
            Self { method, path: path.to_owned(), query: query.to_owned(), host: None, origin: None };
        let mut body = 0;
        for header in parsed.headers.iter() {
            let text = || {
                std::str::from_utf8(header.value).map(str::to_owned).map_err(|_| RequestRefusal::Malformed)
            };
            let place = match () {
                () if header.name.eq_ignore_ascii_case("host") => &mut request.host,
                () if header.name.eq_ignore_ascii_case("origin") => &mut request.origin,
                () if header.name.eq_ignore_ascii_case("content-length") => {
                    body = text()?.trim().parse().map_err(|_| RequestRefusal::Malformed)?;
                    continue;
                }
                () => continue,
            };
            // With two headers, it is unclear which one counts.
            if place.replace(text()?).is_some() {
                return Err(RequestRefusal::Malformed);
            }
        }
        Ok(Some((request, length, body)))
    }
}

/// Returns `true` if a `Host` header is this machine and port.
pub(crate) fn is_loopback(host: &str, port: u16) -> bool {
    let names = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    names.iter().any(|name| name.eq_ignore_ascii_case(host))
}

fn read_more(stream: &mut TcpStream, head: &mut Vec<u8>, deadline: Instant) -> Result<(), RequestRefusal> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(RequestRefusal::Gone);
    }
    stream.set_read_timeout(Some(left))?;
    let mut bytes = [0; 4 << 10];
    let length = stream.read(&mut bytes)?;
    if length == 0 {
        return Err(RequestRefusal::Gone);
    }
    head.extend_from_slice(bytes.get(..length).unwrap_or_default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed() {
        let text = b"GET /a/b?c=d&e HTTP/1.1\r\nHost: localhost:1\r\nORIGIN: x\r\n\r\n";
        let (request, length, body) = Request::parse(text).unwrap().unwrap();
        assert_eq!((request.path.as_str(), request.query.as_str()), ("/a/b", "c=d&e"));
        assert_eq!((request.host.as_deref(), request.origin.as_deref()), (Some("localhost:1"), Some("x")));
        assert_eq!((length, body, request.method), (text.len(), 0, Method::Get));
        assert!(Request::parse(&text[..20]).unwrap().is_none());
        let refusal = |text: &[u8]| Request::parse(text).unwrap_err();
        assert_eq!(refusal(b"PUT / HTTP/1.1\r\n\r\n"), RequestRefusal::Method);
        assert_eq!(refusal(b"GET / HTTP/1.0\r\n\r\n"), RequestRefusal::Version);
        assert_eq!(refusal(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), RequestRefusal::Malformed);
        assert_eq!(refusal(b"\0\x01\x02 / HTTP\r\n\r\n"), RequestRefusal::Malformed);
    }
}
