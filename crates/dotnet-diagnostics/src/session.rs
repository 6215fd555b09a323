//! A running EventPipe session.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use crate::connection::{exchange, receive_reply, send_request};
use crate::deadline::Deadline;
use crate::endpoint::Endpoint;
use crate::error::DiagnosticsError;
use crate::messages::{Command, MessageError, SessionOptions, session_id_from, stop_tracing};
use crate::providers::Rundown;
use crate::timeouts::Timeouts;

/// Time limit for stopping a session that is dropped.
const DROP_TIMEOUT: Duration = Duration::from_secs(2);

/// Running session. The runtime sends a nettrace file.
///
/// After [`stop`](Self::stop), read to the end: the runtime then describes its methods. Dropping a session stops it.
#[derive(Debug)]
pub struct Session {
    endpoint: Endpoint,
    stream: Arc<UnixStream>,
    id: u64,
    timeouts: Timeouts,
    adjustments: Vec<Adjustment>,
    length: u64,
    stop: StopState,
    end: Option<SessionEnd>,
}

/// Option that an older runtime does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Adjustment {
    /// The runtime lacks rundown keywords.
    Rundown {
        /// Rundown of the session.
        used: Rundown,
    },
    /// The runtime records stacks with all events.
    Stacks,
}

#[derive(Debug)]
enum StopState {
    Running,
    /// The stop request was sent on this connection.
    Requested {
        stream: Arc<UnixStream>,
        deadline: Deadline,
    },
    /// The runtime ended before it could be stopped.
    Gone,
}

/// Reason for the end of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionEnd {
    /// The session was stopped, and the runtime has confirmed it.
    Stopped,
    /// The session was stopped, but the runtime has not confirmed it. The rundown may be incomplete.
    Unconfirmed {
        /// Error in the confirmation.
        problem: String,
    },
    /// The runtime closed the stream, for example because the process ended.
    Closed,
    /// The connection broke. The trace is incomplete.
    Reset,
}

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChunk {
    /// The buffer starts with this number of new bytes.
    Data(usize),
    /// No data arrived in time, or a signal interrupted the wait.
    Nothing,
    /// The stream is complete.
    End,
}

impl Session {
    /// Starts a session. Older runtimes get an older command, with [`adjustments`](Self::adjustments).
    ///
    /// # Errors
    /// If the runtime refuses the session or does not answer.
    pub fn start(
        endpoint: &Endpoint,
        options: &SessionOptions,
        timeouts: Timeouts,
    ) -> Result<Self, DiagnosticsError> {
        let mut command = options.command();
        loop {
            let result = Self::start_with(endpoint, options, command, timeouts);
            match result {
                Err(error) if error.is_unknown_command() => command = older(command, options).ok_or(error)?,
                result => return result,
            }
        }
    }

    fn start_with(
        endpoint: &Endpoint,
        options: &SessionOptions,
        command: Command,
        timeouts: Timeouts,
    ) -> Result<Self, DiagnosticsError> {
        let (options, adjustments) = adjust(options, command);
        let deadline = Deadline::after(timeouts.reply);
        let request = options.request(command)?;
        let stream = endpoint.connect(deadline)?;
        let id = session_id_from(&exchange(&stream, &request, deadline)?)?;
        let (stop, end) = (StopState::Running, None);
        Ok(Self { endpoint: endpoint.clone(), stream, id, timeouts, adjustments, length: 0, stop, end })
    }

    /// Returns the session id in the runtime.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the options that the runtime does not know.
    #[must_use]
    pub fn adjustments(&self) -> &[Adjustment] {
        &self.adjustments
    }

    /// Returns the number of bytes that were read.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the reason for the end, after [`SessionChunk::End`].
    #[must_use]
    pub fn end(&self) -> Option<&SessionEnd> {
        self.end.as_ref()
    }

