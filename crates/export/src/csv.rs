//! One line of cells per event, for spreadsheets and databases. The format is in `docs/csv.md`.

mod cells;
mod columns;

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos_model::{DataStream, Event, Message, Sink, Value};

use self::cells::{Cells, CommonKeys, ScopeCells};
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

/// What is known of a data stream class.
#[derive(Debug)]
struct StreamClassState {
    time: TimeWriter,
    host: Option<Box<str>>,
    keys: CommonKeys,
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
    streams: StreamTable<(), StreamClassState, Vec<ScopeCells>>,
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
        self.streams.insert(stream, (), || StreamClassState {
            time: TimeWriter::new(self.options.time, stream.clock()),
            host: match stream.trace.class.environment("hostname") {
                Some(Value::Text(name)) => Some(name.as_str().into()),
                _ => None,
            },
            keys: CommonKeys::default(),
        });
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if !self.streams.has(event.stream) {
            self.add_stream(event.stream);
        }
        let options = &self.options;
        let Some(((), known, classes)) = self.streams.get_mut(event.stream) else { return Ok(()) };
        let scopes = classes.of(event, || cells::find(event, &options.columns, &mut known.keys));
        self.cells.clear(options.columns.len());
        for scope in scopes {
            self.output.failures.note(scope.write(event, &mut self.cells));
        }
        let out = &mut self.output.buffer;
        let line = out.len();
        for (i, column) in options.columns.iter().enumerate() {
            if i > 0 {
                out.push(options.form.separator());
            }
            match &column.source {
                Source::Property(property) => push_property(out, event, *property, known, options),
                Source::Field(_) => {
                    if let Some(cell) = self.cells.get(i) {
                        push_cell(out, cell, options);
                    }
                }
            }
        }
        end_line(out, line, options);
        self.output.flush_if_full()
    }
}

fn push_property(
    out: &mut Vec<u8>,
    event: &Event<'_>,
    property: Property,
    known: &mut StreamClassState,
    options: &CsvOptions,
) {
    let text = match (property, event.clock) {
        (Property::Time, Some(clock)) => return known.time.push_bare(out, clock.nanoseconds),
        (Property::Nanoseconds, Some(clock)) => return number::push_i128(out, clock.nanoseconds),
        (Property::Cycles, Some(clock)) => return number::push_unsigned(out, clock.cycles),
        (Property::Time | Property::Nanoseconds | Property::Cycles, None) => return,
        (Property::Id, _) => return number::push_id(out, event.class.id),
        (Property::LogLevel, _) => match (property::log_level(event.class), event.class.log_level) {
            (Some(level), _) => level.attribute,
            (None, Some(level)) => return number::push_signed(out, level),
            (None, None) => return,
        },
        (Property::Name, _) => event.name(),
        (Property::Host, _) => known.host.as_deref().unwrap_or_default(),
        (Property::Stream, _) => &event.stream.name,
        (Property::Trace, _) => &event.stream.trace.path,
    };
    if !text.is_empty() {
        push_cell(out, text.as_bytes(), options);
    }
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
