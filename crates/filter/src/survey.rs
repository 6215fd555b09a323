//! Checks an expression for all trace classes before reading.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use ichnos_model::class::DynamicClass;
use ichnos_model::plan::EventRecordPlans;
use ichnos_model::{Scope, Trace};
use regex::bytes::Regex;

use super::class::{FilterClass, ValueType};
use super::compile::{Compiler, Mismatch, PartFact, TimeResolver};
use super::error::{FilterError, FilterErrorKind, FilterWarning, KnownName};
use super::glob::Glob;
use super::property::{self, PropertyAlias};
use super::syntax::{Literal, NamePath, NameStep, NodeKind, SyntaxNode};
use super::token::quote;

/// Maximum number of names and labels listed in an error.
const MOST_CANDIDATES: usize = 100_000;
/// Maximum number of classes named in an error.
const PLACES: usize = 3;

/// Expression and its traces.
pub(super) struct Survey<'s> {
    pub(super) source: &'s str,
    pub(super) root: &'s SyntaxNode,
    pub(super) patterns: &'s [Regex],
    pub(super) traces: &'s [Arc<Trace>],
    /// `true` if further classes may be discovered while reading.
    pub(super) is_open: bool,
    pub(super) times: &'s TimeResolver<'s>,
    pub(super) aliases: &'s [PropertyAlias],
}

/// Facts about a part of the expression, from all classes.
#[derive(Default)]
struct PartFinding {
    is_found: bool,
    fits: bool,
    mismatch: Option<(Mismatch, Option<String>)>,
    has_label: bool,
    labels: BTreeSet<String>,
}

/// Facts by position.
#[derive(Default)]
struct PartFindings(HashMap<(usize, usize), PartFinding>);

impl PartFindings {
    fn at(&mut self, span: &Range<usize>) -> &mut PartFinding {
        self.0.entry((span.start, span.end)).or_default()
    }
}

