//! Rows of a table that wait to become a batch.

use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::ArrowError;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{Event, Scope, StackTable};

use crate::cell_type::CellType;
use crate::column_values::{ColumnLosses, ColumnValues};
use crate::field_visitor::FieldVisitor;
use crate::stack_hashes::StackHashes;
use crate::table_plan::{FieldColumn, MeaningSource, TablePlan, loss};

/// Maximum number of rows of a batch.
pub const BATCH_ROWS: usize = 8_192;

/// Approximate maximum size of a batch, in bytes, without the last row.
const BATCH_BYTES: usize = 16 << 20;

/// Place of an event in its data stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowPlace<'p> {
    /// Number of the data stream.
    pub(crate) stream: u32,
    /// Number of the packet.
    pub(crate) packet: Option<u64>,
    /// Index of the event in the packet, or in the data stream if there are no packets.
    pub(crate) sequence: u64,
    /// Integers of the packet context, by index of the node.
    pub(crate) context: &'p [Option<i128>],
}

/// Rows of a table: events of a class that wait to become a batch.
#[derive(Debug)]
pub(crate) struct TableRows {
    plan: Arc<TablePlan>,
    rows: usize,
    /// Approximate size in bytes of the values of variable length.
    bytes: usize,
    times: ColumnValues,
    streams: ColumnValues,
    packets: ColumnValues,
    sequences: ColumnValues,
    /// Columns of meanings whose values are in the packet context, with the index of the node.
    context: Vec<(usize, ColumnValues)>,
    columns: Vec<ColumnValues>,
    order: TimeOrder,
    /// Times that do not fit.
    lost_times: u64,
    /// Numbers of packets, and integers of the packet context, that do not fit.
    lost_packets: u64,
}

/// Order of the times of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOrder {
    /// Least and greatest time in nanoseconds, if any row has one.
    pub range: Option<(i64, i64)>,
    /// `false` if a row has no time, or one before that of an earlier row.
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

/// Rows of a table as a batch.
#[derive(Debug)]
pub struct TableBatch {
    /// Plan of the table.
    pub plan: Arc<TablePlan>,
    /// The rows.
    pub batch: RecordBatch,
    /// Order of their times.
    pub order: TimeOrder,
}

impl TableRows {
    pub(crate) fn new(plan: Arc<TablePlan>) -> Self {
        let values = |column: &FieldColumn| ColumnValues::new(&column.value, column.lists);
        let context = plan.meanings.iter().filter_map(|meaning| match meaning.source {
            MeaningSource::PacketContext(node) => Some((node, ColumnValues::new(&CellType::Int64, 0))),
            MeaningSource::Field(_) => None,
        });
        Self {
            rows: 0,
            bytes: 0,
            times: ColumnValues::new(&CellType::Int64, 0),
            streams: ColumnValues::new(&CellType::Int32, 0),
            packets: ColumnValues::new(&CellType::Int64, 0),
            sequences: ColumnValues::new(&CellType::Int64, 0),
            context: context.collect(),
            columns: plan.columns.iter().map(values).collect(),
            order: TimeOrder::EMPTY,
            lost_times: 0,
            lost_packets: 0,
            plan,
        }
    }

