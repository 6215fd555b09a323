//! The [`Format`] trait, and the description of a format.

use std::path::{Path, PathBuf};

use ichnos_model::plan::PlanError;
use ichnos_model::{
    ClassMap, ClockArithmetic, ClockOffsets, Diagnostic, FileDiagnostic, FindMentions, Limits, OpenedTrace,
    TextPosition, TracerQuirk,
};

use crate::{
    Collect, Datagrams, FormatOption, FormatOptions, Hint, PacketIndexes, ScanProgress, SchemaLanguage, Tree,
    WriterFactory,
};

/// Returns the parts of metadata that programs pass on with their messages, each a name and a value. The error is the
/// reason why a text is not metadata.
pub type ExplainContext = fn(&str) -> Result<Vec<(String, String)>, String>;

/// Names and properties of a format, which its crate declares as a `static`.
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
    /// Description of the files that are recognized, for display.
    pub detection: &'static str,
    /// Writer, if the format can be written.
    pub writer: Option<&'static dyn WriterFactory>,
    /// Options that supply information missing in its traces.
    pub options: &'static [FormatOption],
    /// Known bugs of tracers that reading works around, unless [`ReadOptions::without_quirks`] names them.
    pub quirks: &'static [TracerQuirk],
    /// Languages in which it writes schemas of traces.
    pub schema_languages: &'static [SchemaLanguage],
    /// `true` if files may store the events of a data stream in another order than that of time, so that
    /// [`ReadOptions::unsorted`] makes a difference.
    pub has_file_order: bool,
    /// Function that reads datagrams, if the format supports them.
    pub listen: Option<Listen>,
    /// Parameters for collecting reports, if programs send reports of the format one by one.
    pub collect: Option<Collect>,
    /// Function that finds operations named in texts of events of any format, if the format has a recognizable
    /// notation for them.
    pub find_mentions: Option<FindMentions>,
    /// Function that explains a text in this notation, if the format has one.
    pub explain_context: Option<ExplainContext>,
}

impl FormatInfo {
    /// Creates the description of a format without options, writer and other features.
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
            listen: None,
            collect: None,
            find_mentions: None,
            explain_context: None,
        }
    }
}

/// A format of traces that can be read.
///
/// # For implementations
/// The crate of a format has a unit struct that implements this trait; a registry names it in one line.
/// Required are [`info`](Self::info), [`probe`](Self::probe) and [`open`](Self::open). Everything else has a
/// default.
pub trait Format: Send + Sync {
    /// Returns the names and the constant properties of the format.
    fn info(&self) -> &'static FormatInfo;

    /// Returns `true` if a tree of files contains a trace of the format, judging quickly by their content.
    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool;

    /// Returns those of the files with these indexes that belong to traces of the format. The other files are
    /// not read: they belong to other formats.
    ///
    /// # For implementations
    /// By default, it returns the files that [`probe`](Self::probe) recognizes alone.
    fn own_files(&self, tree: &Tree, files: &[usize], options: &ReadOptions) -> Vec<usize> {
        let mut alone = Tree { name: tree.name.clone(), entries: Vec::new(), problems: Vec::new() };
        let is_own = |index: &&usize| {
            alone.entries.clear();
            alone.entries.extend(tree.entries.get(**index).cloned());
            self.probe(&alone, options)
        };
        files.iter().filter(is_own).copied().collect()
    }

    /// Opens the traces in trees that contain any, all at once: parts of one trace may be in several trees.
    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces;

    /// Returns indexes that speed up opening the traces in a tree if stored beside their files. `None` if the
    /// format has no such indexes.
    fn packet_indexes(&self, tree: &Tree, options: &ReadOptions) -> Option<PacketIndexes> {
        let _ = (tree, options);
        None
    }

    /// Returns the trace that contains a path, if the path alone is probably not intended.
    fn enclosing_trace(&self, path: &Path, options: &ReadOptions) -> Option<EnclosingTrace> {
        let _ = (path, options);
        None
    }

    /// Returns `true` if any file created in a directory is read as a part of the trace there.
    fn reads_all_files(&self, directory: &Path) -> bool {
        let _ = directory;
        false
    }

    /// Checks options against a tree.
    fn conflict(&self, tree: &Tree, options: &ReadOptions) -> Option<OptionConflict> {
        let _ = (tree, options);
        None
    }

    /// Describes a file that begins with these bytes, with an article, if it is a part of a trace of the
    /// format that cannot be read alone.
    fn describe_file(&self, beginning: &[u8]) -> Option<Hint> {
        let _ = beginning;
        None
    }

