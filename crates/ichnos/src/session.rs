//! What was opened together, on one time line.

use std::path::{Path, PathBuf};

use ichnos_flow::{DamageCursor, Merge};
use ichnos_io::{IoError, IoLimits, Tree};
use ichnos_model::{ClockClass, Cursor, FileDiagnostic, TraceInput, Window};

use crate::format::FORMATS;

/// How to open traces.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// For CTF traces.
    pub ctf: ichnos_ctf::trace::OpenOptions,
    /// Limits of what is read from files and archives.
    pub io: IoLimits,
    /// Merge traces though nothing says that their clocks have the same origin.
    pub assume_correlated: bool,
}

/// A trace that was found but cannot be read.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Where it lies.
    pub path: String,
    /// Why.
    pub diagnostics: Vec<FileDiagnostic>,
}

/// Why nothing was opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A file or folder cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// There is no trace of a known format.
    #[error("{path}: no trace found: {hint}")]
    NoTrace {
        /// Where none is.
        path: String,
        /// What was looked for, and what there is instead.
        hint: String,
    },
    /// Traces were found, but none can be read.
    #[error("{}: the trace cannot be read", .0[0].path)]
    Refused(Vec<Refused>),
    /// Two clocks cannot stand on one time line.
    #[error(transparent)]
    Uncorrelated(#[from] UncorrelatedClocks),
}

/// Two clocks that cannot stand on one time line.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "the clock `{first}` of {first_trace} and the clock `{second}` of {second_trace} count from origins that \
     nothing relates: their events cannot be put in order"
)]
pub struct UncorrelatedClocks {
    /// Name of the first clock.
    pub first: String,
    /// The trace it is in.
    pub first_trace: String,
    /// Name of the second clock.
    pub second: String,
    /// The trace it is in.
    pub second_trace: String,
}

/// Traces that were opened together.
pub struct Session {
    traces: Vec<Box<dyn TraceInput>>,
    refused: Vec<Refused>,
    problems: Vec<String>,
    assume_correlated: bool,
}

/// Opens everything that is found at `paths`: traces, folders with traces at any depth, archives.
/// The path `-` is the standard input.
///
/// # Errors
/// If a path cannot be read, or nothing was found that can be. What cannot be read *among*
/// traces that can is told by [`Session::refused`].
pub fn open<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
    options: &OpenOptions,
) -> Result<Session, OpenError> {
    let mut session = Session {
        traces: Vec::new(),
        refused: Vec::new(),
        problems: Vec::new(),
        assume_correlated: options.assume_correlated,
    };
    let paths: Vec<P> = paths.into_iter().collect();
    let mut trees = Vec::new();
    for path in without_repetition(&paths) {
        let tree = if path == Path::new("-") {
            Tree::from_reader("stdin", std::io::stdin().lock(), &options.io)?
        } else {
            Tree::open(path, &options.io)?
        };
        session.problems.extend(tree.problems.iter().map(|problem| format!("{}: {problem}", tree.name)));
        trees.push(tree);
    }
    session.add(&trees, options)?;
    if session.traces.is_empty() && !session.refused.is_empty() {
        return Err(OpenError::Refused(session.refused));
    }
    session.traces.sort_by(|a, b| (a.trace().class.uuid, a.path()).cmp(&(b.trace().class.uuid, b.path())));
    Ok(session)
}

/// Why there is nothing to read in a tree.
fn no_trace(tree: &Tree) -> OpenError {
    let hint = match tree.entries.as_slice() {
        [] if !tree.problems.is_empty() => tree.problems.join("; "),
        [] => "it is empty".to_owned(),
        [only] if only.len == Some(0) => "it is an empty file".to_owned(),
        [only] => format!(
            "`{}` is none of the formats that ichnos knows by itself; a single data stream file of CTF needs \
             `--metadata FILE`",
            only.name()
        ),
        several => {
            format!("none of its {} files is called `metadata`, as that of a CTF trace is", several.len())
        }
    };
    OpenError::NoTrace { path: tree.name.clone(), hint }
}

