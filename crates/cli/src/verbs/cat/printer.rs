//! Outputs of the formats of `cat`.

use std::io::{self, Write};

use ichnos::TextOutput;
use ichnos::export::{Csv, Details, Log, Null, Pretty};
use ichnos::io::Output;
use ichnos::jsonl::JsonLines;

use super::job::Format;

/// Returns the output of a format; `quiet` to print no warnings of sinks.
pub(crate) fn output<'o>(
    format: Format,
    writer: impl Write + Send + 'o,
    quiet: bool,
) -> Box<dyn Output + 'o> {
    let warnings =
        || -> Box<dyn Write + Send> { if quiet { Box::new(io::sink()) } else { Box::new(io::stderr()) } };
    match format {
        Format::Pretty(options) => {
            let make = move |writer: ichnos::BlockWriter| {
                let warnings = writer.warnings();
                Pretty::new(writer, options.clone()).warnings_to(warnings)
            };
            Box::new(TextOutput::new(writer, make).warnings_to(warnings()).without_damage())
        }
        Format::Details(options) => {
            let make = move |writer: ichnos::BlockWriter| {
                let warnings = writer.warnings();
                Details::new(writer, options.clone()).warnings_to(warnings)
            };
            Box::new(TextOutput::new(writer, make).warnings_to(warnings()).without_damage())
        }
        Format::JsonLines(options) => {
            Box::new(TextOutput::new(writer, move |writer| JsonLines::new(writer, options.clone())))
        }
        Format::Log(options) => {
            Box::new(TextOutput::new(writer, move |writer| Log::new(writer, options.clone())))
        }
        Format::Csv(options) => Box::new(
            TextOutput::new(writer, move |writer| Csv::new(writer, options.clone())).without_damage(),
        ),
        Format::Null => Box::new(TextOutput::new(writer, |_| Null::new()).without_damage()),
    }
}
