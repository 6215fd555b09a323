//! Live sessions of LTTng.
//!
//! A relay daemon (`lttng-relayd`) receives sessions that were created with `lttng create --live`, and lets one program
//! read each of them. [`LttngFeed`] is that program: it receives packets on a thread, and delivers their messages.

mod attachment;
mod connect;
mod received_queue;
mod receiver;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ichnos_io::ReadOptions;
pub use ichnos_lttng_live::{
    AddressError, ConnectionError, ConnectionOptions, RelayAddress, RelayConnection, RelaySession,
    SeekPosition, TraceFormat,
};
use ichnos_model::class::{DataStreamClass, TraceClass};
use ichnos_model::clock::ClockClass;
use ichnos_model::live::{LiveFeed, LiveObserver, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Message, Trace};

pub use self::connect::{LttngLiveError, LttngLiveOptions};
use self::connect::{attach, connect};
use self::received_queue::{Received, ReceivedQueue};
use self::receiver::{Receiver, start};
use crate::ctf::live::{CtfOptions, LiveReader};

/// Lists the sessions of a relay daemon.
///
/// # Errors
/// Returns an error if the relay daemon does not answer.
pub fn sessions(
    address: &RelayAddress,
    options: &LttngLiveOptions,
) -> Result<Vec<RelaySession>, ConnectionError> {
    RelayConnection::open(address, &options.connection)?.sessions()
}

/// Messages of a live session. It ends when the session is destroyed.
pub struct LttngFeed {
    reader: LiveReader,
    /// Babeltrace names data streams by their numbers in the relay daemon.
    names_by_number: bool,
    queue: Arc<ReceivedQueue>,
    /// Since when metadata cannot be read.
    blocked: Option<Instant>,
    metadata_timeout: Duration,
    patience: Duration,
    observer: Arc<dyn LiveObserver>,
    /// Error to report after all messages.
    failure: Option<String>,
}

impl LttngFeed {
    /// Connects to a relay daemon, and attaches to the session that the address names. `live` has the notification for
    /// new data, and the flag that ends the attempts.
    ///
    /// # Errors
    /// Returns an error if the session cannot be read, even after the time in the options.
    pub fn open(
        address: &RelayAddress,
        options: &LttngLiveOptions,
        read: &ReadOptions,
        live: &LiveOptions,
    ) -> Result<Self, LttngLiveError> {
        let connected = match attach(address, options) {
            Ok(connected) => Some(connected),
            Err(error) if !options.retry.is_zero() && error.is_temporary(options) => {
                match options.connects_later {
                    true => {
                        live.observer.retrying(&address.to_string(), &error.to_string());
                        None
                    }
                    false => Some(connect(address, options, &|| live.is_stopped())?),
                }
            }
            Err(error) => return Err(error),
        };
        let queue = Arc::new(ReceivedQueue::default());
        if let Some(connected) = &connected {
            queue.connect(connected.live_timer());
        }
        let receiver = Receiver::new(address.clone(), *options, Arc::clone(&queue), live.arrivals.clone());
        start(receiver, connected).map_err(LttngLiveError::Thread)?;
        Ok(Self {
            reader: LiveReader::new(CtfOptions::from(read)),
            names_by_number: read.babeltrace.is_some(),
            queue,
            blocked: None,
            metadata_timeout: options.metadata_timeout,
            patience: live.patience,
            observer: Arc::clone(&live.observer),
            failure: None,
        })
    }

    /// Returns the trace of the feed, for a [`Session`](crate::Session).
    ///
    /// Before anything is read, it has an empty data stream with LTTng's clock.
    #[must_use]
    pub fn into_trace(self, address: &RelayAddress, live: LiveOptions) -> Option<LiveTrace> {
        let clock = ClockClass::since_unix_epoch("monotonic");
        let class = TraceClass::new("", [clock], [DataStreamClass::new(Some(0), [])]);
        let trace = Trace::new(class, address.to_string(), &Limits::default()).ok()?;
        let stream = DataStream::new(Arc::new(trace), 0, None, "")?;
        Some(LiveTrace::new("ctf", address.to_string(), Arc::new(stream), Box::new(self), live))
    }

    /// Gives the reader what was received. Returns `false` if nothing was.
    fn take_received(&mut self) -> bool {
        let items = self.queue.take();
        let has_news = !items.is_empty();
        for item in items {
            match item {
                Received::TraceBegin { trace, path } => self.reader.begin_trace(trace, &path),
                Received::Metadata { trace, bytes } => self.reader.add_metadata(trace, &bytes),
                Received::TraceEnd { trace } => self.reader.end_trace(trace),
                Received::StreamBegin { stream, trace, file, number } => {
                    self.reader.begin_stream(stream, trace, &file);
                    if self.names_by_number {
                        self.reader.name_stream(stream, &format!("stream-{number}"));
                    }
                }
                Received::Packet { stream, offset, bytes } => self.reader.add_packet(stream, offset, bytes),
                Received::PacketLost { stream, place, reason } => {
                    self.reader.lose_packet(stream, place, reason)
                }
                Received::Inactive { stream, class_id, time } => {
                    self.reader.set_inactive(stream, class_id.into(), time)
                }
                Received::StreamEnd { stream } => self.reader.end_stream(stream),
                Received::End(error) => {
                    self.failure = self.failure.take().or(error);
                    self.reader.end();
                }
            }
        }
        has_news
    }

    /// No longer waits for silent data streams. Returns `false` if all are waited for.
    fn pass_silent(&mut self) -> bool {
        let patience = self.patience.saturating_add(self.queue.live_timer());
        // Without a connection, all are silent.
        if self.queue.connected_for().is_none_or(|time| time < patience) {
            return false;
        }
        let passed = self.reader.pass_silent(patience);
        passed.iter().for_each(|name| self.observer.silent(name, patience));
        !passed.is_empty()
    }

    /// Returns an error if metadata cannot be read for a long time.
    fn metadata_failure(&mut self) -> Option<String> {
        let Some(problem) = self.reader.metadata_problem() else {
            self.blocked = None;
            return None;
        };
        let since = *self.blocked.get_or_insert_with(Instant::now);
        (since.elapsed() >= self.metadata_timeout).then_some(problem)
    }
}

impl LiveFeed for LttngFeed {
    fn poll(&mut self) -> LivePoll {
        loop {
            let poll = self.reader.poll();
            let read = self.reader.take_consumed();
            if !read.is_empty() {
                self.queue.note_read(&read);
            }
            match poll {
                LivePoll::Pending(_) if self.take_received() || self.pass_silent() => {}
                // The thread can still wait for the relay daemon.
                LivePoll::Pending(_) if self.queue.is_given_up() => self.reader.end(),
                LivePoll::Pending(until) => match self.metadata_failure() {
                    None => return LivePoll::Pending(until),
                    Some(problem) => {
                        self.failure = Some(problem);
                        self.queue.stop();
                        self.reader.end();
                    }
                },
                LivePoll::End => return self.failure.clone().map_or(LivePoll::End, LivePoll::Failed),
                LivePoll::Failed(error) => return LivePoll::Failed(self.failure.clone().unwrap_or(error)),
                poll => return poll,
            }
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        self.reader.current()
    }

    fn stop(&mut self) {
        self.queue.stop();
    }

    fn sign_interval(&self) -> Duration {
        self.queue.live_timer()
    }
}

/// The receiving thread ends soon after the feed.
impl Drop for LttngFeed {
    fn drop(&mut self) {
        self.queue.stop();
    }
}
