//! Diagnostic port: a socket that runtimes connect to when they start.
//!
//! A runtime announces itself on each connection, and connects again after each command. A thread accepts these
//! connections and keeps them until a command needs one.

mod accept_loop;
mod port_directory;
mod port_state;

use std::ffi::{OsStr, OsString};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use accept_loop::AcceptLoop;
use port_directory::PortDirectory;
pub(crate) use port_state::PortState;

use crate::deadline::Deadline;
use crate::error::DiagnosticsError;
use crate::messages::Advertise;

/// Diagnostic port of this process. Only processes of the same user can connect.
///
/// Runtimes whose environment names the port wait for [`Endpoint::resume`](crate::Endpoint::resume) before they start
/// the program. Keep the port until all of them have ended: a later runtime would wait forever.
#[derive(Debug)]
pub struct DiagnosticPort {
    directory: PortDirectory,
    state: Arc<PortState>,
    thread: Option<JoinHandle<()>>,
}

impl DiagnosticPort {
    /// Environment variable that names diagnostic ports.
    pub const VARIABLE: &str = "DOTNET_DiagnosticPorts";

    /// Creates a port in a new directory.
    ///
    /// # Errors
    /// If the directory or the socket cannot be created.
    pub fn create() -> Result<Self, DiagnosticsError> {
        let directory = PortDirectory::create()?;
        let failed = |error| DiagnosticsError::Connect { path: directory.socket(), error };
        let listener = UnixListener::bind(directory.socket()).map_err(failed)?;
        directory.restrict().map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let state = Arc::new(PortState::default());
        let accept_loop = AcceptLoop::new(listener, Arc::clone(&state));
        let thread = thread::Builder::new().name("diagnostic port".to_owned()).spawn(|| accept_loop.run());
        let thread = Some(thread.map_err(failed)?);
        Ok(Self { directory, state, thread })
    }

    /// Returns the value of [`VARIABLE`](Self::VARIABLE) for a new process. `inherited` is the current value.
    #[must_use]
    pub fn variable(&self, inherited: Option<&OsStr>) -> OsString {
        let mut value = inherited.filter(|value| !value.is_empty()).map(OsStr::to_owned).unwrap_or_default();
        if !value.is_empty() {
            value.push(";");
        }
        value.push(self.directory.socket());
        value.push(",connect,suspend");
        value
    }

    /// Returns the next runtime that connected for the first time, or `None` after the timeout.
    #[must_use]
    pub fn next_runtime(&self, timeout: Duration) -> Option<Advertise> {
        self.state.next_arrival(Deadline::after(timeout))
    }

    /// Resumes runtimes that connect later, and runtimes that [`next_runtime`](Self::next_runtime) has not returned
    /// yet.
    pub fn resume_all(&self) {
        self.state.resume_arrivals.store(true, Ordering::SeqCst);
    }

    pub(crate) fn state(&self) -> &Arc<PortState> {
        &self.state
    }
}

impl Drop for DiagnosticPort {
    fn drop(&mut self) {
        self.state.is_closing.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // The port is dropped even if the thread panicked.
            let _ = thread.join();
        }
    }
}
