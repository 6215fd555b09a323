//! State of data streams and of classes of events.

use ichnos_model::Event;

use super::cells::{CommonKeys, ContextCells, ContextShape, ScopeCells, find};
use super::options::CsvOptions;
use super::row::{ClassCell, ClassCells, property_cell};
use crate::repeated::Repeated;
use crate::time::TimeWriter;

/// State of a data stream: they can be very many.
#[derive(Debug)]
pub(super) struct CsvStreamState {
    /// Cells that are the same for all of its events.
    pub(super) stream: Box<[u8]>,
    pub(super) trace: Box<[u8]>,
    /// The cells of contexts as they were for the event before, each with the number of the shape that they had.
    pub(super) contexts: Vec<(usize, Repeated)>,
}

/// State of a data stream class.
#[derive(Debug)]
pub(super) struct CsvStreamClassState {
    pub(super) time: TimeWriter,
    pub(super) host: Box<[u8]>,
    pub(super) keys: CommonKeys,
    pub(super) shapes: Vec<ContextShape>,
}

/// State of a class of events.
#[derive(Debug)]
pub(super) struct CsvClassState {
    pub(super) cells: ClassCells,
    pub(super) scopes: Vec<ScopeCells>,
    /// `true` if fields come in the order of their columns, so that they are written directly into the line.
    pub(super) is_in_order: bool,
}

impl CsvClassState {
    pub(super) fn new(
        event: &Event<'_>,
        options: &CsvOptions,
        keys: &mut CommonKeys,
        shapes: &mut Vec<ContextShape>,
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
                scope.context = ContextCells::of(scope, &cells, shapes);
            }
        }
        Self { cells: ClassCells { name, cells, trailing }, scopes, is_in_order }
    }
}
