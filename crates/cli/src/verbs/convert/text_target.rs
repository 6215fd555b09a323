//! Text as the output of the verbs that write traces.

use std::ffi::OsStr;

use clap::{Args as _, Command, FromArgMatches as _};
use ichnos::Session;
use ichnos::convert::{Target, TextWriter};

use crate::args::{Arithmetic, Cat, CatFormat, Convert, Writing};
use crate::exit::Failure;
use crate::progress::Console;
use crate::select::{Selection, columns};
use crate::verbs::cat::{job, printer};

/// A format of text to write, with the options of `cat` at their defaults.
pub(crate) struct TextTarget {
    cat: Cat,
    extensions: &'static [&'static str],
}

impl TextTarget {
    /// Returns the text named by `--to`, or by the extension of the output; `None` for a trace.
    pub(crate) fn named(args: &Convert) -> Result<Option<Self>, Failure> {
        let Writing { output, to, to_dialect, .. } = &args.writing;
        let extension = output.as_deref().and_then(|path| path.extension()).and_then(OsStr::to_str);
        let is_named = |(format, extensions): &&(CatFormat, &'static [&'static str])| match (to, extension) {
            (Some(to), _) => *to == format.name(),
            (None, Some(extension)) => {
                *format != CatFormat::LogJson && extensions.contains(&&*extension.to_lowercase())
            }
            (None, None) => false,
        };
        let Some((format, extensions)) = CatFormat::WRITTEN.iter().find(is_named) else { return Ok(None) };
        let name = format.name();
        check_options(&args.writing, to_dialect.is_some(), &name)?;
        // The text is not for the terminal, and the path is not read.
        let mut words = vec!["cat", "--format", &name, "--output", "-", "--", "-"];
        if args.selecting.clock_gmt {
            words.insert(1, "--clock-gmt");
        }
        let matches = Cat::augment_args(Command::new("cat")).try_get_matches_from(words);
        let cat = matches.and_then(|matches| Cat::from_arg_matches(&matches));
        let cat = cat.map_err(|error| Failure::new(error.to_string()))?;
        Ok(Some(Self { cat, extensions }))
    }

    /// Returns the arithmetic of times, which is that of `cat`.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        self.cat.arithmetic()
    }

    /// Returns the target for selected events of a session.
    pub(crate) fn target(
        &self,
        session: &Session,
        selection: &Selection,
        console: Console,
    ) -> Result<Target, Failure> {
        let columns = match columns::are_wanted(&self.cat) {
            true => Some(columns::find(&self.cat, session, selection, console)?),
            false => None,
        };
        let format = job::Format::new(&self.cat, columns, false, console);
        let is_quiet = console.is_quiet();
        let make = move |writer| printer::output(format.clone(), writer, is_quiet);
        // Once in a run, as writers of traces are constants.
        let writer = Box::leak(Box::new(TextWriter::new(self.extensions, make)));
        Ok(Target::new("text", writer))
    }
}

/// Refuses options of traces.
fn check_options(writing: &Writing, has_dialect: bool, name: &str) -> Result<(), Failure> {
    let options = [
        ("--dialect", has_dialect),
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
