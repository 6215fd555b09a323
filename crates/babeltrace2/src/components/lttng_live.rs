//! `source.ctf.lttng-live`: sessions of an LTTng relay daemon.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use ichnos::debug_info::DebugInfo;
use ichnos::export::printable;
use ichnos::live::lttng::{
    self, AddressError, LttngFeed, LttngLiveError, LttngLiveOptions, RelayAddress, RelaySession, SeekPosition,
};
use ichnos::model::live::LiveOptions;
use ichnos::{OpenOptions, Session};

use crate::command::Failure;
use crate::components::ctf_fs;
use crate::components::parameter_values::Parameters;
use crate::components::source::{OpenedSource, Port};
use crate::value::{Map, ParameterValue};

/// Time to wait for a session that is not there yet.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// Attaches to the session of a component.
///
/// # Errors
/// If the address is invalid, or if the relay daemon does not give the session.
pub(crate) fn open(parameters: &Map, debug_info: Option<&Arc<DebugInfo>>) -> Result<OpenedSource, Failure> {
    let parameters = Parameters(parameters);
    let (url, address) = address(parameters.texts("inputs").first().copied())?;
    let options = ctf_fs::options(parameters, debug_info);
    let mut lttng = LttngLiveOptions::default();
    lttng.from = SeekPosition::Last;
    let action = parameters.text("session-not-found-action").unwrap_or("continue");
    if action == "continue" {
        lttng.retry = FOREVER;
    }
    let live = LiveOptions::default();
    let feed = match LttngFeed::open(&address, &lttng, &options.read, &live) {
        Ok(feed) => feed,
        Err(LttngLiveError::UnknownSession(_)) if action == "end" => return Ok(empty(&options)),
        Err(error) => return Err(cannot(&url, &error)),
    };
    let trace = feed.into_trace(&address, live).ok_or_else(|| cannot(&url, &"too many traces"))?;
    let session = Session::of_live(vec![Box::new(trace)], &options);
    Ok(OpenedSource { session, ports: vec![Port { name: "out".to_owned(), trace: 0, stream: 0 }] })
}

/// Returns a source without messages.
fn empty(options: &OpenOptions) -> OpenedSource {
    OpenedSource { session: Session::of_live(Vec::new(), options), ports: Vec::new() }
}

/// Parses an address.
fn address(url: Option<&str>) -> Result<(String, RelayAddress), Failure> {
    let Some(url) = url else {
        return Err(Failure::from_cause("Mandatory `inputs` parameter missing"));
    };
    let invalid =
        |error: AddressError| Failure::from_cause(format!("Invalid LTTng live URL format: {error}: `{url}`"));
    Ok((url.to_owned(), url.parse().map_err(invalid)?))
}

fn cannot(url: &str, error: &dyn Display) -> Failure {
    Failure::from_cause(format!("Cannot connect to the relay daemon: url=\"{url}\": {error}"))
}

/// Lists the sessions of a relay daemon, for the query object `sessions`.
///
/// # Errors
/// If the address is invalid, or if the relay daemon does not answer.
pub(crate) fn sessions(url: Option<&str>) -> Result<(RelayAddress, Vec<RelaySession>), Failure> {
    let (url, mut relay) = address(url)?;
    let found =
        lttng::sessions(&relay, &LttngLiveOptions::default()).map_err(|error| cannot(&url, &error))?;
    relay.session = None;
    Ok((relay, found))
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
    let (relay, sessions) = sessions(Some(url))?;
    let line = |session: &RelaySession| {
        let RelaySession { live_timer, streams, clients, .. } = session;
        format!(
            "{} (timer = {live_timer}, {streams} stream(s), {clients} client(s) connected)\n",
            printable(&session_url(&relay, session))
        )
    };
    Ok(sessions.iter().map(line).collect())
}

/// Returns the sessions of a relay daemon as a value.
///
/// # Errors
/// As for [`sessions`].
pub(crate) fn sessions_value(parameters: &Map) -> Result<ParameterValue, Failure> {
    let (relay, sessions) = sessions(Parameters(parameters).text("url"))?;
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
