//! Datagram sockets, with one record per datagram.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::sink::RecordSink;

/// A Unix datagram socket. It never waits. If the socket is full, records are dropped and counted.
///
/// If the reader disappears and a new socket appears at the same path, later records go there.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: UnixDatagram,
    /// Path for reconnecting after the reader has disappeared.
    path: Option<PathBuf>,
}

impl DatagramSocket {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// If the socket is missing, or connecting fails.
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        Ok(Self { path: Some(path.to_owned()), ..Self::new(socket)? })
    }

    /// Uses a connected socket.
    ///
    /// # Errors
    /// If the socket cannot be made non-blocking.
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
