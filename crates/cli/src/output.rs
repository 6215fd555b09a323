//! Output to standard output, or to a file instead.

use std::io::{self, BufWriter, IntoInnerError, Write};

use ichnos::export::text::{Branch, CharsetWriter, Paint, locale_is_ascii};
use ichnos::export::{Integers, TerminalText, TerminalWriter};
use ichnos::io::OutputFile;
use ichnos::json::write::ObjectWriter;
use serde_json::Value as Json;

use crate::charset;
use crate::json::{self, JsonObject};
use crate::json_indenter::JsonIndenter;

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
    let mut text = Vec::new();
    json::write_document(&mut text, kind, write);
    let output = Destination::new(OutputFile::standard()?, TerminalText::Json);
    let mut output = BufWriter::with_capacity(64 << 10, output);
    let mut indenter = JsonIndenter::new(&mut output, 0, integers);
    indenter.write_all(&text)?;
    indenter.finish()?;
    output.write_all(b"\n")?;
    output.into_inner().map_err(IntoInnerError::into_error)?.finish()
}

/// Prints a whole JSON document.
pub(crate) fn print_json(document: &Json, integers: Integers) -> io::Result<()> {
    let mut output = Destination::new(OutputFile::standard()?, TerminalText::Json);
    output.write_all(json::text(document, integers).as_bytes())?;
    output.finish()
}

/// Prints a JSON document whose last member is a list, element by element.
pub(crate) fn print_json_list(
    document: JsonObject,
    name: &str,
    elements: impl Iterator<Item = Json>,
    integers: Integers,
) -> io::Result<()> {
    let write = |out: &mut dyn Write| {
        let mut separator = "[";
        for element in elements {
            write!(out, "{separator}{element}")?;
            separator = ",";
        }
        out.write_all(if separator == "[" { b"[]" } else { b"]" })
    };
    print_json_member(document, name, write, integers)
}

/// Prints a JSON document whose last member is written bit by bit, as JSON with any blanks.
pub(crate) fn print_json_member(
    document: JsonObject,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    integers: Integers,
) -> io::Result<()> {
    let output = Destination::new(OutputFile::standard()?, TerminalText::Json);
    let mut output = BufWriter::with_capacity(64 << 10, output);
    let text = json::text(&document.with(name, Json::Null), integers);
    let (head, end) = text.rsplit_once("null").unwrap_or((&text, ""));
    output.write_all(head.as_bytes())?;
    let mut member = JsonIndenter::new(&mut output, 1, integers);
    write(&mut member)?;
    member.finish()?;
    output.write_all(end.as_bytes())?;
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
