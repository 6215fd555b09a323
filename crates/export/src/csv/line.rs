//! Lines: cells with separators between them.

use ichnos_json::write::ValueWriter;
use ichnos_model::decode::DecodeError;
use ichnos_model::{Event, Scope};

use super::cells::{Cells, CommonKeys, ScopeCells, find};
use super::columns::EventProperty;
use super::{CsvForm, CsvOptions};
use crate::number;
use crate::printable::{Escaping, escape_from};
use crate::property;
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

/// Separators and fields of the cells of a context.
pub(super) type ContextShape = (Scope, Vec<(usize, usize, bool)>);

/// Shapes of contexts that are told apart at most: more than one is rare, as it takes a payload with a field of the name
/// of a column that is in a context elsewhere.
const MOST_SHAPES: usize = 16;

/// State of a data stream class.
#[derive(Debug)]
pub(super) struct CsvStreamClassState {
    pub(super) time: TimeWriter,
    pub(super) host: Box<[u8]>,
    pub(super) keys: CommonKeys,
    pub(super) shapes: Vec<ContextShape>,
}

/// Cells of events of a class. Other columns of a wide table take only their separators.
#[derive(Debug)]
pub(super) struct CsvClassState {
    name: Box<[u8]>,
    /// Cells in the order of their columns.
    cells: Vec<ClassCell>,
    /// Number of separators after the last cell.
    trailing: usize,
    pub(super) scopes: Vec<ScopeCells>,
    /// `true` if fields come in the order of their columns, so that they are written directly into the line.
    pub(super) is_in_order: bool,
}

/// A cell of events of a class.
#[derive(Debug)]
struct ClassCell {
    /// Number of separators between the previous cell and this one.
    separators: usize,
    /// `None` for a field.
    property: Option<EventProperty>,
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
        Self { name, cells, trailing, scopes, is_in_order }
    }
}

/// The cells of a context that mostly are as they were for the event before.
#[derive(Debug)]
pub(super) struct ContextCells {
    /// Numbers of the first cell and of the one behind the last one.
    cells: [usize; 2],
    /// Number of the shape.
    shape: usize,
}

impl ContextCells {
    /// `None` for other scopes, and where properties are between the cells.
    fn of(scope: &ScopeCells, cells: &[ClassCell], shapes: &mut Vec<ContextShape>) -> Option<Self> {
        if !matches!(scope.scope, Scope::PacketContext | Scope::CommonContext) {
            return None;
        }
        let mut fields = scope.fields();
        let first = fields.next()?.0;
        let end = fields.last().map_or(first, |(cell, ..)| cell) + 1;
        let within = cells.get(first..end)?;
        if within.iter().any(|cell| cell.property.is_some()) {
            return None;
        }
        let field =
            |(cell, node, names): (usize, usize, bool)| Some((cells.get(cell)?.separators, node, names));
        let shape = (scope.scope, scope.fields().map(field).collect::<Option<Vec<_>>>()?);
        let known = shapes.iter().position(|known| *known == shape);
        let shape = known.or_else(|| {
            (shapes.len() < MOST_SHAPES).then(|| shapes.push(shape))?;
            Some(shapes.len() - 1)
        });
        Some(Self { cells: [first, end], shape: shape? })
    }
}

/// The line of an event, from left to right.
pub(super) struct CsvRow<'a> {
    event: &'a Event<'a>,
    /// The cells of the data stream and of the trace.
    sources: [&'a [u8]; 2],
    time: &'a mut TimeWriter,
    host: &'a [u8],
    class: &'a CsvClassState,
    options: &'a CsvOptions,
    /// Number of the next cell.
    next: usize,
}

