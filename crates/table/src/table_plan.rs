//! Columns of an event record class, and the way from its fields to them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef};
use ichnos_model::decode::{WordChoice, WordLoads};
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::plan::Plan;
use ichnos_model::{ClockOrigin, Event, EventRecordClass, FieldKind, LogSeverity, Meaning, Scope};

use crate::cell_type::{CellType, LeafColumns};
use crate::fingerprint::Fingerprint;
use crate::table_options::{Projection, TableOptions, TimestampUnit};

/// Names of the columns that are no fields. Fields have other names, whatever the case.
pub const PROPERTIES: [&str; 11] =
    ["ts", "event", "stream", "packet", "seq", "stack", "process", "thread", "cpu", "severity", "operation"];

/// Name of the typed column of times, which fields can have if it is not wanted.
pub(crate) const TIME: &str = "time";

/// Meanings with a column of their own, and its name.
const MEANINGS: [(Meaning, &str); 5] = [
    (Meaning::Process, "process"),
    (Meaning::Thread, "thread"),
    (Meaning::Processor, "cpu"),
    (Meaning::Severity, "severity"),
    (Meaning::OperationId, "operation"),
];

/// Returns `true` if a meaning has a column of its own.
pub(crate) fn has_column(meaning: Meaning) -> bool {
    MEANINGS.iter().any(|(known, _)| *known == meaning)
}

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

/// Maximum length of all names of columns of an event record class, in bytes.
const MOST_NAMES: usize = 16 << 20;

/// Maximum size of a row without values of variable length, in bytes: missing values take as much.
const MOST_WIDTH: usize = 1 << 20;

/// Maximum length of the name of an event record class in the column `event`, in bytes.
const MOST_LABEL: usize = 1_024;

/// A column with a field.
#[derive(Debug)]
pub(crate) struct FieldColumn {
    pub(crate) name: String,
    pub(crate) value: CellType,
    /// Number of arrays around the field.
    pub(crate) lists: usize,
    /// `false` if only the column of a meaning has the values.
    is_shown: bool,
    /// Each event has exactly one value of a fixed size.
    pub(crate) is_fixed: bool,
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
    /// The items of these columns form a list within this number of arrays; an item has this size in bytes.
    List(Range<usize>, usize, usize),
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

impl ScopeTargets {
    /// Returns `true` for the scopes that [`WordLoads`] read.
    pub(crate) fn has_loads(&self) -> bool {
        matches!(self.scope, Scope::CommonContext | Scope::SpecificContext | Scope::Payload)
    }
}

/// Source of the column of a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeaningSource {
    /// The column of a field.
    Field(usize),
    /// An integer of the packet context: index of the node in its decode plan.
    PacketContext(usize),
    /// A number that all events of the class have.
    Constant(i64),
}

/// Column of a meaning.
#[derive(Debug)]
pub(crate) struct MeaningColumn {
    pub(crate) name: &'static str,
    pub(crate) source: MeaningSource,
}

/// Properties of an event record class that are the same for all its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassProperties {
    pub(crate) namespace: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) log_level: Option<i64>,
    pub(crate) emf_uri: Option<String>,
}

impl ClassProperties {
    fn of(class: &EventRecordClass) -> Self {
        Self {
            namespace: class.namespace.clone(),
            uid: class.uid.clone(),
            log_level: class.log_level,
            emf_uri: class.emf_uri.clone(),
        }
    }

    fn add_to(&self, hash: Fingerprint) -> Fingerprint {
        let texts = [&self.namespace, &self.uid, &self.emf_uri];
        let hash = texts.into_iter().fold(hash, |hash, text| match text {
            Some(text) => hash.with(b"1").with(text.as_bytes()),
            None => hash.with(b"0"),
        });
        self.log_level.map_or(hash, |level| hash.with(&level.to_le_bytes()))
    }
}

