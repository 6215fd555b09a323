//! Relay daemon addresses.

use std::fmt::{self, Display};
use std::net::Ipv6Addr;
use std::str::FromStr;

use crate::event::RelaySession;

/// TCP port for live clients of a relay daemon.
pub const DEFAULT_PORT: u16 = 5344;

/// Address of a relay daemon, or of a session on it: `net://HOST[:PORT][/host/HOSTNAME/SESSION]`.
///
/// IPv6 addresses are in brackets.
///
/// ```
/// use ichnos_lttng_live::RelayAddress;
///
/// let address: RelayAddress = "net://[::1]:6344/host/web-1/auto".parse()?;
/// assert_eq!((address.host.as_str(), address.port), ("::1", 6344));
/// assert_eq!(address.session.as_ref().map(|session| session.name.as_str()), Some("auto"));
/// assert_eq!(address.to_string(), "net://[::1]:6344/host/web-1/auto");
/// # Ok::<(), ichnos_lttng_live::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayAddress {
    /// Protocol of the address.
    pub family: AddressFamily,
    /// Host name or IP address of the relay daemon.
    pub host: String,
    /// TCP port. Default: [`DEFAULT_PORT`].
    pub port: u16,
    /// Session, if the address has one.
    pub session: Option<SessionPath>,
}

/// IP version of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AddressFamily {
    /// `net`: IPv4 or IPv6.
    #[default]
    Any,
    /// `net4`: IPv4.
    V4,
    /// `net6`: IPv6.
    V6,
}

/// Session in an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPath {
    /// Host that records the session.
    pub host: String,
    /// Session name.
    pub name: String,
}

impl SessionPath {
    /// Returns `true` if a session in a list has this host and name.
    #[must_use]
    pub fn matches(&self, session: &RelaySession) -> bool {
        self.host == session.host && self.name == session.name
    }
}

/// Invalid address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Another protocol.
    #[error("expected `net://`, `net4://` or `net6://` at the start of a relay daemon address")]
    Protocol,
    /// The host is missing.
    #[error("missing host name of the relay daemon")]
    MissingHost,
    /// A bracket is missing, or the brackets do not contain an IPv6 address.
    #[error("invalid IPv6 address in a relay daemon address; expected for example `[::1]`")]
    Ipv6,
    /// The port is not a number from 1 to 65535.
    #[error("invalid port in a relay daemon address; expected a number from 1 to 65535")]
    Port,
    /// The path is not a session.
    #[error("expected `/host/HOSTNAME/SESSION` at the end of a relay daemon address")]
    Path,
}

impl AddressFamily {
    /// All families, with their protocol names.
    const NAMES: [(Self, &'static str); 3] = [(Self::Any, "net"), (Self::V4, "net4"), (Self::V6, "net6")];
}

impl FromStr for RelayAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (protocol, rest) = text.split_once("://").ok_or(AddressError::Protocol)?;
        let (family, _) = AddressFamily::NAMES
            .into_iter()
            .find(|(_, name)| *name == protocol)
            .ok_or(AddressError::Protocol)?;
        let (place, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or(AddressError::Ipv6)?;
                host.parse::<Ipv6Addr>().map_err(|_| AddressError::Ipv6)?;
                (host, port)
            }
            None => place.split_at(place.find(':').unwrap_or(place.len())),
        };
        if host.is_empty() {
            return Err(AddressError::MissingHost);
        }
        let port = match port {
            "" => DEFAULT_PORT,
            port => port
                .strip_prefix(':')
                .filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|port| port.parse().ok())
                .filter(|port| *port > 0)
                .ok_or(AddressError::Port)?,
        };
        let session = match path {
            "" | "/" => None,
            path => Some(session_path(path).ok_or(AddressError::Path)?),
        };
        Ok(Self { family, host: host.to_owned(), port, session })
    }
}

fn session_path(path: &str) -> Option<SessionPath> {
    let (host, name) = path.strip_prefix("/host/")?.split_once('/')?;
    let is_valid = !host.is_empty() && !name.is_empty() && !name.contains('/');
    is_valid.then(|| SessionPath { host: host.to_owned(), name: name.to_owned() })
}

impl Display for RelayAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = AddressFamily::NAMES.iter().find(|(family, _)| *family == self.family);
        let name = name.map_or("net", |(_, name)| name);
        match self.host.contains(':') {
            true => write!(f, "{name}://[{}]", self.host)?,
            false => write!(f, "{name}://{}", self.host)?,
        }
        if self.port != DEFAULT_PORT {
            write!(f, ":{}", self.port)?;
        }
        match &self.session {
            Some(session) => write!(f, "/host/{}/{}", session.host, session.name),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_printed_as_they_are_parsed() {
        use AddressFamily::{Any, V4, V6};
        let cases = [
            ("net://localhost", Any, "localhost", 5344, None),
            ("net4://10.0.0.1:1", V4, "10.0.0.1", 1, None),
            ("net6://[fe80::1]", V6, "fe80::1", 5344, None),
            ("net://[::1]:65535/host/h/s", Any, "::1", 65535, Some(("h", "s"))),
            ("net://relay/host/a.b/my session-1", Any, "relay", 5344, Some(("a.b", "my session-1"))),
            ("net://relay:80/host/host/host", Any, "relay", 80, Some(("host", "host"))),
        ];
        for (text, family, host, port, session) in cases {
            let address: RelayAddress = text.parse().unwrap();
            let session =
                session.map(|(host, name)| SessionPath { host: host.to_owned(), name: name.to_owned() });
            assert_eq!(address, RelayAddress { family, host: host.to_owned(), port, session }, "{text}");
            assert_eq!(address.to_string(), text);
        }
        let with_defaults: RelayAddress = "net://h:5344/".parse().unwrap();
        assert_eq!(with_defaults.to_string(), "net://h");
    }

    #[test]
    fn invalid_addresses() {
        let cases = [
            ("", AddressError::Protocol),
            ("localhost", AddressError::Protocol),
            ("net:/localhost", AddressError::Protocol),
            ("net5://localhost", AddressError::Protocol),
            ("http://localhost", AddressError::Protocol),
            ("net://", AddressError::MissingHost),
            ("net://:80", AddressError::MissingHost),
            ("net:///host/h/s", AddressError::MissingHost),
            ("net://[::1", AddressError::Ipv6),
            ("net://[localhost]", AddressError::Ipv6),
            ("net://[]", AddressError::Ipv6),
            ("net://[::1]80", AddressError::Port),
            ("net://h:", AddressError::Port),
            ("net://h:0", AddressError::Port),
            ("net://h:+1", AddressError::Port),
            ("net://h:65536", AddressError::Port),
            ("net://::1", AddressError::MissingHost),
            ("net://fe80::1", AddressError::Port),
            ("net://h/host", AddressError::Path),
            ("net://h/hosts/a/b", AddressError::Path),
            ("net://h/host/a", AddressError::Path),
            ("net://h/host/a/", AddressError::Path),
            ("net://h/host//b", AddressError::Path),
            ("net://h/host/a/b/c", AddressError::Path),
            ("net://h/host/a/b/", AddressError::Path),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<RelayAddress>(), Err(error), "{text}");
        }
    }
}
