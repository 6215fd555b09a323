//! Traces that are opened together on one timeline.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos_filter::{Expression, Filter, FilterError, FilterScope};
use ichnos_flow::{Merge, with_call_chains, with_running_threads};
use ichnos_io::{
    Format, Hint, InputPlaces, IoError, OptionConflict, OutputConflict, ReadOptions, RefusedTrace, Tree,
    TreeProblem,
};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::live::LiveOptions;
use ichnos_model::trace::TracerQuirk;
use ichnos_model::{DataStream, OpenedTrace, Window};

use crate::division::{Division, divide};
use crate::enclosing::{PathOpening, without_repetition};
use crate::foreign_formats::{self, ForeignFormat};
use crate::format::FORMATS;
use crate::open_options::{OpenOptions, Placement};
use crate::reader::Reader;

/// Error of [`open`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A file or directory cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The path contains no trace of a known format.
    #[error(transparent)]
    NoTrace(Box<NoTrace>),
    /// An option of a format cannot be used for a path.
    #[error("{path}: {}", conflict.message)]
    Conflict {
        /// The path.
        path: String,
        /// The option, and the reason.
        conflict: OptionConflict,
    },
    /// Traces were found, but all are unreadable.
    #[error("{}: the trace cannot be read", .0[0].path)]
    Refused(Vec<RefusedTrace>),
    /// Two clocks cannot share a timeline.
    #[error(transparent)]
    Uncorrelated(#[from] UncorrelatedClocks),
    /// No trace at these paths has the clock of a given offset.
    #[error("{}: unknown clock `{clock}`", paths.join(", "))]
    NoClock {
        /// The paths.
        paths: Vec<String>,
        /// Name of the clock.
        clock: String,
        /// Existing clocks.
        known: BTreeSet<String>,
    },
    /// No path can be read: the error of each path.
    #[error("cannot read any of the paths: {}", sentences(.0))]
    Several(Vec<OpenError>),
}

/// Path without a trace of a known format.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{path}: no trace found: {hint}")]
#[non_exhaustive]
pub struct NoTrace {
    /// The path.
    pub path: String,
    /// Expected and actual content.
    pub hint: Hint,
    /// Nearby path that can contain a trace.
    pub nearby: Option<Hint>,
    /// `true` for a single file of an unknown kind. It can be too damaged for recognition. [`OpenOptions::format`]
    /// still opens it.
    pub is_unknown: bool,
    /// Name of the recognized format, if another format was requested.
    pub recognized: Option<&'static str>,
}

fn sentences(errors: &[OpenError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Two clocks that cannot share a timeline.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "the clock `{first}` of {first_trace} and the clock `{second}` of {second_trace} have unrelated \
     origins: their events cannot be ordered"
)]
pub struct UncorrelatedClocks {
    /// Name of the first clock.
    pub first: String,
    /// Trace of the first clock.
    pub first_trace: String,
    /// Name of the second clock.
    pub second: String,
    /// Trace of the second clock.
    pub second_trace: String,
}

/// Traces that were opened together.
pub struct Session {
    traces: Vec<Box<dyn OpenedTrace>>,
    refused: Vec<RefusedTrace>,
    left_out: Vec<OpenError>,
    problems: Vec<TreeProblem>,
    notices: Vec<Hint>,
    beginnings: Vec<String>,
    is_live: bool,
    assume_correlated: bool,
    inputs: InputPlaces,
    /// Clock offsets of each trace, if given.
    placements: Vec<Placement>,
}

/// Kind of an output, for [`Session::check_output`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// Output that can be read as a trace.
    Trace,
    /// Text, tables, images and other output that is not a trace.
    Other,
}

