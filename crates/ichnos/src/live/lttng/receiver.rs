//! Thread that receives a session.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ichnos_lttng_live::{ConnectionError, LiveEvent, RelayAddress, RelayConnection, SeekPosition};
use ichnos_model::live::Arrivals;

use super::attachment::Attachment;
use super::connect::{Connected, LttngLiveOptions, connect, is_temporary};
use super::received_queue::{Received, ReceivedQueue};

/// Longest time for an event to arrive before other duties.
const PAUSE: Duration = Duration::from_millis(20);

/// Longest time for an answer about new streams before the events that wait for it are passed on.
const SHORT_PAUSE: Duration = Duration::from_millis(1);

/// Longest time for a feed to make room.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time for a relay daemon to end the session after a request.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Receives a session, and passes on what arrives.
pub(super) struct Receiver {
    address: RelayAddress,
    options: LttngLiveOptions,
    queue: Arc<ReceivedQueue>,
    arrivals: Arrivals,
    attachment: Attachment,
    /// Paused data streams by the id of the relay daemon.
    paused: BTreeSet<u64>,
}

/// Reason why a connection is not read any more.
enum ConnectionEnd {
    /// The sessions have ended, or the feed was stopped.
    Over,
    /// The connection was lost.
    Lost(ConnectionError),
    /// Reading must not go on.
    Failed(String),
}

impl Receiver {
    pub(super) fn new(
        address: RelayAddress,
        options: LttngLiveOptions,
        queue: Arc<ReceivedQueue>,
        arrivals: Arrivals,
    ) -> Self {
        let (attachment, paused) = (Attachment::new(options.from), BTreeSet::new());
        Self { address, options, queue, arrivals, attachment, paused }
    }

    /// Receives everything up to the end. Connects first if there is no connection.
    pub(super) fn run(mut self, connected: Option<Connected>) {
        let connected = connected.map_or_else(|| self.reconnect(None), Ok);
        let error = connected.map_or_else(|error| error, |connected| self.receive_all(connected));
        self.queue.push(Received::End(error));
        self.queue.connect(Duration::ZERO);
        self.arrivals.notify();
    }

    /// Returns the error that ended it.
    fn receive_all(&mut self, mut connected: Connected) -> Option<String> {
        loop {
            self.queue.connect(connected.live_timer());
            let error = match self.receive(connected) {
                ConnectionEnd::Over => return None,
                ConnectionEnd::Failed(error) => return Some(error),
                // What violates the protocol would do so again.
                ConnectionEnd::Lost(error) if !is_temporary(&error) => return Some(error.to_string()),
                ConnectionEnd::Lost(error) => error,
            };
            self.attachment.disconnect();
            self.paused.clear();
            if self.options.retry.is_zero() || self.options.retries_only_session {
                return Some(error.to_string());
            }
            connected = match self.reconnect(Some(error)) {
                Ok(connected) => connected,
                Err(error) => return error,
            };
        }
    }

    /// Connects, after a lost connection if there is an error. Returns the error that ended the attempts, or `None` if the
    /// feed was stopped.
    fn reconnect(&self, lost: Option<ConnectionError>) -> Result<Connected, Option<String>> {
        self.queue.disconnect();
        // Packets since then are at the relay daemon, so everything is read again and compared.
        let goes_on = self.options.from == SeekPosition::Beginning || self.attachment.has_begun();
        let from = if lost.is_some() && goes_on { SeekPosition::Beginning } else { self.options.from };
        let options = LttngLiveOptions { from, ..self.options };
        connect(&self.address, &options, &|| self.queue.is_stopped()).map_err(|again| match lost {
            _ if self.queue.is_stopped() => None,
            Some(error) => Some(format!("{error}; after {:?}: {again}", options.retry)),
            None => Some(again.to_string()),
        })
    }

    /// Receives what one connection delivers.
    fn receive(&mut self, connected: Connected) -> ConnectionEnd {
        let Connected { mut connection, events, .. } = connected;
        let mut waiting = events;
        let mut stopped: Option<Instant> = None;
        let mut lists_lost = true;
        loop {
            if !connection.client().may_lack_streams() && !waiting.is_empty() {
                lists_lost &= !self.pass_on(std::mem::take(&mut waiting), lists_lost);
                if self.attachment.sessions().is_empty() {
                    return ConnectionEnd::Over;
                }
            }
            if self.queue.is_stopped() {
                let since = *stopped.get_or_insert_with(|| {
                    let sessions = self.attachment.sessions().iter();
                    sessions.for_each(|session| connection.client().detach(*session));
                    Instant::now()
                });
                if since.elapsed() > STOP_TIMEOUT {
                    return ConnectionEnd::Over;
                }
            }
            self.limit(&mut connection);
            if !self.queue.wait_for_room(ROOM_TIMEOUT) {
                let what = "too much waits for other data streams";
                return ConnectionEnd::Failed(format!("{what}: the relay daemon sends very large packets"));
            }
            let pause = if waiting.is_empty() { PAUSE } else { SHORT_PAUSE };
            match connection.next_event(pause) {
                Ok(Some(event)) => waiting.push(event),
                Ok(None) => {}
                Err(error) => {
                    self.pass_on(waiting, false);
                    return ConnectionEnd::Lost(error);
                }
            }
        }
    }

    /// Passes events on. `lists_lost`: streams of a lost connection that are not among the announced streams end.
    /// Returns `true` if all streams were announced.
    fn pass_on(&mut self, events: Vec<LiveEvent>, lists_lost: bool) -> bool {
        let queue = &self.queue;
        let mut is_listed = false;
        for event in events {
            let is_stream = matches!(event, LiveEvent::Attached { .. } | LiveEvent::StreamBegin(_));
            if lists_lost && !is_stream && !is_listed {
                self.attachment.end_lost(&mut |item| queue.push(item));
                is_listed = true;
            }
            self.attachment.take(event, &mut |item| queue.push(item));
        }
        self.arrivals.notify();
        is_listed
    }

    /// Pauses data streams that are ahead of others, and continues others.
    fn limit(&mut self, connection: &mut RelayConnection) {
        let keys = self.queue.ahead(self.attachment.streams());
        if keys.is_empty() && self.paused.is_empty() {
            return;
        }
        let ids = self.attachment.ids().filter(|(_, key)| keys.contains(key));
        let ahead: BTreeSet<u64> = ids.map(|(id, _)| id).collect();
        for id in ahead.difference(&self.paused) {
            connection.client().pause(*id);
        }
        for id in self.paused.difference(&ahead) {
            connection.client().resume(*id);
        }
        self.paused = ahead;
    }
}

/// Starts the thread that receives a session.
pub(super) fn start(receiver: Receiver, connected: Option<Connected>) -> std::io::Result<()> {
    thread::Builder::new().name("lttng-live".to_owned()).spawn(move || receiver.run(connected)).map(drop)
}
