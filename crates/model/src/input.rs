//! What a reader of a format offers once it has opened a trace.

use std::ops::Range;
use std::sync::Arc;

use crate::{BoxedCursor, Damage, DataStream, FileDiagnostic, StreamCursor, Trace};

/// The part of the timeline that is wanted, in nanoseconds from the origin, both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Nothing before this.
    pub begin: Option<i128>,
    /// Nothing after this.
    pub end: Option<i128>,
}

/// A known bug of a tracer that changes how its traces are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TracerQuirk {
    /// Short name that stays the same, for instance `lttng-event-after-packet`.
    pub name: &'static str,
    /// One sentence for people, without the final full stop.
    pub message: &'static str,
    /// Whether all that it changes is which other clocks a clock of the trace stands on one timeline with.
    pub relates_clocks: bool,
}

impl std::fmt::Display for TracerQuirk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

/// What is known of a data stream without decoding its events.
#[derive(Clone, Debug)]
pub struct StreamSummary {
    /// The stream.
    pub stream: Arc<DataStream>,
    /// Its files.
    pub files: Vec<String>,
    /// How many packets it has.
    pub packets: u64,
    /// How many more its files have that are copies of these, as those of overlapping snapshots: each is read once.
    pub repeated_packets: u64,
    /// Size of its packets in bytes, padding included.
    pub bytes: u64,
    /// Size of the padding at the ends of its packets in bytes.
    pub padding: u64,
    /// First and last time that its packets say, in nanoseconds from the origin of its clock.
    pub time_range: Option<(i128, i128)>,
    /// Event records that its producer discarded, as far as the packets say.
    pub discarded_events: u64,
    /// Whether event records were discarded before the first packet, an unknown number of them.
    pub discarded_before: bool,
    /// Packets that are missing, as far as the packets say.
    pub discarded_packets: u64,
    /// What cannot be read, as far as the packets say.
    pub damage: Vec<Damage>,
}

impl StreamSummary {
    /// A data stream in a file of the same name, of which nothing else is known.
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

/// A trace that was opened.
///
/// # For implementations
/// [`RecordTrace`](crate::RecordTrace) implements it for formats of records. Otherwise, implement the methods
/// without a default: [`streams`](Self::streams), [`data_streams`](Self::data_streams) and
/// [`cursors`](Self::cursors) have the data streams in the same order, which is also that of events of the same
/// time and must depend on the content only, not on the order of files. With
/// [`split_points`](Self::split_points) and [`cursor_from`](Self::cursor_from) several threads can read a trace.
pub trait TraceInput: Send + Sync {
    /// Name of the format, for instance "ctf".
    fn format(&self) -> &'static str;

    /// Name of the dialect that it is written in, as the writer of its format names it; `None` if the format has no
    /// dialects, or if the dialect is unknown.
    fn dialect(&self) -> Option<&'static str> {
        None
    }

    /// Where it lies.
    fn path(&self) -> &str;

    /// The trace.
    fn trace(&self) -> &Arc<Trace>;

    /// Warnings and notes of its description.
    fn diagnostics(&self) -> &[FileDiagnostic];

    /// Known bugs of the tracer that are worked around.
    fn quirks(&self) -> Vec<TracerQuirk>;

    /// Those of them that have changed what was read of its data streams up to now: the tracer did what
    /// it is known for. Without those that only relate clocks.
    fn applied_quirks(&self) -> Vec<TracerQuirk> {
        Vec::new()
    }

    /// Its data streams, in the order in which ties of time are broken.
    fn streams(&self) -> Vec<StreamSummary>;

    /// Takes the same summaries, one after the other: there can be very many.
    fn for_each_stream(&self, take: &mut dyn FnMut(StreamSummary)) {
        self.streams().into_iter().for_each(take);
    }

    /// How many event records the producer of the data stream of this index discarded, where the summaries do not say
    /// it: found out by reading, which takes time in proportion to the size of the data stream. None: the summary
    /// says it.
    fn count_discarded(&self, stream: usize) -> Option<u64> {
        let _ = stream;
        None
    }

    /// Its data streams alone, in the same order.
    fn data_streams(&self) -> Vec<Arc<DataStream>> {
        self.streams().into_iter().map(|summary| summary.stream).collect()
    }

    /// Whether its event record classes are only known once all of it has been read: see
    /// [`Trace::dynamic_classes`].
    fn has_dynamic_classes(&self) -> bool {
        false
    }

    /// Whether its cursors report texts that are not valid in their encoding as damage, in the words of the
    /// format, once it was opened to be checked.
    fn reports_invalid_texts(&self) -> bool {
        false
    }

    /// What cannot be read of it and belongs to no data stream.
    fn damage(&self) -> &[Damage];

    /// A cursor for each data stream, in the order of [`TraceInput::streams`].
    fn cursors(&self, window: Window) -> Vec<BoxedCursor>;

    /// The cursor for the data stream of this index alone. None if there is no such data stream.
    ///
    /// # For implementations
    /// This must not take longer for more data streams, where a trace can have many.
    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        self.cursors(window).into_iter().nth(stream)
    }

    /// A cursor for some packets of the data stream of this index, by their indexes in the order in which they are read:
    /// the messages of all such cursors, one after the other, are those of the cursor for the whole data stream.
    /// None if its packets cannot be read without those before them, or if there is no such data stream.
    fn packet_cursor(&self, stream: usize, window: Window, packets: Range<u64>) -> Option<BoxedCursor> {
        let _ = (stream, window, packets);
        None
    }

    /// Where on the timeline the data stream of this index, in the order of
    /// [`TraceInput::streams`], can be cut so that reading from there on needs little of what lies
    /// before, in order of time: about one such place in `grain` bytes. None if reading has to
    /// begin at the beginning.
    fn split_points(&self, stream: usize, grain: u64) -> Option<Vec<SplitPoint>> {
        let _ = (stream, grain);
        None
    }

    /// A cursor for the data stream of this index, like that of [`TraceInput::cursors`], but at its
    /// first message at `begin` or later, as far as that can be known without looking at everything
    /// before; without such a message it is at the end. [`FastCursor::checkpoint`](crate::FastCursor::checkpoint) says whether it is right. Only
    /// where the data stream has [`TraceInput::split_points`]. None if there is no such data stream.
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

/// A place where a data stream can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitPoint {
    /// When, in nanoseconds from the origin.
    pub time: i128,
    /// Bytes between the cut before and this one.
    pub bytes: u64,
    /// Bytes that are read twice if the timeline is split just before this one.
    pub overlap: u64,
}
