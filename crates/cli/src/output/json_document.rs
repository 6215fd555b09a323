//! JSON documents for `--json`. `docs/cli-json.md` describes them.

use std::io::{self, Write};

use ichnos::export::{Integers, JsonIndenter};
use ichnos::json::write::{ObjectWriter, ValueWriter};

/// Version of all JSON documents. Must be raised only for incompatible changes.
pub(crate) const VERSION: u32 = 1;

/// Starts a document of a kind.
pub(crate) fn begin<'o>(out: &'o mut Vec<u8>, kind: &str) -> ObjectWriter<'o> {
    let mut object = ValueWriter::new(out).object();
    let mut ichnos = object.member("ichnos").object();
    ichnos.member("output").string(kind);
    ichnos.member("version").unsigned(VERSION.into());
    ichnos.end();
    object
}

/// Writes an indented document of a kind, with a final newline. `write` writes the members, and can
/// [flush](write_out) complete parts.
pub(crate) fn write_document(
    out: &mut dyn Write,
    kind: &str,
    integers: Integers,
    write: impl FnOnce(&mut ObjectWriter<'_>, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut indenter = JsonIndenter::new(&mut *out, integers);
    let mut text = Vec::new();
    let mut object = begin(&mut text, kind);
    write(&mut object, &mut indenter)?;
    object.end();
    indenter.write_all(&text)?;
    indenter.finish()?;
    out.write_all(b"\n")
}

/// Writes out a buffer, and clears it.
pub(crate) fn write_out(text: &mut Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text)?;
    text.clear();
    Ok(())
}
