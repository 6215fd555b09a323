//! What a format of traces is to those who list, recognise and open them.

use std::path::{Path, PathBuf};

use ichnos_model::plan::PlanError;
use ichnos_model::{
    ClockArithmetic, ClockOffsets, FileDiagnostic, FindMentions, Limits, TraceInput, TracerQuirk,
};

use crate::{
    Collect, Datagrams, FormatOption, FormatOptions, Hint, PacketIndexes, ScanProgress, SchemaLanguage,
    TraceWriter, Tree,
};

/// A format of traces that can be read.
///
/// # For implementations
/// The crate of a format has a unit struct that implements this; a registry names it in one line. Required are
/// the names, [`probe`](Self::probe) and [`open`](Self::open). What else there is has a default: that the
/// format has no options, does not come in datagrams, and that there is nothing to say about paths without a
/// trace.
pub trait Format: Send + Sync {
    /// Short name, for options and as [`TraceInput::format`]: lower case and hyphens.
    fn name(&self) -> &'static str;

    /// Name for people.
    fn title(&self) -> &'static str;

    /// The dialects or versions that can be read, for people.
    fn versions(&self) -> &'static str;

    /// By what it is recognised, for people.
    fn recognised_by(&self) -> &'static str;

    /// How it is written, if it can be.
    fn writer(&self) -> Option<&'static dyn TraceWriter> {
        None
    }

    /// What can be said about its traces that they do not say themselves.
    fn options(&self) -> &'static [FormatOption] {
        &[]
    }

    /// The known bugs of tracers that reading works around, unless
    /// [`ReadOptions::without_quirks`] names them.
    fn quirks(&self) -> &'static [TracerQuirk] {
        &[]
    }

    /// The languages in which it writes schemas of traces.
    fn schema_languages(&self) -> &'static [SchemaLanguage] {
        &[]
    }

    /// Whether events of a data stream may be in another order in its files than that of time, so that
    /// [`ReadOptions::unsorted`] makes a difference.
    fn has_file_order(&self) -> bool {
        false
    }

    /// Whether there is a trace of the format in a tree of files: by their content, and quickly.
    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool;

    /// Returns the files of a tree, of those with these indexes, that are of traces of the format. None of the others
    /// is looked at: they are of other formats.
    ///
    /// # For implementations
    /// By default, each file that [`probe`](Self::probe) recognises alone is one.
    fn own_files(&self, tree: &Tree, files: &[usize], options: &ReadOptions) -> Vec<usize> {
        let mut alone = Tree { name: tree.name.clone(), entries: Vec::new(), problems: Vec::new() };
        let is_own = |index: &&usize| {
            alone.entries.clear();
            alone.entries.extend(tree.entries.get(**index).cloned());
            self.probe(&alone, options)
        };
        files.iter().filter(is_own).copied().collect()
    }

    /// Opens the traces in some trees in which there are such. All at once: parts of one trace may lie in
    /// several.
    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces;

    /// The indexes that can lie beside the files of the traces in a tree, so that opening them takes less time. None:
    /// the format has no such indexes.
    fn packet_indexes(&self, tree: &Tree, options: &ReadOptions) -> Option<PacketIndexes> {
        let _ = (tree, options);
        None
    }

    /// How to read what arrives as datagrams, if the format comes in such.
    fn listen(&self) -> Option<Listen> {
        None
    }

    /// How to collect what running programs send, if reports of the format are sent one by one.
    fn collect(&self) -> Option<Collect> {
        None
    }

    /// Finds operations that texts of events name, of whatever format the events are, where the format has a notation
    /// for them that can be recognised.
    fn find_mentions(&self) -> Option<FindMentions> {
        None
    }

    /// The trace that a path is a part of, if the path alone is not what is meant.
    fn enclosing_trace(&self, path: &Path, options: &ReadOptions) -> Option<EnclosingTrace> {
        let _ = (path, options);
        None
    }

    /// Returns `true` if any file that is created in a directory is read as a part of the trace there.
    fn reads_all_files(&self, directory: &Path) -> bool {
        let _ = directory;
        false
    }

    /// Why the options cannot hold for a tree, if that is so.
    fn conflict(&self, tree: &Tree, options: &ReadOptions) -> Option<OptionConflict> {
        let _ = (tree, options);
        None
    }

    /// What a file is that begins with these bytes, with an article, if it is a part of a trace of the
    /// format which cannot be read alone.
    fn describe_file(&self, beginning: &[u8]) -> Option<Hint> {
        let _ = beginning;
        None
    }

    /// What a tree that was not recognised lacks to be a trace of the format.
    fn why_unrecognised(&self, tree: &Tree) -> Option<Hint> {
        let _ = tree;
        None
    }

    /// Where there may be a trace of the format near a path without one.
    fn suggest_path(&self, path: &Path) -> Option<Hint> {
        let _ = path;
        None
    }
}

