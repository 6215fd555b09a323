//! Lines with separated cells.

use ichnos_json::write::ValueWriter;
use ichnos_model::Event;
use ichnos_model::class::Value;

use super::columns::EventProperty;
use super::options::{CsvForm, CsvOptions};
use crate::block::ShortText;
use crate::number;
use crate::printable::{Escaping, escape_from};
use crate::property;
use crate::scan::{has_any, is_printable_without};
use crate::time::TimeWriter;

/// Number of separators that are too many for a constant text. In a wide table, each of very many classes would keep
/// a long text.
const MANY_SEPARATORS: usize = 40;

/// Cells of an event class. In a wide table, other columns only need separators.
#[derive(Debug)]
pub(super) struct ClassCells {
    /// Cells in column order.
    pub(super) cells: Vec<ClassCell>,
    /// Number of separators after the last cell, if they are many.
    trailing: usize,
    /// Few separators after the last cell, and the end of the line.
    ending: ShortText,
}

/// Table cell for events of a class: a property or a field.
#[derive(Debug)]
pub(super) struct ClassCell {
    /// Number of separators since the previous cell.
    pub(super) separators: usize,
    /// `None` for a field.
    pub(super) property: Option<EventProperty>,
    /// Text of this property and the properties after it, up to the next field. `None` after another property.
    run: Option<PropertyRun>,
}

/// Properties without a field between them.
#[derive(Debug)]
struct PropertyRun {
    parts: Vec<PropertyPart>,
    /// Number of the cell after the last property.
    end: usize,
}

#[derive(Debug)]
enum PropertyPart {
    /// Few separators, and properties of the class.
    Text(ShortText),
    /// Many separators.
    Separators(usize),
    /// Property that differs between events of a class.
    Varying(EventProperty),
}

impl ClassCells {
    /// Creates cells from their columns. A cell that is not a field has a property.
    pub(super) fn new(
        event: &Event<'_>,
        columns: &[(usize, Option<EventProperty>)],
        options: &CsvOptions,
    ) -> Self {
        let mut last = 0;
        let cell = |(column, property): &(usize, Option<EventProperty>)| {
            let separators = column - std::mem::replace(&mut last, *column);
            ClassCell { separators, property: *property, run: None }
        };
        let mut cells: Vec<ClassCell> = columns.iter().map(cell).collect();
        let trailing = options.columns.len().saturating_sub(1) - last;
        let mut begin = 0;
        while begin < cells.len() {
            let end = begin + cells[begin..].iter().take_while(|cell| cell.property.is_some()).count();
            if end > begin {
                let parts = property_parts(event, &cells[begin..end], options);
                cells[begin].run = Some(PropertyRun { parts, end });
            }
            begin = end + 1;
        }
        let few = if trailing < MANY_SEPARATORS { trailing } else { 0 };
        let mut ending = vec![options.form.separator(); few];
        ending.push(b'\n');
        Self { cells, trailing: trailing - few, ending: ShortText::new(&ending) }
    }
}

/// Returns the text of properties, with the separators before them.
fn property_parts(event: &Event<'_>, cells: &[ClassCell], options: &CsvOptions) -> Vec<PropertyPart> {
    let (mut parts, mut text) = (Vec::new(), Vec::new());
    for cell in cells {
        if cell.separators < MANY_SEPARATORS {
            push_separators(&mut text, cell.separators, options);
        } else {
            move_text(&mut text, &mut parts);
            parts.push(PropertyPart::Separators(cell.separators));
        }
        let Some(property) = cell.property else { continue };
        if !push_class_property(&mut text, event, property, options) {
            move_text(&mut text, &mut parts);
            parts.push(PropertyPart::Varying(property));
        }
    }
    move_text(&mut text, &mut parts);
    parts
}

/// Moves a text that is not empty to the parts.
fn move_text(text: &mut Vec<u8>, parts: &mut Vec<PropertyPart>) {
    if !text.is_empty() {
        parts.push(PropertyPart::Text(ShortText::new(text)));
        text.clear();
    }
}

/// Appends a property. Returns `false` if it differs between events of a class.
fn push_class_property(
    out: &mut Vec<u8>,
    event: &Event<'_>,
    property: EventProperty,
    options: &CsvOptions,
) -> bool {
    match property {
        EventProperty::Id => number::write_id(ValueWriter::new(out), event.class.id),
        EventProperty::LogLevel => match (property::log_level(event.class), event.class.log_level) {
            (Some(level), _) => out.extend_from_slice(level.attribute.as_bytes()),
            (None, Some(level)) => number::push_signed(out, level),
            (None, None) => {}
        },
        EventProperty::Name => out.extend_from_slice(&property_cell(event.name(), options)),
        EventProperty::Host => {
            if let Some(Value::Text(name)) = event.stream.trace.class.environment("hostname") {
                out.extend_from_slice(&property_cell(name, options));
            }
        }
        EventProperty::Time
        | EventProperty::Nanoseconds
        | EventProperty::Cycles
        | EventProperty::Stream
        | EventProperty::Trace => return false,
    }
    true
}

