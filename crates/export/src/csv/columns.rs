//! Columns of a table of events: what they are called, and which fields they are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::{DataStreamClass, Event, EventRecordClass, FieldClass, FieldKind, Scope};

use crate::json_fields::mappings;
use crate::time::JsonTime;

/// A property of an event that is none of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    /// When it was recorded, as it is asked for.
    Time,
    /// When it was recorded, in nanoseconds.
    Nanoseconds,
    Cycles,
    /// Name of the class.
    Name,
    /// Id of the class.
    Id,
    LogLevel,
    Host,
    Stream,
    Trace,
}

/// What columns of properties are called.
const PROPERTIES: [(&str, Property); 9] = [
    ("time", Property::Time),
    ("ts", Property::Nanoseconds),
    ("cycles", Property::Cycles),
    ("event", Property::Name),
    ("id", Property::Id),
    ("log_level", Property::LogLevel),
    ("host", Property::Host),
    ("stream", Property::Stream),
    ("trace", Property::Trace),
];

/// The scopes in which fields are looked for, in this order, and what paths call them.
const SCOPES: [(Scope, &[&str]); 6] = [
    (Scope::Payload, &["payload"]),
    (Scope::SpecificContext, &["ctx", "context"]),
    (Scope::CommonContext, &["ctx", "context"]),
    (Scope::EventRecordHeader, &["header"]),
    (Scope::PacketContext, &["packet"]),
    (Scope::Resource, &["resource"]),
];

/// The steps that follow an integer or a bit map to the names that its value has.
const NAMES: [&str; 2] = [".labels", ".flags"];

/// A column of a table of events: a property of the event, or a field by its path as
/// [`FieldRef`](ichnos_model::FieldRef) has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvColumn {
    pub(super) name: String,
    pub(super) source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Property(Property),
    Field(Path),
}

/// Where a field is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// Only this scope, if it is a known one.
    scope: Option<Scope>,
    path: String,
}

impl CsvColumn {
    /// The column of a property (`time`, `ts`, `cycles`, `event`, `id`, `log_level`, `host`, `stream`, `trace`) or of
    /// the field of a path: `prev_comm`, `ctx.vpid`, `args.0.name`. `.labels` behind an integer gives the names that
    /// its value has, `.flags` those of a bit map. A field that is called like a property has its scope before
    /// it: `payload.time`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let property = PROPERTIES.iter().find(|(known, _)| *known == name);
        let source = match property {
            Some((_, property)) => Source::Property(*property),
            None => Source::Field(Path { scope: None, path: name.to_owned() }),
        };
        Self { name: name.to_owned(), source }
    }

    /// What it is called in the first line.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether events of a class have it: always, if it is a property.
    #[must_use]
    pub fn is_in(&self, stream: &DataStreamClass, record: &EventRecordClass) -> bool {
        match &self.source {
            Source::Property(_) => true,
            Source::Field(path) => !path.resolve(&Trees::of_classes(stream, record)).is_empty(),
        }
    }

    /// The names of all columns that events of a class have by default, for a search for similar names.
    #[must_use]
    pub fn names_in(stream: &DataStreamClass, record: &EventRecordClass) -> Vec<String> {
        let mut columns = CsvColumns::new(JsonTime::Both);
        columns.add_stream(stream);
        columns.add(record);
        columns.columns.into_iter().map(|column| column.name).collect()
    }
}

/// Collects the columns of the events of several classes: properties first, then all fields in the order in which
/// the classes have them, each name once.
#[derive(Debug)]
pub struct CsvColumns {
    columns: Vec<CsvColumn>,
    known: HashSet<String>,
    are_all: bool,
}

impl CsvColumns {
    /// How many columns there are at most: every event has as many cells.
    pub const MOST: usize = 2_000;

    /// The properties that every table begins with: `time`, `event`, `host` and `stream`, and behind `time` also
    /// `ts` if times are wanted in both forms.
    #[must_use]
    pub fn new(time: JsonTime) -> Self {
        let names = ["time", "ts", "event", "host", "stream"];
        let wanted = names.into_iter().filter(|name| *name != "ts" || time == JsonTime::Both);
        Self { columns: wanted.map(CsvColumn::new).collect(), known: HashSet::new(), are_all: true }
    }

