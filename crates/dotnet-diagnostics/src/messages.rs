//! Messages of the diagnostics IPC protocol, without input and output.
//!
//! A client sends one request per connection, and the runtime answers with one reply. After the reply to a
//! `CollectTracing` request, the connection carries the trace.

mod advertise;
mod collect_tracing;
mod command;
mod environment;
mod message;
mod message_error;
mod payload;
mod process_info;
mod reply;

pub use advertise::Advertise;
pub use collect_tracing::{SessionOptions, StreamFormat, session_id_from, stop_tracing};
pub use command::Command;
pub use environment::{EnvironmentSize, environment_from, set_environment_variable};
pub use message::{Header, MAX_PAYLOAD, Request};
pub use message_error::MessageError;
pub use process_info::{ProcessInfo, RuntimeCookie};
pub use reply::{HResult, Reply};
