//! Typed expressions that select events.
//!
//! An [`Expression`] is first parsed, then checked against the classes of the traces ([`Filter::new`]), and compiled
//! once for each event record class. A [`Selector`] evaluates it on a thread. It does not allocate memory for an event,
//! and decodes only the scopes that decide.
//!
//! A condition is true, false or unknown. It is unknown if the event lacks a field. A condition with an unknown part is
//! also unknown, unless other parts decide. Only events for which the whole expression is true are selected.
//!
//! `docs/expressions.md` describes the language.
#![forbid(unsafe_code)]

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
mod typed;
mod value;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use ichnos_model::cursor::ExcludedClasses;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::{DataStream, Event, Trace, Window};
use regex::bytes::Regex;

use class::FilterClass;
use compile::Compiler;
pub use error::{FilterError, FilterErrorKind, FilterWarning, KnownName};
use fetch::Fetched;
use program::Program;
use property::PropertyAlias;
use survey::Survey;
use syntax::{CompareOp, NamePath, NodeKind, SyntaxNode};

/// Parsed expression. Its display has all parentheses.
#[derive(Clone, Debug)]
pub struct Expression {
    source: Arc<str>,
    root: Arc<SyntaxNode>,
    patterns: Vec<Regex>,
}

impl Expression {
    /// Maximum length of an expression in bytes.
    pub const MOST_BYTES: usize = parser::MOST_BYTES;
    /// Maximum nesting depth of an expression.
    pub const DEPTH: usize = parser::DEPTH;

    /// Parses an expression.
    ///
    /// # Errors
    /// If the grammar is invalid, or the expression is too long or too deeply nested.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let (root, patterns) = parser::parse(text)?;
        Ok(Self { source: text.into(), root: Arc::new(root), patterns })
    }

    /// Returns the expression as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.source
    }

    /// Returns `true` if a name in the expression starts with this word: a field, a scope or a property.
    #[must_use]
    pub fn mentions(&self, word: &str) -> bool {
        let mut is_found = false;
        self.root.for_each(&mut |node| {
            if let NodeKind::Name(path) | NodeKind::Has(path) = &node.kind {
                is_found |= path.split().0 == word;
            }
        });
        is_found
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

/// Traces to filter.
#[derive(Clone, Copy, Debug)]
pub struct FilterScope<'t> {
    /// All traces.
    pub traces: &'t [Arc<Trace>],
    /// `true` if event record classes are discovered while reading. Unknown names are not errors then.
    pub has_dynamic_classes: bool,
}

/// Expression checked for certain traces. Any number of threads can use it.
#[derive(Clone)]
pub struct Filter {
    checked: Arc<CheckedExpression>,
}

struct CheckedExpression {
    expression: Expression,
    /// Traces. They must stay alive because programs are looked up by trace address.
    traces: Vec<Arc<Trace>>,
    times: HashMap<String, Result<i128, String>>,
    /// `true` if some classes are known only after reading.
    is_open: bool,
    aliases: Vec<PropertyAlias>,
    /// `true` if the expression depends on the data stream, not only on its class.
    depends_on_stream: bool,
    window: Window,
    warnings: Vec<FilterWarning>,
    programs: Mutex<HashMap<ProgramKey, Arc<Program>>>,
    excluded: Mutex<ExcludedByStream>,
}

/// Classes without selected events. The key is the trace, the data stream class, and the data stream if the expression
/// depends on it.
type ExcludedByStream = HashMap<(usize, usize, Option<u32>), Option<Arc<ExcludedClasses>>>;

/// Program key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ProgramKey {
    trace: usize,
    stream_class: usize,
    /// Data stream key, if the expression depends on the data stream.
    stream: Option<u32>,
    class: usize,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("expression", &self.checked.expression.text()).finish_non_exhaustive()
    }
}

