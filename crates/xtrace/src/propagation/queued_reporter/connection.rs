//! Collector connection with acknowledgements.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::queue::{LENGTH, Queue};

/// Question for the number of reports on disk, sent in place of a length. Historical collectors read it as a negative
/// length.
const QUESTION: [u8; LENGTH] = u32::MAX.to_be_bytes();

/// Maximum blocking time of a system call, after which the thread checks if it must end.
const TICK: Duration = Duration::from_millis(50);

/// Reason why reports were not delivered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DeliveryFailure {
    /// No connection.
    NotConnected,
    /// The collector has closed the connection.
    Closed,
    /// The collector accepts nothing, answers nothing, or sends an invalid answer.
    Stalled,
}

/// Answer of a collector: counts of stored and refused reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Answer {
    pub(super) reports: u64,
    pub(super) refused: u64,
}

/// A collector connection.
#[derive(Debug)]
pub(super) struct CollectorConnection {
    stream: TcpStream,
    since: Instant,
    /// `true` if the collector acknowledges reports.
    pub(super) is_acknowledged: bool,
    /// Number of reports to send before checking that the connection stays open. `None` means any number.
    pub(super) first_reports: Option<u64>,
    /// The last answer.
    answered: Answer,
}

impl CollectorConnection {
    /// Connects to the first reachable address for a name.
    pub(super) fn new(address: &str, queue: &Queue, patience: Duration) -> Result<Self, DeliveryFailure> {
        let addresses = address.to_socket_addrs().map_err(|_| DeliveryFailure::NotConnected)?;
        for address in addresses {
            if queue.is_over() {
                break;
            }
            if let Ok(stream) = TcpStream::connect_timeout(&address, patience)
                && prepare(&stream).is_ok()
            {
                return Ok(Self {
                    stream,
                    since: Instant::now(),
                    is_acknowledged: false,
                    first_reports: None,
                    answered: Answer::default(),
                });
            }
        }
        Err(DeliveryFailure::NotConnected)
    }

    /// Sends reports, each after its length.
    pub(super) fn send(
        &mut self,
        frames: &[u8],
        queue: &Queue,
        patience: Duration,
    ) -> Result<(), DeliveryFailure> {
        let mut rest = frames;
        let mut since = Instant::now();
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return Err(DeliveryFailure::Closed),
                Ok(written) => {
                    // At most the rest was written.
                    rest = rest.get(written..).unwrap_or_default();
                    since = Instant::now();
                }
                Err(error) => check(&error, since, queue, patience)?,
            }
        }
        Ok(())
    }

    /// Asks for the number of reports on disk, and returns the result for the `sent` reports since the last question.
    pub(super) fn ask(
        &mut self,
        sent: u64,
        queue: &Queue,
        patience: Duration,
    ) -> Result<Answer, DeliveryFailure> {
        self.send(&QUESTION, queue, patience)?;
        let (mut reports, mut refused) = ([0; 8], [0; 8]);
        let since = Instant::now();
        for number in [&mut reports, &mut refused] {
            self.read(number, since, queue, patience)?;
        }
        let answer = Answer { reports: u64::from_be_bytes(reports), refused: u64::from_be_bytes(refused) };
        let before = std::mem::replace(&mut self.answered, answer);
        let new = || {
            Some(Answer {
                reports: answer.reports.checked_sub(before.reports)?,
                refused: answer.refused.checked_sub(before.refused)?,
            })
        };
        new().filter(|new| new.reports.checked_add(new.refused) == Some(sent)).ok_or(DeliveryFailure::Stalled)
    }

    fn read(
        &mut self,
        mut room: &mut [u8],
        since: Instant,
        queue: &Queue,
        patience: Duration,
    ) -> Result<(), DeliveryFailure> {
        while !room.is_empty() {
            match self.stream.read(room) {
                Ok(0) => return Err(DeliveryFailure::Closed),
                // At most the room was filled.
                Ok(read) => room = room.get_mut(read..).unwrap_or_default(),
                Err(error) => check(&error, since, queue, patience)?,
            }
        }
        Ok(())
    }

    /// Returns the time since the connection was made.
    pub(super) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Checks that the collector keeps the connection open for some time.
    pub(super) fn stay_open(&self, time: Duration, queue: &Queue) -> Result<(), DeliveryFailure> {
        let since = Instant::now();
        while since.elapsed() < time {
            match self.stream.peek(&mut [0]) {
                Ok(0) => return Err(DeliveryFailure::Closed),
                // Unexpected data. The end of the connection behind it cannot be checked.
                Ok(_) => break,
                // The call takes at most one tick.
                Err(error) => check(&error, since, queue, Duration::MAX)?,
            }
        }
        Ok(())
    }

    /// Returns `true` if the collector has closed the connection, as far as the system knows.
    pub(super) fn is_closed(&self) -> bool {
        if self.stream.set_nonblocking(true).is_err() {
            return true;
        }
        let peeked = self.stream.peek(&mut [0]);
        let is_open = match peeked {
            Ok(read) => read > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        self.stream.set_nonblocking(false).is_err() || !is_open
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    // Without a listener, the system can connect a socket to itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(TICK))?;
    stream.set_read_timeout(Some(TICK))
}

/// Returns `Ok` for errors that only mean that nothing happened for a moment.
fn check(
    error: &io::Error,
    since: Instant,
    queue: &Queue,
    patience: Duration,
) -> Result<(), DeliveryFailure> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            if since.elapsed() >= patience || queue.is_over() {
                Err(DeliveryFailure::Stalled)
            } else {
                Ok(())
            }
        }
        _ => Err(DeliveryFailure::Closed),
    }
}
