//! Buffered sink output.

use std::io::{self, Write};

use ichnos_model::decode::DecodeError;

use crate::integers::{self, Integers};

/// Buffer size in bytes that must be written. Four fifths of the buffer capacity also count as full.
const FULL: usize = 64 << 10;

/// Event records or packets with undecodable fields, so that the sink's output or counts are incomplete.
///
/// Readers deliver only decodable data, so this is a reader bug. Sinks report it when they finish, within an error of
/// kind [`io::ErrorKind::InvalidData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecoded {
    /// Number of decoding failures.
    pub count: u64,
}

impl Undecoded {
    /// Returns the value inside an error of [`ichnos_model::Sink::finish`], if there is one.
    #[must_use]
    pub fn from_error(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl std::fmt::Display for Undecoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "decoding of fields that were already read failed {} times", self.count)
    }
}

impl std::error::Error for Undecoded {}

/// Counter of decoding failures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failures(u64);

impl Failures {
    /// Counts an error.
    #[inline]
    pub fn record(&mut self, result: Result<(), DecodeError>) {
        if result.is_err() {
            self.0 += 1;
        }
    }

    /// Returns an error if decoding failed.
    ///
    /// # Errors
    /// [`Undecoded`] with the number of failures.
    pub fn into_result(self) -> io::Result<()> {
        match self.0 {
            0 => Ok(()),
            count => Err(io::Error::new(io::ErrorKind::InvalidData, Undecoded { count })),
        }
    }
}

/// Output of text sinks: any [`Write`], or a type that takes whole buffers without copying.
///
/// # For implementations
/// [`write_text`](Self::write_text) must leave `text` empty. It can keep the buffer and leave another buffer. The
/// larger its capacity, the more text comes with the next call.
pub trait TextWriter {
    /// Takes all of `text` and leaves it empty.
    ///
    /// # Errors
    /// If the text cannot be written.
    fn write_text(&mut self, text: &mut Vec<u8>) -> io::Result<()>;

    /// Flushes all text to its destination, because no more text comes for now.
    ///
    /// # Errors
    /// If the text cannot be written.
    fn flush_text(&mut self) -> io::Result<()>;
}

impl<W: Write + ?Sized> TextWriter for W {
    fn write_text(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        let result = self.write_all(text);
        text.clear();
        result
    }

    fn flush_text(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// Writer with a buffer for sinks.
#[derive(Debug)]
pub struct TextBuffer<W> {
    writer: W,
    /// Text that was not written yet.
    pub buffer: Vec<u8>,
    /// Maximum number of bytes in the buffer before it is written.
    full: usize,
    /// Number of written bytes.
    written: u64,
    /// Representation of integers in JSON.
    integers: Integers,
    /// Number of buffered bytes with converted integers. The remaining integers are converted when they are written.
    settled: usize,
    /// Undecodable fields.
    pub failures: Failures,
}

impl<W: TextWriter> TextBuffer<W> {
    /// Creates an empty buffer.
    pub fn new(writer: W) -> Self {
        Self {
            writer,
            buffer: Vec::with_capacity(FULL + (FULL >> 2)),
            full: FULL,
            written: 0,
            integers: Integers::Number,
            settled: 0,
            failures: Failures::default(),
        }
    }

    /// Converts integers of JSON text. The buffer must not end within a value when it is flushed.
    #[must_use]
    pub fn with_integers(self, integers: Integers) -> Self {
        Self { integers, ..self }
    }

    /// Writes the buffer if it is full.
    ///
    /// # Errors
    /// If the writer fails.
    #[inline]
    pub fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() > self.full { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.settle();
        self.settled = 0;
        self.written += self.buffer.len() as u64;
        let result = self.writer.write_text(&mut self.buffer);
        self.full = (self.buffer.capacity() / 5 * 4).max(FULL);
        result
    }

    /// Returns the number of bytes so far.
    pub fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Converts the integers in the buffer to their final representation, so that later offsets match the written
    /// text. The buffer must not end within a value.
    pub fn settle(&mut self) {
        if self.integers == Integers::Number {
            return;
        }
        let mut text = Vec::with_capacity(self.buffer.capacity());
        let (settled, rest) = self.buffer.split_at(self.settled.min(self.buffer.len()));
        text.extend_from_slice(settled);
        integers::push(&mut text, rest, self.integers);
        self.settled = text.len();
        self.buffer = text;
    }

    /// Writes and flushes all bytes.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.writer.flush_text()
    }

    /// Returns the writer to change it.
    pub fn writer_mut(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Returns the writer.
    pub fn writer(&self) -> &W {
        &self.writer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, structure, u8_class};
    use crate::{
        Csv, CsvColumn, CsvOptions, Details, DetailsOptions, Log, LogOptions, Null, Pretty, PrettyOptions,
    };

    #[test]
    fn every_sink_tells_what_it_could_not_decode() {
        let fixture = Fixture::new(structure(vec![("a", u8_class())]));
        fixture.reports_what_is_undecoded(&mut Pretty::new(io::sink(), PrettyOptions::default()));
        fixture.reports_what_is_undecoded(&mut Details::new(io::sink(), DetailsOptions::default()));
        fixture.reports_what_is_undecoded(&mut Log::new(io::sink(), LogOptions::default()));
        let csv = CsvOptions { columns: [CsvColumn::new("a")].into(), ..CsvOptions::default() };
        fixture.reports_what_is_undecoded(&mut Csv::new(io::sink(), csv));
        fixture.reports_what_is_undecoded(&mut Null::new());
        assert_eq!(Undecoded::from_error(&io::Error::other("full")), None);
    }
}
