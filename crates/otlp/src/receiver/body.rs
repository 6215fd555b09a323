//! Bodies of HTTP requests.

use std::io::{self, Read as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;

use super::http_head::{BodyLength, HttpHead, HttpRefusal, HttpStatus};
use super::memory::RequestShare;

/// Number of bytes to read at once.
const STEP: usize = 64 << 10;

/// Maximum length of the line before a chunk, and of all lines after the last chunk, in bytes.
const MOST_LINE: usize = 4 << 10;

/// Factor between the sizes of unpacked and packed bodies.
const MOST_EXPANSION: usize = 4;

/// Reason why a request is not received.
#[derive(Debug)]
pub(super) enum ReceiveError {
    /// The connection ended or is broken. There is nobody to answer.
    Gone,
    Refused(HttpRefusal),
}

impl From<HttpRefusal> for ReceiveError {
    fn from(refusal: HttpRefusal) -> Self {
        Self::Refused(refusal)
    }
}

fn refused<T>(status: HttpStatus, message: impl Into<String>) -> Result<T, ReceiveError> {
    Err(HttpRefusal::new(status, message).into())
}

/// Returns the answer for a lack of memory.
pub(super) fn full<T>() -> Result<T, ReceiveError> {
    refused(HttpStatus::TooManyRequests, "the receiver is behind; send the request again later")
}

/// Connection with received bytes.
#[derive(Debug)]
pub(super) struct ReceiveBuffer {
    pub(super) stream: TcpStream,
    bytes: Vec<u8>,
    /// Number of bytes at the start that were used.
    used: usize,
}

impl ReceiveBuffer {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, bytes: Vec::new(), used: 0 }
    }

    /// Returns the bytes that were not used.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.used..).unwrap_or_default()
    }

    /// Marks bytes as used.
    pub(super) fn take(&mut self, count: usize) {
        self.used = (self.used + count).min(self.bytes.len());
    }

    /// Receives more bytes before a deadline.
    pub(super) fn receive(&mut self, deadline: Instant) -> Result<(), ReceiveError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return refused(HttpStatus::Timeout, "the request took too long");
        }
        self.bytes.drain(..self.used);
        self.used = 0;
        let timeout = Some(left.max(Duration::from_millis(1)));
        self.stream.set_read_timeout(timeout).map_err(|_| ReceiveError::Gone)?;
        let begin = self.bytes.len();
        self.bytes.resize(begin + STEP, 0);
        let read = loop {
            match self.stream.read(self.bytes.get_mut(begin..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.bytes.truncate(begin + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(ReceiveError::Gone),
            Ok(_) => Ok(()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                refused(HttpStatus::Timeout, "the request took too long")
            }
            Err(_) => Err(ReceiveError::Gone),
        }
    }
}

/// Receives bodies.
pub(super) struct BodyReceiver<'b> {
    pub(super) buffer: &'b mut ReceiveBuffer,
    pub(super) deadline: Instant,
    /// Maximum size of a packed body.
    pub(super) most: usize,
    pub(super) share: &'b mut RequestShare,
}

