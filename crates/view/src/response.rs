//! Answers of HTTP.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

use ichnos::json::write::ValueWriter;

/// Time in which the other side has to take a part of an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Headers of all answers. Everything that the page needs is from here, and no other page can use or frame it.
const HEADERS: &str = "Cache-Control: no-store\r\n\
Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
Cross-Origin-Opener-Policy: same-origin\r\n\
Cross-Origin-Resource-Policy: same-origin\r\n\
Referrer-Policy: no-referrer\r\n\
X-Content-Type-Options: nosniff\r\n\
Connection: close\r\n";

/// An answer as a whole.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: Vec<u8>,
}

/// Reason why a request cannot be answered: a text for people, and the bytes of an expression at fault.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) text: String,
    pub(crate) place: Option<std::ops::Range<usize>>,
}

impl ApiError {
    /// The request cannot be understood, or asks for too much.
    pub(crate) fn bad(text: impl Into<String>) -> Self {
        Self { status: 400, text: text.into(), place: None }
    }

    pub(crate) fn missing(text: impl Into<String>) -> Self {
        Self { status: 404, ..Self::bad(text) }
    }

    /// The trace cannot be read as asked for.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { status: 500, ..Self::bad(text) }
    }
}

impl From<ApiError> for Response {
    fn from(error: ApiError) -> Self {
        let mut body = Vec::new();
        let mut object = ValueWriter::new(&mut body).object();
        object.member("error").string(&error.text);
        if let Some(place) = error.place {
            object.member("at").unsigned(place.start as u64);
            object.member("length").unsigned(place.len() as u64);
        }
        object.end();
        Self { status: error.status, kind: JSON, body }
    }
}

/// Type of JSON.
pub(crate) const JSON: &str = "application/json";

impl Response {
    pub(crate) fn json(body: Vec<u8>) -> Self {
        Self { status: 200, kind: JSON, body }
    }

    /// Sends the answer.
    pub(crate) fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        write_head(stream, self.status, self.kind, Some(self.body.len()), "")?;
        stream.write_all(&self.body)?;
        stream.flush()
    }
}

/// Writes status and headers, with the lines `more`.
pub(crate) fn write_head(
    stream: &mut TcpStream,
    status: u16,
    kind: &str,
    length: Option<usize>,
    more: &str,
) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    };
    let length = length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
    let head = format!("HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\n{length}{more}{HEADERS}\r\n");
    stream.write_all(head.as_bytes())
}
