//! Bytes of events at fixed places, which become column values together. A loop over one field of many events takes a
//! fraction of the time.

use ichnos_model::decode::{WordChoice, WordLoads};
use ichnos_model::{Event, Scope};

use crate::cell_type::CellType;
use crate::column_values::ColumnValues;
use crate::field_targets::{FieldColumn, FieldTarget, ScopeTargets};

/// Columns for a tagged value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadTarget {
    pub(crate) value: Option<usize>,
    /// Column for the names of an enumeration.
    label: Option<usize>,
}

/// Loads for the fields of a class that have columns.
#[derive(Debug)]
pub(crate) struct ColumnLoads {
    pub(crate) words: WordLoads,
    /// Columns by tag.
    pub(crate) targets: Vec<LoadTarget>,
    /// Number of bytes in the texts and arrays of each block.
    pub(crate) block_bytes: Vec<usize>,
}

impl ColumnLoads {
    /// Creates the loads. Returns `None` if events of the class can only be visited.
    pub(crate) fn new(event: &Event<'_>, scopes: &[ScopeTargets], columns: &[FieldColumn]) -> Option<Self> {
        if !scopes.iter().any(ScopeTargets::has_loads) {
            return None;
        }
        let mut targets = Vec::new();
        let words = WordLoads::new(event, |scope, node| {
            let Some(target) = target(scopes, scope, node) else { return WordChoice::Skip };
            match (load_target(target, columns), u32::try_from(targets.len())) {
                (Some(found), Ok(tag)) => {
                    targets.push(found);
                    WordChoice::Word(tag)
                }
                _ => WordChoice::Visit,
            }
        })?;
        let blocks = words.blocks().iter().map(|block| {
            let fields = block.fields().iter();
            fields
                .filter(|load| load.is_text() || load.element_size().is_some())
                .map(|load| load.size())
                .sum()
        });
        Some(Self { block_bytes: blocks.collect(), words, targets })
    }

    /// Appends the values in blocks to their columns, and removes the blocks.
    pub(crate) fn load(&self, blocks: &mut [Vec<u8>], columns: &mut [ColumnValues]) {
        for (block, bytes) in self.words.blocks().iter().zip(blocks) {
            let bytes = std::mem::take(bytes);
            for load in block.fields() {
                let Some(target) = self.targets.get(load.tag() as usize) else { continue };
                if let Some(column) = target.value.and_then(|column| columns.get_mut(column)) {
                    column.load(load, &bytes, block.size());
                }
                if let Some(column) = target.label.and_then(|column| columns.get_mut(column)) {
                    column.load_labels(load, &bytes, block.size());
                }
            }
        }
    }
}

/// Returns the target of a field, if it has one.
fn target(scopes: &[ScopeTargets], scope: Scope, node: usize) -> Option<&FieldTarget> {
    let scope = scopes.iter().find(|found| found.scope == scope)?;
    scope.targets.get(node).filter(|target| !matches!(target, FieldTarget::Nothing))
}

/// Returns the columns of a field that can be loaded.
fn load_target(target: &FieldTarget, columns: &[FieldColumn]) -> Option<LoadTarget> {
    let is_value = |column: usize, lists: usize, is_type: &dyn Fn(&CellType) -> bool| {
        columns.get(column).is_some_and(|found| found.lists == lists && is_type(&found.value))
    };
    let is_one = |cell: &CellType| cell.is_word() || matches!(cell, CellType::Text);
    match target {
        FieldTarget::Value(column) if is_value(*column, 0, &is_one) => {
            Some(LoadTarget { value: Some(*column), label: None })
        }
        FieldTarget::Enumeration(value, label)
            if value.is_none_or(|column| is_value(column, 0, &CellType::is_word))
                && label.is_none_or(|column| is_value(column, 0, &|_| true)) =>
        {
            Some(LoadTarget { value: *value, label: *label })
        }
        // The array element has the size of the column's values.
        FieldTarget::List(list, 0, _)
            if list.len() == 1 && is_value(list.start, 1, &CellType::is_integer) =>
        {
            Some(LoadTarget { value: Some(list.start), label: None })
        }
        _ => None,
    }
}
