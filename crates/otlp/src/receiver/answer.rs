//! Answers to HTTP requests.

use std::io::Write as _;

use ichnos_json::write::ValueWriter;

use super::http_head::{HttpRefusal, HttpStatus};
use crate::input::RequestEncoding;
use crate::request_signal::RequestSignal;

/// Number of seconds after which a client should try again.
const RETRY: u32 = 1;

/// Answer to a request.
#[derive(Debug)]
pub(super) struct HttpAnswer {
    pub(super) status: HttpStatus,
    encoding: RequestEncoding,
    body: Vec<u8>,
}

impl HttpAnswer {
    /// Acknowledges a request. `rejected` is the number of elements that could not be decoded, with the first reason.
    pub(super) fn accepted(
        encoding: RequestEncoding,
        signal: RequestSignal,
        (rejected, reason): (u64, &str),
    ) -> Self {
        let mut body = Vec::new();
        match encoding {
            RequestEncoding::Protobuf if rejected == 0 => {}
            RequestEncoding::Protobuf => {
                let mut partial = Vec::new();
                push_number(&mut partial, 1, rejected);
                push_bytes(&mut partial, 2, reason.as_bytes());
                push_bytes(&mut body, 1, &partial);
            }
            RequestEncoding::Json => {
                let mut answer = ValueWriter::new(&mut body).object();
                if rejected > 0 {
                    let mut partial = answer.member("partialSuccess").object();
                    // 64-bit integers are texts in JSON from protobuf.
                    partial.member(rejected_name(signal)).string(&rejected.to_string());
                    partial.member("errorMessage").string(reason);
                    partial.end();
                }
                answer.end();
            }
        }
        Self { status: HttpStatus::Ok, encoding, body }
    }

    /// Refuses a request, with a `Status` message.
    pub(super) fn refused(encoding: Option<RequestEncoding>, refusal: &HttpRefusal) -> Self {
        let HttpRefusal { status, message } = refusal;
        let encoding = encoding.unwrap_or(RequestEncoding::Json);
        let mut body = Vec::new();
        match encoding {
            RequestEncoding::Protobuf => {
                push_number(&mut body, 1, status.code().into());
                push_bytes(&mut body, 2, message.as_bytes());
            }
            RequestEncoding::Json => {
                let mut object = ValueWriter::new(&mut body).object();
                object.unsigned("code", Some(status.code().into()));
                object.string("message", Some(message.as_str()));
                object.end();
            }
        }
        Self { status: *status, encoding, body }
    }

    /// Returns the answer as bytes.
    pub(super) fn to_bytes(&self, closes: bool) -> Vec<u8> {
        let (number, reason) = self.status.line();
        let media = match self.encoding {
            RequestEncoding::Protobuf => "application/x-protobuf",
            RequestEncoding::Json => "application/json",
        };
        let mut bytes = Vec::new();
        // Writing to a vector cannot fail.
        let _ = write!(bytes, "HTTP/1.1 {number} {reason}\r\nContent-Type: {media}\r\n");
        let _ = write!(bytes, "Content-Length: {}\r\n", self.body.len());
        match self.status {
            HttpStatus::MethodNotAllowed => bytes.extend_from_slice(b"Allow: POST\r\n"),
            HttpStatus::TooManyRequests | HttpStatus::Unavailable => {
                let _ = write!(bytes, "Retry-After: {RETRY}\r\n");
            }
            _ => {}
        }
        if closes {
            bytes.extend_from_slice(b"Connection: close\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

fn rejected_name(signal: RequestSignal) -> &'static str {
    match signal {
        RequestSignal::Traces => "rejectedSpans",
        RequestSignal::Logs => "rejectedLogRecords",
        RequestSignal::Metrics => "rejectedDataPoints",
    }
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn push_number(out: &mut Vec<u8>, field: u8, value: u64) {
    out.push(field << 3);
    push_varint(out, value);
}

fn push_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
