//! Reports: what happened in an operation, as text.

mod writer;

pub use writer::{HEAD, ReportWriter};
#[cfg(feature = "propagation")]
pub(crate) use writer::{Lines, plain_lines};
