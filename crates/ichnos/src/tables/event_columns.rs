//! Columns of all selected classes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use ichnos_model::class::EventRecordClass;
use ichnos_model::cursor::{ExcludedClasses, MessageKind};
use ichnos_model::event::{EventValues, Scopes};
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::{Event, Message};
use ichnos_table::arrow_schema::{DataType, Fields};
use ichnos_table::{
    INTEGER_KEY, MOST_COLUMNS, PROPERTIES, Projection, TableOptions, TablePlan, TimestampUnit, common_type,
};

use super::row_source::STEP;
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
    /// Values that the column has. `None` for all values of these names.
    pub shape: Option<ColumnShape>,
    /// Value of [`INTEGER_KEY`] in all classes. `None` if they differ.
    pub integer_kind: Option<String>,
}

impl UnionColumn {
    /// Returns `true` if the column has the values of a column of a class.
    pub(super) fn takes(&self, name: &str, of: &DataType) -> bool {
        self.spellings.contains(name) && self.shape.is_none_or(|shape| shape.takes(of))
    }
}

/// Values of one of several columns for the same name. Some types have no type for the values of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnShape {
    /// Number of lists around the value.
    depth: usize,
    /// `true` for bytes only, `false` for everything else. `None` for both.
    is_bytes: Option<bool>,
}

impl ColumnShape {
    fn takes(self, of: &DataType) -> bool {
        let (depth, item) = item_kind(of);
        self.depth == depth && self.is_bytes.is_none_or(|is_bytes| is_bytes == (item == ItemKind::Bytes))
    }

    /// Returns what a name ends in if a simpler column has the name.
    fn suffix(self) -> String {
        let bytes = if self.is_bytes == Some(true) { ".bytes" } else { "" };
        format!("{}{bytes}", ".list".repeat(self.depth))
    }
}

/// Kind of a value inside of its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ItemKind {
    Number,
    Text,
    Bytes,
}

/// Returns the number of lists around a value, and its kind.
fn item_kind(of: &DataType) -> (usize, ItemKind) {
    let (mut depth, mut item) = (0, of);
    while let DataType::List(field) = item {
        (depth, item) = (depth + 1, field.data_type());
    }
    let kind = match item {
        DataType::Binary | DataType::FixedSizeBinary(_) => ItemKind::Bytes,
        DataType::Utf8 | DataType::Dictionary(..) => ItemKind::Text,
        _ => ItemKind::Number,
    };
    (depth, kind)
}

