//! CTF traces on disk: directories with a file `metadata` and data stream files.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ichnos_io::{Entry, PacketIndex, PacketIndexes, Tree};
use ichnos_model::cursor::{BoxedCursor, SharedCursorState, SmallCursor};
use ichnos_model::message::Damage;
use ichnos_model::plan::PlanError;
use ichnos_model::trace::{
    Diagnostic, FileDiagnostic, Limits, SplitPoint, StreamSummary, TextPosition, TracerQuirk,
};
use ichnos_model::{Cursor as _, DataStream, OpenedTrace, Trace, TraceClass, Window};

use crate::class_additions::{add_clock_offsets, complete_class, correct_quirks, trace_name};
pub use crate::ctf_options::CtfOptions;
use crate::data_limits::DataLimits;
use crate::lttng_index;
use crate::metadata::{self, Dialect, MetadataOptions, packetized};
use crate::metadata_directory::{MetadataDirectory, directories, index_of, is_metadata, shown};
use crate::quirks::Quirk;
use crate::repeated::{Notices, hidden_data, read_files_once, report_links, without_repetition};
use crate::stack_file::{StackFileError, StackFiles};
use crate::stream_builder::StreamBuilder;
use crate::stream_input::StreamInput;
use crate::writer;

/// An opened CTF trace.
#[derive(Debug)]
pub struct CtfTrace {
    path: String,
    trace: Arc<Trace>,
    /// Metadata dialect.
    pub dialect: Dialect,
    /// `true` if all its metadata is in packets.
    is_packetized: bool,
    diagnostics: Vec<FileDiagnostic>,
    /// Auxiliary stream files.
    auxiliary: Vec<String>,
    /// Data streams in the trace.
    pub streams: Vec<Arc<StreamInput>>,
    damage: Vec<Damage>,
    quirks: Vec<Quirk>,
}

/// Reason why a CTF trace cannot be opened.
#[derive(Clone, Debug)]
pub struct TraceError {
    /// Trace path.
    pub path: String,
    /// Problems, with at least one error. Warnings are also included.
    pub diagnostics: Vec<FileDiagnostic>,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.diagnostics.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for TraceError {}

/// Result of opening a file tree.
#[derive(Debug, Default)]
pub struct OpenResult {
    /// Readable traces, sorted by UUID and path.
    pub traces: Vec<CtfTrace>,
    /// Errors for unreadable traces.
    pub errors: Vec<TraceError>,
    /// Notices about skipped items without a fault, each as a sentence. Examples are items that were already read under
    /// another name, and hidden files that look like data stream files.
    pub notices: Vec<String>,
}

/// Returns `true` if a tree contains CTF traces: a file `metadata` that does not belong to another format.
#[must_use]
pub fn probe(tree: &Tree) -> bool {
    tree.entries.iter().any(is_metadata)
}

/// Returns the files in trace directories, and their packet indexes.
pub(crate) fn own_files(tree: &Tree, files: &[usize]) -> Vec<usize> {
    let entries = || files.iter().filter_map(|index| Some((*index, tree.entries.get(*index)?)));
    let metadata = entries().filter(|(_, entry)| is_metadata(entry));
    let directories: HashSet<&str> = metadata.map(|(_, entry)| entry.directory()).collect();
    let is_own = |entry: &Entry| {
        directories.contains(entry.directory())
            || index_of(entry).is_some_and(|(parent, _)| directories.contains(parent))
    };
    match directories.is_empty() {
        true => Vec::new(),
        false => entries().filter(|(_, entry)| is_own(entry)).map(|(index, _)| index).collect(),
    }
}

/// Opens all CTF traces in some trees, at any depth.
///
/// Directories with equal trace UUIDs, classes, environments and attributes are parts of the same trace, for example
/// rotated sessions or snapshots.
#[must_use]
pub fn open(trees: &[&Tree], options: &CtfOptions) -> OpenResult {
    let mut opened = OpenResult::default();
    let mut found: Vec<TraceDescription> = Vec::new();
    let mut notices = Notices::default();
    let mut all: Vec<MetadataDirectory> = Vec::new();
    for tree in trees {
        let directories = directories(tree, options);
        report_links(tree, &directories, &mut notices);
        opened.notices.extend(directories.iter().filter_map(hidden_data));
        all.extend(directories);
    }
    // Makes the result independent of the tree order.
    all.sort_by(|a, b| a.path.cmp(&b.path));
    for directory in without_repetition(all, &mut notices) {
        match directory.describe(options) {
            Ok(mut description) => {
                let takes_offsets = options.babeltrace.is_some();
                match found.iter_mut().find(|known| known.has_part(&mut description, takes_offsets)) {
                    Some(known) => known.join(description),
                    None => found.push(description),
                }
            }
            Err(error) => opened.errors.push(error),
        }
    }
    for mut description in found {
        read_files_once(&mut description.directories, &mut notices);
        match description.open(options) {
            Ok(trace) => opened.traces.push(trace),
            Err(error) => opened.errors.push(error),
        }
    }
    opened.notices.append(&mut notices.finish());
    opened.traces.sort_by(|a, b| (a.trace.class.uuid, &a.path).cmp(&(b.trace.class.uuid, &b.path)));
    opened
}

/// Returns packet indexes in LTTng's layout for all data stream files in a tree, at any depth.
pub(crate) fn packet_indexes(tree: &Tree, options: &CtfOptions) -> PacketIndexes {
    let mut indexes = PacketIndexes::default();
    for directory in directories(tree, options) {
        match directory.describe(options).and_then(|description| description.index(options)) {
            Ok(mut of_trace) => {
                indexes.files.append(&mut of_trace.files);
                indexes.problems.append(&mut of_trace.problems);
            }
            Err(error) => {
                let what = error.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
                indexes.problems.push(format!("{}: {what}", error.path));
            }
        }
    }
    indexes
}

/// Trace with parsed metadata.
struct TraceDescription<'a> {
    class: TraceClass,
    quirks: Vec<Quirk>,
    limits: Limits,
    dialect: Dialect,
    /// `true` if all metadata is in packets.
    is_packetized: bool,
    diagnostics: Vec<FileDiagnostic>,
    metadata_name: String,
    directories: Vec<MetadataDirectory<'a>>,
}

