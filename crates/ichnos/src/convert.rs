//! Writes opened traces: conversions between formats, and parts of traces.

mod live_traces;
#[cfg(feature = "otlp")]
mod otlp_push;
#[cfg(feature = "table")]
mod parquet_layouts;
mod part_times;
mod part_values;
mod split;
#[cfg(feature = "otlp")]
mod telemetry_worker;
mod text_file_writer;
mod viewer_file;
mod viewer_formats;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos_io::{
    CreateError, MessageOrder, OptionValue, Output, OutputConflict, SentCounts, Verify, WriteOptions,
    WriteReport, WriteSource, WriteTarget, WriterFactory,
};
use ichnos_model::lower::LossTable;
use ichnos_model::message::Damage;
use ichnos_model::trace::{FileDiagnostic, Severity};
use ichnos_model::{OpenedTrace, Window};

use crate::format::formats;
use crate::pass::StreamOptions;
use crate::shard_parts::ShardParts;
use crate::verify::{DamageObserver, InputDamage, OutputRules, verify};
use crate::{OutputKind, Pass, PassEnd, PassObserver, PassOptions, PassSummary, Reader};
pub use ichnos_viewers::NoSpans;
pub use part_times::{PartTimes, PartTimesError};
pub use part_values::PartValues;
pub use split::SplitTargets;
pub use text_file_writer::TextFileWriter;
pub use viewer_formats::{VIEWER_FORMATS, ViewerFormat};

/// Options of [`Reader::convert`] and [`Reader::split`].
#[derive(Clone)]
#[non_exhaustive]
pub struct ConvertOptions<'c> {
    /// Options of the output.
    pub write: WriteOptions,
    /// Selection of written events, with the stop flag. After a stop, nothing is written.
    pub pass: Pass,
    /// Number of threads. 0 counts as 1.
    pub threads: usize,
    /// Read the output again before it appears and compare it with the written data: event counts by class, times,
    /// values, and the numbers of discarded events. The session should be opened with
    /// [`ReadOptions::check`](ichnos_io::ReadOptions::check), because the output may have warnings only if the input
    /// has warnings.
    pub verify: bool,
    /// Refuse to write anything if the conversion is lossy.
    pub strict: bool,
    /// Write whole packets, and only those that overlap this window. The reader must not have a window, and its
    /// traces must have packets.
    pub packets_in: Option<Window>,
    /// Observer of the conversion.
    pub observer: &'c dyn PassObserver,
}

impl Default for ConvertOptions<'_> {
    /// Writes all events.
    fn default() -> Self {
        Self {
            write: WriteOptions::default(),
            pass: Pass::default(),
            threads: 1,
            verify: false,
            strict: false,
            packets_in: None,
            observer: &(),
        }
    }
}

impl ConvertOptions<'_> {
    /// Returns an error if the pass ended early.
    fn check_end(&self, summary: &PassSummary) -> Result<(), ConvertError> {
        match &summary.end {
            PassEnd::Refused(damage) => Err(ConvertError::Refused(damage.clone())),
            PassEnd::Over | PassEnd::Reached if !self.pass.is_stopped() => Ok(()),
            PassEnd::Over | PassEnd::Reached | PassEnd::Interrupted => Err(ConvertError::Stopped),
        }
    }
}

/// Error of a conversion. The previous content of the path is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The traces cannot be written.
    #[error(transparent)]
    Create(CreateError),
    /// The output would change the input.
    #[error(transparent)]
    Conflict(#[from] OutputConflict),
    /// An output operation failed.
    #[error(transparent)]
    Io(io::Error),
    /// The conversion would be lossy.
    #[error("the conversion would be lossy")]
    Losses(LossTable),
    /// Damage in a [strict](Pass::strict) pass.
    #[error("{0}")]
    Refused(Box<Damage>),
    /// The conversion was stopped.
    #[error("stopped")]
    Stopped,
    /// Sending ended early.
    #[error("{error}; {sent}")]
    Sent {
        /// Reason.
        error: Box<ConvertError>,
        /// Numbers of elements that were sent before.
        sent: SentCounts,
    },
}

impl From<CreateError> for ConvertError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Stopped => Self::Stopped,
            CreateError::Io { error, .. } if error.kind() == io::ErrorKind::Interrupted => Self::Stopped,
            error => Self::Create(error),
        }
    }
}

impl From<io::Error> for ConvertError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::Interrupted {
            return Self::Stopped;
        }
        // Errors of new parts come from the pass.
        match error.downcast::<CreateError>().map_err(io::Error::downcast::<OutputConflict>) {
            Ok(error) => error.into(),
            Err(Ok(conflict)) => Self::Conflict(conflict),
            Err(Err(error)) => Self::Io(error),
        }
    }
}