    /// Returns the approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.saturating_add(self.rows * self.plan.row_width())
    }

    /// Returns `true` if the rows are enough for a batch.
    pub(crate) fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.size() >= BATCH_BYTES
    }

    /// Adds an event. Returns `false` if some of its fields cannot be decoded, which is a bug of the reader: they are
    /// missing then.
    pub(crate) fn add(&mut self, event: &Event<'_>, place: RowPlace<'_>) -> bool {
        let plan = Arc::clone(&self.plan);
        let time = event.nanoseconds();
        let fitting = time.and_then(|time| i64::try_from(time).ok());
        self.lost_times += u64::from(time.is_some() && fitting.is_none());
        self.order.add(fitting);
        self.add_place(&plan, fitting, place);
        let (mut is_decoded, mut array_bytes) = (true, 0);
        for scope in &plan.scopes {
            if scope.scope == Scope::Resource && !event.has_resource() {
                let columns = self.columns.get_mut(scope.columns.clone()).into_iter().flatten();
                columns.for_each(|column| column.push_null_at(0));
                continue;
            }
            let targets = &scope.targets;
            let columns = &mut self.columns;
            let mut visitor = FieldVisitor { columns, targets, bytes: 0, array_bytes, given_up: 0..0 };
            let visited = event.visit(scope.scope, &mut visitor);
            array_bytes = visitor.array_bytes;
            self.bytes = self.bytes.saturating_add(visitor.bytes);
            is_decoded &= visited.is_ok();
        }
        for column in &mut self.columns {
            column.end_row(self.rows);
        }
        self.rows += 1;
        is_decoded
    }

    fn add_place(&mut self, plan: &TablePlan, time: Option<i64>, place: RowPlace<'_>) {
        let push = |column: &mut ColumnValues, value: Option<i64>| match value {
            Some(value) => column.push_signed(value),
            None => column.push_null(),
        };
        for name in &plan.properties {
            match *name {
                "ts" => push(&mut self.times, time),
                "stream" => push(&mut self.streams, Some(place.stream.into())),
                "packet" => {
                    let packet = place.packet.and_then(|packet| i64::try_from(packet).ok());
                    self.lost_packets += u64::from(place.packet.is_some() && packet.is_none());
                    push(&mut self.packets, packet);
                }
                "seq" => push(&mut self.sequences, i64::try_from(place.sequence).ok()),
                _ => {}
            }
        }
        for (node, column) in &mut self.context {
            let value = place.context.get(*node).copied().flatten();
            let fitting = value.and_then(|value| i64::try_from(value).ok());
            self.lost_packets += u64::from(value.is_some() && fitting.is_none());
            push(column, fitting);
        }
    }

    /// Returns all rows as a batch, and begins a new one.
    ///
    /// # Errors
    /// If the columns do not form a batch, which would be a bug.
    pub(crate) fn finish(
        &mut self,
        stacks: &StackTable,
        hashes: &mut StackHashes,
    ) -> Result<TableBatch, ArrowError> {
        let fields = self.columns.iter_mut().map(ColumnValues::finish).collect::<Result<Vec<_>, _>>()?;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.plan.schema().fields().len());
        let plan = Arc::clone(&self.plan);
        for name in &plan.properties {
            arrays.push(match *name {
                "ts" => self.times.finish()?,
                "event" => self.names(),
                "stream" => self.streams.finish()?,
                "packet" => self.packets.finish()?,
                "seq" => self.sequences.finish()?,
                _ => stack_column(plan.stack.and_then(|stack| fields.get(stack)), stacks, hashes),
            });
        }
        let mut context = self.context.iter_mut();
        for meaning in &plan.meanings {
            arrays.extend(match meaning.source {
                MeaningSource::Field(column) => fields.get(column).cloned(),
                MeaningSource::PacketContext(_) => {
                    context.next().map(|(_, column)| column.finish()).transpose()?
                }
            });
        }
        let shown = fields.into_iter().zip(&plan.columns).filter(|(_, column)| column.is_shown());
        arrays.extend(shown.map(|(array, _)| array));
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(self.rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(plan.schema()), arrays, &options)?;
        let order = std::mem::replace(&mut self.order, TimeOrder::EMPTY);
        (self.rows, self.bytes) = (0, 0);
        Ok(TableBatch { plan, batch, order })
    }

    /// Returns the name of the class for each row.
    fn names(&self) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(std::iter::repeat_n(self.plan.label(), self.rows)))
    }

    /// Moves the losses of values to a table.
    pub(crate) fn move_losses(&mut self, table: &mut LossTable) {
        let class = self.plan.label();
        for (values, column) in self.columns.iter_mut().zip(&self.plan.columns) {
            let ColumnLosses { invalid_texts, further_labels, wide, long } =
                std::mem::take(&mut values.losses);
            let losses = [
                (LossKind::Rounded, invalid_texts, "invalid text: U+FFFD instead"),
                (LossKind::Dropped, further_labels, "further names of a value"),
                (LossKind::Dropped, wide, "integer of more than 64 bits"),
                (LossKind::Dropped, long, "too many elements or bytes for a column"),
            ];
            for (kind, count, what) in losses.into_iter().filter(|(_, count, _)| *count > 0) {
                table.add(loss(kind, class, &column.name, what), count);
            }
        }
        let lost_times = std::mem::take(&mut self.lost_times);
        if lost_times > 0 {
            let what = "time beyond 64 bits of nanoseconds (the years 1677 to 2262)";
            table.add(loss(LossKind::Dropped, class, "ts", what), lost_times);
        }
        let lost_packets = std::mem::take(&mut self.lost_packets);
        if lost_packets > 0 {
            let what = "integer of the packet beyond 64 bits with a sign";
            table.add(loss(LossKind::Dropped, class, "packet", what), lost_packets);
        }
    }
}

/// Returns the hashes of stacks with these numbers.
fn stack_column(numbers: Option<&ArrayRef>, stacks: &StackTable, hashes: &mut StackHashes) -> ArrayRef {
    let numbers = numbers.and_then(|numbers| numbers.as_any().downcast_ref::<UInt64Array>());
    let Some(numbers) = numbers else { return Arc::new(Int64Array::new_null(0)) };
    let found = hashes.of(stacks, numbers.values());
    let hash = |(row, hash): (usize, Option<i64>)| hash.filter(|_| numbers.is_valid(row));
    Arc::new(found.into_iter().enumerate().map(hash).collect::<Int64Array>())
}
