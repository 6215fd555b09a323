//! Lines: cells with separators between them.

use ichnos_json::write::ValueWriter;
use ichnos_model::Event;

use super::cells::{Cells, CommonKeys, ScopeCells, find};
use super::columns::Property;
use super::{CsvForm, CsvOptions};
use crate::number;
use crate::printable::{Escaping, escape_from};
use crate::property;
use crate::time::TimeWriter;

/// Cells that are the same for all events of a data stream.
#[derive(Debug)]
pub(super) struct StreamState {
    pub(super) stream: Box<[u8]>,
    pub(super) trace: Box<[u8]>,
}

/// State of a data stream class.
#[derive(Debug)]
pub(super) struct StreamClassState {
    pub(super) time: TimeWriter,
    pub(super) host: Box<[u8]>,
    pub(super) keys: CommonKeys,
}

/// Cells that events of a class can have. Other columns of a wide table take only their separators.
#[derive(Debug)]
pub(super) struct ClassState {
    name: Box<[u8]>,
    /// In the order of their columns.
    cells: Vec<ClassCell>,
    /// Number of separators after the last cell.
    trailing: usize,
    pub(super) scopes: Vec<ScopeCells>,
    /// Set if fields come in the order of their columns, so that they are written right into the line.
    pub(super) is_in_order: bool,
}

/// A cell that events of a class can have.
#[derive(Debug)]
struct ClassCell {
    /// Number of separators between the cell before and this one.
    separators: usize,
    /// `None`: a field.
    property: Option<Property>,
}

impl ClassState {
    pub(super) fn new(event: &Event<'_>, options: &CsvOptions, keys: &mut CommonKeys) -> Self {
        let (scopes, columns) = find(event, &options.columns, keys);
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
        Self { name, cells, trailing, scopes, is_in_order }
    }
}

/// The line of an event, from left to right.
pub(super) struct Line<'a> {
    event: &'a Event<'a>,
    stream: &'a StreamState,
    time: &'a mut TimeWriter,
    host: &'a [u8],
    class: &'a ClassState,
    options: &'a CsvOptions,
    /// Number of the next cell.
    next: usize,
}

impl<'a> Line<'a> {
    pub(super) fn new(
        event: &'a Event<'a>,
        stream: &'a StreamState,
        time: &'a mut TimeWriter,
        host: &'a [u8],
        class: &'a ClassState,
        options: &'a CsvOptions,
    ) -> Self {
        Self { event, stream, time, host, class, options, next: 0 }
    }

    /// Appends all that comes before the cell with this number; `false` if the cell was written before.
    #[inline]
    pub(super) fn begin_cell(&mut self, out: &mut Vec<u8>, number: usize) -> bool {
        if number < self.next {
            return false;
        }
        while let Some(cell) = self.class.cells.get(self.next) {
            push_separators(out, cell.separators, self.options);
            self.next += 1;
            if self.next > number {
                break;
            }
            if let Some(property) = cell.property {
                self.push_property(out, property);
            }
        }
        true
    }

    /// Quotes the cell whose text begins at `begin`, if that is necessary.
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

    fn push_property(&mut self, out: &mut Vec<u8>, property: Property) {
        let event = self.event;
        let cell = match (property, event.clock) {
            (Property::Time, Some(clock)) => return self.time.push_bare(out, clock.nanoseconds),
            (Property::Nanoseconds, Some(clock)) => return number::push_integer(out, clock.nanoseconds),
            (Property::Cycles, Some(clock)) => return number::push_unsigned(out, clock.cycles),
            (Property::Time | Property::Nanoseconds | Property::Cycles, None) => return,
            (Property::Id, _) => return number::write_id(ValueWriter::new(out), event.class.id),
            (Property::LogLevel, _) => match (property::log_level(event.class), event.class.log_level) {
                (Some(level), _) => level.attribute.as_bytes(),
                (None, Some(level)) => return number::push_signed(out, level),
                (None, None) => return,
            },
            (Property::Name, _) => &self.class.name,
            (Property::Host, _) => self.host,
            (Property::Stream, _) => &self.stream.stream,
            (Property::Trace, _) => &self.stream.trace,
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

/// The cell of a property; nothing if that has no text.
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

/// Returns `true` if a cell is written as its text is.
#[inline]
fn is_verbatim(text: &[u8], options: &CsvOptions) -> bool {
    if options.printable_only {
        return false;
    }
    match options.form {
        CsvForm::Comma => {
            !text.is_empty() && !text.iter().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r'))
        }
        CsvForm::Tab => !text.iter().any(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b'\\')),
    }
}

/// Appends a cell that is there: so that it is another one than one that is not, an empty text is quoted where there
/// are quotes.
#[inline]
pub(super) fn push_cell(out: &mut Vec<u8>, text: &[u8], options: &CsvOptions) {
    let begin = out.len();
    match options.form {
        CsvForm::Comma => {
            let is_quoted = text.iter().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r'));
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
    // Readers pass over empty lines.
    if out.len() == begin && options.form == CsvForm::Comma {
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
}
