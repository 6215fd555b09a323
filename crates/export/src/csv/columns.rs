//! Table columns: names and fields.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use ichnos_model::class::{Child, DataStreamClass, EventRecordClass, FieldClass, FieldKind};
use ichnos_model::plan::scope_class;
use ichnos_model::{Event, Scope, running_thread};

use crate::time::JsonTime;

/// Event property that is not a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventProperty {
    /// Time in the selected format.
    Time,
    /// Time in nanoseconds.
    Nanoseconds,
    Cycles,
    /// Class name.
    Name,
    /// Class id.
    Id,
    LogLevel,
    Host,
    Stream,
    Trace,
}

/// Property column names.
const PROPERTIES: [(&str, EventProperty); 9] = [
    ("time", EventProperty::Time),
    ("ts", EventProperty::Nanoseconds),
    ("cycles", EventProperty::Cycles),
    ("event", EventProperty::Name),
    ("id", EventProperty::Id),
    ("log_level", EventProperty::LogLevel),
    ("host", EventProperty::Host),
    ("stream", EventProperty::Stream),
    ("trace", EventProperty::Trace),
];

/// Suffixes that select the value names of an integer or bit map.
const NAMES: [&str; 2] = [".labels", ".flags"];

/// Table column: an event property, or a field by its path as in [`FieldRef`](ichnos_model::field::FieldRef).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvColumn {
    pub(super) name: String,
    pub(super) source: ColumnSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ColumnSource {
    Property(EventProperty),
    Field(CsvPath),
}

/// Field path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CsvPath {
    /// Only scope to search, if known.
    scope: Option<Scope>,
    path: String,
}

impl CsvColumn {
    /// Creates the column of a property (`time`, `ts`, `cycles`, `event`, `id`, `log_level`, `host`, `stream`,
    /// `trace`) or of a field by path: `prev_comm`, `ctx.vpid`, `args.0.name`. `.labels` after an integer selects its
    /// value names, and `.flags` those of a bit map. A field with the name of a property needs its scope:
    /// `payload.time`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let property = PROPERTIES.iter().find(|(known, _)| *known == name);
        let source = match property {
            Some((_, property)) => ColumnSource::Property(*property),
            None => ColumnSource::Field(CsvPath { scope: None, path: name.to_owned() }),
        };
        Self { name: name.to_owned(), source }
    }

    /// Returns the column name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Removes the columns that events of a class have. Properties are always removed.
    pub fn remove_known(columns: &mut Vec<&Self>, stream: &DataStreamClass, record: &EventRecordClass) {
        if columns.is_empty() {
            return;
        }
        let trees = ScopeTrees::of_classes(stream, record);
        columns.retain(|column| match &column.source {
            ColumnSource::Property(_) => false,
            ColumnSource::Field(path) => path.resolve(&trees).is_empty(),
        });
    }

    /// Returns all default column names of a class, to search for similar names.
    #[must_use]
    pub fn names_in(stream: &DataStreamClass, record: &EventRecordClass) -> Vec<String> {
        let mut columns = CsvColumns::new(JsonTime::Both);
        columns.add_stream(stream);
        columns.add(record);
        columns.columns.into_iter().map(|column| column.name).collect()
    }
}

/// Collector of columns for several event classes: first properties, then all fields in class order. Each name is
/// added once.
#[derive(Debug)]
pub struct CsvColumns {
    columns: Vec<CsvColumn>,
    known: HashSet<String>,
    are_all: bool,
}

impl CsvColumns {
    /// Maximum number of columns, because every event has all cells.
    pub const MOST: usize = 2_000;

    /// Starts with the properties of every table: `time`, `event`, `host` and `stream`. `ts` follows `time` if times
    /// have both formats.
    #[must_use]
    pub fn new(time: JsonTime) -> Self {
        let names = ["time", "ts", "event", "host", "stream"];
        let wanted = names.into_iter().filter(|name| *name != "ts" || time == JsonTime::Both);
        Self { columns: wanted.map(CsvColumn::new).collect(), known: HashSet::new(), are_all: true }
    }

    /// Adds the columns of a data stream class: the fields of the packet context, event record header and common
    /// context, except fields that only serve decoding. Structure members are separate columns. An array, variant or
    /// union is one column.
    pub fn add_stream(&mut self, stream: &DataStreamClass) {
        self.add_scope(Scope::PacketContext, &stream.packet_context);
        self.add_scope(Scope::EventRecordHeader, &stream.event_record_header);
        self.add_scope(Scope::CommonContext, &stream.common_context);
    }

    /// Adds the columns of an event class: specific context fields and payload fields.
    pub fn add(&mut self, record: &EventRecordClass) {
        self.add_scope(Scope::SpecificContext, &record.specific_context);
        self.add_scope(Scope::Payload, &record.payload);
    }