/// Opens all traces found at `paths`: traces, directories with traces at any depth, archives. The path `-` is the
/// standard input.
///
/// # Errors
/// If no path can be read, or no readable trace was found. With [`OpenOptions::require_all`], if any path cannot be
/// read. Otherwise, unreadable paths *among* readable paths are in [`Session::left_out`], and unreadable traces in
/// [`Session::refused`].
pub fn open<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
    options: &OpenOptions,
) -> Result<Session, OpenError> {
    let mut session = Session::new(options);
    let files = options.read.formats.files().map(Path::new);
    files.chain(options.other_inputs.iter().map(PathBuf::as_path)).for_each(|file| session.inputs.add(file));
    let read = options.reading();
    let openings = paths.into_iter().map(|path| PathOpening::new(path.as_ref(), options, &read)).collect();
    let mut placements = options.placements();
    let mut trees = Vec::new();
    let (openings, notices) = without_repetition(openings);
    session.notices = notices.into_iter().map(Hint::new).collect();
    for opening in openings {
        let path = opening.path();
        let tree = if path == Path::new("-") {
            Tree::from_reader_with("stdin", std::io::stdin().lock(), &options.tree())
        } else {
            let mut options = options.tree();
            options.depth = opening.enclosing.is_some().then_some(1);
            Tree::open_with(path, &options)
        };
        let mut tree = match tree {
            Ok(tree) => tree,
            Err(error) => {
                session.leave_out(error.into(), options)?;
                continue;
            }
        };
        session.notices.extend(opening.notice());
        if opening.enclosing.is_some()
            && let Some(placement) = placements.remove(&opening.given)
        {
            placements.insert(opening.path().to_owned(), placement);
        }
        if path != Path::new("-") {
            session.inputs.add_tree(path, &tree);
        }
        opening.restrict(&mut tree);
        let beginnings = tree.entries.iter().filter(|entry| entry.goes_on());
        let shown = |path: &str| format!("{}/{path}", tree.name.trim_end_matches('/'));
        session.beginnings.extend(beginnings.map(|entry| shown(&entry.path)));
        session.problems.extend(tree.problems.iter().map(|problem| problem.clone().in_tree(&tree.name)));
        if let Some(conflict) = FORMATS.iter().find_map(|format| format.conflict(&tree, &read)) {
            return Err(OpenError::Conflict { path: tree.name, conflict });
        }
        let root = if path == Path::new("-") { PathBuf::from(&tree.name) } else { path.to_owned() };
        trees.push((root, tree));
    }
    of_trees(session, &trees, options, &placements, read)
}

/// Opens a file or archive from a reader, which is read to its end. `name` is used as the path.
///
/// # Errors
/// If the reader fails, or no readable trace was found.
pub fn open_reader(name: &str, reader: impl Read, options: &OpenOptions) -> Result<Session, OpenError> {
    let tree = Tree::from_reader_with(name, reader, &options.tree())?;
    of_trees(Session::new(options), &[(name.into(), tree)], options, &options.placements(), options.reading())
}

/// Opens a file that is a copy of what `name` names.
pub(crate) fn open_copy(name: &str, copy: &Path, options: &OpenOptions) -> Result<Session, OpenError> {
    let mut tree = Tree::open_with(copy, &options.tree())?;
    name.clone_into(&mut tree.name);
    of_trees(Session::new(options), &[(name.into(), tree)], options, &options.placements(), options.reading())
}

/// Creates the session of all opened trees, each with its path.
fn of_trees(
    mut session: Session,
    trees: &[(PathBuf, Tree)],
    options: &OpenOptions,
    placements: &HashMap<PathBuf, Placement>,
    read: ReadOptions,
) -> Result<Session, OpenError> {
    session.add(trees, options, placements, read)?;
    if session.traces.is_empty() {
        let mut errors = session.left_out;
        if !session.refused.is_empty() {
            errors.push(OpenError::Refused(session.refused));
        }
        return match errors.len() {
            0 => Ok(Session { left_out: Vec::new(), refused: Vec::new(), ..session }),
            1 => Err(errors.remove(0)),
            _ => Err(OpenError::Several(errors)),
        };
    }
    let placed = std::mem::take(&mut session.traces).into_iter().zip(std::mem::take(&mut session.placements));
    let mut placed: Vec<_> = placed.collect();
    placed.sort_by(|(a, _), (b, _)| compare(a.as_ref(), b.as_ref()));
    (session.traces, session.placements) = placed.into_iter().unzip();
    Ok(session)
}

/// Returns namespace, name and unique identifier of a trace, each with `true` if it is missing. So traces without one
/// come last.
fn identity(trace: &dyn OpenedTrace) -> [(bool, Option<String>); 3] {
    let class = &trace.trace().class;
    let namespace = class.namespace.clone().or_else(|| class.implied_namespace.clone());
    let name = trace.trace().given_name.clone().or_else(|| class.name.clone());
    let uid = class.uid.clone().or_else(|| class.uuid.map(|uuid| uuid.to_string()));
    [namespace, name, uid].map(|part| (part.is_none(), part))
}

