//! Columns of an event record class, and the way from its fields to them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef};
use ichnos_model::lower::{LossEntry, LossKind, LossTable};
use ichnos_model::plan::Plan;
use ichnos_model::{Event, FieldKind, Meaning, Scope};

use crate::cell_type::{CellType, LeafColumns};
use crate::fingerprint::Fingerprint;

/// Names of the columns that are no fields. Fields have other names, whatever the case.
pub const PROPERTIES: [&str; 11] =
    ["ts", "event", "stream", "packet", "seq", "stack", "process", "thread", "cpu", "severity", "operation"];

/// Meanings with a column of their own, and its name.
const MEANINGS: [(Meaning, &str); 5] = [
    (Meaning::Process, "process"),
    (Meaning::Thread, "thread"),
    (Meaning::Processor, "cpu"),
    (Meaning::Severity, "severity"),
    (Meaning::OperationId, "operation"),
];

/// Scopes with columns, and what comes before the names of their fields.
const SCOPES: [(Scope, &str); 5] = [
    (Scope::EventRecordHeader, "header."),
    (Scope::CommonContext, "ctx."),
    (Scope::SpecificContext, "ctx."),
    (Scope::Payload, ""),
    (Scope::Resource, "resource."),
];

/// Maximum number of columns with fields of an event record class.
pub const MOST_COLUMNS: usize = 20_000;

/// Columns that are wanted.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Projection {
    /// All.
    #[default]
    All,
    /// Columns with these names.
    Named(Arc<HashSet<String>>),
}

impl Projection {
    /// Makes a projection on the columns with these names.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self::Named(Arc::new(names.into_iter().map(str::to_owned).collect()))
    }

    /// Returns `true` if the column with this name is wanted.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(name),
        }
    }
}

/// A column with a field.
#[derive(Debug)]
pub(crate) struct FieldColumn {
    pub(crate) name: String,
    pub(crate) value: CellType,
    /// Number of arrays around the field.
    pub(crate) lists: usize,
    /// `false` if only the column of a meaning has the values.
    is_shown: bool,
}

/// Treatment of the fields of a node of a decode plan.
#[derive(Clone, Debug)]
pub(crate) enum FieldTarget {
    /// No column.
    Nothing,
    /// The value is in a column.
    Value(usize),
    /// The number is in the first column, its name in the second one, as far as they are wanted.
    Enumeration(Option<usize>, Option<usize>),
    /// The bits are in the first column, their names in lists of the second one, within this number of arrays.
    Flags(Option<usize>, Option<usize>, usize),
    /// The items of these columns form a list within this number of arrays.
    List(Range<usize>, usize),
    /// These columns have no item within this number of arrays if the field is absent.
    Optional(Range<usize>, usize),
    /// Of all columns, only those of the selected option have an item within this number of arrays.
    Variant(Range<usize>, Vec<Range<usize>>, usize),
}

/// Columns of the fields of a scope.
#[derive(Debug)]
pub(crate) struct ScopeTargets {
    pub(crate) scope: Scope,
    pub(crate) columns: Range<usize>,
    /// By index of the node in the decode plan.
    pub(crate) targets: Vec<FieldTarget>,
}

/// Source of the column of a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeaningSource {
    /// The column of a field.
    Field(usize),
    /// An integer of the packet context: index of the node in its decode plan.
    PacketContext(usize),
}

/// Column of a meaning.
#[derive(Debug)]
pub(crate) struct MeaningColumn {
    pub(crate) name: &'static str,
    pub(crate) source: MeaningSource,
}

/// Columns of the events of a class: a plan that is made once, from the class alone.
#[derive(Debug)]
pub struct TablePlan {
    name: String,
    pub(crate) columns: Vec<FieldColumn>,
    pub(crate) scopes: Vec<ScopeTargets>,
    pub(crate) meanings: Vec<MeaningColumn>,
    /// Column with numbers of stacks.
    pub(crate) stack: Option<usize>,
    /// Names of the wanted columns before the fields.
    pub(crate) properties: Vec<&'static str>,
    schema: SchemaRef,
    fingerprint: u64,
    losses: LossTable,
}

