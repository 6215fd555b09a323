//! Receives requests over HTTP, as OpenTelemetry's exporters send them.
//!
//! A thread accepts connections, and each connection has a thread, up to [`ReceiverOptions::most_connections`]. Beyond
//! that, the connection whose client has been waited for longest is closed. A decoded request goes into a queue, and is
//! then acknowledged. The queue and the bodies being received share [`ReceiverOptions::most_memory`]. If it is used up,
//! the answer is 429, and exporters send the request again.
//!
//! The [feed](LiveFeed) delivers events sorted by time, as far as they have arrived. Exporters send a span at its end,
//! and often collect elements for seconds. So no time can be named before which nothing more will come. The feed names
//! the wall clock minus [`ReceiverOptions::delay`], and holds events that are not older. Events that arrive later are
//! delivered at once, with their own times.
//!
//! A [`RequestCollector`] stores requests in place of delivering them.

mod answer;
mod body;
mod client_wait;
mod connection;
mod feed;
mod http_head;
mod http_listener;
mod live_streams;
pub(crate) mod memory;
mod queue;
mod received_request;
mod receiver_counts;
mod receiver_options;
mod request_collector;
mod request_store;
mod request_target;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ichnos_io::ReadOptions;
use ichnos_model::live::{Arrivals, LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::{DataStream, Message};

use self::feed::RequestFeed;
use self::http_listener::HttpListener;
use self::queue::RequestQueue;
pub use self::receiver_counts::ReceiverCounts;
pub use self::receiver_options::{PORT, ReceiverOptions};
pub use self::request_collector::RequestCollector;
pub use self::request_store::RequestStore;
use self::request_target::RequestTarget;
use crate::class::NAME;

/// Listens on an address like `otlp://127.0.0.1:4318`, and returns a live trace: see [`ReceiverOptions::from_address`].
///
/// # Errors
/// Fails if the address is not valid, or cannot be bound.
pub fn listen(address: &str, read: &ReadOptions, live: LiveOptions) -> io::Result<LiveTrace> {
    let options = ReceiverOptions::from_address(address)?;
    Ok(OtlpReceiver::bind(&options, read, live.arrivals.clone())?.into_trace(live))
}

/// Receiver of requests: a live feed of their events.
pub struct OtlpReceiver {
    listener: HttpListener,
    queue: Arc<RequestQueue>,
    feed: RequestFeed,
}

impl OtlpReceiver {
    /// Listens, and starts to receive. `read` has the limits, the clock offsets and the class map of the traces.
    ///
    /// # Errors
    /// Fails if the address cannot be bound, or if the clock offset does not fit.
    pub fn bind(options: &ReceiverOptions, read: &ReadOptions, arrivals: Arrivals) -> io::Result<Self> {
        let queue = Arc::new(RequestQueue::new(options.most_memory, arrivals));
        let target: Arc<dyn RequestTarget> = Arc::<RequestQueue>::clone(&queue);
        let listener = HttpListener::bind(options, &target)?;
        let name = format!("{NAME}://{}", listener.address());
        let feed = RequestFeed::new(Arc::clone(&queue), name, read.clone(), options.delay)?;
        Ok(Self { listener, queue, feed })
    }

    /// Returns the address and the port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Returns the counts, which change while it runs.
    #[must_use]
    pub fn counts(&self) -> Arc<ReceiverCounts> {
        Arc::clone(&self.queue.counts)
    }

    /// Returns the data stream that describes the input before anything arrives.
    #[must_use]
    pub fn stream(&self) -> Arc<DataStream> {
        self.feed.stream()
    }

    /// Returns the receiver as a trace. `options` must have the arrivals from [`OtlpReceiver::bind`].
    #[must_use]
    pub fn into_trace(self, options: LiveOptions) -> LiveTrace {
        let (name, stream) = (format!("{NAME}://{}", self.address()), self.stream());
        LiveTrace::new(NAME, name, stream, Box::new(self), options)
    }
}

impl LiveFeed for OtlpReceiver {
    fn poll(&mut self) -> LivePoll {
        self.feed.poll()
    }

    fn current(&self) -> Option<Message<'_>> {
        self.feed.current()
    }

    fn stop(&mut self) {
        self.queue.close();
        self.listener.stop();
    }
}

impl Drop for OtlpReceiver {
    fn drop(&mut self) {
        self.stop();
    }
}
