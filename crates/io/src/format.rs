//! The [`Format`] trait, and format descriptions.

use std::path::{Path, PathBuf};

use ichnos_model::OpenedTrace;
use ichnos_model::clock::{ClockArithmetic, ClockOffsets};
use ichnos_model::meaning::{ClassMap, FindMentions};
use ichnos_model::plan::PlanError;
use ichnos_model::trace::{Diagnostic, FileDiagnostic, Limits, TextPosition, TracerQuirk};

use crate::{
    CollectSettings, Datagrams, FormatOption, FormatOptions, Hint, Kept, PacketIndexes, ScanProgress,
    SchemaLanguage, Tree, WriterFactory,
};

/// Splits message metadata into names and values. The error is the reason why the text is not metadata.
pub type ExplainContext = fn(&str) -> Result<Vec<(String, String)>, String>;

/// Format names and properties, which the format's crate declares as a `static`.
///
/// ```
/// use ichnos_io::FormatInfo;
///
/// static INFO: FormatInfo = FormatInfo {
///     versions: "1",
///     detection: "files whose names end in .beats",
///     ..FormatInfo::new("beats", "Heart beats")
/// };
/// ```
#[derive(Clone, Copy)]
pub struct FormatInfo {
    /// Short name, for options and [`OpenedTrace::format`]: lower case and hyphens.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Readable dialects or versions, for display.
    pub versions: &'static str,
    /// Description of the recognized files, for display.
    pub detection: &'static str,
    /// Writer factory, if the format can be written.
    pub writer: Option<&'static dyn WriterFactory>,
    /// Options that supply information missing from traces.
    pub options: &'static [FormatOption],
    /// Known tracer bugs with a workaround, unless [`ReadOptions::without_quirks`] names them.
    pub quirks: &'static [TracerQuirk],
    /// Languages in which it writes trace schemas.
    pub schema_languages: &'static [SchemaLanguage],
    /// `true` if files may store the events in a data stream in an order other than by time, so that
    /// [`ReadOptions::unsorted`] makes a difference.
    pub has_file_order: bool,
    /// `true` if bytes that are appended to a file can change the events before them, so that a growing file must not be
    /// opened again and again.
    pub is_read_once: bool,
    /// Function that reads datagrams, if the format supports them.
    pub listen: Option<Listen>,
    /// Parameters for collecting reports, if programs send reports in the format one by one.
    pub collect: Option<CollectSettings>,
    /// Function that finds operations mentioned in event texts of any format, if the format has a recognizable notation
    /// for them.
    pub find_mentions: Option<FindMentions>,
    /// Function that explains a text in this notation, if the format has a notation.
    pub explain_context: Option<ExplainContext>,
}

impl FormatInfo {
    /// Creates a format description without options, writer and other features.
    #[must_use]
    pub const fn new(name: &'static str, title: &'static str) -> Self {
        Self {
            name,
            title,
            versions: "",
            detection: "",
            writer: None,
            options: &[],
            quirks: &[],
            schema_languages: &[],
            has_file_order: false,
            is_read_once: false,
            listen: None,
            collect: None,
            find_mentions: None,
            explain_context: None,
        }
    }
}

/// A trace format that can be read.
///
/// # For implementations
/// The format's crate must have a unit struct that implements this trait. A registry names it in one line. Only
/// [`info`](Self::info), [`probe`](Self::probe) and [`open`](Self::open) are required. Everything else has a default.
pub trait Format: Send + Sync {
    /// Returns the format's names and constant properties.
    fn info(&self) -> &'static FormatInfo;

    /// Returns `true` if a tree contains a trace in the format. This should be quick, and must depend on file content.
    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool;

    /// Returns the files, by index, that belong to traces in the format. The other files are not read, because they
    /// belong to other formats.
    ///
    /// # For implementations
    /// By default, it returns the files that [`probe`](Self::probe) recognizes individually.
    fn own_files(&self, tree: &Tree, files: &[usize], options: &ReadOptions) -> Vec<usize> {
        let mut alone = Tree { name: tree.name.clone(), entries: Vec::new(), problems: Vec::new() };
        let is_own = |index: &&usize| {
            alone.entries.clear();
            alone.entries.extend(tree.entries.get(**index).cloned());
            self.probe(&alone, options)
        };
        files.iter().filter(is_own).copied().collect()
    }

    /// Opens the traces in trees that contain any, all at once, because parts of one trace may be in several trees.
    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces;

    /// Returns indexes that speed up opening the traces in a tree if stored next to their files. `None` if the format
    /// does not have such indexes.
    fn packet_indexes(&self, tree: &Tree, options: &ReadOptions) -> Option<PacketIndexes> {
        let _ = (tree, options);
        None
    }

    /// Returns the trace that contains a path, if the path alone is probably not intended.
    fn enclosing_trace(&self, path: &Path, options: &ReadOptions) -> Option<EnclosingTrace> {
        let _ = (path, options);
        None
    }

    /// Returns `true` if every file in a directory is read as part of the trace there.
    fn reads_all_files(&self, directory: &Path) -> bool {
        let _ = directory;
        false
    }

    /// Checks options against a tree.
    fn conflict(&self, tree: &Tree, options: &ReadOptions) -> Option<OptionConflict> {
        let _ = (tree, options);
        None
    }

    /// Describes a file by its first bytes, with an article, if it is part of a trace in the format but cannot be read
    /// alone.
    fn describe_file(&self, beginning: &[u8]) -> Option<Hint> {
        let _ = beginning;
        None
    }