impl TablePlan {
    /// Makes the plan for the class of an event.
    #[must_use]
    pub fn new(event: &Event<'_>, projection: &Projection) -> Self {
        let mut builder = PlanBuilder {
            event: event.name(),
            projection,
            // Directories of a dataset can be named after the trace.
            names: PROPERTIES.iter().chain(&["trace"]).map(ToString::to_string).collect(),
            columns: Vec::new(),
            losses: LossTable::default(),
            omitted: 0,
            has_meaning: false,
        };
        let mut scopes = Vec::new();
        for (scope, prefix) in SCOPES {
            if let Some(plan) = event.plan(scope) {
                scopes.push(builder.scope(event, scope, prefix, plan));
            }
        }
        let stack = builder.stack(event, &mut scopes);
        let meanings = builder.meanings(event, &scopes);
        if builder.omitted > 0 {
            let what = format!("more than {MOST_COLUMNS} columns");
            builder.losses.add(loss(LossKind::Dropped, event.name(), "", &what), builder.omitted);
        }
        scopes.retain(|scope| !scope.columns.is_empty());
        let PlanBuilder { columns, losses, .. } = builder;
        let mut properties: Vec<&'static str> =
            PROPERTIES[..5].iter().copied().filter(|name| projection.wants(name)).collect();
        properties.extend(stack.map(|_| "stack"));
        let schema = schema(&properties, &meanings, &columns);
        let text = format!("{schema:?}");
        let fingerprint = Fingerprint::new().with(event.name().as_bytes()).with(text.as_bytes()).hash();
        let name = event.name().to_owned();
        Self { name, columns, scopes, meanings, stack, properties, schema, fingerprint, losses }
    }

    /// Returns the exact name of the event record class; empty if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the columns: first the properties of events, then their fields.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns a hash of the name and all columns: equal for classes whose events can be rows of one table.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns the losses of the class: fields without a column, and columns with other names than their fields.
    #[must_use]
    pub fn losses(&self) -> &LossTable {
        &self.losses
    }
}

/// Makes a loss of a class.
pub(crate) fn loss(kind: LossKind, class: &str, field: &str, what: &str) -> LossEntry {
    LossEntry { kind, class: class.to_owned(), field: field.to_owned(), what: what.to_owned() }
}

/// Returns the columns of a table, all of which can have missing values.
fn schema(properties: &[&'static str], meanings: &[MeaningColumn], columns: &[FieldColumn]) -> SchemaRef {
    let property = |name: &&str| {
        let data_type = match *name {
            "event" => DataType::Utf8,
            "stream" => DataType::Int32,
            _ => DataType::Int64,
        };
        ArrowField::new(*name, data_type, true)
    };
    let meaning = |meaning: &MeaningColumn| {
        let data_type = match meaning.source {
            MeaningSource::Field(column) => {
                columns.get(column).map_or(DataType::Null, FieldColumn::data_type)
            }
            MeaningSource::PacketContext(_) => DataType::Int64,
        };
        ArrowField::new(meaning.name, data_type, true)
    };
    let field = |column: &FieldColumn| ArrowField::new(&column.name, column.data_type(), true);
    let shown = columns.iter().filter(|column| column.is_shown);
    let fields: Vec<ArrowField> =
        properties.iter().map(property).chain(meanings.iter().map(meaning)).chain(shown.map(field)).collect();
    Arc::new(Schema::new(fields))
}

impl FieldColumn {
    /// Returns the type of the column in Arrow.
    pub(crate) fn data_type(&self) -> DataType {
        (0..self.lists).fold(self.value.data_type(), |item, _| {
            DataType::List(Arc::new(ArrowField::new_list_field(item, true)))
        })
    }

    /// Returns `false` if only the column of a meaning has the values.
    pub(crate) fn is_shown(&self) -> bool {
        self.is_shown
    }
}

/// Makes the columns of a class.
struct PlanBuilder<'p> {
    event: &'p str,
    projection: &'p Projection,
    /// Names of columns in lower case: some programs do not distinguish case.
    names: HashSet<String>,
    columns: Vec<FieldColumn>,
    losses: LossTable,
    /// Number of columns beyond the maximum.
    omitted: u64,
    /// The current member has a meaning with a wanted column.
    has_meaning: bool,
}