/// The paths without those that were there before, or lie in a folder that is read as a whole: no
/// event should come twice.
fn without_repetition<P: AsRef<Path>>(paths: &[P]) -> Vec<&Path> {
    let real: Vec<Option<PathBuf>> = paths.iter().map(|path| path.as_ref().canonicalize().ok()).collect();
    let is_hidden = |path: &Path| path.iter().any(|name| name.to_string_lossy().starts_with('.'));
    let is_covered = |i: usize, path: &Path| {
        real.iter().enumerate().any(|(j, other)| {
            let Some(rest) = other.as_ref().and_then(|other| path.strip_prefix(other).ok()) else {
                return false;
            };
            if rest.as_os_str().is_empty() { j < i } else { path.is_dir() && !is_hidden(rest) }
        })
    };
    let paths = paths.iter().map(AsRef::as_ref).zip(&real).enumerate();
    let kept = paths.filter(|(i, (_, real))| !real.as_ref().is_some_and(|real| is_covered(*i, real)));
    kept.map(|(_, (path, _))| path).collect()
}

impl Session {
    fn add(&mut self, trees: &[Tree], options: &OpenOptions) -> Result<(), OpenError> {
        let format_of = |tree: &Tree| FORMATS.iter().position(|format| (format.probe)(tree, options));
        let formats: Vec<Option<usize>> = trees.iter().map(format_of).collect();
        if let Some(unknown) = formats.iter().position(Option::is_none) {
            return Err(no_trace(&trees[unknown]));
        }
        for (i, format) in FORMATS.iter().enumerate() {
            let own = trees.iter().zip(&formats).filter(|(_, format)| **format == Some(i));
            let own: Vec<&Tree> = own.map(|(tree, _)| tree).collect();
            let (traces, refused) = (format.open)(&own, options);
            self.traces.extend(traces);
            self.refused.extend(refused);
        }
        Ok(())
    }

    /// The traces, in the order in which ties of time are broken.
    #[must_use]
    pub fn traces(&self) -> &[Box<dyn TraceInput>] {
        &self.traces
    }

    /// The traces that were found but cannot be read.
    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// What is wrong with folders and archives, a sentence each.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Two clocks of which nothing says that they have the same origin, if there are such.
    #[must_use]
    pub fn uncorrelated(&self) -> Option<UncorrelatedClocks> {
        let mut first: Option<(ClockClass, String)> = None;
        for trace in &self.traces {
            for stream in trace.streams() {
                let Some(clock) = stream.stream.clock() else { continue };
                match &first {
                    None => first = Some((clock.clone(), trace.path().to_owned())),
                    Some((other, other_trace)) => {
                        let same_trace = other_trace == trace.path() && other == clock;
                        if !same_trace && !other.correlates_with(clock) {
                            let name =
                                |clock: &ClockClass| clock.name.clone().unwrap_or_else(|| clock.id.clone());
                            return Some(UncorrelatedClocks {
                                first: name(other),
                                first_trace: other_trace.clone(),
                                second: name(clock),
                                second_trace: trace.path().to_owned(),
                            });
                        }
                    }
                }
            }
        }
        None
    }

    /// All messages in the window, merged by time.
    ///
    /// # Errors
    /// If clocks are not correlated and nobody said to assume it.
    pub fn cursor(&self, window: Window) -> Result<Merge<Box<dyn Cursor + Send>>, OpenError> {
        if !self.assume_correlated
            && let Some(uncorrelated) = self.uncorrelated()
        {
            return Err(uncorrelated.into());
        }
        let mut cursors: Vec<Box<dyn Cursor + Send>> = Vec::new();
        for trace in &self.traces {
            if !trace.damage().is_empty() {
                cursors.push(Box::new(DamageCursor::new(trace.damage().to_vec())));
            }
            cursors.extend(trace.cursors(window));
        }
        Ok(Merge::new(cursors))
    }
}
