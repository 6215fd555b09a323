//! Output to standard output, or to a file instead.

use std::io::{self, BufWriter, IntoInnerError, Write};

use ichnos::export::text::{Branch, CharsetWriter, Paint, locale_is_ascii};
use ichnos::export::{Integers, TerminalText, TerminalWriter};
use ichnos::io::OutputFile;
use ichnos::json::write::ObjectWriter;

use crate::charset;
use crate::json;

/// Destination of data. A terminal only receives printable characters.
pub(crate) enum Destination {
    Plain(OutputFile),
    Terminal(TerminalWriter<CharsetWriter<OutputFile>>),
}

impl Destination {
    /// Writes text of a kind.
    pub(crate) fn new(output: OutputFile, text: TerminalText) -> Self {
        if output.is_terminal() {
            Self::Terminal(TerminalWriter::new(CharsetWriter::new(output, text, locale_is_ascii()), text))
        } else {
            Self::Plain(output)
        }
    }

    /// Writes the rest, and moves a file to its final path.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.finish(),
            Self::Terminal(writer) => writer.finish()?.finish()?.finish(),
        }
    }

    /// Keeps an existing file unchanged; other outputs receive the rest.
    pub(crate) fn discard(self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.discard(),
            Self::Terminal(writer) => writer.finish()?.finish()?.discard(),
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(output) => output,
            Self::Terminal(writer) => writer,
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer().write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

/// Prints a whole text for people; all texts of a trace in it must be [safe](crate::style::safe).
pub(crate) fn print(text: &str, paint: Paint) -> io::Result<()> {
    let output = OutputFile::standard()?;
    let mut output = Destination::new(output, TerminalText::Lines { colors: paint.is_on() });
    output.write_all(charset::shown(text).as_bytes())?;
    output.finish()
}

/// Prints trees like [`print`], one at a time, separated by empty lines.
pub(crate) fn print_trees(trees: impl IntoIterator<Item = Branch>, paint: Paint) -> io::Result<()> {
    let output = OutputFile::standard()?;
    let output = Destination::new(output, TerminalText::Lines { colors: paint.is_on() });
    let mut output = BufWriter::with_capacity(64 << 10, output);
    for (i, tree) in trees.into_iter().enumerate() {
        if i > 0 {
            output.write_all(b"\n")?;
        }
        tree.write(&mut |text| output.write_all(charset::shown(text).as_bytes()))?;
    }
    output.into_inner().map_err(IntoInnerError::into_error)?.finish()
}

/// Prints a JSON document of a kind, whose members `write` writes.
pub(crate) fn print_document(
    kind: &str,
    integers: Integers,
    write: impl FnOnce(&mut ObjectWriter<'_>),
) -> io::Result<()> {
    print_long_document(kind, integers, |object, _| {
        write(object);
        Ok(())
    })
}

/// Prints a JSON document of a kind, whose members `write` writes. It may [hand on](json::write_out) complete
/// parts.
pub(crate) fn print_long_document(
    kind: &str,
    integers: Integers,
    write: impl FnOnce(&mut ObjectWriter<'_>, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let output = Destination::new(OutputFile::standard()?, TerminalText::Json);
    let mut output = BufWriter::with_capacity(64 << 10, output);
    json::write_document(&mut output, kind, integers, write)?;
    output.into_inner().map_err(IntoInnerError::into_error)?.finish()
}

/// Prints lines for people as they are generated; all texts of a trace in them must be
/// [safe](crate::style::safe).
pub(crate) fn print_lines(lines: impl IntoIterator<Item = String>, paint: Paint) -> io::Result<()> {
    let output = OutputFile::standard()?;
    let output = Destination::new(output, TerminalText::Lines { colors: paint.is_on() });
    let mut output = BufWriter::with_capacity(64 << 10, output);
    for line in lines {
        output.write_all(charset::shown(&line).as_bytes())?;
    }
    output.into_inner().map_err(IntoInnerError::into_error)?.finish()
}

/// Prints a whole text by the program itself, for other programs.
pub(crate) fn print_as_it_is(text: &str) -> io::Result<()> {
    let mut output = OutputFile::standard()?;
    output.write_all(text.as_bytes())?;
    output.finish()
}

/// Prints a whole text for other programs that contains texts of a trace.
pub(crate) fn print_source(text: &str) -> io::Result<()> {
    let mut output = Destination::new(OutputFile::standard()?, TerminalText::Lines { colors: false });
    output.write_all(text.as_bytes())?;
    output.finish()
}
