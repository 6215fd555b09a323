//! Blocking connection to a relay daemon.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use crate::address::{AddressFamily, RelayAddress};
use crate::client::LiveClient;
use crate::error::ProtocolError;
use crate::event::{LiveEvent, ProtocolVersion, RelaySession, SeekPosition};
use crate::limits::LiveLimits;
use crate::messages::NEWEST;

/// Size of the input buffer, in bytes.
const BUFFER: usize = 256 << 10;

/// Shortest timeout of a socket. 0 would mean no timeout.
const SHORTEST: Duration = Duration::from_millis(1);

/// Reply time from which several data streams are asked at a time. See [`LiveClient::set_outstanding`].
const SLOW_REPLY: Duration = Duration::from_millis(2);

/// Minimum number of measured replies.
const MEASURED_REPLIES: u32 = 4;

/// Timeouts and limits of a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ConnectionOptions {
    /// Longest time until a relay daemon accepts the connection. Default: 10 s.
    pub connect_timeout: Duration,
    /// Longest time without received bytes while a reply is outstanding. Default: 30 s.
    pub reply_timeout: Duration,
    /// Time between [ticks](LiveClient::tick). Default: 20 ms.
    pub tick: Duration,
    /// Number of data streams that are asked at a time if replies take longer than 2 ms. Otherwise, one data stream is
    /// asked at a time. Default: 64.
    pub outstanding: usize,
    /// Limits for replies.
    pub limits: LiveLimits,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            reply_timeout: Duration::from_secs(30),
            tick: Duration::from_millis(20),
            outstanding: 64,
            limits: LiveLimits::default(),
        }
    }
}

/// Error in a connection. The connection cannot be used after it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The host name is unknown, or the host lacks an address in the family.
    #[error("cannot find the host of the relay daemon: {0}")]
    Resolve(io::Error),
    /// No address of the host accepts a connection.
    #[error("cannot connect to the relay daemon: {0}")]
    Connect(io::Error),
    /// The connection failed.
    #[error("connection to the relay daemon: {0}")]
    Io(io::Error),
    /// The relay daemon closed the connection, for example because it ended.
    #[error("the relay daemon closed the connection")]
    Closed,
    /// The relay daemon does not answer.
    #[error("the relay daemon has not answered for {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// The relay daemon violates the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

/// Blocking connection to a relay daemon.
///
/// ```no_run
/// use std::time::Duration;
///
/// use ichnos_lttng_live::{LiveEvent, RelayAddress, RelayConnection, SeekPosition};
///
/// let address: RelayAddress = "net://localhost/host/web-1/auto".parse()?;
/// let mut connection = RelayConnection::open(&address, &Default::default())?;
/// for session in connection.sessions()? {
///     if address.session.as_ref().is_none_or(|path| path.matches(&session)) {
///         connection.client().attach(session.id, SeekPosition::Beginning);
///     }
/// }
/// while let Some(event) = connection.next_event(Duration::from_secs(60))? {
///     if let LiveEvent::Packet(packet) = event {
///         println!("{} bytes", packet.bytes.len());
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RelayConnection {
    socket: TcpStream,
    client: LiveClient,
    version: ProtocolVersion,
    options: ConnectionOptions,
    buffer: Vec<u8>,
    next_tick: Instant,
    /// Last time at which a reply arrived, or a request was sent.
    last_progress: Instant,
    reply_times: ReplyTimes,
    /// Events before the reply to a call, which are returned later.
    early: VecDeque<LiveEvent>,
    /// Error after events that must be returned first.
    failure: Option<ConnectionError>,
    /// An error was returned.
    has_failed: bool,
}

impl RelayConnection {
    /// Connects to a relay daemon. An address with a session is only used for its host and port.
    pub fn open(address: &RelayAddress, options: &ConnectionOptions) -> Result<Self, ConnectionError> {
        let socket = connect(address, options.connect_timeout)?;
        // A request is one small segment, whose reply is waited for.
        socket.set_nodelay(true).map_err(ConnectionError::Io)?;
        socket.set_write_timeout(Some(options.reply_timeout.max(SHORTEST))).map_err(ConnectionError::Io)?;
        let now = Instant::now();
        let mut connection = Self {
            socket,
            client: LiveClient::new(options.limits),
            version: NEWEST,
            options: *options,
            buffer: vec![0; BUFFER],
            next_tick: now,
            last_progress: now,
            reply_times: ReplyTimes::default(),
            early: VecDeque::new(),
            failure: None,
            has_failed: false,
        };
        connection.version = connection.wait_for(|event| match event {
            LiveEvent::Connected(version) => Ok(version),
            event => Err(event),
        })?;
        Ok(connection)
    }

    /// Returns the protocol version.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns the client, for requests.
    pub fn client(&mut self) -> &mut LiveClient {
        &mut self.client
    }

    /// Reads the session list.
    pub fn sessions(&mut self) -> Result<Vec<RelaySession>, ConnectionError> {
        self.client.list_sessions();
        self.wait_for(|event| match event {
            LiveEvent::Sessions(sessions) => Ok(sessions),
            event => Err(event),
        })
    }

    /// Attaches to all sessions that the address matches: one per tracing domain. Returns them.
    ///
    /// [`LiveEvent::AttachRefused`] follows for sessions that cannot be attached.
    pub fn attach(
        &mut self,
        address: &RelayAddress,
        seek: SeekPosition,
    ) -> Result<Vec<RelaySession>, ConnectionError> {
        let mut sessions = self.sessions()?;
        sessions.retain(|session| address.session.as_ref().is_none_or(|path| path.matches(session)));
        for session in &sessions {
            self.client.attach(session.id, seek);
        }
        Ok(sessions)
    }

