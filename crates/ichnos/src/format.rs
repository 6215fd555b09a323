//! The registry of formats: one line each.

use ichnos_fuchsia::log::SeverityScale;
use ichnos_fuchsia::reader::Clock as LogClock;
use ichnos_io::{Datagrams, Tree};
use ichnos_model::plan::PlanError;
use ichnos_model::{Diagnostic, FileDiagnostic, TextPlace, TraceInput};

use crate::OpenOptions;
use crate::session::Refused;

/// What a format finds in some trees.
#[derive(Default)]
pub(crate) struct Found {
    /// The traces that it can read.
    pub(crate) traces: Vec<Box<dyn TraceInput>>,
    /// Those that it cannot.
    pub(crate) refused: Vec<Refused>,
    /// What was left out though nothing is wrong with it, a sentence each.
    pub(crate) notices: Vec<String>,
}

/// Makes a trace of what arrives.
pub(crate) type Listen = fn(Datagrams, &OpenOptions) -> Result<Box<dyn TraceInput>, PlanError>;

/// A format that ichnos knows.
#[derive(Clone, Copy)]
pub struct Format {
    /// Short name, for the command line.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Whether it can be read.
    pub reads: bool,
    /// Whether it can be written.
    pub writes: bool,
    /// The dialects or versions, for people.
    pub versions: &'static str,
    /// How it is recognised, for people.
    pub recognised_by: &'static str,
    /// What can be said about its traces that they do not say themselves; see [`OpenOptions::set`].
    pub options: &'static [FormatOption],
    pub(crate) probe: fn(&Tree, &OpenOptions) -> bool,
    /// Reads what arrives as datagrams.
    pub(crate) listen: Option<Listen>,
    /// Opens all trees of the format at once: parts of one trace may lie in several.
    pub(crate) open: fn(&[&Tree], &OpenOptions) -> Found,
}

/// An option of a format.
#[derive(Clone, Copy)]
pub struct FormatOption {
    /// Name within the format.
    pub name: &'static str,
    /// What it is about, for people.
    pub about: &'static str,
    /// The values that it can have; the first one is what it is if nobody says anything.
    pub values: &'static [OptionValue],
}

/// A value of an option.
#[derive(Clone, Copy)]
pub struct OptionValue {
    /// How it is written.
    pub name: &'static str,
    /// What it means, for people.
    pub about: &'static str,
    pub(crate) set: fn(&mut OpenOptions),
}

/// All formats, in the order in which they are tried.
pub const FORMATS: &[Format] = &[CTF, FUCHSIA_LOG];

const CTF: Format = Format {
    name: "ctf",
    title: "Common Trace Format",
    reads: true,
    writes: false,
    versions: "CTF 1.8; CTF 2: PROP-1.0, PROP-2.0, SPEC-2.0 and its release candidates",
    recognised_by: "a file called `metadata`",
    options: &[],
    listen: None,
    probe: |tree, options| ichnos_ctf::trace::probe(tree) || options.ctf.metadata.is_some(),
    open: |trees, options| {
        let opened = ichnos_ctf::trace::open(trees, &options.ctf);
        let traces = opened.traces.into_iter().map(|trace| Box::new(trace) as _).collect();
        let refused = opened.errors.into_iter();
        let refused = refused.map(|error| Refused { path: error.path, diagnostics: error.diagnostics });
        Found { traces, refused: refused.collect(), notices: opened.notices }
    },
};

const FUCHSIA_LOG: Format = Format {
    name: "fuchsia-log",
    title: "Fuchsia's logs",
    reads: true,
    writes: false,
    versions: "structured log records, also tagged and extended; legacy log packets",
    recognised_by: "files of log records, or of datagrams with their lengths before them",
    options: &[
        FormatOption {
            name: "clock",
            about: "the clock that records were written by, which they do not say",
            values: &[
                OptionValue {
                    name: "monotonic",
                    about: "the one that stands still while the system sleeps (before API level 24)",
                    set: |options| options.fuchsia.clock = LogClock::Monotonic,
                },
                OptionValue {
                    name: "boot",
                    about: "the one that goes on while the system sleeps (since API level 24)",
                    set: |options| options.fuchsia.clock = LogClock::Boot,
                },
            ],
        },
        FormatOption {
            name: "severity-scale",
            about: "what the severities of legacy packets stand for",
            values: &[
                OptionValue {
                    name: "current",
                    about: "the same as those of records",
                    set: |options| options.fuchsia.severity_scale = SeverityScale::Current,
                },
                OptionValue {
                    name: "original",
                    about: "the scale of 2019 to 2021, on which 0 is INFO",
                    set: |options| options.fuchsia.severity_scale = SeverityScale::Original,
                },
            ],
        },
    ],
    listen: Some(|datagrams, options| {
        let trace = ichnos_fuchsia::reader::LogTrace::listen(datagrams, &fuchsia_options(options))?;
        Ok(Box::new(trace))
    }),
    probe: |tree, options| ichnos_fuchsia::reader::probe(tree, &fuchsia_options(options)),
    open: |trees, options| {
        let options = fuchsia_options(options);
        let mut found = Found::default();
        let mut read = ichnos_fuchsia::reader::ReadFiles::default();
        for tree in trees {
            match ichnos_fuchsia::reader::LogTrace::open_unread(tree, &options, &mut read) {
                Ok(trace) => {
                    found.notices.extend_from_slice(trace.notices());
                    if !trace.is_repeated() {
                        found.traces.push(Box::new(trace));
                    }
                }
                Err(error) => {
                    let diagnostic = Diagnostic::error(TextPlace::default(), error.to_string());
                    let path = tree.name.clone();
                    let diagnostics = vec![FileDiagnostic { file: path.clone(), diagnostic }];
                    found.refused.push(Refused { path, diagnostics });
                }
            }
        }
        found
    },
};

fn fuchsia_options(options: &OpenOptions) -> ichnos_fuchsia::reader::OpenOptions {
    let mut own = options.fuchsia.clone();
    own.check |= options.check;
    own.force |= options.format.is_some();
    own
}