/// Compares traces by their order on the timeline.
fn compare(a: &dyn OpenedTrace, b: &dyn OpenedTrace) -> Ordering {
    (a.trace().class.uuid, a.path()).cmp(&(b.trace().class.uuid, b.path()))
}

/// Adds data to the events of a trace that their records lack.
fn complete(trace: Box<dyn OpenedTrace>, options: &OpenOptions) -> Box<dyn OpenedTrace> {
    let trace = match &options.debug_info {
        Some(debug_info) => debug_info.wrap(trace),
        None => ichnos_debuginfo::with_symbols(trace, None),
    };
    with_call_chains(with_running_threads(trace))
}

/// Returns the error for a tree without traces.
fn no_trace(tree: &Tree, options: &OpenOptions) -> OpenError {
    if let Some(error) = other_format(tree, options) {
        return error;
    }
    /// Maximum number of examined files in a directory or archive.
    const LOOKED_AT: usize = 100;
    let problems: Vec<&str> = tree.problems.iter().map(|problem| problem.message.as_str()).collect();
    let problems = problems.join("; ");
    let lacking = || options.formats().find_map(|format| format.why_unrecognized(tree));
    let mut is_unknown = false;
    let mut hint = match tree.entries.as_slice() {
        [] if !problems.is_empty() => Hint::new(problems.clone()),
        [] => Hint::new("it is empty"),
        [only] if only.len == Some(0) => Hint::new("it is an empty file"),
        [only] => match (foreign_formats::describe(only), ForeignFormat::for_entry(only)) {
            (Some(part), _) => part.after("this is "),
            (None, Some(known)) => Hint::new(format!("this is {known}")),
            (None, None) => {
                is_unknown = true;
                let message = format!("`{}` has an unrecognized format", only.name());
                match lacking() {
                    Some(lacking) => lacking.after(&format!("{message}; ")),
                    None => Hint::new(message),
                }
            }
        },
        several => {
            let unrecognized = || Hint::new(format!("its {} files have unrecognized formats", several.len()));
            let lacking = lacking().unwrap_or_else(unrecognized);
            let known = several.iter().take(LOOKED_AT).find_map(|entry| {
                let known = foreign_formats::describe(entry).or_else(|| {
                    let known = ForeignFormat::for_entry(entry).filter(|known| known.is_trace)?;
                    Some(Hint::new(known.to_string()))
                })?;
                Some(known.after(&format!("{}; `{}` is ", lacking.message, entry.path)))
            });
            known.unwrap_or(lacking)
        }
    };
    // The problems can be the reason.
    if !tree.entries.is_empty() && !problems.is_empty() {
        hint.message = format!("{}; {problems}", hint.message);
    }
    let nearby = options.formats().find_map(|format| format.suggest_path(Path::new(&tree.name)));
    OpenError::NoTrace(Box::new(NoTrace {
        path: tree.name.clone(),
        hint,
        nearby,
        is_unknown,
        recognized: None,
    }))
}

/// Returns the error for a tree in another format than requested.
fn other_format(tree: &Tree, options: &OpenOptions) -> Option<OpenError> {
    let wanted = options.formats().next().filter(|_| options.format.is_some())?.info();
    let is_other =
        |format: &&&dyn Format| format.info().name != wanted.name && format.probe(tree, &options.read);
    let other = FORMATS.iter().find(is_other)?.info();
    let hint = Hint::new(format!(
        "expected the format {} ({}), found {} ({})",
        wanted.name, wanted.title, other.name, other.title
    ));
    let recognized = Some(other.name);
    let path = tree.name.clone();
    Some(OpenError::NoTrace(Box::new(NoTrace { path, hint, nearby: None, is_unknown: false, recognized })))
}

impl Session {
    /// Creates an empty session.
    fn new(options: &OpenOptions) -> Self {
        Self {
            traces: Vec::new(),
            refused: Vec::new(),
            left_out: Vec::new(),
            problems: Vec::new(),
            notices: Vec::new(),
            beginnings: Vec::new(),
            is_live: false,
            assume_correlated: options.assume_correlated,
            inputs: InputPlaces::default(),
            placements: Vec::new(),
        }
    }

    /// Records an unreadable path.
    fn leave_out(&mut self, error: OpenError, options: &OpenOptions) -> Result<(), OpenError> {
        if options.require_all {
            return Err(error);
        }
        self.left_out.push(error);
        Ok(())
    }

