//! Creates traces from values or from existing events.
//!
//! [`create`] starts a trace. Its clocks, data streams and classes can be declared in any order while it is written.
//! An event record class becomes part of the metadata when the first packet with its events is written.
//!
#![cfg_attr(feature = "ctf", doc = "```")]
#![cfg_attr(not(feature = "ctf"), doc = "```ignore")]
//! use ichnos::create::{CreateOptions, create};
//! use ichnos::model::class::{FieldClass, Member};
//! use ichnos::model::clock::ClockClass;
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("trace");
//! let trace = create(&path, &CreateOptions::default())?;
//! let clock = trace.clock(ClockClass::since_unix_epoch("wall"))?;
//! let cpu = trace.stream("cpu0", Some(&clock))?;
//! let members = [Member::new("prev_tid", FieldClass::signed(32)), Member::new("comm", FieldClass::string())];
//! let mut switch = cpu.declare("sched_switch", members)?;
//! switch.set("prev_tid", 7)?.set("comm", "init")?.write(1_000)?;
//! assert_eq!(
//!     switch.set("prev_tid", 1u64 << 40)?.set("comm", "x")?.write(1_001).unwrap_err().to_string(),
//!     "payload member `prev_tid`: expected at most 32 bits, found 1099511627776"
//! );
//! let written = trace.finish()?;
//! assert_eq!((written.events, written.packets), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Durability
//! Events are collected in packets. A packet is written when it reaches the size [`CreateOptions::packet_size`]. It
//! is also written when it reaches the age [`CreateOptions::packet_age`] and another event of its data stream is
//! written, and by [`Writer::flush`] and [`StreamWriter::flush`]. Written packets stay readable even if the process
//! is killed. Only the content of open packets is lost. A system crash can lose more, because files are not synced to
//! the disk.
//!
//! A format with a global event order has one file and no packets. The events of all data streams must be sorted by
//! time, and blocks are written instead of packets.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use ichnos_io::{
    CreateError, Lane, MessageOrder, Output, Worker, WriteOptions, WriteReport, WriteSource, WriteTarget,
};
use ichnos_model::class::{DataStreamClass, DynamicClass, EventRecordClass, FieldClass, Member, Uuid, Value};
use ichnos_model::clock::{ClockClass, ClockValue};
use ichnos_model::event::{BuildError, EventBuilder, EventValues, Scopes};
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::plan::PlanError;
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Event, Message, Trace, TraceClass};

mod event_writer;

pub use event_writer::EventWriter;

