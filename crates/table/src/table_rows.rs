//! Table rows that wait to become a batch.

use std::sync::Arc;

use arrow_array::types::{TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{Array as _, ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::ArrowError;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::stack::StackTable;
use ichnos_model::{Event, Scope};

use crate::column_values::ColumnValues;
use crate::field_targets::{FieldColumn, ScopeTargets};
use crate::field_visitor::FieldVisitor;
use crate::partition::Partition;
use crate::place_columns::{PlaceColumns, RowPlace};
use crate::stack_hashes::StackHashes;
use crate::table_options::TimestampUnit;
use crate::table_plan::{MeaningSource, TIME, TablePlan};

/// Maximum number of rows in a batch.
pub const BATCH_ROWS: usize = 8_192;

/// Approximate maximum size of a batch without its last row, in bytes.
const BATCH_BYTES: usize = 16 << 20;

/// Events of a class that wait to become a batch.
#[derive(Debug)]
pub(crate) struct TableRows {
    plan: Arc<TablePlan>,
    /// Size of a row without variable-length values, in bytes.
    row_width: usize,
    rows: usize,
    /// Number of rows for which space is reserved. `last` is the number of rows in the last batch.
    reserved: usize,
    last_rows: usize,
    /// Approximate size of the variable-length values, in bytes.
    bytes: usize,
    place: PlaceColumns,
    /// Empty until there is a value. Very many classes can have few rows.
    columns: Vec<ColumnValues>,
    /// Bytes at fixed places in the latest events, by block. They are not in the columns yet.
    blocks: Vec<Vec<u8>>,
    /// Indexes of the columns whose number of items can differ from the number of rows after an event.
    checked: Vec<usize>,
    order: TimeOrder,
    /// Number of times that do not fit.
    lost_times: u64,
    /// Number of these rows among all rows that wait, if the order of all events is kept.
    pub(crate) slot: u32,
    /// Partition of the rows, if there are partitions.
    pub(crate) partition: Option<Partition>,
}

/// Result of appending an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddedRow {
    /// `false` if some fields cannot be decoded, which is a bug in the reader. These fields are missing.
    pub(crate) is_decoded: bool,
    /// Approximate number of bytes by which the rows have grown.
    pub(crate) bytes: usize,
}

/// Time range of some rows, and their sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOrder {
    /// Earliest and latest time in nanoseconds, if any row has a time.
    pub range: Option<(i64, i64)>,
    /// `false` if a row lacks a time, or has an earlier time than a previous row.
    pub is_sorted: bool,
}

impl TimeOrder {
    const EMPTY: Self = Self { range: None, is_sorted: true };

    #[inline]
    fn add(&mut self, time: Option<i64>) {
        let Some(time) = time else {
            self.is_sorted = false;
            return;
        };
        let (first, last) = self.range.unwrap_or((time, time));
        self.is_sorted &= time >= last;
        self.range = Some((first.min(time), last.max(time)));
    }
}

/// Batch with rows of one table.
#[derive(Debug)]
pub struct TableBatch {
    /// Plan of the table.
    pub plan: Arc<TablePlan>,
    /// The rows.
    pub batch: RecordBatch,
    /// Time range and sort order.
    pub order: TimeOrder,
    /// Partition of all rows, if there are partitions.
    pub partition: Option<Partition>,
}

impl TableRows {
    pub(crate) fn new(plan: Arc<TablePlan>) -> Self {
        let checked = (0..plan.columns.len()).filter(|at| plan.columns.get(*at).is_some_and(|c| !c.is_fixed));
        Self {
            row_width: plan.row_width(),
            rows: 0,
            reserved: 0,
            last_rows: 0,
            bytes: 0,
            place: PlaceColumns::new(&plan),
            columns: Vec::new(),
            blocks: vec![Vec::new(); plan.loads.as_ref().map_or(0, |loads| loads.words.blocks().len())],
            checked: checked.collect(),
            order: TimeOrder::EMPTY,
            lost_times: 0,
            slot: 0,
            partition: None,
            plan,
        }
    }

    /// Returns `true` if no row waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the approximate size in bytes, including the space reserved for more rows.
    pub(crate) fn size(&self) -> usize {
        self.bytes.saturating_add(self.rows.max(self.reserved) * self.row_width)
    }

    /// Returns `true` if there are enough rows for a batch.
    pub(crate) fn is_full(&self) -> bool {
        let size = || self.bytes.saturating_add(self.rows * self.row_width);
        self.rows >= BATCH_ROWS || size() >= BATCH_BYTES
    }

