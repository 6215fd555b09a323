//! Typed expressions that select events.
//!
//! An [`Expression`] is parsed first, then checked against the classes of the traces that are to be read
//! ([`Filter::new`]), and compiled once for each event record class that is met. A [`Selector`] evaluates it on a
//! thread: nothing is allocated for an event, and only the scopes that decide are decoded.
//!
//! A condition holds, does not hold, or is unknown, because a field is not there in an event: then what is made of it
//! is unknown too, as far as nothing else decides. Only events of which the whole expression holds are selected.
//!
//! The language is described in `docs/expressions.md`.

mod class;
mod compile;
mod error;
mod fetch;
mod glob;
mod parser;
mod parts;
mod program;
mod property;
mod survey;
mod syntax;
#[cfg(test)]
mod tests;
mod token;
mod value;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_model::{DataStream, Event, ExcludedClasses, Trace, Window};
use regex::bytes::Regex;

use class::Class;
use compile::Compiler;
pub use error::{FilterError, FilterErrorKind, FilterWarning, KnownName};
use fetch::Fetched;
use program::Program;
use property::Alias;
use survey::Survey;
use syntax::{CompareOp, Node, NodeKind, Path};

/// An expression that follows the grammar. Shown, it is the same expression with all parentheses.
#[derive(Clone, Debug)]
pub struct Expression {
    source: Arc<str>,
    root: Arc<Node>,
    patterns: Vec<Regex>,
}

impl Expression {
    /// Longest expression, in bytes.
    pub const MOST_BYTES: usize = parser::MOST_BYTES;
    /// How often parts of an expression can be within one another.
    pub const DEPTH: usize = parser::DEPTH;

    /// Reads an expression.
    ///
    /// # Errors
    /// If it does not follow the grammar, or is longer or more deeply nested than is allowed.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let (root, patterns) = parser::parse(text)?;
        Ok(Self { source: text.into(), root: Arc::new(root), patterns })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.source
    }
}

impl FromStr for Expression {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Self::parse(text)
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

/// The traces that an expression is for.
#[derive(Clone, Copy, Debug)]
pub struct FilterScope<'t> {
    /// All of the traces.
    pub traces: &'t [Arc<Trace>],
    /// Whether they have event record classes that are only met while reading. Names that no class has are no
    /// error then.
    pub has_dynamic_classes: bool,
}

/// An expression for certain traces, to be used by any number of threads, and for events of these traces only.
#[derive(Clone)]
pub struct Filter {
    shared: Arc<Shared>,
}

struct Shared {
    expression: Expression,
    /// Programs are found by their addresses.
    traces: Vec<Arc<Trace>>,
    times: HashMap<String, Result<i128, String>>,
    /// Set if classes are only known after reading.
    is_open: bool,
    aliases: Vec<Alias>,
    /// Whether it depends on more of the data stream than the class.
    depends_on_stream: bool,
    window: Window,
    warnings: Vec<FilterWarning>,
    programs: Mutex<HashMap<ProgramKey, Arc<Program>>>,
    excluded: Mutex<Excluded>,
}

/// Classes of which no event is selected: by trace, data stream class, and data stream if it depends on that.
type Excluded = HashMap<(usize, usize, Option<u32>), Option<Arc<ExcludedClasses>>>;

/// What a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ProgramKey {
    trace: usize,
    stream_class: usize,
    /// If it depends on that.
    stream: Option<u32>,
    class: usize,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("expression", &self.shared.expression.text()).finish_non_exhaustive()
    }
}

