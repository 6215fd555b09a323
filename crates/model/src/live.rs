//! Live inputs: sources that deliver messages while they are recorded.
//!
//! A [`LiveFeed`] receives data from a peer and never blocks. A [`LiveTrace`] turns it into a trace with a single
//! cursor, which waits. If nothing is ready, the cursor delivers a [`Message::Inactivity`], so that the merge can pass
//! on earlier messages of other inputs, and outputs can be flushed.
//!
//! A silent input would stop all others. After [`LiveOptions::patience`], it is no longer waited for: the messages of
//! other inputs go on, whatever their times. A message or a later promise ends the silence. Its messages can then be late.

mod arrivals;
mod live_cursor;
mod live_options;
mod live_trace;

use std::time::Duration;

use crate::cursor::Head;
use crate::message::Message;

pub use self::arrivals::Arrivals;
pub use self::live_options::{LiveObserver, LiveOptions, PAUSE, SILENT};
pub use self::live_trace::LiveTrace;

/// Messages of a live input. No method blocks.
///
/// # For implementations
/// Receive the data on a separate thread, and call [`Arrivals::notify`] for new data and at the end. The messages may
/// belong to several data streams and traces, which may start at any time. The messages of each data stream arrive in
/// order, from [`Message::StreamBegin`] to [`Message::StreamEnd`], and all messages are sorted by time.
pub trait LiveFeed: Send {
    /// Moves to the next message, if one is ready.
    fn poll(&mut self) -> LivePoll;

    /// Returns the current message after [`LivePoll::Message`].
    fn current(&self) -> Option<Message<'_>>;

    /// Asks the peer to end. Later polls return the remaining messages and then [`LivePoll::End`].
    fn stop(&mut self);

    /// Returns the longest time between two signs of life of an idle peer, if it sends any. It is added to
    /// [`LiveOptions::patience`].
    fn sign_interval(&self) -> Duration {
        Duration::ZERO
    }
}

/// Result of [`LiveFeed::poll`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LivePoll {
    /// A message, with its head.
    Message(Head),
    /// No message is ready, and none will be earlier than this time, in nanoseconds from the Unix epoch. `None` if
    /// unknown.
    Pending(Option<i128>),
    /// The input has ended.
    End,
    /// The input has ended because of an error: one sentence without the full stop.
    Failed(String),
}