    /// Describes what an unrecognized tree lacks to be a trace of the format.
    fn why_unrecognised(&self, tree: &Tree) -> Option<Hint> {
        let _ = tree;
        None
    }

    /// Suggests a trace of the format near a path without one.
    fn suggest_path(&self, path: &Path) -> Option<Hint> {
        let _ = path;
        None
    }
}

/// Makes a trace of arriving datagrams. Its single data stream can be read once.
pub type Listen = fn(Datagrams, &ReadOptions) -> Result<Box<dyn OpenedTrace>, PlanError>;

/// Options for reading traces of any format.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Limits of the input.
    pub limits: Limits,
    /// Refuse input that is only readable with tolerance.
    pub strict: bool,
    /// Report all problems, even those that do not affect reading.
    pub check: bool,
    /// Deliver events in the order of the file if the format has one that differs from the order of time; see
    /// [`FormatInfo::has_file_order`].
    pub unsorted: bool,
    /// Read classes as the files declare them, without annotations of ichnos.
    pub without_annotations: bool,
    /// Change of event record classes, for instance by rules of a file.
    pub class_map: Option<ClassMap>,
    /// Take unrecognized input for a trace of the format.
    pub force: bool,
    /// Nanoseconds to add to the times of clocks.
    pub clock_offsets: ClockOffsets,
    /// Conversion of cycles to nanoseconds.
    pub clock_arithmetic: ClockArithmetic,
    /// Names of known bugs of tracers that are not worked around; see [`FormatInfo::quirks`].
    pub without_quirks: Vec<&'static str>,
    /// Receiver of the progress of opening.
    pub progress: ScanProgress,
    /// Options of single formats.
    pub formats: FormatOptions,
}

/// Result of opening trees as traces of a format.
#[derive(Default)]
#[non_exhaustive]
pub struct OpenedTraces {
    /// Readable traces.
    pub traces: Vec<Box<dyn OpenedTrace>>,
    /// Unreadable traces.
    pub refused: Vec<Refused>,
    /// Notices of valid input that was skipped, a sentence each.
    pub notices: Vec<String>,
}

impl OpenedTraces {
    /// Adds a trace at a path, or the reason why it cannot be read.
    pub fn add<T: OpenedTrace + 'static>(&mut self, path: &str, trace: Result<T, impl std::fmt::Display>) {
        match trace {
            Ok(trace) => self.traces.push(Box::new(trace)),
            Err(error) => self.refused.push(Refused::because(path, error)),
        }
    }
}

/// A trace that was found but cannot be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refused {
    /// Path of the trace.
    pub path: String,
    /// Reasons.
    pub diagnostics: Vec<FileDiagnostic>,
}

impl Refused {
    /// Makes a refused trace at a path, with these reasons.
    pub fn new(path: impl Into<String>, diagnostics: Vec<FileDiagnostic>) -> Self {
        Self { path: path.into(), diagnostics }
    }

    /// Makes a refused trace at a path, for one reason.
    pub fn because(path: &str, error: impl std::fmt::Display) -> Self {
        let diagnostic = Diagnostic::error(TextPosition::default(), error.to_string());
        Self::new(path, vec![FileDiagnostic::new(path, diagnostic)])
    }
}

/// The trace that contains a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnclosingTrace {
    /// Directory of the trace.
    pub directory: PathBuf,
    /// Directories that belong to it, by their paths in it; traces in others are not included.
    pub directories: &'static [&'static str],
    /// `true` if the path is never a trace of its own, so that it need not be searched for one.
    pub is_part: bool,
    /// Description of the path, and the way to read it alone.
    pub notice: Hint,
}

impl EnclosingTrace {
    /// Makes the trace in a directory that consists of all files of `directories` ("" is the directory
    /// itself), for a path that `notice` describes.
    #[must_use]
    pub fn new(directory: PathBuf, directories: &'static [&'static str], notice: Hint) -> Self {
        Self { directory, directories, is_part: false, notice }
    }

    /// Marks the path as never being a trace of its own.
    #[must_use]
    pub fn of_part(mut self) -> Self {
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
    /// Description of trees to which it applies.
    pub help: &'static str,
}

impl OptionConflict {
    /// Makes a conflict of the option `FORMAT.OPTION`, with the reason and the help.
    pub fn new(option: &'static str, message: impl Into<String>, help: &'static str) -> Self {
        Self { option, message: message.into(), help }
    }
}
