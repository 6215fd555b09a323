//! What goes to the standard error output.

use std::io::{IsTerminal as _, Write as _};

use ichnos::export::{TerminalText, for_terminal};

use crate::charset;
use crate::exit::Failure;
use crate::style::{Paint, When, safe};

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
    /// `quiet`: without warnings and notices; `verbose`: with notes.
    pub(crate) fn new(color: When, quiet: bool, verbose: bool) -> Self {
        Self { paint: Paint::stderr(color), quiet, is_terminal: std::io::stderr().is_terminal(), verbose }
    }

    /// The same without warnings, notices and notes.
    pub(crate) fn silenced(self) -> Self {
        Self { quiet: true, verbose: false, ..self }
    }

    /// What reports before the command line is known.
    pub(crate) fn early() -> Self {
        Self::new(When::Auto, false, false)
    }

    /// Why it could not be done.
    pub(crate) fn failure(self, failure: &Failure) {
        self.error(&failure.message);
        self.advice(failure);
        failure.others.iter().for_each(|other| self.failure(other));
    }

    /// Something that could be done, but probably not as it was meant.
    pub(crate) fn doubt(self, failure: &Failure) {
        if self.quiet {
            return;
        }
        self.warning(&failure.message);
        self.advice(failure);
    }

    fn advice(self, failure: &Failure) {
        for detail in &failure.details {
            self.line(&format!("  {}", safe(detail)));
        }
        if let Some(help) = &failure.help {
            self.help(help);
        }
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
        let text = &*charset::shown(text);
        let mut line = if self.is_terminal {
            for_terminal(text, TerminalText::Lines { colors: self.paint.is_on() }).into_owned()
        } else {
            text.to_owned()
        };
        // Written at once, so that other output does not get between a line and its end.
        line.push('\n');
        // If the standard error output is closed, there is nowhere to report it.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}
