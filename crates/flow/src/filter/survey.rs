//! Looks at an expression for all classes of the traces before these are read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use ichnos_model::plan::EventRecordPlans;
use ichnos_model::{DynamicClass, Scope, Trace};
use regex::bytes::Regex;

use super::class::{Class, word_of};
use super::compile::{Compiler, Finding, Mismatch, Times};
use super::error::{FilterError, FilterErrorKind, FilterWarning, KnownName};
use super::glob::Glob;
use super::property;
use super::syntax::{Literal, Node, NodeKind, Path, Step};

/// Names that an error lists as candidates, and labels.
const MOST_CANDIDATES: usize = 100_000;
/// Classes that an error names.
const PLACES: usize = 3;

/// An expression and the traces that it is for.
pub(super) struct Survey<'s> {
    pub(super) source: &'s str,
    pub(super) root: &'s Node,
    pub(super) patterns: &'s [Regex],
    pub(super) traces: &'s [Arc<Trace>],
    /// Whether further classes may be met while reading.
    pub(super) is_open: bool,
    pub(super) times: &'s Times<'s>,
}

/// What was found out about a part of the expression in all classes.
#[derive(Default)]
struct Part {
    is_found: bool,
    fits: bool,
    mismatch: Option<(Mismatch, Option<String>)>,
    has_label: bool,
    labels: BTreeSet<String>,
}

/// By where the parts stand.
#[derive(Default)]
struct Parts(HashMap<(usize, usize), Part>);

impl Parts {
    fn at(&mut self, span: &Range<usize>) -> &mut Part {
        self.0.entry((span.start, span.end)).or_default()
    }
}