    fn add(
        &mut self,
        trees: &[(PathBuf, Tree)],
        options: &OpenOptions,
        placements: &HashMap<PathBuf, Placement>,
        read: ReadOptions,
    ) -> Result<(), OpenError> {
        let wanted: Vec<&dyn Format> = options.formats().collect();
        let mut divided = Vec::new();
        for (root, tree) in trees {
            let Division { parts, notices, problems, beginnings } =
                divide(tree, &wanted, &read, &options.tree());
            self.notices.extend(notices.into_iter().map(Hint::new));
            self.problems.extend(problems.into_iter().map(|problem| problem.in_tree(&tree.name)));
            let shown = |path: String| format!("{}/{path}", tree.name.trim_end_matches('/'));
            self.beginnings.extend(beginnings.into_iter().map(shown));
            if parts.is_empty() {
                self.leave_out(no_trace(tree, options), options)?;
            }
            if let (_, missing) = Placement::divide(tree, root, placements)
                && let Some(path) = missing.into_iter().next()
            {
                return Err(IoError::NotFound { path: path.display().to_string() }.into());
            }
            divided.push((root, parts));
        }
        for (i, format) in wanted.iter().enumerate() {
            let own = divided.iter().filter_map(|(root, parts)| Some((root, parts.get(&i)?)));
            let placed: Vec<_> =
                own.flat_map(|(root, part)| Placement::divide(part, root, placements).0).collect();
            let mut by_placement: BTreeMap<Placement, Vec<&Tree>> = BTreeMap::new();
            for (placement, part) in &placed {
                by_placement.entry(placement.clone()).or_default().push(part);
            }
            for (placement, trees) in by_placement {
                let mut read = read.clone();
                read.clock_offsets = read.clock_offsets.and(&placement.offsets);
                let mut opened = format.open(&trees, &read);
                check_names(&placement, &trees, &opened.traces)?;
                self.placements.resize(self.traces.len() + opened.traces.len(), placement);
                let traces = opened.traces.drain(..).map(|trace| complete(trace, options));
                self.traces.extend(traces);
                self.refused.append(&mut opened.refused);
                self.notices.extend(opened.notices.into_iter().map(Hint::new));
            }
        }
        Ok(())
    }

    /// Creates a session from a trace that was opened otherwise.
    #[must_use]
    pub fn of_trace(trace: Box<dyn OpenedTrace>, options: &OpenOptions) -> Self {
        let placements = vec![Placement::default()];
        let mut session = Self { traces: vec![trace], placements, ..Self::new(options) };
        options.other_inputs.iter().for_each(|file| session.inputs.add(file));
        session
    }

    /// Creates a session of live traces, for example [`LiveTrace`](ichnos_model::live::LiveTrace). They can be read
    /// once.
    #[must_use]
    pub fn of_live(traces: Vec<Box<dyn OpenedTrace>>, options: &OpenOptions) -> Self {
        let placements = traces.iter().map(|_| Placement::default()).collect();
        Self { traces, placements, is_live: true, ..Self::new(options) }
    }

    /// Joins sessions that were opened with different options. Traces are sorted by their identities. Also returns, for
    /// each trace, the index of the session that it came from. Only `options` decide whether clocks count as correlated.
    #[must_use]
    pub fn join(sessions: impl IntoIterator<Item = Self>, options: &OpenOptions) -> (Self, Vec<usize>) {
        let mut joined = Self::new(options);
        let mut traces = Vec::new();
        for (index, mut session) in sessions.into_iter().enumerate() {
            let placements = std::mem::take(&mut session.placements);
            let own = std::mem::take(&mut session.traces).into_iter().zip(placements);
            traces.extend(own.map(|(trace, placement)| (trace, placement, index)));
            joined.refused.append(&mut session.refused);
            joined.left_out.append(&mut session.left_out);
            joined.problems.append(&mut session.problems);
            joined.notices.append(&mut session.notices);
            joined.beginnings.append(&mut session.beginnings);
            joined.is_live |= session.is_live;
            joined.inputs.extend(session.inputs);
        }
        traces.sort_by_cached_key(|(trace, ..)| (identity(trace.as_ref()), trace.path().to_owned()));
        let mut indexes = Vec::new();
        for (trace, placement, index) in traces {
            joined.traces.push(trace);
            joined.placements.push(placement);
            indexes.push(index);
        }
        (joined, indexes)
    }

