//! Datagrams that arrive while the program runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use crate::IoError;

/// Maximum number of waiting datagrams. Further datagrams are dropped and counted.
const ROOM: usize = 4_096;

/// Maximum datagram length in bytes. Longer datagrams are cut.
const LONGEST: usize = 64 << 10;

/// Maximum time until the stop flag is noticed.
const PATIENCE: Duration = Duration::from_millis(50);

/// A datagram.
#[derive(Debug)]
pub struct Datagram {
    /// Bytes, prefixed by their number as a 32-bit little-endian integer.
    pub framed: Vec<u8>,
    /// Number of datagrams dropped before it, because too many were waiting.
    pub dropped: u64,
}

/// Datagrams that arrive at a socket. A separate thread receives them, so that a slow reader loses as few as possible.
#[derive(Debug)]
pub struct Datagrams {
    name: String,
    waiting: Receiver<Datagram>,
    dropped: Arc<AtomicU64>,
    /// `true` if the receiving thread should end.
    is_closed: Arc<AtomicBool>,
    /// `true` if the reader does not wait for datagrams.
    is_polled: bool,
    /// `true` after the last datagram was received.
    has_ended: AtomicBool,
    /// Socket path, which is removed on drop.
    path: PathBuf,
}

/// Ends the reception of [`Datagrams`].
#[derive(Clone, Debug)]
pub struct DatagramStop(Arc<AtomicBool>);

impl DatagramStop {
    /// Ends the reception. Datagrams that have arrived are still delivered.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Datagrams {
    /// Creates a Unix datagram socket at `path` and listens until `stop` is set.
    ///
    /// # Errors
    /// Fails if `path` exists, the socket cannot be created, or the system does not support Unix datagram sockets.
    pub fn at_unix_socket(path: &Path, stop: &'static AtomicBool) -> Result<Self, IoError> {
        let name = path.to_string_lossy().into_owned();
        let (sender, waiting) = sync_channel(ROOM);
        let (dropped, is_closed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let stop = StopFlags { given: stop, own: Arc::clone(&is_closed) };
        listen(path, sender, Arc::clone(&dropped), stop)
            .map_err(|error| IoError::system(&name, "socket", error))?;
        let (is_polled, has_ended) = (false, AtomicBool::new(false));
        Ok(Self { name, waiting, dropped, is_closed, is_polled, has_ended, path: path.to_owned() })
    }

    /// Makes readers return when no datagram is waiting, instead of waiting for one.
    #[must_use]
    pub fn into_polled(mut self) -> Self {
        self.is_polled = true;
        self
    }

    /// Returns `true` if a reader should return now, because no datagram is waiting: see
    /// [`into_polled`](Self::into_polled).
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.is_polled && !self.has_ended.load(Ordering::Relaxed)
    }

    /// Returns what ends the reception.
    #[must_use]
    pub fn stop(&self) -> DatagramStop {
        DatagramStop(Arc::clone(&self.is_closed))
    }

    /// Returns the socket path.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of datagrams dropped after the last received one.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    /// Returns the next datagram if it has arrived.
    #[must_use]
    pub fn try_datagram(&self) -> Option<Datagram> {
        match self.waiting.try_recv() {
            Ok(datagram) => Some(datagram),
            Err(error) => {
                self.has_ended.store(error == TryRecvError::Disconnected, Ordering::Relaxed);
                None
            }
        }
    }

