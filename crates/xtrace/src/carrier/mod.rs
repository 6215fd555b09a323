//! How metadata travel: in binary protocols, in headers of HTTP, in the propagators of OpenTelemetry.

pub mod binary;
#[cfg(feature = "tower")]
pub mod http;
#[cfg(feature = "opentelemetry")]
pub mod opentelemetry;
#[cfg(feature = "tower")]
pub mod tower;

/// The header of HTTP, as `http` has it. In text of the original libraries it is `X-Trace`.
pub const HEADER: &str = "x-trace";