    /// Adds what all events of a data stream class have: the fields of the packet context, of the event record header
    /// and of the common context, without those that only serve decoding. Members of structures are columns of their
    /// own; arrays, variants and unions are one column each.
    pub fn add_stream(&mut self, stream: &DataStreamClass) {
        self.add_scope(Scope::PacketContext, &stream.packet_context);
        self.add_scope(Scope::EventRecordHeader, &stream.event_record_header);
        self.add_scope(Scope::CommonContext, &stream.common_context);
    }

    /// Adds what the events of a class have besides: the fields of the specific context and of the payload.
    pub fn add(&mut self, record: &EventRecordClass) {
        self.add_scope(Scope::SpecificContext, &record.specific_context);
        self.add_scope(Scope::Payload, &record.payload);
    }

    fn add_scope(&mut self, scope: Scope, root: &Option<Arc<FieldClass>>) {
        if let Some(root) = root.as_deref().filter(|_| self.are_all) {
            Tree::new(root).each_leaf(&mut |path, class| self.add_field(scope, path, class));
        }
    }

    fn add_field(&mut self, scope: Scope, path: &str, class: &FieldClass) {
        let lead = SCOPES.iter().find(|(known, _)| *known == scope).map_or("", |(_, names)| names[0]);
        let first = path.split('.').next().unwrap_or_default();
        let is_scope = SCOPES.iter().any(|(_, names)| names.contains(&first));
        let is_property = PROPERTIES.iter().any(|(known, _)| *known == path);
        let name = match scope {
            Scope::Payload if !is_scope && !is_property => path.to_owned(),
            _ => format!("{lead}.{path}"),
        };
        // Of contexts, the specific one is looked at first, whichever has it.
        let scope = (lead != "ctx").then_some(scope);
        let within = if scope.is_some() { path.to_owned() } else { name.clone() };
        let suffix = match &class.kind {
            FieldKind::BitMap { .. } => Some(NAMES[1]),
            kind => mappings(kind).map(|_| NAMES[0]),
        };
        for suffix in [Some(""), suffix].into_iter().flatten() {
            let (name, path) = (format!("{name}{suffix}"), format!("{within}{suffix}"));
            if self.known.contains(&name) {
                continue;
            }
            if self.columns.len() >= Self::MOST {
                self.are_all = false;
                return;
            }
            self.known.insert(name.clone());
            self.columns.push(CsvColumn { name, source: Source::Field(Path { scope, path }) });
        }
    }

    /// The columns; None if there are more than [`CsvColumns::MOST`].
    #[must_use]
    pub fn columns(self) -> Option<Vec<CsvColumn>> {
        self.are_all.then_some(self.columns)
    }
}

/// What a column is in the events of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) scope: Scope,
    /// Index of the field in the order of [`Plan::nodes`](ichnos_model::plan::Plan::nodes).
    pub(super) node: usize,
    /// Index of what comes behind it and all that is within it.
    pub(super) end: usize,
    /// The arrays around it, the outermost first: the index of their elements, and which of them.
    pub(super) elements: Vec<(usize, u64)>,
    /// The names that the value has, in place of the value.
    pub(super) names: bool,
}

impl Path {
    /// The fields that it is in the events of a class: of a variant, one of each option that has it. Empty if
    /// there is none.
    pub(super) fn resolve(&self, trees: &Trees<'_>) -> Vec<Target> {
        let found = self.find(trees, &self.path, false);
        if !found.is_empty() {
            return found;
        }
        let suffix = NAMES.into_iter().find_map(|suffix| self.path.strip_suffix(suffix));
        suffix.map(|path| self.find(trees, path, true)).unwrap_or_default()
    }