    fn add_scope(&mut self, scope: Scope, root: &Option<Arc<FieldClass>>) {
        if let Some(root) = root.as_deref().filter(|_| self.are_all) {
            ScopeTree::new(root).each_leaf(&mut |path, class| self.add_field(scope, path, class));
        }
    }

    fn add_field(&mut self, scope: Scope, path: &str, class: &FieldClass) {
        let prefix = scope.prefix();
        let first = path.split('.').next().unwrap_or_default();
        let is_scope = !Scope::with_prefix(first).is_empty();
        let is_property = PROPERTIES.iter().any(|(known, _)| *known == path);
        let name = match scope {
            // A root field that is not a structure has the name of its scope.
            _ if path.is_empty() => prefix.to_owned(),
            Scope::Payload if !is_scope && !is_property => path.to_owned(),
            _ => format!("{prefix}.{path}"),
        };
        // For `ctx` paths, the specific context is searched before the common context.
        let scope = (prefix != "ctx").then_some(scope);
        let within = if scope.is_some() { path.to_owned() } else { name.clone() };
        let suffix = match &class.kind {
            FieldKind::BitMap { .. } => Some(NAMES[1]),
            _ => class.mappings().map(|_| NAMES[0]),
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
            self.columns.push(CsvColumn { name, source: ColumnSource::Field(CsvPath { scope, path }) });
        }
    }

    /// Returns the columns, or `None` if there are more than [`CsvColumns::MOST`].
    #[must_use]
    pub fn columns(self) -> Option<Vec<CsvColumn>> {
        self.are_all.then_some(self.columns)
    }
}

/// Column field in the events of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnField {
    pub(super) scope: Scope,
    /// Field index in the order of [`Plan::nodes`](ichnos_model::plan::Plan::nodes).
    pub(super) node: usize,
    /// Index after the field and its nested fields.
    pub(super) end: usize,
    /// Enclosing arrays, outermost first: index of the element field, and element number.
    pub(super) elements: Vec<(usize, u64)>,
    /// `true` to show the value names instead of the value.
    pub(super) names: bool,
    /// `true` if the value can be a date.
    pub(super) is_date: bool,
}

impl CsvPath {
    /// Returns the fields of the path in a class. A variant has one field for each matching option. Without a match,
    /// the result is empty.
    pub(super) fn resolve(&self, trees: &ScopeTrees<'_>) -> Vec<ColumnField> {
        let found = self.find(trees, &self.path, false);
        if !found.is_empty() {
            return found;
        }
        let suffix = NAMES.into_iter().find_map(|suffix| self.path.strip_suffix(suffix));
        suffix.map(|path| self.find(trees, path, true)).unwrap_or_default()
    }

    fn find(&self, trees: &ScopeTrees<'_>, path: &str, names: bool) -> Vec<ColumnField> {
        let within = |scopes: &[Scope], path: &str| {
            scopes.iter().map(|scope| trees.find(*scope, path, names)).find(|found| !found.is_empty())
        };
        if let Some(member) = running_thread::member_of(trees.stream, path).filter(|_| self.scope.is_none()) {
            return trees.find(Scope::Resource, member, names);
        }
        // The whole path can also be a field name.
        let found = within(self.scope.as_ref().map_or(&Scope::SEARCHED, std::slice::from_ref), path);
        let scoped = || {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            self.scope.is_none().then(|| within(Scope::with_prefix(first), rest)).flatten()
        };
        found.or_else(scoped).unwrap_or_default()
    }
}

/// Fields of an event class in all scopes.
pub(super) struct ScopeTrees<'c> {
    stream: &'c DataStreamClass,
    scopes: Vec<(Scope, ScopeTree<'c>)>,
}

impl<'c> ScopeTrees<'c> {
    /// Returns the trees for the class of an event.
    pub(super) fn of_event(event: &Event<'c>) -> Self {
        let root = |scope| Some((scope, ScopeTree::new(&event.plan(scope)?.root().class)));
        Self { stream: event.stream.class(), scopes: Scope::SEARCHED.into_iter().filter_map(root).collect() }
    }

    fn of_classes(stream: &'c DataStreamClass, record: &'c EventRecordClass) -> Self {
        let class = |scope| scope_class(scope, None, stream, Some(record));
        let root = |scope| Some((scope, ScopeTree::new(class(scope)?)));
        Self { stream, scopes: Scope::SEARCHED.into_iter().filter_map(root).collect() }
    }

