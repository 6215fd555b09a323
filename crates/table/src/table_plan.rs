//! Columns for an event record class, and the targets for its fields.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field as ArrowField, FieldRef, Schema, SchemaRef};
use ichnos_model::class::{EventRecordClass, FieldKind};
use ichnos_model::clock::ClockOrigin;
use ichnos_model::decode::BlockLoads;
use ichnos_model::log::LogSeverity;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::meaning::Meaning;
use ichnos_model::plan::Plan;
use ichnos_model::{Event, Scope, running_thread};

use crate::block_rows::ColumnLoads;
use crate::cell_type::{CellType, LeafColumns};
use crate::field_targets::{FieldColumn, FieldTarget, ScopeTargets};
use crate::fingerprint::Fingerprint;
use crate::partition;
use crate::table_options::{Projection, TableOptions, TimestampUnit};

/// Names of the columns that are not fields. Field columns have other names, even if case is ignored.
pub const PROPERTIES: [&str; 11] =
    ["ts", "event", "stream", "packet", "seq", "stack", "process", "thread", "cpu", "severity", "operation"];

/// Name of the typed time column. Fields can use this name if the column is not wanted.
pub(crate) const TIME: &str = "time";

/// Meanings with a separate column, and its name.
const MEANINGS: [(Meaning, &str); 5] = [
    (Meaning::Process, "process"),
    (Meaning::Thread, "thread"),
    (Meaning::Processor, "cpu"),
    (Meaning::Severity, "severity"),
    (Meaning::OperationId, "operation"),
];

/// Returns `true` if a meaning has a separate column.
pub(crate) fn has_column(meaning: Meaning) -> bool {
    MEANINGS.iter().any(|(known, _)| *known == meaning)
}

/// Scopes with columns, and the prefix of their field names.
const SCOPES: [(Scope, &str); 5] = [
    (Scope::EventRecordHeader, "header."),
    (Scope::CommonContext, "ctx."),
    (Scope::SpecificContext, "ctx."),
    (Scope::Payload, ""),
    (Scope::Resource, "resource."),
];

/// Maximum number of field columns in an event record class.
pub const MOST_COLUMNS: usize = 20_000;

/// Maximum total length in bytes for the column names in an event record class.
pub(crate) const MOST_NAMES: usize = 16 << 20;

/// Maximum size of a row without variable-length values, in bytes. Missing values take the same space.
const MOST_WIDTH: usize = 1 << 20;

/// Maximum class name length in the column `event`, in bytes.
const MOST_LABEL: usize = 1_024;

/// Source for a meaning column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeaningSource {
    /// Column of a field.
    Field(usize),
    /// Packet context integer: the node index in its decode plan.
    PacketContext(usize),
    /// Constant number for all events in the class.
    Constant(i64),
}

/// Column of a meaning.
#[derive(Debug)]
pub(crate) struct MeaningColumn {
    pub(crate) name: &'static str,
    pub(crate) source: MeaningSource,
}

/// Class properties that are equal for all its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassProperties {
    pub(crate) namespace: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) log_level: Option<i64>,
    pub(crate) emf_uri: Option<String>,
}

