//! Client that sends requests to an OpenTelemetry receiver over HTTP.
//!
//! [`OtlpPusher::push`] sends a request, and returns its [`PushOutcome`]. Refused connections, incompletely sent requests,
//! and the statuses 429, 502, 503 and 504 are tried again, at the latest after the time that the receiver names. A
//! request that was completely sent and has no answer is not sent again, because the receiver may have it: this is
//! [`PushOutcome::Unknown`].

mod http_answer;
mod http_connection;
mod http_date;
mod partial_success;
mod push_counts;
mod push_error;
mod push_url;
mod pusher;

pub use self::push_counts::PushCounts;
pub use self::push_error::PushError;
pub use self::push_url::{PushUrl, UrlError};
pub use self::pusher::{OtlpPusher, PushOptions, PushOutcome};