    /// Appends an event.
    pub(crate) fn add(&mut self, event: &Event<'_>, place: RowPlace<'_>) -> AddedRow {
        let room = self.rows.max(self.reserved);
        if self.rows == 0 {
            self.reserve();
        }
        let time = event.nanoseconds();
        let fitting = time.and_then(|time| i64::try_from(time).ok());
        self.lost_times += u64::from(time.is_some() && fitting.is_none());
        self.order.add(fitting);
        self.place.add(fitting, place);
        let (is_decoded, bytes) =
            if self.plan.columns.is_empty() { (true, 0) } else { self.add_fields(event) };
        self.bytes = self.bytes.saturating_add(bytes);
        self.rows += 1;
        let added = self.rows.max(self.reserved) - room;
        AddedRow { is_decoded, bytes: bytes.saturating_add(added * self.row_width) }
    }

    /// Appends an event's fields. Returns `false` if some of them cannot be decoded, and the approximate size of
    /// variable-length values in bytes.
    fn add_fields(&mut self, event: &Event<'_>) -> (bool, usize) {
        let plan = &*self.plan;
        let mut visitor = FieldVisitor::new(&mut self.columns, plan, &mut self.blocks);
        let read = plan.loads.as_ref().and_then(|loads| event.read_words(&loads.words, &mut visitor));
        let mut is_decoded = read.unwrap_or(true);
        if let (Some(loads), None) = (&plan.loads, read) {
            make_columns(&mut self.columns, plan);
            loads.load(&mut self.blocks, &mut self.columns);
            visitor = FieldVisitor::new(&mut self.columns, plan, &mut self.blocks);
        }
        for scope in plan.scopes.iter().filter(|scope| read.is_none() || !scope.has_loads()) {
            if scope.scope == Scope::Resource && !event.has_resource() {
                let columns = visitor.columns.get_mut(scope.columns.clone()).into_iter().flatten();
                columns.for_each(|column| column.push_null_at(0));
                continue;
            }
            visitor.targets = &scope.targets;
            is_decoded &= event.visit(scope.scope, &mut visitor).is_ok();
        }
        let bytes = visitor.bytes;
        let is_long = visitor.has_long_values();
        if is_long || !is_decoded {
            self.end_row(is_decoded);
        }
        debug_assert!(self.columns.iter().all(|column| column.len() <= self.rows + 1));
        (is_decoded, bytes)
    }

    /// Completes a row with very long values, or with fields that could not be decoded.
    #[cold]
    fn end_row(&mut self, is_decoded: bool) {
        make_columns(&mut self.columns, &self.plan);
        if let Some(loads) = &self.plan.loads {
            loads.load(&mut self.blocks, &mut self.columns);
        }
        if !is_decoded {
            self.columns.iter_mut().for_each(|column| column.end_row(self.rows));
        }
        for at in &self.checked {
            if let Some(column) = self.columns.get_mut(*at) {
                column.end_row(self.rows);
            }
        }
    }

    /// Reserves space for as many rows as the last batch has.
    #[cold]
    fn reserve(&mut self) {
        self.reserved = self.last_rows;
        self.place.reserve(self.reserved);
        match &self.plan.loads {
            None => {
                make_columns(&mut self.columns, &self.plan);
                self.columns.iter_mut().for_each(|column| column.reserve(self.reserved));
            }
            Some(loads)
                if loads.words.has_only_blocks() && self.plan.scopes.iter().all(ScopeTargets::has_loads) => {}
            Some(_) => make_columns(&mut self.columns, &self.plan),
        }
        let loads = self.plan.loads.iter().flat_map(|loads| loads.words.blocks());
        self.blocks
            .iter_mut()
            .zip(loads)
            .for_each(|(bytes, block)| bytes.reserve(self.reserved * block.size()));
    }

