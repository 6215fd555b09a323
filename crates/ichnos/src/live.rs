//! Live inputs: traces that are read while they are recorded.

pub mod follow;
#[cfg(feature = "lttng-live")]
pub mod lttng;