/// Options for a new trace.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CreateOptions {
    /// Format name. `None` to use the extension of the path, or CTF for an unknown extension.
    pub format: Option<String>,
    /// Dialect name. `None` for the default of the format.
    pub dialect: Option<String>,
    /// Approximate maximum packet size in bytes. `None` for the default of the format.
    pub packet_size: Option<u64>,
    /// Maximum packet age in real time. It is checked when an event is written.
    pub packet_age: Option<Duration>,
    /// Write in place, so that the trace can be read at any time, even if the program is killed. Otherwise the trace
    /// appears at the path when it is finished.
    pub live: bool,
    /// Write packet indexes when the trace is finished.
    pub index: bool,
    /// Name of the trace.
    pub name: Option<String>,
    /// UUID of the trace.
    pub uuid: Option<Uuid>,
    /// Environment of the trace, in order.
    pub environment: Vec<(String, Value)>,
    /// Class limits.
    pub limits: Limits,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self {
            format: None,
            dialect: None,
            packet_size: None,
            packet_age: None,
            live: true,
            index: false,
            name: None,
            uuid: None,
            environment: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// Error of a trace writer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The trace cannot be written with these options.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The format is unknown or cannot be written.
    #[error("no writable format {0}")]
    Format(String),
    /// A class cannot be compiled.
    #[error(transparent)]
    Class(#[from] PlanError),
    /// A value does not fit.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The values contradict each other, for example the length of an array and its elements.
    #[error("invalid event: {0}")]
    Event(String),
    /// A packet could not be written. Its events are lost. Readers detect the missing packet by its sequence number,
    /// if there is one. Writing can continue.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The event is earlier than the previous event of its data stream, or of the trace if the format has a global
    /// event order.
    #[error("time {time} is before {last}, the time of the last event{}", if *of_trace { "" } else { " of the data stream" })]
    Time {
        /// Time of the event, in cycles.
        time: u64,
        /// Time of the last event, in cycles.
        last: u64,
        /// `true` if the last event is the last of all data streams.
        of_trace: bool,
    },
    /// Event without a time in a data stream with a clock.
    #[error("the event lacks a time, but its data stream has a clock")]
    NoTime,
    /// The event has a time, but the data stream has no clock.
    #[error("the event has a time, but its data stream lacks a clock")]
    NoClock,
    /// Another clock already has this id.
    #[error("duplicate clock `{0}`")]
    ClockId(String),
    /// The number of clocks or event record classes has reached its limit.
    #[error("too many {0}")]
    TooMany(&'static str),
    /// A class or a clock belongs to another trace, or to another data stream class.
    #[error("the {0} belongs to another trace or data stream class")]
    Foreign(&'static str),
    /// The trace was finished.
    #[error("the trace is finished")]
    Finished,
}

/// Starts a trace at a path.
///
/// # Errors
/// If the trace cannot be written there, or not with these options.
pub fn create(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Writer, WriteError> {
    let path = path.as_ref();
    let format = options.format.as_deref();
    let dialect = options.dialect.as_deref();
    let target = |path| crate::convert::target(format, path, dialect);
    let found = target(path).or_else(|| format.map_or_else(|| target(Path::new("")), |_| None));
    let shown = || options.format.clone().unwrap_or_else(|| format!("for `{}`", path.display()));
    let writer = found.ok_or_else(|| WriteError::Format(shown()))?.writer;
    let mut class = TraceClass::new("", [], []);
    class.name.clone_from(&options.name);
    class.uuid = options.uuid;
    class.environment.clone_from(&options.environment);
    let trace = Arc::new(named(class.clone(), path, &options.limits)?);
    let mut write = WriteOptions::default();
    write.dialect.clone_from(&options.dialect);
    write.packet_size = options.packet_size;
    write.index = options.index;
    write.limits = options.limits;
    write.must_fit = true;
    let target = if options.live { WriteTarget::Live } else { WriteTarget::Complete };
    let source = WriteSource { trace, format: "", has_dynamic_classes: true, streams: Vec::new() };
    let output = writer.create(target(path.to_owned()), vec![source], &write)?;
    // With a global event order, all events go through one encoder.
    let merged = (writer.order() == MessageOrder::Merged)
        .then(|| Arc::new(Mutex::new(WriterState::new(output.worker(Lane::All)))));
    let shared = SharedTrace {
        streams: Mutex::new(Some(merged.iter().cloned().collect())),
        merged,
        output: RwLock::new(Some(output)),
        classes: Mutex::new(DeclaredClasses { class, next_stream_class: 0 }),
        path: path.to_string_lossy().into_owned(),
        packet_age: options.packet_age,
        limits: options.limits,
    };
    Ok(Writer { shared: Arc::new(shared), is_live: options.live })
}

fn named(class: TraceClass, path: &Path, limits: &Limits) -> Result<Trace, PlanError> {
    let mut trace = Trace::new(class, "", limits)?;
    trace.path = path.to_string_lossy().into_owned();
    Ok(trace)
}

/// Writer of a trace.
///
/// Several threads can use it and its data streams. If it is dropped without [`Writer::finish`], a live trace is
/// completed as far as possible, and other traces do not appear.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<SharedTrace>,
    is_live: bool,
}

/// Clock of a written trace.
#[derive(Clone, Debug)]
pub struct Clock {
    shared: Arc<SharedTrace>,
    index: u16,
}

/// Data stream class of a written trace.
#[derive(Clone, Debug)]
pub struct StreamClass {
    shared: Arc<SharedTrace>,
    /// Trace with the clocks declared before the class, and only this data stream class.
    trace: Arc<Trace>,
    classes: Arc<Mutex<EventClasses>>,
}

/// Event record class of a written trace.
#[derive(Clone, Debug)]
pub struct EventClass {
    /// Trace of its data stream class.
    trace: Arc<Trace>,
    class: Arc<DynamicClass>,
}

/// Writer of a data stream.
#[derive(Clone, Debug)]
pub struct StreamWriter {
    class: StreamClass,
    stream: Arc<DataStream>,
    state: Arc<Mutex<WriterState>>,
}

/// State shared by all parts of a trace.
struct SharedTrace {
    /// `None` after the trace is finished.
    output: RwLock<Option<Box<dyn Output>>>,
    classes: Mutex<DeclaredClasses>,
    /// `None` after the trace is finished.
    streams: Mutex<Option<Vec<Arc<Mutex<WriterState>>>>>,
    /// State of all data streams, if the format has a global event order.
    merged: Option<Arc<Mutex<WriterState>>>,
    path: String,
    packet_age: Option<Duration>,
    limits: Limits,
}

/// Declared classes without event record classes.
#[derive(Debug)]
struct DeclaredClasses {
    /// Trace class without data stream classes.
    class: TraceClass,
    next_stream_class: u128,
}

/// Event record classes of a data stream class.
#[derive(Debug, Default)]
struct EventClasses {
    next_id: u128,
    /// Classes of copied events, by the address of the original class. The original is kept alive so that its address
    /// stays valid.
    copied: HashMap<usize, (Arc<EventRecordClass>, EventClass)>,
}

/// State of one data stream, or of all data streams.
struct WriterState {
    /// `None` after the end.
    encoder: Option<Box<dyn Worker + Send>>,
    /// Time at which the first event of the open packet was written. `None` without an open packet.
    opened: Option<Instant>,
    /// Time of the last event.
    last: Option<ClockValue>,
    /// Buffer for copied events.
    values: EventValues,
}

impl WriterState {
    fn new(encoder: Box<dyn Worker + Send>) -> Self {
        Self { encoder: Some(encoder), opened: None, last: None, values: EventValues::default() }
    }
}

impl std::fmt::Debug for SharedTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedTrace").field("path", &self.path).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WriterState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriterState").field("last", &self.last).finish_non_exhaustive()
    }
}

