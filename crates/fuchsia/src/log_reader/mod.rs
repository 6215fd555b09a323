//! Reads message files as ichnos traces.
//!
//! | format | model |
//! |---|---|
//! | file | data stream |
//! | opened directory or file | trace |
//! | message: record, packet | event record |
//! | argument names and types of a record | event record class, created at its first record |
//! | record header | specific context: `severity`, and `tag` if present |
//! | packet metadata | specific context: `pid`, `tid`, `severity`, `dropped` |
//! | arguments, or tags and message of a packet | payload |
//! | extension: moniker, URL and count | members `$__moniker`, `$__url`, `$__rolled_out` of the payload |
//! | timestamp | clock with 1 GHz and an unknown origin |
//! | `num_dropped`, `dropped_logs`, `rolled_out` | discarded events before the event |
//! | component of a record's tag | members `moniker`, `url` of the [resource](ichnos_model::Scope::Resource) |
//! | meaning of a member | meanings and log role of the class |
//!
//! Events are delivered in place. Bytes between members (argument headers and names) are padding in the class. Data
//! outside the record is delivered as values. Such data is the component named by an earlier control record, and the
//! payload of records beyond
//! [`Limits::dynamic_event_record_classes`](ichnos_model::trace::Limits::dynamic_event_record_classes). These records
//! share one class with an array of arguments.
//!
//! Events are named `log`, `log_control` and `log_packet`. A class id is the hash of its key.
//!
//! Records need not be sorted by time, and are delivered in file order.

pub(crate) mod any;
pub(crate) mod class;
mod components;
mod format;
mod known_classes;
mod log_options;
mod shape;
mod source;
mod text;

use std::sync::{Arc, Mutex};

use ichnos_io::{Bytes, Datagrams, Entry, ReadFile, ReadFiles, Tree};
use ichnos_model::cursor::{BoxedCursor, ResumePoint};
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::message::Damage;
use ichnos_model::plan::PlanError;
use ichnos_model::source::SourceCursor;
use ichnos_model::trace::{StreamSummary, skip_events};
use ichnos_model::{Cursor as _, DataStream, OpenedTrace, Trace, Window};

pub use self::format::FuchsiaLog;
pub use self::log_options::{FuchsiaLogOptions, RecordClock};
use self::source::LogSource;
use crate::log::{Framing, Message, Messages, Record};

/// Returns `true` if a tree contains log files.
#[must_use]
pub fn probe(tree: &Tree, options: &FuchsiaLogOptions) -> bool {
    /// Maximum number of files to examine in a directory.
    const LOOKED_AT: usize = 1_000;
    let is_log = |entry: &&Entry| is_log(entry, tree.entries.len(), options);
    // Hidden files come last, because they sort first and are rarely wanted.
    let is_hidden = |entry: &&Entry| entry.path.split('/').any(|name| name.starts_with('.'));
    let shown = tree.entries.iter().filter(|entry| !is_hidden(entry));
    let all = shown.chain(tree.entries.iter().filter(is_hidden));
    all.filter(|entry| entry.repeats().is_none()).take(LOOKED_AT).any(|entry| is_log(&entry))
}

/// Returns the indexes of the log files in a tree.
pub(crate) fn own_files(tree: &Tree, files: &[usize], options: &FuchsiaLogOptions) -> Vec<usize> {
    let is_own =
        |index: &&usize| tree.entries.get(**index).is_some_and(|entry| is_log(entry, files.len(), options));
    files.iter().filter(is_own).copied().collect()
}

/// Returns `true` if one of `count` files is a log.
fn is_log(entry: &Entry, count: usize, options: &FuchsiaLogOptions) -> bool {
    /// Maximum number of files to examine in full. With more files, only the first bytes of each are examined.
    const FEW: usize = 32;
    const FIRST: usize = 2 << 10;
    let most = if count > FEW { FIRST } else { PROBED + 1 };
    entry.beginning(most).is_ok_and(|bytes| recognize(&bytes, options).is_some())
}

/// Number of bytes to examine for recognition.
const PROBED: usize = 256 << 10;

