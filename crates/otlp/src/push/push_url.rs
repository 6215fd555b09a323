//! Addresses of receivers.

use std::fmt;

use crate::request_signal::RequestSignal;

/// Port of an address without a port.
const PORT: u16 = 80;

/// Address of a receiver: `http://HOST:PORT`, with a path in front of `/v1/traces` and the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushUrl {
    /// Host name or address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Host and port as in the URL.
    pub(super) authority: String,
    /// Path without a slash at the end.
    path: String,
}

/// Reason why an address cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlError {
    /// The address does not start with `http://`.
    NoUrl,
    /// The address needs TLS.
    Tls,
    /// The host is missing.
    NoHost,
    /// The port is not a number from 1 to 65535.
    Port,
    /// The address contains a user name or a password.
    User,
    /// The address contains a query or a fragment.
    Query,
    /// The address contains other characters than visible ASCII.
    Characters,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoUrl => "expected an address such as http://localhost:4318",
            Self::Tls => "expected http://, found https://: this program has no TLS",
            Self::NoHost => "expected a host after http://",
            Self::Port => "expected a port from 1 to 65535",
            Self::User => "expected an address without a user name; keys are headers",
            Self::Query => "expected an address without `?` and `#`",
            Self::Characters => "expected visible ASCII characters",
        })
    }
}

impl std::error::Error for UrlError {}

impl PushUrl {
    /// Returns `true` for a text that starts like an address, not like a path.
    #[must_use]
    pub fn is_url(text: &str) -> bool {
        after_scheme(text, "http").or_else(|| after_scheme(text, "https")).is_some()
    }

    /// Parses an address.
    ///
    /// # Errors
    /// Fails if it is not an address, or needs what this client lacks.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let rest = match (after_scheme(text, "http"), after_scheme(text, "https")) {
            (_, Some(_)) => return Err(UrlError::Tls),
            (Some(rest), None) => rest,
            (None, None) => return Err(UrlError::NoUrl),
        };
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UrlError::Characters);
        }
        if rest.contains(['?', '#']) {
            return Err(UrlError::Query);
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(UrlError::User);
        }
        // The colons of an IPv6 address are within brackets.
        let after_host = authority.rfind(']').map_or(0, |at| at + 1);
        let (host, port) = match authority.get(after_host..).and_then(|rest| rest.rfind(':')) {
            Some(at) => authority.split_at(after_host + at),
            None => (authority, ""),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(UrlError::NoHost);
        }
        let port = match port.strip_prefix(':') {
            None | Some("") => PORT,
            Some(digits) => digits.parse().ok().filter(|port| *port > 0).ok_or(UrlError::Port)?,
        };
        let path = path.trim_end_matches('/');
        let ends = RequestSignal::ALL.map(path_of);
        // The address of one signal names the receiver of all signals.
        let path = ends.iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
        let path = path.trim_end_matches('/').to_owned();
        Ok(Self { host: host.to_owned(), port, authority: authority.to_owned(), path })
    }

    /// Returns the path for the requests of a signal.
    pub(super) fn path(&self, signal: RequestSignal) -> String {
        format!("{}{}", self.path, path_of(signal))
    }

    /// Returns the whole address for a signal.
    pub(super) fn of_signal(&self, signal: RequestSignal) -> String {
        format!("http://{}{}", self.authority, self.path(signal))
    }
}

/// Returns the text after a scheme in any case.
fn after_scheme<'t>(text: &'t str, scheme: &str) -> Option<&'t str> {
    let (found, rest) = text.split_once("://")?;
    found.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn path_of(signal: RequestSignal) -> &'static str {
    match signal {
        RequestSignal::Traces => "/v1/traces",
        RequestSignal::Logs => "/v1/logs",
        RequestSignal::Metrics => "/v1/metrics",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let parse = |text| {
            PushUrl::parse(text).map(|url| (url.host.clone(), url.port, url.path(RequestSignal::Logs)))
        };
        let found = |host: &str, port, path: &str| Ok((host.to_owned(), port, path.to_owned()));
        assert_eq!(parse("http://localhost:4318"), found("localhost", 4318, "/v1/logs"));
        assert_eq!(parse("HTTP://a/"), found("a", 80, "/v1/logs"));
        assert_eq!(parse("http://[::1]:4318/otel/"), found("::1", 4318, "/otel/v1/logs"));
        assert_eq!(parse("http://[::1]"), found("::1", 80, "/v1/logs"));
        assert_eq!(parse("http://a:1/x/v1/traces"), found("a", 1, "/x/v1/logs"));
        for (text, error) in [
            ("out.otlp", UrlError::NoUrl),
            ("https://a", UrlError::Tls),
            ("http://", UrlError::NoHost),
            ("http://:4318", UrlError::NoHost),
            ("http://a:0", UrlError::Port),
            ("http://a:65536", UrlError::Port),
            ("http://u:p@a", UrlError::User),
            ("http://a/?x", UrlError::Query),
            ("http://a\r\nX: y", UrlError::Characters),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        assert!(PushUrl::is_url("https://a") && !PushUrl::is_url("a/b") && !PushUrl::is_url("C:/x"));
    }
}
