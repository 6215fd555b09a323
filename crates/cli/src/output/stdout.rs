//! Printing on standard output.

use std::io::{self, Write};

use ichnos::export::text::{Branch, Paint};
use ichnos::export::{Integers, TerminalText};
use ichnos::io::OutputFile;
use ichnos::json::write::ObjectWriter;

use super::destination::Destination;
use super::{charset, json_document, status_line};

/// Opens standard output for lines that people read.
fn lines(paint: Paint) -> io::Result<Destination> {
    let text = TerminalText::Lines { colors: paint.is_on() };
    Ok(Destination::new(OutputFile::standard()?, text))
}

/// Prints a complete text for people. Text from a trace must be [safe](crate::output::safe).
pub(crate) fn print(text: &str, paint: Paint) -> io::Result<()> {
    let mut output = lines(paint)?;
    output.write_all(charset::shown(text).as_bytes())?;
    output.finish()
}

/// Prints trees like [`print`], one at a time, separated by empty lines.
pub(crate) fn print_trees(trees: impl IntoIterator<Item = Branch>, paint: Paint) -> io::Result<()> {
    lines(paint)?.write_buffered(|output| {
        for (i, tree) in trees.into_iter().enumerate() {
            if i > 0 {
                output.write_all(b"\n")?;
            }
            tree.write(&mut |text| output.write_all(charset::shown(text).as_bytes()))?;
        }
        Ok(())
    })
}

/// Prints a JSON document of a kind. `write` writes the members.
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

/// Prints a JSON document of a kind. `write` writes the members, and can [flush](json_document::write_out) complete
/// parts.
pub(crate) fn print_long_document(
    kind: &str,
    integers: Integers,
    write: impl FnOnce(&mut ObjectWriter<'_>, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let output = Destination::new(OutputFile::standard()?, TerminalText::Json);
    output.write_buffered(|output| json_document::write_document(output, kind, integers, write))
}

/// Prints lines for people as they are generated. Text from a trace must be [safe](crate::output::safe).
pub(crate) fn print_lines(lines: impl IntoIterator<Item = String>, paint: Paint) -> io::Result<()> {
    self::lines(paint)?.write_buffered(|output| {
        lines.into_iter().try_for_each(|line| output.write_all(charset::shown(&line).as_bytes()))
    })
}

/// Prints a complete text unchanged. It must not contain text from a trace.
pub(crate) fn print_as_it_is(text: &str) -> io::Result<()> {
    let mut output = OutputFile::standard()?;
    status_line::print_output(true, || {
        output.write_all(text.as_bytes())?;
        output.finish()
    })
}

/// Prints a complete text for other programs, with text from a trace.
pub(crate) fn print_source(text: &str) -> io::Result<()> {
    let mut output = Destination::new(OutputFile::standard()?, TerminalText::Lines { colors: false });
    output.write_all(text.as_bytes())?;
    output.finish()
}
