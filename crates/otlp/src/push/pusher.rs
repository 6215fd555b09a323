//! Sends requests, and tries again.

use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::http_answer::ReceivedAnswer;
use super::http_connection::{HttpConnection, Patience, SendError};
use super::partial_success::{PartialSuccess, reason_of};
use super::push_counts::PushCounts;
use super::push_error::PushError;
use super::push_url::PushUrl;
use crate::request_signal::RequestSignal;

/// Time before the second attempt. It doubles with each attempt.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Maximum time between attempts, unless the receiver names a longer time.
const MOST_WAIT: Duration = Duration::from_secs(30);

/// Time after which a wait looks at the stop flag.
const SLICE: Duration = Duration::from_millis(50);

/// Headers of each request. Others cannot replace them.
const OWN_HEADERS: [&str; 8] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "transfer-encoding",
    "te",
];

/// Options for sending.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PushOptions {
    /// More headers, for example keys.
    pub headers: Vec<(String, String)>,
    /// Maximum time between a request and its answer.
    pub timeout: Duration,
    /// Time during which a request is tried again.
    pub retry_for: Duration,
    /// Flag that stops sending.
    pub stop: Option<&'static AtomicBool>,
}

impl Default for PushOptions {
    fn default() -> Self {
        let (timeout, retry_for) = (Duration::from_secs(10), Duration::from_secs(300));
        Self { headers: Vec::new(), timeout, retry_for, stop: None }
    }
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushOutcome {
    /// The receiver has accepted the request, without some of its elements.
    Accepted {
        /// Number of rejected elements.
        rejected: u64,
        /// Reason or warning from the receiver; may be empty.
        reason: String,
    },
    /// The receiver has refused the request, and would refuse it again.
    Refused {
        /// Status number.
        status: u16,
        /// Reason from the receiver; may be empty.
        reason: String,
    },
    /// The request has no answer that can be understood. The receiver may have it.
    Unknown {
        /// What happened instead.
        reason: String,
    },
}

/// Sends requests to a receiver, one after the other.
#[derive(Debug)]
pub struct OtlpPusher {
    url: PushUrl,
    options: PushOptions,
    connection: Option<HttpConnection>,
    counts: PushCounts,
    /// Makes waits of several clients differ.
    random: RandomState,
}

/// Next step after an attempt.
enum AfterAttempt {
    Done(PushOutcome),
    /// Try again, after the time that the receiver names.
    Again(String, Option<Duration>),
}

impl OtlpPusher {
    /// Prepares sending. Connects with the first request.
    ///
    /// # Errors
    /// Fails if the address or a header cannot be used.
    pub fn new(url: &str, options: PushOptions) -> Result<Self, PushError> {
        let url = PushUrl::parse(url).map_err(PushError::Url)?;
        for (name, value) in &options.headers {
            check_header(name, value).map_err(|problem| PushError::Header { name: name.clone(), problem })?;
        }
        let (counts, random) = (PushCounts::default(), RandomState::new());
        Ok(Self { url, options, connection: None, counts, random })
    }

    /// Returns the numbers of requests and elements so far.
    #[must_use]
    pub fn counts(&self) -> PushCounts {
        self.counts
    }

    /// Sends a request in protobuf with a number of elements.
    ///
    /// # Errors
    /// Fails if the receiver cannot be reached in time, or refuses all requests, and after a stop.
    pub fn push(
        &mut self,
        signal: RequestSignal,
        elements: u64,
        body: &[u8],
    ) -> Result<PushOutcome, PushError> {
        let request = self.encode(signal, body).map_err(PushError::Io)?;
        let begin = Instant::now();
        let mut attempt = 0u32;
        loop {
            let (reason, named) = match self.attempt(signal, &request) {
                Ok(AfterAttempt::Done(outcome)) => {
                    self.count(elements, &outcome);
                    return Ok(outcome);
                }
                Ok(AfterAttempt::Again(reason, named)) => (reason, named),
                Err((error, is_sent)) => {
                    self.counts.unanswered += u64::from(is_sent);
                    self.counts.unknown += if is_sent { elements } else { 0 };
                    return Err(error);
                }
            };
            let back_off = self.back_off(attempt);
            // A receiver that always names no time at all would get thousands of requests a second.
            let wait = named.map_or(back_off, |named| named.max(back_off / 16));
            if begin.elapsed().saturating_add(wait) > self.options.retry_for {
                let (url, after) = (self.url.of_signal(signal), begin.elapsed());
                let reason = match named {
                    Some(named) => format!("{reason}; it asks to wait for {} s", named.as_secs()),
                    None => reason,
                };
                return Err(PushError::Unavailable { url, after, reason });
            }
            self.pause(wait)?;
            attempt = attempt.saturating_add(1);
            self.counts.retries += 1;
        }
    }

    /// Returns the head and the compressed body of a request.
    fn encode(&self, signal: RequestSignal, body: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(body)?;
        let packed = packed.finish()?;
        let mut request = Vec::with_capacity(packed.len() + 512);
        let (path, authority) = (self.url.path(signal), &self.url.authority);
        write!(request, "POST {path} HTTP/1.1\r\nHost: {authority}\r\n")?;
        request.extend_from_slice(
            b"Content-Type: application/x-protobuf\r\nContent-Encoding: gzip\r\nAccept: application/x-protobuf\r\n",
        );
        let has_agent = self.options.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent"));
        if !has_agent {
            write!(request, "User-Agent: ichnos/{}\r\n", env!("CARGO_PKG_VERSION"))?;
        }
        for (name, value) in &self.options.headers {
            write!(request, "{name}: {value}\r\n")?;
        }
        write!(request, "Content-Length: {}\r\n\r\n", packed.len())?;
        request.extend_from_slice(&packed);
        Ok(request)
    }

