//! Metadata transport: binary protocols, HTTP headers, OpenTelemetry propagators.

pub mod binary;
#[cfg(feature = "tower")]
pub mod http;
#[cfg(feature = "opentelemetry")]
pub mod opentelemetry;
#[cfg(feature = "tower")]
pub mod tower;

/// HTTP header name, in lowercase as in the crate `http`. The original libraries write `X-Trace`.
pub const HEADER: &str = "x-trace";
