//! Connections with time limits.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::deadline::Deadline;
use crate::error::DiagnosticsError;
use crate::messages::{Header, Reply, Request};

/// Maximum length of a socket path: `sun_path` has 108 bytes, with a NUL.
pub(crate) const MAX_PATH: usize = 107;

/// Connects to a Unix socket.
pub(crate) fn connect(path: &Path, deadline: Deadline) -> Result<UnixStream, DiagnosticsError> {
    let failed = |error| DiagnosticsError::Connect { path: path.to_owned(), error };
    // A directory descriptor makes a long path short.
    let directory = match path.as_os_str().len() > MAX_PATH {
        true => Some(File::open(path.parent().unwrap_or(path)).map_err(failed)?),
        false => None,
    };
    let short = directory.as_ref().zip(path.file_name()).map(|(directory, name)| {
        PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name)
    });
    let address = short.as_deref().unwrap_or(path).as_os_str().as_bytes();
    let address = SocketAddrUnix::new(address).map_err(|error| failed(error.into()))?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|error| failed(error.into()))?;
    // Connecting never blocks: the error tells that the runtime's queue is full.
    while let Err(error) = rustix::net::connect(&socket, &address) {
        let error = io::Error::from(error);
        match error.kind() {
            ErrorKind::WouldBlock if deadline.is_over() => {
                return Err(DiagnosticsError::Timeout { action: "connection" });
            }
            ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(5)),
            ErrorKind::Interrupted => {}
            _ => return Err(failed(error)),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false).map_err(failed)?;
    Ok(stream)
}

/// Returns the user id of the process at the other end.
pub(crate) fn peer_user(stream: &UnixStream) -> Result<u32, DiagnosticsError> {
    let credentials = rustix::net::sockopt::socket_peercred(stream);
    let credentials =
        credentials.map_err(|error| DiagnosticsError::System { action: "peer user", error: error.into() })?;
    Ok(credentials.uid.as_raw())
}

fn timeout(deadline: Deadline, action: &'static str) -> Result<Option<Duration>, DiagnosticsError> {
    deadline.remaining().map(Some).ok_or(DiagnosticsError::Timeout { action })
}

fn failure(error: io::Error, action: &'static str) -> Result<(), DiagnosticsError> {
    match error.kind() {
        // The deadline ends the loop.
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(()),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Err(DiagnosticsError::Closed { action }),
        _ => Err(DiagnosticsError::System { action, error }),
    }
}

/// Writes all bytes.
fn send(
    mut stream: &UnixStream,
    mut bytes: &[u8],
    deadline: Deadline,
    action: &'static str,
) -> Result<(), DiagnosticsError> {
    while !bytes.is_empty() {
        let timeout = timeout(deadline, action)?;
        match stream.set_write_timeout(timeout).and_then(|()| stream.write(bytes)) {
            Ok(0) => return Err(DiagnosticsError::Closed { action }),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) => failure(error, action)?,
        }
    }
    Ok(())
}

/// Fills the buffer.
pub(crate) fn receive(
    mut stream: &UnixStream,
    buffer: &mut [u8],
    deadline: Deadline,
    action: &'static str,
) -> Result<(), DiagnosticsError> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let timeout = timeout(deadline, action)?;
        match stream.set_read_timeout(timeout).and_then(|()| stream.read(rest)) {
            Ok(0) => return Err(DiagnosticsError::Closed { action }),
            Ok(count) => filled += count,
            Err(error) => failure(error, action)?,
        }
    }
    Ok(())
}

/// Sends a request.
pub(crate) fn send_request(
    stream: &UnixStream,
    request: &Request,
    deadline: Deadline,
) -> Result<(), DiagnosticsError> {
    send(stream, &request.encode()?, deadline, request.command.name())
}

/// Receives the reply to a request, and returns its payload. Reads nothing after the reply.
pub(crate) fn receive_reply(
    stream: &UnixStream,
    request: &Request,
    deadline: Deadline,
) -> Result<Vec<u8>, DiagnosticsError> {
    let action = request.command.name();
    let mut header = [0; Header::LENGTH];
    receive(stream, &mut header, deadline, action)?;
    let header = Header::decode(&header)?;
    let mut payload = vec![0; header.payload];
    receive(stream, &mut payload, deadline, action)?;
    match Reply::decode(header, payload)? {
        Reply::Ok(payload) => Ok(payload),
        Reply::Error(code) => Err(DiagnosticsError::Refused { command: request.command, code }),
    }
}

/// Sends a request, and returns the payload of the reply.
pub(crate) fn exchange(
    stream: &UnixStream,
    request: &Request,
    deadline: Deadline,
) -> Result<Vec<u8>, DiagnosticsError> {
    send_request(stream, request, deadline)?;
    receive_reply(stream, request, deadline)
}