    fn find(&self, trees: &Trees<'_>, path: &str, names: bool) -> Vec<Target> {
        let within = |scopes: &mut dyn Iterator<Item = Scope>, path: &str| {
            scopes.map(|scope| trees.find(scope, path, names)).find(|found| !found.is_empty())
        };
        // The whole path may be names, too.
        let all = SCOPES.iter().map(|(scope, _)| *scope);
        let found = within(&mut all.filter(|scope| self.scope.is_none_or(|wanted| wanted == *scope)), path);
        let scoped = || {
            let (first, rest) = path.split_once('.').filter(|_| self.scope.is_none())?;
            let known = SCOPES.iter().filter(|(_, known)| known.contains(&first));
            within(&mut known.map(|(scope, _)| *scope), rest)
        };
        found.or_else(scoped).unwrap_or_default()
    }
}

/// The fields of all scopes of the events of a class.
pub(super) struct Trees<'c>(Vec<(Scope, Tree<'c>)>);

impl<'c> Trees<'c> {
    /// Of an event.
    pub(super) fn of_event(event: &Event<'c>) -> Self {
        let root = |scope| Some((scope, Tree::new(&event.plan(scope)?.root().class)));
        Self(SCOPES.iter().filter_map(|(scope, _)| root(*scope)).collect())
    }

    fn of_classes(stream: &'c DataStreamClass, record: &'c EventRecordClass) -> Self {
        let root = |scope| {
            let class = match scope {
                Scope::PacketContext => &stream.packet_context,
                Scope::EventRecordHeader => &stream.event_record_header,
                Scope::CommonContext => &stream.common_context,
                Scope::SpecificContext => &record.specific_context,
                Scope::Payload => &record.payload,
                Scope::Resource => &stream.resource,
                Scope::PacketHeader => return None,
            };
            Some((scope, Tree::new(class.as_deref()?)))
        };
        Self(SCOPES.iter().filter_map(|(scope, _)| root(*scope)).collect())
    }

    fn of(&self, scope: Scope) -> Option<&Tree<'c>> {
        self.0.iter().find(|(known, _)| *known == scope).map(|(_, tree)| tree)
    }

    fn find(&self, scope: Scope, path: &str, names: bool) -> Vec<Target> {
        let mut found = Vec::new();
        if let Some(tree) = self.of(scope) {
            let target = Target { scope, node: 0, end: 0, elements: Vec::new(), names };
            tree.follow(target, path, &mut found);
        }
        found
    }
}

/// The fields of a scope, in the order of the nodes of its plan: each before those within it.
pub(super) struct Tree<'c>(Vec<Branch<'c>>);

struct Branch<'c> {
    class: &'c FieldClass,
    /// Name of the member; empty if it is none.
    name: &'c str,
    /// Index of what comes behind it and all that is within it.
    end: usize,
}

impl<'c> Tree<'c> {
    fn new(root: &'c FieldClass) -> Self {
        let mut branches = Vec::new();
        grow(&mut branches, root, "");
        Self(branches)
    }

    /// The fields right within one.
    fn children(&self, node: usize) -> impl Iterator<Item = usize> {
        let end = self.end(node);
        std::iter::successors(Some(node + 1), |child| Some(self.end(*child)).filter(|next| next > child))
            .take_while(move |child| *child < end)
    }