    fn tree(&self, scope: Scope) -> Option<&ScopeTree<'c>> {
        self.scopes.iter().find(|(known, _)| *known == scope).map(|(_, tree)| tree)
    }

    fn find(&self, scope: Scope, path: &str, names: bool) -> Vec<ColumnField> {
        let mut found = Vec::new();
        // Structure members have separate columns.
        if let Some(tree) = self.tree(scope).filter(|tree| !(path.is_empty() && tree.is_structure())) {
            let target = ColumnField { scope, node: 0, end: 0, elements: Vec::new(), names, is_date: false };
            tree.follow(target, path, &mut found);
        }
        found
    }
}

/// Fields of a scope.
pub(super) struct ScopeTree<'c> {
    /// Fields in plan order: each before its nested fields.
    branches: Vec<FieldNode<'c>>,
    /// Index that is built for the first path.
    index: OnceCell<PathIndex>,
}

struct FieldNode<'c> {
    class: &'c FieldClass,
    /// Member name. Empty without a name.
    name: &'c str,
    /// Index after the field and its nested fields.
    end: usize,
}

impl<'c> ScopeTree<'c> {
    fn new(root: &'c FieldClass) -> Self {
        let mut branches = Vec::new();
        grow(&mut branches, root, "");
        Self { branches, index: OnceCell::new() }
    }

    /// Returns `true` if the root is a structure or an optional structure.
    fn is_structure(&self) -> bool {
        let roots = self.branches.iter().map(|branch| &branch.class.kind);
        let mut kinds = roots.skip_while(|kind| matches!(kind, FieldKind::Optional { .. }));
        matches!(kinds.next(), Some(FieldKind::Structure { .. }))
    }

    /// Returns the fields directly in a field.
    fn children(&self, node: usize) -> impl Iterator<Item = usize> {
        let end = self.end(node);
        std::iter::successors(Some(node + 1), |child| Some(self.end(*child)).filter(|next| next > child))
            .take_while(move |child| *child < end)
    }

