//! What goes to the standard error output.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};

use ichnos::export::{TerminalText, for_terminal};

use crate::args::{Global, LowArgs, When};
use crate::exit::Failure;
use crate::habits;
use crate::style::{Paint, safe};
use clap::Parser as _;

/// Prints what happens besides the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    paint: Paint,
    quiet: bool,
    is_terminal: bool,
    /// How much more than usual is said.
    pub(crate) verbose: bool,
}

impl Report {
    pub(crate) fn new(global: &Global) -> Self {
        Self {
            paint: Paint::stderr(global.color),
            quiet: global.quiet,
            is_terminal: std::io::stderr().is_terminal(),
            verbose: global.verbose,
        }
    }

    /// What reports before the command line is known.
    pub(crate) fn early() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { paint: Paint::stderr(When::Auto), quiet: false, is_terminal, verbose: false }
    }

    /// Why it could not be done.
    pub(crate) fn failure(self, failure: &Failure) {
        self.error(&failure.message);
        for detail in &failure.details {
            self.line(&format!("  {}", safe(detail)));
        }
        if let Some(help) = &failure.help {
            self.help(help);
        }
        failure.others.iter().for_each(|other| self.failure(other));
    }

    /// A warning, and what to try.
    pub(crate) fn warning_with_help(self, text: &str, help: &str) {
        if !self.quiet {
            self.warning(text);
            self.help(help);
        }
    }

    pub(crate) fn error(self, text: &str) {
        self.line(&format!("{}: {}", self.paint.error("error"), safe(text)));
    }

    pub(crate) fn help(self, text: &str) {
        self.line(&format!("{}: {}", self.paint.good("help"), safe(text)));
    }

    pub(crate) fn warning(self, text: &str) {
        if !self.quiet {
            self.line(&format!("{}: {}", self.paint.warning("warning"), safe(text)));
        }
    }

    /// Something that is right, but not what people may expect.
    pub(crate) fn notice(self, text: &str) {
        if !self.quiet {
            self.line(&format!("{}: {}", self.paint.title("note"), safe(text)));
        }
    }

    /// Good to know: only if asked for.
    pub(crate) fn note(self, text: &str) {
        if self.verbose {
            self.line(&format!("{}: {}", self.paint.title("note"), safe(text)));
        }
    }

    /// An answer to an option, for instance `--stats`.
    pub(crate) fn answer(self, text: &str) {
        self.line(text);
    }

    fn line(self, text: &str) {
        let text = if self.is_terminal {
            for_terminal(text, TerminalText::Lines { colors: self.paint.is_on() })
        } else {
            text.into()
        };
        // If the standard error output is closed, there is nothing left to say it to.
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
}

/// Prints what is wrong with the command line, of which these are the arguments, and ends the program.
pub(crate) fn end_by_usage(error: clap::Error, arguments: &[OsString]) -> ! {
    // Arguments may come from the names of files. What is said about them is what would be said if they were
    // printable, so that they need not be found in the message.
    let printable: Vec<OsString> =
        arguments.iter().map(|argument| safe(&argument.to_string_lossy()).into_owned().into()).collect();
    let error = match LowArgs::try_parse_from(&printable) {
        Err(about_printable) if error.use_stderr() && arguments != printable => about_printable,
        _ => error,
    };
    let error = habits::improve(error);
    let paint = Paint::stderr(When::Auto);
    if !error.use_stderr() || !std::io::stderr().is_terminal() {
        error.exit();
    }
    let text = error.render();
    let text = if paint.is_on() { text.ansi().to_string() } else { text.to_string() };
    let text = for_terminal(&text, TerminalText::Lines { colors: paint.is_on() });
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    std::process::exit(error.exit_code())
}
