//! Columns that receive the fields of an event record class.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField};
use ichnos_model::Scope;

use crate::cell_type::{CellType, INTEGER_KEY};

/// Column of a field.
#[derive(Debug)]
pub(crate) struct FieldColumn {
    pub(crate) name: String,
    pub(crate) value: CellType,
    /// Number of arrays around the field.
    pub(crate) lists: usize,
    /// `false` if the values are only in a meaning column.
    pub(crate) is_shown: bool,
    /// Each event has exactly one fixed-size value.
    pub(crate) is_fixed: bool,
}

impl FieldColumn {
    /// Returns the item size in bytes, in this number of arrays.
    pub(crate) fn width_at(&self, lists: usize) -> usize {
        if self.lists > lists { 4 } else { self.value.width() }
    }

    /// Returns the column's Arrow type.
    pub(crate) fn data_type(&self) -> DataType {
        (0..self.lists).fold(self.value.data_type(), |item, _| {
            DataType::List(Arc::new(ArrowField::new_list_field(item, true)))
        })
    }

    /// Returns the column in a schema.
    pub(crate) fn field(&self, name: &str) -> ArrowField {
        let field = ArrowField::new(name, self.data_type(), true);
        match self.value.integer_kind() {
            Some(kind) => field.with_metadata([(INTEGER_KEY.to_owned(), kind.to_owned())].into()),
            None => field,
        }
    }

    /// Returns `false` if the values are only in a meaning column.
    pub(crate) fn is_shown(&self) -> bool {
        self.is_shown
    }
}

/// Destination for the values in a decode plan node.
#[derive(Clone, Debug)]
pub(crate) enum FieldTarget {
    /// No column.
    Nothing,
    /// Column of the value.
    Value(usize),
    /// Columns for the number and for its name. Each can be unwanted.
    Enumeration(Option<usize>, Option<usize>),
    /// Columns for the bits and for their names. The names are lists in this number of arrays.
    Flags(Option<usize>, Option<usize>, usize),
    /// Columns whose items form a list in this number of arrays. The last number is the item size in bytes.
    List(Range<usize>, usize, usize),
    /// Columns without an item if the field is absent. The number counts the arrays around the field.
    Optional(Range<usize>, usize),
    /// All columns, and the columns for each option. Only the selected option has an item. The number counts the arrays
    /// around it.
    Variant(Range<usize>, Vec<Range<usize>>, usize),
}

/// Columns for the fields in a scope.
#[derive(Debug)]
pub(crate) struct ScopeTargets {
    pub(crate) scope: Scope,
    pub(crate) columns: Range<usize>,
    /// Targets by decode plan node.
    pub(crate) targets: Vec<FieldTarget>,
}

impl ScopeTargets {
    /// Returns `true` for scopes that [`WordLoads`](ichnos_model::decode::WordLoads) read.
    pub(crate) fn has_loads(&self) -> bool {
        matches!(self.scope, Scope::CommonContext | Scope::SpecificContext | Scope::Payload)
    }
}