    /// Returns the next event, or `None` after a time without events.
    pub fn next_event(&mut self, timeout: Duration) -> Result<Option<LiveEvent>, ConnectionError> {
        let deadline = Instant::now().checked_add(timeout);
        loop {
            if let Some(event) = self.early.pop_front().or_else(|| self.client.next_event()) {
                return Ok(Some(event));
            }
            if let Some(error) = self.failure.take() {
                self.has_failed = true;
                return Err(error);
            }
            if self.has_failed {
                return Err(ConnectionError::Closed);
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(None);
            }
            if now >= self.next_tick {
                self.client.tick();
                self.next_tick = now + self.options.tick;
            }
            let wake = deadline.map_or(self.next_tick, |deadline| deadline.min(self.next_tick));
            let time = wake.saturating_duration_since(now).max(SHORTEST);
            self.failure = self.exchange(now, time).err();
        }
    }

    /// Sends requests, and receives bytes or sleeps for at most `time`.
    fn exchange(&mut self, now: Instant, time: Duration) -> Result<(), ConnectionError> {
        self.send(now)?;
        match self.client.is_waiting_for_reply() {
            true => self.receive(time),
            false => {
                thread::sleep(time);
                Ok(())
            }
        }
    }

    /// Waits for an event that `wanted` accepts. Keeps other events for later.
    fn wait_for<T>(
        &mut self,
        wanted: impl Fn(LiveEvent) -> Result<T, LiveEvent>,
    ) -> Result<T, ConnectionError> {
        let mut early = mem::take(&mut self.early);
        let found = loop {
            // A relay daemon that answers anything resets this time.
            match self.next_event(self.options.reply_timeout)?.map(&wanted) {
                Some(Ok(found)) => break found,
                Some(Err(event)) => early.push_back(event),
                None => return Err(ConnectionError::Silent(self.options.reply_timeout)),
            }
        };
        self.early = early;
        Ok(found)
    }

    fn send(&mut self, now: Instant) -> Result<(), ConnectionError> {
        let output = self.client.output();
        if output.is_empty() {
            return Ok(());
        }
        let length = output.len();
        self.socket.write_all(output).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                ConnectionError::Silent(self.options.reply_timeout)
            }
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => ConnectionError::Closed,
            _ => ConnectionError::Io(error),
        })?;
        self.client.sent(length);
        self.last_progress = now;
        self.reply_times.request = (self.client.outstanding() == 1).then(Instant::now);
        Ok(())
    }

    /// Receives bytes for at most `time`.
    fn receive(&mut self, time: Duration) -> Result<(), ConnectionError> {
        self.socket.set_read_timeout(Some(time)).map_err(ConnectionError::Io)?;
        match self.socket.read(&mut self.buffer) {
            Ok(0) => {
                // The end is an error in any case, but the middle of a reply is a better explanation.
                self.client.check_end()?;
                Err(ConnectionError::Closed)
            }
            Ok(length) => {
                self.last_progress = Instant::now();
                if let Some(is_slow) = self.reply_times.measure() {
                    self.client.set_outstanding(if is_slow { self.options.outstanding } else { 1 });
                }
                Ok(self.client.receive(self.buffer.get(..length).unwrap_or_default())?)
            }
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => Ok(()),
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                    match self.last_progress.elapsed() >= self.options.reply_timeout {
                        true => Err(ConnectionError::Silent(self.options.reply_timeout)),
                        false => Ok(()),
                    }
                }
                ErrorKind::ConnectionReset => Err(ConnectionError::Closed),
                _ => Err(ConnectionError::Io(error)),
            },
        }
    }
}

/// Times between a request and its reply, while no other request is outstanding.
#[derive(Debug, Default)]
struct ReplyTimes {
    /// Time of a request without a reply.
    request: Option<Instant>,
    /// The shortest time is least affected by the load of both computers.
    shortest: Option<Duration>,
    count: u32,
}

impl ReplyTimes {
    /// Records a reply. After enough replies, returns `true` if the relay daemon is slow.
    fn measure(&mut self) -> Option<bool> {
        let time = self.request.take()?.elapsed();
        let shortest = self.shortest.map_or(time, |shortest| shortest.min(time));
        self.shortest = Some(shortest);
        self.count = self.count.saturating_add(1);
        (self.count >= MEASURED_REPLIES).then_some(shortest > SLOW_REPLY)
    }
}

/// Connects to the first address of a host that accepts the connection.
fn connect(address: &RelayAddress, timeout: Duration) -> Result<TcpStream, ConnectionError> {
    let addresses =
        (address.host.as_str(), address.port).to_socket_addrs().map_err(ConnectionError::Resolve)?;
    let is_wanted = |found: &SocketAddr| match address.family {
        AddressFamily::Any => true,
        AddressFamily::V4 => found.is_ipv4(),
        AddressFamily::V6 => found.is_ipv6(),
    };
    let mut error = None;
    for found in addresses.filter(is_wanted) {
        match TcpStream::connect_timeout(&found, timeout.max(SHORTEST)) {
            Ok(socket) => return Ok(socket),
            Err(failure) => error = Some(failure),
        }
    }
    Err(match error {
        Some(error) => ConnectionError::Connect(error),
        None => ConnectionError::Resolve(io::Error::new(
            ErrorKind::NotFound,
            "the host does not have an address of this family",
        )),
    })
}
