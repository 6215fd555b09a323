//! The buffer between a sink and where it writes.

use std::io::{self, Write};

/// Bytes are handed on when there are more than this.
const FULL: usize = 64 << 10;

/// A writer with a buffer that sinks append to.
#[derive(Debug)]
pub(crate) struct Output<W> {
    writer: W,
    pub(crate) buffer: Vec<u8>,
}

impl<W: Write> Output<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self { writer, buffer: Vec::with_capacity(FULL + (FULL >> 2)) }
    }

    /// Hands the bytes on if there are many.
    #[inline]
    pub(crate) fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() > FULL { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> io::Result<()> {
        let result = self.writer.write_all(&self.buffer);
        self.buffer.clear();
        result
    }

    /// Hands all bytes on.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.writer.flush()
    }

    pub(crate) fn writer(&self) -> &W {
        &self.writer
    }
}
