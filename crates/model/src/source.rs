//! Sources: the part of a reader that differs from format to format.
//!
//! A format implements [`Source`]. [`SourceCursor`] makes it a cursor, [`RecordTrace`] a trace.

mod message_queue;
mod record;
mod record_trace;
mod source_cursor;

use std::sync::Arc;

use crate::{
    Checkpoint, Damage, DataPosition, Event, EventCounts, ExcludedClasses, Head, MessageKind, Packet,
};

pub use self::message_queue::{MessageQueue, QueuedMessage, StreamLoss};
pub use self::record::Record;
pub use self::record_trace::RecordTrace;
pub use self::source_cursor::SourceCursor;

/// Reads the records of a data stream, in order. [`SourceCursor`](crate::SourceCursor) makes messages of them.
///
/// # For implementations
/// Only [`next`](Self::next) is required. All other methods have correct defaults; they are for formats with packets,
/// and for what can be done faster than for one event after the other. The latter must not change the messages.
///
/// Damage is a message, after which reading resumes where possible. Data must fit the class of an event when it is
/// delivered: the cursor checks that, unless the source [does](Self::checks_events).
pub trait Source: Send {
    /// Reads the next event into `record`, or queues the messages before it. Called only if no message waits in the
    /// queue of `record`, and not after [`NextRecord::End`].
    fn next(&mut self, record: &mut Record) -> NextRecord;

    /// Returns the bytes that contain the scopes of the current event, if they are bits: see [`Record::set_bits`].
    fn bytes(&self) -> &[u8] {
        &[]
    }

    /// Returns `true` if times never go back in a sound file. A time that does is then damage, and nothing is read
    /// after the end of a window.
    fn is_ordered(&self) -> bool {
        true
    }

    /// Returns `true` if the source makes the checks of an event itself: that it is in the window, that its data fit
    /// its class and that its time is in order. The cursor then does not clear the record before it calls
    /// [`next`](Self::next).
    fn checks_events(&self) -> bool {
        false
    }

    /// Returns the current event. The default is that of `record`.
    #[inline(always)]
    fn event<'e>(&'e self, record: &'e Record) -> Option<Event<'e>> {
        record.event(self.bytes())
    }

    /// Returns the head of the current event. The default is that of `record`.
    #[inline(always)]
    fn event_head(&self, record: &Record) -> Head {
        record.head()
    }

    /// Returns the current packet, for [`QueuedMessage::PacketBegin`](crate::QueuedMessage::PacketBegin) and
    /// [`QueuedMessage::PacketEnd`](crate::QueuedMessage::PacketEnd).
    fn packet<'p>(&'p self, record: &'p Record) -> Option<Packet<'p>> {
        let _ = record;
        None
    }

    /// Counts and skips events: see [`Cursor::skip_events`](crate::Cursor::skip_events). No message waits.
    fn skip_events(&mut self, record: &mut Record, most: u32, counts: &mut EventCounts) -> u32 {
        let _ = (record, most, counts);
        0
    }

    /// Excludes events of these classes: see [`Cursor::exclude`](crate::Cursor::exclude).
    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        let _ = classes;
    }

    /// Skips the current packet, at whose begin the cursor is, and queues its end, if its events can be skipped
    /// unread. Returns `false` if nothing was skipped.
    fn skip_packet(&mut self, record: &mut Record) -> bool {
        let _ = record;
        false
    }

    /// Fetches the data of the current event into the processor's caches.
    #[inline]
    fn prefetch(&self) {}

    /// Releases memory that can be recovered on demand: see [`Cursor::suspend`](crate::Cursor::suspend).
    fn suspend(&mut self) {}

    /// Returns the position of the source in four numbers, `None` if unknown: see
    /// [`Cursor::checkpoint`](crate::Cursor::checkpoint). `at` is the kind of the current message.
    fn checkpoint(&self, record: &Record, at: Option<MessageKind>) -> Option<Checkpoint> {
        let _ = (record, at);
        None
    }

    /// Returns the place of the current event in its file: see [`Cursor::position`](crate::Cursor::position).
    fn position(&self) -> Option<DataPosition> {
        None
    }
}

/// Result of reading from a [`Source`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NextRecord {
    /// An event, stored in the [`Record`].
    Event,
    /// Messages in the queue of the [`Record`].
    Messages,
    /// Missing event records between the previous event and the next one, with their number, if known.
    Discarded(Option<u64>),
    /// Unreadable data. The next call continues after it.
    Damage(Damage),
    /// The end of the data.
    End,
}
