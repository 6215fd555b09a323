//! `source.ctf.lttng-live`: sessions of an LTTng relay daemon.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use ichnos::debug_info::DebugInfo;
use ichnos::export::printable;
use ichnos::live::lttng::{
    self, ConnectionError, LttngFeed, LttngLiveError, LttngLiveOptions, RelayAddress, RelaySession,
    SeekPosition, TraceFormat,
};
use ichnos::model::live::LiveOptions;
use ichnos::{OpenOptions, Session};

use crate::command::Failure;
use crate::components::ctf_fs;
use crate::components::live_url::parse_live_url;
use crate::components::parameter_values::Parameters;
use crate::components::source::{OpenedSource, Port};
use crate::value::{Map, ParameterValue};

/// Name of the only output port.
pub(crate) const LIVE_PORT: &str = "out";

/// Time to wait for a session that is not there yet.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// Attaches to the session of a component.
///
/// # Errors
/// If the address is invalid, or if the relay daemon does not give the session.
pub(crate) fn open(parameters: &Map, debug_info: Option<&Arc<DebugInfo>>) -> Result<OpenedSource, Failure> {
    let parameters = Parameters(parameters);
    let Some(url) = parameters.texts("inputs").first().copied() else {
        return Err(Failure::from_cause("Mandatory `inputs` parameter missing"));
    };
    let address = address(url)?;
    let options = ctf_fs::options(parameters, debug_info);
    let mut lttng = LttngLiveOptions::default();
    lttng.from = SeekPosition::Last;
    let action = parameters.text("session-not-found-action").unwrap_or("continue");
    if action == "continue" {
        lttng.retry = FOREVER;
        lttng.retries_only_session = true;
    }
    let live = LiveOptions::default();
    let feed = match LttngFeed::open(&address, &lttng, &options.read, &live) {
        Ok(feed) => feed,
        Err(LttngLiveError::UnknownSession(_)) if action == "end" => return Ok(empty(&options)),
        Err(LttngLiveError::Connection(error)) => return Err(cannot_connect(url, &address, &error)),
        Err(error) => return Err(cannot(url, &error)),
    };
    let trace = feed.into_trace(&address, live).ok_or_else(|| cannot(url, &"too many traces"))?;
    let session = Session::of_live(vec![Box::new(trace)], &options);
    Ok(OpenedSource { session, ports: vec![Port { name: LIVE_PORT.to_owned(), trace: 0, stream: 0 }] })
}

/// Returns a source without messages.
fn empty(options: &OpenOptions) -> OpenedSource {
    OpenedSource { session: Session::of_live(Vec::new(), options), ports: Vec::new() }
}

/// Parses an address.
fn address(url: &str) -> Result<RelayAddress, Failure> {
    parse_live_url(url)
        .map_err(|problem| Failure::from_cause(format!("Invalid LTTng live URL format: {problem}")))
        .map_err(|failure| not_established(url, failure.in_context("Failed to parse URL")))
}

fn not_established(url: &str, failure: Failure) -> Failure {
    failure
        .in_context(format!("Failed to establish connection: url=\"{url}\""))
        .in_context("Failed to create viewer connection")
}

/// Returns the failure of a connection, in the words that scripts look for.
fn cannot_connect(url: &str, address: &RelayAddress, error: &ConnectionError) -> Failure {
    let cause = match error {
        ConnectionError::Resolve(_) => format!("Cannot lookup hostname: hostname=\"{}\"", address.host),
        ConnectionError::Connect(error) => {
            let reason = error.to_string();
            format!("Connection failed: {}", reason.split(" (os error").next().unwrap_or_default())
        }
        error => error.to_string(),
    };
    not_established(url, Failure::from_cause(cause))
}

fn cannot(url: &str, error: &dyn Display) -> Failure {
    Failure::from_cause(format!("Cannot connect to the relay daemon: url=\"{url}\": {error}"))
}

/// Lists the sessions of a relay daemon, for the query object `sessions`.
///
/// # Errors
/// If the address is invalid, or if the relay daemon does not answer.
pub(crate) fn sessions(url: &str) -> Result<(RelayAddress, Vec<RelaySession>), Failure> {
    let mut relay = address(url)?;
    let found = lttng::sessions(&relay, &LttngLiveOptions::default())
        .map_err(|error| cannot_connect(url, &relay, &error))?;
    relay.session = None;
    Ok((relay, joined(found)))
}

/// Joins sessions with the same host and name, which are the tracing domains of one recording.
fn joined(all: Vec<RelaySession>) -> Vec<RelaySession> {
    let mut found: Vec<RelaySession> = Vec::new();
    for session in all {
        match found.iter_mut().find(|known| (&known.host, &known.name) == (&session.host, &session.name)) {
            Some(known) => {
                known.streams = known.streams.saturating_add(session.streams);
                known.clients = known.clients.max(session.clients);
            }
            None => found.push(session),
        }
    }
    found
}

/// Returns the address of a session.
fn session_url(relay: &RelayAddress, session: &RelaySession) -> String {
    format!("{}/host/{}/{}", relay.to_string().trim_end_matches('/'), session.host, session.name)
}

/// Lists the sessions of a relay daemon as text.
///
/// # Errors
/// As for [`sessions`].
pub(crate) fn sessions_text(url: &str) -> Result<String, Failure> {
    let (relay, sessions) = sessions(url)?;
    let line = |session: &RelaySession| {
        let RelaySession { live_timer, streams, clients, format, .. } = session;
        let format = if *format == TraceFormat::Ctf18 { "CTF 1.8" } else { "CTF 2" };
        format!(
            "{} (timer = {live_timer}, {streams} stream(s), {clients} client(s) connected, {format})\n",
            printable(&session_url(&relay, session))
        )
    };
    Ok(sessions.iter().map(line).collect())
}

/// Returns the sessions of a relay daemon as a value.
///
/// # Errors
/// As for [`sessions`].
pub(crate) fn sessions_value(url: &str) -> Result<ParameterValue, Failure> {
    let (relay, sessions) = sessions(url)?;
    let value = |session: &RelaySession| {
        let mut map = Map::default();
        map.insert("url", ParameterValue::Text(session_url(&relay, session)));
        map.insert("target-hostname", ParameterValue::Text(session.host.clone()));
        map.insert("session-name", ParameterValue::Text(session.name.clone()));
        map.insert("timer-us", ParameterValue::Unsigned(session.live_timer.into()));
        map.insert("stream-count", ParameterValue::Unsigned(session.streams.into()));
        map.insert("client-count", ParameterValue::Unsigned(session.clients.into()));
        ParameterValue::Map(map)
    };
    Ok(ParameterValue::Array(sessions.iter().map(value).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_of_a_recording_are_one_session() {
        let session = |id, name: &str, streams, clients| RelaySession {
            id,
            host: "h".to_owned(),
            name: name.to_owned(),
            live_timer: 1,
            clients,
            streams,
            format: TraceFormat::Ctf18,
        };
        let all = vec![session(0, "a", 4, 1), session(1, "b", 1, 0), session(2, "a", 2, 0)];
        assert_eq!(joined(all), [session(0, "a", 6, 1), session(1, "b", 1, 0)]);
    }
}
