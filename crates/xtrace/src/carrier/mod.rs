//! Transport of metadata: binary protocols, HTTP headers, OpenTelemetry propagators.

pub mod binary;
#[cfg(feature = "tower")]
pub mod http;
#[cfg(feature = "opentelemetry")]
pub mod opentelemetry;
#[cfg(feature = "tower")]
pub mod tower;

/// Name of the HTTP header, in lowercase as in `http`. The original libraries write `X-Trace`.
pub const HEADER: &str = "x-trace";
