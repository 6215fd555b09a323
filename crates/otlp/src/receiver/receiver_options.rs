//! Options of a receiver.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

/// Standard port for OTLP over HTTP.
pub const PORT: u16 = 4318;

/// Options of a receiver.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReceiverOptions {
    /// Address and port to listen on. Default: 127.0.0.1:4318. There is no encryption and no authentication.
    pub address: SocketAddr,
    /// Time for which events are held to sort them. Default: 100 ms.
    pub delay: Duration,
    /// Maximum number of connections. Default: 64.
    pub most_connections: usize,
    /// Maximum size of a request body in bytes, as sent. Default: 20 MiB, as in the Collector. Unpacked bodies can have
    /// four times this size.
    pub most_body: usize,
    /// Memory for request bodies that are received and that wait, in bytes. Default: 256 MiB.
    pub most_memory: usize,
    /// Longest time to receive a request. Default: 30 s.
    pub patience: Duration,
    /// Longest time between two requests of a connection. Default: 60 s.
    pub idle: Duration,
}

impl Default for ReceiverOptions {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)),
            delay: Duration::from_millis(100),
            most_connections: 64,
            most_body: 20 << 20,
            most_memory: 256 << 20,
            patience: Duration::from_secs(30),
            idle: Duration::from_secs(60),
        }
    }
}

impl ReceiverOptions {
    /// Returns the options for an address: `otlp://127.0.0.1:4318`. Without a host, it is 127.0.0.1, and without a
    /// port, 4318.
    ///
    /// ```
    /// use ichnos_otlp::receiver::ReceiverOptions;
    ///
    /// let address = |text| ReceiverOptions::from_address(text).map(|options| options.address.to_string());
    /// assert_eq!(address("otlp://")?, "127.0.0.1:4318");
    /// assert_eq!(address("otlp://127.0.0.1:7000")?, "127.0.0.1:7000");
    /// assert_eq!(address("otlp://[::1]")?, "[::1]:4318");
    /// assert_eq!(address("otlp://:0")?, "127.0.0.1:0");
    /// assert!(address("net://127.0.0.1").is_err() && address("otlp://127.0.0.1/path").is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the address is not valid, or if the host is unknown.
    pub fn from_address(text: &str) -> io::Result<Self> {
        let invalid = || {
            let message =
                format!("expected an address like otlp://127.0.0.1:{PORT}, found `{}`", text.escape_debug());
            io::Error::new(io::ErrorKind::InvalidInput, message)
        };
        let rest = text.strip_prefix("otlp://").ok_or_else(invalid)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.rsplit_once(':') {
            // The last colon of an IPv6 address.
            Some((_, after)) if after.ends_with(']') => (rest, None),
            Some((host, port)) => (host, Some(port)),
            None => (rest, None),
        };
        let port = port.map_or(Some(PORT), |port| port.parse().ok()).ok_or_else(invalid)?;
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        if host.contains(['/', '@', '?']) {
            return Err(invalid());
        }
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let address = (host, port).to_socket_addrs()?.next().ok_or_else(invalid)?;
        Ok(Self { address, ..Self::default() })
    }
}