impl PlanBuilder<'_> {
    fn scope(&mut self, event: &Event<'_>, scope: Scope, prefix: &'static str, plan: &Plan) -> ScopeTargets {
        let begin = self.columns.len();
        let mut targets = vec![FieldTarget::Nothing; plan.nodes().count()];
        for (index, member) in plan.children(0).enumerate() {
            let meaning = event.class.meanings.of(scope, index);
            self.has_meaning = meaning.is_some_and(|meaning| self.wants_meaning(meaning));
            let mut fields = ScopeFields { builder: self, scope, prefix, plan, targets: &mut targets };
            let name = plan.get(member).and_then(|member| member.name.as_deref()).unwrap_or_default();
            fields.add(member, name, 0);
        }
        self.has_meaning = false;
        ScopeTargets { scope, columns: begin..self.columns.len(), targets }
    }

    fn wants_meaning(&self, meaning: Meaning) -> bool {
        let is_it = |(known, name): &(Meaning, &str)| *known == meaning && self.projection.wants(name);
        MEANINGS.iter().chain(&[(Meaning::Stack, "stack")]).any(is_it)
    }

    /// Adds a column and returns its index, if it is wanted.
    fn add(
        &mut self,
        scope: Scope,
        path: &str,
        name: String,
        value: CellType,
        lists: usize,
    ) -> Option<usize> {
        if self.columns.len() >= MOST_COLUMNS {
            self.omitted += 1;
            return None;
        }
        let name = self.unique(scope, path, name);
        let is_shown = self.projection.wants(&name);
        if !is_shown && !self.has_meaning {
            return None;
        }
        self.columns.push(FieldColumn { name, value, lists, is_shown });
        Some(self.columns.len() - 1)
    }

    /// Returns a name that no other column has, with another case either.
    fn unique(&mut self, scope: Scope, path: &str, name: String) -> String {
        // DuckDB would make up a name.
        let (path, name) = if name.is_empty() { ("unnamed", "unnamed".to_owned()) } else { (path, name) };
        if self.names.insert(name.to_lowercase()) {
            return name;
        }
        let with_scope = format!("{}.{path}", scope.short_name());
        let further = (2..).map(|number| format!("{name}_{number}"));
        let mut candidates = (name != with_scope).then(|| with_scope.clone()).into_iter().chain(further);
        // Ends, as the names in use are finite.
        let found = candidates.find(|candidate| self.names.insert(candidate.to_lowercase())).unwrap_or(name);
        let what = format!("column `{found}`: another one has the name, perhaps in another case");
        self.losses.add(loss(LossKind::Renamed, self.event, &with_scope, &what), 1);
        found
    }

    /// Finds the field that contains the stack, and takes its column for hashes of stacks.
    fn stack(&mut self, event: &Event<'_>, scopes: &mut [ScopeTargets]) -> Option<usize> {
        if !self.projection.wants("stack") {
            return None;
        }
        let member = event.class.meanings.members(Meaning::Stack).next()?;
        let column = self.column_of(event, scopes, member.scope, member.index as usize)?;
        let found = self.columns.get_mut(column)?;
        // The number of a stack has a meaning only while the trace is read.
        found.is_shown = false;
        found.value = CellType::UInt64;
        Some(column)
    }

    /// Returns the first column of a member, if its field is in no array.
    fn column_of(
        &self,
        event: &Event<'_>,
        scopes: &[ScopeTargets],
        scope: Scope,
        member: usize,
    ) -> Option<usize> {
        let plan = event.plan(scope)?;
        let targets = &scopes.iter().find(|found| found.scope == scope)?.targets;
        let within = plan.within(plan.member(member)?);
        let column = targets.get(within)?.iter().find_map(|target| match target {
            FieldTarget::Value(column) => Some(*column),
            FieldTarget::Enumeration(column, _) | FieldTarget::Flags(column, ..) => *column,
            _ => None,
        })?;
        self.columns.get(column).filter(|column| column.lists == 0).map(|_| column)
    }

    fn meanings(&self, event: &Event<'_>, scopes: &[ScopeTargets]) -> Vec<MeaningColumn> {
        let mut columns = Vec::new();
        for (meaning, name) in MEANINGS.into_iter().filter(|(_, name)| self.projection.wants(name)) {
            let source = event.class.meanings.members(meaning).find_map(|member| {
                let index = member.index as usize;
                if member.scope != Scope::PacketContext {
                    return self.column_of(event, scopes, member.scope, index).map(MeaningSource::Field);
                }
                let plan = event.stream.plans().packet_context.as_ref()?;
                let node = plan.member(index)?;
                plan.get(node)?.class.integer()?;
                Some(MeaningSource::PacketContext(node))
            });
            columns.extend(source.map(|source| MeaningColumn { name, source }));
        }
        columns
    }
}

