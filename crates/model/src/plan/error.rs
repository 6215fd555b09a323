//! Plan errors.

use std::fmt;

use super::steps::Slot;
use crate::class::FieldLocation;
use crate::trace::TextPosition;

/// Reason why plans cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// More field classes than allowed.
    #[error("more than {0} field classes after aliases were expanded")]
    FieldClasses(u64),
    /// More memory than allowed, in bytes.
    #[error(
        "the description takes too much memory: its compiled form exceeds the remaining {0} bytes of the limit"
    )]
    Description(u64),
    /// More fields in one root field can have zero bits than allowed.
    #[error("more than {0} fields of one root field can have zero bits")]
    EmptyFields(u64),
    /// Nesting is too deep.
    #[error("field classes nested more than {0} levels deep")]
    Depth(u32),
    /// Other fields depend on more values than there are slots.
    #[error("more than {} fields are needed to decode other fields", Slot::MAX)]
    Slots,
    /// Field locations lead through too many classes.
    #[error("resolving field locations takes more than {0} steps")]
    Steps(u64),
    /// A field location leads to no suitable field.
    #[error("{}", .0[0])]
    Locations(Vec<LocationProblem>),
    /// The offset added to this clock moves its times beyond 64-bit nanoseconds.
    #[error("the offset of the clock `{0}` is out of range")]
    ClockOffset(String),
}

impl PlanError {
    /// Returns the name of the exceeded limit, a member of [`Limits`](crate::trace::Limits), or `None` if it cannot be
    /// set.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        Some(match self {
            Self::FieldClasses(_) | Self::Steps(_) => "field_classes",
            Self::Description(_) => "description_bytes",
            Self::EmptyFields(_) => "empty_fields",
            Self::Depth(_) => "depth",
            Self::Slots | Self::Locations(_) | Self::ClockOffset(_) => return None,
        })
    }
}

/// A field location without a suitable field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationProblem {
    /// Position where the search ended.
    pub position: TextPosition,
    /// Position of the location.
    pub location_position: TextPosition,
    /// Path to the dependent field, outermost first.
    pub within: Vec<String>,
    /// The location.
    pub location: FieldLocation,
    /// Problem description.
    pub reason: String,
    /// Expected class.
    pub expected: &'static str,
    /// Actual class.
    pub found: String,
}

impl fmt::Display for LocationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "in {}: field location {}: {} (expected {}, found {})",
            self.within.join(", "),
            self.location,
            self.reason,
            self.expected,
            self.found
        )
    }
}

/// A rule for located fields that only one document requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocationRule {
    /// The field must be in the same array element as the dependent field (PROP-2.0).
    SameElement,
    /// The field must be in the same optional as the dependent field (PROP-2.0).
    SameOptional,
    /// The field must not be in an optional of another root field (PROP-2.0).
    NoOptional,
    /// An unsigned selector must not select anything by negative values.
    NoNegativeRange,
}
