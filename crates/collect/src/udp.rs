//! Receives reports over UDP.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};

use crate::Notice;
use crate::batch::{Batch, ReportChecker};
use crate::shared::CollectorState;

/// Interval between periodic checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Size of the read buffer, larger than any datagram, in bytes.
const BUFFER: usize = 64 << 10;

/// Maximum number of datagrams received from a socket in one turn.
const TURN: usize = 4_096;

/// Maximum time for receiving pending datagrams when stopping.
const LAST_READS: Duration = Duration::from_secs(1);

/// Receives reports over UDP.
#[derive(Debug)]
pub(crate) struct Udp {
    shared: Arc<CollectorState>,
    checker: ReportChecker,
    poll: Poll,
    sockets: Vec<UdpSocket>,
    #[cfg(target_os = "linux")]
    drops: crate::kernel_drops::KernelDrops,
    batches: SyncSender<Batch>,
    /// `true` after a socket failure was reported.
    has_failed: Cell<bool>,
}

/// Opens a UDP socket, and requests a receive buffer of this size.
pub(crate) fn bind(address: SocketAddr, receive_buffer: usize) -> io::Result<UdpSocket> {
    let socket = std::net::UdpSocket::bind(address)?;
    enlarge(&socket, receive_buffer);
    socket.set_nonblocking(true)?;
    Ok(UdpSocket::from_std(socket))
}

/// Requests a receive buffer. Exceeds the system's limit if the process has the permission.
#[cfg(unix)]
fn enlarge(socket: &std::net::UdpSocket, bytes: usize) {
    use rustix::net::sockopt;
    #[cfg(target_os = "linux")]
    if sockopt::set_socket_recv_buffer_size_force(socket, bytes).is_ok() {
        return;
    }
    // A smaller buffer works as well.
    let _ = sockopt::set_socket_recv_buffer_size(socket, bytes);
}

#[cfg(not(unix))]
fn enlarge(_: &std::net::UdpSocket, _: usize) {}

impl Udp {
    pub(crate) fn new(
        shared: Arc<CollectorState>,
        mut sockets: Vec<UdpSocket>,
        batches: SyncSender<Batch>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        for (number, socket) in sockets.iter_mut().enumerate() {
            poll.registry().register(socket, Token(number), Interest::READABLE)?;
        }
        Ok(Self {
            checker: shared.checker(),
            poll,
            #[cfg(target_os = "linux")]
            drops: crate::kernel_drops::KernelDrops::new(&sockets),
            sockets,
            shared,
            batches,
            has_failed: Cell::new(false),
        })
    }

    /// Receives until the collector stops.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(16);
        let mut buffer = vec![0; BUFFER];
        let mut batch = Batch::default();
        let mut stopping: Option<Instant> = None;
        let mut counted = Instant::now();
        let mut is_more = true;
        loop {
            let patience = if is_more { Duration::ZERO } else { CHECK_INTERVAL };
            match self.poll.poll(&mut events, Some(patience)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    self.shared.notice(&Notice::CannotReceive { error: error.to_string() });
                    break;
                }
                _ => {}
            }
            // Read this flag before the last turn, so that everything that arrived before stopping is received.
            let is_stopping = self.shared.is_stopping();
            is_more = false;
            let mut is_over = false;
            for socket in &self.sockets {
                is_more |= self.receive(socket, &mut buffer, &mut batch);
                // Each socket can fill a batch.
                is_over |= !batch.is_empty() && self.batches.send(std::mem::take(&mut batch)).is_err();
            }
            if is_over {
                break;
            }
            if counted.elapsed() >= CHECK_INTERVAL {
                counted = Instant::now();
                self.count_drops();
            }
            if is_stopping {
                let since = *stopping.get_or_insert_with(Instant::now);
                if !is_more || since.elapsed() >= LAST_READS {
                    break;
                }
            }
        }
        self.count_drops();
    }

    /// Receives one turn of datagrams. Returns `true` if there may be more.
    fn receive(&self, socket: &UdpSocket, buffer: &mut [u8], batch: &mut Batch) -> bool {
        let counters = &self.shared.counters;
        let mut received = 0;
        for _ in 0..TURN {
            if batch.is_full() {
                break;
            }
            let size = match socket.recv(buffer) {
                Ok(size) => size,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    counters.datagrams.add(received);
                    return false;
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted
                            | io::ErrorKind::ConnectionRefused
                            | io::ErrorKind::ConnectionReset
                    ) =>
                {
                    // On some systems, this error belongs to a datagram that was sent earlier.
                    continue;
                }
                Err(error) => {
                    counters.datagrams.add(received);
                    if !self.has_failed.replace(true) {
                        self.shared.notice(&Notice::CannotReceive { error: error.to_string() });
                    }
                    return false;
                }
            };
            received += 1;
            if size == 0 || size > self.shared.options.longest {
                counters.bad_lengths.add(1);
            } else {
                self.checker.take(buffer.get(..size).unwrap_or_default(), batch, counters);
            }
        }
        counters.datagrams.add(received);
        true
    }

    #[cfg(target_os = "linux")]
    fn count_drops(&mut self) {
        self.shared.counters.kernel_drops.add(self.drops.count_new());
    }

    #[cfg(not(target_os = "linux"))]
    fn count_drops(&mut self) {}
}
