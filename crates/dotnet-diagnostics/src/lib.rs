//! Client for the diagnostics IPC protocol of the .NET runtime, on Linux.
//!
//! Each .NET process listens on a Unix socket. This crate [finds](processes) these processes, records their events in a
//! [`Session`], and [launches](launch()) programs so that nothing is lost before the session starts. The event stream
//! is a nettrace file. [`messages`] contains the protocol without input and output, and [`providers`] the texts that
//! select events.
//!
//! ```no_run
//! use std::fs::File;
//! use std::time::Duration;
//!
//! use ichnos_dotnet_diagnostics::messages::SessionOptions;
//! use ichnos_dotnet_diagnostics::providers::Providers;
//! use ichnos_dotnet_diagnostics::{Session, Timeouts, processes};
//!
//! let process = processes::find("shop", Duration::from_secs(1))?;
//! let providers = Providers::new(&["gc"], &["Shop-Orders:all:verbose"])?;
//! let options = SessionOptions { providers, ..SessionOptions::default() };
//! let mut session = Session::start(&process.endpoint(), &options, Timeouts::default())?;
//! // Until the process ends. Call `stop` to end earlier.
//! std::io::copy(&mut session, &mut File::create("shop.nettrace")?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Peers are not trusted. Each length has a limit, each wait has a timeout, and another user's socket is refused.
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
pub use launch::{LaunchOptions, Launched, OtherRuntimes, ProgramGroup, Runtime, launch};
pub use port::DiagnosticPort;
pub use session::{Adjustment, Session, SessionChunk, SessionEnd};
pub use timeouts::Timeouts;
