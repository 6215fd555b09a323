//! Columns of all selected classes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use ichnos::model::Event;
use ichnos::model::Message;
use ichnos::model::cursor::{ExcludedClasses, MessageKind};
use ichnos::model::event::{EventValues, Scopes};
use ichnos::table::{MOST_COLUMNS, PROPERTIES, Projection, TableOptions, TablePlan, common_type};

use crate::duckdb::ColumnType;
use crate::query::{Query, StreamPlace};

/// Columns that all tables have.
const COMMON: [(&str, DataType); 5] = [
    ("ts", DataType::Int64),
    ("event", DataType::Utf8),
    ("stream", DataType::Int32),
    ("packet", DataType::Int64),
    ("seq", DataType::Int64),
];

/// Column of the classes that have it.
#[derive(Clone, Debug)]
pub(crate) struct UnionColumn {
    pub(crate) name: String,
    /// Names of the column in the classes. They differ in case only.
    pub(crate) spellings: BTreeSet<String>,
    pub(crate) of: ColumnType,
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

    fn finish(mut self) -> Result<Vec<UnionColumn>, String> {
        if self.columns.len() > MOST_COLUMNS {
            return Err(format!(
                "the selected events have {} columns, and {MOST_COLUMNS} are allowed: select fewer event names \
                 with event := 'NAME'",
                self.columns.len()
            ));
        }
        let place = |name: &str| PROPERTIES.iter().position(|known| *known == name).unwrap_or(usize::MAX);
        self.columns.sort_by_key(|(name, ..)| place(name));
        let column = |(name, spellings, of): (String, _, Option<DataType>)| {
            Some(UnionColumn { name, spellings, of: column_type(&of?)? })
        };
        Ok(self.columns.into_iter().filter_map(column).collect())
    }
}

/// Returns the type of DuckDB for an Arrow type.
pub(crate) fn column_type(of: &DataType) -> Option<ColumnType> {
    Some(match of {
        DataType::Boolean => ColumnType::Boolean,
        DataType::Int8 => ColumnType::Int8,
        DataType::Int16 => ColumnType::Int16,
        DataType::Int32 => ColumnType::Int32,
        DataType::Int64 => ColumnType::Int64,
        DataType::UInt8 => ColumnType::UInt8,
        DataType::UInt16 => ColumnType::UInt16,
        DataType::UInt32 => ColumnType::UInt32,
        DataType::UInt64 => ColumnType::UInt64,
        DataType::Decimal128(digits, _) => ColumnType::Decimal((*digits).max(19)),
        DataType::Float32 => ColumnType::Float32,
        DataType::Float64 => ColumnType::Float64,
        DataType::Utf8 | DataType::Dictionary(..) => ColumnType::Text,
        DataType::Binary | DataType::FixedSizeBinary(_) => ColumnType::Blob,
        DataType::Timestamp(TimeUnit::Microsecond, _) => ColumnType::TimestampTz,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => ColumnType::TimestampNs,
        DataType::List(item) => ColumnType::List(Box::new(item_type(item)?)),
        _ => return None,
    })
}

fn item_type(item: &Field) -> Option<ColumnType> {
    column_type(item.data_type())
}

/// Returns the columns of the classes with selected events.
pub(crate) fn columns(query: &Query, options: &TableOptions) -> Result<Vec<UnionColumn>, String> {
    build(query, options)?.finish()
}

/// Returns the columns that are not fields, also those that no class has.
pub(crate) fn spine(query: &Query, options: &TableOptions) -> Result<Vec<UnionColumn>, String> {
    let options = options.clone().with_columns(Projection::exact(PROPERTIES.into_iter().chain(["time"])));
    let mut builder = build(query, &options)?;
    for name in PROPERTIES {
        if !builder.indexes.contains_key(name) {
            builder.add(name, if name == "operation" { &DataType::Utf8 } else { &DataType::Int64 });
        }
    }
    builder.finish()
}

fn build(query: &Query, options: &TableOptions) -> Result<UnionBuilder, String> {
    let mut builder = UnionBuilder::default();
    COMMON.iter().for_each(|(name, of)| builder.add(name, of));
    let mut known = HashSet::new();
    let mut has_read = false;
    for place in query.streams() {
        let class = (Arc::as_ptr(&place.stream.trace).addr(), place.stream.class_index);
        if place.trace.has_dynamic_classes() || place.trace.has_dynamic_streams() {
            read_classes(query, &place, options, &mut builder);
            has_read = true;
        } else if known.insert(class) {
            declared_classes(query, &place, options, &mut builder);
        }
    }
    if has_read {
        query.review()?;
    }
    Ok(builder)
}

/// Adds the columns of the classes that a trace declares.
fn declared_classes(
    query: &Query,
    place: &StreamPlace<'_>,
    options: &TableOptions,
    builder: &mut UnionBuilder,
) {
    let values = EventValues::default();
    let by_filter = query.selection.excluded_by_filter(&place.stream);
    let is_excluded = |index: usize| {
        let has = |classes: &Arc<ExcludedClasses>| classes.has(index);
        by_filter.as_ref().is_some_and(has)
    };
    for (index, plans) in place.stream.plans().event_records.iter().enumerate() {
        if !is_excluded(index) && query.selection.wants_class(&plans.class) {
            let event = Event::new(&place.stream, plans, None, Scopes::from_values(&values));
            builder.add_plan(&TablePlan::new(&event, options));
        }
    }
}

/// Adds the columns of the classes that are known once a data stream was read.
fn read_classes(query: &Query, place: &StreamPlace<'_>, options: &TableOptions, builder: &mut UnionBuilder) {
    let Some(mut cursor) = query.cursor(place.number, place.index, None) else { return };
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
        if query.selection.wants_class(event.class) {
            builder.add_plan(&TablePlan::new(&event, options));
        }
    }
}
