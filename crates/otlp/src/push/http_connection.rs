//! Connection to a receiver.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::http_answer::{AnswerHead, BodyEnd, MOST_BODY, ReceivedAnswer, chunks};
use super::push_url::PushUrl;

/// Maximum time of an attempt to connect to one address.
const CONNECT: Duration = Duration::from_secs(5);

/// Time after which a waiting call looks at the stop flag.
const SLICE: Duration = Duration::from_millis(100);

/// Number of bytes to read at once.
const STEP: usize = 16 << 10;

/// Reason why a request has no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SendError {
    /// The receiver cannot have the whole request. It can be sent again.
    Unsent(String),
    /// The request was completely sent, so the receiver may have it.
    Unanswered(String),
    /// Sending was stopped. `true` if the request was completely sent.
    Stopped(bool),
}

/// Deadline with a stop flag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) deadline: Instant,
    pub(super) stop: Option<&'static AtomicBool>,
}

/// End of waiting.
enum Waited {
    Stopped,
    TooLong,
    Failed(io::Error),
}

impl Patience {
    pub(super) fn is_stopped(self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Calls a function until it does not time out. A peer that sends little by little has the same deadline.
    fn wait<T>(self, mut call: impl FnMut() -> io::Result<T>) -> Result<T, Waited> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        loop {
            if self.is_stopped() {
                return Err(Waited::Stopped);
            }
            if Instant::now() >= self.deadline {
                return Err(Waited::TooLong);
            }
            match call() {
                Ok(done) => return Ok(done),
                Err(error) if matches!(error.kind(), Interrupted | TimedOut | WouldBlock) => {}
                Err(error) => return Err(Waited::Failed(error)),
            }
        }
    }
}

/// Connection to a receiver.
#[derive(Debug)]
pub(super) struct HttpConnection {
    stream: TcpStream,
    /// Received bytes that were not used.
    bytes: Vec<u8>,
    /// `true` if no further request can follow.
    pub(super) is_over: bool,
}

impl HttpConnection {
    /// Connects to one of the addresses of the host.
    ///
    /// # Errors
    /// Fails with the reason if none of them accepts a connection.
    pub(super) fn open(url: &PushUrl) -> Result<Self, String> {
        let addresses = (&*url.host, url.port).to_socket_addrs();
        let addresses = addresses.map_err(|error| format!("the host cannot be found: {error}"))?;
        let mut failure = "the host has no address".to_owned();
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => {
                    let options = stream
                        .set_nodelay(true)
                        .and_then(|()| stream.set_read_timeout(Some(SLICE)))
                        .and_then(|()| stream.set_write_timeout(Some(SLICE)));
                    options.map_err(|error| error.to_string())?;
                    return Ok(Self { stream, bytes: Vec::new(), is_over: false });
                }
                Err(error) => failure = format!("cannot connect to {address}: {error}"),
            }
        }
        Err(failure)
    }

    /// Returns `true` if the receiver has not closed the connection between two requests.
    pub(super) fn is_alive(&self) -> bool {
        if self.is_over || !self.bytes.is_empty() || self.stream.set_nonblocking(true).is_err() {
            return false;
        }
        let peeked = self.stream.peek(&mut [0]);
        // An answer without a request belongs to no request.
        let is_quiet = matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        self.stream.set_nonblocking(false).is_ok() && is_quiet
    }

    /// Sends a request, and receives its answer.
    ///
    /// # Errors
    /// Fails without a whole head of an answer.
    pub(super) fn exchange(
        &mut self,
        request: &[u8],
        patience: Patience,
    ) -> Result<ReceivedAnswer, SendError> {
        self.is_over = true;
        let sent = self.send(request, patience);
        let answer = match sent {
            Err(Waited::Stopped) => return Err(SendError::Stopped(false)),
            Err(Waited::TooLong) => return Err(SendError::Unsent("the request took too long".to_owned())),
            // The receiver may have answered before it closed the connection.
            Err(Waited::Failed(error)) => {
                self.receive(patience).map_err(|_| SendError::Unsent(error.to_string()))
            }
            Ok(()) => self.receive(patience).map_err(|(is_stopped, reason)| match is_stopped {
                true => SendError::Stopped(true),
                false => SendError::Unanswered(reason),
            }),
        }?;
        self.is_over = sent_closes(&answer);
        Ok(answer)
    }

    fn send(&mut self, mut request: &[u8], patience: Patience) -> Result<(), Waited> {
        while !request.is_empty() {
            let written = patience.wait(|| self.stream.write(request))?;
            if written == 0 {
                return Err(Waited::Failed(io::ErrorKind::WriteZero.into()));
            }
            request = request.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Receives more bytes. Returns `false` at the end of the connection.
    fn read(&mut self, patience: Patience) -> Result<bool, (bool, String)> {
        let begin = self.bytes.len();
        self.bytes.resize(begin + STEP, 0);
        let Self { stream, bytes, .. } = self;
        let read = patience.wait(|| stream.read(bytes.get_mut(begin..).unwrap_or_default()));
        self.bytes.truncate(begin + read.as_ref().map_or(0, |read| *read));
        match read {
            Ok(read) => Ok(read > 0),
            Err(Waited::Stopped) => Err((true, String::new())),
            Err(Waited::TooLong) => Err((false, "no answer in time".to_owned())),
            Err(Waited::Failed(error)) => Err((false, error.to_string())),
        }
    }

    /// Receives an answer. The error is `true` after a stop, or a reason.
    fn receive(&mut self, patience: Patience) -> Result<ReceivedAnswer, (bool, String)> {
        let head = loop {
            match AnswerHead::parse(&self.bytes).map_err(|problem| (false, problem))? {
                Some((head, length)) => {
                    self.bytes.drain(..length);
                    // Answers such as 100 precede the answer to the request.
                    if head.status >= 200 {
                        break head;
                    }
                }
                None if self.read(patience)? => {}
                None => return Err((false, "the connection was closed without an answer".to_owned())),
            }
        };
        self.body(head, patience)
    }

    fn body(&mut self, head: AnswerHead, patience: Patience) -> Result<ReceivedAnswer, (bool, String)> {
        loop {
            let is_full = self.bytes.len() >= MOST_BODY;
            let whole = match head.end {
                BodyEnd::Length(length) => {
                    let length = usize::try_from(length).ok().filter(|length| *length <= self.bytes.len());
                    length.map(|length| self.bytes.drain(..length).collect())
                }
                BodyEnd::Chunks => match chunks(&self.bytes) {
                    Ok(Some((body, used))) => {
                        self.bytes.drain(..used);
                        Some(body)
                    }
                    Ok(None) => None,
                    Err(problem) => return Err((false, problem)),
                },
                BodyEnd::Close => None,
            };
            if let Some(body) = whole {
                return Ok(ReceivedAnswer { head, body, is_whole: true });
            }
            let ends = is_full || !self.read(patience)?;
            if ends {
                let is_whole = head.end == BodyEnd::Close && !is_full;
                return Ok(ReceivedAnswer { head, body: std::mem::take(&mut self.bytes), is_whole });
            }
        }
    }
}

/// Returns `true` if no request can follow an answer.
fn sent_closes(answer: &ReceivedAnswer) -> bool {
    answer.head.closes || !answer.is_whole
}