impl<'a> MetadataDirectory<'a> {
    /// Reads the metadata.
    fn describe(self, options: &CtfOptions) -> Result<TraceDescription<'a>, TraceError> {
        let bytes = match &self.metadata {
            Ok(bytes) => bytes.clone(),
            Err(error) => return Err(self.problem(format!("cannot be read: {error}"))),
        };
        let limits = options.limits.for_metadata(bytes.len() as u64, self.packed);
        let mut metadata_options = MetadataOptions {
            dialect: options.dialect,
            strict: options.strict,
            ignores_unknown_fields: options.babeltrace.is_some(),
            limits,
        };
        let parsed = metadata::parse(&bytes, &metadata_options);
        if !bytes.look_for_loss().is_empty() {
            return Err(self.problem("the file has become shorter while it was read".to_owned()));
        }
        let mut parsed = parsed.map_err(|error| match &self.cut_off {
            // Errors in a truncated text are not faults in the text.
            Some(cause) => self.problem(format!(
                "the metadata is truncated after {} bytes, too few to read it: {cause}; get the archive \
                again",
                bytes.len()
            )),
            None => TraceError { path: self.path.clone(), diagnostics: self.in_metadata(error.diagnostics) },
        })?;
        add_clock_offsets(&mut parsed.trace, options).map_err(|message| self.problem(message))?;
        metadata_options.limits.description_bytes = parsed.left;
        let mut description = TraceDescription {
            class: parsed.trace,
            quirks: Vec::new(),
            limits,
            dialect: parsed.dialect,
            is_packetized: packetized::packet_byte_order(&bytes).is_some(),
            diagnostics: self.in_metadata(parsed.diagnostics),
            metadata_name: self.metadata_name.clone(),
            directories: Vec::new(),
        };
        description.add_auxiliary(&self.auxiliary, self.tree, &mut metadata_options);
        description.limits = metadata_options.limits;
        // The auxiliary streams may name the tracer.
        description.correct(options);
        description.directories.push(self);
        Ok(description)
    }

    /// Reports an error in the metadata as a whole.
    fn problem(&self, message: String) -> TraceError {
        let diagnostic = Diagnostic::error(TextPosition::default(), message);
        TraceError { path: self.path.clone(), diagnostics: self.in_metadata(vec![diagnostic]) }
    }

    /// Adds the file name to metadata diagnostics.
    fn in_metadata(&self, diagnostics: Vec<Diagnostic>) -> Vec<FileDiagnostic> {
        let diagnostics = diagnostics.into_iter();
        diagnostics.map(|diagnostic| FileDiagnostic::new(&*self.metadata_name, diagnostic)).collect()
    }
}