impl<'a> CsvRow<'a> {
    pub(super) fn new(
        event: &'a Event<'a>,
        sources: [&'a [u8]; 2],
        time: &'a mut TimeWriter,
        host: &'a [u8],
        class: &'a CsvClassState,
        options: &'a CsvOptions,
    ) -> Self {
        Self { event, sources, time, host, class, options, next: 0 }
    }

    /// Appends everything before the cell with this number. Returns `false` if the cell was already written.
    #[inline]
    pub(super) fn begin_cell(&mut self, out: &mut Vec<u8>, number: usize) -> bool {
        if number < self.next {
            return false;
        }
        self.push_before(out, number);
        if let Some(cell) = self.class.cells.get(number) {
            push_separators(out, cell.separators, self.options);
            self.next = number + 1;
        }
        true
    }

    /// Appends all cells before the one with this number that are not there yet.
    #[inline]
    fn push_before(&mut self, out: &mut Vec<u8>, number: usize) {
        while self.next < number
            && let Some(cell) = self.class.cells.get(self.next)
        {
            push_separators(out, cell.separators, self.options);
            self.next += 1;
            if let Some(property) = cell.property {
                self.push_property(out, property);
            }
        }
    }

    /// Appends the cells of a scope, which are in order.
    #[inline]
    pub(super) fn push_scope(
        &mut self,
        out: &mut Vec<u8>,
        scope: &ScopeCells,
        contexts: &mut Vec<(usize, Repeated)>,
        cells: &mut Cells,
    ) -> Result<(), DecodeError> {
        let (event, Some(context)) = (self.event, &scope.context) else {
            return scope.write_to_line(self.event, out, self, cells);
        };
        let Some(plan) = event.plan(scope.scope) else { return Ok(()) };
        let [first, end] = context.cells;
        self.push_before(out, first);
        let known = contexts.iter().position(|(shape, _)| *shape == context.shape);
        let place = known.unwrap_or_else(|| {
            contexts.push((context.shape, Repeated::default()));
            contexts.len() - 1
        });
        let Some((_, repeated)) = contexts.get_mut(place) else { return Ok(()) };
        repeated.push(out, event, scope.scope, plan, |out| {
            scope.write_to_line(event, out, self, cells)?;
            self.push_before(out, end);
            Ok(())
        })?;
        self.next = end;
        Ok(())
    }

    /// Quotes the cell whose text begins at `begin`, if necessary.
    #[inline]
    pub(super) fn quote(&self, out: &mut Vec<u8>, begin: usize, scratch: &mut Vec<u8>) {
        let text = out.get(begin..).unwrap_or_default();
        if !is_verbatim(text, self.options) {
            scratch.clear();
            scratch.extend_from_slice(text);
            out.truncate(begin);
            push_cell(out, scratch, self.options);
        }
    }

    /// Appends the cells of all fields that the event has.
    pub(super) fn push_cells(&mut self, out: &mut Vec<u8>, cells: &mut Cells) {
        for number in 0..self.class.cells.len() {
            if let Some((text, is_plain)) = cells.get(number) {
                self.begin_cell(out, number);
                match is_plain {
                    true => out.extend_from_slice(text),
                    false => push_cell(out, text, self.options),
                }
            }
        }
        cells.clear();
    }

    /// Ends the line, which begins at `begin`.
    pub(super) fn end(mut self, out: &mut Vec<u8>, begin: usize) {
        self.begin_cell(out, usize::MAX);
        push_separators(out, self.class.trailing, self.options);
        end_line(out, begin, self.options);
    }

    fn push_property(&mut self, out: &mut Vec<u8>, property: EventProperty) {
        let event = self.event;
        let cell = match (property, event.clock) {
            (EventProperty::Time, Some(clock)) => return self.time.push_bare(out, clock.nanoseconds),
            (EventProperty::Nanoseconds, Some(clock)) => return number::push_integer(out, clock.nanoseconds),
            (EventProperty::Cycles, Some(clock)) => return number::push_unsigned(out, clock.cycles),
            (EventProperty::Time | EventProperty::Nanoseconds | EventProperty::Cycles, None) => return,
            (EventProperty::Id, _) => return number::write_id(ValueWriter::new(out), event.class.id),
            (EventProperty::LogLevel, _) => match (property::log_level(event.class), event.class.log_level) {
                (Some(level), _) => level.attribute.as_bytes(),
                (None, Some(level)) => return number::push_signed(out, level),
                (None, None) => return,
            },
            (EventProperty::Name, _) => &self.class.name,
            (EventProperty::Host, _) => self.host,
            (EventProperty::Stream, _) => self.sources[0],
            (EventProperty::Trace, _) => self.sources[1],
        };
        out.extend_from_slice(cell);
    }
}

/// Appends separators of columns.
#[inline]
fn push_separators(out: &mut Vec<u8>, count: usize, options: &CsvOptions) {
    match count {
        0 => {}
        1 => out.push(options.form.separator()),
        _ => out.resize(out.len() + count, options.form.separator()),
    }
}

/// Returns the cell of a property; empty without a text.
pub(super) fn property_cell(text: &str, options: &CsvOptions) -> Box<[u8]> {
    let mut cell = Vec::new();
    if !text.is_empty() {
        push_cell(&mut cell, text.as_bytes(), options);
    }
    cell.into()
}

impl CsvForm {
    pub(super) fn separator(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
        }
    }
}

/// Returns `true` if a cell is written without quoting or escaping.
#[inline]
fn is_verbatim(text: &[u8], options: &CsvOptions) -> bool {
    if options.printable_only {
        return false;
    }
    match options.form {
        CsvForm::Comma => !text.is_empty() && !has(text, |byte| matches!(byte, b'"' | b',' | b'\n' | b'\r')),
        CsvForm::Tab => !has(text, |byte| matches!(byte, b'\t' | b'\n' | b'\r' | b'\\')),
    }
}

/// Returns `true` if a text has such a byte. All bytes are looked at, several at once.
#[inline]
fn has(text: &[u8], is_such: impl Fn(u8) -> bool) -> bool {
    text.iter().fold(false, |found, byte| found | is_such(*byte))
}

/// Appends a cell that is there: so that it is another one than one that is not, an empty text is quoted where there
/// are quotes.
#[inline]
pub(super) fn push_cell(out: &mut Vec<u8>, text: &[u8], options: &CsvOptions) {
    let begin = out.len();
    match options.form {
        CsvForm::Comma => {
            let is_quoted = has(text, |byte| matches!(byte, b'"' | b',' | b'\n' | b'\r'));
            if is_quoted || text.is_empty() {
                push_quoted(out, text);
            } else {
                out.extend_from_slice(text);
            }
        }
        CsvForm::Tab => push_escaped(out, text),
    }
    if options.printable_only {
        escape_from(out, begin, Escaping::Unprintable);
    }
}

#[inline(never)]
fn push_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for (i, part) in text.split(|byte| *byte == b'"').enumerate() {
        if i > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(part);
    }
    out.push(b'"');
}

fn push_escaped(out: &mut Vec<u8>, mut text: &[u8]) {
    while let Some(at) = text.iter().position(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b'\\')) {
        let (plain, rest) = text.split_at(at);
        out.extend_from_slice(plain);
        out.extend_from_slice(match rest.first() {
            Some(b'\t') => b"\\t",
            Some(b'\n') => b"\\n",
            Some(b'\r') => b"\\r",
            _ => b"\\\\",
        });
        text = rest.get(1..).unwrap_or_default();
    }
    out.extend_from_slice(text);
}

/// Ends the line that begins at `begin`.
pub(super) fn end_line(out: &mut Vec<u8>, begin: usize, options: &CsvOptions) {
    // Readers skip empty lines.
    if out.len() == begin && options.form == CsvForm::Comma {
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
}
