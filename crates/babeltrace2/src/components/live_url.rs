//! LTTng relay daemon addresses: `net://HOST[:PORT][/host/TARGET/SESSION]`.

use ichnos::live::lttng::{AddressError, RelayAddress};

use crate::arguments::escapes::text_until;
use crate::arguments::integers::leading_integer;

/// Parses an address.
///
/// # Errors
/// The problem, in Babeltrace's words.
pub(crate) fn parse_live_url(url: &str) -> Result<RelayAddress, String> {
    // Babeltrace does not know IPv6 addresses.
    if !url.contains("://[") {
        check(url)?;
    }
    url.parse().map_err(|error: AddressError| error.to_string())
}

/// Returns `true` for the whole address of a session.
pub(crate) fn is_session_address(url: &str) -> bool {
    parse_live_url(url).is_ok_and(|address| address.session.is_some())
}

fn check(url: &str) -> Result<(), String> {
    let (protocol, end) = text_until(url, &[], &[':']);
    let rest = url.get(end..).unwrap_or_default();
    let protocol = match protocol.as_str() {
        "" => return Err("Missing protocol".to_owned()),
        "net" | "net4" => "net4",
        "net6" => "net6",
        other => return Err(format!("Unknown protocol: `{other}`")),
    };
    if rest.is_empty() {
        return Err(format!("Expecting `:` after `{protocol}`"));
    }
    let rest = rest.strip_prefix("://").ok_or_else(|| "Expecting `://` after protocol".to_owned())?;
    let (host, end) = text_until(rest, &[], &[':', '/']);
    if host.is_empty() {
        return Err("Missing hostname".to_owned());
    }
    let mut rest = rest.get(end..).unwrap_or_default();
    if let Some(after) = rest.strip_prefix(':') {
        let (port, end) = text_until(after, &[], &['/']);
        check_port(&port)?;
        rest = after.get(end..).unwrap_or_default();
    }
    if rest.is_empty() {
        return Ok(());
    }
    let rest =
        rest.strip_prefix("/host/").ok_or_else(|| "Expecting `/host/` after hostname or port".to_owned())?;
    let (target, end) = text_until(rest, &[], &['/']);
    if target.is_empty() {
        return Err("Missing target hostname".to_owned());
    }
    let rest = rest.get(end..).unwrap_or_default();
    let Some(rest) = rest.strip_prefix('/') else {
        return Err(format!("Missing `/` after target hostname (`{target}`)"));
    };
    let (session, end) = text_until(rest, &[], &['/']);
    if session.is_empty() {
        return Err("Missing session name".to_owned());
    }
    if end < rest.len() {
        return Err(format!("Unexpected `/` after session name (`{session}`)"));
    }
    Ok(())
}

fn check_port(port: &str) -> Result<(), String> {
    if port.is_empty() {
        return Err("Missing port".to_owned());
    }
    match leading_integer(port) {
        None => Err(format!("Invalid port: `{port}`")),
        Some((0..=65535, _)) => Ok(()),
        Some((number, _)) => Err(format!("Invalid port: {number}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let cases = [
            ("net://host", Ok(false)),
            ("net4://host:5344", Ok(false)),
            ("net6://host:5344/host/target/session", Ok(true)),
            ("net://host/host/target/session", Ok(true)),
            ("net://[::1]:5344/host/target/session", Ok(true)),
            ("", Err("Missing protocol")),
            ("://host", Err("Missing protocol")),
            ("http://host", Err("Unknown protocol: `http`")),
            ("net", Err("Expecting `:` after `net4`")),
            ("net:host", Err("Expecting `://` after protocol")),
            ("net://", Err("Missing hostname")),
            ("net://host:", Err("Missing port")),
            ("net://host:x", Err("Invalid port: `x`")),
            ("net://host:-1", Err("Invalid port: -1")),
            ("net://host:65536", Err("Invalid port: 65536")),
            ("net://host/x", Err("Expecting `/host/` after hostname or port")),
            ("net://host/host/", Err("Missing target hostname")),
            ("net://host/host/a", Err("Missing `/` after target hostname (`a`)")),
            ("net://host/host/a/", Err("Missing session name")),
            ("net://host/host/a/b/", Err("Unexpected `/` after session name (`b`)")),
        ];
        for (url, expected) in cases {
            let found = parse_live_url(url).map(|address| address.session.is_some());
            assert_eq!(found, expected.map_err(str::to_owned), "{url}");
        }
    }
}