    /// Sends a request once. The error is `true` if the request was completely sent.
    fn attempt(&mut self, signal: RequestSignal, request: &[u8]) -> Result<AfterAttempt, (PushError, bool)> {
        let patience = self.patience();
        if patience.is_stopped() {
            return Err((PushError::Stopped, false));
        }
        let kept = self.connection.take().filter(HttpConnection::is_alive);
        let mut connection = match kept.map_or_else(|| HttpConnection::open(&self.url), Ok) {
            Ok(connection) => connection,
            Err(reason) => return Ok(AfterAttempt::Again(reason, None)),
        };
        let patience = self.patience();
        match connection.exchange(request, patience) {
            Ok(answer) => {
                self.counts.bytes += request.len() as u64;
                if !connection.is_over {
                    self.connection = Some(connection);
                }
                self.judge(signal, answer)
            }
            Err(SendError::Unsent(reason)) => Ok(AfterAttempt::Again(reason, None)),
            Err(SendError::Unanswered(reason)) => {
                self.counts.bytes += request.len() as u64;
                Ok(AfterAttempt::Done(PushOutcome::Unknown { reason }))
            }
            Err(SendError::Stopped(is_sent)) => Err((PushError::Stopped, is_sent)),
        }
    }

    /// Returns what an answer means.
    fn judge(
        &self,
        signal: RequestSignal,
        answer: ReceivedAnswer,
    ) -> Result<AfterAttempt, (PushError, bool)> {
        let ReceivedAnswer { head, body, is_whole } = answer;
        let url = || self.url.of_signal(signal);
        let done = |outcome| Ok(AfterAttempt::Done(outcome));
        match head.status {
            200..=299 if body.is_empty() && is_whole => {
                done(PushOutcome::Accepted { rejected: 0, reason: String::new() })
            }
            200..=299 if !is_whole => {
                done(PushOutcome::Unknown { reason: "the answer is incomplete".to_owned() })
            }
            200..=299 => {
                let Some(encoding) = head.encoding() else {
                    return Err((PushError::NotOtlp { url: url(), media: named_media(&head.media) }, true));
                };
                match PartialSuccess::decode(&body, encoding) {
                    Ok(PartialSuccess { rejected, reason }) => {
                        done(PushOutcome::Accepted { rejected, reason })
                    }
                    Err(fault) => done(PushOutcome::Unknown {
                        reason: format!("the answer cannot be decoded: {fault}"),
                    }),
                }
            }
            429 | 502..=504 => {
                let found = format!("status {}", head.status);
                let reason = reason_of(&body, head.encoding());
                let reason = if reason.is_empty() { found } else { format!("{found}: {reason}") };
                Ok(AfterAttempt::Again(reason, head.retry_after))
            }
            status @ 300..=399 => {
                let reason = format!("redirects are not followed (to `{}`)", head.location.escape_debug());
                Err((PushError::Refused { url: url(), status, reason }, false))
            }
            status @ (401 | 403..=405 | 407) => {
                let reason = reason_of(&body, head.encoding());
                Err((PushError::Refused { url: url(), status, reason }, false))
            }
            status => done(PushOutcome::Refused { status, reason: reason_of(&body, head.encoding()) }),
        }
    }

    fn patience(&self) -> Patience {
        Patience { deadline: Instant::now() + self.options.timeout, stop: self.options.stop }
    }

    fn count(&mut self, elements: u64, outcome: &PushOutcome) {
        let counts = &mut self.counts;
        match outcome {
            PushOutcome::Accepted { rejected, .. } => {
                let rejected = (*rejected).min(elements);
                counts.answered += 1;
                counts.rejected += rejected;
                counts.acknowledged += elements - rejected;
            }
            PushOutcome::Refused { .. } => {
                counts.answered += 1;
                counts.rejected += elements;
            }
            PushOutcome::Unknown { .. } => {
                counts.unanswered += 1;
                counts.unknown += elements;
            }
        }
    }

    /// Returns the time before the next attempt: half of it is random.
    fn back_off(&self, attempt: u32) -> Duration {
        let wait = FIRST_WAIT.saturating_mul(1 << attempt.min(16)).min(MOST_WAIT);
        let random = self.random.hash_one((attempt, self.counts.retries)) % 1024;
        wait / 2 + wait.mul_f64(random as f64 / 2048.0)
    }

    /// Waits, unless stopped.
    fn pause(&self, wait: Duration) -> Result<(), PushError> {
        let end = Instant::now() + wait;
        loop {
            if self.patience().is_stopped() {
                return Err(PushError::Stopped);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}

fn named_media(media: &str) -> String {
    match media {
        "" => "an answer without a media type".to_owned(),
        media => format!("the media type `{}`", media.escape_debug()),
    }
}

/// Checks that a header can be sent as it is.
fn check_header(name: &str, value: &str) -> Result<(), &'static str> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err("expected a name of letters, digits and dashes");
    }
    if !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Err("expected a value of visible ASCII characters");
    }
    match OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        true => Err("this header is part of each request"),
        false => Ok(()),
    }
}
