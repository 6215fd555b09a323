//! Passes over cursor messages: selection, limit, losses, damage and interruption.

mod chunks;
mod latest_time;
mod live_counts;
mod mapping;
mod ordered_writes;
mod packets;
mod parts;
mod reader_pass;
mod streams;

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ichnos_io::{MessageOrder, Output};
use ichnos_model::cursor::MessageHandler;
use ichnos_model::event::{BuildError, EventBuilder};
use ichnos_model::message::{Damage, Discarded};
use ichnos_model::{Event, Message, Sink};

use crate::{Reader, Selection, StreamMessages};
pub(crate) use chunks::{ROOM, block_size};
use latest_time::LatestTime;
pub use live_counts::LiveCounts;
use mapping::{EventMapper, EventMapping, LossMapping};
pub use parts::{Parts, SplitBy};
pub use reader_pass::ReaderPass;
pub(crate) use streams::StreamOptions;

/// Reason for the end of a pass.
#[derive(Debug, Default)]
#[non_exhaustive]
pub enum PassEnd {
    /// The cursor is at its end, the [limit](Pass::limit) is reached, or the sink stopped the pass.
    #[default]
    Over,
    /// The event that [ends](Pass::until) the pass was passed on.
    Reached,
    /// The pass was [stopped](Pass::stop).
    Interrupted,
    /// Damage in a [strict](Pass::strict) pass.
    Refused(Box<Damage>),
}

/// Counts of selected messages in a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassCounts {
    /// Number of events.
    pub events: u64,
    /// Number of events known to be discarded by the producers.
    pub discarded_events: u64,
    /// Number of packets known to be missing.
    pub discarded_packets: u64,
    /// Number of undecodable places.
    pub damages: u64,
    /// Number of events of live input that came after later events of other inputs.
    pub late_events: u64,
}

impl std::ops::AddAssign for PassCounts {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.discarded_events = self.discarded_events.saturating_add(other.discarded_events);
        self.discarded_packets = self.discarded_packets.saturating_add(other.discarded_packets);
        self.damages += other.damages;
        self.late_events += other.late_events;
    }
}

/// Result of a pass.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct PassSummary {
    /// Counts of selected messages.
    pub counts: PassCounts,
    /// Reason for the end of the pass.
    pub end: PassEnd,
}

impl std::ops::AddAssign for PassSummary {
    /// Adds the counts, and keeps the first end other than [`PassEnd::Over`].
    fn add_assign(&mut self, other: Self) {
        self.counts += other.counts;
        if matches!(self.end, PassEnd::Over) {
            self.end = other.end;
        }
    }
}

/// Options of a [`ReaderPass`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PassOptions {
    /// Number of threads. With one thread, everything is one chunk.
    pub threads: usize,
    /// Approximate minimum chunk size in bytes of the trace. `None` to choose it by the number of threads.
    pub chunk_bytes: Option<u64>,
    /// Use chunks even with one thread, so that the work for a chunk of a given size does not depend on the number of
    /// threads.
    pub always_chunks: bool,
    pub(crate) streams: StreamOptions,
}

impl Default for PassOptions {
    /// Uses one thread for each processor.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { threads, chunk_bytes: None, always_chunks: false, streams: StreamOptions::default() }
    }
}

/// Observer of a pass into an output: see [`ReaderPass::observer`].
///
/// # For implementations
/// Calls delay the output and should return quickly. Notes come in output order from one thread. If the output takes
/// messages by data stream, several threads call at once.
pub trait PassObserver: Sync {
    /// Receives progress from time to time: a time in nanoseconds from the origin, and the number of events since the
    /// last call, including unselected events.
    fn progress(&self, nanoseconds: Option<i128>, events: u64) {
        let _ = (nanoseconds, events);
    }

    /// Receives the number of newly written bytes.
    fn written(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Returns `true` if [`note`](Self::note) is used. Otherwise, no notes are created.
    fn takes_notes(&self) -> bool {
        true
    }

    /// Receives losses and damage of the input. Outputs may contain them, too.
    fn note(&self, note: PassNote) {
        let _ = note;
    }
}

impl dyn PassObserver + '_ {
    fn note_damage(&self, damage: &Damage) {
        if self.takes_notes() {
            self.note(PassNote::Damage(Box::new(damage.clone())));
        }
    }