    /// Waits for the next datagram. `None` if the socket fails, or if `stop` is set and all datagrams that had arrived
    /// by then were received.
    #[must_use]
    pub fn next_datagram(&self) -> Option<Datagram> {
        // The sender of the channel ends soon after `stop` is set.
        self.waiting.recv().ok()
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Flags that end the reception.
#[derive(Debug)]
struct StopFlags {
    given: &'static AtomicBool,
    own: Arc<AtomicBool>,
}

#[cfg(unix)]
impl StopFlags {
    fn are_set(&self) -> bool {
        self.given.load(Ordering::Relaxed) || self.own.load(Ordering::Relaxed)
    }
}

/// Returns `true` if a socket has lost its listener.
#[cfg(unix)]
fn is_abandoned(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixDatagram;

    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let reached = || UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    is_socket && reached().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(unix)]
fn listen(
    path: &Path,
    sender: SyncSender<Datagram>,
    dropped: Arc<AtomicU64>,
    stop: StopFlags,
) -> io::Result<()> {
    use std::os::unix::net::UnixDatagram;
    use std::sync::mpsc::TrySendError;

    let socket = match UnixDatagram::bind(path) {
        // A killed listener leaves its socket, which no longer receives anything.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned(path) => {
            std::fs::remove_file(path)?;
            UnixDatagram::bind(path)?
        }
        socket => socket?,
    };
    socket.set_read_timeout(Some(PATIENCE))?;
    let receive = move || {
        let mut buffer = vec![0; LONGEST];
        // Receive datagrams that arrived before `stop` was set, but not everything sent after that.
        let mut left = ROOM;
        while left > 0 {
            let is_last = stop.are_set();
            if is_last {
                left -= 1;
                if socket.set_nonblocking(true).is_err() {
                    return;
                }
            }
            let size = match socket.recv(&mut buffer) {
                Ok(size) => size,
                Err(error) if is_patience(&error) && !is_last => continue,
                Err(_) => return,
            };
            let mut framed = (size as u32).to_le_bytes().to_vec();
            // The system writes no more than the buffer holds.
            framed.extend_from_slice(buffer.get(..size).unwrap_or_default());
            let before = dropped.swap(0, Ordering::Relaxed);
            match sender.try_send(Datagram { framed, dropped: before }) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => {
                    dropped.fetch_add(before.saturating_add(1), Ordering::Relaxed);
                }
                Err(TrySendError::Disconnected(_)) => return,
            }
        }
    };
    std::thread::Builder::new().name("datagrams".to_owned()).spawn(receive)?;
    Ok(())
}

/// Returns `true` for a timeout or a signal.
#[cfg(unix)]
fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[cfg(not(unix))]
fn listen(_: &Path, _: SyncSender<Datagram>, _: Arc<AtomicU64>, _: StopFlags) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system does not support Unix sockets"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;
    use crate::testing::TestDirectory;

    #[test]
    fn what_is_too_much_is_dropped_and_counted() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let directory = TestDirectory::new("datagrams");
        let path = directory.join("socket");
        let datagrams = Datagrams::at_unix_socket(&path, &STOP).unwrap();
        assert!(Datagrams::at_unix_socket(&path, &STOP).is_err());
        let sender = UnixDatagram::unbound().unwrap();
        let count = ROOM + 100;
        for number in 0..count as u32 {
            sender.send_to(&number.to_le_bytes(), &path).unwrap();
        }
        let (mut received, mut lost) = (0, 0);
        while received + lost < count as u64 {
            let Some(datagram) = datagrams.next_datagram() else { panic!("{received} {lost}") };
            assert_eq!(datagram.framed.len(), 8);
            (received, lost) = (received + 1, lost + datagram.dropped);
            // The other datagrams were dropped after the last received one.
            if received == ROOM as u64 {
                std::thread::sleep(4 * PATIENCE);
                sender.send_to(b"last", &path).unwrap();
            }
        }
        assert!(lost == 0 || received >= ROOM as u64);
        STOP.store(true, Ordering::Relaxed);
        while datagrams.next_datagram().is_some() {}
        drop(datagrams);
        assert!(!path.exists());
    }

    #[test]
    fn a_socket_that_was_left_behind_is_replaced() {
        static STOP: AtomicBool = AtomicBool::new(true);
        let directory = TestDirectory::new("datagrams-left");
        let (socket, file) = (directory.join("socket"), directory.join("file"));
        drop(UnixDatagram::bind(&socket).unwrap());
        assert!(socket.exists());
        assert!(Datagrams::at_unix_socket(&socket, &STOP).is_ok());
        std::fs::write(&file, "no socket").unwrap();
        assert!(Datagrams::at_unix_socket(&file, &STOP).is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"no socket");
    }

    #[test]
    fn what_has_arrived_at_the_end_is_received() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let directory = TestDirectory::new("datagrams-end");
        let path = directory.join("socket");
        for round in 0..50 {
            STOP.store(false, Ordering::Relaxed);
            let datagrams = Datagrams::at_unix_socket(&path, &STOP).unwrap();
            let sender = UnixDatagram::unbound().unwrap();
            for number in 0..30u8 {
                sender.send_to(&[number], &path).unwrap();
            }
            STOP.store(true, Ordering::Relaxed);
            let received = std::iter::from_fn(|| datagrams.next_datagram()).count();
            assert_eq!(received, 30, "round {round}");
        }
    }
}