/// Formats that need the feature `table` for writing.
pub const TABLE_FORMATS: [&str; 2] = ["parquet", "arrow"];

/// Returns all output formats: readable formats, viewer formats, and tables.
pub fn targets() -> impl Iterator<Item = Target> + Clone {
    #[cfg(feature = "table")]
    let tables: [&'static dyn WriterFactory; 2] =
        [&parquet_layouts::ParquetLayouts, &ichnos_table::ArrowIpcWriter];
    #[cfg(not(feature = "table"))]
    let tables: [&'static dyn WriterFactory; 0] = [];
    let formats = formats().filter_map(|format| Some(Target::new(format.name, format.writer?)));
    let viewers = VIEWER_FORMATS.iter().map(|viewer| Target::new(viewer.name, viewer));
    let tables = TABLE_FORMATS.into_iter().zip(tables).map(|(format, writer)| Target::new(format, writer));
    #[cfg(feature = "otlp")]
    let receivers = [Target::new(otlp_push::OTLP_PUSH, &otlp_push::OtlpPushWriter)];
    #[cfg(not(feature = "otlp"))]
    let receivers: [Target; 0] = [];
    formats.chain(viewers).chain(receivers).chain(tables)
}

/// Returns the crate feature that is missing to write a format with this name, or files with this extension.
#[must_use]
pub fn missing_feature(format: Option<&str>, path: &std::path::Path) -> Option<&'static str> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let wanted = format.or(extension)?;
    let is_table = TABLE_FORMATS.contains(&wanted) || format.is_none() && wanted == "arrows";
    (cfg!(not(feature = "table")) && is_table).then_some("table")
}

/// Returns the output format by its name, the path extension or the dialect. Returns `None` if the format is unknown
/// or cannot be written.
#[must_use]
pub fn target(format: Option<&str>, path: &std::path::Path, dialect: Option<&str>) -> Option<Target> {
    let mut targets = targets();
    if let Some(wanted) = format {
        return targets.find(|target| target.format == wanted);
    }
    if is_address(path) {
        return targets.find(|target| target.writer.sends());
    }
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    // The longest matching extension counts: `otlp.jsonl` before `jsonl`.
    let fits = |extension: &&'static str| {
        name.strip_suffix(extension)
            .and_then(|stem| stem.strip_suffix('.'))
            .is_some_and(|stem| !stem.is_empty())
    };
    let longest = |writer: &dyn WriterFactory| {
        writer.extensions().iter().filter(|extension| fits(extension)).map(|extension| extension.len()).max()
    };
    let fitting = targets.clone().filter_map(|target| Some((longest(target.writer)?, target)));
    // The first writer with an extension counts.
    let by_extension = fitting.reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|(_, target)| target);
    if let (None, Some(dialect)) = (by_extension, dialect) {
        let is_it = |known: &OptionValue| known.name == dialect || known.aliases.contains(&dialect);
        return targets.find(|target| target.writer.dialects().iter().any(is_it));
    }
    // A path without an extension is a directory.
    by_extension.or_else(|| targets.find(|target| path.extension().is_none() && target.writer.is_directory()))
}

/// Returns `true` for the address of a receiver instead of a path.
#[must_use]
pub fn is_address(path: &Path) -> bool {
    let scheme = path.to_str().and_then(|path| path.split_once("://")).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)))
}

/// Output format of a conversion.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Target {
    /// Name of the format.
    pub format: &'static str,
    /// Factory of writers.
    pub writer: &'static dyn WriterFactory,
    /// Dialect name. `None` if the writer chooses it.
    pub dialect: Option<&'static str>,
}

impl Target {
    /// Creates a target whose writer chooses the dialect.
    #[must_use]
    pub fn new(format: &'static str, writer: &'static dyn WriterFactory) -> Self {
        Self { format, writer, dialect: None }
    }
}

