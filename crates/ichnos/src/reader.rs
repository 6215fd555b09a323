//! Reads a whole session or selected parts of it.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use ichnos_flow::{DamageCursor, LiveMerge, Merge};
use ichnos_io::{FirstTime, Shard};
use ichnos_model::clock::ClockOrigin;
use ichnos_model::cursor::{BoxedCursor, ExcludedClasses, Head, MessageKind, StreamCursor};
use ichnos_model::message::Damage;
use ichnos_model::trace::SplitPoint;
use ichnos_model::{Cursor, DataStream, Message, OpenedTrace, Window};

use crate::Session;
use crate::shard_parts::ShardParts;

/// Source of message cursors for selected data streams of a session, in a window: see [`Session::reader`].
pub struct Reader<'a> {
    pub(crate) session: &'a Session,
    /// Window of each trace.
    pub(crate) windows: Vec<Window>,
    /// `true` for selected data streams, by trace.
    pub(crate) wanted: Vec<Vec<bool>>,
    /// Start of [`Reader::cursor`]. `None` for the start of the data.
    pub(crate) begin: Option<i128>,
    /// Excluded event classes, by trace and data stream. Empty without exclusions.
    pub(crate) excluded: Vec<Vec<Option<Arc<ExcludedClasses>>>>,
    /// Shard to read. The selected data streams are its data streams. `None` for everything.
    pub(crate) shard: Option<ShardParts>,
}

/// Selected data stream of a reader.
pub(crate) struct ReaderLane {
    /// Trace index.
    pub(crate) source: usize,
    /// Index of the data stream in its trace.
    pub(crate) index: usize,
    /// Index among the selected data streams of its trace.
    pub(crate) number: usize,
    pub(crate) stream: Arc<DataStream>,
}

/// Error for a trace whose data streams lack a common time.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IntersectionError {
    /// The time range of a data stream is unknown.
    #[error("{trace}: unknown time range of the data stream {stream}: its packets lack times")]
    Unknown {
        /// Trace.
        trace: String,
        /// Name of the data stream.
        stream: String,
    },
    /// A data stream ends before another data stream starts.
    #[error("{trace}: the data stream {ended} ends before {begun} begins: no common time")]
    Disjoint {
        /// Trace.
        trace: String,
        /// Name of the data stream that ends first.
        ended: String,
        /// Name of the data stream that starts last.
        begun: String,
    },
}

/// Returns the time in which all data streams of a trace are active, in nanoseconds from the origin, inclusive.
/// Returns `None` without packets. The packets give the time of a data stream.
fn intersection(trace: &dyn OpenedTrace) -> Result<Option<(i128, i128)>, IntersectionError> {
    let mut latest: Option<(i128, String)> = None;
    let mut earliest: Option<(i128, String)> = None;
    for summary in trace.streams() {
        let stream = summary.stream.name.to_string();
        let Some((begin, end)) = summary.time_range else {
            if summary.bytes == 0 {
                continue;
            }
            return Err(IntersectionError::Unknown { trace: trace.path().to_owned(), stream });
        };
        if latest.as_ref().is_none_or(|(time, _)| begin > *time) {
            latest = Some((begin, stream.clone()));
        }
        if earliest.as_ref().is_none_or(|(time, _)| end < *time) {
            earliest = Some((end, stream));
        }
    }
    let (Some((begin, begun)), Some((end, ended))) = (latest, earliest) else { return Ok(None) };
    if begin > end {
        return Err(IntersectionError::Disjoint { trace: trace.path().to_owned(), ended, begun });
    }
    Ok(Some((begin, end)))
}