    /// Returns all rows as a batch, and starts a new batch.
    ///
    /// # Errors
    /// If the columns do not form a batch, which would be a bug.
    pub(crate) fn finish(
        &mut self,
        stacks: &StackTable,
        hashes: &mut StackHashes,
    ) -> Result<TableBatch, ArrowError> {
        make_columns(&mut self.columns, &self.plan);
        if let Some(loads) = &self.plan.loads {
            loads.load(&mut self.blocks, &mut self.columns);
        }
        let fields = self.columns.iter_mut().map(ColumnValues::finish).collect::<Result<Vec<_>, _>>()?;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.plan.schema().fields().len());
        let plan = Arc::clone(&self.plan);
        let times = self.place.finish("ts")?;
        for name in &plan.properties {
            arrays.extend(match *name {
                "ts" => times.clone(),
                TIME => times.as_ref().map(|times| timestamps(times, plan.timestamps)),
                "event" => Some(self.names()?),
                "stack" => Some(stack_column(plan.stack.and_then(|stack| fields.get(stack)), stacks, hashes)),
                name => self.place.finish(name)?,
            });
        }
        let rows = self.rows;
        let mut context = self.place.finish_context();
        for meaning in &plan.meanings {
            arrays.extend(match meaning.source {
                MeaningSource::Field(column) => fields.get(column).cloned(),
                MeaningSource::Constant(number) => {
                    Some(Arc::new(Int64Array::from_value(number, rows)) as ArrayRef)
                }
                MeaningSource::PacketContext(_) => context.next().transpose()?,
            });
        }
        drop(context);
        let shown = fields.into_iter().zip(&plan.columns).filter(|(_, column)| column.is_shown());
        arrays.extend(shown.map(|(array, _)| array));
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(self.rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(plan.schema()), arrays, &options)?;
        let order = std::mem::replace(&mut self.order, TimeOrder::EMPTY);
        self.last_rows = self.rows;
        (self.rows, self.reserved, self.bytes) = (0, 0, 0);
        Ok(TableBatch { plan, batch, order, partition: self.partition })
    }

    /// Returns the class name for each row.
    fn names(&self) -> Result<ArrayRef, ArrowError> {
        let name = self.plan.label();
        let offsets = OffsetBuffer::from_repeated_length(name.len(), self.rows);
        let names = Buffer::from_vec(name.repeat(self.rows).into_bytes());
        Ok(Arc::new(StringArray::try_new(offsets, names, None)?))
    }

    /// Moves value losses to a loss table, after [`finish`](Self::finish).
    pub(crate) fn move_losses(&mut self, table: &mut LossTable) {
        let class = self.plan.label();
        for (values, column) in self.columns.iter_mut().zip(&self.plan.columns) {
            values.losses.move_with_fields(class, table, |_| &*column.name);
        }
        self.columns = Vec::new();
        let lost_times = std::mem::take(&mut self.lost_times);
        if lost_times > 0 {
            let what = "time beyond 64 bits of nanoseconds (the years 1677 to 2262)";
            table.note_times(LossKind::Dropped, class, "ts", what, lost_times);
        }
        let lost_packets = std::mem::take(&mut self.place.lost_packets);
        if lost_packets > 0 {
            let what = "packet integer beyond 64 bits with a sign";
            table.note_times(LossKind::Dropped, class, "packet", what, lost_packets);
        }
    }
}

/// Creates the columns, if there are none.
fn make_columns(columns: &mut Vec<ColumnValues>, plan: &TablePlan) {
    if columns.is_empty() {
        let values = |column: &FieldColumn| ColumnValues::new(&column.value, column.lists);
        *columns = plan.columns.iter().map(values).collect();
    }
}

/// Converts times in nanoseconds to timestamps.
fn timestamps(times: &ArrayRef, unit: Option<TimestampUnit>) -> ArrayRef {
    let Some(times) = times.as_any().downcast_ref::<Int64Array>() else { return Arc::clone(times) };
    match unit {
        Some(TimestampUnit::Micros) => {
            let times = times.unary::<_, TimestampMicrosecondType>(|time| time.div_euclid(1_000));
            Arc::new(times.with_timezone("UTC"))
        }
        _ => Arc::new(times.reinterpret_cast::<TimestampNanosecondType>().with_timezone("UTC")),
    }
}

/// Returns the stack hashes for stack numbers.
fn stack_column(numbers: Option<&ArrayRef>, stacks: &StackTable, hashes: &mut StackHashes) -> ArrayRef {
    let numbers = numbers.and_then(|numbers| numbers.as_any().downcast_ref::<UInt64Array>());
    let Some(numbers) = numbers else { return Arc::new(Int64Array::new_null(0)) };
    let found = hashes.hash_stacks(stacks, numbers.values());
    let hash = |(row, hash): (usize, Option<i64>)| hash.filter(|_| numbers.is_valid(row));
    Arc::new(found.into_iter().enumerate().map(hash).collect::<Int64Array>())
}

#[cfg(test)]
mod tests;
