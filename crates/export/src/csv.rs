//! One line of cells per event, for spreadsheets and databases. The format is in `docs/csv.md`.

mod cells;
mod columns;

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos_model::{DataStream, Event, Message, Sink, Value};

use self::cells::{Cells, CommonKeys, ScopeCells, find};
pub use self::columns::{CsvColumn, CsvColumns};
use self::columns::{Property, Source};
use crate::number;
use crate::output::{Output, TextWriter};
use crate::printable::{Escaping, escape_from};
use crate::property;
use crate::resume::{ResumableSink, StreamOrder};
use crate::stream_table::StreamTable;
use crate::time::{JsonTime, TimeWriter};

/// What is between cells, and what is done about it where it is in a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CsvForm {
    /// Commas; cells are quoted where that is needed (RFC 4180, but lines end in a line feed alone).
    #[default]
    Comma,
    /// Tabs (`text/tab-separated-values`), which no cell has: tabs, line feeds, carriage returns and backslashes
    /// are `\t`, `\n`, `\r` and `\\`.
    Tab,
}

/// What [`Csv`] writes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CsvOptions {
    /// What separates cells.
    pub form: CsvForm,
    /// The columns, from left to right.
    pub columns: Arc<[CsvColumn]>,
    /// How times are written in the column `time`; as a date unless it is [`JsonTime::Nanoseconds`].
    pub time: JsonTime,
    /// All that is not printable escaped, as text for a terminal has to be.
    pub printable_only: bool,
}

impl Default for CsvOptions {
    /// The properties that every table has.
    fn default() -> Self {
        let columns = CsvColumns::new(JsonTime::default()).columns().unwrap_or_default();
        Self {
            form: CsvForm::default(),
            columns: columns.into(),
            time: JsonTime::default(),
            printable_only: false,
        }
    }
}

/// Cells that are the same for all events of a data stream.
#[derive(Debug)]
struct StreamState {
    stream: Box<[u8]>,
    trace: Box<[u8]>,
}

/// What is known of a data stream class.
#[derive(Debug)]
struct StreamClassState {
    time: TimeWriter,
    host: Box<[u8]>,
    keys: CommonKeys,
}

/// The columns that events of a class can have, and where their cells come from.
#[derive(Debug)]
struct ClassState {
    name: Box<[u8]>,
    cells: Vec<ClassCell>,
    /// Number of separators after the last cell.
    trailing: usize,
    scopes: Vec<ScopeCells>,
    /// Number of cells that are fields.
    fields: usize,
}

/// A cell that events of a class can have.
#[derive(Debug)]
struct ClassCell {
    /// Number of separators between the cell before and this one.
    separators: usize,
    /// `None`: the next field.
    property: Option<Property>,
}

/// Writes a line with the names of columns, and a line of cells for each event; the documentation of the project has
/// the format.
///
/// ```text
/// time,event,host,stream,ctx.vpid,celsius
/// 1565957302180016041,my_app:temperature,box,traces/channel0_0,7,53
/// ```
///
/// Losses and damage are not written.
pub struct Csv<W> {
    output: Output<W>,
    options: CsvOptions,
    cells: Cells,
    streams: StreamTable<StreamState, StreamClassState, ClassState>,
}

impl<W> std::fmt::Debug for Csv<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Csv").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: TextWriter> Csv<W> {
    /// Writes to `writer`.
    pub fn new(writer: W, options: CsvOptions) -> Self {
        let mut output = Output::new(writer);
        let out = &mut output.buffer;
        for (i, column) in options.columns.iter().enumerate() {
            if i > 0 {
                out.push(options.form.separator());
            }
            push_cell(out, column.name.as_bytes(), &options);
        }
        end_line(out, 0, &options);
        Self { output, options, cells: Cells::default(), streams: StreamTable::default() }
    }

    /// The writer.
    pub fn writer(&self) -> &W {
        self.output.writer()
    }

    /// Writes all text to the writer.
    ///
    /// # Errors
    /// If it cannot write.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let options = &self.options;
        let state = StreamState {
            stream: property_cell(&stream.name, options),
            trace: property_cell(&stream.trace.path, options),
        };
        self.streams.insert(stream, state, || StreamClassState {
            time: TimeWriter::new(options.time, stream.clock()),
            host: match stream.trace.class.environment("hostname") {
                Some(Value::Text(name)) => property_cell(name, options),
                _ => Box::default(),
            },
            keys: CommonKeys::default(),
        });
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if !self.streams.has(event.stream) {
            self.add_stream(event.stream);
        }
        let options = &self.options;
        let Some((stream, known, classes)) = self.streams.get_mut(event.stream) else { return Ok(()) };
        let class = classes.of(event, || ClassState::new(event, options, &mut known.keys));
        self.cells.clear(class.fields);
        for scope in &class.scopes {
            self.output.failures.note(scope.write(event, &mut self.cells));
        }
        let out = &mut self.output.buffer;
        let line = out.len();
        let mut field = 0;
        for cell in &class.cells {
            push_separators(out, cell.separators, options);
            if let Some(property) = cell.property {
                push_property(out, event, property, stream, known, class);
                continue;
            }
            match self.cells.get(field) {
                Some((number, true)) => out.extend_from_slice(number),
                Some((text, false)) => push_cell(out, text, options),
                None => {}
            }
            field += 1;
        }
        push_separators(out, class.trailing, options);
        end_line(out, line, options);
        self.output.flush_if_full()
    }
}