impl Reader<'_> {
    /// Restricts the time of the trace with this index in [`Session::traces`].
    pub fn restrict(&mut self, trace: usize, window: Window) {
        if let Some(known) = self.windows.get_mut(trace) {
            known.begin = known.begin.max(window.begin);
            known.end = match (known.end, window.end) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }

    /// Restricts each trace to the time in which all its data streams are active, including unselected data streams.
    ///
    /// # Errors
    /// If the data streams of a trace lack a common time, or if a time range is unknown.
    pub fn intersect_streams(&mut self) -> Result<(), IntersectionError> {
        for (trace, window) in self.session.traces().iter().zip(&mut self.windows) {
            if let Some((begin, end)) = intersection(trace.as_ref())? {
                window.begin = Some(window.begin.map_or(begin, |time| time.max(begin)));
                window.end = Some(window.end.map_or(end, |time| time.min(end)));
            }
        }
        Ok(())
    }

    /// Restricts the reader to a shard of its data: whole data streams, and packets of data streams that can be read
    /// from the middle. Each message is in one shard. Its shard does not depend on other messages or on the machine.
    /// Damage without a data stream is in the shard with the start of the first data stream of its trace. Shards have
    /// about the same number of trace bytes. Call this last.
    ///
    /// ```no_run
    /// use ichnos::io::Shard;
    /// use ichnos::model::{Cursor as _, Window};
    ///
    /// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
    /// let mut messages = 0;
    /// for index in 1..=4 {
    ///     let mut reader = session.reader()?;
    ///     reader.select_shard(Shard::new(index, 4).ok_or("not a shard")?);
    ///     let mut cursor = reader.cursor();
    ///     while cursor.advance() {
    ///         messages += 1;
    ///     }
    /// }
    /// println!("{messages} messages in all shards");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn select_shard(&mut self, shard: Shard) {
        let (parts, wanted) = ShardParts::new(self.wanted(), shard);
        self.wanted = wanted;
        self.shard = Some(parts);
    }

    /// Returns the packets to read of a data stream, by trace and data stream index. `None` for all packets.
    pub(crate) fn packets(&self, trace: usize, stream: usize) -> Option<Range<u64>> {
        self.shard.as_ref()?.packets(trace, stream)
    }

    /// Returns the damage of a trace without a data stream.
    pub(crate) fn damage_of<'t>(&self, number: usize, trace: &'t dyn OpenedTrace) -> &'t [Damage] {
        let is_in = self.shard.as_ref().is_none_or(|shard| shard.has_damage(number));
        if is_in { trace.damage() } else { &[] }
    }

    /// Returns a cursor over the selected packets of a data stream. `cursor` reads all packets.
    fn dividing(&self, number: usize, stream: usize, cursor: BoxedCursor) -> BoxedCursor {
        let divided = || {
            let packets = self.packets(number, stream)?;
            let (trace, _, window) = self.wanted().nth(number)?;
            trace.packet_cursor(stream, window, packets)
        };
        self.excluding(number, stream, divided().unwrap_or(cursor))
    }

    /// Returns the traces with their selected data streams and windows.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (&dyn OpenedTrace, &Vec<bool>, Window)> {
        let traces = self.session.traces().iter().zip(&self.wanted).zip(&self.windows);
        traces.map(|((trace, wanted), window)| (trace.as_ref(), wanted, *window))
    }

    /// Excludes event classes from each data stream, if cursors support it. Some excluded events may still be
    /// delivered.
    ///
    /// ```no_run
    /// # fn count(session: &ichnos::Session, filter: &ichnos::Filter) -> Result<(), ichnos::OpenError> {
    /// let mut reader = session.reader_of(filter.window(), |_| true)?;
    /// reader.exclude(|stream| filter.excluded_classes(stream));
    /// # Ok(())
    /// # }
    /// ```
    pub fn exclude(&mut self, mut classes: impl FnMut(&DataStream) -> Option<Arc<ExcludedClasses>>) {
        let mut excluded = Vec::new();
        for (trace, wanted, _) in self.wanted() {
            let streams = trace.data_streams().into_iter().zip(wanted);
            let of_stream = streams.map(|(stream, is)| is.then(|| classes(&stream)).flatten());
            excluded.push(of_stream.collect());
        }
        self.excluded = excluded;
    }

    /// Excludes event classes from the cursor of a data stream.
    pub(crate) fn excluding(&self, trace: usize, stream: usize, mut cursor: BoxedCursor) -> BoxedCursor {
        let classes = self.excluded.get(trace).and_then(|streams| streams.get(stream));
        if let Some(Some(classes)) = classes {
            cursor.exclude(classes);
            let is_excluded = |head: Head| {
                head.kind == MessageKind::Event && head.class_index().is_some_and(|class| classes.has(class))
            };
            if cursor.head().is_some_and(is_excluded) {
                cursor.next_head();
            }
        }
        cursor
    }

    /// Returns the selected data streams in cursor order.
    pub(crate) fn lanes(&self) -> Vec<ReaderLane> {
        let mut lanes = Vec::new();
        for (source, (trace, wanted, _)) in self.wanted().enumerate() {
            let streams = trace.data_streams().into_iter().enumerate().zip(wanted);
            let streams = streams.filter(|(_, is_wanted)| **is_wanted).enumerate();
            lanes.extend(streams.map(|(number, ((index, stream), _))| ReaderLane {
                source,
                index,
                number,
                stream,
            }));
        }
        lanes
    }

    /// Returns the messages of a data stream, by trace and data stream index.
    pub(crate) fn stream_cursor(&self, source: usize, stream: usize) -> Option<BoxedCursor> {
        let (trace, _, window) = self.wanted().nth(source)?;
        Some(self.dividing(source, stream, trace.cursor(stream, window)?))
    }

    /// Returns the windows of the traces, in order.
    #[must_use]
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Returns the selected data streams in cursor order.
    #[must_use]
    pub fn data_streams(&self) -> Vec<Arc<DataStream>> {
        self.lanes().into_iter().map(|lane| lane.stream).collect()
    }

    /// Returns a reader for some data streams, without a shard.
    pub(crate) fn only(&self, wants: impl Fn(&DataStream) -> bool) -> Reader<'_> {
        let traces = self.session.traces().iter().zip(&self.wanted);
        let wanted = traces.map(|(trace, wanted)| {
            let streams = trace.data_streams().into_iter().zip(wanted);
            streams.map(|(stream, is_wanted)| *is_wanted && wants(&stream)).collect()
        });
        Reader {
            session: self.session,
            windows: self.windows.clone(),
            wanted: wanted.collect(),
            begin: self.begin,
            excluded: self.excluded.clone(),
            shard: None,
        }
    }

    /// Passes the heads of all messages to `take`, one data stream after the other. [`ControlFlow::Break`] ends the
    /// data stream.
    pub fn for_each_head(&self, mut take: impl FnMut(&DataStream, Head) -> ControlFlow<()>) {
        for (number, (trace, wanted, window)) in self.wanted().enumerate() {
            if !wanted.contains(&true) {
                continue;
            }
            let streams = trace.data_streams().into_iter().zip(trace.cursors(window)).zip(wanted).enumerate();
            for (index, ((stream, cursor), _)) in streams.filter(|(_, (_, is_wanted))| **is_wanted) {
                let mut cursor = match self.packets(number, index) {
                    Some(packets) => trace.packet_cursor(index, window, packets).unwrap_or(cursor),
                    None => cursor,
                };
                while let Some(head) = cursor.next_head() {
                    if take(&stream, head).is_break() {
                        break;
                    }
                }
            }
        }
    }

    /// Returns the first event time. Returns `None` if the first million messages contain no event with a time, or if
    /// the input is live.
    pub(crate) fn first_time(&self) -> Option<FirstTime> {
        if self.session.is_live() {
            return None;
        }
        let mut cursor = self.cursor();
        for _ in 0..1 << 20 {
            let head = cursor.next_head()?;
            if let (MessageKind::Event, Some(nanoseconds)) = (head.kind, head.nanoseconds())
                && let Some(Message::Event(event)) = cursor.current()
            {
                let clock = event.stream.clock();
                let has_date = clock.is_some_and(|clock| clock.origin == ClockOrigin::UnixEpoch);
                return Some(FirstTime { nanoseconds, has_date });
            }
        }
        None
    }

    /// Returns all messages, merged by time.
    #[must_use]
    pub fn cursor(&self) -> Merge {
        if let Some(begin) = self.begin {
            return self.cursor_from(begin);
        }
        let (mut cursors, mut live): (Vec<BoxedCursor>, Vec<BoxedCursor>) = Default::default();
        for (number, (trace, wanted, window)) in self.wanted().enumerate() {
            let cursors = if trace.live().is_some() { &mut live } else { &mut cursors };
            self.add_cursors(number, (trace, wanted, window), cursors);
        }
        match self.session.live() {
            Some(options) => {
                let files = Merge::new(cursors).boxed();
                Merge::new(vec![LiveMerge::new(live, vec![files], options.clone()).boxed()])
            }
            None => Merge::new(cursors),
        }
    }

    /// Adds the cursors of a trace.
    fn add_cursors(
        &self,
        number: usize,
        (trace, wanted, window): (&dyn OpenedTrace, &Vec<bool>, Window),
        cursors: &mut Vec<BoxedCursor>,
    ) {
        let damage = self.damage_of(number, trace);
        if !damage.is_empty() {
            cursors.push(DamageCursor::new(damage.to_vec()).boxed());
        }
        let all = trace.cursors(window).into_iter().zip(wanted).enumerate();
        let all = all.filter(|(_, (_, is))| **is);
        cursors.extend(all.map(|(stream, (cursor, _))| self.dividing(number, stream, cursor)));
    }

    /// Returns the messages of each trace, merged by time.
    pub(crate) fn trace_cursors(&self) -> impl Iterator<Item = (&dyn OpenedTrace, Merge)> {
        self.wanted().enumerate().map(|(number, wanted)| {
            let mut cursors: Vec<BoxedCursor> = Vec::new();
            self.add_cursors(number, wanted, &mut cursors);
            (wanted.0, Merge::new(cursors))
        })
    }

    /// Returns the messages from `begin` on, merged by time, as far as known without reading earlier data. To verify
    /// them, compare [`Merge::checkpoints`] with a cursor that has read the earlier data up to `begin`. `begin` must
    /// come from [`Reader::chunks`].
    #[must_use]
    pub fn cursor_from(&self, begin: i128) -> Merge {
        let mut cursors: Vec<BoxedCursor> = Vec::new();
        for (number, (trace, wanted, window)) in self.wanted().enumerate() {
            if !self.damage_of(number, trace).is_empty() {
                // The first chunk has already reported it.
                cursors.push(DamageCursor::new(Vec::new()).boxed());
            }
            let all = (0..).zip(wanted).filter(|(_, is)| **is);
            cursors.extend(all.filter_map(|(stream, _)| {
                Some(self.excluding(number, stream, trace.cursor_from(stream, window, begin)?))
            }));
        }
        Merge::from_started(cursors)
    }

    /// Returns sorted times at which the data splits into chunks of at least about `size` bytes. The first chunk
    /// starts at the start of the data, and the last chunk ends at its end. Chunks are larger where small chunks
    /// would read much data twice. Returns no times if there is too little data, or if the data can only be read as a
    /// whole, for example a shard with a part of a data stream.
    #[must_use]
    pub fn chunks(&self, size: u64) -> Vec<i128> {
        // Makes the split points of many data streams fine enough.
        const GRAINS: u64 = 8;
        /// Minimum number of bytes to read for each byte that is read twice.
        const WORTH: u64 = 2;
        if self.shard.as_ref().is_some_and(ShardParts::has_divided) {
            return Vec::new();
        }
        let mut all: Vec<SplitPoint> = Vec::new();
        let mut overlap = 0u64;
        for (trace, wanted, window) in self.wanted() {
            let is_in = |cut: &SplitPoint| {
                window.begin.is_none_or(|begin| cut.time > begin)
                    && window.end.is_none_or(|end| cut.time < end)
            };
            for (stream, _) in wanted.iter().enumerate().filter(|(_, is)| **is) {
                let Some(split_points) = trace.split_points(stream, size / GRAINS) else { return Vec::new() };
                overlap =
                    overlap.saturating_add(split_points.iter().map(|cut| cut.overlap).max().unwrap_or(0));
                all.extend(split_points.into_iter().filter(is_in));
            }
        }
        all.sort_by_key(|cut| cut.time);
        let size = size.max(overlap.saturating_mul(WORTH));
        let mut parts = Vec::new();
        let mut bytes = 0u64;
        for cut in &all {
            bytes = bytes.saturating_add(cut.bytes);
            if bytes >= size {
                // Just after the start of a packet. The start then belongs to the previous part, like the end of the
                // previous packet, which often has the same time.
                parts.push(cut.time.saturating_add(1));
                bytes = 0;
            }
        }
        // The rest after the last cut is almost empty.
        parts.pop();
        parts
    }
}
