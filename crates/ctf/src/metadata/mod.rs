//! Metadata: four dialects, one class model.
//!
//! ```text
//! bytes -> packets (if packetised) -> text -> dialect (by content)
//!       -> tsdl | json::{prop1, prop2, spec2} -> TraceClass -> check (all dialects) -> Metadata
//! ```

mod annotations;
mod check;
mod choices;
mod clocks;
mod dialect;
pub mod json;
mod memory;
mod name_index;
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
pub use write::{Unsupported, WrittenMetadata, write_metadata};

use ichnos_model::{Diagnostic, Limits, TraceClass};

/// How to read metadata.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MetadataOptions {
    /// The dialect; None: found out from the content.
    pub dialect: Option<Dialect>,
    /// Refuse what is only understood by being tolerant ([warnings](ichnos_model::Severity::Warning)).
    pub strict: bool,
    /// What is refused because it is too much.
    pub limits: Limits,
}

/// What a metadata text says.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// The classes.
    pub trace: TraceClass,
    /// The dialect it was written in.
    pub dialect: Dialect,
    /// Warnings and notes, in the order of their positions.
    pub diagnostics: Vec<Diagnostic>,
    /// About how much of [`Limits::description_bytes`] is left, in bytes, for what is made of the classes.
    pub left: u64,
}

/// Why a metadata text cannot be read.
#[derive(Clone, Debug)]
pub struct MetadataError {
    /// The dialect it was taken for.
    pub dialect: Option<Dialect>,
    /// All problems that were found, the one that was met first at the front; at least one.
    pub diagnostics: Vec<Diagnostic>,
}