impl ClassProperties {
    fn from_class(class: &EventRecordClass) -> Self {
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

/// Columns for the events in a class. This plan is made once per class, from the class alone.
#[derive(Debug)]
pub struct TablePlan {
    name: String,
    /// Start of the name.
    label: String,
    properties_of_class: ClassProperties,
    /// Size of a row without variable-length values, in bytes.
    row_width: usize,
    pub(crate) columns: Vec<FieldColumn>,
    pub(crate) scopes: Vec<ScopeTargets>,
    /// Loads for the scopes that always consist of bits, if events of this class can be read in this way.
    pub(crate) loads: Option<ColumnLoads>,
    pub(crate) meanings: Vec<MeaningColumn>,
    /// Column with stack numbers.
    pub(crate) stack: Option<usize>,
    /// Names of the wanted columns before the fields.
    pub(crate) properties: Vec<&'static str>,
    /// Unit of the typed time column.
    pub(crate) timestamps: Option<TimestampUnit>,
    schema: SchemaRef,
    fingerprint: u64,
    losses: LossTable,
}

impl TablePlan {
    /// Creates the plan for an event's class.
    #[must_use]
    pub fn new(event: &Event<'_>, options: &TableOptions) -> Self {
        let label = label(event.name());
        let projection = &options.projection;
        // Dataset directories can be named after the trace.
        let names = PROPERTIES.into_iter().chain(["trace"]).chain(options.timestamps.map(|_| TIME));
        // Directories of partitions have column names.
        let names = names.chain(options.partition.into_iter().flat_map(|_| partition::COLUMNS));
        let running = running_columns(event, projection);
        let names = names.chain(running.iter().map(|(_, name)| *name));
        let mut builder = PlanBuilder {
            event: label,
            options,
            names: names.map(|name| (name.to_owned(), 2)).collect(),
            running,
            columns: Vec::new(),
            losses: LossTable::default(),
            used: MemoryUse { names: 0, width: ROW_WIDTH + label.len() },
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
        let properties_of_class = ClassProperties::from_class(event.class);
        let name = event.name().to_owned();
        let hash = properties_of_class.add_to(Fingerprint::new().with(name.as_bytes()));
        let fingerprint = schema.fields().iter().fold(hash, |hash, field| hash.with_field(field)).hash();
        let loads = ColumnLoads::new(event, &scopes, &columns);
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

    /// Returns the exact event record class name, or an empty string for a class without a name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the columns: event properties first, then fields.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns a hash of the name, the columns, and class properties such as the log level. It is equal in every run,
    /// and equal for plans whose events can be rows of one file.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns `true` if both plans' rows can be in one file. Fingerprints alone could be equal by accident.
    pub(crate) fn is_same_table(&self, other: &Self) -> bool {
        self.name == other.name
            && self.properties_of_class == other.properties_of_class
            && self.schema == other.schema
    }

    /// Returns the class name for the column `event` and for losses. A very long name is cut.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the class properties.
    pub(crate) fn class_properties(&self) -> &ClassProperties {
        &self.properties_of_class
    }

    /// Returns `true` if a column has the event times.
    pub(crate) fn has_times(&self) -> bool {
        self.timestamps.is_some() || self.properties.contains(&"ts")
    }

    /// Returns the size of a row without variable-length values, in bytes. Waiting rows contain the bytes between wanted
    /// fields, too.
    pub(crate) fn row_width(&self) -> usize {
        let blocks = self.loads.iter().flat_map(|loads| loads.words.blocks());
        self.row_width.saturating_add(blocks.map(BlockLoads::size).sum())
    }

    /// Returns the class losses: fields without a column, and columns with other names than their fields.
    #[must_use]
    pub fn losses(&self) -> &LossTable {
        &self.losses
    }
}

/// Returns the members of the running thread that the projection names like contexts (`tid`), as expressions do.
fn running_columns(event: &Event<'_>, projection: &Projection) -> Vec<(&'static str, &'static str)> {
    let Projection::Named(wanted) = projection else { return Vec::new() };
    let names = running_thread::CONTEXTS.into_iter().filter(|name| wanted.contains(*name));
    let class = event.stream.class();
    let mut found: Vec<_> =
        names.filter_map(|name| Some((running_thread::member_of(class, name)?, name))).collect();
    // A field has one column.
    found.dedup_by_key(|(member, _)| *member);
    found
}

/// Size of a row's non-field columns without the name, in bytes.
const ROW_WIDTH: usize = 64;

/// Returns the start of a name.
fn label(name: &str) -> &str {
    name.get(..name.floor_char_boundary(MOST_LABEL)).unwrap_or(name)
}

/// Returns a table's columns. All of them allow missing values.
fn schema(
    properties: &[&'static str],
    timestamps: Option<TimestampUnit>,
    meanings: &[MeaningColumn],
    columns: &[FieldColumn],
) -> SchemaRef {
    let property = |name: &&str| match (*name, timestamps) {
        (TIME, Some(unit)) => {
            let data_type = DataType::Timestamp(unit.in_arrow(), Some("UTC".into()));
            Arc::new(ArrowField::new(TIME, data_type, true))
        }
        _ => shared_field(name),
    };
    let meaning = |meaning: &MeaningColumn| match meaning.source {
        MeaningSource::Field(column) => {
            let missing = || ArrowField::new(meaning.name, DataType::Null, true);
            Arc::new(columns.get(column).map_or_else(missing, |column| column.field(meaning.name)))
        }
        MeaningSource::PacketContext(_) | MeaningSource::Constant(_) => shared_field(meaning.name),
    };
    let field = |column: &FieldColumn| Arc::new(column.field(&column.name));
    let shown = columns.iter().filter(|column| column.is_shown);
    let fields: Vec<FieldRef> =
        properties.iter().map(property).chain(meanings.iter().map(meaning)).chain(shown.map(field)).collect();
    Arc::new(Schema::new(fields))
}

/// Returns the schema field for a column that is not a field. All tables share it, because there can be very many.
fn shared_field(name: &str) -> FieldRef {
    static SHARED: LazyLock<Vec<FieldRef>> = LazyLock::new(|| {
        let field = |name| {
            let data_type = match name {
                "event" => DataType::Utf8,
                "stream" => DataType::Int32,
                _ => DataType::Int64,
            };
            Arc::new(ArrowField::new(name, data_type, true))
        };
        PROPERTIES.into_iter().map(field).collect()
    });
    let shared = SHARED.iter().find(|field| field.name() == name);
    shared.map_or_else(|| Arc::new(ArrowField::new(name, DataType::Int64, true)), Arc::clone)
}

/// Memory use so far, in bytes.
#[derive(Clone, Copy, Debug)]
struct MemoryUse {
    names: usize,
    width: usize,
}

/// Creates the columns for a class.
struct PlanBuilder<'p> {
    event: &'p str,
    options: &'p TableOptions,
    /// Column names in lower case, because some programs do not distinguish case. The value is the next number that
    /// makes a name unique.
    names: HashMap<String, u64>,
    /// Members of the running thread, and the names that the projection has for them.
    running: Vec<(&'static str, &'static str)>,
    columns: Vec<FieldColumn>,
    losses: LossTable,
    used: MemoryUse,
    /// Number of columns and losses above the maximum.
    omitted: u64,
    /// The current member has a meaning with a wanted column.
    has_meaning: bool,
    /// Number of optionals, variants and unions around the current field.
    conditions: usize,
}

impl PlanBuilder<'_> {
    /// Adds losses for the class itself.
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
            let what = "no column for class attributes";
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

    /// Counts a name of this length. Returns `false` if the memory limit is reached.
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

    /// Adds a column with a name suffix, if it is wanted. Returns its index.
    fn add(&mut self, place: ColumnPlace<'_>, suffix: &str, value: CellType, lists: usize) -> Option<usize> {
        let width = self.used.width + if lists > 0 { 4 } else { value.waiting_width() };
        if self.columns.len() >= MOST_COLUMNS || width > MOST_WIDTH {
            self.omitted += 1;
            return None;
        }
        if !self.take_name(place.prefix.len() + place.path.len() + suffix.len()) {
            return None;
        }
        let name = self.running_name(place).unwrap_or_else(|| self.unique(place, suffix));
        let is_shown = self.options.projection.wants(&name);
        if !is_shown && !self.has_meaning {
            return None;
        }
        self.used.width = width;
        let is_fixed = self.conditions == 0 && lists == 0 && value.is_fixed();
        self.columns.push(FieldColumn { name, value, lists, is_shown, is_fixed });
        Some(self.columns.len() - 1)
    }

    /// Returns the name of a running thread's member that the projection has for it.
    fn running_name(&self, place: ColumnPlace<'_>) -> Option<String> {
        let is_it = |(member, _): &&(&str, &str)| place.scope == Scope::Resource && *member == place.path;
        self.running.iter().find(is_it).map(|(_, name)| (*name).to_owned())
    }

    /// Returns a name that differs from all column names in more than case.
    fn unique(&mut self, place: ColumnPlace<'_>, suffix: &str) -> String {
        let ColumnPlace { scope, prefix, path } = place;
        let name = format!("{prefix}{path}{suffix}");
        // Prevents DuckDB from inventing a name.
        let (path, name) = if name.is_empty() { ("unnamed", "unnamed".to_owned()) } else { (path, name) };
        let lower = name.to_lowercase();
        if self.is_new(&lower) {
            return name;
        }
        let with_scope = format!("{}.{path}{suffix}", scope.short_name());
        let mut found = with_scope.clone();
        if name == with_scope || !self.is_new(&found.to_lowercase()) {
            // Ends, because the number of taken names is finite. The next column with this name continues with the next
            // number.
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
        if self.options.projection.wants(&found) {
            let what = format!("column `{found}`: the name is taken, perhaps in another case");
            self.losses.note(LossKind::Renamed, self.event, with_scope, what);
        }
        found
    }

    /// Takes a name in lower case. Returns `false` if the name is taken.
    fn is_new(&mut self, lower: &str) -> bool {
        let is_new = !self.names.contains_key(lower);
        if is_new {
            self.names.insert(lower.to_owned(), 2);
        }
        is_new
    }

    /// Finds the field that contains the stack, and uses its column for stack hashes.
    fn stack(&mut self, event: &Event<'_>, scopes: &mut [ScopeTargets]) -> Option<usize> {
        if !self.options.projection.wants("stack") {
            return None;
        }
        let member = event.class.meanings.members(Meaning::Stack).next()?;
        let column = self.column_of(event, scopes, member.scope, member.index as usize)?;
        let found = self.columns.get_mut(column)?;
        // Stack numbers are valid only while the trace is read.
        found.is_shown = false;
        found.value = CellType::UInt64;
        Some(column)
    }

    /// Returns the first column of a member, if its field is not in an array.
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
            // As in other outputs, events without their own processor use their packet's processor.
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

/// Returns the node of a packet context member if it is an integer, which can be in a column.
pub(crate) fn packet_integer(plan: &Plan, index: usize) -> Option<usize> {
    let node = plan.member(index)?;
    plan.get(node)?.class.integer().map(|_| node)
}

/// Returns the node of the processor that recorded a packet, if it is a packet context integer.
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

/// Creates the columns for a scope.
struct ScopeFields<'b, 'p> {
    builder: &'b mut PlanBuilder<'p>,
    scope: Scope,
    prefix: &'static str,
    plan: &'b Plan,
    targets: &'b mut [FieldTarget],
    /// Path of the current node. One buffer for all nodes, because names can be very long.
    path: String,
}

impl ScopeFields<'_, '_> {
    /// Adds the columns for a node in this number of arrays. Returns the columns.
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
            // Inner fields record their own losses.
            let mut nodes = plan.within(node).filter_map(|node| plan.get(node));
            let is_bare = nodes.all(|node| node.class.is_compound());
            match &class.kind {
                FieldKind::Array { .. } => {
                    self.record_loss("no column for arrays whose elements lack columns")
                }
                FieldKind::Optional { .. } if is_bare => {
                    self.record_loss("no column for the presence of fields without columns");
                }
                FieldKind::Variant { .. } if is_bare => {
                    self.record_loss("no column for the option of variants without columns");
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

    /// Appends a name to the path.
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

    /// Adds the columns of a leaf field.
    fn leaf(&mut self, node: usize, lists: usize) -> FieldTarget {
        let Some(node) = self.plan.get(node) else { return FieldTarget::Nothing };
        // The id and the time have other columns.
        if self.scope == Scope::EventRecordHeader && !node.roles.is_empty() {
            return FieldTarget::Nothing;
        }
        let place = ColumnPlace { scope: self.scope, prefix: self.prefix, path: &self.path };
        let builder = &mut *self.builder;
        match LeafColumns::from_class(&node.class, builder.options.u64_type) {
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