/// Column of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventColumn {
    /// Field or property.
    Field(UnionColumn),
    /// Name of the class.
    Name,
    /// Path of the trace, with the name of the column.
    Trace(&'static str),
    /// Log level, with the name of the column.
    Level(&'static str),
    /// Log message, with the name of the column.
    Message(&'static str),
}

impl EventColumn {
    /// Log level, log message and path of the trace.
    pub const TEXTS: [Self; 3] = [Self::Level("level"), Self::Message("message"), Self::Trace("trace")];

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Field(column) => &column.name,
            Self::Name => "event",
            Self::Trace(name) | Self::Level(name) | Self::Message(name) => name,
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

    /// Returns the value of [`INTEGER_KEY`] if the bytes in this column are integers of one kind.
    #[must_use]
    pub fn integer_kind(&self) -> Option<&str> {
        match self {
            Self::Field(column) => column.integer_kind.as_deref(),
            _ => None,
        }
    }

    /// Returns `true` for the event's time, without fields of this name.
    pub(super) fn is_time(&self) -> bool {
        matches!(self, Self::Field(column) if column.shape.is_none()
            && column.data_type == DataType::Int64
            && column.spellings.iter().eq(["ts"]))
    }

    pub(super) fn is_of_log(&self) -> bool {
        matches!(self, Self::Level(_) | Self::Message(_))
    }
}

impl From<UnionColumn> for EventColumn {
    fn from(column: UnionColumn) -> Self {
        if column.name == "event" { Self::Name } else { Self::Field(column) }
    }
}

/// Columns of classes with one name.
#[derive(Default)]
struct NamedColumns {
    name: String,
    spellings: BTreeSet<String>,
    /// Type for all values of a kind, by the number of lists around them.
    types: BTreeMap<(usize, ItemKind), DataType>,
    /// Kind of the integers in all bytes, by the number of lists around them. `None` if the kinds differ.
    integer_kinds: BTreeMap<usize, Option<String>>,
}

impl NamedColumns {
    fn add(&mut self, name: &str, of: &DataType, integer_kind: Option<&str>) {
        if !self.spellings.contains(name) {
            self.spellings.insert(name.to_owned());
        }
        let (depth, item) = item_kind(of);
        if item == ItemKind::Bytes {
            let known = self.integer_kinds.entry(depth).or_insert_with(|| integer_kind.map(str::to_owned));
            known.take_if(|known| Some(&**known) != integer_kind);
        }
        match self.types.entry((depth, item)) {
            Entry::Vacant(place) => {
                place.insert(of.clone());
            }
            Entry::Occupied(mut known) if known.get() != of => {
                if let Some(common) = common_type(known.get(), of) {
                    known.insert(common);
                }
            }
            Entry::Occupied(_) => {}
        }
    }

    /// Returns the types of the columns for all values, the simplest first. Bytes can be in the column of texts, but numbers
    /// cannot.
    fn columns(&self) -> Vec<(ColumnShape, DataType, Option<String>)> {
        let depths: BTreeSet<usize> = self.types.keys().map(|(depth, _)| *depth).collect();
        let mut columns = Vec::with_capacity(depths.len());
        for depth in depths {
            let of = |kinds: &[ItemKind]| {
                let types = kinds.iter().filter_map(|kind| self.types.get(&(depth, *kind)).cloned());
                types.reduce(|a, b| common_type(&a, &b).unwrap_or(a))
            };
            let has = |kind: ItemKind| self.types.contains_key(&(depth, kind));
            let groups: &[(Option<bool>, &[ItemKind])] = if has(ItemKind::Number) && has(ItemKind::Bytes) {
                &[(Some(false), &[ItemKind::Number, ItemKind::Text]), (Some(true), &[ItemKind::Bytes])]
            } else {
                &[(None, &[ItemKind::Number, ItemKind::Text, ItemKind::Bytes])]
            };
            for (is_bytes, kinds) in groups {
                let is_integer = kinds.iter().all(|kind| has(*kind) == (*kind == ItemKind::Bytes));
                let known = self.integer_kinds.get(&depth).filter(|_| is_integer);
                let integer_kind = known.cloned().flatten();
                let shape = ColumnShape { depth, is_bytes: *is_bytes };
                columns.extend(of(kinds).map(|of| (shape, of, integer_kind)));
            }
        }
        columns
    }
}

/// Collects the columns of classes.
#[derive(Default)]
struct UnionBuilder {
    columns: Vec<NamedColumns>,
    /// Index of each name in lower case.
    indexes: HashMap<String, usize>,
}

impl UnionBuilder {
    fn add_selected(&mut self, event: &Event<'_>, query: &TraceQuery, options: &TableOptions) {
        if query.selection().wants_class(event.class) {
            self.add_fields(TablePlan::new(event, options).schema().fields());
        }
    }

    fn add_fields(&mut self, fields: &Fields) {
        for field in fields {
            let integer_kind = field.metadata().get(INTEGER_KEY).map(String::as_str);
            self.add_of_kind(field.name(), field.data_type(), integer_kind);
        }
    }

    fn add(&mut self, name: &str, of: &DataType) {
        self.add_of_kind(name, of, None);
    }

    fn add_of_kind(&mut self, name: &str, of: &DataType, integer_kind: Option<&str>) {
        let lower = name.to_lowercase();
        if let Some(known) = self.indexes.get(&lower).and_then(|at| self.columns.get_mut(*at)) {
            known.add(name, of, integer_kind);
            return;
        }
        self.indexes.insert(lower, self.columns.len());
        let mut named = NamedColumns { name: name.to_owned(), ..NamedColumns::default() };
        named.add(name, of, integer_kind);
        self.columns.push(named);
    }

    fn finish(mut self) -> Result<Vec<EventColumn>, QueryError> {
        let place = |name: &str| PROPERTIES.iter().position(|known| *known == name).unwrap_or(usize::MAX);
        self.columns.sort_by_key(|column| place(&column.name));
        let columns = self.named();
        if columns.len() > MOST_COLUMNS {
            return Err(QueryError::new(format!(
                "the selected events have {} columns, and {MOST_COLUMNS} are allowed: select fewer event names \
                 by name",
                columns.len()
            )));
        }
        Ok(columns.into_iter().map(EventColumn::from).collect())
    }

    /// Returns the columns, with several for a name whose values have no type for all of them.
    fn named(self) -> Vec<UnionColumn> {
        let mut found = Vec::with_capacity(self.columns.len());
        let mut split = Vec::new();
        for named in self.columns {
            let columns = named.columns();
            let is_split = columns.len() > 1;
            let NamedColumns { name, spellings, .. } = named;
            for (index, (shape, data_type, integer_kind)) in columns.into_iter().enumerate() {
                if index > 0 {
                    split.push(found.len());
                }
                let (name, spellings) = (name.clone(), spellings.clone());
                let shape = is_split.then_some(shape);
                found.push(UnionColumn { name, spellings, data_type, shape, integer_kind });
            }
        }
        // The names do not depend on the order of the classes.
        split.sort_by_cached_key(|index| found.get(*index).map(|column| column.name.to_lowercase()));
        let mut taken: HashSet<String> = self.indexes.into_keys().collect();
        for index in split {
            let Some(column) = found.get_mut(index) else { continue };
            column.name.push_str(&column.shape.map(ColumnShape::suffix).unwrap_or_default());
            let plain = column.name.len();
            let mut number = 2;
            while !taken.insert(column.name.to_lowercase()) {
                column.name.truncate(plain);
                column.name.push_str(&number.to_string());
                number += 1;
            }
        }
        found
    }
}

/// Returns the columns of the classes with selected events. Traces that declare no classes are read to find them.
///
/// # Errors
/// If there are too many columns, or the filter does not fit the classes.
pub fn all_columns(query: &TraceQuery, options: &TableOptions) -> Result<Vec<EventColumn>, QueryError> {
    build(query, options)?.finish()
}

/// Classes of traces that declare none, found once for several queries.
#[derive(Debug, Default)]
pub struct FoundClasses(Mutex<Vec<FoundWithUnit>>);

/// Tables of all classes, with the unit of their column `time`.
type FoundWithUnit = (Option<TimestampUnit>, Arc<[FoundTable]>);

/// Class with an event, and the columns of its table.
#[derive(Debug)]
struct FoundTable {
    class: EventRecordClass,
    fields: Fields,
}

impl FoundClasses {
    /// Returns the same columns as [`all_columns`], for a part of the events that `whole` selects: all. Reading ends with
    /// an error if `goes_on` returns `false`.
    ///
    /// # Errors
    /// As for [`all_columns`].
    pub fn columns(
        &self,
        whole: &TraceQuery,
        query: &TraceQuery,
        options: &TableOptions,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<EventColumn>, QueryError> {
        // A class can have no event in a part of the time.
        if query.window() != whole.window() {
            let read = &mut |part: &StreamPart<'_>, builder: &mut UnionBuilder| {
                read_classes(query, part, goes_on, &mut |event| builder.add_selected(event, query, options))
            };
            return build_with(query, options, read)?.finish();
        }
        let mut found = None;
        let read = &mut |_: &StreamPart<'_>, builder: &mut UnionBuilder| {
            if found.is_none() {
                let tables = found.insert(self.find(whole, options, goes_on)?);
                let wanted = tables.iter().filter(|table| query.selection().wants_class(&table.class));
                wanted.for_each(|table| builder.add_fields(&table.fields));
            }
            Ok(())
        };
        build_with(query, options, read)?.finish()
    }

    /// Returns the classes of all events, which are read unless they are known.
    fn find(
        &self,
        whole: &TraceQuery,
        options: &TableOptions,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Arc<[FoundTable]>, QueryError> {
        let known = self
            .0
            .lock()
            .ignore_poison()
            .iter()
            .find(|(of, _)| *of == options.timestamps)
            .map(|(_, tables)| Arc::clone(tables));
        if let Some(known) = known {
            return Ok(known);
        }
        let mut known = HashSet::new();
        let mut tables = Vec::new();
        for part in whole.streams().iter().filter(|part| is_dynamic(part)) {
            read_classes(whole, part, goes_on, &mut |event| {
                let fields = TablePlan::new(event, options).schema().fields().clone();
                if known.insert((event.class.name.clone(), fields.clone())) {
                    tables.push(FoundTable { class: event.class.clone(), fields });
                }
            })?;
        }
        let tables: Arc<[FoundTable]> = tables.into();
        // Not locked during reading, which can call a signal handler.
        let mut known = self.0.lock().ignore_poison();
        if known.iter().all(|(of, _)| *of != options.timestamps) {
            known.push((options.timestamps, Arc::clone(&tables)));
        }
        Ok(tables)
    }
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
    columns.extend(EventColumn::TEXTS);
    Ok(columns)
}

fn build(query: &TraceQuery, options: &TableOptions) -> Result<UnionBuilder, QueryError> {
    build_with(query, options, &mut |part, builder| {
        read_classes(query, part, &mut || true, &mut |event| builder.add_selected(event, query, options))
    })
}

/// Collects the columns with a function that adds classes of a data stream whose trace declares none.
fn build_with(
    query: &TraceQuery,
    options: &TableOptions,
    read: &mut dyn FnMut(&StreamPart<'_>, &mut UnionBuilder) -> Result<(), QueryError>,
) -> Result<UnionBuilder, QueryError> {
    let mut builder = UnionBuilder::default();
    COMMON.iter().for_each(|(name, of)| builder.add(name, of));
    let mut known = HashSet::new();
    let mut has_read = false;
    for part in query.streams() {
        let class = (Arc::as_ptr(&part.stream.trace).addr(), part.stream.class_index);
        if is_dynamic(&part) {
            read(&part, &mut builder)?;
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

/// Returns `true` for a data stream that must be read to know its classes.
fn is_dynamic(part: &StreamPart<'_>) -> bool {
    part.trace.has_dynamic_classes() || part.trace.has_dynamic_streams()
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
            builder.add_fields(TablePlan::new(&event, options).schema().fields());
        }
    }
}

/// Passes on an event of each class that is known once a data stream was read.
fn read_classes(
    query: &TraceQuery,
    part: &StreamPart<'_>,
    goes_on: &mut dyn FnMut() -> bool,
    add: &mut dyn FnMut(&Event<'_>),
) -> Result<(), QueryError> {
    let Some(mut cursor) = query.cursor(part.number, part.index, None) else { return Ok(()) };
    let mut known: Vec<bool> = Vec::new();
    let mut last = None;
    let mut left = STEP;
    while let Some(head) = cursor.next_head() {
        left -= 1;
        if left == 0 {
            left = STEP;
            if !goes_on() {
                return Err(QueryError::interrupted());
            }
        }
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
        add(&event);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ichnos_table::arrow_schema::Field;

    use super::*;

    fn list(of: DataType) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(of, true)))
    }

    /// Adds fields in both orders, and returns the columns.
    fn columns(fields: &[(&str, DataType)]) -> Vec<UnionColumn> {
        let union = |fields: &mut dyn Iterator<Item = &(&str, DataType)>| {
            let mut builder = UnionBuilder::default();
            fields.for_each(|(name, of)| builder.add(name, of));
            let mut columns = builder.named();
            columns.sort_by(|a, b| a.name.cmp(&b.name));
            columns
        };
        let found = union(&mut fields.iter());
        assert_eq!(found, union(&mut fields.iter().rev()));
        found
    }

    fn names(columns: &[UnionColumn]) -> Vec<(&str, DataType)> {
        columns.iter().map(|column| (column.name.as_str(), column.data_type.clone())).collect()
    }

    #[test]
    fn values_without_a_common_type_have_columns_of_their_own() {
        use DataType::{Binary, FixedSizeBinary, Int8, Int32, Int64, UInt32, Utf8};
        let found = columns(&[
            ("cmd", Int32),
            ("cmd", list(Int8)),
            ("cmd", FixedSizeBinary(4)),
            ("cmd", Utf8),
            ("cmd", list(UInt32)),
            ("cmd", FixedSizeBinary(8)),
            ("cmd", list(Binary)),
            ("cmd", list(list(Int8))),
        ]);
        let wanted = [
            ("cmd", Utf8),
            ("cmd.bytes", Binary),
            ("cmd.list", list(Int64)),
            ("cmd.list.bytes", list(Binary)),
            ("cmd.list.list", list(list(Int8))),
        ];
        assert_eq!(names(&found), wanted);
        for (of, wanted) in [
            (Int32, "cmd"),
            (Utf8, "cmd"),
            (FixedSizeBinary(8), "cmd.bytes"),
            (list(Int8), "cmd.list"),
            (list(Binary), "cmd.list.bytes"),
            (list(list(Int8)), "cmd.list.list"),
        ] {
            let takes = found.iter().filter(|column| column.takes("cmd", &of)).map(|column| &*column.name);
            assert_eq!(takes.collect::<Vec<_>>(), [wanted], "{of}");
        }
        assert!(!found.iter().any(|column| column.takes("Cmd", &Int32)));
    }

    #[test]
    fn integers_in_bytes_keep_their_kind_if_all_classes_agree() {
        use DataType::{Binary, FixedSizeBinary, Utf8};
        let kind = |fields: &[(DataType, Option<&str>)]| {
            let mut builder = UnionBuilder::default();
            fields.iter().for_each(|(of, kind)| builder.add_of_kind("a", of, *kind));
            let columns = builder.named();
            columns.into_iter().find(|column| column.data_type != DataType::Int8).unwrap().integer_kind
        };
        let (signed, unsigned) = (Some("signed"), Some("unsigned"));
        let short = || (FixedSizeBinary(17), signed);
        for (more, expected) in [
            ((FixedSizeBinary(17), signed), signed),
            ((FixedSizeBinary(30), signed), signed),
            ((DataType::Int8, None), signed),
            ((FixedSizeBinary(17), unsigned), None),
            ((Binary, None), None),
            ((Utf8, None), None),
        ] {
            assert_eq!(kind(&[short(), more.clone(), short()]).as_deref(), expected, "{more:?}");
            assert_eq!(kind(&[more.clone(), short()]).as_deref(), expected, "{more:?}");
        }
    }

    #[test]
    fn texts_and_bytes_share_a_column() {
        let found = columns(&[("a", DataType::Utf8), ("a", DataType::Binary)]);
        assert_eq!(names(&found), [("a", DataType::Binary)]);
        assert!(found.iter().all(|column| column.takes("a", &DataType::Utf8)));
    }

    #[test]
    fn the_simplest_values_keep_the_name_and_names_of_fields_are_taken() {
        use DataType::{Binary, Int8};
        let found = columns(&[("A", list(Int8)), ("A", Binary), ("a.list", Int8), ("a.list", list(Int8))]);
        let wanted = [("A", Binary), ("A.list2", list(Int8)), ("a.list", Int8), ("a.list.list", list(Int8))];
        assert_eq!(names(&found), wanted);
    }
}