    /// Returns the traces. Their order decides between equal times.
    #[must_use]
    pub fn traces(&self) -> &[Box<dyn OpenedTrace>] {
        &self.traces
    }

    /// Returns the unreadable traces.
    #[must_use]
    pub fn refused(&self) -> &[RefusedTrace] {
        &self.refused
    }

    /// Returns the errors of skipped paths, which are unreadable or lack a trace.
    #[must_use]
    pub fn left_out(&self) -> &[OpenError] {
        &self.left_out
    }

    /// Returns problems with directories and archives, one sentence each.
    #[must_use]
    pub fn problems(&self) -> &[TreeProblem] {
        &self.problems
    }

    /// Returns display notes that are not problems, one sentence each. For example, a duplicate trace is read once.
    #[must_use]
    pub fn notices(&self) -> &[Hint] {
        &self.notices
    }

    /// Returns the files of which only the first part was read, due to [`OpenOptions::beginning`]. Data at the end of
    /// such a file appears damaged or missing, so its data stream seems to end there.
    #[must_use]
    pub fn beginnings(&self) -> &[String] {
        &self.beginnings
    }

    /// Checks that writing to a path does not change the input, now or when the same paths are opened again.
    ///
    /// # Errors
    /// If the output is an input, contains an input, or is in an input directory where it would be read.
    pub fn check_output(&self, path: &Path, kind: OutputKind) -> Result<(), OutputConflict> {
        self.inputs.check(path, |directory| {
            kind == OutputKind::Trace || FORMATS.iter().any(|format| format.reads_all_files(directory))
        })
    }

    /// Returns `true` if messages are read as they arrive, from a [live input](crate::live). They can be read only once.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// Returns the options of the live inputs, `None` without live input.
    pub(crate) fn live(&self) -> Option<&LiveOptions> {
        self.traces.iter().find_map(|trace| trace.live())
    }

