//! Other dialects for the same identifiers: AppOptics and SolarWinds version 2, and W3C Trace Context.
//!
//! | | task | operation | also |
//! |---|---|---|---|
//! | X-Trace metadata | 4, 8, 12 or 20 bytes | 4 or 8 bytes | options |
//! | [`Version2`] | 20 bytes | 8 bytes | sampled flag |
//! | [`TraceParent`] | 16 bytes | 8 bytes | sampled flag |
//!
//! In metadata, the threshold [`Severity::NONE`](crate::option::Severity::NONE) means *not sampled*.
//!
//! Conversions return their [losses](ConversionLoss). If data does not fit into a traceparent, it goes into a member of
//! the [`TraceState`], so that the conversion back is exact.
//!
//! ```
//! use ichnos_xtrace::dialect::{TraceParent, TraceState, WithState};
//! use ichnos_xtrace::Metadata;
//!
//! let task = "0102030405060708090A0B0C0D0E0F1011121314";
//! let metadata = Metadata::parse(format!("1B{task}A1A2A3A4A5A6A7A8"))?.validate()?;
//! let there = WithState::from_metadata(&metadata)?;
//! assert_eq!(there.parent.to_string(), "00-0102030405060708090a0b0c0d0e0f10-a1a2a3a4a5a6a7a8-01");
//! assert_eq!(there.loss_without_state.task_bytes, 4);
//! assert!(there.loss.is_none());
//!
//! let mut state = String::new();
//! there.write_state(&TraceState::parse("vendor=1")?, &mut state)?;
//! assert_eq!(state, format!("xtrace=1B{task}A1A2A3A4A5A6A7A8,vendor=1"));
//! let back = there.parent.to_metadata(&TraceState::parse(&state)?);
//! assert_eq!(back, metadata);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod convert;
mod trace_parent;
mod trace_state;
mod version_2;

pub(crate) use convert::trace_of;
#[cfg(feature = "reader")]
pub(crate) use convert::without_zeros;
pub use convert::{ConversionLoss, SwMember, WithState, ZeroId};
pub use trace_parent::{TraceParent, TraceParentError};
pub use trace_state::{TraceState, TraceStateError, TraceStateRule};
pub use version_2::{Version2, Version2Error};
