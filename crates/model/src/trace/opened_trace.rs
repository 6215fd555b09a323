//! Opened traces: the interface that readers of formats offer.

use std::ops::Range;
use std::sync::Arc;

use crate::{BoxedCursor, Damage, DataStream, FileDiagnostic, StreamCursor, Trace};

/// Selected part of the timeline, in nanoseconds from the origin, both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// First selected time.
    pub begin: Option<i128>,
    /// Last selected time.
    pub end: Option<i128>,
}

/// A known bug of a tracer that changes how its traces are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TracerQuirk {
    /// Short permanent name, for instance `lttng-event-after-packet`.
    pub name: &'static str,
    /// One sentence for display, without the final full stop.
    pub message: &'static str,
    /// `true` if it only changes the clocks with which a clock of the trace shares a timeline.
    pub relates_clocks: bool,
}

impl std::fmt::Display for TracerQuirk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

/// Information on a data stream that needs no decoding of events.
#[derive(Clone, Debug)]
pub struct StreamSummary {
    /// Data stream.
    pub stream: Arc<DataStream>,
    /// Its files.
    pub files: Vec<String>,
    /// Number of packets.
    pub packets: u64,
    /// Number of further packets in its files that duplicate these, as in overlapping snapshots: each is read once.
    pub repeated_packets: u64,
    /// Size of its packets in bytes, padding included.
    pub bytes: u64,
    /// Size of the padding at the ends of its packets in bytes.
    pub padding: u64,
    /// First and last time in its packets, in nanoseconds from the origin of its clock.
    pub time_range: Option<(i128, i128)>,
    /// Event records that its producer discarded, as recorded in the packets.
    pub discarded_events: u64,
    /// `true` if an unknown number of event records were discarded before the first packet.
    pub discarded_before: bool,
    /// Number of missing packets, as recorded in the packets.
    pub discarded_packets: u64,
    /// Unreadable data, as far as the packets show.
    pub damage: Vec<Damage>,
}

impl StreamSummary {
    /// Makes a summary of a data stream in a file of the same name, without further data.
    #[must_use]
    pub fn new(stream: Arc<DataStream>) -> Self {
        Self {
            files: vec![stream.name.to_string()],
            stream,
            packets: 0,
            repeated_packets: 0,
            bytes: 0,
            padding: 0,
            time_range: None,
            discarded_events: 0,
            discarded_before: false,
            discarded_packets: 0,
            damage: Vec::new(),
        }
    }
}

/// An opened trace.
///
/// # For implementations
/// [`RecordTrace`](crate::RecordTrace) implements it for formats of records. Otherwise, implement the methods
/// without a default: [`streams`](Self::streams), [`data_streams`](Self::data_streams) and
/// [`cursors`](Self::cursors) return the data streams in the same order, which also orders events of the same
/// time and must depend only on the content, not on the order of files. [`split_points`](Self::split_points)
/// and [`cursor_from`](Self::cursor_from) allow several threads to read a trace.
pub trait OpenedTrace: Send + Sync {
    /// Name of the format, for instance "ctf".
    fn format(&self) -> &'static str;