/// Line of an event, from left to right.
pub(super) struct CsvRow<'a> {
    event: &'a Event<'a>,
    /// Cells of the data stream and the trace.
    sources: [&'a [u8]; 2],
    time: &'a mut TimeWriter,
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
        class: &'a ClassCells,
        options: &'a CsvOptions,
    ) -> Self {
        Self { event, sources, time, class, options, next: 0 }
    }

    /// Appends everything before a numbered cell. Returns `false` if the cell was already written.
    #[inline(always)]
    pub(super) fn begin_cell(&mut self, out: &mut Vec<u8>, number: usize) -> bool {
        if number == self.next
            && let Some(ClassCell { separators: 1, property: None, .. }) = self.class.cells.get(number)
        {
            self.next += 1;
            out.push(self.options.form.separator());
            return true;
        }
        self.begin_later_cell(out, number)
    }

    #[inline(never)]
    fn begin_later_cell(&mut self, out: &mut Vec<u8>, number: usize) -> bool {
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
    #[inline(always)]
    pub(super) fn push_before(&mut self, out: &mut Vec<u8>, number: usize) {
        if self.next < number {
            self.push_missing(out, number);
        }
    }

    #[inline(never)]
    fn push_missing(&mut self, out: &mut Vec<u8>, number: usize) {
        while self.next < number
            && let Some(cell) = self.class.cells.get(self.next)
        {
            if let Some(run) = &cell.run {
                run.parts.iter().for_each(|part| self.push_part(out, part));
                self.next = run.end;
            } else {
                push_separators(out, cell.separators, self.options);
                self.next += 1;
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
        if is_verbatim(text, self.options) {
            return;
        }
        if self.options.form == CsvForm::Comma && !self.options.printable_only {
            return quote_from(out, begin);
        }
        scratch.clear();
        scratch.extend_from_slice(text);
        out.truncate(begin);
        push_cell(out, scratch, self.options);
    }

    /// Returns the number of class cells.
    pub(super) fn cell_count(&self) -> usize {
        self.class.cells.len()
    }

    /// Ends the line that starts at `begin`.
    pub(super) fn end(mut self, out: &mut Vec<u8>, begin: usize) {
        if self.next < self.class.cells.len() {
            self.push_missing(out, usize::MAX);
        }
        // An empty line has another end.
        if out.len() == begin && self.options.columns.len() <= 1 {
            return end_line(out, begin, self.options);
        }
        push_separators(out, self.class.trailing, self.options);
        self.class.ending.push(out);
    }

    #[inline]
    fn push_part(&mut self, out: &mut Vec<u8>, part: &PropertyPart) {
        let property = match part {
            PropertyPart::Text(text) => return text.push(out),
            PropertyPart::Separators(count) => return push_separators(out, *count, self.options),
            PropertyPart::Varying(property) => *property,
        };
        match (property, self.event.clock) {
            (EventProperty::Time, Some(clock)) => self.time.push_bare(out, clock.nanoseconds),
            (EventProperty::Nanoseconds, Some(clock)) => number::push_integer(out, clock.nanoseconds),
            (EventProperty::Cycles, Some(clock)) => number::push_unsigned(out, clock.cycles),
            (EventProperty::Stream, _) => out.extend_from_slice(self.sources[0]),
            (EventProperty::Trace, _) => out.extend_from_slice(self.sources[1]),
            _ => {}
        }
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
        CsvForm::Comma => !text.is_empty() && !has_any(text, *b"\",\n\r"),
        CsvForm::Tab => !has_any(text, *b"\t\n\r\\"),
    }
}

/// Returns `true` if a text is written as it is in all forms. `false` does not mean the opposite.
#[inline]
pub(super) fn is_plain(text: &[u8]) -> bool {
    !text.is_empty() && is_printable_without(text, *b"\",\\")
}

/// Appends a present cell. An empty text is quoted in the comma form, to distinguish it from a missing cell.
#[inline]
pub(super) fn push_cell(out: &mut Vec<u8>, text: &[u8], options: &CsvOptions) {
    let begin = out.len();
    match options.form {
        CsvForm::Comma => {
            out.extend_from_slice(text);
            if text.is_empty() || has_any(text, *b"\",\n\r") {
                quote_from(out, begin);
            }
        }
        CsvForm::Tab => push_escaped(out, text),
    }
    if options.printable_only {
        escape_from(out, begin, Escaping::Unprintable);
    }
}

/// Quotes the text that starts at `begin`.
#[inline(never)]
fn quote_from(out: &mut Vec<u8>, begin: usize) {
    let mut end = out.len();
    let quotes = memchr::memchr_iter(b'"', out.get(begin..).unwrap_or_default()).count();
    // All quotes that are added, with the last one in its place.
    out.resize(end + quotes + 2, b'"');
    let mut to = end + quotes + 1;
    // Moves the text before the first quote and the text from each quote on, the last first.
    for _ in 0..=quotes {
        let quote = out.get(begin..end).and_then(|text| memchr::memrchr(b'"', text));
        let first = quote.map_or(begin, |at| begin + at);
        to -= end - first;
        out.copy_within(first..end, to);
        to -= 1;
        out[to] = b'"';
        end = first;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_doubled() {
        for text in ["", "a", ",\n", "\"", "\"\"", "a\"b", "\"a\"", "a,\"b\"\"c\"d", "abc\"\"\"def"] {
            let mut out = b"x,".to_vec();
            out.extend_from_slice(text.as_bytes());
            quote_from(&mut out, 2);
            let expected = format!("x,\"{}\"", text.replace('"', "\"\""));
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