impl Filter {
    /// Checks an expression against trace classes.
    ///
    /// `resolve_time` must return a time in nanoseconds from the origin. The argument is the time as written in the
    /// expression: `09:22:11.95`, `2026-05-22 09:22`, `+3s`, `-5s`, `@12`, or the content of a string that is compared
    /// with the time. It is called only during this function.
    ///
    /// # Errors
    /// If a field or property name is unknown in every event that could be selected, if an operator
    /// fits the types in no class, or if a time is invalid.
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
        let is_time = |path: &NamePath| {
            // In a class discovered later, the name may be a field.
            let is_used = |alias: &PropertyAlias| path.is_property || !is_open && aliases.contains(alias);
            let alias = property::alias(path).filter(is_used);
            alias.map(|alias| alias.property).or(path.word()) == Some("time")
        };
        let window =
            window_of(root, &|node| matches!(&node.kind, NodeKind::Name(path) if is_time(path)), &|node| {
                time_of(node, source, &resolve)
            });
        let checked = CheckedExpression {
            expression: expression.clone(),
            traces: scope.traces.to_vec(),
            times: times.into_inner(),
            is_open,
            depends_on_stream,
            window: Window {
                begin: window.begin,
                // An empty window still contains its first time. It selects no event.
                end: window.end.map(|end| end.max(window.begin.unwrap_or(end))),
            },
            warnings,
            aliases,
            programs: Mutex::default(),
            excluded: Mutex::default(),
        };
        Ok(Self { checked: Arc::new(checked) })
    }

    /// Returns the expression.
    #[must_use]
    pub fn expression(&self) -> &Expression {
        &self.checked.expression
    }

    /// Returns a time window that contains all selected events. Readers can skip the rest.
    #[must_use]
    pub fn window(&self) -> Window {
        self.checked.window
    }

    /// Returns hints on parts that are probably not intended.
    #[must_use]
    pub fn warnings(&self) -> &[FilterWarning] {
        &self.checked.warnings
    }

    /// Checks the expression again, with the classes that were discovered while reading. Returns an empty list if all
    /// classes were known before.
    ///
    /// # Errors
    /// If a field or property name is unknown in every event, or an operator fits the types in no
    /// class.
    pub fn review(&self) -> Result<Vec<FilterWarning>, FilterError> {
        let Expression { source, root, patterns } = &self.checked.expression;
        let (traces, aliases) = (&self.checked.traces[..], &self.checked.aliases[..]);
        let times = |text: &str| self.resolved(text);
        let survey = Survey { source, root, patterns, traces, is_open: false, times: &times, aliases };
        if !self.checked.is_open || !survey.has_classes() {
            return Ok(Vec::new());
        }
        // Times were checked before.
        survey.run().or_else(|error| match error.kind {
            FilterErrorKind::Time => Ok(Vec::new()),
            _ => Err(error),
        })
    }

    /// Returns the time for a text in the expression.
    fn resolved(&self, text: &str) -> Result<i128, String> {
        let time = self.checked.times.get(text).cloned();
        time.unwrap_or_else(|| Err("it was not resolved".to_owned()))
    }

    /// Returns the event record classes in a data stream whose events are never selected. `None` without such classes,
    /// or if the search would take long.
    #[must_use]
    pub fn excluded_classes(&self, stream: &DataStream) -> Option<Arc<ExcludedClasses>> {
        /// Maximum number of classes to check. If the expression depends on the data stream, the maximum is per data
        /// stream.
        const MOST_CLASSES: usize = 100_000;
        let of_stream = self.checked.depends_on_stream.then_some(stream.key);
        let key = (Arc::as_ptr(&stream.trace).addr(), stream.class_index, of_stream);
        let mut excluded = self.checked.excluded.lock().ignore_poison();
        if let Some(known) = excluded.get(&key) {
            return known.clone();
        }
        let (stream_class, stream_plans) = (stream.class(), stream.plans());
        if excluded.len().saturating_add(1).saturating_mul(stream_plans.event_records.len()) > MOST_CLASSES {
            return None;
        }
        let classes = ExcludedClasses::new(stream_plans.event_records.iter().map(|plans| {
            let trace = &stream.trace;
            let class =
                FilterClass { trace, stream_class, stream_plans, plans, stream: Some(stream), event: None };
            self.compile(class).verdict() == Some(false)
        }));
        excluded.entry(key).or_insert(classes.map(Arc::new)).clone()
    }

    /// Creates an evaluator for a thread.
    #[must_use]
    pub fn selector(&self) -> Selector {
        Selector {
            // Each clone has separate memory for searches.
            patterns: self.checked.expression.patterns.clone(),
            checked: Arc::clone(&self.checked),
            streams: Vec::new(),
            tables: Vec::new(),
            by_class: HashMap::new(),
            fetched: Fetched::default(),
        }
    }

    /// Returns the program for an event class.
    fn program(&self, key: ProgramKey, event: &Event<'_>) -> Arc<Program> {
        let programs = || self.checked.programs.lock().ignore_poison();
        if let Some(program) = programs().get(&key) {
            return Arc::clone(program);
        }
        let program = Arc::new(self.compile(FilterClass::from_event(event)));
        Arc::clone(programs().entry(key).or_insert(program))
    }

    fn compile(&self, class: FilterClass<'_>) -> Program {
        let Expression { source, root, patterns } = &self.checked.expression;
        let times = |text: &str| self.resolved(text);
        Compiler::new(class, source, patterns, &times, &self.checked.aliases).program(root)
    }
}