/// Returns the format and dialect in which all of these traces can be written without conversion. Returns `None` if
/// the traces differ in it, or if their format cannot be written.
pub fn common_target<'t>(traces: impl IntoIterator<Item = &'t dyn OpenedTrace>) -> Option<Target> {
    let mut kinds: Vec<(&'static str, Option<&'static str>)> = Vec::new();
    for trace in traces {
        let kind = (trace.format(), trace.dialect());
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let (name, _) = *kinds.first()?;
    if kinds.iter().any(|(other, _)| *other != name) {
        return None;
    }
    let writer = formats().find(|format| format.name == name)?.writer?;
    let dialects: Option<Vec<&'static str>> = kinds.iter().map(|(_, dialect)| *dialect).collect();
    let dialect = match dialects {
        Some(dialects) => Some(writer.common_dialect(&dialects)?),
        // Formats without dialects, or with a writer that detects the dialect.
        None => None,
    };
    Some(Target { format: name, writer, dialect })
}

/// Returns the format for task-only traces: the first output format with an operation notation.
#[must_use]
pub fn task_target() -> Option<Target> {
    let mut formats = formats().filter(|format| format.find_mentions.is_some());
    formats.find_map(|format| Some(Target::new(format.name, format.writer?)))
}

impl Reader<'_> {
    /// Writes traces of a format to a path. With `None`, nothing is written and only losses are determined.
    ///
    /// # Errors
    /// If the traces cannot be written.
    pub fn convert(
        &self,
        writer: &dyn WriterFactory,
        path: Option<PathBuf>,
        options: &ConvertOptions<'_>,
    ) -> Result<WriteReport, ConvertError> {
        let path = match path {
            Some(path) if writer.sends() && options.strict => {
                return self.send_lossless(writer, path, options);
            }
            path => path,
        };
        if let Some(path) = path.as_ref().filter(|_| !writer.sends()) {
            self.session.check_output(path, OutputKind::Trace)?;
        }
        if self.shard.is_some() && !writer.writes_shards() {
            return Err(CreateError::Shards.into());
        }
        let traces = self.session.traces();
        if writer.order() == MessageOrder::ByStream && traces.iter().any(|trace| trace.has_dynamic_streams())
        {
            return live_traces::convert(self, writer, path, options);
        }
        let writes_in_place = self.session.is_live() && writer.writes_live() && !options.verify;
        let target = match path {
            None => WriteTarget::Nowhere,
            // What is written can be read even if the program is killed.
            Some(path) if writes_in_place && is_new(&path) => WriteTarget::Live(path),
            Some(path) => WriteTarget::Complete(path),
        };
        let input = InputDamage::default();
        let (sources, mut write) = self.write_options(writer, options, false);
        write.leaves_out_packets |= options.packets_in.is_some();
        if options.verify && !matches!(target, WriteTarget::Nowhere) {
            write.verify = Some(self.verify(writer, options, input.clone()));
        }
        let output = writer.create(target, sources, &write)?;
        check_strict(options, || output.losses())?;
        let selected =
            self.write_messages(&*output, &write, options, input).map_err(|error| match output.sent() {
                Some(sent) => ConvertError::Sent { error: Box::new(error), sent },
                None => error,
            })?;
        let mut report = output.finish()?;
        report.selected_events = selected;
        if !writer.drops_events() {
            report.events = report.selected_events;
        }
        Ok(report)
    }

    /// Passes the messages to an output. Returns the number of selected events.
    fn write_messages(
        &self,
        output: &dyn Output,
        write: &WriteOptions,
        options: &ConvertOptions<'_>,
        damage: InputDamage,
    ) -> Result<u64, ConvertError> {
        let streams = StreamOptions {
            // A change of packet times needs the times of the next packet.
            looks_ahead: write.repair || write.packet_size.is_some() || write.window != Window::default(),
            surveys: write.repair,
            packets_in: options.packets_in,
            reads_copied: options.verify,
        };
        let pass_options = PassOptions { threads: options.threads, streams, ..PassOptions::default() };
        let observer = DamageObserver { observer: options.observer, damage };
        let summary = options.pass.write(self, output, &pass_options, &observer)?;
        options.check_end(&summary)?;
        check_strict(options, || output.losses())?;
        Ok(summary.counts.events)
    }

    /// Sends only if the conversion is lossless, which takes a pass of its own. What the receiver rejects is a loss in
    /// the report, because the rest cannot be taken back.
    fn send_lossless(
        &self,
        writer: &dyn WriterFactory,
        path: PathBuf,
        options: &ConvertOptions<'_>,
    ) -> Result<WriteReport, ConvertError> {
        if self.session.is_live() {
            let problems = vec!["live input can only be read once, so losses are known too late".to_owned()];
            let (trace, dialect) = ("live input".to_owned(), "lossless requests");
            return Err(CreateError::Unsupported { trace, dialect, problems }.into());
        }
        self.convert(writer, None, options)?;
        self.convert(writer, Some(path), &ConvertOptions { strict: false, ..options.clone() })
    }

    /// Returns the traces to write, and the write options for all of them. `leaves_out` means that an output does not
    /// get all selected events.
    fn write_options(
        &self,
        writer: &dyn WriterFactory,
        options: &ConvertOptions<'_>,
        leaves_out: bool,
    ) -> (Vec<WriteSource>, WriteOptions) {
        let mut write = options.write.clone();
        write.leaves_out |= leaves_out
            || !options.pass.keeps_all_events()
            || self.excluded.iter().flatten().any(Option::is_some);
        if !write.leaves_out {
            write.selected_by.clear();
        }
        write.selected_by.extend(options.pass.changes_events().then(|| "changed".to_owned()));
        write.correlated |= self.session.relates_clocks();
        let (window, is_of_all) = self.common_window();
        write.window = window;
        // Outputs know one window: a packet in it can have events outside the window of its trace.
        write.leaves_out |= !is_of_all;
        if writer.needs_times(&write.formats) && write.first_time.is_none() {
            write.first_time = self.first_time();
        }
        write.live = self.session.is_live();
        write.stop = options.pass.stop_flag();
        write.threads = options.threads;
        write.shard = self.shard.as_ref().map(ShardParts::of_output);
        let all = self.shard.as_ref().map_or(&self.wanted, |shard| &shard.all);
        let traces = self.session.traces().iter();
        (traces.zip(all).map(|(trace, wanted)| source(trace.as_ref(), wanted)).collect(), write)
    }

    /// Returns the shortest window that contains the windows of all traces, and `true` if all of them are equal to
    /// it.
    fn common_window(&self) -> (Window, bool) {
        let mut windows = self.wanted().map(|(_, _, window)| window);
        let Some(first) = windows.next() else { return (Window::default(), true) };
        windows.fold((first, true), |(all, is_of_all), window| {
            let begin = all.begin.min(window.begin);
            let end = all.end.zip(window.end).map(|(all, end)| all.max(end));
            (Window { begin, end }, is_of_all && window == first)
        })
    }

    /// Returns the comparison of written output with the written data. `damage` is the damage that the pass has found
    /// so far.
    fn verify(
        &self,
        writer: &dyn WriterFactory,
        options: &ConvertOptions<'_>,
        damage: InputDamage,
    ) -> Verify {
        let is_warning = |problem: &FileDiagnostic| problem.diagnostic.severity != Severity::Note;
        let has_problems = |trace: &dyn OpenedTrace| trace.diagnostics().iter().any(is_warning);
        let has_warnings = self.wanted().any(|(trace, _, _)| has_problems(trace));
        // Encoders do not receive damage without a data stream, but the packets after it are copied.
        let mut damages = 0;
        for (trace, _, _) in self.wanted() {
            damages += trace.damage().len() as u64;
            // A partial read does not report all problems of a file.
            trace.for_each_stream(&mut |summary| damages += summary.damage.len() as u64);
        }
        let (threads, limits, stop) = (options.threads, options.write.limits, options.pass.stop_flag());
        let (window, _) = self.common_window();
        let rules = writer.reader_rules();
        let classes = self.wanted().map(|(trace, _, _)| &trace.trace().class);
        let broken = |class| (rules.classes)(class).into_iter().collect();
        let input = classes.map(|class| (class.dialect.clone(), broken(class))).collect();
        // A repaired output has no damage.
        let damage = if options.write.repair { InputDamage::default() } else { damage };
        let rules = OutputRules { rules, input, has_warnings, damage };
        Verify::new(move |path, digest| {
            let mut written = digest.clone();
            // Records are copied with their damage, so their encoders need not count it.
            if written.event_hash.is_some() {
                written.damages = written.damages.max(rules.damage.count());
            }
            written.damages += damages;
            verify(path, &written, threads, limits, window, &rules, stop)
        })
    }
}

/// Checks that the conversion is lossless, if required.
/// Returns `true` if a path is free for a file.
fn is_new(path: &Path) -> bool {
    path != Path::new("-") && path.symlink_metadata().is_err()
}

/// Checks that a strict conversion has no losses.
fn check_strict(
    options: &ConvertOptions<'_>,
    losses: impl FnOnce() -> LossTable,
) -> Result<(), ConvertError> {
    let losses = if options.strict { losses() } else { LossTable::default() };
    if losses.is_empty() { Ok(()) } else { Err(ConvertError::Losses(losses)) }
}

fn source(trace: &dyn OpenedTrace, wanted: &[bool]) -> WriteSource {
    let streams = trace.data_streams().into_iter().zip(wanted).filter(|(_, is)| **is);
    WriteSource {
        trace: Arc::clone(trace.trace()),
        format: trace.format(),
        has_dynamic_classes: trace.has_dynamic_classes(),
        streams: streams.map(|(stream, _)| stream).collect(),
    }
}
