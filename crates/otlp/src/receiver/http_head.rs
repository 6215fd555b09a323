//! Heads of HTTP requests.

use crate::input::RequestEncoding;
use crate::request_signal::RequestSignal;

/// Maximum length of a head in bytes.
pub(super) const MOST_HEAD: usize = 16 << 10;

/// Maximum number of headers.
const MOST_HEADERS: usize = 64;

/// Reason to refuse a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HttpRefusal {
    pub(super) status: HttpStatus,
    /// One sentence without the full stop.
    pub(super) message: String,
}

impl HttpRefusal {
    pub(super) fn new(status: HttpStatus, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

macro_rules! statuses {
    ($($(#[$about:meta])* $name:ident = $number:literal, $reason:literal, $code:literal;)*) => {
        /// Status of an answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum HttpStatus { $($(#[$about])* $name,)* }

        impl HttpStatus {
            /// Returns the number and the reason.
            pub(super) fn line(self) -> (u16, &'static str) {
                match self { $(Self::$name => ($number, $reason),)* }
            }

            /// Returns the number of the error in gRPC, which bodies contain.
            pub(super) fn code(self) -> u8 {
                match self { $(Self::$name => $code,)* }
            }
        }
    };
}

statuses! {
    Ok = 200, "OK", 0;
    BadRequest = 400, "Bad Request", 3;
    NotFound = 404, "Not Found", 5;
    MethodNotAllowed = 405, "Method Not Allowed", 12;
    Timeout = 408, "Request Timeout", 4;
    LengthRequired = 411, "Length Required", 3;
    TooLarge = 413, "Content Too Large", 8;
    UnsupportedMedia = 415, "Unsupported Media Type", 3;
    TooManyRequests = 429, "Too Many Requests", 14;
    HeadTooLarge = 431, "Request Header Fields Too Large", 8;
    Unavailable = 503, "Service Unavailable", 14;
}

/// Length of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyLength {
    Known(u64),
    Chunked,
    Unknown,
}

/// Head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HttpHead {
    /// Length of the head in bytes.
    pub(super) size: usize,
    pub(super) length: BodyLength,
    /// `true` if the client waits for an answer before it sends the body.
    pub(super) expects_continue: bool,
    /// `true` if the connection ends after the answer.
    pub(super) closes: bool,
    /// Encoding of the body, and of the answer.
    pub(super) encoding: Option<RequestEncoding>,
    /// `true` for a body in gzip.
    pub(super) is_packed: bool,
    /// What is requested, or the reason to refuse it.
    pub(super) signal: Result<RequestSignal, HttpRefusal>,
}

/// Header values.
#[derive(Debug, Default)]
struct HeadFields {
    lengths: Vec<String>,
    transfer: Option<String>,
    content_type: String,
    content_encoding: String,
    connection: String,
    expect: String,
}

impl HttpHead {
    /// Parses a head. `None` if it is incomplete.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, HttpRefusal> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let size = match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(size)) if size <= MOST_HEAD => size,
            Ok(httparse::Status::Complete(_)) => return Err(too_large()),
            Ok(httparse::Status::Partial) if bytes.len() >= MOST_HEAD => return Err(too_large()),
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                let message = format!("the request has more than {MOST_HEADERS} headers");
                return Err(HttpRefusal::new(HttpStatus::HeadTooLarge, message));
            }
            Err(error) => return Err(bad(format!("the request is not HTTP: {error}"))),
        };
        let fields = HeadFields::read(parsed.headers)?;
        let is_old = parsed.version == Some(0);
        let (length, closes) = (fields.length()?, fields.closes(is_old));
        let expects_continue = !is_old && fields.expect.eq_ignore_ascii_case("100-continue");
        let encoding = fields.encoding();
        let signal = signal_of(parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default())
            .and_then(|signal| fields.check_media().map(|()| signal));
        let is_packed = fields.content_encoding.eq_ignore_ascii_case("gzip");
        Ok(Some(Self { size, length, expects_continue, closes, encoding, is_packed, signal }))
    }
}

fn too_large() -> HttpRefusal {
    let message = format!("the head of the request has more than {MOST_HEAD} bytes");
    HttpRefusal::new(HttpStatus::HeadTooLarge, message)
}

fn bad(message: impl Into<String>) -> HttpRefusal {
    HttpRefusal::new(HttpStatus::BadRequest, message)
}

