//! Sockets of datagrams, each of them a record.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::sink::RecordSink;

/// A Unix socket of datagrams. It never waits: what there is no room for is dropped, and counted.
///
/// If the reader goes away and comes back with a socket at the same path, what is said from then on goes
/// there.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: UnixDatagram,
    /// Where to go if the socket has no reader any more.
    path: Option<PathBuf>,
}

impl DatagramSocket {
    /// Sends to the socket at `path`.
    ///
    /// # Errors
    /// If there is none, or none that can be sent to.
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        Ok(Self { path: Some(path.to_owned()), ..Self::new(socket)? })
    }

    /// Sends through a socket that is connected.
    ///
    /// # Errors
    /// If it cannot be used without waiting.
    pub fn new(socket: UnixDatagram) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, path: None })
    }
}

impl RecordSink for DatagramSocket {
    fn write(&self, record: &[u8]) -> io::Result<()> {
        // A datagram is sent as a whole or not at all.
        let Err(error) = self.socket.send(record) else { return Ok(()) };
        let is_alone = matches!(
            error.kind(),
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset | io::ErrorKind::NotConnected
        );
        let Some(path) = self.path.as_ref().filter(|_| is_alone) else { return Err(error) };
        self.socket.connect(path)?;
        self.socket.send(record).map(drop)
    }
}