impl Survey<'_> {
    /// What is probably not meant.
    pub(super) fn run(&self) -> Result<Vec<FilterWarning>, FilterError> {
        let mut parts = Parts::default();
        let mut error = None;
        self.for_each_class(self.is_open, &mut |class| {
            let mut compiler = Compiler::new(class, self.source, self.patterns, self.times);
            compiler.program(self.root);
            for finding in compiler.findings {
                match finding {
                    Finding::Found(span) => parts.at(&span).is_found = true,
                    Finding::Fits(span) => parts.at(&span).fits = true,
                    Finding::Mismatch(span, mismatch) => {
                        let name = class.name().map(str::to_owned);
                        parts.at(&span).mismatch.get_or_insert((mismatch, name));
                    }
                    Finding::Label(span, Ok(())) => parts.at(&span).has_label = true,
                    Finding::Label(span, Err(others)) => {
                        let labels = &mut parts.at(&span).labels;
                        if labels.len() < MOST_CANDIDATES {
                            labels.extend(others);
                        }
                    }
                    Finding::Error(found) => {
                        error.get_or_insert(*found);
                    }
                }
            }
        });
        if let Some(error) = error {
            return Err(error);
        }
        let warnings = self.unknown_events();
        let mut names = Vec::new();
        self.root.for_each(&mut |node| {
            if let NodeKind::Name(path) | NodeKind::Has(path) = &node.kind {
                names.push((node.span.clone(), path));
            }
        });
        for (span, path) in names {
            if !parts.at(&span).is_found
                && let Some(error) = self.unknown_name(&span, path, !warnings.is_empty())
            {
                return Err(error);
            }
        }
        self.check_types(&mut parts)?;
        Ok(warnings)
    }

    fn check_types(&self, parts: &mut Parts) -> Result<(), FilterError> {
        let mut nodes = Vec::new();
        self.root.for_each(&mut |node| nodes.push(node));
        for node in &nodes {
            let part = parts.at(&node.span);
            if let (Some((mismatch, class)), false) = (&part.mismatch, part.fits) {
                let place = match class {
                    Some(class) if mentions_field(node) => format!(", in the event record class `{class}`"),
                    _ => String::new(),
                };
                let message = format!("{}{place}", mismatch.message);
                let error = FilterError::new(FilterErrorKind::Type, self.source, node.span.clone(), message);
                return Err(FilterError { help: mismatch.help.map(Into::into), ..error });
            }
        }
        for node in &nodes {
            let part = parts.at(&node.span);
            if !part.has_label && !part.labels.is_empty() && !self.is_open {
                let name = match &node.kind {
                    NodeKind::Text(literal) => literal.text.clone(),
                    _ => String::new(),
                };
                let candidates = part.labels.iter().cloned().collect();
                let message = format!("no value of the field has the label `{}`", name.escape_debug());
                let message = if name.is_empty() { "no label matches".to_owned() } else { message };
                let kind = FilterErrorKind::UnknownLabel { name, candidates };
                return Err(FilterError::new(kind, self.source, node.span.clone(), message));
            }
        }
        Ok(())
    }

    /// Passes all classes that are known; with `and_none` also one without fields for each data stream class.
    fn for_each_class(&self, and_none: bool, take: &mut dyn FnMut(Class<'_>)) {
        let nothing = EventRecordPlans::default();
        let mut count = 0u64;
        for trace in self.traces {
            for (index, stream_class) in trace.class.data_streams.iter().enumerate() {
                let Some(stream_plans) = trace.plans.data_streams.get(index) else { continue };
                let mut take = |plans: &EventRecordPlans| {
                    count += 1;
                    take(Class { trace, stream_class, stream_plans, plans, stream: None, event: None });
                };
                stream_plans.event_records.iter().for_each(&mut take);
                if let Some(dynamic) = trace.dynamic_classes(index) {
                    let classes = (0..dynamic.count()).filter_map(|class| dynamic.get(class).ok().flatten());
                    classes.for_each(|class: Arc<DynamicClass>| take(&class.plans));
                }
                if and_none {
                    take(&nothing);
                }
            }
        }
    }

    /// Warnings of names that no event has.
    fn unknown_events(&self) -> Vec<FilterWarning> {
        let mut wanted: Vec<&Literal> = Vec::new();
        self.root.for_each(&mut |node| match &node.kind {
            NodeKind::Compare(_, a, b) if is_event(a) => wanted.extend(literal(b)),
            NodeKind::Compare(_, a, b) if is_event(b) => wanted.extend(literal(a)),
            NodeKind::In { value, list, .. } if is_event(value) => {
                if let NodeKind::List(items) = &list.kind {
                    wanted.extend(items.iter().filter_map(literal));
                }
            }
            _ => {}
        });
        if wanted.is_empty() || self.is_open {
            return Vec::new();
        }
        let mut names = BTreeSet::new();
        self.for_each_class(false, &mut |class| {
            if let Some(name) = class.name()
                && !names.contains(name)
            {
                names.insert(name.to_owned());
            }
        });
        let is_unknown = |literal: &&&Literal| match Glob::new(literal) {
            Some(glob) => !names.iter().any(|name| glob.matches(name.as_bytes())),
            None => !names.contains(&literal.text),
        };
        let warnings = wanted.iter().filter(is_unknown).map(|literal| FilterWarning {
            message: format!("no event record class is called `{}`", literal.text.escape_debug()),
            unknown: Some((literal.text.clone(), names.iter().take(MOST_CANDIDATES).cloned().collect())),
        });
        warnings.collect()
    }

    /// Why no event that can be selected has what a name stands for. `is_explained`: by a warning.
    fn unknown_name(&self, span: &Range<usize>, path: &Path, is_explained: bool) -> Option<FilterError> {
        let mut places: BTreeSet<String> = BTreeSet::new();
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let member = path.steps.iter().rev().find_map(|step| match step {
            Step::Member(name) => Some(name.as_str()),
            Step::Index(_) => None,
        });
        let mut elsewhere: BTreeSet<String> = BTreeSet::new();
        let mut exists = false;
        let lone = Node { span: span.clone(), kind: NodeKind::Has(path.clone()) };
        self.for_each_class(false, &mut |class| {
            let mut compiler = Compiler::new(class, self.source, self.patterns, self.times);
            compiler.test(&lone);
            if compiler.findings.iter().any(|finding| matches!(finding, Finding::Found(_))) {
                exists = true;
                if let Some(name) = class.name().filter(|_| places.len() < PLACES) {
                    places.insert(format!("`{name}`"));
                }
            }
            class.for_each_name(&mut |scope, name| {
                let place = place(scope, class.name());
                if member.is_some() && name.rsplit('.').next() == member && elsewhere.len() < PLACES {
                    elsewhere.insert(format!("`{}.{name}`, {place}", word_of(scope)));
                }
                if let Some(known) = names.get_mut(name) {
                    if known.len() < PLACES {
                        known.insert(place);
                    }
                } else if names.len() < MOST_CANDIDATES {
                    names.insert(name.to_owned(), BTreeSet::from([place]));
                }
            });
        });
        if exists && is_explained || self.is_open {
            return None;
        }
        let joined = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>().join(", ");
        let name = path.to_string();
        let known = names.into_iter().map(|(name, places)| KnownName { place: joined(&places), name });
        let properties = property::names().map(|name| KnownName { name: name.into(), place: String::new() });
        let is_property = property::names().any(|property| property == name.trim_start_matches('$'));
        let candidates = if is_property || exists || !elsewhere.is_empty() {
            Vec::new()
        } else {
            known.chain(properties).collect()
        };
        let message = if exists {
            format!("no event that the rest of the expression selects has `{name}`")
        } else if is_property {
            format!("nothing says the `{name}` of an event")
        } else {
            format!("no event has a field `{name}`")
        };
        let kind = FilterErrorKind::UnknownName { name, candidates };
        let error = FilterError::new(kind, self.source, span.clone(), message);
        Some(if exists {
            error.help(format!("it is there in {}", joined(&places)))
        } else if elsewhere.is_empty() {
            error
        } else {
            error.help(format!("there is {}", elsewhere.iter().cloned().collect::<Vec<_>>().join("; ")))
        })
    }
}

fn place(scope: Scope, class: Option<&str>) -> String {
    match (scope, class) {
        (Scope::Payload, Some(class)) => format!("payload of `{class}`"),
        (Scope::SpecificContext, Some(class)) => format!("context of `{class}`"),
        (Scope::Payload, None) => "payload of an event without a name".to_owned(),
        (Scope::SpecificContext | Scope::CommonContext, _) => "context of events".to_owned(),
        (Scope::EventRecordHeader, _) => "header of events".to_owned(),
        (Scope::Resource, _) => "resource of events".to_owned(),
        _ => "context of packets".to_owned(),
    }
}

fn is_event(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Name(path) if path.split().0 == "event" && path.steps.len() == 1)
}

fn literal(node: &Node) -> Option<&Literal> {
    match &node.kind {
        NodeKind::Text(literal) => Some(literal),
        _ => None,
    }
}

/// Whether what a part is about depends on the class.
fn mentions_field(node: &Node) -> bool {
    let mut mentions = false;
    node.for_each(&mut |node| {
        if let NodeKind::Name(path) = &node.kind {
            mentions |= path.is_property || !property::is_reserved(path.split().0);
        }
    });
    mentions
}