    /// Waits for data for some time.
    ///
    /// # Errors
    /// If the connection fails, or if the stream goes on for too long after [`stop`](Self::stop).
    pub fn read_chunk(
        &mut self,
        buffer: &mut [u8],
        patience: Duration,
    ) -> Result<SessionChunk, DiagnosticsError> {
        if self.end.is_some() {
            return Ok(SessionChunk::End);
        }
        if let StopState::Requested { deadline, .. } = &self.stop
            && deadline.is_over()
        {
            return Err(DiagnosticsError::Timeout { action: "rundown" });
        }
        let failed = |error| DiagnosticsError::System { action: "session", error };
        let patience = patience.max(Duration::from_millis(1));
        self.stream.set_read_timeout(Some(patience)).map_err(failed)?;
        match (&*self.stream).read(buffer) {
            Ok(0) if buffer.is_empty() => Ok(SessionChunk::Nothing),
            Ok(0) => Ok(self.finish(SessionEnd::Closed)),
            Ok(count) => {
                self.length = self.length.saturating_add(count as u64);
                Ok(SessionChunk::Data(count))
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                    Ok(SessionChunk::Nothing)
                }
                ErrorKind::ConnectionReset => Ok(self.finish(SessionEnd::Reset)),
                _ => Err(failed(error)),
            },
        }
    }

    /// Notes the end, and reads the confirmation of the stop request.
    fn finish(&mut self, reason: SessionEnd) -> SessionChunk {
        let end = match &self.stop {
            StopState::Requested { stream, .. } => {
                let reply =
                    receive_reply(stream, &stop_tracing(self.id), Deadline::after(self.timeouts.reply));
                match reply.and_then(|payload| check_id(&payload, self.id)) {
                    Ok(()) => SessionEnd::Stopped,
                    Err(error) => SessionEnd::Unconfirmed { problem: error.to_string() },
                }
            }
            StopState::Running | StopState::Gone => reason,
        };
        self.end = Some(end);
        SessionChunk::End
    }

    /// Asks the runtime to stop the session. The stream then continues with the rundown, and ends.
    ///
    /// # Errors
    /// If the runtime does not take the request. A runtime that has ended is not an error.
    pub fn stop(&mut self) -> Result<(), DiagnosticsError> {
        self.stop_within(self.timeouts.reply)
    }

    fn stop_within(&mut self, timeout: Duration) -> Result<(), DiagnosticsError> {
        if self.end.is_some() || !matches!(self.stop, StopState::Running) {
            return Ok(());
        }
        let deadline = Deadline::after(timeout);
        let sent = self.endpoint.connect(deadline).and_then(|stream| {
            // The reply comes after the rundown, so that waiting for it here would block both sides.
            send_request(&stream, &stop_tracing(self.id), deadline)?;
            Ok(stream)
        });
        self.stop = match sent {
            Ok(stream) => StopState::Requested { stream, deadline: Deadline::after(self.timeouts.rundown) },
            Err(error) if error.is_gone() => StopState::Gone,
            Err(error) => return Err(error),
        };
        Ok(())
    }
}

/// Reads the stream. Waits up to [`Timeouts::read`] for data.
impl Read for Session {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let patience = self.timeouts.read;
        match self.read_chunk(buffer, patience).map_err(io::Error::other)? {
            SessionChunk::Data(count) => Ok(count),
            SessionChunk::End => Ok(0),
            SessionChunk::Nothing if buffer.is_empty() => Ok(0),
            SessionChunk::Nothing => Err(ErrorKind::TimedOut.into()),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The runtime also stops the session when it cannot write to the stream.
        let _ = self.stop_within(DROP_TIMEOUT.min(self.timeouts.reply));
    }
}

/// Returns the next older command that fits the options.
fn older(command: Command, options: &SessionOptions) -> Option<Command> {
    match command {
        Command::CollectTracing4 if options.stacks => Some(Command::CollectTracing2),
        Command::CollectTracing4 => Some(Command::CollectTracing3),
        Command::CollectTracing3 => Some(Command::CollectTracing2),
        Command::CollectTracing2 => Some(Command::CollectTracing),
        _ => None,
    }
}

/// Changes the options that a command does not know.
fn adjust(options: &SessionOptions, command: Command) -> (SessionOptions, Vec<Adjustment>) {
    let (mut options, mut adjustments) = (options.clone(), Vec::new());
    let rundown = options.providers.rundown();
    let used = match command {
        Command::CollectTracing => Rundown::Default,
        Command::CollectTracing2 | Command::CollectTracing3 => rundown.without_keywords(),
        _ => rundown,
    };
    if used != rundown {
        options.providers.set_rundown(used);
        adjustments.push(Adjustment::Rundown { used });
    }
    if !options.stacks && matches!(command, Command::CollectTracing | Command::CollectTracing2) {
        options.stacks = true;
        adjustments.push(Adjustment::Stacks);
    }
    (options, adjustments)
}

fn check_id(payload: &[u8], expected: u64) -> Result<(), DiagnosticsError> {
    match session_id_from(payload)? {
        found if found == expected => Ok(()),
        found => Err(MessageError::Value { field: "session id", found, expected }.into()),
    }
}