impl HeadFields {
    fn read(headers: &[httparse::Header<'_>]) -> Result<Self, HttpRefusal> {
        let mut fields = Self::default();
        for header in headers {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            let place = if is("content-type") {
                &mut fields.content_type
            } else if is("content-encoding") {
                &mut fields.content_encoding
            } else if is("connection") {
                &mut fields.connection
            } else if is("expect") {
                &mut fields.expect
            } else if is("content-length") {
                fields.lengths.push(String::new());
                let Some(last) = fields.lengths.last_mut() else { continue };
                last
            } else if is("transfer-encoding") {
                fields.transfer.get_or_insert_default()
            } else {
                continue;
            };
            let text = std::str::from_utf8(header.value);
            let text = text.map_err(|_| bad(format!("the header {} is not text", header.name)))?;
            // Several headers are a list.
            if !place.is_empty() {
                place.push(',');
            }
            place.push_str(text.trim());
        }
        Ok(fields)
    }

    /// Returns the length of the body. Contradictory headers are refused, because proxies can understand them in another
    /// way.
    fn length(&self) -> Result<BodyLength, HttpRefusal> {
        match (&self.transfer, &self.lengths[..]) {
            (None, []) => Ok(BodyLength::Unknown),
            (Some(transfer), []) if transfer.eq_ignore_ascii_case("chunked") => Ok(BodyLength::Chunked),
            (Some(transfer), []) => {
                Err(bad(format!("unknown transfer encoding `{}`", transfer.escape_debug())))
            }
            (None, [first, rest @ ..]) => {
                let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
                let length =
                    first.parse().ok().filter(|_| is_number && rest.iter().all(|other| other == first));
                length.map(BodyLength::Known).ok_or_else(|| bad("invalid Content-Length"))
            }
            (Some(_), _) => Err(bad("both Content-Length and Transfer-Encoding")),
        }
    }

    fn closes(&self, is_old: bool) -> bool {
        let has =
            |wanted: &str| self.connection.split(',').any(|one| one.trim().eq_ignore_ascii_case(wanted));
        has("close") || is_old && !has("keep-alive")
    }

    fn encoding(&self) -> Option<RequestEncoding> {
        let media = self.content_type.split(';').next().unwrap_or_default().trim();
        if media.eq_ignore_ascii_case("application/x-protobuf") {
            Some(RequestEncoding::Protobuf)
        } else if media.eq_ignore_ascii_case("application/json") {
            Some(RequestEncoding::Json)
        } else {
            None
        }
    }

    fn check_media(&self) -> Result<(), HttpRefusal> {
        let packed = &*self.content_encoding;
        let is_known = ["", "identity", "gzip"].iter().any(|known| packed.eq_ignore_ascii_case(known));
        let message = match self.encoding() {
            None => "Content-Type must be application/x-protobuf or application/json",
            Some(_) if !is_known => "Content-Encoding must be gzip or identity",
            Some(_) => return Ok(()),
        };
        Err(HttpRefusal::new(HttpStatus::UnsupportedMedia, message))
    }
}

/// Returns the signal of a path.
fn signal_of(method: &str, path: &str) -> Result<RequestSignal, HttpRefusal> {
    let path = path.split('?').next().unwrap_or_default();
    let signal = match path {
        "/v1/traces" => RequestSignal::Traces,
        "/v1/logs" => RequestSignal::Logs,
        "/v1/metrics" => RequestSignal::Metrics,
        _ => {
            let message = "the paths are /v1/traces, /v1/logs and /v1/metrics";
            return Err(HttpRefusal::new(HttpStatus::NotFound, message));
        }
    };
    if method == "POST" {
        return Ok(signal);
    }
    Err(HttpRefusal::new(HttpStatus::MethodNotAllowed, "the method must be POST"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<HttpHead, u16> {
        match HttpHead::parse(text.as_bytes()) {
            Ok(head) => Ok(head.unwrap()),
            Err(refusal) => Err(refusal.status.line().0),
        }
    }

    #[test]
    fn heads_are_parsed() {
        let text = "POST /v1/logs?x HTTP/1.1\r\nHost: a\r\nContent-Type: application/JSON; charset=utf-8\r\n\
                    content-length: 12\r\nContent-Encoding: gzip\r\nExpect: 100-continue\r\n\r\n";
        let found = head(text).unwrap();
        assert_eq!((found.size, found.length), (text.len(), BodyLength::Known(12)));
        assert_eq!((found.signal, found.encoding), (Ok(RequestSignal::Logs), Some(RequestEncoding::Json)));
        assert!(found.is_packed && found.expects_continue && !found.closes);
        assert_eq!(HttpHead::parse(&text.as_bytes()[..text.len() - 1]), Ok(None));
    }

    #[test]
    fn wrong_heads_are_refused() {
        let with = |headers: &str| head(&format!("POST /v1/traces HTTP/1.1\r\n{headers}\r\n"));
        for headers in [
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: +1\r\n",
            "Content-Length: \r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
        ] {
            assert_eq!(with(headers), Err(400), "{headers}");
        }
        assert_eq!(with(&"A: b\r\n".repeat(65)), Err(431));
        assert_eq!(head("\0\r\n\r\n"), Err(400));
        let refused = |text: &str| head(text).unwrap().signal.unwrap_err().status.line().0;
        assert_eq!(refused("POST / HTTP/1.1\r\n\r\n"), 404);
        assert_eq!(refused("GET /v1/traces HTTP/1.1\r\n\r\n"), 405);
        assert_eq!(refused("POST /v1/traces HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n"), 415);
        let packed =
            "POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\nContent-Encoding: br\r\n\r\n";
        assert_eq!(refused(packed), 415);
    }
}