    /// Checks an expression against the classes of the traces, and returns a filter for their events.
    ///
    /// `resolve_time` converts a time in expression notation to nanoseconds from the clock origin: see
    /// [`Filter::new`].
    ///
    /// ```no_run
    /// use ichnos::prelude::*;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = ichnos::open(["my-trace"], &OpenOptions::default())?;
    /// let expression = "event == \"sched_switch\" && next_tid in [1, 2]".parse()?;
    /// let filter = session.filter(&expression, &|time| Err(format!("{time}: times are not known here")))?;
    /// let mut selector = filter.selector();
    /// let mut events = session.events_in(filter.window())?;
    /// while let Some(event) = events.next_event() {
    ///     if selector.selects(&event) {
    ///         println!("{:?}", event.field("next_comm").and_then(|name| name.as_str()));
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`Filter::new`].
    pub fn filter(
        &self,
        expression: &Expression,
        resolve_time: &dyn Fn(&str) -> Result<i128, String>,
    ) -> Result<Filter, FilterError> {
        let traces: Vec<_> = self.traces.iter().map(|trace| Arc::clone(trace.trace())).collect();
        let has_dynamic_classes = self.traces.iter().any(|trace| trace.has_dynamic_classes());
        Filter::new(expression, FilterScope { traces: &traces, has_dynamic_classes }, resolve_time)
    }

    /// Returns `true` if the options have an offset for a clock of a trace.
    fn is_placed(&self, trace: usize, clock: &ClockClass) -> bool {
        self.placements.get(trace).is_some_and(|placement| placement.relates(clock))
    }

    /// Returns `true` if the options relate otherwise unrelated clocks.
    pub(crate) fn relates_clocks(&self) -> bool {
        self.assume_correlated || self.placements.iter().any(Placement::is_any)
    }

    /// Returns two clocks without a known common origin, if any.
    #[must_use]
    pub fn uncorrelated(&self) -> Option<UncorrelatedClocks> {
        let traces = self.traces.iter().enumerate();
        let streams: Vec<(usize, Arc<DataStream>)> = traces
            .flat_map(|(i, trace)| trace.data_streams().into_iter().map(move |stream| (i, stream)))
            .collect();
        self.uncorrelated_among(streams.iter().map(|(trace, stream)| (*trace, stream)))
    }

    /// Returns two such clocks of these data streams. Each data stream comes with its trace index.
    fn uncorrelated_among<'a>(
        &self,
        streams: impl Iterator<Item = (usize, &'a Arc<DataStream>)>,
    ) -> Option<UncorrelatedClocks> {
        // A clock is identified by its trace and its index there. Most data streams share a clock.
        let mut clocks: Vec<(usize, u16, &ClockClass)> = Vec::new();
        for (trace, stream) in streams {
            let (Some(index), Some(clock)) = (stream.class().default_clock, stream.clock()) else { continue };
            let is_known = clocks.iter().any(|known| (known.0, known.1) == (trace, index));
            if !is_known && !self.is_placed(trace, clock) {
                clocks.push((trace, index, clock));
            }
        }
        let all: Vec<&ClockClass> = clocks.iter().map(|(_, _, clock)| *clock).collect();
        let stranger = first_uncorrelated(&all)?;
        let name = |(_, _, clock): &(usize, u16, &ClockClass)| {
            clock.name.clone().unwrap_or_else(|| clock.id.clone())
        };
        let path = |(trace, _, _): &(usize, u16, &ClockClass)| self.traces[*trace].path().to_owned();
        let (first, second) = (clocks.first()?, clocks.get(stranger)?);
        Some(UncorrelatedClocks {
            first: name(first),
            first_trace: path(first),
            second: name(second),
            second_trace: path(second),
        })
    }

    /// Returns known tracer bugs that have affected reading so far, with their trace indexes.
    #[must_use]
    pub fn applied_quirks(&self) -> Vec<(usize, TracerQuirk)> {
        let is_related = self.is_related_by_quirks();
        let relates = |quirk: &TracerQuirk| quirk.relates_clocks && is_related;
        let of = |trace: &dyn OpenedTrace| {
            let related = trace.quirks().into_iter().filter(relates);
            trace.applied_quirks().into_iter().chain(related).collect::<Vec<_>>()
        };
        let traces = self.traces.iter().enumerate();
        traces.flat_map(|(i, trace)| of(trace.as_ref()).into_iter().map(move |quirk| (i, quirk))).collect()
    }

    /// Returns `true` if clocks of several traces share a timeline only because of tracer bugs.
    fn is_related_by_quirks(&self) -> bool {
        if self.traces.len() < 2 || self.assume_correlated {
            return false;
        }
        let mut clocks: Vec<ClockClass> = Vec::new();
        for (i, trace) in self.traces.iter().enumerate() {
            let is_changed = trace.quirks().iter().any(|quirk| quirk.relates_clocks);
            let streams = trace.streams();
            let used: BTreeSet<u16> =
                streams.iter().filter_map(|summary| summary.stream.class().default_clock).collect();
            let all = &trace.trace().class.clocks;
            let used = used.iter().filter_map(|index| all.get(usize::from(*index)));
            for clock in used.filter(|clock| !self.is_placed(i, clock)) {
                let origin = if is_changed { ClockOrigin::Unknown } else { clock.origin.clone() };
                clocks.push(ClockClass { origin, ..clock.clone() });
            }
        }
        first_uncorrelated(&clocks.iter().collect::<Vec<_>>()).is_some()
    }

    /// Returns `true` if a trace has events that name processes, modules or functions: see
    /// [`EventRecordClass::is_rundown`](ichnos_model::class::EventRecordClass::is_rundown).
    #[must_use]
    pub fn has_rundown(&self) -> bool {
        let classes = self.traces().iter().flat_map(|trace| &trace.trace().class.data_streams);
        classes.flat_map(|stream| &stream.event_records).any(|class| class.is_rundown)
    }

    /// Returns all messages in the window, merged by time.
    ///
    /// # Errors
    /// If clocks are not correlated and the options do not assume it.
    pub fn cursor(&self, window: Window) -> Result<Merge, OpenError> {
        self.cursor_of(window, |_| true)
    }

    /// Returns the messages of selected data streams in the window, merged by time. Other data streams are not read.
    /// Damage without a data stream is always reported.
    ///
    /// # Errors
    /// If clocks of selected data streams are not correlated and the options do not assume it.
    pub fn cursor_of(
        &self,
        window: Window,
        wants: impl FnMut(&DataStream) -> bool,
    ) -> Result<Merge, OpenError> {
        Ok(self.reader_of(window, wants)?.cursor())
    }

    /// Returns a reader of all messages.
    ///
    /// # Errors
    /// See [`Session::cursor`].
    pub fn reader(&self) -> Result<Reader<'_>, OpenError> {
        self.reader_of(Window::default(), |_| true)
    }

    /// Returns a reader of selected data streams in the window.
    ///
    /// # Errors
    /// See [`Session::cursor_of`].
    pub fn reader_of(
        &self,
        window: Window,
        wants: impl FnMut(&DataStream) -> bool,
    ) -> Result<Reader<'_>, OpenError> {
        let reader = self.stream_reader_of(window, wants);
        let streams: Vec<Vec<Arc<DataStream>>> =
            self.traces.iter().map(|trace| trace.data_streams()).collect();
        let wanted = streams.iter().zip(&reader.wanted).enumerate().flat_map(|(trace, (streams, wanted))| {
            streams.iter().zip(wanted).filter(|(_, is)| **is).map(move |(stream, _)| (trace, stream))
        });
        if !self.assume_correlated
            && let Some(uncorrelated) = self.uncorrelated_among(wanted)
        {
            return Err(uncorrelated.into());
        }
        Ok(reader)
    }

    /// Returns a reader for separate data streams. Their clocks need not be related.
    #[must_use]
    pub fn stream_reader(&self) -> Reader<'_> {
        self.stream_reader_of(Window::default(), |_| true)
    }

    /// Returns a reader for separate selected data streams in the window.
    pub fn stream_reader_of(&self, window: Window, mut wants: impl FnMut(&DataStream) -> bool) -> Reader<'_> {
        let wanted = self
            .traces
            .iter()
            .map(|trace| trace.data_streams().iter().map(|stream| wants(stream)).collect())
            .collect();
        Reader {
            session: self,
            windows: vec![window; self.traces.len()],
            wanted,
            begin: None,
            excluded: Vec::new(),
            shard: None,
        }
    }
}

