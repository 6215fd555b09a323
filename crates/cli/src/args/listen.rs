//! Addresses at which ichnos listens.

use std::fmt;
use std::path::PathBuf;

/// Address of `--listen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// Unix datagram socket.
    Socket(PathBuf),
    /// Host and port for OpenTelemetry requests, as `otlp://HOST:PORT`.
    Otlp(String),
}

impl ListenAddress {
    /// Parses `unixgram:PATH` or `otlp://[HOST][:PORT]`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("otlp://") {
            return Ok(Self::Otlp(text.to_owned()));
        }
        let path = text.strip_prefix("unixgram:").filter(|path| !path.is_empty());
        path.map(|path| Self::Socket(path.into()))
            .ok_or_else(|| format!("expected unixgram:PATH or otlp://HOST:PORT, found `{text}`"))
    }
}

impl ListenAddress {
    /// Checks the address for OpenTelemetry requests.
    pub(crate) fn parse_for_requests(text: &str) -> Result<String, String> {
        match Self::parse(text) {
            Ok(Self::Otlp(address)) => Ok(address),
            _ => Err(format!("expected otlp://HOST:PORT, found `{text}`")),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Otlp(address) => address.fmt(f),
        }
    }
}