impl<'a> TraceDescription<'a> {
    /// Returns `true` if the other directory is a further part of the same trace. They must have the same UUID, or the
    /// same name and unique identifier (CTF2-SPEC-2.0, "Trace class fragment"). Also, one of them must include all
    /// declarations of the other, because metadata grows while a trace is recorded. Traces may share their metadata
    /// stream and its UUID (CTF2-PROP-2.0, "Trace"), but differ in their environments or attributes.
    fn is_same_trace(&self, other: &Self) -> bool {
        fn identity(class: &TraceClass) -> [&Option<String>; 3] {
            [&class.namespace, &class.name, &class.uid]
        }
        let (a, b) = (&self.class, &other.class);
        let mut pairs = identity(a).into_iter().zip(identity(b));
        let same = match (a.uuid, b.uuid) {
            (Some(a), Some(b)) => a == b && pairs.all(|(a, b)| a.is_none() || b.is_none() || a == b),
            (None, None) => a.name.is_some() && a.uid.is_some() && pairs.all(|(a, b)| a == b),
            _ => false,
        };
        // Only metadata given for files without their own is read several times.
        let given = self.metadata_name == other.metadata_name;
        let is_of_one_run = a.environment == b.environment && a.attributes == b.attributes;
        (same || given) && is_of_one_run && (extends(a, b) || extends(b, a))
    }

    /// Returns `true` if the other directory is a further part of the same trace. With `takes_offsets`, the part may
    /// have other clock offsets, because the clock was set while the trace was recorded. It then gets these offsets.
    fn has_part(&self, other: &mut Self, takes_offsets: bool) -> bool {
        if self.is_same_trace(other) {
            return true;
        }
        if !takes_offsets || self.class.uid != other.class.uid || self.class.uuid != other.class.uuid {
            return false;
        }
        let mut class = other.class.clone();
        for (clock, known) in class.clocks.iter_mut().zip(&self.class.clocks) {
            (clock.offset_seconds, clock.offset_cycles) = (known.offset_seconds, known.offset_cycles);
        }
        std::mem::swap(&mut class, &mut other.class);
        let is_same = self.is_same_trace(other);
        if !is_same {
            other.class = class;
        }
        is_same
    }

    /// Finds known tracer bugs, and corrects their effects on the class.
    fn correct(&mut self, options: &CtfOptions) {
        self.quirks = correct_quirks(&mut self.class, options);
    }

    fn join(&mut self, mut other: Self) {
        if !extends(&self.class, &other.class) {
            std::mem::swap(&mut self.class, &mut other.class);
            self.quirks = other.quirks;
            self.limits = other.limits;
            self.metadata_name = other.metadata_name;
            self.diagnostics = other.diagnostics;
        }
        self.is_packetized &= other.is_packetized;
        self.directories.append(&mut other.directories);
    }

    /// Returns its path below the opened path. Parts in several directories have no path.
    fn path_below(&self) -> Option<&str> {
        match self.directories.as_slice() {
            [only] => Some(&*only.relative).filter(|path| !path.is_empty()),
            _ => None,
        }
    }

    /// Returns the limits for its data streams.
    fn allowed(&self) -> DataLimits {
        let bytes = self.directories.iter().map(|directory| directory.bytes).fold(0, u64::saturating_add);
        let fields = self
            .directories
            .iter()
            .map(|directory| self.limits.fields(directory.bytes, directory.packed_data));
        DataLimits { bits: bytes.saturating_mul(8), fields: fields.fold(0, u64::saturating_add) }
    }

