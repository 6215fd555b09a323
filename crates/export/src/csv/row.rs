//! Lines with separated cells.

use ichnos_json::write::ValueWriter;
use ichnos_model::Event;

use super::columns::EventProperty;
use super::options::{CsvForm, CsvOptions};
use crate::number;
use crate::printable::{Escaping, escape_from};
use crate::property;
use crate::time::TimeWriter;

/// Cells of an event class. In a wide table, other columns only need separators.
#[derive(Debug)]
pub(super) struct ClassCells {
    pub(super) name: Box<[u8]>,
    /// Cells in column order.
    pub(super) cells: Vec<ClassCell>,
    /// Number of separators after the last cell.
    pub(super) trailing: usize,
}

/// Table cell for events of a class: a property or a field.
#[derive(Debug)]
pub(super) struct ClassCell {
    /// Number of separators since the previous cell.
    pub(super) separators: usize,
    /// `None` for a field.
    pub(super) property: Option<EventProperty>,
}

/// Line of an event, from left to right.
pub(super) struct CsvRow<'a> {
    event: &'a Event<'a>,
    /// Cells of the data stream and the trace.
    sources: [&'a [u8]; 2],
    time: &'a mut TimeWriter,
    host: &'a [u8],
    class: &'a ClassCells,
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
        class: &'a ClassCells,
        options: &'a CsvOptions,
    ) -> Self {
        Self { event, sources, time, host, class, options, next: 0 }
    }

    /// Appends everything before a numbered cell. Returns `false` if the cell was already written.
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

    /// Appends all missing cells before a numbered cell.
    #[inline]
    pub(super) fn push_before(&mut self, out: &mut Vec<u8>, number: usize) {
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

    /// Continues after cells that were written in another way.
    #[inline]
    pub(super) fn continue_at(&mut self, next: usize) {
        self.next = next;
    }

    /// Quotes the cell that starts at `begin`, if necessary.
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

    /// Returns the number of class cells.
    pub(super) fn cell_count(&self) -> usize {
        self.class.cells.len()
    }

    /// Ends the line that starts at `begin`.
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

/// Appends column separators.
#[inline]
fn push_separators(out: &mut Vec<u8>, count: usize, options: &CsvOptions) {
    match count {
        0 => {}
        1 => out.push(options.form.separator()),
        _ => out.resize(out.len() + count, options.form.separator()),
    }
}

/// Returns a property cell. Empty without a text.
pub(super) fn property_cell(text: &str, options: &CsvOptions) -> Box<[u8]> {
    let mut cell = Vec::new();
    if !text.is_empty() {
        push_cell(&mut cell, text.as_bytes(), options);
    }
    cell.into()
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

/// Returns `true` if a text has such a byte. All bytes are checked, several at once.
#[inline]
fn has(text: &[u8], is_such: impl Fn(u8) -> bool) -> bool {
    text.iter().fold(false, |found, byte| found | is_such(*byte))
}

/// Appends a present cell. An empty text is quoted in the comma form, to distinguish it from a missing cell.
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

/// Ends the line that starts at `begin`.
pub(super) fn end_line(out: &mut Vec<u8>, begin: usize, options: &CsvOptions) {
    // Readers skip empty lines.
    if out.len() == begin && options.form == CsvForm::Comma {
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
}