impl Writer {
    /// Declares a clock.
    ///
    /// # Errors
    /// If a clock with its id exists, or there are 65,536 clocks already.
    pub fn clock(&self, class: ClockClass) -> Result<Clock, WriteError> {
        let mut classes = self.shared.classes.lock().ignore_poison();
        if classes.class.clocks.iter().any(|known| known.id == class.id) {
            return Err(WriteError::ClockId(class.id));
        }
        let index = u16::try_from(classes.class.clocks.len()).map_err(|_| WriteError::TooMany("clocks"))?;
        classes.class.clocks.push(class);
        Ok(Clock { shared: Arc::clone(&self.shared), index })
    }

    /// Declares a data stream class. Its data streams use `clock`, and `members` are the common context of its
    /// events.
    ///
    /// # Errors
    /// If the clock belongs to another trace, or if the class cannot be compiled.
    pub fn stream_class(
        &self,
        clock: Option<&Clock>,
        common_context: impl IntoIterator<Item = Member>,
    ) -> Result<StreamClass, WriteError> {
        if clock.is_some_and(|clock| !Arc::ptr_eq(&clock.shared, &self.shared)) {
            return Err(WriteError::Foreign("clock"));
        }
        let members: Vec<Member> = common_context.into_iter().collect();
        let mut class = DataStreamClass::new(clock.map(|clock| clock.index), []);
        if !members.is_empty() {
            class.common_context = Some(Arc::new(FieldClass::structure(members)));
        }
        self.add_stream_class(class)
    }

