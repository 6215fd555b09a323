//! Client for the diagnostics IPC protocol of the .NET runtime, on Linux.
//!
//! Each .NET process listens on a Unix socket. This crate [finds](processes) these processes, records their events in a
//! [`Session`], and [launches](launch()) programs so that nothing is lost before the session starts. The event stream
//! is a nettrace file. [`messages`] contains the protocol without input and output, and [`providers`] the texts that
//! select events.
//!
//! Peers are not trusted: each length has a limit, each wait a timeout, and sockets of other users are refused.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod connection;
mod deadline;
mod endpoint;
mod error;
mod launch;
pub mod messages;
mod port;
pub mod processes;
pub mod providers;
mod session;
mod timeouts;

pub use endpoint::Endpoint;
pub use error::DiagnosticsError;
pub use launch::{LaunchOptions, Launched, OtherRuntimes, Runtime, launch};
pub use port::DiagnosticPort;
pub use session::{Adjustment, Chunk, Session, SessionEnd};
pub use timeouts::Timeouts;
