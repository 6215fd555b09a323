//! Cells of contexts that are mostly equal for consecutive events.

use ichnos_model::Scope;

use super::row::ClassCell;

/// Separators and fields of context cells.
pub(super) type CellShape = (Scope, Vec<(usize, usize, bool)>);

/// Maximum number of distinct context shapes. More than one shape is rare: it takes a payload field with the name of
/// a context column.
const MOST_SHAPES: usize = 16;

/// Cells of a context that rarely changes between events.
#[derive(Debug)]
pub(super) struct ContextCells {
    /// Number of the first cell, and number after the last cell.
    pub(super) cells: [usize; 2],
    /// Shape number.
    pub(super) shape: usize,
}

impl ContextCells {
    /// Returns the cells of a scope with these `fields`: cell number, field index, and `true` for names. Returns `None`
    /// for other scopes, and if properties are between the cells.
    pub(super) fn from_cells(
        scope: Scope,
        fields: &[(usize, usize, bool)],
        cells: &[ClassCell],
        shapes: &mut Vec<CellShape>,
    ) -> Option<Self> {
        if !matches!(scope, Scope::PacketContext | Scope::CommonContext) {
            return None;
        }
        let first = fields.first()?.0;
        let end = fields.last()?.0 + 1;
        let within = cells.get(first..end)?;
        if within.iter().any(|cell| cell.property.is_some()) {
            return None;
        }
        let field =
            |(cell, node, names): &(usize, usize, bool)| Some((cells.get(*cell)?.separators, *node, *names));
        let shape = (scope, fields.iter().map(field).collect::<Option<Vec<_>>>()?);
        let known = shapes.iter().position(|known| *known == shape);
        let shape = known.or_else(|| {
            (shapes.len() < MOST_SHAPES).then(|| shapes.push(shape))?;
            Some(shapes.len() - 1)
        });
        Some(Self { cells: [first, end], shape: shape? })
    }
}