    fn add_stream_class(&self, mut class: DataStreamClass) -> Result<StreamClass, WriteError> {
        let mut classes = self.shared.classes.lock().ignore_poison();
        class.id = classes.next_stream_class;
        let mut trace = classes.class.clone();
        trace.data_streams.push(class);
        let trace = Arc::new(named(trace, Path::new(&self.shared.path), &self.shared.limits)?);
        classes.next_stream_class += 1;
        Ok(StreamClass { shared: Arc::clone(&self.shared), trace, classes: Arc::default() })
    }

    /// Starts a data stream with its own class. Data streams that record the same data on several processors or
    /// threads should share a [class](Self::stream_class).
    ///
    /// # Errors
    /// See [`Self::stream_class`] and [`StreamClass::stream`].
    pub fn stream(&self, name: &str, clock: Option<&Clock>) -> Result<StreamWriter, WriteError> {
        self.stream_class(clock, [])?.stream(name)
    }

    /// Starts a data stream for the events of an opened data stream, with the same clock and common context. Other
    /// packet content is not copied. [`StreamWriter::copy`] writes the events.
    ///
    /// # Errors
    /// If the common context refers to packet or event record header fields, or the format does not support it.
    pub fn stream_like(&self, stream: &DataStream) -> Result<StreamWriter, WriteError> {
        let source = stream.class();
        let clock = match stream.clock() {
            None => None,
            Some(clock) => {
                let mut classes = self.shared.classes.lock().ignore_poison();
                let known = classes.class.clocks.iter().position(|known| known == clock);
                let index = known.unwrap_or(classes.class.clocks.len());
                if known.is_none() {
                    if let Some(other) = classes.class.clocks.iter().find(|known| known.id == clock.id) {
                        return Err(WriteError::ClockId(other.id.clone()));
                    }
                    classes.class.clocks.push(clock.clone());
                }
                Some(u16::try_from(index).map_err(|_| WriteError::TooMany("clocks"))?)
            }
        };
        let class = DataStreamClass {
            default_clock: clock,
            other_clocks: Vec::new(),
            packet_context: None,
            event_record_header: None,
            event_records: Vec::new(),
            ..source.clone()
        };
        let name = stream.name.rsplit(['/', '\\']).next().unwrap_or_default();
        self.add_stream_class(class)?.stream(name)
    }

    /// Writes the open packets of all data streams. All earlier events then stay readable, even if the program is
    /// killed.
    ///
    /// # Errors
    /// If something cannot be written. The other data streams are still flushed.
    pub fn flush(&self) -> Result<(), WriteError> {
        let streams = self.shared.streams.lock().ignore_poison().clone().ok_or(WriteError::Finished)?;
        let mut result = Ok(());
        for stream in streams {
            let flushed = self.shared.flush(&mut stream.lock().ignore_poison());
            result = result.and(flushed);
        }
        result
    }

    /// Completes the trace. Its data streams can no longer be written.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn finish(self) -> Result<WriteReport, WriteError> {
        self.shared.finish()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.is_live {
            // `drop` cannot return an error.
            let _ = self.shared.finish();
        } else {
            drop(self.shared.output.write().ignore_poison().take());
        }
    }
}

impl SharedTrace {
    /// Passes encoder blocks to the output. Returns `false` if there are no blocks.
    fn write(&self, encoder: &mut dyn Worker) -> Result<bool, WriteError> {
        let output = self.output.read().ignore_poison();
        let output = output.as_ref().ok_or(WriteError::Finished)?;
        let mut result = Ok(false);
        while let Some(block) = encoder.take() {
            let joined = output.join(block);
            result = result.and_then(|_| joined.map(|_| true));
        }
        Ok(result?)
    }

    fn flush(&self, state: &mut WriterState) -> Result<(), WriteError> {
        let encoder = state.encoder.as_mut().ok_or(WriteError::Finished)?;
        state.opened = None;
        let flushed = encoder.flush();
        self.write(&mut **encoder)?;
        Ok(flushed?)
    }