    /// Returns the indexes of its data stream files.
    fn index(mut self, options: &CtfOptions) -> Result<PacketIndexes, TraceError> {
        // A trace always has a directory.
        let path = self.directories.first().map(|directory| directory.path.clone()).unwrap_or_default();
        let class = std::mem::take(&mut self.class);
        let trace = Trace::new(class, "", &self.limits)
            .map_err(|error| plan_error(path, &self.metadata_name, &error))?;
        let trace = Arc::new(trace);
        let builder = StreamBuilder::new(&trace, &self.limits, self.allowed(), options);
        let mut indexes = PacketIndexes::default();
        for directory in &self.directories {
            for entry in &directory.files {
                let name = shown(directory.tree, &entry.path);
                let before = directory.indexes.get(entry.name()).and_then(|index| index.read().ok());
                // If the index cannot be read, a new index is written.
                let before = before.as_deref().unwrap_or_default();
                let index = builder.packets_of(&name, entry).and_then(|(packets, size)| {
                    lttng_index::write(&trace.class, &packets, size, before)
                        .map_err(|error| format!("its packets lack an index: {error}"))
                });
                match index {
                    Ok(bytes) => {
                        let path = match &*directory.relative {
                            "" => format!("index/{}.idx", entry.name()),
                            relative => format!("{relative}/index/{}.idx", entry.name()),
                        };
                        indexes.files.push(PacketIndex::new(path, bytes));
                    }
                    Err(problem) => indexes.problems.push(format!("{name}: {problem}")),
                }
            }
        }
        Ok(indexes)
    }

    fn open(mut self, options: &CtfOptions) -> Result<CtfTrace, TraceError> {
        complete_class(&mut self.class, options, &self.limits);
        let path = match self.directories.as_slice() {
            [only] => only.path.clone(),
            several => common_directory(several.iter().map(|directory| directory.path.as_str())),
        };
        let name = trace_name(&self.class, self.path_below());
        let given_name =
            options.babeltrace.as_ref().map(|rules| trace_name(&self.class, rules.trace_name.as_deref()));
        let allowed = self.allowed();
        let trace = match Trace::with_class_map(self.class, name, &self.limits, options.class_map.as_ref()) {
            Ok(mut trace) => {
                trace.path.clone_from(&path);
                trace.given_name = given_name;
                self.diagnostics.extend(read_stacks(&self.directories, &mut trace, options));
                Arc::new(trace)
            }
            Err(error) => return Err(plan_error(path, &self.metadata_name, &error)),
        };
        let mut builder = StreamBuilder::new(&trace, &self.limits, allowed, options);
        for directory in &self.directories {
            for entry in &directory.files {
                let name = shown(directory.tree, &entry.path);
                let index = directory.indexes.get(entry.name()).filter(|_| options.lttng_index);
                let index = index.map(|index| (shown(directory.tree, &index.path), *index));
                builder.add(name, entry, index);
            }
        }
        let auxiliary = self.directories.iter().filter(|_| self.dialect == Dialect::Prop2);
        let names = |directory: &MetadataDirectory<'_>| -> Vec<String> {
            directory.auxiliary.iter().map(|entry| shown(directory.tree, &entry.path)).collect()
        };
        let auxiliary = auxiliary.flat_map(names).collect();
        let mut diagnostics = self.diagnostics;
        builder.settle_ids();
        builder.report_flaws(self.dialect);
        diagnostics.append(&mut builder.diagnostics);
        let damage = std::mem::take(&mut builder.damage);
        let (mut streams, mut notes) = builder.finish(&self.quirks, options);
        if options.babeltrace.is_some() {
            number_streams(&mut streams);
            streams.iter_mut().filter_map(Arc::get_mut).for_each(drop_equal_entries);
        }
        diagnostics.append(&mut notes);
        Ok(CtfTrace {
            path,
            trace,
            dialect: self.dialect,
            is_packetized: self.is_packetized,
            diagnostics,
            auxiliary,
            streams,
            damage,
            quirks: self.quirks,
        })
    }

    fn add_auxiliary(&mut self, entries: &[&Entry], tree: &Tree, options: &mut MetadataOptions) {
        if self.dialect != Dialect::Prop2 {
            return;
        }
        let mut files = Vec::new();
        let mut texts = Vec::new();
        for entry in entries {
            let file = shown(tree, &entry.path);
            match entry.read() {
                Ok(bytes) => {
                    files.push(file);
                    texts.push(bytes);
                }
                Err(error) => {
                    let message = format!("the auxiliary stream cannot be read: {error}");
                    let diagnostic = Diagnostic::warning(TextPosition::default(), message);
                    self.diagnostics.push(FileDiagnostic::new(file, diagnostic));
                }
            }
        }
        let texts: Vec<&[u8]> = texts.iter().map(|bytes| &**bytes).collect();
        for (i, diagnostic) in metadata::add_auxiliary_streams(&mut self.class, &texts, options) {
            // Each text has its file.
            let file = files.get(i).cloned().unwrap_or_default();
            self.diagnostics.push(FileDiagnostic::new(file, diagnostic));
        }
    }
}

