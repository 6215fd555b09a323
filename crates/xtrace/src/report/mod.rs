//! Reports: what happened in an operation, as text.

mod writer;

#[cfg(feature = "propagation")]
pub(crate) use writer::Lines;
pub use writer::{HEAD, ReportWriter};
