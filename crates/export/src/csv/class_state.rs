//! State of data streams and event classes.

use ichnos_model::Event;

use super::cells::{CellShape, CommonKeys, ContextCells, ScopeCells, find};
use super::options::CsvOptions;
use super::row::{ClassCell, ClassCells, property_cell};
use crate::repeated::Repeated;
use crate::time::TimeWriter;

/// State of a data stream. There can be very many.
#[derive(Debug)]
pub(super) struct CsvStreamState {
    /// Constant cells of the data stream.
    pub(super) stream: Box<[u8]>,
    pub(super) trace: Box<[u8]>,
    /// Context cells of the previous event, with their shape number.
    pub(super) contexts: Vec<(usize, Repeated)>,
}

/// State of a data stream class.
#[derive(Debug)]
pub(super) struct CsvStreamClassState {
    pub(super) time: TimeWriter,
    pub(super) host: Box<[u8]>,
    pub(super) keys: CommonKeys,
    pub(super) shapes: Vec<CellShape>,
}

/// State of an event class.
#[derive(Debug)]
pub(super) struct CsvClassState {
    pub(super) cells: ClassCells,
    pub(super) scopes: Vec<ScopeCells>,
    /// `true` if fields are in column order, so that they are written directly into the line.
    pub(super) is_in_order: bool,
}

impl CsvClassState {
    pub(super) fn new(
        event: &Event<'_>,
        options: &CsvOptions,
        keys: &mut CommonKeys,
        shapes: &mut Vec<CellShape>,
    ) -> Self {
        let (mut scopes, columns) = find(event, &options.columns, keys);
        let mut before = 0;
        let cell = |(column, property)| {
            let separators = column - before;
            before = column;
            ClassCell { separators, property }
        };
        let cells: Vec<ClassCell> = columns.into_iter().map(cell).collect();
        let trailing = options.columns.len().saturating_sub(1) - before;
        let name = property_cell(event.name(), options);
        let mut last = 0;
        let is_in_order = scopes.iter().all(|scope| scope.is_in_order(&mut last));
        if is_in_order {
            for scope in &mut scopes {
                scope.use_order();
                scope.context = ContextCells::from_cells(scope, &cells, shapes);
            }
        }
        Self { cells: ClassCells { name, cells, trailing }, scopes, is_in_order }
    }
}
