//! One line of cells per event, for spreadsheets and databases. `docs/csv.md` describes the format.

mod cells;
mod class_state;
mod columns;
mod context_cells;
mod options;
mod row;

use std::io;
use std::ops::ControlFlow;

use ichnos_model::event::StreamTable;
use ichnos_model::{DataStream, Event, Message, Sink};

use self::cells::{Cells, CommonKeys};
use self::class_state::{CsvClassState, CsvStreamClassState, CsvStreamState};
pub use self::columns::{CsvColumn, CsvColumns};
pub use self::options::{CsvForm, CsvOptions};
use self::row::{CsvRow, end_line, property_cell, push_cell};
use crate::resume::{ResumableSink, StreamOrder};
use crate::text_buffer::{TextBuffer, TextWriter};
use crate::time::TimeWriter;

/// Sink that writes a line of column names, and a line of cells for each event. `docs/csv.md` describes the format.
///
/// ```text
/// time,event,host,stream,ctx.vpid,celsius
/// 1565957302180016041,my_app:temperature,box,traces/channel0_0,7,53
/// ```
///
/// Losses and damage are not written.
pub struct Csv<W> {
    output: TextBuffer<W>,
    options: CsvOptions,
    cells: Cells,
    streams: StreamTable<CsvStreamState, CsvStreamClassState, CsvClassState>,
}

impl<W> std::fmt::Debug for Csv<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Csv").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: TextWriter> Csv<W> {
    /// Creates a sink that writes to `writer`.
    pub fn new(writer: W, options: CsvOptions) -> Self {
        let mut output = TextBuffer::new(writer);
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

    /// Returns the writer.
    pub fn writer(&self) -> &W {
        self.output.writer()
    }

    /// Writes all text to the writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let options = &self.options;
        let state = CsvStreamState {
            stream: property_cell(&stream.name, options),
            trace: property_cell(&stream.trace.path, options),
            contexts: Vec::new(),
        };
        self.streams.insert(stream, state, || CsvStreamClassState {
            time: TimeWriter::new(options.time, stream.clock()),
            keys: CommonKeys::default(),
            shapes: Vec::new(),
        });
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if !self.streams.has(event.stream) {
            self.add_stream(event.stream);
        }
        let options = &self.options;
        let Some((stream, known, classes)) = self.streams.get_mut(event.stream) else { return Ok(()) };
        let class = classes
            .for_event(event, || CsvClassState::new(event, options, &mut known.keys, &mut known.shapes));
        let out = &mut self.output.buffer;
        let begin = out.len();
        let CsvStreamState { stream, trace, contexts } = stream;
        let mut line = CsvRow::new(event, [stream, trace], &mut known.time, &class.cells, options);
        let failures = &mut self.output.failures;
        for scope in &class.scopes {
            failures.record(match class.is_in_order {
                true => scope.push(out, event, &mut line, contexts, &mut self.cells),
                false => scope.write(event, &mut self.cells),
            });
        }
        if !class.is_in_order {
            self.cells.push(out, &mut line, options);
        }
        line.end(out, begin);
        self.output.flush_if_full()
    }
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
        // The line of column names already exists.
        self.output.buffer.clear();
    }
}

#[cfg(test)]
mod tests;
