//! Text output from the verbs that write traces.

use std::ffi::OsStr;

use ichnos::convert::{Target, TextFileWriter};
use ichnos::model::clock::ClockArithmetic;

use crate::args::{Convert, TextFormat, TextOptions, Writing};
use crate::exit::Failure;
use crate::opened_run::OpenedRun;
use crate::select::columns;

/// Target for text. All `cat` options have their defaults.
pub(crate) struct TextTarget {
    format: &'static TextFormat,
    clock_gmt: bool,
}

impl TextTarget {
    /// Returns the text target named by `--to` or by the output's extension. Returns `None` for a trace.
    pub(crate) fn named(args: &Convert) -> Result<Option<Self>, Failure> {
        let Writing { output, to, to_dialect, .. } = &args.writing;
        let extension = output.as_deref().and_then(|path| path.extension()).and_then(OsStr::to_str);
        let is_named = |format: &&TextFormat| match (to, extension) {
            (Some(to), _) => *to == format.name,
            (None, Some(extension)) => {
                format.is_by_extension && format.extensions.contains(&&*extension.to_lowercase())
            }
            (None, None) => false,
        };
        let Some(format) = TextFormat::written().find(is_named) else { return Ok(None) };
        check_options(&args.writing, to_dialect.is_some(), format.name)?;
        Ok(Some(Self { format, clock_gmt: args.selecting.clock_gmt }))
    }

    /// Returns the same default clock arithmetic as for `cat`.
    pub(crate) fn arithmetic(&self) -> ClockArithmetic {
        self.format.arithmetic
    }

    /// Returns the target for opened traces.
    pub(crate) fn target(&self, opened: &OpenedRun<'_>) -> Result<Target, Failure> {
        let (format, console) = (self.format, opened.console);
        let mut text = console.text_settings(TextOptions::default(), self.clock_gmt);
        if format.has_columns {
            let columns = columns::find(&text.options, opened.session, &opened.selection, console)?;
            text.columns = Some(columns);
        }
        format.warn_of_zone(&text);
        // Leaked once per run: trace writers must be constants.
        let writer = TextFileWriter::new(format.extensions, move |writer| format.start(&text, writer));
        Ok(Target::new("text", Box::leak(Box::new(writer))))
    }
}

/// Refuses options that apply only to traces.
fn check_options(writing: &Writing, has_dialect: bool, name: &str) -> Result<(), Failure> {
    let options = [
        ("--to-dialect", has_dialect),
        ("--packet-size", writing.packet_size.is_some()),
        ("--index", writing.index),
        ("--verify", writing.verify),
        ("--losses", writing.losses),
        ("--dry-run", writing.dry_run),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => {
            Err(Failure::new(format!("{option} is for traces, but the output is text ({name})"))
                .help(format!("leave out {option}, or name a trace format with --to")))
        }
        None => Ok(()),
    }
}