/// Returns the framing of a file if its start is mostly log messages.
fn recognize(bytes: &[u8], options: &FuchsiaLogOptions) -> Option<Framing> {
    let recognized = Framing::recognize(bytes, true);
    if options.force {
        return Some(recognized.unwrap_or(Framing::Records)).filter(|_| !bytes.is_empty());
    }
    // Log records in traces have the same type.
    if crate::fxt::recognize(bytes) {
        return None;
    }
    let beginning = bytes.get(..PROBED).unwrap_or(bytes);
    // Counts the bytes outside of messages, and checks whether the first bytes are among them.
    let damaged = |framing: &Framing| {
        let mut messages = Messages::new(beginning, *framing);
        let (mut sum, mut begins) = (0, false);
        while let Some(message) = messages.next() {
            sum += match message {
                // The end of a packet is unknown, so bytes after it are not evidence.
                Ok(Message::Legacy(packet)) => {
                    messages.offset().saturating_sub(packet.offset() + packet.size() as u64 + 1)
                }
                Ok(_) => 0,
                Err(damage) => {
                    begins |= damage.offset == 0;
                    damage.skipped
                }
            };
        }
        (sum, begins)
    };
    // Only the last record of a file can be ambiguous between extended and plain.
    let framings = match recognized? {
        // After a single record, nothing shows that the end of an extended record is missing.
        Framing::ExtendedRecords if is_one_record(beginning) => vec![Framing::Records],
        Framing::ExtendedRecords => vec![Framing::ExtendedRecords, Framing::Records],
        framing => vec![framing],
    };
    let found = framings.into_iter().map(|framing| (damaged(&framing), framing));
    let ((damaged, begins_damaged), framing) = found.min_by_key(|(damaged, _)| *damaged)?;
    // A few bytes of any file can look like a message, but rarely the first bytes.
    (!begins_damaged || damaged <= beginning.len() as u64 / 2).then_some(framing)
}

/// Returns `true` if the bytes are exactly one record.
fn is_one_record(bytes: &[u8]) -> bool {
    Record::read(bytes, 0).is_ok_and(|(_, behind)| behind.is_empty())
}

/// A message file.
#[derive(Debug)]
struct LogFile {
    stream: Arc<DataStream>,
    bytes: Bytes,
    framing: Framing,
}

/// Opened logs: a trace with one data stream for each file.
#[derive(Debug)]
pub struct LogTrace {
    path: String,
    trace: Arc<Trace>,
    /// Record time of the clock origin. Never greater than 0.
    clock_begin: i64,
    files: Vec<LogFile>,
    damage: Vec<Damage>,
    options: Arc<FuchsiaLogOptions>,
    /// Datagrams of a live log, for the first cursor.
    live: Mutex<Option<Datagrams>>,
}

impl LogTrace {
    /// Reads messages from arriving datagrams until the reader stops. Only the first cursor gets them.
    ///
    /// # Errors
    /// If the trace class exceeds the limits.
    pub fn listen(datagrams: Datagrams, options: &FuchsiaLogOptions) -> Result<Self, PlanError> {
        let name = datagrams.name().to_owned();
        let trace = Arc::new(new_trace(&name, options, [Framing::Datagrams].into_iter(), 0)?);
        let files = DataStream::new(Arc::clone(&trace), 0, None, name.clone()).map(|stream| LogFile {
            stream: Arc::new(stream),
            bytes: Bytes::default(),
            framing: Framing::Datagrams,
        });
        let files = files.into_iter().collect();
        let live = Mutex::new(Some(datagrams));
        let options = Arc::new(options.clone());
        Ok(Self { path: name, trace, clock_begin: 0, files, damage: Vec::new(), options, live })
    }

    /// Opens all logs in a tree.
    ///
    /// # Errors
    /// If the trace class exceeds the limits.
    pub fn open(tree: &Tree, options: &FuchsiaLogOptions) -> Result<Self, PlanError> {
        let mut read = ReadFiles::default();
        let logs = logs(tree, options, &mut read);
        Self::from_logs(&tree.name, logs, read.damage, options)
    }

    /// Opens all logs in a tree, except those that were read before. Returns `None` if all were read.
    pub(crate) fn open_unread(
        tree: &Tree,
        options: &FuchsiaLogOptions,
        read: &mut ReadFiles,
    ) -> Result<Option<Self>, PlanError> {
        let notices = read.notices.len();
        let logs = logs(tree, options, read);
        let damage = std::mem::take(&mut read.damage);
        let is_repeated = logs.is_empty() && damage.is_empty() && read.notices.len() > notices;
        (!is_repeated).then(|| Self::from_logs(&tree.name, logs, damage, options)).transpose()
    }

