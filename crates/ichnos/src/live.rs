//! Live inputs: events that are read while they happen.

pub mod datagrams;
#[cfg(all(feature = "dotnet", feature = "nettrace", target_os = "linux"))]
pub mod dotnet;
pub mod follow;
#[cfg(feature = "lttng-live")]
pub mod lttng;
