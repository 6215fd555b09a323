//! Sources: the format-specific part of a reader.
//!
//! A format implements [`Source`]. [`SourceCursor`] turns it into a cursor, [`RecordTrace`] into a trace.

mod message_queue;
mod record;
mod record_trace;
mod source_cursor;

use std::sync::Arc;

use crate::cursor::{Checkpoint, ExcludedClasses, Head, MessageKind, ResumePoint};
use crate::event::{Event, EventCounts, Packet};
use crate::message::{Damage, DataPosition};

pub use self::message_queue::{MessageQueue, QueuedMessage, StreamLoss};
pub use self::record::Record;
pub use self::record_trace::RecordTrace;
pub use self::source_cursor::SourceCursor;

/// Reads a data stream's records, in order. [`SourceCursor`] turns them into messages.
///
/// # For implementations
/// Only [`next`](Self::next) is required. All other methods have correct defaults. They are for formats with packets,
/// and for operations that can be faster than event by event. The latter must not change the messages.
///
/// Damage is a message, after which reading resumes where possible. A delivered event's data must fit its class: the
/// cursor checks that, unless the source [does](Self::checks_events).
pub trait Source: Send {
    /// Reads the next event into `record`, or queues the messages before it. Called only while the queue of `record` is
    /// empty, and not after [`NextRecord::End`].
    fn next(&mut self, record: &mut Record) -> NextRecord;

    /// Returns the data with the bit scopes of the current event: see [`Record::set_bits`].
    fn bytes(&self) -> &[u8] {
        &[]
    }

    /// Returns `true` if times never go back in an undamaged file. A time that goes back is then damage, and nothing is
    /// read after the end of a window.
    fn is_ordered(&self) -> bool {
        true
    }

    /// Returns `true` if the source checks events itself: that they are in the window, that their data fits their
    /// class, and that their times are in order. The cursor then does not clear the record before it calls
    /// [`next`](Self::next).
    fn checks_events(&self) -> bool {
        false
    }

    /// Returns `true` if the data of every event fits its class, because both were made from the same description. The
    /// cursor then does not check it.
    fn has_fitting_events(&self) -> bool {
        false
    }

    /// Returns the current event. Default: the event of `record`.
    #[inline(always)]
    fn event<'e>(&'e self, record: &'e Record) -> Option<Event<'e>> {
        record.event(self.bytes())
    }

    /// Returns the head of the current event. Default: the head of `record`.
    #[inline(always)]
    fn event_head(&self, record: &Record) -> Head {
        record.head()
    }

    /// Returns the current packet, for [`QueuedMessage::PacketBegin`] and
    /// [`QueuedMessage::PacketEnd`].
    fn packet<'p>(&'p self, record: &'p Record) -> Option<Packet<'p>> {
        let _ = record;
        None
    }

    /// Counts and skips events: see [`Cursor::skip_events`](crate::Cursor::skip_events). Called only while the queue is
    /// empty.
    fn skip_events(&mut self, record: &mut Record, most: u32, counts: &mut EventCounts) -> u32 {
        let _ = (record, most, counts);
        0
    }

    /// Skips events and appends their times: see [`Cursor::skip_times`](crate::Cursor::skip_times). Called only while the
    /// queue is empty.
    fn skip_times(&mut self, record: &mut Record, most: u32, times: &mut Vec<i64>) {
        let _ = (record, most, times);
    }

    /// Excludes events of these classes: see [`Cursor::exclude`](crate::Cursor::exclude).
    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        let _ = classes;
    }

    /// Skips the current packet, if the cursor is at its start and its events can be skipped unread, and queues the end
    /// of the packet. Returns `false` if nothing was skipped.
    fn skip_packet(&mut self, record: &mut Record) -> bool {
        let _ = record;
        false
    }

    /// Loads the data of the current event into the processor's caches.
    #[inline]
    fn prefetch(&self) {}

    /// Releases memory that can be recovered on demand: see [`Cursor::suspend`](crate::Cursor::suspend).
    fn suspend(&mut self) {}

    /// Returns the position of the source as four numbers, `None` if unknown: see
    /// [`Cursor::checkpoint`](crate::Cursor::checkpoint). `at` is the kind of the current message.
    fn checkpoint(&self, record: &Record, at: Option<MessageKind>) -> Option<Checkpoint> {
        let _ = (record, at);
        None
    }

    /// Returns the place after the current record: see [`Cursor::resume_point`](crate::Cursor::resume_point).
    fn resume_point(&self) -> Option<ResumePoint> {
        None
    }

    /// Returns the file position of the current event: see [`Cursor::position`](crate::Cursor::position).
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
    /// Missing event records before the next event, with their number, if known.
    Discarded(Option<u64>),
    /// Unreadable data. The next call continues after it.
    Damage(Damage),
    /// No record is ready yet, because the data is still arriving. The cursor then has no message, until it is advanced
    /// again.
    Pending,
    /// The end of the data.
    End,
}