    /// Reports the loss or the damage in a message.
    pub(crate) fn note_message(&self, message: &Message<'_>) {
        if self.takes_notes()
            && let Some(note) = PassNote::from_message(message)
        {
            self.note(note);
        }
    }
}

/// Ignores everything.
impl PassObserver for () {
    fn takes_notes(&self) -> bool {
        false
    }
}

/// Report to a [pass observer](PassObserver).
#[derive(Debug)]
#[non_exhaustive]
pub enum PassNote {
    /// Selected damage.
    Damage(Box<Damage>),
    /// Events or packets that the producer discarded.
    Loss {
        /// Name of the data stream.
        stream: String,
        /// `true` for packets.
        is_packets: bool,
        /// Number of events or packets. `None` if unknown.
        count: Option<u64>,
    },
    /// The system refuses further threads, so one thread does all the work.
    OneThread(io::Error),
}

impl PassNote {
    /// Returns the loss or the damage in a message.
    fn from_message(message: &Message<'_>) -> Option<Self> {
        let note = |discarded: &Discarded<'_>, is_packets| Self::Loss {
            stream: discarded.stream.name.to_string(),
            is_packets,
            count: discarded.count,
        };
        match message {
            Message::DiscardedEvents(discarded) => Some(note(discarded, false)),
            Message::DiscardedPackets(discarded) => Some(note(discarded, true)),
            Message::Damage(damage) => Some(Self::Damage(Box::new((*damage).clone()))),
            _ => None,
        }
    }
}

/// Pass over the messages of a reader.
///
/// ```no_run
/// use std::ops::ControlFlow;
/// use ichnos::{Pass, Selection};
/// use ichnos::model::{Message, Window};
///
/// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
/// let selection = Selection::default().events(|name| name.starts_with("sched_"));
/// let reader = selection.reader(&session, Window::default())?;
/// let mut names = Vec::new();
/// let pass = Pass::new(selection).limit(10);
/// let summary = reader.pass().with(pass).run(&mut |message: &Message<'_>| {
///     if let Message::Event(event) = message {
///         names.push(event.name().to_owned());
///     }
///     Ok(ControlFlow::Continue(()))
/// })?;
/// assert_eq!(summary.counts.events, names.len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The default takes all messages.
#[derive(Clone, Debug)]
pub struct Pass {
    selection: Selection,
    limit: u64,
    /// Events that end the pass.
    until: Option<Selection>,
    /// Events of which the first is signaled.
    signal: Option<(Selection, Signal)>,
    skip: Option<u64>,
    is_refused: Option<fn(&Damage) -> bool>,
    is_live: bool,
    live_counts: Option<Arc<LiveCounts>>,
    stop: Option<&'static AtomicBool>,
    mapping: Option<EventMapping>,
    losses: Option<LossMapping>,
    stride: u32,
}

/// Function that is called during a pass.
#[derive(Clone)]
struct Signal(Arc<dyn Fn() + Send + Sync>);

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signal")
    }
}

/// Number of events between two checks.
const STRIDE: u32 = 256;

impl Default for Pass {
    fn default() -> Self {
        Self::new(Selection::default())
    }
}

impl Pass {
    /// Creates a pass over the selected messages. The reader must contain only selected data streams, for example a
    /// reader from [`Selection::reader`].
    #[must_use]
    pub fn new(selection: Selection) -> Self {
        Self {
            selection,
            limit: u64::MAX,
            until: None,
            signal: None,
            skip: None,
            is_refused: None,
            is_live: false,
            live_counts: None,
            stop: None,
            mapping: None,
            losses: None,
            stride: STRIDE,
        }
    }

    /// Ends the pass after a number of selected events.
    #[must_use]
    pub fn limit(self, limit: u64) -> Self {
        // A search for one more event could run to the end of the traces.
        Self { limit, stride: 0, ..self }
    }

    /// Ends the pass after the first selected event that another selection contains.
    #[must_use]
    pub fn until(self, last: Selection) -> Self {
        Self { until: Some(last), stride: 0, ..self }
    }