impl Filter {
    /// Checks an expression against the classes of traces.
    ///
    /// `resolve_time` gives the nanoseconds from the origin that a point in time stands for, as it is written in the
    /// expression: `09:22:11.95`, `2026-05-22 09:22`, `+3s`, `-5s`, `@12`, or what is in a string that is compared with
    /// the time. It is called while this function runs only.
    ///
    /// # Errors
    /// If there is a name that no event has which could be selected, if an operator cannot be applied to the types
    /// in any class, or if a time cannot be used.
    pub fn new(
        expression: &Expression,
        scope: FilterScope<'_>,
        resolve_time: &dyn Fn(&str) -> Result<i128, String>,
    ) -> Result<Self, FilterError> {
        let Expression { source, root, patterns } = expression;
        let times: RefCell<HashMap<String, Result<i128, String>>> = RefCell::default();
        let resolve = |text: &str| {
            let known = times.borrow().get(text).cloned();
            known.unwrap_or_else(|| {
                let time = resolve_time(text);
                times.borrow_mut().insert(text.to_owned(), time.clone());
                time
            })
        };
        let is_empty = |trace: &Arc<Trace>| {
            trace.plans.data_streams.iter().all(|stream| stream.event_records.is_empty())
        };
        let is_open = scope.has_dynamic_classes || scope.traces.iter().all(is_empty);
        let survey =
            Survey { source, root, patterns, traces: scope.traces, is_open, times: &resolve, aliases: &[] };
        let aliases = survey.find_aliases();
        let warnings = Survey { aliases: &aliases, ..survey }.run()?;
        let mut depends_on_stream = false;
        root.for_each(&mut |node| {
            if let NodeKind::Name(path) | NodeKind::Has(path) = &node.kind {
                depends_on_stream |= path.split().0 == "stream";
            }
        });
        let is_time = |path: &Path| {
            // In a class that is met later, it may be a field.
            let is_used = |alias: &Alias| path.is_property || !is_open && aliases.contains(alias);
            let alias = property::alias(path).filter(is_used);
            alias.map(|alias| alias.property).or(path.word()) == Some("time")
        };
        let window =
            window_of(root, &|node| matches!(&node.kind, NodeKind::Name(path) if is_time(path)), &|node| {
                time_of(node, source, &resolve)
            });
        let shared = Shared {
            expression: expression.clone(),
            traces: scope.traces.to_vec(),
            times: times.into_inner(),
            is_open,
            depends_on_stream,
            window: Window {
                begin: window.begin,
                // The first time alone if there is none in it: no event is selected.
                end: window.end.map(|end| end.max(window.begin.unwrap_or(end))),
            },
            warnings,
            aliases,
            programs: Mutex::default(),
            excluded: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The expression.
    #[must_use]
    pub fn expression(&self) -> &Expression {
        &self.shared.expression
    }

    /// A part of the timeline in which all events lie that are selected: to read no more than that.
    #[must_use]
    pub fn window(&self) -> Window {
        self.shared.window
    }

    /// What is probably not meant.
    #[must_use]
    pub fn warnings(&self) -> &[FilterWarning] {
        &self.shared.warnings
    }

    /// Checks the expression again, now for the classes that were met while reading: as [`Filter::new`] does where all
    /// classes are known. Nothing if it did, or if no class was met.
    ///
    /// # Errors
    /// If there is a name that no event has, or an operator that cannot be applied to the types in any class.
    pub fn review(&self) -> Result<Vec<FilterWarning>, FilterError> {
        let Expression { source, root, patterns } = &self.shared.expression;
        let (traces, aliases) = (&self.shared.traces[..], &self.shared.aliases[..]);
        let times = |text: &str| self.resolved(text);
        let survey = Survey { source, root, patterns, traces, is_open: false, times: &times, aliases };
        if !self.shared.is_open || !survey.has_classes() {
            return Ok(Vec::new());
        }
        // Times were checked before.
        survey.run().or_else(|error| match error.kind {
            FilterErrorKind::Time => Ok(Vec::new()),
            _ => Err(error),
        })
    }

    /// The time that a text of the expression stands for.
    fn resolved(&self, text: &str) -> Result<i128, String> {
        let time = self.shared.times.get(text).cloned();
        time.unwrap_or_else(|| Err("it was not resolved".to_owned()))
    }

    /// The event record classes of a data stream of which no event is selected, whatever is in it; None if there are
    /// none, or if finding out would take long.
    #[must_use]
    pub fn excluded_classes(&self, stream: &DataStream) -> Option<Arc<ExcludedClasses>> {
        /// How many classes are looked at, those of each data stream if it depends on that.
        const MOST_CLASSES: usize = 100_000;
        let of_stream = self.shared.depends_on_stream.then_some(stream.key);
        let key = (Arc::as_ptr(&stream.trace).addr(), stream.class_index, of_stream);
        let mut excluded = self.shared.excluded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = excluded.get(&key) {
            return known.clone();
        }
        let (stream_class, stream_plans) = (stream.class(), stream.plans());
        if excluded.len().saturating_add(1).saturating_mul(stream_plans.event_records.len()) > MOST_CLASSES {
            return None;
        }
        let classes = ExcludedClasses::new(stream_plans.event_records.iter().map(|plans| {
            let trace = &stream.trace;
            let class = Class { trace, stream_class, stream_plans, plans, stream: Some(stream), event: None };
            self.compile(class).verdict() == Some(false)
        }));
        excluded.entry(key).or_insert(classes.map(Arc::new)).clone()
    }

    /// What evaluates it on a thread.
    #[must_use]
    pub fn selector(&self) -> Selector {
        Selector {
            // Each has a memory of its own for its searches.
            patterns: self.shared.expression.patterns.clone(),
            shared: Arc::clone(&self.shared),
            streams: Vec::new(),
            tables: Vec::new(),
            by_class: HashMap::new(),
            fetched: Fetched::default(),
        }
    }

    /// The program for the class of an event.
    fn program(&self, key: ProgramKey, event: &Event<'_>) -> Arc<Program> {
        let programs = || self.shared.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs().get(&key) {
            return Arc::clone(program);
        }
        let program = Arc::new(self.compile(Class::of(event)));
        Arc::clone(programs().entry(key).or_insert(program))
    }

    fn compile(&self, class: Class<'_>) -> Program {
        let Expression { source, root, patterns } = &self.shared.expression;
        let times = |text: &str| self.resolved(text);
        Compiler::new(class, source, patterns, &times, &self.shared.aliases).program(root)
    }
}

/// Evaluates a [`Filter`], on one thread at a time.
pub struct Selector {
    shared: Arc<Shared>,
    patterns: Vec<Regex>,
    /// By the key of the data stream: which of the tables, from 1 on; 0 is unknown.
    streams: Vec<u32>,
    /// By the index of the class.
    tables: Vec<Vec<Entry>>,
    /// The tables of data stream classes.
    by_class: HashMap<(usize, usize), u32>,
    fetched: Fetched,
}

/// What is known of a class.
#[derive(Clone, Default)]
enum Entry {
    #[default]
    Unknown,
    Always,
    Never,
    Program(Arc<Program>),
}

impl Clone for Selector {
    fn clone(&self) -> Self {
        Filter { shared: Arc::clone(&self.shared) }.selector()
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector").field("expression", &self.shared.expression.text()).finish_non_exhaustive()
    }
}

impl Selector {
    /// What it evaluates.
    #[must_use]
    pub fn filter(&self) -> Filter {
        Filter { shared: Arc::clone(&self.shared) }
    }

    /// Whether an event is selected.
    #[inline]
    pub fn selects(&mut self, event: &Event<'_>) -> bool {
        let table = self.streams.get(event.stream.key as usize).copied().unwrap_or(0);
        let class = event.class_index().unwrap_or(usize::MAX);
        match self.tables.get((table as usize).wrapping_sub(1)).and_then(|table| table.get(class)) {
            Some(Entry::Never) => false,
            Some(Entry::Always) => true,
            Some(Entry::Program(program)) => program.selects(event, &mut self.fetched, &self.patterns),
            _ => self.selects_first(event),
        }
    }

    /// The same for the first event of a class of a data stream.
    #[cold]
    #[inline(never)]
    fn selects_first(&mut self, event: &Event<'_>) -> bool {
        let stream = event.stream;
        let trace = Arc::as_ptr(&stream.trace).addr();
        let filter = self.filter();
        let Some(class) = event.class_index() else {
            // Its plans are from elsewhere: nothing can be kept for it.
            let program = filter.compile(Class::of(event));
            return program.selects(event, &mut self.fetched, &self.patterns);
        };
        let of_stream = self.shared.depends_on_stream.then_some(stream.key);
        let key = ProgramKey { trace, stream_class: stream.class_index, stream: of_stream, class };
        let known = &mut self.by_class;
        let tables = &mut self.tables;
        let mut add = || {
            tables.push(Vec::new());
            u32::try_from(tables.len()).unwrap_or(u32::MAX)
        };
        let at = stream.key as usize;
        if self.streams.len() <= at {
            self.streams.resize(at + 1, 0);
        }
        if self.streams[at] == 0 {
            self.streams[at] = match of_stream {
                Some(_) => add(),
                None => *known.entry((trace, stream.class_index)).or_insert_with(add),
            };
        }
        let program = filter.program(key, event);
        let entry = match program.verdict() {
            Some(true) => Entry::Always,
            Some(false) => Entry::Never,
            None => Entry::Program(Arc::clone(&program)),
        };
        if let Some(table) = self.tables.get_mut((self.streams[at] as usize).wrapping_sub(1)) {
            if table.len() <= class {
                table.resize(class + 1, Entry::Unknown);
            }
            table[class] = entry;
        }
        program.selects(event, &mut self.fetched, &self.patterns)
    }
}

/// The time that a part stands for.
fn time_of(node: &Node, source: &str, resolve: &dyn Fn(&str) -> Result<i128, String>) -> Option<i128> {
    match &node.kind {
        NodeKind::Time(text) => resolve(text).ok(),
        NodeKind::Text(literal) => resolve(&literal.text).ok(),
        NodeKind::Negate(inner) if matches!(inner.kind, NodeKind::Duration(_)) => {
            resolve(source.get(node.span.clone())?).ok()
        }
        _ => None,
    }
}

/// The part of the timeline in which all events lie of which a condition holds.
fn window_of(
    node: &Node,
    is_time: &dyn Fn(&Node) -> bool,
    time_of: &dyn Fn(&Node) -> Option<i128>,
) -> Window {
    let narrower = |a: Option<i128>, b: Option<i128>, pick: fn(i128, i128) -> i128| match (a, b) {
        (Some(a), Some(b)) => Some(pick(a, b)),
        (a, b) => a.or(b),
    };
    let hull = |a: Window, b: Window| Window {
        begin: a.begin.zip(b.begin).map(|(a, b)| a.min(b)),
        end: a.end.zip(b.end).map(|(a, b)| a.max(b)),
    };
    match &node.kind {
        NodeKind::And(nodes) => nodes.iter().fold(Window::default(), |all, node| {
            let one = window_of(node, is_time, time_of);
            Window {
                begin: narrower(all.begin, one.begin, i128::max),
                end: narrower(all.end, one.end, i128::min),
            }
        }),
        NodeKind::Or(nodes) => {
            nodes.iter().map(|node| window_of(node, is_time, time_of)).reduce(hull).unwrap_or_default()
        }
        NodeKind::In { value, list, is_negated: false } if is_time(value) => {
            let NodeKind::List(items) = &list.kind else { return Window::default() };
            let end = |end: &Option<Box<Node>>| end.as_deref().and_then(time_of);
            let windows = items.iter().map(|item| match &item.kind {
                NodeKind::Range(first, last) => Window { begin: end(first), end: end(last) },
                _ => Window { begin: time_of(item), end: time_of(item) },
            });
            windows.reduce(hull).unwrap_or_default()
        }
        NodeKind::Compare(op, a, b) => {
            let (op, time) = match (is_time(a), is_time(b)) {
                (true, false) => (*op, time_of(b)),
                (false, true) => (op.mirrored(), time_of(a)),
                _ => return Window::default(),
            };
            match op {
                CompareOp::Equal => Window { begin: time, end: time },
                CompareOp::Less => Window { begin: None, end: time.map(|time| time.saturating_sub(1)) },
                CompareOp::LessOrEqual => Window { begin: None, end: time },
                CompareOp::Greater => Window { begin: time.map(|time| time.saturating_add(1)), end: None },
                CompareOp::GreaterOrEqual => Window { begin: time, end: None },
                CompareOp::NotEqual => Window::default(),
            }
        }
        _ => Window::default(),
    }
}