    /// Returns the name of its dialect, as the writer of the format names it; `None` if the format has no
    /// dialects, or the dialect is unknown.
    fn dialect(&self) -> Option<&'static str> {
        None
    }

    /// Returns its path.
    fn path(&self) -> &str;

    /// Returns the trace.
    fn trace(&self) -> &Arc<Trace>;

    /// Returns warnings and notes on its description.
    fn diagnostics(&self) -> &[FileDiagnostic] {
        &[]
    }

    /// Returns the names of its files whose content is in the environment or the attributes of the trace.
    fn auxiliary_files(&self) -> &[String] {
        &[]
    }

    /// Returns the known bugs of the tracer that are worked around.
    fn quirks(&self) -> Vec<TracerQuirk> {
        Vec::new()
    }

    /// Returns the bugs that have changed the data read so far, so the tracer really has them. Excludes bugs
    /// that only relate clocks.
    fn applied_quirks(&self) -> Vec<TracerQuirk> {
        Vec::new()
    }

    /// Returns its data streams, in the order in which ties of time are broken.
    fn streams(&self) -> Vec<StreamSummary>;

    /// Passes the same summaries one by one, since there can be very many.
    fn for_each_stream(&self, take: &mut dyn FnMut(StreamSummary)) {
        self.streams().into_iter().for_each(take);
    }

    /// Counts the event records that the producer of the data stream of this index discarded, if the summary
    /// does not contain the number. This reads the data stream, which takes time in proportion to its size.
    /// `None` if the summary contains the number.
    fn count_discarded(&self, stream: usize) -> Option<u64> {
        let _ = stream;
        None
    }

    /// Returns only its data streams, in the same order.
    fn data_streams(&self) -> Vec<Arc<DataStream>> {
        self.streams().into_iter().map(|summary| summary.stream).collect()
    }

    /// Returns `true` if its event record classes are known only after reading all of it: see
    /// [`Trace::dynamic_classes`].
    fn has_dynamic_classes(&self) -> bool {
        false
    }

    /// Returns `true` if several of its data streams add call stacks to the same table while they are read, so that only
    /// all of them together have all stacks: see [`Trace::stacks_of`].
    fn shares_stacks(&self) -> bool {
        false
    }

    /// Returns `true` if its cursors report invalidly encoded texts as damage, in the words of the format,
    /// once it was opened to be checked.
    fn reports_invalid_texts(&self) -> bool {
        false
    }

    /// Returns its unreadable data that belongs to no data stream.
    fn damage(&self) -> &[Damage];

    /// Returns a cursor for each data stream, in the order of [`OpenedTrace::streams`].
    fn cursors(&self, window: Window) -> Vec<BoxedCursor> {
        (0..self.data_streams().len()).filter_map(|stream| self.cursor(stream, window)).collect()
    }

    /// Returns the cursor of the data stream of this index; `None` if there is no such data stream.
    ///
    /// # For implementations
    /// This must not take longer for more data streams, if a trace can have many.
    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor>;

    /// Returns a cursor for some packets of the data stream of this index, by their indexes in reading order:
    /// the messages of all such cursors in sequence are those of the cursor for the whole data stream. `None`
    /// if its packets cannot be read without the earlier ones, or if there is no such data stream.
    fn packet_cursor(&self, stream: usize, window: Window, packets: Range<u64>) -> Option<BoxedCursor> {
        let _ = (stream, window, packets);
        None
    }

    /// Returns a cursor for the data stream of this index that also delivers the begin and the end of each segment, bytes
    /// whose events come together, as packets, which the format does not have: a writer of the format can copy them. `None`
    /// if there are no segments, or there is no such data stream.
    fn segment_cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        let _ = (stream, window);
        None
    }

    /// Returns points on the timeline, in order of time, at which the data stream of this index (in the order
    /// of [`OpenedTrace::streams`]) can be split: reading from there needs little of the data before. About
    /// one point for each `grain` bytes. `None` if reading must start at the beginning.
    fn split_points(&self, stream: usize, grain: u64) -> Option<Vec<SplitPoint>> {
        let _ = (stream, grain);
        None
    }

    /// Returns a cursor like that of [`OpenedTrace::cursors`] for the data stream of this index, but at its first
    /// message at `begin` or later, as far as that can be found without reading everything before; at the end if there
    /// is no such message. [`Cursor::checkpoint`](crate::Cursor::checkpoint) shows if the position is right.
    /// Only if the data stream has [`OpenedTrace::split_points`]. `None` if there is no such data stream.
    fn cursor_from(&self, stream: usize, window: Window, begin: i128) -> Option<BoxedCursor> {
        let mut cursor = self.cursor(stream, window)?;
        advance_to(&mut *cursor, begin);
        Some(cursor)
    }
}

/// Moves a cursor to its first message at `begin` or later.
pub fn advance_to(cursor: &mut (impl StreamCursor + ?Sized), begin: i128) {
    while let Some(head) = cursor.next_head()
        && head.nanoseconds().is_none_or(|time| time < begin)
    {}
}

/// A point at which a data stream can be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitPoint {
    /// Time in nanoseconds from the origin.
    pub time: i128,
    /// Bytes between the previous point and this one.
    pub bytes: u64,
    /// Bytes that are read twice if the timeline is split just before this point.
    pub overlap: u64,
}
