//! Opened traces: the interface of format readers.

use std::ops::Range;
use std::sync::Arc;

use crate::cursor::{BoxedCursor, MessageKind, ResumePoint, StreamCursor};
use crate::live::LiveOptions;
use crate::message::Damage;
use crate::trace::{DataStream, FileDiagnostic, Trace};

/// Selected part of the timeline, in nanoseconds from the origin, both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// First selected time.
    pub begin: Option<i128>,
    /// Last selected time.
    pub end: Option<i128>,
}

/// A known tracer bug that changes how its traces are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TracerQuirk {
    /// Short permanent name, for example `lttng-event-after-packet`.
    pub name: &'static str,
    /// Description for display: one sentence without the full stop.
    pub message: &'static str,
    /// `true` if it only changes which clocks share a timeline with a clock of the trace.
    pub relates_clocks: bool,
}

impl std::fmt::Display for TracerQuirk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

/// Data stream information that is available without decoding events.
#[derive(Clone, Debug)]
pub struct StreamSummary {
    /// Data stream.
    pub stream: Arc<DataStream>,
    /// File names.
    pub files: Vec<String>,
    /// Number of packets.
    pub packets: u64,
    /// Number of duplicate packets in its files, for example from overlapping snapshots. Each packet is read once.
    pub repeated_packets: u64,
    /// Total packet size in bytes, including padding.
    pub bytes: u64,
    /// Total padding after packets in bytes.
    pub padding: u64,
    /// First and last known time in packets, in nanoseconds from the clock's origin.
    pub time_range: Option<(i128, i128)>,
    /// Begin of the first packet, and end of the last packet, if both are known. The last packet ends with its last event
    /// if a known tracer bug makes end times unreliable. Packets can be in a wrong order, so this can end before it begins.
    pub active_range: Option<(i128, i128)>,
    /// Event records that the producer discarded, as recorded in the packets.
    pub discarded_events: u64,
    /// `true` if an unknown number of event records were discarded before the first packet.
    pub discarded_before: bool,
    /// Number of missing packets, as recorded in the packets.
    pub discarded_packets: u64,
    /// Unreadable data, as far as the packets show.
    pub damage: Vec<Damage>,
}

impl StreamSummary {
    /// Creates a summary of a data stream in a file with the same name, without further data.
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
            active_range: None,
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
/// [`RecordTrace`](crate::source::RecordTrace) implements it for formats that consist of records. Otherwise, implement
/// the methods without a default. [`streams`](Self::streams), [`data_streams`](Self::data_streams) and
/// [`cursors`](Self::cursors) must return the data streams in the same order. This order also decides between events
/// with equal times. It must depend only on the content, not on the file order. [`split_points`](Self::split_points)
/// and [`cursor_from`](Self::cursor_from) allow multithreaded reading.
pub trait OpenedTrace: Send + Sync {
    /// Returns the format name, for example "ctf".
    fn format(&self) -> &'static str;

    /// Returns the dialect name that the format's writer uses. `None` without dialects, or if the dialect is unknown.
    fn dialect(&self) -> Option<&'static str> {
        None
    }

    /// Returns the path of the trace.
    fn path(&self) -> &str;

    /// Returns the trace.
    fn trace(&self) -> &Arc<Trace>;

    /// Returns warnings and notes about the metadata.
    fn diagnostics(&self) -> &[FileDiagnostic] {
        &[]
    }

    /// Returns the files whose content is in the environment or the attributes of the trace.
    fn auxiliary_files(&self) -> &[String] {
        &[]
    }

    /// Returns the known tracer bugs for which there is a workaround.
    fn quirks(&self) -> Vec<TracerQuirk> {
        Vec::new()
    }

    /// Returns the bugs that have changed the data read so far, so the tracer really has them. Bugs that only relate
    /// clocks are excluded.
    fn applied_quirks(&self) -> Vec<TracerQuirk> {
        Vec::new()
    }

    /// Returns its data streams. The order also applies to events with equal times: the first data stream comes first.
    fn streams(&self) -> Vec<StreamSummary>;

    /// Passes the same summaries one by one, since there can be very many.
    fn for_each_stream(&self, take: &mut dyn FnMut(StreamSummary)) {
        self.streams().into_iter().for_each(take);
    }

    /// Counts the event records that were discarded in the data stream with this index, if the summary lacks the
    /// number. This reads the data stream, so the time is proportional to its size. `None` if the summary contains the
    /// number.
    fn count_discarded(&self, stream: usize) -> Option<u64> {
        let _ = stream;
        None
    }

    /// Returns only its data streams, in the same order.
    fn data_streams(&self) -> Vec<Arc<DataStream>> {
        self.streams().into_iter().map(|summary| summary.stream).collect()
    }

