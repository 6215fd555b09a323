//! Connections to the sessions of an address.

use std::thread;
use std::time::{Duration, Instant};

use ichnos_lttng_live::{
    AttachRefusal, ConnectionError, ConnectionOptions, LiveEvent, ProtocolError, RelayAddress,
    RelayConnection, RelaySession, SeekPosition,
};

/// First and longest pause between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Time between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(50);

/// Packet size limit in bytes. Packets of many data streams are in memory at a time.
const PACKET_BYTES: u64 = 64 << 20;

/// Options for live sessions of LTTng.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LttngLiveOptions {
    /// Position at which reading starts. Default: everything that the relay daemon has.
    pub from: SeekPosition,
    /// How long to try again without a relay daemon, without the session, or after a lost connection. Default: 0, to
    /// try once.
    pub retry: Duration,
    /// Try again only while the relay daemon does not have the session. A missing relay daemon, a lost connection and a
    /// session that has a reader are errors at once. Default: `false`.
    pub retries_only_session: bool,
    /// Returns an opened feed although the first attempt has failed. Further attempts then delay no other input, and their
    /// failure is the end of the feed. Default: `false`.
    pub connects_later: bool,
    /// Longest time for metadata that cannot be read to become complete. Default: 10 s.
    pub metadata_timeout: Duration,
    /// Timeouts and limits of the connection.
    pub connection: ConnectionOptions,
}

impl Default for LttngLiveOptions {
    fn default() -> Self {
        let mut connection = ConnectionOptions::default();
        connection.limits.packet_bytes = PACKET_BYTES;
        Self {
            from: SeekPosition::Beginning,
            retry: Duration::ZERO,
            retries_only_session: false,
            connects_later: false,
            metadata_timeout: Duration::from_secs(10),
            connection,
        }
    }
}

/// Reason why a live session cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LttngLiveError {
    /// The connection to the relay daemon failed.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The address does not name a session.
    #[error("the address does not name a session; {}", list(.0))]
    NoSessionGiven(Vec<RelaySession>),
    /// The relay daemon does not have the session.
    #[error("the relay daemon has no such session; {}", list(.0))]
    UnknownSession(Vec<RelaySession>),
    /// The relay daemon does not let it read the session.
    #[error("{}{}", .0, if *.0 == AttachRefusal::NotLive { ": create it as a live session" } else { "" })]
    Refused(AttachRefusal),
    /// The [stop flag](ichnos_model::live::LiveOptions::stop) was set before there was a session.
    #[error("stopped before there was a session")]
    Stopped,
    /// The receiving thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

impl LttngLiveError {
    /// Returns `true` for an error after which the options demand another attempt, which can succeed.
    pub(super) fn is_temporary(&self, options: &LttngLiveOptions) -> bool {
        match self {
            Self::Connection(error) => !options.retries_only_session && is_temporary(error),
            Self::NoSessionGiven(_) | Self::Thread(_) | Self::Stopped => false,
            // A relay daemon notices late that a connection was lost.
            Self::Refused(AttachRefusal::Already) => !options.retries_only_session,
            Self::Refused(reason) => *reason == AttachRefusal::Unknown,
            Self::UnknownSession(_) => true,
        }
    }
}

/// Returns `true` if another connection can succeed.
pub(super) fn is_temporary(error: &ConnectionError) -> bool {
    match error {
        // The connection ended within a reply.
        ConnectionError::Protocol(error) => *error == ProtocolError::Truncated,
        _ => true,
    }
}

/// Lists sessions for an error message.
fn list(sessions: &[RelaySession]) -> String {
    const MOST: usize = 10;
    if sessions.is_empty() {
        return "it has no sessions".to_owned();
    }
    let path = |session: &RelaySession| format!("/host/{}/{}", session.host, session.name);
    let mut paths: Vec<String> = sessions.iter().map(path).collect();
    paths.dedup();
    let more = paths.len().saturating_sub(MOST);
    paths.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("its sessions: {}{more}", paths.join(", "))
}

/// Connection that is attached to sessions.
pub(super) struct Connected {
    pub(super) connection: RelayConnection,
    pub(super) sessions: Vec<RelaySession>,
    /// Events that have arrived.
    pub(super) events: Vec<LiveEvent>,
}

impl Connected {
    /// Returns the longest time between two signs of life of an idle data stream.
    pub(super) fn live_timer(&self) -> Duration {
        let timers = self.sessions.iter().map(|session| u64::from(session.live_timer));
        Duration::from_micros(timers.max().unwrap_or(0))
    }
}

/// Connects and attaches to the sessions of an address. Tries again as long as the options say.
pub(super) fn connect(
    address: &RelayAddress,
    options: &LttngLiveOptions,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Connected, LttngLiveError> {
    let begin = Instant::now();
    let (mut pause, longest) = PAUSES;
    loop {
        let error = match attach(address, options) {
            Ok(connected) => return Ok(connected),
            Err(error) => error,
        };
        let left = options.retry.saturating_sub(begin.elapsed());
        if left.is_zero() || !error.is_temporary(options) {
            return Err(error);
        }
        let again = Instant::now() + pause.min(left);
        while Instant::now() < again {
            if is_stopped() {
                return Err(LttngLiveError::Stopped);
            }
            thread::sleep(LOOK.min(again.saturating_duration_since(Instant::now())));
        }
        pause = (2 * pause).min(longest);
    }
}

/// Connects and attaches to the sessions of an address, once.
pub(super) fn attach(
    address: &RelayAddress,
    options: &LttngLiveOptions,
) -> Result<Connected, LttngLiveError> {
    let mut connection = RelayConnection::open(address, &options.connection)?;
    let mut all = connection.sessions()?;
    let Some(path) = &address.session else { return Err(LttngLiveError::NoSessionGiven(all)) };
    let sessions: Vec<RelaySession> = all.iter().filter(|session| path.matches(session)).cloned().collect();
    if sessions.is_empty() {
        all.sort_by(|a, b| (&a.host, &a.name).cmp(&(&b.host, &b.name)));
        return Err(LttngLiveError::UnknownSession(all));
    }
    for session in &sessions {
        connection.client().attach(session.id, options.from);
    }
    let mut events = Vec::new();
    let (mut left, mut refusal) = (sessions.len(), None);
    while left > 0 {
        let timeout = options.connection.reply_timeout;
        match connection.next_event(timeout)?.ok_or(ConnectionError::Silent(timeout))? {
            LiveEvent::AttachRefused { reason, .. } => {
                left -= 1;
                refusal = Some(reason);
            }
            event => {
                left -= usize::from(matches!(event, LiveEvent::Attached { .. }));
                events.push(event);
            }
        }
    }
    match refusal {
        Some(reason) => Err(LttngLiveError::Refused(reason)),
        None => Ok(Connected { connection, sessions, events }),
    }
}
