//! Known options: their numbers, payloads and propagation.
//!
//! The document refers to separate documents for options, which were never published. Numbers and layouts come from the
//! original libraries and from recorded tasks.

mod chain;
mod destination;
mod registry;
mod severity;
mod tenant;

use core::fmt;

pub use chain::ChainId;
pub use destination::Destination;
pub use registry::{Definition, Payload, Propagation, Registry, Replace};
pub use severity::Severity;
pub use tenant::TenantClass;

/// Error for an option payload with the wrong length for its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadLength {
    /// Option type.
    pub number: u8,
    /// Expected length in bytes.
    pub expected: usize,
    /// Actual length in bytes.
    pub found: usize,
}

impl fmt::Display for PayloadLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, expected, found } = self;
        write!(f, "payload of option {number:#04X}: expected {expected} bytes, found {found}")
    }
}

impl core::error::Error for PayloadLength {}

/// Returns the payload of an option if its length is correct.
fn payload<const N: usize>(
    metadata: crate::MetadataRef<'_>,
    number: u8,
) -> Result<Option<[u8; N]>, PayloadLength> {
    match metadata.option(number) {
        None => Ok(None),
        Some(payload) => match payload.try_into() {
            Ok(payload) => Ok(Some(payload)),
            Err(_) => Err(PayloadLength { number, expected: N, found: payload.len() }),
        },
    }
}