    /// Returns `true` if some event record classes are unknown until the whole trace was read: see
    /// [`Trace::dynamic_classes`].
    fn has_dynamic_classes(&self) -> bool {
        false
    }

    /// Returns `true` if its messages belong to further data streams that are unknown before they are read, as in a
    /// [live input](crate::live).
    fn has_dynamic_streams(&self) -> bool {
        false
    }

    /// Returns the options of a [live input](crate::live), `None` for other traces.
    fn live(&self) -> Option<&LiveOptions> {
        None
    }

    /// Returns `true` if several data streams add call stacks to the same table while they are read, so that only all
    /// of them together have all stacks: see [`Trace::stacks_of`].
    fn shares_stacks(&self) -> bool {
        false
    }

    /// Returns `true` if cursors of a trace opened for checking report invalidly encoded texts as damage, in the
    /// format's own words.
    fn reports_invalid_texts(&self) -> bool {
        false
    }

    /// Returns unreadable data outside all data streams.
    fn damage(&self) -> &[Damage];

    /// Creates a cursor for each data stream, in the order of [`OpenedTrace::streams`].
    fn cursors(&self, window: Window) -> Vec<BoxedCursor> {
        (0..self.data_streams().len()).filter_map(|stream| self.cursor(stream, window)).collect()
    }

    /// Creates the cursor for the data stream with this index. Returns `None` for an invalid index.
    ///
    /// # For implementations
    /// If a trace can have many data streams, the time must not grow with their number.
    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor>;

    /// Creates a cursor for some packets in the data stream with this index. `packets` are indexes in reading order.
    /// The messages of all such cursors in sequence must equal those from the cursor for the whole data stream. `None`
    /// if its packets cannot be read without earlier packets, or for an invalid index.
    fn packet_cursor(&self, stream: usize, window: Window, packets: Range<u64>) -> Option<BoxedCursor> {
        let _ = (stream, window, packets);
        None
    }

    /// Creates a cursor for the data stream with this index that also delivers segments. A segment is a range of bytes
    /// whose events come together, in formats without packets. Its start and end are delivered as a packet, so that a
    /// writer of the format can copy it. `None` if the data stream lacks segments, or for an invalid index.
    fn segment_cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        let _ = (stream, window);
        None
    }

    /// Returns points on the timeline where the data stream with this index can be split, sorted by time. Reading from
    /// such a point needs little of the data before. There is about one point for each `grain` bytes. `None` if reading
    /// must start at the beginning.
    fn split_points(&self, stream: usize, grain: u64) -> Option<Vec<SplitPoint>> {
        let _ = (stream, grain);
        None
    }

    /// Like [`OpenedTrace::cursor`], but starts at the first message at `begin` or later, as far as it can be found
    /// without reading everything before. If such a message is missing, starts at the end.
    /// [`Cursor::checkpoint`](crate::Cursor::checkpoint) shows if the position is right. Should be called only if the
    /// data stream has [`OpenedTrace::split_points`]. `None` for an invalid index.
    fn cursor_from(&self, stream: usize, window: Window, begin: i128) -> Option<BoxedCursor> {
        let mut cursor = self.cursor(stream, window)?;
        advance_to(&mut *cursor, begin);
        Some(cursor)
    }

    /// Creates the cursor for the data stream with this index, without everything up to event number `events`, counted
    /// from 1. A trace opened in file order may sort the remaining events by time. `None` for an invalid index.
    fn cursor_after(&self, stream: usize, events: u64) -> Option<BoxedCursor> {
        let mut cursor = self.cursor(stream, Window::default())?;
        skip_events(&mut *cursor, events);
        Some(cursor)
    }

    /// Creates a cursor for the data stream with this index, from a place in a shorter version of its file, without
    /// `events` more events. If `sorts`, a trace opened in file order may sort the remaining events by time. `None` if the
    /// place is of another trace: traces of a growing file can be the same, see
    /// [`Cursor::resume_point`](crate::Cursor::resume_point).
    fn cursor_at(&self, stream: usize, place: &ResumePoint, events: u64, sorts: bool) -> Option<BoxedCursor> {
        let _ = (stream, place, events, sorts);
        None
    }
}

/// Moves a cursor to event number `count`, counted from 1, or to its end.
pub fn skip_events(cursor: &mut (impl StreamCursor + ?Sized), count: u64) {
    let mut left = count;
    while left > 0
        && let Some(head) = cursor.next_head()
    {
        left -= u64::from(head.kind == MessageKind::Event);
    }
}

/// Moves a cursor to the first message at `begin` or later.
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
