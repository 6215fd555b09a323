//! Logs behind the model of ichnos: files of messages as traces.
//!
//! | format | model |
//! |---|---|
//! | file | data stream |
//! | directory or file that is opened | trace |
//! | message: record, packet | event record |
//! | list of the names and types of a record's arguments | event record class, made when it is met first |
//! | header of a record | specific context: `severity`, and `tag` where there is one |
//! | metadata of a packet | specific context: `pid`, `tid`, `severity`, `dropped` |
//! | arguments; tags and message of a packet | payload |
//! | moniker, URL and count behind an extended record | members `$__moniker`, `$__url`, `$__rolled_out` of the payload |
//! | timestamp | the clock, of 1 GHz, whose origin is unknown |
//! | `num_dropped`, `dropped_logs`, `rolled_out` | discarded events before the event |
//! | component that the tag of a record stands for | members `moniker`, `url` of the [resource](ichnos_model::Scope::Resource) |
//! | what a member means | meanings and log role of the class |
//!
//! Events are delivered where they lie in the file. What lies between the members - headers and names of
//! arguments - is padding of the class. What a record does not hold itself is values: the component that a
//! control record before it named; and the payload when there are more classes than
//! [`Limits::dynamic_event_record_classes`] allows, since all further records are of one class then, whose payload
//! is an array of arguments.
//!
//! Names of events are `log`, `log_control` and `log_packet`. The id of a class is a hash of what makes it.
//!
//! Records need not be in the order of time, and are delivered as they lie: one whose time is before that of an
//! earlier one comes right behind that.

mod any;
pub(crate) mod class;
mod components;
mod cursor;
mod format;
mod shape;
mod text;

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_io::{Bytes, Datagrams, Entry, FileId, Tree};
use ichnos_model::plan::PlanError;
use ichnos_model::{
    BoxedCursor, ClockOffsets, Damage, DamageKind, DataStream, FastCursor, FileDiagnostic, Limits,
    StreamSummary, Trace, TraceInput, TracerQuirk, Window,
};

use self::cursor::LogCursor;
pub use self::format::FuchsiaLog;
use crate::log::{Framing, Message, Messages, SeverityScale};

/// By which clock records were written: they do not say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Clock {
    /// The one that stands still while the system sleeps: before Fuchsia's API level 24.
    #[default]
    Monotonic,
    /// The one that goes on while the system sleeps: since then.
    Boot,
}

/// How to open logs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// By which clock they were written.
    pub clock: Clock,
    /// What the severities of packets stand for.
    pub severity_scale: SeverityScale,
    /// Nanoseconds to add to all times.
    pub clock_offsets: ClockOffsets,
    /// Tell all rules that are broken, not only those that make a record unreadable.
    pub check: bool,
    /// Take files for logs though they do not look like that.
    pub force: bool,
    /// What is refused because it is too much.
    pub limits: Limits,
    /// How many event record classes are kept compiled by all cursors together; what is met again of others
    /// is compiled again. Default: 512, of which each takes up to some thousand bytes.
    pub compiled_classes: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            clock: Clock::default(),
            severity_scale: SeverityScale::default(),
            clock_offsets: ClockOffsets::default(),
            check: false,
            force: false,
            limits: Limits::default(),
            compiled_classes: 512,
        }
    }
}

/// Whether a tree has files of log messages.
#[must_use]
pub fn probe(tree: &Tree, options: &OpenOptions) -> bool {
    /// How many files are looked at in a directory of which nothing is known.
    const LOOKED_AT: usize = 1_000;
    let is_log = |entry: &&Entry| is_log(entry, tree.entries.len(), options);
    // What has a hidden name comes last: it sorts first, and is hardly what the directory is for.
    let is_hidden = |entry: &&Entry| entry.path.split('/').any(|name| name.starts_with('.'));
    let shown = tree.entries.iter().filter(|entry| !is_hidden(entry));
    let all = shown.chain(tree.entries.iter().filter(is_hidden));
    all.filter(|entry| entry.repeats().is_none()).take(LOOKED_AT).any(|entry| is_log(&entry))
}

