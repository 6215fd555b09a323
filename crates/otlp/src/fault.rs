//! Reasons why a request cannot be decoded.

use std::borrow::Cow;
use std::fmt;

use ichnos_json::read;

/// Reason why a part of a request cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestFault {
    /// Offset in the request, in bytes.
    pub at: usize,
    /// Expected and found data.
    pub message: Cow<'static, str>,
}

impl RequestFault {
    pub(crate) fn new(at: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self { at, message: message.into() }
    }
}

impl fmt::Display for RequestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.message)
    }
}

impl std::error::Error for RequestFault {}

impl From<read::Error> for RequestFault {
    fn from(error: read::Error) -> Self {
        Self::new(error.offset, format!("expected {}", error.kind.expected()))
    }
}

/// Result of decoding.
pub(crate) type Decoded<T> = Result<T, RequestFault>;