/// Makes a trace of what arrives. Its one data stream can be read once.
pub type Listen = fn(Datagrams, &ReadOptions) -> Result<Box<dyn TraceInput>, PlanError>;

/// How to read traces, of whichever format they are.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// What is refused because it is too much.
    pub limits: Limits,
    /// Refuse what is only understood by being tolerant.
    pub strict: bool,
    /// Report all that is wrong, even what does not matter to reading.
    pub check: bool,
    /// Deliver events in the order of the file where a format keeps another than that of time; see
    /// [`Format::has_file_order`].
    pub unsorted: bool,
    /// Read classes as the files declare them, without what annotations of ichnos say of them.
    pub without_annotations: bool,
    /// Take for a trace of the format what is not recognised as one.
    pub force: bool,
    /// Nanoseconds to add to the times of clocks.
    pub clock_offsets: ClockOffsets,
    /// How cycles become nanoseconds.
    pub clock_arithmetic: ClockArithmetic,
    /// Names of known bugs of tracers that are not worked around; see [`Format::quirks`].
    pub without_quirks: Vec<&'static str>,
    /// Takes how far the opening is.
    pub progress: ScanProgress,
    /// Options that single formats declare.
    pub formats: FormatOptions,
}

/// What a format finds in some trees.
#[derive(Default)]
#[non_exhaustive]
pub struct OpenedTraces {
    /// The traces that can be read.
    pub traces: Vec<Box<dyn TraceInput>>,
    /// Those that cannot.
    pub refused: Vec<Refused>,
    /// What was left out though nothing is wrong with it, a sentence each.
    pub notices: Vec<String>,
}

/// A trace that was found but cannot be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refused {
    /// Where it lies.
    pub path: String,
    /// Why.
    pub diagnostics: Vec<FileDiagnostic>,
}

impl Refused {
    /// A trace at a path that cannot be read for these reasons.
    pub fn new(path: impl Into<String>, diagnostics: Vec<FileDiagnostic>) -> Self {
        Self { path: path.into(), diagnostics }
    }
}

/// The trace that a path is a part of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnclosingTrace {
    /// Its directory.
    pub directory: PathBuf,
    /// The directories that belong to it, by their paths within it: traces in others are not meant.
    pub directories: &'static [&'static str],
    /// Whether the path is never a trace of its own, so that none needs to be looked for in it.
    pub is_part: bool,
    /// What the path is, and how to read it alone.
    pub notice: Hint,
}

impl EnclosingTrace {
    /// The trace in a directory that is all files of `directories` ("" is the directory itself), for a path of which
    /// `notice` says what it is.
    #[must_use]
    pub fn new(directory: PathBuf, directories: &'static [&'static str], notice: Hint) -> Self {
        Self { directory, directories, is_part: false, notice }
    }

    /// Says that the path is never a trace of its own.
    #[must_use]
    pub fn of_part(mut self) -> Self {
        self.is_part = true;
        self
    }
}

/// An option that cannot hold for a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionConflict {
    /// The option, as `FORMAT.OPTION`.
    pub option: &'static str,
    /// Why it cannot hold.
    pub message: String,
    /// What can be opened with it.
    pub help: &'static str,
}

impl OptionConflict {
    /// The option `FORMAT.OPTION`, why it cannot hold, and what can be opened with it.
    pub fn new(option: &'static str, message: impl Into<String>, help: &'static str) -> Self {
        Self { option, message: message.into(), help }
    }
}