    fn finish(&self) -> Result<WriteReport, WriteError> {
        let streams = self.streams.lock().ignore_poison().take().ok_or(WriteError::Finished)?;
        let mut result = Ok(());
        for stream in streams {
            let Some(mut encoder) = stream.lock().ignore_poison().encoder.take() else { continue };
            let finished = encoder.finish();
            let written = self.write(&mut *encoder);
            result = result.and(finished.map_err(WriteError::from)).and(written.map(|_| ()));
        }
        let output = self.output.write().ignore_poison().take();
        // The trace is completed even if a packet could not be written. That error is reported.
        let finished = output.ok_or(WriteError::Finished)?.finish();
        result?;
        Ok(finished?)
    }
}

impl StreamClass {
    /// Declares an event record class with these payload members.
    ///
    /// # Errors
    /// See [`Self::event_class_of`].
    pub fn event_class(
        &self,
        name: &str,
        members: impl IntoIterator<Item = Member>,
    ) -> Result<EventClass, WriteError> {
        self.event_class_of(EventRecordClass::new(name, members))
    }

    /// Declares an event record class with all its properties. Its id is assigned. Its fields must only refer to each
    /// other.
    ///
    /// # Errors
    /// If the class cannot be compiled, or a limit is reached.
    pub fn event_class_of(&self, class: EventRecordClass) -> Result<EventClass, WriteError> {
        let mut classes = self.classes.lock().ignore_poison();
        self.add_event_class(&mut classes, class)
    }

    fn add_event_class(
        &self,
        classes: &mut EventClasses,
        mut class: EventRecordClass,
    ) -> Result<EventClass, WriteError> {
        let too_many = || WriteError::TooMany("event record classes");
        class.id = classes.next_id;
        let dynamic = self.trace.dynamic_classes(0).ok_or_else(too_many)?;
        let class = dynamic.intern(&class.id.to_le_bytes(), || class)?.ok_or_else(too_many)?;
        classes.next_id += 1;
        Ok(EventClass { trace: Arc::clone(&self.trace), class })
    }

    /// Starts a data stream of the class. Its file gets its name, changed if another file has that name.
    ///
    /// # Errors
    /// If the format does not support it, or if the trace is finished.
    pub fn stream(&self, name: &str) -> Result<StreamWriter, WriteError> {
        let stream = DataStream::new(Arc::clone(&self.trace), 0, None, name);
        let stream = Arc::new(stream.ok_or(WriteError::Foreign("data stream class"))?);
        let output = self.shared.output.read().ignore_poison();
        let output = output.as_ref().ok_or(WriteError::Finished)?;
        let number = output.add_stream(0, Arc::clone(&stream))?;
        if let Some(merged) = &self.shared.merged {
            return Ok(StreamWriter { class: self.clone(), stream, state: Arc::clone(merged) });
        }
        let encoder = output.worker(Lane::Stream { source: 0, stream: number });
        let state = Arc::new(Mutex::new(WriterState::new(encoder)));
        self.shared
            .streams
            .lock()
            .ignore_poison()
            .as_mut()
            .ok_or(WriteError::Finished)?
            .push(Arc::clone(&state));
        Ok(StreamWriter { class: self.clone(), stream, state })
    }

    /// Returns the class of an opened event. The first event of a class declares it.
    fn class_of(&self, event: &Event<'_>) -> Result<EventClass, WriteError> {
        let mut classes = self.classes.lock().ignore_poison();
        let key = Arc::as_ptr(&event.plans().class) as usize;
        if let Some((_, known)) = classes.copied.get(&key) {
            return Ok(known.clone());
        }
        let class = self.add_event_class(&mut classes, (*event.plans().class).clone())?;
        classes.copied.insert(key, (Arc::clone(&event.plans().class), class.clone()));
        Ok(class)
    }
}

impl StreamWriter {
    /// Returns the data stream class, for more event record classes and data streams.
    #[must_use]
    pub fn class(&self) -> &StreamClass {
        &self.class
    }