/// Checks that the clocks with given offsets exist.
fn check_names(
    placement: &Placement,
    trees: &[&Tree],
    traces: &[Box<dyn OpenedTrace>],
) -> Result<(), OpenError> {
    if traces.is_empty() {
        // Unreadable traces have their own errors.
        return Ok(());
    }
    let clocks = || traces.iter().flat_map(|trace| &trace.trace().class.clocks);
    let is_there = |name: &str| clocks().any(|clock| clock.is_called(name));
    match placement.offsets.by_name.iter().find(|(name, _)| !is_there(name)) {
        Some((name, _)) => Err(OpenError::NoClock {
            paths: trees.iter().map(|tree| tree.name.clone()).collect(),
            clock: name.clone(),
            known: clocks().map(|clock| clock.name.clone().unwrap_or_else(|| clock.id.clone())).collect(),
        }),
        None => Ok(()),
    }
}

/// Returns the index of the first clock that is not related to the first clock, directly or through other clocks. The
/// result therefore does not depend on the order of the clocks.
fn first_uncorrelated(clocks: &[&ClockClass]) -> Option<usize> {
    let mut is_related = vec![false; clocks.len()];
    *is_related.first_mut()? = true;
    let mut next = vec![0];
    while let Some(known) = next.pop() {
        for (i, clock) in clocks.iter().enumerate() {
            if !is_related[i] && clock.correlates_with(clocks[known]) {
                is_related[i] = true;
                next.push(i);
            }
        }
    }
    is_related.iter().position(|is| !is)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(uid: Option<&str>, origin: ClockOrigin) -> ClockClass {
        ClockClass {
            name: Some("clock".to_owned()),
            uid: uid.map(str::to_owned),
            origin,
            ..ClockClass::new("c", 1_000)
        }
    }

    #[test]
    fn clocks_are_related_over_others() {
        let unknown = clock(Some("1"), ClockOrigin::Unknown);
        let epoch = clock(None, ClockOrigin::UnixEpoch);
        let both = clock(Some("1"), ClockOrigin::UnixEpoch);
        let alone = clock(None, ClockOrigin::Unknown);
        assert_eq!(first_uncorrelated(&[]), None);
        assert_eq!(first_uncorrelated(&[&alone]), None);
        assert_eq!(first_uncorrelated(&[&unknown, &epoch]), Some(1));
        for order in [[&unknown, &both, &epoch], [&unknown, &epoch, &both], [&both, &epoch, &unknown]] {
            assert_eq!(first_uncorrelated(&order), None);
        }
        assert_eq!(first_uncorrelated(&[&epoch, &both, &alone, &unknown]), Some(2));
        assert_eq!(first_uncorrelated(&[&alone, &alone]), Some(1));
    }
}
