//! Visitor that appends event fields to columns.

use std::iter;
use std::ops::Range;

use ichnos_model::class::Uuid;
use ichnos_model::decode::WordVisitor;
use ichnos_model::field::{Field, FieldValue, Real, Text, Wide};
use ichnos_model::{Scope, Visitor};

use crate::block_rows::ColumnLoads;
use crate::column_values::ColumnValues;
use crate::field_targets::{FieldTarget, ScopeTargets};
use crate::table_plan::TablePlan;

/// Maximum size of a row's array items, without texts and BLOBs, in bytes. An item can have very many columns and take
/// no space in the trace.
const MOST_ARRAY_BYTES: usize = 256 << 20;

/// Maximum size of a row that needs no check for long columns, in bytes. The earlier rows in a batch take less than 16
/// MiB.
const MOST_UNCHECKED_BYTES: usize = 32 << 20;

/// Appends event fields to columns.
#[derive(Debug)]
pub(crate) struct FieldVisitor<'a> {
    pub(crate) columns: &'a mut [ColumnValues],
    pub(crate) scopes: &'a [ScopeTargets],
    pub(crate) loads: Option<&'a ColumnLoads>,
    /// Bytes of earlier events, by block.
    pub(crate) blocks: &'a mut [Vec<u8>],
    /// Targets in the current scope, by node index.
    pub(crate) targets: &'a [FieldTarget],
    /// Approximate size of the row's variable-length values so far, in bytes.
    pub(crate) bytes: usize,
    /// Approximate size of the row's array items so far, in bytes.
    pub(crate) array_bytes: usize,
    /// Columns that drop the row, because its arrays are too large.
    pub(crate) given_up: Range<usize>,
}

impl<'a> FieldVisitor<'a> {
    /// Starts a row of a table. Bytes of its fields are appended to `blocks`.
    pub(crate) fn new(
        columns: &'a mut [ColumnValues],
        plan: &'a TablePlan,
        blocks: &'a mut [Vec<u8>],
    ) -> Self {
        let (scopes, loads, targets) = (&*plan.scopes, plan.loads.as_ref(), &[][..]);
        Self { columns, scopes, loads, blocks, targets, bytes: 0, array_bytes: 0, given_up: 0..0 }
    }

    /// Returns `true` if any column has so many values that the row may be dropped.
    pub(crate) fn has_long_values(&self) -> bool {
        self.bytes > MOST_UNCHECKED_BYTES || !self.given_up.is_empty()
    }

    #[inline(always)]
    fn target(&self, field: Field<'_>) -> &'a FieldTarget {
        self.targets.get(field.index()).unwrap_or(&FieldTarget::Nothing)
    }

    #[inline(always)]
    fn with(&mut self, column: usize, push: impl FnOnce(&mut ColumnValues)) {
        if let Some(column) = self.columns.get_mut(column) {
            push(column);
        }
    }

    /// Returns `true` if these columns need no more items in this row.
    fn is_given_up(&self, columns: &Range<usize>) -> bool {
        self.given_up.start <= columns.start && columns.end <= self.given_up.end
    }

    /// Returns the column for a tagged value.
    #[inline(always)]
    fn tagged(&self, tag: u32) -> Option<usize> {
        self.loads?.targets.get(tag as usize)?.value
    }

    /// Counts array items with this size in bytes. Gives up the columns if the row becomes too large.
    #[inline]
    fn begin_items(&mut self, columns: &Range<usize>, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes.min(MOST_ARRAY_BYTES));
        self.array_bytes = self.array_bytes.saturating_add(bytes);
        if self.array_bytes > MOST_ARRAY_BYTES && !self.is_given_up(columns) {
            self.given_up = columns.clone();
            self.columns.get_mut(columns.clone()).into_iter().flatten().for_each(ColumnValues::give_up_row);
        }
    }

    /// Appends an integer and its label. `push` appends the integer to a column.
    #[inline(always)]
    fn integer(&mut self, field: Field<'_>, value: i128, push: impl FnOnce(&mut ColumnValues)) {
        match *self.target(field) {
            FieldTarget::Value(column) => self.with(column, push),
            FieldTarget::Enumeration(number, label) => {
                if let Some(number) = number {
                    self.with(number, push);
                }
                self.label(label, field, value);
            }
            _ => {}
        }
    }

    fn label(&mut self, column: Option<usize>, field: Field<'_>, value: i128) {
        let Some(column) = column else { return };
        let names = || field.class().labels(FieldValue::Integer(value));
        self.with(column, |column| column.push_label(Some(value), names));
    }

    fn flags<'n>(&mut self, column: Option<usize>, lists: usize, names: impl Iterator<Item = &'n str>) {
        let Some(at) = column else { return };
        let mut bytes = 4;
        self.with(at, |column| {
            for name in names {
                bytes += name.len() + 4;
                column.push_bytes(name.as_bytes());
            }
            column.end_list(lists);
        });
        self.bytes += bytes;
    }
}

