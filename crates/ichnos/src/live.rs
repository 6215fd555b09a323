//! Live inputs.

#[cfg(feature = "lttng-live")]
pub mod lttng;
