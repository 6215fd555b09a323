//! Report destinations.

use std::fmt;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::report::{MAX_REPORT_LENGTH, MAX_REPORT_LINES, Part, Reports};

/// Report port, for UDP and TCP.
pub const PORT: u16 = 7831;
/// Maximum report size in bytes, limited by the datagram size.
pub const MAX_REPORT: usize = 65_507;

/// Timeout for the first connection.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time for which a report waits for a collector that accepts nothing, or for a new connection.
const PATIENCE: Duration = Duration::from_millis(100);

/// Time until the next attempt after a timeout.
const PAUSE: Duration = Duration::from_secs(1);

/// Receives reports.
///
/// # For implementations
/// A report is text from [`ReportWriter`](crate::report::ReportWriter), without the blank line between reports. The
/// traced code calls `report`, so it should not take long. It can queue or refuse a report that cannot be delivered at
/// once. After an error, the event did not happen: no other report refers to it.
pub trait Reporter: Send + Sync {
    /// Sends a report.
    ///
    /// # Errors
    /// If the report will certainly not arrive.
    fn report(&self, report: &[u8]) -> io::Result<()>;
}

impl<R: Reporter + ?Sized> Reporter for Arc<R> {
    fn report(&self, report: &[u8]) -> io::Result<()> {
        (**self).report(report)
    }
}

impl<R: Reporter + ?Sized> Reporter for Box<R> {
    fn report(&self, report: &[u8]) -> io::Result<()> {
        (**self).report(report)
    }
}

/// Drops all reports.
impl Reporter for () {
    fn report(&self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn too_long(length: usize) -> io::Error {
    let reason = format!("a report of {length} bytes exceeds the limit of {MAX_REPORT}");
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

/// Sends each report in a datagram, without knowing if it arrives.
#[derive(Debug)]
pub struct UdpReporter {
    socket: UdpSocket,
}

impl UdpReporter {
    /// Creates a reporter for a collector at an address, usually at [`PORT`].
    ///
    /// # Errors
    /// If the address cannot be resolved, or a socket cannot be created.
    pub fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        let address = address.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let own: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(own)?;
        socket.connect(address)?;
        // Reports beyond the system's buffer are lost, as can happen anywhere on the way.
        socket.set_nonblocking(true)?;
        Ok(Self { socket })
    }
}

impl Reporter for UdpReporter {
    fn report(&self, report: &[u8]) -> io::Result<()> {
        if report.len() > MAX_REPORT {
            return Err(too_long(report.len()));
        }
        match self.socket.send(report) {
            // The error is about an earlier report that found no listening socket.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => self.socket.send(report),
            result => result,
        }
        .map(drop)
    }
}

/// Sends reports through a connection, each after its length (32 bits, big-endian).
///
/// The collector does not reply. `Ok` means that the system accepted the report, not that it arrived. If the connection
/// breaks, reports in transit are lost, together with all reports sent before the system notices, although those calls
/// returned `Ok`. The first report after that fails, and the next report makes a new connection.
///
/// A report waits for at most 100 milliseconds, or twice as long on a busy machine, until the collector accepts it or
/// is connected. After that, reports fail at once for a second. Programs that must not wait at all, or must not lose
/// reports, should use a [`QueuedReporter`](super::QueuedReporter).
#[derive(Debug)]
pub struct TcpReporter {
    address: SocketAddr,
    state: Mutex<TcpState>,
}

#[derive(Debug)]
struct TcpState {
    stream: Option<TcpStream>,
    /// Time of the last failure to connect or to send.
    failed: Option<Instant>,
    frame: Vec<u8>,
}

impl TcpReporter {
    /// Connects to a collector at an address, usually at [`PORT`].
    ///
    /// # Errors
    /// If the address cannot be resolved, or no program listens there.
    pub fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        let address = address.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let stream = Some(connect(&address, TIMEOUT)?);
        Ok(Self { address, state: Mutex::new(TcpState { stream, failed: None, frame: Vec::new() }) })
    }
}

impl TcpState {
    /// Sends the frame.
    fn send(&mut self, address: &SocketAddr) -> io::Result<()> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(address, PATIENCE)?,
        };
        let since = Instant::now();
        let mut written = 0;
        while let Some(rest) = self.frame.get(written..).filter(|rest| !rest.is_empty()) {
            match stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // A partial frame breaks all later frames, so the connection is dropped.
                    if written == 0 && is_timeout(&error) {
                        self.stream = Some(stream);
                    }
                    return Err(error);
                }
            }
            if written < self.frame.len() && since.elapsed() >= PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        self.stream = Some(stream);
        Ok(())
    }
}

fn connect(address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(address, timeout)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

impl Reporter for TcpReporter {
    fn report(&self, report: &[u8]) -> io::Result<()> {
        let length = match u32::try_from(report.len()) {
            Ok(length) if report.len() <= MAX_REPORT => length,
            _ => return Err(too_long(report.len())),
        };
        let state = &mut *lock(&self.state);
        state.frame.clear();
        state.frame.extend_from_slice(&length.to_be_bytes());
        state.frame.extend_from_slice(report);
        if state.failed.is_some_and(|failed| failed.elapsed() < PAUSE) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let was_connected = state.stream.is_some();
        let result = state.send(&self.address);
        // A broken connection can be restored at once.
        let is_futile = result.as_ref().is_err_and(|error| !was_connected || is_timeout(error));
        state.failed = is_futile.then(Instant::now);
        result
    }
}

/// Writes reports to any writer, each followed by a blank line, as in report files. Reports that [readers
/// refuse](crate::report::Report::is_too_large) cause an error and are not written.
pub struct WriterReporter<W> {
    writer: Mutex<W>,
}

impl<W: Write> WriterReporter<W> {
    /// Creates a reporter for a writer. Each report is written at once unless the writer buffers it.
    pub const fn new(writer: W) -> Self {
        Self { writer: Mutex::new(writer) }
    }

    /// Returns the writer.
    pub fn into_inner(self) -> W {
        self.writer.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> fmt::Debug for WriterReporter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterReporter").finish_non_exhaustive()
    }
}

impl<W: Write + Send> Reporter for WriterReporter<W> {
    fn report(&self, report: &[u8]) -> io::Result<()> {
        if let Some(Part::Report(found)) = Reports::new(report).next()
            && found.is_too_large()
        {
            let reason =
                format!("a report of more than {MAX_REPORT_LENGTH} bytes or {MAX_REPORT_LINES} lines");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let mut writer = lock(&self.writer);
        writer.write_all(report)?;
        writer.write_all(b"\n")
    }
}

/// Keeps reports in memory, for tests and examples. Clones share the reports.
#[derive(Clone, Debug, Default)]
pub struct MemoryReporter {
    reports: Arc<Mutex<Vec<String>>>,
}

impl MemoryReporter {
    /// Removes and returns all reports, sorted by arrival.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.reports))
    }
}

impl Reporter for MemoryReporter {
    fn report(&self, report: &[u8]) -> io::Result<()> {
        lock(&self.reports).push(String::from_utf8_lossy(report).into_owned());
        Ok(())
    }
}
