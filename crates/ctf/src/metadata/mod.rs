//! Metadata: four dialects, one class model.
//!
//! ```text
//! bytes -> packets (if packetized) -> text -> dialect (by content)
//!       -> tsdl | json::{prop1, prop2, spec2} -> TraceClass -> check (all dialects) -> Metadata
//! ```

mod annotations;
mod check;
mod choices;
mod clocks;
mod dialect;
mod event_ids;
pub mod json;
mod memory;
mod name_numbers;
pub mod packetized;
mod problems;
mod read;
pub mod tsdl;
pub mod write;

pub use annotations::ANNOTATIONS;
pub(crate) use annotations::take_over_annotations;
pub(crate) use check::plan_diagnostic;
pub use dialect::Dialect;
pub use problems::Problems;
pub use read::{add_auxiliary_streams, parse};
pub use write::{Unsupported, WrittenAuxStream, WrittenMetadata, write_metadata};

use ichnos_model::TraceClass;
use ichnos_model::trace::{Diagnostic, Limits};

/// Options for reading metadata.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MetadataOptions {
    /// Dialect. `None`: detected from the content.
    pub dialect: Option<Dialect>,
    /// `true` to treat [warnings](ichnos_model::trace::Severity::Warning) as errors, and tolerate nothing.
    pub strict: bool,
    /// `true` to ignore unknown fields of blocks in TSDL with a warning.
    pub ignores_unknown_fields: bool,
    /// Limits on metadata sizes.
    pub limits: Limits,
}

/// Result of reading a metadata text.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// Trace class.
    pub trace: TraceClass,
    /// Dialect of the text.
    pub dialect: Dialect,
    /// Warnings and notes, sorted by position.
    pub diagnostics: Vec<Diagnostic>,
    /// Approximate rest of [`Limits::description_bytes`], in bytes, for data derived from the classes.
    pub left: u64,
}

/// Reason why a metadata text cannot be read.
#[derive(Clone, Debug)]
pub struct MetadataError {
    /// Dialect of the text, if detected.
    pub dialect: Option<Dialect>,
    /// All problems in the order they were found, at least one.
    pub diagnostics: Vec<Diagnostic>,
}