    /// Calls a function after the first selected event that another selection contains, for each part of the pass that runs
    /// on its own thread.
    #[must_use]
    pub fn signal(self, first: Selection, call: impl Fn() + Send + Sync + 'static) -> Self {
        Self { signal: Some((first, Signal(Arc::new(call)))), stride: 0, ..self }
    }

    /// Skips all messages before a number of selected events, and the starts of data streams after them. This gives
    /// the last events of a session, whose data streams have started before.
    #[must_use]
    pub fn skip(self, events: u64) -> Self {
        Self { skip: Some(events), stride: 0, ..self }
    }

    /// Ends the pass at the first damage.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        Self { is_refused: strict.then_some(|_| true), ..self }
    }

    /// Ends the pass at the first damage for which a function returns `true`.
    #[must_use]
    pub fn refuse(self, is_refused: fn(&Damage) -> bool) -> Self {
        Self { is_refused: Some(is_refused), ..self }
    }

    /// Ends the pass when the flag is set. The flag is checked from time to time.
    #[must_use]
    pub fn stop(self, flag: &'static AtomicBool) -> Self {
        Self { stop: Some(flag), ..self }
    }

    /// Changes the selected events. `map` receives each event and a builder with its values, and changes the values
    /// in the builder. An error ends the pass. Several threads call `map` at once.
    ///
    /// ```no_run
    /// use ichnos::convert::{ConvertOptions, target};
    /// use ichnos::{Pass, Selection};
    /// use ichnos::model::Window;
    ///
    /// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
    /// let reader = session.reader()?;
    /// let mut options = ConvertOptions::default();
    /// options.pass = Pass::default().map(|event, builder| match event.field("uid") {
    ///     Some(_) => builder.set("uid", 0u64),
    ///     None => Ok(()),
    /// });
    /// let target = target(Some("ctf"), "anonymous".as_ref(), None).ok_or("no writer")?;
    /// reader.convert(target.writer, Some("anonymous".into()), &options)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn map(
        self,
        map: impl Fn(&Event<'_>, &mut EventBuilder) -> Result<(), BuildError> + Send + Sync + 'static,
    ) -> Self {
        Self { mapping: Some(EventMapping::new(map)), ..self }
    }

    /// Changes the selected losses. `map` receives each loss and returns `false` to drop it. Several threads call `map`
    /// at once.
    ///
    /// ```no_run
    /// use ichnos::Pass;
    ///
    /// // Only losses with a known number are reported.
    /// let pass = Pass::default().map_losses(|loss| loss.count.is_some());
    /// # let _ = pass;
    /// ```
    #[must_use]
    pub fn map_losses(self, map: impl Fn(&mut Discarded<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self { losses: Some(LossMapping::new(map)), ..self }
    }

    /// Follows live input: writes all pending output when no further message is ready, and counts late events.
    #[must_use]
    pub fn live(self) -> Self {
        Self { is_live: true, stride: 0, ..self }
    }

    /// Updates counts while it follows [live](Self::live) input.
    #[must_use]
    pub fn live_counts(self, counts: &Arc<LiveCounts>) -> Self {
        Self { live_counts: Some(Arc::clone(counts)), ..self }
    }

    /// Passes the selected messages of a single data stream to a sink, and finishes it.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn run_stream<S: Sink>(&self, mut stream: StreamMessages, sink: &mut S) -> io::Result<PassSummary> {
        let summary = self.drain(sink, |take| {
            stream.0.drain_all(take);
        })?;
        sink.finish()?;
        Ok(summary)
    }

    /// Passes the selected messages of a reader to an output: see [`ReaderPass::write`].
    pub(crate) fn write(
        &self,
        reader: &Reader<'_>,
        output: &dyn Output,
        options: &PassOptions,
        observer: &dyn PassObserver,
    ) -> io::Result<PassSummary> {
        match output.order() {
            MessageOrder::ByStream | MessageOrder::Segments => {
                streams::run(self, reader, output, options, observer)
            }
            MessageOrder::Merged | MessageOrder::Chunks => {
                chunks::run(self, reader, output, options, observer)
            }
        }
    }

    /// In a pass by data stream, reports the damage without a data stream.
    fn note_damage_of_traces(&self, reader: &Reader<'_>, observer: &dyn PassObserver) {
        for (number, (trace, _, _)) in reader.wanted().enumerate() {
            let damage = reader.damage_of(number, trace).iter();
            let selected = damage.filter(|damage| self.selection.wants_stream(&damage.file));
            selected.for_each(|damage| observer.note_damage(damage));
        }
    }

    /// Returns `true` if all events are passed unchanged.
    pub(crate) fn keeps_all_events(&self) -> bool {
        let is_whole = self.limit == u64::MAX && self.skip.is_none() && self.until.is_none();
        is_whole && self.selection.wants_all_events() && self.mapping.is_none()
    }

    /// Returns `true` if events are changed.
    pub(crate) fn changes_events(&self) -> bool {
        self.mapping.is_some()
    }

    /// Returns `true` if the pass can end before the last event.
    pub(crate) fn can_end_early(&self) -> bool {
        self.limit < u64::MAX || self.until.is_some()
    }

    pub(crate) fn stop_flag(&self) -> Option<&'static AtomicBool> {
        self.stop
    }

    /// Returns `true` if the pass must end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    pub(crate) fn drain<S: Sink>(
        &self,
        sink: &mut S,
        drain: impl FnOnce(&mut MessageHandler<'_>),
    ) -> io::Result<PassSummary> {
        let mut run = self.start(sink);
        if !run.has_ended() {
            drain(&mut |message| run.take(message));
        }
        run.finish()
    }

    fn start<'p, S: Sink>(&'p self, sink: &'p mut S) -> PassRun<'p, S> {
        PassRun {
            pass: self,
            is_plain: self.keeps_all_events(),
            selection: self.selection.clone(),
            until: self.until.clone(),
            signal: self.signal.clone(),
            mapper: self.mapping.as_ref().map(EventMapping::mapper),
            sink,
            skip: self.skip.unwrap_or(0),
            left: 0,
            counted: 0,
            rejected: 0,
            counts: PassCounts::default(),
            published: PassCounts::default(),
            latest: LatestTime::default(),
            ended: Ok(PassEnd::Over),
        }
    }
}