    /// Creates a writer for events of a class.
    ///
    /// # Errors
    /// If the event class belongs to another data stream class.
    pub fn event(&self, class: &EventClass) -> Result<EventWriter, WriteError> {
        let foreign = || WriteError::Foreign("event record class");
        if !Arc::ptr_eq(&class.trace, &self.class.trace) {
            return Err(foreign());
        }
        let builder = EventBuilder::dynamic(Arc::clone(&self.stream), Arc::clone(&class.class));
        Ok(EventWriter::new(self.clone(), builder.ok_or_else(foreign)?))
    }

    /// Declares an event record class and creates a writer for it: [`StreamClass::event_class`] and [`Self::event`].
    ///
    /// # Errors
    /// See [`StreamClass::event_class_of`].
    pub fn declare(
        &self,
        name: &str,
        members: impl IntoIterator<Item = Member>,
    ) -> Result<EventWriter, WriteError> {
        self.event(&self.class.event_class(name, members)?)
    }

    /// Copies an event from a data stream with the same common context and the same clock: see
    /// [`Writer::stream_like`]. The first event of a class declares it.
    ///
    /// # Errors
    /// If the event does not fit, and the errors of [`EventWriter::write`].
    pub fn copy(&self, event: &Event<'_>) -> Result<(), WriteError> {
        let (own, other) = (self.stream.class(), event.stream.class());
        if own.common_context != other.common_context || own.resource != other.resource {
            return Err(WriteError::Foreign("event"));
        }
        if event.stream.clock() != self.stream.clock() {
            return Err(WriteError::Foreign("clock of the event"));
        }
        self.check_clock(event.clock.map(|clock| clock.cycles))?;
        let class = self.class.class_of(event)?;
        let mut state = self.state.lock().ignore_poison();
        let mut values = std::mem::take(&mut state.values);
        let result = match values.copy_from(event) {
            Ok(()) => {
                let scopes = Scopes::from_values(&values);
                let event = Event::new(&self.stream, &class.class.plans, event.clock, scopes);
                self.write(&mut state, event)
            }
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string()).into()),
        };
        state.values = values;
        result
    }

    /// Writes the open packet: see [`Writer::flush`].
    ///
    /// # Errors
    /// If the packet cannot be written.
    pub fn flush(&self) -> Result<(), WriteError> {
        self.class.shared.flush(&mut self.state.lock().ignore_poison())
    }

    /// Checks that an event has a time exactly if the data stream has a clock.
    fn check_clock(&self, cycles: Option<u64>) -> Result<(), WriteError> {
        match (self.stream.clock(), cycles) {
            (Some(_), None) => Err(WriteError::NoTime),
            (None, Some(_)) => Err(WriteError::NoClock),
            _ => Ok(()),
        }
    }

    fn write(&self, state: &mut WriterState, event: Event<'_>) -> Result<(), WriteError> {
        let shared = &*self.class.shared;
        let of_trace = shared.merged.is_some();
        if let (Some(time), Some(last)) = (event.clock, state.last)
            // Data streams of a trace can have different clocks.
            && if of_trace { time.nanoseconds < last.nanoseconds } else { time.cycles < last.cycles }
        {
            return Err(WriteError::Time { time: time.cycles, last: last.cycles, of_trace });
        }
        let now = shared.packet_age.map(|_| Instant::now());
        if let (Some(age), Some(now), Some(opened)) = (shared.packet_age, now, state.opened)
            && now.saturating_duration_since(opened) >= age
        {
            shared.flush(state)?;
        }
        let encoder = state.encoder.as_mut().ok_or(WriteError::Finished)?;
        encoder.message(&Message::Event(event)).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => WriteError::Event(error.to_string()),
            _ => error.into(),
        })?;
        state.last = event.clock.copied().or(state.last);
        if state.opened.is_none() {
            state.opened = now;
        }
        if shared.write(&mut **encoder)? {
            // The event is the first of the next packet.
            state.opened = now;
        }
        Ok(())
    }
}
