//! Reports: what happened in an operation, as text.

mod writer;

pub use writer::{HEAD, ReportWriter};