/// Numbers the data streams without an id by their files, as Babeltrace does.
fn number_streams(streams: &mut [Arc<StreamInput>]) {
    let mut unnumbered: Vec<&mut Arc<StreamInput>> =
        streams.iter_mut().filter(|input| input.stream.id.is_none()).collect();
    unnumbered.sort_by(|a, b| a.stream.name.cmp(&b.stream.name));
    for (number, input) in (0u128..).zip(unnumbered) {
        // Nothing shares the new data streams yet.
        if let Some(stream) = Arc::get_mut(input).and_then(|input| Arc::get_mut(&mut input.stream)) {
            stream.id = Some(number);
        }
    }
}

/// Drops packets whose size, times and number equal those of a packet in an earlier file, as Babeltrace does. Their
/// contents can differ.
fn drop_equal_entries(input: &mut StreamInput) {
    if input.files.len() < 2 {
        return;
    }
    let mut files = HashMap::new();
    let mut kept = Vec::with_capacity(input.packets.len());
    for packet in std::mem::take(&mut input.packets) {
        let sequence = packet.sequence().map(|counter| counter.value);
        let key = packet.begin().map(|begin| (begin, packet.end(), packet.total(), sequence));
        let first = key.map(|key| *files.entry(key).or_insert(packet.file));
        match first.is_none_or(|first| first == packet.file) {
            true => kept.push(packet),
            false => input.repeated += 1,
        }
    }
    input.packets = kept.into();
}

/// Reads the call stacks in a trace's directories. Returns their faults.
fn read_stacks(
    directories: &[MetadataDirectory<'_>],
    trace: &mut Trace,
    options: &CtfOptions,
) -> Vec<FileDiagnostic> {
    let mut stacks = StackFiles::default();
    let mut diagnostics = Vec::new();
    let all =
        directories.iter().flat_map(|directory| directory.stacks.iter().map(move |entry| (directory, entry)));
    for (directory, entry) in all {
        let Err(error) = stacks.add(entry, &options.limits) else { continue };
        let diagnostic = Diagnostic::warning(error.position(), error.to_string());
        diagnostics.push(FileDiagnostic::new(shown(directory.tree, &entry.path), diagnostic));
        if error == StackFileError::Conflict {
            return diagnostics;
        }
    }
    // Symbols use the event times, from the first clock.
    let clock = trace.class.clocks.first();
    let offset = clock.map_or(options.clock_offsets.all, |clock| options.clock_offsets.for_clock(clock));
    stacks.finish(trace, offset);
    diagnostics
}

fn plan_error(path: String, metadata_name: &str, error: &PlanError) -> TraceError {
    let diagnostic = metadata::plan_diagnostic(error);
    TraceError { path, diagnostics: vec![FileDiagnostic::new(metadata_name, diagnostic)] }
}

fn common_directory<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let mut common: Option<Vec<&str>> = None;
    for path in paths {
        let parts: Vec<&str> = path.split('/').collect();
        common = Some(match common {
            None => parts,
            Some(before) => {
                before.iter().zip(&parts).take_while(|(a, b)| a == b).map(|(part, _)| *part).collect()
            }
        });
    }
    // Without paths, there is no common directory.
    match common.unwrap_or_default().join("/") {
        nothing if nothing.is_empty() => ".".to_owned(),
        directory => directory,
    }
}

