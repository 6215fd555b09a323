//! Endpoint of a runtime.

use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::connection::{connect, exchange, peer_user, receive};
use crate::deadline::Deadline;
use crate::error::DiagnosticsError;
use crate::messages::{
    Command, EnvironmentSize, HResult, ProcessInfo, Request, RuntimeCookie, environment_from,
    set_environment_variable,
};
use crate::port::{DiagnosticPort, PortState};

/// Endpoint of a runtime: its socket, or its connections to a [`DiagnosticPort`].
#[derive(Clone)]
pub struct Endpoint(Kind);

#[derive(Clone)]
enum Kind {
    Socket { path: PathBuf, user: u32 },
    Port { state: Arc<PortState>, cookie: RuntimeCookie },
}

impl Endpoint {
    /// Creates an endpoint for a runtime's socket. Connections fail if the socket or the process behind it belongs to a
    /// user other than `user`.
    #[must_use]
    pub fn socket(path: &Path, user: u32) -> Self {
        Self(Kind::Socket { path: path.to_owned(), user })
    }

    /// Creates an endpoint for a runtime that has connected to a port.
    #[must_use]
    pub fn port(port: &DiagnosticPort, cookie: RuntimeCookie) -> Self {
        Self(Kind::Port { state: Arc::clone(port.state()), cookie })
    }

    /// Opens a connection for one command.
    pub(crate) fn connect(&self, deadline: Deadline) -> Result<Arc<UnixStream>, DiagnosticsError> {
        match &self.0 {
            Kind::Socket { path, user } => {
                check_owner(path, *user)?;
                let stream = connect(path, deadline)?;
                // The file could be another one now.
                check_user(path, peer_user(&stream)?, *user)?;
                Ok(Arc::new(stream))
            }
            Kind::Port { state, cookie } => state
                .connection(*cookie, deadline)
                .ok_or(DiagnosticsError::Timeout { action: "connection to the diagnostic port" }),
        }
    }

    /// Sends a request, and returns the payload of the reply.
    fn request(&self, request: &Request, deadline: Deadline) -> Result<Vec<u8>, DiagnosticsError> {
        exchange(&*self.connect(deadline)?, request, deadline)
    }

    /// Returns the process description, by the newest command that the runtime knows.
    ///
    /// # Errors
    /// If the runtime does not answer. .NET Core 3 refuses the command.
    pub fn process_info(&self, timeout: Duration) -> Result<ProcessInfo, DiagnosticsError> {
        let deadline = Deadline::after(timeout);
        let ask = |command| {
            let payload = self.request(&Request::new(command), deadline)?;
            Ok(ProcessInfo::decode(command, &payload)?)
        };
        let is_old = |result: &Result<_, DiagnosticsError>| {
            result.as_ref().is_err_and(DiagnosticsError::is_unknown_command)
        };
        let mut result = ask(Command::ProcessInfo3);
        for command in [Command::ProcessInfo2, Command::ProcessInfo] {
            if is_old(&result) {
                result = ask(command);
            }
        }
        result
    }

    /// Returns the environment variables of the process. .NET 6 and later.
    ///
    /// # Errors
    /// If the runtime refuses the command, does not answer, or sends more than [`EnvironmentSize::LIMIT`].
    pub fn environment(&self, timeout: Duration) -> Result<Vec<(String, String)>, DiagnosticsError> {
        let deadline = Deadline::after(timeout);
        let command = Command::ProcessEnvironment;
        let stream = self.connect(deadline)?;
        let payload = exchange(&stream, &Request::new(command), deadline)?;
        let mut variables = vec![0; EnvironmentSize::decode(&payload)?.0];
        receive(&stream, &mut variables, deadline, command.name())?;
        Ok(environment_from(&variables)?)
    }

    /// Sets an environment variable of the process. .NET 6 and later.
    ///
    /// # Errors
    /// If the runtime refuses the command or does not answer.
    pub fn set_environment_variable(
        &self,
        name: &str,
        value: &str,
        timeout: Duration,
    ) -> Result<(), DiagnosticsError> {
        let request = set_environment_variable(name, value)?;
        let payload = self.request(&request, Deadline::after(timeout))?;
        let code = payload.first_chunk().map_or(HResult::OK, |code| HResult(u32::from_le_bytes(*code)));
        match code {
            HResult::OK => Ok(()),
            code => Err(DiagnosticsError::Refused { command: request.command, code }),
        }
    }

    /// Resumes a suspended runtime. Other runtimes ignore the command.
    ///
    /// # Errors
    /// If the runtime refuses the command or does not answer. .NET Core 3 refuses it.
    pub fn resume(&self, timeout: Duration) -> Result<(), DiagnosticsError> {
        self.request(&Request::new(Command::ResumeRuntime), Deadline::after(timeout)).map(drop)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Socket { path, user } => {
                formatter.debug_struct("Socket").field("path", path).field("user", user).finish()
            }
            Kind::Port { cookie, .. } => write!(formatter, "Port {{ cookie: {cookie} }}"),
        }
    }
}

fn check_owner(path: &Path, expected: u32) -> Result<(), DiagnosticsError> {
    let failed = |error| DiagnosticsError::Connect { path: path.to_owned(), error };
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    if !metadata.file_type().is_socket() {
        return Err(failed(std::io::Error::other("not a socket")));
    }
    check_user(path, metadata.uid(), expected)
}

fn check_user(path: &Path, user: u32, expected: u32) -> Result<(), DiagnosticsError> {
    match user == expected {
        true => Ok(()),
        false => Err(DiagnosticsError::ForeignSocket { path: path.to_owned(), user, expected }),
    }
}