    fn from_logs(
        path: &str,
        logs: Vec<ReadFile<Framing>>,
        damage: Vec<Damage>,
        options: &FuchsiaLogOptions,
    ) -> Result<Self, PlanError> {
        let least = logs.iter().map(|log| least_time(&log.bytes, log.form)).min();
        let clock_begin = clock_begin(least.unwrap_or(0));
        let trace = new_trace(path, options, logs.iter().map(|log| log.form), clock_begin)?;
        logs.iter().for_each(|log| options.kept.note(&log.name, &log.bytes));
        let kept = options.kept.trace(path, 0, trace);
        let trace = Arc::clone(kept.trace());
        let file = |(number, log): (usize, ReadFile<Framing>)| {
            let stream = kept.stream(number, 0, None, &log.name)?;
            Some(LogFile { stream, bytes: log.bytes, framing: log.form })
        };
        let files = logs.into_iter().enumerate().filter_map(file).collect();
        let live = Mutex::new(None);
        let options = Arc::new(options.clone());
        Ok(Self { path: path.to_owned(), trace, clock_begin, files, damage, options, live })
    }
}

impl LogTrace {
    /// Returns the messages of a file.
    fn source(&self, file: &LogFile, window: Window) -> LogSource {
        let most = self.options.compiled_classes / self.files.len().max(1);
        let known = (most, self.clock_begin);
        LogSource::new(&file.stream, &file.bytes, file.framing, &self.options, window, known)
    }
}

/// Reads the logs in a tree.
fn logs(tree: &Tree, options: &FuchsiaLogOptions, read: &mut ReadFiles) -> Vec<ReadFile<Framing>> {
    tree.files().filter_map(|entry| read.read(tree, entry, |bytes| recognize(bytes, options))).collect()
}

/// Returns the smallest message time in a file, or 0 without negative times. Reads the whole file only if one of the
/// first messages has a negative time.
fn least_time(bytes: &[u8], framing: Framing) -> i64 {
    let least = |bytes| {
        let times = Messages::new(bytes, framing).flatten().map(|message| match message {
            Message::Record { record, .. } => record.timestamp(),
            Message::Legacy(packet) => packet.timestamp(),
        });
        times.fold(0, i64::min)
    };
    match bytes.get(..PROBED) {
        Some(beginning) if least(beginning) >= 0 => 0,
        _ => least(bytes),
    }
}

/// Returns the clock origin for the smallest time, in whole seconds as far as 64-bit nanoseconds allow.
fn clock_begin(least: i64) -> i64 {
    const SECOND: i64 = 1_000_000_000;
    least.div_euclid(SECOND).max(i64::MIN / SECOND) * SECOND
}

/// Returns a trace for files with these framings. `clock_begin` is the record time of the clock origin.
fn new_trace(
    path: &str,
    options: &FuchsiaLogOptions,
    framings: impl Iterator<Item = Framing>,
    clock_begin: i64,
) -> Result<Trace, PlanError> {
    let mut class = class::trace_class(options, class::dialect(framings));
    if let Some(clock) = class.clocks.first_mut() {
        // Output times have 64 bits.
        let offset = options.clock_offsets.for_clock(clock);
        let begin = offset.saturating_add(clock_begin.into());
        if i64::try_from(offset).is_err() || !clock.add_offset(begin) {
            return Err(PlanError::ClockOffset(clock.id.clone()));
        }
    }
    let mut trace = Trace::with_class_map(class, "", &options.limits, options.class_map.as_ref())?;
    path.clone_into(&mut trace.path);
    let scale = options.severity_scale;
    if let Some(dynamic) = trace.dynamic_classes(0) {
        dynamic.describe_with(move |key| class::class_of(key, scale));
    }
    Ok(trace)
}

impl OpenedTrace for LogTrace {
    fn format(&self) -> &'static str {
        "fuchsia-log"
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    fn streams(&self) -> Vec<StreamSummary> {
        let summary = |file: &LogFile| StreamSummary {
            bytes: file.bytes.len() as u64,
            ..StreamSummary::new(Arc::clone(&file.stream))
        };
        self.files.iter().map(summary).collect()
    }

    fn has_dynamic_classes(&self) -> bool {
        true
    }

    fn reports_invalid_texts(&self) -> bool {
        true
    }

    fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        let file = self.files.get(stream)?;
        let source = self.source(file, window);
        let live = self.live.lock().ignore_poison().take();
        let source = match live {
            Some(live) => source.listen(live),
            None => source,
        };
        let stream = Arc::clone(&file.stream);
        Some(SourceCursor::new(stream, source, window, &self.options.limits).boxed())
    }

    fn cursor_at(&self, stream: usize, place: &ResumePoint, events: u64, _: bool) -> Option<BoxedCursor> {
        let (file, window) = (self.files.get(stream)?, Window::default());
        let source = self.source(file, window).resumed(&self.trace, place)?;
        let (stream, limits) = (Arc::clone(&file.stream), &self.options.limits);
        let mut cursor = SourceCursor::resumed(stream, source, window, limits, |_, _| None);
        skip_events(&mut cursor, events);
        Some(cursor.boxed())
    }
}