/// Returns `true` if `more` contains all classes of `less`, and is otherwise equal.
fn extends(more: &TraceClass, less: &TraceClass) -> bool {
    more.packet_header == less.packet_header
        && more.clocks == less.clocks
        && less.data_streams.iter().all(|less| {
            more.data_stream(less.id).is_some_and(|more| {
                more.packet_context == less.packet_context
                    && more.event_record_header == less.event_record_header
                    && more.common_context == less.common_context
                    && more.default_clock == less.default_clock
                    && {
                        let classes = more.event_records_by_id();
                        less.event_records.iter().all(|class| classes.get(&class.id) == Some(&class))
                    }
            })
        })
}

impl CtfTrace {
    /// Returns the cursors of [`OpenedTrace::cursors`] for very many data streams, with little memory while they wait.
    /// After [`Cursor::suspend`](ichnos_model::Cursor::suspend), at most `most_open` cursors keep their complete state.
    /// The others restore it, which takes about as long as opening a packet.
    #[must_use]
    pub fn small_cursors(&self, window: Window, most_open: usize) -> Vec<BoxedCursor> {
        let shared = SharedCursorState::new(window, most_open);
        self.streams.iter().map(|stream| SmallCursor::new(stream, &shared).boxed()).collect()
    }
}

impl OpenedTrace for CtfTrace {
    fn format(&self) -> &'static str {
        "ctf"
    }

    fn dialect(&self) -> Option<&'static str> {
        Some(writer::dialect_name(self.dialect, self.is_packetized))
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    fn diagnostics(&self) -> &[FileDiagnostic] {
        &self.diagnostics
    }

    fn auxiliary_files(&self) -> &[String] {
        &self.auxiliary
    }

    fn quirks(&self) -> Vec<TracerQuirk> {
        self.quirks.iter().map(|quirk| (*quirk).into()).collect()
    }

    fn applied_quirks(&self) -> Vec<TracerQuirk> {
        let is_applied =
            |quirk: &&Quirk| self.streams.iter().any(|stream| stream.applied_quirks.contains(**quirk));
        self.quirks.iter().filter(is_applied).map(|quirk| (*quirk).into()).collect()
    }

    fn streams(&self) -> Vec<StreamSummary> {
        self.streams.iter().map(|stream| stream.summary()).collect()
    }

    fn for_each_stream(&self, take: &mut dyn FnMut(StreamSummary)) {
        self.streams.iter().map(|stream| stream.summary()).for_each(take);
    }

    fn data_streams(&self) -> Vec<Arc<DataStream>> {
        self.streams.iter().map(|stream| Arc::clone(&stream.stream)).collect()
    }

    fn packet_cursor(&self, stream: usize, window: Window, packets: Range<u64>) -> Option<BoxedCursor> {
        let input = self.streams.get(stream)?;
        let count = input.packets.len();
        let index = |index: u64| usize::try_from(index).map_or(count, |index| index.min(count));
        let packets = index(packets.start)..index(packets.end);
        if packets == (0..count) {
            return Some(input.cursor(window).boxed());
        }
        input.packets_stand_alone.then(|| input.cursor_of(window, packets).boxed())
    }

    fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn cursors(&self, window: Window) -> Vec<BoxedCursor> {
        /// From this many data streams on, most wait for their time, or lack messages.
        const MANY: usize = 1 << 12;
        if self.streams.len() < MANY {
            return self.streams.iter().map(|stream| stream.cursor(window).boxed()).collect();
        }
        self.small_cursors(window, MANY)
    }

    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        Some(self.streams.get(stream)?.cursor(window).boxed())
    }

    fn split_points(&self, stream: usize, grain: u64) -> Option<Vec<SplitPoint>> {
        self.streams.get(stream)?.split_points(grain)
    }

    fn cursor_from(&self, stream: usize, window: Window, begin: i128) -> Option<BoxedCursor> {
        Some(self.streams.get(stream)?.cursor_from(window, begin).boxed())
    }
}