/// Evaluator of a [`Filter`] for one thread.
pub struct Selector {
    checked: Arc<CheckedExpression>,
    patterns: Vec<Regex>,
    /// Table index by data stream key. Indexes start at 1, and 0 is unknown.
    streams: Vec<u32>,
    /// Entries by table and class index.
    tables: Vec<Vec<ClassDecision>>,
    /// Table index by data stream class.
    by_class: HashMap<(usize, usize), u32>,
    fetched: Fetched,
}

/// Decision for an event class.
#[derive(Clone, Default)]
enum ClassDecision {
    #[default]
    Unknown,
    Always,
    Never,
    Program(Arc<Program>),
}

impl Clone for Selector {
    fn clone(&self) -> Self {
        Filter { checked: Arc::clone(&self.checked) }.selector()
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector")
            .field("expression", &self.checked.expression.text())
            .finish_non_exhaustive()
    }
}

impl Selector {
    /// Returns the filter.
    #[must_use]
    pub fn filter(&self) -> Filter {
        Filter { checked: Arc::clone(&self.checked) }
    }

    /// Returns `true` if an event is selected.
    #[inline]
    pub fn selects(&mut self, event: &Event<'_>) -> bool {
        let table = self.streams.get(event.stream.key as usize).copied().unwrap_or(0);
        let class = event.class_index().unwrap_or(usize::MAX);
        match self.tables.get((table as usize).wrapping_sub(1)).and_then(|table| table.get(class)) {
            Some(ClassDecision::Never) => false,
            Some(ClassDecision::Always) => true,
            Some(ClassDecision::Program(program)) => {
                program.selects(event, &mut self.fetched, &self.patterns)
            }
            _ => self.selects_first(event),
        }
    }

    /// Decides for the first event of a class in a data stream.
    #[cold]
    #[inline(never)]
    fn selects_first(&mut self, event: &Event<'_>) -> bool {
        let stream = event.stream;
        let trace = Arc::as_ptr(&stream.trace).addr();
        let filter = self.filter();
        let Some(class) = event.class_index() else {
            // The plans are from another trace: the decision cannot be cached.
            let program = filter.compile(FilterClass::from_event(event));
            return program.selects(event, &mut self.fetched, &self.patterns);
        };
        let of_stream = self.checked.depends_on_stream.then_some(stream.key);
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
            Some(true) => ClassDecision::Always,
            Some(false) => ClassDecision::Never,
            None => ClassDecision::Program(Arc::clone(&program)),
        };
        if let Some(table) = self.tables.get_mut((self.streams[at] as usize).wrapping_sub(1)) {
            if table.len() <= class {
                table.resize(class + 1, ClassDecision::Unknown);
            }
            table[class] = entry;
        }
        program.selects(event, &mut self.fetched, &self.patterns)
    }
}

/// Returns the time of a part.
fn time_of(node: &SyntaxNode, source: &str, resolve: &dyn Fn(&str) -> Result<i128, String>) -> Option<i128> {
    match &node.kind {
        NodeKind::Time(text) => resolve(text).ok(),
        NodeKind::Text(literal) => resolve(&literal.text).ok(),
        NodeKind::Negate(inner) if matches!(inner.kind, NodeKind::Duration(_)) => {
            resolve(source.get(node.span.clone())?).ok()
        }
        _ => None,
    }
}

/// Returns a time window that contains all events for which a condition is true.
fn window_of(
    node: &SyntaxNode,
    is_time: &dyn Fn(&SyntaxNode) -> bool,
    time_of: &dyn Fn(&SyntaxNode) -> Option<i128>,
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
            let end = |end: &Option<Box<SyntaxNode>>| end.as_deref().and_then(time_of);
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