/// Pass in progress.
struct PassRun<'p, S> {
    pass: &'p Pass,
    selection: Selection,
    until: Option<Selection>,
    signal: Option<(Selection, Signal)>,
    sink: &'p mut S,
    /// Number of events to skip.
    skip: u64,
    /// Number of events until the next check.
    left: u32,
    /// Value of `left` at the last count.
    counted: u32,
    /// `true` if all events are passed unchanged.
    is_plain: bool,
    mapper: Option<EventMapper>,
    /// Number of rejected events since the last check.
    rejected: u32,
    counts: PassCounts,
    /// Counts that other threads were shown.
    published: PassCounts,
    /// Latest event time so far, for live input.
    latest: LatestTime,
    ended: io::Result<PassEnd>,
}

impl<S: Sink> PassRun<'_, S> {
    /// Returns `true` if the pass ends before the next message, unless the sink stopped it.
    fn has_ended(&self) -> bool {
        self.counts.events >= self.pass.limit || !matches!(self.ended, Ok(PassEnd::Over))
    }

    fn finish(mut self) -> io::Result<PassSummary> {
        self.count();
        Ok(PassSummary { counts: self.counts, end: self.ended? })
    }

    /// Handles a message quickly. Rare work is in `check`.
    #[inline(always)]
    fn take(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        if self.left == 0 || !matches!(message, Message::Event(_)) {
            return self.check(message);
        }
        self.left -= 1;
        if !self.is_plain
            && let Message::Event(event) = message
        {
            if !self.selection.wants_event(event) {
                self.rejected += 1;
                return ControlFlow::Continue(());
            }
            if self.mapper.is_some() {
                return self.pass_on(message);
            }
        }
        match self.sink.message(message) {
            Ok(flow) => flow,
            Err(error) => self.fail(error),
        }
    }

    /// Passes a selected message to the sink, changed if the pass changes events.
    #[inline(never)]
    fn pass_on(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        let passed = match (&mut self.mapper, message) {
            (Some(mapper), Message::Event(event)) => {
                mapper.map(event, &mut |event| self.sink.message(&Message::Event(*event)))
            }
            _ => self.sink.message(message),
        };
        match passed {
            Ok(flow) => flow,
            Err(error) => self.fail(error),
        }
    }

    /// Counts the events since the last check and returns their number.
    fn count(&mut self) -> u32 {
        let events = self.counted - self.left;
        self.counts.events += u64::from(events - std::mem::take(&mut self.rejected));
        self.counted = self.left;
        events
    }

    /// Handles a message with all checks.
    #[inline(never)]
    fn check(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        let events = self.count() + u32::from(matches!(message, Message::Event(_)));
        if let Err(error) = self.sink.step(message, events) {
            return self.fail(error);
        }
        (self.left, self.counted) = (self.pass.stride, self.pass.stride);
        if self.pass.is_stopped() {
            return self.end(Ok(PassEnd::Interrupted));
        }
        if let Message::Inactivity(until) = message {
            self.publish(*until);
            // The next message can take a long time to arrive.
            return match self.sink.flush() {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => self.fail(error),
            };
        }
        let mut message = *message;
        if self.is_skipped(&message) || !self.is_kept(&mut message) || !self.wants(&message)? {
            return ControlFlow::Continue(());
        }
        self.pass_on(&message)?;
        if let (Some((first, _)), Message::Event(event)) = (&mut self.signal, &message)
            && first.wants_event(event)
            && let Some((_, signal)) = self.signal.take()
        {
            (signal.0)();
        }
        if let (Some(until), Message::Event(event)) = (&mut self.until, &message)
            && until.wants_event(event)
        {
            return self.end(Ok(PassEnd::Reached));
        }
        if self.counts.events >= self.pass.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_skipped(&mut self, message: &Message<'_>) -> bool {
        if self.pass.skip.is_none() {
            return false;
        }
        if matches!(message, Message::StreamBegin(_)) {
            return true;
        }
        if self.skip == 0 {
            return false;
        }
        if let Message::Event(event) = message
            && self.selection.wants_event(event)
        {
            self.skip -= 1;
            if self.skip == 0 {
                self.sink.precede(event);
            }
        }
        true
    }

    /// Selects messages of data streams that are unknown before reading, and counts late events.
    fn wants_live(&mut self, message: &Message<'_>) -> bool {
        if !self.pass.is_live {
            return true;
        }
        if let Message::Event(event) = message {
            let is_late = event.clock.is_some_and(|clock| self.latest.note(clock.nanoseconds));
            self.counts.late_events += u64::from(is_late);
        }
        message.stream().is_none_or(|stream| self.selection.wants_stream(&stream.name))
    }

    /// Shows other threads the counts, and the time that all inputs have reached.
    fn publish(&mut self, reached: Option<i128>) {
        if let Some(live) = &self.pass.live_counts {
            live.add(&self.published, &self.counts, reached.max(self.latest.get()));
            self.published = self.counts;
        }
    }

    /// Changes a loss as the pass says. Returns `false` if it is dropped.
    fn is_kept(&self, message: &mut Message<'_>) -> bool {
        self.pass.losses.as_ref().is_none_or(|losses| losses.map(message))
    }

    /// Counts a message. Returns `true` if it is passed to the sink.
    fn wants(&mut self, message: &Message<'_>) -> ControlFlow<(), bool> {
        if !self.selection.wants(message) || !self.wants_live(message) {
            return ControlFlow::Continue(false);
        }
        let counts = &mut self.counts;
        match message {
            Message::Event(_) => counts.events += 1,
            Message::DiscardedEvents(discarded) => {
                counts.discarded_events =
                    counts.discarded_events.saturating_add(discarded.count.unwrap_or(0));
            }
            Message::DiscardedPackets(discarded) => {
                counts.discarded_packets =
                    counts.discarded_packets.saturating_add(discarded.count.unwrap_or(0));
            }
            Message::Damage(damage) => {
                let damage: &Damage = damage;
                if self.pass.is_refused.is_some_and(|is_refused| is_refused(damage)) {
                    return self.end(Ok(PassEnd::Refused(Box::new(damage.clone()))));
                }
                counts.damages += 1;
            }
            _ => {}
        }
        self.publish(None);
        ControlFlow::Continue(true)
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, error: io::Error) -> ControlFlow<()> {
        self.end(Err(error))
    }

    #[inline(never)]
    fn end<T>(&mut self, ended: io::Result<PassEnd>) -> ControlFlow<(), T> {
        self.ended = ended;
        ControlFlow::Break(())
    }
}