    /// Returns the structure members without padding: index, name, and number among members of the same name.
    fn members(&self, node: usize) -> impl Iterator<Item = (usize, &'c str, u64)> {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        self.children(node).filter_map(move |child| {
            let branch = self.branches.get(child)?;
            if matches!(branch.class.kind, FieldKind::Padding(_)) {
                return None;
            }
            let name = branch.name;
            let number = counts.entry(name).or_default();
            *number += 1;
            Some((child, name, *number))
        })
    }

    fn index(&self) -> &PathIndex {
        self.index.get_or_init(|| PathIndex::new(self))
    }

    /// Returns the structure members whose names start a path, in their order, with the rest of the path.
    fn named<'p>(&self, node: usize, path: &'p str) -> Vec<(usize, &'p str)> {
        self.index().named.find(node, path, |child, head| {
            self.branches.get(child).is_some_and(|branch| branch.name == head)
        })
    }

    /// Returns the numbered structure members whose names start a path, with the rest of the path.
    fn numbered<'p>(&self, node: usize, path: &'p str) -> Vec<(usize, &'p str)> {
        if !path.contains('#') {
            return Vec::new();
        }
        let PathIndex { numbered, numbers, .. } = self.index();
        numbered.find(node, path, |child, head| {
            let name = self.branches.get(child).map_or("", |branch| branch.name);
            let number = numbers.get(&child).map(|number| numbered_suffix(*number));
            head.strip_prefix(name).zip(number).is_some_and(|(rest, number)| rest == number)
        })
    }

    /// Follows a path from a field, and adds the target fields.
    fn follow(&self, target: ColumnField, path: &str, found: &mut Vec<ColumnField>) {
        let Some(branch) = self.branches.get(target.node) else { return };
        let to = |node| ColumnField { node, ..target.clone() };
        match &branch.class.kind {
            FieldKind::Optional { .. } | FieldKind::Variant { .. } => {
                self.children(target.node).for_each(|child| self.follow(to(child), path, found));
            }
            kind if path.is_empty() => {
                let has_names = branch.class.mappings().is_some();
                if !matches!(kind, FieldKind::Padding(_)) && (has_names || !target.names) {
                    let is_date = branch.class.integer().is_some_and(|integer| integer.wall_clock.is_some());
                    found.push(ColumnField { end: branch.end, is_date, ..target });
                }
            }
            FieldKind::Structure { .. } | FieldKind::Union { .. } => {
                let before_all = found.len();
                for (child, rest) in self.named(target.node, path) {
                    self.follow(to(child), rest, found);
                    // The first of several members with the same name.
                    if found.len() > before_all {
                        return;
                    }
                }
                // Other members, and members without a name, are numbered.
                for (child, rest) in self.numbered(target.node, path) {
                    self.follow(to(child), rest.trim_start_matches('.'), found);
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

    /// Returns `true` if a field or a nested field does not only serve decoding.
    fn has_value(&self, node: usize) -> bool {
        (node..self.end(node)).any(|index| {
            let is_leaf = self.end(index) == index + 1;
            self.branches.get(index).is_some_and(|branch| {
                is_leaf
                    && !matches!(branch.class.kind, FieldKind::Padding(_))
                    && branch.class.roles.is_empty()
            })
        })
    }

    /// Returns the index after a field and its nested fields.
    fn end(&self, node: usize) -> usize {
        self.branches.get(node).map_or(node, |branch| branch.end)
    }

    /// Calls `take` with the path of each default column field.
    fn each_leaf(&self, take: &mut dyn FnMut(&str, &'c FieldClass)) {
        self.leaves(0, &mut String::new(), take);
    }

    fn leaves(&self, node: usize, path: &mut String, take: &mut dyn FnMut(&str, &'c FieldClass)) {
        let Some(branch) = self.branches.get(node) else { return };
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
            _ if !self.has_value(node) => {}
            _ => take(path, branch.class),
        }
    }
}

/// Index of all structure and union members in a scope by name. A path need not be compared with each member.
#[derive(Debug, Default)]
struct PathIndex {
    named: HashedNames,
    /// Members with a number after their name.
    numbered: HashedNames,
    /// Numbers by field index.
    numbers: HashMap<usize, u64>,
}

impl PathIndex {
    fn new(tree: &ScopeTree<'_>) -> Self {
        let mut index = Self::default();
        for (node, branch) in tree.branches.iter().enumerate() {
            if !matches!(branch.class.kind, FieldKind::Structure { .. } | FieldKind::Union { .. }) {
                continue;
            }
            for child in tree.children(node) {
                let name = tree.branches.get(child).map_or("", |child| child.name);
                index.named.add(node, name, child);
            }
            for (child, name, number) in
                tree.members(node).filter(|(_, name, number)| is_numbered(name, *number))
            {
                index.numbered.add(node, &numbered(name, number), child);
                index.numbers.insert(child, number);
            }
        }
        index.named.0.sort_unstable();
        index.numbered.0.sort_unstable();
        index
    }
}

/// Fields by enclosing structure and name hash, sorted.
#[derive(Debug, Default)]
struct HashedNames(Vec<(usize, u64, usize)>);

impl HashedNames {
    fn add(&mut self, node: usize, name: &str, child: usize) {
        if let Some((_, hash)) = heads(name).last() {
            self.0.push((node, hash, child));
        }
    }

    /// Returns the structure members that start a path, in their order, with the rest of the path. `is_called`
    /// returns `true` if a member has a name.
    fn find<'p>(
        &self,
        node: usize,
        path: &'p str,
        is_called: impl Fn(usize, &str) -> bool,
    ) -> Vec<(usize, &'p str)> {
        let mut found = Vec::new();
        for (end, hash) in heads(path) {
            let (head, rest) = path.split_at(end);
            let rest = rest.strip_prefix('.').unwrap_or(rest);
            let first = self.0.partition_point(|(known, other, _)| (*known, *other) < (node, hash));
            let members = self.0.get(first..).unwrap_or_default().iter();
            let same = members.take_while(|(known, other, _)| (*known, *other) == (node, hash));
            found
                .extend(same.filter(|(.., child)| is_called(*child, head)).map(|(.., child)| (*child, rest)));
        }
        found.sort_by_key(|(child, _)| *child);
        found
    }
}

/// Returns the lengths and hashes of path prefixes that can be names. Names can contain points.
fn heads(path: &str) -> impl Iterator<Item = (usize, u64)> {
    let mut hasher = DefaultHasher::new();
    let mut end = 0;
    path.split('.').enumerate().map(move |(i, step)| {
        if i > 0 {
            hasher.write(b".");
            end += 1;
        }
        hasher.write(step.as_bytes());
        end += step.len();
        (end, hasher.finish())
    })
}

/// Returns `true` if a member name is followed by its number: it is not the first of this name, or it lacks a name.
fn is_numbered(name: &str, number: u64) -> bool {
    number > 1 || name.is_empty()
}

fn numbered(name: &str, number: u64) -> String {
    format!("{name}{}", numbered_suffix(number))
}

fn numbered_suffix(number: u64) -> String {
    format!("#{number}")
}

fn grow<'c>(branches: &mut Vec<FieldNode<'c>>, class: &'c FieldClass, name: &'c str) {
    let node = branches.len();
    branches.push(FieldNode { class, name, end: node + 1 });
    for child in class.children() {
        // Option names are not shown.
        let name = match child {
            Child::Member(member) => &member.name,
            _ => "",
        };
        grow(branches, child.class(), name);
    }
    branches[node].end = branches.len();
}