/// Returns the files of a tree that are logs, by their indexes.
pub(crate) fn own_files(tree: &Tree, files: &[usize], options: &OpenOptions) -> Vec<usize> {
    let is_own =
        |index: &&usize| tree.entries.get(**index).is_some_and(|entry| is_log(entry, files.len(), options));
    files.iter().filter(is_own).copied().collect()
}

/// Returns `true` if one of this number of files is a log.
fn is_log(entry: &Entry, count: usize, options: &OpenOptions) -> bool {
    /// Of more files than this, only the first bytes of each are looked at.
    const FEW: usize = 32;
    const FIRST: usize = 2 << 10;
    let most = if count > FEW { FIRST } else { PROBED + 1 };
    entry.beginning(most).is_ok_and(|bytes| recognise(&bytes, options).is_some())
}

/// How much of a file says whether it is one of log messages, in bytes.
const PROBED: usize = 256 << 10;

/// What a file is, if most of its beginning is log messages.
fn recognise(bytes: &[u8], options: &OpenOptions) -> Option<Framing> {
    let recognised = Framing::recognise(bytes, true);
    if options.force {
        return Some(recognised.unwrap_or(Framing::Records)).filter(|_| !bytes.is_empty());
    }
    let beginning = bytes.get(..PROBED).unwrap_or(bytes);
    // How many bytes are no messages, and are those at the very beginning among them?
    let damaged = |framing: &Framing| {
        let mut messages = Messages::new(beginning, *framing);
        let (mut sum, mut begins) = (0, false);
        while let Some(message) = messages.next() {
            sum += match message {
                // What is behind its end is unknown, and so is no evidence.
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
    // The last record of a file may be extended or not: that says nothing of those before.
    let framings = match recognised? {
        Framing::ExtendedRecords => vec![Framing::ExtendedRecords, Framing::Records],
        framing => vec![framing],
    };
    let found = framings.into_iter().map(|framing| (damaged(&framing), framing));
    let ((damaged, begins_damaged), framing) = found.min_by_key(|(damaged, _)| *damaged)?;
    // A few bytes of a file of anything may look like a message, but hardly the first ones.
    (!begins_damaged || damaged <= beginning.len() as u64 / 2).then_some(framing)
}

/// A file of messages.
#[derive(Debug)]
struct LogFile {
    stream: Arc<DataStream>,
    bytes: Bytes,
    framing: Framing,
}

/// Which files were read, whatever their names are.
#[derive(Debug, Default)]
pub struct ReadFiles {
    /// By which name.
    names: HashMap<FileId, String>,
}

/// Logs that were opened: a trace with a data stream for each file.
#[derive(Debug)]
pub struct LogTrace {
    path: String,
    trace: Arc<Trace>,
    files: Vec<LogFile>,
    damage: Vec<Damage>,
    notices: Vec<String>,
    options: Arc<OpenOptions>,
    /// Datagrams that are still to come, for the first one who asks.
    live: Mutex<Option<Datagrams>>,
}

impl LogTrace {
    /// The messages that arrive as datagrams, until no more are wanted. Only the first cursor gets them.
    ///
    /// # Errors
    /// If the class of the trace exceeds the limits.
    pub fn listen(datagrams: Datagrams, options: &OpenOptions) -> Result<Self, PlanError> {
        let name = datagrams.name().to_owned();
        let trace = new_trace(&name, options, [Framing::Datagrams].into_iter())?;
        let files = DataStream::new(Arc::clone(&trace), 0, None, name.clone()).map(|stream| LogFile {
            stream: Arc::new(stream),
            bytes: Bytes::default(),
            framing: Framing::Datagrams,
        });
        let files = files.into_iter().collect();
        let live = Mutex::new(Some(datagrams));
        let options = Arc::new(options.clone());
        Ok(Self { path: name, trace, files, damage: Vec::new(), notices: Vec::new(), options, live })
    }

    /// Opens all logs of a tree.
    ///
    /// # Errors
    /// If the class of the trace exceeds the limits.
    pub fn open(tree: &Tree, options: &OpenOptions) -> Result<Self, PlanError> {
        Self::open_unread(tree, options, &mut ReadFiles::default())
    }

    /// Opens all logs of a tree but those that were read before, of this tree or of others, and notes
    /// what is read.
    ///
    /// # Errors
    /// If the class of the trace exceeds the limits.
    pub fn open_unread(tree: &Tree, options: &OpenOptions, read: &mut ReadFiles) -> Result<Self, PlanError> {
        let mut found = Vec::new();
        let mut damage = Vec::new();
        let mut notices = Vec::new();
        for entry in tree.entries.iter().filter(|entry| entry.repeats().is_none()) {
            let name = stream_name(tree, entry);
            let status = entry.status();
            let identity = status.and_then(|status| status.identity);
            let bytes = match entry.read() {
                Ok(bytes) => bytes,
                Err(error) => {
                    damage.push(Damage {
                        file: name,
                        stream: None,
                        bit: 0,
                        kind: match entry.special() {
                            Some(found) => DamageKind::NotAFile(found),
                            None => DamageKind::Unreadable(error.to_string()),
                        },
                        skipped: 0,
                    });
                    continue;
                }
            };
            if let Some(framing) = recognise(&bytes, options) {
                if let Some(identity) = identity {
                    match read.names.entry(identity) {
                        MapEntry::Occupied(first) => {
                            let first = first.get();
                            notices.push(match *first == name {
                                true => format!("{name}: this file is given more than once: it is read once"),
                                false => format!("{name}: this is the same file as {first}: it is read once"),
                            });
                            continue;
                        }
                        MapEntry::Vacant(place) => drop(place.insert(name.clone())),
                    }
                }
                found.push((name, bytes, framing));
            }
        }
        let trace = new_trace(&tree.name, options, found.iter().map(|(.., framing)| *framing))?;
        let file = |(name, bytes, framing)| {
            let stream = DataStream::new(Arc::clone(&trace), 0, None, name)?;
            Some(LogFile { stream: Arc::new(stream), bytes, framing })
        };
        let files = found.into_iter().filter_map(file).collect();
        let live = Mutex::new(None);
        let options = Arc::new(options.clone());
        Ok(Self { path: tree.name.clone(), trace, files, damage, notices, options, live })
    }
}

impl LogTrace {
    /// Whether there is nothing in it since all of its logs were read before.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.files.is_empty() && self.damage.is_empty() && !self.notices.is_empty()
    }

    /// What was left out though nothing is wrong with it, a sentence each: further names of a file.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

/// A trace of files of these framings.
fn new_trace(
    path: &str,
    options: &OpenOptions,
    framings: impl Iterator<Item = Framing>,
) -> Result<Arc<Trace>, PlanError> {
    let mut class = class::trace_class(options, class::dialect(framings));
    if let Some(clock) = class.clocks.first_mut() {
        // Times are numbers of 64 bits, wherever they are written.
        let offset = options.clock_offsets.of(clock);
        if i64::try_from(offset).is_err() || !clock.add_offset(offset) {
            return Err(PlanError::ClockOffset(clock.id.clone()));
        }
    }
    let mut trace = Trace::new(class, "", &options.limits)?;
    path.clone_into(&mut trace.path);
    let scale = options.severity_scale;
    if let Some(dynamic) = trace.dynamic_classes(0) {
        dynamic.describe_with(move |key| class::class_of(key, scale));
    }
    Ok(Arc::new(trace))
}

/// The path of a file, as far as the tree knows it.
fn stream_name(tree: &Tree, entry: &Entry) -> String {
    let is_itself = tree.name.rsplit('/').next() == Some(&*entry.path);
    if is_itself { tree.name.clone() } else { format!("{}/{}", tree.name.trim_end_matches('/'), entry.path) }
}

impl TraceInput for LogTrace {
    fn format(&self) -> &'static str {
        "fuchsia-log"
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    fn diagnostics(&self) -> &[FileDiagnostic] {
        &[]
    }

    fn quirks(&self) -> Vec<TracerQuirk> {
        Vec::new()
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

    fn cursors(&self, window: Window) -> Vec<BoxedCursor> {
        (0..self.files.len()).filter_map(|stream| self.cursor(stream, window)).collect()
    }

    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        let file = self.files.get(stream)?;
        let most = self.options.compiled_classes / self.files.len().max(1);
        let cursor = LogCursor::new(&file.stream, &file.bytes, file.framing, &self.options, window, most);
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
        let cursor = match live {
            Some(live) => cursor.listen(live),
            None => cursor,
        };
        Some(cursor.boxed_fast())
    }
}