impl BodyReceiver<'_> {
    /// Receives the body of a request, and unpacks it.
    pub(super) fn receive(&mut self, head: &HttpHead) -> Result<Vec<u8>, ReceiveError> {
        let mut body = Vec::new();
        match head.length {
            BodyLength::Known(length) => {
                let length = usize::try_from(length).ok().filter(|length| *length <= self.most);
                let Some(length) = length else { return self.too_large() };
                self.part(length, &mut body)?;
            }
            BodyLength::Chunked => self.chunks(&mut body)?,
            BodyLength::Unknown => {
                return refused(HttpStatus::LengthRequired, "Content-Length or chunks are required");
            }
        }
        if !head.is_packed {
            return Ok(body);
        }
        let unpacked = self.unpack(&body)?;
        drop(body);
        self.share.shrink_to(unpacked.capacity());
        Ok(unpacked)
    }

    fn too_large<T>(&self) -> Result<T, ReceiveError> {
        refused(HttpStatus::TooLarge, format!("the body has more than {} bytes", self.most))
    }

    /// Appends a number of bytes. Memory is taken only as they arrive.
    fn part(&mut self, mut length: usize, body: &mut Vec<u8>) -> Result<(), ReceiveError> {
        while length > 0 {
            if self.buffer.rest().is_empty() {
                self.buffer.receive(self.deadline)?;
            }
            let rest = self.buffer.rest();
            let part = rest.get(..length).unwrap_or(rest);
            let taken = part.len();
            reserve(self.share, body, taken, 0)?;
            body.extend_from_slice(part);
            self.buffer.take(taken);
            length -= taken;
        }
        Ok(())
    }

    /// Appends chunks up to the last one.
    fn chunks(&mut self, body: &mut Vec<u8>) -> Result<(), ReceiveError> {
        loop {
            let line = self.line(MOST_LINE)?;
            let length = match httparse::parse_chunk_size(&line) {
                Ok(httparse::Status::Complete((_, length))) => length,
                _ => return refused(HttpStatus::BadRequest, "invalid length of a chunk"),
            };
            if length == 0 {
                return self.trailers();
            }
            let left = self.most - body.len();
            let Some(length) = usize::try_from(length).ok().filter(|length| *length <= left) else {
                return self.too_large();
            };
            self.part(length, body)?;
            if self.line(MOST_LINE)? != b"\r\n" {
                return refused(HttpStatus::BadRequest, "a chunk is longer than its length");
            }
        }
    }

    /// Skips the lines after the last chunk.
    fn trailers(&mut self) -> Result<(), ReceiveError> {
        let mut left = MOST_LINE;
        loop {
            let line = self.line(left)?;
            if line == b"\r\n" {
                return Ok(());
            }
            left -= line.len();
        }
    }

    /// Takes a line with its end.
    fn line(&mut self, most: usize) -> Result<Vec<u8>, ReceiveError> {
        loop {
            let rest = self.buffer.rest();
            if let Some(end) = memchr::memchr(b'\n', rest.get(..most).unwrap_or(rest)) {
                let line = rest.get(..=end).unwrap_or_default().to_vec();
                self.buffer.take(line.len());
                return Ok(line);
            }
            if rest.len() >= most {
                return refused(HttpStatus::BadRequest, "a line between chunks is too long");
            }
            self.buffer.receive(self.deadline)?;
        }
    }

    /// Unpacks a body.
    fn unpack(&mut self, packed: &[u8]) -> Result<Vec<u8>, ReceiveError> {
        let most = self.most.saturating_mul(MOST_EXPANSION);
        let mut decoder = MultiGzDecoder::new(packed);
        let (mut unpacked, mut step) = (Vec::new(), vec![0; STEP]);
        loop {
            let length = match decoder.read(&mut step) {
                Ok(0) => return Ok(unpacked),
                Ok(length) => length,
                Err(error) => {
                    return refused(HttpStatus::BadRequest, format!("the body is not whole gzip: {error}"));
                }
            };
            if unpacked.len() + length > most {
                return refused(
                    HttpStatus::TooLarge,
                    format!("the unpacked body has more than {most} bytes"),
                );
            }
            reserve(self.share, &mut unpacked, length, packed.len())?;
            unpacked.extend_from_slice(step.get(..length).unwrap_or_default());
        }
    }
}

/// Makes room in a buffer, next to memory for other data.
fn reserve(
    share: &mut RequestShare,
    buffer: &mut Vec<u8>,
    more: usize,
    other: usize,
) -> Result<(), ReceiveError> {
    let needed = buffer.len() + more;
    if needed > buffer.capacity() {
        let capacity = needed.max(buffer.capacity() * 2);
        if !share.grow_to(capacity + other) {
            return full();
        }
        buffer.reserve_exact(capacity - buffer.len());
    }
    Ok(())
}
