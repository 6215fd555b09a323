//! What is known of options: their numbers, what their payloads mean, and how they are propagated.
//!
//! The document leaves options to documents of their own, which were never published; the numbers and the
//! layouts are those of the original libraries, and of what was seen in recorded tasks.

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

/// An option whose payload does not have the length that its type has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadLength {
    /// The type of the option.
    pub number: u8,
    /// Bytes that its payload should have.
    pub expected: usize,
    /// Bytes that it has.
    pub found: usize,
}

impl fmt::Display for PayloadLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, expected, found } = self;
        write!(f, "the payload of an option of type {number:#04X} has {expected} bytes, not {found}")
    }
}

impl core::error::Error for PayloadLength {}

/// The payload of the option of a type, if there is one of the right length.
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
