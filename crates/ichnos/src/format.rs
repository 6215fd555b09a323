//! The registry of formats: one line each.

use ichnos_io::Tree;
use ichnos_model::{Diagnostic, FileDiagnostic, TextPlace, TraceInput};

use crate::OpenOptions;
use crate::session::Refused;

/// The traces of some trees that a format can read, and those that it cannot.
pub(crate) type Found = (Vec<Box<dyn TraceInput>>, Vec<Refused>);

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
    pub(crate) probe: fn(&Tree, &OpenOptions) -> bool,
    /// Opens all trees of the format at once: parts of one trace may lie in several.
    pub(crate) open: fn(&[&Tree], &OpenOptions) -> Found,
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
    probe: |tree, options| ichnos_ctf::trace::probe(tree) || options.ctf.metadata.is_some(),
    open: |trees, options| {
        let opened = ichnos_ctf::trace::open(trees, &options.ctf);
        let traces = opened.traces.into_iter().map(|trace| Box::new(trace) as _).collect();
        let refused = opened.errors.into_iter();
        let refused = refused.map(|error| Refused { path: error.path, diagnostics: error.diagnostics });
        (traces, refused.collect())
    },
};

const FUCHSIA_LOG: Format = Format {
    name: "fuchsia-log",
    title: "Fuchsia's logs",
    reads: true,
    writes: false,
    versions: "structured log records, also tagged and extended; legacy log packets",
    recognised_by: "files of log records, or of datagrams with their lengths before them",
    probe: |tree, options| ichnos_fuchsia::reader::probe(tree, &options.fuchsia),
    open: |trees, options| {
        let mut found = Found::default();
        for tree in trees {
            match ichnos_fuchsia::reader::LogTrace::open(tree, &options.fuchsia) {
                Ok(trace) => found.0.push(Box::new(trace)),
                Err(error) => {
                    let diagnostic = Diagnostic::error(TextPlace::default(), error.to_string());
                    let path = tree.name.clone();
                    let diagnostics = vec![FileDiagnostic { file: path.clone(), diagnostic }];
                    found.1.push(Refused { path, diagnostics });
                }
            }
        }
        found
    },
};
