//! The buffer between a sink and where it writes.

use std::io::{self, Write};

use ichnos_model::decode::DecodeError;

use crate::integers::{self, Integers};

/// Bytes are written out when there are more than this, or than four fifths of what the buffer can hold.
const FULL: usize = 64 << 10;

/// Event records or packets whose fields could not all be decoded: what a sink wrote or counted of
/// them is not whole.
///
/// Readers deliver only what can be decoded, so this is a fault of a reader. Sinks report it when they are
/// finished, within an error of kind [`io::ErrorKind::InvalidData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecoded {
    /// How many times decoding failed.
    pub count: u64,
}

impl Undecoded {
    /// What an error of [`ichnos_model::Sink::finish`] says about it, if it is that.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl std::fmt::Display for Undecoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "fields that were read could not be decoded again, {} times", self.count)
    }
}

impl std::error::Error for Undecoded {}

/// Counts what could not be decoded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Failures(u64);

impl Failures {
    #[inline]
    pub(crate) fn note(&mut self, result: Result<(), DecodeError>) {
        if result.is_err() {
            self.0 += 1;
        }
    }

    /// An error if something could not be decoded.
    pub(crate) fn into_result(self) -> io::Result<()> {
        match self.0 {
            0 => Ok(()),
            count => Err(io::Error::new(io::ErrorKind::InvalidData, Undecoded { count })),
        }
    }
}

/// Where sinks of text write: any [`Write`], or a type of its own that takes whole buffers without a copy.
///
/// # For implementations
/// [`write_text`](Self::write_text) has to leave `text` empty; it may keep the buffer and leave another one. The
/// larger the capacity of that, the more text comes with the next call.
pub trait TextWriter {
    /// Takes all of `text` and leaves it empty.
    ///
    /// # Errors
    /// If it cannot be written.
    fn write_text(&mut self, text: &mut Vec<u8>) -> io::Result<()>;

    /// There is no more text for now: all of it is to come to where it belongs.
    ///
    /// # Errors
    /// If it cannot be written.
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

/// A writer with a buffer that sinks append to.
#[derive(Debug)]
pub(crate) struct Output<W> {
    writer: W,
    pub(crate) buffer: Vec<u8>,
    /// The buffer is written out when it has more bytes than this.
    full: usize,
    /// How many bytes were written out.
    written: u64,
    /// How integers are written, where the text is JSON.
    integers: Integers,
    /// How many bytes of the buffer have their integers in this form; the others get it when they are written
    /// out.
    settled: usize,
    pub(crate) failures: Failures,
}

impl<W: TextWriter> Output<W> {
    pub(crate) fn new(writer: W) -> Self {
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

    /// The same for JSON, with integers in this form. The buffer must not end within a value when it is flushed.
    pub(crate) fn with_integers(self, integers: Integers) -> Self {
        Self { integers, ..self }
    }

    /// Hands the bytes on if there are many.
    #[inline]
    pub(crate) fn flush_if_full(&mut self) -> io::Result<()> {
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

    /// How many bytes there are until here.
    pub(crate) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Gives the integers of the buffer the form that they are written in: from then on, offsets are those of
    /// the written text. The buffer must not end within a value.
    pub(crate) fn settle(&mut self) {
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

    /// Hands all bytes on.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.writer.flush_text()
    }

    pub(crate) fn writer(&self) -> &W {
        &self.writer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, structure, u8_class};
    use crate::{
        Csv, CsvColumn, CsvOptions, Details, DetailsOptions, JsonLines, JsonLinesOptions, Log, LogOptions,
        Null, Pretty, PrettyOptions,
    };

    #[test]
    fn every_sink_tells_what_it_could_not_decode() {
        let fixture = Fixture::new(structure(vec![("a", u8_class())]));
        fixture.reports_what_is_undecoded(&mut Pretty::new(io::sink(), PrettyOptions::default()));
        fixture.reports_what_is_undecoded(&mut Details::new(io::sink(), DetailsOptions::default()));
        fixture.reports_what_is_undecoded(&mut JsonLines::new(io::sink(), JsonLinesOptions::default()));
        fixture.reports_what_is_undecoded(&mut Log::new(io::sink(), LogOptions::default()));
        let csv = CsvOptions { columns: [CsvColumn::new("a")].into(), ..CsvOptions::default() };
        fixture.reports_what_is_undecoded(&mut Csv::new(io::sink(), csv));
        fixture.reports_what_is_undecoded(&mut Null::new());
        assert_eq!(Undecoded::of(&io::Error::other("full")), None);
    }
}