impl ClassState {
    /// Finds out which columns have cells. All other ones of a wide table take only their separators.
    fn new(event: &Event<'_>, options: &CsvOptions, keys: &mut CommonKeys) -> Self {
        let (scopes, columns) = find(event, &options.columns, keys);
        let mut cells = Vec::new();
        let mut before = 0;
        let mut fields = columns.iter().copied().peekable();
        for (index, column) in options.columns.iter().enumerate() {
            let property = match column.source {
                Source::Property(property) => Some(property),
                Source::Field(_) if fields.next_if_eq(&index).is_some() => None,
                Source::Field(_) => continue,
            };
            cells.push(ClassCell { separators: index - before, property });
            before = index;
        }
        let trailing = options.columns.len().saturating_sub(1) - before;
        Self { name: property_cell(event.name(), options), cells, trailing, scopes, fields: columns.len() }
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
fn property_cell(text: &str, options: &CsvOptions) -> Box<[u8]> {
    let mut cell = Vec::new();
    if !text.is_empty() {
        push_cell(&mut cell, text.as_bytes(), options);
    }
    cell.into()
}

fn push_property(
    out: &mut Vec<u8>,
    event: &Event<'_>,
    property: Property,
    stream: &StreamState,
    known: &mut StreamClassState,
    class: &ClassState,
) {
    let cell = match (property, event.clock) {
        (Property::Time, Some(clock)) => return known.time.push_bare(out, clock.nanoseconds),
        (Property::Nanoseconds, Some(clock)) => return number::push_i128(out, clock.nanoseconds),
        (Property::Cycles, Some(clock)) => return number::push_unsigned(out, clock.cycles),
        (Property::Time | Property::Nanoseconds | Property::Cycles, None) => return,
        (Property::Id, _) => return number::push_id(out, event.class.id),
        (Property::LogLevel, _) => match (property::log_level(event.class), event.class.log_level) {
            (Some(level), _) => level.attribute.as_bytes(),
            (None, Some(level)) => return number::push_signed(out, level),
            (None, None) => return,
        },
        (Property::Name, _) => &class.name,
        (Property::Host, _) => &known.host,
        (Property::Stream, _) => &stream.stream,
        (Property::Trace, _) => &stream.trace,
    };
    out.extend_from_slice(cell);
}

impl CsvForm {
    fn separator(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
        }
    }
}

/// Appends a cell that is there: so that it is another one than one that is not, an empty text is quoted where there
/// are quotes.
#[inline]
fn push_cell(out: &mut Vec<u8>, text: &[u8], options: &CsvOptions) {
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
fn end_line(out: &mut Vec<u8>, begin: usize, options: &CsvOptions) {
    // Readers pass over empty lines.
    if out.len() == begin && options.form == CsvForm::Comma {
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
}

impl<W: TextWriter> Sink for Csv<W> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(event) => self.event(event)?,
            Message::StreamEnd(stream) => self.streams.remove(stream),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Csv::flush(self)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.flush()?;
        self.output.failures.into_result()
    }
}

impl<W: TextWriter> ResumableSink for Csv<W> {
    type State = ();

    fn resume(&mut self, _: &StreamOrder, _: Option<()>) {
        // The names of the columns are there.
        self.output.buffer.clear();
    }
}

#[cfg(test)]
mod tests;