    /// Describes the missing parts of an unrecognized tree that may be a trace in the format.
    fn why_unrecognized(&self, tree: &Tree) -> Option<Hint> {
        let _ = tree;
        None
    }

    /// Suggests a trace in the format near a path without a trace.
    fn suggest_path(&self, path: &Path) -> Option<Hint> {
        let _ = path;
        None
    }
}

/// Creates a trace from arriving datagrams. Its single data stream can be read once.
pub type Listen = fn(Datagrams, &ReadOptions) -> Result<Box<dyn OpenedTrace>, PlanError>;

/// Rules of Babeltrace 2 for CTF traces: data streams without an id are numbered, unknown fields of blocks in TSDL are
/// ignored with a warning, and counters of discarded events that get smaller show no loss.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BabeltraceRules {
    /// Name that follows the host name in trace names, in place of the name in the metadata. It can be empty.
    pub trace_name: Option<String>,
}

/// Reading options for all formats.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Input limits.
    pub limits: Limits,
    /// Reject input that can only be read with tolerance.
    pub strict: bool,
    /// Report all problems, even those that do not affect reading.
    pub check: bool,
    /// Deliver events in file order if the format has one that differs from the time order; see
    /// [`FormatInfo::has_file_order`].
    pub unsorted: bool,
    /// Leave out a record at the end of a file if more bytes could change it, because the file is still being written.
    pub growing: bool,
    /// State of growing files, kept from one opening to the next.
    pub kept: Kept,
    /// Read classes as the files declare them, without ichnos annotations.
    pub without_annotations: bool,
    /// Change of event record classes, for example by rules in a file.
    pub class_map: Option<ClassMap>,
    /// Treat unrecognized input as a trace in the format.
    pub force: bool,
    /// Nanoseconds to add to clock times.
    pub clock_offsets: ClockOffsets,
    /// Conversion from cycles to nanoseconds.
    pub clock_arithmetic: ClockArithmetic,
    /// Rules of Babeltrace 2 for CTF traces, if they replace ichnos' own.
    pub babeltrace: Option<BabeltraceRules>,
    /// Names of known tracer bugs for which the workaround is disabled; see [`FormatInfo::quirks`].
    pub without_quirks: Vec<&'static str>,
    /// Receiver of progress reports while opening.
    pub progress: ScanProgress,
    /// Format-specific options.
    pub formats: FormatOptions,
}

/// Result of opening trees as traces in a format.
#[derive(Default)]
#[non_exhaustive]
pub struct OpenedTraces {
    /// Readable traces.
    pub traces: Vec<Box<dyn OpenedTrace>>,
    /// Unreadable traces.
    pub refused: Vec<RefusedTrace>,
    /// Notices about valid input that was skipped, one sentence each.
    pub notices: Vec<String>,
}

impl OpenedTraces {
    /// Adds a trace at a path, or the reason why it cannot be read.
    pub fn add<T: OpenedTrace + 'static>(&mut self, path: &str, trace: Result<T, impl std::fmt::Display>) {
        match trace {
            Ok(trace) => self.traces.push(Box::new(trace)),
            Err(error) => self.refused.push(RefusedTrace::because(path, error)),
        }
    }
}

/// A trace that was found but cannot be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RefusedTrace {
    /// Trace path.
    pub path: String,
    /// Reasons.
    pub diagnostics: Vec<FileDiagnostic>,
}

impl RefusedTrace {
    /// Creates a refused trace at a path, with several reasons.
    pub fn new(path: impl Into<String>, diagnostics: Vec<FileDiagnostic>) -> Self {
        Self { path: path.into(), diagnostics }
    }

    /// Creates a refused trace at a path, with one reason.
    pub fn because(path: &str, error: impl std::fmt::Display) -> Self {
        let diagnostic = Diagnostic::error(TextPosition::default(), error.to_string());
        Self::new(path, vec![FileDiagnostic::new(path, diagnostic)])
    }
}

/// Trace that contains a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnclosingTrace {
    /// Trace directory.
    pub directory: PathBuf,
    /// Directories that belong to it, by relative path. Traces in other directories are not included.
    pub directories: &'static [&'static str],
    /// `true` if the path is never a separate trace, so that it need not be searched for traces.
    pub is_part: bool,
    /// Description of the path, with instructions for reading it alone.
    pub notice: Hint,
}

impl EnclosingTrace {
    /// Creates the trace in a directory that consists of all files in `directories` ("" is the directory itself), for a
    /// path that `notice` describes.
    #[must_use]
    pub fn new(directory: PathBuf, directories: &'static [&'static str], notice: Hint) -> Self {
        Self { directory, directories, is_part: false, notice }
    }

    /// Marks the path as never a separate trace.
    #[must_use]
    pub fn into_part(mut self) -> Self {
        self.is_part = true;
        self
    }
}

/// An option that does not apply to a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionConflict {
    /// Option, as `FORMAT.OPTION`.
    pub option: &'static str,
    /// Reason why it does not apply.
    pub message: String,
    /// Description of the trees to which it applies.
    pub help: &'static str,
}

impl OptionConflict {
    /// Creates a conflict for the option `FORMAT.OPTION`, with the reason and the help.
    pub fn new(option: &'static str, message: impl Into<String>, help: &'static str) -> Self {
        Self { option, message: message.into(), help }
    }
}
