//! State of data streams and event classes.

use ichnos_model::Event;

use super::cells::{CommonKeys, ScopeCells, find};
use super::context_cells::{CellShape, ContextCells};
use super::options::CsvOptions;
use super::row::ClassCells;
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
        let cells = ClassCells::new(event, &columns, options);
        let mut last = 0;
        let is_in_order = scopes.iter().all(|scope| scope.is_in_order(&mut last));
        if is_in_order {
            for scope in &mut scopes {
                scope.use_order();
                let fields: Vec<_> = scope.fields().collect();
                scope.context = ContextCells::from_cells(scope.scope, &fields, &cells.cells, shapes);
            }
        }
        Self { cells, scopes, is_in_order }
    }
}