/// Makes the columns of a scope.
struct ScopeFields<'b, 'p> {
    builder: &'b mut PlanBuilder<'p>,
    scope: Scope,
    prefix: &'static str,
    plan: &'b Plan,
    targets: &'b mut [FieldTarget],
}

impl ScopeFields<'_, '_> {
    /// Adds the columns of a node with this path within this number of arrays, and returns them.
    fn add(&mut self, node: usize, path: &str, lists: usize) -> Range<usize> {
        let begin = self.builder.columns.len();
        let plan = self.plan;
        let Some(class) = plan.get(node).map(|node| &node.class) else { return begin..begin };
        let is_array = matches!(class.kind, FieldKind::Array { .. });
        let mut options = Vec::new();
        for (index, child) in plan.children(node).enumerate() {
            let name = plan.get(child).and_then(|child| child.name.as_deref());
            let path = match (&class.kind, name) {
                (FieldKind::Array { .. } | FieldKind::Optional { .. }, _) => path.to_owned(),
                (_, Some(name)) => join(path, name),
                (_, None) => join(path, &index.to_string()),
            };
            options.push(self.add(child, &path, lists + usize::from(is_array)));
        }
        if !class.is_compound() {
            let target = self.leaf(node, path, lists);
            self.set(node, target);
        }
        let columns = begin..self.builder.columns.len();
        if columns.is_empty() {
            if is_array {
                self.lose(path, "an array of elements without columns has no column");
            }
            return columns;
        }
        match &class.kind {
            FieldKind::Array { .. } => self.set(node, FieldTarget::List(columns.clone(), lists)),
            FieldKind::Optional { .. } => self.set(node, FieldTarget::Optional(columns.clone(), lists)),
            FieldKind::Variant { .. } => {
                self.set(node, FieldTarget::Variant(columns.clone(), options, lists))
            }
            _ => {}
        }
        columns
    }

    fn set(&mut self, node: usize, target: FieldTarget) {
        if let Some(place) = self.targets.get_mut(node) {
            *place = target;
        }
    }

    fn lose(&mut self, path: &str, what: &str) {
        if matches!(self.builder.projection, Projection::All) {
            let field = format!("{}.{path}", self.scope.short_name());
            self.builder.losses.add(loss(LossKind::Dropped, self.builder.event, &field, what), 1);
        }
    }

    /// Adds the columns of a field that is not compound.
    fn leaf(&mut self, node: usize, path: &str, lists: usize) -> FieldTarget {
        let Some(node) = self.plan.get(node) else { return FieldTarget::Nothing };
        // The id and the time are in other columns.
        if self.scope == Scope::EventRecordHeader && !node.roles.is_empty() {
            return FieldTarget::Nothing;
        }
        let name = format!("{}{path}", self.prefix);
        let (scope, builder) = (self.scope, &mut *self.builder);
        match LeafColumns::of(&node.class) {
            LeafColumns::Nothing(None) => FieldTarget::Nothing,
            LeafColumns::Nothing(Some(what)) => {
                self.lose(path, what);
                FieldTarget::Nothing
            }
            LeafColumns::Value(value) => match builder.add(scope, path, name, value, lists) {
                Some(column) => FieldTarget::Value(column),
                None => FieldTarget::Nothing,
            },
            LeafColumns::Enumeration(value, names) => {
                let number = builder.add(scope, path, name.clone(), value, lists);
                let (name, value) = (format!("{name}.label"), CellType::Labels(names));
                let label = builder.add(scope, &format!("{path}.label"), name, value, lists);
                FieldTarget::Enumeration(number, label)
            }
            LeafColumns::Flags(value) => {
                let bits = builder.add(scope, path, name.clone(), value, lists);
                let (name, path) = (format!("{name}.flags"), format!("{path}.flags"));
                let names = builder.add(scope, &path, name, CellType::Text, lists + 1);
                FieldTarget::Flags(bits, names, lists)
            }
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