/// Columns of the events of a class: a plan that is made once, from the class alone.
#[derive(Debug)]
pub struct TablePlan {
    name: String,
    /// Beginning of the name.
    label: String,
    properties_of_class: ClassProperties,
    /// Size of a row without values of variable length, in bytes.
    row_width: usize,
    pub(crate) columns: Vec<FieldColumn>,
    pub(crate) scopes: Vec<ScopeTargets>,
    /// Loads of the scopes that are always bits, if events of the class can be read in this way.
    pub(crate) loads: Option<WordLoads>,
    pub(crate) meanings: Vec<MeaningColumn>,
    /// Column with numbers of stacks.
    pub(crate) stack: Option<usize>,
    /// Names of the wanted columns before the fields.
    pub(crate) properties: Vec<&'static str>,
    /// Unit of the column of times with a type.
    pub(crate) timestamps: Option<TimestampUnit>,
    schema: SchemaRef,
    fingerprint: u64,
    losses: LossTable,
}

impl TablePlan {
    /// Makes the plan for the class of an event.
    #[must_use]
    pub fn new(event: &Event<'_>, options: &TableOptions) -> Self {
        let label = label(event.name());
        let projection = &options.projection;
        // Directories of a dataset can be named after the trace.
        let names = PROPERTIES.into_iter().chain(["trace"]).chain(options.timestamps.map(|_| TIME));
        let mut builder = PlanBuilder {
            event: label,
            options,
            names: names.map(|name| (name.to_owned(), 2)).collect(),
            columns: Vec::new(),
            losses: LossTable::default(),
            used: Used { names: 0, width: ROW_WIDTH + label.len() },
            omitted: 0,
            has_meaning: false,
            conditions: 0,
        };
        let mut scopes = Vec::new();
        for (scope, prefix) in SCOPES {
            if let Some(plan) = event.plan(scope) {
                scopes.push(builder.scope(event, scope, prefix, plan));
            }
        }
        let stack = builder.stack(event, &mut scopes);
        let meanings = builder.meanings(event, &scopes);
        builder.add_class_losses(event);
        scopes.retain(|scope| !scope.columns.is_empty());
        let PlanBuilder { columns, losses, used, .. } = builder;
        let has_dates = event.stream.clock().is_some_and(|clock| clock.origin == ClockOrigin::UnixEpoch);
        let timestamps = options.timestamps.filter(|_| has_dates && projection.wants(TIME));
        let mut properties: Vec<&'static str> =
            PROPERTIES[..5].iter().copied().filter(|name| projection.wants(name)).collect();
        properties.extend(stack.map(|_| "stack"));
        let after_ts = usize::from(projection.wants("ts"));
        properties.splice(after_ts..after_ts, timestamps.map(|_| TIME));
        let schema = schema(&properties, timestamps, &meanings, &columns);
        let properties_of_class = ClassProperties::of(event.class);
        let name = event.name().to_owned();
        let hash = properties_of_class.add_to(Fingerprint::new().with(name.as_bytes()));
        let fingerprint = schema.fields().iter().fold(hash, |hash, field| hash.with_field(field)).hash();
        let loads = loads(event, &scopes, &columns);
        Self {
            name,
            label: label.to_owned(),
            properties_of_class,
            row_width: used.width,
            columns,
            scopes,
            loads,
            meanings,
            stack,
            properties,
            timestamps,
            schema,
            fingerprint,
            losses,
        }
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

    /// Returns a hash of the name, the columns and properties of the class such as its log level: the same in every run,
    /// and equal for plans whose events can be rows of one file.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns `true` if rows of both plans can be in one file. Their fingerprints could be equal by accident.
    pub(crate) fn is_same_table(&self, other: &Self) -> bool {
        self.name == other.name
            && self.properties_of_class == other.properties_of_class
            && self.schema == other.schema
    }

    /// Returns the name of the event record class, cut if it is very long, for the column `event` and for losses.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Returns the properties of the class.
    pub(crate) fn class_properties(&self) -> &ClassProperties {
        &self.properties_of_class
    }

    /// Returns `true` if a column has the times of events.
    pub(crate) fn has_times(&self) -> bool {
        self.timestamps.is_some() || self.properties.contains(&"ts")
    }

    /// Returns the size of a row without values of variable length, in bytes.
    pub(crate) fn row_width(&self) -> usize {
        self.row_width
    }

    /// Returns the losses of the class: fields without a column, and columns with other names than their fields.
    #[must_use]
    pub fn losses(&self) -> &LossTable {
        &self.losses
    }
}

/// Size of the columns of a row that are no fields, without the name, in bytes.
const ROW_WIDTH: usize = 64;

/// Returns the beginning of a name.
fn label(name: &str) -> &str {
    name.get(..name.floor_char_boundary(MOST_LABEL)).unwrap_or(name)
}

/// Returns the loads of the fields of a class that have columns.
fn loads(event: &Event<'_>, scopes: &[ScopeTargets], columns: &[FieldColumn]) -> Option<WordLoads> {
    if !scopes.iter().any(ScopeTargets::has_loads) {
        return None;
    }
    let is_word = |column: usize| {
        let is_one = |column: &FieldColumn| column.value.is_word() || matches!(column.value, CellType::Text);
        columns.get(column).is_some_and(|column| column.lists == 0 && is_one(column))
    };
    WordLoads::new(event, |scope, node| {
        let scope = scopes.iter().find(|found| found.scope == scope);
        match scope.and_then(|scope| scope.targets.get(node)) {
            None | Some(FieldTarget::Nothing) => WordChoice::Skip,
            Some(FieldTarget::Value(column)) if is_word(*column) => {
                u32::try_from(*column).map_or(WordChoice::Visit, WordChoice::Word)
            }
            Some(_) => WordChoice::Visit,
        }
    })
}

/// Returns the columns of a table, all of which can have missing values.
fn schema(
    properties: &[&'static str],
    timestamps: Option<TimestampUnit>,
    meanings: &[MeaningColumn],
    columns: &[FieldColumn],
) -> SchemaRef {
    let property = |name: &&str| {
        let data_type = match (*name, timestamps) {
            ("event", _) => DataType::Utf8,
            ("stream", _) => DataType::Int32,
            (TIME, Some(unit)) => DataType::Timestamp(unit.in_arrow(), Some("UTC".into())),
            _ => DataType::Int64,
        };
        ArrowField::new(*name, data_type, true)
    };
    let meaning = |meaning: &MeaningColumn| {
        let data_type = match meaning.source {
            MeaningSource::Field(column) => {
                columns.get(column).map_or(DataType::Null, FieldColumn::data_type)
            }
            MeaningSource::PacketContext(_) | MeaningSource::Constant(_) => DataType::Int64,
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
    /// Returns the size in bytes of an item within this number of arrays.
    fn width_at(&self, lists: usize) -> usize {
        if self.lists > lists { 4 } else { self.value.width() }
    }

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

/// Use of memory so far, in bytes.
#[derive(Clone, Copy, Debug)]
struct Used {
    names: usize,
    width: usize,
}

/// Makes the columns of a class.
struct PlanBuilder<'p> {
    event: &'p str,
    options: &'p TableOptions,
    /// Names of columns in lower case, as some programs do not distinguish case, with the next number to tell others
    /// apart.
    names: HashMap<String, u64>,
    columns: Vec<FieldColumn>,
    losses: LossTable,
    used: Used,
    /// Number of columns and losses beyond the maximum.
    omitted: u64,
    /// The current member has a meaning with a wanted column.
    has_meaning: bool,
    /// Number of optionals, variants and unions around the current field.
    conditions: usize,
}

impl PlanBuilder<'_> {
    /// Adds the losses of the class as a whole.
    fn add_class_losses(&mut self, event: &Event<'_>) {
        if self.event.len() < event.name().len() {
            let what = format!("name of more than {MOST_LABEL} bytes: cut");
            self.losses.note(LossKind::Rounded, self.event, "event", what);
        }
        let clock = event.stream.clock();
        if self.options.timestamps.is_some()
            && self.options.projection.wants(TIME)
            && clock.is_some_and(|clock| clock.origin != ClockOrigin::UnixEpoch)
        {
            let what = "no date column: the clock does not count from 1970-01-01";
            self.losses.note(LossKind::Dropped, self.event, TIME, what);
        }
        if !event.class.attributes.is_empty() {
            let what = "attributes of the class have no column";
            self.losses.note(LossKind::Dropped, self.event, "", what);
        }
        if self.omitted > 0 {
            let what = format!(
                "more than {MOST_COLUMNS} columns, {} MiB of column names or {} MiB for a row",
                MOST_NAMES >> 20,
                MOST_WIDTH >> 20
            );
            self.losses.note_times(LossKind::Dropped, self.event, "", what, self.omitted);
        }
    }

    fn scope(&mut self, event: &Event<'_>, scope: Scope, prefix: &'static str, plan: &Plan) -> ScopeTargets {
        let begin = self.columns.len();
        let mut targets = vec![FieldTarget::Nothing; plan.nodes().count()];
        for (index, member) in plan.fields().enumerate() {
            let meaning = event.class.meanings.get(scope, index);
            self.has_meaning = meaning.is_some_and(|meaning| self.wants_meaning(meaning));
            let path = plan.field_name(member).to_owned();
            let mut fields = ScopeFields { builder: self, scope, prefix, plan, targets: &mut targets, path };
            fields.add(member, 0);
        }
        self.has_meaning = false;
        ScopeTargets { scope, columns: begin..self.columns.len(), targets }
    }

    fn wants_meaning(&self, meaning: Meaning) -> bool {
        let is_wanted =
            |(known, name): &(Meaning, &str)| *known == meaning && self.options.projection.wants(name);
        MEANINGS.iter().chain(&[(Meaning::Stack, "stack")]).any(is_wanted)
    }

    /// Counts a name of this length; `false` if there is no more memory for it.
    fn take_name(&mut self, length: usize) -> bool {
        let names = self.used.names.saturating_add(length);
        let has_room = names <= MOST_NAMES;
        if has_room {
            self.used.names = names;
        } else {
            self.omitted += 1;
        }
        has_room
    }

    /// Adds a column with a suffix to its name and returns its index, if it is wanted.
    fn add(&mut self, place: ColumnPlace<'_>, suffix: &str, value: CellType, lists: usize) -> Option<usize> {
        let width = self.used.width + if lists > 0 { 4 } else { value.waiting_width() };
        if self.columns.len() >= MOST_COLUMNS || width > MOST_WIDTH {
            self.omitted += 1;
            return None;
        }
        if !self.take_name(place.prefix.len() + place.path.len() + suffix.len()) {
            return None;
        }
        let name = self.unique(place, suffix);
        let is_shown = self.options.projection.wants(&name);
        if !is_shown && !self.has_meaning {
            return None;
        }
        self.used.width = width;
        let is_fixed = self.conditions == 0 && lists == 0 && value.is_fixed();
        self.columns.push(FieldColumn { name, value, lists, is_shown, is_fixed });
        Some(self.columns.len() - 1)
    }

    /// Returns a name that no other column has, with another case either.
    fn unique(&mut self, place: ColumnPlace<'_>, suffix: &str) -> String {
        let ColumnPlace { scope, prefix, path } = place;
        let name = format!("{prefix}{path}{suffix}");
        // DuckDB would make up a name.
        let (path, name) = if name.is_empty() { ("unnamed", "unnamed".to_owned()) } else { (path, name) };
        let lower = name.to_lowercase();
        if self.is_new(&lower) {
            return name;
        }
        let with_scope = format!("{}.{path}{suffix}", scope.short_name());
        let mut found = with_scope.clone();
        if name == with_scope || !self.is_new(&found.to_lowercase()) {
            // Ends, as the names in use are finite. Further columns of the name go on with the next number.
            let mut number = self.names.get(&lower).copied().unwrap_or(2);
            loop {
                found = format!("{name}_{number}");
                number += 1;
                if self.is_new(&found.to_lowercase()) {
                    break;
                }
            }
            self.names.insert(lower, number);
        }
        let what = format!("column `{found}`: the name is taken, perhaps in another case");
        self.losses.note(LossKind::Renamed, self.event, with_scope, what);
        found
    }

    /// Takes a name in lower case; `false` if it is taken.
    fn is_new(&mut self, lower: &str) -> bool {
        let is_new = !self.names.contains_key(lower);
        if is_new {
            self.names.insert(lower.to_owned(), 2);
        }
        is_new
    }

    /// Finds the field that contains the stack, and takes its column for hashes of stacks.
    fn stack(&mut self, event: &Event<'_>, scopes: &mut [ScopeTargets]) -> Option<usize> {
        if !self.options.projection.wants("stack") {
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
        let within = targets.get(within)?;
        if within.iter().any(|target| matches!(target, FieldTarget::Variant(..))) {
            // The values are in several columns.
            return None;
        }
        let column = within.iter().find_map(|target| match target {
            FieldTarget::Value(column) => Some(*column),
            FieldTarget::Enumeration(column, _) | FieldTarget::Flags(column, ..) => *column,
            _ => None,
        })?;
        self.columns.get(column).filter(|column| column.lists == 0).map(|_| column)
    }

    fn meanings(&self, event: &Event<'_>, scopes: &[ScopeTargets]) -> Vec<MeaningColumn> {
        let mut columns = Vec::new();
        for (meaning, name) in MEANINGS.into_iter().filter(|(_, name)| self.options.projection.wants(name)) {
            let source = event.class.meanings.members(meaning).find_map(|member| {
                let index = member.index as usize;
                if member.scope != Scope::PacketContext {
                    return self.column_of(event, scopes, member.scope, index).map(MeaningSource::Field);
                }
                let plan = event.stream.plans().packet_context.as_ref()?;
                packet_integer(plan, index).map(MeaningSource::PacketContext)
            });
            // As everywhere, events without that are of the processor of their packet.
            let of_packet = || {
                let plan = event.stream.plans().packet_context.as_ref();
                let node = plan.filter(|_| meaning == Meaning::Processor).and_then(packet_processor);
                node.map(MeaningSource::PacketContext)
            };
            let constant = || match event.class.log.as_ref()?.severity {
                LogSeverity::Constant(number) if meaning == Meaning::Severity => {
                    Some(MeaningSource::Constant(number))
                }
                _ => None,
            };
            let source = source.or_else(of_packet).or_else(constant);
            columns.extend(source.map(|source| MeaningColumn { name, source }));
        }
        columns
    }
}

/// Returns the node of a member of the packet context if it is an integer, which can be in a column.
pub(crate) fn packet_integer(plan: &Plan, index: usize) -> Option<usize> {
    let node = plan.member(index)?;
    plan.get(node)?.class.integer().map(|_| node)
}

/// Returns the node of the processor that recorded a packet, if it is an integer of the packet context.
pub(crate) fn packet_processor(plan: &Plan) -> Option<usize> {
    let is_processor = |member: &usize| plan.member_name(*member).is_some_and(|name| name == "cpu_id");
    (0..plan.children(0).count()).find(is_processor).and_then(|index| packet_integer(plan, index))
}

/// Place of a field.
#[derive(Clone, Copy, Debug)]
struct ColumnPlace<'p> {
    scope: Scope,
    prefix: &'static str,
    path: &'p str,
}

/// Makes the columns of a scope.
struct ScopeFields<'b, 'p> {
    builder: &'b mut PlanBuilder<'p>,
    scope: Scope,
    prefix: &'static str,
    plan: &'b Plan,
    targets: &'b mut [FieldTarget],
    /// Path of the current node: one buffer for all, since names can be very long.
    path: String,
}

impl ScopeFields<'_, '_> {
    /// Adds the columns of a node within this number of arrays, and returns them.
    fn add(&mut self, node: usize, lists: usize) -> Range<usize> {
        let begin = self.builder.columns.len();
        let plan = self.plan;
        let Some(class) = plan.get(node).map(|node| &node.class) else { return begin..begin };
        let is_array = matches!(class.kind, FieldKind::Array { .. });
        let is_condition = class.is_compound() && !matches!(class.kind, FieldKind::Structure { .. });
        self.builder.conditions += usize::from(is_condition);
        let mut options = Vec::new();
        for (index, child) in plan.children(node).enumerate() {
            let length = self.path.len();
            let name = plan.get(child).and_then(|child| child.name.as_deref());
            match (&class.kind, name) {
                (FieldKind::Array { .. } | FieldKind::Optional { .. }, _) => {}
                (_, Some(name)) => self.enter(name),
                (_, None) => self.enter(&index.to_string()),
            }
            options.push(self.add(child, lists + usize::from(is_array)));
            self.path.truncate(length);
        }
        self.builder.conditions -= usize::from(is_condition);
        if !class.is_compound() {
            let target = self.leaf(node, lists);
            self.set(node, target);
        }
        let columns = begin..self.builder.columns.len();
        if columns.is_empty() {
            // Fields within have losses of their own.
            let mut nodes = plan.within(node).filter_map(|node| plan.get(node));
            let is_bare = nodes.all(|node| node.class.is_compound());
            match &class.kind {
                FieldKind::Array { .. } => {
                    self.record_loss("an array of elements without columns has no column")
                }
                FieldKind::Optional { .. } if is_bare => {
                    self.record_loss("presence of a field without columns has no column");
                }
                FieldKind::Variant { .. } if is_bare => {
                    self.record_loss("option of a variant without columns has no column");
                }
                _ => {}
            }
            return columns;
        }
        let added = self.builder.columns.get(columns.clone()).unwrap_or_default();
        let width = added.iter().map(|column| column.width_at(lists + 1)).sum();
        match &class.kind {
            FieldKind::Array { .. } => self.set(node, FieldTarget::List(columns.clone(), lists, width)),
            FieldKind::Optional { .. } => self.set(node, FieldTarget::Optional(columns.clone(), lists)),
            FieldKind::Variant { .. } => {
                self.set(node, FieldTarget::Variant(columns.clone(), options, lists))
            }
            _ => {}
        }
        columns
    }

    /// Adds a name to the path.
    fn enter(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    fn set(&mut self, node: usize, target: FieldTarget) {
        if let Some(place) = self.targets.get_mut(node) {
            *place = target;
        }
    }

    fn record_loss(&mut self, what: &str) {
        let is_all = matches!(self.builder.options.projection, Projection::All);
        if is_all && self.builder.take_name(self.path.len()) {
            let field = format!("{}.{}", self.scope.short_name(), self.path);
            self.builder.losses.note(LossKind::Dropped, self.builder.event, field, what);
        }
    }

    /// Adds the columns of a field that is not compound.
    fn leaf(&mut self, node: usize, lists: usize) -> FieldTarget {
        let Some(node) = self.plan.get(node) else { return FieldTarget::Nothing };
        // The id and the time are in other columns.
        if self.scope == Scope::EventRecordHeader && !node.roles.is_empty() {
            return FieldTarget::Nothing;
        }
        let place = ColumnPlace { scope: self.scope, prefix: self.prefix, path: &self.path };
        let builder = &mut *self.builder;
        match LeafColumns::of(&node.class, builder.options.u64_type) {
            LeafColumns::Nothing(None) => FieldTarget::Nothing,
            LeafColumns::Nothing(Some(what)) => {
                self.record_loss(what);
                FieldTarget::Nothing
            }
            LeafColumns::Value(value) => match builder.add(place, "", value, lists) {
                Some(column) => FieldTarget::Value(column),
                None => FieldTarget::Nothing,
            },
            LeafColumns::Enumeration(value, names) => {
                let number = builder.add(place, "", value, lists);
                let label = builder.add(place, ".label", CellType::Labels(names), lists);
                FieldTarget::Enumeration(number, label)
            }
            LeafColumns::Flags(value) => {
                let bits = builder.add(place, "", value, lists);
                let names = builder.add(place, ".flags", CellType::Text, lists + 1);
                FieldTarget::Flags(bits, names, lists)
            }
        }
    }
}
