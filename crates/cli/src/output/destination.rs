//! Destination for data: a file or standard output.

use std::io::{self, BufWriter, IntoInnerError, Write};

use ichnos::export::text::{CharsetWriter, locale_is_ascii};
use ichnos::export::{TerminalText, TerminalWriter};
use ichnos::io::OutputFile;

use super::status_line;

/// Destination for data. A terminal receives only printable characters.
pub(crate) enum Destination {
    Plain(OutputFile),
    Terminal {
        writer: TerminalWriter<CharsetWriter<OutputFile>>,
        /// `true` if the last line is complete.
        ends_line: bool,
        /// `true` if nothing was written since the last flush.
        is_flushed: bool,
    },
}

impl Destination {
    /// Creates a destination for one kind of text.
    pub(crate) fn new(output: OutputFile, text: TerminalText) -> Self {
        if output.is_terminal() {
            let writer = TerminalWriter::new(CharsetWriter::new(output, text, locale_is_ascii()), text);
            Self::Terminal { writer, ends_line: true, is_flushed: true }
        } else {
            Self::Plain(output)
        }
    }

    /// Writes buffered data, and moves a file to its final path.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.finish(),
            Self::Terminal { writer, ends_line, .. } => {
                status_line::print_output(ends_line, || writer.finish()?.finish()?.finish())
            }
        }
    }

    /// Leaves an existing file unchanged. Other outputs receive the buffered data.
    pub(crate) fn discard(self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.discard(),
            Self::Terminal { writer, ends_line, .. } => {
                status_line::print_output(ends_line, || writer.finish()?.finish()?.discard())
            }
        }
    }

    /// Writes all data through a buffer, and finishes.
    pub(crate) fn write_buffered(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut buffered = BufWriter::with_capacity(64 << 10, self);
        write(&mut buffered)?;
        buffered.into_inner().map_err(IntoInnerError::into_error)?.finish()
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.write_all(bytes),
            Self::Terminal { writer, ends_line, is_flushed } => {
                *is_flushed = false;
                *ends_line = bytes.last().map_or(*ends_line, |last| *last == b'\n');
                // The rest may be in a buffer.
                status_line::print_output(false, || writer.write_all(bytes))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.flush(),
            Self::Terminal { is_flushed: true, .. } => Ok(()),
            Self::Terminal { writer, ends_line, is_flushed } => {
                status_line::print_output(*ends_line, || writer.flush())?;
                *is_flushed = true;
                Ok(())
            }
        }
    }
}