impl<'s> Survey<'s> {
    fn compiler<'c>(&self, class: FilterClass<'c>) -> Compiler<'c>
    where
        's: 'c,
    {
        Compiler::new(class, self.source, self.patterns, self.times, self.aliases)
    }

    /// Finds the names in other tools that stand for properties here: no event can have such a field, and the trace
    /// contains the property. If further classes can be discovered, each class decides.
    pub(super) fn find_aliases(&self) -> Vec<PropertyAlias> {
        let mut wanted: Vec<PropertyAlias> = Vec::new();
        self.root.for_each(&mut |node| {
            if let NodeKind::Name(path) | NodeKind::Has(path) = &node.kind
                && let Some(alias) = property::alias(path).filter(|alias| !wanted.contains(alias))
            {
                wanted.push(alias);
            }
        });
        if self.is_open {
            return wanted;
        }
        let is_usable = |alias: &PropertyAlias| {
            let (mut has_field, mut has_property) = (false, false);
            let steps = [NameStep::Member(alias.name.to_owned())];
            let path =
                NamePath { is_property: true, steps: vec![NameStep::Member(alias.property.to_owned())] };
            let property = SyntaxNode { span: 0..0, kind: NodeKind::Has(path) };
            self.for_each_class(false, &mut |class| {
                has_field |= !class.find(&Scope::SEARCHED, &steps).is_empty();
                let mut compiler = self.compiler(class);
                compiler.test(&property);
                has_property |= compiler.findings.iter().any(|found| matches!(found, PartFact::Found(_)));
            });
            has_property && !has_field
        };
        wanted.retain(is_usable);
        wanted
    }

    /// Returns `true` if any class is known.
    pub(super) fn has_classes(&self) -> bool {
        let mut has_classes = false;
        self.for_each_class(false, &mut |_| has_classes = true);
        has_classes
    }

    /// Checks the expression. Returns warnings.
    pub(super) fn run(&self) -> Result<Vec<FilterWarning>, FilterError> {
        let mut parts = PartFindings::default();
        let mut error = None;
        self.for_each_class(self.is_open, &mut |class| {
            let mut compiler = self.compiler(class);
            compiler.program(self.root);
            for finding in compiler.findings {
                match finding {
                    PartFact::Found(span) => parts.at(&span).is_found = true,
                    PartFact::Fits(span) => parts.at(&span).fits = true,
                    PartFact::Mismatch(span, mismatch) => {
                        let name = class.name().map(str::to_owned);
                        parts.at(&span).mismatch.get_or_insert((mismatch, name));
                    }
                    PartFact::Label(span, Ok(())) => parts.at(&span).has_label = true,
                    PartFact::Label(span, Err(others)) => {
                        let labels = &mut parts.at(&span).labels;
                        if labels.len() < MOST_CANDIDATES {
                            labels.extend(others);
                        }
                    }
                    PartFact::Error(found) => {
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

    fn check_types(&self, parts: &mut PartFindings) -> Result<(), FilterError> {
        let mut nodes = Vec::new();
        self.root.for_each(&mut |node| nodes.push(node));
        // Values in a list are compared with the value before the list.
        let mut of_fields: HashSet<(usize, usize)> = HashSet::new();
        for node in &nodes {
            if let NodeKind::In { value, list, .. } = &node.kind
                && mentions_field(value)
            {
                list.for_each(&mut |item| {
                    of_fields.insert((item.span.start, item.span.end));
                });
            }
        }
        for node in &nodes {
            let part = parts.at(&node.span);
            // The types may fit in classes discovered while reading.
            let mentions_field =
                mentions_field(node) || of_fields.contains(&(node.span.start, node.span.end));
            let is_known = !self.is_open || !mentions_field;
            if let (Some((mismatch, class)), false, true) = (&part.mismatch, part.fits, is_known) {
                let place = match class {
                    Some(class) if mentions_field => format!(", in the event record class `{class}`"),
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

    /// Passes all known classes. `and_none` adds a class without fields for each data stream class.
    fn for_each_class(&self, and_none: bool, take: &mut dyn FnMut(FilterClass<'_>)) {
        let nothing = EventRecordPlans::default();
        let mut count = 0u64;
        for trace in self.traces {
            for (index, stream_class) in trace.class.data_streams.iter().enumerate() {
                let Some(stream_plans) = trace.plans.data_streams.get(index) else { continue };
                let mut take = |plans: &EventRecordPlans| {
                    count += 1;
                    take(FilterClass { trace, stream_class, stream_plans, plans, stream: None, event: None });
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

    /// Returns warnings for unknown event names.
    fn unknown_events(&self) -> Vec<FilterWarning> {
        let mut wanted: Vec<&Literal> = Vec::new();
        self.root.for_each(&mut |node| match &node.kind {
            NodeKind::Compare(_, a, b) if self.is_event(a) => wanted.extend(literal(b)),
            NodeKind::Compare(_, a, b) if self.is_event(b) => wanted.extend(literal(a)),
            NodeKind::In { value, list, .. } if self.is_event(value) => {
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

    /// Returns the error for a name that no selectable event has. `is_explained` is `true` if a warning explains it.
    fn unknown_name(&self, span: &Range<usize>, path: &NamePath, is_explained: bool) -> Option<FilterError> {
        let mut places: BTreeSet<String> = BTreeSet::new();
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let member = path.steps.iter().rev().find_map(|step| match step {
            NameStep::Member(name) => Some(name.as_str()),
            NameStep::Index(_) => None,
        });
        let (mut elsewhere, mut exists) = (BTreeSet::<String>::new(), false);
        let lone = SyntaxNode { span: span.clone(), kind: NodeKind::Has(path.clone()) };
        self.for_each_class(false, &mut |class| {
            let mut compiler = self.compiler(class);
            compiler.test(&lone);
            if compiler.findings.iter().any(|finding| matches!(finding, PartFact::Found(_))) {
                exists = true;
                if let Some(name) = class.name().filter(|_| places.len() < PLACES) {
                    places.insert(format!("`{name}`"));
                }
            }
            class.for_each_name(&mut |scope, name| {
                let place = place(scope, class.name());
                if member.is_some() && name.rsplit('.').next() == member && elsewhere.len() < PLACES {
                    elsewhere.insert(format!("`{}.{name}`, {place}", scope.prefix()));
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
        let known = names.into_iter().map(|(name, places)| KnownName { place: joined(&places), name });
        let properties = property::names().map(|name| KnownName { name: name.into(), place: String::new() });
        let is_property =
            property::names().any(|property| property == path.to_string().trim_start_matches('$'));
        let candidates = if is_property || exists || !elsewhere.is_empty() {
            Vec::new()
        } else {
            known.chain(properties).collect()
        };
        let message = if exists {
            format!("no event that the rest of the expression selects has `{path}`")
        } else if is_property {
            format!("no event has the property `{path}`")
        } else {
            format!("no event has a field `{path}`")
        };
        let kind = FilterErrorKind::UnknownName { name: path.to_string(), candidates };
        let error = FilterError::new(kind, self.source, span.clone(), message);
        Some(if exists {
            error.help(format!("it is in {}", joined(&places)))
        } else if !elsewhere.is_empty() {
            error.help(format!("there is {}", Vec::from_iter(elsewhere).join("; ")))
        } else {
            self.with_other_meaning(error, path)
        })
    }

    /// Adds the likely meaning of an unknown name to its error.
    fn with_other_meaning(&self, error: FilterError, path: &NamePath) -> FilterError {
        if let Some(error) = self.without_quotes(&error) {
            error
        } else if let Some(alias) = property::alias(path).filter(|_| !path.is_property) {
            error.help(format!("the property is called `{}`", alias.property))
        } else {
            error
        }
    }

    /// Returns the error for an unknown name that is compared with a string. It is probably a string without quotes.
    fn without_quotes(&self, error: &FilterError) -> Option<FilterError> {
        let mut found = None;
        let mut look = |value: &SyntaxNode, other: &SyntaxNode| {
            let is_in = other.span.start <= error.span.start && error.span.end <= other.span.end;
            let text = self.source.get(other.span.clone()).unwrap_or_default();
            // The whole word counts: `sched-switch` is not a subtraction.
            let is_word =
                text.len() <= 100 && !text.contains(|c: char| c.is_whitespace() || "\"'`()".contains(c));
            if is_in && is_word && literal(value).is_none() {
                let span = other.span.clone();
                match self.kind(value) {
                    Some(ValueType::Level) => {
                        let help = "log levels are trace, debug, info, warn, error and fatal";
                        found = Some(error.clone().help(help));
                    }
                    Some(_) => {
                        found = Some(
                            FilterError { span: span.clone(), ..error.clone() }
                                .help(quote(self.source, &span)),
                        )
                    }
                    None => {}
                }
            }
        };
        self.root.for_each(&mut |node| match &node.kind {
            NodeKind::Compare(_, a, b) => {
                look(a, b);
                look(b, a);
            }
            NodeKind::Part { value, part, .. } => look(value, part),
            NodeKind::In { value, list, .. } => match &list.kind {
                NodeKind::List(items) => items.iter().for_each(|item| look(value, item)),
                _ => look(list, value),
            },
            _ => {}
        });
        found
    }

    /// Returns the type of a part in some class, if it can be compared with quoted strings.
    fn kind(&self, node: &SyntaxNode) -> Option<ValueType> {
        let mut kind = None;
        self.for_each_class(self.is_open, &mut |class| {
            if kind.is_some() {
                return;
            }
            let found = self.compiler(class).value(node).into_iter().map(|typed| match typed.kind {
                ValueType::Array(Some(element)) => *element,
                kind => kind,
            });
            let is_text = |kind: &ValueType| {
                matches!(
                    kind,
                    ValueType::Text
                        | ValueType::Enumeration(_)
                        | ValueType::BitMap(_)
                        | ValueType::Guid
                        | ValueType::Blob
                        | ValueType::Level
                )
            };
            kind = found.into_iter().find(is_text);
        });
        kind
    }

    fn is_event(&self, node: &SyntaxNode) -> bool {
        let NodeKind::Name(path) = &node.kind else { return false };
        match property::alias(path) {
            Some(alias) if alias.property == "event" => {
                path.is_property || self.aliases.contains(&alias) && !self.has_field(path)
            }
            _ => path.word() == Some("event"),
        }
    }

    /// Returns `true` if a known class has a field with this name.
    fn has_field(&self, path: &NamePath) -> bool {
        let mut has_field = false;
        self.for_each_class(false, &mut |class| {
            has_field |= !class.find(&Scope::SEARCHED, &path.steps).is_empty();
        });
        has_field
    }
}

fn place(scope: Scope, class: Option<&str>) -> String {
    match (scope, class) {
        (Scope::Payload, Some(class)) => format!("payload of `{class}`"),
        (Scope::SpecificContext, Some(class)) => format!("context of `{class}`"),
        (Scope::Payload, None) => "payload of an event without a name".to_owned(),
        (Scope::SpecificContext | Scope::CommonContext, _) => "event context".to_owned(),
        (Scope::EventRecordHeader, _) => "event header".to_owned(),
        (Scope::Resource, _) => "event resource".to_owned(),
        _ => "packet context".to_owned(),
    }
}

fn literal(node: &SyntaxNode) -> Option<&Literal> {
    match &node.kind {
        NodeKind::Text(literal) => Some(literal),
        _ => None,
    }
}

/// Returns `true` if the meaning of a part depends on the class.
fn mentions_field(node: &SyntaxNode) -> bool {
    let mut mentions = false;
    node.for_each(&mut |node| {
        if let NodeKind::Name(path) = &node.kind {
            mentions |= path.is_property || !property::is_reserved(path.split().0);
        }
    });
    mentions
}