impl WordVisitor for FieldVisitor<'_> {
    #[inline]
    fn begin_scope(&mut self, scope: Scope) {
        let found = self.scopes.iter().find(|found| found.scope == scope);
        self.targets = found.map_or(&[], |found| &found.targets);
    }

    #[inline]
    fn block(&mut self, block: usize, bytes: &[u8]) {
        if let Some(rows) = self.blocks.get_mut(block) {
            rows.extend_from_slice(bytes);
        }
        self.bytes += self.loads.and_then(|loads| loads.block_bytes.get(block)).copied().unwrap_or(0);
    }

    #[inline]
    fn tagged_text(&mut self, tag: u32, value: Text<'_>) {
        if let Some(column) = self.tagged(tag) {
            self.with(column, |column| column.push_text(value));
        }
        self.bytes += value.bytes.len();
    }

    #[inline]
    fn tagged_integers(&mut self, tag: u32, size: usize, bytes: &[u8]) {
        let Some(at) = self.tagged(tag) else { return };
        self.begin_items(&(at..at + 1), bytes.len());
        self.with(at, |column| {
            column.push_integers(size, bytes);
            column.end_list(0);
        });
    }
}

impl Visitor for FieldVisitor<'_> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.integer(field, value.into(), |column| column.push_unsigned(value));
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.integer(field, value.into(), |column| column.push_signed(value));
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        match *self.target(field) {
            FieldTarget::Value(column) => self.with(column, |column| column.push_wide(value)),
            FieldTarget::Enumeration(number, label) => {
                if let Some(number) = number {
                    self.with(number, |column| column.push_wide(value));
                }
                if let Some(label) = label {
                    let names = || field.class().labels(FieldValue::Wide(value));
                    self.with(label, |column| column.push_label(None, names));
                }
            }
            FieldTarget::Flags(bits, names, lists) => {
                if let Some(bits) = bits {
                    self.with(bits, |column| column.push_wide(value));
                }
                self.flags(names, lists, field.class().labels(FieldValue::Wide(value)));
            }
            _ => {}
        }
        self.bytes += value.words.len() * 8;
    }

    #[inline]
    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        if let FieldTarget::Value(column) = *self.target(field) {
            self.with(column, |column| column.push_boolean(value));
        }
    }

    #[inline]
    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        if let FieldTarget::Value(column) = *self.target(field) {
            self.with(column, |column| column.push_unsigned(bits));
        }
    }

    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        if let FieldTarget::Flags(column, names, lists) = *self.target(field) {
            if let Some(column) = column {
                self.with(column, |column| column.push_unsigned(bits));
            }
            self.flags(names, lists, field.class().labels(FieldValue::Bits(bits)));
        }
    }

    #[inline]
    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        if let FieldTarget::Value(column) = *self.target(field) {
            self.with(column, |column| match value {
                Real::Single(value) => column.push_single(value),
                Real::Wide(value) => column.push_wide(value),
                value => column.push_real(value.to_f64()),
            });
        }
    }

    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        if let FieldTarget::Value(column) = *self.target(field) {
            self.with(column, |column| column.push_text(value));
            self.bytes += value.bytes.len();
        }
    }

    #[inline]
    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        if let FieldTarget::Value(column) = *self.target(field) {
            self.with(column, |column| column.push_bytes(bytes));
            self.bytes += bytes.len();
        }
    }

    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        if let FieldTarget::Value(column) = *self.target(field) {
            let mut buffer = Uuid::encode_buffer();
            let text = value.hyphenated().encode_lower(&mut buffer);
            self.with(column, |column| column.push_bytes(text.as_bytes()));
            self.bytes += text.len();
        }
    }

    #[inline]
    fn integers(&mut self, field: Field<'_>, size: usize, bytes: &[u8]) -> bool {
        let FieldTarget::Value(column) = *self.target(field) else { return false };
        self.columns.get_mut(column).is_some_and(|column| column.push_integers(size, bytes))
    }

    #[inline]
    fn end_array(&mut self, field: Field<'_>) {
        if let FieldTarget::List(columns, lists, _) = self.target(field) {
            self.columns
                .get_mut(columns.clone())
                .into_iter()
                .flatten()
                .for_each(|column| column.end_list(*lists));
        }
    }

    #[inline]
    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        let FieldTarget::List(columns, _, width) = self.target(field) else { return };
        self.begin_items(columns, usize::try_from(length).unwrap_or(usize::MAX).saturating_mul(*width));
    }

    #[inline]
    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        if let (FieldTarget::Optional(columns, lists), false) = (self.target(field), present)
            && !self.is_given_up(columns)
        {
            let columns = self.columns.get_mut(columns.clone()).into_iter().flatten();
            columns.for_each(|column| column.push_null_at(*lists));
        }
    }

    #[inline]
    fn begin_variant(&mut self, field: Field<'_>, option: usize, _: i128) {
        if let FieldTarget::Variant(columns, options, lists) = self.target(field)
            && !self.is_given_up(columns)
        {
            let selected = options.get(option).cloned().unwrap_or(columns.end..columns.end);
            let others = [columns.start..selected.start, selected.end..columns.end];
            for column in others.into_iter().flat_map(|others| others.into_iter()) {
                self.with(column, |column| column.push_null_at(*lists));
            }
        }
    }
}

/// Visitor that stores the integers in a scope by node index.
#[derive(Debug, Default)]
pub(crate) struct IntegerVisitor {
    pub(crate) values: Vec<Option<i128>>,
}

impl IntegerVisitor {
    fn put(&mut self, field: Field<'_>, value: i128) {
        let missing = (field.index() + 1).saturating_sub(self.values.len());
        self.values.extend(iter::repeat_n(None, missing));
        if let Some(place) = self.values.get_mut(field.index()) {
            *place = Some(value);
        }
    }
}

impl Visitor for IntegerVisitor {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.put(field, value.into());
    }

    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.put(field, value.into());
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        // Columns have 64 bits, so a wider number never fits and is counted as a loss.
        self.put(field, value.as_i128().unwrap_or(i128::MAX));
    }
}
