//! Columns of all selected classes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::cursor::{ExcludedClasses, MessageKind};
use ichnos_model::event::{EventValues, Scopes};
use ichnos_model::{Event, Message};
use ichnos_table::arrow_schema::DataType;
use ichnos_table::{MOST_COLUMNS, PROPERTIES, Projection, TableOptions, TablePlan, common_type};

use crate::query::{QueryError, StreamPart, TraceQuery};

/// Columns that all tables have.
const COMMON: [(&str, DataType); 5] = [
    ("ts", DataType::Int64),
    ("event", DataType::Utf8),
    ("stream", DataType::Int32),
    ("packet", DataType::Int64),
    ("seq", DataType::Int64),
];

/// Column of the classes that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnionColumn {
    /// Name.
    pub name: String,
    /// Names of the column in the classes. They differ in case only.
    pub spellings: BTreeSet<String>,
    /// Type for the values of all classes.
    pub data_type: DataType,
}

/// Column of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventColumn {
    /// Field or property.
    Field(UnionColumn),
    /// Name of the class.
    Name,
    /// Path of the trace.
    Trace,
    /// Log level.
    Level,
    /// Log message.
    Message,
}

impl EventColumn {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Field(column) => &column.name,
            Self::Name => "event",
            Self::Trace => "trace",
            Self::Level => "level",
            Self::Message => "message",
        }
    }

    /// Returns the type.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        match self {
            Self::Field(column) => &column.data_type,
            _ => &DataType::Utf8,
        }
    }

    pub(super) fn is_of_log(&self) -> bool {
        matches!(self, Self::Level | Self::Message)
    }
}

impl From<UnionColumn> for EventColumn {
    fn from(column: UnionColumn) -> Self {
        if column.name == "event" { Self::Name } else { Self::Field(column) }
    }
}

/// Collects the columns of classes.
#[derive(Default)]
struct UnionBuilder {
    columns: Vec<(String, BTreeSet<String>, Option<DataType>)>,
    /// Index of each name in lower case.
    indexes: HashMap<String, usize>,
}

impl UnionBuilder {
    fn add_plan(&mut self, plan: &TablePlan) {
        plan.schema().fields().iter().for_each(|field| self.add(field.name(), field.data_type()));
    }

    fn add(&mut self, name: &str, of: &DataType) {
        let lower = name.to_lowercase();
        if let Some((_, spellings, known)) = self.indexes.get(&lower).and_then(|at| self.columns.get_mut(*at))
        {
            if !spellings.contains(name) {
                spellings.insert(name.to_owned());
            }
            if known.as_ref() != Some(of) {
                *known = known.take().and_then(|known| common_type(&known, of));
            }
            return;
        }
        self.indexes.insert(lower, self.columns.len());
        self.columns.push((name.to_owned(), BTreeSet::from([name.to_owned()]), Some(of.clone())));
    }

    fn finish(mut self) -> Result<Vec<EventColumn>, QueryError> {
        if self.columns.len() > MOST_COLUMNS {
            return Err(QueryError::new(format!(
                "the selected events have {} columns, and {MOST_COLUMNS} are allowed: select fewer event names \
                 by name",
                self.columns.len()
            )));
        }
        let place = |name: &str| PROPERTIES.iter().position(|known| *known == name).unwrap_or(usize::MAX);
        self.columns.sort_by_key(|(name, ..)| place(name));
        let column = |(name, spellings, of): (String, _, Option<DataType>)| {
            Some(UnionColumn { name, spellings, data_type: of? }.into())
        };
        Ok(self.columns.into_iter().filter_map(column).collect())
    }
}

/// Returns the columns of the classes with selected events. Traces that declare no classes are read to find them.
///
/// # Errors
/// If there are too many columns, or the filter does not fit the classes.
pub fn all_columns(query: &TraceQuery, options: &TableOptions) -> Result<Vec<EventColumn>, QueryError> {
    build(query, options)?.finish()
}

/// Returns the columns that all events share, which are no fields: properties, log level, log message and trace.
///
/// # Errors
/// As for [`all_columns`].
pub fn shared_columns(query: &TraceQuery, options: &TableOptions) -> Result<Vec<EventColumn>, QueryError> {
    let options = options.clone().with_columns(Projection::exact(PROPERTIES.into_iter().chain(["time"])));
    let mut builder = build(query, &options)?;
    for name in PROPERTIES {
        if !builder.indexes.contains_key(name) {
            builder.add(name, if name == "operation" { &DataType::Utf8 } else { &DataType::Int64 });
        }
    }
    let mut columns = builder.finish()?;
    columns.extend([EventColumn::Level, EventColumn::Message, EventColumn::Trace]);
    Ok(columns)
}

fn build(query: &TraceQuery, options: &TableOptions) -> Result<UnionBuilder, QueryError> {
    let mut builder = UnionBuilder::default();
    COMMON.iter().for_each(|(name, of)| builder.add(name, of));
    let mut known = HashSet::new();
    let mut has_read = false;
    for part in query.streams() {
        let class = (Arc::as_ptr(&part.stream.trace).addr(), part.stream.class_index);
        if part.trace.has_dynamic_classes() || part.trace.has_dynamic_streams() {
            read_classes(query, &part, options, &mut builder);
            has_read = true;
        } else if known.insert(class) {
            declared_classes(query, &part, options, &mut builder);
        }
    }
    if has_read {
        query.review()?;
    }
    Ok(builder)
}

/// Adds the columns of the classes that a trace declares.
fn declared_classes(
    query: &TraceQuery,
    part: &StreamPart<'_>,
    options: &TableOptions,
    builder: &mut UnionBuilder,
) {
    let values = EventValues::default();
    let by_filter = query.selection().excluded_by_filter(&part.stream);
    let is_excluded = |index: usize| {
        let has = |classes: &Arc<ExcludedClasses>| classes.has(index);
        by_filter.as_ref().is_some_and(has)
    };
    for (index, plans) in part.stream.plans().event_records.iter().enumerate() {
        if !is_excluded(index) && query.selection().wants_class(&plans.class) {
            let event = Event::new(&part.stream, plans, None, Scopes::from_values(&values));
            builder.add_plan(&TablePlan::new(&event, options));
        }
    }
}

/// Adds the columns of the classes that are known once a data stream was read.
fn read_classes(
    query: &TraceQuery,
    part: &StreamPart<'_>,
    options: &TableOptions,
    builder: &mut UnionBuilder,
) {
    let Some(mut cursor) = query.cursor(part.number, part.index, None) else { return };
    let mut known: Vec<bool> = Vec::new();
    let mut last = None;
    while let Some(head) = cursor.next_head() {
        if head.kind != MessageKind::Event {
            continue;
        }
        let index = head.class_index();
        if index.is_some_and(|index| known.get(index).copied().unwrap_or(false)) {
            continue;
        }
        let Some(Message::Event(event)) = cursor.current() else { continue };
        match index {
            Some(index) => {
                if known.len() <= index {
                    known.resize(index + 1, false);
                }
                if let Some(known) = known.get_mut(index) {
                    *known = true;
                }
            }
            None if last.as_ref() == Some(event.class) => continue,
            None => last = Some(event.class.clone()),
        }
        if query.selection().wants_class(event.class) {
            builder.add_plan(&TablePlan::new(&event, options));
        }
    }
}