    /// The members of a structure, without padding: each with its name and its number among those of this name.
    fn members(&self, node: usize) -> impl Iterator<Item = (usize, &'c str, u64)> {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        self.children(node).filter_map(move |child| {
            let branch = self.0.get(child)?;
            if matches!(branch.class.kind, FieldKind::Padding(_)) {
                return None;
            }
            let name = branch.name;
            let number = counts.entry(name).or_default();
            *number += 1;
            Some((child, name, *number))
        })
    }

    /// Takes a path from a field on, and adds the fields that it leads to.
    fn follow(&self, target: Target, path: &str, found: &mut Vec<Target>) {
        let Some(branch) = self.0.get(target.node) else { return };
        let to = |node| Target { node, ..target.clone() };
        match &branch.class.kind {
            FieldKind::Optional { .. } | FieldKind::Variant { .. } => {
                self.children(target.node).for_each(|child| self.follow(to(child), path, found));
            }
            kind if path.is_empty() => {
                let has_names = matches!(kind, FieldKind::BitMap { .. }) || mappings(kind).is_some();
                if !matches!(kind, FieldKind::Padding(_)) && (has_names || !target.names) {
                    found.push(Target { end: branch.end, ..target });
                }
            }
            FieldKind::Structure { .. } | FieldKind::Union { .. } => {
                let before_all = found.len();
                for child in self.children(target.node) {
                    let name = self.0.get(child).map_or("", |child| child.name);
                    let rest = path.strip_prefix(name).and_then(|rest| match rest {
                        "" => Some(rest),
                        _ => rest.strip_prefix('.'),
                    });
                    let before = found.len();
                    if let Some(rest) = rest {
                        self.follow(to(child), rest, found);
                    }
                    // Of members with the same name, the first one.
                    if found.len() > before {
                        break;
                    }
                }
                // Others, and those without a name, are numbered.
                if found.len() == before_all && path.contains('#') {
                    for (child, name, number) in self.members(target.node) {
                        let rest =
                            path.strip_prefix(name).and_then(|rest| rest.strip_prefix(&numbered("", number)));
                        let is_it = |rest: &&str| {
                            is_numbered(name, number) && (rest.is_empty() || rest.starts_with('.'))
                        };
                        if let Some(rest) = rest.filter(is_it) {
                            self.follow(to(child), rest.trim_start_matches('.'), found);
                        }
                    }
                }
            }
            FieldKind::Array { .. } => {
                let (index, rest) = path.split_once('.').unwrap_or((path, ""));
                if let Ok(index) = index.parse() {
                    let mut element = to(target.node + 1);
                    element.elements.push((target.node + 1, index));
                    self.follow(element, rest, found);
                }
            }
            _ => {}
        }
    }

    /// Whether a field, or one within it, does not only serve decoding.
    fn has_value(&self, node: usize) -> bool {
        (node..self.end(node)).any(|index| {
            let is_leaf = self.end(index) == index + 1;
            self.0.get(index).is_some_and(|branch| {
                is_leaf
                    && !matches!(branch.class.kind, FieldKind::Padding(_))
                    && branch.class.roles.is_empty()
            })
        })
    }

    /// The index of what comes behind a field and all that is within it.
    fn end(&self, node: usize) -> usize {
        self.0.get(node).map_or(node, |branch| branch.end)
    }

    /// Calls `take` with the path of each field that is a column by default.
    fn each_leaf(&self, take: &mut dyn FnMut(&str, &'c FieldClass)) {
        self.leaves(0, &mut String::new(), take);
    }

    fn leaves(&self, node: usize, path: &mut String, take: &mut dyn FnMut(&str, &'c FieldClass)) {
        let Some(branch) = self.0.get(node) else { return };
        match &branch.class.kind {
            FieldKind::Structure { .. } => {
                for (child, name, number) in self.members(node) {
                    let length = path.len();
                    if length > 0 {
                        path.push('.');
                    }
                    match is_numbered(name, number) {
                        true => path.push_str(&numbered(name, number)),
                        false => path.push_str(name),
                    }
                    self.leaves(child, path, take);
                    path.truncate(length);
                }
            }
            FieldKind::Optional { .. } => {
                self.children(node).for_each(|child| self.leaves(child, path, take))
            }
            FieldKind::Padding(_) => {}
            _ if path.is_empty() || !self.has_value(node) => {}
            _ => take(path, branch.class),
        }
    }
}

/// Returns `true` if the name of a member is followed by its number: it is not the first one of this name, or it has
/// none.
fn is_numbered(name: &str, number: u64) -> bool {
    number > 1 || name.is_empty()
}

fn numbered(name: &str, number: u64) -> String {
    format!("{name}#{number}")
}

fn grow<'c>(branches: &mut Vec<Branch<'c>>, class: &'c FieldClass, name: &'c str) {
    let node = branches.len();
    branches.push(Branch { class, name, end: node + 1 });
    match &class.kind {
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
            members.iter().for_each(|member| grow(branches, &member.class, &member.name));
        }
        FieldKind::Variant { options, .. } => {
            options.iter().for_each(|option| grow(branches, &option.class, ""));
        }
        FieldKind::Array { element, .. } => grow(branches, element, ""),
        FieldKind::Optional { field, .. } => grow(branches, field, ""),
        _ => {}
    }
    branches[node].end = branches.len();
}
