//! Errors.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use crate::messages::{Command, HResult, MessageError};

/// Error while talking to a .NET runtime.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiagnosticsError {
    /// The runtime's socket cannot be used.
    #[error("{}: {error}", path.to_string_lossy().escape_debug())]
    Connect {
        /// Socket path.
        path: PathBuf,
        /// System error.
        error: io::Error,
    },
    /// A system call failed.
    #[error("{action}: {error}")]
    System {
        /// Failed operation.
        action: &'static str,
        /// System error.
        error: io::Error,
    },
    /// The runtime did not answer in time.
    #[error("the .NET runtime did not answer in time ({action})")]
    Timeout {
        /// Operation.
        action: &'static str,
    },
    /// The runtime closed the connection in the middle of a message.
    #[error("the .NET runtime closed the connection ({action})")]
    Closed {
        /// Operation.
        action: &'static str,
    },
    /// The runtime sent an invalid message, or a request is too long.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The runtime refused a command.
    #[error("the .NET runtime refused `{}`: {code}", command.name())]
    Refused {
        /// The command.
        command: Command,
        /// Reason.
        code: HResult,
    },
    /// Another user owns the socket. It could belong to anybody.
    #[error(
        "{}: the socket belongs to the user with the id {user}, not {expected}",
        path.to_string_lossy().escape_debug()
    )]
    ForeignSocket {
        /// Socket path.
        path: PathBuf,
        /// User id of the owner.
        user: u32,
        /// Expected user id.
        expected: u32,
    },
    /// No process has the id.
    #[error("process {pid} does not exist")]
    NoProcess {
        /// Process id.
        pid: u32,
    },
    /// The process lacks a diagnostics socket.
    #[error("process {pid} has no .NET diagnostics socket")]
    NotDotnet {
        /// Process id.
        pid: u32,
    },
    /// No .NET process has the name.
    #[error("no .NET process is named `{}`", name.escape_debug())]
    UnknownName {
        /// The name.
        name: String,
    },
    /// Several .NET processes have the name.
    #[error("`{}` names {} .NET processes: {}", name.escape_debug(), candidates.len(), joined(candidates))]
    Ambiguous {
        /// The name.
        name: String,
        /// Process ids and command lines.
        candidates: Vec<(u32, String)>,
    },
    /// The command cannot be started.
    #[error("`{}`: {error}", program.escape_debug())]
    Spawn {
        /// Program of the command.
        program: String,
        /// System error.
        error: io::Error,
    },
    /// The command ended, and no .NET runtime had connected.
    #[error("`{}` ended before a .NET runtime connected ({status})", program.escape_debug())]
    Exited {
        /// Program of the command.
        program: String,
        /// Exit status.
        status: ExitStatus,
    },
    /// The launch was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The command runs, but no .NET runtime connected.
    #[error("`{}`: no .NET runtime connected within {} s", program.escape_debug(), waited.as_secs_f32())]
    NoRuntime {
        /// Program of the command.
        program: String,
        /// Time since the start.
        waited: Duration,
    },
}

impl DiagnosticsError {
    /// Returns advice for the user.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::ForeignSocket { .. } => "run the command as the user of the process, or as root",
            Self::NotDotnet { .. } => {
                "the process is not a .NET program, runs as another user, or has DOTNET_EnableDiagnostics=0"
            }
            Self::Ambiguous { .. } => "use a process id",
            Self::Exited { .. } | Self::NoRuntime { .. } => {
                "the command must start a .NET program; DOTNET_EnableDiagnostics=0 turns diagnostics off"
            }
            Self::Refused { code: HResult::UNKNOWN_COMMAND, .. } => "the runtime is too old for this command",
            _ => return None,
        })
    }

    /// Returns `true` if the runtime does not know the command.
    pub(crate) fn is_unknown_command(&self) -> bool {
        matches!(self, Self::Refused { code: HResult::UNKNOWN_COMMAND, .. })
    }

    /// Returns `true` if the runtime has ended.
    pub(crate) fn is_gone(&self) -> bool {
        use io::ErrorKind::{ConnectionRefused, NotFound};
        match self {
            Self::Closed { .. } => true,
            Self::Connect { error, .. } => matches!(error.kind(), ConnectionRefused | NotFound),
            _ => false,
        }
    }
}

fn joined(candidates: &[(u32, String)]) -> String {
    let list = candidates.iter().map(|(pid, line)| format!("{pid} ({})", line.escape_debug()));
    list.collect::<Vec<_>>().join(", ")
}
