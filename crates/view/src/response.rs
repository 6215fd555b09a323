//! HTTP responses.

use std::io::{self, BufWriter, Write};
use std::net::TcpStream;
use std::time::Duration;

use ichnos::json::write::ValueWriter;

/// Time limit for sending a part of a response.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Headers of all responses. The page can only load files from this server, and other sites cannot read or frame it.
const HEADERS: &str = "Cache-Control: no-store\r\n\
Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
Cross-Origin-Opener-Policy: same-origin\r\n\
Cross-Origin-Resource-Policy: same-origin\r\n\
Referrer-Policy: no-referrer\r\n\
X-Content-Type-Options: nosniff\r\n\
Connection: close\r\n";

/// Complete response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: Vec<u8>,
}

/// Error response: a message, the faulty byte range of an expression, and a suggestion.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) text: String,
    pub(crate) place: Option<std::ops::Range<usize>>,
    pub(crate) help: Option<String>,
}

impl ApiError {
    /// Creates an error for an invalid request.
    pub(crate) fn bad(text: impl Into<String>) -> Self {
        Self { status: 400, text: text.into(), place: None, help: None }
    }

    pub(crate) fn missing(text: impl Into<String>) -> Self {
        Self { status: 404, ..Self::bad(text) }
    }

    /// Creates an error for a trace that cannot be read.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { status: 500, ..Self::bad(text) }
    }
}

impl From<ApiError> for Response {
    fn from(error: ApiError) -> Self {
        let mut body = Vec::new();
        let mut object = ValueWriter::new(&mut body).object();
        object.member("error").string(&error.text);
        object.string("help", error.help.as_deref());
        if let Some(place) = error.place {
            object.member("at").unsigned(place.start as u64);
            object.member("length").unsigned(place.len() as u64);
        }
        object.end();
        Self { status: error.status, kind: JSON, body }
    }
}

/// JSON media type.
pub(crate) const JSON: &str = "application/json";

impl Response {
    pub(crate) fn json(body: Vec<u8>) -> Self {
        Self { status: 200, kind: JSON, body }
    }

    /// Sends the response.
    pub(crate) fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        write_head(stream, self.status, self.kind, Some(self.body.len() as u64), "")?;
        stream.write_all(&self.body)?;
        stream.flush()
    }
}

/// Chunk size in bytes.
const CHUNK: usize = 64 << 10;

/// Chunked body of unknown length (RFC 9112, section 7.1). Only [`finish`](Self::finish) writes the last chunk. Without
/// it, the client knows that the body is incomplete.
pub(crate) struct ChunkedBody<'s>(BufWriter<Chunks<'s>>);

impl<'s> ChunkedBody<'s> {
    /// Writes the status and headers, and the header lines `more`.
    pub(crate) fn begin(stream: &'s mut TcpStream, kind: &str, more: &str) -> io::Result<Self> {
        write_head(stream, 200, kind, None, &format!("Transfer-Encoding: chunked\r\n{more}"))?;
        Ok(Self(BufWriter::with_capacity(CHUNK, Chunks(stream))))
    }

    /// Ends the body.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Chunks(stream) = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        stream.write_all(b"0\r\n\r\n")?;
        stream.flush()
    }
}

impl Write for ChunkedBody<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writer that sends each write as a chunk.
struct Chunks<'s>(&'s mut TcpStream);

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An empty chunk would end the body.
        if !bytes.is_empty() {
            write!(self.0, "{:x}\r\n", bytes.len())?;
            self.0.write_all(bytes)?;
            self.0.write_all(b"\r\n")?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes the status and headers, and the header lines `more`.
pub(crate) fn write_head(
    stream: &mut TcpStream,
    status: u16,
    kind: &str,
    length: Option<u64>,
    more: &str,
) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Match",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    };
    let length = length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
    let head = format!("HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\n{length}{more}{HEADERS}\r\n");
    stream.write_all(head.as_bytes())
}
