//! Reasons why nothing more can be sent.

use std::fmt;
use std::io;
use std::time::Duration;

use super::push_url::UrlError;

/// Reason why nothing more can be sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum PushError {
    /// The address cannot be used.
    Url(UrlError),
    /// A header cannot be sent.
    Header {
        /// Header name.
        name: String,
        /// Reason.
        problem: &'static str,
    },
    /// The receiver cannot be reached or is not ready.
    Unavailable {
        /// Address of the signal.
        url: String,
        /// Time since the first attempt.
        after: Duration,
        /// Last reason.
        reason: String,
    },
    /// The receiver refuses all requests.
    Refused {
        /// Address of the signal.
        url: String,
        /// Status number.
        status: u16,
        /// Reason from the answer.
        reason: String,
    },
    /// The answer is from another kind of server.
    NotOtlp {
        /// Address of the signal.
        url: String,
        /// Media type of the answer.
        media: String,
    },
    /// Compression failed.
    Io(io::Error),
    /// Sending was stopped.
    Stopped,
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(error) => write!(f, "{error}"),
            Self::Header { name, problem } => write!(f, "header `{}`: {problem}", name.escape_debug()),
            Self::Unavailable { url, after, reason } => {
                write!(
                    f,
                    "{url}: the receiver did not accept a request for {:.1} s: {reason}",
                    after.as_secs_f64()
                )
            }
            Self::Refused { url, status, reason } => {
                write!(f, "{url}: expected the status 200, found {status}{}", with_colon(reason))
            }
            Self::NotOtlp { url, media } => {
                write!(f, "{url}: expected an answer to OpenTelemetry requests, found {media}")
            }
            Self::Io(error) => write!(f, "{error}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for PushError {}

/// Returns a reason after a colon, or nothing without a reason.
fn with_colon(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}
