//! Serves the requests of a connection.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::answer::HttpAnswer;
use super::body::{BodyReceiver, ReceiveBuffer, ReceiveError, full};
use super::client_wait::ClientWait;
use super::http_head::{HttpHead, HttpRefusal, HttpStatus};
use super::memory::RequestShare;
use super::received_request::{ReceivedRequest, wall_clock};
use super::receiver_options::ReceiverOptions;
use super::request_target::{RequestTarget, TargetRefusal};
use crate::event_indexer::{EventIndexer, FEW_EVENTS};
use crate::input::RequestEncoding;
use crate::request::check_end;
use crate::request_signal::RequestSignal;

/// Longest time to wait until a client has read an answer before the connection is closed.
const LINGER: Duration = Duration::from_secs(1);

/// A connection.
pub(super) struct HttpConnection<'c> {
    pub(super) buffer: ReceiveBuffer,
    pub(super) options: &'c ReceiverOptions,
    pub(super) target: &'c dyn RequestTarget,
    pub(super) wait: &'c ClientWait,
}

/// Error of an exchange, with the encoding of the answer.
type ExchangeError = (Option<RequestEncoding>, ReceiveError);

impl HttpConnection<'_> {
    /// Serves requests until the connection ends.
    pub(super) fn serve(mut self) {
        // A client that does not read must not hold the thread.
        let _ = self.buffer.stream.set_write_timeout(Some(self.options.patience));
        let _ = self.buffer.stream.set_nodelay(true);
        loop {
            match self.exchange() {
                Ok(true) => {}
                Ok(false) => return self.close(),
                Err((_, ReceiveError::Gone)) => return,
                Err((encoding, ReceiveError::Refused(refusal))) => {
                    self.target.counts().add_refused();
                    // The rest of the request is unknown.
                    let answer = HttpAnswer::refused(encoding, &refusal).to_bytes(true);
                    if self.buffer.stream.write_all(&answer).is_ok() {
                        self.close();
                    }
                    return;
                }
            }
        }
    }

    /// Receives a request and answers it. Returns `false` if the connection ends.
    fn exchange(&mut self) -> Result<bool, ExchangeError> {
        let head = self.head().map_err(|error| (None, error))?;
        let encoding = head.encoding;
        let fail = |error: ReceiveError| (encoding, error);
        let signal = head.signal.clone().map_err(|refusal| fail(refusal.into()))?;
        let deadline = Instant::now() + self.options.patience;
        if head.expects_continue {
            let sent = self.buffer.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
            sent.map_err(|_| fail(ReceiveError::Gone))?;
        }
        let mut share = self.target.memory().share();
        let most = self.options.most_body;
        let mut receiver = BodyReceiver { buffer: &mut self.buffer, deadline, most, share: &mut share };
        let body = receiver.receive(&head).map_err(fail)?;
        self.wait.set_busy();
        // The head was checked.
        let of_body = encoding.unwrap_or(RequestEncoding::Protobuf);
        let answer = match self.accept(body, of_body, signal, share) {
            Ok(answer) => answer,
            Err(ReceiveError::Refused(refusal)) => {
                self.target.counts().add_refused();
                HttpAnswer::refused(encoding, &refusal)
            }
            Err(error) => return Err(fail(error)),
        };
        let closes = head.closes || self.target.is_closed();
        let sent = self.buffer.stream.write_all(&answer.to_bytes(closes));
        sent.map_err(|_| fail(ReceiveError::Gone))?;
        Ok(!closes)
    }

    /// Receives the head of the next request.
    fn head(&mut self) -> Result<HttpHead, ReceiveError> {
        if self.buffer.rest().is_empty() {
            self.wait.set_idle();
            // Nobody waits for an answer here.
            let received = self.buffer.receive(Instant::now() + self.options.idle);
            received.map_err(|_| ReceiveError::Gone)?;
        }
        self.wait.set_receiving();
        let deadline = Instant::now() + self.options.patience;
        loop {
            if let Some(head) = HttpHead::parse(self.buffer.rest())? {
                self.buffer.take(head.size);
                return Ok(head);
            }
            self.buffer.receive(deadline)?;
        }
    }

    /// Decodes a request, and passes it to the target.
    fn accept(
        &self,
        body: Vec<u8>,
        encoding: RequestEncoding,
        signal: RequestSignal,
        mut share: RequestShare,
    ) -> Result<HttpAnswer, ReceiveError> {
        if !share.grow_to(body.capacity()) {
            return full();
        }
        let mut indexer = EventIndexer::new(FEW_EVENTS);
        indexer.share = Some(self.target.memory().share());
        let indexed = indexer.add((0, 0), &body, encoding, Some(signal));
        let checked = indexed.and_then(|()| check_end(&body, encoding));
        if indexer.is_full {
            return full();
        }
        checked.map_err(|fault| HttpRefusal::new(HttpStatus::BadRequest, fault.to_string()))?;
        let EventIndexer { contexts, mut places, rejected, accepted, rejections, cuts, share: own, .. } =
            indexer;
        places.sort_by_key(|place| place.time);
        let reason = rejected.first().map(|rejected| rejected.fault.to_string()).unwrap_or_default();
        let request = ReceivedRequest {
            body,
            encoding,
            signal,
            contexts,
            places,
            cuts,
            arrived: wall_clock(),
            _shares: (share, own),
        };
        let unavailable = |message: &str| Err(HttpRefusal::new(HttpStatus::Unavailable, message).into());
        match self.target.push(request) {
            Ok(()) => self.target.counts().add(accepted, rejections),
            Err(TargetRefusal::Full) => return full(),
            Err(TargetRefusal::Closed) => return unavailable("the receiver has ended"),
            Err(TargetRefusal::NotStored) => {
                return unavailable("the request cannot be stored at the moment");
            }
        }
        Ok(HttpAnswer::accepted(encoding, signal, (rejections, &reason)))
    }

    /// Closes the connection after the client has read the answer. Otherwise, unread bytes could reset it before.
    fn close(&mut self) {
        // An allowed body, even if it is refused for another reason. Its chunks have heads.
        let most = self.options.most_body.saturating_add(1 << 20);
        let stream = &mut self.buffer.stream;
        let _ = stream.shutdown(Shutdown::Write);
        let deadline = Instant::now() + LINGER;
        let mut bytes = [0; 16 << 10];
        let mut skipped = 0;
        while skipped < most && skip(stream, deadline, &mut bytes, &mut skipped) {}
    }
}

/// Skips received bytes. Returns `false` at the end, or after the deadline.
fn skip(stream: &mut TcpStream, deadline: Instant, bytes: &mut [u8], skipped: &mut usize) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
        return false;
    }
    let read = stream.read(bytes).unwrap_or(0);
    *skipped += read;
    read > 0
}
